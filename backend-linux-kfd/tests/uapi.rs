//! The ioctl table against the kernel's own header, by a C program that includes it.

use rukh_core::kfd::uapi::{IOCTLS, IoctlInfo};
use std::fmt::Write as _;
use std::process::Command;

/// Debian 12's header ends at interface 1.11, and its queue structure lacks the engine id of 1.17.
const HEADER_MINOR: u32 = 11;

fn in_header(info: &&IoctlInfo) -> bool {
    info.since_minor <= HEADER_MINOR
}

#[test]
fn numbers_sizes_and_offsets_are_those_of_the_kernel_header() {
    let mut source = String::from(
        "#include <stdio.h>\n#include <stddef.h>\n#include <linux/kfd_ioctl.h>\nint main(void) {\n",
    );
    let mut expected = String::new();
    for info in IOCTLS.iter().filter(in_header) {
        let newer = info.name == "CREATE_QUEUE";
        if !newer {
            writeln!(
                source,
                "printf(\"{0} %#x %zu\\n\", (unsigned)AMDKFD_IOC_{0}, sizeof(struct {1}));",
                info.name, info.c_struct
            )
            .unwrap();
            writeln!(expected, "{} {:#x} {}", info.name, info.request, info.size).unwrap();
        }
        for (field, offset) in info.fields {
            if newer && ["sdma_engine_id", "pad"].contains(field) {
                continue;
            }
            writeln!(
                source,
                "printf(\"{0}.{1} %zu\\n\", offsetof(struct {0}, {1}));",
                info.c_struct, field
            )
            .unwrap();
            writeln!(expected, "{}.{field} {offset}", info.c_struct).unwrap();
        }
    }
    source.push_str("return 0; }\n");

    let directory = std::env::temp_dir().join(format!("rukh-uapi-{}", std::process::id()));
    // Debian keeps the DRM headers elsewhere (libdrm-dev); of them this header needs the types alone.
    std::fs::create_dir_all(directory.join("drm")).unwrap();
    std::fs::write(directory.join("drm/drm.h"), "#include <linux/types.h>\n").unwrap();
    let (c, program) = (directory.join("probe.c"), directory.join("probe"));
    std::fs::write(&c, source).unwrap();
    let built = Command::new("cc")
        .arg("-I")
        .arg(&directory)
        .arg(&c)
        .arg("-o")
        .arg(&program)
        .status();
    assert!(
        built.expect("a C compiler as cc is needed").success(),
        "the probe does not compile: is linux-libc-dev installed?"
    );
    let output = Command::new(&program).output().unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}
