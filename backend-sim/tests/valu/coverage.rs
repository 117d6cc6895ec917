//! Which vector operations have semantics.

use rukh_backend_sim::exec::valu::{Level, handler};
use rukh_backend_sim::exec::{Status, check, status};
use rukh_backend_sim::isa::{Arch, Op, Rng, generate, generate_dual};

/// Moves between registers that M0 numbers are executed without permutations and parts of registers only: no compiler
/// emits the others.
const PLAIN_ONLY: &[Op] = &[
    Op::v_movreld_b32,
    Op::v_movrels_b32,
    Op::v_movrelsd_b32,
    Op::v_movrelsd_2_b32,
];

/// Vector operations without semantics: what screen partitions are is the business of graphics.
const UNSUPPORTED: &[Op] = &[Op::v_screen_partition_4se_b32];

#[test]
fn every_vector_operation_of_every_processor_has_semantics_or_is_accounted_for() {
    for arch in Arch::ALL {
        for &op in Op::ALL {
            if !format!("{op:?}").starts_with("v_") {
                continue;
            }
            if let Some(status) = status(arch, op) {
                let executed = matches!(status, Status::Implemented | Status::Partial { .. });
                let listed = UNSUPPORTED.contains(&op);
                assert_eq!(executed, !listed, "{op:?} on {arch}: {status:?}");
            }
        }
    }
}

#[test]
fn handlers_are_for_vector_operations_and_exist_at_every_level() {
    for &op in Op::ALL {
        let here = handler(op, Level::Baseline).is_some();
        assert!(!here || format!("{op:?}").starts_with("v_"), "{op:?}");
        assert_eq!(here, handler(op, Level::Avx2Fma).is_some(), "{op:?}");
    }
}

#[test]
fn every_form_of_every_vector_operation_is_executed() {
    let mut refused = Vec::new();
    for arch in Arch::ALL {
        let mut rng = Rng::new(7);
        for &op in Op::ALL {
            if !format!("{op:?}").starts_with("v_") || UNSUPPORTED.contains(&op) {
                continue;
            }
            for _ in 0..100 {
                let Some(inst) = generate(arch, op, &mut rng) else {
                    break;
                };
                let modified = inst.mods.dpp.is_some() || inst.mods.sdwa.is_some();
                if PLAIN_ONLY.contains(&op) && modified {
                    assert!(check(arch, &inst).is_err(), "{op:?} on {arch}");
                    continue;
                }
                if let Err(what) = check(arch, &inst) {
                    refused.push(format!("{op:?} on {arch}: {what} in {inst:?}"));
                    break;
                }
            }
        }
        for _ in 0..5000 {
            let Some(inst) = generate_dual(arch, &mut rng) else {
                break;
            };
            if let Err(what) = check(arch, &inst) {
                refused.push(format!("a pair on {arch}: {what} in {inst:?}"));
            }
        }
    }
    assert!(
        refused.is_empty(),
        "{}: {:#?}",
        refused.len(),
        &refused[..refused.len().min(10)]
    );
}
