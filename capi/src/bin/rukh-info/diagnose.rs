//! From what went wrong and what the machine says to what it means and what to do about it.

use crate::finding::Finding;
use crate::pci::PciGpu;
use crate::system::{DeviceNode, System};
use rukh_backend_linux_kfd::OpenError;
use rukh_core::backend::{SkipReason, SkippedAgent};
use rukh_core::isa::PROCESSORS;
use rukh_core::kfd::PortError;

/// The driver's device.
const KFD: &str = "/dev/kfd";

const EPERM: i32 = 1;
const ENXIO: i32 = 6;
const ENOMEM: i32 = 12;
const EACCES: i32 = 13;
const ENODEV: i32 = 19;
const ENOENT: i32 = 2;
const ENOTTY: i32 = 25;

/// The oldest kernel whose topology tells processors apart (`gfx_target_version`).
const TARGET_VERSION_SINCE: &str = "Linux 5.13";

/// What to start a container with.
const GIVE_DEVICES: &str = "start the container with the devices: --device=/dev/kfd --device=/dev/dri (docker, podman), \
     the AMD GPU device plugin (Kubernetes), --rocm (apptainer)";

/// Why the driver could not be opened.
pub fn open_error(error: &OpenError, system: &System) -> Finding {
    match error {
        OpenError::NoDevice => no_device(system),
        OpenError::NoPermission { errno } => cannot_open(KFD, *errno, system),
        OpenError::Version { major, minor } => Finding::new(
            "interface-version",
            format!("the kernel speaks KFD {major}.{minor}, and interface 1.x is needed"),
        )
        .advise_if(
            *major < 1,
            format!("this kernel ({}) is too old: Linux 4.19 or later has 1.x", system.kernel),
        )
        .advise_if(*major > 1, "this library is too old for the kernel: use a later one"),
        OpenError::Port(PortError::File { path, errno }) => cannot_open(path, *errno, system),
        OpenError::Port(PortError::Ioctl { name, errno: ENOTTY }) => Finding::new(
            "not-a-kfd",
            format!("{KFD} does not know the ioctl {name}: it is not the amdgpu driver's device"),
        )
        .advise("a file of that name was made by hand: remove it, then: modprobe amdgpu"),
        OpenError::Port(PortError::Ioctl { name, errno: errno @ (EPERM | EACCES) }) => Finding::new(
            "ioctl-refused",
            format!("{KFD} can be opened, but its ioctl {name} is refused (errno {errno})"),
        )
        .advise_if(
            system.seccomp,
            "a seccomp filter is on: allow ioctl, or try --security-opt seccomp=unconfined",
        )
        .advise("a security module may refuse it: see the kernel's log for SELinux or AppArmor denials"),
        OpenError::Port(error) => Finding::new("driver-failed", format!("{KFD} cannot be used: {error}"))
            .advise("the kernel's log says more: dmesg | grep -iE 'kfd|amdgpu'"),
        OpenError::Topology(error) => Finding::new(
            "no-topology",
            format!("the driver is there, and its topology cannot be read: {error}"),
        )
        .advise("/sys must be mounted and readable, also in a container (sysfs, read-only is enough)")
        .advise_if(
            system.seccomp,
            "a seccomp filter is on: it must allow openat, read and getdents64",
        ),
        OpenError::Generation | OpenError::Unstable => {
            Finding::new("no-topology", format!("the driver's topology makes no sense: {error}"))
                .advise("try again; a GPU that keeps being reset shows in the kernel's log: dmesg | grep amdgpu")
        }
    }
}

