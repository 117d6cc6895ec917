//! One call, as a line of text and back.

use super::layout;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Write;
use rukh_core::kfd::Protection;
use rukh_core::kfd::uapi::IoctlInfo;
use thiserror_no_std::Error;

/// What a call answered: a value, or an errno.
pub type Answer<T> = Result<T, i32>;

/// A call of a port and its answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Record {
    /// A file was opened.
    Open {
        /// Its path.
        path: String,
        /// Its number.
        answer: Answer<i32>,
    },
    /// A file was closed.
    Close {
        /// Its number.
        file: i32,
    },
    /// An ioctl.
    Ioctl {
        /// The file's number.
        file: i32,
        /// The request.
        request: u32,
        /// The argument before.
        before: Vec<u8>,
        /// What was behind its pointer before.
        array_before: Vec<u8>,
        /// The argument after.
        after: Vec<u8>,
        /// What was behind its pointer after.
        array_after: Vec<u8>,
        /// Success, or an errno.
        answer: Answer<()>,
    },
    /// Memory was mapped.
    Map {
        /// The file's number, or none.
        file: Option<i32>,
        /// Offset in the file.
        offset: u64,
        /// Bytes.
        size: u64,
        /// Access.
        protection: Protection,
        /// Where it had to be.
        fixed: Option<u64>,
        /// Where it is.
        answer: Answer<u64>,
    },
    /// Memory was unmapped.
    Unmap {
        /// Where it was.
        address: u64,
        /// Bytes.
        size: u64,
    },
    /// A file was read.
    Read {
        /// Its path.
        path: String,
        /// Its bytes.
        answer: Answer<Vec<u8>>,
    },
    /// A directory was listed.
    List {
        /// Its path.
        path: String,
        /// Its entries.
        answer: Answer<Vec<String>>,
    },
}

/// Why a line is no record.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ParseError {
    /// The first line is not [`HEADER`](super::HEADER).
    #[error("this is no recording, or one of another version")]
    Header,
    /// A line that cannot be read.
    #[error("line {line} of the recording is no {what}")]
    Line {
        /// Which, from 1.
        line: usize,
        /// What it should be.
        what: &'static str,
    },
}

impl core::error::Error for ParseError {}

fn quote(out: &mut String, bytes: &[u8]) {
    // Every byte escapes to ASCII.
    let _ = write!(out, "\"{}\"", bytes.escape_ascii());
}

fn hex(out: &mut String, key: &str, bytes: &[u8]) {
    let _ = write!(out, " {key}=");
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
}

fn answer<T>(out: &mut String, answer: &Answer<T>, value: impl FnOnce(&mut String, &T)) {
    match answer {
        Ok(ok) => {
            out.push_str(" = ");
            value(out, ok);
        }
        Err(errno) => {
            let _ = write!(out, " = errno {errno}");
        }
    }
}

const fn protection_name(protection: Protection) -> &'static str {
    match protection {
        Protection::None => "none",
        Protection::Read => "r",
        Protection::ReadWrite => "rw",
    }
}

impl core::fmt::Display for Record {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut out = String::new();
        self.emit(&mut out);
        f.write_str(&out)
    }
}

impl Record {
    fn emit(&self, out: &mut String) {
        match self {
            Self::Open { path, answer: a } => {
                out.push_str("open ");
                quote(out, path.as_bytes());
                answer(out, a, |out, file| {
                    let _ = write!(out, "{file}");
                });
            }
            Self::Close { file } => {
                let _ = write!(out, "close {file}");
            }
            Self::Ioctl {
                file,
                request,
                before,
                array_before,
                after,
                array_after,
                answer: a,
            } => {
                let _ = write!(out, "ioctl {file} ");
                let Some(info) = layout::info(*request) else {
                    let _ = write!(out, "OTHER {request:#x}");
                    hex(out, "bytes", before);
                    emit_array(out, array_before, &[]);
                    out.push_str(" ->");
                    if after != before {
                        hex(out, "bytes", after);
                    }
                    emit_array(out, array_after, array_before);
                    return answer(out, a, |out, ()| out.push('0'));
                };
                let _ = write!(out, "{} {request:#x}", info.name);
                for field in layout::fields(info) {
                    let value = field.value(before);
                    if value != 0 {
                        let _ = write!(out, " {}={value:#x}", field.name);
                    }
                }
                emit_array(out, array_before, &[]);
                out.push_str(" ->");
                for field in layout::fields(info) {
                    let value = field.value(after);
                    if value != field.value(before) {
                        let _ = write!(out, " {}={value:#x}", field.name);
                    }
                }
                emit_array(out, array_after, array_before);
                answer(out, a, |out, ()| out.push('0'));
            }
            Self::Map {
                file,
                offset,
                size,
                protection,
                fixed,
                answer: a,
            } => {
                out.push_str("map ");
                match file {
                    Some(file) => {
                        let _ = write!(out, "{file}");
                    }
                    None => out.push_str("anonymous"),
                }
                let _ = write!(
                    out,
                    " {offset:#x} {size:#x} {}",
                    protection_name(*protection)
                );
                if let Some(fixed) = fixed {
                    let _ = write!(out, " fixed {fixed:#x}");
                }
                answer(out, a, |out, address| {
                    let _ = write!(out, "{address:#x}");
                });
            }
            Self::Unmap { address, size } => {
                let _ = write!(out, "unmap {address:#x} {size:#x}");
            }
            Self::Read { path, answer: a } => {
                out.push_str("read ");
                quote(out, path.as_bytes());
                answer(out, a, |out, bytes| quote(out, bytes));
            }
            Self::List { path, answer: a } => {
                out.push_str("list ");
                quote(out, path.as_bytes());
                answer(out, a, |out, names| {
                    for (index, name) in names.iter().enumerate() {
                        if index != 0 {
                            out.push(' ');
                        }
                        quote(out, name.as_bytes());
                    }
                });
            }
        }
    }

