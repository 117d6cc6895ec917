//! The KFD face: the same devices behind the ioctls of Linux's `/dev/kfd`.
//!
//! [`KfdFace`] is a [`KfdPort`]: it opens `/dev/kfd` and the render nodes, answers their ioctls errno for errno, maps what they
//! map, and shows the topology's files. `KfdBackend<KfdFace>` drives the software GPU as it would drive a real one. Of two
//! views on a question the kernel's counts (interface 1.17, Linux 6.12; see [`Interface`] for others).
//!
//! In the order in which a client meets them: `topology`, `ioctl` (dispatcher and queries), `memory`, `events`, `queues`;
//! `interrupts` is the way back. `drm` answers the render nodes. `librukh_kfd.so` (`backend-sim/preload`) puts all of it before
//! unmodified programs: AMD's own runtime is the harshest witness of this face.
//!
//! # What differs from a kernel
//! - Doorbells are memory, and nobody tells when memory is stored to: workers look. Between dispatches they look at once, then
//!   after 20 microseconds, later less often, down to once a millisecond for the first worker and once in four for the
//!   others. A process with a queue and nothing to do was measured at 1.5 % of a processor (two workers, unoptimised), and
//!   the first packet after a pause starts up to a millisecond late.
//! - All GPUs share one map of addresses: two buffer objects at one address on different GPUs are refused with EINVAL.
//! - Queues go on after a memory fault of another one; Linux takes all of a process's queues off a GPU that faulted.
//! - A user pointer must stay mapped, readable and writable, until it is unmapped from all GPUs. There is no notifier.
//! - A signal ends a wait that has a timeout with EINTR even if its handler has calls restarted; clients of the driver make
//!   such a call again. A child process inherits nothing useful.
//! - Shared virtual memory stays in the host's memory, wherever it is wanted; a range that is unmapped is forgotten as soon as
//!   the face is told, which for the process's own allocator nobody does. A GPU that loses access loses it at once.
//! - A dmabuf is a memory file; of another driver's none can be imported. Once a quarter of the process's descriptors are taken
//!   by buffer objects, further ones cannot be exported (EMFILE).
//! - Refused with EOPNOTSUPP: SMI events, debugging, buffers and submissions through DRM. Scratch addresses are taken and not
//!   used.

mod dmabuf;
mod drm;
mod errno;
mod events;
mod gpu;
mod interface;
mod interrupts;
mod ioctl;
mod memory;
mod other;
mod pages;
mod process;
mod queues;
mod sizes;
pub(crate) mod svm;
mod topology;

use crate::backend::{Mode, SimBackend, SimConfig};
use crate::device::FaultReport;
use crate::mem::{HostMemory, HostMemoryError, OsMemory, PAGE_SIZE};
use crate::profile::{Profile, ProfileError};
use crate::sync::Mutex;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ptr::NonNull;
use errno::{EBADF, EEXIST, EFBIG, EINVAL, EIO, ENOENT, ENOMEM};
use gpu::{DOORBELL_BYTES, FaceGpu};
pub use interface::Interface;
use interrupts::Shared;
use process::{File, Process};
use rukh_core::backend::GpuInfo;
use rukh_core::kfd::{KfdFile, KfdPort, Mapping, PortError, Protection};
use rustix::mm::{Advice, MapFlags, ProtFlags};
use thiserror_no_std::Error;

/// Why there is no face.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum FaceError {
    /// The system cannot be simulated.
    #[error("{0}")]
    Profile(ProfileError),
    /// A version of the interface, or a kind of machine, that the face has not.
    #[error("what stands before a colon is none of 1.11, 1.17 and smallbar")]
    Interface,
    /// Devices that progress inside of calls alone: behind a doorbell of plain memory nobody calls.
    #[error("the KFD face needs devices on threads of their own, not step mode")]
    Step,
    /// No memory for the registers.
    #[error("{0}")]
    Memory(HostMemoryError),
}

impl core::error::Error for FaceError {}

/// A GPU of the machine, as its files show it.
#[derive(Clone, Debug)]
pub struct FaceDevice<'a> {
    /// Whose figures it has.
    pub profile: &'static Profile,
    /// Minor number of its render node.
    pub render_minor: u32,
    /// The figures, for this place in the system.
    pub info: &'a GpuInfo,
}

