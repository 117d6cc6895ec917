//! Compares into lane masks.

// Comparisons that NaN makes different from their opposites are the subject.
#![allow(clippy::neg_cmp_op_on_partial_ord, clippy::double_comparisons)]

use rukh_backend_sim::isa::Op;

use crate::harness::*;

fn check_mask(
    op: Op,
    src: [Width; 2],
    set: Setting,
    cases: &[[u64; 3]],
    judge: impl Fn(u64, u64) -> bool,
) {
    check_with_mask(op, None, &src, set, cases, |[x, y, _]| Lane {
        value: 0,
        mask: judge(x, y),
    });
}

/// The value of a pattern in f64, which holds every narrower format.
fn value(fmt: Fmt, x: u64) -> f64 {
    match fmt.fraction {
        23 => f32::from_bits(x as u32) as f64,
        52 => f64::from_bits(x),
        _ => {
            let sign = if x & 0x8000 != 0 { -1.0 } else { 1.0 };
            let (field, fraction) = (x >> 10 & 31, (x & 0x3ff) as f64);
            sign * match field {
                0 => fraction * 2f64.powi(-24),
                31 => {
                    if fraction == 0.0 {
                        f64::INFINITY
                    } else {
                        f64::NAN
                    }
                }
                _ => (1024.0 + fraction) * 2f64.powi(field as i32 - 25),
            }
        }
    }
}

macro_rules! float_compares {
    ($name:ident, $fmt:expr, $($op:ident $opx:ident |$x:ident, $y:ident| $judge:expr;)*) => {
        #[test]
        fn $name() {
            let (fmt, cases) = ($fmt, $fmt.cases(2, 3000));
            for denorm in [0xf, 0] {
                let set = Setting::mode(0, denorm);
                let read = |x| value(fmt, if denorm == 0 { fmt.flush(x) } else { x });
                $(for op in [Op::$op, Op::$opx] {
                    check_mask(op, [fmt.width(); 2], set, &cases, |x, y| {
                        let ($x, $y): (f64, f64) = (read(x), read(y));
                        $judge
                    });
                })*
            }
        }
    };
}

float_compares! { f32_compares_are_ordered_or_not, SINGLE,
    v_cmp_lt_f32 v_cmpx_lt_f32 |x, y| x < y;
    v_cmp_eq_f32 v_cmpx_eq_f32 |x, y| x == y;
    v_cmp_le_f32 v_cmpx_le_f32 |x, y| x <= y;
    v_cmp_gt_f32 v_cmpx_gt_f32 |x, y| x > y;
    v_cmp_lg_f32 v_cmpx_lg_f32 |x, y| x < y || x > y;
    v_cmp_ge_f32 v_cmpx_ge_f32 |x, y| x >= y;
    v_cmp_o_f32 v_cmpx_o_f32 |x, y| x.partial_cmp(&y).is_some();
    v_cmp_u_f32 v_cmpx_u_f32 |x, y| x.is_nan() || y.is_nan();
    v_cmp_nge_f32 v_cmpx_nge_f32 |x, y| !(x >= y);
    v_cmp_nlg_f32 v_cmpx_nlg_f32 |x, y| x == y || x.is_nan() || y.is_nan();
    v_cmp_ngt_f32 v_cmpx_ngt_f32 |x, y| !(x > y);
    v_cmp_nle_f32 v_cmpx_nle_f32 |x, y| !(x <= y);
    v_cmp_neq_f32 v_cmpx_neq_f32 |x, y| x != y;
    v_cmp_nlt_f32 v_cmpx_nlt_f32 |x, y| !(x < y);
    v_cmp_f_f32 v_cmpx_f_f32 |_x, _y| false;
    v_cmp_tru_f32 v_cmpx_tru_f32 |_x, _y| true;
}

float_compares! { f64_compares_are_ordered_or_not, DOUBLE,
    v_cmp_lt_f64 v_cmpx_lt_f64 |x, y| x < y;
    v_cmp_eq_f64 v_cmpx_eq_f64 |x, y| x == y;
    v_cmp_le_f64 v_cmpx_le_f64 |x, y| x <= y;
    v_cmp_gt_f64 v_cmpx_gt_f64 |x, y| x > y;
    v_cmp_lg_f64 v_cmpx_lg_f64 |x, y| x < y || x > y;
    v_cmp_ge_f64 v_cmpx_ge_f64 |x, y| x >= y;
    v_cmp_o_f64 v_cmpx_o_f64 |x, y| x.partial_cmp(&y).is_some();
    v_cmp_u_f64 v_cmpx_u_f64 |x, y| x.is_nan() || y.is_nan();
    v_cmp_nlg_f64 v_cmpx_nlg_f64 |x, y| x == y || x.is_nan() || y.is_nan();
    v_cmp_nlt_f64 v_cmpx_nlt_f64 |x, y| !(x < y);
}

