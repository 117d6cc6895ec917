//! A file that recordings are written to.

use crate::trace::TraceSink;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicI32, Ordering};
use rukh_core::kfd::PortError;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// A file of lines, each written whole.
#[derive(Debug)]
pub struct FileSink {
    file: OwnedFd,
    errno: AtomicI32,
}

impl FileSink {
    /// Creates a file, or empties it.
    ///
    /// # Errors
    /// [`PortError::File`].
    pub fn create(path: &str) -> Result<Self, PortError> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::APPEND | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::from_raw_mode(0o644))
            .map_err(|e| PortError::file(path, e.raw_os_error()))?;
        Ok(Self {
            file,
            errno: AtomicI32::new(0),
        })
    }

    /// The errno of the first line that could not be written, or 0. A recording that fails must not
    /// make what it records fail.
    pub fn errno(&self) -> i32 {
        self.errno.load(Ordering::Relaxed)
    }
}

impl TraceSink for FileSink {
    fn line(&self, line: &str) {
        let mut bytes = Vec::from(line.as_bytes());
        bytes.push(b'\n');
        let mut left = bytes.as_slice();
        while !left.is_empty() {
            match rustix::io::write(&self.file, left) {
                Ok(written) => left = &left[written.min(left.len())..],
                Err(Errno::INTR) => {}
                Err(e) => {
                    let _ = self.errno.compare_exchange(
                        0,
                        e.raw_os_error(),
                        Ordering::Relaxed,
                        Ordering::Relaxed,
                    );
                    return;
                }
            }
        }
    }
}