    /// Reads a line.
    ///
    /// # Errors
    /// What the line should have been.
    pub fn parse(line: &str) -> Result<Self, &'static str> {
        let mut words = Words(line);
        match words.next().ok_or("call")? {
            "open" => Ok(Self::Open {
                path: words.text()?,
                answer: words.answer(Words::number_of)?,
            }),
            "close" => Ok(Self::Close {
                file: words.number_of()?,
            }),
            "ioctl" => ioctl(&mut words),
            "map" => {
                let file = match words.next() {
                    Some("anonymous") => None,
                    Some(word) => Some(small(word)?),
                    None => return Err("file"),
                };
                let (offset, size) = (words.number()?, words.number()?);
                let protection = match words.next() {
                    Some("none") => Protection::None,
                    Some("r") => Protection::Read,
                    Some("rw") => Protection::ReadWrite,
                    _ => return Err("protection"),
                };
                let fixed = if words.peek() == Some("fixed") {
                    words.next();
                    Some(words.number()?)
                } else {
                    None
                };
                Ok(Self::Map {
                    file,
                    offset,
                    size,
                    protection,
                    fixed,
                    answer: words.answer(Words::number)?,
                })
            }
            "unmap" => Ok(Self::Unmap {
                address: words.number()?,
                size: words.number()?,
            }),
            "read" => Ok(Self::Read {
                path: words.text()?,
                answer: words.answer(Words::bytes)?,
            }),
            "list" => Ok(Self::List {
                path: words.text()?,
                answer: words.answer(|words| {
                    let mut names = Vec::new();
                    while words.peek().is_some() {
                        names.push(words.text()?);
                    }
                    Ok(names)
                })?,
            }),
            _ => Err("call"),
        }
    }
}

fn emit_array(out: &mut String, array: &[u8], known: &[u8]) {
    if !array.is_empty() && array != known {
        hex(out, "array", array);
    }
}

/// Longest argument that an ioctl's request can state.
const MAX_ARGUMENT: usize = 0x3fff;

/// Argument and array of one side of the arrow, on top of what is known of them.
fn fields(
    words: &mut Words<'_>,
    info: Option<&'static IoctlInfo>,
    (mut bytes, mut array): (Vec<u8>, Vec<u8>),
) -> Result<(Vec<u8>, Vec<u8>), &'static str> {
    let size = bytes.len();
    while let Some(word) = words.peek() {
        if word == "->" || word == "=" {
            break;
        }
        words.next();
        let (key, value) = word.split_once('=').ok_or("field")?;
        match key {
            "array" => array = from_hex(value)?,
            "bytes" => {
                bytes = from_hex(value)?;
                bytes.resize(size, 0);
            }
            _ => {
                let field = info
                    .into_iter()
                    .flat_map(layout::fields)
                    .find(|field| field.name == key)
                    .ok_or("field")?;
                field.set(&mut bytes, number(value)?);
            }
        }
    }
    Ok((bytes, array))
}