float_compares! { f16_compares_are_ordered_or_not, HALF,
    v_cmp_lt_f16 v_cmpx_lt_f16 |x, y| x < y;
    v_cmp_eq_f16 v_cmpx_eq_f16 |x, y| x == y;
    v_cmp_le_f16 v_cmpx_le_f16 |x, y| x <= y;
    v_cmp_gt_f16 v_cmpx_gt_f16 |x, y| x > y;
    v_cmp_lg_f16 v_cmpx_lg_f16 |x, y| x < y || x > y;
    v_cmp_ge_f16 v_cmpx_ge_f16 |x, y| x >= y;
    v_cmp_o_f16 v_cmpx_o_f16 |x, y| x.partial_cmp(&y).is_some();
    v_cmp_u_f16 v_cmpx_u_f16 |x, y| x.is_nan() || y.is_nan();
    v_cmp_ngt_f16 v_cmpx_ngt_f16 |x, y| !(x > y);
    v_cmp_neq_f16 v_cmpx_neq_f16 |x, y| x != y;
}

macro_rules! integer_compares {
    ($name:ident, $ty:ty, $w:expr, $($op:ident $judge:tt)*) => {
        #[test]
        fn $name() {
            let cases = integers(2);
            $(check_mask(Op::$op, [$w; 2], PLAIN, &cases, |x, y| (x as $ty) $judge (y as $ty));)*
        }
    };
}

integer_compares!(i32_compares, i32, W32, v_cmp_lt_i32 < v_cmp_eq_i32 == v_cmp_le_i32 <= v_cmp_gt_i32 > v_cmp_ne_i32 != v_cmpx_ge_i32 >=);
integer_compares!(u32_compares, u32, W32, v_cmp_lt_u32 < v_cmpx_eq_u32 == v_cmp_le_u32 <= v_cmp_gt_u32 > v_cmp_ne_u32 != v_cmp_ge_u32 >=);
integer_compares!(i64_compares, i64, W64, v_cmp_lt_i64 < v_cmp_eq_i64 == v_cmp_le_i64 <= v_cmp_gt_i64 > v_cmp_ne_i64 != v_cmp_ge_i64 >=);
integer_compares!(u64_compares, u64, W64, v_cmp_lt_u64 < v_cmp_eq_u64 == v_cmp_le_u64 <= v_cmp_gt_u64 > v_cmp_ne_u64 != v_cmp_ge_u64 >=);
integer_compares!(i16_compares, i16, W16, v_cmp_lt_i16 < v_cmp_eq_i16 == v_cmp_le_i16 <= v_cmp_gt_i16 > v_cmp_ne_i16 != v_cmp_ge_i16 >=);
integer_compares!(u16_compares, u16, W16, v_cmp_lt_u16 < v_cmp_eq_u16 == v_cmp_le_u16 <= v_cmp_gt_u16 > v_cmp_ne_u16 != v_cmp_ge_u16 >=);

#[test]
fn constant_compares_fill_the_row() {
    check_mask(
        Op::v_cmp_t_u32,
        [W32; 2],
        PLAIN,
        &integers(1)[..10],
        |_, _| true,
    );
    let whole: Vec<_> = integers(1)[..64].to_vec();
    check_mask(Op::v_cmp_t_i64, [W64; 2], PLAIN, &whole, |_, _| true);
    check_mask(Op::v_cmp_f_i16, [W16; 2], PLAIN, &whole, |_, _| false);
}

#[test]
fn classes_are_told_apart() {
    let formats = [
        (SINGLE, Op::v_cmp_class_f32),
        (DOUBLE, Op::v_cmp_class_f64),
        (HALF, Op::v_cmpx_class_f16),
    ];
    for (fmt, op) in formats {
        let cases: Vec<_> = fmt
            .cases(1, 2000)
            .into_iter()
            .flat_map(|[x, ..]| (0..10).map(move |bit| [x, 1 << bit, 0]))
            .collect();
        // Subnormals are a class of their own even where arithmetic flushes them.
        for set in [PLAIN, Setting::mode(0, 0)] {
            check_mask(op, [fmt.width(), W32], set, &cases, |x, classes| {
                let (negative, magnitude) = (x & fmt.sign() != 0, x & !fmt.sign());
                let class = if fmt.is_nan(x) {
                    if x & fmt.quiet() != 0 { 1 } else { 0 }
                } else {
                    let kind = match magnitude {
                        0 => 0,
                        m if m >> fmt.fraction == 0 => 1,
                        m if m < fmt.inf() => 2,
                        _ => 3,
                    };
                    if negative { 5 - kind } else { 6 + kind }
                };
                classes >> class & 1 != 0
            });
        }
    }
}
