//! Code objects, from bytes to kernels that can be dispatched.
//!
//! 1. [`CodeObject::parse`] checks an ELF file and borrows it: ISA, [`Segments`], [`Symbol`]s,
//!    [`Relocation`]s, [`Note`]s. No allocator is needed.
//! 2. [`CodeObject::metadata`] tells what the compiler says of kernels and arguments ([`metadata`]),
//!    and [`kernarg`] fills a kernel's argument block from it.
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

pub use code_object::{CodeObject, CodeObjectVersion};
pub use error::CodeObjectError;
pub use note::Note;
pub use relocation::{Relocation, RelocationKind};
pub use segment::{MAX_LOAD_SEGMENTS, MAX_SEGMENT_ALIGN, Segment, Segments};
pub use symbol::{Binding, Place, Symbol, SymbolKind};
pub use text::Text;
