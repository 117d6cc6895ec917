//! Relocations: what a loaded object holds is what LLVM's guide says of each type, computed here a second time; what
//! cannot be linked is refused.

use rukh_core::backend::AgentId;
use rukh_core::loader::oracle::ByteMemory;
use rukh_core::loader::{CodeObject, Executable, ExternalVariable, Scope};

use super::elf::{
    self, CODE, DATA, DATA_BYTES, DATA_MEMORY, MOST, PAGE, Parts, RawRelocation, RawSymbol,
};
use super::input::Input;

const UNDEFINED: u16 = 0;
const ABSOLUTE: u16 = 0xfff1;
/// Sections from here on are special ones.
const FIRST_SPECIAL: u16 = 0xff00;
const LOCAL: u8 = 0;
const WEAK: u8 = 2;
/// A kernel of code object version 2.
const OLD_KERNEL: u8 = 10;

/// Links an object that the input describes: symbols, then relocations.
pub fn check(data: &[u8]) {
    let mut input = Input::new(data);
    let (parts, defined) = describe(&mut input);
    let file = elf::build(&parts);
    // Consistency, whatever comes out.
    let _ = rukh_core::loader::oracle::check(&file);
    let memory = ByteMemory::new(1 << 20);
    let ours = link(&memory, &file, &defined);
    match (&ours, model(&parts, &file, &defined)) {
        (Ok((bias, bytes)), Some(model)) => {
            let expected = model(*bias);
            let Some(expected) = expected else {
                panic!("linked although a value does not fit: {parts:?}");
            };
            let differ = bytes.iter().zip(&expected).position(|(a, b)| a != b);
            assert_eq!(differ, None, "{parts:?}, bias {bias:#x}");
            assert_eq!(bytes.len(), expected.len());
        }
        (Err(text), Some(model)) => {
            // Only a value that does not fit depends on where the memory is: it begins where `ByteMemory` begins.
            assert!(model(FIRST).is_none(), "{text}: {parts:?}");
        }
        (Ok(_), None) => panic!("linked although it cannot be: {parts:?}"),
        (Err(text), None) => assert!(!text.is_empty()),
    }
    assert_eq!(memory.live(), 0);
}

/// Where `ByteMemory` has its first segment.
const FIRST: u64 = 0x7f00_0000_0000;

/// The parts, and for each symbol the address that the client defines it with, if it does.
fn describe(input: &mut Input<'_>) -> (Parts, Vec<Option<u64>>) {
    let mut parts = Parts::default();
    let mut defined = vec![None];
    for _ in 0..input.below(8) {
        let value = place(input);
        parts.symbols.push(RawSymbol {
            info: input.pick(&[0x10, 0x20, 0x00, 0x30, 0xa0])
                | input.pick(&[0, 1, 2, 11, 1, 0, 1, OLD_KERNEL]),
            other: input.pick(&[0, 0, 0, 3, 2, 1]),
            section: input.pick(&[1, UNDEFINED, ABSOLUTE, UNDEFINED, 1, 1, 2, 0xfff2]),
            value,
            size: input.pick(&[0, 4, 8, 64, PAGE]),
        });
        let address = input.number();
        defined.push((!address.is_multiple_of(4)).then_some(address));
    }
    let count = input.below(MOST / 2);
    for _ in 0..count {
        let relocation = RawRelocation {
            offset: place(input),
            symbol: u32::from(input.byte() % 9),
            kind: input.pick(&[3, 1, 2, 13, 6, 3, 13, 1, 2, 3, 13, 10]),
            addend: input.number().cast_signed(),
        };
        match input.below(4) {
            0 | 1 => parts.rela.push(relocation),
            2 => parts.rel.push(relocation),
            _ => parts.plt.push(relocation),
        }
    }
    parts.data = input.take(DATA_BYTES as usize).to_vec();
    (parts, defined)
}

/// An address, mostly of the data.
fn place(input: &mut Input<'_>) -> u64 {
    match input.byte() {
        0..=199 => DATA + u64::from(input.byte()) * 2,
        200..=210 => DATA + DATA_MEMORY - u64::from(input.byte() % 9),
        211..=220 => CODE + u64::from(input.u16()) % PAGE,
        221..=230 => u64::from(input.u16()),
        _ => input.number(),
    }
}

/// What the loader makes of it: the bias and the memory.
fn link(
    memory: &ByteMemory,
    file: &[u8],
    defined: &[Option<u64>],
) -> Result<(u64, Vec<u8>), String> {
    let agent = AgentId(1);
    let code = CodeObject::parse(file).map_err(|error| error.to_string())?;
    let mut executable = Executable::new(memory);
    executable
        .load(agent, code.isa(), &code)
        .map_err(|error| error.to_string())?;
    for (index, address) in defined.iter().enumerate() {
        if let Some(address) = *address {
            // Names that the object exports stay its own.
            let _ = executable.define(&ExternalVariable {
                name: &elf::name(index),
                scope: Scope::Program,
                address,
                is_const: false,
            });
        }
    }
    let executable = executable.freeze().map_err(|error| error.to_string())?;
    let loaded = executable.code_objects()[0];
    let bytes = memory.read(loaded.memory.gpu_va, loaded.size as usize);
    Ok((loaded.bias, bytes.expect("the object's memory")))
}

