//! What was found: agents, devices that are none, findings; as tables and as JSON.

use crate::finding::Finding;
use crate::json::Json;
use rukh_core::backend::{AgentKind, HeapKind, LinkKind};
use rukh_core::mem::{Pool, PoolFlags, Segment};
use rukh_core::runtime::Agent;
use std::fmt::{self, Write};

/// A report.
#[derive(Debug, Default)]
pub struct Report {
    /// What was asked, such as `kfd` or `sim:gfx90a`.
    pub backend: String,
    /// What stands behind it, in words.
    pub source: String,
    /// Version of the driver's interface, if one was opened.
    pub interface: Option<(u32, u32)>,
    /// Agents, CPUs first.
    pub agents: Vec<Agent>,
    /// GPUs that cannot be used, and everything else that is in the way.
    pub findings: Vec<Finding>,
}

const GIB: u64 = 1 << 30;

/// A size with the largest unit that leaves something before the point.
fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes >> 10),
        1_048_576..GIB => format!("{} MiB", bytes >> 20),
        _ => format!("{:.1} GiB", bytes as f64 / GIB as f64),
    }
}

fn pool_kind(pool: &Pool) -> String {
    if pool.segment == Segment::Group {
        return "group".into();
    }
    let names = [
        (PoolFlags::KERNARG, "kernarg"),
        (PoolFlags::FINE, "fine"),
        (PoolFlags::COARSE, "coarse"),
        (PoolFlags::EXTENDED_FINE, "extended-fine"),
    ];
    let set: Vec<&str> = names
        .iter()
        .filter(|(flag, _)| pool.flags.contains(*flag))
        .map(|(_, name)| *name)
        .collect();
    set.join("+")
}

const fn link_kind(kind: LinkKind) -> &'static str {
    match kind {
        LinkKind::HyperTransport => "HyperTransport",
        LinkKind::Qpi => "QPI",
        LinkKind::PciExpress => "PCIe",
        LinkKind::InfiniBand => "InfiniBand",
        LinkKind::Xgmi => "XGMI",
    }
}

/// Bytes of an agent's device memory.
fn vram(agent: &Agent) -> u64 {
    let device = |heap| matches!(heap, HeapKind::VramPublic | HeapKind::VramPrivate);
    let banks = agent.banks.iter().filter(|bank| device(bank.heap));
    banks.fold(0, |sum, bank| sum.saturating_add(bank.size))
}

impl Report {
    /// How many GPUs can be used.
    pub fn gpus(&self) -> usize {
        self.agents.iter().filter(|agent| agent.is_gpu()).count()
    }

    /// For programs. Keys stay; new ones may come.
    pub fn json(&self) -> Json {
        let version = |(major, minor)| Json::text(format_args!("{major}.{minor}"));
        Json::Object(vec![
            ("backend", Json::text(&self.backend)),
            ("source", Json::text(&self.source)),
            ("kfd_interface", self.interface.map_or(Json::Null, version)),
            ("usable_gpus", Json::Number(self.gpus() as u64)),
            ("agents", Json::list(&self.agents, agent_json)),
            ("findings", Json::list(&self.findings, Finding::json)),
        ])
    }

