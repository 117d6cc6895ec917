//! The Linux KFD interface: what `/dev/kfd` is asked and answers.
//!
//! [`uapi`] describes every ioctl once: number, direction, argument structure, field by field.
//! [`KfdPort`] is the only seam to the system. The real kernel stands behind it in
//! `rukh-backend-linux-kfd`; the software GPU's KFD face and recorded runs can stand there as well,
//! which is why both live in core.

mod port;
pub mod uapi;

pub use port::{
    EAGAIN, EINTR, KfdFile, KfdPort, Mapping, PortError, Protection, RETRIES, call, call_plain,
    get_version,
};
