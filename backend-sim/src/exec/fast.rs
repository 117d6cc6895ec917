//! The usual memory accesses: whole dwords, of sixteen active lanes that are neighbours or all at one place.
//!
//! Tiles make whole waves irregular, but rarely sixteen lanes. What does not fit is left to the careful ways
//! ([`super::access`], [`super::ds`]): the functions here give the lanes that they left alone.

use super::machine::Machine;
use super::microop::{ABSENT, MicroOp, VGPR};
use super::valu::levels::Host;
use crate::mem::{Access, Span, raw};

/// Lanes that are looked at together: a divisor of every number of lanes.
const GROUP: usize = 16;

/// How the addresses of a group lie.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Run {
    Same,
    Neighbours,
    Scattered,
}

/// `step` is the distance of neighbours. Neighbours may wrap around at 2^32.
#[inline(always)]
fn run_of<H: Host>(addresses: &[u32; GROUP], step: u32) -> Run {
    if H::ascending(addresses, step) {
        Run::Neighbours
    } else if H::ascending(addresses, 0) {
        Run::Same
    } else {
        Run::Scattered
    }
}

/// The lanes of a group, as a mask.
#[inline(always)]
fn lanes_of(group: usize) -> u64 {
    0xffff << (group * GROUP)
}

/// Sixteen lanes of a row.
///
/// # Safety
/// The row has them, readable.
#[inline(always)]
unsafe fn load_group(row: *const u32, group: usize) -> [u32; GROUP] {
    // SAFETY: the caller's word.
    unsafe { row.add(group * GROUP).cast::<[u32; GROUP]>().read() }
}

/// Sixteen little-endian dwords of private memory into lanes of a row.
///
/// # Safety
/// 64 bytes are readable at `from`, and writable at `to`; they do not overlap.
#[inline(always)]
unsafe fn copy_group(from: *const u8, to: *mut u32) {
    // SAFETY: the caller's word. As bytes: the compiler breaks an array's copy into uneven parts, which the host
    // cannot forward to the loads that follow.
    unsafe {
        to.cast::<u8>().copy_from_nonoverlapping(from, GROUP * 4);
        if cfg!(target_endian = "big") {
            for lane in 0..GROUP {
                *to.add(lane) = u32::from_le(*to.add(lane));
            }
        }
    }
}

/// Sixteen lanes' dwords, lane after lane, into as many rows.
///
/// # Safety
/// `to` has `W` rows of `lanes` lanes, writable from it on for sixteen lanes.
#[inline(always)]
unsafe fn spread<const W: usize>(dwords: &[[u32; W]; GROUP], to: *mut u32, lanes: usize) {
    for word in 0..W {
        let mut row = [0; GROUP];
        for (to, lane) in row.iter_mut().zip(dwords) {
            *to = u32::from_le(lane[word]);
        }
        // SAFETY: the caller's word.
        unsafe { to.add(word * lanes).cast::<[u32; GROUP]>().write(row) }
    }
}

/// The reverse of [`spread`].
///
/// # Safety
/// `from` has `W` rows of `lanes` lanes, readable from it on for sixteen lanes.
#[inline(always)]
unsafe fn collect<const W: usize>(from: *const u32, lanes: usize) -> [[u32; W]; GROUP] {
    let mut dwords = [[0; W]; GROUP];
    for word in 0..W {
        // SAFETY: the caller's word.
        let row = unsafe { from.add(word * lanes).cast::<[u32; GROUP]>().read() };
        for (lane, from) in dwords.iter_mut().zip(row) {
            lane[word] = from.to_le();
        }
    }
    dwords
}

/// How the addresses of all lanes lie, by group.
pub(crate) struct Groups {
    first: [u32; 4],
    neighbours: [bool; 4],
    count: usize,
}

