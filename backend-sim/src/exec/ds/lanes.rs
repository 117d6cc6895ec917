//! Loads, stores and atomics of each lane, at one address or at two.

use crate::exec::access::{Lanes, Spec};
use crate::exec::atomic::AtomicOp;
use crate::exec::code::Page;
use crate::exec::flat::atomic_of;
use crate::exec::leveled::Leveled;
use crate::exec::machine::Machine;
use crate::exec::microop::{Flow, MicroOp};
use crate::exec::valu::levels::Host;

/// Reads of `W` dwords a lane.
pub(super) struct Load<const W: usize>;

impl<const W: usize> Leveled for Load<W> {
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        let rest = m.lds_load_groups::<H, W, 1>(op, [op.k[0] as u32]);
        match rest {
            0 => Flow::Next,
            rest => load_lanes(m, op, page, rest),
        }
    }
}

#[inline(never)]
fn load_lanes(m: &mut Machine<'_>, op: &MicroOp, page: &Page, lanes: u64) -> Flow {
    let spec = Spec::from_flags(op.flags);
    match m.aligned_lds(op, page, op.k[0], lanes) {
        Ok(offsets) => m.lds_load(op.dst, spec, &offsets, lanes),
        Err(flow) => return flow,
    }
    Flow::Next
}

pub(super) fn load_small(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let exec = m.wave.exec();
    load_lanes(m, op, page, exec)
}

/// Writes of `W` dwords a lane.
pub(super) struct Store<const W: usize>;

impl<const W: usize> Leveled for Store<W> {
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        match m.lds_store_groups::<H, W>(op, op.k[0] as u32, op.src[1]) {
            0 => Flow::Next,
            rest => store_lanes(m, op, page, (op.k[0], op.src[1]), rest),
        }
    }
}

#[inline(never)]
fn store_lanes(
    m: &mut Machine<'_>,
    op: &MicroOp,
    page: &Page,
    (offset, data): (u64, u16),
    lanes: u64,
) -> Flow {
    let spec = Spec::from_flags(op.flags);
    match m.aligned_lds(op, page, offset, lanes) {
        Ok(offsets) => m.lds_store(data, spec, &offsets, lanes),
        Err(flow) => return flow,
    }
    Flow::Next
}

pub(super) fn store_small(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let exec = m.wave.exec();
    store_lanes(m, op, page, (op.k[0], op.src[1]), exec)
}

pub(super) fn lds_atomic(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let mut offsets = [0; 64];
    m.lds_offsets(op, op.k[0], &mut offsets);
    let exec = m.wave.exec();
    let (what, wide) = atomic_of(op.k[1]);
    m.lds_atomic(op.dst, what, wide, [op.src[1], op.src[2]], &offsets, exec);
    Flow::Next
}

/// Reads of `W` dwords a lane at two offsets.
pub(super) struct Read2<const W: usize>;

impl<const W: usize> Leveled for Read2<W> {
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        match m.lds_load_groups::<H, W, 2>(op, [op.k[0] as u32, op.k[2] as u32]) {
            0 => Flow::Next,
            rest => read2_lanes(m, op, page, rest),
        }
    }
}

#[inline(never)]
fn read2_lanes(m: &mut Machine<'_>, op: &MicroOp, page: &Page, lanes: u64) -> Flow {
    let spec = Spec::from_flags(op.flags);
    // Both before a result overwrites an address.
    let [first, second] = [op.k[0], op.k[2]].map(|offset| m.aligned_lds(op, page, offset, lanes));
    match (first, second) {
        (Ok(first), Ok(second)) => {
            m.lds_load(op.dst, spec, &first, lanes);
            m.lds_load(op.dst + spec.dwords() as u16, spec, &second, lanes);
            Flow::Next
        }
        (Err(flow), _) | (_, Err(flow)) => flow,
    }
}

/// Where addresses must be, or are made to be, aligned.
pub(super) fn read2_aligned(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let exec = m.wave.exec();
    read2_lanes(m, op, page, exec)
}

pub(super) fn write2_aligned(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let exec = m.wave.exec();
    match store_lanes(m, op, page, (op.k[0], op.src[1]), exec) {
        Flow::Next => store_lanes(m, op, page, (op.k[2], op.src[2]), exec),
        flow => flow,
    }
}

/// Writes of `W` dwords a lane at two offsets.
pub(super) struct Write2<const W: usize>;

impl<const W: usize> Leveled for Write2<W> {
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        for (offset, data) in [(op.k[0], op.src[1]), (op.k[2], op.src[2])] {
            let rest = m.lds_store_groups::<H, W>(op, offset as u32, data);
            if rest != 0 {
                // Only where addresses must be aligned do stores fault, and there this is not used.
                store_lanes(m, op, page, (offset, data), rest);
            }
        }
        Flow::Next
    }
}

pub(super) fn exchange2(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let spec = Spec::from_flags(op.flags);
    let exec = m.wave.exec();
    let wide = spec.bytes == 8;
    let (mut first, mut second) = ([0; 64], [0; 64]);
    m.lds_offsets(op, op.k[0], &mut first);
    m.lds_offsets(op, op.k[2], &mut second);
    // The second value is read before the result of the first is written, lane by lane.
    for lane in Lanes(exec) {
        let mask = 1 << lane;
        let saved = m.lane_value(op.src[2], wide, lane);
        m.lds_atomic(op.dst, AtomicOp::Swap, wide, [op.src[1]; 2], &first, mask);
        let at = second[lane] as usize;
        let size = usize::from(spec.bytes);
        let mut old = 0;
        if let Some(bytes) = m.lds.get_mut(at..at + size) {
            let mut value = [0; 8];
            value[..size].copy_from_slice(bytes);
            old = u64::from_le_bytes(value);
            bytes.copy_from_slice(&saved.to_le_bytes()[..size]);
        }
        m.set_lane_value(op.dst + spec.dwords() as u16, wide, lane, old);
    }
    Flow::Next
}
