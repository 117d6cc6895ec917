//! `librukh_kfd.so`: the software GPU's KFD face before programs that know nothing of it.
//!
//! `LD_PRELOAD=librukh_kfd.so RUKH_KFD=gfx90a,gfx90a program` runs a program on a machine with these GPUs: `/dev/kfd`, the
//! render nodes in `/dev/dri`, the topology and what else a runtime reads of amdgpu in `/sys` and `/proc` are the face's. All
//! other calls go on to the C library. Nothing is left behind: there is no file anywhere, and memory goes with the process.
//!
//! In the order that a call travels:
//!
//! 1. [`calls`]: the C library's functions that stand here in its place.
//! 2. [`tree`]: which paths are ours, and what is there.
//! 3. [`files`]: which file descriptors are ours. Each is a real one, an empty memory file, so that the kernel numbers,
//!    duplicates, polls and closes it.
//! 4. [`machine`]: the face, made when it is first needed.
//! 5. [`next`]: the way on to the C library.
//!
//! # What differs from a driver
//! - Programs that make system calls by themselves, without the C library, see the machine as it is.
//! - A pointer in an ioctl's argument that points nowhere makes SIGSEGV, where a kernel answers EFAULT.
//! - What a child process inherits answers EBADF, as with the driver; what it opens itself is a machine of its own.
//! - Descriptors are numbered below 65536: with more, opening fails with EMFILE.
//! - Memory that the client gave to a GPU (a user pointer) must stay mapped until it is taken back.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod calls;
mod files;
mod machine;
mod next;
mod tree;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!(
    "open, fcntl and ioctl are variadic in C and are not here: how such arguments travel is known for x86-64 and AArch64"
);
