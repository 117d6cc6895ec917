//! VOPD: two instructions in one, both of which read before either writes.

use super::code::Page;
use super::leveled::Leveled;
use super::lower::Ext;
use super::machine::Machine;
use super::microop::{Flow, MicroOp, VGPR};
use super::valu::levels::Host;
use super::vector::{MASK_IN, blank};

/// Halves of which the second does not read what the first writes.
pub(crate) struct Pair;

impl Leveled for Pair {
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        let Some(Ext::Dual(halves)) = page.ext.get(op.ext as usize) else {
            return Flow::Next;
        };
        let exec = m.wave.exec();
        for half in halves.iter() {
            if exec == m.wave.lane_mask() {
                let to = m.wave.rows.ptr(half.dst - VGPR);
                execute(m, half, page, exec, to);
            } else {
                let to = m.temps.dst.as_mut_ptr().cast();
                execute(m, half, page, exec, to);
                m.retire(half.dst, 1, exec);
            }
        }
        Flow::Next
    }
}

/// Any halves: both are computed before either is written.
pub(crate) struct Dual;

impl Leveled for Dual {
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        let Some(Ext::Dual(halves)) = page.ext.get(op.ext as usize) else {
            return Flow::Next;
        };
        let exec = m.wave.exec();
        let [x, y] = &**halves;
        let to = m.temps.dst.as_mut_ptr().cast();
        execute(m, x, page, exec, to);
        let to = m.temps.dst2.as_mut_ptr().cast();
        execute(m, y, page, exec, to);
        m.retire(x.dst, 1, exec);
        core::mem::swap(&mut m.temps.dst[0], &mut m.temps.dst2[0]);
        m.retire(y.dst, 1, exec);
        Flow::Next
    }
}

/// Computes one half for all lanes, into a row of the wave's or a temporary one.
#[inline(always)]
fn execute(m: &mut Machine<'_>, half: &MicroOp, page: &Page, exec: u64, dst: *mut u32) {
    let Some(handler) = half.handler else {
        return;
    };
    let mut args = blank(m, exec);
    for i in 0..usize::from(half.len).min(3) {
        args.src[i] = m.source(half, page, i, 1);
    }
    if half.flags & MASK_IN != 0 {
        args.mask_in = m.wave.mask(half.k[2] as usize);
    }
    args.dst = dst;
    // SAFETY: one-row operands: registers checked by the run loop for both halves, constants of the page, or
    // temporaries. The handler is of the level that the code cache was made for.
    unsafe { handler(&args) };
}
