//! `hsa_status_t`: the codes of the core specification, of AMD's extensions, and of the finalizer
//! and image extensions, each with the text that `hsa_status_string` gives.

use core::fmt;

/// `hsa_status_t`. Any number can come back from a client's callback, so this is a number with
/// names, not an enumeration.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Status(pub u32);

macro_rules! statuses {
    ($($name:ident = $value:literal, $c:ident, $text:literal $(, $newer:ident)?;)*) => {
        #[doc(hidden)]
        impl Status {
            $(#[doc = $text] pub const $name: Self = Self($value);)*

            /// C name, value, and whether the oldest headers lack it.
            #[cfg(test)]
            pub(crate) const C_NAMES: &[(&str, u32, bool)] =
                &[$((stringify!($c), $value, !matches!(stringify!($($newer)?).as_bytes(), b""))),*];

            /// The C name and a description, or `None` for a number that is no status.
            pub const fn text(self) -> Option<&'static core::ffi::CStr> {
                match self.0 {
                    $($value => {
                        const TEXT: &core::ffi::CStr =
                            match core::ffi::CStr::from_bytes_with_nul(
                                concat!(stringify!($c), ": ", $text, "\0").as_bytes()) {
                                Ok(text) => text,
                                Err(_) => panic!("a status text holds a NUL"),
                            };
                        Some(TEXT)
                    })*
                    _ => None,
                }
            }
        }
    };
}

