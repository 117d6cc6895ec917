//! A driver that keeps books: it answers ioctls as the kernel does, refuses what the kernel refuses, counts what is
//! not given back, and fails any call that a test names.

#![allow(
    dead_code,
    clippy::missing_panics_doc,
    reason = "shared by several tests, each of which uses a part; a panic is a test's failure"
)]

mod ioctls;
mod kernel;
mod sharing;

pub use kernel::{FakeGpu, Kernel};

use rukh_backend_linux_kfd::sys::LinuxPort;
use rukh_backend_linux_kfd::topology::TreePort;
use rukh_core::kfd::{KfdFile, KfdPort, Mapping, PortError};
use std::ptr::NonNull;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// Which call fails, and how.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// How many calls go through before.
    pub after: u32,
    /// What the failing one answers.
    pub errno: i32,
    /// How many fail in a row.
    pub times: u32,
}

/// State that the port shares with the test.
#[derive(Debug)]
pub struct Shared {
    kernel: Mutex<Kernel>,
    /// Notified when an event is raised.
    pub raised: Condvar,
}

impl Shared {
    pub fn lock(&self) -> MutexGuard<'_, Kernel> {
        self.kernel.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// The port. Clones share one kernel.
#[derive(Clone, Debug)]
pub struct Fake {
    pub shared: Arc<Shared>,
    tree: Arc<TreePort>,
}

impl Fake {
    /// A machine of a tree in `tests/trees`, with these GPUs behind it.
    pub fn new(tree: &str, gpus: &[FakeGpu]) -> Self {
        let path = format!("{}/tests/trees/{tree}.txt", env!("CARGO_MANIFEST_DIR"));
        Self::with_tree(TreePort::parse(&std::fs::read(path).unwrap()), gpus)
    }

    pub fn with_tree(tree: TreePort, gpus: &[FakeGpu]) -> Self {
        Self {
            shared: Arc::new(Shared {
                kernel: Mutex::new(Kernel::new(gpus)),
                raised: Condvar::new(),
            }),
            tree: Arc::new(tree),
        }
    }

    pub fn gfx90a() -> Self {
        Self::new("gfx90a", &[FakeGpu::GFX90A])
    }

    pub fn kernel(&self) -> MutexGuard<'_, Kernel> {
        self.shared.lock()
    }

    /// Has a call fail.
    pub fn inject(&self, fault: Option<Fault>) {
        self.kernel().fault = fault;
    }

    /// Whether the fault that was asked for has happened.
    pub fn fault_happened(&self) -> bool {
        self.kernel().fault.is_none_or(|fault| fault.times == 0)
    }
}

// SAFETY: memory comes from the real port; ioctls write to the argument, and where it points to as the kernel's do.
unsafe impl KfdPort for Fake {
    fn open(&self, path: &str) -> Result<KfdFile, PortError> {
        let mut kernel = self.kernel();
        kernel
            .enter()
            .and_then(|()| kernel.open(path))
            .map_err(|errno| PortError::file(path, errno))
    }

    fn close(&self, file: KfdFile) {
        assert!(
            self.kernel().files.remove(&file.0).is_some(),
            "{file:?} is open when it is closed"
        );
    }

    unsafe fn ioctl_raw(
        &self,
        file: KfdFile,
        request: u32,
        argument: &mut [u8],
    ) -> Result<(), i32> {
        ioctls::run(&self.shared, file, request, argument)
    }

    unsafe fn map(&self, mapping: &Mapping) -> Result<NonNull<u8>, PortError> {
        let failed = |errno| PortError::Map {
            size: mapping.size,
            offset: mapping.offset,
            errno,
        };
        let mut kernel = self.kernel();
        kernel.enter().map_err(failed)?;
        let behind = match mapping.file {
            Some(file) => Some(kernel.memory_behind(file, mapping).map_err(failed)?),
            None => None,
        };
        let (file, offset) = behind.map_or((None, mapping.offset), |(file, at)| (Some(file), at));
        // SAFETY: as the caller promised; the file is another one of the same size.
        let address = unsafe {
            LinuxPort.map(&Mapping {
                file,
                offset,
                ..*mapping
            })
        }?;
        if mapping.fixed.is_none() {
            kernel.mapped_bytes += mapping.size as i64;
        } else {
            kernel.check_fixed(address, mapping);
        }
        kernel.ranges.insert(address.addr().get(), mapping.size);
        Ok(address)
    }

    unsafe fn unmap(&self, address: NonNull<u8>, size: usize) {
        self.kernel().mapped_bytes -= size as i64;
        // SAFETY: as the caller promised.
        unsafe { LinuxPort.unmap(address, size) };
    }

    unsafe fn wipe_on_fork(&self, address: NonNull<u8>, size: usize) -> Result<(), PortError> {
        // SAFETY: as the caller promised.
        unsafe { LinuxPort.wipe_on_fork(address, size) }
    }

    unsafe fn place(
        &self,
        address: NonNull<u8>,
        size: usize,
        node: u32,
        strict: bool,
    ) -> Result<(), PortError> {
        let mut kernel = self.kernel();
        let mapped = kernel.ranges.iter().any(|(start, length)| {
            let at = address.addr().get();
            *start <= at && at + size <= start + length
        });
        assert!(mapped, "memory is mapped when it is placed");
        kernel.placed.push((size, node, strict));
        let errno = kernel.refuse_placing;
        match errno {
            None => Ok(()),
            Some(errno) => Err(PortError::Map {
                size,
                offset: 0,
                errno,
            }),
        }
    }

    fn read_file(&self, path: &str, buffer: &mut [u8]) -> Result<usize, PortError> {
        self.kernel()
            .enter()
            .map_err(|errno| PortError::file(path, errno))?;
        self.tree.read_file(path, buffer)
    }

    fn list_directory(&self, path: &str, visit: &mut dyn FnMut(&str)) -> Result<(), PortError> {
        self.kernel()
            .enter()
            .map_err(|errno| PortError::file(path, errno))?;
        self.tree.list_directory(path, visit)
    }
}
