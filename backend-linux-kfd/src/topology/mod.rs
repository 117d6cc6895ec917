//! What sysfs says about the machine: nodes, memory banks, caches and links.
//!
//! Text from outside: every number is bounded, unknown keys are ignored, and one node that makes no sense costs
//! that node alone, with the reason kept. `Snapshot::read` reads the files; `agents` makes agents of it.

pub(crate) mod agents;
mod caches;
pub(crate) mod cpu;
pub(crate) mod node;
pub mod oracle;
pub(crate) mod text;
mod tree;

pub use tree::TreePort;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use node::{GpuProperties, LinkProperties};
use rukh_core::backend::{CacheInfo, HeapKind, MemoryBank, Name, SkipReason, SkippedAgent};
use rukh_core::kfd::{KfdPort, PortError};
use text::{Properties, Value, number, trim};

/// Where the kernel shows the topology.
pub const ROOT: &str = "/sys/devices/virtual/kfd/kfd/topology";

/// Most nodes, banks and links that are looked at.
const MAX_NODES: usize = 1024;
const MAX_BANKS: u64 = 64;
const MAX_LINKS: u64 = 1024;

/// Times that the topology may change under a reader before that is an error.
const ATTEMPTS: u32 = 8;

/// The largest topology file: a page of sysfs.
const FILE_BYTES: usize = 4096;

/// A text cut to what a [`Name`] holds.
pub(crate) fn name(text: &str) -> Name {
    let mut name = Name::new();
    for c in text.chars() {
        if name.len() + c.len_utf8() >= name.capacity() || name.push(c).is_err() {
            break;
        }
    }
    name
}

/// A node that makes sense.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Its number.
    pub id: u32,
    /// Logical processors, or 0.
    pub cores: u32,
    /// The driver's id of its GPU, or 0.
    pub gpu_id: u32,
    /// The GPU's properties.
    pub gpu: Option<GpuProperties>,
    /// The driver's name of the chip, `aldebaran`.
    pub chip: Name,
    pub banks: Vec<MemoryBank>,
    pub caches: Vec<CacheInfo>,
    pub links: Vec<LinkProperties>,
    /// Whether any file lists links between GPUs.
    pub has_p2p_links: bool,
}

/// What sysfs said at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub nodes: Vec<Node>,
    pub skipped: Vec<SkippedAgent>,
}

/// Why there is no topology.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SnapshotError {
    /// A file that everything depends on cannot be read.
    File(PortError),
    /// `generation_id` is no number.
    Generation,
    /// It changed again and again while it was read.
    Unstable,
}

impl From<PortError> for SnapshotError {
    fn from(error: PortError) -> Self {
        Self::File(error)
    }
}

/// Reads small files through a port.
struct Reader<'p, P: KfdPort + ?Sized> {
    port: &'p P,
    buffer: Vec<u8>,
}

