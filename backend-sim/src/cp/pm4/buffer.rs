//! An indirect buffer.

use super::{Pm4Error, bad};
use crate::mem::{Access, MemoryView, raw};
use alloc::vec::Vec;
use rukh_core::wire::pm4::{Header, IndirectBuffer};

/// Commands that stand in memory, and how far they are.
#[derive(Clone, Copy, Debug)]
pub(in crate::cp) struct Buffer {
    base: u64,
    dwords: u64,
    /// Dwords that are done.
    pub at: u64,
}

impl Buffer {
    pub(in crate::cp) fn new(call: &IndirectBuffer) -> Self {
        Self {
            base: call.address(),
            dwords: u64::from(call.dwords()),
            at: 0,
        }
    }

    pub(in crate::cp) fn is_done(&self) -> bool {
        self.at >= self.dwords
    }

    /// Reads the next command.
    pub(in crate::cp) fn next(
        &self,
        view: &MemoryView,
        command: &mut Vec<u32>,
    ) -> Result<(), Pm4Error> {
        let load = |index: u64| -> Result<u32, Pm4Error> {
            let at = self.base.wrapping_add((self.at + index) * 4);
            let host = view
                .check(at, 4, Access::Read)
                .map_err(|fault| Pm4Error::Memory("PM4 commands", fault))?;
            // SAFETY: checked for the read just now.
            Ok(unsafe { raw::load_u32(host) })
        };
        let header = load(0)?;
        let dwords = Header(header)
            .dwords()
            .ok_or_else(|| bad(header, self.at, "is not a command of type 3"))?;
        if self.at + u64::from(dwords) > self.dwords {
            return Err(bad(header, self.at, "runs past the end of the buffer"));
        }
        command.clear();
        command.push(header);
        for index in 1..u64::from(dwords) {
            command.push(load(index)?);
        }
        Ok(())
    }
}
