//! Bytes that nobody should have to trust: cut, flipped and forged code objects.
#![cfg(feature = "alloc")]

mod support;

use rukh_core::loader::oracle::check;
use rukh_core::loader::{CodeObject, CodeObjectError, LoadError};
use support::{ALL, bytes};

#[test]
fn the_committed_code_objects_are_fine() {
    for name in ALL {
        assert_eq!(check(&bytes(name)), Ok(()), "{name}");
    }
}

#[test]
fn every_truncation_is_an_error_until_only_sections_are_missing() {
    for name in ALL {
        let bytes = bytes(name);
        let code = CodeObject::parse(&bytes).expect(name);
        let base = bytes.as_ptr().addr();
        let segments = code.segments().as_slice();
        let end = segments
            .iter()
            .map(|s| s.data.as_ptr().addr() - base + s.data.len());
        let end = end.max().expect("there are segments");
        for length in 0..bytes.len() {
            let result = check(&bytes[..length]);
            assert_eq!(
                result.is_ok(),
                length >= end,
                "{name} cut to {length}: {result:?}"
            );
        }
    }
}

#[test]
fn every_changed_byte_gives_an_error_or_a_code_object() {
    for name in ["linked-gfx90a-v4", "linked-gfx1100-v5", "hidden-gfx803-v5"] {
        let original = bytes(name);
        let mut bytes = original.clone();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                bytes[at] = original[at] ^ (1 << bit);
                // Panics are what this looks for; the oracle asserts the rest.
                let _ = check(&bytes);
            }
            for value in [0, 0x7f, 0x80, 0xff] {
                bytes[at] = value;
                let _ = check(&bytes);
            }
            bytes[at] = original[at];
        }
    }
}

#[test]
fn pairs_of_extreme_words_in_headers_and_tables_are_survived() {
    let original = bytes("linked-gfx90a-v4");
    let words = [
        0u64,
        1,
        0xfff,
        1 << 31,
        1 << 40,
        u64::MAX >> 1,
        u64::MAX - 7,
        u64::MAX,
    ];
    let mut bytes = original.clone();
    for first in (16..0x240).step_by(8) {
        for value in words {
            bytes[first..first + 8].copy_from_slice(&value.to_le_bytes());
            for second in (first + 8..(first + 64).min(0x240)).step_by(8) {
                for value in [1u64 << 33, u64::MAX] {
                    bytes[second..second + 8].copy_from_slice(&value.to_le_bytes());
                    let _ = check(&bytes);
                }
                bytes[second..second + 8].copy_from_slice(&original[second..second + 8]);
            }
        }
        bytes[first..first + 8].copy_from_slice(&original[first..first + 8]);
    }
}

#[test]
fn many_random_changes_at_once_are_survived() {
    // A fixed sequence: xorshift, so that a failure repeats.
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below
    };
    let objects = ALL.map(bytes);
    for _ in 0..20_000 {
        let mut bytes = objects[random(objects.len())].clone();
        for _ in 0..=random(6) {
            // Half of the changes in the headers, where they matter most.
            let range = if random(2) == 0 { 0x240 } else { bytes.len() };
            let at = random(range);
            match random(3) {
                0 => bytes[at] = random(256) as u8,
                1 => bytes[at] ^= 1 << random(8),
                _ => {
                    let from = random(bytes.len() - 8);
                    let to = at.min(bytes.len() - 8);
                    bytes.copy_within(from..from + 8, to);
                }
            }
        }
        let _ = check(&bytes);
    }
}

/// A code object that can be edited field by field.
struct Forge(Vec<u8>);

