//! Code objects that nobody compiled: whole and valid but for the part that an input decides.

use rukh_core::elf::{ELFABIVERSION_AMDGPU_HSA_V5, ELFOSABI_AMDGPU_HSA};

/// Where the parts lie, in the file as in memory.
pub const PAGE: u64 = 0x1000;
/// Address of the code: the second segment.
pub const CODE: u64 = 4 * PAGE;
/// Address of the data: the third segment.
pub const DATA: u64 = 5 * PAGE;
/// Address of the notes, which end the first segment.
pub const NOTES: u64 = 2 * PAGE;
/// Bytes of the data that the file has, and that memory has.
pub const DATA_BYTES: u64 = 0x100;
/// See [`DATA_BYTES`].
pub const DATA_MEMORY: u64 = 0x180;

/// `e_flags` of gfx90a, any XNACK and any SRAM ECC.
const FLAGS: u32 = 0x3f | 0x100 | 0x400;

/// An entry of the dynamic symbol table, with the name in the string table.
#[derive(Clone, Copy, Debug)]
pub struct RawSymbol {
    /// Binding in the upper half, type in the lower.
    pub info: u8,
    /// Visibility.
    pub other: u8,
    /// Section; 0 undefined, 0xfff1 absolute.
    pub section: u16,
    /// Address or number.
    pub value: u64,
    /// Bytes.
    pub size: u64,
}

/// A relocation. In a table without addends the addend is what stands at the place.
#[derive(Clone, Copy, Debug)]
pub struct RawRelocation {
    /// Address.
    pub offset: u64,
    /// Symbol.
    pub symbol: u32,
    /// Type.
    pub kind: u32,
    /// What is added.
    pub addend: i64,
}

/// What a code object is made of.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// Symbols after the empty first one; number `i` has the name of [`name`].
    pub symbols: Vec<RawSymbol>,
    /// DT_RELA.
    pub rela: Vec<RawRelocation>,
    /// DT_REL.
    pub rel: Vec<RawRelocation>,
    /// DT_JMPREL with addends.
    pub plt: Vec<RawRelocation>,
    /// Bytes of the PT_NOTE segment.
    pub notes: Vec<u8>,
    /// Bytes of the code.
    pub code: Vec<u8>,
    /// Bytes of the data, cut or filled up to [`DATA_BYTES`].
    pub data: Vec<u8>,
}

/// The name of the symbol with this index.
pub fn name(index: usize) -> String {
    format!("s{index}")
}

/// Entries of tables that fit where they go.
pub const MOST: usize = 64;

impl Parts {
    /// The segments in memory: address and bytes.
    pub fn segments(&self) -> [(u64, u64); 3] {
        [
            (0, NOTES + self.notes.len() as u64),
            (CODE, PAGE),
            (DATA, DATA_MEMORY),
        ]
    }
}

struct File(Vec<u8>);

impl File {
    fn put(&mut self, at: u64, bytes: &[u8]) {
        let (at, end) = (at as usize, at as usize + bytes.len());
        if self.0.len() < end {
            self.0.resize(end, 0);
        }
        self.0[at..end].copy_from_slice(bytes);
    }

    fn words(&mut self, at: u64, words: &[u64]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.put(at, &bytes);
    }
}

