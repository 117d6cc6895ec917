//! SOP2: two scalar sources, one result.

use super::{NonZero, scalar_ops};

/// Width and offset of a bit field as the second source of s_bfe holds them.
#[inline(always)]
fn field(b: u32, limit: u32) -> (u32, u32) {
    (b & (limit - 1), (b >> 16 & 0x7f).min(limit))
}

#[inline(always)]
fn bfe_u64(a: u64, b: u32) -> u64 {
    let (offset, width) = field(b, 64);
    let a = a >> offset;
    if width >= 64 {
        a
    } else {
        a & ((1 << width) - 1)
    }
}

#[inline(always)]
fn bfe_i64(a: u64, b: u32) -> i64 {
    let (_, width) = field(b, 64);
    if width == 0 {
        return 0;
    }
    let v = bfe_u64(a, b);
    let up = 64 - width;
    ((v << up) as i64) >> up
}

#[inline(always)]
fn bfe_u32(a: u32, b: u32) -> u32 {
    let (offset, width) = field(b, 32);
    let a = a >> offset;
    if width >= 32 {
        a
    } else {
        a & ((1 << width) - 1)
    }
}

#[inline(always)]
fn bfe_i32(a: u32, b: u32) -> i32 {
    let (_, width) = field(b, 32);
    if width == 0 {
        return 0;
    }
    let up = 32 - width;
    ((bfe_u32(a, b) << up) as i32) >> up
}

/// The mask of `width` bits at `offset`.
#[inline(always)]
fn bfm(width: u64, offset: u32) -> u64 {
    ((1u64 << width) - 1) << offset
}

#[inline(always)]
fn shift_add(a: u32, b: u32, by: u32) -> (u32, bool) {
    let wide = (u64::from(a) << by) + u64::from(b);
    (wide as u32, wide >> 32 != 0)
}

#[inline(always)]
fn pack(low: u32, high: u32) -> u32 {
    low & 0xffff | high << 16
}

scalar_ops! {
    /// SOP2 semantics.
    pub(crate) fn lookup;
    s_add_u32(a: u32, b: u32) => a.overflowing_add(b);
    s_sub_u32(a: u32, b: u32) => a.overflowing_sub(b);
    s_add_i32(a: i32, b: i32) => a.overflowing_add(b);
    s_sub_i32(a: i32, b: i32) => a.overflowing_sub(b);
    s_addc_u32(a: u32, b: u32) |c| => {
        let sum = u64::from(a) + u64::from(b) + u64::from(c);
        (sum as u32, sum >> 32 != 0)
    };
    s_subb_u32(a: u32, b: u32) |c| => {
        let difference = u64::from(a).wrapping_sub(u64::from(b)).wrapping_sub(u64::from(c));
        (difference as u32, difference >> 32 != 0)
    };
    s_absdiff_i32(a: i32, b: i32) => a.wrapping_sub(b).wrapping_abs().nz();
    s_min_i32(a: i32, b: i32) => (a.min(b), a < b);
    s_min_u32(a: u32, b: u32) => (a.min(b), a < b);
    s_max_i32(a: i32, b: i32) => (a.max(b), a >= b);
    s_max_u32(a: u32, b: u32) => (a.max(b), a >= b);
    s_cselect_b32(a: u32, b: u32) |c| => if c != 0 { a } else { b };
    s_cselect_b64(a: u64, b: u64) |c| => if c != 0 { a } else { b };
    s_and_b32(a: u32, b: u32) => (a & b).nz();
    s_and_b64(a: u64, b: u64) => (a & b).nz();
    s_or_b32(a: u32, b: u32) => (a | b).nz();
    s_or_b64(a: u64, b: u64) => (a | b).nz();
    s_xor_b32(a: u32, b: u32) => (a ^ b).nz();
    s_xor_b64(a: u64, b: u64) => (a ^ b).nz();
    s_andn2_b32(a: u32, b: u32) => (a & !b).nz();
    s_andn2_b64(a: u64, b: u64) => (a & !b).nz();
    s_orn2_b32(a: u32, b: u32) => (a | !b).nz();
    s_orn2_b64(a: u64, b: u64) => (a | !b).nz();
    s_nand_b32(a: u32, b: u32) => (!(a & b)).nz();
    s_nand_b64(a: u64, b: u64) => (!(a & b)).nz();
    s_nor_b32(a: u32, b: u32) => (!(a | b)).nz();
    s_nor_b64(a: u64, b: u64) => (!(a | b)).nz();
    s_xnor_b32(a: u32, b: u32) => (!(a ^ b)).nz();
    s_xnor_b64(a: u64, b: u64) => (!(a ^ b)).nz();
    s_lshl_b32(a: u32, b: u32) => (a << (b & 31)).nz();
    s_lshl_b64(a: u64, b: u32) => (a << (b & 63)).nz();
    s_lshr_b32(a: u32, b: u32) => (a >> (b & 31)).nz();
    s_lshr_b64(a: u64, b: u32) => (a >> (b & 63)).nz();
    s_ashr_i32(a: i32, b: u32) => (a >> (b & 31)).nz();
    s_ashr_i64(a: i64, b: u32) => (a >> (b & 63)).nz();
    s_bfm_b32(a: u32, b: u32) => bfm(u64::from(a & 31), b & 31) as u32;
    s_bfm_b64(a: u32, b: u32) => bfm(u64::from(a & 63), b & 63);
    s_mul_i32(a: u32, b: u32) => a.wrapping_mul(b);
    s_mul_u64(a: u64, b: u64) => a.wrapping_mul(b);
    s_mul_hi_u32(a: u32, b: u32) => ((u64::from(a) * u64::from(b)) >> 32) as u32;
    s_mul_hi_i32(a: i32, b: i32) => ((i64::from(a) * i64::from(b)) >> 32) as i32;
    s_bfe_u32(a: u32, b: u32) => bfe_u32(a, b).nz();
    s_bfe_i32(a: u32, b: u32) => bfe_i32(a, b).nz();
    s_bfe_u64(a: u64, b: u32) => bfe_u64(a, b).nz();
    s_bfe_i64(a: u64, b: u32) => bfe_i64(a, b).nz();
    s_lshl1_add_u32(a: u32, b: u32) => shift_add(a, b, 1);
    s_lshl2_add_u32(a: u32, b: u32) => shift_add(a, b, 2);
    s_lshl3_add_u32(a: u32, b: u32) => shift_add(a, b, 3);
    s_lshl4_add_u32(a: u32, b: u32) => shift_add(a, b, 4);
    s_pack_ll_b32_b16(a: u32, b: u32) => pack(a, b);
    s_pack_lh_b32_b16(a: u32, b: u32) => pack(a, b >> 16);
    s_pack_hh_b32_b16(a: u32, b: u32) => pack(a >> 16, b >> 16);
    s_pack_hl_b32_b16(a: u32, b: u32) => pack(a >> 16, b);
    s_add_nc_u64(a: u64, b: u64) => a.wrapping_add(b);
    s_sub_nc_u64(a: u64, b: u64) => a.wrapping_sub(b);
}