/// A machine with simulated GPUs, as one process sees it through `/dev/kfd`.
pub struct KfdFace {
    sim: SimBackend,
    shared: Arc<Shared>,
    memory: OsMemory,
    gpus: Vec<FaceGpu>,
    interface: Interface,
    /// Whether the host maps a window of device memory alone, which KFD's clients have nothing of.
    small_bar: bool,
    // Taken before the locks of `shared`; never while waiting for an event.
    process: Mutex<Process>,
}

impl core::fmt::Debug for KfdFace {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("KfdFace")
            .field("sim", &self.sim)
            .finish_non_exhaustive()
    }
}

impl KfdFace {
    /// A machine with these GPUs, or with none. Starts nothing yet: threads come with the first queue.
    ///
    /// # Errors
    /// See [`FaceError`].
    pub fn new(config: SimConfig) -> Result<Self, FaceError> {
        if matches!(config.mode, Mode::Step { .. }) {
            return Err(FaceError::Step);
        }
        let memory = OsMemory::new();
        let block = |size| memory.allocate(size, PAGE_SIZE).map_err(FaceError::Memory);
        let mut gpus = Vec::new();
        for (profile, index) in config.profiles.iter().zip(0..) {
            let gpu = FaceGpu::new(index, profile, block(DOORBELL_BYTES)?, block(PAGE_SIZE)?);
            gpus.push(gpu);
        }
        let shared = Arc::new(Shared::new(gpus.iter().map(|gpu| gpu.id).collect()));
        let sim =
            SimBackend::with_interrupts(config, shared.clone()).map_err(FaceError::Profile)?;
        Ok(Self {
            sim,
            shared,
            process: Mutex::new(Process::new(gpus.len())),
            memory,
            gpus,
            interface: Interface::default(),
            small_bar: false,
        })
    }

    /// The same machine with the interface of another kernel.
    #[must_use]
    pub fn with_interface(mut self, interface: Interface) -> Self {
        self.interface = interface;
        self
    }

    /// The same machine without resizable BARs: the host does not reach device memory.
    #[must_use]
    pub fn with_small_bar(mut self) -> Self {
        self.small_bar = true;
        self
    }

    /// A machine with the GPUs of a list such as `gfx90a,gfx1100`, or with `none`. Before it, each with a colon: `1.11` or `1.17`
    /// for that version of the interface, `smallbar` for [`Self::with_small_bar`].
    ///
    /// # Errors
    /// See [`FaceError`].
    pub fn parse(list: &str) -> Result<Self, FaceError> {
        let (mut interface, mut small_bar, mut gpus) = (Interface::default(), false, list);
        while let Some((wish, rest)) = gpus.split_once(':') {
            if wish == "smallbar" {
                small_bar = true;
            } else {
                interface = Interface::parse(wish).ok_or(FaceError::Interface)?;
            }
            gpus = rest;
        }
        let config = if gpus == "none" {
            SimConfig::new(Vec::new())
        } else {
            SimConfig::parse(gpus).map_err(FaceError::Profile)?
        };
        let face = Self::new(config)?.with_interface(interface);
        Ok(if small_bar {
            face.with_small_bar()
        } else {
            face
        })
    }

    /// Reports of queues that stopped, oldest first; the last few. No kernel says as much.
    pub fn last_faults(&self) -> Vec<FaultReport> {
        self.sim.last_faults()
    }

