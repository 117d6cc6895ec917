//! The sections that debug information is in, and what can be read from them without a unit.

use super::error::SourceError;
use super::{Bytes, MAX_NAME};
use crate::loader::CodeObject;
use gimli::{AttributeValue, DebugStrOffsetsIndex, EndianSlice, LittleEndian};

/// The sections; those that a file has not are empty.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sections<'a> {
    pub info: &'a [u8],
    pub abbrev: &'a [u8],
    pub line: &'a [u8],
    pub line_str: &'a [u8],
    pub str: &'a [u8],
    pub str_offsets: &'a [u8],
    pub addr: &'a [u8],
    pub ranges: &'a [u8],
    pub rnglists: &'a [u8],
}

/// A name, where it is: it is read when it is shown, so that a file pays for none that nobody sees.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Name<'a> {
    #[default]
    None,
    Here(&'a [u8]),
    Str(usize),
    LineStr(usize),
}

impl Name<'_> {
    pub const fn is_some(&self) -> bool {
        !matches!(self, Self::None)
    }
}

pub(super) fn reader(bytes: &[u8]) -> Bytes<'_> {
    EndianSlice::new(bytes, LittleEndian)
}

/// The number of `size` (4 or 8) bytes at `offset`.
pub(super) fn number(bytes: &[u8], offset: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(offset..)?.get(..size)?;
    let mut wide = [0; 8];
    wide.get_mut(..size)?.copy_from_slice(bytes);
    Some(u64::from_le_bytes(wide))
}

impl<'a> Sections<'a> {
    /// Finds them; `None` for a file without debug information.
    pub fn of(code: &CodeObject<'a>) -> Result<Option<Self>, SourceError> {
        let mut found = Self::default();
        // What stands in the other sections is nothing without it, be it as broken as it may.
        if code.section(".debug_info").is_none() {
            return Ok(None);
        }
        for (name, place) in [
            (".debug_info", &mut found.info),
            (".debug_abbrev", &mut found.abbrev),
            (".debug_line", &mut found.line),
            (".debug_line_str", &mut found.line_str),
            (".debug_str", &mut found.str),
            (".debug_str_offsets", &mut found.str_offsets),
            (".debug_addr", &mut found.addr),
            (".debug_ranges", &mut found.ranges),
            (".debug_rnglists", &mut found.rnglists),
        ] {
            let Some(section) = code.section(name) else {
                continue;
            };
            if section.compressed {
                return Err(SourceError::Compressed { section: name });
            }
            *place = section.data.ok_or(SourceError::OutsideFile {
                section: name,
                offset: section.offset,
                size: section.size,
            })?;
        }
        Ok((!found.info.is_empty()).then_some(found))
    }

    /// Where the name is that an attribute holds. `str_offsets` is where the unit's part of `.debug_str_offsets` begins.
    pub fn name(
        &self,
        value: &AttributeValue<Bytes<'a>>,
        format: gimli::Format,
        str_offsets: usize,
    ) -> Name<'a> {
        match value {
            AttributeValue::String(text) => Name::Here(text.slice()),
            AttributeValue::DebugStrRef(offset) => Name::Str(offset.0),
            AttributeValue::DebugLineStrRef(offset) => Name::LineStr(offset.0),
            AttributeValue::DebugStrOffsetsIndex(DebugStrOffsetsIndex(index)) => {
                let size = usize::from(format.word_size());
                let place = index.checked_mul(size);
                place
                    .and_then(|place| place.checked_add(str_offsets))
                    .and_then(|place| number(self.str_offsets, place, size))
                    .and_then(|offset| usize::try_from(offset).ok())
                    .map_or(Name::None, Name::Str)
            }
            _ => Name::None,
        }
    }

    /// The text of a name: at most [`MAX_NAME`] bytes of UTF-8 with an end. What is none is no name.
    pub fn text(&self, name: Name<'a>) -> Option<&'a str> {
        let bytes = match name {
            Name::None => return None,
            Name::Here(bytes) => (bytes.len() < MAX_NAME).then_some(bytes)?,
            Name::Str(offset) => c_string(self.str, offset)?,
            Name::LineStr(offset) => c_string(self.line_str, offset)?,
        };
        core::str::from_utf8(bytes).ok()
    }
}

fn c_string(section: &[u8], offset: usize) -> Option<&[u8]> {
    let rest = section.get(offset..)?;
    let rest = rest.get(..rest.len().min(MAX_NAME))?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    rest.get(..end)
}
