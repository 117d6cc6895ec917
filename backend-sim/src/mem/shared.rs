//! Blocks with a memory file of their own: for other processes, and for addresses of the client's choice.
//!
//! A file's name says what its block is, since that is all that comes along when another process gets a descriptor; its size is
//! sealed, so that nobody who maps it finds its end cut off.

use super::host::{Block, HostMemoryError, SharedBlock, SharedMemory};
use super::os::{OsMemory, allocate_alone, is_sealed, map_alone, map_file, os};
use super::{PAGE_SIZE, Rights};
use alloc::format;
use alloc::string::{String, ToString};
use core::ptr::NonNull;
use rustix::fd::{IntoRawFd, OwnedFd};
use rustix::mm::{MapFlags, ProtFlags};
use rustix::process::{Resource, getrlimit};
use std::collections::BTreeMap;
use std::fs::OpenOptions;

/// How the files are called; the label follows.
const FILE_NAME: &str = "rukh-memory:";

/// Tokens of such blocks have this bit, which no offset of the common file has.
const TOKEN: u64 = 1 << 63;

/// Share of the process's file descriptors that they may take.
const FILES_SHARE: u64 = 4;

/// Files of one block that a process may have: beyond, blocks share one, and cannot be exported.
pub(crate) fn most_files() -> u64 {
    getrlimit(Resource::Nofile)
        .current
        .map_or(1 << 16, |limit| limit / FILES_SHARE)
}

/// The files of blocks that share theirs with no other one, by token.
#[derive(Default, Debug)]
pub(super) struct Alone {
    files: BTreeMap<u64, OwnedFd>,
    last: u64,
}

impl Alone {
    fn add(&mut self, block: Block, file: OwnedFd) -> Block {
        self.last += 1;
        let token = TOKEN | self.last;
        self.files.insert(token, file);
        Block { token, ..block }
    }

    /// Closes the file of a block, if it has one of its own.
    pub(super) fn forget(&mut self, block: &Block) -> bool {
        self.files.remove(&block.token).is_some()
    }
}

/// A memory file that a descriptor names.
pub(crate) struct MemoryFile {
    path: String,
    /// What it was called when it was made.
    pub name: String,
}

impl MemoryFile {
    /// Looks at a descriptor. None if it is none; the name is empty if it is not of a memory file.
    pub(crate) fn find(descriptor: i32) -> Option<Self> {
        if descriptor < 0 {
            return None;
        }
        let path = format!("/proc/self/fd/{descriptor}");
        let link = std::fs::read_link(&path).ok()?;
        let name = link
            .to_str()
            .and_then(|link| link.strip_prefix("/memfd:")?.strip_suffix(" (deleted)"))
            .unwrap_or_default()
            .to_string();
        Some(Self { path, name })
    }

    /// The file and its size, if that is sealed and of whole pages. Opened anew: the client may have it for reading alone,
    /// and close it when it likes.
    pub(crate) fn open(&self) -> Option<(OwnedFd, u64)> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&self.path)
            .ok()?;
        let size = file.metadata().ok()?.len();
        let file = OwnedFd::from(file);
        (is_sealed(&file) && size != 0 && size.is_multiple_of(PAGE_SIZE)).then_some((file, size))
    }
}

