//! What the oracle calls of the C library, as C declares it; and how it calls.

use std::ffi::{c_char, c_void};

use rukh_core::wire::queue::HsaQueue;

pub(super) type Status = u32;
pub(super) type Visit = extern "C" fn(u64, *mut c_void) -> Status;
/// Visits what is part of what the first handle names.
pub(super) type VisitOf = extern "C" fn(u64, u64, *mut c_void) -> Status;
/// Gives memory for a code object.
pub(super) type Allocate = extern "C" fn(usize, u64, *mut *mut c_void) -> Status;
pub(super) type OnError = extern "C" fn(Status, *mut HsaQueue, *mut c_void);

pub(super) const SUCCESS: Status = 0;
pub(super) const NOT_INITIALIZED: Status = 0x100b;
/// Visits what a handle of an agent has.
pub(super) type Iterate = unsafe extern "C" fn(u64, Option<Visit>, *mut c_void) -> Status;

macro_rules! api {
    ($(fn $name:ident($($arg:ident: $ty:ty),*) $(-> $ret:ty)?;)*) => {
        unsafe extern "C" {
            $(pub(super) fn $name($($arg: $ty),*) $(-> $ret)?;)*
        }
    };
}

api! {
    fn hsa_init() -> Status;
    fn hsa_amd_register_system_event_handler(handler: Option<extern "C" fn(*const c_void, *mut c_void) -> Status>,
        data: *mut c_void) -> Status;
    fn hsa_shut_down() -> Status;
    fn hsa_status_string(status: u32, text: *mut *const c_char) -> Status;
    fn hsa_system_get_info(attribute: u32, value: *mut c_void) -> Status;
    fn hsa_system_get_major_extension_table(extension: u16, major: u16, length: usize, table: *mut c_void) -> Status;
    fn hsa_iterate_agents(visit: Option<Visit>, data: *mut c_void) -> Status;
    fn hsa_agent_get_info(agent: u64, attribute: u32, value: *mut c_void) -> Status;
    fn hsa_agent_iterate_caches(agent: u64, visit: Option<Visit>, data: *mut c_void) -> Status;
    fn hsa_agent_iterate_isas(agent: u64, visit: Option<Visit>, data: *mut c_void) -> Status;
    fn hsa_agent_iterate_regions(agent: u64, visit: Option<Visit>, data: *mut c_void) -> Status;
    fn hsa_amd_agent_iterate_memory_pools(agent: u64, visit: Option<Visit>, data: *mut c_void) -> Status;
    fn hsa_isa_from_name(name: *const c_char, isa: *mut u64) -> Status;
    fn hsa_isa_get_info_alt(isa: u64, attribute: u32, value: *mut c_void) -> Status;
    fn hsa_cache_get_info(cache: u64, attribute: u32, value: *mut c_void) -> Status;
    fn hsa_region_get_info(region: u64, attribute: u32, value: *mut c_void) -> Status;
    fn hsa_amd_memory_pool_get_info(pool: u64, attribute: u32, value: *mut c_void) -> Status;
    fn hsa_amd_agent_memory_pool_get_info(agent: u64, pool: u64, attribute: u32, value: *mut c_void) -> Status;
    fn hsa_amd_memory_pool_allocate(pool: u64, size: usize, flags: u32, memory: *mut *mut c_void) -> Status;
    fn hsa_amd_memory_pool_free(memory: *mut c_void) -> Status;
    fn hsa_memory_allocate(region: u64, size: usize, memory: *mut *mut c_void) -> Status;
    fn hsa_memory_free(memory: *mut c_void) -> Status;
    fn hsa_memory_copy(to: *mut c_void, from: *const c_void, size: usize) -> Status;
    fn hsa_amd_memory_fill(to: *mut c_void, value: u32, count: usize) -> Status;
    fn hsa_amd_agents_allow_access(count: u32, agents: *const u64, flags: *const u32, memory: *const c_void) -> Status;
    fn hsa_amd_memory_lock(memory: *mut c_void, size: usize, agents: *const u64, count: i32, at: *mut *mut c_void) -> Status;
    fn hsa_amd_memory_unlock(memory: *mut c_void) -> Status;
    fn hsa_amd_pointer_info(memory: *const c_void, info: *mut c_void, allocate: *const c_void, count: *mut u32,
        agents: *mut *mut u64) -> Status;
    fn hsa_amd_pointer_info_set_userdata(memory: *const c_void, data: *mut c_void) -> Status;
    fn hsa_amd_memory_async_copy(to: *mut c_void, to_agent: u64, from: *const c_void, from_agent: u64, size: usize,
        count: u32, signals: *const u64, done: u64) -> Status;
    fn hsa_signal_create(value: i64, count: u32, consumers: *const u64, signal: *mut u64) -> Status;
    fn hsa_amd_signal_create(value: i64, count: u32, consumers: *const u64, attributes: u64, signal: *mut u64) -> Status;
    fn hsa_signal_destroy(signal: u64) -> Status;
    fn hsa_signal_load_scacquire(signal: u64) -> i64;
    fn hsa_signal_store_screlease(signal: u64, value: i64);
    fn hsa_signal_add_relaxed(signal: u64, value: i64);
    fn hsa_signal_cas_scacq_screl(signal: u64, expected: i64, value: i64) -> i64;
    fn hsa_signal_wait_scacquire(signal: u64, condition: u32, value: i64, timeout: u64, hint: u32) -> i64;
    fn hsa_amd_signal_wait_any(count: u32, signals: *const u64, conditions: *const u32, values: *const i64, timeout: u64,
        hint: u32, satisfying: *mut i64) -> u32;
    fn hsa_amd_signal_value_pointer(signal: u64, value: *mut *mut i64) -> Status;
    fn hsa_amd_signal_async_handler(signal: u64, condition: u32, value: i64,
        handler: Option<extern "C" fn(i64, *mut c_void) -> bool>, data: *mut c_void) -> Status;
    fn hsa_signal_group_create(count: u32, signals: *const u64, consumers: u32, agents: *const u64, group: *mut u64) -> Status;
    fn hsa_signal_group_destroy(group: u64) -> Status;
    fn hsa_queue_create(agent: u64, size: u32, kind: u32, error: Option<OnError>, data: *mut c_void, private: u32,
        group: u32, queue: *mut *mut HsaQueue) -> Status;
    fn hsa_soft_queue_create(region: u64, size: u32, kind: u32, features: u32, doorbell: u64, queue: *mut *mut HsaQueue) -> Status;
    fn hsa_queue_destroy(queue: *const HsaQueue) -> Status;
    fn hsa_queue_inactivate(queue: *const HsaQueue) -> Status;
    fn hsa_queue_add_write_index_screlease(queue: *const HsaQueue, value: u64) -> u64;
    fn hsa_queue_store_write_index_relaxed(queue: *const HsaQueue, value: u64);
    fn hsa_queue_load_read_index_scacquire(queue: *const HsaQueue) -> u64;
    fn hsa_amd_queue_set_priority(queue: *const HsaQueue, priority: u32) -> Status;
    fn hsa_amd_queue_cu_set_mask(queue: *const HsaQueue, count: u32, mask: *const u32) -> Status;
    fn hsa_amd_queue_get_info(queue: *const HsaQueue, attribute: u32, value: *mut c_void) -> Status;
    fn hsa_amd_profiling_set_profiler_enabled(queue: *const HsaQueue, on: i32) -> Status;
    fn hsa_amd_profiling_get_dispatch_time(agent: u64, signal: u64, time: *mut c_void) -> Status;
    fn hsa_code_object_reader_create_from_memory(bytes: *const c_void, size: usize, reader: *mut u64) -> Status;
    fn hsa_code_object_reader_create_from_file(file: i32, reader: *mut u64) -> Status;
    fn hsa_code_object_reader_destroy(reader: u64) -> Status;
    fn hsa_code_object_deserialize(bytes: *const c_void, size: usize, options: *const c_char, object: *mut u64) -> Status;
    fn hsa_code_object_serialize(object: u64, allocate: Option<Allocate>, data: u64, options: *const c_char,
        bytes: *mut *mut c_void, size: *mut usize) -> Status;
    fn hsa_code_object_get_symbol(object: u64, name: *const c_char, symbol: *mut u64) -> Status;
    fn hsa_code_object_iterate_symbols(object: u64, visit: Option<VisitOf>, data: *mut c_void) -> Status;
    fn hsa_code_symbol_get_info(symbol: u64, attribute: u32, value: *mut c_void) -> Status;
    fn hsa_code_object_destroy(object: u64) -> Status;
    fn hsa_code_object_get_info(object: u64, attribute: u32, value: *mut c_void) -> Status;
    fn hsa_executable_create_alt(profile: u32, rounding: u32, options: *const c_char, executable: *mut u64) -> Status;
    fn hsa_executable_destroy(executable: u64) -> Status;
    fn hsa_executable_load_agent_code_object(executable: u64, agent: u64, reader: u64, options: *const c_char,
        loaded: *mut u64) -> Status;
    fn hsa_executable_load_code_object(executable: u64, agent: u64, object: u64, options: *const c_char) -> Status;
    fn hsa_executable_freeze(executable: u64, options: *const c_char) -> Status;
    fn hsa_executable_get_info(executable: u64, attribute: u32, value: *mut c_void) -> Status;
    fn hsa_executable_agent_global_variable_define(executable: u64, agent: u64, name: *const c_char, at: *mut c_void) -> Status;
    fn hsa_executable_get_symbol_by_name(executable: u64, name: *const c_char, agent: *const u64, symbol: *mut u64) -> Status;
    fn hsa_executable_iterate_agent_symbols(executable: u64, agent: u64,
        visit: Option<extern "C" fn(u64, u64, u64, *mut c_void) -> Status>, data: *mut c_void) -> Status;
    fn hsa_executable_symbol_get_info(symbol: u64, attribute: u32, value: *mut c_void) -> Status;
    fn hsa_amd_svm_attributes_set(at: *mut c_void, size: usize, list: *mut [u64; 2], count: usize) -> Status;
    fn hsa_amd_svm_attributes_get(at: *mut c_void, size: usize, list: *mut [u64; 2], count: usize) -> Status;
    fn hsa_amd_svm_prefetch_async(at: *mut c_void, size: usize, agent: u64, count: u32, signals: *const u64, done: u64) -> Status;
    fn hsa_amd_portable_export_dmabuf(at: *const c_void, size: usize, descriptor: *mut i32, offset: *mut u64) -> Status;
    fn hsa_amd_portable_close_dmabuf(descriptor: i32) -> Status;
    fn hsa_amd_interop_map_buffer(count: u32, agents: *mut u64, descriptor: i32, flags: u32, size: *mut usize,
        at: *mut *mut c_void, metadata_size: *mut usize, metadata: *mut *const c_void) -> Status;
    fn hsa_amd_interop_unmap_buffer(at: *mut c_void) -> Status;
    fn hsa_amd_ipc_memory_create(memory: *mut c_void, size: usize, handle: *mut c_void) -> Status;
    fn hsa_amd_ipc_memory_attach(handle: *const c_void, size: usize, count: u32, agents: *const u64, at: *mut *mut c_void) -> Status;
    fn hsa_amd_ipc_signal_create(signal: u64, handle: *mut c_void) -> Status;
    fn hsa_amd_ipc_signal_attach(handle: *const c_void, signal: *mut u64) -> Status;
    fn hsa_amd_ipc_memory_detach(at: *mut c_void) -> Status;
    fn hsa_amd_vmem_address_reserve(at: *mut *mut c_void, size: usize, address: u64, flags: u64) -> Status;
    fn hsa_amd_vmem_address_free(at: *mut c_void, size: usize) -> Status;
    fn hsa_amd_vmem_map(at: *mut c_void, size: usize, offset: usize, memory: u64, flags: u64) -> Status;
    fn hsa_amd_vmem_unmap(at: *mut c_void, size: usize) -> Status;
    fn hsa_amd_vmem_set_access(at: *mut c_void, size: usize, access: *const c_void, count: usize) -> Status;
    fn hsa_amd_vmem_retain_alloc_handle(memory: *mut u64, at: *mut c_void) -> Status;
    fn hsa_amd_vmem_handle_release(memory: u64) -> Status;
    fn hsa_amd_vmem_import_shareable_handle(descriptor: i32, memory: *mut u64) -> Status;
}

