//! Vector ALU instructions around their handlers: sources become rows, results are blended under
//! EXEC.
//!
//! [`plain`] is the common case, with no modifier anywhere; [`modified`] does all the rest from the
//! description that lowering made.

use super::code::Page;
use super::dpp::{Flat, Permute};
use super::leveled::Leveled;
use super::machine::Machine;
use super::microop::{ABSENT, CONST, Flow, MicroOp, VGPR};
use super::modifiers::{Out, SrcForm};
use super::rows::{Row, WIDEST};
use super::scalars::EXEC;
use super::valu::levels::Host;
use super::valu::{VArgs, VHandler};

/// The instruction's clamp bit, for integer saturation.
pub(crate) const CLAMP: u8 = 1;
/// The handler's mask goes to the scalars at `dst2`.
pub(crate) const MASK_OUT: u8 = 2;
/// `ext` is the scalar at which a lane mask is read.
pub(crate) const MASK_IN: u8 = 4;
/// The result is two rows.
pub(crate) const WIDE_DST: u8 = 8;
/// Source 0 is two rows; the next two bits say the same of sources 1 and 2.
pub(crate) const WIDE_SRC0: u8 = 16;
/// The result overlaps a source partly: it goes through a temporary.
pub(crate) const OVERLAP: u8 = 128;

/// What [`modified`] needs to know beside the micro-op.
#[derive(Clone, Debug)]
pub(crate) struct VectorForm {
    pub(crate) src: [SrcForm; 3],
    pub(crate) sources: u8,
    /// Rows of the result, zero if it has none.
    pub(crate) dst_rows: u8,
    pub(crate) out: Out,
    pub(crate) dpp: Option<Permute>,
    /// Scalar at which a lane mask is read.
    pub(crate) mask_in: Option<u8>,
    /// The mask goes to `dst2` (and, for v_cmpx of GFX9, to EXEC as well).
    pub(crate) mask_out: bool,
    pub(crate) mask_to_exec: bool,
    pub(crate) imm: u32,
}

/// Copies a row of `lanes` dwords.
///
/// # Safety
/// Both are valid for `lanes` dwords (32 or 64), and the same or disjoint.
#[inline(always)]
pub(crate) unsafe fn copy_row(to: *mut u32, from: *const u32, lanes: u32) {
    // SAFETY: the caller's word on both; `copy` allows them to be the same.
    unsafe { core::ptr::copy(from, to, lanes as usize) }
}

/// Writes `from` over `to` where `mask` is all ones.
///
/// # Safety
/// All are valid for `lanes` dwords; `to` is disjoint from the others.
#[inline(always)]
pub(crate) unsafe fn blend_row(to: *mut u32, from: *const u32, mask: *const u32, lanes: u32) {
    for chunk in 0..lanes as usize / 16 {
        // SAFETY: sixteen dwords from a multiple of sixteen below `lanes` are inside all three rows.
        let (old, new, mask) = unsafe {
            (
                to.add(chunk * 16).cast::<[u32; 16]>().read(),
                from.add(chunk * 16).cast::<[u32; 16]>().read(),
                mask.add(chunk * 16).cast::<[u32; 16]>().read(),
            )
        };
        let mut blended = [0; 16];
        for i in 0..16 {
            blended[i] = new[i] & mask[i] | old[i] & !mask[i];
        }
        // SAFETY: as above.
        unsafe { to.add(chunk * 16).cast::<[u32; 16]>().write(blended) }
    }
}

