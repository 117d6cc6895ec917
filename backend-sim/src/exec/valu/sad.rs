//! Sums of absolute differences and other byte arithmetic.

/// Byte `i`.
#[inline(always)]
fn byte(x: u32, i: u32) -> u32 {
    (x >> (8 * i)) & 0xff
}

/// `c` plus the absolute differences of the four bytes.
#[inline(always)]
pub(super) fn sad_u8(a: u32, b: u32, c: u32) -> u32 {
    (0..4).fold(c, |sum, i| {
        sum.wrapping_add(byte(a, i).abs_diff(byte(b, i)))
    })
}

/// As [`sad_u8`], leaving out bytes where `b` is zero.
#[inline(always)]
pub(super) fn msad_u8(a: u32, b: u32, c: u32) -> u32 {
    (0..4).fold(c, |sum, i| {
        let difference = byte(a, i).abs_diff(byte(b, i));
        sum.wrapping_add(if byte(b, i) == 0 { 0 } else { difference })
    })
}

/// `c` plus the absolute differences of the two 16-bit halves.
#[inline(always)]
pub(super) fn sad_u16(a: [u16; 2], b: [u16; 2], c: u32) -> u32 {
    c.wrapping_add(a[0].abs_diff(b[0]) as u32)
        .wrapping_add(a[1].abs_diff(b[1]) as u32)
}

/// Four sums, over the bytes of `a` from 0, 1, 2 and 3, each added to a 16-bit part of `c`.
#[inline(always)]
pub(super) fn quad_u16(a: u64, b: u32, c: u64, sad: fn(u32, u32, u32) -> u32) -> u64 {
    let part = |i: u32| {
        (sad((a >> (8 * i)) as u32, b, (c >> (16 * i)) as u16 as u32) as u16 as u64) << (16 * i)
    };
    part(0) | part(1) | part(2) | part(3)
}

/// Four sums, over the bytes of `a` from 0, 1, 2 and 3, each added to a dword of `c`.
#[inline(always)]
pub(super) fn quad_u32(a: u64, b: u32, c: [u32; 4]) -> [u32; 4] {
    core::array::from_fn(|i| msad_u8((a >> (8 * i)) as u32, b, c[i]))
}

/// Average of each byte, rounded up where the low bit of the byte of `c` is set.
#[inline(always)]
pub(super) fn lerp_u8(a: u32, b: u32, c: u32) -> u32 {
    (0..4).fold(0, |sum, i| {
        sum | ((byte(a, i) + byte(b, i) + (byte(c, i) & 1)) >> 1) << (8 * i)
    })
}

/// `v_perm_b32`: each selector byte picks one of the eight bytes of `high:low`, a sign of a word, zero or ones.
#[inline(always)]
pub(super) fn perm(high: u32, low: u32, selector: u32) -> u32 {
    let data = (high as u64) << 32 | low as u64;
    (0..4).fold(0, |sum, i| {
        let select = byte(selector, i);
        let picked = (data >> (8 * (select & 7))) as u32 & 0xff;
        // Selectors 8 to 11: the sign of words 0 to 3, in every bit.
        let sign = if (data >> (16 * (select & 3) + 15)) & 1 != 0 {
            0xff
        } else {
            0
        };
        let constant = if select == 12 { 0 } else { 0xff };
        let wide = if select < 12 { sign } else { constant };
        sum | (if select < 8 { picked } else { wide }) << (8 * i)
    })
}
