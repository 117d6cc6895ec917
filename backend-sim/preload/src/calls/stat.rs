//! What files are: `stat` in all its forms, and `access`.

use super::{find, find_at};
use crate::files::{self, Open};
use crate::machine::inside;
use crate::next::{answer, fail, next};
use crate::tree::Node;
use core::ffi::{c_char, c_int, c_uint};
use core::hash::{Hash, Hasher};
use libc::{stat as Stat, statx as Statx};

/// What sysfs and devtmpfs say of the sizes of their files.
const SYSFS_BYTES: i64 = 4096;

/// Facts of a node.
struct Facts {
    mode: u32,
    device: (u32, u32),
    size: i64,
    links: u32,
    inode: u64,
}

fn facts(path: &str, node: &Node) -> Facts {
    let mut hasher = std::hash::DefaultHasher::new();
    path.hash(&mut hasher);
    let (mode, device, size, links) = match node {
        Node::Device(major, minor) => (libc::S_IFCHR | 0o666, (*major, *minor), 0, 1),
        Node::File(_) => (libc::S_IFREG | 0o444, (0, 0), SYSFS_BYTES, 1),
        Node::Directory(_) => (libc::S_IFDIR | 0o755, (0, 0), 0, 2),
    };
    Facts {
        mode,
        device,
        size,
        links,
        inode: hasher.finish() >> 1,
    }
}

/// The device number of the file system that they seem to be on: no other has it.
const FILE_SYSTEM: (u32, u32) = (0, 0xfffff);

/// # Safety
/// `to` has room for the structure.
unsafe fn put_stat(facts: &Facts, to: *mut Stat) {
    // SAFETY: a structure of numbers.
    let mut stat: Stat = unsafe { core::mem::zeroed() };
    stat.st_mode = facts.mode;
    stat.st_rdev = libc::makedev(facts.device.0, facts.device.1);
    stat.st_dev = libc::makedev(FILE_SYSTEM.0, FILE_SYSTEM.1);
    stat.st_ino = facts.inode;
    stat.st_nlink = facts.links.into();
    stat.st_size = facts.size;
    stat.st_blksize = 4096;
    // SAFETY: by the caller's promise.
    unsafe { to.write(stat) };
}

/// # Safety
/// As for [`put_stat`].
unsafe fn put_statx(facts: &Facts, to: *mut Statx) {
    // SAFETY: a structure of numbers.
    let mut stat: Statx = unsafe { core::mem::zeroed() };
    stat.stx_mask = libc::STATX_BASIC_STATS;
    stat.stx_mode = facts.mode as u16;
    (stat.stx_rdev_major, stat.stx_rdev_minor) = facts.device;
    (stat.stx_dev_major, stat.stx_dev_minor) = FILE_SYSTEM;
    stat.stx_ino = facts.inode;
    stat.stx_nlink = facts.links;
    stat.stx_size = facts.size as u64;
    stat.stx_blksize = 4096;
    // SAFETY: by the caller's promise.
    unsafe { to.write(stat) };
}

/// Facts of a path, if it is for us to say.
///
/// # Safety
/// The path is null or ends with a zero byte.
unsafe fn of_path(directory: c_int, path: *const c_char) -> Option<Result<Facts, c_int>> {
    // SAFETY: by the caller's promise.
    let (path, node) = unsafe { find_at(directory, path) }?;
    Some(node.map(|node| facts(&path, &node)))
}

/// Facts of a descriptor, if it is ours.
fn of_descriptor(fd: c_int) -> Option<Result<Facts, c_int>> {
    inside(|| match files::find(fd)? {
        Open::Directory => {
            let path = files::directory(fd)?;
            Some(Ok(facts(&path, &Node::Directory(Vec::new()))))
        }
        Open::Inherited => Some(Err(libc::EBADF)),
        Open::Face(_) => {
            let path = rustix::fs::readlink(format!("/proc/self/fd/{fd}"), Vec::new()).ok()?;
            // "/memfd:renderD128 (deleted)": the name that `files::add` gave.
            let name = path.to_string_lossy();
            let name = name.strip_prefix("/memfd:")?.split(' ').next()?.to_owned();
            let path = if name == "kfd" {
                "/dev/kfd".into()
            } else {
                format!("/dev/dri/{name}")
            };
            let (path, node) = crate::tree::find(&path)?;
            Some(node.map(|node| facts(&path, &node)))
        }
    })
}

/// # Safety
/// `to` has room for the structure.
unsafe fn put(found: Result<Facts, c_int>, to: *mut Stat) -> c_int {
    // SAFETY: by the caller's promise.
    answer(
        found
            .map(|facts| unsafe { put_stat(&facts, to) })
            .map(|()| 0),
    )
}

macro_rules! by_path {
    ($($name:ident $text:literal;)*) => { $(
        /// What a path's file is.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(path: *const c_char, to: *mut Stat) -> c_int {
            // SAFETY: by the caller's promise.
            match unsafe { of_path(libc::AT_FDCWD, path) } {
                // SAFETY: by the caller's promise.
                Some(found) => unsafe { put(found, to) },
                None => next!($text as fn(*const c_char, *mut Stat) -> c_int, (path, to), or -1),
            }
        }
    )* };
}
by_path! { stat c"stat"; stat64 c"stat64"; lstat c"lstat"; lstat64 c"lstat64"; }

