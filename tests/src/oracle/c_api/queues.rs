//! Queues and their packets.

use std::ffi::c_void;
use std::ptr::null_mut;

use rukh_core::wire::queue::HsaQueue;

use super::Client;
use super::declare::*;
use crate::oracle::input::Input;

extern "C" fn on_error(status: Status, queue: *mut HsaQueue, _: *mut c_void) {
    assert!(status != SUCCESS && !queue.is_null());
}

impl Client {
    pub(super) fn create_queue(&mut self, input: &mut Input<'_>) {
        if input.below(4) == 0 {
            let queue = self.queue(input);
            let status = call!(hsa_queue_destroy(queue));
            self.queues.destroyed(queue.addr() as u64, status);
            return;
        }
        if self.queues.live.len() >= 4 {
            return;
        }
        let size = input.pick(&[64u32, 64, 128, 63, 0, 1 << 18, u32::MAX]);
        let kind = input.pick(&[0u32, 0, 1, 2, 3, u32::MAX]);
        let segments = [u32::MAX, input.number() as u32];
        let mut queue = null_mut();
        let status = if input.below(8) == 0 {
            let region = self.handle(&self.regions, &self.pools, input);
            let features = input.pick(&[1u32, 2, 3, 0, 4]);
            let doorbell = self.signal(input);
            call!(hsa_soft_queue_create(
                region, size, kind, features, doorbell, &mut queue
            ))
        } else {
            let agent = self.agent(input);
            call!(hsa_queue_create(
                agent,
                size,
                kind,
                Some(on_error),
                null_mut(),
                segments[0],
                segments[1],
                &mut queue
            ))
        };
        if status == SUCCESS {
            assert!(!queue.is_null() && size.is_power_of_two());
            self.queues.add(queue.expose_provenance() as u64);
        }
    }

    pub(super) fn change_queue(&mut self, input: &mut Input<'_>) {
        let queue = self.queue(input);
        let is_live = self.queues.live.contains(&(queue.addr() as u64));
        let status = match input.below(5) {
            0 => call!(hsa_queue_inactivate(queue)),
            1 => call!(hsa_amd_queue_set_priority(
                queue,
                input.pick(&[0, 1, 2, 3, u32::MAX])
            )),
            2 => {
                let mask = [input.u32(); 8];
                let count = input.pick(&[32u32, 64, 0, 31, 256, 1]);
                call!(hsa_amd_queue_cu_set_mask(queue, count, mask.as_ptr()))
            }
            3 => {
                let value = self.value(input);
                call!(hsa_amd_queue_get_info(queue, input.byte().into(), value))
            }
            _ => call!(hsa_amd_profiling_set_profiler_enabled(
                queue,
                input.byte().into()
            )),
        };
        assert!(is_live || status != SUCCESS);
        let (agent, signal) = (self.agent(input), self.signal(input));
        let value = self.value(input);
        let _ = call!(hsa_amd_profiling_get_dispatch_time(agent, signal, value));
    }

    /// A packet of any contents, or one that names what the client has.
    pub(super) fn publish(&mut self, input: &mut Input<'_>) {
        let Some(queue) = self.queues.any(input) else {
            return;
        };
        let queue = std::ptr::with_exposed_provenance::<HsaQueue>(queue as usize);
        // SAFETY: the queue is alive.
        let (base, size, doorbell, index) = unsafe {
            let fields = &*queue;
            let index = hsa_queue_add_write_index_screlease(queue, 1);
            (
                fields.base_address,
                fields.size,
                fields.doorbell_signal,
                index,
            )
        };
        let mut packet = [0u64; 8];
        for word in &mut packet {
            *word = match input.below(5) {
                0 => 0,
                1 => self.signal(input),
                2 => self
                    .symbols
                    .get(input.below(self.symbols.len()))
                    .copied()
                    .unwrap_or(0),
                3 => self
                    .memory
                    .get(input.below(self.memory.len()))
                    .map_or(0, |(at, _)| *at as u64),
                _ => input.number(),
            };
        }
        if input.below(4) != 0 {
            let header = u64::from(input.pick(&[2u16, 3, 5, 0x1503, 0, 4, 1]));
            packet[0] = header | input.pick(&[1u64 << 16, 2 << 16, 0]) | 64 << 32 | 1 << 48;
            packet[1] = 1 | 64 << 32;
            packet[2] = 1 | 1 << 32;
            packet[3] = 0;
        }
        let slot = base + (index & u64::from(size - 1)) * 64;
        let words = std::ptr::with_exposed_provenance_mut::<u64>(slot as usize);
        // SAFETY: a slot of the ring of a queue that is alive; its device reads it by volatile accesses.
        unsafe {
            for at in (1..8).chain([0]) {
                words.add(at).write_volatile(packet[at]);
            }
        }
        if self.queues.live.contains(&(queue.addr() as u64)) {
            // SAFETY: the doorbell is the queue's. That of a soft queue is a signal which may be gone by now.
            unsafe {
                hsa_queue_load_read_index_scacquire(queue);
                if (*queue).features & 1 != 0 && !self.signals.gone.contains(&doorbell) {
                    hsa_signal_store_screlease(doorbell, index.cast_signed());
                }
                if input.below(16) == 0 {
                    hsa_queue_store_write_index_relaxed(queue, input.number());
                }
            }
        }
    }
}