impl Machine<'_> {
    /// Rows of source `i`: the register itself, the page's constant, or a broadcast scalar.
    #[inline(always)]
    pub(crate) fn source(&mut self, op: &MicroOp, page: &Page, i: usize, rows: u32) -> *const u32 {
        let src = op.src[i];
        if rows > 2 && (src < VGPR || src == CONST) {
            return self.wide_source(op, page, i);
        }
        if src < VGPR {
            let value = self.wave.pair(usize::from(src));
            return self.broadcast(i, value, rows);
        }
        if src != CONST {
            return self.wave.rows.ptr(src - VGPR);
        }
        let Some([low, high]) = page.consts.get(op.k[i] as usize) else {
            return self.temps.src[i][0].0.as_ptr();
        };
        if rows > 1 && self.wave.lanes == 32 {
            return self.broadcast(i, u64::from(low.0[0]) | u64::from(high.0[0]) << 32, rows);
        }
        low.0.as_ptr()
    }

    /// [`Machine::source`], of more than two registers that are no vector registers: consecutive scalars, or a constant
    /// extended with its sign.
    #[inline(never)]
    fn wide_source(&mut self, op: &MicroOp, page: &Page, i: usize) -> *const u32 {
        let first = usize::from(op.src[i]);
        let dwords: [u32; WIDEST] = match page.consts.get(op.k[i] as usize) {
            Some([low, high]) if op.src[i] == CONST => {
                let (low, high) = (low.0[0], high.0[0]);
                let sign = (high as i32 >> 31) as u32;
                core::array::from_fn(|word| [low, high].get(word).copied().unwrap_or(sign))
            }
            _ => core::array::from_fn(|word| self.wave.s[(first + word) & 255]),
        };
        let lanes = self.wave.lanes as usize;
        let rows = self.temps.src[i].as_flattened_mut();
        for (row, dword) in rows.chunks_exact_mut(lanes).zip(dwords) {
            row.fill(dword);
        }
        rows.as_ptr()
    }

    /// [`Machine::source`], for those that seldom need it.
    #[inline(never)]
    pub(crate) fn other_source(
        &mut self,
        op: &MicroOp,
        page: &Page,
        i: usize,
        rows: u32,
    ) -> *const u32 {
        self.source(op, page, i, rows)
    }

    /// Fills the temporary rows of source `i` with one value.
    #[inline(always)]
    pub(crate) fn broadcast(&mut self, i: usize, value: u64, rows: u32) -> *const u32 {
        let temp = &mut self.temps.src[i];
        if rows <= 1 {
            temp[0] = Row([value as u32; 64]);
        } else {
            let second = usize::from(self.wave.lanes == 64);
            // At 32 lanes both rows are in the first 64 dwords.
            temp[0] = Row([value as u32; 64]);
            if second == 1 {
                temp[1] = Row([(value >> 32) as u32; 64]);
            } else {
                temp[0].0[32..].fill((value >> 32) as u32);
            }
        }
        self.temps.src[i][0].0.as_ptr()
    }

    /// Moves `rows` rows of the temporary result to a register under a lane mask.
    #[inline(always)]
    pub(crate) fn retire(&mut self, dst: u16, rows: u32, mask: u64) {
        let lanes = self.wave.lanes;
        let to = self.wave.rows.ptr(dst - VGPR);
        let from = self.temps.dst.as_ptr().cast::<u32>();
        if mask == self.wave.lane_mask() {
            for row in 0..(rows * lanes) as usize / 32 {
                // SAFETY: the run loop checked the destination's rows against the wave's; the
                // temporary has as many; the two are different allocations.
                unsafe { copy_row(to.add(row * 32), from.add(row * 32), 32) };
            }
            return;
        }
        let mask = self.wave.exec_row(mask);
        for row in 0..rows as usize {
            let at = row * lanes as usize;
            // SAFETY: as above; the mask row is the wave's own third allocation.
            unsafe { blend_row(to.add(at), from.add(at), mask, lanes) };
        }
    }
}

/// A vector instruction of `N` sources without modifiers.
pub(crate) struct Plain<const N: usize>;

impl<const N: usize> Leveled for Plain<N> {
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        plain::<N>(m, op, page)
    }
}

#[inline(always)]
fn plain<const N: usize>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let Some(handler) = op.handler else {
        return Flow::Next;
    };
    let exec = m.wave.exec();
    let flags = op.flags;
    let mut args = blank(m, exec);
    for i in 0..N {
        args.src[i] = m.source(op, page, i, 1 + u32::from(flags & WIDE_SRC0 << i != 0));
    }
    if flags & MASK_IN != 0 {
        args.mask_in = m.wave.mask(op.ext as usize);
    }
    args.clamp = flags & CLAMP != 0;
    let direct = exec == m.wave.lane_mask() && flags & OVERLAP == 0;
    if op.dst != ABSENT {
        args.dst = if direct {
            m.wave.rows.ptr(op.dst - VGPR)
        } else {
            m.temps.dst.as_mut_ptr().cast()
        };
    }
    // SAFETY: sources and destination are rows of the width that the operation's operands have:
    // registers checked by the run loop, or temporaries of four rows. The handler is of the level that
    // the code cache was made for.
    let mask = unsafe { handler(&args) };
    if op.dst != ABSENT && !direct {
        m.retire(op.dst, 1 + u32::from(flags & WIDE_DST != 0), exec);
    }
    if flags & MASK_OUT != 0 {
        m.wave.set_mask(usize::from(op.dst2), mask & exec);
    }
    Flow::Next
}

