//! Registers of compute shaders, and the dispatch that they describe.

use crate::device::PacketError;
use crate::grid::{self, Kernel, QueueContext, Shape};
use crate::mem::Access;
use crate::mem::MemoryView;
use crate::profile::Profile;
use rukh_core::wire::aql::KernelDispatchPacket;
use rukh_core::wire::kernel_descriptor::KernelDescriptor;
use rukh_core::wire::pm4::{DispatchDirect, initiator, register};

const COUNT: usize = (register::END - register::FIRST) as usize;
/// User SGPRs that there are registers for.
const USER_SGPRS: usize = 16;

/// The registers, 0 until they are set.
#[derive(Clone)]
pub(in crate::cp) struct Registers([u32; COUNT]);

impl Default for Registers {
    fn default() -> Self {
        Self([0; COUNT])
    }
}

/// A dispatch, ready to be launched.
pub(in crate::cp) struct Prepared {
    pub kernel: Kernel,
    pub shape: Shape,
    /// Address of the first instruction.
    pub entry: u64,
    /// COMPUTE_TMPRING_SIZE.
    pub tmpring: u32,
}

impl Registers {
    /// Sets registers in a row. False if one is not of compute shaders; none is set then.
    pub(in crate::cp) fn set(&mut self, first: u32, values: &[u32]) -> bool {
        let start = first.checked_sub(register::FIRST).map(|n| n as usize);
        let range = start.and_then(|start| self.0.get_mut(start..)?.get_mut(..values.len()));
        match range {
            Some(range) => {
                range.copy_from_slice(values);
                true
            }
            None => false,
        }
    }

    fn get(&self, number: u32) -> u32 {
        let index = number.wrapping_sub(register::FIRST) as usize;
        self.0.get(index).copied().unwrap_or(0)
    }

    fn pair(&self, number: u32) -> u64 {
        u64::from(self.get(number)) | u64::from(self.get(number + 1)) << 32
    }

    /// The dispatch of a command; `None` for one that runs nothing.
    pub(in crate::cp) fn prepare(
        &self,
        view: &MemoryView,
        profile: &Profile,
        compute_units: u32,
        dispatch: &DispatchDirect,
    ) -> Result<Option<Prepared>, Refused> {
        let flags = dispatch.initiator;
        let size = [dispatch.x, dispatch.y, dispatch.z];
        if flags & initiator::SHADER_EN == 0 || size.contains(&0) {
            return Ok(None);
        }
        let starts = [0, 1, 2].map(|i| self.get(register::START + i));
        if flags & initiator::FORCE_START_AT_000 == 0 && starts != [0; 3] {
            return Err(Refused::Why("does not begin at the first work-group"));
        }
        let threads = [0, 1, 2].map(|i| self.get(register::NUM_THREAD + i) as u16);
        let mut grid = size;
        if flags & initiator::THREAD_DIMENSIONS == 0 {
            for (grid, threads) in grid.iter_mut().zip(threads) {
                *grid = grid
                    .checked_mul(u32::from(threads))
                    .ok_or(PacketError::GridSize { size })?;
            }
        }
        let entry = (self.pair(register::PGM) << 8) & 0xffff_ffff_ffff;
        if view.host(entry, 4, Access::Execute).is_none() {
            return Err(Refused::Why("has a program that the agent cannot execute"));
        }
        let mut descriptor = KernelDescriptor::default();
        descriptor.rsrc1.0 = self.get(register::PGM_RSRC1);
        descriptor.rsrc2.0 = self.get(register::PGM_RSRC2);
        descriptor.rsrc3.0 = self.get(register::PGM_RSRC3);
        let wave32 = flags & initiator::W32 != 0 && !profile.arch.is_gfx9();
        descriptor.properties = descriptor.properties.with_enable_wavefront_size32(wave32);
        let tmpring = self.get(register::TMPRING_SIZE);
        let packet = KernelDispatchPacket {
            setup: 3,
            workgroup_size: threads,
            grid_size: grid,
            // What a wave has is in the register; the packet's figure only says that there is any.
            private_segment_size: u32::from(tmpring != 0),
            group_segment_size: descriptor.rsrc2.granulated_lds_size() * 512,
            kernel_object: entry,
            ..KernelDispatchPacket::default()
        };
        let shape = grid::shape(&packet)?;
        let cx = QueueContext {
            scratch_base: self.pair(register::SCRATCH_BASE) << 8,
            ..QueueContext::default()
        };
        let mut kernel = grid::prepare(
            view,
            profile,
            compute_units,
            &packet,
            &descriptor,
            &shape,
            &cx,
        )?;
        let user = descriptor.rsrc2.user_sgpr_count() as usize;
        for (number, sgpr) in (0..).zip(kernel.sgprs.iter_mut().take(user.min(USER_SGPRS))) {
            *sgpr = self.get(register::USER_DATA + number);
        }
        Ok(Some(Prepared {
            kernel,
            shape,
            entry,
            tmpring,
        }))
    }
}

/// Why registers describe no dispatch.
pub(in crate::cp) enum Refused {
    Why(&'static str),
    Packet(PacketError),
}

impl From<PacketError> for Refused {
    fn from(error: PacketError) -> Self {
        Self::Packet(error)
    }
}
