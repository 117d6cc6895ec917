//! The disassembly of every committed code object against that of `llvm-objdump`: the same instructions at the same
//! addresses, in mnemonic and operands.
//!
//! Needs `llvm-objdump-22` (package llvm-22).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders of code objects, from the repository's.
const FOLDERS: [&str; 3] = [
    "tests/golden/objects",
    "tests/triton/objects",
    "backend-sim/tests/data",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn objects() -> Vec<PathBuf> {
    let mut objects = Vec::new();
    for folder in FOLDERS {
        let entries = std::fs::read_dir(root().join(folder)).expect(folder);
        objects.extend(
            entries
                .map(|entry| entry.expect(folder).path())
                .filter(|path| {
                    let name = path.to_string_lossy();
                    // Version 2 is not loaded here.
                    (name.ends_with(".co") || name.ends_with(".hsaco")) && !name.ends_with("-v2.co")
                }),
        );
    }
    objects.sort();
    objects
}

fn output(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error} (package llvm-22)"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

/// Instructions by address, from lines such as `\ts_nop 0  // 000000001998: BF800000`.
fn instructions(listing: &str) -> BTreeMap<u64, String> {
    let mut all = BTreeMap::new();
    for line in listing.lines() {
        let Some((text, rest)) = line.split_once("//") else {
            continue;
        };
        let Some((address, _)) = rest.split_once(':') else {
            continue;
        };
        let address = u64::from_str_radix(address.trim(), 16).expect("an address");
        let text: Vec<&str> = text.split_whitespace().collect();
        all.insert(address, text.join(" "));
    }
    all
}

#[test]
fn committed_code_objects_read_as_llvm_objdump_reads_them() {
    let objects = objects();
    assert!(objects.len() >= 25, "{} objects", objects.len());
    let (mut compared, mut different) = (0, Vec::new());
    for path in &objects {
        let ours = output(
            Command::new(env!("CARGO_BIN_EXE_rukh-sim"))
                .arg("disasm")
                .arg(path),
        );
        let gfx11 = ours
            .lines()
            .next()
            .is_some_and(|line| line.contains("gfx11") || line.contains("gfx12"));
        let mut attributes = Vec::new();
        if path.to_string_lossy().contains("w64") {
            attributes.push("+wavefrontsize64");
        }
        if gfx11 {
            // Halves of registers by name, as the encodings have them.
            attributes.push("+real-true16");
        }
        let mut command = Command::new("llvm-objdump-22");
        command.arg("-d");
        if !attributes.is_empty() {
            command.arg(format!("--mattr={}", attributes.join(",")));
        }
        let theirs = output(command.arg(path));
        let (ours, theirs) = (instructions(&ours), instructions(&theirs));
        assert!(theirs.len() > 5, "{}: {}", path.display(), theirs.len());
        for (address, text) in &theirs {
            compared += 1;
            if ours.get(address) != Some(text) {
                let here = ours.get(address).map_or("nothing", |text| text);
                different.push(format!(
                    "{} {address:#x}: LLVM `{text}`, here `{here}`",
                    path.display()
                ));
            }
        }
    }
    println!("{compared} instructions of {} code objects", objects.len());
    let first = different
        .iter()
        .take(20)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    assert!(
        different.is_empty(),
        "{} of {compared} differ:\n{first}",
        different.len()
    );
}
