//! Shared virtual memory: attributes of ranges of the process's own addresses.
//!
//! A kernel without device-private pages answers EPERM to all of it, as does one whose GPUs cannot.

use crate::backend::{INHERITED, KfdBackend};
use crate::topology::node::capability;
use alloc::vec;
use alloc::vec::Vec;
use core::mem::size_of;
use rukh_core::backend::{AgentId, Svm, SvmAccess, SvmAttribute, SvmError, SvmFlags, SvmLocation};
use rukh_core::kfd::uapi::{self, Ioctl, svm_attribute, svm_location, svm_operation};
use rukh_core::kfd::{EAGAIN, EINTR, KfdPort, RETRIES};
use zerocopy::{FromBytes, IntoBytes};

const EPERM: i32 = 1;
const EFAULT: i32 = 14;
const EINVAL: i32 = 22;
const ENOTTY: i32 = 25;
const PAGE: u64 = 4096;

/// Most attributes that the size in a request can count.
const MOST: usize = (0x3fff - size_of::<uapi::Svm>()) / size_of::<uapi::SvmAttribute>();

impl<P: KfdPort> KfdBackend<P> {
    fn svm_gpu(&self, agent: AgentId) -> Result<u32, SvmError> {
        let gpu = self.gpu(agent).map(|gpu| gpu.id);
        gpu.ok_or(SvmError::BadAgent { agent })
    }

    fn location_id(&self, location: SvmLocation) -> Result<u32, SvmError> {
        match location {
            SvmLocation::Host => Ok(svm_location::SYSTEM_MEMORY),
            SvmLocation::Undefined => Ok(svm_location::UNDEFINED),
            // A CPU's memory is the host's.
            SvmLocation::Agent(agent) if self.gpu(agent).is_none() => self
                .record(agent)
                .map(|_| svm_location::SYSTEM_MEMORY)
                .ok_or(SvmError::BadAgent { agent }),
            SvmLocation::Agent(agent) => self.svm_gpu(agent),
        }
    }

    fn location(&self, id: u32) -> SvmLocation {
        match id {
            svm_location::SYSTEM_MEMORY => SvmLocation::Host,
            _ => self
                .agent_by_gpu_id(id)
                .map_or(SvmLocation::Undefined, SvmLocation::Agent),
        }
    }

    fn to_driver(&self, attribute: &SvmAttribute) -> Result<uapi::SvmAttribute, SvmError> {
        let (kind, value) = match *attribute {
            SvmAttribute::Preferred(place) => (svm_attribute::PREFERRED, self.location_id(place)?),
            SvmAttribute::Prefetch(place) => (svm_attribute::PREFETCH, self.location_id(place)?),
            SvmAttribute::Access(agent, access) => (
                match access {
                    SvmAccess::Any => svm_attribute::ACCESS,
                    SvmAccess::InPlace => svm_attribute::ACCESS_IN_PLACE,
                    SvmAccess::None => svm_attribute::NO_ACCESS,
                },
                self.svm_gpu(agent)?,
            ),
            SvmAttribute::Set(flags) => (svm_attribute::SET_FLAGS, flags.bits()),
            SvmAttribute::Clear(flags) => (svm_attribute::CLEAR_FLAGS, flags.bits()),
            SvmAttribute::Granularity(power) => (svm_attribute::GRANULARITY, u32::from(power)),
        };
        Ok(uapi::SvmAttribute { kind, value })
    }

    fn to_seam(&self, asked: &SvmAttribute, told: uapi::SvmAttribute) -> SvmAttribute {
        match *asked {
            SvmAttribute::Preferred(_) => SvmAttribute::Preferred(self.location(told.value)),
            SvmAttribute::Prefetch(_) => SvmAttribute::Prefetch(self.location(told.value)),
            // The kind is the answer.
            SvmAttribute::Access(agent, _) => SvmAttribute::Access(
                agent,
                match told.kind {
                    svm_attribute::ACCESS => SvmAccess::Any,
                    svm_attribute::ACCESS_IN_PLACE => SvmAccess::InPlace,
                    _ => SvmAccess::None,
                },
            ),
            SvmAttribute::Set(_) => SvmAttribute::Set(SvmFlags::from_bits_truncate(told.value)),
            SvmAttribute::Clear(_) => SvmAttribute::Clear(SvmFlags::from_bits_truncate(told.value)),
            SvmAttribute::Granularity(_) => SvmAttribute::Granularity(told.value.min(63) as u8),
        }
    }