    /// The GPUs, in the order of their nodes.
    pub fn devices(&self) -> impl Iterator<Item = FaceDevice<'_>> {
        self.gpus.iter().map(|gpu| FaceDevice {
            profile: gpu.profile,
            render_minor: gpu.render_minor,
            info: &gpu.info,
        })
    }

    /// Instructions that the waves of all GPUs have executed, as [`SimBackend::wave_instructions`] counts them.
    pub fn wave_instructions(&self) -> u64 {
        self.sim.wave_instructions()
    }

    /// Calls `log` with the report of each queue that stops, before the process is told: a kernel's log. It is called from
    /// devices' threads and must not call the face. False if there is one already.
    pub fn log_faults(&self, log: fn(&FaultReport)) -> bool {
        self.shared.log.set(log).is_ok()
    }

    /// Unmaps a range that the client has, of the face's mappings or of others.
    ///
    /// # Safety
    /// The range is the client's, and nothing uses it any more.
    ///
    /// # Errors
    /// The errno.
    pub unsafe fn unmap_range(&self, address: NonNull<u8>, size: usize) -> Result<(), i32> {
        // Held, so that nobody is given the addresses before they are forgotten.
        let process = &mut *self.process.lock();
        let start = address.addr().get() as u64;
        // Before: devices reach it until then.
        self.forget_svm(process, start, start.saturating_add(size as u64));
        // SAFETY: by the caller's promise. A failure leaves all mapped.
        unsafe { rustix::mm::munmap(address.as_ptr().cast(), size) }
            .map_err(|errno| errno.raw_os_error())?;
        self.forget_mappings(process, address, size);
        Ok(())
    }

    /// The client has mapped something else over a range, so that mappings of the face's are gone.
    pub fn mapped_over(&self, address: NonNull<u8>, size: usize) {
        let process = &mut *self.process.lock();
        let start = address.addr().get() as u64;
        self.forget_svm(process, start, start.saturating_add(size as u64));
        self.forget_mappings(process, address, size);
    }

    /// What the process has of the driver: files, buffer objects, queues. All 0 when a client has given everything back, but
    /// for the event page, which the driver keeps.
    pub fn handles(&self) -> (usize, usize, usize) {
        let process = self.process.lock();
        let (files, queues) = (process.files.len(), process.queues.len());
        (files, process.objects.len(), queues)
    }

    /// A GPU by the driver's id.
    fn gpu(&self, id: u32) -> Result<&FaceGpu, i32> {
        self.gpus.iter().find(|gpu| gpu.id == id).ok_or(EINVAL)
    }

    fn index(gpu: &FaceGpu) -> usize {
        gpu.agent.0 as usize - 1
    }
}

impl Drop for KfdFace {
    fn drop(&mut self) {
        self.sim.halt();
        self.release_all();
    }
}

/// Maps a descriptor of the process.
///
/// # Safety
/// As of [`KfdPort::map`]; the descriptor is not negative.
unsafe fn map_descriptor(
    file: i32,
    mapping: &Mapping,
    access: ProtFlags,
) -> Result<NonNull<u8>, i32> {
    let (at, fixed) = match mapping.fixed {
        Some(at) => (at.as_ptr().cast(), MapFlags::FIXED),
        None => (core::ptr::null_mut(), MapFlags::empty()),
    };
    // SAFETY: not -1. One that is not open is EBADF, one that is another file's is that file's memory.
    let file = unsafe { rustix::fd::BorrowedFd::borrow_raw(file) };
    let flags = MapFlags::SHARED | MapFlags::NORESERVE | fixed;
    // SAFETY: by the caller's promise, or at an address of the kernel's choice.
    let start = unsafe { rustix::mm::mmap(at, mapping.size, access, flags, file, mapping.offset) }
        .map_err(|errno| errno.raw_os_error())?;
    NonNull::new(start.cast()).ok_or(ENOMEM)
}

const fn protection(protection: Protection) -> ProtFlags {
    match protection {
        Protection::None => ProtFlags::empty(),
        Protection::Read => ProtFlags::READ,
        Protection::ReadWrite => ProtFlags::READ.union(ProtFlags::WRITE),
    }
}

// SAFETY: mappings come from mmap and live until munmap. Pages that a client has mapped are not given to others before
// it has unmapped them, or the memory file's owner is gone, after which the mapping alone keeps them. An ioctl's
// argument is written within its bytes.
unsafe impl KfdPort for KfdFace {
    fn open(&self, path: &str) -> Result<KfdFile, PortError> {
        let file = if path == "/dev/kfd" {
            File::Kfd
        } else {
            path.strip_prefix("/dev/dri/renderD")
                .and_then(|minor| minor.parse().ok())
                .and_then(|minor: u32| self.gpus.iter().position(|g| g.render_minor == minor))
                .map(File::Render)
                .ok_or_else(|| PortError::file(path, ENOENT))?
        };
        let process = &mut *self.process.lock();
        process.last_file += 1;
        process.files.insert(process.last_file, file);
        Ok(KfdFile(process.last_file))
    }

    fn close(&self, file: KfdFile) {
        // What the process has stays: it is the address space's, not the file's.
        self.process.lock().files.remove(&file.0);
    }

    unsafe fn ioctl_raw(
        &self,
        file: KfdFile,
        request: u32,
        argument: &mut [u8],
    ) -> Result<(), i32> {
        // SAFETY: by the caller's promise.
        unsafe { self.ioctl(file, request, argument) }
    }

