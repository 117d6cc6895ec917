//! AMD's extensions (`hsa_ext_amd.h`), one file per subject.

pub mod copy;
pub mod dmabuf;
pub mod event;
pub mod intercept;
pub mod ipc;
pub mod memory;
pub mod pcs;
pub mod pool;
pub mod profiling;
pub mod queue;
pub mod signal;
pub mod svm;
pub mod vmem;
