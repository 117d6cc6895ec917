//! The dynamic section: where the symbols and relocations are, and how many.

use super::error::CodeObjectError;
use super::file::{File, entries};
use super::segment::Segments;
use object::LittleEndian as LE;
use object::elf::{self, DynamicTag};
use object::endian::U32;

/// Tables that the dynamic section names, each inside a segment's file contents.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dynamic<'a> {
    pub symbols: &'a [elf::Sym64<LE>],
    pub strings: &'a [u8],
    pub rela: &'a [elf::Rela64<LE>],
    pub rel: &'a [elf::Rel64<LE>],
    /// `DT_JMPREL` with explicit addends.
    pub plt_rela: &'a [elf::Rela64<LE>],
    /// `DT_JMPREL` with addends in place.
    pub plt_rel: &'a [elf::Rel64<LE>],
}

/// The tags that a loader needs, as found.
#[derive(Default)]
struct Tags {
    symtab: Option<u64>,
    strtab: Option<u64>,
    strsz: Option<u64>,
    hash: Option<u64>,
    gnu_hash: Option<u64>,
    rela: Option<u64>,
    relasz: Option<u64>,
    rel: Option<u64>,
    relsz: Option<u64>,
    jmprel: Option<u64>,
    pltrelsz: Option<u64>,
    pltrel: Option<u64>,
}

impl Tags {
    fn read(section: &[elf::Dyn64<LE>]) -> Result<Self, CodeObjectError> {
        let mut tags = Self::default();
        for entry in section {
            let value = entry.d_val.get(LE);
            let entry_size = |what, expected: usize| {
                if value == expected as u64 {
                    Ok(())
                } else {
                    Err(CodeObjectError::EntrySize {
                        what,
                        found: value,
                        expected: expected as u64,
                    })
                }
            };
            let slot = match entry.d_tag.get(LE) {
                elf::DT_NULL => break,
                elf::DT_SYMTAB => &mut tags.symtab,
                elf::DT_STRTAB => &mut tags.strtab,
                elf::DT_STRSZ => &mut tags.strsz,
                elf::DT_HASH => &mut tags.hash,
                elf::DT_GNU_HASH => &mut tags.gnu_hash,
                elf::DT_RELA => &mut tags.rela,
                elf::DT_RELASZ => &mut tags.relasz,
                elf::DT_REL => &mut tags.rel,
                elf::DT_RELSZ => &mut tags.relsz,
                elf::DT_JMPREL => &mut tags.jmprel,
                elf::DT_PLTRELSZ => &mut tags.pltrelsz,
                elf::DT_PLTREL => &mut tags.pltrel,
                elf::DT_SYMENT => {
                    entry_size("DT_SYMENT", size_of::<elf::Sym64<LE>>())?;
                    continue;
                }
                elf::DT_RELAENT => {
                    entry_size("DT_RELAENT", size_of::<elf::Rela64<LE>>())?;
                    continue;
                }
                elf::DT_RELENT => {
                    entry_size("DT_RELENT", size_of::<elf::Rel64<LE>>())?;
                    continue;
                }
                // Linkers only pack relocations on request; loading without them would run wrong code.
                elf::DT_RELR => return Err(CodeObjectError::UnsupportedTag { name: "DT_RELR" }),
                _ => continue,
            };
            *slot = Some(value);
        }
        Ok(tags)
    }
}

