//! Packets that are nearly right, out of an input's decisions: tables say what a device's packets are made of. Raw dwords stop
//! a queue at the first one whose operation does not exist; these get to what comes behind.

use super::input::Input;

/// One or two dwords of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    /// One of these.
    Of(&'static [u32]),
    /// A number below this.
    Below(u32),
    /// Anything.
    Any,
    /// An address, in two dwords: mostly one in the memory that is mapped, as [`super::ring`] reads it.
    Address,
    /// At most so many dwords of anything.
    More(usize),
}

/// Adds the dwords of fields. One in sixteen is anything instead.
pub(super) fn put(input: &mut Input<'_>, fields: &[Field], out: &mut Vec<u32>) {
    for field in fields {
        let wild = input.below(16) == 15;
        match field {
            Field::Address => {
                let offset = u32::from(input.u16());
                let low = match input.below(8) {
                    0 => input.u32(),
                    1 => 0xa500_0000 | offset,
                    2 => 0xa500_0000 | offset & !31,
                    _ => 0xa500_0000 | offset & !7,
                };
                let high = if wild { input.u32() } else { 0xa600_0000 };
                out.extend([low, high]);
            }
            Field::More(most) => {
                let count = input.below(most + 1);
                out.extend((0..count).map(|_| input.u32()));
            }
            _ if wild => out.push(input.u32()),
            Field::Of(words) => out.push(input.pick(words)),
            Field::Below(bound) => out.push(u32::from(input.u16()) % bound),
            Field::Any => out.push(input.number() as u32),
        }
    }
}

/// An input whose first byte is below 128 as it is; from there on `packet` makes the dwords behind that byte of decisions.
pub(super) fn made(data: &[u8], packet: impl Fn(&mut Input<'_>, &mut Vec<u32>)) -> Option<Vec<u8>> {
    /// What the ring has room for, and packets.
    const MOST: usize = 1000;
    let (&first, rest) = data.split_first().filter(|(first, _)| **first >= 128)?;
    let mut input = Input::new(rest);
    let mut dwords = Vec::new();
    while !input.is_empty() && dwords.len() < MOST {
        packet(&mut input, &mut dwords);
    }
    let bytes = dwords.iter().flat_map(|dword| dword.to_le_bytes());
    Some([first].into_iter().chain(bytes).collect())
}