statuses! {
    SUCCESS = 0x0, HSA_STATUS_SUCCESS, "done";
    INFO_BREAK = 0x1, HSA_STATUS_INFO_BREAK, "a callback ended the iteration";
    INVALID_MEMORY_POOL = 40, HSA_STATUS_ERROR_INVALID_MEMORY_POOL, "no such memory pool";
    MEMORY_APERTURE_VIOLATION = 41, HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION,
        "a kernel accessed memory beyond the end of an aperture";
    ILLEGAL_INSTRUCTION = 42, HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION,
        "a kernel holds an instruction that the agent does not have";
    MEMORY_FAULT = 43, HSA_STATUS_ERROR_MEMORY_FAULT,
        "a kernel accessed memory that is not mapped to the agent, or not with that right";
    CU_MASK_REDUCED = 44, HSA_STATUS_CU_MASK_REDUCED,
        "set, without the compute units that the environment reserves";
    OUT_OF_REGISTERS = 45, HSA_STATUS_ERROR_OUT_OF_REGISTERS,
        "a kernel needs more vector registers than the agent has", newer;
    RESOURCE_BUSY = 46, HSA_STATUS_ERROR_RESOURCE_BUSY, "in use just now", newer;
    NOT_SUPPORTED = 47, HSA_STATUS_ERROR_NOT_SUPPORTED, "not supported on this system", newer;
    ERROR = 0x1000, HSA_STATUS_ERROR, "an error without a code of its own";
    INVALID_ARGUMENT = 0x1001, HSA_STATUS_ERROR_INVALID_ARGUMENT,
        "an argument is null, out of range or unknown";
    INVALID_QUEUE_CREATION = 0x1002, HSA_STATUS_ERROR_INVALID_QUEUE_CREATION,
        "the agent has no queues of this kind";
    INVALID_ALLOCATION = 0x1003, HSA_STATUS_ERROR_INVALID_ALLOCATION,
        "this memory cannot be allocated, or was not";
    INVALID_AGENT = 0x1004, HSA_STATUS_ERROR_INVALID_AGENT, "no such agent";
    INVALID_REGION = 0x1005, HSA_STATUS_ERROR_INVALID_REGION, "no such memory region";
    INVALID_SIGNAL = 0x1006, HSA_STATUS_ERROR_INVALID_SIGNAL, "no such signal";
    INVALID_QUEUE = 0x1007, HSA_STATUS_ERROR_INVALID_QUEUE, "no such queue";
    OUT_OF_RESOURCES = 0x1008, HSA_STATUS_ERROR_OUT_OF_RESOURCES,
        "memory, queues, events or another resource has run out, or no device is usable";
    INVALID_PACKET_FORMAT = 0x1009, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, "a malformed AQL packet";
    RESOURCE_FREE = 0x100A, HSA_STATUS_ERROR_RESOURCE_FREE, "a resource could not be given back";
    NOT_INITIALIZED = 0x100B, HSA_STATUS_ERROR_NOT_INITIALIZED, "hsa_init was not called";
    REFCOUNT_OVERFLOW = 0x100C, HSA_STATUS_ERROR_REFCOUNT_OVERFLOW,
        "hsa_init was called too often without hsa_shut_down";
    INCOMPATIBLE_ARGUMENTS = 0x100D, HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
        "arguments are fine alone but not together";
    INVALID_INDEX = 0x100E, HSA_STATUS_ERROR_INVALID_INDEX, "an index is out of range";
    INVALID_ISA = 0x100F, HSA_STATUS_ERROR_INVALID_ISA, "no such instruction set";
    INVALID_CODE_OBJECT = 0x1010, HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
        "a malformed code object, or one for another agent";
    INVALID_EXECUTABLE = 0x1011, HSA_STATUS_ERROR_INVALID_EXECUTABLE, "no such executable";
    FROZEN_EXECUTABLE = 0x1012, HSA_STATUS_ERROR_FROZEN_EXECUTABLE,
        "the executable is frozen, or for this call: not frozen";
    INVALID_SYMBOL_NAME = 0x1013, HSA_STATUS_ERROR_INVALID_SYMBOL_NAME, "no symbol of this name";
    VARIABLE_ALREADY_DEFINED = 0x1014, HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED,
        "the variable has an address already";
    VARIABLE_UNDEFINED = 0x1015, HSA_STATUS_ERROR_VARIABLE_UNDEFINED,
        "a variable that code refers to has no address";
    EXCEPTION = 0x1016, HSA_STATUS_ERROR_EXCEPTION, "a kernel raised an exception";
    INVALID_ISA_NAME = 0x1017, HSA_STATUS_ERROR_INVALID_ISA_NAME, "no instruction set of this name";
    INVALID_CODE_SYMBOL = 0x1018, HSA_STATUS_ERROR_INVALID_CODE_SYMBOL, "no such code object symbol";
    INVALID_EXECUTABLE_SYMBOL = 0x1019, HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL,
        "no such executable symbol";
    INVALID_FILE = 0x1020, HSA_STATUS_ERROR_INVALID_FILE, "a file cannot be read";
    INVALID_CODE_OBJECT_READER = 0x1021, HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER,
        "no such code object reader";
    INVALID_CACHE = 0x1022, HSA_STATUS_ERROR_INVALID_CACHE, "no such cache";
    INVALID_WAVEFRONT = 0x1023, HSA_STATUS_ERROR_INVALID_WAVEFRONT, "no such wavefront";
    INVALID_SIGNAL_GROUP = 0x1024, HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP, "no such signal group";
    INVALID_RUNTIME_STATE = 0x1025, HSA_STATUS_ERROR_INVALID_RUNTIME_STATE,
        "the runtime is not in a state for this call";
    FATAL = 0x1026, HSA_STATUS_ERROR_FATAL, "the queue can run nothing more";
    INVALID_PROGRAM = 0x2000, HSA_EXT_STATUS_ERROR_INVALID_PROGRAM, "no such finalizer program";
    INVALID_MODULE = 0x2001, HSA_EXT_STATUS_ERROR_INVALID_MODULE, "a malformed HSAIL module";
    INCOMPATIBLE_MODULE = 0x2002, HSA_EXT_STATUS_ERROR_INCOMPATIBLE_MODULE,
        "the HSAIL module does not fit the program";
    MODULE_ALREADY_INCLUDED = 0x2003, HSA_EXT_STATUS_ERROR_MODULE_ALREADY_INCLUDED,
        "the HSAIL module is in the program already";
    SYMBOL_MISMATCH = 0x2004, HSA_EXT_STATUS_ERROR_SYMBOL_MISMATCH,
        "symbols of HSAIL modules contradict each other";
    FINALIZATION_FAILED = 0x2005, HSA_EXT_STATUS_ERROR_FINALIZATION_FAILED, "HSAIL could not be finalized";
    DIRECTIVE_MISMATCH = 0x2006, HSA_EXT_STATUS_ERROR_DIRECTIVE_MISMATCH,
        "HSAIL control directives contradict each other";
    IMAGE_FORMAT_UNSUPPORTED = 0x3000, HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED,
        "the agent has no images of this format";
    IMAGE_SIZE_UNSUPPORTED = 0x3001, HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED,
        "the agent has no images of this size";
    IMAGE_PITCH_UNSUPPORTED = 0x3002, HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED,
        "the agent has no images of this pitch";
    SAMPLER_DESCRIPTOR_UNSUPPORTED = 0x3003, HSA_EXT_STATUS_ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED,
        "the agent has no samplers like this";
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text().and_then(|text| text.to_str().ok()) {
            Some(text) => f.write_str(text),
            None => write!(f, "status {:#x}", self.0),
        }
    }
}
