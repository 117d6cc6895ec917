//! Why a packet was not executed.

use rukh_core::wire::sdma::ParseError;
use thiserror_no_std::Error;

/// What is wrong with an SDMA packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum SdmaError {
    /// It is none that the engine knows.
    #[error("{0}")]
    Packet(ParseError),
    /// It is longer than the ring, or than the indirect buffer that it stands in.
    #[error("the packet of {dwords} dwords does not fit the {available} dwords that there are")]
    TooLong {
        /// Dwords of the packet.
        dwords: u64,
        /// Dwords that there are.
        available: u64,
    },
    /// An address is not aligned as the packet wants it.
    #[error("the {what} {address:#x} is not {align}-byte aligned")]
    Misaligned {
        /// What the address is of.
        what: &'static str,
        /// The address.
        address: u64,
        /// The alignment, in bytes.
        align: u64,
    },
    /// An atomic whose code is none, or one on floats.
    #[error("atomic operation {code:#x} is not supported")]
    AtomicCode {
        /// The code.
        code: u8,
    },
    /// A field has a value that means nothing.
    #[error("the {field} {value} means nothing")]
    Reserved {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u32,
    },
    /// The packet is well-formed, and this engine does not do it.
    #[error("{what} is not supported")]
    NotSupported {
        /// What it asks for.
        what: &'static str,
    },
    /// A wait has looked as often as it says, in vain.
    #[error("the wait gave up after {retries} retries")]
    PollTimeout {
        /// How often it looked again.
        retries: u32,
    },
    /// The write pointer is not within a ring's length after the read pointer, or not a dword's.
    #[error("the write pointer {write:#x} cannot follow the read pointer {read:#x}")]
    WritePointer {
        /// The write pointer, in bytes.
        write: u64,
        /// The read pointer, in bytes.
        read: u64,
    },
}

impl core::error::Error for SdmaError {}