/// The file.
///
/// # Panics
/// If a table has more than [`MOST`] entries, notes more than two pages or the code more than one.
pub fn build(parts: &Parts) -> Vec<u8> {
    const SYMBOLS: u64 = 0x200;
    const STRINGS: u64 = 0x900;
    const HASH: u64 = 0xc00;
    const RELA: u64 = 0xd00;
    const REL: u64 = 0x1400;
    const PLT: u64 = 0x1900;
    const DYNAMIC: u64 = DATA + DATA_MEMORY;
    assert!(parts.symbols.len() <= MOST && parts.rela.len() <= MOST);
    assert!(parts.rel.len() <= MOST && parts.plt.len() <= MOST);
    assert!(parts.notes.len() as u64 <= CODE - NOTES && parts.code.len() as u64 <= PAGE);
    let mut file = File(Vec::new());
    let mut head = vec![0x7f, b'E', b'L', b'F', 2, 1, 1];
    head.extend([ELFOSABI_AMDGPU_HSA, ELFABIVERSION_AMDGPU_HSA_V5]);
    head.resize(16, 0);
    head.extend([3, 0, 224, 0, 1, 0, 0, 0]);
    file.put(0, &head);
    file.words(24, &[0, 64, 0]);
    file.put(48, &FLAGS.to_le_bytes());
    // Sizes of the header and of program headers, five of those; sections have none.
    for (at, half) in [(52, 64u16), (54, 56), (56, 5), (58, 64)] {
        file.put(at, &half.to_le_bytes());
    }
    let notes = parts.notes.len() as u64;
    let (load, dynamic, note) = (1u64, 2, 4);
    let (read, execute, write) = (4u64 << 32, 5 << 32, 6 << 32);
    let headers = [
        [load | read, 0, 0, 0, NOTES + notes, NOTES + notes, PAGE],
        [load | execute, CODE, CODE, CODE, PAGE, PAGE, PAGE],
        // Only the first bytes are the file's: behind them is memory of zeros.
        [
            load | write,
            DATA,
            DATA,
            DATA,
            DATA_BYTES,
            DATA_MEMORY,
            PAGE,
        ],
        [dynamic | write, DYNAMIC, DYNAMIC, DYNAMIC, 0x100, 0x100, 8],
        [note | read, NOTES, NOTES, NOTES, notes, notes, 4],
    ];
    for (at, header) in (64..).step_by(56).zip(&headers) {
        file.words(at, header);
    }
    let mut strings = vec![0];
    for (index, symbol) in (1u64..).zip(&parts.symbols) {
        let offset = strings.len() as u32;
        strings.extend(name(index as usize).bytes().chain([0]));
        let at = SYMBOLS + 24 * index;
        file.put(at, &offset.to_le_bytes());
        file.put(at + 4, &[symbol.info, symbol.other]);
        file.put(at + 6, &symbol.section.to_le_bytes());
        file.words(at + 8, &[symbol.value, symbol.size]);
    }
    file.put(STRINGS, &strings);
    let count = parts.symbols.len() as u32 + 1;
    file.put(HASH + 4, &count.to_le_bytes());
    let info = |r: &RawRelocation| u64::from(r.symbol) << 32 | u64::from(r.kind);
    for (table, list) in [(RELA, &parts.rela), (PLT, &parts.plt)] {
        for (at, r) in (table..).step_by(24).zip(list) {
            file.words(at, &[r.offset, info(r), r.addend.cast_unsigned()]);
        }
    }
    for (at, r) in (REL..).step_by(16).zip(&parts.rel) {
        file.words(at, &[r.offset, info(r)]);
    }
    file.put(NOTES, &parts.notes);
    file.put(CODE, &parts.code);
    let mut data = parts.data.clone();
    data.resize(DATA_BYTES as usize, 0);
    file.put(DATA, &data);
    let bytes = |entries: usize, size: u64| entries as u64 * size;
    let tags = [
        [6, SYMBOLS],
        [5, STRINGS],
        [10, strings.len() as u64],
        [4, HASH],
        [7, RELA],
        [8, bytes(parts.rela.len(), 24)],
        [17, REL],
        [18, bytes(parts.rel.len(), 16)],
        [23, PLT],
        [2, bytes(parts.plt.len(), 24)],
        [20, 7],
        [0, 0],
    ];
    for (at, tag) in (DYNAMIC..).step_by(16).zip(&tags) {
        file.words(at, tag);
    }
    file.0.resize((DYNAMIC + 0x100) as usize, 0);
    file.0
}

/// A note.
pub fn note(owner: &[u8], kind: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [owner.len() as u32 + 1, data.len() as u32, kind] {
        bytes.extend(word.to_le_bytes());
    }
    for part in [&[owner, &[0]].concat(), data] {
        bytes.extend(part);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use rukh_core::loader::{CodeObject, oracle};

    #[test]
    fn an_object_of_nothing_is_accepted() {
        let file = build(&Parts::default());
        assert_eq!(oracle::check(&file), Ok(()));
    }

    #[test]
    fn notes_are_found() {
        let parts = Parts {
            notes: [
                note(b"GNU", 3, b"twelve bytes"),
                note(b"AMDGPU", 32, &[0x80]),
            ]
            .concat(),
            ..Parts::default()
        };
        let file = build(&parts);
        let code = CodeObject::parse(&file).expect("a code object");
        assert_eq!(code.build_id(), Some(&b"twelve bytes"[..]));
        assert_eq!(code.notes().count(), 2);
    }
}
