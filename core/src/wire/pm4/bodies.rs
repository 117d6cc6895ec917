//! Commands, dword by dword. Where a command has data of any length, the view is what stands before it.

use super::header::{Header, opcode};
use crate::wire::dword::{Address, PollFunction, heads};
use crate::wire::sdma::AtomicOp;

heads! {
    /// WRITE_DATA: the dwords stand behind it.
    WriteData, size 16 {
        /// Bits 8-11: where to; bit 16: all to one address; bit 20: wait until it is written.
        control: u32, at 4;
        /// The address; dword aligned.
        destination: Address, at 8;
    }

    /// INDIRECT_BUFFER.
    IndirectBuffer, size 16 {
        /// Where the commands stand; dword aligned. Bits 48-63 do not count.
        base: Address, at 4;
        /// Bits 0-19: dwords; bit 20: a chain, after which nothing is returned to; bit 23: valid; bits 24-27: VMID.
        control: u32, at 12;
    }

    /// ACQUIRE_MEM of GFX9.
    AcquireMem, size 28 {
        /// What to do.
        coherence: u32, at 4;
        /// Size of the range, in units of 256 bytes.
        size_low: u32, at 8;
        /// Its upper part.
        size_high: u32, at 12;
        /// The range, in units of 256 bytes.
        base: Address, at 16;
        /// Clocks between looks.
        interval: u32, at 24;
    }

    /// ACQUIRE_MEM of GFX10 and later.
    AcquireMemGcr, size 32 {
        /// Reserved.
        reserved: u32, at 4;
        /// Size of the range, in units of 256 bytes.
        size_low: u32, at 8;
        /// Its upper part.
        size_high: u32, at 12;
        /// The range, in units of 256 bytes.
        base: Address, at 16;
        /// Clocks between looks.
        interval: u32, at 24;
        /// Bits 0-18: what to do.
        control: u32, at 28;
    }

    /// RELEASE_MEM.
    ReleaseMem, size 32 {
        /// Bits 0-5: the event; bits 8-11: its index; then caches.
        event: u32, at 4;
        /// Bits 16-17: where to; bits 24-26: [`ReleaseInterrupt`]; bits 29-31: [`ReleaseData`].
        select: u32, at 8;
        /// The address.
        address: Address, at 12;
        /// What to write there.
        data: Address, at 20;
        /// What an interrupt tells the driver: the event's id.
        context: u32, at 28;
    }

    /// COPY_DATA.
    CopyData, size 24 {
        /// Bits 0-3: from where; bits 8-11: to where; bit 16: 64 bits.
        control: u32, at 4;
        /// The address, or the value.
        source: Address, at 8;
        /// The address.
        destination: Address, at 16;
    }

    /// WAIT_REG_MEM.
    WaitRegMem, size 28 {
        /// Bits 0-2: the comparison; bits 4-5: 1 for memory; bits 6-7: the operation.
        control: u32, at 4;
        /// What to look at; dword aligned.
        address: Address, at 8;
        /// With what to compare.
        reference: u32, at 16;
        /// Which bits count.
        mask: u32, at 20;
        /// Bits 0-15: clocks between looks, in units of 16.
        interval: u32, at 24;
    }

    /// ATOMIC_MEM.
    AtomicMem, size 36 {
        /// Bits 0-6: the operation's code; bits 8-11: 1 to try again until the comparison holds.
        control: u32, at 4;
        /// What to change.
        address: Address, at 8;
        /// The operand.
        source: Address, at 16;
        /// What to compare with.
        compare: Address, at 24;
        /// Clocks between tries.
        interval: u32, at 32;
    }

    /// SET_SH_REG or SET_UCONFIG_REG: the values stand behind it.
    SetRegisters, size 8 {
        /// Bits 0-15: number of the first register, counted from the space's start.
        offset: u32, at 4;
    }

    /// DISPATCH_DIRECT.
    DispatchDirect, size 20 {
        /// Work-groups, or work-items with [`initiator::THREAD_DIMENSIONS`].
        x: u32, at 4;
        /// In the second dimension.
        y: u32, at 8;
        /// In the third.
        z: u32, at 12;
        /// See [`initiator`].
        initiator: u32, at 16;
    }

    /// EVENT_WRITE.
    EventWrite, size 8 {
        /// Bits 0-5: the event; bits 8-11: its index.
        event: u32, at 4;
    }

    /// DMA_DATA.
    DmaData, size 28 {
        /// Bits 20-21: to where; bits 29-30: from where.
        control: u32, at 4;
        /// The address, or the value to fill with.
        source: Address, at 8;
        /// The address.
        destination: Address, at 16;
        /// Bits 0-25: bytes; bits 26-29: registers instead of memory, addresses that stay.
        command: u32, at 24;
    }

    /// PRED_EXEC: what follows is for some dies.
    PredExec, size 8 {
        /// Bits 0-13: dwords; bits 24-31: a bit for each die.
        select: u32, at 4;
    }
}

