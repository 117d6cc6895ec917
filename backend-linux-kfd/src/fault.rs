//! A port that fails when it is told to, and counts what it is asked.
//!
//! [`FaultPort`] stands before another port: the software GPU's KFD face in tests, the kernel on a machine that is to
//! be seen failing. What fails is one kind of call, at one occurrence, in one way; everything else passes.

use alloc::sync::Arc;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use rukh_core::kfd::uapi::{IOCTL_BASE, Ioctl, MapMemoryToGpu, UnmapMemoryFromGpu};
use rukh_core::kfd::{KfdFile, KfdPort, Mapping, PortError, Protection};
use zerocopy::FromBytes;

const EIO: i32 = 5;

/// A kind of call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PortCall {
    /// Opening a device node.
    Open,
    /// An ioctl of `/dev/kfd`, by its number.
    Kfd(u8),
    /// An ioctl of a render node, by its number.
    Drm(u8),
    /// Mapping memory, or reserving addresses.
    Map,
    /// Mapping nothing, without access, over what is there: how memory at a client's address is given back.
    Clear,
    /// Reading a file.
    Read,
    /// Listing a directory.
    List,
    /// Marking memory for wiping.
    WipeOnFork,
    /// Placing memory on a NUMA node.
    Place,
}

/// Kinds of call that are counted apart.
const KINDS: usize = 2 * 256 + 7;

impl PortCall {
    const fn index(self) -> usize {
        match self {
            Self::Kfd(nr) => nr as usize,
            Self::Drm(nr) => 256 + nr as usize,
            Self::Open => 512,
            Self::Map => 513,
            Self::Read => 514,
            Self::List => 515,
            Self::WipeOnFork => 516,
            Self::Place => 517,
            Self::Clear => 518,
        }
    }

    const fn at(index: usize) -> Self {
        match index {
            0..=255 => Self::Kfd(index as u8),
            256..=511 => Self::Drm((index - 256) as u8),
            512 => Self::Open,
            513 => Self::Map,
            514 => Self::Read,
            515 => Self::List,
            516 => Self::WipeOnFork,
            517 => Self::Place,
            _ => Self::Clear,
        }
    }

    /// Whether it is an ioctl.
    pub const fn is_ioctl(self) -> bool {
        matches!(self, Self::Kfd(_) | Self::Drm(_))
    }

    fn of_mapping(mapping: &Mapping) -> Self {
        let nothing = mapping.file.is_none() && mapping.protection == Protection::None;
        if nothing && mapping.fixed.is_some() {
            Self::Clear
        } else {
            Self::Map
        }
    }

    const fn of_request(request: u32) -> Self {
        if (request >> 8) as u8 == IOCTL_BASE {
            Self::Kfd(request as u8)
        } else {
            Self::Drm(request as u8)
        }
    }
}

/// In which way a call fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// Nothing is done, and this is the answer.
    Errno(i32),
    /// MAP_MEMORY_TO_GPU and UNMAP_MEMORY_FROM_GPU: done for so many of the GPUs (at most for all but one), then this is
    /// the answer. Other calls just fail.
    Partial {
        /// GPUs that it is done for.
        done: u32,
        /// The answer.
        errno: i32,
    },
    /// Reading: half of the file, and that is said to be all. Other calls fail with EIO (5).
    Short,
}

/// What is to fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The kind of call.
    pub call: PortCall,
    /// How many calls of the kind pass first.
    pub after: u64,
    /// How many fail then.
    pub times: u64,
    /// In which way.
    pub failure: Failure,
}

/// What a [`FaultPort`] was asked, and what it is to do. Several ports may share one.
#[derive(Debug)]
pub struct PortFaults {
    fault: Option<Fault>,
    seen: [AtomicU64; KINDS],
    injected: AtomicU64,
    addresses: AtomicI64,
}

impl PortFaults {
    /// Has these calls fail, or none.
    pub const fn new(fault: Option<Fault>) -> Self {
        Self {
            fault,
            seen: [const { AtomicU64::new(0) }; KINDS],
            injected: AtomicU64::new(0),
            addresses: AtomicI64::new(0),
        }
    }

