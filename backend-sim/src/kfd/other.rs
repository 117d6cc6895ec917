//! Arguments of ioctls that no client of ours sends, so that core has none of them.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// `kfd_ioctl_get_process_apertures_args`: room for seven GPUs.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct OldApertures {
    pub apertures: [[u64; 7]; 7],
    pub count: u32,
    pub pad: u32,
}

/// `kfd_ioctl_get_tile_config_args`.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct TileConfig {
    pub tiles: u64,
    pub macro_tiles: u64,
    pub tile_count: u32,
    pub macro_tile_count: u32,
    pub gpu_id: u32,
    pub address_config: u32,
    pub banks: u32,
    pub ranks: u32,
}

/// `kfd_ioctl_criu_args`.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Criu {
    pub devices: u64,
    pub objects: u64,
    pub private: u64,
    pub private_size: u64,
    pub counts: [u32; 3],
    pub pid: u32,
    pub op: u32,
    pub pad: u32,
}

/// `kfd_ioctl_dbg_trap_args`.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct DebugTrap {
    pub pid: u32,
    pub op: u32,
    pub of_op: [u64; 3],
}
