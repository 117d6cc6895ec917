//! Units: their root entries, what addresses they cover, and abbreviations.

use super::error::SourceError;
use super::sections::{Name, Sections, number, reader};
use super::work::Work;
use super::{Bytes, MAX_ABBREVIATIONS, MAX_UNITS};
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use gimli::{
    Abbreviations, AttributeValue, DebugAbbrev, DebugAddrIndex, DebugInfo, DebugRanges,
    DebugRngLists, DebuggingInformationEntry, LittleEndian, RangeLists, RangeListsOffset,
    RawRngListEntry, UnitHeader, UnitType, constants as dw,
};

/// Whether an address stands for code that the linker left out: DWARF 6 says -1, LLVM's linker writes 0 (which is the
/// file's header), and in lists of ranges 1 or -2.
pub(super) const fn is_left_out(address: u64) -> bool {
    address <= 1 || address >= u64::MAX - 1
}
/// Tables of abbreviations that are kept.
const KEPT_TABLES: usize = 16;

/// A unit's header, and where it is in its section.
#[derive(Debug)]
pub(super) struct Header<'a> {
    pub offset: usize,
    pub header: UnitHeader<Bytes<'a>>,
}

impl Header<'_> {
    /// Whether code can belong to it: to units of types none does.
    pub fn has_code(&self) -> bool {
        !matches!(
            self.header.type_(),
            UnitType::Type { .. } | UnitType::SplitType { .. }
        )
    }

    pub fn malformed(&self) -> impl Fn(gimli::Error) -> SourceError + use<> {
        SourceError::malformed(".debug_info", self.offset)
    }
}

/// All units' headers, in their order.
pub(super) fn headers<'a>(
    sections: &Sections<'a>,
    work: &mut Work,
) -> Result<Vec<Header<'a>>, SourceError> {
    let mut headers = Vec::new();
    let mut units = DebugInfo::new(sections.info, LittleEndian).units();
    let mut offset = 0;
    while let Some(header) = units
        .next()
        .map_err(SourceError::malformed(".debug_info", offset))?
    {
        work.spend(8)?;
        if headers.len() == MAX_UNITS {
            return Err(SourceError::TooMany {
                what: "units of debug information",
                limit: MAX_UNITS as u64,
            });
        }
        if header.address_size() != 8 {
            return Err(SourceError::AddressSize {
                section: ".debug_info",
                offset: offset as u64,
                size: header.address_size(),
            });
        }
        let next = offset.saturating_add(header.length_including_self());
        headers.push(Header { offset, header });
        offset = next;
    }
    Ok(headers)
}

/// Abbreviations by their place in the section: those that were used last.
#[derive(Debug, Default)]
pub(super) struct Tables(BTreeMap<usize, Arc<Abbreviations>>);

impl Tables {
    pub fn of(
        &mut self,
        sections: &Sections<'_>,
        unit: &Header<'_>,
        work: &mut Work,
    ) -> Result<Arc<Abbreviations>, SourceError> {
        let offset = unit.header.debug_abbrev_offset().0;
        if let Some(known) = self.0.get(&offset) {
            return Ok(known.clone());
        }
        let table = sections.abbrev.get(offset..).unwrap_or(&[]);
        let table = table.get(..MAX_ABBREVIATIONS).unwrap_or(table);
        // Reading abbreviations is quicker than what else steps are.
        work.spend(table.len() / 8 + 1)?;
        let abbreviations = DebugAbbrev::new(table, LittleEndian)
            .abbreviations(gimli::DebugAbbrevOffset(0))
            .map_err(SourceError::malformed(".debug_abbrev", offset))?;
        if self.0.len() == KEPT_TABLES {
            self.0.clear();
        }
        let abbreviations = Arc::new(abbreviations);
        self.0.insert(offset, abbreviations.clone());
        Ok(abbreviations)
    }
}

