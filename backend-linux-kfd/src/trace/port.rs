//! A port that writes down what goes through another one.

use super::record::Record;
use super::{HEADER, layout};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ptr::NonNull;
use rukh_core::kfd::{KfdFile, KfdPort, Mapping, PortError};

/// Where lines go.
pub trait TraceSink: Send + Sync {
    /// Takes a line, without its end. Calls come from several threads.
    fn line(&self, line: &str);
}

impl<F: Fn(&str) + Send + Sync> TraceSink for F {
    fn line(&self, line: &str) {
        self(line);
    }
}

/// Writes each call of a port, once it has answered.
#[derive(Debug)]
pub struct TracePort<P, S> {
    port: P,
    sink: S,
}

impl<P: KfdPort, S: TraceSink> TracePort<P, S> {
    /// A port whose calls are written to `sink`.
    pub fn new(port: P, sink: S) -> Self {
        sink.line(HEADER);
        Self { port, sink }
    }

    fn write(&self, record: &Record) {
        self.sink.line(&format!("{record}"));
    }
}

/// What is behind an argument's pointer.
///
/// # Safety
/// The pointer in the argument is valid for what its ioctl does with it.
unsafe fn array(request: u32, argument: &[u8]) -> Vec<u8> {
    let Some((address, bytes)) = layout::array(request, argument) else {
        return Vec::new();
    };
    let start: *const u8 = core::ptr::with_exposed_provenance(address as usize);
    // SAFETY: the ioctl reads or writes that many bytes there, by the caller's promise.
    unsafe { core::slice::from_raw_parts(start, bytes) }.to_vec()
}

fn errno<T>(result: &Result<T, PortError>) -> Result<&T, i32> {
    result.as_ref().map_err(PortError::errno)
}

// SAFETY: every call is the inner port's, with the arguments that came.
unsafe impl<P: KfdPort, S: TraceSink> KfdPort for TracePort<P, S> {
    fn open(&self, path: &str) -> Result<KfdFile, PortError> {
        let result = self.port.open(path);
        self.write(&Record::Open {
            path: String::from(path),
            answer: errno(&result).map(|file| file.0),
        });
        result
    }

    fn close(&self, file: KfdFile) {
        self.port.close(file);
        self.write(&Record::Close { file: file.0 });
    }

    unsafe fn ioctl_raw(
        &self,
        file: KfdFile,
        request: u32,
        argument: &mut [u8],
    ) -> Result<(), i32> {
        let before = argument.to_vec();
        // SAFETY: by the caller's promise.
        let array_before = unsafe { array(request, argument) };
        // SAFETY: passed on as it came.
        let answer = unsafe { self.port.ioctl_raw(file, request, argument) };
        // By the argument as it was: a driver that writes a larger count has not written more than there is room for.
        // SAFETY: by the caller's promise.
        let array_after = unsafe { array(request, &before) };
        self.write(&Record::Ioctl {
            file: file.0,
            request,
            before,
            array_before,
            after: argument.to_vec(),
            array_after,
            answer,
        });
        answer
    }

    unsafe fn map(&self, mapping: &Mapping) -> Result<NonNull<u8>, PortError> {
        // SAFETY: passed on as it came.
        let result = unsafe { self.port.map(mapping) };
        self.write(&Record::Map {
            file: mapping.file.map(|file| file.0),
            offset: mapping.offset,
            size: mapping.size as u64,
            protection: mapping.protection,
            fixed: mapping.fixed.map(|at| at.addr().get() as u64),
            answer: errno(&result).map(|at| at.addr().get() as u64),
        });
        result
    }

    unsafe fn unmap(&self, address: NonNull<u8>, size: usize) {
        // SAFETY: passed on as it came.
        unsafe { self.port.unmap(address, size) };
        self.write(&Record::Unmap {
            address: address.addr().get() as u64,
            size: size as u64,
        });
    }

    unsafe fn wipe_on_fork(&self, address: NonNull<u8>, size: usize) -> Result<(), PortError> {
        // No question to the driver: not written.
        // SAFETY: passed on as it came.
        unsafe { self.port.wipe_on_fork(address, size) }
    }

    fn take(&self, address: u64, size: usize) -> Result<NonNull<u8>, PortError> {
        // No question to the driver.
        self.port.take(address, size)
    }

    unsafe fn place(
        &self,
        address: NonNull<u8>,
        size: usize,
        node: u32,
        strict: bool,
    ) -> Result<(), PortError> {
        // No question to the driver.
        // SAFETY: passed on as it came.
        unsafe { self.port.place(address, size, node, strict) }
    }

    fn read_file(&self, path: &str, buffer: &mut [u8]) -> Result<usize, PortError> {
        let result = self.port.read_file(path, buffer);
        self.write(&Record::Read {
            path: String::from(path),
            answer: errno(&result).map(|&length| buffer[..length.min(buffer.len())].to_vec()),
        });
        result
    }

    fn list_directory(&self, path: &str, visit: &mut dyn FnMut(&str)) -> Result<(), PortError> {
        let mut names = Vec::new();
        let result = self.port.list_directory(path, &mut |name| {
            names.push(String::from(name));
            visit(name);
        });
        self.write(&Record::List {
            path: String::from(path),
            answer: errno(&result).map(|()| names),
        });
        result
    }
}