impl<P: KfdPort + ?Sized> Reader<'_, P> {
    fn read(&mut self, path: &str) -> Result<&[u8], PortError> {
        let length = self.port.read_file(path, &mut self.buffer)?;
        // A port that claims more than it was given room for has given what there was room for.
        Ok(&self.buffer[..length.min(self.buffer.len())])
    }

    fn generation(&mut self) -> Result<u64, SnapshotError> {
        let text = self.read(&format!("{ROOT}/generation_id"))?;
        number(trim(text)).ok_or(SnapshotError::Generation)
    }

    /// The node numbers, ascending, each once.
    fn node_ids(&self) -> Result<Vec<u32>, SnapshotError> {
        let mut ids = Vec::new();
        self.port
            .list_directory(&format!("{ROOT}/nodes"), &mut |entry| {
                if let Ok(id) = entry.parse::<u32>()
                    && id.to_string() == entry
                    && ids.len() < MAX_NODES
                {
                    ids.push(id);
                }
            })?;
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    fn snapshot(&mut self) -> Result<Snapshot, SnapshotError> {
        let mut snapshot = Snapshot::default();
        for id in self.node_ids()? {
            let mut skip = |reason| snapshot.skipped.push(SkippedAgent { node: id, reason });
            match self.node(id, &mut skip) {
                Ok(Some(node)) => snapshot.nodes.push(node),
                Ok(None) => {}
                Err(reason) => skip(reason),
            }
        }
        drop_repeated_gpu_ids(&mut snapshot);
        Ok(snapshot)
    }

    /// One node; none if there is nothing on it. A GPU that makes no sense is skipped, and the processors
    /// beside it on the same node stay.
    fn node(
        &mut self,
        id: u32,
        skip: &mut impl FnMut(SkipReason),
    ) -> Result<Option<Node>, SkipReason> {
        let base = format!("{ROOT}/nodes/{id}");
        // Device cgroups hide a GPU by refusing this file.
        let path = format!("{base}/gpu_id");
        let text = self.read(&path).map_err(|e| cannot_open(&path, &e))?;
        let value = number(trim(text));
        let gpu_id = value
            .and_then(|n| u32::try_from(n).ok())
            .ok_or(SkipReason::BadProperty {
                key: name("gpu_id"),
                value,
            })?;
        let path = format!("{base}/properties");
        let file = self.read(&path).map_err(|e| cannot_open(&path, &e))?;
        let properties = Properties(file);
        let count = |key, max: u64| properties.get(key).number().unwrap_or(0).min(max) as u32;
        let cores = count("cpu_cores_count", 1 << 20);
        let banks = count("mem_banks_count", MAX_BANKS);
        let caches = count("caches_count", u64::from(caches::MAX));
        let io_links = count("io_links_count", MAX_LINKS);
        let p2p_links = count("p2p_links_count", MAX_LINKS);
        let gpu = match properties.get("simd_count") {
            Value::Absent | Value::Number(0) => None,
            _ => match GpuProperties::parse(&properties) {
                Ok(_) if gpu_id == 0 => {
                    skip(SkipReason::BadProperty {
                        key: name("gpu_id"),
                        value: Some(0),
                    });
                    None
                }
                Ok(gpu) => Some(gpu),
                Err(reason) => {
                    skip(reason);
                    None
                }
            },
        };
        if cores == 0 && gpu.is_none() {
            return Ok(None);
        }
        let mut node = Node {
            id,
            cores,
            gpu_id,
            gpu,
            chip: self.chip_name(&base),
            banks: Vec::new(),
            caches: caches::read(self, &base, caches),
            links: Vec::new(),
            has_p2p_links: p2p_links != 0,
        };
        for index in 0..banks {
            // A bank that cannot be read is memory that cannot be had, not a reason to lose the rest.
            if let Ok(file) = self.read(&format!("{base}/mem_banks/{index}/properties")) {
                node.banks.extend(node::memory_bank(&Properties(file)));
            }
        }
        for (kind, links) in [("io_links", io_links), ("p2p_links", p2p_links)] {
            for index in 0..links {
                if let Ok(file) = self.read(&format!("{base}/{kind}/{index}/properties"))
                    && let Some(link) = node::link(&Properties(file))
                    && link.to != id
                    && !node.links.iter().any(|known| known.to == link.to)
                {
                    node.links.push(link);
                }
            }
        }
        Ok(Some(node))
    }

    fn chip_name(&mut self, base: &str) -> Name {
        match self.read(&format!("{base}/name")) {
            Ok(text) => name(core::str::from_utf8(trim(text)).unwrap_or("")),
            Err(_) => Name::new(),
        }
    }
}

fn cannot_open(path: &str, error: &PortError) -> SkipReason {
    SkipReason::CannotOpen {
        path: name(path),
        errno: error.errno(),
    }
}

/// Of several GPUs with one id only the first can be meant.
fn drop_repeated_gpu_ids(snapshot: &mut Snapshot) {
    let mut seen = Vec::new();
    for node in &mut snapshot.nodes {
        if node.gpu.is_none() {
            continue;
        }
        if seen.contains(&node.gpu_id) {
            node.gpu = None;
            snapshot.skipped.push(SkippedAgent {
                node: node.id,
                reason: SkipReason::BadProperty {
                    key: name("gpu_id"),
                    value: Some(u64::from(node.gpu_id)),
                },
            });
        } else {
            seen.push(node.gpu_id);
        }
    }
    snapshot
        .nodes
        .retain(|node| node.cores != 0 || node.gpu.is_some());
}

impl Snapshot {
    /// Reads the topology; again if it changed meanwhile.
    ///
    /// # Errors
    /// See [`SnapshotError`].
    pub fn read<P: KfdPort + ?Sized>(port: &P) -> Result<Self, SnapshotError> {
        let mut reader = Reader {
            port,
            buffer: vec![0; FILE_BYTES],
        };
        for _ in 0..ATTEMPTS {
            let before = reader.generation()?;
            let snapshot = reader.snapshot()?;
            if reader.generation()? == before {
                return Ok(snapshot);
            }
        }
        Err(SnapshotError::Unstable)
    }
}

impl Node {
    /// Its banks of host memory, or of device memory.
    pub fn banks_of(&self, gpu: bool) -> impl Iterator<Item = &MemoryBank> {
        self.banks
            .iter()
            .filter(move |bank| (bank.heap != HeapKind::System) == gpu)
    }
}

/// The processors' model, from `/proc/cpuinfo`.
pub(crate) fn cpu_model<P: KfdPort + ?Sized>(port: &P) -> Name {
    let mut buffer = vec![0; FILE_BYTES];
    // One file for all processors, so longer than the buffer: its beginning is enough.
    let length = match port.read_file("/proc/cpuinfo", &mut buffer) {
        Ok(length) => length.min(buffer.len()),
        Err(error) if error.errno() == 27 => buffer.len(),
        Err(_) => 0,
    };
    let text = String::from_utf8_lossy(&buffer[..length]);
    text.lines()
        .find_map(|line| line.strip_prefix("model name"))
        .and_then(|rest| rest.split_once(':'))
        .map_or_else(|| name("CPU"), |(_, model)| name(model.trim()))
}
