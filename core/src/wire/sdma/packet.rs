//! One packet out of dwords.

use super::heads::{
    Atomic, CondExe, ConstantFill, CopyBroadcast, CopyLinear, CopyRect, Fence, Gcr, HdpFlush,
    Indirect, Nop, Poll, PreExe, Semaphore, Timestamp, TimestampSet, Trap, WriteLinear,
};
use super::{Generation, opcode, sub_opcode};
use thiserror_no_std::Error;
use zerocopy::{FromBytes, IntoBytes};

/// Dwords of the longest head.
pub const MAX_HEAD: usize = CopyRect::DWORDS;

/// Why there is no packet. None of these says how long the packet is: what follows cannot be found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ParseError {
    /// The head is longer than what is there.
    #[error("the packet {header:#010x} has a head of {needed} dwords, and {available} are there")]
    Incomplete {
        /// The first dword; 0 if there is none.
        header: u32,
        /// Dwords of the head.
        needed: usize,
        /// Dwords that are there.
        available: usize,
    },
    /// An operation that no engine of the generation has, or whose form is not known.
    #[error("operation {opcode}, sub-operation {sub_opcode} is not known to this SDMA engine")]
    Unknown {
        /// The operation.
        opcode: u8,
        /// The sub-operation.
        sub_opcode: u8,
    },
    /// An operation that the driver alone may use, in queues of its own.
    #[error("{name} is not for the queues of users")]
    Privileged {
        /// The operation.
        name: &'static str,
    },
    /// An operation that exists, and that nobody here reads.
    #[error("{name} is not supported")]
    NotSupported {
        /// The operation.
        name: &'static str,
    },
}

crate::impl_error!(ParseError);

