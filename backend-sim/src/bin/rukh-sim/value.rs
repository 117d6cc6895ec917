//! Element types of kernel arguments: parsing from and printing to text.

use std::fmt::Write as _;

/// An element type of a scalar or a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Element {
    /// Unsigned, of this many bytes.
    Unsigned(usize),
    /// Signed, of this many bytes.
    Signed(usize),
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
}

impl Element {
    /// All names, for messages.
    pub const NAMES: &str = "u8, i8, u16, i16, u32, i32, u64, i64, f32, f64";

    /// From its name.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "f32" => Self::F32,
            "f64" => Self::F64,
            _ => {
                let (signed, bits) = match name.strip_prefix('u') {
                    Some(bits) => (false, bits),
                    None => (true, name.strip_prefix('i')?),
                };
                let bytes = match bits {
                    "8" => 1,
                    "16" => 2,
                    "32" => 4,
                    "64" => 8,
                    _ => return None,
                };
                if signed {
                    Self::Signed(bytes)
                } else {
                    Self::Unsigned(bytes)
                }
            }
        })
    }

    /// Size in bytes.
    pub const fn size(self) -> usize {
        match self {
            Self::Unsigned(bytes) | Self::Signed(bytes) => bytes,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// The bytes of one value; numbers may be decimal or `0x…`.
    pub fn encode(self, text: &str) -> Result<Vec<u8>, String> {
        let wrong = || format!("'{text}' is not a value of type {self}");
        match self {
            Self::F32 => text
                .parse::<f32>()
                .map(|v| v.to_le_bytes().to_vec())
                .map_err(|_| wrong()),
            Self::F64 => text
                .parse::<f64>()
                .map(|v| v.to_le_bytes().to_vec())
                .map_err(|_| wrong()),
            Self::Unsigned(bytes) | Self::Signed(bytes) => {
                let (negative, digits) = match text.strip_prefix('-') {
                    Some(digits) => (true, digits),
                    None => (false, text),
                };
                let magnitude = match digits.strip_prefix("0x") {
                    Some(hex) => i128::from_str_radix(hex, 16),
                    None => digits.parse(),
                }
                .map_err(|_| wrong())?;
                let value = if negative { -magnitude } else { magnitude };
                let bits = bytes as u32 * 8;
                let (low, high) = match self {
                    Self::Signed(_) => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
                    _ => (0, (1i128 << bits) - 1),
                };
                if value < low || value > high {
                    return Err(format!(
                        "{text} is out of range for {self} ({low} to {high})"
                    ));
                }
                Ok(value.to_le_bytes()[..bytes].to_vec())
            }
        }
    }

    /// The bytes of a small number.
    pub fn index_bytes(self, index: u64) -> Vec<u8> {
        match self {
            Self::F32 => (index as f32).to_le_bytes().to_vec(),
            Self::F64 => (index as f64).to_le_bytes().to_vec(),
            Self::Unsigned(bytes) | Self::Signed(bytes) => index.to_le_bytes()[..bytes].to_vec(),
        }
    }

    /// One element as text.
    pub fn decode(self, bytes: &[u8]) -> String {
        let mut wide = [0u8; 8];
        wide[..self.size()].copy_from_slice(&bytes[..self.size()]);
        let raw = u64::from_le_bytes(wide);
        let mut out = String::new();
        let written = match self {
            Self::F32 => write!(out, "{}", f32::from_bits(raw as u32)),
            Self::F64 => write!(out, "{}", f64::from_bits(raw)),
            Self::Unsigned(_) => write!(out, "{raw}"),
            Self::Signed(bytes) => {
                let shift = 64 - bytes as u32 * 8;
                write!(out, "{}", (raw << shift) as i64 >> shift)
            }
        };
        debug_assert!(written.is_ok());
        out
    }
}

impl std::fmt::Display for Element {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unsigned(bytes) => write!(f, "u{}", bytes * 8),
            Self::Signed(bytes) => write!(f, "i{}", bytes * 8),
            Self::F32 => f.write_str("f32"),
            Self::F64 => f.write_str("f64"),
        }
    }
}

