//! Queues.

use rukh_core::kfd::uapi::*;

use super::{Client, MOST, PAGE};
use crate::oracle::input::Input;

impl Client {
    pub(super) fn create_queue(&mut self, input: &mut Input<'_>) {
        if self.queues.len() >= MOST {
            return;
        }
        // Most have buffers made for them: indices and ring, for compute queues of later interfaces two more.
        let va = self.next_va;
        let sizes = [PAGE, PAGE, PAGE, 0x3cb_1000];
        let made = if input.below(4) == 0 || self.objects.len() + 4 > MOST {
            0
        } else {
            input.pick(&[2, 4, 3])
        };
        for size in sizes.into_iter().take(made) {
            let at = self.next_va;
            let flags = AllocFlags::GTT | AllocFlags::WRITABLE | AllocFlags::EXECUTABLE;
            if self.object(at, size, flags, 0, input) {
                let handle = self.objects.last().map_or(0, |object| object.handle);
                self.words[0] = self.gpus.first().copied().unwrap_or(0).into();
                let _ = self.call(&mut MapMemoryToGpu {
                    handle,
                    device_ids_array_ptr: self.words.as_ptr().expose_provenance() as u64,
                    n_devices: 1,
                    n_success: 0,
                });
            }
        }
        let base = if made == 0 { self.va(input) } else { va };
        let mut argument = CreateQueue {
            ring_base_address: base.wrapping_add(PAGE),
            write_pointer_address: base.wrapping_add(0x38),
            read_pointer_address: base.wrapping_add(0x80),
            ring_size: PAGE as u32,
            gpu_id: self.gpu(input),
            queue_type: input.pick(&[2, 0, 1, 3, 4, 5]),
            queue_percentage: input.pick(&[100, 100, 0, 101, 0x164]),
            queue_priority: input.pick(&[7, 15, 16, 0]),
            eop_buffer_address: if made > 2 {
                base.wrapping_add(2 * PAGE)
            } else {
                0
            },
            eop_buffer_size: PAGE,
            ctx_save_restore_address: base.wrapping_add(3 * PAGE),
            ctx_save_restore_size: 0x3c9_1000,
            ctl_stack_size: 0x9000,
            ..CreateQueue::default()
        };
        match input.below(16) {
            0 => argument.ring_base_address = self.va(input),
            1 => argument.write_pointer_address = self.va(input),
            2 => argument.read_pointer_address = self.va(input),
            3 => argument.ring_size = input.number() as u32,
            4 => argument.eop_buffer_address = self.va(input),
            5 => argument.ctx_save_restore_address = self.va(input),
            6 => argument.ctx_save_restore_size = input.number() as u32,
            7 => argument.sdma_engine_id = input.number() as u32,
            8 => argument.eop_buffer_size = input.number(),
            _ => {}
        }
        if self.call(&mut argument).is_ok() {
            let id = argument.queue_id;
            assert!(self.queues.iter().all(|(other, _)| *other != id));
            self.queues.push((id, argument.doorbell_offset));
        }
    }

    pub(super) fn change_queue(&mut self, input: &mut Input<'_>) {
        let queue_id = self.queue(input);
        let is_known = self.queues.iter().any(|(id, _)| *id == queue_id);
        let answer = match input.below(4) {
            0 => self.call(&mut UpdateQueue {
                ring_base_address: self.va(input),
                queue_id,
                ring_size: input.pick(&[PAGE as u32, 0, 3, 1 << 31]),
                queue_percentage: input.pick(&[100, 0, 101]),
                queue_priority: input.pick(&[7, 15, 16]),
            }),
            1 => {
                self.words[0] = input.u64();
                self.call(&mut SetCuMask {
                    queue_id,
                    num_cu_mask: input.pick(&[32, 64, 0, 31, 1024, u32::MAX - 31]),
                    cu_mask_ptr: self.pointer(input),
                })
            }
            2 => self.call(&mut GetQueueWaveState {
                ctl_stack_address: self.pointer(input),
                queue_id,
                ..GetQueueWaveState::default()
            }),
            _ => self.call(&mut AllocQueueGws {
                queue_id,
                num_gws: input.pick(&[1, 0, 64]),
                ..AllocQueueGws::default()
            }),
        };
        assert!(answer.is_err() || is_known);
    }
}
