//! What a render node is asked: as much of amdgpu's ioctls as a KFD client needs.

use super::errno::{EFAULT, EINVAL};
use super::gpu::FaceGpu;
use super::memory::ADDRESS_LIMIT;

/// `DRM_IOCTL_AMDGPU_INFO`'s number.
const AMDGPU_INFO: u8 = 0x45;
/// `AMDGPU_INFO_DEV_INFO`.
const DEV_INFO: u32 = 0x16;
/// Bytes of `struct drm_amdgpu_info_device`'s beginning that are told; the kernel cuts the answer to the client's size
/// as well.
const DEVICE_BYTES: usize = 368;

/// Answers an ioctl of a render node.
///
/// # Safety
/// The argument of AMDGPU_INFO points to as many bytes as it says.
pub(super) unsafe fn ioctl(gpu: &FaceGpu, request: u32, argument: &[u8]) -> Result<(), i32> {
    let dword = |at: usize| {
        argument
            .get(at..at + 4)
            .and_then(|bytes| Some(u32::from_ne_bytes(bytes.try_into().ok()?)))
            .ok_or(EFAULT)
    };
    if request as u8 != AMDGPU_INFO || dword(12)? != DEV_INFO {
        return Err(EINVAL);
    }
    let pointer = u64::from(dword(0)?) | u64::from(dword(4)?) << 32;
    if pointer == 0 || pointer >= ADDRESS_LIMIT {
        return Err(EFAULT);
    }
    let info = &gpu.info;
    let mut answer = [0u8; DEVICE_BYTES];
    let mut put = |at: usize, value: u32| {
        answer[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    };
    put(0, info.device_id);
    put(4, info.asic_revision);
    put(8, info.asic_revision);
    put(12, info.asic_revision);
    put(16, info.family_id);
    put(20, info.shader_engines);
    put(24, info.arrays_per_engine);
    // In kHz.
    put(28, (gpu.profile.counter_hz / 1000) as u32);
    let bytes = (dword(8)? as usize).min(DEVICE_BYTES);
    // SAFETY: the caller vouches for as many bytes at the pointer as the argument says, and no more are written.
    unsafe {
        core::ptr::copy_nonoverlapping(
            answer.as_ptr(),
            core::ptr::with_exposed_provenance_mut(pointer as usize),
            bytes,
        );
    }
    Ok(())
}
