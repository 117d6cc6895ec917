//! A queue's scratch memory: which waves of it are taken, and what the queue's registers say of it.

use crate::isa::Arch;
use crate::sync::Mutex;
use alloc::vec::Vec;

/// Wave slots of a queue's scratch memory, shared by the dispatches in flight.
#[derive(Default)]
pub(crate) struct ScratchSlots {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    limit: usize,
    taken: Vec<u64>,
}

impl ScratchSlots {
    /// The memory holds so many waves. Slots that are taken stay taken.
    pub(crate) fn resize(&self, limit: usize) {
        let mut state = self.state.lock();
        state.limit = limit;
        let words = limit.div_ceil(64).max(state.taken.len());
        state.taken.resize(words, 0);
    }

    /// Takes slots until `slots` has `count`: all or none.
    pub(crate) fn take(&self, count: usize, slots: &mut Vec<u32>) -> bool {
        let mut state = self.state.lock();
        let before = slots.len();
        let limit = state.limit;
        for (word, bits) in state.taken.iter_mut().enumerate() {
            while slots.len() < count && *bits != u64::MAX {
                let bit = bits.trailing_ones() as usize;
                let slot = word * 64 + bit;
                if slot >= limit {
                    break;
                }
                *bits |= 1 << bit;
                slots.push(slot as u32);
            }
        }
        if slots.len() < count {
            state.give_back(slots, before);
            return false;
        }
        true
    }

    /// Gives all of `slots` back.
    pub(crate) fn release(&self, slots: &mut Vec<u32>) {
        if !slots.is_empty() {
            self.state.lock().give_back(slots, 0);
        }
    }
}

impl State {
    fn give_back(&mut self, slots: &mut Vec<u32>, from: usize) {
        for slot in slots.drain(from..) {
            if let Some(bits) = self.taken.get_mut(slot as usize / 64) {
                *bits &= !(1 << (slot % 64));
            }
        }
    }
}

/// COMPUTE_TMPRING_SIZE: how many waves the scratch memory holds and how large each is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TmpRing {
    /// Waves that have scratch at once, the whole device.
    pub waves: u64,
    /// Bytes of one wave.
    pub wave_bytes: u64,
}

impl TmpRing {
    /// From the register of an architecture. GFX11 and later count waves per shader engine, and
    /// bytes in units of 256 instead of 1024.
    pub(crate) fn parse(arch: Arch, register: u32, shader_engines: u32) -> Self {
        let waves = u64::from(register & 0xfff);
        let size = register >> 12;
        if arch.is_gfx12_plus() {
            Self {
                waves: waves * u64::from(shader_engines),
                wave_bytes: u64::from(size & 0x3_ffff) * 256,
            }
        } else if arch.is_gfx11_plus() {
            Self {
                waves: waves * u64::from(shader_engines),
                wave_bytes: u64::from(size & 0x7fff) * 256,
            }
        } else {
            Self {
                waves,
                wave_bytes: u64::from(size & 0x1fff) * 1024,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_taken_whole_or_not_at_all() {
        let slots = ScratchSlots::default();
        slots.resize(70);
        let (mut a, mut b) = (Vec::new(), Vec::new());
        assert!(slots.take(66, &mut a));
        assert!(!slots.take(5, &mut b));
        assert!(b.is_empty());
        assert!(slots.take(4, &mut b));
        assert_eq!(b, [66, 67, 68, 69]);
        slots.release(&mut a);
        let mut c = Vec::new();
        assert!(slots.take(66, &mut c));
        assert!(c.iter().all(|slot| *slot < 66));
    }

    #[test]
    fn units_follow_the_generation() {
        let register = 32 | 3 << 12;
        let of = |arch| TmpRing::parse(arch, register, 6);
        assert_eq!(
            (of(Arch::Gfx90a).waves, of(Arch::Gfx90a).wave_bytes),
            (32, 3072)
        );
        assert_eq!(
            (of(Arch::Gfx1100).waves, of(Arch::Gfx1100).wave_bytes),
            (192, 768)
        );
    }
}
