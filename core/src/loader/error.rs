//! What can be wrong with a code object.

use super::text::Text;
use crate::isa::FlagsError;
use thiserror_no_std::Error;

/// Why bytes are not a code object that Rukh loads. Offsets count from the start of the file,
/// addresses are those of the file (before loading), sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CodeObjectError {
    /// A structure reaches beyond the end of the file.
    #[error(
        "{what} at offset {offset:#x}, {size:#x} bytes, lies outside of the file's {file:#x} bytes"
    )]
    OutsideFile {
        /// The structure.
        what: &'static str,
        /// Where it begins.
        offset: u64,
        /// Its size; `u64::MAX` if that overflows.
        size: u64,
        /// Size of the file.
        file: u64,
    },
    /// The file does not begin with the ELF magic.
    #[error("no ELF file: it begins with {magic:02x?}")]
    NotElf {
        /// The first four bytes.
        magic: [u8; 4],
    },
    /// A field of the file header has a value that no code object has.
    #[error("{what} is {found:#x}; a code object has {expected:#x}")]
    Header {
        /// The field, by its name in the ELF specification.
        what: &'static str,
        /// Its value.
        found: u64,
        /// The value that a code object has.
        expected: u64,
    },
    /// A code object version that Rukh does not load: version 2 (LLVM 9 and before; its kernels have
    /// another descriptor), or one newer than version 6.
    #[error("code object version {version} is not supported (3 to 6 are)")]
    UnsupportedVersion {
        /// The version as compilers count it, `EI_ABIVERSION` plus 2.
        version: u16,
    },
    /// `e_flags` name no ISA.
    #[error("{0}")]
    Flags(FlagsError),
    /// More program headers or loaded segments than a code object can have.
    #[error("{found} {what}; at most {limit} are supported")]
    TooMany {
        /// What there are too many of.
        what: &'static str,
        /// How many there are.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// There is nothing to load.
    #[error("the code object has no PT_LOAD segment")]
    NothingToLoad,
    /// A segment is larger in the file than in memory.
    #[error("segment {index} has {file_size:#x} bytes in the file but {memory_size:#x} in memory")]
    SegmentShrinks {
        /// Index of the program header.
        index: u16,
        /// `p_filesz`.
        file_size: u64,
        /// `p_memsz`.
        memory_size: u64,
    },
    /// A segment runs past the end of the address space.
    #[error("segment {index} at {address:#x}, {size:#x} bytes, overflows the address space")]
    SegmentOverflows {
        /// Index of the program header.
        index: u16,
        /// `p_vaddr`.
        address: u64,
        /// `p_memsz`.
        size: u64,
    },
    /// Segments overlap, or are not in ascending order as the ELF specification demands.
    #[error(
        "segment {index} at {address:#x} begins before the end of the previous one, {previous_end:#x}"
    )]
    SegmentsOverlap {
        /// Index of the program header.
        index: u16,
        /// `p_vaddr`.
        address: u64,
        /// End of the segment before it.
        previous_end: u64,
    },
    /// A segment's alignment is no power of two or unreasonably large.
    #[error(
        "segment {index} is aligned to {align:#x}; a power of two up to {limit:#x} is possible"
    )]
    SegmentAlign {
        /// Index of the program header.
        index: u16,
        /// `p_align`.
        align: u64,
        /// The largest alignment that is supported.
        limit: u64,
    },
    /// A table that the dynamic section points to is not in the file-backed part of a segment.
    #[error("{what} at {address:#x}, {size:#x} bytes, lies in no segment's file contents")]
    Unmapped {
        /// The table, by its dynamic tag.
        what: &'static str,
        /// Its address.
        address: u64,
        /// Its size; `u64::MAX` if that overflows.
        size: u64,
    },
    /// A dynamic tag is needed by another and missing.
    #[error("the dynamic section has {present} but no {missing}")]
    MissingTag {
        /// The tag that is there.
        present: &'static str,
        /// The tag that is not.
        missing: &'static str,
    },
    /// A dynamic tag whose meaning Rukh does not implement.
    #[error("the dynamic section has {name}, which is not supported")]
    UnsupportedTag {
        /// The tag.
        name: &'static str,
    },
    /// A table's entry size is not that of its entries.
    #[error("{what} is {found}; entries have {expected} bytes")]
    EntrySize {
        /// The field that states it.
        what: &'static str,
        /// Its value.
        found: u64,
        /// The size of an entry.
        expected: u64,
    },
    /// A symbol's name lies outside of the string table, is not terminated within 64 KiB, or is not
    /// UTF-8.
    #[error(
        "symbol {index} has no valid name at offset {offset:#x} of a string table of {size:#x} bytes"
    )]
    SymbolName {
        /// Index in the dynamic symbol table.
        index: u32,
        /// `st_name`.
        offset: u32,
        /// Size of the string table.
        size: u64,
    },
    /// The names of all symbols together are far longer than the file.
    #[error("symbol names share their bytes beyond reason: {total:#x} bytes of names")]
    SymbolNames {
        /// Sum of the names' lengths up to the symbol that broke the limit.
        total: u64,
    },
    /// A symbol of a kind or section that code objects of version 3 and later do not have.
    #[error("symbol {symbol} is {what} {value:#x}, which is not supported")]
    SymbolKind {
        /// The symbol.
        symbol: Text,
        /// What is not supported: a type or a section index.
        what: &'static str,
        /// Its number.
        value: u16,
    },
    /// A symbol lies outside of the loaded segments.
    #[error(
        "symbol {symbol} at {address:#x}, {size:#x} bytes, lies outside of the loaded segments"
    )]
    SymbolOutside {
        /// The symbol.
        symbol: Text,
        /// `st_value`.
        address: u64,
        /// `st_size`.
        size: u64,
    },
    /// A kernel descriptor does not have 64 bytes or is not aligned to 64.
    #[error(
        "kernel descriptor {symbol} at {address:#x} has {size} bytes; 64 aligned to 64 are needed"
    )]
    Descriptor {
        /// The symbol.
        symbol: Text,
        /// `st_value`.
        address: u64,
        /// `st_size`.
        size: u64,
    },
    /// A kernel descriptor whose entry is not at a multiple of 256 in an executable segment.
    #[error(
        "kernel descriptor {symbol} at {address:#x} has its entry {offset:#x} from there, which is no code"
    )]
    KernelEntry {
        /// The symbol.
        symbol: Text,
        /// Address of the descriptor.
        address: u64,
        /// `kernel_code_entry_byte_offset`.
        offset: i64,
    },
    /// A relocation of a type that a loader does not process.
    #[error("relocation {index} has type {r_type} ({name}), which a loader cannot process")]
    RelocationType {
        /// Index in its table.
        index: u64,
        /// The type's number.
        r_type: u32,
        /// LLVM's name for it, `unknown` if there is none.
        name: &'static str,
    },
    /// A relocation names a symbol that is not in the table.
    #[error("relocation {index} refers to symbol {symbol} of {count}")]
    RelocationSymbol {
        /// Index in its table.
        index: u64,
        /// Index of the symbol.
        symbol: u32,
        /// Number of symbols.
        count: u32,
    },
    /// A relocation patches memory outside of the loaded segments.
    #[error(
        "relocation {index} patches {width} bytes at {address:#x}, outside of the loaded segments"
    )]
    RelocationOutside {
        /// Index in its table.
        index: u64,
        /// `r_offset`.
        address: u64,
        /// Bytes to patch.
        width: u64,
    },
    /// A note reaches beyond its segment.
    #[error("the note at offset {offset:#x} reaches beyond its segment's end, {end:#x}")]
    Note {
        /// Where the note begins.
        offset: u64,
        /// End of the segment.
        end: u64,
    },
    /// The metadata note cannot be read.
    #[error("{0}")]
    Metadata(#[from] super::metadata::MetadataError),
}

impl From<FlagsError> for CodeObjectError {
    fn from(error: FlagsError) -> Self {
        Self::Flags(error)
    }
}

crate::impl_error!(CodeObjectError);
