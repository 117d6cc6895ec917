//! # Embed the software GPU
//!
//! ## In the tests of a program
//! A committed code object, a kernel that stores where it should not, and the line that did it: this runs on any machine, the
//! same way each time ([`Mode::Step`](crate::Mode::Step)). `rukh-sim` shows the same from a shell.
#![cfg_attr(feature = "tool", doc = "```")]
#![cfg_attr(not(feature = "tool"), doc = "```ignore")]
//! use rukh_backend_sim::device::FaultCause;
//! use rukh_backend_sim::{Mode, SimBackend, SimConfig};
//! use rukh_core::backend::{Clock, Timeout};
//! use rukh_core::loader::CodeObject;
//! use rukh_core::loader::kernarg::{Explicit, Grid};
//! use rukh_core::mem::PoolFlags;
//! use rukh_core::queue::QueueStatus;
//! use rukh_core::runtime::{Dispatch, QueueConfig, QueueError, Runtime, RuntimeConfig};
//! use std::sync::Arc;
//!
//! // Compiled for this processor with `-g`: `kernel void stray(global int *out, ulong at)` stores to `at`.
//! let file = include_bytes!("../../core/tests/data/lines-gfx90a-dwarf5.co");
//!
//! let config = SimConfig::parse("gfx90a")?.mode(Mode::Step { seed: 1 });
//! let runtime = Runtime::new(Arc::new(SimBackend::new(config)?), RuntimeConfig::default())?;
//! let gpu = runtime.gpu_ids().next().ok_or("there is no GPU")?;
//! let pool = runtime.find_pool(gpu, PoolFlags::COARSE).ok_or("it has no memory")?.id;
//! let out = runtime.create_buffer(pool, 4096, &[])?;
//! let program = runtime.load_program(gpu, file)?;
//! let kernel = program.kernel("stray").ok_or("there is no such kernel")?;
//! let queue = runtime.create_queue(gpu, QueueConfig::default())?;
//!
//! let (pointer, nowhere) = (out.address().0.to_le_bytes(), 0xdead_0000u64.to_le_bytes());
//! let arguments = [Explicit::Bytes(&pointer), Explicit::Bytes(&nowhere)];
//! let grid = Dispatch::new(Grid::new([64, 1, 1], [64, 1, 1]));
//! let sent = runtime.dispatch(&queue, &kernel, &grid, &arguments)?;
//! // On the devices' clock: what never ends is over soon.
//! let soon = Timeout::At(runtime.backend().now() + 1_000_000_000);
//! let fault = QueueStatus::MemoryFault { address: 0xdead_0000 };
//! assert_eq!(sent.wait(soon), Err(QueueError::Stopped(fault)));
//!
//! // What hardware cannot say: which work-item of which instruction, and what it was compiled from.
//! let report = runtime.backend().last_faults().pop().ok_or("there is no report")?;
//! let FaultCause::Wave(wave) = &report.cause else {
//!     return Err(report.to_string().into());
//! };
//! let source = program.source_at(&CodeObject::parse(file)?, wave.pc)?.ok_or("no lines")?;
//! assert!(source.to_string().ends_with("lines.cl:21:21 in stray"), "{source}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! To see what a program does when a driver runs out of something, put a
//! [`FaultInjector`](rukh_core::backend::FaultInjector) around the backend:
//! `Wrap::new(backend, FaultInjector::new(FaultPlan::Nth(n)))` has the `n`-th call fail.
//!
//! ## In a kernel without an operating system
//! `rukh-backend-sim = { default-features = false }`, and `rukh-core` with feature `alloc`. What your kernel gives:
//!
//! - a global allocator, and a panic handler (which nothing here is meant to reach);
//! - pages for the memory of simulated devices: [`SimConfig::memory`](crate::SimConfig::memory), a
//!   [`HostMemory`](crate::mem::HostMemory). Without it they come from the global allocator
//!   ([`HeapMemory`](crate::mem::HeapMemory)). A block is mapped whole, not on demand, and as large as what clients
//!   allocate;
//! - the float and vector registers of the target that you compile for, in their state after reset, saved when interrupts and
//!   threads change (`x86_64-unknown-none` uses none);
//! - 256 KiB of stack for whoever waits, relaxes or steps: devices run on that thread.
//!
//! There are no threads: devices make progress in calls ([`Mode::Step`](crate::Mode::Step)), namely in waits, in
//! [`Clock::relax`](rukh_core::backend::Clock::relax) and in [`SimBackend::step`](crate::SimBackend::step), which an idle loop or
//! a timer's handler may call. Time is that of the devices: it passes with what they execute.
//!
//! The repository has one that boots, in `tests/freestanding/kernel`.
