//! Which file descriptors are ours, by number.

use crate::machine;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use rukh_core::kfd::{KfdFile, KfdPort};
use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags};

/// Descriptors that can be ours.
const LIMIT: usize = 1 << 16;

/// Kind, process and value of each. 0: not ours.
static FILES: [AtomicU64; LIMIT] = [const { AtomicU64::new(0) }; LIMIT];
/// No descriptor of ours is at or above this.
static END: AtomicUsize = AtomicUsize::new(0);

const KIND_SHIFT: u32 = 62;
const PID_SHIFT: u32 = 32;
const PID_MASK: u64 = (1 << 30) - 1;
const KIND_FACE: u64 = 1;
const KIND_DIRECTORY: u64 = 2;
const KIND_INHERITED: u64 = 3;

/// A process forgets what it inherited when it closes it. A child of `vfork` must not: it writes to its parent's memory, and
/// the parent's descriptors stay. It is told by its number, which no entry has.
fn is_own(word: u64) -> bool {
    word >> PID_SHIFT & PID_MASK == own_pid()
}

/// What a descriptor of ours is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Open {
    /// A file of the face's.
    Face(KfdFile),
    /// A directory. The memory file has its path.
    Directory,
    /// A file of the face's that the parent process had opened.
    Inherited,
}

fn entry(fd: c_int) -> Option<&'static AtomicU64> {
    FILES.get(usize::try_from(fd).ok()?)
}

/// What a descriptor is, if it is ours.
pub(crate) fn find(fd: c_int) -> Option<Open> {
    let word = entry(fd)?.load(Ordering::Relaxed);
    match word >> KIND_SHIFT {
        0 => None,
        KIND_DIRECTORY => Some(Open::Directory),
        KIND_FACE if is_own(word) => Some(Open::Face(KfdFile(word as u32 as i32))),
        _ => {
            if !is_own(word) && machine::was_forked() {
                inherit();
            }
            Some(Open::Inherited)
        }
    }
}

/// This process has memory of its own since a fork: what its parent had opened is marked as such.
fn inherit() {
    let end = END.load(Ordering::Relaxed).min(LIMIT);
    for entry in &FILES[..end] {
        let word = entry.load(Ordering::Relaxed);
        if word == 0 || is_own(word) {
            continue;
        }
        let kind = match word >> KIND_SHIFT {
            KIND_DIRECTORY => KIND_DIRECTORY,
            _ => KIND_INHERITED,
        };
        entry.store(
            kind << KIND_SHIFT | own_pid() << PID_SHIFT,
            Ordering::Relaxed,
        );
    }
}

fn own_pid() -> u64 {
    u64::from(machine::pid()) & PID_MASK
}

fn set(fd: c_int, open: Open) -> Result<(), c_int> {
    let word = match open {
        Open::Face(file) => KIND_FACE << KIND_SHIFT | u64::from(file.0 as u32),
        Open::Directory | Open::Inherited => KIND_DIRECTORY << KIND_SHIFT,
    };
    let entry = entry(fd).ok_or(libc::EMFILE)?;
    END.fetch_max(fd as usize + 1, Ordering::Relaxed);
    entry.store(word | own_pid() << PID_SHIFT, Ordering::Relaxed);
    Ok(())
}

/// The kernel has given this number to a file that is not ours.
pub(crate) fn taken(fd: c_int) {
    if let Some(entry) = entry(fd)
        && let word = entry.load(Ordering::Relaxed)
        && word != 0
        && is_own(word)
    {
        entry.store(0, Ordering::Relaxed);
    }
}

/// A memory file with these bytes, which nobody can change. 0 for `cloexec` leaves it open over exec.
pub(crate) fn memory(name: &str, bytes: &[u8], flags: c_int) -> Result<OwnedFd, c_int> {
    let errno = |error: rustix::io::Errno| error.raw_os_error();
    let mut with = MemfdFlags::ALLOW_SEALING;
    if flags & libc::O_CLOEXEC != 0 {
        with |= MemfdFlags::CLOEXEC;
    }
    let fd = rustix::fs::memfd_create(name, with).map_err(errno)?;
    let mut at = 0;
    while at < bytes.len() {
        at += rustix::io::pwrite(&fd, &bytes[at..], at as u64).map_err(errno)?;
    }
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    rustix::fs::fcntl_add_seals(&fd, seals).map_err(errno)?;
    Ok(fd)
}

/// A descriptor for a file of ours, by the name that `/proc/self/fd` is to show.
pub(crate) fn add(name: &str, bytes: &[u8], flags: c_int, open: Open) -> Result<c_int, c_int> {
    let fd = memory(name, bytes, flags)?;
    set(fd.as_raw_fd(), open)?;
    Ok(fd.into_raw_fd())
}

/// The path of a directory of ours.
pub(crate) fn directory(fd: c_int) -> Option<String> {
    if find(fd)? != Open::Directory {
        return None;
    }
    // SAFETY: the client passes it as open, and does not close it during its own call.
    let file = unsafe { BorrowedFd::borrow_raw(fd) };
    let mut bytes = [0; 4096];
    let length = rustix::io::pread(file, &mut bytes, 0).ok()?;
    String::from_utf8(bytes.get(..length)?.to_vec()).ok()
}

/// `copy` is now the same file as `fd`.
pub(crate) fn duplicated(fd: c_int, copy: c_int) {
    if fd == copy {
        return;
    }
    let word = entry(fd).map_or(0, |entry| entry.load(Ordering::Relaxed));
    if word == 0 {
        return taken(copy);
    }
    match entry(copy) {
        Some(_) if !is_own(word) => {}
        Some(entry) => {
            END.fetch_max(copy as usize + 1, Ordering::Relaxed);
            entry.store(word, Ordering::Relaxed);
        }
        // SAFETY: the number is the caller's new one, which it does not get to know.
        None => drop(unsafe { OwnedFd::from_raw_fd(copy) }),
    }
}

/// A descriptor is about to be closed or replaced. The file of the face's goes with the last one.
pub(crate) fn closing(fd: c_int) {
    let found = find(fd);
    taken(fd);
    let Some(Open::Face(file)) = found else {
        return;
    };
    let end = END.load(Ordering::Relaxed).min(LIMIT) as c_int;
    if !(0..end).any(|other| find_value(other) == Some(file))
        && let Some(machine) = machine::existing()
    {
        machine::inside(|| machine.face.close(file));
    }
}

fn find_value(fd: c_int) -> Option<KfdFile> {
    let word = entry(fd)?.load(Ordering::Relaxed);
    (word >> KIND_SHIFT == KIND_FACE).then_some(KfdFile(word as u32 as i32))
}

/// Descriptors from `first` to `last` are about to be closed.
pub(crate) fn closing_range(first: u32, last: u32) {
    let end = END.load(Ordering::Relaxed).min(LIMIT);
    for fd in first as usize..end.min((last as usize).saturating_add(1)) {
        closing(fd as c_int);
    }
}
