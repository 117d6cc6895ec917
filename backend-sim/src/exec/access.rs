//! Memory accesses of all lanes: one copy where lanes are neighbours, a checked gather where not.

use super::atomic::{AtomicOp, Word};
use super::code::Page;
use super::fault::FaultKind;
use super::machine::Machine;
use super::microop::{ABSENT, Flow, MicroOp, VGPR};
use super::rows::{Row, WIDEST};
use super::scalars::M0;
use crate::isa::Arch;
use crate::mem::{Access, Span, raw};

/// What a load or store moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Spec {
    /// 1, 2, 4, 8, 12 or 16.
    pub(crate) bytes: u8,
    /// Sub-dword loads extend the sign.
    pub(crate) sext: bool,
    pub(crate) half: Half,
}

/// Which part of the register a sub-dword access uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Half {
    /// All of it.
    None,
    /// The low half; the high half stays (D16).
    Low,
    /// The high half; the low half stays (D16_HI).
    High,
}

impl Spec {
    pub(crate) const fn new(bytes: u8) -> Spec {
        Spec {
            bytes,
            sext: false,
            half: Half::None,
        }
    }

    pub(crate) const fn signed(self) -> Spec {
        Spec { sext: true, ..self }
    }

    pub(crate) const fn low(self) -> Spec {
        Spec {
            half: Half::Low,
            ..self
        }
    }

    pub(crate) const fn high(self) -> Spec {
        Spec {
            half: Half::High,
            ..self
        }
    }

    /// As a micro-op keeps it in its flags.
    pub(crate) const fn flags(self) -> u8 {
        let half = match self.half {
            Half::None => 0,
            Half::Low => 1,
            Half::High => 2,
        };
        self.bytes | (self.sext as u8) << 5 | half << 6
    }

    #[inline(always)]
    pub(crate) const fn from_flags(flags: u8) -> Spec {
        let half = match flags >> 6 {
            1 => Half::Low,
            2 => Half::High,
            _ => Half::None,
        };
        Spec {
            bytes: flags & 31,
            sext: flags & 32 != 0,
            half,
        }
    }

    pub(crate) const fn dwords(self) -> usize {
        (self.bytes as usize).div_ceil(4)
    }

    /// What a sub-dword load makes of the register.
    #[inline(always)]
    pub(crate) fn merge(self, old: u32, loaded: u32) -> u32 {
        let value = match (self.bytes, self.sext) {
            (1, true) => i32::from(loaded as i8) as u32,
            (2, true) => i32::from(loaded as i16) as u32,
            _ => loaded,
        };
        match self.half {
            Half::None => value,
            Half::Low => old & 0xffff_0000 | value & 0xffff,
            Half::High => old & 0xffff | value << 16,
        }
    }

    /// The value that a sub-dword store takes from the register.
    #[inline(always)]
    pub(crate) fn part(self, register: u32) -> u32 {
        if self.half == Half::High {
            register >> 16
        } else {
            register
        }
    }
}

/// Byte addresses of the lanes.
pub(crate) type Addresses = [u64; 64];

/// The lanes of a mask, ascending.
#[derive(Clone, Copy)]
pub(crate) struct Lanes(pub(crate) u64);

impl Iterator for Lanes {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let lane = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(lane)
    }
}

/// Whether each lane's address is `step` above its predecessor's.
#[inline(always)]
fn consecutive(va: &Addresses, lanes: usize, step: u64) -> bool {
    let mut expected = va[0];
    let mut differs = 0;
    for &at in &va[..lanes & 127] {
        differs |= at ^ expected;
        expected = expected.wrapping_add(step);
    }
    differs == 0
}