    /// How often a kind of call was made.
    pub fn count(&self, call: PortCall) -> u64 {
        self.seen[call.index()].load(Ordering::Relaxed)
    }

    /// How many ioctls were sent.
    pub fn ioctls(&self) -> u64 {
        let ioctls = &self.seen[..PortCall::Open.index()];
        ioctls.iter().map(|n| n.load(Ordering::Relaxed)).sum()
    }

    /// Every kind that was asked for, and how often.
    pub fn counts(&self) -> impl Iterator<Item = (PortCall, u64)> + '_ {
        self.seen.iter().enumerate().filter_map(|(index, n)| {
            let n = n.load(Ordering::Relaxed);
            (n != 0).then(|| (PortCall::at(index), n))
        })
    }

    /// How many calls were made to fail.
    pub fn injected(&self) -> u64 {
        self.injected.load(Ordering::Relaxed)
    }

    /// Bytes of addresses that are taken: mapped where the system chose, and not unmapped.
    pub fn addresses(&self) -> i64 {
        self.addresses.load(Ordering::Relaxed)
    }

    /// Counts a call; says whether and how it fails.
    fn meet(&self, call: PortCall) -> Option<Failure> {
        let seen = self.seen[call.index()].fetch_add(1, Ordering::Relaxed);
        let fault = self.fault.filter(|fault| {
            fault.call == call
                && seen
                    .checked_sub(fault.after)
                    .is_some_and(|n| n < fault.times)
        })?;
        self.injected.fetch_add(1, Ordering::Relaxed);
        Some(fault.failure)
    }

    fn refuses(&self, call: PortCall) -> Option<i32> {
        self.meet(call).map(|failure| match failure {
            Failure::Errno(errno) | Failure::Partial { errno, .. } => errno,
            Failure::Short => EIO,
        })
    }
}

/// A port that fails as its [`PortFaults`] say.
#[derive(Clone, Debug)]
pub struct FaultPort<P> {
    inner: P,
    faults: Arc<PortFaults>,
}

impl<P> FaultPort<P> {
    /// Stands before `inner`.
    pub const fn new(inner: P, faults: Arc<PortFaults>) -> Self {
        Self { inner, faults }
    }

    /// The port behind it.
    pub const fn inner(&self) -> &P {
        &self.inner
    }

    /// What it was asked.
    pub fn faults(&self) -> &PortFaults {
        &self.faults
    }
}

/// Number of GPUs in the argument of MAP_MEMORY_TO_GPU or UNMAP_MEMORY_FROM_GPU, which are alike, and of those done.
fn gpus(argument: &mut [u8]) -> Option<(&mut u32, &mut u32)> {
    const { assert!(size_of::<MapMemoryToGpu>() == size_of::<UnmapMemoryFromGpu>()) };
    let (argument, _) = MapMemoryToGpu::mut_from_prefix(argument).ok()?;
    Some((&mut argument.n_devices, &mut argument.n_success))
}

impl<P: KfdPort> FaultPort<P> {
    /// Has the call done for the first `most` GPUs alone.
    ///
    /// # Safety
    /// As for [`KfdPort::ioctl_raw`].
    unsafe fn in_part(
        &self,
        file: KfdFile,
        request: u32,
        argument: &mut [u8],
        most: u32,
        errno: i32,
    ) -> Result<(), i32> {
        let number = request as u8;
        if number != MapMemoryToGpu::INFO.nr && number != UnmapMemoryFromGpu::INFO.nr {
            return Err(errno);
        }
        let Some((devices, _)) = gpus(argument) else {
            return Err(errno);
        };
        let all = *devices;
        *devices = most.min(all.saturating_sub(1));
        if *devices != 0 {
            // SAFETY: by the caller's promise: the array is longer than what is asked for here.
            unsafe { self.inner.ioctl_raw(file, request, argument) }?;
        }
        if let Some((devices, done)) = gpus(argument) {
            *done = *devices;
            *devices = all;
        }
        Err(errno)
    }
}

