//! A deterministic software AMD GPU that executes real AMDGPU machine code, as a backend of the Rukh HSA runtime.
//!
//! In the order that one dispatch travels:
//!
//! 1. [`backend`]: [`SimBackend`], the devices behind core's seam.
//! 2. `cp`: the packet processor, which consumes queues; `grid` cuts a dispatch into waves; `sched`
//!    gives them turns.
//!    [`sdma`]: the engines beside it, which copy.
//! 3. [`exec`]: executes decoded instructions on wavefronts; [`isa`]: instructions, from bytes.
//! 4. [`mem`]: simulated memory, translated and checked for every access.
//! 5. [`device`]: the devices of a system, and what is reported when something goes wrong;
//!    [`profile`] has their figures.
//! 6. `kfd` (with `std`): the same devices behind the ioctls of Linux's `/dev/kfd`.
//!
//! [`guide`] shows it in the tests of a program, and says what a kernel gives that embeds it.
#![no_std]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

pub mod backend;
mod cp;
pub mod device;
pub mod exec;
mod grid;
pub mod guide;
pub mod isa;
#[cfg(feature = "std")]
pub mod kfd;
pub mod mem;
pub mod profile;
mod sched;
pub mod sdma;
mod sync;

pub use backend::{Mode, SimBackend, SimConfig};
