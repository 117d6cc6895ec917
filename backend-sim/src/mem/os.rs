//! Host memory from the operating system: ranges of one memory file, so that a bank can be
//! mapped by other processes too.

use super::PAGE_SIZE;
use super::host::{Block, HostMemory, HostMemoryError, SharedMemory};
use super::shared::Alone;
use crate::sync::Mutex;
use alloc::vec::Vec;
use core::ptr::NonNull;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use std::collections::BTreeMap;

/// Unmapped space on both sides of a block, in bytes: what a kernel that runs off the end by a
/// wave's worth of vectors must still hit.
const GUARD: usize = 64 << 10;

/// Blocks of this size and more are aligned to it, in bytes: what one entry of the address map's middle level covers.
const LARGE: u64 = 16 << 20;

/// Blocks that were released and stay mapped, empty, for the next one of their size: most programs allocate the
/// same sizes over and over, and mapping costs more than emptying.
const KEPT_BLOCKS: usize = 32;
/// Bytes of address space that such blocks may take.
const KEPT_BYTES: u64 = 1 << 30;

/// Free ranges of the file.
#[derive(Default, Debug)]
struct File {
    fd: Option<OwnedFd>,
    end: u64,
    /// Start to size. Never touching: neighbours are merged.
    free: BTreeMap<u64, u64>,
    kept: Vec<Block>,
    kept_bytes: u64,
}

/// Host memory from the operating system.
#[derive(Default, Debug)]
pub struct OsMemory {
    file: Mutex<File>,
    /// Files of one block each.
    pub(super) alone: Mutex<Alone>,
}

impl OsMemory {
    /// A source that has opened nothing yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Drop for OsMemory {
    fn drop(&mut self) {
        for block in self.file.lock().kept.drain(..) {
            // SAFETY: a released block's mapping and its two guards, which nothing else knows of.
            unsafe { unmap_guarded(&block) };
        }
    }
}

pub(super) fn os(call: &'static str, size: u64) -> impl Fn(Errno) -> HostMemoryError {
    move |errno| HostMemoryError::Os {
        call,
        size,
        errno: errno.raw_os_error(),
    }
}

/// The address map takes a large block by few entries instead of one for each page.
const fn alignment(size: u64, align: u64) -> u64 {
    if size >= LARGE && align < LARGE {
        LARGE
    } else {
        align
    }
}

/// Maps a range of a file between two guards.
fn map_guarded(
    fd: BorrowedFd<'_>,
    start: u64,
    size: u64,
    align: u64,
) -> Result<NonNull<u8>, HostMemoryError> {
    let exhausted = HostMemoryError::Exhausted { size };
    let slack = if align > PAGE_SIZE { align } else { 0 };
    let span = usize::try_from(size)
        .ok()
        .and_then(|n| n.checked_add(2 * GUARD))
        .and_then(|n| n.checked_add(usize::try_from(slack).ok()?))
        .ok_or(exhausted)?;
    // SAFETY: a new mapping at an address of the kernel's choice touches nothing of ours.
    let reserved = unsafe {
        rustix::mm::mmap_anonymous(
            core::ptr::null_mut(),
            span,
            ProtFlags::empty(),
            MapFlags::PRIVATE | MapFlags::NORESERVE,
        )
    }
    .map_err(os("mmap", size))?
    .cast::<u8>();
    let first = reserved.addr() + GUARD;
    let base = if slack == 0 {
        first
    } else {
        first.next_multiple_of(align as usize)
    };
    let host = reserved.with_addr(base);
    // SAFETY: the range lies inside the reservation that was just made.
    let mapping = unsafe {
        rustix::mm::mmap(
            host.cast(),
            size as usize,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::SHARED | MapFlags::FIXED | MapFlags::NORESERVE,
            fd,
            start,
        )
    };
    if let Err(errno) = mapping {
        // SAFETY: the reservation is ours and nothing uses it.
        let _ = unsafe { rustix::mm::munmap(reserved.cast(), span) };
        return Err(os("mmap", size)(errno));
    }
    // What the alignment left over beyond the guards goes back.
    let unused = base - GUARD - reserved.addr();
    if unused > 0 {
        // SAFETY: the head of our reservation, before the guard.
        let _ = unsafe { rustix::mm::munmap(reserved.cast(), unused) };
    }
    let tail = base + size as usize + GUARD;
    let end = reserved.addr() + span;
    if tail < end {
        // SAFETY: the tail of our reservation, after the guard.
        let _ = unsafe { rustix::mm::munmap(reserved.with_addr(tail).cast(), end - tail) };
    }
    NonNull::new(host).ok_or(exhausted)
}

