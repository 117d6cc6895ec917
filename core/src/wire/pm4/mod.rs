//! PM4: the commands of compute queues below AQL, and of the indirect buffers that AQL packets call.
//!
//! A command is a header that says how many dwords follow, so that one that nobody here knows can be stepped over and is
//! kept as it is. [`Command::parse`] and [`Command::emit`] are each other's inverse.
//!
//! Sources: Linux's amdgpu (`soc15d.h`, `nvd.h`), AMD's runtime (`amd_gpu_pm4.h`) and kfdtest (`pm4_pkt_struct_*.h`). Layouts
//! are those of GFX9 and later.

mod bodies;
mod command;
mod header;

pub use bodies::{
    AcquireMem, AcquireMemGcr, AtomicMem, CopyData, DataSource, DispatchDirect, DmaData,
    EventWrite, IndirectBuffer, PredExec, ReleaseData, ReleaseInterrupt, ReleaseMem, SetRegisters,
    WaitRegMem, WriteData, initiator, register,
};
pub use command::{Command, Packet, ParseError};
pub use header::{Header, HeaderKind, opcode};

#[cfg(test)]
mod tests;
