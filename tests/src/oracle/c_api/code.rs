//! Code objects, executables and symbols.

use std::ffi::c_void;
use std::ptr::null;

use super::declare::*;
use super::objects::name;
use super::{Client, MOST};
use crate::golden::committed;
use crate::oracle::input::Input;
use crate::oracle::mutate::mutate;
use crate::oracle::rng::Rng;

extern "C" fn collect_symbol(_: u64, _: u64, symbol: u64, data: *mut c_void) -> Status {
    collect(symbol, data)
}

impl Client {
    pub(super) fn read_object(&mut self, input: &mut Input<'_>) {
        if input.below(4) == 0 {
            let reader = self.one_of(&self.readers, input);
            let status = call!(hsa_code_object_reader_destroy(reader));
            self.readers.destroyed(reader, status);
            let object = self.one_of(&self.code_objects, input);
            let status = call!(hsa_code_object_destroy(object));
            self.code_objects.destroyed(object, status);
            return;
        }
        if self.files.len() >= MOST {
            return;
        }
        let object = committed::ALL[input.below(committed::ALL.len())].code_object;
        let mut bytes = object.to_vec();
        if input.flag() {
            bytes = mutate(&bytes, &mut Rng::new(input.u16().into()));
        }
        let size = input.pick(&[bytes.len(), bytes.len(), bytes.len() / 2, 0]);
        let at = bytes.as_ptr().cast::<c_void>();
        let mut handle = 0;
        let old = input.flag();
        let status = if old {
            call!(hsa_code_object_deserialize(at, size, null(), &mut handle))
        } else {
            call!(hsa_code_object_reader_create_from_memory(
                at,
                size,
                &mut handle
            ))
        };
        if status == SUCCESS {
            let list = if old {
                &mut self.code_objects
            } else {
                &mut self.readers
            };
            list.add(handle);
            self.files.push(bytes);
        }
        assert_ne!(
            call!(hsa_code_object_reader_create_from_file(-1, &mut handle)),
            SUCCESS
        );
    }

    pub(super) fn executable(&mut self, input: &mut Input<'_>) {
        let executable = self.one_of(&self.executables, input);
        let is_live = self.executables.live.contains(&executable);
        let agent = self.agent(input);
        let status = match input.below(9) {
            0 | 1 if self.executables.live.len() < MOST => {
                let mut made = 0;
                let (profile, rounding) = (input.pick(&[1, 0, 2]), input.pick(&[0, 1, 2, 3]));
                let status = call!(hsa_executable_create_alt(
                    profile,
                    rounding,
                    null(),
                    &mut made
                ));
                if status == SUCCESS {
                    self.executables.add(made);
                }
                return;
            }
            2 => {
                let status = call!(hsa_executable_destroy(executable));
                self.executables.destroyed(executable, status);
                return;
            }
            3 | 4 => {
                let reader = self.one_of(&self.readers, input);
                let mut loaded = 0;
                call!(hsa_executable_load_agent_code_object(
                    executable,
                    agent,
                    reader,
                    null(),
                    &mut loaded
                ))
            }
            5 => {
                let object = self.one_of(&self.code_objects, input);
                call!(hsa_executable_load_code_object(
                    executable,
                    agent,
                    object,
                    null()
                ))
            }
            6 => {
                let value = self.value(input);
                call!(hsa_executable_get_info(
                    executable,
                    input.byte().into(),
                    value
                ))
            }
            7 => {
                let (at, _) = self.range(input);
                let name = name(input);
                let name = name.as_ref().map_or(null(), |name| name.as_ptr());
                call!(hsa_executable_agent_global_variable_define(
                    executable, agent, name, at
                ))
            }
            _ => call!(hsa_executable_freeze(executable, null())),
        };
        assert!(is_live || status != SUCCESS);
    }

    pub(super) fn symbol(&mut self, input: &mut Input<'_>) {
        let executable = self.one_of(&self.executables, input);
        let agent = self.agent(input);
        let mut found = Vec::new();
        let list = (&raw mut found).cast();
        let _ = call!(hsa_executable_iterate_agent_symbols(
            executable,
            agent,
            Some(collect_symbol),
            list
        ));
        let name = name(input);
        let text = name.as_ref().map_or(null(), |name| name.as_ptr());
        let by = if input.byte() < 200 {
            &raw const agent
        } else {
            null()
        };
        let mut symbol = 0;
        let status = call!(hsa_executable_get_symbol_by_name(
            executable,
            text,
            by,
            &mut symbol
        ));
        if status == SUCCESS {
            found.push(symbol);
        }
        for symbol in &found {
            let mut object = 0u64;
            // HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT.
            let at = (&raw mut object).cast();
            if call!(hsa_executable_symbol_get_info(*symbol, 22, at)) == SUCCESS {
                self.symbols.push(object);
            }
        }
        self.symbols.truncate(MOST);
        let symbol = self.handle(&found, &self.executables.live, input);
        let value = self.value(input);
        let _ = call!(hsa_executable_symbol_get_info(
            symbol,
            input.byte().into(),
            value
        ));
    }
}
