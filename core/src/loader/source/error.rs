//! Why debug information cannot be read.

use core::fmt;
use thiserror_no_std::Error;

/// What is wrong with bytes that should be DWARF, in the words of the reader.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Malformed(pub(super) gimli::Error);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why debug information cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum SourceError {
    /// A section is compressed; compile or link with `-gz=none`.
    #[error("section {section} is compressed, which is not supported: link with -gz=none")]
    Compressed {
        /// The section's name.
        section: &'static str,
    },
    /// A section does not lie in the file.
    #[error("section {section} ({size} bytes at {offset:#x}) is not in the file")]
    OutsideFile {
        /// The section's name.
        section: &'static str,
        /// Where it should begin in the file.
        offset: u64,
        /// Its size in bytes.
        size: u64,
    },
    /// Something that is not DWARF 2 to 5 as its section's header promises.
    #[error("section {section}, at or behind {offset:#x}: {reason}")]
    Malformed {
        /// The section's name.
        section: &'static str,
        /// Offset in the section of the unit, table or program that is not as it must be.
        offset: u64,
        /// What is wrong with it.
        reason: Malformed,
    },
    /// Addresses of a size that AMD GPUs do not have.
    #[error("section {section}, at {offset:#x}: addresses have {size} bytes")]
    AddressSize {
        /// The section's name.
        section: &'static str,
        /// Offset in the section of the unit or program.
        offset: u64,
        /// The size in bytes.
        size: u8,
    },
    /// A line program that defines files as it runs, which no compiler since DWARF 2 does.
    #[error("section .debug_line, at {offset:#x}: DW_LNE_define_file is not supported")]
    DefinedFile {
        /// Offset of the program in the section.
        offset: u64,
    },
    /// More of something than is read. The limits are constants of this module.
    #[error("there are more than {limit} {what}")]
    TooMany {
        /// What.
        what: &'static str,
        /// How many there may be.
        limit: u64,
    },
}

impl core::error::Error for SourceError {}

impl SourceError {
    pub(super) const fn malformed(
        section: &'static str,
        offset: usize,
    ) -> impl Fn(gimli::Error) -> Self {
        move |error| Self::Malformed {
            section,
            offset: offset as u64,
            reason: Malformed(error),
        }
    }
}
