//! LDS as the memory of a wave's machine, and the lanes of registers that go there.

use crate::exec::access::{Lanes, Spec};
use crate::exec::atomic::AtomicOp;
use crate::exec::code::Page;
use crate::exec::machine::Machine;
use crate::exec::microop::{ABSENT, Flow, MicroOp, VGPR};

impl Machine<'_> {
    /// Byte offsets of the lanes. The sum wraps: compilers fold negative addresses into offsets.
    #[inline(always)]
    pub(super) fn lds_offsets(&mut self, op: &MicroOp, offset: u64, offsets: &mut [u32; 64]) {
        let lanes = self.wave.lanes as usize & 127;
        let row: *const u32 = self.wave.rows.ptr(op.src[0] - VGPR);
        // SAFETY: the address register's row was checked by the run loop.
        let row = unsafe { core::slice::from_raw_parts(row, lanes) };
        for (to, &address) in offsets.iter_mut().zip(row) {
            *to = address.wrapping_add(offset as u32);
        }
    }

    /// Byte offsets of the lanes, as the device takes addresses.
    pub(super) fn aligned_lds(
        &mut self,
        op: &MicroOp,
        page: &Page,
        offset: u64,
        lanes: u64,
    ) -> Result<[u32; 64], Flow> {
        let mut offsets = [0; 64];
        self.lds_offsets(op, offset, &mut offsets);
        let bytes = Spec::from_flags(op.flags).bytes;
        self.aligned_offsets(op, page, bytes, &offsets, lanes)
    }

    /// Reads LDS into the registers of an operand.
    pub(crate) fn lds_load(&mut self, dst: u16, spec: Spec, offsets: &[u32; 64], mask: u64) {
        let lanes = self.wave.lanes as usize & 127;
        let words = spec.dwords();
        let to = self.wave.rows.ptr(dst - VGPR);
        let lds = &*self.lds;
        for lane in Lanes(mask) {
            for word in 0..words {
                let at = offsets[lane] as usize + word * 4;
                let size = usize::from(spec.bytes).min(4);
                let value = lds.get(at..at + size).map_or(0, |bytes| {
                    let mut value = [0; 4];
                    value[..size].copy_from_slice(bytes);
                    u32::from_le_bytes(value)
                });
                // SAFETY: the destination's rows were checked by the run loop.
                unsafe {
                    let to = to.add(word * lanes + lane);
                    *to = spec.merge(*to, value);
                }
            }
        }
    }

    /// Writes the registers of an operand to LDS, lane after lane.
    pub(crate) fn lds_store(&mut self, data: u16, spec: Spec, offsets: &[u32; 64], mask: u64) {
        let lanes = self.wave.lanes as usize & 127;
        let words = spec.dwords();
        let from: *const u32 = self.wave.rows.ptr(data - VGPR);
        for lane in Lanes(mask) {
            for word in 0..words {
                // SAFETY: the data's rows were checked by the run loop.
                let value = spec.part(unsafe { *from.add(word * lanes + lane) });
                let at = offsets[lane] as usize + word * 4;
                let size = usize::from(spec.bytes).min(4);
                if let Some(to) = self.lds.get_mut(at..at + size) {
                    to.copy_from_slice(&value.to_le_bytes()[..size]);
                }
            }
        }
    }

    /// Atomics on LDS, lane after lane. `data` are the first registers of the two values.
    pub(crate) fn lds_atomic(
        &mut self,
        dst: u16,
        what: AtomicOp,
        wide: bool,
        data: [u16; 2],
        offsets: &[u32; 64],
        mask: u64,
    ) {
        if wide {
            self.lds_atomic_of::<8>(dst, what, data, offsets, mask);
        } else {
            self.lds_atomic_of::<4>(dst, what, data, offsets, mask);
        }
    }

    /// [`Machine::lds_atomic`] on so many bytes.
    #[inline(always)]
    fn lds_atomic_of<const BYTES: usize>(
        &mut self,
        dst: u16,
        what: AtomicOp,
        data: [u16; 2],
        offsets: &[u32; 64],
        mask: u64,
    ) {
        let wide = BYTES == 8;
        for lane in Lanes(mask) {
            let a = self.lane_value(data[0], wide, lane);
            let b = if what.two_values() {
                self.lane_value(data[1], wide, lane)
            } else {
                0
            };
            let at = offsets[lane] as usize;
            let mut old = 0u64;
            if let Some(bytes) = self.lds.get_mut(at..at + BYTES) {
                let mut value = [0; 8];
                value[..BYTES].copy_from_slice(bytes);
                old = u64::from_le_bytes(value);
                let new = if wide {
                    what.apply(old, a, b)
                } else {
                    u64::from(what.apply(old as u32, a as u32, b as u32))
                };
                bytes.copy_from_slice(&new.to_le_bytes()[..BYTES]);
            }
            if dst != ABSENT {
                self.set_lane_value(dst, wide, lane, old);
            }
        }
    }

    /// One lane of a register or pair.
    #[inline]
    pub(crate) fn lane_value(&self, src: u16, wide: bool, lane: usize) -> u64 {
        let word = |src: u16| {
            self.wave
                .rows
                .row(src - VGPR)
                .map_or(0, |row| u64::from(row[lane]))
        };
        if src < VGPR || src == ABSENT {
            0
        } else if wide {
            word(src) | word(src + 1) << 32
        } else {
            word(src)
        }
    }

    /// Writes one lane of a register or pair.
    pub(crate) fn set_lane_value(&mut self, dst: u16, wide: bool, lane: usize, value: u64) {
        if let Some(row) = self.wave.rows.row_mut(dst - VGPR) {
            row[lane] = value as u32;
        }
        if wide && let Some(row) = self.wave.rows.row_mut(dst + 1 - VGPR) {
            row[lane] = (value >> 32) as u32;
        }
    }

    /// A little-endian value of LDS; zero beyond its end.
    pub(crate) fn lds_value(&self, at: usize, bytes: usize) -> u64 {
        let mut value = [0; 8];
        if let Some(from) = at.checked_add(bytes).and_then(|end| self.lds.get(at..end)) {
            value[..bytes].copy_from_slice(from);
        }
        u64::from_le_bytes(value)
    }

    /// Writes a value to LDS; nothing beyond its end.
    pub(crate) fn set_lds_value(&mut self, at: usize, bytes: usize, value: u64) {
        let end = at.checked_add(bytes);
        if let Some(to) = end.and_then(|end| self.lds.get_mut(at..end)) {
            to.copy_from_slice(&value.to_le_bytes()[..bytes]);
        }
    }
}
