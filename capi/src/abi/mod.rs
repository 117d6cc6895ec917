//! The ABI: what C clients and this library agree on, bit by bit.
//!
//! Everything here is checked against Debian's HSA headers by a compiled probe
//! (`probe.rs`): every structure's size and offsets, every constant's value; and by another one (`prototypes.rs`):
//! every export's parameters, and the order of the API tables.
//!
//! Enumerations arrive as plain 32-bit numbers, since a C client may pass any; [`c_enum`] makes
//! the Rust type, its total parser and the list of C names that the probe checks.

mod attributes;
mod attributes_amd;
mod enums;
mod handles;
#[cfg(test)]
mod probe;
#[cfg(test)]
mod prototypes;
mod status;
mod structs;

pub use attributes::*;
pub use attributes_amd::*;
pub use enums::*;
pub use handles::*;
pub use status::Status;
pub use structs::*;

/// Declares a C enumeration: a Rust enum with a total parser from the number that a client gives,
/// and the names and values of its enumerators for the probe. An enumerator marked `newer` is
/// not in the oldest headers that clients are built with.
macro_rules! c_enum {
    ($($(#[$meta:meta])* pub enum $name:ident { $($variant:ident = $value:literal, $c:ident $(, $newer:ident)?;)* })*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u32)]
        pub enum $name {
            $(#[doc = concat!("`", stringify!($c), "`")] $variant = $value,)*
        }

        impl $name {
            /// From the number that a client gives; `None` if it names nothing.
            pub const fn from_raw(raw: u32) -> Option<Self> {
                match raw {
                    $($value => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// C name, value, and whether the oldest headers lack it.
            #[cfg(test)]
            pub(crate) const C_NAMES: &[(&str, u32, bool)] =
                &[$((stringify!($c), $value, !matches!(stringify!($($newer)?).as_bytes(), b""))),*];
        }
    )*};
}
pub(crate) use c_enum;
