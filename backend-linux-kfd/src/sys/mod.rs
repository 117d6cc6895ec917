//! The real kernel as a [`KfdPort`], by system calls of rustix (linux_raw: no libc needed).
//!
//! The only room of this crate with system calls. [`FutexPark`] is how threads sleep, [`now`] is the clock.

mod clock;
mod numa;
mod park;
mod sink;

pub use clock::now;
pub use park::FutexPark;
pub use sink::FileSink;

use core::ffi::CStr;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use rukh_core::kfd::{KfdFile, KfdPort, Mapping, PortError, Protection};
use rustix::fd::{BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags, RawDir};
use rustix::io::Errno;
use rustix::ioctl;
use rustix::mm::{Advice, MapFlags, ProtFlags};

/// The kernel that this process runs on.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinuxPort;

fn borrow<'a>(file: KfdFile) -> BorrowedFd<'a> {
    // SAFETY: a KfdFile of this port comes from `open` and is closed by `close` alone; one that
    // is used after that reaches another file or EBADF, never memory. -1 is refused by `descriptor`.
    unsafe { BorrowedFd::borrow_raw(file.0) }
}

fn descriptor(file: KfdFile) -> Result<KfdFile, i32> {
    if file.0 < 0 {
        Err(Errno::BADF.raw_os_error())
    } else {
        Ok(file)
    }
}

/// Another descriptor of the same file.
pub(crate) fn duplicate(file: i32) -> Result<OwnedFd, i32> {
    let file = descriptor(KfdFile(file))?;
    rustix::io::fcntl_dupfd_cloexec(borrow(file), 0).map_err(|e| e.raw_os_error())
}

/// Takes a descriptor over that the driver has made for this process; dropping it closes it.
pub(crate) fn adopt(file: i32) -> Option<OwnedFd> {
    let file = descriptor(KfdFile(file)).ok()?;
    // SAFETY: the driver has just made it, and whoever asked for it has given it to nobody else.
    Some(unsafe { OwnedFd::from_raw_fd(file.0) })
}

fn open(path: &str, flags: OFlags) -> Result<OwnedFd, PortError> {
    loop {
        match rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty()) {
            Ok(file) => return Ok(file),
            Err(Errno::INTR) => {}
            Err(e) => return Err(PortError::file(path, e.raw_os_error())),
        }
    }
}

/// An ioctl whose request number and argument are known at run time alone.
struct RawIoctl {
    request: u32,
    argument: *mut u8,
}

// SAFETY: `as_ptr` is the address of the caller's argument, exclusively borrowed for the call,
// whose size the request number states (checked in `ioctl_raw`).
unsafe impl ioctl::Ioctl for RawIoctl {
    type Output = ();
    const IS_MUTATING: bool = true;

    fn opcode(&self) -> ioctl::Opcode {
        self.request
    }

    fn as_ptr(&mut self) -> *mut core::ffi::c_void {
        self.argument.cast()
    }

    unsafe fn output_from_ptr(
        _: ioctl::IoctlOutput,
        _: *mut core::ffi::c_void,
    ) -> rustix::io::Result<()> {
        Ok(())
    }
}

// SAFETY: mappings come from mmap and live until munmap; the kernel writes an ioctl's argument
// within the size that the request states, which `ioctl_raw` holds against the buffer's length.
unsafe impl KfdPort for LinuxPort {
    fn open(&self, path: &str) -> Result<KfdFile, PortError> {
        open(path, OFlags::RDWR).map(|fd| KfdFile(fd.into_raw_fd()))
    }

    fn close(&self, file: KfdFile) {
        if let Ok(file) = descriptor(file) {
            // SAFETY: the file came from `open`, which gave up its ownership to the caller.
            drop(unsafe { OwnedFd::from_raw_fd(file.0) });
        }
    }

    unsafe fn ioctl_raw(
        &self,
        file: KfdFile,
        request: u32,
        argument: &mut [u8],
    ) -> Result<(), i32> {
        let stated = (request >> 16 & 0x3fff) as usize;
        if stated > argument.len() {
            return Err(Errno::FAULT.raw_os_error());
        }
        let call = RawIoctl {
            request,
            argument: argument.as_mut_ptr(),
        };
        // SAFETY: the argument is as long as the request says; the caller vouches for pointers inside.
        unsafe { ioctl::ioctl(borrow(descriptor(file)?), call) }.map_err(|e| e.raw_os_error())
    }

