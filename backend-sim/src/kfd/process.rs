//! What the driver keeps of the process that has it open.

use super::memory::Object;
use super::pages::Pages;
use super::queues::FaceQueue;
use crate::mem::Block;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// What a file that is open is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum File {
    /// `/dev/kfd`.
    Kfd,
    /// The render node of the GPU with this index.
    Render(usize),
}

/// What the process has on one GPU.
#[derive(Debug, Default)]
pub(super) struct OnGpu {
    /// The render file whose address space it is. It stays so after the file is closed.
    pub render: Option<i32>,
    /// Bytes of device memory.
    pub used: u64,
    /// Number of the last buffer object.
    pub last_object: u32,
    /// Doorbells that are taken.
    pub doorbells: Vec<bool>,
    /// The one queue that has the global wave synchronisation unit.
    pub gws: Option<u32>,
}

/// Where devices write the slots of events.
#[derive(Clone, Copy, Debug)]
pub(super) enum EventPage {
    /// Pages of the driver's, for processes that brought none.
    Own(Block),
    /// The buffer object with this handle.
    Object(u64),
}

/// The process.
#[derive(Debug, Default)]
pub(super) struct Process {
    pub files: BTreeMap<i32, File>,
    pub last_file: i32,
    pub gpus: Vec<OnGpu>,
    /// Buffer objects by handle.
    pub objects: BTreeMap<u64, Object>,
    /// Their handles by the offset to map them at.
    pub offsets: BTreeMap<u64, u64>,
    pub last_offset: u64,
    /// Pages of objects that exist or are still mapped.
    pub pages: BTreeMap<u64, Pages>,
    pub last_pages: u64,
    /// How many of them have a file of their own.
    pub own_files: u64,
    /// Where the client has mapped such pages: start to end and pages.
    pub mappings: BTreeMap<usize, (usize, u64)>,
    /// Ranges of shared virtual memory.
    pub svm: super::svm::Ranges,
    pub queues: BTreeMap<u32, FaceQueue>,
    pub event_page: Option<EventPage>,
    pub runtime_enabled: bool,
}

/// File numbers that no real file has.
pub(super) const FIRST_FILE: i32 = 1 << 30;

impl Process {
    pub(super) fn new(gpus: usize) -> Self {
        Self {
            last_file: FIRST_FILE,
            // Where the DRM's offsets begin.
            last_offset: 1 << 32,
            gpus: (0..gpus).map(|_| OnGpu::default()).collect(),
            ..Self::default()
        }
    }
}