/// Unmaps what [`map_guarded`] has mapped.
///
/// # Safety
/// The block was mapped so, and nothing touches it any more.
pub(crate) unsafe fn unmap_guarded(block: &Block) {
    let start = block.host.as_ptr().wrapping_sub(GUARD);
    // SAFETY: the mapping and its two guards, by the caller's promise.
    let _ = unsafe { rustix::mm::munmap(start.cast(), block.size as usize + 2 * GUARD) };
}

/// What files of one block cannot lose: their size. Whoever maps one never finds its end cut off.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW);

/// A block with a memory file of its own, so that others can map it and nothing else.
pub(crate) fn allocate_alone(
    size: u64,
    align: u64,
    name: &str,
) -> Result<(Block, OwnedFd), HostMemoryError> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let fd = rustix::fs::memfd_create(name, flags).map_err(os("memfd_create", size))?;
    rustix::fs::ftruncate(&fd, size).map_err(os("ftruncate", size))?;
    rustix::fs::fcntl_add_seals(&fd, SEALS | SealFlags::SEAL).map_err(os("fcntl", size))?;
    Ok((map_alone(&fd, size, align)?, fd))
}

/// Whether a file's size is fixed, as that of files of [`allocate_alone`] is.
pub(crate) fn is_sealed(fd: &OwnedFd) -> bool {
    rustix::fs::fcntl_get_seals(fd).is_ok_and(|seals| seals.contains(SEALS))
}

/// The beginning of a file as a block. The pages are shared with whoever else maps them.
pub(crate) fn map_alone(fd: &OwnedFd, size: u64, align: u64) -> Result<Block, HostMemoryError> {
    let host = map_guarded(fd.as_fd(), 0, size, alignment(size, align))?;
    Ok(Block {
        host,
        size,
        token: 0,
    })
}

/// Maps the beginning of a file: where the kernel likes, or over what is at `at`.
///
/// # Safety
/// With `at`, the range is the caller's to replace.
pub(crate) unsafe fn map_file(
    fd: &OwnedFd,
    start: u64,
    size: usize,
    protection: ProtFlags,
    at: Option<NonNull<u8>>,
) -> Result<NonNull<u8>, Errno> {
    let fixed = if at.is_some() {
        MapFlags::FIXED
    } else {
        MapFlags::empty()
    };
    // SAFETY: by the caller's promise, or at an address of the kernel's choice.
    let address = unsafe {
        rustix::mm::mmap(
            at.map_or(core::ptr::null_mut(), |at| at.as_ptr().cast()),
            size,
            protection,
            MapFlags::SHARED | MapFlags::NORESERVE | fixed,
            fd,
            start,
        )
    }?;
    NonNull::new(address.cast()).ok_or(Errno::NOMEM)
}

impl File {
    /// Takes `size` bytes of the file; they read as zero.
    fn take(&mut self, size: u64) -> Result<u64, HostMemoryError> {
        let fitting = self
            .free
            .iter()
            .filter(|(_, free)| **free >= size)
            .min_by_key(|(_, free)| **free)
            .map(|(start, free)| (*start, *free));
        if let Some((start, free)) = fitting {
            self.free.remove(&start);
            if free > size {
                self.free.insert(start + size, free - size);
            }
            return Ok(start);
        }
        let fd = match &self.fd {
            Some(fd) => fd,
            None => {
                let fd = rustix::fs::memfd_create("rukh-sim", MemfdFlags::CLOEXEC)
                    .map_err(os("memfd_create", size))?;
                self.fd.insert(fd)
            }
        };
        let start = self.end;
        let end = start
            .checked_add(size)
            .ok_or(HostMemoryError::Exhausted { size })?;
        rustix::fs::ftruncate(fd, end).map_err(os("ftruncate", size))?;
        self.end = end;
        Ok(start)
    }

    /// Gives the pages of a range back, so that it reads as zero; false if the bytes may still be there.
    fn empty(&self, start: u64, size: u64) -> bool {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        self.fd
            .as_ref()
            .is_some_and(|fd| rustix::fs::fallocate(fd, flags, start, size).is_ok())
    }

