//! What a render node is asked: as much of amdgpu's ioctls as KFD clients and libdrm_amdgpu need.

use super::errno::{EACCES, EFAULT, EINVAL, EOPNOTSUPP};
use super::gpu::FaceGpu;
use super::memory::ADDRESS_LIMIT;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// The driver's interface: Linux 6.12's.
const VERSION: [u32; 3] = [3, 59, 0];
const NAME: &str = "amdgpu";
const DATE: &str = "20150101";
const DESCRIPTION: &str = "AMD GPU";

/// Numbers of ioctls: DRM's own, then amdgpu's.
mod nr {
    pub const VERSION: u8 = 0x00;
    pub const GEM_CLOSE: u8 = 0x09;
    pub const GET_CAP: u8 = 0x0c;
    pub const PRIME_HANDLE_TO_FD: u8 = 0x2d;
    pub const PRIME_FD_TO_HANDLE: u8 = 0x2e;
    pub const FIRST_OF_DRIVER: u8 = 0x40;
    pub const AMDGPU_INFO: u8 = 0x45;
    pub const LAST_OF_DRIVER: u8 = 0x56;
}

/// Queries of AMDGPU_INFO.
mod query {
    pub const ACCEL_WORKING: u32 = 0x00;
    pub const TIMESTAMP: u32 = 0x05;
    pub const VRAM_USAGE: u32 = 0x10;
    pub const VRAM_GTT: u32 = 0x14;
    pub const READ_MMR_REG: u32 = 0x15;
    pub const DEV_INFO: u32 = 0x16;
    pub const MEMORY: u32 = 0x19;
}

/// The only register that is told: how addresses of images are made, in dwords.
const GB_ADDR_CONFIG: u32 = 0x263e;
/// What the kernel itself writes there on chips of GFX9.
const GFX9_ADDR_CONFIG: u32 = 0x2a11_4042;

/// What a GPU's memory and clock say now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    /// Bytes of device memory in use.
    pub used: u64,
    /// Bytes of the host's memory that GPUs reach.
    pub gtt: u64,
    /// Bytes of device memory that the host reaches.
    pub visible: u64,
    /// The GPU's counter.
    pub counter: u64,
}

/// `struct drm_version`.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Version {
    version: [u32; 3],
    pad: u32,
    /// Length and address each: name, date, description.
    texts: [[u64; 2]; 3],
}

/// `struct drm_amdgpu_info`, with the union as READ_MMR_REG has it.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Info {
    pointer: u64,
    bytes: u32,
    query: u32,
    register: u32,
    count: u32,
    instance: u32,
    flags: u32,
}

/// `struct drm_amdgpu_info_device`'s beginning: clients that know more get less, as from an older kernel.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct DeviceInfo {
    device_id: u32,
    chip_rev: u32,
    external_rev: u32,
    pci_rev: u32,
    family: u32,
    num_shader_engines: u32,
    num_shader_arrays_per_engine: u32,
    /// In kHz, as all clocks here.
    gpu_counter_freq: u32,
    max_engine_clock: u64,
    max_memory_clock: u64,
    cu_active_number: u32,
    cu_ao_mask: u32,
    cu_bitmap: [[u32; 4]; 4],
    enabled_rb_pipes_mask: u32,
    num_rb_pipes: u32,
    num_hw_gfx_contexts: u32,
    pad: u32,
    ids_flags: u64,
    virtual_address_offset: u64,
    virtual_address_max: u64,
    virtual_address_alignment: u32,
    pte_fragment_size: u32,
    gart_page_size: u32,
    ce_ram_size: u32,
    vram_type: u32,
    vram_bit_width: u32,
    /// Of video and graphics, which are not simulated.
    graphics: [u32; 14],
    wave_front_size: u32,
    num_shader_visible_vgprs: u32,
    num_cu_per_sh: u32,
    num_tcc_blocks: u32,
    geometry: [u32; 4],
    cu_ao_bitmap: [[u32; 4]; 4],
    high_va_offset: u64,
    high_va_max: u64,
    pa_sc_tile_steering_override: u32,
    pad1: u32,
    tcc_disabled_mask: u64,
}

