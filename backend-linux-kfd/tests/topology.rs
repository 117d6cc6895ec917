//! What sysfs trees come to: those of real kinds of machine, and hostile ones.

mod fake;

use fake::{Fake, FakeGpu};
use rukh_backend_linux_kfd::topology::{ROOT, TreePort, oracle};
use rukh_backend_linux_kfd::{KfdBackend, OpenError};
use rukh_core::backend::{
    AgentId, AgentKind, CacheInfo, GpuInfo, HeapKind, LinkInfo, LinkKind, SkipReason, SkippedAgent,
    Topology,
};

fn tree(name: &str) -> TreePort {
    let path = format!("{}/tests/trees/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    TreePort::parse(&std::fs::read(path).unwrap())
}

fn gpu(backend: &impl Topology, agent: u32) -> GpuInfo {
    match backend.agent(AgentId(agent)).unwrap().kind {
        AgentKind::Gpu(gpu) => gpu,
        AgentKind::Cpu { .. } => panic!("agent {agent} is a CPU"),
    }
}

fn caches(backend: &impl Topology, agent: u32) -> Vec<CacheInfo> {
    let mut list = Vec::new();
    backend.caches(AgentId(agent), &mut |cache| list.push(*cache));
    list
}

fn links(backend: &impl Topology) -> Vec<LinkInfo> {
    let mut list = Vec::new();
    backend.links(&mut |link| list.push(*link));
    list
}

fn skipped(backend: &impl Topology) -> Vec<SkippedAgent> {
    let mut list = Vec::new();
    backend.skipped(&mut |skip| list.push(skip.clone()));
    list
}

#[test]
fn gfx90a_has_the_figures_of_its_node() {
    let fake = Fake::gfx90a();
    let backend = KfdBackend::open(fake.clone()).unwrap();
    assert_eq!(backend.agent_count(), 3);
    let cpu = backend.agent(AgentId(0)).unwrap();
    assert!(matches!(cpu.kind, AgentKind::Cpu { cores: 32 }));
    assert_eq!(cpu.name.as_str(), "Example 8-Core Processor");
    let agent = backend.agent(AgentId(2)).unwrap();
    assert_eq!((agent.name.as_str(), agent.node), ("gfx90a", 2));
    assert_eq!(agent.product_name.as_str(), "aldebaran");
    assert_eq!(agent.cache_line_bytes, 128);
    let info = gpu(&backend, 2);
    assert_eq!(
        info.isa.as_str(),
        "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"
    );
    assert_eq!((info.compute_units, info.shader_engines), (104, 8));
    assert_eq!(
        (info.wavefront_size, info.xcc_count, info.lds_bytes),
        (64, 1, 65536)
    );
    assert_eq!(
        (info.group_aperture, info.private_aperture),
        (1 << 48, 2 << 48)
    );
    assert_eq!((info.watch_points, info.asic_revision), (4, 1));
    assert!(!info.apu && !info.svm_direct_host_access);
    let mut heaps = Vec::new();
    backend.memory_banks(AgentId(2), &mut |bank| heaps.push((bank.heap, bank.size)));
    assert_eq!(
        heaps,
        [(HeapKind::VramPublic, 64 << 30), (HeapKind::Lds, 64 << 10)]
    );
    drop(backend);
    fake.kernel().assert_clean();
}

#[test]
fn of_hundreds_of_cache_files_a_few_are_read_and_every_kind_is_found() {
    let fake = Fake::new("gfx942", &FakeGpu::GFX942);
    let backend = KfdBackend::open(fake).unwrap();
    let kinds: Vec<_> = caches(&backend, 1)
        .iter()
        .map(|cache| (cache.level, cache.size >> 10))
        .collect();
    assert_eq!(kinds, [(1, 32), (1, 64), (2, 4096), (3, 262_144)]);
}

#[test]
fn gfx942_counts_all_xccs_and_its_gpus_are_linked_directly() {
    let backend = KfdBackend::open(Fake::new("gfx942", &FakeGpu::GFX942)).unwrap();
    let info = gpu(&backend, 1);
    assert_eq!(
        (info.compute_units, info.shader_engines, info.xcc_count),
        (304, 32, 8)
    );
    assert!(!info.images);
    let between: Vec<_> = links(&backend)
        .into_iter()
        .filter(|link| link.from == AgentId(1) && link.to == AgentId(2))
        .collect();
    assert_eq!(between.len(), 1);
    assert_eq!((between[0].kind, between[0].weight), (LinkKind::Xgmi, 15));
}

#[test]
fn a_node_with_processors_and_a_gpu_is_two_agents() {
    let backend = KfdBackend::open(Fake::new("apu", &[FakeGpu::APU])).unwrap();
    assert_eq!(backend.agent_count(), 2);
    assert!(matches!(
        backend.agent(AgentId(0)).unwrap().kind,
        AgentKind::Cpu { cores: 8 }
    ));
    let info = gpu(&backend, 1);
    assert!(info.apu);
    assert_eq!(info.isa.as_str(), "amdgcn-amd-amdhsa--gfx90c:xnack-");
}

#[test]
fn a_machine_without_gpus_has_its_processors() {
    let fake = Fake::new("cpu", &[]);
    let backend = KfdBackend::open(fake.clone()).unwrap();
    assert_eq!(backend.agent_count(), 2);
    assert_eq!(links(&backend).len(), 2);
    let log = fake.kernel().log.clone();
    assert_eq!(
        log,
        ["GET_VERSION", "SET_XNACK_MODE"],
        "nothing is asked about GPUs"
    );
}

#[test]
fn one_gpu_that_cannot_be_opened_costs_that_gpu_and_says_why() {
    let fake = Fake::new("gfx942", &FakeGpu::GFX942);
    fake.kernel()
        .refuse
        .insert("/dev/dri/renderD128".into(), 13);
    let backend = KfdBackend::open(fake).unwrap();
    assert_eq!(backend.agent_count(), 2);
    assert_eq!(gpu(&backend, 1).unique_id, 0x52);
    let reason = SkipReason::CannotOpen {
        path: "/dev/dri/renderD128".try_into().unwrap(),
        errno: 13,
    };
    assert_eq!(skipped(&backend), [SkippedAgent { node: 1, reason }]);
}

#[test]
fn a_second_backend_in_a_process_is_told_to_share_the_first() {
    let fake = Fake::gfx90a();
    let first = KfdBackend::open(fake.clone()).unwrap();
    let second = KfdBackend::open(fake).unwrap();
    assert_eq!(first.agent_count(), 3);
    assert_eq!(second.agent_count(), 2);
    assert!(matches!(
        skipped(&second)[..],
        [SkippedAgent {
            node: 2,
            reason: SkipReason::Unsupported { .. }
        }]
    ));
}

#[test]
fn gpus_that_the_backend_cannot_drive_are_skipped_with_the_fact_that_says_so() {
    let cases: [(&str, &str, SkipReason); 5] = [
        (
            "gfx_target_version 90010",
            "gfx_target_version 90099",
            SkipReason::UnknownProcessor {
                gfx_target_version: 90_099,
            },
        ),
        (
            "gfx_target_version 90010",
            "gfx_target_version 80003",
            SkipReason::Unsupported {
                what: "processors before GFX9",
            },
        ),
        (
            "simd_per_cu 4",
            "simd_per_cu 0",
            SkipReason::BadProperty {
                key: "simd_per_cu".try_into().unwrap(),
                value: Some(0),
            },
        ),
        (
            "lds_size_in_kb 64",
            "lds_size_in_kb -64",
            SkipReason::BadProperty {
                key: "lds_size_in_kb".try_into().unwrap(),
                value: None,
            },
        ),
        (
            "drm_render_minor 128",
            "drm_minor 128",
            SkipReason::BadProperty {
                key: "drm_render_minor".try_into().unwrap(),
                value: None,
            },
        ),
    ];
    let path = format!("{ROOT}/nodes/2/properties");
    for (from, to, reason) in cases {
        let mut tree = tree("gfx90a");
        let text = String::from_utf8(tree.get(&path).unwrap().to_vec()).unwrap();
        assert!(text.contains(from));
        tree.set(&path, text.replace(from, to).as_bytes());
        let backend = KfdBackend::open(Fake::with_tree(tree, &[FakeGpu::GFX90A])).unwrap();
        assert_eq!(
            skipped(&backend),
            [SkippedAgent { node: 2, reason }],
            "{to}"
        );
    }
}

#[test]
fn a_gpu_whose_addresses_are_too_short_is_skipped() {
    let short = FakeGpu {
        gpuvm_limit: (1 << 40) - 1,
        ..FakeGpu::GFX90A
    };
    let fake = Fake::new("gfx90a", &[short]);
    let backend = KfdBackend::open(fake).unwrap();
    assert!(matches!(
        &skipped(&backend)[..],
        [SkippedAgent { reason: SkipReason::BadProperty { key, .. }, .. }] if key == "gpuvm_limit"
    ));
}

#[test]
fn a_topology_that_is_not_there_or_makes_no_sense_is_a_typed_error() {
    let open = |tree| KfdBackend::open(Fake::with_tree(tree, &[])).err();
    let mut missing = tree("cpu");
    missing.remove(&format!("{ROOT}/generation_id"));
    assert!(matches!(open(missing), Some(OpenError::Topology(_))));
    let mut nonsense = tree("cpu");
    nonsense.set(&format!("{ROOT}/generation_id"), b"two\n");
    assert_eq!(open(nonsense), Some(OpenError::Generation));
}

#[test]
fn gpus_across_the_host_are_linked_when_the_kernel_lists_no_such_links() {
    let mut tree = tree("gfx942");
    for node in [1, 2] {
        // Only the link to the processors is left.
        let path = format!("{ROOT}/nodes/{node}/properties");
        let text = String::from_utf8(tree.get(&path).unwrap().to_vec()).unwrap();
        tree.set(
            &path,
            text.replace("io_links_count 2", "io_links_count 1")
                .as_bytes(),
        );
    }
    let backend = KfdBackend::open(Fake::with_tree(tree, &FakeGpu::GFX942)).unwrap();
    let link = links(&backend)
        .into_iter()
        .find(|link| link.from == AgentId(1) && link.to == AgentId(2))
        .unwrap();
    assert_eq!((link.kind, link.weight), (LinkKind::PciExpress, 40));
}

/// A small generator of its own, so that the test needs nothing.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % below
    }
}