fn ioctl(words: &mut Words<'_>) -> Result<Record, &'static str> {
    let file = words.number_of()?;
    let name = words.next().ok_or("ioctl")?;
    let request = u32::try_from(words.number()?).map_err(|_| "request")?;
    let size = (request >> 16) as usize & MAX_ARGUMENT;
    let info = layout::info(request);
    if info.map_or("OTHER", |info| info.name) != name {
        return Err("ioctl of that request");
    }
    let (before, array_before) = fields(words, info, (vec![0; size], Vec::new()))?;
    if words.next() != Some("->") {
        return Err("call with an arrow");
    }
    let start = (before.clone(), array_before.clone());
    let (after, array_after) = fields(words, info, start)?;
    let answer = words.answer(|words| words.number().map(drop))?;
    Ok(Record::Ioctl {
        file,
        request,
        before,
        array_before,
        after,
        array_after,
        answer,
    })
}

fn number(word: &str) -> Result<u64, &'static str> {
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => word.parse(),
    }
    .map_err(|_| "number")
}

fn small(word: &str) -> Result<i32, &'static str> {
    word.parse().map_err(|_| "number")
}

fn from_hex(text: &str) -> Result<Vec<u8>, &'static str> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return Err("pair of hexadecimal digits");
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).ok_or("hexadecimal digit");
    digits
        .chunks_exact(2)
        .map(|pair| Ok((digit(pair[0])? << 4 | digit(pair[1])?) as u8))
        .collect()
}

/// The words of a line. A quoted text is one word.
struct Words<'a>(&'a str);

impl<'a> Words<'a> {
    fn split(&self) -> Option<(&'a str, &'a str)> {
        let text = self.0.trim_start_matches(' ');
        if text.is_empty() {
            return None;
        }
        let mut end = text.len();
        let (mut quoted, mut escaped) = (false, false);
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => quoted = !quoted,
                b' ' if !quoted => {
                    end = at;
                    break;
                }
                _ => {}
            }
        }
        // `end` is at a space or at the end: both are character boundaries.
        Some(text.split_at(end))
    }

    fn peek(&self) -> Option<&'a str> {
        self.split().map(|(word, _)| word)
    }

    fn next(&mut self) -> Option<&'a str> {
        let (word, rest) = self.split()?;
        self.0 = rest;
        Some(word)
    }

    fn number(&mut self) -> Result<u64, &'static str> {
        number(self.next().ok_or("number")?)
    }

    fn number_of(&mut self) -> Result<i32, &'static str> {
        small(self.next().ok_or("number")?)
    }

    fn bytes(&mut self) -> Result<Vec<u8>, &'static str> {
        let word = self.next().ok_or("text")?;
        let inner = word
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .ok_or("quoted text")?;
        let mut bytes = Vec::new();
        let mut left = inner.bytes();
        while let Some(byte) = left.next() {
            if byte != b'\\' {
                bytes.push(byte);
                continue;
            }
            bytes.push(match left.next() {
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(b'r') => b'\r',
                Some(b'0') => 0,
                Some(byte @ (b'"' | b'\'' | b'\\')) => byte,
                Some(b'x') => {
                    let pair = [left.next(), left.next()].map(|byte| byte.unwrap_or(b'!'));
                    let text = core::str::from_utf8(&pair).map_err(|_| "escape")?;
                    u8::from_str_radix(text, 16).map_err(|_| "escape")?
                }
                _ => return Err("escape"),
            });
        }
        Ok(bytes)
    }

    fn text(&mut self) -> Result<String, &'static str> {
        Ok(String::from_utf8_lossy(&self.bytes()?).into_owned())
    }

    fn answer<T>(
        &mut self,
        value: impl FnOnce(&mut Self) -> Result<T, &'static str>,
    ) -> Result<Answer<T>, &'static str> {
        if self.next() != Some("=") {
            return Err("call with an answer");
        }
        if self.peek() == Some("errno") {
            self.next();
            return Ok(Err(self.number_of()?));
        }
        let value = value(self)?;
        if self.next().is_some() {
            return Err("line that ends here");
        }
        Ok(Ok(value))
    }
}

/// Reads a whole recording.
pub(super) fn parse_all(text: &str) -> Result<Vec<Record>, ParseError> {
    let mut lines = text.lines().enumerate();
    if lines.next().map(|(_, line)| line) != Some(super::HEADER) {
        return Err(ParseError::Header);
    }
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(index, line)| {
            Record::parse(line).map_err(|what| ParseError::Line {
                line: index + 1,
                what,
            })
        })
        .collect()
}

/// A line for messages.
pub(super) fn brief(record: &Record) -> String {
    let mut line = format!("{record}");
    if line.len() > 160 {
        let end = (0..=160)
            .rev()
            .find(|&at| line.is_char_boundary(at))
            .unwrap_or(0);
        line.truncate(end);
        line.push('…');
    }
    line
}