    unsafe fn map(&self, mapping: &Mapping) -> Result<NonNull<u8>, PortError> {
        let failed = |errno| PortError::Map {
            size: mapping.size,
            offset: mapping.offset,
            errno,
        };
        let access = protection(mapping.protection);
        if let Some(file) = mapping.file
            && file.0 >= 0
            && file.0 < process::FIRST_FILE
        {
            if let Some(at) = mapping.fixed {
                self.mapped_over(at, mapping.size);
            }
            // None of the face's: a dmabuf, which is a file of the process.
            // SAFETY: by the caller's promise, which has the descriptor open.
            return unsafe { map_descriptor(file.0, mapping, access) }.map_err(failed);
        }
        if let Some(file) = mapping.file {
            let file = self.process.lock().files.get(&file.0).copied();
            let gpu = match file.ok_or(failed(EBADF))? {
                File::Kfd => None,
                File::Render(gpu) => Some(gpu),
            };
            // SAFETY: by the caller's promise.
            return unsafe {
                self.map_file(gpu, mapping.offset, mapping.size, access, mapping.fixed)
            }
            .map_err(failed);
        }
        let mut flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        if let Some(at) = mapping.fixed {
            flags |= MapFlags::FIXED;
            self.mapped_over(at, mapping.size);
        }
        let at = mapping
            .fixed
            .map_or(core::ptr::null_mut(), |at| at.as_ptr().cast());
        // SAFETY: without a fixed address the kernel picks a free one; with it, the caller owns the range.
        let address = unsafe { rustix::mm::mmap_anonymous(at, mapping.size, access, flags) }
            .map_err(|errno| failed(errno.raw_os_error()))?;
        let address = NonNull::new(address.cast()).ok_or_else(|| failed(EINVAL))?;
        // If it was something before, that was unmapped without a word.
        let start = address.addr().get() as u64;
        let process = &mut *self.process.lock();
        self.forget_svm(process, start, start.saturating_add(mapping.size as u64));
        Ok(address)
    }

    fn take(&self, address: u64, size: usize) -> Result<NonNull<u8>, PortError> {
        let failed = |errno| PortError::Map {
            size,
            offset: 0,
            errno,
        };
        let wish = core::ptr::without_provenance_mut(address as usize);
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED_NOREPLACE;
        // SAFETY: nothing that is there is replaced.
        let start = unsafe { rustix::mm::mmap_anonymous(wish, size, ProtFlags::empty(), flags) }
            .map_err(|errno| failed(errno.raw_os_error()))?;
        if start != wish {
            // SAFETY: mapped just now, elsewhere, by a kernel that does not know the flag.
            let _ = unsafe { rustix::mm::munmap(start, size) };
            return Err(failed(EEXIST));
        }
        NonNull::new(start.cast()).ok_or(failed(ENOMEM))
    }

    unsafe fn unmap(&self, address: NonNull<u8>, size: usize) {
        // SAFETY: the caller mapped the range and uses it no more. A failure leaves it mapped.
        let _ = unsafe { self.unmap_range(address, size) };
    }

    unsafe fn wipe_on_fork(&self, address: NonNull<u8>, size: usize) -> Result<(), PortError> {
        // SAFETY: the caller has nothing there that a child needs; this process's contents stay.
        unsafe { rustix::mm::madvise(address.as_ptr().cast(), size, Advice::LinuxWipeOnFork) }
            .map_err(|errno| PortError::Map {
                size,
                offset: 0,
                errno: errno.raw_os_error(),
            })
    }

    fn read_file(&self, path: &str, buffer: &mut [u8]) -> Result<usize, PortError> {
        let bytes = match self.topology_file(path) {
            Some(file) => file
                .ok_or_else(|| PortError::file(path, ENOENT))?
                .into_bytes(),
            // The rest is the host's: processors, memory, names of products.
            None => std::fs::read(path)
                .map_err(|error| PortError::file(path, error.raw_os_error().unwrap_or(EIO)))?,
        };
        let length = bytes.len().min(buffer.len());
        buffer[..length].copy_from_slice(&bytes[..length]);
        if bytes.len() > length {
            return Err(PortError::file(path, EFBIG));
        }
        Ok(length)
    }

    fn list_directory(&self, path: &str, visit: &mut dyn FnMut(&str)) -> Result<(), PortError> {
        let names = self
            .topology_directory(path)
            .flatten()
            .ok_or_else(|| PortError::file(path, ENOENT))?;
        names.iter().for_each(|name| visit(name));
        Ok(())
    }
}
