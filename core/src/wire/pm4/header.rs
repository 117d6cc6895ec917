//! The first dword of a command.

/// Operations of commands: bits 8-15 of the header.
pub mod opcode {
    /// Nothing.
    pub const NOP: u8 = 0x10;
    /// Runs a grid whose size is in the command.
    pub const DISPATCH_DIRECT: u8 = 0x15;
    /// Changes memory in one step.
    pub const ATOMIC_MEM: u8 = 0x1e;
    /// Commands for some of a device's dies.
    pub const PRED_EXEC: u8 = 0x23;
    /// Writes the dwords that follow.
    pub const WRITE_DATA: u8 = 0x37;
    /// Waits for a value.
    pub const WAIT_REG_MEM: u8 = 0x3c;
    /// Runs commands that stand elsewhere.
    pub const INDIRECT_BUFFER: u8 = 0x3f;
    /// Copies one value.
    pub const COPY_DATA: u8 = 0x40;
    /// Something that the pipeline is to do.
    pub const EVENT_WRITE: u8 = 0x46;
    /// Writes and interrupts when what came before has ended.
    pub const RELEASE_MEM: u8 = 0x49;
    /// Copies or fills memory.
    pub const DMA_DATA: u8 = 0x50;
    /// Drops what caches hold.
    pub const ACQUIRE_MEM: u8 = 0x58;
    /// Sets registers of shaders.
    pub const SET_SH_REG: u8 = 0x76;
    /// Sets registers of the device.
    pub const SET_UCONFIG_REG: u8 = 0x79;
}

/// A command's first dword.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header(pub u32);

/// What a header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeaderKind {
    /// A command of type 3.
    Command {
        /// The operation.
        opcode: u8,
        /// Dwords behind the header.
        body: u32,
    },
    /// Type 2: a filler of one dword.
    Filler,
    /// Types 0 and 1, which compute queues do not take.
    Other,
}

/// The count of a NOP that is its header alone.
const NO_BODY: u32 = 0x3fff;

impl Header {
    /// The header of a compute command with `body` dwords behind it, at least 1 and at most 0x4000; a NOP may have none.
    pub const fn new(opcode: u8, body: u32) -> Self {
        Self(3 << 30 | (body.wrapping_sub(1) & NO_BODY) << 16 | (opcode as u32) << 8 | 1 << 1)
    }

    /// What it says.
    pub const fn kind(self) -> HeaderKind {
        match self.0 >> 30 {
            3 => {
                let opcode = (self.0 >> 8) as u8;
                let count = self.0 >> 16 & NO_BODY;
                let body = if opcode == opcode::NOP && count == NO_BODY {
                    0
                } else {
                    count + 1
                };
                HeaderKind::Command { opcode, body }
            }
            2 => HeaderKind::Filler,
            _ => HeaderKind::Other,
        }
    }

    /// Dwords of the whole command; `None` for types that are no commands.
    pub const fn dwords(self) -> Option<u32> {
        match self.kind() {
            HeaderKind::Command { body, .. } => Some(1 + body),
            HeaderKind::Filler => Some(1),
            HeaderKind::Other => None,
        }
    }
}
