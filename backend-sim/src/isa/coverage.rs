//! Which operations have semantics: the list against whoever executes it.

use core::fmt::{self, Display, Formatter};

use super::{Arch, Code, Format, Op};

/// How much of a processor's instruction list has semantics; shown as a table by [`Display`].
pub struct Coverage<F> {
    arch: Arch,
    has: F,
}

/// Asks `has` about every operation that `arch` knows.
///
/// ```
/// use rukh_backend_sim::isa::{Arch, Op, coverage};
/// let table = coverage(Arch::Gfx90a, |op| op == Op::s_endpgm);
/// assert!(table.missing().all(|op| op != Op::s_endpgm));
/// println!("{table}");
/// ```
pub fn coverage<F: Fn(Op) -> bool>(arch: Arch, has: F) -> Coverage<F> {
    Coverage { arch, has }
}

impl<F: Fn(Op) -> bool> Coverage<F> {
    /// Operations of the processor that have no semantics, in the order of the list.
    pub fn missing(&self) -> impl Iterator<Item = Op> + '_ {
        self.known().filter(|op| !(self.has)(*op))
    }

    fn known(&self) -> impl Iterator<Item = Op> + '_ {
        let there = |op: &Op| op.row().code(self.arch) != Code::Absent;
        Op::ALL.iter().copied().filter(there)
    }
}

impl<F: Fn(Op) -> bool> Display for Coverage<F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for format in Format::LISTS {
            let of_format = |op: &Op| op.row().format == format;
            let all = self.known().filter(of_format).count();
            let missing = self.missing().filter(of_format).count();
            writeln!(f, "{format:?}: {} of {all}", all - missing)?;
            for op in self.missing().filter(of_format) {
                writeln!(f, "    {}", op.row().mnemonic_on(self.arch))?;
            }
        }
        Ok(())
    }
}