    /// Sends the call with its attributes behind it; the request's size counts them.
    fn send_svm(
        &self,
        op: u32,
        (address, size): (u64, u64),
        attributes: &mut [uapi::SvmAttribute],
    ) -> Result<(), SvmError> {
        if self.kfd.inherited() {
            return Err(SvmError::NotSupported(INHERITED));
        }
        if !self.kfd.since(uapi::Svm::INFO.since_minor) {
            return Err(SvmError::NotSupported(
                "shared virtual memory before KFD 1.5",
            ));
        }
        let bad = SvmError::BadRange { address, size };
        if size == 0
            || !(address | size).is_multiple_of(PAGE)
            || address.checked_add(size).is_none_or(|end| end > 1 << 47)
        {
            return Err(bad);
        }
        if attributes.len() > MOST {
            return Err(SvmError::Os {
                call: uapi::Svm::INFO.name,
                errno: EINVAL,
            });
        }
        let head = uapi::Svm {
            start_addr: address,
            size,
            op,
            nattr: attributes.len() as u32,
        };
        let bytes = size_of::<uapi::Svm>() + size_of_val(attributes);
        let request = uapi::Svm::INFO.request & !(0x3fff << 16) | (bytes as u32) << 16;
        let mut tries = 0;
        loop {
            // Anew each time: what an interrupted call has written back is no request.
            let mut argument = vec![0; bytes];
            let (start, rest) = argument.split_at_mut(size_of::<uapi::Svm>());
            start.copy_from_slice(head.as_bytes());
            rest.copy_from_slice(attributes.as_bytes());
            // SAFETY: the argument holds numbers alone, and the request states its length. The range's pages may move, which
            // no address of this process notices.
            match unsafe {
                self.port()
                    .ioctl_raw(self.kfd.file(), request, &mut argument)
            } {
                Ok(()) => {
                    let answers = argument[size_of::<uapi::Svm>()..]
                        .chunks_exact(size_of::<uapi::SvmAttribute>());
                    for (attribute, answer) in attributes.iter_mut().zip(answers) {
                        if let Ok(answer) = uapi::SvmAttribute::read_from_bytes(answer) {
                            *attribute = answer;
                        }
                    }
                    return Ok(());
                }
                Err(EINTR | EAGAIN) if tries < RETRIES => tries += 1,
                Err(EPERM | ENOTTY) => {
                    return Err(SvmError::NotSupported(
                        "shared virtual memory: this kernel or its GPUs have none",
                    ));
                }
                Err(EFAULT) => return Err(bad),
                Err(errno) => {
                    return Err(SvmError::Os {
                        call: uapi::Svm::INFO.name,
                        errno,
                    });
                }
            }
        }
    }
}

impl<P: KfdPort> Svm for KfdBackend<P> {
    fn has_svm(&self) -> bool {
        let offers = |gpu: &crate::device::Gpu| gpu.properties.capability & capability::SVM != 0;
        self.kfd.since(uapi::Svm::INFO.since_minor) && self.gpus.iter().any(offers)
    }

    fn set_svm(&self, address: u64, size: u64, set: &[SvmAttribute]) -> Result<(), SvmError> {
        let attributes: Result<Vec<_>, _> = set.iter().map(|a| self.to_driver(a)).collect();
        self.send_svm(svm_operation::SET, (address, size), &mut attributes?)
    }

    fn svm(&self, address: u64, size: u64, ask: &mut [SvmAttribute]) -> Result<(), SvmError> {
        let question = |asked: &SvmAttribute| match *asked {
            // The driver answers by changing this kind.
            SvmAttribute::Access(agent, _) => SvmAttribute::Access(agent, SvmAccess::Any),
            other => other,
        };
        let attributes: Result<Vec<_>, _> =
            ask.iter().map(|a| self.to_driver(&question(a))).collect();
        let mut attributes = attributes?;
        self.send_svm(svm_operation::GET, (address, size), &mut attributes)?;
        for (place, told) in ask.iter_mut().zip(attributes) {
            *place = self.to_seam(place, told);
        }
        Ok(())
    }
}
