//! Each diagnosis, from machines made of files and drivers that refuse.

use crate::diagnose;
use crate::finding::Finding;
use crate::look::driver_report;
use crate::report::Report;
use crate::system::System;
use rukh_backend_linux_kfd::{KfdBackend, OpenError};
use rukh_backend_sim::kfd::KfdFace;
use rukh_core::backend::{SkipReason, SkippedAgent};
use rukh_core::kfd::{KfdFile, KfdPort, Mapping, PortError};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const EPERM: i32 = 1;
const ENOENT: i32 = 2;
const ENXIO: i32 = 6;
const EACCES: i32 = 13;

/// A machine in a folder.
struct Machine {
    root: PathBuf,
}

impl Machine {
    /// A user named `someone` without groups, and nothing else.
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "rukh-info-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let machine = Self {
            root: std::env::temp_dir().join(name),
        };
        machine
            .file("proc/sys/kernel/osrelease", "6.1.0-test\n")
            .file(
                "proc/self/status",
                "Uid:\t54321\t54321\t54321\t54321\nGid:\t54322\t54322\nGroups:\t54322 54323 \n",
            )
            .file(
                "etc/passwd",
                "root:x:0:0::/:/bin/sh\nsomeone:x:54321:54322::/:/bin/sh\n",
            )
    }

    fn file(self, path: &str, text: &str) -> Self {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn mode(self, path: &str, mode: u32) -> Self {
        fs::set_permissions(self.root.join(path), fs::Permissions::from_mode(mode)).unwrap();
        self
    }

    /// A GPU on the bus.
    fn gpu(self, address: &str, driver: Option<&str>) -> Self {
        let base = format!("sys/bus/pci/devices/{address}");
        let machine = self
            .file(&format!("{base}/vendor"), "0x1002\n")
            .file(&format!("{base}/device"), "0x738c\n")
            .file(&format!("{base}/class"), "0x038000\n");
        if let Some(driver) = driver {
            let target = format!("../../../bus/pci/drivers/{driver}");
            symlink(target, machine.root.join(&base).join("driver")).unwrap();
        }
        machine
    }

    /// `/dev/kfd` as a file of this test's own group, called `group`, with members.
    fn device(self, mode: u32, group: &str, members: &str) -> Self {
        let machine = self.file("dev/kfd", "");
        let gid = fs::metadata(machine.root.join("dev/kfd")).unwrap().gid();
        machine.mode("dev/kfd", mode).file(
            "etc/group",
            &format!("other:x:7:\n{group}:x:{gid}:{members}\n"),
        )
    }

    fn read(&self) -> System {
        System::read(&self.root)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn assert_says(finding: &Finding, code: &str, words: &[&str]) {
    assert_eq!(finding.code, code, "{finding}");
    assert!(!finding.advice.is_empty(), "advice for {finding}");
    let text = finding.to_string();
    for word in words {
        assert!(text.contains(word), "{word} in {text}");
    }
}

fn refused(machine: &Machine, errno: i32) -> Finding {
    diagnose::open_error(&OpenError::NoPermission { errno }, &machine.read())
}

#[test]
fn without_a_device_the_machine_says_why() {
    let no_device = |machine: &Machine| diagnose::open_error(&OpenError::NoDevice, &machine.read());
    assert_says(&no_device(&Machine::new()), "no-gpu", &["no AMD GPU"]);

    let bare = Machine::new().gpu("0000:03:00.0", None);
    assert_says(
        &no_device(&bare),
        "module-not-loaded",
        &["0000:03:00.0", "modprobe amdgpu", "firmware"],
    );
    assert!(!no_device(&bare).to_string().contains("nomodeset"));
    let bare = bare.file(
        "proc/cmdline",
        "quiet nomodeset modprobe.blacklist=nouveau,amdgpu\n",
    );
    assert_says(
        &no_device(&bare),
        "module-not-loaded",
        &["nomodeset", "blacklists"],
    );

    let loaded = Machine::new()
        .gpu("0000:03:00.0", Some("amdgpu"))
        .file("sys/module/amdgpu/initstate", "live\n");
    assert_says(
        &no_device(&loaded),
        "kernel-without-kfd",
        &["CONFIG_HSA_AMD"],
    );

    let container = loaded
        .file("sys/devices/virtual/kfd/kfd/topology/generation_id", "2\n")
        .file("run/.containerenv", "");
    assert_says(
        &no_device(&container),
        "device-not-given",
        &["podman", "--device=/dev/kfd --device=/dev/dri"],
    );
}

#[test]
fn who_may_not_open_the_device_learns_its_group_and_how_to_join() {
    let outside = Machine::new().device(0o660, "render", "");
    assert_says(
        &refused(&outside, EACCES),
        "no-permission",
        &[
            "someone may not open /dev/kfd",
            "belongs to render",
            "usermod -a -G render someone",
        ],
    );
    let listed = Machine::new().device(0o660, "video", "another,someone");
    assert_says(
        &refused(&listed, EACCES),
        "no-permission",
        &["log out and in", "newgrp video"],
    );
    let nobody = Machine::new().device(0o600, "root", "");
    assert_says(
        &refused(&nobody, EACCES),
        "no-permission",
        &["udev rule", "mode 600"],
    );

    let container = Machine::new()
        .device(0o660, "render", "")
        .file(".dockerenv", "");
    let gid = container.read().device("/dev/kfd").unwrap().gid;
    assert_says(&refused(&container, EACCES), "no-permission", &["number"]);
    assert!(
        refused(&container, EACCES)
            .to_string()
            .contains(&format!("--group-add {gid}"))
    );
    let unnamed = Machine::new()
        .device(0o660, "render", "")
        .file("etc/group", "other:x:7:\n");
    assert_says(
        &refused(&unnamed, EACCES),
        "no-permission",
        &["--group-add", "number"],
    );
}

#[test]
fn a_device_that_permissions_allow_is_refused_by_somebody_else() {
    let open = Machine::new().device(0o666, "render", "");
    assert_says(
        &refused(&open, EPERM),
        "device-refused",
        &["control group", "--device=/dev/kfd"],
    );
    assert_says(&refused(&open, EACCES), "device-refused", &["SELinux"]);
}

#[test]
fn a_device_without_a_driver_behind_it_is_told_from_one_that_is_none() {
    let node = Machine::new().device(0o666, "render", "");
    let file = |errno| OpenError::Port(PortError::file("/dev/kfd", errno));
    let finding = diagnose::open_error(&file(ENXIO), &node.read());
    assert_says(&finding, "no-driver-behind-device", &["modprobe"]);
    let finding = diagnose::open_error(&file(12), &node.read());
    assert_says(&finding, "driver-out-of-memory", &["ulimit"]);
    let ioctl = |errno| {
        OpenError::Port(PortError::Ioctl {
            name: "GET_VERSION",
            errno,
        })
    };
    let finding = diagnose::open_error(&ioctl(25), &node.read());
    assert_says(&finding, "not-a-kfd", &["GET_VERSION", "by hand"]);
    let filtered = node.file("proc/self/status", "Uid: 5 5 5 5\nSeccomp:\t2\n");
    let finding = diagnose::open_error(&ioctl(EPERM), &filtered.read());
    assert_says(&finding, "ioctl-refused", &["seccomp=unconfined"]);
}

#[test]
fn a_gpu_that_the_driver_leaves_out_is_found_on_the_bus() {
    let only = |machine: &Machine| {
        let mut findings = diagnose::missing_nodes(&machine.read(), false);
        assert_eq!(findings.len(), 1, "{findings:?}");
        findings.remove(0)
    };
    let address = "0000:03:00.0";
    let base = format!("sys/bus/pci/devices/{address}");
    let amdgpu = || Machine::new().gpu(address, Some("amdgpu"));
    assert_says(
        &only(&amdgpu()),
        "left-out-by-driver",
        &[
            address,
            "PCI rejects atomics",
            "not supported in kfd",
            "kfd.*738c",
        ],
    );
    let mut config = vec![0u8; 256];
    (config[6], config[0x34], config[0x64]) = (0x10, 0x64, 0x10);
    let machine = amdgpu();
    fs::write(machine.root.join(&base).join("config"), &config).unwrap();
    assert_says(
        &only(&machine),
        "no-pcie-atomics",
        &[address, "chipset", "pcie-root-port"],
    );
    let log = "6,900,5000,-;kfd kfd: amdgpu: skipped device 1002:738c, PCI rejects atomics 730<0\n";
    assert_says(
        &only(&amdgpu().file("dev/kmsg", log)),
        "no-pcie-atomics",
        &[address],
    );
    let other = log.replace("738c", "738d");
    assert_says(
        &only(&amdgpu().file("dev/kmsg", &other)),
        "left-out-by-driver",
        &[address],
    );
    let log = "6,900,5000,-;kfd kfd: amdgpu: POLARIS11 not supported in kfd\n";
    assert_says(
        &only(&amdgpu().file("dev/kmsg", log)),
        "unsupported-asic",
        &[address],
    );
    let old = ["major", "minor", "revision"]
        .iter()
        .fold(amdgpu(), |machine, part| {
            machine.file(&format!("{base}/ip_discovery/die/0/GC/0/{part}"), "8\n")
        });
    assert_says(&only(&old), "unsupported-asic", &["Vega"]);
    assert_says(
        &only(&Machine::new().gpu(address, None)),
        "no-driver",
        &["modprobe"],
    );
    let passed = Machine::new().gpu(address, Some("vfio-pci"));
    assert_says(&only(&passed), "given-to-a-virtual-machine", &["vfio"]);
    let radeon = Machine::new().gpu(address, Some("radeon"));
    assert_says(&only(&radeon), "other-driver", &["radeon"]);

    let node = "sys/devices/virtual/kfd/kfd/topology/nodes/1/properties";
    let known = amdgpu().file(node, "simd_count 480\nlocation_id 768\ndomain 0\n");
    assert_eq!(diagnose::missing_nodes(&known.read(), false), []);
    assert_eq!(
        diagnose::missing_nodes(&amdgpu().read(), true),
        [],
        "it is the hidden one"
    );
    let nvidia = Machine::new()
        .gpu(address, None)
        .file(&format!("{base}/vendor"), "0x10de\n");
    assert_eq!(diagnose::missing_nodes(&nvidia.read(), false), []);
}

#[test]
fn every_reason_to_skip_a_gpu_has_its_advice() {
    let machine = Machine::new()
        .file("dev/dri/renderD128", "")
        .mode("dev/dri/renderD128", 0o660);
    let gid = fs::metadata(machine.root.join("dev/dri/renderD128"))
        .unwrap()
        .gid();
    let machine = machine.file("etc/group", &format!("video:x:{gid}:\n"));
    let system = machine.read();
    let skipped = |reason| diagnose::skipped(&SkippedAgent { node: 4, reason }, &system);
    let open = |path: &str, errno| {
        skipped(SkipReason::CannotOpen {
            path: path.try_into().unwrap(),
            errno,
        })
    };
    assert_says(
        &open("/dev/dri/renderD128", EACCES),
        "no-permission",
        &["node 4", "renderD128", "video"],
    );
    assert_says(
        &open("/dev/dri/renderD129", ENOENT),
        "render-node-missing",
        &["--device=/dev/dri"],
    );
    assert_says(
        &open(
            "/sys/devices/virtual/kfd/kfd/topology/nodes/4/gpu_id",
            EPERM,
        ),
        "hidden-by-container",
        &["control group"],
    );
    assert_says(
        &open("/dev/kfd: GET_PROCESS_APERTURES_NEW", 12),
        "driver-failed",
        &["dmesg"],
    );
    let unknown = skipped(SkipReason::UnknownProcessor {
        gfx_target_version: 130_501,
    });
    assert_says(&unknown, "unknown-processor", &["gfx1351", "gfx90a"]);
    let bad = |key: &str, value| {
        skipped(SkipReason::BadProperty {
            key: key.try_into().unwrap(),
            value,
        })
    };
    assert_says(
        &bad("gfx_target_version", None),
        "kernel-too-old",
        &["6.1.0-test", "5.13"],
    );
    assert_says(
        &bad("simd_count", Some(7)),
        "bad-property",
        &["simd_count is 7", "RUKH_TRACE"],
    );
    let old = SkipReason::Unsupported {
        what: "processors before GFX9",
    };
    assert_says(&skipped(old), "unsupported", &["Vega"]);
}

/// The software GPU's driver, with a refusal.
struct Broken {
    face: KfdFace,
    path: &'static str,
    errno: i32,
    version: Option<u8>,
}

impl Broken {
    fn new(path: &'static str, errno: i32) -> Self {
        Self {
            face: KfdFace::parse("gfx90a,gfx1100").unwrap(),
            path,
            errno,
            version: None,
        }
    }
}

// SAFETY: every call that is not refused is the face's; the version's argument is changed within its bytes.
unsafe impl KfdPort for Broken {
    fn open(&self, path: &str) -> Result<KfdFile, PortError> {
        if path == self.path {
            return Err(PortError::file(path, self.errno));
        }
        self.face.open(path)
    }
    fn close(&self, file: KfdFile) {
        self.face.close(file);
    }
    unsafe fn ioctl_raw(
        &self,
        file: KfdFile,
        request: u32,
        argument: &mut [u8],
    ) -> Result<(), i32> {
        // SAFETY: passed on as it came.
        unsafe { self.face.ioctl_raw(file, request, argument) }?;
        if let (1, Some(major)) = (request as u8, self.version) {
            argument[0] = major;
        }
        Ok(())
    }
    unsafe fn map(&self, mapping: &Mapping) -> Result<NonNull<u8>, PortError> {
        // SAFETY: passed on as it came.
        unsafe { self.face.map(mapping) }
    }
    unsafe fn unmap(&self, address: NonNull<u8>, size: usize) {
        // SAFETY: passed on as it came.
        unsafe { self.face.unmap(address, size) }
    }
    fn read_file(&self, path: &str, buffer: &mut [u8]) -> Result<usize, PortError> {
        if path == self.path {
            return Err(PortError::file(path, self.errno));
        }
        self.face.read_file(path, buffer)
    }
    fn list_directory(&self, path: &str, visit: &mut dyn FnMut(&str)) -> Result<(), PortError> {
        self.face.list_directory(path, visit)
    }
}

fn report(port: Broken) -> Report {
    let mut report = Report::default();
    let kfd = Arc::new(KfdBackend::open(port).unwrap());
    driver_report(
        &mut report,
        &kfd,
        &System::read(Path::new("/nowhere")),
        false,
    );
    report
}

#[test]
fn one_gpu_that_cannot_be_opened_costs_that_gpu_and_the_report_says_why() {
    let report = report(Broken::new("/dev/dri/renderD128", EACCES));
    assert_eq!(report.gpus(), 1);
    let text = report.to_string();
    assert!(
        text.contains("gfx1100") && !text.contains("gfx90a"),
        "{text}"
    );
    assert!(!text.contains("No GPU can be used"));
    assert_eq!(report.findings.len(), 1);
    assert_says(
        &report.findings[0],
        "no-permission",
        &["node 1", "renderD128"],
    );
}

#[test]
fn a_gpu_that_a_container_hides_is_told_from_one_that_is_not_there() {
    const HIDDEN: &str = "/sys/devices/virtual/kfd/kfd/topology/nodes/2/gpu_id";
    let report = report(Broken::new(HIDDEN, EPERM));
    assert_eq!(report.gpus(), 1);
    assert_says(&report.findings[0], "hidden-by-container", &["node 2"]);
    let json = report.json().to_string();
    assert!(
        json.contains(r#""usable_gpus": 1"#) && json.contains(r#""code": "hidden-by-container""#)
    );
}

#[test]
fn another_major_version_is_told_with_the_side_that_is_too_old() {
    let system = Machine::new().read();
    for (major, side) in [(0, "6.1.0-test"), (2, "library is too old")] {
        let port = Broken {
            version: Some(major),
            ..Broken::new("", 0)
        };
        let error = KfdBackend::open(port).unwrap_err();
        assert_says(
            &diagnose::open_error(&error, &system),
            "interface-version",
            &[side],
        );
    }
}

#[test]
fn a_topology_that_cannot_be_read_is_no_missing_device() {
    const GENERATION: &str = "/sys/devices/virtual/kfd/kfd/topology/generation_id";
    let error = KfdBackend::open(Broken::new(GENERATION, EACCES)).unwrap_err();
    let finding = diagnose::open_error(&error, &Machine::new().read());
    assert_says(&finding, "no-topology", &["/sys must be mounted"]);
}
