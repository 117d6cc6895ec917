//! Damage to the trees of real machines, by structure: files that are gone, numbers that are huge, negative or none, bytes
//! that are no text, ids that occur twice, links in circles and to nowhere, lists without end.

use crate::fake::Fake;
use crate::record::{Machine, Node, records};
use rukh_backend_linux_kfd::topology::{ROOT, TreePort, oracle};
use rukh_backend_linux_kfd::{KfdBackend, OpenError};
use rukh_core::backend::{SkipReason, Topology};

/// A small generator, the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound.max(1)
    }

    fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "-1",
    "-9223372036854775808",
    "65535",
    "65536",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "999999999999999999999999999999",
    "0x10",
];

/// Changes one thing about the record.
fn damage(machine: &mut Machine, random: &mut Random) {
    let ids: Vec<u32> = machine.nodes.keys().copied().collect();
    let id = *random.of(&ids);
    let other = *random.of(&ids);
    let other_gpu = machine.nodes[&other].gpu_id;
    let node: &mut Node = machine.nodes.get_mut(&id).unwrap();
    match random.below(9) {
        0 | 1 if !node.properties.is_empty() => {
            let at = random.below(node.properties.len());
            node.properties[at].1 = String::from(*random.of(&NUMBERS));
        }
        2 if !node.properties.is_empty() => {
            let at = random.below(node.properties.len());
            node.properties.remove(at);
        }
        3 => node.gpu_id = other_gpu,
        4 => {
            // A circle, or a link to itself or to nowhere.
            let ends = [id, other, 77, u32::MAX];
            let to = random.of(&ends);
            let kind = *random.of(&["io_links", "p2p_links"]);
            let link = format!("node_to {to}\ntype 11\nweight {}\n", random.of(&NUMBERS));
            node.lists.entry(kind).or_default().push(link);
        }
        5 => {
            // A list that claims to be longer than it is.
            let count = *random.of(&[
                "mem_banks_count",
                "caches_count",
                "io_links_count",
                "p2p_links_count",
            ]);
            node.properties
                .push((count.into(), String::from(*random.of(&NUMBERS))));
        }
        6 => {
            let heap = random.below(8);
            let size = random.of(&NUMBERS);
            let bank = format!("heap_type {heap}\nsize_in_bytes {size}\n");
            node.lists.entry("mem_banks").or_default().push(bank);
        }
        7 => {
            let cache = format!(
                "level {}\nsize {}\ncache_line_size {}\ntype {}\n",
                random.of(&NUMBERS),
                random.of(&NUMBERS),
                random.of(&NUMBERS),
                random.below(16)
            );
            node.lists.entry("caches").or_default().push(cache);
        }
        _ => node.name = "\u{fffd}\u{202e}\u{0}".repeat(random.below(60)),
    }
}

/// Changes one file of the tree as bytes.
fn damage_file(tree: &mut TreePort, random: &mut Random) {
    let paths: Vec<String> = tree.paths().map(String::from).collect();
    let path = random.of(&paths);
    let mut bytes = tree.get(path).unwrap().to_vec();
    match random.below(6) {
        0 => {
            tree.remove(path);
            return;
        }
        1 => bytes.clear(),
        2 => bytes = vec![0xff; 1 + random.below(5000)],
        3 => bytes.truncate(random.below(bytes.len() + 1)),
        4 => bytes.extend(std::iter::repeat_n(b'9', 5000)),
        _ => {
            let at = random.below(bytes.len() + 1);
            bytes.insert(at, *random.of(b"\0\n \xc3-9"));
        }
    }
    tree.set(&path.clone(), &bytes);
}

/// What the reader and a backend say of a hostile tree: nothing panics, nothing stays open, and reader and
/// backend count the same.
fn check(machine: &Machine, tree: TreePort, minor: u32, what: &str) {
    let outcome = oracle::check(&tree, minor);
    let fake = Fake::with_tree(tree, &machine.gpus_behind());
    match KfdBackend::open(fake.clone()) {
        Ok(backend) => {
            let outcome = outcome.unwrap_or_else(|| panic!("{what}: a backend without a topology"));
            assert!(
                backend.agent_count() as usize <= outcome.cpus + outcome.gpus,
                "{what}"
            );
            let mut reasons = 0;
            backend.skipped(&mut |skip| {
                reasons += 1;
                if let SkipReason::CannotOpen { errno, .. } = &skip.reason {
                    assert_ne!(*errno, 0, "{what}");
                }
            });
            let lost =
                outcome.cpus + outcome.gpus + outcome.skipped - backend.agent_count() as usize;
            assert!(reasons >= lost, "{what}: {lost} lost, {reasons} reasons");
        }
        Err(error) => {
            assert!(outcome.is_none(), "{what}: {error}");
            assert!(matches!(
                error,
                OpenError::Topology(_) | OpenError::Generation | OpenError::Unstable
            ));
        }
    }
    fake.kernel().assert_clean();
}

#[test]
fn damaged_machines_lose_what_is_damaged_and_nothing_else_breaks() {
    // Large machines take long; their damage is of the same kinds.
    let records: Vec<_> = records()
        .into_iter()
        .filter(|(_, text)| text.len() < 10_000)
        .collect();
    assert!(records.len() >= 8);
    for seed in 1..400u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (name, text) = random.of(&records).clone();
        let mut machine = Machine::parse(&text);
        for _ in 0..1 + random.below(6) {
            damage(&mut machine, &mut random);
        }
        let mut tree = machine.tree();
        for _ in 0..random.below(4) {
            damage_file(&mut tree, &mut random);
        }
        check(&machine, tree, 17, &format!("{name}, seed {seed}"));
    }
}

#[test]
fn one_damaged_node_costs_no_other_node() {
    for (name, text) in records() {
        let healthy = Machine::parse(&text);
        let before = oracle::check(&healthy.tree(), 17).unwrap();
        for id in healthy.nodes.keys() {
            let mut tree = healthy.tree();
            tree.set(
                &format!("{ROOT}/nodes/{id}/properties"),
                b"\xff\xfe no properties\n",
            );
            let after = oracle::check(&tree, 17).unwrap();
            assert!(
                after.cpus + after.gpus + 1 >= before.cpus + before.gpus,
                "{name}: node {id} costs more than itself"
            );
            if name.ends_with("-cpx") && *id > 4 {
                break;
            }
        }
    }
}
