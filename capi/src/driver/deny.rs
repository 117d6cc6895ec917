//! A driver some of whose files may not be opened: what a program does in a container without them is tried out.

use core::ptr::NonNull;
use rukh_core::kfd::{KfdFile, KfdPort, Mapping, PortError};

const EACCES: i32 = 13;

/// Refuses to open or read files.
#[derive(Debug)]
pub struct Deny<P> {
    port: P,
    paths: Vec<String>,
}

impl<P: KfdPort> Deny<P> {
    /// The port without these files.
    pub fn new(port: P, paths: Vec<String>) -> Self {
        Self { port, paths }
    }

    fn check(&self, path: &str) -> Result<(), PortError> {
        if self.paths.iter().any(|denied| denied == path) {
            return Err(PortError::file(path, EACCES));
        }
        Ok(())
    }
}

// SAFETY: every call that is not refused is the inner port's, with the arguments that came.
unsafe impl<P: KfdPort> KfdPort for Deny<P> {
    fn open(&self, path: &str) -> Result<KfdFile, PortError> {
        self.check(path)?;
        self.port.open(path)
    }

    fn close(&self, file: KfdFile) {
        self.port.close(file);
    }

    unsafe fn ioctl_raw(
        &self,
        file: KfdFile,
        request: u32,
        argument: &mut [u8],
    ) -> Result<(), i32> {
        // SAFETY: by the caller's promise, which is the same.
        unsafe { self.port.ioctl_raw(file, request, argument) }
    }

    unsafe fn map(&self, mapping: &Mapping) -> Result<NonNull<u8>, PortError> {
        // SAFETY: as above.
        unsafe { self.port.map(mapping) }
    }

    unsafe fn unmap(&self, address: NonNull<u8>, size: usize) {
        // SAFETY: as above.
        unsafe { self.port.unmap(address, size) }
    }

    fn take(&self, address: u64, size: usize) -> Result<NonNull<u8>, PortError> {
        self.port.take(address, size)
    }

    unsafe fn wipe_on_fork(&self, address: NonNull<u8>, size: usize) -> Result<(), PortError> {
        // SAFETY: as above.
        unsafe { self.port.wipe_on_fork(address, size) }
    }

    fn read_file(&self, path: &str, buffer: &mut [u8]) -> Result<usize, PortError> {
        self.check(path)?;
        self.port.read_file(path, buffer)
    }

    fn list_directory(&self, path: &str, visit: &mut dyn FnMut(&str)) -> Result<(), PortError> {
        self.port.list_directory(path, visit)
    }
}
