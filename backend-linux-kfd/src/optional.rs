//! What the driver offers besides: dmabuf, retry faults, trap handlers, debugger support.

use crate::backend::{INHERITED, KfdBackend};
use crate::kfd::Kfd;
use rukh_core::backend::{
    AgentId, Debug, Dma, Ipc, MemoryHandle, NotSupported, Profiling, Svm, VirtualMemory,
};
use rukh_core::kfd::uapi::{
    ExportDmabuf, Ioctl, RuntimeEnable, SetScratchBackingVa, SetTrapHandler, SetXnackMode,
};
use rukh_core::kfd::{KfdPort, PortError};

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

    /// Tells the kernel that a runtime is loaded and where its debugger structure is.
    /// Gives the kernel's capability bits.
    ///
    /// # Errors
    /// [`NotSupported`] before interface 1.13; otherwise what the kernel says through the inner result: EBUSY (16) if
    /// it was told already.
    pub fn runtime_enable(
        &self,
        debug_structure: u64,
        mode: RuntimeMode,
    ) -> Result<Result<u32, PortError>, NotSupported> {
        if !self.kfd.since(RuntimeEnable::INFO.since_minor) {
            return Err(NotSupported("RUNTIME_ENABLE before KFD 1.13"));
        }
        let mut argument = RuntimeEnable {
            r_debug: debug_structure,
            mode_mask: mode.bits(),
            capabilities_mask: 0,
        };
        Ok(self
            .kfd
            .call(&mut argument)
            .map(|()| argument.capabilities_mask))
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

    /// Installs this backend's own trap handler.
    ///
    /// # Errors
    /// [`NotSupported`]: there is none yet; without one the kernel's default saves waves and ends those that trap.
    pub fn install_trap_handler(&self, agent: AgentId) -> Result<(), NotSupported> {
        let _ = agent;
        Err(NotSupported("a trap handler of its own"))
    }
}

impl<P: KfdPort> Ipc for KfdBackend<P> {
    fn export_dmabuf(&self, handle: MemoryHandle) -> Result<i32, NotSupported> {
        if self.kfd.inherited() {
            return Err(NotSupported(INHERITED));
        }
        if !self.kfd.since(ExportDmabuf::INFO.since_minor) {
            return Err(NotSupported("dmabuf export before KFD 1.12"));
        }
        let bo = self
            .buffer_object(handle)
            .ok_or(NotSupported("dmabuf export of memory that no GPU has"))?;
        let mut argument = ExportDmabuf {
            handle: bo,
            // O_CLOEXEC.
            flags: 0o2_000_000,
            dmabuf_fd: 0,
        };
        match self.kfd.call(&mut argument) {
            Ok(()) => i32::try_from(argument.dmabuf_fd)
                .map_err(|_| NotSupported("a dmabuf that is no file descriptor")),
            // The kernel exports device memory and its own host memory; user pointers it refuses.
            Err(_) => Err(NotSupported("dmabuf export of this memory")),
        }
    }
}

impl<P: KfdPort> Dma for KfdBackend<P> {}
impl<P: KfdPort> Svm for KfdBackend<P> {}
impl<P: KfdPort> VirtualMemory for KfdBackend<P> {}
impl<P: KfdPort> Debug for KfdBackend<P> {}
impl<P: KfdPort> Profiling for KfdBackend<P> {}
