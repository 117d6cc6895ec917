//! The Linux KFD backend of the Rukh HSA runtime.
//!
//! [`KfdBackend`] implements core's backend traits over any [`KfdPort`](rukh_core::kfd::KfdPort): the real
//! kernel through [`sys::LinuxPort`], the software GPU's KFD face, or a recording. Its rooms mirror `core/src/backend/`:
//!
//! 1. [`Kfd`]: the driver, open; version, and whether a child process inherited it.
//! 2. [`topology`]: nodes, banks, caches and links out of sysfs; `device`: GPUs, opened one by one, so that one that
//!    cannot be opened costs itself alone.
//! 3. `memory`: addresses, buffer objects, mappings.
//! 4. `events`: the event page, waits, fault reports.
//! 5. [`queues`]: hardware queues, the buffers beside them, doorbells; `code`: making a GPU forget cached
//!    instructions; [`trap`]: code that waves run when they trap;
//!    `dma`: copies by SDMA engines.
//! 6. `clock`, `svm`, `optional`: counters, shared virtual memory, dmabuf, and what else the driver offers.
//! 7. [`trace`]: a port that writes down every call, and one that answers from what was written; [`fault`]: one that
//!    fails when it is told to.
//!
//! [`sys`] is the only room with system calls.
#![no_std]

extern crate alloc;

mod backend;
mod clock;
mod code;
mod device;
mod dma;
mod drm;
mod events;
pub mod fault;
mod kfd;
mod memory;
mod optional;
pub mod queues;
mod svm;
pub mod sys;
pub mod topology;
pub mod trace;
pub mod trap;

pub use backend::KfdBackend;
pub use kfd::{Kfd, OpenError};
pub use optional::{RuntimeMode, XnackMode};
