//! What the render node says that the KFD does not: the counter's frequency, and the revision that names the product.

use crate::topology::name;
use alloc::vec;
use rukh_core::backend::Name;
use rukh_core::kfd::{EAGAIN, EINTR, KfdFile, KfdPort, RETRIES};

/// `DRM_IOCTL_AMDGPU_INFO`: `_IOW('d', 0x45, struct drm_amdgpu_info)`.
const AMDGPU_INFO: u32 = 1 << 30 | 32 << 16 | (b'd' as u32) << 8 | 0x45;
/// `AMDGPU_INFO_DEV_INFO`.
const DEV_INFO: u32 = 0x16;
/// `AMDGPU_IDS_FLAGS_FUSION`: the GPU shares the host's memory.
const FUSION: u64 = 1;

/// Where libdrm keeps the products' names.
const NAMES: &str = "/usr/share/libdrm/amdgpu.ids";

/// The beginning of `struct drm_amdgpu_info_device`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct DeviceInfo {
    pub device_id: u32,
    pub pci_revision: u32,
    pub family: u32,
    /// In kHz.
    pub counter_khz: u32,
    pub flags: u64,
}

impl DeviceInfo {
    /// Asks a render node. None if it does not answer, which costs a name and nothing else.
    pub fn read<P: KfdPort + ?Sized>(port: &P, render: KfdFile) -> Option<Self> {
        let mut answer = [0u8; 144];
        let mut tries = 0;
        loop {
            let mut argument = [0u8; 32];
            argument[..8]
                .copy_from_slice(&(answer.as_mut_ptr().expose_provenance() as u64).to_ne_bytes());
            argument[8..12].copy_from_slice(&(answer.len() as u32).to_ne_bytes());
            argument[12..16].copy_from_slice(&DEV_INFO.to_ne_bytes());
            // SAFETY: the one pointer in the argument is of `answer`, which lives here and whose length is beside it.
            match unsafe { port.ioctl_raw(render, AMDGPU_INFO, &mut argument) } {
                Ok(()) => break,
                Err(EINTR | EAGAIN) if tries < RETRIES => tries += 1,
                Err(_) => return None,
            }
        }
        let word = |at: usize| {
            let bytes: [u8; 4] = core::array::from_fn(|i| answer[at + i]);
            u32::from_ne_bytes(bytes)
        };
        Some(Self {
            device_id: word(0),
            pci_revision: word(12),
            family: word(16),
            counter_khz: word(28),
            flags: u64::from(word(136)) | u64::from(word(140)) << 32,
        })
    }

    /// Whether it shares the host's memory.
    pub const fn is_apu(&self) -> bool {
        self.flags & FUSION != 0
    }

    /// The product's name, from the table that libdrm installs: lines of `device id, revision, name`.
    pub fn product<P: KfdPort + ?Sized>(&self, port: &P) -> Name {
        let mut buffer = vec![0; 1 << 17];
        let Ok(length) = port.read_file(NAMES, &mut buffer) else {
            return Name::new();
        };
        let text = &buffer[..length.min(buffer.len())];
        for line in text.split(|&b| b == b'\n') {
            let Ok(line) = core::str::from_utf8(line) else {
                continue;
            };
            let mut parts = line.splitn(3, ',').map(str::trim);
            let hex = |part: Option<&str>| u32::from_str_radix(part?, 16).ok();
            if hex(parts.next()) == Some(self.device_id)
                && hex(parts.next()) == Some(self.pci_revision)
                && let Some(product) = parts.next()
            {
                return name(product);
            }
        }
        Name::new()
    }
}
