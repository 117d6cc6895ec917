//! What the driver knows of a GPU.

use super::sizes::Sizes;
use crate::mem::Block;
use crate::profile::Profile;
use rukh_core::backend::{AgentId, GpuInfo};

/// First of the driver's ids. The kernel makes 16 bits up from a board's place on the bus; what clients rely on is that
/// they are not 0 and different.
const FIRST_ID: u32 = 0x7275;
/// Minor number of the first render node.
const FIRST_MINOR: u32 = 128;

/// Bytes of a process's doorbells on a GPU: 1024 of 64 bits.
pub(super) const DOORBELL_BYTES: u64 = 0x2000;

/// A GPU.
#[derive(Debug)]
pub(super) struct FaceGpu {
    /// The driver's id.
    pub id: u32,
    /// Minor number of its render node.
    pub render_minor: u32,
    pub agent: AgentId,
    pub profile: &'static Profile,
    /// The profile's figures, for this place in the system.
    pub info: GpuInfo,
    /// What the driver wants a queue's buffers to be.
    pub sizes: Sizes,
    /// The doorbells, as this side maps them.
    pub doorbells: Block,
    /// The page of remapped registers. Nothing looks at it: what is written through it takes effect without.
    pub registers: Block,
}

impl FaceGpu {
    pub(super) fn new(
        index: u32,
        profile: &'static Profile,
        doorbells: Block,
        registers: Block,
    ) -> Self {
        Self {
            id: FIRST_ID + index,
            render_minor: FIRST_MINOR + index,
            agent: AgentId(1 + index),
            profile,
            info: profile.gpu_info(index),
            sizes: Sizes::of(profile),
            doorbells,
            registers,
        }
    }

    /// The processor as topology files write it: decimal digits MMmmss.
    pub(super) fn gfx_target_version(&self) -> u32 {
        self.profile
            .processor()
            .map_or(0, |processor| processor.gfx_target_version())
    }

    /// Whether the firmware schedules queues (MES): queue indices are then in memory of the kernel's.
    pub(super) fn has_mes(&self) -> bool {
        self.gfx_target_version() >= 110_000
    }

    /// Its bit in masks of GPUs.
    pub(super) fn bit(&self) -> u32 {
        1 << (self.agent.0 - 1)
    }
}
