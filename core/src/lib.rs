//! The core of Rukh, an HSA runtime: everything that finding AMD GPUs, giving them memory,
//! loading their code, feeding their queues and waiting on their signals has in common,
//! whatever drives the hardware underneath.
//!
//! In the order that one dispatch travels:
//!
//! 1. [`runtime`] (feature `alloc`): agents, memory, signals and queues over one backend. Its rooms
//!    are [`mem`], pools and what is known about an address, and the following, which need no allocator.
//! 2. [`loader`]: code objects, from bytes to kernels in device memory; [`isa`] says which of them
//!    an agent executes, [`elf`] names their bits.
//! 3. [`queue`]: the ring that a packet is claimed in, written to and published from.
//! 4. [`wire`]: every ABI structure and packet that software and hardware share, as typed views.
//! 5. [`backend`]: the seam. A family of small traits that a backend implements: Linux KFD, the
//!    software GPU, or the memory and devices of your own kernel.
//! 6. [`scratch`]: what a queue's private memory looks like to the hardware that asks for it.
//! 7. [`signal`]: the value that the packet completes on, and how to wait for it.
//!
//! Capacities and defaults are in [`config`].
//!
//! Beside that line stands [`kfd`]: the ioctls of Linux's `/dev/kfd`, which the KFD backend sends
//! and the software GPU's KFD face answers.
//!
//! The crate is `no_std`. Without features it also needs no allocator (tier 0); feature `alloc`
//! adds the runtime itself (tier 1). `std` adds conveniences only, `log` and `defmt` each add
//! a place to write diagnostics to. No feature changes what existing code does.
//!
//! Addresses are 64-bit and the ABI is little-endian throughout; other hosts are refused at compile time.
#![no_std]
#![cfg_attr(not(feature = "alloc"), allow(rustdoc::broken_intra_doc_links))]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

#[cfg(not(all(target_pointer_width = "64", target_endian = "little")))]
compile_error!(
    "rukh-core shares memory with 64-bit little-endian devices by address: it needs a 64-bit little-endian host"
);

/// Implements [`core::error::Error`] for error enums: thiserror-no-std derives `Display` alone
/// unless its `std` feature is on, which core must not need.
macro_rules! impl_error {
    ($($ty:ty),+ $(,)?) => { $(impl core::error::Error for $ty {})+ };
}
pub(crate) use impl_error;

mod sync;
mod trace;

pub mod backend;
pub mod config;
pub mod elf;
pub mod isa;
pub mod kfd;
pub mod loader;
#[cfg(feature = "alloc")]
pub mod mem;
pub mod queue;
#[cfg(feature = "alloc")]
pub mod runtime;
pub mod scratch;
pub mod signal;
pub mod wire;
