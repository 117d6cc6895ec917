//! Gives the shared library its name and its version node.
use std::{env, fs, path::PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let map = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("rocr.map");
    fs::write(&map, "ROCR_1 { };\n").expect("OUT_DIR is writable");
    for arg in [
        format!("-Wl,--version-script={}", map.display()),
        "-Wl,-soname,libhsa-runtime64.so.1".into(),
        "-Wl,-z,nodelete".into(),
    ] {
        println!("cargo:rustc-cdylib-link-arg={arg}");
    }
}
