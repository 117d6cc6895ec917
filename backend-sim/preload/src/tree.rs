//! Which paths are ours, and what is there.

use crate::machine::machine;
use core::ffi::c_int;
use rukh_backend_sim::kfd::{FaceDevice, KfdFace};
use rukh_core::kfd::KfdPort;
use std::fmt::Write;

/// Major numbers: the DRM's, and one that kernels give to KFD.
const DRM_MAJOR: u32 = 226;
const KFD_MAJOR: u32 = 243;

/// What is at a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Node {
    /// A character device, by its numbers.
    Device(u32, u32),
    /// A file and its text.
    File(String),
    /// A directory and the names in it.
    Directory(Vec<String>),
}

/// Directories of the sysfs under which all is ours.
const KFD_ROOTS: [&str; 2] = ["/sys/devices/virtual/kfd", "/sys/class/kfd"];
const DRM_CLASS: &str = "/sys/class/drm";
const DRM_NUMBERS: &str = "/sys/dev/char/226:";
const MODULE: &str = "/sys/module/amdgpu";
const MODULES: &str = "/proc/modules";

/// The rest of a path below a directory; empty for itself.
fn below<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(directory)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

fn is_ours(path: &str) -> bool {
    path == "/dev/kfd"
        || path == MODULES
        || path.starts_with(DRM_NUMBERS)
        || KFD_ROOTS
            .iter()
            .chain(&["/dev/dri", DRM_CLASS, MODULE])
            .any(|root| below(path, root).is_some())
}

/// A path without doubled slashes, dots and slashes at its end, if it can be ours: it is absolute.
fn normalize(path: &str) -> Option<String> {
    if !["/dev", "/sys", "/proc"]
        .iter()
        .any(|p| path.starts_with(p))
    {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Some(
        parts
            .iter()
            .fold(String::new(), |path, part| path + "/" + part),
    )
}

/// What is at an absolute path, with the path as it is properly written; `None` if it is not for us to say.
pub(crate) fn find(path: &str) -> Option<(String, Result<Node, c_int>)> {
    let path = normalize(path)?;
    if !is_ours(&path) {
        return None;
    }
    let node = if path == MODULES {
        // Without a machine the host's modules are what there is.
        Ok(Node::File(modules(machine().is_ok())))
    } else {
        machine().and_then(|machine| node(&machine.face, &path).ok_or(libc::ENOENT))
    };
    Some((path, node))
}

/// Whether a name in a directory of ours is a directory.
pub(crate) fn kind(directory: &str, name: &str) -> Option<Node> {
    let face = &machine().ok()?.face;
    node(face, &format!("{directory}/{name}"))
}

fn modules(ours: bool) -> String {
    let host = std::fs::read_to_string(MODULES).unwrap_or_default();
    if !ours || host.lines().any(|line| line.starts_with("amdgpu ")) {
        return host;
    }
    format!("amdgpu {MODULE_BYTES} 0 - Live 0x0000000000000000\n{host}")
}

const MODULE_BYTES: u32 = 0x40_0000;

fn file(text: impl Into<String>) -> Option<Node> {
    let mut text = text.into();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Some(Node::File(text))
}

fn directory<T: Into<String>>(names: impl IntoIterator<Item = T>) -> Option<Node> {
    Some(Node::Directory(names.into_iter().map(T::into).collect()))
}

fn render_names(face: &KfdFace) -> impl Iterator<Item = String> + '_ {
    face.devices()
        .map(|device| format!("renderD{}", device.render_minor))
}

fn render<'a>(face: &'a KfdFace, minor: &str) -> Option<FaceDevice<'a>> {
    face.devices()
        .find(|device| device.render_minor.to_string() == minor)
}

