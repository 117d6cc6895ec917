//! Debug information: sections of any bytes are refused with a reason, or say the same of an instruction whenever and however
//! they are asked; never more than the reader's limits allow.
//!
//! The first byte says what the rest is: a whole file; sections, each a length of 16 bits and its bytes in the order of
//! [`SECTIONS`]; or damage to the sections of a compiled object. What is compiled, and the commands, are in `core/tests/data`
//! (`lines.cl` and `build.sh`); seeds of the second kind are the sections of those objects, and of the same for gfx90a with
//! the flags that they are named after: `-gdwarf-2 -O0`, `-gdwarf-3 -O2`, `-gdwarf-4 -O0`, `-gdwarf-5 -O0`; at -O2
//! `-gdwarf-4 -fdebug-types-section`, `-gdwarf-5 -gdwarf64`, `-gdwarf-5 -ffunction-sections`, `-gline-tables-only`,
//! `-gline-directives-only`.

use std::path::Path;
use std::sync::LazyLock;

use rukh_core::loader::source::{MAX_INLINED, SourceMap};
use rukh_core::loader::{CodeObject, oracle};

use super::input::Input;

/// The sections that are read.
const SECTIONS: [&str; 9] = [
    ".debug_info",
    ".debug_abbrev",
    ".debug_line",
    ".debug_line_str",
    ".debug_str",
    ".debug_str_offsets",
    ".debug_addr",
    ".debug_ranges",
    ".debug_rnglists",
];
/// Compiled with debug information of version 5 and 4. Read when they are needed: a package of this crate has no files of
/// another's.
static OBJECTS: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    ["lines-gfx90a-dwarf5.co", "lines-gfx1100-dwarf4.co"].map(|name| {
        let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data");
        let path = Path::new(data).join(name);
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    })
});
/// Addresses that are asked for.
const ADDRESSES: usize = 96;

type Sections = [Vec<u8>; SECTIONS.len()];

/// Checks an input; the first byte says what it is.
pub fn check(data: &[u8]) {
    let mut input = Input::new(data);
    match input.below(3) {
        0 => check_file(input.rest()),
        1 => {
            let sections = SECTIONS.map(|_| {
                let length = usize::from(input.u16());
                input.take(length).to_vec()
            });
            check_file(&with_sections(&OBJECTS[0], &sections));
        }
        _ => {
            let object = &OBJECTS[input.below(OBJECTS.len())];
            let mut sections = sections(object);
            while !input.is_empty() {
                damage(&mut sections, &mut input);
            }
            check_file(&with_sections(object, &sections));
        }
    }
}

/// The debug sections of a compiled file.
fn sections(file: &[u8]) -> Sections {
    let number = |at: usize, size: usize| {
        let bytes = file[at..at + size].iter().rev();
        bytes.fold(0, |number, byte| number << 8 | usize::from(*byte))
    };
    // sh_offset and sh_size, of the section headers at e_shoff; e_shnum, e_shstrndx.
    let header = |index: usize| number(40, 8) + 64 * index;
    let bytes = |header: usize| &file[number(header + 24, 8)..][..number(header + 32, 8)];
    let names = bytes(header(number(62, 2)));
    SECTIONS.map(|name| {
        let named = (0..number(60, 2)).map(header).find(|header| {
            let start = &names[number(*header, 4)..];
            start
                .strip_prefix(name.as_bytes())
                .is_some_and(|rest| rest[0] == 0)
        });
        named.map_or(Vec::new(), |header| bytes(header).to_vec())
    })
}

/// A copy of `base` whose sections are these and no others.
fn with_sections(base: &[u8], sections: &Sections) -> Vec<u8> {
    let named: Vec<_> = SECTIONS.into_iter().zip(sections).collect();
    oracle::with_sections(base, &named)
}

