//! The ioctls of `/dev/kfd`, from Linux's `include/uapi/linux/kfd_ioctl.h` (interface 1.17).
//!
//! Each row of the table is one ioctl: its number, its direction, its argument structure. The
//! structures, their size asserts, the request numbers and the list that traces and probes read
//! all follow from it.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The type byte of all KFD ioctls.
pub const IOCTL_BASE: u8 = b'K';

/// Which way an argument structure travels, seen from the caller (`_IOR`, `_IOW`, `_IOWR`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// The kernel writes it.
    Read,
    /// The kernel reads it.
    Write,
    /// Both.
    ReadWrite,
}

impl Direction {
    const fn bits(self) -> u32 {
        match self {
            Self::Write => 1,
            Self::Read => 2,
            Self::ReadWrite => 3,
        }
    }
}

/// The request number that `ioctl` takes, as the generic `_IOC` encoding has it.
const fn request(direction: Direction, nr: u8, size: usize) -> u32 {
    direction.bits() << 30 | (size as u32) << 16 | (IOCTL_BASE as u32) << 8 | nr as u32
}

/// An argument structure of one ioctl.
pub trait Ioctl: FromBytes + IntoBytes + Immutable + KnownLayout {
    /// The ioctl's facts.
    const INFO: IoctlInfo;
}

/// An argument structure that holds numbers alone: sending it makes the kernel follow no address during
/// the call.
///
/// # Implementation safety
/// No field of the structure is an address that the ioctl itself reads from or writes to. Addresses
/// that only a device uses later (a ring, a trap handler) are allowed: devices are kept in check by
/// what is mapped to them.
pub unsafe trait NoPointers: Ioctl {}

macro_rules! no_pointers {
    ($($ty:ty)*) => { $(
        // SAFETY: the fields of these structures are ids, sizes, flags, handles and device addresses; the kernel
        // copies the structure in and out and touches no other memory of the caller.
        unsafe impl NoPointers for $ty {}
    )* };
}
no_pointers! {
    GetVersion CreateQueue DestroyQueue SetMemoryPolicy GetClockCounters UpdateQueue CreateEvent DestroyEvent
    SetEvent ResetEvent SetScratchBackingVa SetTrapHandler AcquireVm AllocMemoryOfGpu FreeMemoryOfGpu
    ImportDmabuf AllocQueueGws SmiEvents SetXnackMode AvailableMemory ExportDmabuf RuntimeEnable
}

/// Facts of an ioctl.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IoctlInfo {
    /// The kernel's name, without `AMDKFD_IOC_`.
    pub name: &'static str,
    /// The kernel's name of the argument structure.
    pub c_struct: &'static str,
    /// Number within the KFD type.
    pub nr: u8,
    /// Request number.
    pub request: u32,
    /// Size of the argument structure in bytes.
    pub size: usize,
    /// Fields of the argument structure: C name and byte offset.
    pub fields: &'static [(&'static str, usize)],
    /// The first minor version of the interface (major 1) that has it.
    pub since_minor: u32,
}