const _: () = assert!(size_of::<DeviceInfo>() == 368);
const _: () = assert!(core::mem::offset_of!(DeviceInfo, wave_front_size) == 240);
const _: () = assert!(core::mem::offset_of!(DeviceInfo, high_va_offset) == 336);

/// `struct drm_amdgpu_memory_info`: device memory, its part that the host reaches, the host's.
#[derive(IntoBytes, Immutable)]
#[repr(C)]
struct MemoryInfo {
    /// Total, usable, in use, largest allocation; in bytes.
    heaps: [[u64; 4]; 3],
}

/// Copies to the client, not more than it has room for.
///
/// # Safety
/// The pointer, unless it is no address of a process's, is of so many bytes.
unsafe fn copy_out(pointer: u64, room: u64, bytes: &[u8]) -> Result<(), i32> {
    let length = room.min(bytes.len() as u64) as usize;
    if length == 0 {
        return Ok(());
    }
    let end = pointer.checked_add(length as u64);
    if pointer == 0 || end.is_none_or(|end| end > ADDRESS_LIMIT) {
        return Err(EFAULT);
    }
    // SAFETY: the caller vouches for `room` bytes, and no more are written.
    unsafe {
        core::ptr::copy_nonoverlapping(
            bytes.as_ptr(),
            core::ptr::with_exposed_provenance_mut(pointer as usize),
            length,
        );
    }
    Ok(())
}

/// Answers an ioctl of a render node.
///
/// # Safety
/// Pointers inside the argument are of as many bytes as it says.
pub(super) unsafe fn ioctl(
    gpu: &FaceGpu,
    now: Now,
    request: u32,
    argument: &mut [u8],
) -> Result<(), i32> {
    match request as u8 {
        // SAFETY: by the caller's promise.
        nr::VERSION => unsafe { version(argument) },
        nr::GET_CAP => capability(argument),
        // SAFETY: by the caller's promise.
        nr::AMDGPU_INFO => unsafe { info(gpu, now, argument) },
        // Buffers and submissions through DRM: clients have KFD's.
        nr::GEM_CLOSE | nr::PRIME_HANDLE_TO_FD | nr::PRIME_FD_TO_HANDLE => Err(EOPNOTSUPP),
        nr::FIRST_OF_DRIVER..=nr::LAST_OF_DRIVER => Err(EOPNOTSUPP),
        // Not for render nodes.
        0x01..=0x3f => Err(EACCES),
        _ => Err(EINVAL),
    }
}

/// # Safety
/// As for [`ioctl`].
unsafe fn version(argument: &mut [u8]) -> Result<(), i32> {
    let (version, _) = Version::mut_from_prefix(argument).map_err(|_| EFAULT)?;
    version.version = VERSION;
    for ([room, pointer], text) in version.texts.iter_mut().zip([NAME, DATE, DESCRIPTION]) {
        if *pointer != 0 {
            // SAFETY: by the caller's promise.
            unsafe { copy_out(*pointer, *room, text.as_bytes()) }?;
        }
        *room = text.len() as u64;
    }
    Ok(())
}

fn capability(argument: &mut [u8]) -> Result<(), i32> {
    let (pair, _) = <[u64; 2]>::mut_from_prefix(argument).map_err(|_| EFAULT)?;
    pair[1] = match pair[0] {
        // PRIME: what DRM would export and import, of which there is nothing. Time stamps are monotonic.
        5 => 0,
        6 => 1,
        // Synchronisation objects belong to submissions.
        0x13 | 0x14 => 0,
        // Those of displays.
        1..=4 | 7..=0x12 => return Err(EOPNOTSUPP),
        _ => return Err(EINVAL),
    };
    Ok(())
}

