//! The environment variables of AMD's runtime: what becomes of each here. Rukh's own start with `RUKH_`.
//!
//! [`VARIABLES`] is the one list. A variable that is set and has no meaning here is not an error; what
//! it would change is written beside it.

/// What becomes of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// It does what it does in AMD's runtime.
    Honoured,
    /// There is nothing here that it could change.
    NotApplicable,
}

/// A variable of AMD's runtime.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What becomes of it.
    pub state: Use,
    /// What it does, or why there is nothing to do.
    pub text: &'static str,
}

macro_rules! variables {
    ($($state:ident { $($name:ident: $text:literal,)* })*) => {
        /// All variables of AMD's runtime, in the order of its documentation.
        pub const VARIABLES: &[Variable] = &[$($(
            Variable { name: stringify!($name), state: Use::$state, text: $text },
        )*)*];
    };
}

variables! {
    Honoured {
        ROCR_VISIBLE_DEVICES: "which GPUs there are, and their order: indices or prefixes of UUIDs",
        HSA_OVERRIDE_GFX_VERSION: "the instruction set that GPUs of the same major version report; with _ and the number of a node at its end, what that GPU alone reports; an empty value is ignored",
        HSA_CU_MASK: "compute units of each GPU that queues may use; ignored from the first part on that makes no sense",
        HSA_CU_MASK_SKIP_INIT: "queues start without a mask; later masks are still clipped",
        HSA_MAX_QUEUES: "most queues of a GPU at a time, up to 128; 0 is no limit",
        HSA_TOOLS_LIB: "tools to load",
        HSA_TOOLS_REPORT_LOAD_FAILURE: "say which tool could not be loaded, and why",
        HSA_TOOLS_DISABLE_REGISTER: "do not look for rocprofiler-register",
        HSA_TOOLS_REPORT_REGISTER_FAILURE: "say that rocprofiler-register refused",
        HSA_ENABLE_VM_FAULT_MESSAGE: "0: no line on standard error for a memory fault",
        HSA_ENABLE_QUEUE_FAULT_MESSAGE: "0: no line on standard error for a queue that stops without a callback",
    }
    NotApplicable {
        HSA_DISCOVER_COPY_AGENTS: "copies need no agents of their own",
        HSA_XNACK: "no agent retries page faults",
        HSA_ENABLE_SRAMECC: "a profile says whether memory is checked",
        HSA_IGNORE_SRAMECC_MISREPORT: "nothing is misreported",
        HSA_COOP_CU_COUNT: "cooperative queues use all compute units",
        HSA_ALLOCATE_QUEUE_DEV_MEM: "rings are in host memory",
        HSA_ENABLE_INTERRUPT: "waiters that sleep are woken by whoever changes the signal; nothing polls either way",
        HSA_ENABLE_MWAITX: "waits do not use it",
        HSA_WAIT_ANY_DEBUG: "waits for several signals sleep in any case",
        HSA_SIGNAL_WAIT_ABORT_TIMEOUT: "waits end by their own limit",
        HSA_ASYNCEVENTS_THREAD_PRIORITY: "the runtime's thread has the process's priority",
        HSA_OVERRIDE_CPU_AFFINITY_DEBUG: "the runtime's threads keep the affinity of the thread that started it",
        HSA_SCRATCH_MEM: "scratch is allocated by what kernels need",
        HSA_SCRATCH_SINGLE_LIMIT: "scratch is allocated by what kernels need",
        HSA_SCRATCH_SINGLE_LIMIT_ASYNC: "scratch is not reclaimed while kernels run",
        HSA_ENABLE_SCRATCH_ASYNC_RECLAIM: "scratch is not reclaimed while kernels run",
        HSA_ENABLE_SCRATCH_ALT: "there is one kind of scratch",
        HSA_NO_SCRATCH_RECLAIM: "scratch stays with its queue",
        HSA_NO_SCRATCH_THREAD_LIMITER: "scratch is allocated by what kernels need",
        HSA_CHECK_FLAT_SCRATCH: "flat addresses of scratch are always checked",
        HSA_ENABLE_SDMA: "the host or the backend's engine copies",
        HSA_ENABLE_PEER_SDMA: "the host or the backend's engine copies",
        HSA_ENABLE_SDMA_GANG: "the host or the backend's engine copies",
        HSA_ENABLE_SDMA_COPY_SIZE_OVERRIDE: "the host or the backend's engine copies",
        HSA_ENABLE_SDMA_RECOMMENDED_ENG: "the host or the backend's engine copies",
        HSA_SDMA_WAIT_IDLE: "the host or the backend's engine copies",
        HSA_ENABLE_SDMA_HDP_FLUSH: "the backend flushes where it must",
        HSA_REV_COPY_DIR: "the host or the backend's engine copies",
        HSA_FORCE_SDMA_SIZE: "the host or the backend's engine copies",
        HSA_CO_DMACOPY_SIZE: "the host copies code objects",
        HSA_DISABLE_FRAGMENT_ALLOCATOR: "allocations are not fragments of blocks",
        HSA_FORCE_FINE_GRAIN_PCIE: "a profile says which pools there are",
        HSA_ENABLE_IPC_MODE_LEGACY: "the legacy calls exist only in drivers out of the kernel's tree",
        HSA_SVM_PROFILE: "there are no events of shared virtual memory",
        HSA_ZFB: "device memory is device memory",
        HSA_USE_UDMABUF: "device memory is device memory",
        HSA_USE_SVM: "memory is allocated by the kernel driver's calls",
        HSA_DISABLE_CACHE: "caches are the driver's",
        HSA_USERPTR_FOR_PAGED_MEM: "a matter of the backend",
        HSA_CHECK_USERPTR: "a matter of the backend",
        HSA_RESERVE_SVM: "address space is not reserved",
        HSA_SVM_GUARD_PAGES: "there are always guards",
        HSA_HIGH_PRECISION_MODE: "there is one mode",
        HSA_MAX_VA_ALIGN: "allocations are aligned as their pool says",
        HSA_ENABLE_DEBUG: "there is no other build to switch to",
        HSA_TOOLS_ROCPROFILER_V1_TOOLS: "tools of the old interface are always loaded",
        HSA_DISABLE_IMAGE: "images have capacities of zero",
        HSA_DISABLE_PC_SAMPLING: "there is none",
        HSA_PCS_MAX_DEVICE_BUFFER_SIZE: "there is none",
        HSA_IMAGE_PRINT_SRD: "images have capacities of zero",
        HSA_IMAGE_ENABLE_3D_SWIZZLE_DEBUG: "images have capacities of zero",
        HSA_DISABLE_COREDUMP_ON_EXCEPTION: "no core of a GPU is dumped",
        HSA_COUNTED_QUEUE_SIZE: "queues are as large as clients ask for",
        HSA_LOADER_ENABLE_MMAP_URI: "code objects are named by file or memory",
        LOADER_OPTIONS_APPEND: "the loader has no options",
        HSA_RUNNING_UNDER_VALGRIND: "nothing needs to know",
        HSAKMT_DEBUG_LEVEL: "there is no such library below",
        HSA_ENABLE_DTIF: "there is no such library below",
        HSA_MODEL_TOPOLOGY: "RUKH_BACKEND chooses a software GPU",
        HSA_MODEL_MEMFILE: "RUKH_BACKEND chooses a software GPU",
        HSA_MODEL_LIB: "RUKH_BACKEND chooses a software GPU",
    }
}

