//! The error numbers that the driver answers.

pub(super) const EPERM: i32 = 1;
pub(super) const ENOENT: i32 = 2;
pub(super) const EINTR: i32 = 4;
pub(super) const EIO: i32 = 5;
pub(super) const EBADF: i32 = 9;
pub(super) const ENOMEM: i32 = 12;
pub(super) const EACCES: i32 = 13;
pub(super) const EFAULT: i32 = 14;
pub(super) const EBUSY: i32 = 16;
pub(super) const EEXIST: i32 = 17;
pub(super) const ENODEV: i32 = 19;
pub(super) const EINVAL: i32 = 22;
pub(super) const EMFILE: i32 = 24;
pub(super) const ENOTTY: i32 = 25;
pub(super) const EFBIG: i32 = 27;
pub(super) const ENOSPC: i32 = 28;
/// What this face does not do although the driver does: nothing that the driver itself answers.
pub(super) const EOPNOTSUPP: i32 = 95;
pub(super) const EADDRINUSE: i32 = 98;
/// The kernel's own number for a queue of a type that it has not.
pub(super) const ENOTSUPP: i32 = 524;