fn node(face: &KfdFace, path: &str) -> Option<Node> {
    if path == "/dev/kfd" {
        return Some(Node::Device(KFD_MAJOR, 0));
    }
    if let Some(rest) = below(path, "/dev/dri") {
        return match rest.strip_prefix("/renderD") {
            None if rest.is_empty() => directory(render_names(face)),
            None => None,
            Some(minor) => Some(Node::Device(DRM_MAJOR, render(face, minor)?.render_minor)),
        };
    }
    if let Some(rest) = KFD_ROOTS.iter().find_map(|root| below(path, root)) {
        return kfd(face, path, rest);
    }
    if let Some(rest) = path.strip_prefix(DRM_NUMBERS) {
        let (minor, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        return drm(&render(face, minor)?, rest);
    }
    if let Some(rest) = below(path, DRM_CLASS) {
        let Some(rest) = rest.strip_prefix("/renderD") else {
            return if rest.is_empty() {
                directory(render_names(face))
            } else {
                None
            };
        };
        let (minor, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        return drm(&render(face, minor)?, rest);
    }
    match below(path, MODULE)? {
        "" => directory(["coresize", "holders", "initstate", "refcnt", "taint"]),
        "/coresize" => file(MODULE_BYTES.to_string()),
        "/holders" => directory([""; 0]),
        "/initstate" => file("live"),
        "/refcnt" => file("0"),
        "/taint" => file(""),
        _ => None,
    }
}

/// What is below a root of KFD's.
fn kfd(face: &KfdFace, path: &str, rest: &str) -> Option<Node> {
    match rest {
        "" => return directory(["kfd"]),
        "/kfd" => return directory(["dev", "topology", "uevent"]),
        "/kfd/dev" => return file(format!("{KFD_MAJOR}:0")),
        "/kfd/uevent" => return file(format!("MAJOR={KFD_MAJOR}\nMINOR=0\nDEVNAME=kfd")),
        _ => drop(rest.strip_prefix("/kfd/topology")?),
    }
    let mut names = Vec::new();
    if face
        .list_directory(path, &mut |name| names.push(name.to_owned()))
        .is_ok()
    {
        return Some(Node::Directory(names));
    }
    let mut bytes = vec![0; 16 << 10];
    let length = face.read_file(path, &mut bytes).ok()?;
    Some(Node::File(
        String::from_utf8_lossy(bytes.get(..length)?).into_owned(),
    ))
}

/// What a render node's directory has.
fn drm(device: &FaceDevice<'_>, rest: &str) -> Option<Node> {
    let (minor, info) = (device.render_minor, device.info);
    let bus = info.location_id >> 8;
    match rest {
        "" => directory(["dev", "device", "uevent"]),
        "/dev" => file(format!("{DRM_MAJOR}:{minor}")),
        "/uevent" => file(format!(
            "MAJOR={DRM_MAJOR}\nMINOR={minor}\nDEVNAME=dri/renderD{minor}\nDEVTYPE=drm_minor"
        )),
        "/device" => directory([
            "class",
            "device",
            "drm",
            "numa_node",
            "revision",
            "subsystem_device",
            "subsystem_vendor",
            "uevent",
            "vendor",
        ]),
        "/device/drm" => directory([format!("renderD{minor}")]),
        "/device/class" => file("0x038000"),
        "/device/vendor" | "/device/subsystem_vendor" => file(format!("{:#06x}", info.vendor_id)),
        "/device/device" | "/device/subsystem_device" => file(format!("{:#06x}", info.device_id)),
        "/device/revision" => file(format!("{:#04x}", device.profile.pci_revision)),
        "/device/numa_node" => file("0"),
        "/device/uevent" => {
            let mut text = String::from("DRIVER=amdgpu\nPCI_CLASS=38000\n");
            let (vendor, id) = (info.vendor_id, info.device_id);
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "PCI_ID={vendor:04X}:{id:04X}\nPCI_SUBSYS_ID={vendor:04X}:{id:04X}"
            );
            let _ = writeln!(text, "PCI_SLOT_NAME={:04x}:{bus:02x}:00.0", info.domain);
            file(text)
        }
        _ => {
            let inner = rest
                .strip_prefix("/device/drm/renderD")?
                .strip_prefix(&minor.to_string())?;
            // The directory that this one is reached from; it leads to itself once, not for ever.
            if inner.starts_with("/device") {
                return None;
            }
            match drm(device, inner)? {
                Node::Directory(names) => {
                    directory(names.into_iter().filter(|name| name != "device"))
                }
                node => Some(node),
            }
        }
    }
}
