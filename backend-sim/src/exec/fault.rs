//! Why a wave stopped short of its end, with what a user needs to find the reason.

use core::fmt;

use super::wave::WaveIds;
use crate::isa::DecodeError;
use crate::mem::MemoryFault;

/// A wave's fault: where, whose, and what.
#[derive(Debug, Clone)]
pub struct Fault {
    /// Address of the faulting instruction.
    pub pc: u64,
    /// Which wave of which dispatch.
    pub wave: WaveIds,
    /// What happened.
    pub kind: FaultKind,
}

/// What happened.
#[derive(Debug, Clone)]
pub enum FaultKind {
    /// An access to an address that is not mapped for it; `lane` is the first one that failed
    /// (`None` for a scalar access or an instruction fetch).
    Memory {
        /// The first lane that failed, if lanes did.
        lane: Option<u32>,
        /// The address map's account of it.
        fault: MemoryFault,
    },
    /// An atomic, or a typed access that must be, at an address that is not aligned to its size.
    Misaligned {
        /// The address.
        address: u64,
        /// Required alignment in bytes.
        align: u32,
        /// The lane.
        lane: u32,
    },
    /// A flat access to the shared aperture beyond the work-group's LDS, or to private memory
    /// beyond the wave's scratch.
    Aperture {
        /// Which aperture: `"shared"`, `"private"`.
        aperture: &'static str,
        /// The offset inside the aperture.
        offset: u32,
        /// Bytes that there are.
        size: u32,
        /// The lane.
        lane: u32,
    },
    /// Bytes that are no instruction of this processor.
    IllegalInstruction {
        /// The first three dwords at the address, as far as they could be read.
        encoding: [u32; 3],
        /// What the decoder says.
        error: DecodeError,
    },
    /// An instruction (or a form of it) that has no semantics here.
    Unsupported {
        /// Mnemonic.
        mnemonic: &'static str,
        /// The first three dwords of its encoding.
        encoding: [u32; 3],
        /// What about it is not supported: the instruction itself, a modifier, an operand.
        what: &'static str,
    },
    /// A register that the wave was not given.
    Register {
        /// `'v'`, `'a'` or `'s'`.
        file: char,
        /// The register's number.
        number: u32,
        /// How many the wave has.
        allocated: u32,
    },
    /// A floating-point exception that MODE lets trap. The instruction was completed.
    Arithmetic {
        /// Which: bit 0 invalid operation, 1 subnormal source, 2 division by zero, 3 overflow, 4 underflow, 5 inexact
        /// result, 6 integer division by zero.
        flags: u32,
    },
    /// A jump to an address that is no multiple of four.
    MisalignedPc {
        /// Where to.
        target: u64,
    },
    /// The wave was halted, and there is no debugger to let it go on.
    Halted,
    /// s_trap, with no trap handler installed; 2 is what compilers emit for `llvm.trap`.
    Trap {
        /// The trap's number.
        id: u8,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at pc {:#x}: ", self.wave, self.pc)?;
        match &self.kind {
            FaultKind::Memory {
                lane: Some(lane),
                fault,
            } => write!(f, "lane {lane}: {fault}"),
            FaultKind::Memory { lane: None, fault } => write!(f, "{fault}"),
            FaultKind::Misaligned {
                address,
                align,
                lane,
            } => {
                write!(
                    f,
                    "lane {lane}: address {address:#x} is not aligned to {align} bytes"
                )
            }
            FaultKind::Aperture {
                aperture,
                offset,
                size,
                lane,
            } => write!(
                f,
                "lane {lane}: offset {offset:#x} is beyond the {size:#x} bytes of {aperture} memory"
            ),
            FaultKind::IllegalInstruction { encoding, error } => {
                write!(f, "illegal instruction {encoding:08x?}: {error:?}")
            }
            FaultKind::Unsupported {
                mnemonic,
                encoding,
                what,
            } => {
                write!(f, "{mnemonic} ({encoding:08x?}): {what} is not supported")
            }
            FaultKind::Register {
                file,
                number,
                allocated,
            } => {
                write!(
                    f,
                    "register {file}{number}, but the wave was given {allocated}"
                )
            }
            FaultKind::Arithmetic { flags } => {
                f.write_str("floating-point exception:")?;
                let named = super::exceptions::NAMES.iter().enumerate();
                let mut separator = " ";
                for (_, name) in named.filter(|(bit, _)| flags >> bit & 1 != 0) {
                    write!(f, "{separator}{name}")?;
                    separator = ", ";
                }
                Ok(())
            }
            FaultKind::MisalignedPc { target } => write!(f, "jump to misaligned {target:#x}"),
            FaultKind::Halted => f.write_str("halted"),
            FaultKind::Trap { id } => write!(f, "trap {id}"),
        }
    }
}

impl core::error::Error for Fault {}
