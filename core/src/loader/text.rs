//! A short copy of a name for error values, which outlive the bytes they speak of.

use core::fmt;

/// Bytes that a [`Text`] keeps.
const CAPACITY: usize = 60;

/// The beginning of a name; a longer one ends in `…`. Mangled C++ names can take kilobytes, and
/// errors must not need an allocator.
#[derive(Clone, PartialEq, Eq)]
pub struct Text {
    start: heapless::String<CAPACITY, u8>,
    cut: bool,
}

impl Text {
    /// Copies what fits of `name`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let kept = name.get(..name.floor_char_boundary(CAPACITY)).unwrap_or("");
        let mut start = heapless::String::new();
        // It fits: it is no longer than there is room for.
        let cut = start.push_str(kept).is_err() || kept.len() < name.len();
        Self { start, cut }
    }

    /// The kept part.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.start
    }
}

impl From<&str> for Text {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.start)?;
        f.write_str(if self.cut { "…" } else { "" })
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}
