//! Topologies of real machines, from public sources: what the backend makes of each, held against what `rocminfo`
//! printed there, or what the makers say of the hardware.
//!
//! [`record`] reads the files; [`hostile`] damages them.

#[path = "../fake/mod.rs"]
mod fake;
mod hostile;
mod record;

use fake::Fake;
use record::{Machine, records};
use rukh_backend_linux_kfd::KfdBackend;
use rukh_backend_linux_kfd::topology::oracle;
use rukh_core::backend::{
    AgentId, AgentInfo, AgentKind, CacheKind, GpuInfo, HeapKind, LinkKind, SkipReason, Topology,
};
use rukh_core::isa::Isa;
use rukh_core::mem::{PoolFlags, Segment, pools_of};
use std::collections::BTreeMap;

/// The agent of a node; of several, the GPU.
fn agent_of(backend: &impl Topology, node: u32) -> Option<(AgentId, AgentInfo)> {
    (0..backend.agent_count())
        .rev()
        .map(|id| (AgentId(id), backend.agent(AgentId(id)).unwrap()))
        .find(|(_, info)| info.node == node)
}

/// A figure as rocminfo prints it.
fn figure(backend: &impl Topology, id: AgentId, info: &AgentInfo, key: &str) -> String {
    let gpu = match &info.kind {
        AgentKind::Cpu { cores } if key == "cores" => return cores.to_string(),
        AgentKind::Gpu(gpu) => gpu.clone(),
        AgentKind::Cpu { .. } => GpuInfo::default(),
    };
    let cache = |level: u32| {
        let mut found = None;
        backend.caches(id, &mut |cache| {
            if cache.level == level && cache.kind != CacheKind::Instruction && found.is_none() {
                found = Some(cache.size >> 10);
            }
        });
        found.map_or_else(String::new, |size| size.to_string())
    };
    let number = |number: u32| number.to_string();
    match key {
        "isa" => gpu.isa.to_string(),
        "generic" => {
            let isa: Isa = gpu.isa.parse().unwrap();
            isa.generic()
                .map_or_else(String::new, |isa| isa.to_string())
        }
        "cus" => number(gpu.compute_units),
        "simds" => number(gpu.simds_per_cu),
        "engines" => number(gpu.shader_engines),
        "arrays" => number(gpu.arrays_per_engine),
        "xccs" => number(gpu.xcc_count),
        "wave" => number(gpu.wavefront_size),
        "waves_per_cu" => number(gpu.max_waves_per_simd * gpu.simds_per_cu),
        "revision" => number(gpu.asic_revision),
        "watch" => number(gpu.watch_points),
        "lds_kib" => number(gpu.lds_bytes >> 10),
        "line" => number(info.cache_line_bytes),
        "clock" => number(gpu.max_clock_mhz),
        "chip" => number(gpu.device_id),
        "bdf" => number(gpu.location_id),
        "domain" => number(gpu.domain),
        "firmware" => number(gpu.firmware_version),
        "sdma_firmware" => number(gpu.sdma_firmware_version),
        "apu" => number(gpu.apu.into()),
        "l1_kib" => cache(1),
        "l2_kib" => cache(2),
        "l3_kib" => cache(3),
        "vram_kib" => {
            let mut bytes = 0;
            backend.memory_banks(id, &mut |bank| {
                if matches!(bank.heap, HeapKind::VramPublic | HeapKind::VramPrivate) {
                    bytes += bank.size;
                }
            });
            (bytes >> 10).to_string()
        }
        "pools" => pools(backend, id, info),
        other => panic!("{other} is no figure"),
    }
}

/// The runtime's pools over the agent's banks.
fn pools(backend: &impl Topology, id: AgentId, info: &AgentInfo) -> String {
    let mut banks = Vec::new();
    backend.memory_banks(id, &mut |bank| banks.push(*bank));
    let pools = pools_of(id, &info.kind, &banks, 4096, 0, 0);
    let names = pools.iter().map(|pool| match pool.flags {
        PoolFlags::COARSE => "coarse",
        PoolFlags::EXTENDED_FINE => "extended",
        PoolFlags::FINE => "fine",
        _ if pool.segment == Segment::Group => "group",
        _ => "?",
    });
    names.collect::<Vec<_>>().join(",")
}

fn link_name(kind: LinkKind) -> &'static str {
    match kind {
        LinkKind::HyperTransport => "HyperTransport",
        LinkKind::Qpi => "QPI",
        LinkKind::PciExpress => "PCIe",
        LinkKind::InfiniBand => "InfiniBand",
        LinkKind::Xgmi => "XGMI",
    }
}

