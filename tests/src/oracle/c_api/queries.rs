//! Questions, iterations, and calls that are rare.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::Client;
use super::declare::*;
use super::objects::name;
use crate::oracle::input::Input;

/// Counts down; at the end it answers what stops an iteration, or an error.
extern "C" fn stop(_: u64, data: *mut c_void) -> Status {
    // SAFETY: the data that this oracle passes with this function.
    let left = unsafe { &mut *data.cast::<u32>() };
    *left = left.wrapping_sub(1);
    match *left {
        0 => 1,
        1 => 0x1001,
        _ => SUCCESS,
    }
}

impl Client {
    pub(super) fn query(&mut self, input: &mut Input<'_>) {
        let attribute = match input.byte() {
            0..=127 => u32::from(input.byte()),
            // AMD's own begin there.
            128..=247 => 0xa000 + u32::from(input.byte()),
            _ => input.number() as u32,
        };
        let value = self.value(input);
        let of = |list: &[u64], input: &mut Input<'_>| self.handle(list, &self.pools, input);
        let _ = match input.below(9) {
            0 => call!(hsa_system_get_info(attribute, value)),
            1 | 2 => call!(hsa_agent_get_info(
                of(&self.agents, input),
                attribute,
                value
            )),
            3 => call!(hsa_isa_get_info_alt(
                of(&self.others, input),
                attribute,
                value
            )),
            4 => call!(hsa_cache_get_info(
                of(&self.others, input),
                attribute,
                value
            )),
            5 => call!(hsa_region_get_info(
                of(&self.regions, input),
                attribute,
                value
            )),
            6 => call!(hsa_amd_memory_pool_get_info(
                of(&self.pools, input),
                attribute,
                value
            )),
            7 => {
                let agent = of(&self.agents, input);
                let pool = of(&self.pools, input);
                call!(hsa_amd_agent_memory_pool_get_info(
                    agent, pool, attribute, value
                ))
            }
            _ => call!(hsa_code_object_get_info(
                of(&self.code_objects.live, input),
                attribute,
                value
            )),
        };
    }

    pub(super) fn iterate(&mut self, input: &mut Input<'_>) {
        let agent = self.agent(input);
        let visit = (input.byte() < 240).then_some(stop as Visit);
        let mut left = 1 + u32::from(input.byte());
        let data = (&raw mut left).cast();
        let _ = match input.below(1 + OF_AGENTS.len()).checked_sub(1) {
            None => call!(hsa_iterate_agents(visit, data)),
            Some(at) => {
                let iterate = OF_AGENTS[at];
                call!(iterate(agent, visit, data))
            }
        };
    }

    pub(super) fn rare(&mut self, input: &mut Input<'_>) {
        let (memory, size) = self.range(input);
        let signal = self.signal(input);
        // Words of a handle that some other process might have sent.
        let handle = [input.u64(), input.u64(), 0, 0];
        match input.below(6) {
            0 => {
                assert_eq!(call!(hsa_init()), SUCCESS);
                assert_eq!(call!(hsa_shut_down()), SUCCESS);
            }
            1 => {
                let mut text = null();
                let status = call!(hsa_status_string(input.number() as u32, &mut text));
                assert!(status != SUCCESS || !text.is_null());
            }
            2 => {
                let length = input.pick(&[0, 8, 64, 512, 4096]);
                let (extension, major) = (
                    input.pick(&[0u16, 1, 0x200, 0x201, 0x202, 0x203, 7]),
                    input.byte() % 3,
                );
                let table = self.own.as_mut_ptr().cast();
                let _ = call!(hsa_system_get_major_extension_table(
                    extension,
                    major.into(),
                    length,
                    table
                ));
            }
            3 => {
                let text = name(input);
                let text = text.as_ref().map_or(null(), |text| text.as_ptr());
                let _ = call!(hsa_isa_from_name(text, &mut 0));
            }
            // What is shared can be attached; what was made up cannot.
            4 => {
                let mut room = [0u64; 8];
                let room: *mut core::ffi::c_void = room.as_mut_ptr().cast();
                if call!(hsa_amd_ipc_memory_create(memory, size, room)) == SUCCESS {
                    let mut at = null_mut();
                    let attached = call!(hsa_amd_ipc_memory_attach(room, size, 0, null(), &mut at));
                    assert_eq!(attached, SUCCESS);
                    assert_ne!(call!(hsa_amd_ipc_memory_detach(memory)), SUCCESS);
                    assert_eq!(call!(hsa_amd_ipc_memory_detach(at)), SUCCESS);
                }
                if call!(hsa_amd_ipc_signal_create(signal, room)) == SUCCESS {
                    let mut attached = 0;
                    assert_eq!(
                        call!(hsa_amd_ipc_signal_attach(room, &mut attached)),
                        SUCCESS
                    );
                    assert_eq!(call!(hsa_signal_destroy(attached)), SUCCESS);
                }
                let (mut at, mut attached) = (null_mut(), 0);
                let from = handle.as_ptr().cast();
                assert_ne!(
                    call!(hsa_amd_ipc_memory_attach(from, size, 0, null(), &mut at)),
                    SUCCESS
                );
                assert_ne!(
                    call!(hsa_amd_ipc_signal_attach(from, &mut attached)),
                    SUCCESS
                );
            }
            _ => {
                let mut at = null_mut();
                let status = call!(hsa_amd_vmem_address_reserve(
                    &mut at,
                    size,
                    input.number(),
                    0
                ));
                let number = input.number();
                // Memory that was made up is mapped nowhere, least of all where nothing was reserved.
                for at in [at, memory] {
                    assert_ne!(call!(hsa_amd_vmem_map(at, size, 0, number, 0)), SUCCESS);
                    assert_ne!(call!(hsa_amd_vmem_unmap(at, size)), SUCCESS);
                    let access = [3, signal];
                    let access = access.as_ptr().cast();
                    assert_ne!(call!(hsa_amd_vmem_set_access(at, size, access, 1)), SUCCESS);
                    assert_ne!(call!(hsa_amd_vmem_retain_alloc_handle(&mut 0, at)), SUCCESS);
                }
                assert_ne!(call!(hsa_amd_vmem_handle_release(number)), SUCCESS);
                // A descriptor of the process may well be of memory: what it was imported as is given back, once.
                let mut imported = 0;
                let descriptor = number as i32;
                if call!(hsa_amd_vmem_import_shareable_handle(
                    descriptor,
                    &mut imported
                )) == SUCCESS
                {
                    assert_eq!(call!(hsa_amd_vmem_handle_release(imported)), SUCCESS);
                    assert_ne!(call!(hsa_amd_vmem_handle_release(imported)), SUCCESS);
                }
                if status == SUCCESS {
                    assert_ne!(call!(hsa_amd_vmem_address_free(at, size + 1)), SUCCESS);
                    assert_eq!(call!(hsa_amd_vmem_address_free(at, size)), SUCCESS);
                }
                assert_ne!(call!(hsa_amd_vmem_address_free(memory, size)), SUCCESS);
            }
        }
    }
}
