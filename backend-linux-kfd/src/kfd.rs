//! Opening the driver.

use rukh_core::kfd::uapi::GetVersion;
use rukh_core::kfd::{KfdFile, KfdPort, PortError, get_version};
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
}

impl core::error::Error for OpenError {}

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
        Ok(Self {
            port,
            file,
            version,
        })
    }

    /// Version of the kernel's interface: major, minor.
    pub fn version(&self) -> (u32, u32) {
        (self.version.major_version, self.version.minor_version)
    }
}

impl<P: KfdPort> Drop for Kfd<P> {
    fn drop(&mut self) {
        self.port.close(self.file);
    }
}
