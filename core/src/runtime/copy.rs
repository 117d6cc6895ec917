//! Copying and filling: by the host where it maps both ends, by copy engines of devices otherwise and where they are better.
//!
//! An engine reaches what is mapped to its agent. What it does not reach, such as the client's own memory, goes through a
//! staging buffer of the runtime's, piece by piece.

use super::Runtime;
use super::error::AllocError;
use super::reactor::copies::Flight;
use super::signals::SignalRef;
use crate::backend::{
    AgentId, Backend, DmaCompletion, DmaError, DmaRequest, DmaWork, MemoryAccess,
};
use crate::mem::{Address, AllocFlags, PointerKind, PoolFlags};
use crate::wire::signal::AmdSignal;
use alloc::vec::Vec;
use core::mem::offset_of;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;

/// Bytes of the staging buffer: enough that starting an engine costs little of a piece's time.
const STAGE_BYTES: u64 = 1 << 20;

/// One end of a copy.
#[derive(Clone, Copy)]
struct Place {
    /// Its address on the host, if the host maps it.
    host: Option<NonNull<u8>>,
    /// Its address on agents.
    device: u64,
    /// The agent whose memory it is, if the runtime knows.
    owner: Option<AgentId>,
}

/// How a piece of a staged copy is moved.
#[derive(Clone, Copy)]
enum By {
    Host(NonNull<u8>),
    Engine(AgentId, u64),
}

/// Memory that the host and engines reach.
struct Stage<'r, B: Backend + ?Sized> {
    runtime: &'r Runtime<B>,
    address: Address,
}

impl<B: Backend + ?Sized> Stage<'_, B> {
    fn host(&self) -> *mut u8 {
        self.address.as_ptr()
    }
}

impl<B: Backend + ?Sized> Drop for Stage<'_, B> {
    fn drop(&mut self) {
        // SAFETY: copies through it have ended. One whose engine is stuck may still reach its addresses, and faults.
        if unsafe { self.runtime.free(self.address) }.is_err() {
            crate::trace::event!(error, "a staging buffer could not be freed");
        }
    }
}

const fn overlap(a: u64, b: u64, size: u64) -> bool {
    a.abs_diff(b) < size
}

impl<B: Backend + ?Sized> Runtime<B> {
    /// Copies `size` bytes; returns when they are there. Addresses that the runtime does not know are
    /// host memory. Uses host mappings, or a copy engine where there is none or where it is faster.
    ///
    /// # Safety
    /// Both ranges are valid memory, and nothing else writes them meanwhile.
    ///
    /// # Errors
    /// [`AllocError::OutOfRange`]; [`AllocError::NotReachable`] without host mapping and engine; [`AllocError::Engine`].
    pub unsafe fn copy(&self, to: Address, from: Address, size: u64) -> Result<(), AllocError> {
        if size == 0 {
            return Ok(());
        }
        let (target, source) = match (self.resolve(to, size), self.resolve(from, size)) {
            (Ok(target), Ok(source)) => (target, source),
            (Err(error), _) | (_, Err(error)) => {
                let mut parts = self.parts(&[to, from], size).ok_or(error)?;
                if to > from {
                    // Ranges that overlap are copied from the end that is not overwritten.
                    parts.reverse();
                }
                for (at, bytes) in parts {
                    // SAFETY: parts of the two ranges.
                    unsafe { self.copy(to.offset(at), from.offset(at), bytes) }?;
                }
                return Ok(());
            }
        };
        if let (Some(target_host), Some(source_host)) = (target.host, source.host) {
            // An engine that is not to be had is no reason to fail where the host can do it.
            if self.engine_reads_faster(&source, size)
                && !overlap(target.device, source.device, size)
            {
                // SAFETY: by the caller's promise.
                match unsafe { self.copy_by_engine((to, target), (from, source), size) } {
                    Ok(()) => return Ok(()),
                    // It may still be writing, or has met what the host would not survive.
                    Err(AllocError::Engine(error)) if !error.is_refusal() => {
                        return Err(AllocError::Engine(error));
                    }
                    Err(_) => {}
                }
            }
            // SAFETY: both ranges are mapped on the host: looked up above, or by the caller's promise; the
            // caller keeps other writers away. They may overlap.
            unsafe {
                core::ptr::copy(source_host.as_ptr(), target_host.as_ptr(), size as usize);
            }
            if let Some(owner) = target.owner {
                self.backend().flush_host_writes(owner);
            }
            return Ok(());
        }
        // SAFETY: by the caller's promise.
        unsafe { self.copy_by_engine((to, target), (from, source), size) }
    }

