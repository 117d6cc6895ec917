//! PM4: commands in indirect buffers that AQL packets call, and queues of nothing else.
//!
//! `buffer` reads commands, `machine` executes one, `registers` makes a dispatch of what commands have set, and
//! [`Pm4Queue`] does so for a ring. What runtimes and the driver's own tests send is executed; everything else is a typed
//! error that names the command.

mod buffer;
mod machine;
mod queue;
mod registers;

pub(super) use buffer::Buffer;
pub(super) use machine::{Cx, Machine, Next};
pub(crate) use queue::Pm4Queue;

use crate::device::PacketError;
use crate::mem::MemoryFault;

/// Commands of one queue before others get a turn.
pub(super) const BUDGET: u64 = 256 << 10;

/// Why a command was not executed.
#[derive(Debug)]
pub(super) enum Pm4Error {
    Packet(PacketError),
    Memory(&'static str, MemoryFault),
}

impl From<PacketError> for Pm4Error {
    fn from(error: PacketError) -> Self {
        Self::Packet(error)
    }
}

/// The error of a command at an offset in dwords.
pub(super) fn bad(command: u32, offset: u64, why: &'static str) -> Pm4Error {
    Pm4Error::Packet(PacketError::Pm4 {
        command,
        offset: offset as u32,
        why,
    })
}
