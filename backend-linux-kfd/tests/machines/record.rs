//! `tests/records/topology/` has a file a machine: a line for each file of the kernel's tree, properties that are zero left
//! out, repetitions counted (`cache 304 …`, `io_link 2-17 …`). Counts of banks, caches and links that the source does not
//! have are those of the lines. After the tree stand the expectations: `is` a node, `link` two, `skipped` for a property.

use crate::fake::FakeGpu;
use rukh_backend_linux_kfd::topology::{ROOT, TreePort};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One node's files.
#[derive(Default)]
pub struct Node {
    pub name: String,
    pub gpu_id: u32,
    pub properties: Vec<(String, String)>,
    /// Files of lists: `mem_banks`, `caches`, `io_links`, `p2p_links`.
    pub lists: BTreeMap<&'static str, Vec<String>>,
}

impl Node {
    fn number(&self, key: &str) -> u64 {
        let property = self.properties.iter().find(|(known, _)| known == key);
        property.map_or(0, |(_, value)| value.parse().unwrap_or(0))
    }

    /// The properties file, all keys that kernels count lists by among it.
    fn text(&self) -> String {
        let mut text = String::new();
        for (key, value) in &self.properties {
            text += &format!("{key} {value}\n");
        }
        for (list, count) in [
            ("mem_banks", "mem_banks_count"),
            ("caches", "caches_count"),
            ("io_links", "io_links_count"),
            ("p2p_links", "p2p_links_count"),
        ] {
            if !self.properties.iter().any(|(key, _)| key == count) {
                let files = self.lists.get(list).map_or(0, Vec::len);
                text += &format!("{count} {files}\n");
            }
        }
        text
    }
}

/// A machine's record.
pub struct Machine {
    pub nodes: BTreeMap<u32, Node>,
    pub expectations: Vec<Vec<String>>,
}

/// `key value key value …` as lines.
fn lines(words: &[&str]) -> String {
    assert!(words.len().is_multiple_of(2), "{words:?}");
    words
        .chunks(2)
        .map(|pair| format!("{} {}\n", pair[0], pair[1]))
        .collect()
}

impl Machine {
    pub fn parse(text: &str) -> Self {
        let mut machine = Self {
            nodes: BTreeMap::new(),
            expectations: Vec::new(),
        };
        let mut current = 0;
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let words: Vec<&str> = line.split_whitespace().collect();
            if !line.starts_with(' ') && words[0] != "node" {
                machine
                    .expectations
                    .push(words.iter().map(|w| String::from(*w)).collect());
                continue;
            }
            if words[0] == "node" {
                current = words[1].parse().unwrap();
                machine.nodes.insert(current, Node::default());
                continue;
            }
            let node = machine.nodes.get_mut(&current).unwrap();
            let (kind, rest) = (words[0], &words[1..]);
            match kind {
                "name" => node.name = rest.join(" "),
                "gpu_id" => node.gpu_id = rest[0].parse().unwrap(),
                "properties" => {
                    let pair = |pair: &[&str]| (String::from(pair[0]), String::from(pair[1]));
                    node.properties = rest.chunks(2).map(pair).collect();
                }
                "mem_bank" => node.lists.entry("mem_banks").or_default().push(lines(rest)),
                "cache" => {
                    let count: usize = rest[0].parse().unwrap();
                    let files = node.lists.entry("caches").or_default();
                    files.extend(vec![lines(&rest[1..]); count]);
                }
                "io_link" | "p2p_link" => {
                    let list = if kind == "io_link" {
                        "io_links"
                    } else {
                        "p2p_links"
                    };
                    let (from, to) = rest[0].split_once('-').unwrap_or((rest[0], rest[0]));
                    let ends = from.parse::<u32>().unwrap()..=to.parse().unwrap();
                    let files = node.lists.entry(list).or_default();
                    files.extend(ends.map(|to| format!("node_to {to}\n{}", lines(&rest[1..]))));
                }
                other => panic!("{other} in a record"),
            }
        }
        machine
    }

    pub fn tree(&self) -> TreePort {
        let mut tree = TreePort::default();
        tree.set(&format!("{ROOT}/generation_id"), b"2\n");
        tree.set("/proc/cpuinfo", b"model name\t: A Processor\n");
        for (id, node) in &self.nodes {
            let base = format!("{ROOT}/nodes/{id}");
            tree.set(
                &format!("{base}/gpu_id"),
                format!("{}\n", node.gpu_id).as_bytes(),
            );
            tree.set(
                &format!("{base}/name"),
                format!("{}\n", node.name).as_bytes(),
            );
            tree.set(&format!("{base}/properties"), node.text().as_bytes());
            for (list, files) in &node.lists {
                for (index, file) in files.iter().enumerate() {
                    tree.set(
                        &format!("{base}/{list}/{index}/properties"),
                        file.as_bytes(),
                    );
                }
            }
        }
        tree
    }

    /// What stands behind a tree whose ids may be the same or nothing.
    pub fn gpus_behind(&self) -> Vec<FakeGpu> {
        let mut gpus = self.gpus();
        gpus.sort_by_key(|gpu| gpu.id);
        gpus.dedup_by_key(|gpu| gpu.id);
        gpus
    }

    /// What stands behind the tree.
    pub fn gpus(&self) -> Vec<FakeGpu> {
        self.nodes
            .values()
            .filter(|node| node.gpu_id != 0)
            .map(|node| FakeGpu {
                id: node.gpu_id,
                render_minor: node.number("drm_render_minor") as u32,
                ..FakeGpu::GFX90A
            })
            .collect()
    }
}

/// All records, by name.
pub fn records() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/records/topology");
    let mut records: Vec<(String, String)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_string();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    records.sort();
    records
}
