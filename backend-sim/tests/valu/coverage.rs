//! Which vector operations have semantics.

use rukh_backend_sim::exec::valu::{Level, handler};
use rukh_backend_sim::exec::{Status, check, status};
use rukh_backend_sim::isa::{Arch, Op, Rng, generate, generate_dual};

/// Nobody says which of two packed numbers a sign modifier of these changes, and no compiler emits one.
const UNSIGNED_ONLY: &[Op] = &[Op::v_pk_fmac_f16, Op::v_dot2c_f32_f16, Op::v_dot2c_f32_bf16];

/// A vector operation; interpolation is graphics.
fn is_vector(op: Op) -> bool {
    let name = format!("{op:?}");
    name.starts_with("v_") && !name.starts_with("v_interp")
}

#[test]
fn every_vector_operation_of_every_processor_has_semantics_or_is_accounted_for() {
    for arch in Arch::ALL {
        for &op in Op::ALL {
            if !is_vector(op) {
                continue;
            }
            if let Some(status) = status(arch, op) {
                let executed = matches!(status, Status::Implemented | Status::Partial { .. });
                assert!(executed, "{op:?} on {arch}: {status:?}");
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
            if !is_vector(op) {
                continue;
            }
            for _ in 0..100 {
                let Some(inst) = generate(arch, op, &mut rng) else {
                    break;
                };
                let signed = (inst.mods.neg | inst.mods.abs) & 3 != 0;
                if UNSIGNED_ONLY.contains(&op) && signed {
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
