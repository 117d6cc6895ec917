//! Which vector operations have a handler.

use rukh_backend_sim::exec::valu::{Level, handler, matrix_handler};
use rukh_backend_sim::isa::Op;

/// Vector operations that are not lane by lane: they move data between lanes or registers, and are the interpreter's.
const INTERPRETED: &[&str] = &[
    "v_accvgpr_",
    "v_movrel",
    "v_nop",
    "v_clrexcp",
    "v_pipeflush",
    "v_permlane",
    "v_readfirstlane_b32",
    "v_readlane_b32",
    "v_swap",
    "v_writelane_b32",
];

/// Vector operations without semantics so far: eight-bit floats, sparse matrices, and what no compiler emits.
const UNSUPPORTED: &[&str] = &[
    "v_cvt_f32_bf8",
    "v_cvt_f32_fp8",
    "v_cvt_pk_bf8_f32",
    "v_cvt_pk_f32_bf8",
    "v_cvt_pk_f32_fp8",
    "v_cvt_pk_fp8_f32",
    "v_cvt_pkaccum_u8_f32",
    "v_cvt_sr_bf8_f32",
    "v_cvt_sr_fp8_f32",
    "v_dot4_f32_",
    "v_mfma_f32_16x16x32_bf8",
    "v_mfma_f32_16x16x32_fp8",
    "v_mfma_f32_16x16x8_xf32",
    "v_mfma_f32_32x32x16_bf8",
    "v_mfma_f32_32x32x16_fp8",
    "v_mfma_f32_32x32x4_xf32",
    "v_screen_partition_4se_b32",
    "v_smfmac_",
    "v_swmmac_",
    "v_wmma_f32_16x16x16_bf8",
    "v_wmma_f32_16x16x16_fp8",
    "v_wmma_i32_16x16x32_iu4",
];

#[test]
fn every_vector_operation_is_handled_or_accounted_for() {
    for &op in Op::ALL {
        let name = format!("{op:?}");
        if !name.starts_with("v_") {
            assert!(
                handler(op, Level::Baseline).is_none(),
                "{name} is not a vector operation"
            );
            continue;
        }
        let listed = INTERPRETED
            .iter()
            .chain(UNSUPPORTED)
            .any(|prefix| name.starts_with(prefix));
        for level in [Level::Baseline, Level::Avx2Fma] {
            let (lanes, matrix) = (handler(op, level), matrix_handler(op, level));
            assert_eq!(
                lanes.is_none() && matrix.is_none(),
                listed,
                "{name} at {level:?}"
            );
            // Callers of the one have no rows for the other.
            assert!(
                lanes.is_none() || matrix.is_none(),
                "{name} is of both kinds"
            );
        }
    }
}
