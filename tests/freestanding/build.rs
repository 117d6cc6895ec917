//! No start files, no libraries, no tables for unwinding: whatever the program uses, it brings.

fn main() {
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    println!("cargo:rustc-link-arg-bins=-Wl,-T,{here}/unwind.ld");
    println!("cargo:rerun-if-changed=unwind.ld");
    for argument in ["-nostartfiles", "-nostdlib", "-static", "-no-pie"] {
        println!("cargo:rustc-link-arg-bins={argument}");
    }
}
