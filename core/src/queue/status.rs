//! What a packet processor says in a queue's inactive signal when it stops the queue.

use thiserror_no_std::Error;

bitflags::bitflags! {
    /// The bits that a packet processor stores.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct ErrorBits: u64 {
        /// A wave of 64 needs more scratch.
        const SCRATCH_WAVE64 = 0x1;
        /// Number of dimensions is not 1 to 3.
        const DIMENSIONS = 0x2;
        /// More group memory than there is.
        const GROUP_MEMORY = 0x4;
        /// The kernel object is none.
        const CODE_OBJECT = 0x8;
        /// A packet type that is not known.
        const PACKET = 0x20;
        /// A work-group of a size that is not possible.
        const WORKGROUP_SIZE = 0x40;
        /// More registers than there are.
        const REGISTERS = 0x80;
        /// A vendor packet whose format is not known.
        const VENDOR_PACKET = 0x100;
        /// The packet processor gives scratch back.
        const SCRATCH_RECLAIM = 0x200;
        /// A wave of 32 needs more scratch.
        const SCRATCH_WAVE32 = 0x400;
        /// A memory access outside of all apertures.
        const APERTURE = 0x2000_0000;
        /// An instruction that does not exist.
        const ILLEGAL_INSTRUCTION = 0x4000_0000;
        /// A trap, or an exception that is nothing of the above.
        const EXCEPTION = 0x8000_0000;
    }
}

/// A queue that needs more scratch memory before it can go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScratchRequest {
    /// Lanes of the waves that need it: 32 or 64.
    pub wave_lanes: u32,
}

/// Why a queue was stopped for good.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum QueueStatus {
    /// `HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS`: the dimensions of a dispatch are not 1 to 3.
    #[error("a dispatch's number of dimensions is not 1 to 3")]
    IncompatibleArguments,
    /// `HSA_STATUS_ERROR_INVALID_ALLOCATION`: a dispatch wants more group memory than there is.
    #[error("a dispatch wants more group memory than the agent has")]
    InvalidAllocation,
    /// `HSA_STATUS_ERROR_INVALID_CODE_OBJECT`: a kernel object is none.
    #[error("a dispatch's kernel object is not a kernel")]
    InvalidCodeObject,
    /// `HSA_STATUS_ERROR_INVALID_PACKET_FORMAT`: a packet's type or format is not known.
    #[error("a packet's type or vendor format is not known")]
    InvalidPacketFormat,
    /// `HSA_STATUS_ERROR_INVALID_ARGUMENT`: a work-group's size is not possible.
    #[error("a dispatch's work-group size is not possible")]
    InvalidArgument,
    /// `HSA_STATUS_ERROR_OUT_OF_REGISTERS`: a work-group needs more registers than there are.
    #[error("a dispatch needs more registers than a compute unit has")]
    OutOfRegisters,
    /// `HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION`: a memory access outside of all apertures.
    #[error("a kernel accessed memory outside of all apertures")]
    ApertureViolation,
    /// `HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION`: a kernel ran an instruction that does not exist.
    #[error("a kernel ran an illegal instruction")]
    IllegalInstruction,
    /// `HSA_STATUS_ERROR_EXCEPTION`: a trap or another exception.
    #[error("a kernel raised an exception")]
    Exception,
    /// `HSA_STATUS_ERROR_MEMORY_FAULT`: a memory access to a page that is not mapped for it.
    #[error("a memory access faulted at {address:#x}")]
    MemoryFault {
        /// The page's address.
        address: u64,
    },
    /// `HSA_STATUS_ERROR_OUT_OF_RESOURCES`: there is not enough memory for a dispatch's scratch.
    #[error("there is no memory for {bytes} bytes of scratch")]
    OutOfScratch {
        /// What is needed for one wave in every slot, in bytes.
        bytes: u64,
    },
    /// The queue was destroyed with packets in it.
    #[error("the queue was destroyed")]
    Destroyed,
    /// `HSA_STATUS_ERROR`: bits that are not known here.
    #[error("the packet processor stopped the queue with {bits:#x}, which is not known here")]
    Unknown {
        /// The value of the inactive signal.
        bits: u64,
    },
}

