//! What is done with descriptors: ioctls, copies, closing.

use crate::files::{self, Open};
use crate::machine::{Machine, inside, machine};
use crate::next::{answer, fail, next};
use core::ffi::{c_int, c_uint, c_ulong, c_void};
use rukh_core::kfd::uapi::{AcquireVm, ExportDmabuf, IOCTL_BASE, Ioctl, Svm};
use rukh_core::kfd::{KfdFile, KfdPort};

/// Bytes of an argument that are kept on the stack: those of nearly all ioctls.
const SMALL: usize = 256;

/// The client's descriptor in an argument becomes the face's number of the file.
fn translate(request: u32, bytes: &mut [u8]) {
    // By number alone, as KFD dispatches; `drm_fd` is the first field.
    if request as u8 != AcquireVm::INFO.nr {
        return;
    }
    if let Some(field) = bytes.first_chunk_mut::<4>() {
        let file = match files::find(c_int::from_ne_bytes(*field)) {
            Some(Open::Face(file)) => file.0,
            // No number of a file: the face refuses it.
            _ => -1,
        };
        *field = file.to_ne_bytes();
    }
}

/// What this library has to know of an ioctl that has succeeded.
fn succeeded(machine: &Machine, request: u32, bytes: &[u8]) {
    use zerocopy::FromBytes;
    let nr = request as u8;
    if nr == ExportDmabuf::INFO.nr
        && let Ok((exported, _)) = ExportDmabuf::read_from_prefix(bytes)
    {
        files::taken(exported.dmabuf_fd.cast_signed());
    }
    // Shared memory that the client unmaps is the face's business.
    if nr == Svm::INFO.nr
        && let Ok((svm, _)) = Svm::read_from_prefix(bytes)
        && let (Ok(start), Ok(size)) = (svm.start_addr.try_into(), svm.size.try_into())
    {
        machine.note(start, size);
    }
}

/// Sends an ioctl to the face, over a copy of the argument as a kernel has one.
///
/// # Safety
/// The argument is null or of as many bytes as the request says, and what it points to is valid for what the ioctl does.
unsafe fn send(file: KfdFile, request: u32, argument: *mut c_void) -> Result<c_int, c_int> {
    let size = (request >> 16 & 0x3fff) as usize;
    if argument.is_null() && size != 0 {
        return Err(libc::EFAULT);
    }
    let machine = machine()?;
    let (mut small, mut large) = ([0u8; SMALL], Vec::new());
    let bytes = match small.get_mut(..size) {
        Some(bytes) => bytes,
        None => {
            large.resize(size, 0);
            &mut large[..]
        }
    };
    // SAFETY: by the caller's promise; the copy is ours.
    unsafe { core::ptr::copy_nonoverlapping(argument.cast(), bytes.as_mut_ptr(), size) };
    let given = bytes.first_chunk::<4>().copied();
    translate(request, bytes);
    // SAFETY: by the caller's promise.
    let result = unsafe { machine.face.ioctl_raw(file, request, bytes) };
    // A render node numbers its calls otherwise.
    if result.is_ok() && (request >> 8) as u8 == IOCTL_BASE {
        succeeded(machine, request, bytes);
    }
    if request as u8 == AcquireVm::INFO.nr
        && let (Some(field), Some(given)) = (bytes.first_chunk_mut::<4>(), given)
    {
        *field = given;
    }
    for (at, byte) in bytes.iter().enumerate() {
        let to = argument.cast::<u8>().wrapping_add(at);
        // SAFETY: by the caller's promise. Only what has changed is written: an argument that is read alone may be in
        // memory that cannot be written.
        unsafe {
            if to.read() != *byte {
                to.write(*byte);
            }
        }
    }
    result.map(|()| 0)
}

/// Sends an ioctl.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    match files::find(fd) {
        Some(Open::Face(file)) => {
            // SAFETY: by the caller's promise.
            let send = || unsafe { send(file, request as u32, argument) };
            answer(inside(send))
        }
        Some(Open::Inherited) => fail(libc::EBADF, -1),
        _ => next!(
            c"ioctl" as fn(c_int, c_ulong; ...) -> c_int, (fd, request, argument), or -1
        ),
    }
}

macro_rules! controls {
    ($($name:ident $text:literal;)*) => { $(
        /// Does something with a descriptor; copies of ours are ours.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(fd: c_int, command: c_int, argument: c_ulong) -> c_int {
            let result =
                next!($text as fn(c_int, c_int; ...) -> c_int, (fd, command, argument), or -1);
            if matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) && result >= 0 {
                files::duplicated(fd, result);
            }
            result
        }
    )* };
}
controls! { fcntl c"fcntl"; fcntl64 c"fcntl64"; }

/// Copies a descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn dup(fd: c_int) -> c_int {
    let result = next!(c"dup" as fn(c_int) -> c_int, (fd), or - 1);
    if result >= 0 {
        files::duplicated(fd, result);
    }
    result
}

/// What `to` was is closed if the copy succeeds, which it does for open `fd` and a number within the limits.
fn replaced(fd: c_int, to: c_int, result: c_int) -> c_int {
    if result >= 0 && fd != to {
        inside(|| files::closing(to));
        files::duplicated(fd, to);
    }
    result
}

/// Copies a descriptor over another.
#[unsafe(no_mangle)]
pub extern "C" fn dup2(fd: c_int, to: c_int) -> c_int {
    replaced(
        fd,
        to,
        next!(c"dup2" as fn(c_int, c_int) -> c_int, (fd, to), or - 1),
    )
}

/// Copies a descriptor over another, with flags.
#[unsafe(no_mangle)]
pub extern "C" fn dup3(fd: c_int, to: c_int, flags: c_int) -> c_int {
    let result = next!(
        c"dup3" as fn(c_int, c_int, c_int) -> c_int,
        (fd, to, flags),
        or - 1
    );
    replaced(fd, to, result)
}

/// Closes a descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn close(fd: c_int) -> c_int {
    // Before: the number may be another thread's as soon as it is free.
    inside(|| files::closing(fd));
    next!(c"close" as fn(c_int) -> c_int, (fd), or - 1)
}

/// Closes descriptors.
#[unsafe(no_mangle)]
pub extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    const CLOEXEC: c_int = libc::CLOSE_RANGE_CLOEXEC as c_int;
    if flags & CLOEXEC == 0 {
        inside(|| files::closing_range(first, last));
    }
    next!(
        c"close_range" as fn(c_uint, c_uint, c_int) -> c_int,
        (first, last, flags),
        or - 1
    )
}

/// Closes all descriptors from one on.
#[unsafe(no_mangle)]
pub extern "C" fn closefrom(first: c_int) {
    inside(|| files::closing_range(first.max(0) as u32, u32::MAX));
    next!(c"closefrom" as fn(c_int) -> (), (first), or());
}
