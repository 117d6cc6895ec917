//! Watching a wave execute: one line an instruction.

use core::fmt;

use super::code::Page;
use super::microop::MicroOp;
use super::wave::Wave;
use crate::isa::{Dir, Inst, Operand};

/// Called after each instruction.
pub type Tracer<'a> = dyn FnMut(&TraceEvent<'_>) + 'a;

/// A tracer of a whole system: called on whichever thread runs the wave.
pub type TraceHook = dyn Fn(&TraceEvent<'_>) + Send + Sync;

/// An instruction that has been executed.
pub struct TraceEvent<'a> {
    /// Its address.
    pub pc: u64,
    /// The instruction.
    pub inst: Inst,
    /// The wave after it.
    pub wave: &'a Wave,
}

pub(super) fn report(tracer: &mut Tracer<'_>, wave: &Wave, op: &MicroOp, page: &Page) {
    let words = page.words(usize::from(op.slot));
    let mut bytes = [0u8; 20];
    let mut len = 0;
    for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&word.to_le_bytes());
        len += 4;
    }
    // An instruction that crosses into the next page is not shown from its own page's bytes.
    let Ok(inst) = crate::isa::decode(wave.arch, &bytes[..len]) else {
        return;
    };
    let pc = page.va + u64::from(op.slot) * 4;
    tracer(&TraceEvent { pc, inst, wave });
}

/// `pc: disassembly  written values`: for vector registers the first active lane's and how many
/// lanes are active.
impl fmt::Display for TraceEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lanes = if self.wave.lanes == 64 {
            crate::isa::Lanes::W64
        } else {
            crate::isa::Lanes::W32
        };
        write!(
            f,
            "{:#012x}: {}",
            self.pc,
            self.inst.text(self.wave.arch, lanes)
        )?;
        let exec = self.wave.exec();
        let lane = if exec == 0 {
            0
        } else {
            exec.trailing_zeros() as usize
        };
        let rows = self.inst.op.row().operands();
        for (&operand, desc) in self.inst.operands.iter().zip(rows) {
            if desc.dir == Dir::Read {
                continue;
            }
            let words = u16::from(super::lower::rows(desc.ty));
            match operand {
                Operand::Vgpr(n) => {
                    write!(f, "  v{n}[{lane}/{}] =", exec.count_ones())?;
                    for word in 0..words {
                        let row = self.wave.rows.row(u16::from(n) + word);
                        write!(f, " {:08x}", row.map_or(0, |row| row[lane]))?;
                    }
                }
                Operand::Acc(n) => {
                    write!(f, "  a{n}[{lane}/{}] =", exec.count_ones())?;
                    for word in 0..words {
                        let row = self.wave.rows.row(256 + u16::from(n) + word);
                        write!(f, " {:08x}", row.map_or(0, |row| row[lane]))?;
                    }
                }
                _ => {
                    if let Some(index) = super::lower::scalar_index(operand) {
                        write!(f, "  s{index} =")?;
                        for word in 0..usize::from(words) {
                            write!(f, " {:08x}", self.wave.s[(index + word) & 255])?;
                        }
                    }
                }
            }
        }
        write!(f, "  scc {}", u32::from(self.wave.scc()))
    }
}