/// # Safety
/// As for [`ioctl`].
unsafe fn info(gpu: &FaceGpu, now: Now, argument: &[u8]) -> Result<(), i32> {
    let (info, _) = Info::read_from_prefix(argument).map_err(|_| EFAULT)?;
    let put = |bytes: &[u8]| {
        // SAFETY: the caller vouches for as many bytes as the argument says.
        unsafe { copy_out(info.pointer, info.bytes.into(), bytes) }
    };
    if info.bytes == 0 || info.pointer == 0 {
        return Err(EINVAL);
    }
    let vram = gpu.profile.vram_bytes;
    match info.query {
        query::ACCEL_WORKING => put(1u32.as_bytes()),
        query::TIMESTAMP => put(now.counter.as_bytes()),
        query::VRAM_USAGE => put(now.used.as_bytes()),
        query::VRAM_GTT => put([vram, now.visible, now.gtt].as_bytes()),
        query::MEMORY => {
            let device = [vram, vram, now.used, vram / 4 * 3];
            let visible = [
                now.visible,
                now.visible,
                now.used.min(now.visible),
                now.visible / 4 * 3,
            ];
            let heaps = [device, visible, [now.gtt, now.gtt, 0, now.gtt / 4 * 3]];
            put(MemoryInfo { heaps }.as_bytes())
        }
        query::READ_MMR_REG if info.register == GB_ADDR_CONFIG && info.count == 1 => {
            let gfx9 = !gpu.profile.arch.is_gfx10_plus();
            put((if gfx9 { GFX9_ADDR_CONFIG } else { 0 }).as_bytes())
        }
        // The kernel's answer about a register that it does not tell.
        query::READ_MMR_REG => Err(EFAULT),
        query::DEV_INFO => put(device(gpu).as_bytes()),
        _ => Err(EINVAL),
    }
}

fn device(gpu: &FaceGpu) -> DeviceInfo {
    let (info, profile) = (&gpu.info, gpu.profile);
    let arrays = (info.shader_engines * info.arrays_per_engine).max(1);
    let mut cu_bitmap = [[0u32; 4]; 4];
    let mut left = info.compute_units;
    for engine in 0..info.shader_engines as usize {
        for array in 0..info.arrays_per_engine as usize {
            let units = info.compute_units.div_ceil(arrays).min(left).min(31);
            left -= units;
            // Engines from the fifth on stand in the columns that arrays do not use.
            if let Some(bits) = cu_bitmap[engine % 4].get_mut(array + engine / 4) {
                *bits = (1 << units) - 1;
            }
        }
    }
    DeviceInfo {
        device_id: info.device_id,
        chip_rev: info.asic_revision,
        external_rev: info.asic_revision,
        pci_rev: profile.pci_revision,
        family: info.family_id,
        num_shader_engines: info.shader_engines,
        num_shader_arrays_per_engine: info.arrays_per_engine,
        gpu_counter_freq: (profile.counter_hz / 1000) as u32,
        max_engine_clock: u64::from(info.max_clock_mhz) * 1000,
        max_memory_clock: u64::from(profile.vram_clock_mhz) * 1000,
        cu_active_number: info.compute_units,
        cu_bitmap,
        cu_ao_bitmap: cu_bitmap,
        virtual_address_offset: 0x20_0000,
        virtual_address_max: 0x8000_0000_0000,
        virtual_address_alignment: 4096,
        gart_page_size: 4096,
        // HBM has the wide buses; the others have GDDR6.
        vram_type: if profile.vram_width_bits >= 1024 {
            6
        } else {
            9
        },
        vram_bit_width: profile.vram_width_bits,
        wave_front_size: info.wavefront_size,
        num_cu_per_sh: info.compute_units.div_ceil(arrays),
        high_va_offset: 0xffff_8000_0000_0000,
        high_va_max: 0xffff_ffff_ffe0_0000,
        ..DeviceInfo::new_zeroed()
    }
}
