//! Loads that transpose: matrices stored by columns become operands of matrix instructions.
//!
//! gfx950 transposes what sixteen lanes read from LDS: with `N` elements a lane, they hold `N` rows of sixteen
//! elements, `16 / N` lanes (or one) a row; lane `i` gets column `i`. gfx12 transposes 16 by 16 elements that the wave
//! loads from memory: lane `l` addresses row `l % 16`, from column `(l / 16) * E` on, where `E` is its number of
//! elements, and gets the same part of column `l % 16`. AMD's guides name these instructions and publish no
//! pseudocode for them.

use super::access::{Addresses, Lanes};
use super::code::Page;
use super::crossbar::row_copy;
use super::flat::done;
use super::machine::Machine;
use super::microop::{Flow, MicroOp, VGPR};

/// Bits `low..low + width` of a lane's registers.
fn element(words: &[u32; 4], low: usize, width: usize) -> u32 {
    let all = words
        .iter()
        .rev()
        .fold(0u128, |all, &word| all << 32 | u128::from(word));
    (all >> low) as u32 & (u32::MAX >> (32 - width))
}

/// Puts an element of `width` bits at `low`.
fn put(words: &mut [u32; 4], low: usize, width: usize, value: u32) {
    let all = words
        .iter()
        .rev()
        .fold(0u128, |all, &word| all << 32 | u128::from(word));
    let mask = u128::from(u32::MAX >> (32 - width)) << low;
    let all = all & !mask | u128::from(value) << low & mask;
    for (word, to) in words.iter_mut().enumerate() {
        *to = (all >> (32 * word)) as u32;
    }
}

fn write(m: &mut Machine<'_>, op: &MicroOp, rows: usize, values: &[[u32; 4]; 64]) {
    let exec = m.wave.exec();
    for row in (0..4).take(rows) {
        if let Some(to) = m.wave.rows.row_mut(op.dst - VGPR + row as u16) {
            for lane in Lanes(exec) {
                to[lane] = values[lane][row & 3];
            }
        }
    }
}

/// Reads from LDS, with elements of `BITS` bits. What inactive lanes would read counts as zero.
pub(crate) fn lds_read<const BITS: usize>(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let bytes = if BITS == 6 { 12 } else { 8 };
    let count = bytes * 8 / BITS;
    let per_row = 16 / count;
    let addresses = row_copy(m, op.src[0]);
    let mut read = [[0; 4]; 64];
    for lane in Lanes(m.wave.exec()) {
        let at = addresses[lane].wrapping_add(op.k[0] as u32) as usize;
        for (word, to) in read[lane].iter_mut().enumerate().take(bytes / 4) {
            *to = m.lds_value(at + 4 * word, 4) as u32;
        }
    }
    let mut out = [[0; 4]; 64];
    for (lane, out) in out.iter_mut().enumerate() {
        let (group, column) = (lane & !15, lane & 15);
        for row in 0..count {
            let from = group + row * per_row + column / count;
            let value = element(&read[from], column % count * BITS, BITS);
            put(out, row * BITS, BITS, value);
        }
    }
    write(m, op, bytes / 4, &out);
    Flow::Next
}

/// Loads from memory, with elements of `BITS` bits.
pub(crate) fn global_load<const BITS: usize>(
    m: &mut Machine<'_>,
    op: &MicroOp,
    page: &Page,
) -> Flow {
    let mut va = [0; 64];
    m.global_addresses(op, &mut va);
    done(load::<BITS>(m, op, page, &va))
}

fn load<const BITS: usize>(
    m: &mut Machine<'_>,
    op: &MicroOp,
    page: &Page,
    va: &Addresses,
) -> Result<(), Flow> {
    let lanes = m.wave.lanes as usize;
    // The elements are shared out evenly.
    let count = 256 / lanes;
    let bytes = count * BITS / 8;
    let mut read = [[0; 4]; 64];
    for lane in Lanes(m.wave.exec()) {
        let mut memory = [0; 16];
        m.read_lane(op, page, lane, va[lane], &mut memory[..bytes])?;
        let value = u128::from_le_bytes(memory);
        read[lane] = core::array::from_fn(|word| (value >> (32 * word)) as u32);
    }
    let mut out = [[0; 4]; 64];
    for (lane, out) in out.iter_mut().enumerate().take(lanes) {
        for at in 0..count {
            let (row, column) = (lane / 16 * count + at, lane % 16);
            let from = row + 16 * (column / count);
            let value = element(&read[from], column % count * BITS, BITS);
            put(out, at * BITS, BITS, value);
        }
    }
    write(m, op, bytes.div_ceil(4), &out);
    Ok(())
}
