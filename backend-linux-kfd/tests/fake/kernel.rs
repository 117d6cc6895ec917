//! The driver's books.

use super::Fault;
use rukh_core::kfd::uapi::AllocFlags;
use rukh_core::kfd::{KfdFile, Mapping};
use rustix::fd::{AsRawFd, OwnedFd};
use std::collections::{BTreeMap, BTreeSet};
use std::ptr::NonNull;

pub const EPERM: i32 = 1;
pub const ENOENT: i32 = 2;
pub const EIO: i32 = 5;
pub const EBADF: i32 = 9;
pub const ENOMEM: i32 = 12;
pub const EFAULT: i32 = 14;
pub const EBUSY: i32 = 16;
pub const EINVAL: i32 = 22;
pub const ENOTTY: i32 = 25;
pub const ENOSPC: i32 = 28;

pub const PAGE: u64 = 4096;
pub const DOORBELL_BYTES: u64 = 0x2000;
/// What tells doorbells apart from everything else in an offset of `/dev/kfd`.
pub const DOORBELL_TYPE: u64 = 3 << 62;

/// A GPU and what the kernel wants of its queues: figures worked out by hand from `kfd_queue.c`, and for gfx90a those that
/// were recorded.
#[derive(Clone, Copy, Debug)]
pub struct FakeGpu {
    pub id: u32,
    pub render_minor: u32,
    pub control_stack: u32,
    pub save_area: u32,
    pub save_total: u64,
    pub end_of_pipe: u64,
    pub mes: bool,
    pub gpuvm_limit: u64,
}

impl FakeGpu {
    pub const GFX90A: Self = Self {
        id: 51261,
        render_minor: 128,
        control_stack: 0x9000,
        save_area: 0x3c9_1000,
        save_total: 0x3cb_1000,
        end_of_pipe: 0x1000,
        mes: false,
        gpuvm_limit: 0x7fff_ffff_ffff,
    };
    pub const GFX942: [Self; 2] = [
        Self {
            id: 28851,
            render_minor: 128,
            control_stack: 0x3000,
            save_area: 0x162_1000,
            save_total: 0xb16_7000,
            end_of_pipe: 0,
            ..Self::GFX90A
        },
        Self {
            id: 28852,
            render_minor: 136,
            control_stack: 0x3000,
            save_area: 0x162_1000,
            save_total: 0xb16_7000,
            end_of_pipe: 0,
            ..Self::GFX90A
        },
    ];
    pub const GFX1100: Self = Self {
        id: 2218,
        render_minor: 128,
        control_stack: 0xa000,
        save_area: 0x2be_a000,
        save_total: 0x2c0_2000,
        mes: true,
        ..Self::GFX90A
    };
    pub const APU: Self = Self {
        id: 37654,
        render_minor: 128,
        // 7 units: 280 waves.
        control_stack: 0x1000,
        save_area: 0x1000 + 7 * 0x55000,
        save_total: 0x1000 + 7 * 0x55000 + 0x3000,
        ..Self::GFX90A
    };
}

#[derive(Debug)]
pub enum File {
    Kfd,
    Render(u32),
}

#[derive(Debug)]
pub struct Bo {
    pub gpu: u32,
    pub va: u64,
    pub size: u64,
    pub flags: AllocFlags,
    /// Host address of a user pointer.
    pub host: u64,
    pub mapped: BTreeSet<u32>,
    /// The pages of what is the driver's own.
    pub memory: Option<OwnedFd>,
}

#[derive(Debug)]
pub struct Queue {
    pub gpu: u32,
    pub kind: u32,
    pub percentage: u32,
    pub priority: u32,
    pub buffers: Vec<u64>,
    pub mask: Vec<u32>,
    pub write_pointer: u64,
    pub read_pointer: u64,
}

#[derive(Debug)]
pub struct Event {
    pub kind: u32,
    pub auto_reset: bool,
    pub signaled: bool,
    pub age: u64,
    pub data: [u64; 4],
}