// The forms of programs that were linked with a C library before 2.33: with a version of the structure first.
macro_rules! by_path_versioned {
    ($($name:ident $text:literal;)*) => { $(
        /// What a path's file is.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(version: c_int, path: *const c_char, to: *mut Stat) -> c_int {
            // SAFETY: by the caller's promise.
            match unsafe { of_path(libc::AT_FDCWD, path) } {
                // SAFETY: by the caller's promise; there is one version on 64-bit machines.
                Some(found) => unsafe { put(found, to) },
                None => next!(
                    $text as fn(c_int, *const c_char, *mut Stat) -> c_int, (version, path, to), or -1
                ),
            }
        }
    )* };
}
by_path_versioned! {
    __xstat c"__xstat"; __xstat64 c"__xstat64"; __lxstat c"__lxstat"; __lxstat64 c"__lxstat64";
}

macro_rules! by_descriptor {
    ($($name:ident $text:literal;)*) => { $(
        /// What a descriptor's file is.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(fd: c_int, to: *mut Stat) -> c_int {
            match of_descriptor(fd) {
                // SAFETY: by the caller's promise.
                Some(found) => unsafe { put(found, to) },
                None => next!($text as fn(c_int, *mut Stat) -> c_int, (fd, to), or -1),
            }
        }
    )* };
}
by_descriptor! { fstat c"fstat"; fstat64 c"fstat64"; }

macro_rules! by_descriptor_versioned {
    ($($name:ident $text:literal;)*) => { $(
        /// What a descriptor's file is.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(version: c_int, fd: c_int, to: *mut Stat) -> c_int {
            match of_descriptor(fd) {
                // SAFETY: by the caller's promise.
                Some(found) => unsafe { put(found, to) },
                None => next!(
                    $text as fn(c_int, c_int, *mut Stat) -> c_int, (version, fd, to), or -1
                ),
            }
        }
    )* };
}
by_descriptor_versioned! { __fxstat c"__fxstat"; __fxstat64 c"__fxstat64"; }

/// Facts of what a path below a directory names, or the directory itself.
///
/// # Safety
/// As for [`of_path`].
unsafe fn of_either(fd: c_int, path: *const c_char, flags: c_int) -> Option<Result<Facts, c_int>> {
    // SAFETY: by the caller's promise.
    if flags & libc::AT_EMPTY_PATH != 0 && (path.is_null() || unsafe { *path } == 0) {
        return of_descriptor(fd);
    }
    // SAFETY: by the caller's promise.
    unsafe { of_path(fd, path) }
}

macro_rules! by_either {
    ($($name:ident $text:literal;)*) => { $(
        /// What a file below a directory is.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            fd: c_int,
            path: *const c_char,
            to: *mut Stat,
            flags: c_int,
        ) -> c_int {
            // SAFETY: by the caller's promise.
            match unsafe { of_either(fd, path, flags) } {
                // SAFETY: by the caller's promise.
                Some(found) => unsafe { put(found, to) },
                None => next!(
                    $text as fn(c_int, *const c_char, *mut Stat, c_int) -> c_int,
                    (fd, path, to, flags), or -1
                ),
            }
        }
    )* };
}
by_either! { fstatat c"fstatat"; fstatat64 c"fstatat64"; }

/// What a file below a directory is, in the newer structure.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn statx(
    fd: c_int,
    path: *const c_char,
    flags: c_int,
    mask: c_uint,
    to: *mut Statx,
) -> c_int {
    // SAFETY: by the caller's promise.
    match unsafe { of_either(fd, path, flags) } {
        Some(found) => {
            // SAFETY: by the caller's promise.
            answer(
                found
                    .map(|facts| unsafe { put_statx(&facts, to) })
                    .map(|()| 0),
            )
        }
        None => next!(
            c"statx" as fn(c_int, *const c_char, c_int, c_uint, *mut Statx) -> c_int,
            (fd, path, flags, mask, to),
            or - 1
        ),
    }
}

/// Whether a node may be used so: devices are read and written, files read, directories looked into.
fn accessible(node: &Node, mode: c_int) -> Result<c_int, c_int> {
    let refused = match node {
        Node::Device(..) => libc::X_OK,
        Node::File(_) => libc::W_OK | libc::X_OK,
        Node::Directory(_) => libc::W_OK,
    };
    if mode & refused != 0 {
        Err(libc::EACCES)
    } else {
        Ok(0)
    }
}

macro_rules! accesses {
    ($($name:ident $text:literal;)*) => { $(
        /// Whether a file may be used.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(path: *const c_char, mode: c_int) -> c_int {
            // SAFETY: by the caller's promise.
            match unsafe { find(path) } {
                Some((_, node)) => answer(node.and_then(|node| accessible(&node, mode))),
                None => next!($text as fn(*const c_char, c_int) -> c_int, (path, mode), or -1),
            }
        }
    )* };
}
accesses! { access c"access"; euidaccess c"euidaccess"; eaccess c"eaccess"; }

/// Whether a file below a directory may be used.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn faccessat(
    directory: c_int,
    path: *const c_char,
    mode: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: by the caller's promise.
    match unsafe { find_at(directory, path) } {
        Some((_, Err(errno))) => fail(errno, -1),
        Some((_, Ok(node))) => answer(accessible(&node, mode)),
        None => next!(
            c"faccessat" as fn(c_int, *const c_char, c_int, c_int) -> c_int,
            (directory, path, mode, flags),
            or - 1
        ),
    }
}
