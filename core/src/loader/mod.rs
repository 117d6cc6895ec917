//! Code objects, from bytes to kernels that can be dispatched.
//!
//! 1. [`CodeObject::parse`] checks an ELF file and borrows it: ISA, [`Segments`], [`Symbol`]s,
//!    [`Relocation`]s, [`Note`]s. No allocator is needed.
//! 2. [`CodeObject::metadata`] tells what the compiler says of kernels and arguments ([`metadata`]),
//!    and [`kernarg`] fills a kernel's argument block from it.
//! 3. With feature `alloc`, an [`Executable`] loads code objects into a [`LoaderMemory`], links them and
//!    is frozen; then its kernels can be dispatched.
//! 4. With feature `dwarf`, a `source::SourceMap` tells where in the source an instruction was compiled from.
//!
//! ```
//! use rukh_core::loader::CodeObject;
//!
//! let file = include_bytes!("../../tests/data/linked-gfx90a-v4.co");
//! let code = CodeObject::parse(file)?;
//! assert_eq!(code.isa().processor().name, "gfx90a");
//! let names: Vec<&str> = code.kernels().map(|(symbol, _)| symbol.name).collect();
//! assert_eq!(names, ["touch.kd", "empty.kd"]);
//! # Ok::<(), rukh_core::loader::CodeObjectError>(())
//! ```
//!
//! Sources: LLVM's "User Guide for AMDGPU Backend"; the ELF-64 object file format; HSA Runtime 1.2.

pub mod kernarg;
pub mod metadata;
pub mod msgpack;

mod argument;
mod code_object;
mod dynamic;
mod error;
mod file;
mod note;
mod relocation;
mod segment;
mod symbol;
mod text;

#[cfg(feature = "alloc")]
mod executable;
#[cfg(feature = "alloc")]
mod link;
#[cfg(feature = "alloc")]
mod load_error;
#[cfg(feature = "alloc")]
mod memory;
#[cfg(feature = "alloc")]
pub mod oracle;
#[cfg(feature = "alloc")]
mod owned_metadata;
#[cfg(feature = "dwarf")]
pub mod source;

pub use code_object::{CodeObject, CodeObjectVersion, MAX_NOTE_SEGMENTS};
pub use error::CodeObjectError;
pub use note::Note;
pub use relocation::{Relocation, RelocationKind};
pub use segment::{MAX_LOAD_SEGMENTS, MAX_SEGMENT_ALIGN, Segment, Segments};
pub use symbol::{Binding, Place, Symbol, SymbolKind};
pub use text::Text;

#[cfg(feature = "alloc")]
pub use executable::{
    CodeObjectId, Executable, ExternalVariable, FreezeError, Frozen, KERNARG_SEGMENT_ALIGN,
    KernelInfo, LoadedCodeObject, LoadedKind, LoadedSymbol, Loading,
};
#[cfg(feature = "alloc")]
pub use load_error::{LoadError, Scope};
#[cfg(feature = "alloc")]
pub use memory::{LoaderMemory, SegmentError, SegmentMemory};
#[cfg(feature = "alloc")]
pub use owned_metadata::OwnedMetadata;
