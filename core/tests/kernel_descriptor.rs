//! Every descriptor bit against llvm-mc: one assembler directive at a time.

mod support;

use rukh_core::isa::Processor;
use rukh_core::wire::kernel_descriptor::{KernelDescriptor, SIZE};
use std::fmt::Write;

type Field = fn(&KernelDescriptor) -> u32;

/// A directive, the highest value that it takes, and what it sets.
struct Directive {
    name: &'static str,
    max: u32,
    field: Field,
}

macro_rules! directives {
    ($($name:literal $max:literal => |$d:ident| $field:expr;)*) => {
        &[$(Directive { name: $name, max: $max, field: |$d| ($field).into() }),*]
    };
}

const COMMON: &[Directive] = directives! {
    "group_segment_fixed_size" 65532 => |d| d.group_segment_fixed_size;
    "private_segment_fixed_size" 4096 => |d| d.private_segment_fixed_size;
    "kernarg_size" 300 => |d| d.kernarg_size;
    "float_round_mode_32" 3 => |d| d.rsrc1.float_round_mode_32();
    "float_round_mode_16_64" 3 => |d| d.rsrc1.float_round_mode_16_64();
    "float_denorm_mode_32" 3 => |d| d.rsrc1.float_denorm_mode_32();
    "float_denorm_mode_16_64" 3 => |d| d.rsrc1.float_denorm_mode_16_64();
    "fp16_overflow" 1 => |d| d.rsrc1.fp16_ovfl();
    "system_sgpr_workgroup_id_x" 1 => |d| d.rsrc2.enable_sgpr_workgroup_id_x();
    "system_sgpr_workgroup_id_y" 1 => |d| d.rsrc2.enable_sgpr_workgroup_id_y();
    "system_sgpr_workgroup_id_z" 1 => |d| d.rsrc2.enable_sgpr_workgroup_id_z();
    "system_sgpr_workgroup_info" 1 => |d| d.rsrc2.enable_sgpr_workgroup_info();
    "system_vgpr_workitem_id" 2 => |d| d.rsrc2.enable_vgpr_workitem_id();
    "exception_fp_ieee_invalid_op" 1 => |d| d.rsrc2.enable_exception_ieee_754_fp_invalid_operation();
    "exception_fp_denorm_src" 1 => |d| d.rsrc2.enable_exception_fp_denormal_source();
    "exception_fp_ieee_div_zero" 1 => |d| d.rsrc2.enable_exception_ieee_754_fp_division_by_zero();
    "exception_fp_ieee_overflow" 1 => |d| d.rsrc2.enable_exception_ieee_754_fp_overflow();
    "exception_fp_ieee_underflow" 1 => |d| d.rsrc2.enable_exception_ieee_754_fp_underflow();
    "exception_fp_ieee_inexact" 1 => |d| d.rsrc2.enable_exception_ieee_754_fp_inexact();
    "exception_int_div_zero" 1 => |d| d.rsrc2.enable_exception_int_divide_by_zero();
    "user_sgpr_dispatch_ptr" 1 => |d| d.properties.enable_sgpr_dispatch_ptr();
    "user_sgpr_queue_ptr" 1 => |d| d.properties.enable_sgpr_queue_ptr();
    "user_sgpr_kernarg_segment_ptr" 1 => |d| d.properties.enable_sgpr_kernarg_segment_ptr();
    "user_sgpr_dispatch_id" 1 => |d| d.properties.enable_sgpr_dispatch_id();
    "user_sgpr_private_segment_size" 1 => |d| d.properties.enable_sgpr_private_segment_size();
    "user_sgpr_count" 13 => |d| d.rsrc2.user_sgpr_count();
    "uses_dynamic_stack" 1 => |d| d.properties.uses_dynamic_stack();
};
const NOT_ARCHITECTED_SCRATCH: &[Directive] = directives! {
    "user_sgpr_private_segment_buffer" 1 => |d| d.properties.enable_sgpr_private_segment_buffer();
    "user_sgpr_flat_scratch_init" 1 => |d| d.properties.enable_sgpr_flat_scratch_init();
    "system_sgpr_private_segment_wavefront_offset" 1 => |d| d.rsrc2.enable_private_segment();
};
const ARCHITECTED_SCRATCH: &[Directive] = directives! {
    "enable_private_segment" 1 => |d| d.rsrc2.enable_private_segment();
};
const BEFORE_GFX12: &[Directive] = directives! {
    "dx10_clamp" 1 => |d| d.rsrc1.enable_dx10_clamp();
    "ieee_mode" 1 => |d| d.rsrc1.enable_ieee_mode();
};
const FROM_GFX12: &[Directive] = directives! {
    "round_robin_scheduling" 1 => |d| d.rsrc1.enable_wg_rr();
};
const FROM_GFX10: &[Directive] = directives! {
    "wavefront_size32" 1 => |d| d.properties.enable_wavefront_size32();
    "workgroup_processor_mode" 1 => |d| d.rsrc1.wgp_mode();
    "memory_ordered" 1 => |d| d.rsrc1.mem_ordered();
    "forward_progress" 1 => |d| d.rsrc1.fwd_progress();
};
const GFX90A: &[Directive] = directives! {
    "tg_split" 1 => |d| d.rsrc3.tg_split();
    "accum_offset" 64 => |d| (d.rsrc3.accum_offset() + 1) * 4;
    "user_sgpr_kernarg_preload_length" 2 => |d| d.kernarg_preload.length();
};

