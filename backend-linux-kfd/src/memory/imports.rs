//! Memory of others, by dmabuf: another process's, another driver's.

use super::bo::Bo;
use super::table::{Entry, Source};
use super::va::{PAGE, Reservation};
use crate::backend::{KfdBackend, call_name};
use alloc::vec::Vec;
use rukh_core::backend::{AgentId, Allocation, MemoryError, MemoryHandle};
use rukh_core::kfd::uapi::{AllocFlags, GetDmabufInfo, ImportDmabuf};
use rukh_core::kfd::{KfdPort, PortError, call};

const EBADF: i32 = 9;
const ENOMEM: i32 = 12;
const EINVAL: i32 = 22;

impl<P: KfdPort> KfdBackend<P> {
    /// Imports a dmabuf and maps it to a GPU. The host does not map it: that is the exporter's to offer.
    pub(crate) fn import(
        &self,
        agent: AgentId,
        descriptor: i32,
    ) -> Result<Allocation, MemoryError> {
        self.check_inherited()?;
        let index = self
            .gpu_index(agent)
            .ok_or(MemoryError::BadAgent { agent })?;
        let os = |error: &PortError, size| match error.errno() {
            // The first call looks whether it is a dmabuf.
            EBADF | EINVAL if size == 0 => MemoryError::NotShared { descriptor },
            ENOMEM => MemoryError::OutOfMemory { size, available: 0 },
            errno => MemoryError::Os {
                call: call_name(error),
                size,
                errno,
            },
        };
        let dmabuf_fd =
            u32::try_from(descriptor).map_err(|_| MemoryError::NotShared { descriptor })?;
        let mut info = GetDmabufInfo {
            dmabuf_fd,
            ..GetDmabufInfo::default()
        };
        // SAFETY: there is no room for metadata, so the driver follows no pointer.
        unsafe { call(self.port(), self.kfd.file(), &mut info) }.map_err(|e| os(&e, 0))?;
        let size = info
            .size
            .checked_next_multiple_of(PAGE)
            .filter(|&size| size != 0)
            .ok_or(MemoryError::BadSize {
                size: info.size,
                align: PAGE,
                page: PAGE,
            })?;
        let range = Reservation::new(self.port(), size, PAGE).map_err(|e| os(&e, size))?;
        let gpu_va = range.address();
        let mut argument = ImportDmabuf {
            va_addr: gpu_va,
            handle: 0,
            gpu_id: self.gpus[index].id,
            dmabuf_fd,
        };
        let mut entry = Entry {
            range: Some(range),
            gpu_va,
            size,
            source: Source::Imported,
            flags: AllocFlags::from_bits_retain(info.flags),
            host: None,
            bo: None,
            mapped: Vec::new(),
            users: 0,
        };
        let made = match self.kfd.call(&mut argument) {
            Ok(()) => {
                entry.bo = Some(Bo {
                    handle: argument.handle,
                    mmap_offset: 0,
                    gpu: index,
                });
                self.map_entry(&mut entry, &[index])
            }
            Err(error) => Err(os(&error, size)),
        };
        if let Err(error) = made {
            if self.release(&mut entry).is_err() {
                // The driver will not take it back now: it is tried again when the backend goes.
                self.memory.lock(&self.park).insert(entry);
            }
            return Err(error);
        }
        let handle = self.memory.lock(&self.park).insert(entry);
        Ok(Allocation {
            handle: MemoryHandle(handle),
            gpu_va,
            host: None,
            size,
        })
    }
}
