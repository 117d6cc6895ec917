//! Line programs: which file, line and column each instruction is from.

use super::error::SourceError;
use super::sections::{Name, reader};
use super::unit::{Unit, is_left_out, with_length};
use super::work::Work;
use super::{Bytes, MAX_FILES, MAX_LINE_HEADER, MAX_ROWS};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use gimli::{
    ColumnType, DebugLine, DebugLineOffset, LineInstruction, LineProgramHeader, LittleEndian,
    Reader,
};

/// From this address on, up to the next row's, instructions are from here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub address: u64,
    pub file: u32,
    /// 0: none.
    pub line: u32,
    /// 0: none.
    pub column: u32,
}

/// A run of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sequence {
    low: u64,
    /// Behind its last instruction.
    high: u64,
    /// Indices of rows.
    first: u32,
    end: u32,
    table: u32,
}

/// A file of a line program.
#[derive(Clone, Copy, Debug)]
pub(super) struct File<'a> {
    pub directory: u64,
    pub name: Name<'a>,
}

/// The files of a line program.
#[derive(Debug)]
pub(super) struct FileTable<'a> {
    pub version: u16,
    /// Where the unit was compiled.
    pub compiled_in: Name<'a>,
    pub directories: Vec<Name<'a>>,
    pub files: Vec<File<'a>>,
}

/// All line programs.
#[derive(Debug, Default)]
pub(super) struct Lines<'a> {
    rows: Vec<Row>,
    sequences: Vec<Sequence>,
    pub tables: Vec<FileTable<'a>>,
    /// By the programs' offsets.
    known: BTreeMap<usize, u32>,
    files: usize,
}

impl<'a> Lines<'a> {
    /// Runs a unit's program; gives the number of its table of files.
    pub fn read(
        &mut self,
        unit: &Unit<'_, 'a>,
        work: &mut Work,
    ) -> Result<Option<u32>, SourceError> {
        let Some(offset) = unit.line_program else {
            return Ok(None);
        };
        if let Some(table) = self.known.get(&offset) {
            return Ok(Some(*table));
        }
        let malformed = SourceError::malformed(".debug_line", offset);
        let program = with_length(unit.sections.line, offset).map_err(&malformed)?;
        work.spend(program.len())?;
        // In memory tables of files are larger than in the file.
        if header_length(program).map_err(&malformed)? > MAX_LINE_HEADER {
            return Err(SourceError::TooMany {
                what: "bytes in the header of a line program",
                limit: MAX_LINE_HEADER as u64,
            });
        }
        let lines = DebugLine::new(program, LittleEndian);
        let program = lines
            .program(DebugLineOffset(0), 8, None, None)
            .map_err(&malformed)?;
        let header = program.header();
        if header.address_size() != 8 {
            return Err(SourceError::AddressSize {
                section: ".debug_line",
                offset: offset as u64,
                size: header.address_size(),
            });
        }
        let mut instructions = header.instructions();
        while let Some(instruction) = instructions.next_instruction(header).map_err(&malformed)? {
            if let LineInstruction::DefineFile(_) = instruction {
                return Err(SourceError::DefinedFile {
                    offset: offset as u64,
                });
            }
        }
        let table = self.tables.len() as u32;
        self.add_files(unit, header)?;
        self.known.insert(offset, table);
        let mut first = self.rows.len();
        let mut rows = program.rows();
        while let Some((_, row)) = rows.next_row().map_err(&malformed)? {
            if row.end_sequence() {
                let low = self.rows.get(first).map_or(u64::MAX, |row| row.address);
                if low < row.address() && !is_left_out(low) {
                    self.sequences.push(Sequence {
                        low,
                        high: row.address(),
                        first: first as u32,
                        end: self.rows.len() as u32,
                        table,
                    });
                }
                first = self.rows.len();
                continue;
            }
            if self.rows.len() == MAX_ROWS {
                return Err(SourceError::TooMany {
                    what: "rows of line numbers",
                    limit: MAX_ROWS as u64,
                });
            }
            let narrow = |number: u64| u32::try_from(number).unwrap_or(0);
            self.rows.push(Row {
                address: row.address(),
                file: u32::try_from(row.file_index()).unwrap_or(u32::MAX),
                line: row.line().map_or(0, |line| narrow(line.get())),
                column: match row.column() {
                    ColumnType::LeftEdge => 0,
                    ColumnType::Column(column) => narrow(column.get()),
                },
            });
        }
        Ok(Some(table))
    }

    fn add_files(
        &mut self,
        unit: &Unit<'_, 'a>,
        header: &LineProgramHeader<Bytes<'a>>,
    ) -> Result<(), SourceError> {
        self.files += header.file_names().len() + header.include_directories().len();
        if self.files > MAX_FILES {
            return Err(SourceError::TooMany {
                what: "names of source files",
                limit: MAX_FILES as u64,
            });
        }
        let directories = header.include_directories().iter();
        let files = header.file_names().iter().map(|file| File {
            directory: file.directory_index(),
            name: unit.name_of(&file.path_name()),
        });
        self.tables.push(FileTable {
            version: header.version(),
            compiled_in: unit.directory,
            directories: directories.map(|name| unit.name_of(name)).collect(),
            files: files.collect(),
        });
        Ok(())
    }

    /// Has rows be found.
    pub fn sort(&mut self) {
        self.sequences.sort_unstable();
    }

    /// The row of an instruction, with the table of its file.
    pub fn row(&self, address: u64) -> Option<(u32, Row)> {
        let behind = self.sequences.partition_point(|s| s.low <= address);
        let sequence = self.sequences.get(behind.checked_sub(1)?)?;
        if address >= sequence.high {
            return None;
        }
        let rows = self
            .rows
            .get(sequence.first as usize..sequence.end as usize)?;
        let behind = rows.partition_point(|row| row.address <= address);
        let row = rows.get(behind.checked_sub(1)?)?;
        Some((sequence.table, *row))
    }
}

/// Bytes of a program's tables of files and directories.
fn header_length(program: &[u8]) -> gimli::Result<usize> {
    let mut input = reader(program);
    let (_, format) = input.read_initial_length()?;
    if input.read_u16()? >= 5 {
        // Sizes of addresses and segment selectors.
        input.read_u16()?;
    }
    input.read_offset(format)
}
