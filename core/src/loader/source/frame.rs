//! What is said of an instruction.

use alloc::vec::Vec;
use core::fmt;
use core::num::NonZero;

/// Where an instruction was compiled from: innermost first, the function that it is in last. Empty if nothing is known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Source<'a> {
    /// The function whose source it is, then the ones that this was inlined into, one after the other.
    pub frames: Vec<Frame<'a>>,
}

/// A function, and a place in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Frame<'a> {
    /// The function's name as in the source (`DW_AT_name`).
    pub function: Option<&'a str>,
    /// The name that linkers know it by, mangled; `None` where it is the same, as in C.
    pub linkage_name: Option<&'a str>,
    /// The instruction's place, or that of the call that was inlined.
    pub place: Option<Place<'a>>,
}

/// A place in a source file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Place<'a> {
    /// The file.
    pub file: Option<FilePath<'a>>,
    /// The line, from 1 on; `None` for code that belongs to no line.
    pub line: Option<NonZero<u32>>,
    /// The column, from 1 on.
    pub column: Option<NonZero<u32>>,
}

/// Path of a file, in parts as compilers write it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FilePath<'a> {
    /// Where the compiler ran; empty if not known.
    pub compiled_in: &'a str,
    /// The directory, relative to that if it does not begin with `/`; may be empty.
    pub directory: &'a str,
    /// The file, relative to that if it does not begin with `/`.
    pub name: &'a str,
}

/// The whole path.
impl fmt::Display for FilePath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: &[&str] = &[self.compiled_in, self.directory, self.name];
        if let Some(absolute) = parts.iter().rposition(|part| part.starts_with('/')) {
            parts = parts.get(absolute..).unwrap_or(parts);
        }
        let mut separator = "";
        for part in parts.iter().filter(|part| !part.is_empty()) {
            write!(f, "{separator}{part}")?;
            separator = if part.ends_with('/') { "" } else { "/" };
        }
        Ok(())
    }
}

/// `file:line:column`, with `?` for what is not known; without a column if there is none.
impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => file.fmt(f)?,
            None => f.write_str("?")?,
        }
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(f, ":{line}:{column}"),
            (Some(line), None) => write!(f, ":{line}"),
            (None, _) => f.write_str(":?"),
        }
    }
}

impl Frame<'_> {
    /// The name that linkers know the function by.
    #[must_use]
    pub fn symbol(&self) -> Option<&str> {
        self.linkage_name.or(self.function)
    }
}

/// `file:line:column in function`.
impl fmt::Display for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => place.fmt(f)?,
            None => f.write_str("?")?,
        }
        match self.function.or(self.linkage_name) {
            Some(function) => write!(f, " in {function}"),
            None => Ok(()),
        }
    }
}

impl Source<'_> {
    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}

/// `file:line:column in function, inlined into file:line:column in caller`.
impl fmt::Display for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, frame) in self.frames.iter().enumerate() {
            if index != 0 {
                f.write_str(", inlined into ")?;
            }
            frame.fmt(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn what_is_absolute_needs_nothing_before_it() {
        let path = |compiled_in, directory, name| {
            FilePath {
                compiled_in,
                directory,
                name,
            }
            .to_string()
        };
        assert_eq!(path("/home", "src", "a.cl"), "/home/src/a.cl");
        assert_eq!(path("/home", "/usr/include", "a.h"), "/usr/include/a.h");
        assert_eq!(path("/home", "src", "/tmp/a.cl"), "/tmp/a.cl");
        assert_eq!(path("", "", "a.cl"), "a.cl");
        assert_eq!(path("/", "", "a.cl"), "/a.cl");
    }

    #[test]
    fn what_is_not_known_is_left_out_or_a_question() {
        let place = |line, column| Place {
            file: None,
            line: NonZero::new(line),
            column: NonZero::new(column),
        };
        assert_eq!(place(3, 4).to_string(), "?:3:4");
        assert_eq!(place(3, 0).to_string(), "?:3");
        assert_eq!(place(0, 4).to_string(), "?:?");
        let inner = Frame {
            function: Some("helper"),
            place: Some(place(3, 4)),
            ..Frame::default()
        };
        let outer = Frame {
            linkage_name: Some("_Z6kernelv"),
            ..Frame::default()
        };
        let source = Source {
            frames: [inner, outer].into(),
        };
        assert_eq!(
            source.to_string(),
            "?:3:4 in helper, inlined into ? in _Z6kernelv"
        );
    }
}