    unsafe fn map(&self, mapping: &Mapping) -> Result<NonNull<u8>, PortError> {
        let protection = match mapping.protection {
            Protection::None => ProtFlags::empty(),
            Protection::Read => ProtFlags::READ,
            Protection::ReadWrite => ProtFlags::READ | ProtFlags::WRITE,
        };
        let hint = mapping
            .fixed
            .map_or(core::ptr::null_mut(), |p| p.as_ptr().cast());
        let fixed = if mapping.fixed.is_some() {
            MapFlags::FIXED
        } else {
            MapFlags::empty()
        };
        let failed = |e: Errno| PortError::Map {
            size: mapping.size,
            offset: mapping.offset,
            errno: e.raw_os_error(),
        };
        let address = match mapping.file {
            Some(file) => {
                let file = descriptor(file).map_err(|_| failed(Errno::BADF))?;
                // SAFETY: without `fixed` the kernel picks free addresses; with it the caller owns them.
                unsafe {
                    rustix::mm::mmap(
                        hint,
                        mapping.size,
                        protection,
                        MapFlags::SHARED | fixed,
                        borrow(file),
                        mapping.offset,
                    )
                }
            }
            // SAFETY: as above.
            None => unsafe {
                rustix::mm::mmap_anonymous(
                    hint,
                    mapping.size,
                    protection,
                    MapFlags::PRIVATE | MapFlags::NORESERVE | fixed,
                )
            },
        }
        .map_err(failed)?;
        NonNull::new(address.cast()).ok_or_else(|| failed(Errno::NOMEM))
    }

    unsafe fn unmap(&self, address: NonNull<u8>, size: usize) {
        // SAFETY: the caller mapped the range and uses it no more. A failure leaves it mapped,
        // which wastes addresses and nothing else.
        let _ = unsafe { rustix::mm::munmap(address.as_ptr().cast(), size) };
    }

    fn take(&self, address: u64, size: usize) -> Result<NonNull<u8>, PortError> {
        let failed = |e: Errno| PortError::Map {
            size,
            offset: 0,
            errno: e.raw_os_error(),
        };
        let wish = core::ptr::without_provenance_mut(address as usize);
        // SAFETY: nothing that is there is replaced.
        let start = unsafe {
            rustix::mm::mmap_anonymous(
                wish,
                size,
                ProtFlags::empty(),
                MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED_NOREPLACE,
            )
        }
        .map_err(failed)?;
        if start != wish {
            // A kernel before 4.17 takes the address as a hint.
            // SAFETY: mapped just now.
            let _ = unsafe { rustix::mm::munmap(start, size) };
            return Err(failed(Errno::EXIST));
        }
        NonNull::new(start.cast()).ok_or_else(|| failed(Errno::NOMEM))
    }

    unsafe fn wipe_on_fork(&self, address: NonNull<u8>, size: usize) -> Result<(), PortError> {
        // SAFETY: the caller mapped the range and has nothing there that a child needs; this process's
        // contents stay.
        unsafe { rustix::mm::madvise(address.as_ptr().cast(), size, Advice::LinuxWipeOnFork) }
            .map_err(|e| PortError::Map {
                size,
                offset: 0,
                errno: e.raw_os_error(),
            })
    }

    unsafe fn place(
        &self,
        address: NonNull<u8>,
        size: usize,
        node: u32,
        strict: bool,
    ) -> Result<(), PortError> {
        // SAFETY: by the caller's promise.
        unsafe { numa::place(address, size, node, strict) }.map_err(|errno| PortError::Map {
            size,
            offset: 0,
            errno,
        })
    }

    fn read_file(&self, path: &str, buffer: &mut [u8]) -> Result<usize, PortError> {
        let file = open(path, OFlags::RDONLY)?;
        let failed = |e: Errno| PortError::file(path, e.raw_os_error());
        let mut length = 0;
        while length < buffer.len() {
            match rustix::io::read(&file, &mut buffer[length..]) {
                Ok(0) => return Ok(length),
                Ok(n) => length += n,
                Err(Errno::INTR) => {}
                Err(e) => return Err(failed(e)),
            }
        }
        loop {
            match rustix::io::read(&file, &mut [0u8; 1]) {
                Ok(0) => return Ok(length),
                Ok(_) => return Err(failed(Errno::FBIG)),
                Err(Errno::INTR) => {}
                Err(e) => return Err(failed(e)),
            }
        }
    }

    fn list_directory(&self, path: &str, visit: &mut dyn FnMut(&str)) -> Result<(), PortError> {
        let failed = |e: Errno| PortError::file(path, e.raw_os_error());
        let directory = open(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut buffer = [MaybeUninit::uninit(); 2048];
        let mut entries = RawDir::new(&directory, &mut buffer);
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(Errno::INTR) => continue,
                Err(e) => return Err(failed(e)),
            };
            let name: &CStr = entry.file_name();
            // A name that is not UTF-8 is none of the kernel's; there is nothing to find behind it.
            if let Ok(name) = name.to_str()
                && name != "."
                && name != ".."
            {
                visit(name);
            }
        }
        Ok(())
    }
}
