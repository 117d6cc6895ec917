//! Packets of the system DMA engines (SDMA): copies, fills, fences and waits, outside of compute queues.
//!
//! A queue is a ring of dwords. Its read and write pointers count bytes and never wrap (64 bits, SDMA 4 and later); a
//! packet may run over the ring's end. A packet is a head of fixed size, which its first dword decides, and for two of
//! them as many dwords behind it as the head says.
//!
//! The structures are plain views of a head's dwords: bits that nobody here knows stay where they are, so that
//! [`Packet::parse`] and [`Packet::emit`] are each other's inverse. What a field means depends on the [`Generation`].
//! [`Writer`] makes the packets that a runtime sends, into a buffer that the caller owns.
//!
//! ```
//! use rukh_core::wire::sdma::{Generation, Writer};
//!
//! let generation = Generation::of(9, 0, 10).ok_or("no such engines")?; // gfx90a
//! let mut ring = [0; 64];
//! let mut writer = Writer::new(generation, &mut ring);
//! writer.copy(0x2000, 0x1000, 4096)?; // to, from, bytes
//! writer.fence(0x3000, 1)?;
//! assert_eq!(writer.written().len(), 7 + 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Sources: the packet headers of Linux's amdgpu (`vega10_sdma_pkt_open.h`, `navi10_sdma_pkt_open.h`,
//! `sdma_v6_0_0_pkt_open.h`), `sdma_v7_0.c`, and for SDMA 7's rectangles AMD's runtime (`sdma_registers.h`).

mod atomic;
mod generation;
mod heads;
mod packet;
mod rect;
mod writer;

pub use crate::wire::dword::{Address, PollFunction};
pub use atomic::{AtomicOp, AtomicOperation, AtomicWidth};
pub use generation::Generation;
pub use heads::{
    Atomic, CondExe, ConstantFill, CopyBroadcast, CopyLinear, CopyRect, Fence, Gcr, HdpFlush,
    Indirect, Nop, Poll, PreExe, Semaphore, Timestamp, TimestampSet, Trap, WriteLinear,
};
pub use packet::{MAX_HEAD, Packet, ParseError};
pub use rect::{Rect, RectSide};
pub use writer::{Full, Writer};

/// Operations: bits 0-7 of a packet's first dword.
pub mod opcode {
    /// Nothing; its count says how many dwords to step over.
    pub const NOP: u8 = 0;
    /// Copies.
    pub const COPY: u8 = 1;
    /// Writes the dwords that follow.
    pub const WRITE: u8 = 2;
    /// Runs packets that stand elsewhere.
    pub const INDIRECT: u8 = 4;
    /// Writes a dword after everything before.
    pub const FENCE: u8 = 5;
    /// Interrupts the host.
    pub const TRAP: u8 = 6;
    /// Signals or waits for a semaphore.
    pub const SEMAPHORE: u8 = 7;
    /// Waits for a value of memory or of a register, or flushes what the host data path holds.
    pub const POLL_REGMEM: u8 = 8;
    /// Runs packets if memory has a value.
    pub const COND_EXE: u8 = 9;
    /// Changes memory in one step.
    pub const ATOMIC: u8 = 10;
    /// Fills memory with a pattern.
    pub const CONSTANT_FILL: u8 = 11;
    /// Writes page tables: the driver's alone.
    pub const PTE_PDE: u8 = 12;
    /// Sets or stores a clock.
    pub const TIMESTAMP: u8 = 13;
    /// Writes a register: the driver's alone.
    pub const REGISTER_WRITE: u8 = 14;
    /// Runs packets on some devices of several.
    pub const PRE_EXE: u8 = 15;
    /// Drops translations: the driver's alone.
    pub const GPUVM_INV: u8 = 16;
    /// Writes back and drops caches (SDMA 5 and later).
    pub const GCR: u8 = 17;
    /// Interrupts, for tests of the driver.
    pub const DUMMY_TRAP: u8 = 32;
}

/// Bits 8-15 of a packet's first dword, where an operation has several forms.
pub mod sub_opcode {
    /// COPY: bytes in a row; with the broadcast bit, to two places.
    pub const COPY_LINEAR: u8 = 0;
    /// COPY: a box out of a pitched image.
    pub const COPY_RECT: u8 = 4;
    /// WRITE: dwords in a row.
    pub const WRITE_LINEAR: u8 = 0;
    /// TIMESTAMP: sets the engine's clock.
    pub const TIMESTAMP_SET: u8 = 0;
    /// TIMESTAMP: stores the engine's clock.
    pub const TIMESTAMP_GET: u8 = 1;
    /// TIMESTAMP: stores the device's clock.
    pub const TIMESTAMP_GET_GLOBAL: u8 = 2;
    /// GCR: as a user's queue may ask.
    pub const GCR_USER: u8 = 1;
}

#[cfg(test)]
mod tests;
