//! Functions, those that were inlined too: which addresses are theirs, what they are called, and where from.

use super::error::SourceError;
use super::sections::Name;
use super::unit::{Extent, Header, Tables, Unit};
use super::work::Work;
use super::{Bytes, MAX_FUNCTIONS, MAX_INLINED, MAX_REFERENCES};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use gimli::{Abbreviation, AttributeValue, EntriesRaw, UnitOffset, constants as dw};

/// No function.
const NONE: u32 = u32::MAX;

/// A function that has code of its own, or a copy of one where it was called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function {
    /// The function that it was inlined into; `None` for one that was not.
    pub caller: Option<u32>,
    /// Index of its name.
    name: u32,
    /// The table of files of `call_file`.
    pub table: Option<u32>,
    /// Where it was called, if it was inlined. 0: not known.
    pub call_file: u32,
    pub call_line: u32,
    pub call_column: u32,
}

/// How a function is called.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FunctionName<'a> {
    pub plain: Name<'a>,
    pub linkage: Name<'a>,
}

/// What attributes of an entry are of use.
#[derive(Debug, Default)]
struct Entry<'a> {
    extent: Extent<'a>,
    name: FunctionName<'a>,
    origin: Option<AttributeValue<Bytes<'a>>>,
    call_file: u32,
    call_line: u32,
    call_column: u32,
}

impl<'a> Entry<'a> {
    fn read(
        unit: &Unit<'_, 'a>,
        entries: &mut EntriesRaw<'_, Bytes<'a>>,
        abbreviation: &Abbreviation,
    ) -> gimli::Result<Self> {
        let mut entry = Self::default();
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec)?;
            let value = attribute.raw_value();
            let number = || value.udata_value().and_then(|n| n.try_into().ok());
            match attribute.name() {
                dw::DW_AT_low_pc => entry.extent.low = Some(value),
                dw::DW_AT_high_pc => entry.extent.high = Some(value),
                dw::DW_AT_ranges => entry.extent.ranges = Some(value),
                dw::DW_AT_name => entry.name.plain = unit.name_of(&value),
                dw::DW_AT_linkage_name | dw::DW_AT_MIPS_linkage_name => {
                    entry.name.linkage = unit.name_of(&value);
                }
                dw::DW_AT_abstract_origin | dw::DW_AT_specification => entry.origin = Some(value),
                dw::DW_AT_call_file => entry.call_file = number().unwrap_or(0),
                dw::DW_AT_call_line => entry.call_line = number().unwrap_or(0),
                dw::DW_AT_call_column => entry.call_column = number().unwrap_or(0),
                _ => {}
            }
        }
        Ok(entry)
    }

    /// Where the entry is that says more of it: an offset in `.debug_info`.
    fn origin(&self, unit: &Header<'_>) -> Option<usize> {
        match self.origin.as_ref()? {
            AttributeValue::UnitRef(offset) => unit.offset.checked_add(offset.0),
            AttributeValue::DebugInfoRef(offset) => Some(offset.0),
            _ => None,
        }
    }
}

/// All functions.
#[derive(Debug, Default)]
pub(super) struct Functions<'a> {
    list: Vec<Function>,
    /// How many functions each is inlined in, one in the other.
    depths: Vec<u16>,
    /// First address, address behind the last one, function; apart from each other.
    ranges: BTreeMap<u64, (u64, u32)>,
    names: Vec<FunctionName<'a>>,
    /// By the offset of the entry that names begin with.
    known: BTreeMap<usize, u32>,
}