/// The label that a name carries.
fn label(name: &str) -> Option<u32> {
    let digits = name.strip_prefix(FILE_NAME)?;
    // A sign is taken for a number's as well.
    (digits.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(())?;
    u32::from_str_radix(digits, 16).ok()
}

fn pointer(address: u64) -> *mut core::ffi::c_void {
    core::ptr::without_provenance_mut(address as usize)
}

// SAFETY: blocks are guarded mappings of files of their own; ranges are mappings without access that nobody else knows.
unsafe impl SharedMemory for OsMemory {
    fn allocate_alone(&self, size: u64, align: u64, label: u32) -> Result<Block, HostMemoryError> {
        let mut alone = self.alone.lock();
        if alone.files.len() as u64 >= most_files() {
            return Err(HostMemoryError::Exhausted { size });
        }
        let (block, file) = allocate_alone(size, align, &format!("{FILE_NAME}{label:x}"))?;
        Ok(alone.add(block, file))
    }

    fn export(&self, block: &Block) -> Result<Option<i32>, HostMemoryError> {
        let alone = self.alone.lock();
        let Some(file) = alone.files.get(&block.token) else {
            return Ok(None);
        };
        let copy = rustix::io::fcntl_dupfd_cloexec(file, 0);
        Ok(Some(copy.map_err(os("fcntl", block.size))?.into_raw_fd()))
    }

    fn import(&self, descriptor: i32) -> Result<Option<SharedBlock>, HostMemoryError> {
        let found =
            MemoryFile::find(descriptor).and_then(|file| Some((label(&file.name)?, file.open()?)));
        let Some((label, (file, size))) = found else {
            return Ok(None);
        };
        let block = map_alone(&file, size, PAGE_SIZE)?;
        let block = self.alone.lock().add(block, file);
        Ok(Some(SharedBlock { block, label }))
    }

    fn take_range(&self, size: u64, align: u64, wish: u64) -> Result<u64, HostMemoryError> {
        let exhausted = HostMemoryError::Exhausted { size };
        let map = |at: u64, size: u64, flags| {
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | flags;
            let size = usize::try_from(size).map_err(|_| exhausted)?;
            // SAFETY: at an address of the kernel's choice, or where nothing is.
            unsafe { rustix::mm::mmap_anonymous(pointer(at), size, ProtFlags::empty(), flags) }
                .map_err(os("mmap", size as u64))
                .map(|start| start.addr() as u64)
        };
        if wish != 0
            && let Ok(at) = map(wish, size, MapFlags::FIXED_NOREPLACE)
        {
            if at == wish {
                return Ok(at);
            }
            // A kernel that does not know the flag took the address as a hint.
            // SAFETY: mapped just now.
            let _ = unsafe { rustix::mm::munmap(pointer(at), size as usize) };
        }
        let slack = align - PAGE_SIZE;
        let span = size.checked_add(slack).ok_or(exhausted)?;
        let start = map(0, span, MapFlags::empty())?;
        let base = start.next_multiple_of(align);
        for (from, to) in [(start, base), (base + size, start + span)] {
            if to > from {
                // SAFETY: parts of what was mapped just now, beside the range.
                let _ = unsafe { rustix::mm::munmap(pointer(from), (to - from) as usize) };
            }
        }
        Ok(base)
    }

    unsafe fn give_range(&self, base: u64, size: u64) {
        // SAFETY: by the caller's promise.
        let _ = unsafe { rustix::mm::munmap(pointer(base), size as usize) };
    }

    unsafe fn map_at(
        &self,
        block: &Block,
        address: u64,
        rights: Rights,
    ) -> Result<(), HostMemoryError> {
        let failed = os("mmap", block.size);
        let size = block.size as usize;
        if rights.is_empty() {
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
            let none = ProtFlags::empty();
            // SAFETY: the range is the caller's to replace.
            return unsafe { rustix::mm::mmap_anonymous(pointer(address), size, none, flags) }
                .map(drop)
                .map_err(failed);
        }
        let alone = self.alone.lock();
        let gone = HostMemoryError::Exhausted { size: block.size };
        let file = alone.files.get(&block.token).ok_or(gone)?;
        let mut protection = ProtFlags::empty();
        protection.set(ProtFlags::READ, rights.contains(Rights::READ));
        protection.set(ProtFlags::WRITE, rights.contains(Rights::WRITE));
        let at = NonNull::new(pointer(address).cast());
        // SAFETY: as above; the address is not null, since nothing is reserved there.
        unsafe { map_file(file, 0, size, protection, at) }
            .map(drop)
            .map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_back_from_names() {
        assert_eq!(label("rukh-memory:1f"), Some(0x1f));
        for other in [
            "rukh-memory:",
            "rukh-memory:+1",
            "rukh-memory:100000000",
            "rukh-sim",
        ] {
            assert_eq!(label(other), None, "{other}");
        }
    }

    #[test]
    fn a_block_is_the_same_through_its_descriptor_and_at_an_address_of_choice() {
        let memory = OsMemory::new();
        let block = memory.allocate_alone(0x2000, PAGE_SIZE, 7).unwrap();
        let descriptor = memory.export(&block).unwrap().unwrap();
        let other = OsMemory::new();
        let shared = other.import(descriptor).unwrap().unwrap();
        assert_eq!((shared.label, shared.block.size), (7, 0x2000));
        let at = memory.take_range(0x4000, 0x10000, 0).unwrap();
        assert!(at.is_multiple_of(0x10000));
        // SAFETY: the range was taken above; all three mappings are of two pages that no other thread knows.
        unsafe {
            memory.map_at(&block, at + 0x1000, Rights::READ).unwrap();
            block.host.as_ptr().add(0x1234).write(5);
            assert_eq!(shared.block.host.as_ptr().add(0x1234).read(), 5);
            assert_eq!(pointer(at + 0x2234).cast::<u8>().read(), 5);
            crate::mem::HostMemory::release(&memory, block, PAGE_SIZE);
            crate::mem::HostMemory::release(&other, shared.block, PAGE_SIZE);
            memory.give_range(at, 0x4000);
            // What was given back can be had again, where it was.
            assert_eq!(memory.take_range(0x4000, PAGE_SIZE, at).unwrap(), at);
            assert_ne!(memory.take_range(0x4000, PAGE_SIZE, at).unwrap(), at);
            drop(<OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(descriptor));
        }
        assert_eq!(other.import(0).unwrap(), None);
        assert_eq!(other.import(-1).unwrap(), None);
    }
}
