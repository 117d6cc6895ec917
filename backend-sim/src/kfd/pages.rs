//! Pages of the face's own, behind buffer objects: in a memory file for each while there are few, so that a dmabuf can be
//! made of them, then in the file that the devices' memory has in common.

use super::KfdFace;
use super::errno::{EINVAL, ENOMEM};
use super::memory::Source;
use super::process::Process;
use crate::mem::{
    Block, HostMemory, PAGE_SIZE, allocate_alone, map_alone, map_file, most_files, unmap_guarded,
};
use alloc::format;
use core::ptr::NonNull;
use rukh_core::kfd::uapi::AllocFlags;
use rustix::fd::OwnedFd;
use rustix::mm::ProtFlags;

/// Pages of the face's own.
#[derive(Debug)]
pub(super) struct Pages {
    pub block: Block,
    /// Its object, and each of the client's mappings.
    pub users: u32,
    /// Their file, if it holds nothing else.
    pub file: Option<OwnedFd>,
}

/// How memory files of one buffer object are called. Who gets one as a dmabuf reads there what it is: GPU and kind.
pub(super) const FILE_NAME: &str = "rukh-dmabuf:";

impl Process {
    /// The pages have one user less; those that have none are to be given back.
    pub(super) fn drop_pages(&mut self, number: u64) -> Option<Pages> {
        let pages = self.pages.get_mut(&number)?;
        pages.users = pages.users.saturating_sub(1);
        if pages.users != 0 {
            return None;
        }
        let pages = self.pages.remove(&number);
        if pages.as_ref().is_some_and(|pages| pages.file.is_some()) {
            self.own_files = self.own_files.saturating_sub(1);
        }
        pages
    }

    /// The client has mapped pages.
    pub(super) fn note_mapping(&mut self, start: usize, end: usize, pages: u64) {
        if let Some(found) = self.pages.get_mut(&pages) {
            found.users += 1;
            self.mappings.insert(start, (end, pages));
        }
    }

    fn add_pages(&mut self, block: Block, file: Option<OwnedFd>) -> Source {
        self.own_files += u64::from(file.is_some());
        self.last_pages += 1;
        let number = self.last_pages;
        let pages = Pages {
            block,
            users: 1,
            file,
        };
        self.pages.insert(number, pages);
        Source::Pages(number)
    }
}

impl KfdFace {
    /// Gives pages back that nobody uses.
    pub(super) fn release(&self, pages: Option<Pages>) {
        let Some(Pages { block, file, .. }) = pages else {
            return;
        };
        // SAFETY: the object is freed, so that no GPU maps it, and no mapping of the client is left; a block with a file of
        // its own was mapped for it alone, others are of this source.
        unsafe {
            match file {
                Some(_) => unmap_guarded(&block),
                None => self.memory.release(block, PAGE_SIZE),
            }
        }
    }

    /// Pages for a buffer object of a GPU.
    pub(super) fn take_pages(
        &self,
        process: &mut Process,
        gpu: u32,
        flags: AllocFlags,
        size: u64,
    ) -> Result<Source, i32> {
        if process.own_files < most_files() {
            let kinds = AllocFlags::VRAM | AllocFlags::GTT | AllocFlags::PUBLIC;
            let name = format!("{FILE_NAME}{gpu:x}:{:x}", (flags & kinds).bits());
            // Descriptors may be short all the same: they are the client's as well.
            if let Ok((block, file)) = allocate_alone(size, PAGE_SIZE, &name) {
                return Ok(process.add_pages(block, Some(file)));
            }
        }
        let block = self.memory.allocate(size, PAGE_SIZE).map_err(|_| ENOMEM)?;
        Ok(process.add_pages(block, None))
    }

    /// The pages of a file of another buffer object.
    pub(super) fn import_pages(
        &self,
        process: &mut Process,
        file: OwnedFd,
        size: u64,
    ) -> Result<Source, i32> {
        let block = map_alone(&file, size, PAGE_SIZE).map_err(|_| ENOMEM)?;
        Ok(process.add_pages(block, Some(file)))
    }

    /// Maps the beginning of pages for the client.
    ///
    /// # Safety
    /// With `at` the range is the client's to replace.
    pub(super) unsafe fn map_pages(
        &self,
        pages: &Pages,
        size: usize,
        protection: ProtFlags,
        at: Option<NonNull<u8>>,
    ) -> Result<NonNull<u8>, i32> {
        if size as u64 > pages.block.size {
            return Err(EINVAL);
        }
        match &pages.file {
            // SAFETY: by the caller's promise.
            Some(file) => unsafe { map_file(file, 0, size, protection, at) },
            // SAFETY: by the caller's promise; the block is one of `memory`'s and not released.
            None => unsafe { self.memory.map_again(&pages.block, 0, size, protection, at) },
        }
        .map_err(|errno| errno.raw_os_error())
    }
}
