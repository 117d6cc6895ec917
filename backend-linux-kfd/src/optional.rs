//! What the driver offers besides: dmabuf, retry faults, trap handlers, debugger support.

use crate::backend::KfdBackend;
use crate::kfd::Kfd;
use core::sync::atomic::Ordering;
use rukh_core::backend::{
    AgentId, Allocation, Debug, Ipc, MemoryError, MemoryHandle, NotSupported, Profiling,
    QueueHandle,
};
use rukh_core::kfd::uapi::{
    ExportDmabuf, Ioctl, RuntimeEnable, SetScratchBackingVa, SetTrapHandler, SetXnackMode,
};
use rukh_core::kfd::{KfdFile, KfdPort, PortError};

/// Whether page faults are retried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum XnackMode {
    /// An access to a page that is not there is a fault.
    Off,
    /// It waits until the page is there.
    On,
}

bitflags::bitflags! {
    /// What [`KfdBackend::runtime_enable`] asks for.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct RuntimeMode: u32 {
        /// The runtime is loaded.
        const ENABLE = 1 << 0;
        /// Trap temporaries are set up and saved.
        const TTMP = 1 << 1;
    }
}

fn set_xnack<P: KfdPort>(kfd: &Kfd<P>, mode: i32) -> Result<bool, PortError> {
    let mut argument = SetXnackMode {
        xnack_enabled: mode,
    };
    kfd.call(&mut argument)?;
    Ok(argument.xnack_enabled > 0)
}

/// Asks once; a driver without shared virtual memory says EPERM, an old one does not know the call.
pub(crate) fn xnack_is_on<P: KfdPort>(kfd: &Kfd<P>) -> bool {
    kfd.since(SetXnackMode::INFO.since_minor) && set_xnack(kfd, -1).unwrap_or(false)
}

impl<P: KfdPort> KfdBackend<P> {
    /// How page faults were handled when the backend was opened; the agents' ISA names follow it.
    pub const fn xnack_mode(&self) -> XnackMode {
        if self.xnack {
            XnackMode::On
        } else {
            XnackMode::Off
        }
    }

    /// Changes how this process's page faults are handled. The agents of this backend keep the names that they
    /// have: a process that wants another mode sets it, then opens a backend.
    ///
    /// # Errors
    /// EBUSY (16) once queues exist, EPERM (1) where it is not supported.
    pub fn set_xnack_mode(&self, mode: XnackMode) -> Result<(), PortError> {
        set_xnack(&self.kfd, i32::from(mode == XnackMode::On)).map(drop)
    }

    /// Tells the kernel that a runtime is loaded and where its debugger structure is. Gives the kernel's capability
    /// bits. The backend has said so itself when it was opened, with no structure, and takes that back first.
    ///
    /// # Errors
    /// [`NotSupported`] before interface 1.13; otherwise what the kernel says through the inner result: EBUSY (16) if
    /// another runtime of the process has told it, EEXIST (17) once there are queues.
    pub fn runtime_enable(
        &self,
        debug_structure: u64,
        mode: RuntimeMode,
    ) -> Result<Result<u32, PortError>, NotSupported> {
        if !self.kfd.since(RuntimeEnable::INFO.since_minor) {
            return Err(NotSupported("RUNTIME_ENABLE before KFD 1.13"));
        }
        self.runtime_disable();
        let mut argument = RuntimeEnable {
            r_debug: debug_structure,
            mode_mask: mode.bits(),
            capabilities_mask: 0,
        };
        let answer = self.kfd.call(&mut argument);
        if answer.is_ok() && mode.contains(RuntimeMode::ENABLE) {
            self.told.store(true, Ordering::Relaxed);
        }
        Ok(answer.map(|()| argument.capabilities_mask))
    }

    /// Takes back that a runtime is loaded, if this backend has said so.
    pub(crate) fn runtime_disable(&self) {
        if self.told.swap(false, Ordering::Relaxed) && !self.kfd.inherited() {
            let mut argument = RuntimeEnable::default();
            let _ = self
                .kfd
                .call(&mut argument)
                .or_else(|_| self.kfd.call(&mut argument));
        }
    }

    /// Sets where a GPU's scratch begins. GFX9 and later find it in each queue's structure instead.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_scratch_base(&self, agent: AgentId, address: u64) -> Result<(), PortError> {
        let mut argument = SetScratchBackingVa {
            va_addr: address >> 16,
            gpu_id: self.gpu(agent).map_or(0, |gpu| gpu.id),
            pad: 0,
        };
        self.kfd.call(&mut argument)
    }

    /// Installs a trap handler whose code is mapped at `code`, with its memory at `memory` (or 0).
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_trap_handler(
        &self,
        agent: AgentId,
        code: u64,
        memory: u64,
    ) -> Result<(), PortError> {
        let mut argument = SetTrapHandler {
            tba_addr: code,
            tma_addr: memory,
            gpu_id: self.gpu(agent).map_or(0, |gpu| gpu.id),
            pad: 0,
        };
        self.kfd.call(&mut argument)
    }

    /// Whether waves of an agent trap into this backend's own handler, which reports them; otherwise the kernel's ends
    /// them.
    pub fn has_trap_handler(&self, agent: AgentId) -> bool {
        self.gpu(agent).is_some_and(|gpu| gpu.trap_handler)
    }
}

/// What the driver has and this backend does not use.
impl<P: KfdPort> KfdBackend<P> {
    /// Gives a queue the global wave synchronisation unit.
    ///
    /// # Errors
    /// [`NotSupported`], always.
    pub fn allocate_gws(&self, queue: QueueHandle, entries: u32) -> Result<u32, NotSupported> {
        let _ = (queue, entries);
        Err(NotSupported(
            "global wave synchronisation (ALLOC_QUEUE_GWS)",
        ))
    }

    /// Opens a GPU's stream of system-management events.
    ///
    /// # Errors
    /// [`NotSupported`], always.
    pub fn smi_events(&self, agent: AgentId) -> Result<KfdFile, NotSupported> {
        let _ = agent;
        Err(NotSupported("system-management events (SMI_EVENTS)"))
    }

    /// Debugs a process.
    ///
    /// # Errors
    /// [`NotSupported`], always.
    pub fn debug_trap(&self, process: u32, operation: u32) -> Result<(), NotSupported> {
        let _ = (process, operation);
        Err(NotSupported("debugging (DBG_TRAP)"))
    }
}

impl<P: KfdPort> Ipc for KfdBackend<P> {
    fn has_dmabufs(&self) -> bool {
        self.kfd.since(ExportDmabuf::INFO.since_minor) && !self.gpus.is_empty()
    }

    fn export_dmabuf(&self, handle: MemoryHandle) -> Result<i32, MemoryError> {
        self.export(handle)
    }

    fn import_dmabuf(&self, agent: AgentId, descriptor: i32) -> Result<Allocation, MemoryError> {
        self.import(agent, descriptor)
    }
}

impl<P: KfdPort> Debug for KfdBackend<P> {}
impl<P: KfdPort> Profiling for KfdBackend<P> {}
