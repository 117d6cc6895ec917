//! Operations of several instructions in one.

use super::levels::Host;

/// The sum of two 64-bit numbers a lane, each two rows anywhere, low dwords first. Gives the carries.
///
/// # Safety
/// All rows have `LANES` lanes, 32 or 64; the destinations are writable, and each is disjoint from every source, or
/// the very row. The low destination is no source of the high half.
#[inline(always)]
pub(crate) unsafe fn add64<H: Host, const LANES: usize>(
    to: [*mut u32; 2],
    a: [*const u32; 2],
    b: [*const u32; 2],
) -> u64 {
    let mut out = 0;
    for at in (0..LANES).step_by(8) {
        // SAFETY: eight lanes of each row, the sources of which are read before the destinations are written.
        let carries = unsafe {
            H::add64(
                to.map(|row| row.add(at)),
                a.map(|row| row.add(at)),
                b.map(|row| row.add(at)),
            )
        };
        out |= u64::from(carries) << at;
    }
    out
}
