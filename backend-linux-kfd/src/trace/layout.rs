//! Arguments of ioctls, by field: from core's table.

use rukh_core::kfd::uapi::{
    EventData, GetProcessAperturesNew, IOCTLS, Ioctl, IoctlInfo, MapMemoryToGpu,
    ProcessDeviceApertures, SetCuMask, UnmapMemoryFromGpu, WaitEvents,
};

/// `DRM_IOCTL_AMDGPU_INFO`.
const AMDGPU_INFO: u32 = 0x4020_6445;

/// The table's row of a request. None for another driver's.
pub(super) fn info(request: u32) -> Option<&'static IoctlInfo> {
    let kfd = request >> 8 & 0xff == u32::from(rukh_core::kfd::uapi::IOCTL_BASE);
    IOCTLS.iter().find(|info| kfd && info.nr == request as u8)
}

/// A field: its name, where it is, how wide.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub name: &'static str,
    pub at: usize,
    pub width: usize,
}

impl Field {
    /// Its value in an argument, or 0 beyond the argument's end.
    pub fn value(&self, bytes: &[u8]) -> u64 {
        let mut value = [0; 8];
        if let Some(field) = bytes.get(self.at..self.at + self.width) {
            value[..self.width].copy_from_slice(field);
        }
        u64::from_le_bytes(value)
    }

    /// Sets it; nothing beyond the end.
    pub fn set(&self, bytes: &mut [u8], value: u64) {
        if let Some(field) = bytes.get_mut(self.at..self.at + self.width) {
            field.copy_from_slice(&value.to_le_bytes()[..self.width]);
        }
    }

    /// Whether it holds an address of the process, which another run has elsewhere, or a time, which another run has
    /// later.
    pub fn varies(&self) -> bool {
        let name = self.name;
        name.ends_with("_ptr")
            || name.ends_with("_addr")
            || name.contains("address")
            || matches!(name, "mmap_offset" | "timeout" | "r_debug")
    }
}

/// The fields of an argument.
pub(super) fn fields(info: &'static IoctlInfo) -> impl Iterator<Item = Field> {
    info.fields.iter().enumerate().map(|(index, &(name, at))| {
        let end = info.fields.get(index + 1).map_or(info.size, |next| next.1);
        Field {
            name,
            at,
            width: (end - at).min(8),
        }
    })
}

fn word(bytes: &[u8], at: usize) -> u64 {
    Field {
        name: "",
        at,
        width: 4,
    }
    .value(bytes)
}

fn pointer(bytes: &[u8], at: usize) -> u64 {
    Field {
        name: "",
        at,
        width: 8,
    }
    .value(bytes)
}

/// Longest array that is recorded.
const MAX_ARRAY: u64 = 1 << 20;

/// The array behind an argument's pointer: address and bytes. None if the ioctl has none.
pub(super) fn array(request: u32, argument: &[u8]) -> Option<(u64, usize)> {
    let (at, bytes) = if request == AMDGPU_INFO {
        (0, word(argument, 8))
    } else {
        let nr = info(request)?.nr;
        let of = |info: IoctlInfo| info.nr == nr;
        if of(GetProcessAperturesNew::INFO) {
            let size = size_of::<ProcessDeviceApertures>() as u64;
            (0, word(argument, 8) * size)
        } else if of(WaitEvents::INFO) {
            (0, word(argument, 8) * size_of::<EventData>() as u64)
        } else if of(MapMemoryToGpu::INFO) || of(UnmapMemoryFromGpu::INFO) {
            (8, word(argument, 16) * 4)
        } else if of(SetCuMask::INFO) {
            (8, word(argument, 4) / 8)
        } else {
            return None;
        }
    };
    let address = pointer(argument, at);
    (address != 0 && bytes != 0 && bytes <= MAX_ARRAY).then_some((address, bytes as usize))
}