    /// A block that is mapped and empty.
    fn reuse(&mut self, size: u64, align: u64) -> Option<Block> {
        let at = self.kept.iter().rposition(|block| {
            block.size == size && (block.host.addr().get() as u64).is_multiple_of(align)
        })?;
        self.kept_bytes -= size;
        Some(self.kept.swap_remove(at))
    }

    /// Keeps an empty block mapped, if there is room.
    fn keep(&mut self, block: Block) -> bool {
        let room = self.kept.len() < KEPT_BLOCKS
            && self.kept_bytes.saturating_add(block.size) <= KEPT_BYTES;
        if room {
            self.kept_bytes += block.size;
            self.kept.push(block);
        }
        room
    }

    /// Takes an empty range back.
    fn give_back(&mut self, start: u64, size: u64) {
        let (mut start, mut size) = (start, size);
        if let Some((before, free)) = self.free.range(..start).next_back() {
            let (before, free) = (*before, *free);
            if before + free == start {
                self.free.remove(&before);
                start = before;
                size += free;
            }
        }
        if let Some(free) = self.free.remove(&(start + size)) {
            size += free;
        }
        self.free.insert(start, size);
    }
}

impl OsMemory {
    /// Maps a block, or its beginning, once more: where the kernel likes, or over what is at `at`. The pages are the same.
    /// Those who map a block a second time keep it until they have unmapped it.
    ///
    /// # Safety
    /// With `at`, the range is the caller's to replace; the block is one of this source that is not released.
    pub(crate) unsafe fn map_again(
        &self,
        block: &Block,
        offset: u64,
        size: usize,
        protection: ProtFlags,
        at: Option<NonNull<u8>>,
    ) -> Result<NonNull<u8>, Errno> {
        if offset
            .checked_add(size as u64)
            .is_none_or(|end| end > block.size)
        {
            return Err(Errno::INVAL);
        }
        let file = self.file.lock();
        let fd = file.fd.as_ref().ok_or(Errno::BADF)?;
        // SAFETY: by the caller's promise, or at an address of the kernel's choice.
        unsafe { map_file(fd, block.token + offset, size, protection, at) }
    }
}

// SAFETY: a block is a shared mapping of a range of the file that `take` gives to one block at a
// time and that is empty (a hole, zero) then; it stands inside a reservation with GUARD bytes without
// access on both sides, until `release` unmaps all of it.
unsafe impl HostMemory for OsMemory {
    fn allocate(&self, size: u64, align: u64) -> Result<Block, HostMemoryError> {
        let exhausted = HostMemoryError::Exhausted { size };
        let align = alignment(size, align);
        let mut file = self.file.lock();
        if let Some(block) = file.reuse(size, align) {
            return Ok(block);
        }
        let start = file.take(size)?;
        let fd = file.fd.as_ref().ok_or(exhausted)?;
        let mapped = map_guarded(fd.as_fd(), start, size, align);
        match mapped {
            Ok(host) => Ok(Block {
                host,
                size,
                token: start,
            }),
            Err(error) => {
                file.give_back(start, size);
                Err(error)
            }
        }
    }

    unsafe fn release(&self, block: Block, _align: u64) {
        if self.alone.lock().forget(&block) {
            // SAFETY: as below.
            unsafe { unmap_guarded(&block) };
            return;
        }
        let mut file = self.file.lock();
        // Bytes that may still be there are never handed out again.
        let empty = file.empty(block.token, block.size);
        if empty && file.keep(block) {
            return;
        }
        // SAFETY: the caller gives back a block of `allocate`: the mapping and its two guards are
        // ours and nothing touches them any more.
        unsafe { unmap_guarded(&block) };
        if empty {
            file.give_back(block.token, block.size);
        }
    }

    fn reserve(&self, size: u64) -> Option<u64> {
        let span = usize::try_from(size).ok()?.checked_add(2 * GUARD)?;
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing of ours.
        let reserved = unsafe {
            rustix::mm::mmap_anonymous(
                core::ptr::null_mut(),
                span,
                ProtFlags::empty(),
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        };
        Some((reserved.ok()?.addr() + GUARD) as u64)
    }

    unsafe fn unreserve(&self, base: u64, size: u64) {
        let start = core::ptr::without_provenance_mut::<u8>(base as usize).wrapping_sub(GUARD);
        // SAFETY: by the caller's promise a reservation of `reserve`, which nothing was mapped into.
        let _ = unsafe { rustix::mm::munmap(start.cast(), size as usize + 2 * GUARD) };
    }

    fn shared(&self) -> Option<&dyn SharedMemory> {
        Some(self)
    }
}
