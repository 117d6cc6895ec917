//! For tests and fuzzers: memory that is only bytes, files with other sections, and a check that uses every part of the
//! loader on arbitrary input.

use super::executable::{Executable, ExternalVariable, LoadedKind};
use super::kernarg::{self, Explicit, Grid, Hidden, KernargError};
use super::load_error::{LoadError, Scope};
use super::memory::{LoaderMemory, SegmentError, SegmentMemory};
use super::metadata::{KernelMetadata, ValueKind};
use super::{CodeObject, OwnedMetadata, Place, Symbol};
use crate::backend::{AgentId, MemoryError};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

/// Memory of an agent that does not exist. It refuses more than its limit, as a device would.
#[derive(Debug)]
pub struct ByteMemory {
    limit: u64,
    next: Cell<u64>,
    segments: RefCell<BTreeMap<u64, Vec<u8>>>,
    finished: Cell<usize>,
}

impl ByteMemory {
    /// Memory of `limit` bytes. Everything not written reads as 0xcc, so that a missing zero shows.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self {
            limit,
            next: Cell::new(0x7f00_0000_0000),
            segments: RefCell::default(),
            finished: Cell::new(0),
        }
    }

    /// Number of segments that are allocated.
    #[must_use]
    pub fn live(&self) -> usize {
        self.segments.borrow().len()
    }

    /// How often [`LoaderMemory::finish`] was called.
    #[must_use]
    pub fn finished(&self) -> usize {
        self.finished.get()
    }

    /// The `size` bytes at a device address, if one segment holds them.
    #[must_use]
    pub fn read(&self, address: u64, size: usize) -> Option<Vec<u8>> {
        let segments = self.segments.borrow();
        let (base, bytes) = segments.range(..=address).next_back()?;
        let start = usize::try_from(address - base).ok()?;
        Some(bytes.get(start..start.checked_add(size)?)?.to_vec())
    }
}

impl LoaderMemory for ByteMemory {
    fn allocate(
        &self,
        agent: AgentId,
        size: u64,
        align: u64,
    ) -> Result<SegmentMemory, SegmentError> {
        let used: u64 = self
            .segments
            .borrow()
            .values()
            .map(|s| s.len() as u64)
            .sum();
        let available = self.limit - used;
        if size > available {
            return Err(MemoryError::OutOfMemory { size, available }.into());
        }
        let gpu_va = self.next.get().next_multiple_of(align);
        self.next.set(gpu_va + size);
        self.segments
            .borrow_mut()
            .insert(gpu_va, vec![0xcc; size as usize]);
        Ok(SegmentMemory {
            agent,
            gpu_va,
            size,
            key: gpu_va,
        })
    }

    fn write(&self, memory: &SegmentMemory, offset: u64, bytes: &[u8]) -> Result<(), SegmentError> {
        let mut segments = self.segments.borrow_mut();
        let place = segments.get_mut(&memory.key).and_then(|s| {
            let start = usize::try_from(offset).ok()?;
            s.get_mut(start..start.checked_add(bytes.len())?)
        });
        let outside = SegmentError::Outside {
            offset,
            size: bytes.len() as u64,
            memory: memory.size,
        };
        place.ok_or(outside)?.copy_from_slice(bytes);
        Ok(())
    }

    fn finish(&self, _: &SegmentMemory) -> Result<(), SegmentError> {
        self.finished.set(self.finished.get() + 1);
        Ok(())
    }

    fn free(&self, memory: SegmentMemory) {
        let was = self.segments.borrow_mut().remove(&memory.key);
        assert!(was.is_some(), "freed twice: {memory:?}");
    }
}

/// Device memory that [`check`] grants a code object, in bytes.
const MEMORY: u64 = 1 << 24;
/// Kernel arguments that [`check`] fills, in bytes.
const KERNARG: u32 = 1 << 16;

/// A copy of a 64-bit ELF file whose sections are these and no others, by name; its segments stay.
///
/// # Panics
/// If `base` is shorter than an ELF header, or there are more sections than one can count.
#[must_use]
pub fn with_sections(base: &[u8], sections: &[(&str, impl AsRef<[u8]>)]) -> Vec<u8> {
    const HEADER: usize = 64;
    let mut file = base.to_vec();
    let mut names = vec![0];
    // The first header is of no section.
    let mut headers = vec![0; HEADER];
    let mut add = |file: &mut Vec<u8>, name: &str, bytes: Option<&[u8]>| {
        let mut header = [0; HEADER];
        // sh_name; sh_type: SHT_PROGBITS; sh_offset; sh_size.
        header[..4].copy_from_slice(&(names.len() as u32).to_le_bytes());
        names.extend(name.as_bytes());
        names.push(0);
        let bytes = bytes.unwrap_or(&names);
        header[4] = 1;
        header[24..32].copy_from_slice(&(file.len() as u64).to_le_bytes());
        header[32..40].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        headers.extend(header);
        file.extend(bytes);
    };
    for (name, bytes) in sections {
        add(&mut file, name, Some(bytes.as_ref()));
    }
    add(&mut file, ".shstrtab", None);
    let count = u16::try_from(sections.len() + 2).expect("e_shnum counts them");
    // e_shoff; e_shnum; e_shstrndx.
    let offset = file.len() as u64;
    file[40..48].copy_from_slice(&offset.to_le_bytes());
    file[60..62].copy_from_slice(&count.to_le_bytes());
    file[62..64].copy_from_slice(&(count - 1).to_le_bytes());
    file.extend(headers);
    file
}

