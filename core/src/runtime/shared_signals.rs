//! Signals that processes share: each in a page of virtual memory, which its process exports and others import.
//!
//! They are busy signals: nobody tells a process that another one has changed a value, so that waits look. A page stays mapped
//! until the runtime goes, as all memory of signals does.

use super::Runtime;
use super::error::{AllocError, VirtualError};
use crate::backend::{AgentId, Backend, MemoryAccess, MemoryError};
use crate::mem::{Address, PoolFlags, VirtualMemoryId};
use crate::signal::{SignalFlags, SignalHandle, SignalSlot};
use alloc::vec::Vec;
use core::ptr::NonNull;

impl<B: Backend + ?Sized> Runtime<B> {
    /// A signal that other processes can have, by [`Runtime::export_signal`]. It lives until [`Runtime::destroy_signal`].
    ///
    /// # Errors
    /// See [`VirtualError`].
    pub fn create_shared_signal(
        &self,
        initial: i64,
        flags: SignalFlags,
    ) -> Result<SignalHandle, VirtualError> {
        let host = self.agents().iter().find(|agent| !agent.is_gpu());
        let pool = host.and_then(|host| self.find_pool(host.id, PoolFlags::FINE));
        let none = MemoryError::NotSupported("signals without host memory");
        let pool = *pool.ok_or(none)?;
        let memory = self.create_memory(&pool, self.backend().page_size(), true)?;
        let slot = self.map_signal(memory)?;
        let flags = flags | SignalFlags::IPC | SignalFlags::BUSY;
        // SAFETY: a fresh page, which stays mapped until the runtime has no signals any more.
        let added = unsafe { self.reactor().arena.add_shared(slot, initial, flags) };
        added.map_err(|_| self.abandon(memory, slot))?;
        // SAFETY: as above.
        let handle = unsafe { slot.as_ref() }.handle();
        self.shared_signals()
            .lock(self.park())
            .push((handle, memory));
        Ok(handle)
    }

    /// Takes a signal of another process in, by the descriptor that [`Runtime::export_signal`] gave there, which stays the
    /// caller's.
    ///
    /// # Errors
    /// See [`VirtualError`]; [`AllocError::UnknownAddress`] for memory that is no signal.
    pub fn attach_signal(&self, descriptor: i32) -> Result<SignalHandle, VirtualError> {
        let memory = self.import_memory(descriptor)?;
        let slot = self.map_signal(memory)?;
        // SAFETY: mapped just now, for a page at least; another process may be writing it, which atomics allow.
        let signal = unsafe { slot.as_ref() };
        if !signal.is_user() || !signal.flags().contains(SignalFlags::IPC) {
            return Err(self.abandon(memory, slot));
        }
        // SAFETY: as for `create_shared_signal`.
        let added = unsafe { self.reactor().arena.attach_shared(slot) };
        added.map_err(|_| self.abandon(memory, slot))?;
        let handle = signal.handle();
        self.shared_signals()
            .lock(self.park())
            .push((handle, memory));
        Ok(handle)
    }

    /// A file descriptor, the caller's to close, of a signal of [`Runtime::create_shared_signal`].
    ///
    /// # Errors
    /// See [`VirtualError`]; [`AllocError::UnknownAddress`] for other signals.
    pub fn export_signal(&self, signal: SignalHandle) -> Result<i32, VirtualError> {
        let found = {
            let known = self.shared_signals().lock(self.park());
            known.iter().find(|(handle, _)| *handle == signal).copied()
        };
        let address = Address(signal.0);
        let (_, memory) = found.ok_or(AllocError::UnknownAddress { address })?;
        self.export_memory(memory)
    }

    /// Forgets what a signal was in, when it was destroyed. The page stays mapped.
    pub(super) fn forget_shared_signal(&self, signal: SignalHandle) {
        let mut known = self.shared_signals().lock(self.park());
        if let Some(at) = known.iter().position(|(handle, _)| *handle == signal) {
            let (_, memory) = known.swap_remove(at);
            drop(known);
            let _ = self.release_memory(memory);
        }
    }

    /// Maps a signal's memory for everybody. It is given back if that cannot be.
    fn map_signal(&self, memory: VirtualMemoryId) -> Result<NonNull<SignalSlot>, VirtualError> {
        let mapped = self.map_for_all(memory);
        if mapped.is_err() {
            let _ = self.release_memory(memory);
        }
        mapped
    }

    fn map_for_all(&self, memory: VirtualMemoryId) -> Result<NonNull<SignalSlot>, VirtualError> {
        let size = self.memory_properties(memory)?.size;
        let address = self.reserve_addresses(size, 0, Address::NULL)?;
        if let Err(error) = self.map_memory(address, size, memory) {
            let _ = self.free_addresses(address, size);
            return Err(error);
        }
        let everybody: Vec<(AgentId, MemoryAccess)> = self
            .agents()
            .iter()
            .map(|agent| (agent.id, MemoryAccess::all()))
            .collect();
        let given = self.set_access(address, size, &everybody);
        match (given, NonNull::new(address.as_ptr().cast())) {
            (Ok(()), Some(slot)) => Ok(slot),
            (given, _) => {
                // SAFETY: nobody has learnt the address.
                let _ = unsafe { self.unmap_memory(address, size) };
                let _ = self.free_addresses(address, size);
                given?;
                Err(AllocError::UnknownAddress { address }.into())
            }
        }
    }

    /// Gives the memory of what became no signal back; gives the error for it.
    fn abandon(&self, memory: VirtualMemoryId, slot: NonNull<SignalSlot>) -> VirtualError {
        let address = Address::from(slot.as_ptr());
        if let Ok(properties) = self.memory_properties(memory) {
            // SAFETY: no signal was made of it, so that nobody knows the address.
            let _ = unsafe { self.unmap_memory(address, properties.size) };
            let _ = self.free_addresses(address, properties.size);
        }
        let _ = self.release_memory(memory);
        AllocError::UnknownAddress { address }.into()
    }
}
