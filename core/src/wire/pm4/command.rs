//! One command out of dwords.

use super::bodies::{
    AcquireMem, AcquireMemGcr, AtomicMem, CopyData, DispatchDirect, DmaData, EventWrite,
    IndirectBuffer, PredExec, ReleaseMem, SetRegisters, WaitRegMem, WriteData,
};
use super::header::{Header, HeaderKind, opcode};
use thiserror_no_std::Error;
use zerocopy::{FromBytes, IntoBytes};

/// Why there is no command.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ParseError {
    /// It is longer than what is there.
    #[error("the command {header:#010x} has {needed} dwords, and {available} are there")]
    Incomplete {
        /// The first dword; 0 if there is none.
        header: u32,
        /// Dwords of the command.
        needed: u32,
        /// Dwords that are there.
        available: usize,
    },
    /// A type that compute queues do not take.
    #[error("{header:#010x} is not a command of type 2 or 3")]
    Type {
        /// The first dword.
        header: u32,
    },
    /// It is shorter than its operation needs.
    #[error("{name} with {body} dwords behind its header is too short")]
    Short {
        /// The operation.
        name: &'static str,
        /// Dwords behind the header.
        body: u32,
    },
}

crate::impl_error!(ParseError);

/// The known part of a command. Keeps every bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packet {
    /// Nothing, of any length.
    Nop(Header),
    /// Dwords to memory.
    WriteData(WriteData),
    /// Commands that stand elsewhere.
    IndirectBuffer(IndirectBuffer),
    /// Caches, as of GFX9.
    AcquireMem(AcquireMem),
    /// Caches, as of GFX10 and later.
    AcquireMemGcr(AcquireMemGcr),
    /// A write and an interrupt at the end of what came before.
    ReleaseMem(ReleaseMem),
    /// One value.
    CopyData(CopyData),
    /// A wait.
    WaitRegMem(WaitRegMem),
    /// A change in one step.
    AtomicMem(AtomicMem),
    /// Registers of shaders.
    SetShReg(SetRegisters),
    /// Registers of the device.
    SetUconfigReg(SetRegisters),
    /// A grid.
    DispatchDirect(DispatchDirect),
    /// An event.
    EventWrite(EventWrite),
    /// A copy or a fill.
    DmaData(DmaData),
    /// Commands for some dies.
    PredExec(PredExec),
    /// An operation that is not known here.
    Unknown(Header),
}

/// A command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Command<'a> {
    /// Its known part.
    pub packet: Packet,
    /// The dwords behind that: data, or what is not known.
    pub rest: &'a [u32],
}

impl<'a> Command<'a> {
    /// The command at the start of `dwords`.
    ///
    /// # Errors
    /// See [`ParseError`].
    pub fn parse(dwords: &'a [u32]) -> Result<Self, ParseError> {
        let available = dwords.len();
        let header = dwords.first().copied().unwrap_or(0);
        let incomplete = |needed| ParseError::Incomplete {
            header,
            needed,
            available,
        };
        if available == 0 {
            return Err(incomplete(1));
        }
        let header = Header(header);
        let needed = header
            .dwords()
            .ok_or(ParseError::Type { header: header.0 })?;
        let dwords = dwords.get(..needed as usize).ok_or(incomplete(needed))?;
        let HeaderKind::Command { opcode: op, body } = header.kind() else {
            return Ok(Self {
                packet: Packet::Nop(header),
                rest: &[],
            });
        };
        fn view<'a, T: FromBytes>(
            dwords: &'a [u32],
            name: &'static str,
            make: impl FnOnce(T) -> Packet,
        ) -> Result<Command<'a>, ParseError> {
            let size = size_of::<T>() / 4;
            match (T::read_from_prefix(dwords.as_bytes()), dwords.get(size..)) {
                (Ok((view, _)), Some(rest)) => Ok(Command {
                    packet: make(view),
                    rest,
                }),
                _ => Err(ParseError::Short {
                    name,
                    body: dwords.len() as u32 - 1,
                }),
            }
        }
        let plain = |packet| {
            Ok(Self {
                packet,
                rest: &dwords[1..],
            })
        };
        match op {
            opcode::NOP => plain(Packet::Nop(header)),
            opcode::WRITE_DATA => view(dwords, "WRITE_DATA", Packet::WriteData),
            opcode::INDIRECT_BUFFER => view(dwords, "INDIRECT_BUFFER", Packet::IndirectBuffer),
            opcode::ACQUIRE_MEM if body >= 7 => view(dwords, "ACQUIRE_MEM", Packet::AcquireMemGcr),
            opcode::ACQUIRE_MEM => view(dwords, "ACQUIRE_MEM", Packet::AcquireMem),
            opcode::RELEASE_MEM => view(dwords, "RELEASE_MEM", Packet::ReleaseMem),
            opcode::COPY_DATA => view(dwords, "COPY_DATA", Packet::CopyData),
            opcode::WAIT_REG_MEM => view(dwords, "WAIT_REG_MEM", Packet::WaitRegMem),
            opcode::ATOMIC_MEM => view(dwords, "ATOMIC_MEM", Packet::AtomicMem),
            opcode::SET_SH_REG => view(dwords, "SET_SH_REG", Packet::SetShReg),
            opcode::SET_UCONFIG_REG => view(dwords, "SET_UCONFIG_REG", Packet::SetUconfigReg),
            opcode::DISPATCH_DIRECT => view(dwords, "DISPATCH_DIRECT", Packet::DispatchDirect),
            opcode::EVENT_WRITE => view(dwords, "EVENT_WRITE", Packet::EventWrite),
            opcode::DMA_DATA => view(dwords, "DMA_DATA", Packet::DmaData),
            opcode::PRED_EXEC => view(dwords, "PRED_EXEC", Packet::PredExec),
            _ => plain(Packet::Unknown(header)),
        }
    }

    /// Dwords of the command.
    pub fn dwords(&self) -> usize {
        self.packet.emit().len() + self.rest.len()
    }

    /// Writes the command to the beginning of `buffer`: the dwords that it was parsed from. Gives how many; `None` if the
    /// buffer is too short.
    pub fn emit(&self, buffer: &mut [u32]) -> Option<usize> {
        let head = self.packet.emit();
        let all = self.dwords();
        let dwords = head.iter().chain(self.rest);
        for (to, from) in buffer.get_mut(..all)?.iter_mut().zip(dwords) {
            *to = *from;
        }
        Some(all)
    }
}

impl Packet {
    /// The dwords of the known part.
    pub fn emit(&self) -> &[u32] {
        let bytes = match self {
            Self::Nop(header) | Self::Unknown(header) => {
                return core::slice::from_ref(&header.0);
            }
            Self::WriteData(p) => p.as_bytes(),
            Self::IndirectBuffer(p) => p.as_bytes(),
            Self::AcquireMem(p) => p.as_bytes(),
            Self::AcquireMemGcr(p) => p.as_bytes(),
            Self::ReleaseMem(p) => p.as_bytes(),
            Self::CopyData(p) => p.as_bytes(),
            Self::WaitRegMem(p) => p.as_bytes(),
            Self::AtomicMem(p) => p.as_bytes(),
            Self::SetShReg(p) | Self::SetUconfigReg(p) => p.as_bytes(),
            Self::DispatchDirect(p) => p.as_bytes(),
            Self::EventWrite(p) => p.as_bytes(),
            Self::DmaData(p) => p.as_bytes(),
            Self::PredExec(p) => p.as_bytes(),
        };
        // Views are made of dwords, so that this is the whole of them.
        <[u32]>::ref_from_bytes(bytes).unwrap_or(&[])
    }
}
