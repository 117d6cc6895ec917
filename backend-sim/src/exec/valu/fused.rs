//! Operations of several instructions in one.

use super::lanes::{CHUNK, Chunk};
use super::levels::Host;

/// The sum of two 64-bit numbers a lane, each two rows anywhere, low dwords first. Gives the carries.
///
/// # Safety
/// All rows have `lanes` lanes, 32 or 64; the destinations are writable, and are sources of their own half or disjoint
/// from all sources of the other half that are read after them: the high half's are not the low destination.
#[inline(always)]
pub(crate) unsafe fn add64<H: Host>(
    to: [*mut u32; 2],
    a: [*const u32; 2],
    b: [*const u32; 2],
    lanes: u32,
) -> u64 {
    let n = if lanes == 64 { 64 } else { 32 };
    let mut out = 0;
    for start in (0..n).step_by(CHUNK) {
        let (mut low, mut high, mut carries) = (Chunk::new(), Chunk::new(), Chunk::new());
        let rows = [low.rows(), high.rows(), carries.rows()];
        // SAFETY: lanes of the chunks, all of which are written before they are read; lanes of the sources.
        unsafe {
            for i in 0..CHUNK {
                let at = start + i;
                let (x, y) = (*a[0].add(at), *b[0].add(at));
                let sum = x.wrapping_add(y);
                let carry = u32::from(sum < x);
                *rows[0].add(i) = sum;
                let (x, y) = (*a[1].add(at), *b[1].add(at));
                let total = x.wrapping_add(y).wrapping_add(carry);
                *rows[1].add(i) = total;
                // Its top bit is the carry out of the top bit.
                *rows[2].add(i) = (x & y) | ((x | y) & !total);
            }
            low.store::<u32>(to[0], start, n);
            high.store::<u32>(to[1], start, n);
            out |= H::movemask(rows[2], CHUNK) << start;
        }
    }
    out
}
