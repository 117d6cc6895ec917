//! The processor table against clang and llvm-readelf, which know it from LLVM's sources.

mod support;

use rukh_core::elf::{
    EF_AMDGPU_FEATURE_SRAMECC_V4, EF_AMDGPU_FEATURE_XNACK_V4, EF_AMDGPU_GENERIC_VERSION,
};
use rukh_core::isa::{Feature, FeatureName, Isa, PROCESSORS, Processor};
use rukh_core::loader::CodeObject;

/// Processors that came after LLVM 19.
const NEWER: [&str; 3] = ["gfx950", "gfx1153", "gfx9-4-generic"];

/// Whether clang takes the target ID.
fn clang_accepts(target_id: &str) -> bool {
    let mcpu = format!("-mcpu={target_id}");
    let args = [
        "-target",
        "amdgcn-amd-amdhsa",
        &mcpu,
        "-nogpulib",
        "-x",
        "cl",
        "-fsyntax-only",
        "-",
    ];
    support::run("clang-19", &args, b"").is_ok()
}

#[test]
fn clang_agrees_on_names_and_features() {
    for p in PROCESSORS {
        let known = clang_accepts(p.name);
        assert_eq!(known, !NEWER.contains(&p.name), "{}", p.name);
        if known {
            let accepts = |feature: &str| clang_accepts(&format!("{}:{feature}", p.name));
            assert_eq!(accepts("xnack+"), p.xnack, "{}: xnack", p.name);
            assert_eq!(accepts("sramecc-"), p.sramecc, "{}: sramecc", p.name);
        }
    }
}

/// Flags as llvm-readelf prints them for a code object with these `e_flags`, without the number.
fn readelf_flags(object: &[u8], e_flags: u32) -> String {
    let mut object = object.to_vec();
    object[48..52].copy_from_slice(&e_flags.to_le_bytes());
    let output = support::run("llvm-readelf-19", &["-h", "-"], &object).expect("readelf reads it");
    let output = String::from_utf8(output).expect("readelf writes UTF-8");
    let flags = output
        .lines()
        .find_map(|l| l.trim().strip_prefix("Flags:"))
        .expect("a line with flags");
    let (_, names) = flags.split_once(',').unwrap_or(("", ""));
    names.trim().to_owned()
}

#[test]
fn readelf_agrees_on_flags() {
    let object = support::bytes("linked-gfx11-generic-v6");
    for p in PROCESSORS {
        let mut isas = vec![Isa::new(p)];
        for feature in [FeatureName::Xnack, FeatureName::Sramecc] {
            isas.extend(
                [Feature::On, Feature::Off]
                    .iter()
                    .filter_map(|f| Isa::new(p).with(feature, *f).ok()),
            );
        }
        for isa in isas {
            let version = u8::from(p.is_generic) * 5;
            let mut expected = vec![p.name.to_owned()];
            for (name, value) in [("xnack", isa.xnack()), ("sramecc", isa.sramecc())] {
                if value != Feature::Unsupported {
                    let sign = value.suffix().map_or(String::new(), String::from);
                    expected.push(format!("{name}{sign}"));
                }
            }
            if p.is_generic {
                expected.push(format!("generic_v{version}"));
            }
            if NEWER.contains(&p.name) {
                continue;
            }
            let flags = isa.to_e_flags(version);
            assert_eq!(readelf_flags(&object, flags), expected.join(", "), "{isa}");
        }
    }
}

#[test]
fn processor_numbers_that_the_table_lacks_are_not_amdhsa_processors_of_llvm_19() {
    let object = support::bytes("linked-gfx11-generic-v6");
    let mask =
        EF_AMDGPU_FEATURE_XNACK_V4 | EF_AMDGPU_FEATURE_SRAMECC_V4 | EF_AMDGPU_GENERIC_VERSION;
    for mach in 0x20..0x60u8 {
        if Processor::from_mach(mach).is_none() {
            let name = readelf_flags(&object, u32::from(mach) & !mask);
            // gfx6 has no HSA runtime.
            let other = name.is_empty() || name.starts_with("gfx6") || name.contains("unknown");
            assert!(other, "{mach:#x} is {name}");
        }
    }
}

#[test]
fn compiled_code_objects_have_the_isa_they_were_compiled_for() {
    for (name, isa, generic_version) in [
        ("linked-gfx906-v3", "gfx906:sramecc+:xnack-", 0),
        ("linked-gfx90a-v4", "gfx90a:xnack+", 0),
        ("linked-gfx942-v4", "gfx942", 0),
        ("linked-gfx1100-v5", "gfx1100", 0),
        ("linked-gfx11-generic-v6", "gfx11-generic", 1),
        ("hidden-gfx900-v4", "gfx900", 0),
        ("hidden-gfx803-v5", "gfx803", 0),
    ] {
        let bytes = support::bytes(name);
        let code = CodeObject::parse(&bytes).expect(name);
        assert_eq!(Isa::from_target_id(isa), Ok(code.isa()), "{name}");
        assert_eq!(code.generic_version(), generic_version);
    }
}
