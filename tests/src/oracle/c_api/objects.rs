//! What a client has and had, and how a call of its comes to name one or the other.

use std::ffi::{CString, c_void};
use std::ptr::null_mut;

use rukh_core::wire::queue::HsaQueue;

use super::declare::*;
use super::{Client, OWN};
use crate::oracle::input::Input;

/// What a client has. Objects that are gone stay, so that they are named again.
#[derive(Default)]
pub(super) struct Objects {
    pub(super) live: Vec<u64>,
    pub(super) gone: Vec<u64>,
}

impl Objects {
    pub(super) fn any(&self, input: &mut Input<'_>) -> Option<u64> {
        self.live.get(input.below(self.live.len())).copied()
    }

    pub(super) fn add(&mut self, object: u64) {
        assert!(
            !self.live.contains(&object),
            "{object:#x} was given out twice"
        );
        self.gone.retain(|gone| *gone != object);
        self.live.push(object);
    }

    /// A destroying call was made: it has to have gone well exactly if the object was there.
    pub(super) fn destroyed(&mut self, object: u64, status: Status) {
        match self.live.iter().position(|live| *live == object) {
            Some(at) => {
                assert_eq!(status, SUCCESS, "{object:#x}");
                self.live.swap_remove(at);
                self.gone.push(object);
            }
            None => assert_ne!(status, SUCCESS, "{object:#x} is not there"),
        }
    }
}

impl Client {
    /// A handle: mostly of the kind, sometimes one that is gone, forged, or of another kind.
    pub(super) fn handle(&self, of: &[u64], gone: &[u64], input: &mut Input<'_>) -> u64 {
        let one = |list: &[u64], at: usize| list.get(at).copied();
        let at = input.byte() as usize;
        let pick = |list: &[u64]| one(list, at.checked_rem(list.len()).unwrap_or(0));
        match input.byte() {
            0..=191 => pick(of).unwrap_or(0),
            192..=207 => pick(gone).unwrap_or(1),
            208..=223 => pick(of).unwrap_or(0) ^ 1 << (at % 64),
            224..=231 => pick(&self.agents).unwrap_or(0),
            232..=239 => pick(&self.signals.live).unwrap_or(0),
            240..=243 => pick(&self.executables.live).unwrap_or(0),
            244..=247 => 0,
            // Its parts: kind, generation, slot.
            248..=251 => (0xa1 + at as u64 % 13) << 56 | (at as u64 / 16) << 20,
            _ => input.number(),
        }
    }

    pub(super) fn one_of(&self, objects: &Objects, input: &mut Input<'_>) -> u64 {
        self.handle(&objects.live, &objects.gone, input)
    }

    pub(super) fn agent(&self, input: &mut Input<'_>) -> u64 {
        self.handle(&self.agents, &[], input)
    }

    pub(super) fn signal(&self, input: &mut Input<'_>) -> u64 {
        let signal = self.one_of(&self.signals, input);
        let ours = [&self.signals.live, &self.signals.gone];
        let is_ours = ours.iter().any(|list| list.contains(&signal));
        // Beside them are the library's own, which no handle can be told from: nobody hits on those by accident.
        let near = |live: &u64| {
            live.abs_diff(signal) < 1 << 28 && live.abs_diff(signal).is_multiple_of(128)
        };
        let is_other = ours.iter().any(|list| list.iter().any(near));
        if is_other && !is_ours { 1 } else { signal }
    }

    pub(super) fn pool(&self, input: &mut Input<'_>) -> u64 {
        self.handle(&self.pools, &self.regions, input)
    }

    /// A queue's address, or one that is no queue. It is not followed unless it is one.
    pub(super) fn queue(&self, input: &mut Input<'_>) -> *const HsaQueue {
        let queue = self.one_of(&self.queues, input);
        std::ptr::with_exposed_provenance(queue as usize)
    }

    /// An allocation, or the client's own memory.
    pub(super) fn range(&mut self, input: &mut Input<'_>) -> (*mut c_void, usize) {
        match self.memory.get(input.below(self.memory.len() + 1)) {
            Some((at, size)) => (std::ptr::with_exposed_provenance_mut(*at), *size),
            None => (self.own.as_mut_ptr().cast(), OWN),
        }
    }

    /// A place for an answer, or none.
    pub(super) fn value(&mut self, input: &mut Input<'_>) -> *mut c_void {
        if input.byte() >= 240 {
            return null_mut();
        }
        self.own.as_mut_ptr().cast()
    }

    /// A list of agents for a count that it returns.
    pub(super) fn agent_list(&self, input: &mut Input<'_>) -> (u32, Vec<u64>) {
        let list: Vec<u64> = (0..input.below(4)).map(|_| self.agent(input)).collect();
        (list.len() as u32, list)
    }
}

/// A name: of a kernel or a variable that objects have, any text, or none.
pub(super) fn name(input: &mut Input<'_>) -> Option<CString> {
    match input.byte() {
        0..=99 => CString::new("vector_add.kd").ok(),
        100..=149 => CString::new("amdgcn-amd-amdhsa--gfx90a:xnack+").ok(),
        150..=239 => CString::new(input.take(16).to_vec()).ok(),
        _ => None,
    }
}
