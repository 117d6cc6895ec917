//! Directories. A directory of ours is a `DIR` of our own, told from the C library's by its address.

use super::find;
use crate::files::{self, Open};
use crate::machine::inside;
use crate::next::{fail, next};
use crate::tree::{self, Node};
use core::ffi::{c_char, c_int, c_long};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use libc::{DIR, dirent};

/// Directories of ours that can be open at once.
const LIMIT: usize = 256;

static OPEN: [AtomicPtr<Directory>; LIMIT] = [const { AtomicPtr::new(null_mut()) }; LIMIT];
/// How many are open, so that nobody searches when none is.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A directory that a client reads.
struct Directory {
    fd: c_int,
    entries: Vec<dirent>,
    next: usize,
}

fn entry(name: &str, kind: u8, index: usize) -> dirent {
    // SAFETY: a structure of numbers.
    let mut entry: dirent = unsafe { core::mem::zeroed() };
    entry.d_ino = index as u64 + 1;
    entry.d_off = index as i64 + 1;
    entry.d_reclen = size_of::<dirent>() as u16;
    entry.d_type = kind;
    // The last byte stays 0.
    let room = entry.d_name.len() - 1;
    for (to, byte) in entry.d_name[..room].iter_mut().zip(name.bytes()) {
        *to = byte as c_char;
    }
    entry
}

impl Directory {
    /// # Errors
    /// EMFILE.
    fn open(path: &str, names: &[String], fd: c_int) -> Result<*mut DIR, c_int> {
        let mut list = vec![entry(".", libc::DT_DIR, 0), entry("..", libc::DT_DIR, 1)];
        for name in names {
            let kind = match tree::kind(path, name) {
                Some(Node::Directory(_)) => libc::DT_DIR,
                Some(Node::Device(..)) => libc::DT_CHR,
                _ => libc::DT_REG,
            };
            list.push(entry(name, kind, list.len()));
        }
        let made = Box::into_raw(Box::new(Self {
            fd,
            entries: list,
            next: 0,
        }));
        let free = |slot: &&AtomicPtr<Self>| {
            slot.compare_exchange(null_mut(), made, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
        };
        if OPEN.iter().find(free).is_none() {
            // SAFETY: made above, and in no slot.
            drop(unsafe { Box::from_raw(made) });
            return Err(libc::EMFILE);
        }
        COUNT.fetch_add(1, Ordering::Relaxed);
        Ok(made.cast())
    }
}

fn slot(directory: *mut DIR) -> Option<&'static AtomicPtr<Directory>> {
    if COUNT.load(Ordering::Relaxed) == 0 || directory.is_null() {
        return None;
    }
    OPEN.iter()
        .find(|slot| slot.load(Ordering::Acquire) == directory.cast())
}

/// Uses a directory, if it is ours.
///
/// # Safety
/// As for all functions of `DIR`: it is open, and one thread at a time uses it.
unsafe fn with<T>(directory: *mut DIR, run: impl FnOnce(&mut Directory) -> T) -> Option<T> {
    let found = slot(directory)?.load(Ordering::Acquire);
    // SAFETY: in the table until it is closed; nobody else uses it now.
    Some(run(unsafe { found.as_mut() }?))
}

/// Opens a directory.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opendir(path: *const c_char) -> *mut DIR {
    // SAFETY: by the caller's promise.
    let Some((path, node)) = (unsafe { find(path) }) else {
        return next!(c"opendir" as fn(*const c_char) -> *mut DIR, (path), or null_mut());
    };
    let open = || {
        let Node::Directory(names) = node? else {
            return Err(libc::ENOTDIR);
        };
        let name = path.rsplit('/').next().unwrap_or(&path);
        let fd = files::add(name, path.as_bytes(), libc::O_CLOEXEC, Open::Directory)?;
        Directory::open(&path, &names, fd).inspect_err(|_| {
            super::descriptors::close(fd);
        })
    };
    inside(open).unwrap_or_else(|errno| fail(errno, null_mut()))
}

/// Opens a directory that a descriptor is open for.
#[unsafe(no_mangle)]
pub extern "C" fn fdopendir(fd: c_int) -> *mut DIR {
    match files::find(fd) {
        Some(Open::Directory) => inside(|| {
            let path = files::directory(fd).ok_or(libc::EIO)?;
            match tree::find(&path).ok_or(libc::EIO)?.1? {
                Node::Directory(names) => Directory::open(&path, &names, fd),
                _ => Err(libc::ENOTDIR),
            }
        })
        .unwrap_or_else(|errno| fail(errno, null_mut())),
        Some(_) => fail(libc::ENOTDIR, null_mut()),
        None => next!(c"fdopendir" as fn(c_int) -> *mut DIR, (fd), or null_mut()),
    }
}

macro_rules! reads {
    ($($name:ident $text:literal;)*) => { $(
        /// The next entry of a directory.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(directory: *mut DIR) -> *mut dirent {
            // SAFETY: by the caller's promise.
            let found = unsafe {
                with(directory, |directory| {
                    let at = directory.next;
                    directory.entries.get_mut(at).map_or(null_mut(), |entry| {
                        directory.next += 1;
                        core::ptr::from_mut(entry)
                    })
                })
            };
            found.unwrap_or_else(|| {
                next!($text as fn(*mut DIR) -> *mut dirent, (directory), or null_mut())
            })
        }
    )* };
}
// `struct dirent64` is the same on 64-bit machines.
reads! { readdir c"readdir"; readdir64 c"readdir64"; }

/// Closes a directory.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn closedir(directory: *mut DIR) -> c_int {
    let Some(slot) = slot(directory) else {
        return next!(c"closedir" as fn(*mut DIR) -> c_int, (directory), or - 1);
    };
    let found = slot.swap(null_mut(), Ordering::AcqRel);
    COUNT.fetch_sub(1, Ordering::Relaxed);
    // SAFETY: it was in the table, from where it is gone, and the caller uses it no more.
    let fd = inside(|| unsafe { Box::from_raw(found) }.fd);
    super::descriptors::close(fd)
}

/// The descriptor of a directory.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dirfd(directory: *mut DIR) -> c_int {
    // SAFETY: by the caller's promise.
    unsafe { with(directory, |directory| directory.fd) }
        .unwrap_or_else(|| next!(c"dirfd" as fn(*mut DIR) -> c_int, (directory), or - 1))
}

/// Begins a directory anew.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rewinddir(directory: *mut DIR) {
    // SAFETY: by the caller's promise.
    unsafe { with(directory, |directory| directory.next = 0) }
        .unwrap_or_else(|| next!(c"rewinddir" as fn(*mut DIR) -> (), (directory), or()));
}

/// Where a directory is read next.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn telldir(directory: *mut DIR) -> c_long {
    // SAFETY: by the caller's promise.
    unsafe { with(directory, |directory| directory.next as c_long) }
        .unwrap_or_else(|| next!(c"telldir" as fn(*mut DIR) -> c_long, (directory), or - 1))
}

/// Reads a directory on from a place.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekdir(directory: *mut DIR, place: c_long) {
    // SAFETY: by the caller's promise.
    unsafe {
        with(directory, |directory| {
            directory.next = place.max(0) as usize
        })
    }
    .unwrap_or_else(|| {
        next!(
            c"seekdir" as fn(*mut DIR, c_long) -> (),
            (directory, place),
            or()
        )
    });
}