/// Bits of COMPUTE_DISPATCH_INITIATOR.
pub mod initiator {
    /// The shader runs.
    pub const SHADER_EN: u32 = 1 << 0;
    /// Work-groups count from 0, whatever the start registers say.
    pub const FORCE_START_AT_000: u32 = 1 << 2;
    /// The command's sizes are of work-items.
    pub const THREAD_DIMENSIONS: u32 = 1 << 5;
    /// Waves have 32 lanes (GFX10 and later).
    pub const W32: u32 = 1 << 15;
}

/// Numbers of registers, counted from the start of the space of shaders' registers (0x2c00).
pub mod register {
    /// COMPUTE_DISPATCH_INITIATOR: the first of compute's.
    pub const FIRST: u32 = 0x200;
    /// COMPUTE_START_X, and two more.
    pub const START: u32 = 0x204;
    /// COMPUTE_NUM_THREAD_X, and two more.
    pub const NUM_THREAD: u32 = 0x207;
    /// COMPUTE_PGM_LO and HI: the program's address, in units of 256 bytes.
    pub const PGM: u32 = 0x20c;
    /// COMPUTE_DISPATCH_SCRATCH_BASE_LO and HI, in units of 256 bytes.
    pub const SCRATCH_BASE: u32 = 0x210;
    /// COMPUTE_PGM_RSRC1.
    pub const PGM_RSRC1: u32 = 0x212;
    /// COMPUTE_PGM_RSRC2.
    pub const PGM_RSRC2: u32 = 0x213;
    /// COMPUTE_TMPRING_SIZE.
    pub const TMPRING_SIZE: u32 = 0x218;
    /// COMPUTE_PGM_RSRC3 of GFX90A and GFX942.
    pub const PGM_RSRC3: u32 = 0x22d;
    /// COMPUTE_USER_DATA_0, and 15 more.
    pub const USER_DATA: u32 = 0x240;
    /// One past the last of compute's.
    pub const END: u32 = 0x280;
}

/// Where a command's data comes from or goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataSource {
    /// Memory, through whichever cache.
    Memory,
    /// A value in the command.
    Immediate,
    /// What the last atomic found.
    AtomicReturn,
    /// The device's clock.
    Clock,
    /// Registers and other places.
    Other(u32),
}

/// What RELEASE_MEM writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReleaseData {
    /// Nothing.
    None,
    /// The low dword of the data.
    Low32,
    /// The data.
    Bits64,
    /// The device's clock.
    Clock,
    /// Something else.
    Other(u32),
}

/// When RELEASE_MEM interrupts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReleaseInterrupt {
    /// Never.
    None,
    /// At once, or when the data is written.
    Always,
    /// If memory has a value.
    Conditional(u32),
}

impl WriteData {
    /// The head of dwords to memory; at most 0x3ffd of them.
    pub const fn new(destination: u64, dwords: u32) -> Self {
        Self {
            header: Header::new(opcode::WRITE_DATA, 3 + dwords).0,
            control: 5 << 8 | 1 << 20,
            destination: Address::new(destination),
        }
    }