/// One `--arg`.
#[derive(Clone, PartialEq, Debug)]
pub enum Argument {
    /// A value in the kernel arguments.
    Scalar {
        /// Its type.
        element: Element,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// A buffer whose address is passed.
    Buffer {
        /// Type of its elements.
        element: Element,
        /// What it holds at the start.
        bytes: Vec<u8>,
    },
    /// Dynamic group memory: bytes, for a pointer to it.
    Local(u32),
}

impl Argument {
    /// How an argument is written.
    pub const FORMS: &str = "TYPE:VALUE, buf:TYPE:COUNT[=zeros|ones|iota|file:PATH] or local:BYTES";

    /// From the command line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("argument '{text}': {why}; write {}", Self::FORMS);
        let (kind, rest) = text
            .split_once(':')
            .ok_or_else(|| wrong("there is no ':'"))?;
        match kind {
            "local" => rest
                .parse()
                .map(Self::Local)
                .map_err(|_| wrong("the size is no number of bytes")),
            "buf" => {
                let (name, rest) = rest
                    .split_once(':')
                    .ok_or_else(|| wrong("the number of elements is missing"))?;
                let element = element(name).map_err(|e| wrong(&e))?;
                let (count, init) = rest.split_once('=').unwrap_or((rest, "zeros"));
                let count: usize = count
                    .parse()
                    .map_err(|_| wrong("the number of elements is no number"))?;
                let size = count
                    .checked_mul(element.size())
                    .filter(|size| *size <= 1 << 40)
                    .ok_or_else(|| wrong("the buffer is larger than 1 TiB"))?;
                let room = || {
                    let mut bytes = Vec::new();
                    bytes
                        .try_reserve_exact(size)
                        .map_err(|_| wrong("there is no memory for it"))?;
                    Ok::<_, String>(bytes)
                };
                let bytes = match init {
                    "zeros" => {
                        let mut bytes = room()?;
                        bytes.resize(size, 0);
                        bytes
                    }
                    "ones" => {
                        let mut bytes = room()?;
                        let one = element.index_bytes(1);
                        (0..count).for_each(|_| bytes.extend_from_slice(&one));
                        bytes
                    }
                    "iota" => {
                        let mut bytes = room()?;
                        (0..count as u64).for_each(|i| bytes.extend(element.index_bytes(i)));
                        bytes
                    }
                    _ => {
                        let path = init
                            .strip_prefix("file:")
                            .ok_or_else(|| wrong("the initial contents are not known"))?;
                        let bytes =
                            std::fs::read(path).map_err(|e| wrong(&format!("{path}: {e}")))?;
                        if bytes.len() != size {
                            return Err(wrong(&format!(
                                "{path} has {} bytes, the buffer {size}",
                                bytes.len()
                            )));
                        }
                        bytes
                    }
                };
                Ok(Self::Buffer { element, bytes })
            }
            name => {
                let element = element(name).map_err(|e| wrong(&e))?;
                let bytes = element.encode(rest).map_err(|e| wrong(&e))?;
                Ok(Self::Scalar { element, bytes })
            }
        }
    }
}

fn element(name: &str) -> Result<Element, String> {
    Element::parse(name).ok_or_else(|| format!("'{name}' is none of {}", Element::NAMES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_range_checked() {
        let scalar = |text: &str| Argument::parse(text);
        assert_eq!(
            scalar("u32:0x10").unwrap(),
            Argument::Scalar {
                element: Element::Unsigned(4),
                bytes: vec![16, 0, 0, 0]
            }
        );
        assert!(scalar("i8:-128").is_ok());
        assert!(scalar("i8:128").unwrap_err().contains("-128 to 127"));
        assert!(scalar("u64:18446744073709551615").is_ok());
        assert!(scalar("u8:-1").is_err());
        assert!(scalar("f99:1").unwrap_err().contains("f99"));
        assert!(scalar("12").is_err());
    }

    #[test]
    fn buffers_start_as_asked() {
        let Argument::Buffer { element, bytes } = Argument::parse("buf:i16:3=iota").unwrap() else {
            panic!("not a buffer");
        };
        assert_eq!(bytes, [0, 0, 1, 0, 2, 0]);
        assert_eq!(element.decode(&bytes[4..]), "2");
        assert!(Argument::parse("buf:f32").is_err());
        assert!(Argument::parse("buf:f32:99999999999999999999").is_err());
        assert!(Argument::parse("buf:f32:4=what").is_err());
    }

    #[test]
    fn signed_values_print_with_their_sign() {
        assert_eq!(Element::Signed(1).decode(&[0xff]), "-1");
        assert_eq!(Element::F32.decode(&1.5f32.to_le_bytes()), "1.5");
    }
}