    fn table(&self, out: &mut String) -> fmt::Result {
        let mut agents = vec![
            [
                "agent", "name", "product", "ISA", "CUs", "wave", "LDS", "VRAM",
            ]
            .map(String::from),
        ];
        for agent in &self.agents {
            let info = &agent.info;
            let dash = || String::from("-");
            let row = match &info.kind {
                AgentKind::Cpu { cores } => [
                    agent.id.0.to_string(),
                    "CPU".into(),
                    info.product_name.to_string(),
                    dash(),
                    format!("{cores} threads"),
                    dash(),
                    dash(),
                    dash(),
                ],
                AgentKind::Gpu(gpu) => [
                    agent.id.0.to_string(),
                    info.name.to_string(),
                    info.product_name.to_string(),
                    gpu.isa.to_string(),
                    gpu.compute_units.to_string(),
                    gpu.wavefront_size.to_string(),
                    size(gpu.lds_bytes.into()),
                    size(vram(agent)),
                ],
            };
            agents.push(row);
        }
        columns(out, &agents)?;
        let mut pools = vec![["agent", "pool", "size", "granule"].map(String::from)];
        let mut links = vec![["from", "to", "link", "weight", "atomics"].map(String::from)];
        for agent in &self.agents {
            for pool in &agent.pools {
                let granule = if pool.allocatable {
                    size(pool.granule)
                } else {
                    "-".into()
                };
                pools.push([
                    agent.id.0.to_string(),
                    pool_kind(pool),
                    size(pool.size),
                    granule,
                ]);
            }
            for link in agent.links.iter().filter(|link| link.from == agent.id) {
                links.push([
                    link.from.0.to_string(),
                    link.to.0.to_string(),
                    link_kind(link.kind).into(),
                    link.weight.to_string(),
                    match (link.atomic32, link.atomic64) {
                        (true, true) => "32, 64".into(),
                        (true, false) => "32".into(),
                        (false, true) => "64".into(),
                        (false, false) => "none".into(),
                    },
                ]);
            }
        }
        out.push('\n');
        columns(out, &pools)?;
        if links.len() > 1 {
            out.push('\n');
            columns(out, &links)?;
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.backend, self.source)?;
        if let Some((major, minor)) = self.interface {
            write!(f, ", KFD {major}.{minor}")?;
        }
        f.write_str("\n\n")?;
        if !self.agents.is_empty() {
            let mut out = String::new();
            self.table(&mut out)?;
            writeln!(f, "{out}")?;
        }
        if self.gpus() == 0 {
            f.write_str("No GPU can be used.\n\n")?;
        }
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        Ok(())
    }
}

/// Rows with columns as wide as they need.
fn columns<const N: usize>(out: &mut String, rows: &[[String; N]]) -> fmt::Result {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            write!(line, "{cell:<0$}  ", width(column).unwrap_or(0))?;
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn agent_json(agent: &Agent) -> Json {
    let info = &agent.info;
    let mut fields = vec![
        ("id", Json::number(agent.id.0)),
        (
            "type",
            Json::text(if agent.is_gpu() { "gpu" } else { "cpu" }),
        ),
        ("name", Json::text(&info.name)),
        ("product", Json::text(&info.product_name)),
        ("node", Json::number(info.node)),
    ];
    match &info.kind {
        AgentKind::Cpu { cores } => fields.push(("threads", Json::number(*cores))),
        AgentKind::Gpu(gpu) => {
            let generic = agent.isa.and_then(|isa| isa.generic());
            fields.extend([
                ("isa", Json::text(&gpu.isa)),
                ("generic_isa", generic.map_or(Json::Null, Json::text)),
                ("compute_units", Json::number(gpu.compute_units)),
                ("wavefront_size", Json::number(gpu.wavefront_size)),
                ("xcc_count", Json::number(gpu.xcc_count)),
                ("lds_bytes", Json::number(gpu.lds_bytes)),
                ("vram_bytes", Json::Number(vram(agent))),
                ("max_clock_mhz", Json::number(gpu.max_clock_mhz)),
                ("pci_domain", Json::number(gpu.domain)),
                ("pci_location", Json::number(gpu.location_id)),
                ("device_id", Json::number(gpu.device_id)),
                ("firmware", Json::number(gpu.firmware_version)),
                ("apu", Json::Bool(gpu.apu)),
            ]);
        }
    }
    fields.push((
        "pools",
        Json::list(&agent.pools, |pool| {
            Json::Object(vec![
                ("kind", Json::text(pool_kind(pool))),
                ("bytes", Json::Number(pool.size)),
                ("granule", Json::Number(pool.granule)),
                ("allocatable", Json::Bool(pool.allocatable)),
            ])
        }),
    ));
    fields.push((
        "caches",
        Json::list(&agent.caches, |cache| {
            Json::Object(vec![
                ("level", Json::number(cache.level)),
                ("bytes", Json::Number(cache.size)),
            ])
        }),
    ));
    let links = agent.links.iter().filter(|link| link.from == agent.id);
    fields.push((
        "links",
        Json::list(links, |link| {
            Json::Object(vec![
                ("to", Json::number(link.to.0)),
                ("kind", Json::text(link_kind(link.kind))),
                ("weight", Json::number(link.weight)),
                ("atomic32", Json::Bool(link.atomic32)),
                ("atomic64", Json::Bool(link.atomic64)),
            ])
        }),
    ));
    Json::Object(fields)
}
