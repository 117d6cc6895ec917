//! What extensions have: shared virtual memory, dmabufs, the loader's questions, and code objects of before there were readers.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::declare::*;
use super::objects::name;
use super::{Client, OWN};
use crate::oracle::input::Input;

const PAGE: usize = 4096;

/// Gives a client's own memory, to which the data points.
extern "C" fn lend(size: usize, data: u64, at: *mut *mut c_void) -> Status {
    if size > OWN {
        return 0x1008;
    }
    // SAFETY: the library gives a place for the address.
    unsafe { at.write(std::ptr::with_exposed_provenance_mut(data as usize)) };
    SUCCESS
}

impl Client {
    pub(super) fn extension(&mut self, input: &mut Input<'_>) {
        match input.below(4) {
            0 => self.shared_virtual_memory(input),
            1 => self.dmabuf(input),
            2 => self.loader(input),
            _ => self.code_object(input),
        }
    }

    fn shared_virtual_memory(&mut self, input: &mut Input<'_>) {
        let own = self.own.as_mut_ptr().expose_provenance();
        let pages = own.next_multiple_of(PAGE);
        let whole = (own + OWN - pages) / PAGE * PAGE;
        let (memory, size) = self.range(input);
        let (at, size) = match input.below(8) {
            0 => (memory, size),
            1 => (null_mut(), PAGE),
            2 => (std::ptr::with_exposed_provenance_mut(pages + 8), PAGE),
            3 => (std::ptr::with_exposed_provenance_mut(pages), 0),
            _ => (std::ptr::with_exposed_provenance_mut(pages), whole),
        };
        let mut list: Vec<[u64; 2]> = (0..input.below(5))
            .map(|_| {
                let attribute = match input.byte() {
                    0..=127 => u64::from(input.byte() % 8),
                    128..=239 => 0x200 + u64::from(input.byte() % 5),
                    _ => input.number(),
                };
                let value = match input.below(3) {
                    0 => self.agent(input),
                    1 => input.below(4) as u64,
                    _ => input.number(),
                };
                [attribute, value]
            })
            .collect();
        let (first, count) = (list.as_mut_ptr(), list.len());
        match input.below(3) {
            0 => {
                let _ = call!(hsa_amd_svm_attributes_set(at, size, first, count));
            }
            1 => {
                let _ = call!(hsa_amd_svm_attributes_get(at, size, first, count));
            }
            _ => {
                let signals = [self.signal(input)];
                let (agent, done) = (self.agent(input), self.signal(input));
                let (first, count) = if signals[0] == 0 {
                    (null(), 0)
                } else {
                    (signals.as_ptr(), 1)
                };
                let _ = call!(hsa_amd_svm_prefetch_async(
                    at, size, agent, count, first, done
                ));
            }
        }
    }

    /// Whatever can be exported is memory wherever its descriptor goes, until it is given back.
    fn dmabuf(&mut self, input: &mut Input<'_>) {
        let (memory, size) = self.range(input);
        let part = input.pick(&[size, size / 2, 1, 0, size + 1]);
        let (mut descriptor, mut offset) = (-1, 0);
        let status = call!(hsa_amd_portable_export_dmabuf(
            memory,
            part,
            &mut descriptor,
            &mut offset
        ));
        if status != SUCCESS {
            assert_eq!(descriptor, -1);
        }
        let (count, mut agents) = self.agent_list(input);
        let (mut length, mut at) = (0, null_mut());
        let (mut metadata_size, mut metadata) = (0, null());
        let flags = u32::from(input.byte() >= 250);
        let mapped = call!(hsa_amd_interop_map_buffer(
            count,
            agents.as_mut_ptr(),
            descriptor,
            flags,
            &mut length,
            &mut at,
            &mut metadata_size,
            &mut metadata
        ));
        if mapped == SUCCESS {
            assert!(status == SUCCESS && length >= part && !at.is_null());
            assert_eq!(call!(hsa_amd_interop_unmap_buffer(at)), SUCCESS);
            assert_ne!(call!(hsa_amd_interop_unmap_buffer(at)), SUCCESS);
        }
        let closed = call!(hsa_amd_portable_close_dmabuf(descriptor));
        assert_eq!(closed == SUCCESS, status == SUCCESS);
    }