// SAFETY: what passes is the inner port's answer to the caller's own arguments; what fails touches nothing, or hands the
// inner port a shorter array of the caller's.
unsafe impl<P: KfdPort> KfdPort for FaultPort<P> {
    fn open(&self, path: &str) -> Result<KfdFile, PortError> {
        match self.faults.refuses(PortCall::Open) {
            Some(errno) => Err(PortError::file(path, errno)),
            None => self.inner.open(path),
        }
    }

    fn close(&self, file: KfdFile) {
        self.inner.close(file);
    }

    unsafe fn ioctl_raw(
        &self,
        file: KfdFile,
        request: u32,
        argument: &mut [u8],
    ) -> Result<(), i32> {
        match self.faults.meet(PortCall::of_request(request)) {
            Some(Failure::Errno(errno)) => Err(errno),
            Some(Failure::Short) => Err(EIO),
            // SAFETY: by the caller's promise.
            Some(Failure::Partial { done, errno }) => unsafe {
                self.in_part(file, request, argument, done, errno)
            },
            // SAFETY: by the caller's promise.
            None => unsafe { self.inner.ioctl_raw(file, request, argument) },
        }
    }

    unsafe fn map(&self, mapping: &Mapping) -> Result<NonNull<u8>, PortError> {
        if let Some(errno) = self.faults.refuses(PortCall::of_mapping(mapping)) {
            return Err(PortError::Map {
                size: mapping.size,
                offset: mapping.offset,
                errno,
            });
        }
        // SAFETY: by the caller's promise.
        let address = unsafe { self.inner.map(mapping) }?;
        if mapping.fixed.is_none() {
            let bytes = mapping.size as i64;
            self.faults.addresses.fetch_add(bytes, Ordering::Relaxed);
        }
        Ok(address)
    }

    unsafe fn unmap(&self, address: NonNull<u8>, size: usize) {
        let bytes = size as i64;
        self.faults.addresses.fetch_sub(bytes, Ordering::Relaxed);
        // SAFETY: by the caller's promise.
        unsafe { self.inner.unmap(address, size) }
    }

    unsafe fn wipe_on_fork(&self, address: NonNull<u8>, size: usize) -> Result<(), PortError> {
        if let Some(errno) = self.faults.refuses(PortCall::WipeOnFork) {
            return Err(PortError::Map {
                size,
                offset: 0,
                errno,
            });
        }
        // SAFETY: by the caller's promise.
        unsafe { self.inner.wipe_on_fork(address, size) }
    }

    unsafe fn place(
        &self,
        address: NonNull<u8>,
        size: usize,
        node: u32,
        strict: bool,
    ) -> Result<(), PortError> {
        if let Some(errno) = self.faults.refuses(PortCall::Place) {
            return Err(PortError::Map {
                size,
                offset: 0,
                errno,
            });
        }
        // SAFETY: by the caller's promise.
        unsafe { self.inner.place(address, size, node, strict) }
    }

    fn read_file(&self, path: &str, buffer: &mut [u8]) -> Result<usize, PortError> {
        match self.faults.meet(PortCall::Read) {
            None => self.inner.read_file(path, buffer),
            Some(Failure::Short) => self.inner.read_file(path, buffer).map(|length| length / 2),
            Some(Failure::Errno(errno) | Failure::Partial { errno, .. }) => {
                Err(PortError::file(path, errno))
            }
        }
    }

    fn list_directory(&self, path: &str, visit: &mut dyn FnMut(&str)) -> Result<(), PortError> {
        match self.faults.meet(PortCall::List) {
            None => self.inner.list_directory(path, visit),
            Some(Failure::Short) => {
                let mut names = 0u32;
                self.inner.list_directory(path, &mut |name| {
                    // Every other entry.
                    if names.is_multiple_of(2) {
                        visit(name);
                    }
                    names += 1;
                })
            }
            Some(Failure::Errno(errno) | Failure::Partial { errno, .. }) => {
                Err(PortError::file(path, errno))
            }
        }
    }
}