    /// Whether it writes to memory.
    pub const fn is_memory(&self) -> bool {
        matches!(self.control >> 8 & 15, 1 | 2 | 5)
    }

    /// Whether all dwords go to one address.
    pub const fn is_single(&self) -> bool {
        self.control >> 16 & 1 != 0
    }
}

impl IndirectBuffer {
    /// Calls `dwords` dwords.
    pub const fn new(base: u64, dwords: u32) -> Self {
        Self {
            header: Header::new(opcode::INDIRECT_BUFFER, 3).0,
            base: Address::new(base),
            control: dwords & 0xf_ffff | 1 << 23,
        }
    }

    /// Where the commands stand.
    pub const fn address(&self) -> u64 {
        self.base.get() & 0xffff_ffff_fffc
    }

    /// How many dwords they are.
    pub const fn dwords(&self) -> u32 {
        self.control & 0xf_ffff
    }

    /// Whether nothing is returned to after it.
    pub const fn is_chain(&self) -> bool {
        self.control >> 20 & 1 != 0
    }
}

impl AcquireMem {
    /// Drops everything.
    pub const fn all() -> Self {
        Self {
            header: Header::new(opcode::ACQUIRE_MEM, 6).0,
            coherence: 1 << 18 | 1 << 22 | 1 << 23 | 1 << 27 | 1 << 29,
            size_low: u32::MAX,
            size_high: 0xff,
            base: Address::new(0),
            interval: 4,
        }
    }
}

impl AcquireMemGcr {
    /// Drops everything.
    pub const fn all() -> Self {
        Self {
            header: Header::new(opcode::ACQUIRE_MEM, 7).0,
            reserved: 0,
            size_low: u32::MAX,
            size_high: 0xff,
            base: Address::new(0),
            interval: 4,
            control: 1 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 14,
        }
    }
}

impl ReleaseMem {
    /// Writes 64 bits when what came before has ended, and raises an event, if `event` is not 0.
    pub const fn write_64(address: u64, data: u64, event: u32) -> Self {
        let interrupt = if event == 0 { 3 } else { 2 };
        Self {
            header: Header::new(opcode::RELEASE_MEM, 7).0,
            event: 0x14 | 5 << 8,
            select: interrupt << 24 | 2 << 29,
            address: Address::new(address),
            data: Address::new(data),
            context: event,
        }
    }

    /// What it writes.
    pub const fn data_kind(&self) -> ReleaseData {
        match self.select >> 29 {
            0 => ReleaseData::None,
            1 => ReleaseData::Low32,
            2 => ReleaseData::Bits64,
            3 => ReleaseData::Clock,
            other => ReleaseData::Other(other),
        }
    }

    /// When it interrupts.
    pub const fn interrupt(&self) -> ReleaseInterrupt {
        match self.select >> 24 & 7 {
            0 | 3 => ReleaseInterrupt::None,
            1 | 2 | 4 => ReleaseInterrupt::Always,
            other => ReleaseInterrupt::Conditional(other),
        }
    }

    /// Whether it writes to memory.
    pub const fn is_memory(&self) -> bool {
        self.select >> 16 & 3 < 2
    }
}

impl CopyData {
    /// Stores the device's clock.
    pub const fn clock(destination: u64) -> Self {
        Self {
            header: Header::new(opcode::COPY_DATA, 5).0,
            control: 9 | 5 << 8 | 1 << 16 | 1 << 20,
            source: Address::new(0),
            destination: Address::new(destination),
        }
    }

    /// From where.
    pub const fn from(&self) -> DataSource {
        match self.control & 15 {
            1 | 2 => DataSource::Memory,
            5 => DataSource::Immediate,
            6 => DataSource::AtomicReturn,
            9 => DataSource::Clock,
            other => DataSource::Other(other),
        }
    }

    /// Whether it goes to memory.
    pub const fn is_to_memory(&self) -> bool {
        matches!(self.control >> 8 & 15, 1 | 2 | 5)
    }

