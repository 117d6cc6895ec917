//! A code object: the ELF file that holds kernels for one ISA.

use super::dynamic::Dynamic;
use super::error::CodeObjectError;
use super::file::File;
use super::segment::Segments;
use crate::elf::{
    ELFABIVERSION_AMDGPU_HSA_V2, ELFABIVERSION_AMDGPU_HSA_V3, ELFABIVERSION_AMDGPU_HSA_V4,
    ELFABIVERSION_AMDGPU_HSA_V5, ELFABIVERSION_AMDGPU_HSA_V6, ELFOSABI_AMDGPU_HSA,
};
use crate::isa::Isa;
use object::LittleEndian as LE;
use object::elf;

/// The versions of the format, as `-mcode-object-version=` counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CodeObjectVersion {
    /// LLVM 9 and later; metadata as MessagePack.
    V3 = 3,
    /// Features with an "any" setting.
    V4 = 4,
    /// Hidden arguments for the grid, in fixed places.
    V5 = 5,
    /// Generic processors with versions.
    V6 = 6,
}

impl CodeObjectVersion {
    /// The version of an `EI_ABIVERSION`.
    ///
    /// # Errors
    /// [`CodeObjectError::UnsupportedVersion`] for version 2 and for unknown ones.
    pub const fn from_abi(abi_version: u8) -> Result<Self, CodeObjectError> {
        match abi_version {
            ELFABIVERSION_AMDGPU_HSA_V3 => Ok(Self::V3),
            ELFABIVERSION_AMDGPU_HSA_V4 => Ok(Self::V4),
            ELFABIVERSION_AMDGPU_HSA_V5 => Ok(Self::V5),
            ELFABIVERSION_AMDGPU_HSA_V6 => Ok(Self::V6),
            other => Err(CodeObjectError::UnsupportedVersion {
                version: other as u16 + (2 - ELFABIVERSION_AMDGPU_HSA_V2 as u16),
            }),
        }
    }
}

/// PT_NOTE segments of a file; linkers make one or two. Each may have all of the file to read.
pub const MAX_NOTE_SEGMENTS: usize = 16;

fn check_notes(headers: &[elf::ProgramHeader64<LE>]) -> Result<(), CodeObjectError> {
    let is_note = |header: &&elf::ProgramHeader64<LE>| header.p_type.get(LE) == elf::PT_NOTE;
    match headers.iter().filter(is_note).count() {
        ..=MAX_NOTE_SEGMENTS => Ok(()),
        found => Err(CodeObjectError::TooMany {
            what: "PT_NOTE segments",
            found: found as u64,
            limit: MAX_NOTE_SEGMENTS as u64,
        }),
    }
}

/// A code object in memory. Parsing has checked everything that loading relies on, except
/// relocations, which are checked as they are read.
///
/// Nothing is copied and nothing allocated; the bytes may lie at any alignment.
#[derive(Clone, Debug)]
pub struct CodeObject<'a> {
    file: File<'a>,
    version: CodeObjectVersion,
    isa: Isa,
    generic_version: u8,
    e_flags: u32,
    headers: &'a [elf::ProgramHeader64<LE>],
    sections: &'a [elf::SectionHeader64<LE>],
    segments: Segments<'a>,
    pub(super) dynamic: Dynamic<'a>,
}

impl<'a> CodeObject<'a> {
    /// Parses a code object of version 3 to 6. `data` may be longer than the file.
    ///
    /// # Errors
    /// The first thing that is wrong with it; see [`CodeObjectError`].
    pub fn parse(data: &'a [u8]) -> Result<Self, CodeObjectError> {
        let file = File(data);
        let header = Self::file_header(&file)?;
        let version = CodeObjectVersion::from_abi(header.e_ident.abi_version)?;
        let e_flags = header.e_flags.get(LE).0;
        let (isa, generic_version) = Isa::from_e_flags(e_flags, version)?;
        let headers: &[elf::ProgramHeader64<LE>] = file.table(
            "the program header table",
            header.e_phoff.get(LE),
            header.e_phnum.get(LE).into(),
        )?;
        check_notes(headers)?;
        let segments = Segments::parse(&file, headers)?;
        let dynamic = headers
            .iter()
            .find(|h| h.p_type.get(LE) == elf::PT_DYNAMIC)
            .map(|h| Dynamic::parse(&file, &segments, h))
            .transpose()?
            .unwrap_or_default();
        let code_object = Self {
            file,
            version,
            isa,
            generic_version,
            e_flags,
            headers,
            sections: Self::section_headers(&file, header),
            segments,
            dynamic,
        };
        code_object.check_symbols()?;
        Ok(code_object)
    }

