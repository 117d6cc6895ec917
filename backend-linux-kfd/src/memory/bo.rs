//! Buffer objects: the driver's names of memory, and where they are mapped.

use rukh_core::kfd::uapi::{
    AllocFlags, AllocMemoryOfGpu, FreeMemoryOfGpu, Ioctl, MapMemoryToGpu, UnmapMemoryFromGpu,
};
use rukh_core::kfd::{EAGAIN, EINTR, KfdPort, PortError, RETRIES};

use crate::kfd::Kfd;

const EIO: i32 = 5;

/// A buffer object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bo {
    /// The driver's handle.
    pub handle: u64,
    /// Offset to map it at on the host.
    pub mmap_offset: u64,
    /// The index of the GPU that it was allocated on.
    pub gpu: usize,
}

/// Allocates. `host` is the host address for a user pointer, otherwise 0.
pub(super) fn allocate<P: KfdPort>(
    kfd: &Kfd<P>,
    gpu: (usize, u32),
    address: u64,
    size: u64,
    flags: AllocFlags,
    host: u64,
) -> Result<Bo, PortError> {
    let mut argument = AllocMemoryOfGpu {
        va_addr: address,
        size,
        handle: 0,
        mmap_offset: host,
        gpu_id: gpu.1,
        flags: flags.bits(),
    };
    kfd.call(&mut argument)?;
    Ok(Bo {
        handle: argument.handle,
        mmap_offset: argument.mmap_offset,
        gpu: gpu.0,
    })
}

/// Frees.
pub(super) fn free<P: KfdPort>(kfd: &Kfd<P>, bo: Bo) -> Result<(), PortError> {
    kfd.call(&mut FreeMemoryOfGpu { handle: bo.handle })
}

/// An ioctl over an array of GPUs that stops where it is interrupted.
trait Resumable: Ioctl {
    fn done(&self) -> u32;
    fn count(&self) -> u32;
}

macro_rules! resumable {
    ($($ty:ty)*) => { $(impl Resumable for $ty {
        fn done(&self) -> u32 { self.n_success }
        fn count(&self) -> u32 { self.n_devices }
    })* };
}
resumable!(MapMemoryToGpu UnmapMemoryFromGpu);

/// Sends it until it is done with all GPUs. On an error gives how many it was done with.
///
/// # Safety
/// The argument's array has as many ids as it says, and they are alive.
unsafe fn resume<P: KfdPort, A: Resumable>(
    kfd: &Kfd<P>,
    argument: &mut A,
) -> Result<(), (u32, PortError)> {
    let mut tries = 0;
    let failed = |argument: &A, errno| {
        let name = A::INFO.name;
        Err((
            argument.done().min(argument.count()),
            PortError::Ioctl { name, errno },
        ))
    };
    loop {
        // SAFETY: by the caller's promise.
        let answer = unsafe {
            kfd.port()
                .ioctl_raw(kfd.file(), A::INFO.request, argument.as_mut_bytes())
        };
        match answer {
            Ok(()) if argument.done() >= argument.count() => return Ok(()),
            // A driver that reports success for fewer GPUs than it was asked for cannot be believed.
            Ok(()) => return failed(argument, EIO),
            // It goes on at `n_success`, which the driver has written back.
            Err(EINTR | EAGAIN) if tries < RETRIES => tries += 1,
            Err(errno) => return failed(argument, errno),
        }
    }
}

/// Maps to GPUs by their ids. On an error gives how many of them are mapped.
pub(super) fn map<P: KfdPort>(kfd: &Kfd<P>, bo: Bo, ids: &[u32]) -> Result<(), (u32, PortError)> {
    let mut argument = MapMemoryToGpu {
        handle: bo.handle,
        device_ids_array_ptr: ids.as_ptr().expose_provenance() as u64,
        n_devices: ids.len() as u32,
        n_success: 0,
    };
    // SAFETY: pointer and length are of one slice that is borrowed for the call.
    unsafe { resume(kfd, &mut argument) }
}

/// Unmaps from GPUs by their ids. On an error gives how many of them are unmapped.
pub(super) fn unmap<P: KfdPort>(kfd: &Kfd<P>, bo: Bo, ids: &[u32]) -> Result<(), (u32, PortError)> {
    let mut argument = UnmapMemoryFromGpu {
        handle: bo.handle,
        device_ids_array_ptr: ids.as_ptr().expose_provenance() as u64,
        n_devices: ids.len() as u32,
        n_success: 0,
    };
    // SAFETY: as for `map`.
    unsafe { resume(kfd, &mut argument) }
}