    /// Whether it copies 64 bits, not 32.
    pub const fn is_64(&self) -> bool {
        self.control >> 16 & 1 != 0
    }
}

impl WaitRegMem {
    /// Waits until a dword of memory has a value.
    pub const fn equal(address: u64, value: u32) -> Self {
        Self {
            header: Header::new(opcode::WAIT_REG_MEM, 6).0,
            control: 3 | 1 << 4,
            address: Address::new(address),
            reference: value,
            mask: u32::MAX,
            interval: 4,
        }
    }

    /// How it compares.
    pub const fn function(&self) -> PollFunction {
        PollFunction::from_bits(self.control)
    }

    /// Whether it waits for memory and does nothing else.
    pub const fn is_memory(&self) -> bool {
        self.control >> 4 & 3 == 1 && matches!(self.control >> 6 & 3, 0 | 3)
    }
}

impl AtomicMem {
    /// An operation without a comparison.
    pub const fn new(op: AtomicOp, address: u64, source: u64) -> Self {
        Self {
            header: Header::new(opcode::ATOMIC_MEM, 8).0,
            control: op.code() as u32,
            address: Address::new(address),
            source: Address::new(source),
            compare: Address::new(0),
            interval: 0,
        }
    }

    /// The operation's code.
    pub const fn code(&self) -> u8 {
        (self.control & 0x7f) as u8
    }

    /// Whether it tries until the comparison holds.
    pub const fn is_loop(&self) -> bool {
        self.control >> 8 & 15 == 1
    }
}

impl SetRegisters {
    /// The head of the values of shaders' registers, from one of [`register`] on.
    pub const fn shader(first: u32, count: u32) -> Self {
        Self {
            header: Header::new(opcode::SET_SH_REG, 1 + count).0,
            offset: first & 0xffff,
        }
    }

    /// The first register.
    pub const fn first(&self) -> u32 {
        self.offset & 0xffff
    }
}

impl DispatchDirect {
    /// Runs a grid.
    pub const fn new(size: [u32; 3], initiator: u32) -> Self {
        let [x, y, z] = size;
        Self {
            header: Header::new(opcode::DISPATCH_DIRECT, 4).0,
            x,
            y,
            z,
            initiator,
        }
    }
}

impl EventWrite {
    /// Waits until all compute shaders have ended.
    pub const fn compute_flush() -> Self {
        Self {
            header: Header::new(opcode::EVENT_WRITE, 1).0,
            event: 7 | 4 << 8,
        }
    }
}

impl DmaData {
    /// Copies memory; at most 0x3ff_ffff bytes.
    pub const fn copy(destination: u64, source: u64, bytes: u32) -> Self {
        Self {
            header: Header::new(opcode::DMA_DATA, 6).0,
            control: 3 << 20 | 3 << 29,
            source: Address::new(source),
            destination: Address::new(destination),
            command: bytes & 0x3ff_ffff,
        }
    }

    /// Bytes.
    pub const fn bytes(&self) -> u32 {
        self.command & 0x3ff_ffff
    }

    /// From where.
    pub const fn from(&self) -> DataSource {
        match (self.control >> 29 & 3, self.command >> 26 & 1) {
            (0, 0) | (3, _) => DataSource::Memory,
            (2, _) => DataSource::Immediate,
            (other, _) => DataSource::Other(other),
        }
    }

    /// Whether it goes to memory.
    pub const fn is_to_memory(&self) -> bool {
        matches!(
            (self.control >> 20 & 3, self.command >> 27 & 1),
            (0, 0) | (3, _)
        )
    }

    /// Whether both addresses go up.
    pub const fn is_ascending(&self) -> bool {
        self.command >> 28 & 3 == 0
    }
}

impl PredExec {
    /// Dwords that it decides on.
    pub const fn dwords(&self) -> u32 {
        self.select & 0x3fff
    }

    /// Dies that run them: a bit each.
    pub const fn dies(&self) -> u8 {
        (self.select >> 24) as u8
    }
}
