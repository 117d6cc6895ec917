//! Opening the driver where there is none, or where something else stands in its place.

use rukh_backend_linux_kfd::sys::LinuxPort;
use rukh_backend_linux_kfd::{Kfd, OpenError};
use rukh_core::kfd::{KfdFile, KfdPort, Mapping, PortError};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, Ordering};

/// The system, but `/dev/kfd` is another file, and open files are counted.
#[derive(Debug)]
struct Elsewhere {
    path: &'static str,
    open: &'static AtomicI32,
}

// SAFETY: everything is passed to the real port or refused.
unsafe impl KfdPort for Elsewhere {
    fn open(&self, _: &str) -> Result<KfdFile, PortError> {
        let file = LinuxPort.open(self.path)?;
        self.open.fetch_add(1, Ordering::Relaxed);
        Ok(file)
    }
    fn close(&self, file: KfdFile) {
        self.open.fetch_sub(1, Ordering::Relaxed);
        LinuxPort.close(file);
    }
    unsafe fn ioctl_raw(
        &self,
        file: KfdFile,
        request: u32,
        argument: &mut [u8],
    ) -> Result<(), i32> {
        // SAFETY: passed on as it came.
        unsafe { LinuxPort.ioctl_raw(file, request, argument) }
    }
    unsafe fn map(&self, mapping: &Mapping) -> Result<NonNull<u8>, PortError> {
        // SAFETY: passed on as it came.
        unsafe { LinuxPort.map(mapping) }
    }
    unsafe fn unmap(&self, address: NonNull<u8>, size: usize) {
        // SAFETY: passed on as it came.
        unsafe { LinuxPort.unmap(address, size) }
    }
    fn read_file(&self, path: &str, buffer: &mut [u8]) -> Result<usize, PortError> {
        LinuxPort.read_file(path, buffer)
    }
    fn list_directory(&self, path: &str, visit: &mut dyn FnMut(&str)) -> Result<(), PortError> {
        LinuxPort.list_directory(path, visit)
    }
}

#[test]
fn a_machine_without_the_driver_is_a_typed_error() {
    static OPEN: AtomicI32 = AtomicI32::new(0);
    let port = Elsewhere {
        path: "/nonexistent/kfd",
        open: &OPEN,
    };
    assert_eq!(Kfd::open(port).unwrap_err(), OpenError::NoDevice);
}

#[test]
fn a_file_that_is_no_driver_is_named_with_its_errno_and_closed() {
    static OPEN: AtomicI32 = AtomicI32::new(0);
    let port = Elsewhere {
        path: "/dev/null",
        open: &OPEN,
    };
    let error = Kfd::open(port).unwrap_err();
    let ioctl = PortError::Ioctl {
        name: "GET_VERSION",
        errno: 25,
    };
    assert_eq!(error, OpenError::Port(ioctl));
    assert_eq!(OPEN.load(Ordering::Relaxed), 0);
}

#[test]
fn topology_files_are_read_whole_or_refused() {
    let mut small = [0u8; 4];
    let error = LinuxPort
        .read_file("/proc/self/status", &mut small)
        .unwrap_err();
    assert_eq!(error.errno(), 27);
    let mut large = [0u8; 65536];
    let length = LinuxPort
        .read_file("/proc/self/status", &mut large)
        .unwrap();
    assert!(large[..length].starts_with(b"Name:"));
}