/// Everything that the driver keeps.
#[derive(Debug)]
pub struct Kernel {
    pub minor: u32,
    pub gpus: Vec<FakeGpu>,
    pub files: BTreeMap<i32, File>,
    next_file: i32,
    /// Errno of opening a path.
    pub refuse: BTreeMap<String, i32>,
    /// GPUs whose address space was acquired, by which file.
    pub acquired: BTreeMap<u32, i32>,
    pub bos: BTreeMap<u64, Bo>,
    pub next_bo: u64,
    pub queues: BTreeMap<u32, Queue>,
    pub events: BTreeMap<u32, Event>,
    pub event_page: Option<u64>,
    doorbells: BTreeMap<u32, OwnedFd>,
    pub mapped_bytes: i64,
    pub ranges: BTreeMap<usize, usize>,
    pub fault: Option<Fault>,
    /// Stops the next mapping to several GPUs after this many, with EINTR.
    pub interrupt_map_after: Option<u32>,
    /// Names of the ioctls, in order.
    pub log: Vec<&'static str>,
    pub frequency_is_told: bool,
    /// Whether there is shared virtual memory, and its ranges' attributes.
    pub has_svm: bool,
    pub svm: BTreeMap<(u64, u64), super::sharing::Range>,
    /// Addresses of trap handlers, by GPU.
    pub traps: BTreeMap<u32, u64>,
    /// Whether a runtime has said that it is loaded.
    pub runtime: bool,
    /// Ranges that were placed: size, NUMA node, whether there alone.
    pub placed: Vec<(usize, u32, bool)>,
    /// Errno of placing.
    pub refuse_placing: Option<i32>,
    /// Dmabufs: GPU and size, by descriptor.
    pub exported: BTreeMap<u32, (u32, u64)>,
}

impl Kernel {
    pub fn new(gpus: &[FakeGpu]) -> Self {
        Self {
            minor: 17,
            gpus: gpus.to_vec(),
            files: BTreeMap::new(),
            next_file: 1000,
            refuse: BTreeMap::new(),
            acquired: BTreeMap::new(),
            bos: BTreeMap::new(),
            next_bo: 1,
            queues: BTreeMap::new(),
            events: BTreeMap::new(),
            event_page: None,
            doorbells: BTreeMap::new(),
            mapped_bytes: 0,
            ranges: BTreeMap::new(),
            fault: None,
            interrupt_map_after: None,
            log: Vec::new(),
            frequency_is_told: true,
            has_svm: false,
            svm: BTreeMap::new(),
            traps: BTreeMap::new(),
            runtime: false,
            placed: Vec::new(),
            refuse_placing: None,
            exported: BTreeMap::new(),
        }
    }

    /// Counts a call, and fails it if it is the one.
    pub fn enter(&mut self) -> Result<(), i32> {
        if let Some(fault) = &mut self.fault {
            if fault.after != 0 {
                fault.after -= 1;
            } else if fault.times != 0 {
                fault.times -= 1;
                return Err(fault.errno);
            }
        }
        Ok(())
    }

    pub fn open(&mut self, path: &str) -> Result<KfdFile, i32> {
        if let Some(&errno) = self.refuse.get(path) {
            return Err(errno);
        }
        let file = if path == "/dev/kfd" {
            File::Kfd
        } else {
            let minor = path
                .strip_prefix("/dev/dri/renderD")
                .and_then(|minor| minor.parse().ok())
                .ok_or(ENOENT)?;
            let gpu = self.gpus.iter().find(|gpu| gpu.render_minor == minor);
            File::Render(gpu.ok_or(ENOENT)?.id)
        };
        self.next_file += 1;
        self.files.insert(self.next_file, file);
        Ok(KfdFile(self.next_file))
    }

    pub fn gpu(&self, id: u32) -> Result<FakeGpu, i32> {
        self.gpus
            .iter()
            .find(|gpu| gpu.id == id)
            .copied()
            .ok_or(EINVAL)
    }