/// Parses `bytes`, reads everything that can be read, and loads and freezes it.
///
/// # Errors
/// What is wrong with the bytes; that is a fine answer to bad ones.
///
/// # Panics
/// If the loader contradicts itself: a symbol outside of memory, memory that is not what the file
/// says, or memory that is not given back.
pub fn check(bytes: &[u8]) -> Result<(), LoadError> {
    let code = CodeObject::parse(bytes)?;
    let exported = check_symbols(&code);
    for note in code.notes() {
        if note.is_err() {
            break;
        }
    }
    let _ = code.build_id();
    if let Ok(Some(metadata)) = code.metadata() {
        let _ = metadata.printf().count();
        for kernel in metadata.kernels().flatten() {
            let _ = check_kernarg(&kernel);
        }
    }
    if let Ok(Some(owned)) = OwnedMetadata::new(&code) {
        let metadata = owned.metadata().expect("it was parsed before");
        for kernel in metadata.kernels() {
            let kernel = kernel.expect("it was parsed before");
            assert!(owned.kernel(kernel.symbol).is_some());
        }
    }
    let memory = ByteMemory::new(MEMORY);
    let result = check_load(&memory, &code, exported);
    assert_eq!(memory.live(), 0, "memory was not given back");
    result
}

fn check_symbols(code: &CodeObject<'_>) -> usize {
    let mut exported = 0;
    let mut count = 0;
    for index in 0..code.symbol_count() {
        let symbol = code.symbol(index).expect("parsing has checked all symbols");
        count += usize::from(symbol.is_some());
    }
    assert_eq!(count, code.symbol_count() as usize);
    for symbol in code.symbols().filter(Symbol::is_exported) {
        // One without bytes may mark the place of an empty section, which no segment covers.
        if let (Place::Address(address), true) = (symbol.place, symbol.size != 0) {
            let segments = code.segments();
            assert!(address >= segments.base());
            let end = address.checked_add(symbol.size);
            assert!(end.is_some_and(|end| end - segments.base() <= segments.size()));
        }
        exported += 1;
    }
    exported
}

fn check_load(
    memory: &ByteMemory,
    code: &CodeObject<'_>,
    exported: usize,
) -> Result<(), LoadError> {
    let agent = AgentId(1);
    let mut executable = Executable::new(memory);
    executable.load(agent, code.isa(), code)?;
    // Every undefined name gets an address; those that are taken already are no error here.
    for symbol in code.symbols() {
        if symbol.place == Place::Undefined {
            let _ = executable.define(&ExternalVariable {
                name: symbol.name,
                scope: Scope::Program,
                address: 0x1234_5678_9abc,
                is_const: false,
            });
        }
    }
    let executable = executable.freeze().map_err(|e| e.error)?;
    assert_eq!(memory.finished(), 1);
    let own = executable
        .symbols()
        .iter()
        .filter(|s| s.code_object.is_some());
    let mut shown = 0;
    for symbol in own {
        shown += 1;
        if let LoadedKind::Kernel(kernel) = &symbol.kind {
            assert_eq!(kernel.kernel_object, symbol.address);
            assert!(memory.read(kernel.kernel_object, 64).is_some());
            assert!(kernel.descriptor.entry(kernel.kernel_object).is_some());
            assert_eq!(executable.kernel(agent, &symbol.name), Some(kernel));
        }
    }
    assert!(shown <= exported);
    Ok(())
}

fn check_kernarg(kernel: &KernelMetadata<'_>) -> Result<(), KernargError> {
    if kernel.kernarg_segment_size > KERNARG {
        return Ok(());
    }
    let value = [0xa5u8; 64];
    let mut explicit = Vec::new();
    for argument in kernel.args() {
        let argument = argument?;
        if argument.value_kind.is_hidden() {
            continue;
        }
        explicit.push(if argument.value_kind == ValueKind::DynamicSharedPointer {
            Explicit::DynamicLds(64)
        } else {
            Explicit::Bytes(&value[..(argument.size as usize).min(value.len())])
        });
    }
    let mut out = vec![0xcc; kernel.kernarg_segment_size as usize + 8];
    let grid = Grid::new([100, 3, 1], [64, 2, 1]);
    let filled = kernarg::fill(kernel, &grid, &explicit, &Hidden::default(), &mut out)?;
    assert_eq!(filled.size, kernel.kernarg_segment_size as usize);
    assert_eq!(out[filled.size..], [0xcc; 8], "written beyond the block");
    Ok(())
}
