//! Which NUMA node host memory comes from.

use super::allocations::Block;
use crate::backend::{KfdBackend, call_name};
use rukh_core::backend::MemoryError;
use rukh_core::kfd::KfdPort;

impl<P: KfdPort> KfdBackend<P> {
    /// Has fresh host memory come from a NUMA node: `strict` from there alone, otherwise from there if it can be. The
    /// driver numbers its CPU nodes as the system does.
    ///
    /// On an error the block is given back. A system that places no memory (a container that forbids it, a kernel without
    /// NUMA) is an error for who wants it strictly, and otherwise what it would have been without the wish.
    pub(super) fn place(
        &self,
        block: &Block,
        size: u64,
        node: u32,
        strict: bool,
    ) -> Result<(), MemoryError> {
        if self.cpu_agents() < 2 {
            return Ok(());
        }
        let Some(host) = block.host else {
            return Ok(());
        };
        // SAFETY: the block is fresh: nobody has seen it, nothing was written to it.
        match unsafe { self.port().place(host, size as usize, node, strict) } {
            Err(error) if strict => {
                // SAFETY: as above.
                let _ = unsafe { self.relinquish(block.handle) };
                Err(MemoryError::Os {
                    call: match call_name(&error) {
                        "mmap" => "mbind",
                        other => other,
                    },
                    size,
                    errno: error.errno(),
                })
            }
            _ => Ok(()),
        }
    }
}
