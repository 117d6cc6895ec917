//! `hsa_queue_t` and `amd_queue_t`: what a queue handle points to. The client sees the first
//! 40 bytes; the packet processor, trap handlers and compiled kernels read the rest by offset.

use crate::assert_layout;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// `hsa_queue_t`, the client's view of a queue.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HsaQueue {
    /// `hsa_queue_type_t`: 0 multiple producers, 1 a single one, 2 cooperative.
    pub kind: u32,
    /// Packet features: bit 0 kernel dispatch, bit 1 agent dispatch.
    pub features: u32,
    /// Address of the ring of packets.
    pub base_address: u64,
    /// Handle of the doorbell signal.
    pub doorbell_signal: u64,
    /// Number of packets in the ring: a power of two.
    pub size: u32,
    /// Reserved, zero.
    pub reserved1: u32,
    /// Identifies the queue in its process.
    pub id: u64,
}
assert_layout!(HsaQueue, size 40, align 8, features @ 4, base_address @ 8, doorbell_signal @ 16, size @ 24, id @ 32);

/// `amd_queue_t`, version 1 part: 256 bytes that hardware and compiled code know by offset.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct AmdQueue {
    /// The client's view.
    pub hsa_queue: HsaQueue,
    /// [`QueueCaps`]; reserved in the first version.
    pub caps: u32,
    /// Reserved.
    pub reserved1: [u32; 3],
    /// Monotonic count of packets that producers have claimed.
    pub write_dispatch_id: AtomicU64,
    /// Upper half of the group (LDS) aperture's address.
    pub group_segment_aperture_base_hi: u32,
    /// Upper half of the private (scratch) aperture's address.
    pub private_segment_aperture_base_hi: u32,
    /// Number of compute units, less one.
    pub max_cu_id: u32,
    /// Number of wave slots per compute unit, less one.
    pub max_wave_id: u32,
    /// Write index of the last doorbell store, on targets with legacy doorbells.
    pub max_legacy_doorbell_dispatch_id_plus_1: AtomicU64,
    /// Lock word for legacy doorbells.
    pub legacy_doorbell_lock: AtomicU32,
    /// Reserved.
    pub reserved2: [u32; 9],
    /// Monotonic count of packets that the packet processor has consumed.
    pub read_dispatch_id: AtomicU64,
    /// Offset of `read_dispatch_id` in this structure: 128.
    pub read_dispatch_id_field_base_byte_offset: u32,
    /// COMPUTE_TMPRING_SIZE: waves and bytes per wave of scratch.
    pub compute_tmpring_size: AtomicU32,
    /// Buffer resource descriptor of the scratch memory.
    pub scratch_resource_descriptor: [AtomicU32; 4],
    /// Address of the scratch memory.
    pub scratch_backing_memory_location: AtomicU64,
    /// Size of the scratch memory, in bytes.
    pub scratch_backing_memory_byte_size: AtomicU64,
    /// Scratch bytes per work-item of a wave of 64.
    pub scratch_wave64_lane_byte_size: AtomicU32,
    /// [`QueueProperties`].
    pub queue_properties: AtomicU32,
    /// The last packet index that used scratch; version 2.
    pub scratch_max_use_index: AtomicU64,
    /// Handle of the signal that the packet processor sets when it stops the queue.
    pub queue_inactive_signal: AtomicU64,
    /// Alternate scratch memory, version 2: reserved here.
    pub alt_scratch: [u64; 7],
}
assert_layout!(AmdQueue, size 256, align 64, caps @ 40, write_dispatch_id @ 56,
    group_segment_aperture_base_hi @ 64, private_segment_aperture_base_hi @ 68, max_cu_id @ 72,
    max_wave_id @ 76, max_legacy_doorbell_dispatch_id_plus_1 @ 80, legacy_doorbell_lock @ 88,
    read_dispatch_id @ 128, read_dispatch_id_field_base_byte_offset @ 136, compute_tmpring_size @ 140,
    scratch_resource_descriptor @ 144, scratch_backing_memory_location @ 160,
    scratch_backing_memory_byte_size @ 168, scratch_wave64_lane_byte_size @ 176,
    queue_properties @ 180, scratch_max_use_index @ 184, queue_inactive_signal @ 192, alt_scratch @ 200);

/// Number of entries of [`AmdQueueV2::scratch_last_used_index`].
pub const MAX_XCC: usize = 128;

/// `amd_queue_v2_t`: version 1 followed by what the asynchronous scratch reclaim of newer
/// packet processors reads.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct AmdQueueV2 {
    /// The version 1 part.
    pub v1: AmdQueue,
    /// Per XCC, two indices: main and alternate scratch last used.
    pub scratch_last_used_index: [[AtomicU64; 2]; MAX_XCC],
}
assert_layout!(AmdQueueV2, size 2304, align 64, v1 @ 0, scratch_last_used_index @ 256);

bitflags::bitflags! {
    /// `amd_queue_properties32_t`.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct QueueProperties: u32 {
        /// A trap handler is installed.
        const ENABLE_TRAP_HANDLER = 1 << 0;
        /// Pointers are 64 bits wide.
        const IS_PTR64 = 1 << 1;
        /// Trap handlers receive debugger registers.
        const ENABLE_TRAP_HANDLER_DEBUG_SGPRS = 1 << 2;
        /// The packet processor writes start and end times to completion signals.
        const ENABLE_PROFILING = 1 << 3;
        /// The scratch memory serves one dispatch and is given back.
        const USE_SCRATCH_ONCE = 1 << 4;
        /// Bits that are not known here.
        const _ = !0;
    }

    /// Capabilities of the packet processor and the runtime, [`AmdQueue::caps`].
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct QueueCaps: u32 {
        /// The packet processor can have scratch reclaimed.
        const CP_ASYNC_RECLAIM = 1 << 0;
        /// The runtime reclaims scratch.
        const SW_ASYNC_RECLAIM = 1 << 1;
        /// Bits that are not known here.
        const _ = !0;
    }
}
