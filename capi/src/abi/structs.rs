//! Structures and callback types of the C headers.
//!
//! Queues, signals and packets, which devices read too, are `rukh_core::wire`'s.

use super::{Agent, CallbackData, CodeObject, CodeSymbol, Executable, ExecutableSymbol, Status};
use super::{Cache, Isa, LoadedCodeObject, MemoryPool, Region, Wavefront};
use core::ffi::c_void;
use rukh_core::wire::queue::HsaQueue;

/// `hsa_dim3_t`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Dim3 {
    /// First dimension.
    pub x: u32,
    /// Second dimension.
    pub y: u32,
    /// Third dimension.
    pub z: u32,
}

/// `hsa_amd_hdp_flush_t`: two registers, or null where there are none.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HdpFlush {
    /// Flushes memory.
    pub memory: *mut u32,
    /// Flushes registers.
    pub registers: *mut u32,
}

/// `hsa_amd_clock_counters_t`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct ClockCountersInfo {
    /// The device's counter.
    pub gpu: u64,
    /// The processor's counter.
    pub cpu: u64,
    /// The system clock.
    pub system: u64,
    /// Ticks per second of the system clock.
    pub system_frequency: u64,
}

/// `hsa_amd_profiling_dispatch_time_t` and `hsa_amd_profiling_async_copy_time_t`, in system ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct ProfilingTime {
    /// Start.
    pub start: u64,
    /// End.
    pub end: u64,
}

/// `hsa_amd_memory_pool_link_info_t`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct PoolLinkInfo {
    /// Shortest latency, in nanoseconds.
    pub min_latency: u32,
    /// Longest latency, in nanoseconds.
    pub max_latency: u32,
    /// Least bandwidth, in MB/s.
    pub min_bandwidth: u32,
    /// Most bandwidth, in MB/s.
    pub max_bandwidth: u32,
    /// 32-bit atomics work across the link.
    pub atomic_support_32bit: bool,
    /// 64-bit atomics work across the link.
    pub atomic_support_64bit: bool,
    /// The link keeps caches coherent.
    pub coherent_support: bool,
    /// `hsa_amd_link_info_type_t`
    pub link_type: u32,
    /// Distance figure of the driver.
    pub numa_distance: u32,
}

/// `hsa_pitched_ptr_t`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PitchedPtr {
    /// Address of the first byte.
    pub base: *mut c_void,
    /// Bytes from row to row.
    pub pitch: usize,
    /// Bytes from slice to slice.
    pub slice: usize,
}

/// `hsa_amd_pointer_info_t`. A client says by `size` how much of it there is.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PointerInfo {
    /// Size of the client's structure, in bytes.
    pub size: u32,
    /// `hsa_amd_pointer_type_t`
    pub kind: u32,
    /// Address of the allocation on agents.
    pub agent_base_address: *mut c_void,
    /// Address of the allocation on the host.
    pub host_base_address: *mut c_void,
    /// Its size.
    pub size_in_bytes: usize,
    /// What `hsa_amd_pointer_info_set_userdata` set.
    pub user_data: *mut c_void,
    /// The agent that owns the memory.
    pub agent_owner: Agent,
    /// Global flags of the pool.
    pub global_flags: u32,
}

/// `hsa_amd_ipc_memory_t`, `hsa_amd_ipc_signal_t`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct IpcMemory {
    /// Opaque.
    pub handle: [u32; 8],
}

/// `hsa_amd_gpu_memory_fault_info_t`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MemoryFaultDetails {
    /// The agent that faulted.
    pub agent: Agent,
    /// The page's address.
    pub virtual_address: u64,
    /// `hsa_amd_memory_fault_reason_t` bits.
    pub fault_reason_mask: u32,
}

/// `hsa_amd_event_t` with the memory fault, the largest of the events.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SystemEvent {
    /// `hsa_amd_event_type_t`
    pub event_type: u32,
    /// What happened.
    pub memory_fault: MemoryFaultDetails,
}

/// `hsa_amd_svm_attribute_pair_t`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct SvmAttributePair {
    /// `hsa_amd_svm_attribute_t`
    pub attribute: u64,
    /// Its value.
    pub value: u64,
}