impl<'a> Functions<'a> {
    /// Reads a unit's functions.
    pub fn read(
        &mut self,
        unit: &Unit<'_, 'a>,
        table: Option<u32>,
        units: &[Header<'a>],
        tables: &mut Tables,
        work: &mut Work,
    ) -> Result<(), SourceError> {
        let malformed = unit.header.malformed();
        let header = &unit.header.header;
        let mut entries = header
            .entries_raw(&unit.abbreviations, None)
            .map_err(&malformed)?;
        // The functions that the entry is in, with their depths among the entries.
        let mut around: Vec<(isize, u32)> = Vec::new();
        while !entries.is_empty() {
            let depth = entries.next_depth();
            let offset = entries.next_offset();
            work.spend(1)?;
            let Some(abbreviation) = entries.read_abbreviation().map_err(&malformed)? else {
                continue;
            };
            work.spend(abbreviation.attributes().len())?;
            while around.last().is_some_and(|(outer, _)| *outer >= depth) {
                around.pop();
            }
            let inlined = match abbreviation.tag() {
                dw::DW_TAG_subprogram => false,
                dw::DW_TAG_inlined_subroutine => true,
                _ => {
                    entries
                        .skip_attributes(abbreviation.attributes())
                        .map_err(&malformed)?;
                    continue;
                }
            };
            let entry = Entry::read(unit, &mut entries, abbreviation).map_err(&malformed)?;
            let function = self.list.len() as u32;
            let ranges = &mut self.ranges;
            let mut any = false;
            unit.ranges(&entry.extent, work, |low, high| {
                any = true;
                cover(ranges, low, high, function);
                Ok(())
            })?;
            if !any {
                continue;
            }
            let caller = around.last().map(|(_, f)| *f).filter(|_| inlined);
            let own = unit.header.offset.saturating_add(offset.0);
            let start = match (&entry.name, entry.origin(unit.header)) {
                (name, Some(origin)) if !name.plain.is_some() && !name.linkage.is_some() => origin,
                _ => own,
            };
            let name = self.name(start, unit, units, tables, work)?;
            self.add(Function {
                caller,
                name,
                table,
                call_file: entry.call_file,
                call_line: entry.call_line,
                call_column: entry.call_column,
            })?;
            around.push((depth, function));
        }
        Ok(())
    }

    fn add(&mut self, function: Function) -> Result<(), SourceError> {
        let too_many = |what, limit: usize| SourceError::TooMany {
            what,
            limit: limit as u64,
        };
        if self.list.len() == MAX_FUNCTIONS {
            return Err(too_many("functions", MAX_FUNCTIONS));
        }
        let outer = function.caller.and_then(|f| self.depths.get(f as usize));
        let depth = outer.map_or(0, |depth| depth + 1);
        if usize::from(depth) > MAX_INLINED {
            return Err(too_many("functions inlined in each other", MAX_INLINED));
        }
        self.depths.push(depth);
        self.list.push(function);
        Ok(())
    }

    /// The name of the function whose entry is at an offset of `.debug_info`, or of what that one refers to.
    fn name(
        &mut self,
        start: usize,
        unit: &Unit<'_, 'a>,
        units: &[Header<'a>],
        tables: &mut Tables,
        work: &mut Work,
    ) -> Result<u32, SourceError> {
        if let Some(known) = self.known.get(&start) {
            return Ok(*known);
        }
        let mut name = FunctionName::default();
        let mut next = Some(start);
        for _ in 0..MAX_REFERENCES {
            let Some(offset) = next.take() else {
                break;
            };
            let behind = units.partition_point(|unit| unit.offset <= offset);
            let Some(header) = behind.checked_sub(1).and_then(|at| units.get(at)) else {
                break;
            };
            let other;
            let unit = if header.offset == unit.header.offset {
                unit
            } else {
                let abbreviations = tables.of(unit.sections, header, work)?;
                other = Unit::read(unit.sections, header, abbreviations, work)?;
                &other
            };
            let malformed = header.malformed();
            let place = UnitOffset(offset - header.offset);
            let mut entries = header
                .header
                .entries_raw(&unit.abbreviations, Some(place))
                .map_err(&malformed)?;
            let Some(abbreviation) = entries.read_abbreviation().map_err(&malformed)? else {
                break;
            };
            work.spend(abbreviation.attributes().len() + 1)?;
            let entry = Entry::read(unit, &mut entries, abbreviation).map_err(&malformed)?;
            for (own, found) in [
                (&mut name.plain, entry.name.plain),
                (&mut name.linkage, entry.name.linkage),
            ] {
                if !own.is_some() {
                    *own = found;
                }
            }
            if name.plain.is_some() && name.linkage.is_some() {
                break;
            }
            next = entry.origin(header);
        }
        let index = self.names.len() as u32;
        self.names.push(name);
        self.known.insert(start, index);
        Ok(index)
    }

    /// The innermost function that has an address, then those that it was inlined into.
    pub fn chain(&self, address: u64) -> impl Iterator<Item = &Function> {
        let found = self.ranges.range(..=address).next_back();
        let first = found
            .filter(|(_, (high, _))| address < *high)
            .map(|(_, (_, function))| *function);
        let get = |function: u32| self.list.get(function as usize);
        core::iter::successors(first.and_then(get), move |f| get(f.caller.unwrap_or(NONE)))
    }

    pub fn name_of(&self, function: &Function) -> FunctionName<'a> {
        let name = self.names.get(function.name as usize);
        name.copied().unwrap_or_default()
    }
}

/// Gives a range of addresses to a function, out of those of the function that it is in.
fn cover(ranges: &mut BTreeMap<u64, (u64, u32)>, low: u64, high: u64, function: u32) {
    let around = ranges.range(..=low).next_back();
    if let Some((&start, &(end, outer))) = around
        && low < end
    {
        if high < end {
            ranges.insert(high, (end, outer));
        }
        if start < low {
            ranges.insert(start, (low, outer));
        }
    }
    ranges.insert(low, (high, function));
}