    /// The memory that a mapping of a file shows: a file of this process and the offset there.
    pub fn memory_behind(
        &mut self,
        file: KfdFile,
        mapping: &Mapping,
    ) -> Result<(KfdFile, u64), i32> {
        let size = mapping.size as u64;
        match self.files.get(&file.0).ok_or(EBADF)? {
            File::Kfd if mapping.offset & DOORBELL_TYPE == DOORBELL_TYPE => {
                let id = (mapping.offset >> 32) as u32 & 0x3fff_ffff;
                self.gpu(id)?;
                if size != DOORBELL_BYTES || mapping.offset as u32 != 0 {
                    return Err(EINVAL);
                }
                let memory = self
                    .doorbells
                    .entry(id)
                    .or_insert_with(|| anonymous(DOORBELL_BYTES));
                Ok((KfdFile(memory.as_raw_fd()), 0))
            }
            File::Kfd => {
                let bo = self.bos.get(&(mapping.offset >> 32)).ok_or(EINVAL)?;
                if !bo.flags.contains(AllocFlags::MMIO_REMAP) || size != PAGE {
                    return Err(EINVAL);
                }
                let memory = bo.memory.as_ref().ok_or(EINVAL)?;
                Ok((KfdFile(memory.as_raw_fd()), 0))
            }
            File::Render(_) => {
                let bo = self.bos.get(&(mapping.offset >> 32)).ok_or(EINVAL)?;
                if bo.flags.contains(AllocFlags::VRAM) && !bo.flags.contains(AllocFlags::PUBLIC) {
                    return Err(EPERM);
                }
                let memory = bo.memory.as_ref().ok_or(EINVAL)?;
                if size != bo.size || mapping.offset as u32 != 0 {
                    return Err(EINVAL);
                }
                Ok((KfdFile(memory.as_raw_fd()), 0))
            }
        }
    }

    /// A fixed mapping has to lie within what the same port gave.
    pub fn check_fixed(&self, address: NonNull<u8>, mapping: &Mapping) {
        let start = address.addr().get();
        assert!(
            self.ranges
                .range(..=start)
                .any(|(&base, &size)| base + size >= start + mapping.size),
            "a fixed mapping replaces only what was reserved"
        );
    }

    /// The one mapping on a GPU that starts at an address.
    pub fn mapping_at(&self, gpu: u32, address: u64) -> Option<(u64, &Bo)> {
        self.bos
            .iter()
            .find(|(_, bo)| bo.va == address && bo.mapped.contains(&gpu))
            .map(|(&handle, bo)| (handle, bo))
    }

    pub fn queue_uses(&self, handle: u64) -> bool {
        self.queues
            .values()
            .any(|queue| queue.buffers.contains(&handle))
    }

    /// Raises an event with its data.
    pub fn raise(&mut self, id: u32, data: [u64; 4]) {
        let event = self.events.get_mut(&id).unwrap();
        event.signaled = true;
        event.age += 1;
        event.data = data;
    }

    /// What is left when everything was given back: nothing but the event page, which the kernel keeps.
    pub fn assert_clean(&self) {
        let left: Vec<_> = self
            .bos
            .iter()
            .filter(|(handle, _)| Some(**handle) != self.event_page)
            .collect();
        assert!(left.is_empty(), "buffer objects are left: {left:?}");
        assert!(self.queues.is_empty(), "queues are left: {:?}", self.queues);
        assert!(self.events.is_empty(), "events are left: {:?}", self.events);
        assert!(self.files.is_empty(), "files are open: {:?}", self.files);
        assert_eq!(self.mapped_bytes, 0, "bytes are mapped");
    }
}

/// Zeroed memory that can be mapped several times.
pub fn anonymous(size: u64) -> OwnedFd {
    let file = rustix::fs::memfd_create("fake", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&file, size).unwrap();
    file
}
