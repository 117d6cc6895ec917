//! Notes: the build ID and the metadata.

use super::code_object::CodeObject;
use super::error::CodeObjectError;
use super::metadata::Metadata;
use crate::elf::{NOTE_OWNER_AMDGPU, NT_AMDGPU_METADATA};
use object::LittleEndian as LE;
use object::elf;
use object::endian::U32;

/// One note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note<'a> {
    /// Who defines the type, without the terminating zero.
    pub owner: &'a [u8],
    /// Number of the type.
    pub note_type: u32,
    /// Contents.
    pub data: &'a [u8],
}

impl<'a> CodeObject<'a> {
    /// The notes of all PT_NOTE segments. After an error the rest of that segment is left out.
    pub fn notes(&self) -> impl Iterator<Item = Result<Note<'a>, CodeObjectError>> + use<'_, 'a> {
        self.headers()
            .iter()
            .filter(|h| h.p_type.get(LE) == elf::PT_NOTE)
            .flat_map(|h| {
                let offset = h.p_offset.get(LE);
                let (bytes, error) =
                    match self
                        .file()
                        .range("a PT_NOTE segment", offset, h.p_filesz.get(LE))
                    {
                        Ok(bytes) => (bytes, None),
                        Err(error) => (&[][..], Some(error)),
                    };
                error.map(Err).into_iter().chain(NoteIterator {
                    bytes,
                    offset,
                    align: if h.p_align.get(LE) == 8 { 8 } else { 4 },
                })
            })
    }

    /// The build ID that the linker was asked for, usually 16 or 20 bytes.
    #[must_use]
    pub fn build_id(&self) -> Option<&'a [u8]> {
        self.notes()
            .flatten()
            .find(|n| n.owner == b"GNU" && n.note_type == elf::NT_GNU_BUILD_ID.0)
            .map(|n| n.data)
    }

    /// The metadata: what compilers say about kernels and their arguments. `None` if the code object
    /// has none; nothing is needed of it to load the code object, but arguments cannot be
    /// checked or filled without.
    ///
    /// # Errors
    /// [`CodeObjectError::Note`] for malformed notes, [`CodeObjectError::Metadata`] for metadata that
    /// is no MessagePack map.
    pub fn metadata(&self) -> Result<Option<Metadata<'a>>, CodeObjectError> {
        Ok(self.metadata_note()?.map(|(_, metadata)| metadata))
    }

    /// The metadata with the bytes that it was parsed from.
    pub(super) fn metadata_note(
        &self,
    ) -> Result<Option<(&'a [u8], Metadata<'a>)>, CodeObjectError> {
        for note in self.notes() {
            let note = note?;
            if note.owner == NOTE_OWNER_AMDGPU && note.note_type == NT_AMDGPU_METADATA {
                return Ok(Some((note.data, Metadata::parse(note.data)?)));
            }
        }
        Ok(None)
    }
}

struct NoteIterator<'a> {
    bytes: &'a [u8],
    /// File offset of `bytes`.
    offset: u64,
    align: usize,
}

impl<'a> NoteIterator<'a> {
    fn split(&mut self) -> Option<Note<'a>> {
        let (header, rest) = self.bytes.split_first_chunk::<12>()?;
        let words: &[U32<LE>] = super::file::entries(header);
        let [name_size, data_size, note_type] =
            [0, 1, 2].map(|i: usize| words.get(i).map_or(0, |w| w.get(LE)));
        let name = rest.get(..name_size as usize)?;
        let data_at = 12usize
            .checked_add(name_size as usize)?
            .checked_next_multiple_of(self.align)?;
        let data_end = data_at.checked_add(data_size as usize)?;
        let data = self.bytes.get(data_at..data_end)?;
        // The last note's padding may be missing.
        let end = data_end
            .checked_next_multiple_of(self.align)?
            .min(self.bytes.len());
        self.bytes = &self.bytes[end..];
        self.offset += end as u64;
        Some(Note {
            owner: name.strip_suffix(&[0]).unwrap_or(name),
            note_type,
            data,
        })
    }
}

impl<'a> Iterator for NoteIterator<'a> {
    type Item = Result<Note<'a>, CodeObjectError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.bytes.is_empty() {
            return None;
        }
        let error = CodeObjectError::Note {
            offset: self.offset,
            end: self.offset + self.bytes.len() as u64,
        };
        let note = self.split();
        if note.is_none() {
            self.bytes = &[];
        }
        Some(note.ok_or(error))
    }
}