macro_rules! ioctls {
    ($(
        $(#[doc = $doc:literal])+
        $nr:literal $name:literal $dir:ident since $since:literal
        $ty:ident($c:literal, $size:literal) { $($(#[doc = $fdoc:literal])+ $field:ident: $fty:ty,)* }
    )*) => {
        $(
            $(#[doc = $doc])+
            #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
            #[repr(C)]
            pub struct $ty {
                $($(#[doc = $fdoc])+ pub $field: $fty,)*
            }
            const _: () = assert!(core::mem::size_of::<$ty>() == $size);

            impl Ioctl for $ty {
                const INFO: IoctlInfo = IoctlInfo {
                    name: $name,
                    c_struct: $c,
                    nr: $nr,
                    request: request(Direction::$dir, $nr, $size),
                    size: $size,
                    fields: &[$((stringify!($field), core::mem::offset_of!($ty, $field)),)*],
                    since_minor: $since,
                };
            }
        )*

        /// Every ioctl of the table, by ascending number.
        pub const IOCTLS: &[IoctlInfo] = &[$(<$ty as Ioctl>::INFO,)*];
    };
}

ioctls! {
    /// Asks for the interface's version.
    0x01 "GET_VERSION" Read since 0
    GetVersion("kfd_ioctl_get_version_args", 8) {
        /// Major version; 1.
        major_version: u32,
        /// Minor version; capabilities are gated on it.
        minor_version: u32,
    }
    /// Creates a queue. Kernels before 1.17 read 88 bytes; the size field of the request tells them.
    0x02 "CREATE_QUEUE" ReadWrite since 0
    CreateQueue("kfd_ioctl_create_queue_args", 96) {
        /// Address of the ring.
        ring_base_address: u64,
        /// Address of the write index.
        write_pointer_address: u64,
        /// Address of the read index.
        read_pointer_address: u64,
        /// Out: mmap offset of the doorbell page, with the doorbell's offset in its low bits.
        doorbell_offset: u64,
        /// Size of the ring in bytes.
        ring_size: u32,
        /// The GPU.
        gpu_id: u32,
        /// One of the `QUEUE_TYPE` constants.
        queue_type: u32,
        /// 0 inactive, 100 active.
        queue_percentage: u32,
        /// 0 to 15.
        queue_priority: u32,
        /// Out: the queue.
        queue_id: u32,
        /// Address of the end-of-pipe buffer.
        eop_buffer_address: u64,
        /// Its size in bytes.
        eop_buffer_size: u64,
        /// Address of the context save area.
        ctx_save_restore_address: u64,
        /// Its size in bytes.
        ctx_save_restore_size: u32,
        /// Size of the control stack in bytes.
        ctl_stack_size: u32,
        /// SDMA engine, for queues of type SDMA_BY_ENG_ID.
        sdma_engine_id: u32,
        /// Padding.
        pad: u32,
    }
    /// Destroys a queue.
    0x03 "DESTROY_QUEUE" ReadWrite since 0
    DestroyQueue("kfd_ioctl_destroy_queue_args", 8) {
        /// The queue.
        queue_id: u32,
        /// Padding.
        pad: u32,
    }
    /// Sets the default caching of an address range.
    0x04 "SET_MEMORY_POLICY" Write since 0
    SetMemoryPolicy("kfd_ioctl_set_memory_policy_args", 32) {
        /// Start of the range with the alternate policy.
        alternate_aperture_base: u64,
        /// Size of that range in bytes.
        alternate_aperture_size: u64,
        /// The GPU.
        gpu_id: u32,
        /// Policy everywhere else: 0 coherent, 1 non-coherent.
        default_policy: u32,
        /// Policy of the range.
        alternate_policy: u32,
        /// Padding.
        pad: u32,
    }
    /// Reads clocks.
    0x05 "GET_CLOCK_COUNTERS" ReadWrite since 0
    GetClockCounters("kfd_ioctl_get_clock_counters_args", 40) {
        /// Out: the GPU's counter.
        gpu_clock_counter: u64,
        /// Out: CLOCK_MONOTONIC_RAW in nanoseconds.
        cpu_clock_counter: u64,
        /// Out: CLOCK_BOOTTIME in nanoseconds.
        system_clock_counter: u64,
        /// Out: frequency of the latter, in Hz.
        system_clock_freq: u64,
        /// The GPU.
        gpu_id: u32,
        /// Padding.
        pad: u32,
    }
    /// Changes a queue.
    0x07 "UPDATE_QUEUE" Write since 0
    UpdateQueue("kfd_ioctl_update_queue_args", 24) {
        /// Address of the ring.
        ring_base_address: u64,
        /// The queue.
        queue_id: u32,
        /// Size of the ring in bytes.
        ring_size: u32,
        /// 0 inactive, 100 active.
        queue_percentage: u32,
        /// 0 to 15.
        queue_priority: u32,
    }
    /// Creates an event.
    0x08 "CREATE_EVENT" ReadWrite since 0
    CreateEvent("kfd_ioctl_create_event_args", 32) {
        /// In: handle of the event page's allocation, at the first call on a GPU. Out: mmap offset.
        event_page_offset: u64,
        /// Out: what a device writes to raise it.
        event_trigger_data: u32,
        /// One of the `EVENT` constants.
        event_type: u32,
        /// 1: a wait consumes it.
        auto_reset: u32,
        /// The node, for some types.
        node_id: u32,
        /// Out: the event.
        event_id: u32,
        /// Out: its slot of 8 bytes in the event page.
        event_slot_index: u32,
    }
    /// Destroys an event.
    0x09 "DESTROY_EVENT" Write since 0
    DestroyEvent("kfd_ioctl_destroy_event_args", 8) {
        /// The event.
        event_id: u32,
        /// Padding.
        pad: u32,
    }
    /// Raises an event.
    0x0a "SET_EVENT" Write since 0
    SetEvent("kfd_ioctl_set_event_args", 8) {
        /// The event.
        event_id: u32,
        /// Padding.
        pad: u32,
    }
    /// Lowers an event.
    0x0b "RESET_EVENT" Write since 0
    ResetEvent("kfd_ioctl_reset_event_args", 8) {
        /// The event.
        event_id: u32,
        /// Padding.
        pad: u32,
    }
    /// Sleeps until events are raised.
    0x0c "WAIT_EVENTS" ReadWrite since 0
    WaitEvents("kfd_ioctl_wait_events_args", 24) {
        /// Address of an array of [`EventData`].
        events_ptr: u64,
        /// Its length.
        num_events: u32,
        /// 1: all of them.
        wait_for_all: u32,
        /// Milliseconds; `u32::MAX` for ever.
        timeout: u32,
        /// Out: 0 raised, 1 timed out, 2 failed.
        wait_result: u32,
    }
    /// Sets the start of the scratch range.
    0x11 "SET_SCRATCH_BACKING_VA" ReadWrite since 0
    SetScratchBackingVa("kfd_ioctl_set_scratch_backing_va_args", 16) {
        /// Address, shifted right by 16.
        va_addr: u64,
        /// The GPU.
        gpu_id: u32,
        /// Padding.
        pad: u32,
    }
    /// Sets the trap handler.
    0x13 "SET_TRAP_HANDLER" Write since 0
    SetTrapHandler("kfd_ioctl_set_trap_handler_args", 24) {
        /// Address of its code.
        tba_addr: u64,
        /// Address of its memory.
        tma_addr: u64,
        /// The GPU.
        gpu_id: u32,
        /// Padding.
        pad: u32,
    }
    /// Lists the address ranges of each GPU.
    0x14 "GET_PROCESS_APERTURES_NEW" ReadWrite since 0
    GetProcessAperturesNew("kfd_ioctl_get_process_apertures_new_args", 16) {
        /// Address of an array of [`ProcessDeviceApertures`].
        kfd_process_device_apertures_ptr: u64,
        /// In: its length. Out: entries written.
        num_of_nodes: u32,
        /// Padding.
        pad: u32,
    }
    /// Takes the address space of a render node.
    0x15 "ACQUIRE_VM" Write since 0
    AcquireVm("kfd_ioctl_acquire_vm_args", 8) {
        /// File descriptor of the render node.
        drm_fd: u32,
        /// The GPU.
        gpu_id: u32,
    }
    /// Allocates memory.
    0x16 "ALLOC_MEMORY_OF_GPU" ReadWrite since 0
    AllocMemoryOfGpu("kfd_ioctl_alloc_memory_of_gpu_args", 40) {
        /// Address on the GPU.
        va_addr: u64,
        /// Size in bytes.
        size: u64,
        /// Out: the allocation.
        handle: u64,
        /// In: host address, for user pointers. Out: mmap offset.
        mmap_offset: u64,
        /// The GPU.
        gpu_id: u32,
        /// [`AllocFlags`].
        flags: u32,
    }
    /// Frees memory.
    0x17 "FREE_MEMORY_OF_GPU" Write since 0
    FreeMemoryOfGpu("kfd_ioctl_free_memory_of_gpu_args", 8) {
        /// The allocation.
        handle: u64,
    }
    /// Maps memory to GPUs. Resume with `n_success` after an interruption.
    0x18 "MAP_MEMORY_TO_GPU" ReadWrite since 0
    MapMemoryToGpu("kfd_ioctl_map_memory_to_gpu_args", 24) {
        /// The allocation.
        handle: u64,
        /// Address of an array of GPU ids.
        device_ids_array_ptr: u64,
        /// Its length.
        n_devices: u32,
        /// In and out: how many of them are done.
        n_success: u32,
    }
    /// Unmaps memory from GPUs.
    0x19 "UNMAP_MEMORY_FROM_GPU" ReadWrite since 0
    UnmapMemoryFromGpu("kfd_ioctl_unmap_memory_from_gpu_args", 24) {
        /// The allocation.
        handle: u64,
        /// Address of an array of GPU ids.
        device_ids_array_ptr: u64,
        /// Its length.
        n_devices: u32,
        /// In and out: how many of them are done.
        n_success: u32,
    }
    /// Restricts a queue to compute units.
    0x1a "SET_CU_MASK" Write since 0
    SetCuMask("kfd_ioctl_set_cu_mask_args", 16) {
        /// The queue.
        queue_id: u32,
        /// Bits of the mask: a multiple of 32.
        num_cu_mask: u32,
        /// Address of the mask.
        cu_mask_ptr: u64,
    }
    /// Reads the saved waves of a queue.
    0x1b "GET_QUEUE_WAVE_STATE" ReadWrite since 0
    GetQueueWaveState("kfd_ioctl_get_queue_wave_state_args", 24) {
        /// Address that receives the control stack.
        ctl_stack_address: u64,
        /// Out: bytes of it in use.
        ctl_stack_used_size: u32,
        /// Out: bytes of the save area in use.
        save_area_used_size: u32,
        /// The queue.
        queue_id: u32,
        /// Padding.
        pad: u32,
    }
    /// Describes a dmabuf.
    0x1c "GET_DMABUF_INFO" ReadWrite since 0
    GetDmabufInfo("kfd_ioctl_get_dmabuf_info_args", 32) {
        /// Out: size in bytes.
        size: u64,
        /// Address that receives the metadata.
        metadata_ptr: u64,
        /// In: room there. Out: size of the metadata.
        metadata_size: u32,
        /// Out: the GPU.
        gpu_id: u32,
        /// Out: [`AllocFlags`].
        flags: u32,
        /// The dmabuf.
        dmabuf_fd: u32,
    }
    /// Imports a dmabuf.
    0x1d "IMPORT_DMABUF" ReadWrite since 0
    ImportDmabuf("kfd_ioctl_import_dmabuf_args", 24) {
        /// Address on the GPU.
        va_addr: u64,
        /// Out: the allocation.
        handle: u64,
        /// The GPU.
        gpu_id: u32,
        /// The dmabuf.
        dmabuf_fd: u32,
    }
    /// Gives a queue the global wave synchronisation unit.
    0x1e "ALLOC_QUEUE_GWS" ReadWrite since 0
    AllocQueueGws("kfd_ioctl_alloc_queue_gws_args", 16) {
        /// The queue.
        queue_id: u32,
        /// How many entries.
        num_gws: u32,
        /// Out: the first of them.
        first_gws: u32,
        /// Padding.
        pad: u32,
    }
    /// Opens the stream of system-management events of a GPU.
    0x1f "SMI_EVENTS" ReadWrite since 3
    SmiEvents("kfd_ioctl_smi_events_args", 8) {
        /// The GPU.
        gpuid: u32,
        /// Out: file descriptor.
        anon_fd: u32,
    }
    /// Sets or reads attributes of shared virtual memory. [`SvmAttribute`]s follow the structure, and
    /// the request's size field counts them.
    0x20 "SVM" ReadWrite since 5
    Svm("kfd_ioctl_svm_args", 24) {
        /// Start of the range.
        start_addr: u64,
        /// Size of the range in bytes.
        size: u64,
        /// 0 set, 1 get.
        op: u32,
        /// Number of attributes that follow.
        nattr: u32,
    }
    /// Sets or asks for retry of page faults.
    0x21 "SET_XNACK_MODE" ReadWrite since 5
    SetXnackMode("kfd_ioctl_set_xnack_mode_args", 4) {
        /// In: 0 off, 1 on, negative to ask. Out: the mode.
        xnack_enabled: i32,
    }
    /// Asks how much memory can still be allocated.
    0x23 "AVAILABLE_MEMORY" ReadWrite since 9
    AvailableMemory("kfd_ioctl_get_available_memory_args", 16) {
        /// Out: bytes.
        available: u64,
        /// The GPU.
        gpu_id: u32,
        /// Padding.
        pad: u32,
    }
    /// Exports an allocation as a dmabuf.
    0x24 "EXPORT_DMABUF" ReadWrite since 12
    ExportDmabuf("kfd_ioctl_export_dmabuf_args", 16) {
        /// The allocation.
        handle: u64,
        /// Flags of the file descriptor.
        flags: u32,
        /// Out: the dmabuf.
        dmabuf_fd: u32,
    }
    /// Tells the kernel that a runtime is loaded.
    0x25 "RUNTIME_ENABLE" ReadWrite since 13
    RuntimeEnable("kfd_ioctl_runtime_enable_args", 16) {
        /// Address of the debugger's structure.
        r_debug: u64,
        /// Bit 0 enable, bit 1 save trap temporaries.
        mode_mask: u32,
        /// Out: capabilities.
        capabilities_mask: u32,
    }
}

/// Queue types of [`CreateQueue::queue_type`].
pub mod queue_type {
    /// PM4 packets.
    pub const COMPUTE: u32 = 0;
    /// SDMA packets.
    pub const SDMA: u32 = 1;
    /// AQL packets.
    pub const COMPUTE_AQL: u32 = 2;
    /// SDMA packets on an XGMI engine.
    pub const SDMA_XGMI: u32 = 3;
    /// SDMA packets on a chosen engine; 1.17.
    pub const SDMA_BY_ENG_ID: u32 = 4;
}

/// Event types of [`CreateEvent::event_type`].
pub mod event_type {
    /// A signal.
    pub const SIGNAL: u32 = 0;
    /// A hardware exception.
    pub const HW_EXCEPTION: u32 = 3;
    /// A memory fault.
    pub const MEMORY: u32 = 8;
}

bitflags::bitflags! {
    /// Flags of [`AllocMemoryOfGpu::flags`].
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct AllocFlags: u32 {
        /// Device memory.
        const VRAM = 1 << 0;
        /// Host memory of the kernel.
        const GTT = 1 << 1;
        /// Host memory of the caller.
        const USERPTR = 1 << 2;
        /// Doorbell page.
        const DOORBELL = 1 << 3;
        /// Remapped registers.
        const MMIO_REMAP = 1 << 4;
        /// Contiguous; 1.16.
        const CONTIGUOUS = 1 << 23;
        /// Coherent across devices.
        const EXT_COHERENT = 1 << 24;
        /// Not cached.
        const UNCACHED = 1 << 25;
        /// Coherent.
        const COHERENT = 1 << 26;
        /// A ring.
        const AQL_QUEUE_MEM = 1 << 27;
        /// Nothing else will do.
        const NO_SUBSTITUTE = 1 << 28;
        /// The host maps it.
        const PUBLIC = 1 << 29;
        /// Executable.
        const EXECUTABLE = 1 << 30;
        /// Writable.
        const WRITABLE = 1 << 31;
        /// Bits that are not known here.
        const _ = !0;
    }
}

/// `kfd_event_data`: what to wait for, and what came with it.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct EventData {
    /// Memory fault, hardware exception or event age, by the event's type.
    pub data: [u64; 4],
    /// Address of more of it; 0.
    pub kfd_event_data_ext: u64,
    /// The event.
    pub event_id: u32,
    /// Padding.
    pub pad: u32,
}
const _: () = assert!(core::mem::size_of::<EventData>() == 48);

/// `kfd_process_device_apertures`: the address ranges of one GPU.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct ProcessDeviceApertures {
    /// Group memory: first address.
    pub lds_base: u64,
    /// Group memory: last address.
    pub lds_limit: u64,
    /// Private memory: first address.
    pub scratch_base: u64,
    /// Private memory: last address.
    pub scratch_limit: u64,
    /// Device memory: first address.
    pub gpuvm_base: u64,
    /// Device memory: last address.
    pub gpuvm_limit: u64,
    /// The GPU.
    pub gpu_id: u32,
    /// Padding.
    pub pad: u32,
}
const _: () = assert!(core::mem::size_of::<ProcessDeviceApertures>() == 56);

/// `kfd_context_save_area_header`: what the runtime and the kernel tell each other at the start of a
/// queue's context save area, once per XCC.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct ContextSaveAreaHeader {
    /// Offset of the saved control stack; written by the kernel.
    pub control_stack_offset: u32,
    /// Its size in bytes; written by the kernel.
    pub control_stack_size: u32,
    /// Offset of the saved waves; written by the kernel.
    pub wave_state_offset: u32,
    /// Their size in bytes; written by the kernel.
    pub wave_state_size: u32,
    /// Distance from this header to the debugger's memory.
    pub debug_offset: u32,
    /// Size of the debugger's memory in bytes.
    pub debug_size: u32,
    /// Address of a 64-bit word that receives the reasons of a queue exception.
    pub err_payload_addr: u64,
    /// Event that is raised when it does.
    pub err_event_id: u32,
    /// Reserved.
    pub reserved1: u32,
}
const _: () = assert!(core::mem::size_of::<ContextSaveAreaHeader>() == 40);

/// `kfd_ioctl_svm_attribute`.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct SvmAttribute {
    /// Which attribute.
    pub kind: u32,
    /// Its value.
    pub value: u32,
}
const _: () = assert!(core::mem::size_of::<SvmAttribute>() == 8);

/// Kinds of [`SvmAttribute`]s (`kfd_ioctl_svm_attr_type`).
pub mod svm_attribute {
    /// Where the range should be: a GPU or a location of [`svm_location`](super::svm_location).
    pub const PREFERRED: u32 = 0;
    /// Where it is brought at once.
    pub const PREFETCH: u32 = 1;
    /// A GPU that may use it.
    pub const ACCESS: u32 = 2;
    /// A GPU that may use it where it is.
    pub const ACCESS_IN_PLACE: u32 = 3;
    /// A GPU that may not.
    pub const NO_ACCESS: u32 = 4;
    /// Flags to set.
    pub const SET_FLAGS: u32 = 5;
    /// Flags to clear.
    pub const CLEAR_FLAGS: u32 = 6;
    /// Power of two of pages that move together.
    pub const GRANULARITY: u32 = 7;
}

/// What an SVM call does (`kfd_ioctl_svm_op`).
pub mod svm_operation {
    /// Sets attributes.
    pub const SET: u32 = 0;
    /// Asks for them.
    pub const GET: u32 = 1;
}

/// Locations of an SVM range that are no GPU (`kfd_ioctl_svm_location`).
pub mod svm_location {
    /// The host's memory.
    pub const SYSTEM_MEMORY: u32 = 0;
    /// None, or not the same for the whole range.
    pub const UNDEFINED: u32 = u32::MAX;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_numbers_follow_the_generic_encoding() {
        assert_eq!(GetVersion::INFO.request, 0x8008_4b01);
        assert_eq!(AllocMemoryOfGpu::INFO.request, 0xc028_4b16);
        assert_eq!(SetEvent::INFO.request, 0x4008_4b0a);
    }

    #[test]
    fn the_table_is_sorted_and_numbers_are_unique() {
        assert!(IOCTLS.windows(2).all(|pair| pair[0].nr < pair[1].nr));
    }
}
