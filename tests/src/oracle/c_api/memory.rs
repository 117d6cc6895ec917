//! Memory of pools and the client's own.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::declare::*;
use super::{Client, MOST, OWN};
use crate::oracle::input::Input;

impl Client {
    pub(super) fn allocate(&mut self, input: &mut Input<'_>) {
        if self.memory.len() >= MOST {
            return;
        }
        let pool = self.pool(input);
        let size = match input.byte() {
            0..=199 => 1 + usize::from(input.u16()),
            _ => input.pick(&[0, usize::MAX, 1 << 50, 1 << 63, usize::MAX - 4095]),
        };
        let flags = input.pick(&[0u32, 0, 4, 1, 0x80, u32::MAX]);
        let mut at = null_mut();
        let status = if input.flag() {
            call!(hsa_amd_memory_pool_allocate(pool, size, flags, &mut at))
        } else {
            call!(hsa_memory_allocate(pool, size, &mut at))
        };
        if status == SUCCESS {
            assert!(!at.is_null() && size <= 1 << 17);
            self.memory.push((at.expose_provenance(), size));
        }
    }

    pub(super) fn free(&mut self, input: &mut Input<'_>) {
        let at = input.below(self.memory.len());
        let known = self.memory.get(at).copied();
        let address = match (input.byte(), known) {
            (0..=199, Some((address, _))) => address,
            (200..=219, Some((address, size))) => address + size / 2 + 1,
            (220..=239, _) => self.own.as_ptr().addr(),
            _ => input.number() as usize,
        };
        let memory = std::ptr::with_exposed_provenance_mut(address);
        let status = if input.flag() {
            call!(hsa_memory_free(memory))
        } else {
            call!(hsa_amd_memory_pool_free(memory))
        };
        let found = self.memory.iter().position(|(start, _)| *start == address);
        assert_eq!(
            status == SUCCESS,
            found.is_some() || address == 0,
            "{address:#x}"
        );
        found.map(|at| self.memory.swap_remove(at));
    }

    pub(super) fn memory(&mut self, input: &mut Input<'_>) {
        let (to, room) = self.range(input);
        let (from, size) = self.range(input);
        let size = room.min(size).min(usize::from(input.u16()));
        match input.below(8) {
            0 if to != from => drop(call!(hsa_memory_copy(to, from, size))),
            0 | 1 => {
                let at = if input.flag() {
                    to
                } else {
                    to.wrapping_byte_add(1)
                };
                let _ = call!(hsa_amd_memory_fill(at, input.u32(), size / 8));
            }
            2 => {
                let (count, agents) = self.agent_list(input);
                let flags = input.pick(&[null(), null(), &raw const count]);
                let list = if input.byte() < 240 {
                    agents.as_ptr()
                } else {
                    null()
                };
                let count = if list.is_null() { u32::MAX } else { count };
                let _ = call!(hsa_amd_agents_allow_access(count, list, flags, to));
            }
            3 => {
                let own = self.own.as_mut_ptr().cast::<c_void>();
                if self.locked {
                    assert_eq!(call!(hsa_amd_memory_unlock(own)), SUCCESS);
                    self.locked = false;
                } else {
                    let (count, agents) = self.agent_list(input);
                    let size = input.pick(&[OWN, 4096, 1, 0]);
                    let list = if count == 0 { null() } else { agents.as_ptr() };
                    let mut at = null_mut();
                    let status = call!(hsa_amd_memory_lock(own, size, list, count as i32, &mut at));
                    self.locked = status == SUCCESS;
                    assert!(!self.locked || !at.is_null());
                }
            }
            4 => {
                let room = input.pick(&[56u32, 64, 4, 3, 0, 48, 4096]);
                let info = self.own.as_mut_ptr().cast::<u32>();
                // SAFETY: the client's own memory.
                unsafe { info.write(room) };
                let address = if input.flag() {
                    to
                } else {
                    input.number() as usize as *mut c_void
                };
                let _ = call!(hsa_amd_pointer_info(
                    address,
                    info.cast(),
                    null(),
                    null_mut(),
                    null_mut()
                ));
                let _ = call!(hsa_amd_pointer_info_set_userdata(address, to));
            }
            _ if to != from => {
                let agents = [self.agent(input), self.agent(input)];
                let signals: Vec<u64> = (0..input.below(3)).map(|_| self.signal(input)).collect();
                let list = if signals.is_empty() {
                    null()
                } else {
                    signals.as_ptr()
                };
                let done = self.signal(input);
                // What waits for a signal may copy later, when an allocation is gone: only what is done now uses
                // those.
                let now = signals.iter().all(|signal| *signal == 0);
                let own = self.own.as_mut_ptr();
                let (to, from, size) = if now {
                    (to, from, size)
                } else {
                    (own.cast(), own.wrapping_add(OWN / 16).cast(), 0)
                };
                let _ = call!(hsa_amd_memory_async_copy(
                    to,
                    agents[0],
                    from,
                    agents[1],
                    size,
                    signals.len() as u32,
                    list,
                    done
                ));
            }
            _ => {}
        }
    }
}
