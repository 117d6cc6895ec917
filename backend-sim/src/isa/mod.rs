//! Machine code: one instruction list, and everything that follows from it.
//!
//! - [`Op`]: operations, one per row of the list; [`Row`] says what the list knows about one.
//! - [`Inst`]: a decoded instruction: operation, [`Format`], [`Operand`]s and [`Mods`].
//! - [`Arch`]: whose encoding is meant.

mod arch;
mod buffer_format;
mod decode;
mod encode;
mod generate;
mod image;
mod inst;
#[macro_use]
mod list;
mod op;
mod operand;
mod row;
mod table;
mod text;

#[cfg(test)]
mod tests;

pub use arch::{Arch, ArchSet, Column, Lanes};
pub use buffer_format::{BufferFormat, DataFormat, NumberFormat, buffer_format};
pub use decode::{DecodeError, decode};
pub use encode::{EncodeError, Encoded, encode};
pub use generate::{Rng, generate, generate_dual};
pub use image::Image;
pub(crate) use image::{has_level, is_ray};
pub use inst::{Cache, Dpp, DppCtrl, Export, Format, Inst, Mods, Sdwa, Select, Unused};
pub use op::Op;
pub use operand::{InlineFloat, Operand};
pub use row::{Code, Dir, Field, Flags, ImmKind, OperandDesc, Row, Type};
pub use text::Text;
