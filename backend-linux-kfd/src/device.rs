//! Opening GPUs, one by one.

use crate::backend::call_name;
use crate::drm::DeviceInfo;
use crate::kfd::{DEVICE, Kfd};
use crate::memory::Hdp;
use crate::queues::Doorbells;
use crate::topology::agents::{Identity, Opened, identify};
use crate::topology::node::GpuProperties;
use crate::topology::{Snapshot, name};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use rukh_core::backend::{Lock, Name, SkipReason, SkippedAgent};
use rukh_core::kfd::uapi::{AcquireVm, GetProcessAperturesNew, ProcessDeviceApertures};
use rukh_core::kfd::{KfdFile, KfdPort, PortError, call};

const EBUSY: i32 = 16;

/// Most GPUs that the driver is asked about.
const MAX_GPUS: u32 = 1024;

/// Addresses below this one are the process's: a GPU that does not reach them all cannot share them.
const ADDRESS_LIMIT: u64 = (1 << 47) - 1;

/// A GPU that is open.
#[derive(Debug)]
pub(crate) struct Gpu {
    pub node: u32,
    pub id: u32,
    pub properties: GpuProperties,
    pub identity: Identity,
    /// Its render node; open as long as the backend.
    pub render: KfdFile,
    pub apertures: ProcessDeviceApertures,
    pub device: Option<DeviceInfo>,
    pub product: Name,
    /// Mapped when the first queue is created.
    pub doorbells: Lock<Option<Doorbells>>,
    /// Mapped when the host first writes to its memory through the runtime.
    pub hdp: Lock<Hdp>,
    /// Whether waves trap into this backend's handler.
    pub trap_handler: bool,
}

impl Gpu {
    /// Whether the packet scheduler (MES) keeps queues' indices in kernel mappings: queue memory is then the
    /// kernel's (GTT), and that of this very GPU.
    pub const fn has_mes(&self) -> bool {
        self.identity.processor.version.major >= 11
    }

    pub fn opened(&self, xnack: bool) -> Opened<'_> {
        Opened {
            node: self.node,
            identity: self.identity,
            xnack,
            device: self.device.as_ref(),
            product: self.product.clone(),
            apertures: (self.apertures.lds_base, self.apertures.scratch_base),
        }
    }
}

/// Opens every GPU of a snapshot. Those that cannot be are skipped with a reason; if the driver does not even say where
/// their addresses are, all of them.
pub(crate) fn open_all<P: KfdPort>(
    kfd: &Kfd<P>,
    snapshot: &Snapshot,
    gpus: &mut Vec<Gpu>,
    skipped: &mut Vec<SkippedAgent>,
) {
    if !snapshot.nodes.iter().any(|node| node.gpu.is_some()) {
        return;
    }
    let apertures = apertures(kfd);
    for node in &snapshot.nodes {
        let Some(properties) = &node.gpu else {
            continue;
        };
        let opened = match &apertures {
            Ok(apertures) => open(kfd, node.id, node.gpu_id, properties, apertures),
            Err(error) => Err(SkipReason::CannotOpen {
                path: name(&format!("{DEVICE}: {}", call_name(error))),
                errno: error.errno(),
            }),
        };
        match opened {
            Ok(gpu) => gpus.push(gpu),
            Err(reason) => skipped.push(SkippedAgent {
                node: node.id,
                reason,
            }),
        }
    }
}

fn open<P: KfdPort>(
    kfd: &Kfd<P>,
    node: u32,
    id: u32,
    properties: &GpuProperties,
    apertures: &[ProcessDeviceApertures],
) -> Result<Gpu, SkipReason> {
    let identity = identify(properties, kfd.version().1)?;
    let apertures = *apertures
        .iter()
        .find(|aperture| aperture.gpu_id == id)
        .ok_or(SkipReason::Unsupported {
            what: "a GPU that the driver gives this process no address space on",
        })?;
    if apertures.gpuvm_limit < ADDRESS_LIMIT {
        return Err(SkipReason::BadProperty {
            key: name("gpuvm_limit"),
            value: Some(apertures.gpuvm_limit),
        });
    }
    let path = format!("/dev/dri/renderD{}", properties.render_minor);
    let cannot = |error: &PortError| SkipReason::CannotOpen {
        path: name(&path),
        errno: error.errno(),
    };
    let render = kfd.port().open(&path).map_err(|e| cannot(&e))?;
    let acquired = u32::try_from(render.0)
        .map_err(|_| PortError::file(&path, 9))
        .and_then(|drm_fd| kfd.call(&mut AcquireVm { drm_fd, gpu_id: id }));
    if let Err(error) = acquired {
        kfd.port().close(render);
        // The address space stays bound to the first render file for the life of the process.
        return Err(if error.errno() == EBUSY {
            SkipReason::Unsupported {
                what: "a second opening of a GPU in one process: share the first backend",
            }
        } else {
            cannot(&error)
        });
    }
    let device = DeviceInfo::read(kfd.port(), render);
    Ok(Gpu {
        node,
        id,
        properties: properties.clone(),
        identity,
        render,
        apertures,
        product: device
            .as_ref()
            .map_or_else(Name::new, |device| device.product(kfd.port())),
        device,
        doorbells: Lock::new(None),
        hdp: Lock::new(Hdp::default()),
        trap_handler: false,
    })
}

fn apertures<P: KfdPort>(kfd: &Kfd<P>) -> Result<Vec<ProcessDeviceApertures>, PortError> {
    let mut count = GetProcessAperturesNew::default();
    // SAFETY: with a length of 0 the kernel writes the number of GPUs and follows no pointer.
    unsafe { call(kfd.port(), kfd.file(), &mut count) }?;
    let room = count.num_of_nodes.min(MAX_GPUS);
    let mut list = vec![ProcessDeviceApertures::default(); room as usize];
    if room == 0 {
        return Ok(list);
    }
    let mut argument = GetProcessAperturesNew {
        kfd_process_device_apertures_ptr: list.as_mut_ptr().expose_provenance() as u64,
        num_of_nodes: room,
        pad: 0,
    };
    // SAFETY: the pointer is of `list`, which has room for as many entries as the argument says.
    unsafe { call(kfd.port(), kfd.file(), &mut argument) }?;
    list.truncate(argument.num_of_nodes.min(room) as usize);
    Ok(list)
}
