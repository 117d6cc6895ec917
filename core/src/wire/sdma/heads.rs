//! Heads of packets, dword by dword.

use super::generation::Generation;
use super::{AtomicOp, opcode, sub_opcode};
use crate::wire::dword::{Address, PollFunction, heads};

/// A packet's first dword.
pub(super) const fn header(op: u8, sub: u8) -> u32 {
    op as u32 | (sub as u32) << 8
}

heads! {
    /// NOP: bits 16-29 of the header count dwords to step over.
    Nop, size 4 {}

    /// COPY, linear.
    CopyLinear, size 28 {
        /// Bytes less one; how many bits count depends on the generation.
        count: u32, at 4;
        /// Byte swaps and cache policies.
        parameter: u32, at 8;
        /// From where.
        source: Address, at 12;
        /// To where.
        destination: Address, at 20;
    }

    /// COPY, linear, to two places (bit 27 of the header).
    CopyBroadcast, size 36 {
        /// Bytes less one.
        count: u32, at 4;
        /// Byte swaps and cache policies.
        parameter: u32, at 8;
        /// From where.
        source: Address, at 12;
        /// To where, first.
        destination: Address, at 20;
        /// To where, second.
        second: Address, at 28;
    }

    /// COPY, linear sub-window: a box out of one pitched image into another. Bits 29-31 of the header are log2 of an
    /// element's bytes; see [`CopyRect::rect`].
    CopyRect, size 52 {
        /// Address of the source image.
        source: Address, at 4;
        /// First column and row.
        source_xy: u32, at 12;
        /// First slice, and elements of a row less one.
        source_z_pitch: u32, at 16;
        /// Elements of a slice less one.
        source_slice: u32, at 20;
        /// Address of the destination image.
        destination: Address, at 24;
        /// First column and row.
        destination_xy: u32, at 32;
        /// First slice, and elements of a row less one.
        destination_z_pitch: u32, at 36;
        /// Elements of a slice less one.
        destination_slice: u32, at 40;
        /// Columns and rows to copy, less one.
        size_xy: u32, at 44;
        /// Slices to copy, less one; byte swaps or cache policies.
        size_z: u32, at 48;
    }

    /// WRITE, linear: the dwords stand behind the head.
    WriteLinear, size 16 {
        /// To where.
        destination: Address, at 4;
        /// Bits 0-19: dwords less one.
        count: u32, at 12;
    }

    /// INDIRECT: packets in another buffer.
    Indirect, size 24 {
        /// Where they stand; 32-byte aligned.
        base: Address, at 4;
        /// Bits 0-19: dwords.
        size: u32, at 12;
        /// Where a preempted engine leaves its state.
        state: Address, at 16;
    }

    /// SEMAPHORE.
    Semaphore, size 12 {
        /// Where it is.
        address: Address, at 4;
    }

    /// FENCE: a dword written after everything before it.
    Fence, size 16 {
        /// To where.
        address: Address, at 4;
        /// The dword.
        data: u32, at 12;
    }

    /// PRE_EXE: the dwords behind it are for the devices that bits 16-23 of the header name.
    PreExe, size 8 {
        /// Bits 0-13: dwords.
        count: u32, at 4;
    }

    /// COND_EXE: the dwords behind it run if memory has the reference's value.
    CondExe, size 20 {
        /// What to compare.
        address: Address, at 4;
        /// With what.
        reference: u32, at 12;
        /// Bits 0-13: dwords.
        count: u32, at 16;
    }

    /// CONST_FILL. Bits 30-31 of the header are log2 of the pattern's bytes.
    ConstantFill, size 20 {
        /// Where to begin.
        destination: Address, at 4;
        /// The pattern, in the low bits.
        data: u32, at 12;
        /// Bytes less one; of a fill by larger patterns the low bits do not count.
        count: u32, at 16;
    }

    /// POLL_REGMEM.
    Poll, size 24 {
        /// What to look at: memory, or a register's byte offset.
        address: Address, at 4;
        /// With what to compare.
        value: u32, at 12;
        /// Which bits of what is found count.
        mask: u32, at 16;
        /// Bits 0-15: clocks between looks, in units of 16; bits 16-27: how often to look again, all ones without end.
        interval: u32, at 20;
    }

    /// POLL_REGMEM in the form that has the host data path write back what it holds.
    HdpFlush, size 24 {
        /// Registers of the request and of the answer, if the driver wrote the packet.
        address: Address, at 4;
        /// Which client asks.
        value: u32, at 12;
        /// As before.
        mask: u32, at 16;
        /// As of a wait.
        interval: u32, at 20;
    }

    /// ATOMIC. Bits 25-31 of the header are the operation's code; bit 16 says to try again until a comparison holds.
    Atomic, size 32 {
        /// What to change.
        address: Address, at 4;
        /// The operand.
        source: Address, at 12;
        /// What to compare with.
        compare: Address, at 20;
        /// Bits 0-12: clocks between tries.
        interval: u32, at 28;
    }

    /// TIMESTAMP that sets the engine's clock.
    TimestampSet, size 12 {
        /// To what.
        value: Address, at 4;
    }

    /// TIMESTAMP that stores a clock, 64 bits wide.
    Timestamp, size 12 {
        /// Where; 8-byte aligned.
        address: Address, at 4;
    }

    /// TRAP: an interrupt.
    Trap, size 8 {
        /// Bits 0-27 reach the driver: the event's id.
        context: u32, at 4;
    }

    /// GCR_REQ: caches written back or dropped, of a range of addresses or all.
    Gcr, size 20 {
        /// Bits 7-31: where the range begins.
        base_low: u32, at 4;
        /// Bits 0-15: its upper part; bits 16-31: what to do.
        base_high: u32, at 8;
        /// Bits 0-2: what else; bits 7-31: where it ends.
        limit_low: u32, at 12;
        /// Bits 0-15: its upper part.
        limit_high: u32, at 16;
    }
}