/// What must come out: the memory as a function of the bias, or None if the object is to be refused at any. The function
/// gives None where a value does not fit.
fn model<'a>(
    parts: &'a Parts,
    file: &'a [u8],
    defined: &'a [Option<u64>],
) -> Option<impl Fn(u64) -> Option<Vec<u8>> + 'a> {
    let segments = parts.segments();
    let inside = |address: u64, size: u64| {
        segments.iter().any(|(start, bytes)| {
            address >= *start && address - start <= *bytes && bytes - (address - start) >= size
        })
    };
    for symbol in &parts.symbols {
        let special = symbol.section >= FIRST_SPECIAL && symbol.section != ABSOLUTE;
        let placed = symbol.section != UNDEFINED && symbol.section != ABSOLUTE;
        let local = symbol.info >> 4 == LOCAL;
        let outside = placed && !local && symbol.size != 0 && !inside(symbol.value, symbol.size);
        if special || outside || symbol.info & 0xf == OLD_KERNEL {
            return None;
        }
    }
    let in_place = |relocation: &RawRelocation| {
        let at = relocation.offset as usize;
        // What the file has; behind that the data is zeros.
        let known = DATA_BYTES + DATA;
        let byte = |i: usize| {
            let within = relocation.offset < DATA || ((at + i) as u64) < known;
            if within { file[at + i] } else { 0 }
        };
        let whole =
            relocation.offset < DATA || relocation.offset + width(relocation.kind) as u64 <= known;
        match width(relocation.kind) {
            // A place that is not all in the file is one of zeros.
            _ if !whole => 0,
            4 => i64::from(i32::from_le_bytes(std::array::from_fn(byte))),
            _ => i64::from_le_bytes(std::array::from_fn(byte)),
        }
    };
    let mut steps = Vec::new();
    let mut late = Vec::new();
    let tables = [
        (&parts.rela, false),
        (&parts.rel, true),
        (&parts.plt, false),
    ];
    for (table, implicit) in tables {
        for relocation in table {
            let known = matches!(relocation.kind, 1 | 2 | 3 | 6 | 13);
            if !known || !inside(relocation.offset, width(relocation.kind) as u64) {
                return None;
            }
            let symbol = match relocation.symbol as usize {
                0 => None,
                index => Some((index, parts.symbols.get(index - 1)?)),
            };
            let addend = if implicit {
                in_place(relocation)
            } else {
                relocation.addend
            };
            let step = (relocation, addend);
            match symbol {
                // Of a relative one the symbol means nothing.
                _ if relocation.kind == 13 => steps.push((step, Base::Bias(0))),
                None => steps.push((step, Base::Number(0))),
                Some((index, symbol)) if symbol.section == UNDEFINED => {
                    let weak = (symbol.info >> 4 == WEAK).then_some(0);
                    late.push((step, Base::Number(defined[index].or(weak)?)));
                }
                Some((_, symbol)) if symbol.section == ABSOLUTE => {
                    steps.push((step, Base::Number(symbol.value)));
                }
                Some((_, symbol)) => steps.push((step, Base::Bias(symbol.value))),
            }
        }
    }
    steps.extend(late);
    Some(move |bias: u64| {
        let mut memory = vec![0; (DATA + DATA_MEMORY) as usize];
        for (start, bytes) in parts.segments() {
            let bytes = if start == DATA { DATA_BYTES } else { bytes };
            let range = start as usize..(start + bytes) as usize;
            memory[range.clone()].copy_from_slice(&file[range]);
        }
        for ((relocation, addend), base) in &steps {
            let base = match base {
                Base::Bias(offset) => bias.wrapping_add(*offset),
                Base::Number(number) => *number,
            };
            let value = base.wrapping_add_signed(*addend);
            let value = match relocation.kind {
                2 => value >> 32,
                6 if value > u64::from(u32::MAX) => return None,
                _ => value,
            };
            let (at, width) = (relocation.offset as usize, width(relocation.kind));
            memory[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
        }
        Some(memory)
    })
}

/// What is added to.
enum Base {
    /// Where the object is, and so far behind it.
    Bias(u64),
    /// A number.
    Number(u64),
}

const fn width(kind: u32) -> usize {
    if matches!(kind, 3 | 13) { 8 } else { 4 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::rng::Rng;

    #[test]
    fn random_objects_link_as_the_guide_says() {
        let mut rng = Rng::new(8);
        let mut data = [0; 400];
        for _ in 0..2_000 {
            rng.fill(&mut data);
            check(&data);
        }
    }

    #[test]
    fn every_type_links_against_every_kind_of_symbol() {
        for kind in 0..12u8 {
            for section in 0..6u8 {
                for table in 0..4u8 {
                    // One symbol at the data's start, one relocation behind it.
                    let symbol = [1, 0, 0, 0, 1, 0, section, 0, 5];
                    let relocation = [1, 0, 20, 1, kind, 9, table];
                    check(&[&symbol[..], &relocation].concat());
                }
            }
        }
    }
}