/// Assembles one kernel for each member of `kernels`, its directives; gives the descriptors.
fn assemble(mcpu: &str, kernels: &[String]) -> Vec<KernelDescriptor> {
    let mut source = String::from(".text\n");
    for (i, body) in kernels.iter().enumerate() {
        writeln!(source, ".amdhsa_kernel k{i}\n{body}.end_amdhsa_kernel").expect("a string");
    }
    let mcpu = format!("-mcpu={mcpu}");
    let args = [
        "-triple=amdgcn-amd-amdhsa",
        &mcpu,
        // With XNACK, more scalar registers are reserved.
        "-mattr=-xnack",
        "--filetype=obj",
        "-o",
        "-",
        "-",
    ];
    let object =
        support::run("llvm-mc-19", &args, source.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
    // Objects cannot be read from and written to pipes in one go by every version of objcopy.
    let dir = std::env::temp_dir();
    let stem = format!("rukh-kd-{}-{mcpu}-{}", std::process::id(), kernels.len());
    let (from, to) = (
        dir.join(format!("{stem}.o")),
        dir.join(format!("{stem}.bin")),
    );
    std::fs::write(&from, object).expect("a temporary file");
    let path = |p: &std::path::PathBuf| p.to_str().expect("a UTF-8 path").to_owned();
    let args = ["-O", "binary", "-j", ".rodata", &path(&from), &path(&to)];
    support::run("llvm-objcopy-19", &args, &[]).expect("objcopy extracts .rodata");
    let bytes = std::fs::read(&to).expect("objcopy has written it");
    let _ = (std::fs::remove_file(from), std::fs::remove_file(to));
    let (descriptors, rest) = bytes.as_chunks::<SIZE>();
    assert!(rest.is_empty());
    descriptors.iter().map(KernelDescriptor::parse).collect()
}

fn base(mcpu: &str) -> String {
    let mut base = String::from(".amdhsa_next_free_vgpr 128\n.amdhsa_next_free_sgpr 16\n");
    if mcpu == "gfx90a" || mcpu == "gfx942" {
        base.push_str(".amdhsa_accum_offset 128\n");
    }
    base
}

#[test]
fn every_directive_sets_the_field_of_its_name() {
    for (mcpu, sets) in [
        (
            "gfx900",
            &[COMMON, NOT_ARCHITECTED_SCRATCH, BEFORE_GFX12][..],
        ),
        (
            "gfx90a",
            &[COMMON, NOT_ARCHITECTED_SCRATCH, BEFORE_GFX12, GFX90A],
        ),
        (
            "gfx942",
            &[COMMON, ARCHITECTED_SCRATCH, BEFORE_GFX12, GFX90A],
        ),
        (
            "gfx1030",
            &[COMMON, NOT_ARCHITECTED_SCRATCH, BEFORE_GFX12, FROM_GFX10],
        ),
        (
            "gfx1100",
            &[COMMON, ARCHITECTED_SCRATCH, BEFORE_GFX12, FROM_GFX10],
        ),
        (
            "gfx1201",
            &[COMMON, ARCHITECTED_SCRATCH, FROM_GFX12, FROM_GFX10],
        ),
    ] {
        let directives: Vec<&Directive> = sets.iter().copied().flatten().collect();
        let mut kernels = Vec::new();
        for d in &directives {
            let low = if d.name == "accum_offset" { 4 } else { 0 };
            for value in [low, d.max] {
                let base = base(mcpu);
                let base = match d.name {
                    "accum_offset" => base.replace(".amdhsa_accum_offset 128\n", ""),
                    // Preloading needs the pointer to load from.
                    "user_sgpr_kernarg_preload_length" => {
                        format!("{base}.amdhsa_user_sgpr_kernarg_segment_ptr 1\n")
                    }
                    _ => base,
                };
                kernels.push(format!("{base}.amdhsa_{} {value}\n", d.name));
            }
        }
        let descriptors = assemble(mcpu, &kernels);
        for (d, pair) in directives.iter().zip(descriptors.chunks(2)) {
            let low = if d.name == "accum_offset" { 4 } else { 0 };
            assert_eq!((d.field)(&pair[0]), low, "{mcpu}: {} {low}", d.name);
            assert_eq!((d.field)(&pair[1]), d.max, "{mcpu}: {} {}", d.name, d.max);
        }
    }
}

#[test]
fn register_counts_are_the_assemblers_rounded_up() {
    for (mcpu, wave32, granule, sgpr_granule) in [
        ("gfx900", false, 4, 16),
        ("gfx90a", false, 8, 16),
        ("gfx1030", true, 8, 0),
        ("gfx1030", false, 4, 0),
        ("gfx1100", true, 8, 0),
        ("gfx1201", false, 4, 0),
    ] {
        let processor = Processor::from_name(mcpu).expect(mcpu);
        let counts: Vec<u32> = (1..=96).collect();
        let kernels: Vec<String> = counts
            .iter()
            .map(|n| {
                let mut k = format!(".amdhsa_next_free_vgpr {n}\n.amdhsa_next_free_sgpr {n}\n");
                k += ".amdhsa_reserve_vcc 0\n";
                if mcpu == "gfx900" || mcpu == "gfx90a" {
                    k += ".amdhsa_reserve_flat_scratch 0\n";
                }
                if mcpu == "gfx90a" {
                    k += ".amdhsa_accum_offset 4\n";
                }
                if processor.version.major >= 10 {
                    writeln!(k, ".amdhsa_wavefront_size32 {}", u8::from(wave32)).expect("a string");
                }
                k
            })
            .collect();
        for (n, d) in counts.iter().zip(assemble(mcpu, &kernels)) {
            assert_eq!(d.wavefront_size(processor), if wave32 { 32 } else { 64 });
            let vgprs = n.next_multiple_of(granule);
            assert_eq!(d.vgpr_count(processor), vgprs, "{mcpu}: {n} VGPRs");
            let sgprs = match sgpr_granule {
                0 => 128,
                // Encoded in eights, allocated in sixteens: always an even number of eights.
                granule => n.next_multiple_of(granule),
            };
            assert_eq!(d.sgpr_count(processor), sgprs, "{mcpu}: {n} SGPRs");
        }
    }
}