/// The value of a variable, if it is set.
pub fn text(name: &str) -> Option<String> {
    debug_assert!(
        VARIABLES
            .iter()
            .any(|v| v.name == name && v.state == Use::Honoured),
        "{name} is read and not listed as honoured"
    );
    Some(std::env::var_os(name)?.to_string_lossy().into_owned())
}

/// The value of a variable for one node: of `NAME_NODE` if that is set, otherwise of `NAME`.
pub fn text_of_node(name: &str, node: u32) -> Option<String> {
    let general = text(name);
    let own = std::env::var_os(format!("{name}_{node}"));
    own.map(|own| own.to_string_lossy().into_owned())
        .or(general)
}

/// A switch: `0` is off, `1` is on, anything else leaves it as it is.
pub fn flag(name: &str, default: bool) -> bool {
    match text(name).as_deref() {
        Some("0") => false,
        Some("1") => true,
        _ => default,
    }
}

/// A number as C's `atoi` reads it: digits as far as there are any, 0 without.
pub fn count(name: &str) -> Option<u64> {
    Some(leading_number(text(name)?.trim_start()))
}

fn leading_number(text: &str) -> u64 {
    let negative = text.starts_with('-');
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = digits.bytes().take_while(u8::is_ascii_digit).count();
    match digits[..end].parse() {
        Ok(0) => 0,
        Ok(_) if negative => u64::MAX,
        Ok(number) => number,
        Err(_) if end == 0 => 0,
        Err(_) => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variable_is_listed_once_and_says_what_becomes_of_it() {
        for (at, variable) in VARIABLES.iter().enumerate() {
            assert!(!variable.text.is_empty(), "{}", variable.name);
            let again = VARIABLES[at + 1..]
                .iter()
                .any(|other| other.name == variable.name);
            assert!(!again, "{} is listed twice", variable.name);
        }
    }

    #[test]
    fn numbers_are_read_as_far_as_they_are_some() {
        let read = [
            ("12", 12),
            ("7 queues", 7),
            ("+3", 3),
            ("", 0),
            ("none", 0),
            ("-0", 0),
        ];
        for (text, number) in read {
            assert_eq!(leading_number(text), number, "{text}");
        }
        assert_eq!(leading_number("-1"), u64::MAX);
        assert_eq!(leading_number("99999999999999999999"), u64::MAX);
    }

    #[test]
    fn the_readme_names_what_is_honoured() {
        let readme = include_str!("../../README.md");
        for variable in VARIABLES.iter().filter(|v| v.state == Use::Honoured) {
            let name = format!("`{}`", variable.name);
            assert!(readme.contains(&name), "the README lacks {name}");
        }
    }
}