impl Machine<'_> {
    /// How the LDS addresses in a register lie, if all lanes are active and none of what they read is beyond LDS:
    /// `reach` bytes, from each lane's address on.
    #[inline(always)]
    pub(crate) fn lds_groups<H: Host>(&mut self, register: u16, reach: u32) -> Option<Groups> {
        if self.wave.exec() != self.wave.lane_mask() {
            return None;
        }
        let row: *const u32 = self.wave.rows.ptr(register);
        let mut groups = Groups {
            first: [0; 4],
            neighbours: [false; 4],
            count: if self.wave.lanes == 64 { 4 } else { 2 },
        };
        for group in 0..groups.count {
            // SAFETY: the address register's row was checked by the run loop.
            let addresses = unsafe { load_group(row, group) };
            let run = run_of::<H>(&addresses, 4);
            let more = match run {
                Run::Same => 0,
                Run::Neighbours => (GROUP as u64 - 1) * 4,
                Run::Scattered => return None,
            };
            if u64::from(addresses[0]) + u64::from(reach) + more > self.lds.len() as u64 {
                return None;
            }
            groups.first[group] = addresses[0];
            groups.neighbours[group] = run == Run::Neighbours;
        }
        Some(groups)
    }

    /// Reads some dwords a lane from LDS, into registers from `dst` on.
    ///
    /// The offset and the bytes of the dwords are within the reach that the groups were made with, the registers are
    /// the wave's.
    #[inline(always)]
    pub(crate) fn lds_read_groups(&mut self, groups: &Groups, dst: u16, words: usize, offset: u32) {
        let lanes = groups.count * GROUP;
        let to = self.wave.rows.ptr(dst);
        let lds = self.lds.as_ptr();
        for word in 0..words {
            for group in 0..groups.count {
                // SAFETY: `lds_groups` found all bytes inside; the run loop checked the destination's rows.
                unsafe {
                    let from = lds.add(groups.first[group] as usize + offset as usize + word * 4);
                    let to = to.add(word * lanes + group * GROUP);
                    if groups.neighbours[group] {
                        copy_group(from, to);
                    } else {
                        let value = u32::from_le(from.cast::<u32>().read_unaligned());
                        to.cast::<[u32; GROUP]>().write([value; GROUP]);
                    }
                }
            }
        }
    }

    /// Reads `W` dwords a lane from LDS at each of `N` offsets.
    #[inline(always)]
    pub(crate) fn lds_load_groups<H: Host, const W: usize, const N: usize>(
        &mut self,
        op: &MicroOp,
        offsets: [u32; N],
    ) -> u64 {
        let exec = self.wave.exec();
        let lanes = self.wave.lanes as usize;
        let row: *const u32 = self.wave.rows.ptr(op.src[0] - VGPR);
        let to = self.wave.rows.ptr(op.dst - VGPR);
        let (lds, size) = (self.lds.as_ptr(), self.lds.len() as u64);
        let mut rest = exec;
        for group in 0..lanes / GROUP {
            if exec & lanes_of(group) != lanes_of(group) {
                continue;
            }
            // SAFETY: the address register's row was checked by the run loop; copied, as a result
            // may overwrite it.
            let addresses = unsafe { load_group(row, group) };
            let run = run_of::<H>(&addresses, 4);
            // Bytes from the first lane's address on that are read; more if the lanes are scattered.
            let reach = match run {
                Run::Same => W as u64 * 4,
                Run::Neighbours => (W + GROUP - 1) as u64 * 4,
                Run::Scattered => W as u64 * 4,
            };
            // The sum wraps: compilers fold negative addresses into offsets.
            let inside = |offset: u32| {
                let last = match run {
                    Run::Scattered => highest(&addresses, offset),
                    _ => addresses[0].wrapping_add(offset),
                };
                u64::from(last) + reach <= size
            };
            if !offsets.iter().all(|&offset| inside(offset)) {
                continue;
            }
            rest &= !lanes_of(group);
            for (at, &offset) in offsets.iter().enumerate() {
                let sum = |address: u32| address.wrapping_add(offset) as usize;
                // SAFETY: `inside` checked every lane's bytes at each offset; the destination's rows
                // were checked by the run loop.
                unsafe {
                    let from = lds.add(sum(addresses[0]));
                    let to = to.add(at * W * lanes + group * GROUP);
                    match run {
                        Run::Same => {
                            let value = from.cast::<[u32; W]>().read_unaligned();
                            spread(&[value; GROUP], to, lanes);
                        }
                        Run::Neighbours => {
                            for word in 0..W {
                                copy_group(from.add(word * 4), to.add(word * lanes));
                            }
                        }
                        Run::Scattered => {
                            for (lane, &address) in addresses.iter().enumerate() {
                                let value = lds.add(sum(address)).cast::<[u32; W]>();
                                for (word, value) in value.read_unaligned().iter().enumerate() {
                                    *to.add(word * lanes + lane) = u32::from_le(*value);
                                }
                            }
                        }
                    }
                }
            }
        }
        rest
    }

    /// Writes `W` dwords a lane to LDS; where lanes meet, the last wins. Stops at the first group that
    /// it leaves alone.
    #[inline(always)]
    pub(crate) fn lds_store_groups<H: Host, const W: usize>(
        &mut self,
        op: &MicroOp,
        offset: u32,
        data: u16,
    ) -> u64 {
        let exec = self.wave.exec();
        let lanes = self.wave.lanes as usize;
        let row: *const u32 = self.wave.rows.ptr(op.src[0] - VGPR);
        let from: *const u32 = self.wave.rows.ptr(data - VGPR);
        let (lds, size) = (self.lds.as_mut_ptr(), self.lds.len() as u64);
        let mut rest = exec;
        for group in 0..lanes / GROUP {
            // SAFETY: the address register's row was checked by the run loop.
            let addresses = unsafe { load_group(row, group) };
            let sum = |address: u32| address.wrapping_add(offset) as usize;
            let neighbours = H::ascending(&addresses, W as u32 * 4);
            let (last, bytes) = if neighbours {
                (sum(addresses[0]), GROUP * W * 4)
            } else {
                (highest(&addresses, offset) as usize, W * 4)
            };
            if exec & lanes_of(group) != lanes_of(group) || (last + bytes) as u64 > size {
                break;
            }
            rest &= !lanes_of(group);
            // SAFETY: every lane's bytes were checked just now; the data's rows were checked by the run
            // loop.
            unsafe {
                let dwords = collect::<W>(from.add(group * GROUP), lanes);
                if neighbours {
                    let to = lds.add(sum(addresses[0])).cast::<[[u32; W]; GROUP]>();
                    to.write_unaligned(dwords);
                } else {
                    for (&address, lane) in addresses.iter().zip(dwords) {
                        lds.add(sum(address))
                            .cast::<[u32; W]>()
                            .write_unaligned(lane);
                    }
                }
            }
        }
        rest
    }

    /// The host address of a global access of all lanes, which are neighbours, `W` dwords each.
    #[inline(always)]
    fn global_whole<H: Host, const W: usize>(
        &mut self,
        op: &MicroOp,
        access: Access,
    ) -> Option<*mut u8> {
        let lanes = if self.wave.lanes == 64 { 64 } else { 32 };
        if self.wave.exec() != self.wave.lane_mask() || op.src[0] == ABSENT {
            return None;
        }
        let low: *const u32 = self.wave.rows.ptr(op.src[0] - VGPR);
        let bytes = (lanes * W * 4) as u32;
        // SAFETY: the address register's rows were checked by the run loop.
        let (first, whole) = unsafe {
            let (first, high) = (*low, low.add(lanes));
            let last = first.wrapping_add(bytes - W as u32 * 4);
            let near = first <= u32::MAX - bytes
                && *low.add(lanes - 1) == last
                && H::ascending_row(low, lanes, W as u32 * 4);
            if op.src[1] == ABSENT {
                let whole = near && H::ascending_row(high, lanes, 0);
                (u64::from(first) | u64::from(*high) << 32, whole)
            } else {
                let base = self.wave.pair(usize::from(op.src[1]));
                (base.wrapping_add(u64::from(first)), near)
            }
        };
        if !whole {
            return None;
        }
        let va = first.wrapping_add(op.k[0]);
        self.tlb
            .host_of(op.slot, self.view, va, u64::from(bytes), access)
    }

    /// [`Self::global_whole`] for waves that go together, of which each begins where the one before it ends.
    #[inline(always)]
    fn global_gang<H: Host, const W: usize, const LANES: usize>(
        &mut self,
        op: &MicroOp,
        access: Access,
    ) -> Option<*mut u8> {
        let lanes = LANES;
        if self.wave.exec() != self.wave.lane_mask() || op.src[0] == ABSENT {
            return None;
        }
        let (waves, stride) = (self.waves(), self.wave.rows.dwords());
        let row: *const u32 = self.wave.rows.ptr(op.src[0] - VGPR);
        let pairs = op.src[1] == ABSENT;
        let bytes = (lanes * W * 4) as u32;
        let all = waves as u32 * bytes;
        // SAFETY: the address register's rows were checked by the run loop, which are those of each wave.
        let (first, whole) = unsafe {
            let (first, above) = (*row, if pairs { *row.add(lanes) } else { 0 });
            let mut whole = first <= u32::MAX - all;
            for n in 0..waves {
                let low = row.add(n * stride);
                whole &= *low == first.wrapping_add(n as u32 * bytes);
                whole &= H::ascending_row(low, lanes, W as u32 * 4);
                if pairs {
                    let high = low.add(lanes);
                    whole &= *high == above && H::ascending_row(high, lanes, 0);
                }
            }
            let base = if pairs {
                u64::from(above) << 32
            } else {
                self.wave.pair(usize::from(op.src[1]))
            };
            (base.wrapping_add(u64::from(first)), whole)
        };
        if !whole {
            return None;
        }
        let va = first.wrapping_add(op.k[0]);
        self.tlb
            .host_of(op.slot, self.view, va, u64::from(all), access)
    }

    /// Loads `W` dwords a lane from global memory for waves that go together, if they all want what is in one place.
    #[inline(always)]
    pub(crate) fn global_load_gang<H: Host, const W: usize>(&mut self, op: &MicroOp) -> bool {
        self.tlb.sync(self.view);
        if self.wave.lanes == 64 {
            self.load_gang::<H, W, 64>(op)
        } else {
            self.load_gang::<H, W, 32>(op)
        }
    }

    #[inline(always)]
    fn load_gang<H: Host, const W: usize, const LANES: usize>(&mut self, op: &MicroOp) -> bool {
        let lanes = LANES;
        let Some(host) = self.global_gang::<H, W, LANES>(op, Access::Read) else {
            return false;
        };
        let (waves, stride) = (self.waves(), self.wave.rows.dwords());
        let to = self.wave.rows.ptr(op.dst - VGPR);
        for n in 0..waves {
            let host = host.wrapping_add(n * lanes * W * 4);
            self.prefetch_next::<H>(host, lanes * W * 4);
            for group in 0..lanes / GROUP {
                // SAFETY: the bytes of all waves are mapped, readable; the destination's rows were checked by the run
                // loop, which are those of each wave.
                unsafe {
                    let host = host.add(group * GROUP * W * 4);
                    load_neighbours::<H, W>(host, to.add(n * stride + group * GROUP), lanes);
                }
            }
        }
        true
    }

    /// The reverse of [`Self::global_load_gang`].
    #[inline(always)]
    pub(crate) fn global_store_gang<H: Host, const W: usize>(&mut self, op: &MicroOp) -> bool {
        self.tlb.sync(self.view);
        if self.wave.lanes == 64 {
            self.store_gang::<H, W, 64>(op)
        } else {
            self.store_gang::<H, W, 32>(op)
        }
    }

    #[inline(always)]
    fn store_gang<H: Host, const W: usize, const LANES: usize>(&mut self, op: &MicroOp) -> bool {
        let lanes = LANES;
        let Some(host) = self.global_gang::<H, W, LANES>(op, Access::Write) else {
            return false;
        };
        let (waves, stride) = (self.waves(), self.wave.rows.dwords());
        let from: *const u32 = self.wave.rows.ptr(op.src[2] - VGPR);
        for n in 0..waves {
            let host = host.wrapping_add(n * lanes * W * 4);
            self.prefetch_next::<H>(host, lanes * W * 4);
            for group in 0..lanes / GROUP {
                // SAFETY: as for the load: mapped, writable; the data's rows are those of each wave.
                unsafe {
                    let host = host.add(group * GROUP * W * 4);
                    store_neighbours::<H, W>(from.add(n * stride + group * GROUP), host, lanes);
                }
            }
        }
        true
    }

    /// The first lane's address and how the others lie, of a group of lanes of a global access.
    #[inline(always)]
    fn global_run<H: Host>(&mut self, op: &MicroOp, group: usize, step: u32) -> (u64, Run) {
        let offset = op.k[0];
        let base = if op.src[1] == ABSENT {
            offset
        } else {
            self.wave.pair(usize::from(op.src[1])).wrapping_add(offset)
        };
        if op.src[0] == ABSENT {
            return (base, Run::Same);
        }
        let low: *const u32 = self.wave.rows.ptr(op.src[0] - VGPR);
        // SAFETY: the address register's row was checked by the run loop.
        let address = unsafe { load_group(low, group) };
        let mut run = run_of::<H>(&address, step);
        if address[0] > u32::MAX - GROUP as u32 * step {
            // There the high halves differ.
            run = Run::Scattered;
        }
        let mut first = u64::from(address[0]);
        if op.src[1] == ABSENT {
            // SAFETY: as above: the second row of the pair.
            let high = unsafe { load_group(low.add(self.wave.lanes as usize), group) };
            first |= u64::from(high[0]) << 32;
            if !H::ascending(&high, 0) {
                run = Run::Scattered;
            }
        }
        (base.wrapping_add(first), run)
    }

    /// A span that was used last, if it covers `len` bytes at `va`; or one that does.
    #[inline(always)]
    fn covering(&mut self, span: &mut Span, va: u64, len: u64, access: Access) -> bool {
        if !span.contains(va, len) {
            match self.tlb.span(self.view, va, access) {
                Some(found) => *span = found,
                None => return false,
            }
        }
        span.contains(va, len)
    }

    /// Kernels stream: the next wave, or the next of those that go together, tends to want what comes next.
    #[inline(always)]
    fn prefetch_next<H: Host>(&self, host: *const u8, bytes: usize) {
        H::prefetch(host.wrapping_add(self.waves() * bytes), bytes);
    }

    /// Loads `W` dwords a lane from global memory.
    #[inline(always)]
    pub(crate) fn global_load_groups<H: Host, const W: usize>(&mut self, op: &MicroOp) -> u64 {
        let exec = self.wave.exec();
        let lanes = self.wave.lanes as usize;
        let to = self.wave.rows.ptr(op.dst - VGPR);
        self.tlb.sync(self.view);
        if let Some(host) = self.global_whole::<H, W>(op, Access::Read) {
            self.prefetch_next::<H>(host, lanes * W * 4);
            for group in 0..if lanes == 64 { 4 } else { 2 } {
                // SAFETY: the bytes of all lanes are mapped, readable; the destination's rows were checked by the
                // run loop.
                unsafe {
                    let host = host.add(group * GROUP * W * 4);
                    load_neighbours::<H, W>(host, to.add(group * GROUP), lanes);
                }
            }
            return 0;
        }
        let mut span = Span::EMPTY;
        let mut rest = exec;
        for group in 0..lanes / GROUP {
            if exec & lanes_of(group) != lanes_of(group) {
                continue;
            }
            let (first, run) = self.global_run::<H>(op, group, W as u32 * 4);
            let len = match run {
                Run::Neighbours => GROUP * W * 4,
                Run::Same => W * 4,
                Run::Scattered => continue,
            };
            if !self.covering(&mut span, first, len as u64, Access::Read) {
                continue;
            }
            let host = span.host_address(first);
            // SAFETY: the span covers the bytes, readable; the destination's rows were checked by the run
            // loop.
            unsafe {
                let to = to.add(group * GROUP);
                if run == Run::Neighbours {
                    load_neighbours::<H, W>(host, to, lanes);
                } else {
                    for word in 0..W {
                        let value = raw::load_u32(host.add(word * 4));
                        to.add(word * lanes)
                            .cast::<[u32; GROUP]>()
                            .write([value; GROUP]);
                    }
                }
            }
            rest &= !lanes_of(group);
        }
        rest
    }

    /// Stores `W` dwords a lane to global memory. Stops at the first group that it leaves alone: where lanes
    /// meet, the last wins.
    #[inline(always)]
    pub(crate) fn global_store_groups<H: Host, const W: usize>(&mut self, op: &MicroOp) -> u64 {
        let exec = self.wave.exec();
        let lanes = self.wave.lanes as usize;
        let from: *const u32 = self.wave.rows.ptr(op.src[2] - VGPR);
        self.tlb.sync(self.view);
        if let Some(host) = self.global_whole::<H, W>(op, Access::Write) {
            self.prefetch_next::<H>(host, lanes * W * 4);
            for group in 0..if lanes == 64 { 4 } else { 2 } {
                // SAFETY: the bytes of all lanes are mapped, writable; the data's rows were checked by the run loop.
                unsafe {
                    let host = host.add(group * GROUP * W * 4);
                    store_neighbours::<H, W>(from.add(group * GROUP), host, lanes);
                }
            }
            return 0;
        }
        let mut span = Span::EMPTY;
        let mut rest = exec;
        for group in 0..lanes / GROUP {
            if exec & lanes_of(group) != lanes_of(group) {
                break;
            }
            let (first, run) = self.global_run::<H>(op, group, W as u32 * 4);
            let len = GROUP as u64 * W as u64 * 4;
            if run != Run::Neighbours || !self.covering(&mut span, first, len, Access::Write) {
                break;
            }
            let host = span.host_address(first);
            // SAFETY: the span covers the bytes, writable; the data's rows were checked by the run loop.
            unsafe { store_neighbours::<H, W>(from.add(group * GROUP), host, lanes) };
            rest &= !lanes_of(group);
        }
        rest
    }
}

