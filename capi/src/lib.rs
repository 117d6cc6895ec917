//! The C ABI of the Rukh HSA runtime: `libhsa-runtime64.so.1`, as programs that were built with
//! the public HSA headers expect it.
//!
//! One file per chapter of the HSA API; AMD's extensions are in [`amd`]. In the order that
//! a call travels:
//!
//! 1. [`entry`]: the macros that define exports, the panic boundary. [`arg`]: pointers that a client passes.
//! 2. [`state`]: the open runtime, found without a lock. [`runtime`]: what belongs to it.
//! 3. The chapters: [`init`], [`status`], [`system`], [`agent`], [`isa`], [`signal`], [`queue`] with
//!    [`queue_index`], [`memory`], [`reader`], [`executable`] with [`symbol`], [`code_object`],
//!    [`image`], [`finalizer`]; [`loader_extension`] is reached by a table.
//! 4. [`table`]: what the exports jump to, where tools put their own functions; [`tools`] loads those.
//! 5. [`error`]: core's errors as statuses. [`callback`]: calling back, outside of the boundary. [`stop`]: what a user is
//!    told of a kernel that stopped.
//!
//! [`abi`] is what clients and this library agree on, checked against the C headers.
//! [`backend`] chooses what runs the kernels, [`driver`] what stands behind `/dev/kfd`.

pub mod abi;
pub mod agent;
pub mod amd;
pub mod arg;
pub mod backend;
mod callback;
pub mod code_object;
mod cu_mask;
mod debug;
pub mod devices;
mod diag;
pub mod driver;
mod entry;
pub mod environment;
mod error;
pub mod executable;
pub mod finalizer;
pub mod image;
pub mod init;
pub mod isa;
mod loader_extension;
pub mod memory;
pub mod queue;
pub mod queue_index;
pub mod reader;
mod registry;
mod runtime;
pub mod signal;
mod soft_queue;
mod state;
pub mod status;
mod stop;
pub mod symbol;
pub mod system;
pub mod table;
mod tools;
