//! From core's errors to statuses: one total mapping. A new error of core's is a compile error
//! here until it has its status.

use crate::abi::Status;
use rukh_core::backend::{MemoryError, QueueCreateError};
use rukh_core::loader::{LoadError, SegmentError};
use rukh_core::mem::RangeError;
use rukh_core::queue::{QueueStatus, RingError};
use rukh_core::runtime::{AllocError, InitError, QueueError, SignalError, VirtualError};

/// A memory error of the backend.
pub fn status_of_memory(error: &MemoryError) -> Status {
    match error {
        MemoryError::NoBank { .. } | MemoryError::BadSize { .. } => Status::INVALID_ALLOCATION,
        MemoryError::OutOfMemory { .. } | MemoryError::Os { .. } => Status::OUT_OF_RESOURCES,
        MemoryError::NoAllocation { .. } | MemoryError::NotShared { .. } => {
            Status::INVALID_ALLOCATION
        }
        MemoryError::InUse { .. } => Status::RESOURCE_FREE,
        MemoryError::BadAgent { .. } => Status::INVALID_AGENT,
        MemoryError::BadHostRange { .. } => Status::INVALID_ARGUMENT,
        MemoryError::NotSupported(_) => Status::ERROR,
    }
}

/// A queue error of the backend.
pub fn status_of_queue_backend(error: &QueueCreateError) -> Status {
    match error {
        QueueCreateError::NoSuchKind { .. } | QueueCreateError::BadAddress { .. } => {
            Status::INVALID_QUEUE_CREATION
        }
        QueueCreateError::NoneLeft { .. } | QueueCreateError::Os { .. } => Status::OUT_OF_RESOURCES,
        QueueCreateError::BadRingSize { .. } => Status::INVALID_ARGUMENT,
        QueueCreateError::NoQueue(_) => Status::INVALID_QUEUE,
        QueueCreateError::NotSupported(_) => Status::ERROR,
    }
}

/// Why an executable is not what it should be.
pub fn status_of_load(error: &LoadError) -> Status {
    match error {
        LoadError::CodeObject(_) | LoadError::RelocationOverflow { .. } => {
            Status::INVALID_CODE_OBJECT
        }
        LoadError::IncompatibleIsa { .. } => Status::INCOMPATIBLE_ARGUMENTS,
        LoadError::AlreadyDefined { .. } => Status::VARIABLE_ALREADY_DEFINED,
        LoadError::VariableUndefined { .. } => Status::VARIABLE_UNDEFINED,
        LoadError::BadAllocation { .. } => Status::OUT_OF_RESOURCES,
        LoadError::Memory(error) => match error {
            SegmentError::Memory(error) => status_of_memory(error),
            SegmentError::Queue(error) => status_of_queue_backend(error),
            SegmentError::Outside { .. } => Status::ERROR,
        },
    }
}

/// Why a queue stopped, as its callback is told.
pub fn status_of_stop(status: &QueueStatus) -> Status {
    match status {
        QueueStatus::IncompatibleArguments => Status::INCOMPATIBLE_ARGUMENTS,
        QueueStatus::InvalidAllocation => Status::INVALID_ALLOCATION,
        QueueStatus::InvalidCodeObject => Status::INVALID_CODE_OBJECT,
        QueueStatus::InvalidPacketFormat => Status::INVALID_PACKET_FORMAT,
        QueueStatus::InvalidArgument => Status::INVALID_ARGUMENT,
        QueueStatus::OutOfRegisters => Status::OUT_OF_REGISTERS,
        QueueStatus::ApertureViolation => Status::MEMORY_APERTURE_VIOLATION,
        QueueStatus::IllegalInstruction => Status::ILLEGAL_INSTRUCTION,
        QueueStatus::Exception => Status::EXCEPTION,
        QueueStatus::MemoryFault { .. } => Status::MEMORY_FAULT,
        QueueStatus::OutOfScratch { .. } => Status::OUT_OF_RESOURCES,
        QueueStatus::Destroyed => Status::INVALID_QUEUE,
        QueueStatus::Unknown { .. } => Status::ERROR,
    }
}

impl From<AllocError> for Status {
    fn from(error: AllocError) -> Self {
        match &error {
            AllocError::NoPool { .. } => Self::INVALID_MEMORY_POOL,
            AllocError::NotAllocatable { .. }
            | AllocError::TooLarge { .. }
            | AllocError::UnknownAddress { .. } => Self::INVALID_ALLOCATION,
            AllocError::ZeroSize | AllocError::OutOfRange { .. } => Self::INVALID_ARGUMENT,
            AllocError::NotReachable { .. } | AllocError::Engine(_) => Self::ERROR,
            AllocError::NoAgent { .. } => Self::INVALID_AGENT,
            AllocError::Backend(error) => status_of_memory(error),
        }
    }
}

impl From<VirtualError> for Status {
    fn from(error: VirtualError) -> Self {
        match error {
            VirtualError::Range(error) => match error {
                RangeError::Unaligned { .. }
                | RangeError::WrongSize { .. }
                | RangeError::Overlap { .. }
                | RangeError::Partial { .. } => Self::INVALID_ARGUMENT,
                RangeError::NotReserved { .. }
                | RangeError::NoMemory { .. }
                | RangeError::NotMapped { .. } => Self::INVALID_ALLOCATION,
                RangeError::InUse { .. } => Self::RESOURCE_FREE,
            },
            VirtualError::Alloc(error) => error.into(),
            // What the backend has not; on these functions alone there is a status for it.
            VirtualError::Backend(MemoryError::NotSupported(_)) => Self::NOT_SUPPORTED,
            VirtualError::Backend(error) => status_of_memory(&error),
        }
    }
}

impl From<SignalError> for Status {
    fn from(error: SignalError) -> Self {
        match &error {
            SignalError::BadHandle { .. }
            | SignalError::Destroyed { .. }
            | SignalError::Doorbell { .. } => Self::INVALID_SIGNAL,
            SignalError::Arena(_) | SignalError::Spawn(_) => Self::OUT_OF_RESOURCES,
            SignalError::Memory(error) => status_of_memory(error),
        }
    }
}

impl From<QueueError> for Status {
    fn from(error: QueueError) -> Self {
        match error {
            QueueError::NoAgent { .. } => Self::INVALID_AGENT,
            QueueError::NotAGpu { .. } | QueueError::Unsupported(_) => Self::INVALID_QUEUE_CREATION,
            QueueError::BadSize { .. } => Self::INVALID_ARGUMENT,
            QueueError::TooLarge { .. }
            | QueueError::PrivateTooLarge { .. }
            | QueueError::NoneLeft { .. }
            | QueueError::TimedOut
            | QueueError::Spawn(_) => Self::OUT_OF_RESOURCES,
            QueueError::Memory(error) => status_of_memory(&error),
            QueueError::Signal(error) => error.into(),
            QueueError::Backend(error) => status_of_queue_backend(&error),
            QueueError::Ring(error) => status_of_ring(&error),
            QueueError::Stopped(status) => status_of_stop(&status),
        }
    }
}

fn status_of_ring(error: &RingError) -> Status {
    let _ = error;
    Status::INVALID_QUEUE
}

impl From<InitError> for Status {
    fn from(error: InitError) -> Self {
        // The specification of hsa_init knows no other; the text says more (`init.rs`).
        match error {
            InitError::Topology(_)
            | InitError::NoHostMemory
            | InitError::Signals(_)
            | InitError::Events(_) => Self::OUT_OF_RESOURCES,
        }
    }
}