/// `W` dwords each for sixteen lanes, from simulated memory.
///
/// # Safety
/// The bytes are mapped, readable; `to` has `W` rows of `lanes` lanes, writable from it on for sixteen lanes.
#[inline(always)]
unsafe fn load_neighbours<H: Host, const W: usize>(host: *const u8, to: *mut u32, lanes: usize) {
    // SAFETY: the caller's word.
    unsafe {
        if W == 1 {
            H::copy_64(host, to.cast());
            return;
        }
        let mut dwords = [[0u32; W]; GROUP];
        for part in 0..W {
            let to = dwords.as_mut_ptr().cast::<u8>().add(part * 64);
            H::copy_64(host.add(part * 64), to);
        }
        spread(&dwords, to, lanes);
    }
}

/// The reverse of [`load_neighbours`].
///
/// # Safety
/// The bytes are mapped, writable; `from` has `W` rows of `lanes` lanes, readable from it on for sixteen lanes.
#[inline(always)]
unsafe fn store_neighbours<H: Host, const W: usize>(from: *const u32, host: *mut u8, lanes: usize) {
    // SAFETY: the caller's word.
    unsafe {
        if W == 1 {
            H::copy_64(from.cast(), host);
            return;
        }
        let dwords = collect::<W>(from, lanes);
        for part in 0..W {
            let from = dwords.as_ptr().cast::<u8>().add(part * 64);
            H::copy_64(from, host.add(part * 64));
        }
    }
}

/// The highest of the sums, each of which wraps.
#[inline(always)]
fn highest(addresses: &[u32; GROUP], offset: u32) -> u32 {
    let sums = addresses.iter().map(|at| at.wrapping_add(offset));
    sums.fold(0, u32::max)
}
