//! Opening the driver.

use crate::topology::SnapshotError;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};
use rukh_core::kfd::uapi::{GetVersion, NoPointers};
use rukh_core::kfd::{KfdFile, KfdPort, Mapping, PortError, Protection, call_plain, get_version};
use thiserror_no_std::Error;

/// The driver's device node.
pub const DEVICE: &str = "/dev/kfd";

const ENOENT: i32 = 2;
const EPERM: i32 = 1;
const EACCES: i32 = 13;

/// Why the driver cannot be used, and what to do about it.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum OpenError {
    /// There is no `/dev/kfd`.
    #[error(
        "there is no /dev/kfd: the amdgpu kernel driver is not loaded, or the container was not given the device"
    )]
    NoDevice,
    /// `/dev/kfd` may not be opened.
    #[error(
        "/dev/kfd may not be opened (errno {errno}): add the user to the group that owns it (usually render)"
    )]
    NoPermission {
        /// What the system answered.
        errno: i32,
    },
    /// The interface's major version is not 1.
    #[error("the kernel speaks KFD {major}.{minor}; this backend needs 1.x")]
    Version {
        /// Major version.
        major: u32,
        /// Minor version.
        minor: u32,
    },
    /// Anything else that the system answered, such as ENOTTY for a file that is no KFD.
    #[error("/dev/kfd cannot be used: {0}")]
    Port(PortError),
    /// The topology cannot be read.
    #[error("the topology of /dev/kfd cannot be read: {0}")]
    Topology(PortError),
    /// The topology's generation is no number.
    #[error("the topology's generation_id is no number")]
    Generation,
    /// The topology kept changing while it was read.
    #[error("the topology changed each time that it was read")]
    Unstable,
}

impl core::error::Error for OpenError {}

impl From<SnapshotError> for OpenError {
    fn from(error: SnapshotError) -> Self {
        match error {
            SnapshotError::File(error) => Self::Topology(error),
            SnapshotError::Generation => Self::Generation,
            SnapshotError::Unstable => Self::Unstable,
        }
    }
}

impl From<PortError> for OpenError {
    fn from(error: PortError) -> Self {
        match &error {
            PortError::File { errno: ENOENT, .. } => Self::NoDevice,
            PortError::File { errno, .. } if matches!(*errno, EPERM | EACCES) => {
                Self::NoPermission { errno: *errno }
            }
            _ => Self::Port(error),
        }
    }
}

/// The driver, open.
#[derive(Debug)]
pub struct Kfd<P: KfdPort> {
    port: P,
    file: KfdFile,
    version: GetVersion,
    guard: Option<ForkGuard>,
}

/// A page that a child process finds zeroed.
#[derive(Debug)]
struct ForkGuard {
    page: NonNull<AtomicU32>,
}

// SAFETY: the page is an atomic that any thread may load; it is unmapped by the owner's drop alone.
unsafe impl Send for ForkGuard {}
// SAFETY: as above.
unsafe impl Sync for ForkGuard {}

const GUARD_BYTES: usize = 4096;

impl ForkGuard {
    fn new<P: KfdPort>(port: &P) -> Option<Self> {
        // SAFETY: not fixed, so it replaces nothing.
        let page = unsafe {
            port.map(&Mapping {
                file: None,
                offset: 0,
                size: GUARD_BYTES,
                protection: Protection::ReadWrite,
                fixed: None,
            })
        }
        .ok()?;
        let guard = Self { page: page.cast() };
        // SAFETY: the page was mapped above, is page-aligned, and this is the only use of it.
        let word = unsafe { guard.page.as_ref() };
        word.store(1, Ordering::Relaxed);
        // SAFETY: mapped above; a child is to find it zeroed.
        if unsafe { port.wipe_on_fork(page, GUARD_BYTES) }.is_err() {
            // SAFETY: mapped above and not used any more.
            unsafe { port.unmap(page, GUARD_BYTES) };
            return None;
        }
        Some(guard)
    }

    fn inherited(&self) -> bool {
        // SAFETY: the page stays mapped until the owner is dropped.
        unsafe { self.page.as_ref() }.load(Ordering::Relaxed) == 0
    }
}

impl<P: KfdPort> Kfd<P> {
    /// Opens the driver and checks its version.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(port: P) -> Result<Self, OpenError> {
        let file = port.open(DEVICE)?;
        let version = match get_version(&port, file) {
            Ok(version) if version.major_version == 1 => version,
            Ok(version) => {
                port.close(file);
                return Err(OpenError::Version {
                    major: version.major_version,
                    minor: version.minor_version,
                });
            }
            Err(error) => {
                port.close(file);
                return Err(error.into());
            }
        };
        let guard = ForkGuard::new(&port);
        Ok(Self {
            port,
            file,
            version,
            guard,
        })
    }

    /// Version of the kernel's interface: major, minor.
    pub const fn version(&self) -> (u32, u32) {
        (self.version.major_version, self.version.minor_version)
    }

    /// Whether the interface is at least 1.`minor`.
    pub const fn since(&self, minor: u32) -> bool {
        self.version.minor_version >= minor
    }

    /// The port that it stands on.
    pub const fn port(&self) -> &P {
        &self.port
    }

    pub(crate) const fn file(&self) -> KfdFile {
        self.file
    }

    /// Whether this is a child of the process that opened the driver. The kernel answers EBADF there
    /// to everything: a child opens the driver itself.
    pub fn inherited(&self) -> bool {
        self.guard.as_ref().is_some_and(ForkGuard::inherited)
    }

    /// Sends an ioctl that follows no pointers, again when interrupted.
    pub(crate) fn call<A: NoPointers>(&self, argument: &mut A) -> Result<(), PortError> {
        call_plain(&self.port, self.file, argument)
    }
}

impl<P: KfdPort> Drop for Kfd<P> {
    fn drop(&mut self) {
        if let Some(guard) = self.guard.take() {
            // SAFETY: mapped by `ForkGuard::new`; the guard is gone, and `self` is borrowed exclusively.
            unsafe { self.port.unmap(guard.page.cast(), GUARD_BYTES) };
        }
        self.port.close(self.file);
    }
}