/// `hsa_amd_memory_access_desc_t`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MemoryAccessDesc {
    /// `hsa_access_permission_t`
    pub permissions: u32,
    /// Whose access.
    pub agent_handle: Agent,
}

/// `hsa_ven_amd_loader_segment_descriptor_t`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SegmentDescriptor {
    /// The agent that the segment is loaded on.
    pub agent: Agent,
    /// Its executable.
    pub executable: Executable,
    /// `hsa_ven_amd_loader_code_object_storage_type_t`
    pub code_object_storage_type: u32,
    /// Where the code object is, by its storage type.
    pub code_object_storage_base: *const c_void,
    /// Its size.
    pub code_object_storage_size: usize,
    /// Offset of the segment in it.
    pub code_object_storage_offset: usize,
    /// Address of the loaded segment on the agent.
    pub segment_base: *const c_void,
    /// Its size.
    pub segment_size: usize,
}

/// Opaque structures of extensions that this library does not implement: only pointers to them
/// occur.
#[derive(Debug)]
#[repr(C)]
pub struct Opaque([u8; 0]);

/// A callback of an iteration over one kind of handle. May unwind (a C++ exception): it is called
/// outside of the panic boundary.
pub type Visit<T> = Option<unsafe extern "C-unwind" fn(T, *mut c_void) -> Status>;
/// Callback of `hsa_iterate_agents`.
pub type VisitAgent = Visit<Agent>;
/// Callback of `hsa_agent_iterate_caches`.
pub type VisitCache = Visit<Cache>;
/// Callback of `hsa_agent_iterate_regions`.
pub type VisitRegion = Visit<Region>;
/// Callback of `hsa_amd_agent_iterate_memory_pools`.
pub type VisitPool = Visit<MemoryPool>;
/// Callback of `hsa_agent_iterate_isas`.
pub type VisitIsa = Visit<Isa>;
/// Callback of `hsa_isa_iterate_wavefronts`.
pub type VisitWavefront = Visit<Wavefront>;
/// Callback of `hsa_ven_amd_loader_iterate_executables`.
pub type VisitExecutable = Visit<Executable>;
/// Callback of `hsa_executable_iterate_symbols`.
pub type VisitSymbol =
    Option<unsafe extern "C-unwind" fn(Executable, ExecutableSymbol, *mut c_void) -> Status>;
/// Callback of `hsa_executable_iterate_agent_symbols`.
pub type VisitAgentSymbol =
    Option<unsafe extern "C-unwind" fn(Executable, Agent, ExecutableSymbol, *mut c_void) -> Status>;
/// Callback of `hsa_code_object_iterate_symbols`.
pub type VisitCodeSymbol =
    Option<unsafe extern "C-unwind" fn(CodeObject, CodeSymbol, *mut c_void) -> Status>;
/// Callback of `hsa_ven_amd_loader_executable_iterate_loaded_code_objects`.
pub type VisitLoaded =
    Option<unsafe extern "C-unwind" fn(Executable, LoadedCodeObject, *mut c_void) -> Status>;
/// Error callback of `hsa_queue_create`.
pub type QueueErrorCallback =
    Option<unsafe extern "C-unwind" fn(Status, *mut HsaQueue, *mut c_void)>;
/// `hsa_amd_signal_handler`: answers whether it stays registered.
pub type SignalHandler = Option<unsafe extern "C-unwind" fn(i64, *mut c_void) -> bool>;
/// Callback of `hsa_amd_async_function`.
pub type AsyncFunction = Option<unsafe extern "C-unwind" fn(*mut c_void)>;
/// `hsa_amd_system_event_callback_t`
pub type SystemEventCallback =
    Option<unsafe extern "C-unwind" fn(*const SystemEvent, *mut c_void) -> Status>;
/// `hsa_amd_deallocation_callback_t`
pub type DeallocationCallback = Option<unsafe extern "C-unwind" fn(*mut c_void, *mut c_void)>;
/// Allocator of `hsa_amd_pointer_info`.
pub type AllocCallback = Option<unsafe extern "C-unwind" fn(usize) -> *mut c_void>;
/// Allocator of `hsa_code_object_serialize`.
pub type SerializeAlloc =
    Option<unsafe extern "C-unwind" fn(usize, CallbackData, *mut *mut c_void) -> Status>;
