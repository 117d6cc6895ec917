//! What the machine says about itself in `/dev`, `/proc`, `/sys` and `/etc`: facts, no opinions.

use crate::pci::{self, PciGpu};
use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Who owns a device node, and who may open it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceNode {
    /// Permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Whether it is a device at all.
    pub is_device: bool,
}

/// A node of the driver's topology, as far as it can be matched with the bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KfdNode {
    /// PCI domain.
    pub domain: u64,
    /// Bus, device and function.
    pub location: u64,
}

/// The facts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct System {
    root: PathBuf,
    /// The kernel's release.
    pub kernel: String,
    /// Its command line.
    pub command_line: String,
    /// Whether amdgpu is there, as a module or built in.
    pub has_amdgpu: bool,
    /// Whether the kernel has a KFD.
    pub has_kfd: bool,
    /// This process's effective user.
    pub uid: u32,
    /// The user's name, if there is one.
    pub user: Option<String>,
    /// Groups of this process.
    pub groups: Vec<u32>,
    /// Whether a seccomp filter watches over the system calls.
    pub seccomp: bool,
    /// What this container is, if it is one.
    pub container: Option<String>,
    /// What the kernel's log says of the KFD, if this process may read it.
    pub log: Vec<String>,
    /// AMD's GPUs on the bus.
    pub pci: Vec<PciGpu>,
    /// GPUs of the driver's topology that this process may see.
    pub nodes: Vec<KfdNode>,
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).trim_end().to_string())
        .unwrap_or_default()
}

/// Lines of the kernel's log that mention the KFD. The log gives a record at a read, and has no end: reading stops when
/// it would wait.
fn kernel_log(path: &Path) -> Vec<String> {
    const O_NONBLOCK: i32 = 0o4000;
    /// As long as a record can be.
    const RECORD: usize = 8192;
    const MAX_RECORDS: usize = 100_000;
    let Ok(mut file) = fs::OpenOptions::new()
        .read(true)
        .custom_flags(O_NONBLOCK)
        .open(path)
    else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    let mut buffer = vec![0; RECORD];
    for _ in 0..MAX_RECORDS {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => {
                let text = String::from_utf8_lossy(&buffer[..length]);
                lines.extend(text.lines().filter(|l| l.contains("kfd")).map(String::from));
            }
            // The oldest records were overwritten meanwhile: go on with those that are left.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    lines
}

impl System {
    /// Reads what is below `root`, which is `/` but in tests. What cannot be read counts as not there.
    pub fn read(root: &Path) -> Self {
        let status = read(root.join("proc/self/status"));
        let field = |key: &str| {
            status
                .lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))
                .unwrap_or("")
        };
        let numbers =
            |text: &str| -> Vec<u32> { text.split_whitespace().flat_map(str::parse).collect() };
        // Real, effective, saved, file system.
        let uid = numbers(field("Uid")).get(1).copied().unwrap_or(0);
        let mut groups = numbers(field("Groups"));
        groups.extend(numbers(field("Gid")).get(1));
        let mut system = Self {
            root: root.into(),
            kernel: read(root.join("proc/sys/kernel/osrelease")),
            command_line: read(root.join("proc/cmdline")),
            has_amdgpu: root.join("sys/module/amdgpu").exists(),
            has_kfd: root.join("sys/devices/virtual/kfd/kfd").exists(),
            uid,
            user: None,
            groups,
            seccomp: field("Seccomp").trim() == "2",
            container: container(root),
            log: kernel_log(&root.join("dev/kmsg")),
            pci: pci::list(root),
            nodes: Vec::new(),
        };
        system.user = system.user_name(uid);
        system.nodes = system.kfd_nodes();
        system
    }

    /// A device node, if it is there.
    pub fn device(&self, path: &str) -> Option<DeviceNode> {
        let data = fs::metadata(self.root.join(path.trim_start_matches('/'))).ok()?;
        Some(DeviceNode {
            mode: data.mode() & 0o7777,
            uid: data.uid(),
            gid: data.gid(),
            is_device: data.file_type().is_char_device(),
        })
    }

    /// The third or first field of a line of `/etc/group` or `/etc/passwd`.
    fn account(&self, file: &str, id: u32) -> Option<Vec<String>> {
        let text = read(self.root.join(file));
        text.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            (fields.get(2)?.parse() == Ok(id))
                .then(|| fields.iter().map(|f| String::from(*f)).collect())
        })
    }

    fn user_name(&self, uid: u32) -> Option<String> {
        self.account("etc/passwd", uid)?.into_iter().next()
    }

    /// A group's name.
    pub fn group_name(&self, gid: u32) -> Option<String> {
        self.account("etc/group", gid)?.into_iter().next()
    }

    /// Whether `/etc/group` lists this process's user as a member.
    pub fn is_listed_member(&self, gid: u32) -> bool {
        let members = self
            .account("etc/group", gid)
            .and_then(|f| f.get(3).cloned());
        match (&self.user, members) {
            (Some(user), Some(members)) => members.split(',').any(|member| member == user),
            _ => false,
        }
    }

    /// Whether permission bits let this process open a node for reading and writing.
    pub fn may_open(&self, node: &DeviceNode) -> bool {
        let bits = if self.uid == 0 {
            return true;
        } else if node.uid == self.uid {
            node.mode >> 6
        } else if self.groups.contains(&node.gid) {
            node.mode >> 3
        } else {
            node.mode
        };
        bits & 6 == 6
    }

    fn kfd_nodes(&self) -> Vec<KfdNode> {
        let nodes = self.root.join("sys/devices/virtual/kfd/kfd/topology/nodes");
        let entries = fs::read_dir(nodes).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| {
                let text = read(entry.path().join("properties"));
                let number = |key: &str| {
                    text.lines()
                        .find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.parse().ok())
                };
                (number("simd_count")? != 0u64).then_some(KfdNode {
                    domain: number("domain").unwrap_or(0),
                    location: number("location_id")?,
                })
            })
            .collect()
    }

    /// Whether the kernel's log says something of the KFD.
    pub fn logs(&self, text: &str) -> bool {
        self.log.iter().any(|line| line.contains(text))
    }

    /// Whether the driver lists a GPU of the bus.
    pub fn has_node(&self, gpu: &PciGpu) -> bool {
        self.nodes
            .iter()
            .any(|node| (node.domain, node.location) == (gpu.domain, gpu.location))
    }
}

/// What kind of container this is, by the marks that the usual ones leave.
fn container(root: &Path) -> Option<String> {
    if root.join(".dockerenv").exists() {
        return Some("docker".into());
    }
    if root.join("run/.containerenv").exists() {
        return Some("podman".into());
    }
    if root.join("var/run/secrets/kubernetes.io").exists() {
        return Some("kubernetes".into());
    }
    if root.join("singularity.d").exists() || root.join(".singularity.d").exists() {
        return Some("apptainer".into());
    }
    let name = read(root.join("run/systemd/container"));
    (!name.is_empty()).then_some(name)
}
