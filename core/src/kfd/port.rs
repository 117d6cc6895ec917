//! The seam to the system that a KFD backend stands on.

use super::uapi::{GetVersion, Ioctl, NoPointers};
use core::ptr::NonNull;
use thiserror_no_std::Error;

/// A file that a port has opened.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct KfdFile(pub i32);

/// Why the system refused.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PortError {
    /// A file could not be opened or read.
    #[error("{path}: errno {errno}")]
    File {
        /// Its path, cut to 96 bytes.
        path: heapless::String<96>,
        /// What the system answered.
        errno: i32,
    },
    /// An ioctl failed.
    #[error("ioctl {name} failed with errno {errno}")]
    Ioctl {
        /// Its name.
        name: &'static str,
        /// What the system answered.
        errno: i32,
    },
    /// Memory could not be mapped.
    #[error("mapping {size} bytes at offset {offset:#x} failed with errno {errno}")]
    Map {
        /// Size in bytes.
        size: usize,
        /// Offset in the file.
        offset: u64,
        /// What the system answered.
        errno: i32,
    },
}
crate::impl_error!(PortError);

impl PortError {
    /// An error of a file, from its path.
    pub fn file(path: &str, errno: i32) -> Self {
        let mut kept = heapless::String::new();
        for c in path.chars() {
            if kept.push(c).is_err() {
                break;
            }
        }
        Self::File { path: kept, errno }
    }

    /// What the system answered.
    pub const fn errno(&self) -> i32 {
        match self {
            Self::File { errno, .. } | Self::Ioctl { errno, .. } | Self::Map { errno, .. } => {
                *errno
            }
        }
    }
}

/// Access to mapped memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protection {
    /// None: the addresses are taken, and that is all.
    None,
    /// Reads.
    Read,
    /// Reads and writes.
    ReadWrite,
}

/// What to map.
#[derive(Clone, Copy, Debug)]
pub struct Mapping {
    /// The file, or none for anonymous memory. A dmabuf's descriptor is one as well.
    pub file: Option<KfdFile>,
    /// Offset in the file; the upper bits choose doorbells, events or registers on `/dev/kfd`.
    pub offset: u64,
    /// Size in bytes.
    pub size: usize,
    /// Access.
    pub protection: Protection,
    /// Place it exactly here, over what is there.
    pub fixed: Option<NonNull<u8>>,
}

/// Everything that a KFD backend asks of a system.
///
/// # Implementation safety
/// A pointer from [`KfdPort::map`] must be valid for the mapping's access and size until it is
/// unmapped, and [`KfdPort::ioctl_raw`] must not write outside of the argument and of what
/// the argument points to.
pub unsafe trait KfdPort: Send + Sync {
    /// Opens a file for reading and writing, closed on exec.
    ///
    /// # Errors
    /// [`PortError::File`].
    fn open(&self, path: &str) -> Result<KfdFile, PortError>;

    /// Closes a file.
    fn close(&self, file: KfdFile);

    /// Sends an ioctl. Interruptions (EINTR, EAGAIN) are the caller's business, since some ioctls
    /// resume where they stopped.
    ///
    /// # Safety
    /// Pointers inside the argument must be valid for what the ioctl does with them.
    ///
    /// # Errors
    /// The errno.
    unsafe fn ioctl_raw(&self, file: KfdFile, request: u32, argument: &mut [u8])
    -> Result<(), i32>;

    /// Maps memory.
    ///
    /// # Safety
    /// With [`Mapping::fixed`], the range is the caller's to replace.
    ///
    /// # Errors
    /// [`PortError::Map`].
    unsafe fn map(&self, mapping: &Mapping) -> Result<NonNull<u8>, PortError>;

    /// Unmaps memory.
    ///
    /// # Safety
    /// The range was mapped by this port and nothing uses it any more.
    unsafe fn unmap(&self, address: NonNull<u8>, size: usize);

    /// Takes free addresses at a place, with nothing there, as a mapping without access does.
    ///
    /// # Errors
    /// [`PortError::Map`]: something is there. By default ENOSYS (38): the system picks addresses alone.
    fn take(&self, address: u64, size: usize) -> Result<NonNull<u8>, PortError> {
        let _ = address;
        Err(PortError::Map {
            size,
            offset: 0,
            errno: 38,
        })
    }

    /// Has a child process find the range zeroed. It is how a runtime notices that it was inherited.
    ///
    /// # Safety
    /// The range was mapped by this port, anonymously, and a child may lose what is in it.
    ///
    /// # Errors
    /// [`PortError::Map`]; by default ENOSYS (38): a runtime in a child process is then not noticed.
    unsafe fn wipe_on_fork(&self, address: NonNull<u8>, size: usize) -> Result<(), PortError> {
        let _ = address;
        Err(PortError::Map {
            size,
            offset: 0,
            errno: 38,
        })
    }

    /// Has pages of a range that are not there yet come from a NUMA node: `strict` from there alone.
    ///
    /// # Safety
    /// The range was mapped by this port, anonymously, and is the caller's.
    ///
    /// # Errors
    /// [`PortError::Map`]; by default ENOSYS (38): the system places no memory.
    unsafe fn place(
        &self,
        address: NonNull<u8>,
        size: usize,
        node: u32,
        strict: bool,
    ) -> Result<(), PortError> {
        let _ = (address, node, strict);
        Err(PortError::Map {
            size,
            offset: 0,
            errno: 38,
        })
    }