macro_rules! packets {
    ($($(#[$meta:meta])* $name:ident($head:ident);)*) => {
        /// A packet's head. Keeps every bit.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Packet {
            $($(#[$meta])* $name($head),)*
        }

        impl Packet {
            /// The head's dwords: those that [`Packet::parse`] was given.
            pub fn emit(&self) -> &[u32] {
                let bytes = match self {
                    $(Self::$name(head) => head.as_bytes(),)*
                };
                // Heads are made of dwords, so that this is the whole of them.
                <[u32]>::ref_from_bytes(bytes).unwrap_or(&[])
            }
        }
    };
}

packets! {
    /// Nothing.
    Nop(Nop);
    /// Bytes in a row.
    CopyLinear(CopyLinear);
    /// Bytes in a row, to two places.
    CopyBroadcast(CopyBroadcast);
    /// A box.
    CopyRect(CopyRect);
    /// Dwords from the packet.
    WriteLinear(WriteLinear);
    /// Packets that stand elsewhere.
    Indirect(Indirect);
    /// A semaphore.
    Semaphore(Semaphore);
    /// A dword after everything before.
    Fence(Fence);
    /// Packets for some devices.
    PreExe(PreExe);
    /// Packets under a condition.
    CondExe(CondExe);
    /// A pattern.
    ConstantFill(ConstantFill);
    /// A wait.
    Poll(Poll);
    /// A flush of the host data path.
    HdpFlush(HdpFlush);
    /// A change in one step.
    Atomic(Atomic);
    /// Sets the engine's clock.
    TimestampSet(TimestampSet);
    /// Stores the engine's clock.
    TimestampGet(Timestamp);
    /// Stores the device's clock.
    TimestampGlobal(Timestamp);
    /// An interrupt.
    Trap(Trap);
    /// Caches.
    Gcr(Gcr);
}

/// Bit of POLL_REGMEM's header: flush the host data path.
const HDP_FLUSH: u32 = 1 << 26;
const BROADCAST: u32 = 1 << 27;
/// SDMA 7: one more dword about compression follows.
const COMPRESSION: u32 = 1 << 19;

impl Packet {
    /// The packet at the start of `dwords`, of which only the head needs to be there.
    ///
    /// # Errors
    /// See [`ParseError`].
    pub fn parse(dwords: &[u32], generation: Generation) -> Result<Self, ParseError> {
        fn head<T: FromBytes>(dwords: &[u32]) -> Result<T, ParseError> {
            T::read_from_prefix(dwords.as_bytes())
                .map(|(head, _)| head)
                .map_err(|_| ParseError::Incomplete {
                    header: dwords.first().copied().unwrap_or(0),
                    needed: size_of::<T>() / 4,
                    available: dwords.len(),
                })
        }
        let Some(&header) = dwords.first() else {
            return Err(ParseError::Incomplete {
                header: 0,
                needed: 1,
                available: 0,
            });
        };
        let (op, sub) = (header as u8, (header >> 8) as u8);
        let not_supported = |name| Err(ParseError::NotSupported { name });
        let privileged = |name| Err(ParseError::Privileged { name });
        let unknown = Err(ParseError::Unknown {
            opcode: op,
            sub_opcode: sub,
        });
        Ok(match (op, sub) {
            (opcode::NOP, _) => Self::Nop(head(dwords)?),
            (opcode::COPY, sub_opcode::COPY_LINEAR) => {
                if generation == Generation::V7 && header & COMPRESSION != 0 {
                    return not_supported("COPY with compression");
                }
                if header & BROADCAST != 0 {
                    Self::CopyBroadcast(head(dwords)?)
                } else {
                    Self::CopyLinear(head(dwords)?)
                }
            }
            (opcode::COPY, sub_opcode::COPY_RECT) => Self::CopyRect(head(dwords)?),
            (opcode::COPY, 1) => return not_supported("COPY of a tiled image"),
            (opcode::COPY, 3) => return not_supported("COPY of structures to arrays"),
            (opcode::COPY, 5) => return not_supported("COPY between a tiled image and memory"),
            (opcode::COPY, 6) => return not_supported("COPY between tiled images"),
            (opcode::COPY, 7) => return privileged("COPY of dirty pages"),
            (opcode::COPY, 8) => return privileged("COPY by physical addresses"),
            (opcode::COPY, 36) if generation >= Generation::V6 => {
                return not_supported("COPY of a large box");
            }
            (opcode::COPY, 16 | 17 | 20 | 21 | 22) if generation.has_gcr() => {
                return not_supported("COPY in the form of older engines");
            }
            (opcode::WRITE, sub_opcode::WRITE_LINEAR) => Self::WriteLinear(head(dwords)?),
            (opcode::WRITE, 1 | 17) => return not_supported("WRITE to a tiled image"),
            (opcode::INDIRECT, _) => Self::Indirect(head(dwords)?),
            (opcode::FENCE, 0) => Self::Fence(head(dwords)?),
            (opcode::TRAP, _) => Self::Trap(head(dwords)?),
            (opcode::SEMAPHORE, 0) => Self::Semaphore(head(dwords)?),
            (opcode::SEMAPHORE, 1) => return not_supported("SEMAPHORE that counts memory up"),
            (opcode::POLL_REGMEM, 0) => {
                // A look at no register, whose outcome does not matter, is how users ask for the flush.
                let poll: Poll = head(dwords)?;
                let flush: HdpFlush = zerocopy::transmute!(poll);
                if header & HDP_FLUSH != 0 || (!poll.is_memory() && header >> 28 & 7 == 0) {
                    Self::HdpFlush(flush)
                } else {
                    Self::Poll(poll)
                }
            }
            (opcode::POLL_REGMEM, 1) => return privileged("POLL_REGMEM that stores a register"),
            (opcode::POLL_REGMEM, 2) => return privileged("POLL_REGMEM of dirty pages"),
            (opcode::POLL_REGMEM, 3) => return not_supported("POLL_REGMEM that compares memory"),
            (opcode::POLL_REGMEM, 4) => return privileged("POLL_REGMEM that drops translations"),
            (opcode::COND_EXE, _) => Self::CondExe(head(dwords)?),
            (opcode::ATOMIC, _) => Self::Atomic(head(dwords)?),
            (opcode::CONSTANT_FILL, 0) => Self::ConstantFill(head(dwords)?),
            (opcode::CONSTANT_FILL, 1) => return not_supported("CONST_FILL with a stride"),
            (opcode::PTE_PDE, _) => return privileged("PTEPDE"),
            (opcode::TIMESTAMP, sub_opcode::TIMESTAMP_SET) => Self::TimestampSet(head(dwords)?),
            (opcode::TIMESTAMP, sub_opcode::TIMESTAMP_GET) => Self::TimestampGet(head(dwords)?),
            (opcode::TIMESTAMP, sub_opcode::TIMESTAMP_GET_GLOBAL) => {
                Self::TimestampGlobal(head(dwords)?)
            }
            (opcode::REGISTER_WRITE, _) => return privileged("SRBM_WRITE"),
            (opcode::PRE_EXE, _) => Self::PreExe(head(dwords)?),
            (opcode::GPUVM_INV, _) if generation.has_gcr() => return privileged("GPUVM_INV"),
            (opcode::GCR, _) if generation.has_gcr() => Self::Gcr(head(dwords)?),
            (opcode::DUMMY_TRAP, _) => return privileged("DUMMY_TRAP"),
            _ => return unknown,
        })
    }

    /// Dwords behind the head that belong to the packet.
    pub const fn trailing(&self) -> u32 {
        match self {
            Self::Nop(nop) => nop.skipped(),
            Self::WriteLinear(write) => write.dwords(),
            _ => 0,
        }
    }

    /// Dwords of the whole packet.
    pub fn dwords(&self) -> u64 {
        self.emit().len() as u64 + u64::from(self.trailing())
    }
}
