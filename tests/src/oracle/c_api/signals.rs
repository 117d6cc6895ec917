//! Signals, waits, handlers and groups.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::declare::*;
use super::{Client, MOST};
use crate::oracle::input::Input;

static CALLS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn on_signal(_: i64, data: *mut c_void) -> bool {
    CALLS.fetch_add(1, Ordering::Relaxed) % 4 < data.addr() % 4
}

impl Client {
    pub(super) fn create_signal(&mut self, input: &mut Input<'_>) {
        if input.below(4) == 0 {
            let signal = self.signal(input);
            // Doorbells and signals that the library has are refused, and not in the list.
            let status = call!(hsa_signal_destroy(signal));
            self.signals.destroyed(signal, status);
            return;
        }
        if self.signals.live.len() >= MOST {
            return;
        }
        let (count, agents) = self.agent_list(input);
        let good = agents.iter().all(|agent| self.agents.contains(agent));
        let value = input.number().cast_signed();
        let mut signal = 0;
        let status = if input.flag() {
            call!(hsa_signal_create(
                value,
                count,
                agents.as_ptr(),
                &mut signal
            ))
        } else {
            let attributes = input.pick(&[0, 1, 2, 3, 4, u64::MAX]);
            call!(hsa_amd_signal_create(
                value,
                count,
                agents.as_ptr(),
                attributes,
                &mut signal
            ))
        };
        assert!(good || status != SUCCESS);
        if status == SUCCESS {
            self.signals.add(signal);
        }
        let lists = [(u32::MAX, null()), (1, null())];
        let (count, list) = input.pick(&lists);
        assert_ne!(call!(hsa_signal_create(0, count, list, &mut 0)), SUCCESS);
        assert_ne!(call!(hsa_signal_create(0, 0, null(), null_mut())), SUCCESS);
    }

    pub(super) fn use_signal(&mut self, input: &mut Input<'_>) {
        let Some(signal) = self.signals.any(input) else {
            return;
        };
        let value = input.number().cast_signed();
        // SAFETY: the signal is alive.
        unsafe {
            match input.below(4) {
                0 => hsa_signal_store_screlease(signal, value),
                1 => hsa_signal_add_relaxed(signal, value),
                2 => drop(hsa_signal_cas_scacq_screl(signal, value, 0)),
                _ => drop(hsa_signal_load_scacquire(signal)),
            }
        }
    }

    pub(super) fn wait(&mut self, input: &mut Input<'_>) {
        let (condition, value) = (input.below(4) as u32, input.number().cast_signed());
        let other = self.signal(input);
        let handler = input
            .flag()
            .then_some(on_signal as extern "C" fn(_, _) -> _);
        let data = std::ptr::without_provenance_mut(input.below(4));
        let conditions = input.pick(&[condition, condition, 4, u32::MAX]);
        let _ = call!(hsa_amd_signal_async_handler(
            other, conditions, value, handler, data
        ));
        let mut pointer = null_mut();
        let status = call!(hsa_amd_signal_value_pointer(other, &mut pointer));
        assert!(status != SUCCESS || !pointer.is_null());
        let Some(signal) = self.signals.any(input) else {
            return;
        };
        let timeout = input.pick(&[0, 1, 1000]);
        let signals = [signal, 0];
        let count = 1 + u32::from(input.flag());
        // SAFETY: the signal is alive and the conditions exist; the lists have two elements.
        unsafe {
            hsa_signal_wait_scacquire(signal, condition, value, timeout, input.byte().into());
            hsa_amd_signal_wait_any(
                count,
                signals.as_ptr(),
                [condition; 2].as_ptr(),
                [value; 2].as_ptr(),
                timeout,
                0,
                if input.flag() {
                    &raw mut self.own[0] as *mut i64
                } else {
                    null_mut()
                },
            );
        }
    }

    pub(super) fn group(&mut self, input: &mut Input<'_>) {
        if input.flag() {
            let group = self.one_of(&self.groups, input);
            let status = call!(hsa_signal_group_destroy(group));
            self.groups.destroyed(group, status);
        } else if self.groups.live.len() < MOST {
            let signals: Vec<u64> = (0..input.below(4)).map(|_| self.signal(input)).collect();
            let (count, agents) = self.agent_list(input);
            let mut group = 0;
            let status = call!(hsa_signal_group_create(
                signals.len() as u32,
                signals.as_ptr(),
                count,
                agents.as_ptr(),
                &mut group
            ));
            if status == SUCCESS {
                self.groups.add(group);
            }
        }
    }
}
