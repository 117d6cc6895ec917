//! Exchanges between lanes that go through the LDS hardware and touch no memory: permutations and swizzles.

use super::access::Lanes;
use super::code::Page;
use super::machine::Machine;
use super::microop::{Flow, MicroOp, VGPR};

pub(crate) fn row_copy(m: &Machine<'_>, src: u16) -> [u32; 64] {
    let mut copy = [0; 64];
    if let Some(row) = m.wave.rows.row(src - VGPR) {
        for (to, &from) in copy.iter_mut().zip(row) {
            *to = from;
        }
    }
    copy
}

/// Each active lane sends its data to the lane that its address names; the highest sender wins.
/// Lanes that nobody sends to get zero.
pub(crate) fn permute(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let exec = m.wave.exec();
    let lanes = m.wave.lanes;
    let (address, data) = (row_copy(m, op.src[0]), row_copy(m, op.src[1]));
    let mut out = [0; 64];
    for lane in Lanes(exec) {
        let to = address[lane].wrapping_add(op.k[0] as u32) / 4 % lanes;
        out[to as usize] = data[lane];
    }
    write_active(m, op.dst, &out, exec);
    Flow::Next
}

/// Each active lane reads the data of the lane that its address names; inactive lanes read as
/// zero, unless `INACTIVE`.
pub(crate) fn bpermute<const INACTIVE: bool>(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let exec = m.wave.exec();
    let lanes = m.wave.lanes;
    let (address, data) = (row_copy(m, op.src[0]), row_copy(m, op.src[1]));
    let mut out = [0; 64];
    // LDS of RDNA 2 and 3 works on 32 lanes at a time: a wave64 permutes inside each half.
    let whole = m.is_gfx9() || m.arch().is_gfx12_plus();
    let group = if whole { lanes } else { 32 };
    for lane in Lanes(exec) {
        let from = address[lane].wrapping_add(op.k[0] as u32) / 4 % group;
        let from = from as usize + if group == 32 { lane & 32 } else { 0 };
        if INACTIVE || exec >> from & 1 != 0 {
            out[lane] = data[from];
        }
    }
    write_active(m, op.dst, &out, exec);
    Flow::Next
}

pub(crate) fn write_active(m: &mut Machine<'_>, dst: u16, values: &[u32; 64], exec: u64) {
    if let Some(row) = m.wave.rows.row_mut(dst - VGPR) {
        for lane in Lanes(exec) {
            row[lane] = values[lane];
        }
    }
}

/// Fixed permutations of 32 lanes (or of four), by the offset field.
pub(crate) fn swizzle(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let exec = m.wave.exec();
    let data = row_copy(m, op.src[0]);
    let mode = op.k[0] as usize;
    let mut out = [0; 64];
    for lane in Lanes(exec) {
        let from = swizzle_source(mode, lane);
        out[lane] = if exec >> from & 1 != 0 { data[from] } else { 0 };
    }
    write_active(m, op.dst, &out, exec);
    Flow::Next
}

/// The lane that a lane reads. As AMD's pseudocode has it.
fn swizzle_source(mode: usize, lane: usize) -> usize {
    let (half, at) = (lane & 32, lane & 31);
    let low = mode & 31;
    if mode >= 0xe000 {
        // Fast Fourier transform: bits reversed, but for those of the mask.
        let reversed = (at as u32).reverse_bits() as usize >> 27;
        return half | reversed >> low.count_ones() | at & low;
    }
    if mode >= 0xc000 {
        // Rotation inside groups that the mask keeps apart.
        let by = mode >> 5 & 31;
        let moved = if mode >> 10 & 1 == 0 {
            at + by
        } else {
            at + 32 - by
        };
        return half | at & low | moved & !low & 31;
    }
    if mode & 0x8000 != 0 {
        return lane & !3 | mode >> (2 * (lane & 3)) & 3;
    }
    let (or, xor) = (mode >> 5 & 31, mode >> 10 & 31);
    half | ((at & low | or) ^ xor)
}