impl Forge {
    fn new() -> Self {
        Self(bytes("linked-gfx90a-v4"))
    }
    fn read(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.0[at..at + 8].try_into().expect("8 bytes"))
    }
    fn write<const N: usize>(&mut self, at: usize, bytes: [u8; N]) -> &mut Self {
        self.0[at..at + N].copy_from_slice(&bytes);
        self
    }
    /// File offset of the `n`-th program header of a type.
    fn header(&self, kind: u32, n: usize) -> usize {
        let count = usize::from(self.0[56]);
        let headers = (0..count).map(|i| 64 + i * 56);
        let of_kind = headers.filter(|at| self.0[*at..*at + 4] == kind.to_le_bytes());
        of_kind.clone().nth(n).expect("such a header")
    }
    /// File offset of a dynamic tag's entry.
    fn tag(&self, tag: u64) -> usize {
        let section = self.read(self.header(2, 0) + 8) as usize;
        let mut entries = (section..).step_by(16);
        entries
            .find(|at| self.read(*at) == tag)
            .expect("such a tag")
    }
    /// File offset of a table: the first segment lies at its own address.
    fn table(&self, tag: u64) -> usize {
        self.read(self.tag(tag) + 8) as usize
    }
    fn error(&self) -> CodeObjectError {
        match check(&self.0) {
            Err(LoadError::CodeObject(error)) => error,
            other => panic!("{other:?}"),
        }
    }
}

const RELA: u64 = 7;
const SYMTAB: u64 = 6;
const GNU_HASH: u64 = 0x6fff_fef5;

#[test]
fn versions_that_are_not_loaded_are_named() {
    use CodeObjectError::UnsupportedVersion;
    assert_eq!(
        Forge::new().write(8, [0]).error(),
        UnsupportedVersion { version: 2 }
    );
    assert_eq!(
        Forge::new().write(8, [5]).error(),
        UnsupportedVersion { version: 7 }
    );
    assert_eq!(
        Forge::new().write(8, [255]).error(),
        UnsupportedVersion { version: 257 }
    );
    let text = Forge::new().write(8, [0]).error().to_string();
    assert!(text.contains("version 2"), "{text}");
}