const NONSENSE: [&str; 12] = [
    "-1",
    "18446744073709551615",
    "18446744073709551616",
    "0",
    "4294967296",
    "4294967295",
    "\u{fffd}\u{0}",
    "",
    "99999999999999999999999999",
    "1 1",
    "65536",
    "128",
];

#[test]
fn hostile_numbers_in_every_place_panic_nowhere_and_break_no_invariant() {
    let machines = ["gfx90a", "gfx1100", "apu", "cpu"];
    for machine in machines {
        let tree = tree(machine);
        let base = oracle::check(&tree, 17).unwrap();
        let paths: Vec<String> = tree
            .paths()
            .filter(|path| !path.contains("/caches/") || path.ends_with("/0/properties"))
            .map(String::from)
            .collect();
        for path in &paths {
            let text = tree.get(path).unwrap().to_vec();
            let mut without = tree.clone();
            without.remove(path);
            oracle::check(&without, 17);
            let lines: Vec<&[u8]> = text.split(|&b| b == b'\n').collect();
            for line in 0..lines.len() {
                let key = lines[line].split(|&b| b == b' ').next().unwrap();
                for nonsense in NONSENSE {
                    let mut changed = lines.clone();
                    let replaced = [key, b" ", nonsense.as_bytes()].concat();
                    changed[line] = &replaced;
                    let mut hostile = tree.clone();
                    hostile.set(path, &changed.join(&b'\n'));
                    if let Some(outcome) = oracle::check(&hostile, 17) {
                        assert!(outcome.gpus <= base.gpus);
                    }
                }
            }
        }
    }
}