/// What attributes say of the addresses of an entry.
#[derive(Clone, Debug, Default)]
pub(super) struct Extent<'a> {
    pub low: Option<AttributeValue<Bytes<'a>>>,
    pub high: Option<AttributeValue<Bytes<'a>>>,
    pub ranges: Option<AttributeValue<Bytes<'a>>>,
}

/// A unit.
#[derive(Debug)]
pub(super) struct Unit<'u, 'a> {
    pub sections: &'u Sections<'a>,
    pub header: &'u Header<'a>,
    pub abbreviations: Arc<Abbreviations>,
    extent: Extent<'a>,
    /// Where its line program is.
    pub line_program: Option<usize>,
    /// Where it was compiled.
    pub directory: Name<'a>,
    /// Where its parts of `.debug_str_offsets`, `.debug_addr` and `.debug_rnglists` begin.
    pub str_offsets: usize,
    addresses: usize,
    range_lists: usize,
}

impl<'u, 'a> Unit<'u, 'a> {
    /// Reads the root entry.
    pub fn read(
        sections: &'u Sections<'a>,
        header: &'u Header<'a>,
        abbreviations: Arc<Abbreviations>,
        work: &mut Work,
    ) -> Result<Self, SourceError> {
        let malformed = header.malformed();
        let mut root = DebuggingInformationEntry::null();
        let mut entries = header
            .header
            .entries_raw(&abbreviations, None)
            .map_err(&malformed)?;
        // A unit may be empty.
        if !entries.is_empty() {
            entries.read_entry(&mut root).map_err(&malformed)?;
            work.spend(root.attrs().len() + 1)?;
        }
        let value = |name| root.attr_value_raw(name);
        let offset = |name| value(name).and_then(|value| offset(&value));
        let mut unit = Self {
            sections,
            header,
            extent: Extent {
                low: value(dw::DW_AT_low_pc),
                high: value(dw::DW_AT_high_pc),
                ranges: value(dw::DW_AT_ranges),
            },
            line_program: offset(dw::DW_AT_stmt_list),
            directory: Name::None,
            str_offsets: offset(dw::DW_AT_str_offsets_base).unwrap_or(0),
            addresses: offset(dw::DW_AT_addr_base).unwrap_or(0),
            range_lists: offset(dw::DW_AT_rnglists_base).unwrap_or(0),
            abbreviations: abbreviations.clone(),
        };
        unit.directory = value(dw::DW_AT_comp_dir).map_or(Name::None, |value| unit.name_of(&value));
        Ok(unit)
    }