/// There is no `/dev/kfd`.
fn no_device(system: &System) -> Finding {
    let in_container = system.container.as_deref();
    if system.has_kfd {
        // The kernel has it; this process's /dev does not.
        let what = match in_container {
            Some(kind) => format!(
                "there is no {KFD} in this container ({kind}), and the kernel has the driver"
            ),
            None => format!("there is no {KFD}, and the kernel has the driver"),
        };
        return Finding::new("device-not-given", what)
            .advise(GIVE_DEVICES)
            .advise_if(
                in_container.is_none(),
                "outside of containers: is /dev a devtmpfs, and does udev run? udevadm trigger --name-match=kfd",
            );
    }
    if system.pci.is_empty() {
        return Finding::new(
            "no-gpu",
            format!("there is no {KFD}, and no AMD GPU on the PCI bus"),
        )
        .advise("a virtual machine must be given the GPU (PCI passthrough)")
        .advise_if(
            in_container.is_some(),
            "in a container the bus of the host is seen: this host has none",
        );
    }
    let gpus: Vec<&str> = system.pci.iter().map(|gpu| gpu.address.as_str()).collect();
    let gpus = gpus.join(", ");
    if system.has_amdgpu {
        return Finding::new(
            "kernel-without-kfd",
            format!("amdgpu is loaded without its compute part, for the GPUs at {gpus}"),
        )
        .advise(
            "the kernel was built without CONFIG_HSA_AMD: use a distribution's kernel or set it",
        )
        .advise("or the driver gave up: dmesg | grep -iE 'kfd|amdgpu'");
    }
    let nomodeset = system
        .command_line
        .split_whitespace()
        .any(|word| word == "nomodeset");
    let blacklist = system.command_line.split_whitespace().any(|word| {
        word.split_once('=').is_some_and(|(key, list)| {
            matches!(key, "modprobe.blacklist" | "module_blacklist")
                && list.split(',').any(|module| module == "amdgpu")
        })
    });
    Finding::new(
        "module-not-loaded",
        format!("the kernel module amdgpu is not loaded, and there are AMD GPUs at {gpus}"),
    )
    .advise_if(
        nomodeset,
        "the kernel was started with nomodeset, which keeps amdgpu away: take it off the boot loader's line",
    )
    .advise_if(
        blacklist,
        "the kernel's command line blacklists amdgpu: take that off the boot loader's line",
    )
    .advise("load it: sudo modprobe amdgpu")
    .advise("if that fails: install the firmware (firmware-amd-graphics, linux-firmware) and see dmesg | grep amdgpu")
}

/// A device node that cannot be opened.
fn cannot_open(path: &str, errno: i32, system: &System) -> Finding {
    let Some(node) = system.device(path) else {
        return match errno {
            EPERM | EACCES => Finding::new(
                "no-permission",
                format!("{path} may not be opened (errno {errno}), nor looked at"),
            )
            .advise("its folder must be readable and searchable: ls -ld /dev /dev/dri")
            .advise(GIVE_DEVICES),
            _ => Finding::new(
                "device-missing",
                format!("there is no {path} (errno {errno})"),
            )
            .advise(GIVE_DEVICES)
            .advise(
                "outside of containers: dmesg | grep amdgpu says why the driver did not make it",
            ),
        };
    };
    match errno {
        EPERM | EACCES => no_permission(path, errno, &node, system),
        ENXIO | ENODEV => Finding::new(
            "no-driver-behind-device",
            format!("{path} is there, and no driver behind it (errno {errno})"),
        )
        .advise("the node is left from before or from another kernel: sudo modprobe amdgpu, then look again")
        .advise_if(
            system.container.is_some(),
            "the container has the node and the host no driver: load amdgpu on the host",
        ),
        ENOMEM => Finding::new(
            "driver-out-of-memory",
            format!("the driver has no memory left to open {path} (errno {errno})"),
        )
        .advise("the kernel's log says of what: dmesg | grep -iE 'kfd|amdgpu'")
        .advise("limits of the process or its control group may be too low: ulimit -l, memory.max"),
        _ => Finding::new("cannot-open", format!("{path} cannot be opened (errno {errno})"))
            .advise("the kernel's log says more: dmesg | grep -iE 'kfd|amdgpu'"),
    }
}

