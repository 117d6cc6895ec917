//! Private memory: interleaved by dwords, so that lanes which access the same variable touch neighbouring addresses.
//!
//! Dword `d` of lane `l` is dword `d * lanes + l` of the wave's scratch. An access that stays in one dword, or starts
//! at one, is a few plain accesses; another goes byte by byte.

use super::access::{Addresses, Lanes, Spec};
use super::atomic::{AtomicOp, Word};
use super::code::Page;
use super::machine::Machine;
use super::microop::{ABSENT, Flow, MicroOp, VGPR};
use crate::mem::{Access, raw};

/// The place of a lane's private byte in its wave's scratch.
fn interleave(offset: u64, lane: u64, stride: u64) -> u64 {
    (offset >> 2) * stride + lane * 4 + (offset & 3)
}

/// The lanes whose access is neither inside a dword nor starts at one.
fn crossing(offsets: &[u32; 64], spec: Spec, mask: u64) -> u64 {
    let mut crossing = 0;
    for lane in Lanes(mask) {
        let within = offsets[lane] & 3;
        if within != 0 && within + u32::from(spec.bytes) > 4 {
            crossing |= 1 << lane;
        }
    }
    crossing
}

impl Machine<'_> {
    /// Distance of the dwords of one lane in private memory.
    pub(crate) fn private_stride(&self) -> u64 {
        u64::from(self.wave.lanes) * 4
    }

    /// Where private offsets are in the wave's scratch.
    pub(crate) fn private_addresses(&self, base: u64, offsets: &[u32; 64]) -> Addresses {
        let stride = self.private_stride();
        let mut va = [0; 64];
        for (lane, va) in va.iter_mut().enumerate() {
            *va = base.wrapping_add(interleave(u64::from(offsets[lane]), lane as u64, stride));
        }
        va
    }

    /// The bytes of one lane from an offset on, where the host has them.
    fn private_hosts(
        &mut self,
        op: &MicroOp,
        page: &Page,
        (base, lane, offset): (u64, usize, u32),
        bytes: usize,
        access: Access,
    ) -> Result<[*mut u8; 16], Flow> {
        let stride = self.private_stride();
        self.tlb.sync(self.view);
        let mut hosts = [core::ptr::null_mut(); 16];
        for (byte, host) in hosts.iter_mut().enumerate().take(bytes) {
            let offset = u64::from(offset.wrapping_add(byte as u32));
            let at = base.wrapping_add(interleave(offset, lane as u64, stride));
            let Some(found) = self.tlb.host(self.view, at, 1, access) else {
                // The whole access is reported, as for every other.
                let whole = (at, bytes as u64);
                return Err(self.memory_fault(op, page, Some(lane as u32), whole, access));
            };
            *host = found;
        }
        Ok(hosts)
    }

    /// Reads a lane's private memory, at most sixteen bytes, from any offset.
    pub(crate) fn read_private(
        &mut self,
        op: &MicroOp,
        page: &Page,
        place: (u64, usize, u32),
        to: &mut [u8],
    ) -> Result<(), Flow> {
        let hosts = self.private_hosts(op, page, place, to.len(), Access::Read)?;
        for (byte, host) in to.iter_mut().zip(hosts) {
            // SAFETY: each byte was checked just now.
            *byte = unsafe { raw::load_u8(host) };
        }
        Ok(())
    }

    /// Writes a lane's private memory, at most sixteen bytes, at any offset; all or nothing.
    pub(crate) fn write_private(
        &mut self,
        op: &MicroOp,
        page: &Page,
        place: (u64, usize, u32),
        from: &[u8],
    ) -> Result<(), Flow> {
        let hosts = self.private_hosts(op, page, place, from.len(), Access::Write)?;
        for (&byte, host) in from.iter().zip(hosts) {
            // SAFETY: each byte was checked just now.
            unsafe { raw::store_u8(host, byte) };
        }
        Ok(())
    }
}

pub(crate) fn load(
    m: &mut Machine<'_>,
    op: &MicroOp,
    page: &Page,
    base: u64,
    offsets: &[u32; 64],
    mask: u64,
) -> Result<(), Flow> {
    let spec = Spec::from_flags(op.flags);
    let placed;
    let offsets = match page.alignment.is_free() {
        true => offsets,
        false => {
            placed = m.aligned_offsets(op, page, spec.bytes, offsets, mask)?;
            &placed
        }
    };
    let stride = m.private_stride();
    let split = crossing(offsets, spec, mask);
    let va = m.private_addresses(base, offsets);
    m.vmem_load(op, page, spec, &va, stride, mask & !split)?;
    for lane in Lanes(split) {
        let mut bytes = [0; 16];
        let to = &mut bytes[..usize::from(spec.bytes)];
        m.read_private(op, page, (base, lane, offsets[lane]), to)?;
        let value = u128::from_le_bytes(bytes);
        for row in 0..spec.dwords() {
            if let Some(to) = m.wave.rows.row_mut(op.dst - VGPR + row as u16) {
                to[lane] = spec.merge(to[lane], (value >> (32 * row)) as u32);
            }
        }
    }
    Ok(())
}

pub(crate) fn store(
    m: &mut Machine<'_>,
    op: &MicroOp,
    page: &Page,
    base: u64,
    (data, offsets): (u16, &[u32; 64]),
    mask: u64,
) -> Result<(), Flow> {
    let spec = Spec::from_flags(op.flags);
    let placed;
    let offsets = match page.alignment.is_free() {
        true => offsets,
        false => {
            placed = m.aligned_offsets(op, page, spec.bytes, offsets, mask)?;
            &placed
        }
    };
    let stride = m.private_stride();
    let split = crossing(offsets, spec, mask);
    let va = m.private_addresses(base, offsets);
    m.vmem_store(op, page, spec, data, &va, stride, mask & !split)?;
    for lane in Lanes(split) {
        let mut value = 0u128;
        for row in 0..spec.dwords() {
            let word = m.lane_value(data + row as u16, false, lane) as u32;
            value |= u128::from(spec.part(word)) << (32 * row);
        }
        let bytes = value.to_le_bytes();
        let from = &bytes[..usize::from(spec.bytes)];
        m.write_private(op, page, (base, lane, offsets[lane]), from)?;
    }
    Ok(())
}

/// Atomics: nobody else has the lane's memory, so that a read and a write are as good.
pub(crate) fn atomic<W: Word>(
    m: &mut Machine<'_>,
    op: &MicroOp,
    page: &Page,
    (base, offsets): (u64, &[u32; 64]),
    (what, data): (AtomicOp, u16),
    mask: u64,
) -> Result<(), Flow> {
    let wide = W::BYTES == 8;
    for lane in Lanes(mask) {
        let place = (base, lane, offsets[lane]);
        let mut bytes = [0; 8];
        m.read_private(op, page, place, &mut bytes[..W::BYTES])?;
        let old = W::of(u64::from_le_bytes(bytes));
        let a = W::of(m.lane_value(data, wide, lane));
        let b = W::of(m.lane_value(data + W::REGISTERS, wide, lane));
        let new = what.apply(old, a, b).bits().to_le_bytes();
        m.write_private(op, page, place, &new[..W::BYTES])?;
        if op.dst != ABSENT {
            m.set_lane_value(op.dst, wide, lane, old.bits());
        }
    }
    Ok(())
}
