//! Seeded damage: inputs that are nearly right reach further than random bytes.

use super::rng::Rng;

/// A copy of `bytes` with a few mutations: flipped bits, changed, moved and removed bytes, numbers that
/// sit on edges, a cut end.
pub fn mutate(bytes: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for _ in 0..=rng.below(4) {
        if out.is_empty() {
            break;
        }
        let at = place(out.len(), rng);
        match rng.below(7) {
            0 => out[at] ^= 1 << rng.below(8),
            1 => out[at] = rng.next_u64() as u8,
            2 => number(&mut out, at, rng),
            3 => number(&mut out, at, rng),
            4 => {
                let from = rng.below(out.len() as u64) as usize;
                let count = (rng.below(64) as usize).min(out.len() - at.max(from));
                out.copy_within(from..from + count, at);
            }
            5 => {
                let count = (rng.below(64) as usize).min(out.len() - at);
                out.drain(at..at + count);
            }
            _ => out.truncate(at),
        }
    }
    out
}

/// Half of the places lie in the first page, where headers and tables are.
fn place(len: usize, rng: &mut Rng) -> usize {
    let reach = if rng.below(2) == 0 {
        len.min(4096)
    } else {
        len
    };
    rng.below(reach as u64) as usize
}

/// Replaces a number of 2, 4 or 8 bytes by one that arithmetic may trip over.
fn number(out: &mut [u8], at: usize, rng: &mut Rng) {
    let size = 2 << rng.below(3);
    let at = at - at % size;
    let Some(place) = out.get_mut(at..at + size) else {
        return;
    };
    let mut word = [0; 8];
    word[..size].copy_from_slice(place);
    let old = u64::from_le_bytes(word);
    let new = match rng.below(8) {
        0 => 0,
        1 => u64::MAX,
        2 => u64::MAX - rng.below(4096),
        3 => 1 << rng.below(64),
        4 => old.wrapping_add(1),
        5 => old.wrapping_sub(1),
        6 => old ^ 1 << rng.below(64),
        _ => rng.below(1 << 16),
    };
    place.copy_from_slice(&new.to_le_bytes()[..size]);
}
