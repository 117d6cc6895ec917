//! The host data path: what the host writes to device memory across PCIe may wait in it.
//!
//! The driver maps a page with the register that flushes it. A GPU on the host's own fabric has no such
//! path, or none that waits.

use super::{Source, Want};
use crate::backend::KfdBackend;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering, fence};
use rukh_core::kfd::KfdPort;
use rukh_core::kfd::uapi::AllocFlags;

/// The register that flushes, at the start of the page (`KFD_MMIO_REMAP_HDP_MEM_FLUSH_CNTL`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Hdp {
    /// Nothing was written yet.
    #[default]
    Unknown,
    /// The GPU needs none, or the driver gives none.
    Absent,
    /// It is mapped here as long as the backend lives.
    Register(NonNull<AtomicU32>),
}

// SAFETY: a register that any thread may store to.
unsafe impl Send for Hdp {}

impl<P: KfdPort> KfdBackend<P> {
    /// Has the GPU see what the host has written to its memory so far.
    pub(crate) fn flush_hdp(&self, gpu: usize) {
        let Some(device) = self.gpus.get(gpu) else {
            return;
        };
        if self.kfd.inherited() {
            return;
        }
        let mut hdp = device.hdp.lock(&self.park);
        if let Hdp::Unknown = *hdp {
            *hdp = if device.device.is_some_and(|info| info.is_apu()) {
                Hdp::Absent
            } else {
                self.map_hdp(gpu)
            };
        }
        if let Hdp::Register(register) = *hdp {
            // Writes that the processor still combines leave it before the flush does.
            fence(Ordering::SeqCst);
            // SAFETY: mapped for as long as the backend lives.
            let register = unsafe { register.as_ref() };
            register.store(1, Ordering::Release);
            // Reading waits until the store has arrived.
            core::hint::black_box(register.load(Ordering::Acquire));
        }
    }

    fn map_hdp(&self, gpu: usize) -> Hdp {
        let block = self.acquire(&Want {
            source: Source::Registers,
            gpu: Some(gpu),
            size: 4096,
            align: 4096,
            flags: AllocFlags::WRITABLE | AllocFlags::NO_SUBSTITUTE | AllocFlags::COHERENT,
        });
        // A kernel with larger pages, or a guest, has no such page; its writes are flushed by the kernel or not
        // at all, which is what every client of it lives with.
        match block {
            Ok(block) => block
                .host
                .map_or(Hdp::Absent, |host| Hdp::Register(host.cast())),
            Err(_) => Hdp::Absent,
        }
    }
}