    /// Stores `value` to `count` consecutive 32-bit words.
    ///
    /// # Safety
    /// The range is valid memory, and nothing else writes it meanwhile.
    ///
    /// # Errors
    /// As for [`Runtime::copy`].
    pub unsafe fn fill(&self, to: Address, value: u32, count: u64) -> Result<(), AllocError> {
        if count == 0 {
            return Ok(());
        }
        let size = count.checked_mul(4).ok_or(AllocError::OutOfRange {
            address: to,
            size: u64::MAX,
        })?;
        let target = match self.resolve(to, size) {
            Ok(target) => target,
            Err(error) => {
                for (at, bytes) in self.parts(&[to], size).ok_or(error)? {
                    // SAFETY: a part of the range. Borders are between pages, so that none is inside of a word.
                    unsafe { self.fill(to.offset(at), value, bytes / 4) }?;
                }
                return Ok(());
            }
        };
        let store = |start: *mut u32, count: u64| {
            for at in 0..count as usize {
                // SAFETY: inside the range, which is mapped on the host as for `copy`, or inside the staging buffer.
                unsafe { start.add(at).write_unaligned(value) };
            }
        };
        if let Some(host) = target.host {
            store(host.as_ptr().cast(), count);
            if let Some(owner) = target.owner {
                self.backend().flush_host_writes(owner);
            }
            return Ok(());
        }
        let agent = self.engine_of(&target, to)?;
        let piece = size.min(STAGE_BYTES);
        let stage = self.stage(piece, &[agent])?;
        store(stage.host().cast(), piece / 4);
        let mut done = 0;
        while done < size {
            let part = piece.min(size - done);
            // SAFETY: the stage and the range, which is mapped to its agent.
            unsafe { self.engine_copy(agent, target.device + done, stage.address.0, part, to) }?;
            done += part;
        }
        Ok(())
    }

    /// Has an engine copy, if one reaches both ends and that pays, and count a signal down when the bytes are there. Gives the
    /// agent whose engine it is; nothing has been done if there is none. With `stamp`, the signal gets the times of that
    /// agent's clock.
    ///
    /// # Safety
    /// Both ranges are valid memory until the signal is counted down, and nothing else writes them meanwhile.
    ///
    /// # Errors
    /// As for [`Runtime::copy`]; the signal is not counted down then. If the engine stops before the bytes are there, the
    /// signal is set to -1 by whoever serves the runtime, as each waiter does.
    pub unsafe fn copy_async(
        &self,
        to: Address,
        from: Address,
        size: u64,
        done: SignalRef<'_, B>,
        stamp: bool,
    ) -> Result<Option<AgentId>, AllocError> {
        if size == 0 {
            return Ok(None);
        }
        if self.parts(&[to, from], size).is_some() {
            return Ok(None);
        }
        let target = self.resolve(to, size)?;
        let source = self.resolve(from, size)?;
        let host = target.host.is_some() && source.host.is_some();
        let candidates = [target.owner, source.owner];
        let agent = candidates.into_iter().flatten().find(|&agent| {
            let engine = self.backend().dma_engine(agent);
            engine.is_some_and(|engine| !host || size >= engine.worthwhile)
                && self.reaches(agent, to)
                && self.reaches(agent, from)
        });
        let Some(agent) = agent else {
            return Ok(None);
        };
        if overlap(target.device, source.device, size) {
            return Ok(None);
        }
        let signal = done.amd_signal();
        let base = done.handle().0;
        let at = |offset: usize| base + offset as u64;
        let timestamps = if stamp {
            (
                at(offset_of!(AmdSignal, start_ts)),
                at(offset_of!(AmdSignal, end_ts)),
            )
        } else {
            (0, 0)
        };
        let completion = DmaCompletion {
            value: at(offset_of!(AmdSignal, value)),
            mailbox: signal.event_mailbox_ptr.load(Ordering::Relaxed),
            event: signal.event_id.load(Ordering::Relaxed) as u32,
            timestamps,
        };
        let request = DmaRequest {
            agent,
            work: DmaWork::Copy {
                to: target.device,
                from: source.device,
                bytes: size,
            },
            after: &[],
            completion: Some(completion),
        };
        // SAFETY: both ranges are mapped to the agent, signals to all agents; the rest is the caller's promise.
        match unsafe { self.backend().submit(&request) } {
            Ok(ticket) => {
                self.reactor()
                    .look_after(Flight::new(agent, ticket, done.slot()));
                Ok(Some(agent))
            }
            // Nothing has been done: whoever asks copies in another way.
            Err(error) if error.is_refusal() => Ok(None),
            Err(error) => Err(AllocError::Engine(error)),
        }
    }