impl<'a> Dynamic<'a> {
    pub fn parse(
        file: &File<'a>,
        segments: &Segments<'a>,
        header: &elf::ProgramHeader64<LE>,
    ) -> Result<Self, CodeObjectError> {
        let section = file.range(
            "the dynamic section",
            header.p_offset.get(LE),
            header.p_filesz.get(LE),
        )?;
        let tags = Tags::read(entries(section))?;
        let table = |what, missing, address: Option<u64>, size: Option<u64>| {
            let Some(address) = address else {
                return Ok([].as_slice());
            };
            let size = size.ok_or(CodeObjectError::MissingTag {
                present: what,
                missing,
            })?;
            segments
                .bytes(address, size)
                .ok_or(CodeObjectError::Unmapped {
                    what,
                    address,
                    size,
                })
        };
        let plt = table("DT_JMPREL", "DT_PLTRELSZ", tags.jmprel, tags.pltrelsz)?;
        let (plt_rela, plt_rel) = match tags.pltrel.map(|tag| DynamicTag(tag as i64)) {
            _ if plt.is_empty() => (plt, plt),
            Some(elf::DT_RELA) => (plt, [].as_slice()),
            Some(elf::DT_REL) => ([].as_slice(), plt),
            _ => {
                return Err(CodeObjectError::MissingTag {
                    present: "DT_JMPREL",
                    missing: "DT_PLTREL",
                });
            }
        };
        Ok(Self {
            symbols: symbols(segments, &tags)?,
            strings: table("DT_STRTAB", "DT_STRSZ", tags.strtab, tags.strsz)?,
            rela: entries(table("DT_RELA", "DT_RELASZ", tags.rela, tags.relasz)?),
            rel: entries(table("DT_REL", "DT_RELSZ", tags.rel, tags.relsz)?),
            plt_rela: entries(plt_rela),
            plt_rel: entries(plt_rel),
        })
    }
}

fn symbols<'a>(
    segments: &Segments<'a>,
    tags: &Tags,
) -> Result<&'a [elf::Sym64<LE>], CodeObjectError> {
    let Some(address) = tags.symtab else {
        return Ok(&[]);
    };
    if tags.strtab.is_none() {
        return Err(CodeObjectError::MissingTag {
            present: "DT_SYMTAB",
            missing: "DT_STRTAB",
        });
    }
    // No tag states the size of the symbol table; each hash table implies it.
    let count = match (tags.hash, tags.gnu_hash) {
        (Some(hash), _) => sysv_count(segments, hash)?,
        (None, Some(hash)) => gnu_count(segments, hash)?,
        (None, None) => {
            return Err(CodeObjectError::MissingTag {
                present: "DT_SYMTAB",
                missing: "DT_HASH or DT_GNU_HASH",
            });
        }
    };
    let size = u64::from(count) * size_of::<elf::Sym64<LE>>() as u64;
    segments
        .bytes(address, size)
        .map(entries)
        .ok_or(CodeObjectError::Unmapped {
            what: "DT_SYMTAB",
            address,
            size,
        })
}

/// `nchain`, the second word of a SysV hash table, is the number of symbols.
fn sysv_count(segments: &Segments<'_>, address: u64) -> Result<u32, CodeObjectError> {
    let words: &[U32<LE>] =
        segments
            .bytes(address, 8)
            .map(entries)
            .ok_or(CodeObjectError::Unmapped {
                what: "DT_HASH",
                address,
                size: 8,
            })?;
    Ok(words.get(1).map_or(0, |n| n.get(LE)))
}

/// A GNU hash table has its symbols sorted by bucket, so the last symbol ends the chain of the
/// highest bucket; the lowest bit of a chain word marks an end.
fn gnu_count(segments: &Segments<'_>, address: u64) -> Result<u32, CodeObjectError> {
    let unmapped = CodeObjectError::Unmapped {
        what: "DT_GNU_HASH",
        address,
        size: u64::MAX,
    };
    let count = || {
        let words: &[U32<LE>] = entries(segments.bytes_from(address)?);
        let word = |i: usize| words.get(i).map(|w| w.get(LE));
        let (buckets, first_hashed, bloom) = (word(0)?, word(1)?, word(2)?);
        // Header of four words, then the bloom filter's 64-bit words, the buckets, the chains.
        let buckets_at = 4usize.checked_add((bloom as usize).checked_mul(2)?)?;
        let chains_at = buckets_at.checked_add(buckets as usize)?;
        let last = words
            .get(buckets_at..chains_at)?
            .iter()
            .map(|w| w.get(LE))
            .max()
            .unwrap_or(0);
        if last < first_hashed {
            return Some(first_hashed);
        }
        let chain = words.get(chains_at.checked_add((last - first_hashed) as usize)?..)?;
        let length = chain.iter().position(|w| w.get(LE) & 1 != 0)?;
        last.checked_add(u32::try_from(length).ok()?)?
            .checked_add(1)
    };
    count().ok_or(unmapped)
}