fn no_permission(path: &str, errno: i32, node: &DeviceNode, system: &System) -> Finding {
    let who = system
        .user
        .clone()
        .unwrap_or_else(|| format!("the user with number {}", system.uid));
    if system.may_open(node) {
        // The permission bits allow it: somebody else refuses.
        let finding = Finding::new(
            "device-refused",
            format!(
                "{path} may be opened by its permissions, and the system refuses it (errno {errno})"
            ),
        );
        return if errno == EPERM {
            finding
                .advise("a device control group refuses it, as containers have them: giving only a bind mount of the node \
                         is not enough")
                .advise(GIVE_DEVICES)
                .advise("with systemd: DeviceAllow=/dev/kfd rw and DeviceAllow=char-drm rw in the unit")
        } else {
            finding
                .advise(
                    "a security module refuses it: ausearch -m avc, or dmesg | grep -i apparmor",
                )
                .advise("SELinux in containers: setsebool -P container_use_devices=true")
        };
    }
    let group = system.group_name(node.gid);
    let shown = group
        .clone()
        .unwrap_or_else(|| format!("the group with number {}", node.gid));
    let finding = Finding::new(
        "no-permission",
        format!(
            "{who} may not open {path} (errno {errno}): it belongs to {shown} (gid {}), mode {:03o}",
            node.gid, node.mode
        ),
    );
    if node.mode & 0o60 != 0o60 {
        return finding.advise(format!(
            "its group may not use it either: a udev rule is missing, such as \
             KERNEL==\"{}\", GROUP=\"render\", MODE=\"0660\" in /etc/udev/rules.d/70-amdgpu.rules",
            if path == KFD { "kfd" } else { "renderD*" }
        ));
    }
    if system.groups.contains(&node.gid) {
        return finding.advise(
            "this process is in that group, and the owner's permissions count first: chmod u+rw",
        );
    }
    if system.container.is_some() || group.is_none() {
        return finding
            .advise(format!(
                "in a container, give the process the group by number: --group-add {} \
                 (rootless podman: --group-add keep-groups)",
                node.gid
            ))
            .advise(
                "names of groups inside of a container need not be the host's: the number counts",
            );
    }
    if system.is_listed_member(node.gid) {
        return finding.advise(format!(
            "{who} is in {shown}, but this session began before: log out and in again, or: newgrp {shown}"
        ));
    }
    finding.advise(format!(
        "{who} is not in {shown}: sudo usermod -a -G {shown} {}, then log out and in again",
        system.user.as_deref().unwrap_or("USER")
    ))
}

/// Why a GPU of the topology cannot be used.
pub fn skipped(skip: &SkippedAgent, system: &System) -> Finding {
    let finding = match &skip.reason {
        SkipReason::CannotOpen { path, errno } if path.contains("/topology/") => {
            let what = format!("{path} cannot be read (errno {errno})");
            if matches!(*errno, EPERM | EACCES) {
                Finding::new("hidden-by-container", what)
                    .advise("a device control group hides this GPU from the container: wanted if it was started with only \
                             some of the render nodes; otherwise --device=/dev/dri gives all of them")
            } else {
                Finding::new("topology-unreadable", what)
                    .advise("the GPU went away meanwhile, or /sys is not all there: look again")
            }
        }
        // The driver's own refusals: the path has the call's name.
        SkipReason::CannotOpen { path, errno } if path.starts_with("/dev/kfd:") => {
            Finding::new("driver-failed", format!("{path} failed (errno {errno})"))
                .advise("the kernel's log says more: dmesg | grep -iE 'kfd|amdgpu'")
        }
        SkipReason::CannotOpen { path, errno } => {
            if *errno == ENOENT && system.device(path).is_none() {
                Finding::new(
                    "render-node-missing",
                    format!("there is no {path}, which this GPU needs"),
                )
                .advise(GIVE_DEVICES)
            } else {
                cannot_open(path, *errno, system)
            }
        }
        SkipReason::UnknownProcessor { gfx_target_version } => {
            let (major, rest) = (gfx_target_version / 10_000, gfx_target_version % 10_000);
            let names: Vec<&str> = PROCESSORS
                .iter()
                .map(|processor| processor.name)
                .filter(|name| !name.contains("generic"))
                .collect();
            Finding::new(
                "unknown-processor",
                format!(
                    "its processor gfx{major}{:x}{:x} is not one that this library knows",
                    rest / 100,
                    rest % 100
                ),
            )
            .advise(format!("known are {}", names.join(", ")))
            .advise("a later version may know it; a new processor is one row of a table (CONTRIBUTING.md)")
        }
        SkipReason::BadProperty { key, value: None } if key == "gfx_target_version" => {
            Finding::new(
                "kernel-too-old",
                "the kernel does not say which processor it is (no gfx_target_version)",
            )
            .advise(format!(
                "this kernel ({}) is too old: {TARGET_VERSION_SINCE} or later says it",
                system.kernel
            ))
        }
        SkipReason::BadProperty { key, value } => {
            let value = value.map_or_else(|| "missing or no number".into(), |v| v.to_string());
            Finding::new("bad-property", format!("its property {key} is {value}"))
                .advise("the driver tells what cannot be: please report it, with a recording (RUKH_TRACE=kfd:FILE)")
        }
        SkipReason::Unsupported { what } => {
            Finding::new("unsupported", format!("not supported: {what}")).advise_if(
                what.contains("before GFX9"),
                "GPUs from Vega on can be used; older ones never will",
            )
        }
    };
    Finding {
        what: format!("node {}: {}", skip.node, finding.what),
        ..finding
    }
}