    /// Whether an engine gets bytes faster than the host reads them through its mapping.
    fn engine_reads_faster(&self, source: &Place, size: u64) -> bool {
        source
            .owner
            .filter(|&owner| self.agent(owner).is_some_and(|agent| agent.is_gpu()))
            .and_then(|owner| self.backend().dma_engine(owner))
            .is_some_and(|engine| size >= engine.worthwhile)
    }

    /// Whether an address is mapped to an agent.
    fn reaches(&self, agent: AgentId, address: Address) -> bool {
        let mut is_virtual = false;
        let reaches = {
            let memory = self.memory().lock(self.park());
            memory.containing(address).is_some_and(|entry| {
                is_virtual = entry.info.kind == PointerKind::Virtual;
                entry.info.owner == Some(agent) || entry.info.accessible.contains(&agent)
            })
        };
        if is_virtual {
            // Whose it is does not say who has access.
            return self.access(address, agent) == Ok(MemoryAccess::all());
        }
        reaches
    }

    /// The agent whose engine reaches an end that the host does not map.
    fn engine_of(&self, place: &Place, address: Address) -> Result<AgentId, AllocError> {
        let gpu = |agent: &AgentId| self.agent(*agent).is_some_and(|agent| agent.is_gpu());
        place
            .owner
            .filter(gpu)
            // Whose virtual memory it is may have no access to it.
            .filter(|owner| self.reaches(*owner, address))
            .ok_or(AllocError::NotReachable { address })
    }

    /// # Safety
    /// The ranges do not overlap, are mapped to the agent, and nothing else writes them.
    unsafe fn engine_copy(
        &self,
        agent: AgentId,
        to: u64,
        from: u64,
        bytes: u64,
        address: Address,
    ) -> Result<(), AllocError> {
        // SAFETY: by the caller's promise.
        unsafe { self.backend().copy(agent, to, from, bytes) }.map_err(|error| match error {
            DmaError::NotSupported(_) => AllocError::NotReachable { address },
            error => AllocError::Engine(error),
        })
    }