#[test]
fn random_damage_panics_nowhere() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for machine in ["gfx90a", "apu", "cpu"] {
        let path = format!("{}/tests/trees/{machine}.txt", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read(path).unwrap();
        for _ in 0..60 {
            let mut damaged = text.clone();
            for _ in 0..random.next(20) + 1 {
                let at = random.next(damaged.len());
                match random.next(4) {
                    0 => damaged[at] = random.next(256) as u8,
                    1 => damaged.truncate(at + 1),
                    2 => {
                        let end = (at + random.next(200)).min(damaged.len());
                        damaged.drain(at..end);
                    }
                    _ => {
                        let end = (at + random.next(200)).min(damaged.len());
                        let copy = damaged[at..end].to_vec();
                        damaged.splice(at..at, copy);
                    }
                }
                if damaged.is_empty() {
                    damaged.push(b'#');
                }
            }
            oracle::topology(&damaged, random.next(18) as u32);
        }
    }
}

#[test]
fn links_in_circles_to_themselves_and_to_nowhere_are_no_trouble() {
    let text = b"## generation_id\n1\n\
        ## nodes/0/gpu_id\n0\n## nodes/0/properties\ncpu_cores_count 4\nio_links_count 4\n\
        ## nodes/0/io_links/0/properties\ntype 2\nnode_to 0\nweight 1\n\
        ## nodes/0/io_links/1/properties\ntype 2\nnode_to 1\nweight 1\n\
        ## nodes/0/io_links/2/properties\ntype 2\nnode_to 1\nweight 2\n\
        ## nodes/0/io_links/3/properties\ntype 2\nnode_to 77\nweight 1\n\
        ## nodes/1/gpu_id\n0\n## nodes/1/properties\ncpu_cores_count 4\nio_links_count 1\n\
        ## nodes/1/io_links/0/properties\ntype 2\nnode_to 0\nweight 1\n\
        ## nodes/01/gpu_id\n0\n## nodes/x/gpu_id\n0\n";
    let outcome = oracle::topology(text, 17).unwrap();
    assert_eq!((outcome.cpus, outcome.links), (2, 2));
}
