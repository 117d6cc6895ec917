//! Megabytes that name each other: what a file can cost is in proportion to its size, not to its square. Without that these
//! tests would not end, or take more memory than there is.
#![cfg(feature = "alloc")]

use rukh_core::backend::AgentId;
use rukh_core::isa::Isa;
use rukh_core::loader::oracle::ByteMemory;
use rukh_core::loader::{
    CodeObject, CodeObjectError, Executable, ExternalVariable, LoadError, LoadedKind,
    MAX_NOTE_SEGMENTS, Scope,
};

const AGENT: AgentId = AgentId(1);
/// `e_flags` of gfx90a, any XNACK and any SRAM ECC.
const FLAGS: u32 = 0x3f | 0x100 | 0x400;
/// Where kernels begin, and what relocations patch.
const CODE: u64 = 0x1000;

/// A file that is one segment, at its own offsets. Tables are at multiples of 64 from 0x2000 on.
struct File {
    bytes: Vec<u8>,
    headers: Vec<[u64; 7]>,
    dynamic: Vec<(u64, u64)>,
}

impl File {
    fn new() -> Self {
        Self {
            bytes: vec![0; 0x2000],
            headers: Vec::new(),
            dynamic: Vec::new(),
        }
    }

    /// Adds bytes; gives where they are.
    fn add(&mut self, bytes: &[u8]) -> u64 {
        self.bytes.resize(self.bytes.len().next_multiple_of(64), 0);
        let at = self.bytes.len() as u64;
        self.bytes.extend(bytes);
        at
    }

    /// Adds symbols: offset of the name, info, section, value, size.
    fn symbols(&mut self, names: &[u8], symbols: &[(u32, u8, u16, u64, u64)]) {
        let mut table = vec![0; 24];
        for (name, info, section, value, size) in symbols {
            table.extend(name.to_le_bytes());
            table.extend([*info, 0]);
            table.extend(section.to_le_bytes());
            table.extend(value.to_le_bytes());
            table.extend(size.to_le_bytes());
        }
        let count = symbols.len() as u32 + 1;
        let mut hash = [0; 16];
        hash[4..8].copy_from_slice(&count.to_le_bytes());
        // DT_SYMTAB, DT_STRTAB, DT_STRSZ, DT_HASH.
        let (table, strings, hash) = (self.add(&table), self.add(names), self.add(&hash));
        let size = names.len() as u64;
        self.dynamic
            .extend([(6, table), (5, strings), (10, size), (4, hash)]);
    }

    /// A program header of a part of the file.
    fn segment(&mut self, kind: u32, offset: u64, size: u64) {
        let flags = 7u64;
        let first = u64::from(kind) | flags << 32;
        self.headers
            .push([first, offset, offset, offset, size, size, 4]);
    }

    fn finish(mut self) -> Vec<u8> {
        let mut dynamic = Vec::new();
        for (tag, value) in self.dynamic.clone().into_iter().chain([(0, 0)]) {
            dynamic.extend(tag.to_le_bytes());
            dynamic.extend(value.to_le_bytes());
        }
        let at = self.add(&dynamic);
        // PT_DYNAMIC, PT_LOAD.
        self.segment(2, at, dynamic.len() as u64);
        let size = self.bytes.len() as u64;
        self.segment(1, 0, size);
        let headers: Vec<u8> = (self.headers.iter().flatten())
            .flat_map(|word| word.to_le_bytes())
            .collect();
        assert!(64 + headers.len() < CODE as usize);
        self.bytes[64..64 + headers.len()].copy_from_slice(&headers);
        let header = &mut self.bytes[..64];
        header[..10].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 64, 3, 0]);
        header[16..20].copy_from_slice(&[3, 0, 224, 0]);
        header[20] = 1;
        header[32] = 64;
        header[48..52].copy_from_slice(&FLAGS.to_le_bytes());
        header[52] = 64;
        header[54] = 56;
        header[56..58].copy_from_slice(&(self.headers.len() as u16).to_le_bytes());
        self.bytes
    }
}

fn executable<'m>(memory: &'m ByteMemory, file: &[u8]) -> Executable<&'m ByteMemory> {
    let code = CodeObject::parse(file).expect("a code object");
    let isa = Isa::from_target_id("gfx90a:sramecc+:xnack+").expect("an ISA");
    let mut executable = Executable::new(memory);
    executable.load(AGENT, isa, &code).expect("it loads");
    executable
}