    fn stage(&self, size: u64, agents: &[AgentId]) -> Result<Stage<'_, B>, AllocError> {
        let host = self.agents().iter().find(|agent| !agent.is_gpu());
        let pool = host
            .and_then(|host| self.find_pool(host.id, PoolFlags::FINE))
            .ok_or(AllocError::NotReachable {
                address: Address::NULL,
            })?
            .id;
        let stage = Stage {
            runtime: self,
            address: self.allocate(pool, size, AllocFlags::empty())?,
        };
        self.allow_access(agents, stage.address)?;
        Ok(stage)
    }

    /// # Safety
    /// As for [`Self::copy`].
    unsafe fn copy_by_engine(
        &self,
        (to, target): (Address, Place),
        (from, source): (Address, Place),
        size: u64,
    ) -> Result<(), AllocError> {
        let direct = [target.owner, source.owner]
            .into_iter()
            .flatten()
            .filter(|&agent| self.agent(agent).is_some_and(|agent| agent.is_gpu()))
            .find(|&agent| self.reaches(agent, to) && self.reaches(agent, from));
        if let Some(agent) = direct
            && !overlap(target.device, source.device, size)
        {
            let unmapped = if target.host.is_none() { to } else { from };
            // SAFETY: mapped to the agent, as the registry says; the rest is the caller's promise.
            return unsafe {
                self.engine_copy(agent, target.device, source.device, size, unmapped)
            };
        }
        let by = |place: &Place, address, engine: bool| match place.host {
            Some(host) if !engine => Ok(By::Host(host)),
            _ => self
                .engine_of(place, address)
                .map(|agent| By::Engine(agent, place.device)),
        };
        let writer = by(&target, to, false)?;
        // Whoever comes here with host mappings does so because the host reads slowly.
        let reader = by(&source, from, self.engine_reads_faster(&source, size))?;
        let agents: Vec<AgentId> = [writer, reader]
            .into_iter()
            .filter_map(|by| match by {
                By::Engine(agent, _) => Some(agent),
                By::Host(_) => None,
            })
            .collect();
        let piece = size.min(STAGE_BYTES);
        let stage = self.stage(piece, &agents)?;
        // Ranges that overlap are copied from the end that is not overwritten.
        let backwards = target.device > source.device;
        let mut done = 0;
        while done < size {
            let part = piece.min(size - done);
            let at = if backwards { size - done - part } else { done };
            // SAFETY: parts of the two ranges and of the stage, each mapped to whoever reaches it.
            unsafe {
                match reader {
                    By::Host(host) => {
                        let from = host.as_ptr().add(at as usize);
                        core::ptr::copy_nonoverlapping(from, stage.host(), part as usize);
                    }
                    By::Engine(agent, device) => {
                        self.engine_copy(agent, stage.address.0, device + at, part, from)?;
                    }
                }
                match writer {
                    By::Host(host) => {
                        let to = host.as_ptr().add(at as usize);
                        core::ptr::copy_nonoverlapping(stage.host(), to, part as usize);
                    }
                    By::Engine(agent, device) => {
                        self.engine_copy(agent, device + at, stage.address.0, part, to)?;
                    }
                }
            }
            done += part;
        }
        if let (By::Host(_), Some(owner)) = (writer, target.owner) {
            self.backend().flush_host_writes(owner);
        }
        Ok(())
    }

    /// The parts of ranges that go on from one mapping of virtual memory to the next, each by offset and bytes; None if
    /// that is not what they do.
    fn parts(&self, ends: &[Address], size: u64) -> Option<Vec<(u64, u64)>> {
        let memory = self.memory().lock(self.park());
        let mut parts = Vec::new();
        let mut done = 0;
        while done < size {
            let left = size - done;
            let extents = ends.iter().map(|end| {
                let at = end.offset(done);
                match memory.containing(at) {
                    Some(entry) if entry.info.kind == PointerKind::Virtual => {
                        let offset = at.0.wrapping_sub(entry.info.agent_base.0);
                        entry.info.size.saturating_sub(offset).min(left)
                    }
                    _ => left,
                }
            });
            // 0: by the runtime's own address of it, which is nobody's.
            let bytes = extents.min().filter(|bytes| *bytes != 0)?;
            parts.push((done, bytes));
            done += bytes;
        }
        (parts.len() > 1).then_some(parts)
    }

    fn resolve(&self, address: Address, size: u64) -> Result<Place, AllocError> {
        let memory = self.memory().lock(self.park());
        let Some(entry) = memory.containing(address) else {
            drop(memory);
            if self
                .virtual_memory()
                .lock(self.park())
                .reserved(address)
                .is_some()
            {
                // Addresses without memory.
                return Err(AllocError::UnknownAddress { address });
            }
            return Ok(Place {
                host: NonNull::new(address.as_ptr()),
                device: address.0,
                owner: None,
            });
        };
        let info = &entry.info;
        // By whichever of the two addresses was given.
        let from_agent = address.0.wrapping_sub(info.agent_base.0);
        let offset = if from_agent < info.size.max(1) {
            from_agent
        } else {
            address.0.wrapping_sub(info.host_base.0)
        };
        if offset.checked_add(size).is_none_or(|end| end > info.size) {
            return Err(AllocError::OutOfRange { address, size });
        }
        Ok(Place {
            host: (info.host_base.0 != 0)
                .then(|| NonNull::new(info.host_base.offset(offset).as_ptr()))
                .flatten(),
            device: info.agent_base.0 + offset,
            owner: info.owner,
        })
    }
}