    /// Reads a topology file (a few KiB of text) into `buffer`; answers its length.
    ///
    /// # Errors
    /// [`PortError::File`]; a file longer than the buffer is EFBIG (27), and the buffer holds its beginning.
    fn read_file(&self, path: &str, buffer: &mut [u8]) -> Result<usize, PortError>;

    /// Calls `visit` with the name of each entry of a directory, in no particular order.
    ///
    /// # Errors
    /// [`PortError::File`].
    fn list_directory(&self, path: &str, visit: &mut dyn FnMut(&str)) -> Result<(), PortError>;
}

/// Interrupted by a signal.
pub const EINTR: i32 = 4;
/// Try again.
pub const EAGAIN: i32 = 11;

/// How often an ioctl that is interrupted again and again is sent before that counts as its answer. Signals
/// do not come that fast; a driver that is stuck does.
pub const RETRIES: u32 = 10_000;

/// Sends an ioctl, again when interrupted. For ioctls that start anew without harm.
///
/// # Safety
/// Pointers inside the argument must be valid for what the ioctl does with them.
///
/// # Errors
/// [`PortError::Ioctl`].
pub unsafe fn call<P: KfdPort + ?Sized, A: Ioctl>(
    port: &P,
    file: KfdFile,
    argument: &mut A,
) -> Result<(), PortError> {
    let mut tries = 0;
    loop {
        // SAFETY: the caller vouches for the pointers inside the argument; its bytes are exclusively ours.
        match unsafe { port.ioctl_raw(file, A::INFO.request, argument.as_mut_bytes()) } {
            Ok(()) => return Ok(()),
            Err(EINTR | EAGAIN) if tries < RETRIES => tries += 1,
            Err(errno) => {
                return Err(PortError::Ioctl {
                    name: A::INFO.name,
                    errno,
                });
            }
        }
    }
}

/// Sends an ioctl that follows no pointers, again when interrupted.
///
/// # Errors
/// [`PortError::Ioctl`].
pub fn call_plain<P: KfdPort + ?Sized, A: NoPointers>(
    port: &P,
    file: KfdFile,
    argument: &mut A,
) -> Result<(), PortError> {
    // SAFETY: the argument holds no pointer that the ioctl follows, by the promise of `NoPointers`.
    unsafe { call(port, file, argument) }
}

/// Asks for the interface's version.
///
/// # Errors
/// [`PortError::Ioctl`].
pub fn get_version<P: KfdPort + ?Sized>(port: &P, file: KfdFile) -> Result<GetVersion, PortError> {
    let mut version = GetVersion::default();
    call_plain(port, file, &mut version)?;
    Ok(version)
}

/// A port behind a pointer is a port: what is chosen at run time is a `Box<dyn KfdPort>`.
#[cfg(feature = "alloc")]
mod pointers {
    use super::{KfdFile, KfdPort, Mapping, PortError};
    use alloc::boxed::Box;
    use alloc::sync::Arc;
    use core::ptr::NonNull;

    macro_rules! through_pointer {
        ($($pointer:ident)*) => { $(
            // SAFETY: every call is the inner port's, with the arguments that came.
            unsafe impl<T: KfdPort + ?Sized> KfdPort for $pointer<T> {
                fn open(&self, path: &str) -> Result<KfdFile, PortError> {
                    (**self).open(path)
                }
                fn close(&self, file: KfdFile) {
                    (**self).close(file);
                }
                unsafe fn ioctl_raw(
                    &self,
                    file: KfdFile,
                    request: u32,
                    argument: &mut [u8],
                ) -> Result<(), i32> {
                    // SAFETY: by the caller's promise, which is the same.
                    unsafe { (**self).ioctl_raw(file, request, argument) }
                }
                unsafe fn map(&self, mapping: &Mapping) -> Result<NonNull<u8>, PortError> {
                    // SAFETY: as above.
                    unsafe { (**self).map(mapping) }
                }
                unsafe fn unmap(&self, address: NonNull<u8>, size: usize) {
                    // SAFETY: as above.
                    unsafe { (**self).unmap(address, size) }
                }
                fn take(&self, address: u64, size: usize) -> Result<NonNull<u8>, PortError> {
                    (**self).take(address, size)
                }
                unsafe fn wipe_on_fork(
                    &self,
                    address: NonNull<u8>,
                    size: usize,
                ) -> Result<(), PortError> {
                    // SAFETY: as above.
                    unsafe { (**self).wipe_on_fork(address, size) }
                }
                unsafe fn place(
                    &self,
                    address: NonNull<u8>,
                    size: usize,
                    node: u32,
                    strict: bool,
                ) -> Result<(), PortError> {
                    // SAFETY: as above.
                    unsafe { (**self).place(address, size, node, strict) }
                }
                fn read_file(&self, path: &str, buffer: &mut [u8]) -> Result<usize, PortError> {
                    (**self).read_file(path, buffer)
                }
                fn list_directory(
                    &self,
                    path: &str,
                    visit: &mut dyn FnMut(&str),
                ) -> Result<(), PortError> {
                    (**self).list_directory(path, visit)
                }
            }
        )* };
    }
    through_pointer!(Box Arc);
}