#[test]
fn a_symbol_in_many_relocations_is_kept_once() {
    let long = "x".repeat(60_000);
    let mut file = File::new();
    // Global, without a type, not defined.
    file.symbols(format!("\0{long}\0").as_bytes(), &[(1, 0x10, 0, 0, 0)]);
    let mut relocations = Vec::new();
    const COUNT: u64 = 300_000;
    for at in 0..COUNT {
        // R_AMDGPU_ABS64 to symbol 1.
        for word in [CODE + at % 64 * 8, 1 << 32 | 3, at] {
            relocations.extend(word.to_le_bytes());
        }
    }
    let (at, size) = (file.add(&relocations), relocations.len() as u64);
    // DT_RELA, DT_RELASZ.
    file.dynamic.extend([(7, at), (8, size)]);
    let file = file.finish();
    let memory = ByteMemory::new(1 << 24);
    let failed = executable(&memory, &file).freeze().expect_err("undefined");
    assert!(matches!(failed.error, LoadError::VariableUndefined { .. }));
    let mut loading = failed.executable;
    let variable = ExternalVariable {
        name: &long,
        scope: Scope::Agent(AGENT),
        address: 0x1_0000_0000,
        is_const: false,
    };
    loading.define(&variable).expect("not defined yet");
    let frozen = loading.freeze().expect("all is defined");
    let base = frozen.code_objects()[0].bias + CODE;
    let last = (COUNT - 1) % 64 * 8;
    let value = memory.read(base + last, 8).expect("it is there");
    assert_eq!(value, (0x1_0000_0000 + COUNT - 1).to_le_bytes());
}

/// A string of MessagePack.
fn text(out: &mut Vec<u8>, text: &str) {
    out.extend([0xd9, text.len() as u8]);
    out.extend(text.as_bytes());
}

fn number(out: &mut Vec<u8>, key: &str, value: u32) {
    text(out, key);
    out.push(0xce);
    out.extend(value.to_be_bytes());
}

#[test]
fn many_kernels_whose_arguments_only_metadata_tells_read_it_once() {
    const COUNT: u32 = 20_000;
    let mut metadata = vec![0x82];
    text(&mut metadata, "amdhsa.version");
    metadata.extend([0x92, 1, 2]);
    text(&mut metadata, "amdhsa.kernels");
    metadata.push(0xdd);
    metadata.extend(COUNT.to_be_bytes());
    let mut names = vec![0];
    let mut file = File::new();
    // A descriptor whose code is at `CODE`, and whose size of arguments is 0.
    let mut descriptor = [0; 64];
    let place = file.bytes.len() as u64;
    let entry = CODE.wrapping_sub(place);
    descriptor[16..24].copy_from_slice(&entry.to_le_bytes());
    assert_eq!(file.add(&descriptor), place);
    let mut symbols = Vec::new();
    for kernel in 0..COUNT {
        let name = format!("kernel_{kernel:05}");
        metadata.push(0x8a);
        text(&mut metadata, ".name");
        text(&mut metadata, &name);
        text(&mut metadata, ".symbol");
        text(&mut metadata, &format!("{name}.kd"));
        number(&mut metadata, ".kernarg_segment_size", kernel * 8);
        number(&mut metadata, ".kernarg_segment_align", 8);
        number(&mut metadata, ".group_segment_fixed_size", 0);
        number(&mut metadata, ".private_segment_fixed_size", 0);
        number(&mut metadata, ".wavefront_size", 64);
        number(&mut metadata, ".sgpr_count", 8);
        number(&mut metadata, ".vgpr_count", 8);
        number(&mut metadata, ".max_flat_workgroup_size", 1024);
        // A global object.
        symbols.push((names.len() as u32, 0x11, 1, place, 64));
        names.extend(format!("{name}.kd\0").bytes());
    }
    file.symbols(&names, &symbols);
    let mut note = Vec::new();
    for word in [7u32, metadata.len() as u32, 32] {
        note.extend(word.to_le_bytes());
    }
    note.extend(b"AMDGPU\0\0");
    note.extend(&metadata);
    let at = file.add(&note);
    // PT_NOTE.
    file.segment(4, at, note.len() as u64);
    let file = file.finish();
    let memory = ByteMemory::new(1 << 25);
    let frozen = executable(&memory, &file).freeze().expect("all is defined");
    assert_eq!(frozen.symbols().len(), COUNT as usize);
    for symbol in frozen.symbols() {
        let LoadedKind::Kernel(info) = symbol.kind else {
            panic!("{symbol:?}");
        };
        let digits = symbol.name.trim_start_matches("kernel_");
        let kernel: u32 = digits.trim_end_matches(".kd").parse().expect("a number");
        assert_eq!(info.kernarg_segment_size, kernel * 8);
    }
}

#[test]
fn more_segments_of_notes_than_linkers_make_are_refused() {
    for (count, fits) in [(MAX_NOTE_SEGMENTS, true), (MAX_NOTE_SEGMENTS + 1, false)] {
        let mut file = File::new();
        file.symbols(&[0], &[]);
        for _ in 0..count {
            file.segment(4, 0, 0x2000);
        }
        let file = file.finish();
        let error = CodeObject::parse(&file).err();
        let refused = CodeObjectError::TooMany {
            what: "PT_NOTE segments",
            found: count as u64,
            limit: MAX_NOTE_SEGMENTS as u64,
        };
        assert_eq!(error, (!fits).then_some(refused));
    }
}
