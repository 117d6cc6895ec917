//! The Linux KFD backend of the Rukh HSA runtime.
//!
//! [`sys`] is the only room with system calls: it implements core's
//! [`KfdPort`](rukh_core::kfd::KfdPort) over the real kernel. [`Kfd`] stands on any port.
//!
//! So far the backend opens the driver and checks its version; devices are the next step, and
//! until then a [`Kfd`] cannot be used as a runtime's backend.
#![no_std]

mod kfd;
pub mod sys;

pub use kfd::{Kfd, OpenError};