#[test]
fn other_elf_files_are_refused_by_the_field_that_differs() {
    for (at, value, field) in [
        (4, 1, "EI_CLASS"),
        (5, 2, "EI_DATA"),
        (7, 0, "EI_OSABI"),
        (7, 65, "EI_OSABI"),
        (16, 1, "e_type"),
        (18, 62, "e_machine"),
        (54, 32, "e_phentsize"),
    ] {
        let error = Forge::new().write(at, [value]).error();
        let CodeObjectError::Header { what, found, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!((what, found), (field, u64::from(value)));
    }
    let not_elf = Forge(b"MZ\x90\x00 not an ELF file".to_vec()).error();
    assert!(
        matches!(not_elf, CodeObjectError::NotElf { .. }),
        "{not_elf}"
    );
    let unknown = Forge::new().write(48, [0xfe, 0]).error();
    assert!(matches!(unknown, CodeObjectError::Flags(_)), "{unknown}");
}

#[test]
fn forged_segments_are_refused() {
    let f = Forge::new();
    let second = f.header(1, 1);
    let overlap = Forge::new().write(second + 16, 8u64.to_le_bytes()).error();
    assert!(
        matches!(overlap, CodeObjectError::SegmentsOverlap { .. }),
        "{overlap}"
    );
    let shrinks = Forge::new().write(second + 40, 1u64.to_le_bytes()).error();
    assert!(
        matches!(shrinks, CodeObjectError::SegmentShrinks { .. }),
        "{shrinks}"
    );
    let overflow = Forge::new()
        .write(second + 40, u64::MAX.to_le_bytes())
        .error();
    assert!(
        matches!(overflow, CodeObjectError::SegmentOverflows { .. }),
        "{overflow}"
    );
    let outside = Forge::new()
        .write(second + 8, u64::MAX.to_le_bytes())
        .error();
    assert!(
        matches!(outside, CodeObjectError::OutsideFile { .. }),
        "{outside}"
    );
    let align = Forge::new().write(second + 48, 3u64.to_le_bytes()).error();
    assert!(
        matches!(align, CodeObjectError::SegmentAlign { align: 3, .. }),
        "{align}"
    );
    // A terabyte of zeros is no malformed file; there is just no such memory.
    let last = f.header(1, 3);
    let mut huge = Forge::new();
    let huge = huge.write(last + 40, (1u64 << 40).to_le_bytes());
    assert!(matches!(check(&huge.0), Err(LoadError::Memory(_))));
}

#[test]
fn forged_relocations_are_refused_with_their_facts() {
    let rela = Forge::new().table(RELA);
    let outside = Forge::new().write(rela, 0x10_0000u64.to_le_bytes()).error();
    assert_eq!(
        outside,
        CodeObjectError::RelocationOutside {
            index: 0,
            address: 0x10_0000,
            width: 8
        }
    );
    // Half inside: the last segment's end.
    let f = Forge::new();
    let last = f.header(1, 3);
    let end = f.read(last + 16) + f.read(last + 40);
    let straddles = Forge::new().write(rela, (end - 4).to_le_bytes()).error();
    assert!(matches!(
        straddles,
        CodeObjectError::RelocationOutside { .. }
    ));
    let kind = Forge::new().write(rela + 8, [10]).error();
    assert_eq!(
        kind,
        CodeObjectError::RelocationType {
            index: 0,
            r_type: 10,
            name: "R_AMDGPU_REL32_LO"
        }
    );
    let symbol = Forge::new()
        .write(rela + 24 + 12, 99u32.to_le_bytes())
        .error();
    assert_eq!(
        symbol,
        CodeObjectError::RelocationSymbol {
            index: 1,
            symbol: 99,
            count: 12
        }
    );
    // ABS32 of a device address does not fit.
    let mut narrow = Forge::new();
    let narrow = narrow.write(rela + 3 * 24 + 8, [6]);
    assert!(matches!(
        check(&narrow.0),
        Err(LoadError::RelocationOverflow { .. })
    ));
}

#[test]
fn forged_symbols_and_descriptors_are_refused() {
    let f = Forge::new();
    let symbols = f.table(SYMTAB);
    // Symbols 4 and 10: inner_address, touch.kd.
    let (variable, kernel) = (symbols + 4 * 24, symbols + 10 * 24);
    let name = Forge::new()
        .write(variable, 0x7fff_ffffu32.to_le_bytes())
        .error();
    assert!(
        matches!(name, CodeObjectError::SymbolName { index: 4, .. }),
        "{name}"
    );
    let outside = Forge::new()
        .write(variable + 16, u64::MAX.to_le_bytes())
        .error();
    assert!(
        matches!(outside, CodeObjectError::SymbolOutside { .. }),
        "{outside}"
    );
    let size = Forge::new().write(kernel + 16, 63u64.to_le_bytes()).error();
    assert!(
        matches!(size, CodeObjectError::Descriptor { size: 63, .. }),
        "{size}"
    );
    let old = Forge::new().write(kernel + 4, [0x1a]).error();
    assert!(
        matches!(old, CodeObjectError::SymbolKind { value: 10, .. }),
        "{old}"
    );
    let descriptor = f.read(kernel + 8) as usize;
    for offset in [0i64, 0x1001, i64::MIN, i64::MAX, 0x10_0000] {
        let entry = Forge::new()
            .write(descriptor + 16, offset.to_le_bytes())
            .error();
        assert!(
            matches!(entry, CodeObjectError::KernelEntry { .. }),
            "{entry}"
        );
    }
}

#[test]
fn forged_hash_tables_are_refused() {
    let f = Forge::new();
    let hash = f.table(GNU_HASH);
    for word in 0..3 {
        for value in [u32::MAX, 1 << 31, 1 << 20] {
            let forged = Forge::new()
                .write(hash + word * 4, value.to_le_bytes())
                .error();
            assert!(
                matches!(forged, CodeObjectError::Unmapped { .. }),
                "{word} {value:#x}: {forged}"
            );
        }
    }
    let tag = f.tag(GNU_HASH);
    let none = Forge::new()
        .write(tag, 0x6000_0000u64.to_le_bytes())
        .error();
    assert!(matches!(none, CodeObjectError::MissingTag { .. }), "{none}");
    let relr = Forge::new().write(tag, 36u64.to_le_bytes()).error();
    assert_eq!(relr, CodeObjectError::UnsupportedTag { name: "DT_RELR" });
}