    fn file_header(file: &File<'a>) -> Result<&'a elf::FileHeader64<LE>, CodeObjectError> {
        let magic = *file
            .range("the ELF magic", 0, 4)?
            .first_chunk()
            .unwrap_or(&[0; 4]);
        if magic != elf::ELFMAG {
            return Err(CodeObjectError::NotElf { magic });
        }
        let headers: &[elf::FileHeader64<LE>] = file.table("the ELF header", 0, 1)?;
        let [header] = headers else {
            return Err(CodeObjectError::NotElf { magic });
        };
        let ident = &header.e_ident;
        for (what, found, expected) in [
            (
                "EI_CLASS",
                u64::from(ident.class.0),
                u64::from(elf::ELFCLASS64.0),
            ),
            ("EI_DATA", ident.data.0.into(), elf::ELFDATA2LSB.0.into()),
            (
                "EI_VERSION",
                ident.version.0.into(),
                elf::EV_CURRENT.0.into(),
            ),
            (
                "e_machine",
                header.e_machine.get(LE).0.into(),
                elf::EM_AMDGPU.0.into(),
            ),
            (
                "EI_OSABI",
                ident.os_abi.0.into(),
                ELFOSABI_AMDGPU_HSA.into(),
            ),
            // A relocatable file still has to be linked; the offload bundler and comgr do that.
            (
                "e_type",
                header.e_type.get(LE).0.into(),
                elf::ET_DYN.0.into(),
            ),
            (
                "e_version",
                header.e_version.get(LE).into(),
                elf::EV_CURRENT.0.into(),
            ),
            (
                "e_phentsize",
                header.e_phentsize.get(LE).into(),
                size_of::<elf::ProgramHeader64<LE>>() as u64,
            ),
        ] {
            if found != expected {
                return Err(CodeObjectError::Header {
                    what,
                    found,
                    expected,
                });
            }
        }
        if header.e_phnum.get(LE) == elf::PN_XNUM {
            return Err(CodeObjectError::TooMany {
                what: "program headers",
                found: elf::PN_XNUM.into(),
                limit: u64::from(elf::PN_XNUM) - 1,
            });
        }
        Ok(header)
    }

    /// Sections are optional for loading, and only consulted for alignments: whatever is wrong with
    /// their table, the code object loads without.
    fn section_headers(
        file: &File<'a>,
        header: &elf::FileHeader64<LE>,
    ) -> &'a [elf::SectionHeader64<LE>] {
        if usize::from(header.e_shentsize.get(LE)) != size_of::<elf::SectionHeader64<LE>>() {
            return &[];
        }
        file.table(
            "the section header table",
            header.e_shoff.get(LE),
            header.e_shnum.get(LE).into(),
        )
        .unwrap_or(&[])
    }

    /// The bytes that were parsed.
    #[must_use]
    pub fn data(&self) -> &'a [u8] {
        self.file.0
    }

    /// Version of the format.
    #[must_use]
    pub fn version(&self) -> CodeObjectVersion {
        self.version
    }

    /// The ISA that the code is for.
    #[must_use]
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Version of a generic ISA, 0 for others; see [`Isa::runs_on`].
    #[must_use]
    pub fn generic_version(&self) -> u8 {
        self.generic_version
    }

    /// The header's flags, undecoded.
    #[must_use]
    pub fn e_flags(&self) -> u32 {
        self.e_flags
    }

    /// What becomes memory.
    #[must_use]
    pub fn segments(&self) -> &Segments<'a> {
        &self.segments
    }

    pub(super) fn file(&self) -> &File<'a> {
        &self.file
    }

    pub(super) fn headers(&self) -> &'a [elf::ProgramHeader64<LE>] {
        self.headers
    }

    /// Alignment of a section, in bytes.
    pub(super) fn section_align(&self, index: u16) -> Option<u64> {
        if index == 0 {
            return None;
        }
        let align = self.sections.get(usize::from(index))?.sh_addralign.get(LE);
        (align.is_power_of_two()).then_some(align)
    }

    /// The first section of this name that has bytes in the file.
    #[cfg(feature = "dwarf")]
    pub(super) fn section(&self, name: &str) -> Option<Section<'a>> {
        let header = Self::file_header(&self.file).ok()?;
        let names = self
            .sections
            .get(usize::from(header.e_shstrndx.get(LE).0))?;
        let data = |section: &elf::SectionHeader64<LE>| {
            let (offset, size) = (section.sh_offset.get(LE), section.sh_size.get(LE));
            self.file.range("a section", offset, size).ok()
        };
        let names = data(names)?;
        let is_named = |section: &elf::SectionHeader64<LE>| {
            let start = names.get(section.sh_name.get(LE) as usize..)?;
            let rest = start.strip_prefix(name.as_bytes())?;
            (rest.first() == Some(&0)).then_some(())
        };
        let section = self.sections.iter().find(|section| {
            section.sh_type.get(LE) != elf::SHT_NOBITS && is_named(section).is_some()
        })?;
        Some(Section {
            data: data(section),
            offset: section.sh_offset.get(LE),
            size: section.sh_size.get(LE),
            compressed: section.sh_flags.get(LE).0 & elf::SHF_COMPRESSED.0 != 0,
        })
    }
}

/// A section of the file.
#[cfg(feature = "dwarf")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Section<'a> {
    /// Its bytes, if they lie in the file.
    pub data: Option<&'a [u8]>,
    /// Where it is in the file, and its size in bytes.
    pub offset: u64,
    pub size: u64,
    /// Whether its bytes have to be decompressed first.
    pub compressed: bool,
}