/// What a record says and the backend does not, as sentences.
fn differences(machine: &Machine, backend: &KfdBackend<Fake>) -> Vec<String> {
    let mut skipped = BTreeMap::new();
    backend.skipped(&mut |skip| {
        let reason = match &skip.reason {
            SkipReason::BadProperty { key, .. } => key.to_string(),
            other => format!("{other:?}"),
        };
        skipped.insert(skip.node, reason);
    });
    let mut links = Vec::new();
    backend.links(&mut |link| links.push(*link));
    let mut wrong = Vec::new();
    for expectation in &machine.expectations {
        let words: Vec<&str> = expectation.iter().map(String::as_str).collect();
        let node = |at: usize| words[at].parse::<u32>().unwrap();
        match words[0] {
            "skipped" => {
                if skipped.remove(&node(1)).as_deref() != Some(words[2]) {
                    wrong.push(format!("node {} is not skipped for {}", words[1], words[2]));
                }
            }
            "is" => {
                let Some((id, info)) = agent_of(backend, node(1)) else {
                    wrong.push(format!("node {} is no agent", words[1]));
                    continue;
                };
                for pair in words[2..].chunks(2) {
                    let has = figure(backend, id, &info, pair[0]);
                    if has != pair[1] {
                        wrong.push(format!(
                            "node {}: {} is {has} instead of {}",
                            words[1], pair[0], pair[1]
                        ));
                    }
                }
            }
            "link" => {
                let id = |at| agent_of(backend, node(at)).map(|(id, _)| id);
                let (from, to) = (id(1), id(2));
                let link = links
                    .iter()
                    .find(|link| Some(link.from) == from && Some(link.to) == to)
                    .map(|link| format!("{} {}", link_name(link.kind), link.weight));
                let expected = words[3..].join(" ");
                if link.as_deref() != Some(&expected) {
                    wrong.push(format!(
                        "{}-{}: {link:?} instead of {expected}",
                        words[1], words[2]
                    ));
                }
            }
            other => panic!("{other} is no expectation"),
        }
    }
    for (node, reason) in skipped {
        wrong.push(format!("node {node} is skipped: {reason}"));
    }
    wrong
}

#[test]
fn every_recorded_machine_has_the_agents_that_rocminfo_showed_there() {
    let records = records();
    assert!(records.len() >= 8, "{} machines", records.len());
    let mut wrong = Vec::new();
    for (name, text) in &records {
        let machine = Machine::parse(text);
        assert!(!machine.expectations.is_empty(), "{name} expects nothing");
        let fake = Fake::with_tree(machine.tree(), &machine.gpus());
        let backend = KfdBackend::open(fake.clone()).unwrap();
        let gpus = machine
            .nodes
            .values()
            .filter(|node| node.gpu_id != 0)
            .count();
        let mut skipped = 0;
        backend.skipped(&mut |_| skipped += 1);
        let agents = (0..backend.agent_count())
            .filter(|id| {
                let info = backend.agent(AgentId(*id)).unwrap();
                matches!(info.kind, AgentKind::Gpu(_))
            })
            .count();
        if agents + skipped != gpus {
            wrong.push(format!(
                "{name}: {agents} GPUs and {skipped} skipped of {gpus}"
            ));
        }
        let found = differences(&machine, &backend);
        wrong.extend(found.into_iter().map(|what| format!("{name}: {what}")));
        drop(backend);
        fake.kernel().assert_clean();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_recorded_machine_passes_the_oracle_under_every_version_of_the_interface() {
    for (name, text) in &records() {
        let machine = Machine::parse(text);
        let tree = machine.tree();
        for minor in [0, 3, 4, 11, 17] {
            let outcome = oracle::check(&tree, minor);
            assert!(outcome.is_some(), "{name} as 1.{minor}");
        }
    }
}

/// A record's figures hold for that machine and no other one: the comparison notices a change of any.
#[test]
fn a_record_with_another_figure_is_told_apart() {
    let records = records();
    let (_, text) = records.iter().find(|(name, _)| name == "mi300x-2").unwrap();
    for (from, to, what) in [
        ("simd_count 1216", "simd_count 1212", "cus is 303"),
        (
            "level 3 size 262144",
            "level 3 size 131072",
            "l3_kib is 131072",
        ),
        ("capability 746037888", "capability 679977600", "isa is"),
        ("gpu_id 32700", "gpu_id 3884", "no agent"),
    ] {
        assert!(text.contains(from));
        let machine = Machine::parse(&text.replacen(from, to, 1));
        let fake = Fake::with_tree(machine.tree(), &machine.gpus());
        let backend = KfdBackend::open(fake).unwrap();
        let found = differences(&machine, &backend).join("\n");
        assert!(found.contains(what), "{what} in: {found}");
    }
}
