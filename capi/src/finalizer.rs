//! Chapter finalizer: HSAIL programs. AMD's runtime has no finalizer either, so every one of these
//! answers an error there too.

use crate::abi::{CodeObject, ExtProgram, Isa, Opaque};
use crate::arg::{Out, Value};
use crate::entry::not_yet;
use core::ffi::{c_char, c_void};

/// `hsa_ext_control_directives_t`, passed by value: in memory in the C calling convention, so its
/// size matters.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ControlDirectives {
    /// Opaque here.
    pub words: [u64; 18],
}

not_yet! {
    fn hsa_ext_program_create(machine_model: u32, profile: u32, default_float_rounding_mode: u32,
        options: *const c_char, program: Out<ExtProgram>) -> ERROR;
    fn hsa_ext_program_destroy(program: ExtProgram) -> INVALID_PROGRAM;
    fn hsa_ext_program_add_module(program: ExtProgram, module: *const Opaque) -> INVALID_PROGRAM;
    fn hsa_ext_program_iterate_modules(program: ExtProgram, callback: *const Opaque,
        data: *mut c_void) -> INVALID_PROGRAM;
    fn hsa_ext_program_get_info(program: ExtProgram, attribute: u32, value: Value) -> INVALID_PROGRAM;
    fn hsa_ext_program_finalize(program: ExtProgram, isa: Isa, call_convention: i32,
        control_directives: ControlDirectives, options: *const c_char, code_object_type: u32,
        code_object: Out<CodeObject>) -> INVALID_PROGRAM;
}
