//! Debug information that would take for ever, or all memory, is refused: parts of it may be named by many.

use rukh_core::loader::CodeObject;
use rukh_core::loader::oracle::with_sections;
use rukh_core::loader::source::{MAX_INLINED, MAX_STEPS, SourceError, SourceMap};

/// A compiled object whose debug sections are these and no others.
fn object(sections: &[(&str, Vec<u8>)]) -> Vec<u8> {
    with_sections(include_bytes!("data/linked-gfx90a-v4.co"), sections)
}

/// A unit of DWARF 4 with these entries.
fn unit(entries: &[u8]) -> Vec<u8> {
    let mut unit = Vec::new();
    unit.extend((entries.len() as u32 + 7).to_le_bytes());
    // Version, offset of the abbreviations, size of addresses.
    unit.extend([4, 0, 0, 0, 0, 0, 8]);
    unit.extend(entries);
    unit
}

fn refusal(sections: &[(&str, Vec<u8>)]) -> SourceError {
    let file = object(sections);
    let code = CodeObject::parse(&file).expect("sections are of no concern to loading");
    SourceMap::of(&code).expect_err("it is too much")
}

const STEPS: SourceError = SourceError::TooMany {
    what: "steps of reading debug information",
    limit: MAX_STEPS,
};

#[test]
fn a_long_list_that_many_functions_name_is_too_much() {
    // Code 1: DW_TAG_subprogram, no children, DW_AT_ranges as DW_FORM_sec_offset.
    let abbreviations = vec![1, 0x2e, 0, 0x55, 0x17, 0, 0, 0];
    let entries = [1, 0, 0, 0, 0].repeat(100_000);
    // Selections of a base address, which are no ranges.
    let list = [[0xff; 8], [0x11; 8]].concat().repeat(100_000);
    let sections = [
        (".debug_info", unit(&entries)),
        (".debug_abbrev", abbreviations),
        (".debug_ranges", list),
    ];
    assert_eq!(refusal(&sections), STEPS);
}

#[test]
fn entries_whose_attributes_take_no_room_are_too_much() {
    // Code 1: DW_TAG_variable, no children, many times DW_AT_external as DW_FORM_flag_present.
    let mut abbreviations = vec![1, 0x34, 0];
    abbreviations.extend([0x3f, 0x19].repeat(20_000));
    abbreviations.extend([0, 0, 0]);
    let sections = [
        (".debug_info", unit(&[1].repeat(1_000_000))),
        (".debug_abbrev", abbreviations),
    ];
    assert_eq!(refusal(&sections), STEPS);
}

#[test]
fn functions_inlined_in_each_other_without_end_are_too_many() {
    // Code 1: DW_TAG_inlined_subroutine with children, DW_AT_low_pc as an address, DW_AT_high_pc as one byte.
    let abbreviations = vec![1, 0x1d, 1, 0x11, 0x01, 0x12, 0x0b, 0, 0, 0];
    let mut entry = vec![1];
    entry.extend(0x2000u64.to_le_bytes());
    entry.push(16);
    let sections = |count: usize| {
        [
            (".debug_info", unit(&entry.repeat(count))),
            (".debug_abbrev", abbreviations.clone()),
        ]
    };
    let limit = MAX_INLINED as u64;
    let what = "functions inlined in each other";
    let refused = SourceError::TooMany { what, limit };
    assert_eq!(refusal(&sections(MAX_INLINED + 2)), refused);
    let file = object(&sections(MAX_INLINED + 1));
    let code = CodeObject::parse(&file).expect("a code object");
    let map = SourceMap::of(&code)
        .expect("that many can be")
        .expect("there is some");
    assert_eq!(map.at(0x2004).frames.len(), MAX_INLINED + 1);
    assert!(map.at(0x2010).is_empty());
}

#[test]
fn units_that_share_what_they_do_not_have_are_refused() {
    let mut info = Vec::new();
    for _ in 0..100_000 {
        info.extend(unit(&[]));
    }
    let sections = [(".debug_info", info), (".debug_abbrev", vec![0; 1 << 20])];
    let SourceError::TooMany { what, .. } = refusal(&sections) else {
        panic!("not too many");
    };
    assert!(what.contains("units"));
}