/// Changes one of the sections.
fn damage(sections: &mut Sections, input: &mut Input<'_>) {
    let other = sections[input.below(SECTIONS.len())].clone();
    let section = &mut sections[input.below(SECTIONS.len())];
    let at = usize::from(input.u16())
        .checked_rem(section.len())
        .unwrap_or(0);
    match input.below(6) {
        0 | 1 => {
            let number = input.number().to_le_bytes();
            let size = input.pick(&[1, 2, 4, 8]);
            for (place, byte) in section.iter_mut().skip(at).zip(&number[..size]) {
                *place = *byte;
            }
        }
        2 => {
            let bit = input.below(8);
            if let Some(byte) = section.get_mut(at) {
                *byte ^= 1 << bit;
            }
        }
        3 => section.truncate(at),
        4 => {
            let count = input.below(64);
            let bytes = input.take(count);
            section.splice(at..at, bytes.iter().copied());
        }
        // Some of another section, or of the same once more.
        _ => {
            let from = usize::from(input.u16())
                .checked_rem(other.len())
                .unwrap_or(0);
            let count = input.below(256).min(other.len() - from);
            section.splice(at..at, other[from..from + count].iter().copied());
        }
    }
}

/// Where to ask: at the start of each executable segment, at edges, and behind.
fn addresses(code: &CodeObject<'_>) -> Vec<u64> {
    let mut addresses = vec![0, 1, u64::MAX, 1 << 63];
    for segment in code.segments().as_slice() {
        let end = segment.address.saturating_add(segment.data.len() as u64);
        if segment.executable {
            addresses.extend((segment.address..end).step_by(4).take(ADDRESSES));
            addresses.extend([segment.address.wrapping_sub(1), end]);
        }
    }
    addresses
}

/// Reads a file's lines.
fn check_file(file: &[u8]) {
    let Ok(code) = CodeObject::parse(file) else {
        return;
    };
    let addresses = addresses(&code);
    let map = match SourceMap::of(&code) {
        Ok(Some(map)) => map,
        Ok(None) => return,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert!(SourceMap::has_source(&code));
            // Of one instruction less may have to be read.
            let _ = SourceMap::around(&code, addresses[0]);
            return;
        }
    };
    let forward: Vec<_> = addresses.iter().map(|at| map.at(*at)).collect();
    let again = SourceMap::of(&code).expect("it could be read");
    let again = again.expect("it was there");
    for (at, source) in addresses.iter().zip(&forward).rev() {
        assert_eq!(&again.at(*at), source, "{at:#x}");
        assert!(source.frames.len() <= MAX_INLINED + 1);
        assert_eq!(source.is_empty(), source.to_string().is_empty());
    }
    for at in addresses.iter().step_by(16) {
        // It says the same unless units overlap or lie about where they are, as those of compilers do not.
        let alone = SourceMap::around(&code, *at).expect("all of it could be read");
        let alone = alone.expect("it was there");
        assert_eq!(alone.at(*at), alone.at(*at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::rng::Rng;

    #[test]
    fn sections_that_are_moved_say_the_same() {
        for object in &*OBJECTS {
            let moved = with_sections(object, &sections(object));
            let (before, after) = (CodeObject::parse(object), CodeObject::parse(&moved));
            let (before, after) = (before.expect("compiled"), after.expect("compiled"));
            let map = |code| SourceMap::of(code).expect("compiled").expect("with -g");
            let (before, after) = (map(&before), map(&after));
            let mut known = 0;
            for at in (0..0x3000).step_by(4) {
                assert_eq!(before.at(at), after.at(at), "{at:#x}");
                known += usize::from(!before.at(at).is_empty());
            }
            assert!(known > 50);
        }
    }

    #[test]
    fn damaged_sections_hold() {
        let mut rng = Rng::new(31);
        let mut data = [0; 48];
        for _ in 0..4000 {
            rng.fill(&mut data);
            data[0] = 2;
            let length = 2 + rng.below(46) as usize;
            check(&data[..length]);
        }
    }

    #[test]
    fn random_sections_hold() {
        let mut rng = Rng::new(32);
        let mut data = [0; 600];
        for _ in 0..300 {
            rng.fill(&mut data);
            data[0] = 1;
            // Lengths that the bytes suffice for.
            data[2] = 0;
            check(&data);
        }
    }
}