impl Machine<'_> {
    /// Loads. `stride` is the distance between the dwords of one lane's access: 4, except in swizzled
    /// private memory.
    pub(crate) fn vmem_load(
        &mut self,
        op: &MicroOp,
        page: &Page,
        spec: Spec,
        va: &Addresses,
        stride: u64,
        mask: u64,
    ) -> Result<(), Flow> {
        if page.alignment.is_free() || stride != 4 {
            return self.load_at(op, page, spec, va, stride, mask);
        }
        let va = self.aligned(op, page, spec.bytes, va, mask)?;
        self.load_at(op, page, spec, &va, stride, mask)
    }

    fn load_at(
        &mut self,
        op: &MicroOp,
        page: &Page,
        spec: Spec,
        va: &Addresses,
        stride: u64,
        mask: u64,
    ) -> Result<(), Flow> {
        let lanes = self.wave.lanes as usize;
        let words = spec.dwords();
        self.tlb.sync(self.view);
        if mask == self.wave.lane_mask() && spec.bytes >= 4 {
            let row_bytes = lanes as u64 * 4;
            if (words == 1 || stride == row_bytes) && consecutive(va, lanes, 4) {
                let dst = self.wave.rows.ptr(op.dst - VGPR);
                let mut done = true;
                for word in 0..words {
                    let at = va[0].wrapping_add(word as u64 * stride);
                    let Some(host) = self.tlb.host(self.view, at, row_bytes, Access::Read) else {
                        done = false;
                        break;
                    };
                    // SAFETY: the span was checked for the row's bytes; the destination's rows
                    // were checked by the run loop.
                    unsafe {
                        raw::copy_in(host, dst.add(word * lanes).cast(), row_bytes as usize);
                    }
                }
                if done {
                    return Ok(());
                }
            } else if words > 1 && stride == 4 && consecutive(va, lanes, words as u64 * 4) {
                let total = words * lanes * 4;
                if let Some(host) = self.tlb.host(self.view, va[0], total as u64, Access::Read) {
                    let mut buffer = [Row::ZERO; WIDEST];
                    // SAFETY: the span was checked for all lanes' bytes, at most the buffer's.
                    unsafe { raw::copy_in(host, buffer.as_mut_ptr().cast(), total) };
                    let flat = super::dpp::Flat::as_flattened_mut(&mut buffer);
                    let dst = self.wave.rows.ptr(op.dst - VGPR);
                    for word in 0..words {
                        for lane in 0..lanes {
                            // SAFETY: a lane of one of the destination's rows, which the run
                            // loop checked.
                            unsafe { *dst.add(word * lanes + lane) = flat[lane * words + word] };
                        }
                    }
                    return Ok(());
                }
            }
        }
        if mask == self.wave.lane_mask() && spec.bytes == 4 {
            let rest = self.load_chunks(op, va, mask);
            return self.gather(op, page, spec, va, stride, rest);
        }
        self.gather(op, page, spec, va, stride, mask)
    }

    /// Loads a dword for groups of sixteen lanes that are neighbours, or all the same; gives the
    /// lanes that are left. Tiles make whole waves irregular, but rarely sixteen lanes.
    fn load_chunks(&mut self, op: &MicroOp, va: &Addresses, mask: u64) -> u64 {
        let lanes = self.wave.lanes as usize & 127;
        let dst = self.wave.rows.ptr(op.dst - VGPR);
        let mut rest = mask;
        for (chunk, va) in va[..lanes].as_chunks::<16>().0.iter().enumerate() {
            let (mut differs, mut gaps) = (0, 0);
            for (lane, &at) in va.iter().enumerate() {
                differs |= at ^ va[0];
                gaps |= at ^ va[0].wrapping_add(lane as u64 * 4);
            }
            let bytes = match (differs, gaps) {
                (_, 0) => 64,
                (0, _) => 4,
                _ => continue,
            };
            let Some(host) = self.tlb.host(self.view, va[0], bytes, Access::Read) else {
                continue;
            };
            // SAFETY: the span was checked for the bytes; the chunk's lanes are inside the
            // destination's row, which the run loop checked.
            unsafe {
                let to = dst.add(chunk * 16);
                if gaps == 0 {
                    raw::copy_in(host, to.cast(), 64);
                } else {
                    to.cast::<[u32; 16]>().write([raw::load_u32(host); 16]);
                }
            }
            rest &= !(0xffff << (chunk * 16));
        }
        rest
    }

    fn gather(
        &mut self,
        op: &MicroOp,
        page: &Page,
        spec: Spec,
        va: &Addresses,
        stride: u64,
        mask: u64,
    ) -> Result<(), Flow> {
        let lanes = self.wave.lanes as usize;
        let dst = self.wave.rows.ptr(op.dst - VGPR);
        let words = spec.dwords();
        // How much is checked at once: everything, unless the dwords are apart.
        let (pieces, piece) = if stride == 4 {
            (1, u64::from(spec.bytes))
        } else {
            (words, u64::from(spec.bytes.min(4)))
        };
        let mut span = Span::EMPTY;
        for lane in Lanes(mask) {
            for at in 0..pieces {
                let va = va[lane].wrapping_add(at as u64 * stride);
                if !(span.contains(va, piece)) {
                    match self.tlb.span(self.view, va, Access::Read) {
                        Some(found) if found.contains(va, piece) => span = found,
                        _ => {
                            let mut bytes = [0u8; 16];
                            self.read_lane(op, page, lane, va, &mut bytes[..piece as usize])?;
                            let value = u128::from_le_bytes(bytes);
                            for word in 0..words / pieces {
                                // SAFETY: a lane of one of the destination's rows, which the
                                // run loop checked.
                                unsafe {
                                    let to = dst.add((at + word) * lanes + lane);
                                    *to = spec.merge(*to, (value >> (word * 32)) as u32);
                                }
                            }
                            continue;
                        }
                    }
                }
                let host = span.host_address(va);
                // SAFETY: the span covers `piece` bytes at `va`, readable; the destination as
                // above.
                unsafe {
                    let to = dst.add(at * lanes + lane);
                    match piece {
                        4 => *to = raw::load_u32(host),
                        1 => *to = spec.merge(*to, u32::from(raw::load_u8(host))),
                        2 => *to = spec.merge(*to, u32::from(raw::load_u16(host))),
                        8 => {
                            let value = raw::load_u64(host);
                            *to = value as u32;
                            *to.add(lanes) = (value >> 32) as u32;
                        }
                        _ => {
                            for word in 0..words {
                                *to.add(word * lanes) = raw::load_u32(host.add(word * 4));
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads what a lane loads, also where no single span covers it.
    ///
    /// # Errors
    /// The fault; nothing is read then.
    pub(crate) fn read_lane(
        &mut self,
        op: &MicroOp,
        page: &Page,
        lane: usize,
        va: u64,
        to: &mut [u8],
    ) -> Result<(), Flow> {
        self.tlb.sync(self.view);
        let len = to.len();
        if let Some(host) = self.tlb.host(self.view, va, len as u64, Access::Read) {
            // SAFETY: the span covers the bytes, readable.
            unsafe { raw::copy_in(host, to.as_mut_ptr(), len) };
            return Ok(());
        }
        for (i, byte) in to.iter_mut().enumerate() {
            let at = va.wrapping_add(i as u64);
            let Some(host) = self.tlb.host(self.view, at, 1, Access::Read) else {
                // The whole access is reported; which byte of it is bad follows.
                let whole = (va, len as u64);
                return Err(self.memory_fault(op, page, Some(lane as u32), whole, Access::Read));
            };
            // SAFETY: checked just now.
            *byte = unsafe { raw::load_u8(host) };
        }
        Ok(())
    }

    /// Writes what a lane stores, at most sixteen bytes; see [`Machine::read_lane`].
    ///
    /// # Errors
    /// The fault; nothing is written then.
    pub(crate) fn write_lane(
        &mut self,
        op: &MicroOp,
        page: &Page,
        lane: usize,
        va: u64,
        from: &[u8],
    ) -> Result<(), Flow> {
        self.tlb.sync(self.view);
        let len = from.len();
        if let Some(host) = self.tlb.host(self.view, va, len as u64, Access::Write) {
            // SAFETY: the span covers the bytes, writable.
            unsafe { raw::copy_out(from.as_ptr(), host, len) };
            return Ok(());
        }
        let mut hosts = [core::ptr::null_mut(); 16];
        for (i, host) in hosts.iter_mut().enumerate().take(len) {
            let at = va.wrapping_add(i as u64);
            let Some(found) = self.tlb.host(self.view, at, 1, Access::Write) else {
                let whole = (va, len as u64);
                return Err(self.memory_fault(op, page, Some(lane as u32), whole, Access::Write));
            };
            *host = found;
        }
        for (host, &byte) in hosts.into_iter().zip(from) {
            // SAFETY: each byte was checked just now.
            unsafe { raw::store_u8(host, byte) };
        }
        Ok(())
    }

    /// Stores; see [`Machine::vmem_load`]. `data` is the first data register as an operand.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn vmem_store(
        &mut self,
        op: &MicroOp,
        page: &Page,
        spec: Spec,
        data: u16,
        va: &Addresses,
        stride: u64,
        mask: u64,
    ) -> Result<(), Flow> {
        if page.alignment.is_free() || stride != 4 {
            return self.store_at(op, page, spec, data, va, stride, mask);
        }
        let va = self.aligned(op, page, spec.bytes, va, mask)?;
        self.store_at(op, page, spec, data, &va, stride, mask)
    }

    #[allow(clippy::too_many_arguments)]
    fn store_at(
        &mut self,
        op: &MicroOp,
        page: &Page,
        spec: Spec,
        data: u16,
        va: &Addresses,
        stride: u64,
        mask: u64,
    ) -> Result<(), Flow> {
        let lanes = self.wave.lanes as usize;
        let words = spec.dwords();
        self.tlb.sync(self.view);
        if mask == self.wave.lane_mask() && spec.bytes >= 4 {
            let row_bytes = lanes as u64 * 4;
            let src: *const u32 = self.wave.rows.ptr(data - VGPR);
            if (words == 1 || stride == row_bytes) && consecutive(va, lanes, 4) {
                let mut done = true;
                for word in 0..words {
                    let at = va[0].wrapping_add(word as u64 * stride);
                    let Some(host) = self.tlb.host(self.view, at, row_bytes, Access::Write) else {
                        done = false;
                        break;
                    };
                    // SAFETY: the span was checked for the row's bytes; the data's rows were
                    // checked by the run loop.
                    unsafe {
                        raw::copy_out(src.add(word * lanes).cast(), host, row_bytes as usize);
                    }
                }
                if done {
                    return Ok(());
                }
            } else if words > 1 && stride == 4 && consecutive(va, lanes, words as u64 * 4) {
                let total = words * lanes * 4;
                if let Some(host) = self.tlb.host(self.view, va[0], total as u64, Access::Write) {
                    let mut buffer = [Row::ZERO; WIDEST];
                    let flat = super::dpp::Flat::as_flattened_mut(&mut buffer);
                    for word in 0..words {
                        for lane in 0..lanes {
                            // SAFETY: a lane of one of the data's rows, checked by the run loop.
                            flat[lane * words + word] = unsafe { *src.add(word * lanes + lane) };
                        }
                    }
                    // SAFETY: the span was checked for all lanes' bytes, at most the buffer's.
                    unsafe { raw::copy_out(buffer.as_ptr().cast(), host, total) };
                    return Ok(());
                }
            }
        }
        self.scatter(op, page, spec, data, va, stride, mask)
    }

    #[allow(clippy::too_many_arguments)]
    fn scatter(
        &mut self,
        op: &MicroOp,
        page: &Page,
        spec: Spec,
        data: u16,
        va: &Addresses,
        stride: u64,
        mask: u64,
    ) -> Result<(), Flow> {
        let lanes = self.wave.lanes as usize;
        let src: *const u32 = self.wave.rows.ptr(data - VGPR);
        let words = spec.dwords();
        let (pieces, piece) = if stride == 4 {
            (1, u64::from(spec.bytes))
        } else {
            (words, u64::from(spec.bytes.min(4)))
        };
        let mut span = Span::EMPTY;
        for lane in Lanes(mask) {
            for at in 0..pieces {
                let va = va[lane].wrapping_add(at as u64 * stride);
                let per_piece = words / pieces;
                let mut value = [0u32; 4];
                for (word, value) in value.iter_mut().enumerate().take(per_piece) {
                    // SAFETY: a lane of one of the data's rows, checked by the run loop.
                    *value = unsafe { *src.add((at + word) * lanes + lane) };
                }
                if piece < 4 {
                    value[0] = spec.part(value[0]);
                }
                if !span.contains(va, piece) {
                    match self.tlb.span(self.view, va, Access::Write) {
                        Some(found) if found.contains(va, piece) => span = found,
                        _ => {
                            let words = value.iter().enumerate();
                            let bytes =
                                words.fold(0, |all, (i, &w)| all | u128::from(w) << (32 * i));
                            let bytes = bytes.to_le_bytes();
                            self.write_lane(op, page, lane, va, &bytes[..piece as usize])?;
                            continue;
                        }
                    }
                }
                let host = span.host_address(va);
                // SAFETY: the span covers `piece` bytes at `va`, writable.
                unsafe {
                    match piece {
                        4 => raw::store_u32(host, value[0]),
                        1 => raw::store_u8(host, value[0] as u8),
                        2 => raw::store_u16(host, value[0] as u16),
                        8 => raw::store_u64(host, u64::from(value[0]) | u64::from(value[1]) << 32),
                        _ => {
                            for (word, &value) in value.iter().enumerate().take(words) {
                                raw::store_u32(host.add(word * 4), value);
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Atomics on memory: lane after lane, each a host atomic. The old values go to `dst`, if there is one.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn vmem_atomic(
        &mut self,
        op: &MicroOp,
        page: &Page,
        what: AtomicOp,
        wide: bool,
        data: u16,
        va: &Addresses,
        mask: u64,
    ) -> Result<(), Flow> {
        // MI100's and MI200's memory flushes subnormal numbers whatever MODE says: compilers, which know it, use
        // compare-and-swap there unless they are told that it does not matter.
        let what = match (what, self.arch()) {
            (AtomicOp::FAdd, Arch::Gfx908 | Arch::Gfx90a) if !wide => AtomicOp::FAddFlush,
            _ => what,
        };
        if wide {
            self.atomic_lanes::<u64>(op, page, what, data, va, mask)
        } else {
            self.atomic_lanes::<u32>(op, page, what, data, va, mask)
        }
    }

    fn atomic_lanes<W: Word>(
        &mut self,
        op: &MicroOp,
        page: &Page,
        what: AtomicOp,
        data: u16,
        va: &Addresses,
        mask: u64,
    ) -> Result<(), Flow> {
        let wide = W::BYTES == 8;
        for lane in Lanes(mask) {
            let a = W::of(self.lane_value(data, wide, lane));
            let b = if what.two_values() {
                W::of(self.lane_value(data + W::REGISTERS, wide, lane))
            } else {
                W::ZERO
            };
            let old = self.atomic_at(op, page, Some(lane as u32), va[lane], |old| {
                what.apply(old, a, b)
            })?;
            if op.dst != ABSENT {
                self.set_lane_value(op.dst, wide, lane, old.bits());
            }
        }
        Ok(())
    }

    /// One atomic; gives the old value. `lane` is `None` for scalar ones.
    pub(crate) fn atomic_at<W: Word>(
        &mut self,
        op: &MicroOp,
        page: &Page,
        lane: Option<u32>,
        at: u64,
        f: impl FnMut(W) -> W,
    ) -> Result<W, Flow> {
        let size = W::BYTES as u64;
        if !at.is_multiple_of(size) {
            let kind = FaultKind::Misaligned {
                address: at,
                align: size as u32,
                lane: lane.unwrap_or(0),
            };
            return Err(self.fault(op, page, kind));
        }
        self.tlb.sync(self.view);
        let Some(host) = self.tlb.host(self.view, at, size, Access::ReadWrite) else {
            return Err(self.memory_fault(op, page, lane, (at, size), Access::ReadWrite));
        };
        // SAFETY: the span covers the value, readable and writable, aligned as tested.
        Ok(unsafe { W::rmw(host, f) })
    }

    /// Puts a register of a load to LDS in its place: M0 and the offset, then `bytes` for each lane.
    pub(crate) fn put_lds(&mut self, lane: usize, bytes: u8, offset: u32, word: usize, value: u32) {
        let base = (self.wave.s[M0] & 0xffff).wrapping_add(offset) as usize;
        let at = base + lane * usize::from(bytes) + word * 4;
        if let Some(to) = self.lds.get_mut(at..at + 4) {
            to.copy_from_slice(&value.to_le_bytes());
        }
    }

    /// One lane of a load to LDS: reads the first `bytes` of its access, takes the others as zero.
    pub(crate) fn load_lane_to_lds(
        &mut self,
        op: &MicroOp,
        page: &Page,
        spec: Spec,
        (lane, va, bytes): (usize, u64, u8),
        offset: u32,
    ) -> Result<(), Flow> {
        let mut memory = [0; 16];
        let bytes = usize::from(bytes).min(16);
        if bytes > 0 {
            self.read_lane(op, page, lane, va, &mut memory[..bytes])?;
        }
        let value = u128::from_le_bytes(memory);
        for word in 0..spec.dwords() {
            let value = spec.merge(0, (value >> (word * 32)) as u32);
            self.put_lds(lane, (spec.dwords() * 4) as u8, offset, word, value);
        }
        Ok(())
    }
}
