//! A bounded MessagePack reader: borrows, allocates nothing, never recurses.
//!
//! Source: the MessagePack specification. A container is skipped by counting the values still to
//! come, so nesting of any depth costs no stack, and a count that the bytes cannot hold ends with
//! [`MsgPackError::Truncated`].

use thiserror_no_std::Error;

/// Why bytes are no MessagePack value. Offsets count from the start of the note's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MsgPackError {
    /// A value or container reaches beyond the end.
    #[error("MessagePack data ends inside of the value at offset {offset:#x}")]
    Truncated {
        /// Where the value begins.
        offset: usize,
    },
    /// The byte 0xc1, which begins no value.
    #[error("MessagePack data has the reserved byte 0xc1 at offset {offset:#x}")]
    Reserved {
        /// Where it is.
        offset: usize,
    },
    /// A string that is not UTF-8.
    #[error("MessagePack string at offset {offset:#x} is not UTF-8")]
    NotUtf8 {
        /// Where the string begins.
        offset: usize,
    },
}

crate::impl_error!(MsgPackError);

/// One value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Nothing.
    Nil,
    /// A truth value.
    Bool(bool),
    /// An integer that is not negative, whichever form it was written in.
    Unsigned(u64),
    /// A negative integer.
    Negative(i64),
    /// A floating-point number; single precision is widened.
    Float(f64),
    /// A string.
    Str(&'a str),
    /// Bytes.
    Bin(&'a [u8]),
    /// Several values.
    Array(Array<'a>),
    /// Several pairs of values.
    Map(Map<'a>),
    /// A value of an application's type.
    Ext(i8, &'a [u8]),
}

/// The values of an array.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Array<'a> {
    reader: Reader<'a>,
    count: u32,
}

impl<'a> Array<'a> {
    /// Number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The values.
    pub fn values(&self) -> impl Iterator<Item = Result<Value<'a>, MsgPackError>> + use<'a> {
        let mut reader = self.reader;
        (0..self.count).map(move |_| reader.value())
    }
}

/// The pairs of a map.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Map<'a> {
    reader: Reader<'a>,
    count: u32,
}

/// A key and its value.
pub type Entry<'a> = (Value<'a>, Value<'a>);

impl<'a> Map<'a> {
    /// Where the first pair lies in the data, and the number of pairs: for [`Self::at`].
    #[cfg(feature = "alloc")]
    pub(super) fn place(&self) -> (usize, u32) {
        (self.reader.at, self.count)
    }

    /// The map at a place of the same bytes.
    #[cfg(feature = "alloc")]
    pub(super) fn at(data: &'a [u8], (at, count): (usize, u32)) -> Self {
        let reader = Reader { data, at };
        Self { reader, count }
    }

    /// The pairs, in the order of the file.
    pub fn entries(&self) -> impl Iterator<Item = Result<Entry<'a>, MsgPackError>> + use<'a> {
        let mut reader = self.reader;
        (0..self.count).map(move |_| Ok((reader.value()?, reader.value()?)))
    }
}

/// Reads values one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reader<'a> {
    data: &'a [u8],
    at: usize,
}

/// The first bytes of a value: everything but contents.
enum Head<'a> {
    Whole(Value<'a>),
    Str(u32),
    Bin(u32),
    Ext(u32),
    Array(u32),
    Map(u32),
}

impl<'a> Reader<'a> {
    /// Reads from the start of `data`.
    #[must_use]
    pub fn new(data: &'a [u8]) -> Self {
        Self { data, at: 0 }
    }

    /// The next value. A container's values are not decoded, but all of them are there.
    ///
    /// # Errors
    /// See [`MsgPackError`].
    pub fn value(&mut self) -> Result<Value<'a>, MsgPackError> {
        let offset = self.at;
        match self.head()? {
            Head::Whole(value) => Ok(value),
            Head::Str(size) => {
                let bytes = self.take(size as usize, offset)?;
                core::str::from_utf8(bytes)
                    .map(Value::Str)
                    .map_err(|_| MsgPackError::NotUtf8 { offset })
            }
            Head::Bin(size) => self.take(size as usize, offset).map(Value::Bin),
            Head::Ext(size) => {
                let [kind] = self.array(offset)?;
                Ok(Value::Ext(kind as i8, self.take(size as usize, offset)?))
            }
            Head::Array(count) => {
                let reader = *self;
                self.skip(count.into())?;
                Ok(Value::Array(Array { reader, count }))
            }
            Head::Map(count) => {
                let reader = *self;
                self.skip(u64::from(count) * 2)?;
                Ok(Value::Map(Map { reader, count }))
            }
        }
    }

    /// Skips `count` values with all that they contain.
    fn skip(&mut self, count: u64) -> Result<(), MsgPackError> {
        let mut left = count;
        while left != 0 {
            let offset = self.at;
            left -= 1;
            // Every value takes a byte at least, so more values than bytes cannot be there. This also
            // keeps the sum from overflowing.
            if left > (self.data.len() - self.at) as u64 {
                return Err(MsgPackError::Truncated { offset });
            }
            left += match self.head()? {
                Head::Whole(_) => 0,
                Head::Str(size) | Head::Bin(size) => {
                    self.take(size as usize, offset)?;
                    0
                }
                Head::Ext(size) => {
                    self.take(size as usize + 1, offset)?;
                    0
                }
                Head::Array(count) => u64::from(count),
                Head::Map(count) => u64::from(count) * 2,
            };
        }
        Ok(())
    }

    fn head(&mut self) -> Result<Head<'a>, MsgPackError> {
        use Value::{Bool, Float, Negative, Nil, Unsigned};
        let at = self.at;
        let [first] = self.array(at)?;
        let signed =
            |value: i64| Head::Whole(u64::try_from(value).map_or(Negative(value), Unsigned));
        Ok(match first {
            0x00..=0x7f => Head::Whole(Unsigned(first.into())),
            0x80..=0x8f => Head::Map((first & 0x0f).into()),
            0x90..=0x9f => Head::Array((first & 0x0f).into()),
            0xa0..=0xbf => Head::Str((first & 0x1f).into()),
            0xc0 => Head::Whole(Nil),
            0xc1 => return Err(MsgPackError::Reserved { offset: at }),
            0xc2 | 0xc3 => Head::Whole(Bool(first == 0xc3)),
            0xc4 => Head::Bin(u8::from_be_bytes(self.array(at)?).into()),
            0xc5 => Head::Bin(u16::from_be_bytes(self.array(at)?).into()),
            0xc6 => Head::Bin(u32::from_be_bytes(self.array(at)?)),
            0xc7 => Head::Ext(u8::from_be_bytes(self.array(at)?).into()),
            0xc8 => Head::Ext(u16::from_be_bytes(self.array(at)?).into()),
            0xc9 => Head::Ext(u32::from_be_bytes(self.array(at)?)),
            0xca => Head::Whole(Float(f32::from_be_bytes(self.array(at)?).into())),
            0xcb => Head::Whole(Float(f64::from_be_bytes(self.array(at)?))),
            0xcc => Head::Whole(Unsigned(u8::from_be_bytes(self.array(at)?).into())),
            0xcd => Head::Whole(Unsigned(u16::from_be_bytes(self.array(at)?).into())),
            0xce => Head::Whole(Unsigned(u32::from_be_bytes(self.array(at)?).into())),
            0xcf => Head::Whole(Unsigned(u64::from_be_bytes(self.array(at)?))),
            0xd0 => signed(i8::from_be_bytes(self.array(at)?).into()),
            0xd1 => signed(i16::from_be_bytes(self.array(at)?).into()),
            0xd2 => signed(i32::from_be_bytes(self.array(at)?).into()),
            0xd3 => signed(i64::from_be_bytes(self.array(at)?)),
            0xd4..=0xd8 => Head::Ext(1 << (first - 0xd4)),
            0xd9 => Head::Str(u8::from_be_bytes(self.array(at)?).into()),
            0xda => Head::Str(u16::from_be_bytes(self.array(at)?).into()),
            0xdb => Head::Str(u32::from_be_bytes(self.array(at)?)),
            0xdc => Head::Array(u16::from_be_bytes(self.array(at)?).into()),
            0xdd => Head::Array(u32::from_be_bytes(self.array(at)?)),
            0xde => Head::Map(u16::from_be_bytes(self.array(at)?).into()),
            0xdf => Head::Map(u32::from_be_bytes(self.array(at)?)),
            0xe0..=0xff => signed((first as i8).into()),
        })
    }

    fn take(&mut self, size: usize, offset: usize) -> Result<&'a [u8], MsgPackError> {
        let end = self.at.checked_add(size);
        let bytes = end.and_then(|end| self.data.get(self.at..end));
        let bytes = bytes.ok_or(MsgPackError::Truncated { offset })?;
        self.at += size;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self, offset: usize) -> Result<[u8; N], MsgPackError> {
        let bytes = self.take(N, offset)?;
        bytes
            .first_chunk()
            .copied()
            .ok_or(MsgPackError::Truncated { offset })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec;

    fn one(bytes: &[u8]) -> Result<Value<'_>, MsgPackError> {
        Reader::new(bytes).value()
    }

    #[test]
    fn scalars_of_every_form_decode() {
        assert_eq!(one(&[0x7f]), Ok(Value::Unsigned(127)));
        assert_eq!(one(&[0xe0]), Ok(Value::Negative(-32)));
        assert_eq!(one(&[0xd0, 5]), Ok(Value::Unsigned(5)));
        assert_eq!(one(&[0xcd, 1, 2]), Ok(Value::Unsigned(0x102)));
        assert_eq!(
            one(&[0xd3, 0x80, 0, 0, 0, 0, 0, 0, 0]),
            Ok(Value::Negative(i64::MIN))
        );
        assert_eq!(one(&[0xca, 0x3f, 0x80, 0, 0]), Ok(Value::Float(1.0)));
        assert_eq!(one(&[0xa2, b'h', b'i']), Ok(Value::Str("hi")));
        assert_eq!(one(&[0xc4, 1, 9]), Ok(Value::Bin(&[9])));
        assert_eq!(one(&[0xd5, 7, 1, 2]), Ok(Value::Ext(7, &[1, 2])));
        assert_eq!(one(&[0xc7, 0, 0xff]), Ok(Value::Ext(-1, &[])));
        assert_eq!(one(&[0xc0]), Ok(Value::Nil));
        assert_eq!(one(&[0xc3]), Ok(Value::Bool(true)));
    }

    #[test]
    fn a_container_is_skipped_whole() {
        // [[1, {2: "x"}], 3]
        let data = [0x92, 0x92, 1, 0x81, 2, 0xa1, b'x', 3, 0x2a];
        let mut reader = Reader::new(&data);
        let Ok(Value::Array(outer)) = reader.value() else {
            panic!("no array");
        };
        assert_eq!(reader.value(), Ok(Value::Unsigned(0x2a)));
        assert_eq!(outer.values().last(), Some(Ok(Value::Unsigned(3))));
    }

    #[test]
    fn nesting_and_counts_beyond_the_data_are_errors_and_cost_nothing() {
        let deep = vec![0x91u8; 1 << 20];
        assert!(matches!(one(&deep), Err(MsgPackError::Truncated { .. })));
        let wide = [0xdd, 0xff, 0xff, 0xff, 0xff, 0xdf, 0xff, 0xff, 0xff, 0xff];
        assert!(matches!(one(&wide), Err(MsgPackError::Truncated { .. })));
        assert_eq!(
            one(&[0xdb, 0xff, 0xff, 0xff, 0xff]),
            Err(MsgPackError::Truncated { offset: 0 })
        );
        assert_eq!(one(&[0xc1]), Err(MsgPackError::Reserved { offset: 0 }));
        assert_eq!(one(&[0xa1, 0xff]), Err(MsgPackError::NotUtf8 { offset: 0 }));
        assert_eq!(one(&[]), Err(MsgPackError::Truncated { offset: 0 }));
    }

    #[test]
    fn a_deep_nest_that_is_complete_is_one_value() {
        let mut deep = vec![0x91u8; 1 << 20];
        deep.push(0xc0);
        assert!(matches!(one(&deep), Ok(Value::Array(_))));
    }
}