/// The functions of the loader's extension, 1.03, as its table has them.
#[repr(C)]
pub(super) struct LoaderTable {
    pub(super) host_address: unsafe extern "C" fn(*const c_void, *mut *const c_void) -> Status,
    pub(super) segments: unsafe extern "C" fn(*mut [u64; 8], *mut usize) -> Status,
    pub(super) executable_of: unsafe extern "C" fn(*const c_void, *mut u64) -> Status,
    pub(super) iterate_loaded: unsafe extern "C" fn(u64, Option<VisitOf>, *mut c_void) -> Status,
    pub(super) loaded_info: unsafe extern "C" fn(u64, u32, *mut c_void) -> Status,
    pub(super) reader_of_part: unsafe extern "C" fn(i32, usize, usize, *mut u64) -> Status,
    pub(super) iterate_executables: unsafe extern "C" fn(Option<Visit>, *mut c_void) -> Status,
}

/// Calls what answers a status, which has to be one; gives it.
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: pointers are null or of as much memory as the function uses, which outlives the call.
        let status = unsafe { $name($($argument),*) };
        // The core's statuses, and those that AMD's extensions have.
        let known = matches!(status, 0 | 1 | 40..=48 | 0x1000..=0x1040);
        assert!(known, "{} answers {status:#x}", stringify!($name));
        status
    }};
}
pub(super) use call;

/// Adds a handle to a list.
pub(super) extern "C" fn collect(handle: u64, data: *mut c_void) -> Status {
    // SAFETY: the data that this oracle passes with this function.
    unsafe { &mut *data.cast::<Vec<u64>>() }.push(handle);
    SUCCESS
}

/// Adds a handle of a part to a list.
pub(super) extern "C" fn collect_part(_: u64, part: u64, data: *mut c_void) -> Status {
    collect(part, data)
}

/// All that an iteration visits.
pub(super) fn all(iterate: impl FnOnce(Option<Visit>, *mut c_void) -> Status) -> Vec<u64> {
    let mut list = Vec::new();
    let status = iterate(Some(collect), (&raw mut list).cast());
    assert_eq!(status, SUCCESS);
    list
}

/// All that an iteration over what an agent has visits.
pub(super) fn all_of(agent: u64, iterate: Iterate) -> Vec<u64> {
    all(|visit, data| call!(iterate(agent, visit, data)))
}

/// Iterations over what an agent has.
pub(super) const OF_AGENTS: [Iterate; 4] = [
    hsa_agent_iterate_caches,
    hsa_agent_iterate_isas,
    hsa_agent_iterate_regions,
    hsa_amd_agent_iterate_memory_pools,
];
