//! SOPC: scalar compares, which set SCC.

use core::cmp::Ordering;

use super::scalar_ops;

/// Whether two numbers compare as asked; with a NaN they do not.
fn ordered_and(a: f32, b: f32, asked: fn(Ordering) -> bool) -> bool {
    a.partial_cmp(&b).is_some_and(asked)
}

scalar_ops! {
    /// SOPC semantics.
    pub(crate) fn lookup;
    s_cmp_eq_i32(a: i32, b: i32) => a == b;
    s_cmp_lg_i32(a: i32, b: i32) => a != b;
    s_cmp_gt_i32(a: i32, b: i32) => a > b;
    s_cmp_ge_i32(a: i32, b: i32) => a >= b;
    s_cmp_lt_i32(a: i32, b: i32) => a < b;
    s_cmp_le_i32(a: i32, b: i32) => a <= b;
    s_cmp_eq_u32(a: u32, b: u32) => a == b;
    s_cmp_lg_u32(a: u32, b: u32) => a != b;
    s_cmp_gt_u32(a: u32, b: u32) => a > b;
    s_cmp_ge_u32(a: u32, b: u32) => a >= b;
    s_cmp_lt_u32(a: u32, b: u32) => a < b;
    s_cmp_le_u32(a: u32, b: u32) => a <= b;
    s_cmp_eq_u64(a: u64, b: u64) => a == b;
    s_cmp_lg_u64(a: u64, b: u64) => a != b;
    s_bitcmp0_b32(a: u32, b: u32) => a >> (b & 31) & 1 == 0;
    s_bitcmp1_b32(a: u32, b: u32) => a >> (b & 31) & 1 == 1;
    s_bitcmp0_b64(a: u64, b: u32) => a >> (b & 63) & 1 == 0;
    s_bitcmp1_b64(a: u64, b: u32) => a >> (b & 63) & 1 == 1;
    s_cmp_eq_f32(a: f32, b: f32) => a == b;
    s_cmp_lg_f32(a: f32, b: f32) => ordered_and(a, b, Ordering::is_ne);
    s_cmp_gt_f32(a: f32, b: f32) => a > b;
    s_cmp_ge_f32(a: f32, b: f32) => a >= b;
    s_cmp_lt_f32(a: f32, b: f32) => a < b;
    s_cmp_le_f32(a: f32, b: f32) => a <= b;
    s_cmp_o_f32(a: f32, b: f32) => !a.is_nan() && !b.is_nan();
    s_cmp_u_f32(a: f32, b: f32) => a.is_nan() || b.is_nan();
    s_cmp_nge_f32(a: f32, b: f32) => !ordered_and(a, b, Ordering::is_ge);
    s_cmp_nlg_f32(a: f32, b: f32) => !ordered_and(a, b, Ordering::is_ne);
    s_cmp_ngt_f32(a: f32, b: f32) => !ordered_and(a, b, Ordering::is_gt);
    s_cmp_nle_f32(a: f32, b: f32) => !ordered_and(a, b, Ordering::is_le);
    s_cmp_neq_f32(a: f32, b: f32) => a != b;
    s_cmp_nlt_f32(a: f32, b: f32) => !ordered_and(a, b, Ordering::is_lt);
}