    /// The name that an attribute holds.
    pub fn name_of(&self, value: &AttributeValue<Bytes<'a>>) -> Name<'a> {
        let format = self.header.header.format();
        self.sections.name(value, format, self.str_offsets)
    }

    fn indexed(&self, index: DebugAddrIndex<usize>) -> Option<u64> {
        let place = index.0.checked_mul(8)?.checked_add(self.addresses)?;
        number(self.sections.addr, place, 8)
    }

    fn address(&self, value: &AttributeValue<Bytes<'a>>) -> Option<u64> {
        match value {
            AttributeValue::Addr(address) => Some(*address),
            AttributeValue::DebugAddrIndex(index) => self.indexed(*index),
            _ => None,
        }
    }

    /// Whether code at `address` can be of this unit.
    pub fn may_cover(&self, address: u64, work: &mut Work) -> Result<bool, SourceError> {
        let mut any = false;
        let mut covered = false;
        self.ranges(&self.extent, work, |low, high| {
            any = true;
            covered |= (low..high).contains(&address);
            Ok(())
        })?;
        Ok(covered || !any)
    }

    /// Visits the ranges of addresses that an entry covers, without those that are empty.
    pub fn ranges(
        &self,
        extent: &Extent<'a>,
        work: &mut Work,
        mut visit: impl FnMut(u64, u64) -> Result<(), SourceError>,
    ) -> Result<(), SourceError> {
        let mut visit = |low: u64, high: u64| match low < high && !is_left_out(low) {
            true => visit(low, high),
            false => Ok(()),
        };
        let low = extent.low.as_ref().and_then(|low| self.address(low));
        if let (Some(low), Some(high)) = (low, &extent.high) {
            // An address, or how many bytes it is from the low one.
            let high = match self.address(high) {
                Some(high) => Some(high),
                None => high.udata_value().map(|size| low.saturating_add(size)),
            };
            return high.map_or(Ok(()), |high| visit(low, high));
        }
        let Some(list) = extent.ranges.as_ref().and_then(|ranges| self.list(ranges)) else {
            return Ok(());
        };
        let encoding = self.header.header.encoding();
        let section = match encoding.version {
            ..=4 => ".debug_ranges",
            _ => ".debug_rnglists",
        };
        let malformed = SourceError::malformed(section, list);
        let lists = RangeLists::new(
            DebugRanges::new(self.sections.ranges, LittleEndian),
            DebugRngLists::new(self.sections.rnglists, LittleEndian),
        );
        let mut entries = lists
            .raw_ranges(RangeListsOffset(list), encoding)
            .map_err(&malformed)?;
        let root = self.extent.low.as_ref();
        let mut base = root.and_then(|low| self.address(low)).unwrap_or(0);
        while let Some(entry) = entries.next().map_err(&malformed)? {
            work.spend(1)?;
            let missing = |index: DebugAddrIndex<usize>| {
                malformed(gimli::Error::OffsetOutOfBounds(index.0 as u64))
            };
            let indexed = |index| self.indexed(index).ok_or_else(|| missing(index));
            let (low, high) = match entry {
                RawRngListEntry::BaseAddress { addr } => {
                    base = addr;
                    continue;
                }
                RawRngListEntry::BaseAddressx { addr } => {
                    base = indexed(addr)?;
                    continue;
                }
                RawRngListEntry::AddressOrOffsetPair { begin, end }
                | RawRngListEntry::OffsetPair { begin, end } => {
                    if base != 0 && is_left_out(base) {
                        continue;
                    }
                    (base.wrapping_add(begin), base.wrapping_add(end))
                }
                RawRngListEntry::StartEnd { begin, end } => (begin, end),
                RawRngListEntry::StartLength { begin, length } => {
                    (begin, begin.saturating_add(length))
                }
                RawRngListEntry::StartxEndx { begin, end } => (indexed(begin)?, indexed(end)?),
                RawRngListEntry::StartxLength { begin, length } => {
                    let begin = indexed(begin)?;
                    (begin, begin.saturating_add(length))
                }
            };
            visit(low, high)?;
        }
        Ok(())
    }

    /// Where a list of ranges is.
    fn list(&self, ranges: &AttributeValue<Bytes<'a>>) -> Option<usize> {
        let AttributeValue::DebugRngListsIndex(index) = ranges else {
            return offset(ranges);
        };
        let size = usize::from(self.header.header.format().word_size());
        let place = index.0.checked_mul(size)?.checked_add(self.range_lists)?;
        let from_base = number(self.sections.rnglists, place, size)?;
        usize::try_from(from_base)
            .ok()?
            .checked_add(self.range_lists)
    }
}

/// An attribute that is an offset into a section.
fn offset(value: &AttributeValue<Bytes<'_>>) -> Option<usize> {
    match value {
        AttributeValue::SecOffset(offset) => Some(*offset),
        other => other.udata_value().and_then(|value| value.try_into().ok()),
    }
}

/// Checks that a section begins with a length that lies in it; gives what it is the length of, with the length.
pub(super) fn with_length(section: &[u8], offset: usize) -> gimli::Result<&[u8]> {
    let rest = section
        .get(offset..)
        .ok_or(gimli::Error::OffsetOutOfBounds(offset as u64))?;
    let mut input = reader(rest);
    let (length, format) = gimli::Reader::read_initial_length(&mut input)?;
    let whole = length.saturating_add(usize::from(format.initial_length_size()));
    rest.get(..whole)
        .ok_or(gimli::Error::OffsetOutOfBounds(offset as u64))
}
