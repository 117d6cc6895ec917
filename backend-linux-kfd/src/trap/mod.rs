//! The trap handler: code of our own that waves run when they trap, so that the driver can say which queue failed.
//!
//! `handler.s` is the source, `build.sh` makes the committed code. It reports through the driver's queue exceptions, which
//! kernels have since interface 1.13; before that, and on processors without a handler here, waves that trap end in the
//! kernel's own handler and nobody is told.

use crate::backend::{INHERITED, KfdBackend};
use crate::memory::{Source, Want};
use rukh_core::backend::{AgentId, MemoryError, NotSupported};
use rukh_core::isa::Processor;
use rukh_core::kfd::uapi::{AllocFlags, Ioctl, RuntimeEnable, SetTrapHandler};
use rukh_core::kfd::{KfdPort, PortError};

const PAGE: u64 = 4096;

static GFX9: &[u8] = include_bytes!("gfx9.bin");
static GFX94: &[u8] = include_bytes!("gfx94.bin");
static GFX10: &[u8] = include_bytes!("gfx10.bin");
static GFX11: &[u8] = include_bytes!("gfx11.bin");
static GFX12: &[u8] = include_bytes!("gfx12.bin");

/// The handler of a processor's family.
pub fn handler(processor: &Processor) -> Option<&'static [u8]> {
    let version = processor.version;
    match (version.major, version.minor) {
        (9, 0..=3) => Some(GFX9),
        (9, _) => Some(GFX94),
        (10, 3) => Some(GFX10),
        (11, _) => Some(GFX11),
        (12, 0) => Some(GFX12),
        _ => None,
    }
}

/// Why there is no trap handler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TrapError {
    /// The kernel or the processor has no use for it.
    NotSupported(NotSupported),
    /// No memory for its code.
    Memory(MemoryError),
    /// The driver does not take it.
    Port(PortError),
}

impl<P: KfdPort> KfdBackend<P> {
    /// Installs the handler on an agent, in memory that is the backend's.
    ///
    /// # Errors
    /// See [`TrapError`].
    pub(crate) fn install(&self, agent: AgentId, gpu: usize) -> Result<u64, TrapError> {
        let unsupported = |what| TrapError::NotSupported(NotSupported(what));
        if self.kfd.inherited() {
            return Err(unsupported(INHERITED));
        }
        if !self.kfd.since(RuntimeEnable::INFO.since_minor) {
            return Err(unsupported("a trap handler before KFD 1.13"));
        }
        let code = self
            .gpus
            .get(gpu)
            .and_then(|gpu| handler(gpu.identity.processor))
            .ok_or(unsupported("a trap handler for this processor"))?;
        let block = self
            .acquire(&Want {
                source: Source::Host,
                gpu: Some(gpu),
                size: PAGE,
                align: PAGE,
                flags: AllocFlags::WRITABLE
                    | AllocFlags::EXECUTABLE
                    | AllocFlags::NO_SUBSTITUTE
                    | AllocFlags::COHERENT
                    | AllocFlags::UNCACHED,
            })
            .map_err(TrapError::Memory)?;
        let installed = match block.host {
            Some(host) if code.len() <= PAGE as usize => {
                // SAFETY: a fresh page of this function's own, as long as the code at least.
                unsafe { core::ptr::copy_nonoverlapping(code.as_ptr(), host.as_ptr(), code.len()) };
                self.set_trap_handler(agent, block.gpu_va, 0)
                    .map_err(TrapError::Port)
            }
            _ => Err(unsupported("a trap handler that the host does not map")),
        };
        match installed {
            Ok(()) => Ok(block.handle),
            Err(error) => {
                // SAFETY: nobody has seen it, and the driver does not point waves to it.
                let _ = unsafe { self.relinquish(block.handle) };
                Err(error)
            }
        }
    }

    /// Has waves trap into the kernel's handler again, when the backend goes: the code goes with its memory.
    pub(crate) fn remove_trap_handlers(&self) {
        if self.kfd.inherited() {
            return;
        }
        for gpu in self.gpus.iter().filter(|gpu| gpu.trap_handler) {
            let mut argument = SetTrapHandler {
                gpu_id: gpu.id,
                ..SetTrapHandler::default()
            };
            let _ = self
                .kfd
                .call(&mut argument)
                .or_else(|_| self.kfd.call(&mut argument));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rukh_core::isa::PROCESSORS;

    #[test]
    fn every_family_up_to_gfx12_has_a_handler_that_ends_in_a_return() {
        for processor in PROCESSORS {
            let Some(code) = handler(processor) else {
                continue;
            };
            // s_rfe_b64 ttmp[0:1], then what instruction fetch reads ahead.
            let words: alloc::vec::Vec<u32> = code
                .as_chunks::<4>()
                .0
                .iter()
                .map(|word| u32::from_le_bytes(*word))
                .collect();
            let last = words.iter().rposition(|word| *word != 0xbf80_0000);
            let last = words[last.unwrap()];
            let expected = if processor.version.major >= 11 {
                0xbe80_4a6c
            } else if processor.version.major == 10 {
                0xbe80_226c
            } else {
                0xbe80_1f6c
            };
            assert_eq!(last, expected, "{}", processor.name);
            assert!(code.len() <= PAGE as usize);
        }
    }
}
