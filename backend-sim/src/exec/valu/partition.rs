//! `v_screen_partition_4se_b32`: which of four shader engines the parts of a screen belong to, as a table of AMD's Vega
//! manual.

/// Sixteen results a row, the first in the low four bits.
const TABLE: [u64; 16] = [
    0xfffffff7fff5f731,
    0xffffffbfffafe62f,
    0xfffffdfff5ffc4fd,
    0xffffefffafff8fb9,
    0xfffefff6fdc4ffff,
    0xffdff99fb98fffff,
    0xfbfff9ff31f7ffff,
    0x7fff6ff62fe6ffff,
    0xfffafb32fffffffb,
    0xff5fd91fffffff7f,
    0xfaffc8fefffffeff,
    0x5fff4f76ffffdfff,
    0xfec8fffffffdfff9,
    0x764fffffffeff66f,
    0x32fbfffff7fff6ff,
    0x1fd9ffffbfff9ff9,
];

/// The result for the low byte of `x`.
#[inline(always)]
pub(super) fn screen_partition_4se(x: u32) -> u32 {
    (TABLE[(x >> 4 & 15) as usize] >> (4 * (x & 15)) & 15) as u32
}