/// An instruction of `N` sources without modifiers, for those that have a quicker way most of the time.
#[inline(never)]
pub(crate) fn general<const N: usize>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    plain::<N>(m, op, page)
}

/// The commonest shape: one-row operands, no masks, no clamp.
pub(crate) struct Simple<const N: usize>;

impl<const N: usize> Leveled for Simple<N> {
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        simple::<N>(m, op, page)
    }
}

#[inline(always)]
fn simple<const N: usize>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let Some(handler) = op.handler else {
        return Flow::Next;
    };
    let exec = m.wave.exec();
    let mut args = blank(m, exec);
    for i in 0..N {
        args.src[i] = m.source(op, page, i, 1);
    }
    if exec == m.wave.lane_mask() {
        args.dst = m.wave.rows.ptr(op.dst - VGPR);
        // SAFETY: as in `plain`.
        unsafe { handler(&args) };
    } else if exec != 0 {
        args.dst = m.temps.dst.as_mut_ptr().cast();
        // SAFETY: as in `plain`.
        unsafe { handler(&args) };
        m.retire(op.dst, 1, exec);
    }
    Flow::Next
}

#[inline(always)]
pub(crate) fn blank(m: &Machine<'_>, exec: u64) -> VArgs {
    VArgs {
        dst: core::ptr::null_mut(),
        dst2: core::ptr::null_mut(),
        src: [core::ptr::null(); 3],
        lanes: m.wave.lanes,
        exec,
        mask_in: 0,
        mode: m.wave.float,
        clamp: false,
        imm: 0,
    }
}

/// A vector instruction with modifiers: input and output modifiers, SDWA, DPP, half selection.
pub(crate) struct Modified;

impl Leveled for Modified {
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        modified(m, op, page)
    }
}

#[inline(always)]
fn modified(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let Some(form) = page.ext.get(op.ext as usize).and_then(|ext| ext.vector()) else {
        return Flow::Next;
    };
    let Some(handler) = op.handler else {
        return Flow::Next;
    };
    let exec = m.wave.exec();
    let mut active = exec;
    for i in 0..usize::from(form.sources) {
        let src = &form.src[i];
        let dpp = if i == 0 { form.dpp.as_ref() } else { None };
        let from = m.source(op, page, i, u32::from(src.rows));
        if let Some(permute) = dpp {
            let lanes = m.wave.lanes;
            let rows = u32::from(src.rows);
            active = permute.apply(from, &mut m.temps.src[i], lanes, rows, exec);
            src.apply_in_place(&mut m.temps.src[i], lanes);
        } else {
            src.apply(from, &mut m.temps.src[i], m.wave.lanes);
        }
    }
    run_form(m, op, form, handler, exec, active)
}

#[inline(always)]
fn run_form(
    m: &mut Machine<'_>,
    op: &MicroOp,
    form: &VectorForm,
    handler: VHandler,
    exec: u64,
    active: u64,
) -> Flow {
    let mut args = blank(m, exec);
    for i in 0..usize::from(form.sources) {
        args.src[i] = m.temps.src[i].as_ptr().cast();
    }
    if let Some(at) = form.mask_in {
        args.mask_in = m.wave.mask(usize::from(at));
    }
    args.clamp = form.out.clamp;
    args.imm = form.imm;
    if form.dst_rows != 0 {
        args.dst = m.temps.dst.as_mut_ptr().cast();
    }
    // SAFETY: every pointer is to a temporary of four rows, wider than any operand that lowering
    // sends here; the handler is of the level that the code cache was made for.
    let mask = unsafe { handler(&args) };
    if form.dst_rows != 0 && op.dst != ABSENT {
        let lanes = m.wave.lanes;
        let old: *const u32 = m.wave.rows.ptr(op.dst - VGPR);
        form.out
            .apply(&mut m.temps.dst, old, lanes, form.dst_rows, m.wave.float);
        m.retire(op.dst, u32::from(form.dst_rows), active);
    }
    if form.mask_out {
        m.wave.set_mask(usize::from(op.dst2), mask & active);
    }
    if form.mask_to_exec {
        m.wave.set_mask(EXEC, mask & active);
    }
    Flow::Next
}
