//! The PT_LOAD segments: what of a file becomes memory, and where.

use super::error::CodeObjectError;
use super::file::File;
use object::LittleEndian as LE;
use object::elf;

/// Loaded segments of one code object; linkers make up to five.
pub const MAX_LOAD_SEGMENTS: usize = 16;
/// Largest alignment of a segment, in bytes: a huge page. Linkers ask for 4 KiB.
pub const MAX_SEGMENT_ALIGN: u64 = 1 << 21;

/// One PT_LOAD segment. All of its ranges have been checked.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// Address of its first byte, before loading.
    pub address: u64,
    /// Size in memory, in bytes; what `data` does not cover is zero.
    pub size: u64,
    /// Contents.
    pub data: &'a [u8],
    /// Whether code may write it.
    pub writable: bool,
    /// Whether it holds code.
    pub executable: bool,
}

impl Segment<'_> {
    /// Whether `size` bytes at `address` lie inside.
    #[must_use]
    pub fn contains(&self, address: u64, size: u64) -> bool {
        address
            .checked_sub(self.address)
            .and_then(|offset| offset.checked_add(size))
            .is_some_and(|end| end <= self.size)
    }
}

/// All PT_LOAD segments in ascending order, without overlap.
#[derive(Clone, Debug)]
pub struct Segments<'a> {
    list: heapless::Vec<Segment<'a>, MAX_LOAD_SEGMENTS>,
    base: u64,
    size: u64,
    align: u64,
}

impl<'a> Segments<'a> {
    pub(super) fn parse(
        file: &File<'a>,
        headers: &[elf::ProgramHeader64<LE>],
    ) -> Result<Self, CodeObjectError> {
        let mut list = heapless::Vec::new();
        let mut previous_end = None;
        let mut align = 1;
        for (index, header) in (0u16..).zip(headers) {
            if header.p_type.get(LE) != elf::PT_LOAD {
                continue;
            }
            let segment = Segment::parse(file, index, header)?;
            if let Some(previous_end) = previous_end.filter(|end| segment.address < *end) {
                return Err(CodeObjectError::SegmentsOverlap {
                    index,
                    address: segment.address,
                    previous_end,
                });
            }
            // Cannot overflow: `Segment::parse` has checked it.
            previous_end = Some(segment.address + segment.size);
            align = align.max(header.p_align.get(LE));
            if list.push(segment).is_err() {
                let is_load = |h: &&elf::ProgramHeader64<LE>| h.p_type.get(LE) == elf::PT_LOAD;
                return Err(CodeObjectError::TooMany {
                    what: "PT_LOAD segments",
                    found: headers.iter().filter(is_load).count() as u64,
                    limit: MAX_LOAD_SEGMENTS as u64,
                });
            }
        }
        let (Some(first), Some(end)) = (list.first(), previous_end) else {
            return Err(CodeObjectError::NothingToLoad);
        };
        let base = first.address & !(align - 1);
        let size = end - base;
        if size == 0 {
            return Err(CodeObjectError::NothingToLoad);
        }
        Ok(Self {
            list,
            base,
            size,
            align,
        })
    }

    /// The segments, ascending.
    #[must_use]
    pub fn as_slice(&self) -> &[Segment<'a>] {
        &self.list
    }

    /// First address of the range to allocate: that of the first segment, rounded down to
    /// [`Self::align`].
    #[must_use]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Bytes from [`Self::base`] to the end of the last segment; not 0.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Alignment that the range needs, in bytes: the largest of the segments.
    #[must_use]
    pub fn align(&self) -> u64 {
        self.align
    }

    /// The segment that holds all of `size` bytes at `address`.
    #[must_use]
    pub fn find(&self, address: u64, size: u64) -> Option<&Segment<'a>> {
        self.list.iter().find(|s| s.contains(address, size))
    }

    /// The bytes at `address` if a segment's file contents hold all `size` of them.
    #[must_use]
    pub fn bytes(&self, address: u64, size: u64) -> Option<&'a [u8]> {
        let segment = self.find(address, size)?;
        let start = usize::try_from(address - segment.address).ok()?;
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        segment.data.get(start..end)
    }

    /// The bytes from `address` to the end of the file contents of its segment.
    pub(super) fn bytes_from(&self, address: u64) -> Option<&'a [u8]> {
        let segment = self.find(address, 0)?;
        segment
            .data
            .get(usize::try_from(address - segment.address).ok()?..)
    }
}

impl<'a> Segment<'a> {
    fn parse(
        file: &File<'a>,
        index: u16,
        header: &elf::ProgramHeader64<LE>,
    ) -> Result<Self, CodeObjectError> {
        let address = header.p_vaddr.get(LE);
        let size = header.p_memsz.get(LE);
        let file_size = header.p_filesz.get(LE);
        let align = header.p_align.get(LE);
        if file_size > size {
            return Err(CodeObjectError::SegmentShrinks {
                index,
                file_size,
                memory_size: size,
            });
        }
        // 0 and 1 both mean no alignment.
        if align > MAX_SEGMENT_ALIGN || (align != 0 && !align.is_power_of_two()) {
            return Err(CodeObjectError::SegmentAlign {
                index,
                align,
                limit: MAX_SEGMENT_ALIGN,
            });
        }
        if address.checked_add(size).is_none() {
            return Err(CodeObjectError::SegmentOverflows {
                index,
                address,
                size,
            });
        }
        let flags = header.p_flags.get(LE);
        Ok(Self {
            address,
            size,
            data: file.range("a PT_LOAD segment", header.p_offset.get(LE), file_size)?,
            writable: flags.0 & elf::PF_W.0 != 0,
            executable: flags.0 & elf::PF_X.0 != 0,
        })
    }
}
