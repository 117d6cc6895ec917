//! What takes more than an address of each lane: data that is in LDS, counters of a wave, addresses by lane number.

use super::B4;
use crate::exec::access::Lanes;
use crate::exec::atomic::Word;
use crate::exec::code::Page;
use crate::exec::crossbar::{self, write_active};
use crate::exec::flat::atomic_of;
use crate::exec::machine::Machine;
use crate::exec::microop::{Flow, MicroOp};
use crate::exec::scalars::M0;

/// The second address of the instructions that have their data there: a signed distance in dwords, in the offset
/// or, if the offset's highest bit is set, in the upper bits of the address.
fn second_address(offset: u32, address: u32) -> (usize, usize) {
    let distance = if offset >> 15 & 1 != 0 {
        address as i32 >> 17
    } else {
        ((offset << 17) as i32) >> 17
    };
    let first = if offset >> 15 & 1 != 0 {
        address & 0x1_ffff
    } else {
        address
    };
    let second = first.wrapping_add((distance * 4) as u32);
    (first as usize, second as usize)
}

pub(super) fn atomic_src2<W: Word>(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let addresses = crossbar::row_copy(m, op.src[0]);
    let (what, _) = atomic_of(op.k[1]);
    for lane in Lanes(m.wave.exec()) {
        let (first, second) = second_address(op.k[0] as u32, addresses[lane]);
        let old = W::of(m.lds_value(first, W::BYTES));
        let data = W::of(m.lds_value(second, W::BYTES));
        let new = what.apply(old, data, W::ZERO);
        m.set_lds_value(first, W::BYTES, new.bits());
    }
    Flow::Next
}

pub(super) fn write_src2<const BYTES: usize>(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let addresses = crossbar::row_copy(m, op.src[0]);
    for lane in Lanes(m.wave.exec()) {
        let (first, second) = second_address(op.k[0] as u32, addresses[lane]);
        let data = m.lds_value(second, BYTES);
        m.set_lds_value(first, BYTES, data);
    }
    Flow::Next
}

/// Exchanges each of two dwords whose new value has its highest bit set; that bit is not written.
pub(super) fn condxchg(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let addresses = crossbar::row_copy(m, op.src[0]);
    for lane in Lanes(m.wave.exec()) {
        let at = (addresses[lane].wrapping_add(op.k[0] as u32) & 0xfff8) as usize;
        let data = m.lane_value(op.src[1], true, lane);
        let mut old = 0;
        for half in 0..2 {
            let at = at + 4 * half;
            let data = data >> (32 * half) & 0xffff_ffff;
            old |= m.lds_value(at, 4) << (32 * half);
            if data >> 31 != 0 {
                m.set_lds_value(at, 4, data & 0x7fff_ffff);
            }
        }
        m.set_lane_value(op.dst, true, lane, old);
    }
    Flow::Next
}

/// A wave-wide counter: adds (or takes) the number of active lanes at M0 plus the offset, and gives every active
/// lane the value before.
pub(super) fn append<const ADD: bool>(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let exec = m.wave.exec();
    let count = exec.count_ones();
    // M0 holds the base address in its high half, as the instruction's manual entry says.
    let at = (m.wave.s[M0] >> 16) as usize + op.k[0] as usize;
    let mut old = 0;
    if let Some(bytes) = m.lds.get_mut(at..at + 4) {
        let mut value = [0; 4];
        value.copy_from_slice(bytes);
        old = u32::from_le_bytes(value);
        let new = if ADD {
            old.wrapping_add(count)
        } else {
            old.wrapping_sub(count)
        };
        bytes.copy_from_slice(&new.to_le_bytes());
    }
    write_active(m, op.dst, &[old; 64], exec);
    Flow::Next
}

fn addtid_offsets(m: &Machine<'_>, op: &MicroOp) -> [u32; 64] {
    let base = (m.wave.s[M0] & 0xffff).wrapping_add(op.k[0] as u32);
    core::array::from_fn(|lane| base.wrapping_add(lane as u32 * 4))
}

pub(super) fn read_addtid(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let (offsets, exec) = (addtid_offsets(m, op), m.wave.exec());
    m.lds_load(op.dst, B4, &offsets, exec);
    Flow::Next
}

pub(super) fn write_addtid(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let (offsets, exec) = (addtid_offsets(m, op), m.wave.exec());
    m.lds_store(op.src[1], B4, &offsets, exec);
    Flow::Next
}