    fn loader(&mut self, input: &mut Input<'_>) {
        let mut table = std::mem::MaybeUninit::<LoaderTable>::uninit();
        let status = call!(hsa_system_get_major_extension_table(
            0x201,
            1,
            size_of::<LoaderTable>(),
            table.as_mut_ptr().cast()
        ));
        assert_eq!(status, SUCCESS);
        // SAFETY: the library has written as much of the table as there is.
        let LoaderTable {
            host_address,
            segments,
            executable_of,
            iterate_loaded,
            loaded_info,
            reader_of_part,
            iterate_executables,
        } = unsafe { table.assume_init() };
        let executables = all(|visit, data| call!(iterate_executables(visit, data)));
        for executable in &self.executables.live {
            assert!(executables.contains(executable));
        }
        let executable = self.one_of(&self.executables, input);
        let mut loaded: Vec<u64> = Vec::new();
        let list = (&raw mut loaded).cast();
        let status = call!(iterate_loaded(executable, Some(collect_part), list));
        let is_live = self.executables.live.contains(&executable);
        assert!(is_live || status != SUCCESS);
        let one = self.handle(&loaded, &self.executables.live, input);
        let value = self.value(input);
        let _ = call!(loaded_info(one, input.byte() as u32 % 16, value));

        // Of any address: it is in a loaded segment, and of an executable, or of none.
        let (memory, _) = self.range(input);
        let near = self.symbols.get(input.below(self.symbols.len() + 1));
        let address: *const c_void = match (near, input.flag()) {
            (Some(symbol), _) => {
                let offset = input.pick(&[0, 64, u64::MAX]);
                std::ptr::without_provenance(symbol.wrapping_add(offset) as usize)
            }
            (None, true) => memory,
            (None, false) => std::ptr::without_provenance(input.number() as usize),
        };
        let mut host = null();
        let on_host = call!(host_address(address, &mut host));
        assert!(on_host != SUCCESS || !host.is_null() || address.is_null());
        let mut found = 0;
        if call!(executable_of(address, &mut found)) == SUCCESS {
            assert!(self.executables.live.contains(&found), "{found:#x}");
        }

        let mut count = 0;
        assert_eq!(call!(segments(null_mut(), &mut count)), SUCCESS);
        let mut list = vec![[0; 8]; count];
        if count > 0 {
            assert_eq!(call!(segments(list.as_mut_ptr(), &mut count)), SUCCESS);
            assert!(list.iter().all(|segment| executables.contains(&segment[1])));
            let mut fewer = count - 1;
            assert_ne!(call!(segments(list.as_mut_ptr(), &mut fewer)), SUCCESS);
        }
        let numbers = [input.number() as usize, input.number() as usize];
        assert_ne!(
            call!(reader_of_part(-1, numbers[0], numbers[1], &mut 0)),
            SUCCESS
        );
    }

    fn code_object(&mut self, input: &mut Input<'_>) {
        let object = self.one_of(&self.code_objects, input);
        let is_live = self.code_objects.live.contains(&object);
        let mut symbols: Vec<u64> = Vec::new();
        let list = (&raw mut symbols).cast();
        let status = call!(hsa_code_object_iterate_symbols(
            object,
            Some(collect_part),
            list
        ));
        assert!(is_live || status != SUCCESS);
        let name = name(input);
        let text = name.as_ref().map_or(null(), |name| name.as_ptr());
        let mut symbol = 0;
        if call!(hsa_code_object_get_symbol(object, text, &mut symbol)) == SUCCESS {
            assert!(symbols.contains(&symbol), "{symbol:#x}");
        }
        let symbol = self.handle(&symbols, &self.code_objects.live, input);
        let attribute = u32::from(input.byte() % 24);
        let mut length = 0u32;
        // HSA_CODE_SYMBOL_INFO_NAME_LENGTH, and that of the module: a client makes room for what it asks for.
        for of in [1, 4] {
            let mut one = 0u32;
            if call!(hsa_code_symbol_get_info(symbol, of, (&raw mut one).cast())) == SUCCESS {
                length = length.max(one);
            }
        }
        if length as usize <= OWN {
            let value = self.value(input);
            let _ = call!(hsa_code_symbol_get_info(symbol, attribute, value));
        }
        let (mut at, mut size) = (null_mut(), 0);
        let own = self.own.as_mut_ptr().expose_provenance() as u64;
        let lend = (input.byte() < 240).then_some(lend as Allocate);
        let status = call!(hsa_code_object_serialize(
            object,
            lend,
            own,
            null(),
            &mut at,
            &mut size
        ));
        assert!(is_live || status != SUCCESS);
        if status == SUCCESS {
            assert!(size <= OWN && at.addr() as u64 == own);
        }
    }
}