/// What the value of an inactive signal asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inactive {
    /// Nothing: the queue runs.
    Running,
    /// Scratch memory; the queue goes on when the signal is 0 again.
    Scratch(ScratchRequest),
    /// Scratch memory is given back; the queue goes on when the signal is 0 again.
    Reclaim,
    /// An end.
    Failed(QueueStatus),
}

impl Inactive {
    /// Decodes a value. Errors come before requests: scratch for a queue that has failed is of no use.
    pub const fn decode(value: i64) -> Self {
        let bits = value as u64;
        if bits == 0 {
            return Self::Running;
        }
        let set = ErrorBits::from_bits_truncate(bits);
        const fn any(set: ErrorBits, of: ErrorBits) -> bool {
            set.bits() & of.bits() != 0
        }
        Self::Failed(if any(set, ErrorBits::DIMENSIONS) {
            QueueStatus::IncompatibleArguments
        } else if any(set, ErrorBits::GROUP_MEMORY) {
            QueueStatus::InvalidAllocation
        } else if any(set, ErrorBits::CODE_OBJECT) {
            QueueStatus::InvalidCodeObject
        } else if any(set, ErrorBits::PACKET) || any(set, ErrorBits::VENDOR_PACKET) {
            QueueStatus::InvalidPacketFormat
        } else if any(set, ErrorBits::WORKGROUP_SIZE) {
            QueueStatus::InvalidArgument
        } else if any(set, ErrorBits::REGISTERS) {
            QueueStatus::OutOfRegisters
        } else if any(set, ErrorBits::APERTURE) {
            QueueStatus::ApertureViolation
        } else if any(set, ErrorBits::ILLEGAL_INSTRUCTION) {
            QueueStatus::IllegalInstruction
        } else if any(set, ErrorBits::EXCEPTION) {
            QueueStatus::Exception
        } else if bits & !0x601 != 0 {
            QueueStatus::Unknown { bits }
        } else if any(set, ErrorBits::SCRATCH_WAVE64) {
            // Whatever the other bit says: what serves a wave of 64 serves one of 32.
            return Self::Scratch(ScratchRequest { wave_lanes: 64 });
        } else if any(set, ErrorBits::SCRATCH_WAVE32) {
            return Self::Scratch(ScratchRequest { wave_lanes: 32 });
        } else {
            return Self::Reclaim;
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_bit_has_its_status() {
        use QueueStatus as S;
        let table: [(i64, QueueStatus); 12] = [
            (2, S::IncompatibleArguments),
            (4, S::InvalidAllocation),
            (8, S::InvalidCodeObject),
            (32, S::InvalidPacketFormat),
            (256, S::InvalidPacketFormat),
            (64, S::InvalidArgument),
            (128, S::OutOfRegisters),
            (0x2000_0000, S::ApertureViolation),
            (0x4000_0000, S::IllegalInstruction),
            (0x8000_0000, S::Exception),
            (0x10, S::Unknown { bits: 0x10 }),
            (1 << 40, S::Unknown { bits: 1 << 40 }),
        ];
        for (value, status) in table {
            assert_eq!(
                Inactive::decode(value),
                Inactive::Failed(status),
                "{value:#x}"
            );
            // With a scratch request beside it, it is still an error.
            assert!(matches!(
                Inactive::decode(value | 1),
                Inactive::Failed(found) if matches!(status, S::Unknown { .. }) || found == status
            ));
        }
    }

    #[test]
    fn scratch_requests_say_how_wide_the_waves_are() {
        let wave = |wave_lanes| Inactive::Scratch(ScratchRequest { wave_lanes });
        assert_eq!(Inactive::decode(0x1), wave(64));
        assert_eq!(Inactive::decode(0x400), wave(32));
        assert_eq!(Inactive::decode(0x401), wave(64));
        assert_eq!(Inactive::decode(0x200), Inactive::Reclaim);
        assert_eq!(Inactive::decode(0), Inactive::Running);
    }
}
