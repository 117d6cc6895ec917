//! Shared virtual memory: the attributes of [`crate::kfd`], with agents in the place of the driver's ids.

use super::SimBackend;
use super::topology::HOST;
use crate::kfd::svm::{Devices, SvmGpu};
use crate::mem::PAGE_SIZE;
use alloc::vec::Vec;
use rukh_core::backend::{AgentId, Svm, SvmAccess, SvmAttribute, SvmError, SvmFlags, SvmLocation};
use rukh_core::kfd::uapi::{self, svm_attribute as kind, svm_location};

const EFAULT: i32 = 14;

impl SimBackend {
    fn svm_gpus(&self) -> Vec<SvmGpu> {
        let gpus = self.system.gpus.iter().map(|gpu| SvmGpu {
            id: gpu.agent.0,
            agent: gpu.agent,
        });
        gpus.collect()
    }

    fn svm_gpu(&self, agent: AgentId) -> Result<u32, SvmError> {
        let found = self.gpu(agent).map(|_| agent.0);
        found.ok_or(SvmError::BadAgent { agent })
    }

    fn location_id(&self, place: SvmLocation) -> Result<u32, SvmError> {
        match place {
            SvmLocation::Host | SvmLocation::Agent(HOST) => Ok(svm_location::SYSTEM_MEMORY),
            SvmLocation::Undefined => Ok(svm_location::UNDEFINED),
            SvmLocation::Agent(agent) => self.svm_gpu(agent),
        }
    }

    fn to_driver(&self, attribute: &SvmAttribute) -> Result<uapi::SvmAttribute, SvmError> {
        let (kind, value) = match *attribute {
            SvmAttribute::Preferred(place) => (kind::PREFERRED, self.location_id(place)?),
            SvmAttribute::Prefetch(place) => (kind::PREFETCH, self.location_id(place)?),
            SvmAttribute::Access(agent, access) => {
                let kind = match access {
                    SvmAccess::Any => kind::ACCESS,
                    SvmAccess::InPlace => kind::ACCESS_IN_PLACE,
                    SvmAccess::None => kind::NO_ACCESS,
                };
                (kind, self.svm_gpu(agent)?)
            }
            SvmAttribute::Set(flags) => (kind::SET_FLAGS, flags.bits()),
            SvmAttribute::Clear(flags) => (kind::CLEAR_FLAGS, flags.bits()),
            SvmAttribute::Granularity(power) => (kind::GRANULARITY, power.into()),
        };
        Ok(uapi::SvmAttribute { kind, value })
    }
}

fn location(id: u32) -> SvmLocation {
    match id {
        svm_location::SYSTEM_MEMORY => SvmLocation::Host,
        svm_location::UNDEFINED => SvmLocation::Undefined,
        agent => SvmLocation::Agent(AgentId(agent)),
    }
}

fn to_seam(asked: SvmAttribute, told: uapi::SvmAttribute) -> SvmAttribute {
    match asked {
        SvmAttribute::Preferred(_) => SvmAttribute::Preferred(location(told.value)),
        SvmAttribute::Prefetch(_) => SvmAttribute::Prefetch(location(told.value)),
        SvmAttribute::Access(agent, _) => SvmAttribute::Access(
            agent,
            match told.kind {
                kind::ACCESS => SvmAccess::Any,
                kind::ACCESS_IN_PLACE => SvmAccess::InPlace,
                _ => SvmAccess::None,
            },
        ),
        SvmAttribute::Set(_) => SvmAttribute::Set(SvmFlags::from_bits_truncate(told.value)),
        SvmAttribute::Clear(_) => SvmAttribute::Clear(SvmFlags::from_bits_truncate(told.value)),
        SvmAttribute::Granularity(_) => SvmAttribute::Granularity(told.value.min(63) as u8),
    }
}

/// A range of whole pages: where it begins and ends.
fn range(address: u64, size: u64) -> Result<(u64, u64), SvmError> {
    address
        .checked_add(size)
        .filter(|_| address != 0 && size != 0 && (address | size).is_multiple_of(PAGE_SIZE))
        .map(|end| (address, end))
        .ok_or(SvmError::BadRange { address, size })
}

fn error((address, end): (u64, u64)) -> impl Fn(i32) -> SvmError {
    move |errno| match errno {
        EFAULT => SvmError::BadRange {
            address,
            size: end - address,
        },
        errno => SvmError::Os { call: "SVM", errno },
    }
}

impl Svm for SimBackend {
    fn has_svm(&self) -> bool {
        !self.system.gpus.is_empty()
    }

    fn set_svm(&self, address: u64, size: u64, set: &[SvmAttribute]) -> Result<(), SvmError> {
        let (start, end) = range(address, size)?;
        let attributes: Result<Vec<_>, _> = set.iter().map(|a| self.to_driver(a)).collect();
        let gpus = self.svm_gpus();
        let devices = Devices {
            system: &self.system,
            gpus: &gpus,
        };
        devices
            .set(&mut self.svm.lock(), start, end, &attributes?)
            .map_err(error((start, end)))
    }

    fn svm(&self, address: u64, size: u64, ask: &mut [SvmAttribute]) -> Result<(), SvmError> {
        let (start, end) = range(address, size)?;
        let question = |asked: &SvmAttribute| match *asked {
            SvmAttribute::Access(agent, _) => SvmAttribute::Access(agent, SvmAccess::Any),
            other => other,
        };
        let attributes: Result<Vec<_>, _> =
            ask.iter().map(|a| self.to_driver(&question(a))).collect();
        let mut attributes = attributes?;
        let gpus = self.svm_gpus();
        let devices = Devices {
            system: &self.system,
            gpus: &gpus,
        };
        devices
            .get(&self.svm.lock(), start, end, &mut attributes)
            .map_err(error((start, end)))?;
        for (place, told) in ask.iter_mut().zip(attributes) {
            *place = to_seam(*place, told);
        }
        Ok(())
    }
}