/// Bits of GCR_REQ's control in [`Gcr::base_high`].
pub(super) mod gcr {
    pub const GLK_WB: u32 = 1 << 22;
    pub const GLK_INV: u32 = 1 << 23;
    pub const GLV_INV: u32 = 1 << 24;
    pub const GL1_INV: u32 = 1 << 25;
    pub const GL2_INV: u32 = 1 << 30;
    pub const GL2_WB: u32 = 1 << 31;
}

pub(super) const fn low_bits(bits: u32) -> u32 {
    (1 << bits) - 1
}

impl Nop {
    /// Steps over so many dwords behind it, at most 0x3fff.
    pub const fn new(dwords: u32) -> Self {
        Self {
            header: header(opcode::NOP, 0) | (dwords & 0x3fff) << 16,
        }
    }

    /// Dwords to step over.
    pub const fn skipped(&self) -> u32 {
        self.header >> 16 & 0x3fff
    }
}

impl CopyLinear {
    /// Copies `bytes`, at least 1 and at most [`Generation::max_copy`].
    pub const fn new(destination: u64, source: u64, bytes: u32) -> Self {
        Self {
            header: header(opcode::COPY, sub_opcode::COPY_LINEAR),
            count: bytes.wrapping_sub(1),
            parameter: 0,
            source: Address::new(source),
            destination: Address::new(destination),
        }
    }

    /// Bytes to copy.
    pub const fn bytes(&self, generation: Generation) -> u64 {
        (self.count & low_bits(generation.copy_count_bits())) as u64 + 1
    }

    /// Whether to begin with the last byte (SDMA 5 and later).
    pub const fn is_backwards(&self, generation: Generation) -> bool {
        generation.has_gcr() && self.header >> 25 & 1 != 0
    }
}

impl CopyBroadcast {
    /// Copies `bytes` to two places.
    pub const fn new(destinations: [u64; 2], source: u64, bytes: u32) -> Self {
        Self {
            header: header(opcode::COPY, sub_opcode::COPY_LINEAR) | 1 << 27,
            count: bytes.wrapping_sub(1),
            parameter: 0,
            source: Address::new(source),
            destination: Address::new(destinations[0]),
            second: Address::new(destinations[1]),
        }
    }

    /// Bytes to copy.
    pub const fn bytes(&self, generation: Generation) -> u64 {
        (self.count & low_bits(generation.copy_count_bits())) as u64 + 1
    }
}

impl WriteLinear {
    /// Most dwords behind one head.
    pub const MAX_DWORDS: u32 = 1 << 20;

    /// The head of `dwords` dwords, at least 1 and at most [`Self::MAX_DWORDS`].
    pub const fn new(destination: u64, dwords: u32) -> Self {
        Self {
            header: header(opcode::WRITE, sub_opcode::WRITE_LINEAR),
            destination: Address::new(destination),
            count: dwords.wrapping_sub(1) & 0xf_ffff,
        }
    }

    /// Dwords behind the head.
    pub const fn dwords(&self) -> u32 {
        (self.count & 0xf_ffff) + 1
    }
}

impl Indirect {
    /// Runs `dwords` dwords of packets.
    pub const fn new(base: u64, dwords: u32) -> Self {
        Self {
            header: header(opcode::INDIRECT, 0),
            base: Address::new(base),
            size: dwords & 0xf_ffff,
            state: Address::new(0),
        }
    }

