//! What went wrong, typed: the codes that hosts are told, and the reports that say more.

use crate::mem::MemoryFault;
use crate::sdma::SdmaError;
use alloc::string::String;
use core::fmt;
use rukh_core::backend::{AgentId, QueueHandle};
use thiserror_no_std::Error;

/// The value that the packet processor stores in a queue's inactive signal when it stops or needs
/// the host, as AMD's does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum QueueCode {
    /// Too little scratch memory for a dispatch of 64 lanes a wave.
    Scratch = 1,
    /// The packet's dimensions make no sense.
    IncompatibleArguments = 2,
    /// The packet asks for more group memory than there is.
    InvalidAllocation = 4,
    /// The kernel object is none.
    InvalidCodeObject = 8,
    /// A packet type that the packet processor does not execute.
    InvalidPacket = 32,
    /// A work-group that no compute unit holds.
    InvalidArgument = 64,
    /// More registers than a compute unit has.
    OutOfRegisters = 128,
    /// A vendor packet whose format is not known.
    InvalidVendorPacket = 256,
    /// The scratch memory that served one dispatch may be given back.
    ScratchReclaim = 512,
    /// Too little scratch memory for a dispatch of 32 lanes a wave.
    ScratchWave32 = 0x400,
    /// A flat access outside its aperture, or misaligned.
    ApertureViolation = 0x2000_0000,
    /// An instruction that is none.
    IllegalInstruction = 0x4000_0000,
    /// A wave trapped.
    Exception = 0x8000_0000,
}

/// Why a packet was not executed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PacketError {
    /// The setup field does not name 1 to 3 dimensions.
    #[error("the dispatch has {dimensions} dimensions")]
    Dimensions {
        /// Bits 0-1 of the setup field.
        dimensions: u16,
    },
    /// A work-group without work-items, or with more than fit.
    #[error("a work-group of {x}x{y}x{z} work-items is not possible (at most {limit})", x = .size[0], y = .size[1], z = .size[2])]
    WorkgroupSize {
        /// The size asked for.
        size: [u32; 3],
        /// Largest number of work-items.
        limit: u32,
    },
    /// A grid without work-items, or with more work-groups than can be counted.
    #[error("a grid of {x}x{y}x{z} work-items is not possible", x = .size[0], y = .size[1], z = .size[2])]
    GridSize {
        /// The size asked for.
        size: [u32; 3],
    },
    /// More group memory than a compute unit has.
    #[error("{bytes} bytes of group memory are more than the {limit} that there are")]
    GroupMemory {
        /// Bytes asked for.
        bytes: u32,
        /// Bytes that there are.
        limit: u32,
    },
    /// The kernel object's address is not a kernel descriptor's.
    #[error("the kernel object {address:#x} {why}")]
    KernelObject {
        /// The address in the packet.
        address: u64,
        /// What is wrong with it.
        why: &'static str,
    },
    /// More vector registers than a compute unit has for a work-group of this size.
    #[error("{waves} waves of {registers} vector registers do not fit a compute unit")]
    Registers {
        /// Registers of a wave.
        registers: u32,
        /// Waves of a work-group.
        waves: u32,
    },
    /// A packet type that a GPU does not execute.
    #[error("packets of type {kind} are not executed by a GPU")]
    PacketType {
        /// The header's type field.
        kind: u8,
    },
    /// A vendor packet whose format is not known.
    #[error("vendor packets of format {format} are not known")]
    VendorFormat {
        /// The format byte.
        format: u8,
    },
    /// A condition that is none.
    #[error("a barrier-value packet has condition {condition}")]
    Condition {
        /// The packet's field.
        condition: u32,
    },
    /// PM4 commands that are not known or not well-formed.
    #[error("PM4 command {command:#010x} at dword {offset} is not supported: {why}")]
    Pm4 {
        /// The command's first dword.
        command: u32,
        /// Where it stands in the buffer, in dwords.
        offset: u32,
        /// What is wrong with it.
        why: &'static str,
    },
    /// An SDMA packet that cannot be executed.
    #[error("SDMA packet {header:#010x} at {place}: {error}", place = Place(*.indirect, *.offset))]
    Sdma {
        /// The packet's first dword; 0 if it cannot be read.
        header: u32,
        /// The indirect buffer that it stands in; `None` for the ring, where the report says at which byte.
        indirect: Option<u64>,
        /// Where it stands in the indirect buffer, in bytes.
        offset: u64,
        /// What is wrong with it.
        error: SdmaError,
    },
}

