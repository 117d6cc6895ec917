//! Mapping memory.

use crate::files::{self, Open};
use crate::machine::{existing, inside, is_inside, machine};
use crate::next::{answer, fail, next};
use core::ffi::{c_int, c_void};
use core::ptr::NonNull;
use libc::{MAP_FAILED, off64_t, size_t};
use rukh_core::kfd::{KfdFile, KfdPort, Mapping, Protection};

/// Maps a file of the face's.
///
/// # Safety
/// With MAP_FIXED the range is the caller's to replace.
unsafe fn map(
    file: KfdFile,
    address: *mut c_void,
    size: size_t,
    access: c_int,
    flags: c_int,
    offset: off64_t,
) -> Result<*mut c_void, c_int> {
    let protection = match access {
        libc::PROT_NONE => Protection::None,
        libc::PROT_READ => Protection::Read,
        access if access & libc::PROT_EXEC != 0 => return Err(libc::EPERM),
        _ => Protection::ReadWrite,
    };
    let private = flags & libc::MAP_TYPE == libc::MAP_PRIVATE;
    if private && protection == Protection::ReadWrite {
        // Copies of device memory: drivers refuse.
        return Err(libc::EINVAL);
    }
    if flags & libc::MAP_FIXED_NOREPLACE != 0 {
        return Err(libc::EOPNOTSUPP);
    }
    let machine = machine()?;
    let fixed = flags & libc::MAP_FIXED != 0;
    let fixed = if fixed {
        Some(NonNull::new(address.cast()).ok_or(libc::EPERM)?)
    } else {
        None
    };
    let mapping = Mapping {
        file: Some(file),
        offset: offset as u64,
        size,
        protection,
        fixed,
    };
    // SAFETY: by the caller's promise.
    let at = unsafe { machine.face.map(&mapping) }.map_err(|error| error.errno())?;
    machine.note(at.addr().get(), size.next_multiple_of(4096));
    Ok(at.as_ptr().cast())
}

macro_rules! maps {
    ($($name:ident $text:literal;)*) => { $(
        /// Maps memory or a file.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            address: *mut c_void,
            size: size_t,
            access: c_int,
            flags: c_int,
            fd: c_int,
            offset: off64_t,
        ) -> *mut c_void {
            let found = if flags & libc::MAP_ANONYMOUS != 0 { None } else { files::find(fd) };
            match found {
                Some(Open::Face(file)) => {
                    // SAFETY: by the caller's promise.
                    inside(|| unsafe { map(file, address, size, access, flags, offset) })
                        .unwrap_or_else(|errno| fail(errno, MAP_FAILED))
                }
                Some(Open::Inherited) => fail(libc::EBADF, MAP_FAILED),
                _ => {
                    let at = next!(
                        $text as fn(*mut c_void, size_t, c_int, c_int, c_int, off64_t) -> *mut c_void,
                        (address, size, access, flags, fd, offset), or MAP_FAILED
                    );
                    // Without MAP_FIXED too: what was there has been unmapped behind this library's back.
                    if at != MAP_FAILED && !is_inside() {
                        mapped_over(at, size);
                    }
                    at
                }
            }
        }
    )* };
}
maps! { mmap c"mmap"; mmap64 c"mmap64"; }

/// Something else is in a range now, where there may have been memory of the face's.
fn mapped_over(address: *mut c_void, size: size_t) {
    let start = address.addr();
    if let Some(machine) = existing()
        && let Some(at) = NonNull::new(address.cast())
        && machine.overlaps(start, size)
    {
        machine.forget(start, size);
        inside(|| machine.face.mapped_over(at, size));
    }
}

/// Unmaps a range.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn munmap(address: *mut c_void, size: size_t) -> c_int {
    if !is_inside()
        && let Some(machine) = existing()
        && let Some(at) = NonNull::new(address.cast())
        && machine.overlaps(address.addr(), size)
    {
        // Before: afterwards the addresses may be another thread's.
        machine.forget(address.addr(), size);
        return inside(|| {
            // SAFETY: by the caller's promise.
            answer(unsafe { machine.face.unmap_range(at, size) }.map(|()| 0))
        });
    }
    next!(
        c"munmap" as fn(*mut c_void, size_t) -> c_int,
        (address, size),
        or - 1
    )
}
