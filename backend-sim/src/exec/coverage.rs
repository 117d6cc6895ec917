//! How much of the instruction list is executed: the list against the executor itself.
//!
//! Nothing here is kept by hand: an operation is implemented if the executor lowers it, and random valid forms of it
//! are put to the same question that [`check`](super::check) answers.

use alloc::format;
use alloc::vec::Vec;
use core::fmt::{self, Display, Formatter};

use super::code::Page;
use super::lower;
use crate::isa::{Arch, Code, Format, Inst, Lanes, Op, Rng, generate};

/// Random forms that each operation is tried in.
const FORMS: usize = 48;

/// What becomes of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// It is executed in every form that was tried.
    Implemented,
    /// It is executed, but not in all of its forms.
    Partial {
        /// Forms that are refused.
        refused: usize,
        /// Forms that were tried.
        tried: usize,
        /// What about the first refused one is not supported.
        what: &'static str,
        /// The first refused one.
        example: Inst,
    },
    /// It is decoded, and faults with a typed error that names it when it is executed.
    DecodedOnly {
        /// What is not supported: the instruction, or what all of its forms need.
        what: &'static str,
    },
    /// It belongs to graphics, and is refused by name.
    Graphics,
}

/// What becomes of `op` on `arch`; `None` if the processor does not have it.
pub fn status(arch: Arch, op: Op) -> Option<Status> {
    if op.row().code(arch) == Code::Absent {
        return None;
    }
    let mut page = Page::empty(0);
    let mut rng = Rng::new(op as u64);
    let (mut tried, mut refused, mut first) = (0, 0, None);
    for _ in 0..FORMS {
        let Some(inst) = generate(arch, op, &mut rng) else {
            continue;
        };
        tried += 1;
        if let Err(what) = lower::check_in(arch, &inst, &mut page) {
            refused += 1;
            first.get_or_insert((what, inst));
        }
    }
    Some(match first {
        Some((lower::GRAPHICS, _)) if refused == tried => Status::Graphics,
        Some((what, _)) if refused == tried => Status::DecodedOnly { what },
        Some((what, example)) => Status::Partial {
            refused,
            tried,
            what,
            example,
        },
        None if tried == 0 => Status::DecodedOnly {
            what: "a valid form of it",
        },
        None => Status::Implemented,
    })
}

/// The operations of one encoding on one processor.
#[derive(Clone, Debug)]
pub struct Encoding {
    /// Which encoding.
    pub format: Format,
    /// Its operations, in the order of the list.
    pub operations: Vec<(Op, Status)>,
}

impl Encoding {
    /// How many operations are executed, decoded only, and refused as graphics.
    pub fn counts(&self) -> [usize; 3] {
        let mut counts = [0; 3];
        for (_, status) in &self.operations {
            counts[match status {
                Status::Implemented | Status::Partial { .. } => 0,
                Status::DecodedOnly { .. } => 1,
                Status::Graphics => 2,
            }] += 1;
        }
        counts
    }
}

/// The coverage of one processor, encoding by encoding; shown as a table by [`Display`].
#[derive(Clone, Debug)]
pub struct Coverage {
    /// Whose.
    pub arch: Arch,
    /// One for each encoding that the processor has.
    pub encodings: Vec<Encoding>,
}

/// Asks the executor about every operation of the processor's instruction list.
///
/// ```
/// use rukh_backend_sim::{exec::coverage, isa::Arch};
/// let table = coverage(Arch::Gfx90a);
/// let [implemented, ..] = table.counts();
/// assert!(implemented > 500);
/// println!("{table}");
/// ```
pub fn coverage(arch: Arch) -> Coverage {
    let of = |format: Format| {
        let in_format = |op: &&Op| op.row().format == format;
        let judged = |op: &Op| status(arch, *op).map(|status| (*op, status));
        Encoding {
            format,
            operations: Op::ALL
                .iter()
                .filter(in_format)
                .filter_map(judged)
                .collect(),
        }
    };
    Coverage {
        arch,
        encodings: Format::LISTS
            .into_iter()
            .map(of)
            .filter(|encoding| !encoding.operations.is_empty())
            .collect(),
    }
}

impl Coverage {
    /// As [`Encoding::counts`], over all encodings.
    pub fn counts(&self) -> [usize; 3] {
        let mut sum = [0; 3];
        for encoding in &self.encodings {
            for (sum, count) in sum.iter_mut().zip(encoding.counts()) {
                *sum += count;
            }
        }
        sum
    }

    /// Operations that are not executed in all of their forms.
    pub fn exceptions(&self) -> impl Iterator<Item = (Op, Status)> + '_ {
        let all = self.encodings.iter().flat_map(|e| &e.operations);
        all.copied()
            .filter(|(_, status)| *status != Status::Implemented)
    }
}

impl Display for Coverage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<10} {:>11} {:>12} {:>8}",
            self.arch.name(),
            "implemented",
            "decoded only",
            "graphics"
        )?;
        let row = |f: &mut Formatter<'_>, name: &str, counts: [usize; 3]| {
            let [implemented, decoded, graphics] = counts;
            writeln!(
                f,
                "{name:<10} {implemented:>11} {decoded:>12} {graphics:>8}"
            )
        };
        for encoding in &self.encodings {
            row(f, &format!("{:?}", encoding.format), encoding.counts())?;
        }
        row(f, "all", self.counts())?;
        for (op, status) in self.exceptions() {
            let name = op.row().mnemonic_on(self.arch);
            match status {
                Status::Implemented => {}
                Status::DecodedOnly { what } => writeln!(f, "decoded only: {name}: {what}")?,
                Status::Graphics => writeln!(f, "graphics: {name}")?,
                Status::Partial {
                    refused,
                    tried,
                    what,
                    example,
                } => {
                    let text = example.text(self.arch, Lanes::W64);
                    writeln!(
                        f,
                        "not in {refused} of {tried} forms: {name}: {what}, as in `{text}`"
                    )?;
                }
            }
        }
        Ok(())
    }
}