    /// Dwords of packets.
    pub const fn dwords(&self) -> u32 {
        self.size & 0xf_ffff
    }
}

impl Fence {
    /// Writes a dword, uncached where the engine is behind caches.
    pub const fn new(address: u64, data: u32, generation: Generation) -> Self {
        let uncached = if generation.has_gcr() { 3 << 16 } else { 0 };
        Self {
            header: header(opcode::FENCE, 0) | uncached,
            address: Address::new(address),
            data,
        }
    }
}

impl PreExe {
    /// Devices that run what follows: a bit each.
    pub const fn devices(&self) -> u8 {
        (self.header >> 16) as u8
    }

    /// Dwords that it decides on.
    pub const fn dwords(&self) -> u32 {
        self.count & 0x3fff
    }
}

impl CondExe {
    /// Dwords that it decides on.
    pub const fn dwords(&self) -> u32 {
        self.count & 0x3fff
    }
}

impl ConstantFill {
    /// Fills `dwords` dwords: their bytes are at most [`Generation::max_fill`].
    pub const fn new(destination: u64, value: u32, dwords: u32) -> Self {
        Self {
            header: header(opcode::CONSTANT_FILL, 0) | 2 << 30,
            destination: Address::new(destination),
            data: value,
            count: dwords.wrapping_mul(4).wrapping_sub(1),
        }
    }

    /// log2 of the pattern's bytes; 3 is none that is known.
    pub const fn pattern_log2(&self) -> u32 {
        self.header >> 30
    }

    /// Bytes to fill.
    pub const fn bytes(&self, generation: Generation) -> u64 {
        let pattern = 1u64 << self.pattern_log2();
        let count = (self.count & low_bits(generation.fill_count_bits())) as u64;
        (count & !(pattern - 1)) + pattern
    }
}

impl Poll {
    /// Waits, however long, until a dword of memory has a value.
    pub const fn equal(address: u64, value: u32) -> Self {
        Self {
            header: header(opcode::POLL_REGMEM, 0) | 3 << 28 | 1 << 31,
            address: Address::new(address),
            value,
            mask: u32::MAX,
            interval: 0xfff << 16 | 4,
        }
    }

    /// How it compares.
    pub const fn function(&self) -> PollFunction {
        PollFunction::from_bits(self.header >> 28)
    }

    /// Whether it looks at memory, not at a register.
    pub const fn is_memory(&self) -> bool {
        self.header >> 31 != 0
    }

    /// How often it looks again; `None` without end.
    pub const fn retries(&self) -> Option<u32> {
        match self.interval >> 16 & 0xfff {
            0xfff => None,
            retries => Some(retries),
        }
    }
}

impl HdpFlush {
    /// As a user's queue asks for it.
    pub const fn new() -> Self {
        Self {
            header: header(opcode::POLL_REGMEM, 0),
            address: Address::new(0x8000_0000 << 32),
            value: 0,
            mask: 0,
            interval: 0,
        }
    }
}

impl Atomic {
    /// An operation without a comparison.
    pub const fn new(op: AtomicOp, address: u64, source: u64) -> Self {
        Self {
            header: header(opcode::ATOMIC, 0) | (op.code() as u32) << 25,
            address: Address::new(address),
            source: Address::new(source),
            compare: Address::new(0),
            interval: 0,
        }
    }

    /// The operation's code.
    pub const fn code(&self) -> u8 {
        (self.header >> 25) as u8
    }

    /// Whether it tries until the comparison holds.
    pub const fn is_loop(&self) -> bool {
        self.header >> 16 & 1 != 0
    }
}

impl Timestamp {
    /// Stores the device's clock.
    pub const fn global(address: u64) -> Self {
        Self {
            header: header(opcode::TIMESTAMP, sub_opcode::TIMESTAMP_GET_GLOBAL),
            address: Address::new(address),
        }
    }
}

impl Trap {
    /// Raises an event.
    pub const fn new(event: u32) -> Self {
        Self {
            header: header(opcode::TRAP, 0),
            context: event & 0xfff_ffff,
        }
    }

    /// The event's id.
    pub const fn event(&self) -> u32 {
        self.context & 0xfff_ffff
    }
}

impl Gcr {
    /// Writes all caches back; with `invalidate` drops them, too.
    pub const fn all(invalidate: bool) -> Self {
        let drop = if invalidate {
            gcr::GL2_INV | gcr::GL1_INV | gcr::GLV_INV | gcr::GLK_INV
        } else {
            0
        };
        Self {
            header: header(opcode::GCR, sub_opcode::GCR_USER),
            base_low: 0,
            base_high: gcr::GL2_WB | gcr::GLK_WB | drop,
            limit_low: 0,
            limit_high: 0,
        }
    }
}
