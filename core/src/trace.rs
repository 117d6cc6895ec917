//! The one place that diagnostics go through: `log`, `defmt`, both or neither.
//!
//! Arguments are integers, booleans and `&str` (what both can print), formats use `{}` and `{:#x}`.

/// `event!(warn, "queue {} stopped", id)`: writes to every facade that is compiled in.
#[allow(unused_macros, reason = "tier 0 alone has nothing to report")]
macro_rules! event {
    ($level:ident, $format:literal $(, $arg:expr)* $(,)?) => {{
        #[cfg(feature = "log")]
        ::log::$level!($format $(, $arg)*);
        #[cfg(feature = "defmt")]
        ::defmt::$level!($format $(, $arg)*);
        #[cfg(not(any(feature = "log", feature = "defmt")))]
        {
            $(let _ = &$arg;)*
        }
    }};
}
#[allow(unused_imports, reason = "as above")]
pub(crate) use event;
