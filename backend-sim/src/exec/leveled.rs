//! Functions of micro-ops that are compiled once per host level, like the handlers of vector instructions.

use super::code::Page;
use super::machine::Machine;
use super::microop::{Flow, MicroOp, OpFn};
use super::valu::Level;
use super::valu::levels::{Host, Portable};

/// The source of a micro-op's function, generic over the host.
pub(crate) trait Leveled {
    /// Executes the micro-op. Must be `#[inline(always)]`, so that it takes on the features of its caller.
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow;
}

fn baseline<S: Leveled>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    S::run::<Portable>(m, op, page)
}

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
#[target_feature(enable = "avx2,fma,bmi1,bmi2")]
fn avx2<S: Leveled>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    S::run::<super::valu::levels::Avx2>(m, op, page)
}

/// The function compiled for a level.
pub(crate) fn function_of<S: Leveled>(level: Level) -> OpFn {
    match level {
        #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
        Level::Avx2Fma => avx2::<S>,
        _ => baseline::<S>,
    }
}
