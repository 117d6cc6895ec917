//! The decoded form of an instruction: a handler and its operands in one cache line.

use super::code::Page;
use super::machine::Machine;
use super::valu::VHandler;

/// What an instruction asks of the run loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flow {
    /// Go on with the next instruction.
    Next,
    /// Go on at `Machine::target`.
    Jump,
    /// The wave has ended.
    End,
    /// Leave at a barrier, to go on with the next instruction.
    Barrier,
    /// Leave with `Machine::exit`; the program counter moves past the instruction unless the
    /// exit is a fault.
    Stop,
    /// Leave, to execute the instruction again: what it waits for has not come yet.
    Again,
    /// The slot is not decoded yet.
    Decode,
    /// Vector register indexing was switched on, or exceptions that trap: go on with the next instruction, the slow way.
    Indexed,
    /// Code may have changed: compare what is cached with memory, then go on.
    Refresh,
    /// The waves that go together part: [`super::wave::Wave::parting`] says where, if the instruction was executed.
    Part,
}

/// Executes one micro-op.
///
/// # Safety
/// The host has the level that the micro-op was lowered for, and the wave has the registers that it needs.
pub(crate) type OpFn = unsafe fn(&mut Machine<'_>, &MicroOp, &Page) -> Flow;

/// A source (or destination) is a constant: its value, or the index of its row in the page, is
/// in `k`.
pub(crate) const CONST: u16 = 0xffff;
/// No operand.
pub(crate) const ABSENT: u16 = 0xfffe;
/// First vector register as an operand: below stand the scalars of [`super::scalars`], above,
/// from `VGPR + 256`, the accumulation registers.
pub(crate) const VGPR: u16 = 0x100;

/// One decoded instruction.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct MicroOp {
    pub(crate) run: OpFn,
    pub(crate) handler: Option<VHandler>,
    /// Constants of the sources, or whatever else the instruction's shape keeps here.
    pub(crate) k: [u64; 3],
    pub(crate) src: [u16; 3],
    pub(crate) dst: u16,
    pub(crate) dst2: u16,
    /// Dwords to what follows where nothing looks at single instructions: `len`, and that of the
    /// instructions behind it that this micro-op stands for as well.
    pub(crate) skip: u8,
    /// Instructions that it stands for there.
    pub(crate) weight: u8,
    /// Highest vector register used, plus one; in the high half the same of accumulation
    /// registers. Compared with what the wave has before anything is touched.
    pub(crate) need: u32,
    /// Index of the instruction's [`super::lower::Ext`], for the shapes that have one; beyond all where there is none.
    pub(crate) ext: u32,
    /// Dword of the page at which the instruction starts.
    pub(crate) slot: u16,
    /// Length in dwords.
    pub(crate) len: u8,
    pub(crate) flags: u8,
}

const _: () = assert!(size_of::<MicroOp>() == 64);

impl MicroOp {
    pub(crate) const fn undecoded(slot: u16) -> Self {
        MicroOp {
            run: undecoded,
            handler: None,
            k: [0; 3],
            src: [ABSENT; 3],
            dst: ABSENT,
            dst2: ABSENT,
            need: 0,
            ext: u32::MAX,
            slot,
            len: 0,
            flags: 0,
            skip: 0,
            weight: 0,
        }
    }
}

fn undecoded(_: &mut Machine<'_>, _: &MicroOp, _: &Page) -> Flow {
    Flow::Decode
}
