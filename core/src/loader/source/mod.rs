//! Where instructions were compiled from, by the DWARF in code objects that were compiled with `-g`.
//!
//! ```
//! use rukh_core::loader::CodeObject;
//! use rukh_core::loader::source::SourceMap;
//!
//! let file = include_bytes!("../../../tests/data/lines-gfx90a-dwarf5.co");
//! let code = CodeObject::parse(file)?;
//! let map = SourceMap::of(&code)?.expect("it was compiled with -g");
//! # let text = code.segments().as_slice().iter().find(|segment| segment.executable).unwrap();
//! # let address = text.address;
//! println!("{}", map.at(address));
//! # assert!(map.at(address).to_string().contains("lines.cl"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! DWARF 2 to 5, 32 and 64 bits, without split units (`.dwo`), supplementary files and compressed sections. A linked code
//! object needs no relocation: addresses are those of its file. Nothing is trusted: what a file can cost is bounded by the
//! constants of this module, in steps and so in time, and in memory by about 150 MB, or 100 times its size if that is less.
//!
//! Source: DWARF Debugging Information Format, version 5.

mod error;
mod frame;
mod functions;
mod lines;
mod sections;
mod unit;
mod work;

pub use error::{Malformed, SourceError};
pub use frame::{FilePath, Frame, Place, Source};

use super::CodeObject;
use alloc::vec::Vec;
use core::num::NonZero;
use functions::Functions;
use gimli::{EndianSlice, LittleEndian};
use lines::Lines;
use sections::Sections;
use unit::{Tables, Unit};
use work::Work;

/// Steps of reading a file: about a byte of a line program, an attribute, or an entry of a list each.
pub const MAX_STEPS: u64 = 1 << 26;
/// Units of a file.
pub const MAX_UNITS: usize = 1 << 12;
/// Bytes of a unit's table of abbreviations that are read.
pub const MAX_ABBREVIATIONS: usize = 1 << 16;
/// Bytes of the header of a line program, which names files and directories.
pub const MAX_LINE_HEADER: usize = 1 << 18;
/// Rows of line numbers of all units.
pub const MAX_ROWS: usize = 1 << 21;
/// Files and directories of all units.
pub const MAX_FILES: usize = 1 << 17;
/// Functions of all units, each place that one was inlined at included.
pub const MAX_FUNCTIONS: usize = 1 << 20;
/// Functions that one is inlined in, each in the next.
pub const MAX_INLINED: usize = 256;
/// Entries that are followed for a function's name, from one to what it refers to.
pub const MAX_REFERENCES: usize = 8;
/// Bytes of a name, with its end; a longer one is none.
pub const MAX_NAME: usize = 1 << 16;

/// How the sections are read.
type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// Where the instructions of a code object were compiled from.
#[derive(Debug)]
pub struct SourceMap<'a> {
    sections: Sections<'a>,
    lines: Lines<'a>,
    functions: Functions<'a>,
}

impl<'a> SourceMap<'a> {
    /// Whether a code object has debug information, readable or not.
    #[must_use]
    pub fn has_source(code: &CodeObject<'a>) -> bool {
        code.section(".debug_info").is_some()
    }

    /// Reads all of a code object's debug information; `None` if it has none.
    ///
    /// # Errors
    /// See [`SourceError`].
    pub fn of(code: &CodeObject<'a>) -> Result<Option<Self>, SourceError> {
        Self::read(code, None)
    }

    /// As [`of`](Self::of), without what does not concern `address`: to ask for that one alone.
    ///
    /// # Errors
    /// See [`SourceError`]. None if [`of`](Self::of) has none.
    pub fn around(code: &CodeObject<'a>, address: u64) -> Result<Option<Self>, SourceError> {
        Self::read(code, Some(address))
    }

    fn read(code: &CodeObject<'a>, only: Option<u64>) -> Result<Option<Self>, SourceError> {
        let Some(sections) = Sections::of(code)? else {
            return Ok(None);
        };
        let mut work = Work::new();
        let mut tables = Tables::default();
        let mut lines = Lines::default();
        let mut functions = Functions::default();
        let units = unit::headers(&sections, &mut work)?;
        for header in units.iter().filter(|unit| unit.has_code()) {
            let abbreviations = tables.of(&sections, header, &mut work)?;
            let unit = Unit::read(&sections, header, abbreviations, &mut work)?;
            let covers = unit.may_cover(only.unwrap_or(0), &mut work)?;
            if only.is_some() && !covers {
                continue;
            }
            let files = lines.read(&unit, &mut work)?;
            functions.read(&unit, files, &units, &mut tables, &mut work)?;
        }
        lines.sort();
        Ok(Some(Self {
            sections,
            lines,
            functions,
        }))
    }

    /// Where the instruction at an address of the file was compiled from. (What is at an address in memory is at
    /// [`LoadedCodeObject::file_address`](super::LoadedCodeObject::file_address) in the file; `Program::source_at` of the
    /// runtime does both.)
    #[must_use]
    pub fn at(&self, address: u64) -> Source<'a> {
        let mut place = self.lines.row(address).map(|(table, row)| Place {
            file: self.file(Some(table), row.file),
            line: NonZero::new(row.line),
            column: NonZero::new(row.column),
        });
        let mut frames = Vec::new();
        for function in self.functions.chain(address) {
            let name = self.functions.name_of(function);
            let plain = self.sections.text(name.plain);
            let linkage = self.sections.text(name.linkage);
            frames.push(Frame {
                function: plain,
                linkage_name: linkage.filter(|name| Some(*name) != plain),
                place: place.take(),
            });
            place = Some(Place {
                file: self.file(function.table, function.call_file),
                line: NonZero::new(function.call_line),
                column: NonZero::new(function.call_column),
            });
        }
        if frames.is_empty() && place.is_some() {
            frames.push(Frame {
                place,
                ..Frame::default()
            });
        }
        Source { frames }
    }

    fn file(&self, table: Option<u32>, file: u32) -> Option<FilePath<'a>> {
        let table = self.lines.tables.get(table? as usize)?;
        // Before DWARF 5 both begin with 1, and directory 0 is where the compiler ran.
        let is_new = table.version >= 5;
        let file = (file as usize).checked_sub(usize::from(!is_new))?;
        let file = table.files.get(file)?;
        let directory = usize::try_from(file.directory).ok()?;
        let directory = directory
            .checked_sub(usize::from(!is_new))
            .and_then(|at| table.directories.get(at))
            .and_then(|name| self.sections.text(*name));
        Some(FilePath {
            compiled_in: self.sections.text(table.compiled_in).unwrap_or(""),
            directory: directory.unwrap_or(""),
            name: self.sections.text(file.name)?,
        })
    }
}
