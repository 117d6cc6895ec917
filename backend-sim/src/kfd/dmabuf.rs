//! Dmabufs: buffer objects as file descriptors, for other GPUs and other processes.
//!
//! A dmabuf is the memory file of a buffer object: mapping it maps the object's pages. Its name says whose it is, since that is
//! all that comes along when another process gets it; its size is sealed.

use super::KfdFace;
use super::errno::{EBADF, EINVAL, EMFILE, ENODEV, ENOMEM, EPERM};
use super::memory::{Object, Source};
use super::pages::FILE_NAME;
use crate::mem::MemoryFile;
use alloc::format;
use rukh_core::kfd::uapi::{AllocFlags, ExportDmabuf, GetDmabufInfo, ImportDmabuf};
use rustix::fd::{IntoRawFd, OwnedFd};

/// Room for metadata that the kernel allocates at most.
const MOST_METADATA: u32 = 4 << 20;

/// A descriptor that is a buffer object's.
struct Dmabuf {
    file: OwnedFd,
    /// The GPU that has it.
    gpu: u32,
    /// Which memory: device or host, and whether the host maps it.
    kind: AllocFlags,
    size: u64,
}

/// What the name of a memory file says: GPU and kind.
fn parse(name: &str) -> Option<(u32, AllocFlags)> {
    let (gpu, kind) = name.strip_prefix(FILE_NAME)?.split_once(':')?;
    let number = |text| u32::from_str_radix(text, 16).ok();
    Some((number(gpu)?, AllocFlags::from_bits_retain(number(kind)?)))
}

/// Looks whether a descriptor of the client's is a dmabuf of this kind of driver.
fn find(descriptor: u32) -> Result<Dmabuf, i32> {
    let descriptor = i32::try_from(descriptor).map_err(|_| EBADF)?;
    let found = MemoryFile::find(descriptor).ok_or(EBADF)?;
    let (gpu, kind) = parse(&found.name).ok_or(EINVAL)?;
    let (file, size) = found.open().ok_or(EINVAL)?;
    Ok(Dmabuf {
        file,
        gpu,
        kind,
        size,
    })
}

impl KfdFace {
    pub(super) fn export_dmabuf(&self, a: &mut ExportDmabuf) -> Result<(), i32> {
        let process = self.process.lock();
        let object = process.objects.get(&a.handle).ok_or(EINVAL)?;
        let number = match object.source {
            Source::Pages(number) => number,
            // The client's own pages are not the driver's to give away.
            Source::User(_) => return Err(EPERM),
            Source::Registers(_) => return Err(EINVAL),
        };
        let pages = process.pages.get(&number).ok_or(EINVAL)?;
        let file = pages.file.as_ref().ok_or(EMFILE)?;
        let cloexec = a.flags & rustix::fs::OFlags::CLOEXEC.bits() != 0;
        let errno = |error: rustix::io::Errno| error.raw_os_error();
        let copy = if !object.flags.contains(AllocFlags::WRITABLE) {
            let path = format!("/proc/self/fd/{}", rustix::fd::AsRawFd::as_raw_fd(file));
            let mut flags = rustix::fs::OFlags::RDONLY;
            flags.set(rustix::fs::OFlags::CLOEXEC, cloexec);
            rustix::fs::open(path, flags, rustix::fs::Mode::empty())
        } else if cloexec {
            rustix::io::fcntl_dupfd_cloexec(file, 0)
        } else {
            rustix::io::dup(file)
        };
        a.dmabuf_fd = copy.map_err(errno)?.into_raw_fd().cast_unsigned();
        Ok(())
    }

    pub(super) fn dmabuf_info(&self, a: &mut GetDmabufInfo) -> Result<(), i32> {
        if self.gpus.is_empty() {
            return Err(EINVAL);
        }
        if a.metadata_ptr != 0 && a.metadata_size > MOST_METADATA {
            return Err(ENOMEM);
        }
        let found = find(a.dmabuf_fd)?;
        self.gpu(found.gpu)?;
        a.size = found.size;
        a.gpu_id = found.gpu;
        a.flags = found.kind.bits();
        if a.metadata_ptr != 0 {
            // Objects of KFD's have no metadata, which are for images.
            a.metadata_size = 0;
        }
        Ok(())
    }

    pub(super) fn import_dmabuf(&self, a: &mut ImportDmabuf) -> Result<(), i32> {
        let process = &mut *self.process.lock();
        // The file first, then the GPU; later kernels the other way round.
        let early = if self.interface.since(12) {
            None
        } else {
            Some(find(a.dmabuf_fd)?)
        };
        let gpu = self.gpu(a.gpu_id)?;
        let index = Self::index(gpu);
        if process.gpus[index].render.is_none() {
            return Err(ENODEV);
        }
        let found = match early {
            // Those kernels take what is the same GPU's.
            Some(found) if found.gpu != gpu.id => return Err(EINVAL),
            Some(found) => found,
            None => find(a.dmabuf_fd)?,
        };
        // What is another GPU's is as host memory is to this one.
        let kind = if found.gpu == gpu.id && found.kind.contains(AllocFlags::VRAM) {
            AllocFlags::VRAM
        } else {
            AllocFlags::GTT
        };
        if a.va_addr.checked_add(found.size).is_none() {
            return Err(EINVAL);
        }
        let source = self.import_pages(process, found.file, found.size)?;
        let object = Object {
            gpu: index,
            va: a.va_addr,
            size: found.size,
            flags: kind | AllocFlags::WRITABLE | AllocFlags::EXECUTABLE,
            source,
            mapped: 0,
            region: None,
            offset: process.last_offset,
            queues: 0,
            imported: true,
        };
        process.last_offset += found.size;
        a.handle = process.add_object(gpu.id, object);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_memory_files_are_read_back() {
        let vram = AllocFlags::VRAM | AllocFlags::PUBLIC;
        assert_eq!(parse("rukh-dmabuf:7275:20000001"), Some((0x7275, vram)));
        for other in [
            "rukh-sim",
            "rukh-dmabuf:7275",
            "rukh-dmabuf::",
            "rukh-dmabuf:+1:1x",
            "",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
