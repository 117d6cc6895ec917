//! PM4 commands in an indirect buffer: the few that runtimes send to compute queues.

use crate::device::PacketError;
use crate::mem::{Access, MemoryFault, MemoryView, raw};
use core::sync::atomic::{Ordering, fence};
use rukh_core::wire::aql::Pm4IbPacket;

const NOP: u32 = 0x10;
const WRITE_DATA: u32 = 0x37;
const INDIRECT_BUFFER: u32 = 0x3f;
const ACQUIRE_MEM: u32 = 0x58;
/// Longest buffer, in dwords: the length field's limit.
const MAX_DWORDS: u32 = 0xf_ffff;

/// What a buffer of commands asks for beyond memory writes.
#[derive(Default, Debug, PartialEq, Eq)]
pub(crate) struct Effects {
    /// Caches of instructions are to be dropped.
    pub invalidate_code: bool,
}

/// Why commands were not executed.
#[derive(Debug)]
pub(crate) enum Pm4Error {
    Packet(PacketError),
    Memory(MemoryFault),
}

impl From<MemoryFault> for Pm4Error {
    fn from(fault: MemoryFault) -> Self {
        Self::Memory(fault)
    }
}

fn bad(command: u32, offset: u32, why: &'static str) -> Pm4Error {
    Pm4Error::Packet(PacketError::Pm4 {
        command,
        offset,
        why,
    })
}

/// Dwords of a type 3 command after its header, and its operation.
fn type3(command: u32) -> Option<(u32, u32)> {
    (command >> 30 == 3).then_some(((command >> 16 & 0x3fff) + 1, command >> 8 & 0xff))
}

/// Executes the buffer that a packet jumps to.
pub(crate) fn execute(view: &MemoryView, packet: &Pm4IbPacket) -> Result<Effects, Pm4Error> {
    let [jump, low, high, control] = packet.ib_jump;
    if !matches!(type3(jump), Some((3, INDIRECT_BUFFER))) {
        return Err(bad(jump, 0, "not a jump to an indirect buffer"));
    }
    let base = u64::from(low & !3) | u64::from(high & 0xffff) << 32;
    let dwords = control & MAX_DWORDS;
    let mut effects = Effects::default();
    let mut at = 0;
    let load = |index: u32| -> Result<u32, MemoryFault> {
        let host = view.check(base + u64::from(index) * 4, 4, Access::Read)?;
        // SAFETY: checked for the read just now.
        Ok(unsafe { raw::load_u32(host) })
    };
    while at < dwords {
        let command = load(at)?;
        if command >> 30 == 2 {
            // A filler of one dword.
            at += 1;
            continue;
        }
        let Some((count, operation)) = type3(command) else {
            return Err(bad(command, at, "not a command of type 3"));
        };
        let end = at + 1 + count;
        // One header may say "no body": a count of all ones.
        if operation == NOP && command >> 16 & 0x3fff == 0x3fff {
            at += 1;
            continue;
        }
        if end > dwords {
            return Err(bad(command, at, "runs past the end of the buffer"));
        }
        match operation {
            NOP => {}
            ACQUIRE_MEM => {
                fence(Ordering::SeqCst);
                effects.invalidate_code = true;
            }
            WRITE_DATA => write_data(view, command, at, count, &load)?,
            _ => return Err(bad(command, at, "unknown operation")),
        }
        at = end;
    }
    Ok(effects)
}

/// WRITE_DATA to memory: control, address low and high, then the data.
fn write_data(
    view: &MemoryView,
    command: u32,
    at: u32,
    count: u32,
    load: &impl Fn(u32) -> Result<u32, MemoryFault>,
) -> Result<(), Pm4Error> {
    if count < 4 {
        return Err(bad(command, at, "has no data"));
    }
    let control = load(at + 1)?;
    // Bits 8-11 select the destination; 5 is memory, as is 2 on older processors.
    if !matches!(control >> 8 & 15, 2 | 5) {
        return Err(bad(command, at, "writes to something else than memory"));
    }
    let address = u64::from(load(at + 2)? & !3) | u64::from(load(at + 3)?) << 32;
    let single = control >> 16 & 1 != 0;
    for word in 0..count - 3 {
        let to = if single {
            address
        } else {
            address.wrapping_add(u64::from(word) * 4)
        };
        let host = view.check(to, 4, Access::Write)?;
        // SAFETY: checked for the write just now.
        unsafe { raw::store_u32(host, load(at + 4 + word)?) };
    }
    Ok(())
}