/// Where a packet stands, in words.
struct Place(Option<u64>, u64);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(base) => write!(f, "byte {} of the indirect buffer {base:#x}", self.1),
            None => f.write_str("the ring"),
        }
    }
}

impl core::error::Error for PacketError {}

impl PacketError {
    /// What the host is told.
    pub const fn code(&self) -> QueueCode {
        match self {
            Self::Dimensions { .. } => QueueCode::IncompatibleArguments,
            Self::WorkgroupSize { .. } | Self::GridSize { .. } => QueueCode::InvalidArgument,
            Self::GroupMemory { .. } => QueueCode::InvalidAllocation,
            Self::KernelObject { .. } => QueueCode::InvalidCodeObject,
            Self::Registers { .. } => QueueCode::OutOfRegisters,
            Self::PacketType { .. } | Self::Condition { .. } | Self::Sdma { .. } => {
                QueueCode::InvalidPacket
            }
            Self::VendorFormat { .. } | Self::Pm4 { .. } => QueueCode::InvalidVendorPacket,
        }
    }
}

/// Where a wave was when it could not go on.
#[derive(Clone, PartialEq, Debug)]
pub struct WaveFault {
    /// Address of the instruction.
    pub pc: u64,
    /// Address of the kernel descriptor.
    pub kernel_object: u64,
    /// The work-group's coordinates.
    pub group: [u32; 3],
    /// The wave's number in the work-group.
    pub wave: u32,
    /// The code that the host is told, unless it is a memory fault.
    pub code: QueueCode,
    /// The access, if it is a memory fault.
    pub memory: Option<MemoryFault>,
    /// The executor's account, in words.
    pub text: String,
}

impl fmt::Display for WaveFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.group;
        write!(
            f,
            "{} (kernel object {:#x}, pc {:#x}, work-group {x},{y},{z}, wave {})",
            self.text, self.kernel_object, self.pc, self.wave
        )
    }
}

/// Why a queue stopped.
#[derive(Clone, PartialEq, Debug)]
pub enum FaultCause {
    /// The packet cannot be executed.
    Packet(PacketError),
    /// A wave of its dispatch could not go on.
    Wave(WaveFault),
    /// The packet processor itself could not reach memory that the packet names.
    Memory {
        /// What the address was of.
        what: &'static str,
        /// The access.
        fault: MemoryFault,
    },
}

/// The report of a queue that stopped.
#[derive(Clone, PartialEq, Debug)]
pub struct FaultReport {
    /// The agent.
    pub agent: AgentId,
    /// The queue; it executes nothing more.
    pub queue: QueueHandle,
    /// Index of the packet; of queues without packets of one size its read pointer, in the queue's units.
    pub packet: u64,
    /// Why.
    pub cause: FaultCause,
}

impl FaultReport {
    /// The access, if it is a memory fault.
    pub fn memory(&self) -> Option<&MemoryFault> {
        match &self.cause {
            FaultCause::Wave(fault) => fault.memory.as_ref(),
            FaultCause::Memory { fault, .. } => Some(fault),
            FaultCause::Packet(_) => None,
        }
    }
}

impl fmt::Display for FaultReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "queue {} of agent {} stopped at packet {}: ",
            self.queue, self.agent.0, self.packet
        )?;
        match &self.cause {
            FaultCause::Packet(error) => error.fmt(f),
            FaultCause::Wave(fault) => fault.fmt(f),
            FaultCause::Memory { what, fault } => write!(f, "{what}: {fault}"),
        }
    }
}