/// GPUs that are on the bus and of which the driver's topology says nothing. With `hidden` nodes that this process may
/// not read, they may be those.
pub fn missing_nodes(system: &System, hidden: bool) -> Vec<Finding> {
    system
        .pci
        .iter()
        .filter(|gpu| !system.has_node(gpu))
        .filter(|gpu| !(hidden && gpu.driver.as_deref() == Some("amdgpu")))
        .map(|gpu| missing_node(gpu, system))
        .collect()
}

/// Whether the kernel's log tells that atomics do not reach a GPU.
fn atomics_by_log(gpu: &PciGpu, system: &System) -> Option<bool> {
    let device = format!("1002:{:x}, PCI rejects atomics", gpu.device);
    system.logs(&device).then_some(false)
}

fn missing_node(gpu: &PciGpu, system: &System) -> Finding {
    let place = format!("the GPU at {} (device {:#06x})", gpu.address, gpu.device);
    let log = format!(
        "the kernel's log says which: dmesg | grep -E 'kfd.*{:x}'",
        gpu.device
    );
    match gpu.driver.as_deref() {
        None => Finding::new("no-driver", format!("{place} has no driver"))
            .advise("sudo modprobe amdgpu; if it is loaded, it does not know this GPU, or its firmware is not installed"),
        Some("vfio-pci") => Finding::new("given-to-a-virtual-machine", format!("{place} is held by vfio-pci"))
            .advise("it is set aside for a virtual machine: take it out of vfio's list to use it here"),
        Some("amdgpu") => match (gpu.core, gpu.atomics.or(atomics_by_log(gpu, system))) {
            (core, atomics)
                if core.is_some_and(|(major, ..)| major < 9)
                    || atomics != Some(false) && system.logs("not supported in kfd") =>
            {
                let core = core.map_or_else(String::new, |(major, minor, _)| {
                    format!(" (graphics core {major}.{minor})")
                });
                Finding::new(
                    "unsupported-asic",
                    format!("{place} is not one that the driver's compute part supports{core}"),
                )
                .advise("GPUs from Vega on can be used; a newer one may need a later kernel")
            }
            (_, Some(false)) => Finding::new(
                "no-pcie-atomics",
                format!("{place} is left out by the driver: PCIe atomics do not reach it"),
            )
            .advise("every bridge between processor and GPU must route them: use a slot of the processor, \
                     not one behind the chipset, a riser or a Thunderbolt enclosure")
            .advise("in a virtual machine: a q35 machine with the GPU on a pcie-root-port, not on a PCI bridge")
            .advise("sudo lspci -vvv | grep -i atomic shows where they end"),
            _ => Finding::new(
                "left-out-by-driver",
                format!("{place} has amdgpu, and no node in its compute part"),
            )
            .advise("either PCIe atomics do not reach it (\"PCI rejects atomics\"), or the compute part does not \
                     support this GPU (\"not supported in kfd\")")
            .advise(log),
        },
        Some(driver) => Finding::new("other-driver", format!("{place} is held by the driver {driver}"))
            .advise(format!("compute needs amdgpu: unload {driver}, load amdgpu")),
    }
}
