//! # Write a backend for your kernel
//!
//! A backend is one type that implements the traits of [`backend`](super). This page is the tour; the program at
//! its end is a complete one, with a device, and runs as a test of this page. A kernel that boots in QEMU and
//! runs the runtime in ring 0 is in the repository under `tests/freestanding/kernel`.
//!
//! ## In which order
//! 1. **State.** Whatever your kernel knows of its devices, in a value. The runtime holds it as
//!    `Arc<YourBackend>`; nothing in core is global, so several can live side by side.
//! 2. **[`Topology`](super::Topology)**: CPU agents first, then GPUs. At least one CPU agent with a bank of
//!    [`HeapKind::System`](super::HeapKind::System), where signals and rings go. The runtime reads it once.
//! 3. **[`Memory`](super::Memory)** is the one unsafe trait: the runtime dereferences what it gives. You promise
//!    that a block stays mapped for the host until `free`, belongs to nobody else, is zero at first, and has
//!    one address on all devices that it is mapped to. What devices may do with it is up to your page tables.
//! 4. **[`Queues`](super::Queues)**: tell the hardware where ring, indices and descriptor are. A doorbell is a
//!    register ([`Doorbell::Mmio`](super::Doorbell::Mmio)) or a call
//!    ([`Doorbell::Callback`](super::Doorbell::Callback)). One promise matters more than all others: when
//!    `destroy_queue` returns, the device touches none of the queue's memory.
//! 5. **[`Events`](super::Events)**: how a thread sleeps until a device interrupts. See below.
//! 6. **[`Clock`](super::Clock)**: nanoseconds that never go backwards; time-outs are measured with it.
//! 7. **The optional traits**: `impl Dma for YourBackend {}` answers not-supported.
//!
//! ## Interrupts or polling
//! *With interrupts*: an event is a bit (or a semaphore). The interrupt handler sets those whose ids the device
//! wrote to mailboxes, or all of them if it cannot tell; `wait_events` sleeps until one of its bits is set, takes
//! it, and says so. An event that is set while nobody waits stays set, or wake-ups are lost; one that several wait for
//! wakes them all. The program below does it with a count of interrupts: a thread reads the count, looks at its bits, and
//! sleeps while the count is the same. What the sleep needs is that *look at a word* and *fall asleep* are one step:
//! a futex has that, and a kernel without a scheduler has it by `cli`, a look, `sti; hlt` (AArch64: `wfi` with
//! interrupts masked, which ends it all the same). Give it as [`Events::parker`](super::Events::parker) too, so that threads
//! that wait for others sleep as well.
//!
//! *Polling*: `wait_events` looks at the device and returns
//! [`EventOutcome::TimedOut`](super::EventOutcome::TimedOut) when there is nothing: ending early is always allowed.
//! Devices that progress only when called do so in `wait_events` and in [`Clock::relax`](super::Clock::relax).
//! Without a scheduler leave [`SpinPark`](super::SpinPark), and
//! [`RuntimeConfig::spawn`](crate::runtime::RuntimeConfig::spawn) empty: callbacks then run in
//! [`Runtime::poll`](crate::runtime::Runtime::poll) and in waits.
//!
//! ## What is safe, what is not
//! All methods but [`Memory::free`](super::Memory::free) and
//! [`Memory::register_host`](super::Memory::register_host) are safe to call with any arguments: handles that are
//! none, agents out of range and sizes that make no sense get an error. They are called from any thread,
//! several at once, and never with one of the runtime's locks held that they could need: no method may call back into
//! the runtime. `ring_doorbell` is on the dispatch path: no lock, no blocking, no allocation.
//!
//! ## Test it
//! Run a dispatch, then the conformance suite of the repository (`rukh_tests::conformance!` with a `Factory` of
//! yours, on a host): every promise above is a test there. For a device that executes no code, as the one below, take the
//! chapters that need none: `tests/tests/tiny_backend.rs` does, in both ways of waiting.
//!
//! ## The program
//! ```
#![doc = include_str!("../../examples/tiny_backend.rs")]
//! ```
