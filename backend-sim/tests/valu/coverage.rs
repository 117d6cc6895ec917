//! Which vector operations have semantics.

use rukh_backend_sim::exec::supported;
use rukh_backend_sim::exec::valu::{Level, handler};
use rukh_backend_sim::isa::{Arch, Code, Op};

/// Vector operations without semantics: what screen partitions are is the business of graphics.
const UNSUPPORTED: &[Op] = &[Op::v_screen_partition_4se_b32];

#[test]
fn every_vector_operation_of_every_processor_has_semantics_or_is_accounted_for() {
    for arch in Arch::ALL {
        for &op in Op::ALL {
            let vector = format!("{op:?}").starts_with("v_");
            if vector && op.row().code(arch) != Code::Absent {
                let listed = UNSUPPORTED.contains(&op);
                assert_eq!(supported(op, arch), !listed, "{op:?} on {arch}");
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
