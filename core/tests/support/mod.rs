//! What the integration tests share: the committed code objects and LLVM's tools.
#![allow(dead_code, reason = "each test binary uses a part of this")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io::Write};

/// The code objects of `data/linked.cl`; see `data/build.sh`.
pub const LINKED: [&str; 5] = [
    "linked-gfx906-v3",
    "linked-gfx90a-v4",
    // Has its relocations in DT_REL, with addends in place.
    "linked-gfx942-v4",
    "linked-gfx1100-v5",
    "linked-gfx11-generic-v6",
];

/// All of them.
pub const ALL: [&str; 7] = [
    "linked-gfx906-v3",
    "linked-gfx90a-v4",
    "linked-gfx942-v4",
    "linked-gfx1100-v5",
    "linked-gfx11-generic-v6",
    "hidden-gfx900-v4",
    "hidden-gfx803-v5",
];

pub fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
        .with_extension("co")
}

pub fn bytes(name: &str) -> Vec<u8> {
    fs::read(path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Runs a tool with `input`; gives its output, or its error text if it fails.
pub fn run(tool: &str, args: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
    let mut child = Command::new(tool)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("these tests need {tool} (Debian: clang-19, llvm-19): {e}"));
    let mut stdin = child.stdin.take().expect("stdin is piped");
    // A tool that rejects its arguments does not read its input.
    let _ = stdin.write_all(input);
    drop(stdin);
    let output = child.wait_with_output().expect("the tool runs");
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Output of `llvm-readelf-19` on one of the committed code objects.
pub fn readelf(name: &str, option: &str) -> String {
    let path = path(name);
    let path = path.to_str().expect("a UTF-8 path");
    let output = run("llvm-readelf-19", &[option, path], &[]).expect("readelf reads it");
    String::from_utf8(output).expect("readelf writes UTF-8")
}

pub fn hex(digits: &str) -> u64 {
    u64::from_str_radix(digits.trim_start_matches("0x"), 16)
        .unwrap_or_else(|e| panic!("{digits}: {e}"))
}
