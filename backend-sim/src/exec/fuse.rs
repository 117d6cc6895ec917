//! Several instructions in one micro-op.
//!
//! Most of what an instruction costs is the way to it. Where nobody looks at single instructions (no tracer, no single
//! steps, all lanes active), a micro-op stands for those behind it as well:
//!
//! - instructions that do nothing here: waits, hints, no-operations;
//! - multiply-adds in single precision, which keep their sum in host registers;
//! - reads of group memory through one address register, which is looked at once;
//! - the two halves of a 64-bit addition.
//!
//! The micro-ops of the instructions behind stay as they are, for jumps to them. Nothing that is fused can fault or leave
//! the run loop. Whatever is not as usual (some lanes off, another rounding mode, a NaN) goes the ordinary way, one
//! instruction after the other.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::code::{Page, most};
use super::gang::{MASK, MOST as MOST_TOGETHER, NOTHING, Together, each};
use super::leveled::{Leveled, function_of};
use super::lower::{self, Ext};
use super::machine::Machine;
use super::microop::{CONST, Flow, MicroOp, OpFn, VGPR};
use super::salu::sopp;
use super::valu::Level;
use super::valu::fused::add64;
use super::valu::levels::Host;
use super::vector::{MASK_IN, MASK_OUT};
use crate::isa::{Arch, Inst, Mods, Op, Operand};

/// What a micro-op does for the instructions that it stands for.
#[derive(Clone, Debug)]
pub(crate) struct Fused {
    /// The micro-ops of the instructions, one by one; the first has the place of the whole.
    parts: Vec<MicroOp>,
    whole: Whole,
}

#[derive(Clone, Debug)]
enum Whole {
    MultiplyAdds(Vec<Sum>),
    Reads(Reads),
    Add64(MicroOp),
}

/// Multiply-adds to one register.
#[derive(Clone, Debug)]
struct Sum {
    dst: u16,
    factors: Vec<[u16; 2]>,
    /// The numbers of the first of the micro-ops and of the one after the last.
    parts: core::ops::Range<usize>,
}

/// Reads of group memory with one address register.
#[derive(Clone, Debug)]
struct Reads {
    reads: Vec<Read>,
    /// Bytes from the lowest address on that reads touch, where all lanes have the same address.
    reach: u32,
}

/// One or more dwords a lane.
#[derive(Clone, Copy, Debug)]
struct Read {
    dst: u16,
    words: u16,
    offset: u32,
}

/// Dwords and instructions that a micro-op may stand for.
const LONGEST: usize = 200;
const MOST: usize = 100;

/// Lets the micro-op of an instruction, which is in the page, stand for instructions behind it, as far as they are in the
/// page too.
pub(crate) fn extend(arch: Arch, level: Level, page: &mut Page, slot: usize, inst: &Inst) {
    let first = page.ops[slot];
    let mut chain = Chain::begin(&first, inst);
    let mut at = slot + usize::from(first.len);
    let mut weight = 1;
    // Where the last part and the idle instructions behind it end.
    let mut end = at;
    while at - slot < LONGEST && weight < MOST {
        let Some(next) = peek(arch, page, at) else {
            break;
        };
        if does_nothing(next.op) {
            at += usize::from(next.len / 4);
            weight += 1;
            end = at;
            continue;
        }
        let Some(chain) = &mut chain else { break };
        if !chain.accepts(&next) {
            break;
        }
        let pc = page.va + at as u64 * 4;
        let mut micro = lower::lower(arch, level, &next, pc, page);
        micro.slot = at as u16;
        micro.len = (next.len / 4).max(1);
        (micro.skip, micro.weight) = (micro.len, 1);
        if !chain.push(&micro, &next) {
            break;
        }
        at += usize::from(micro.len);
        weight += 1;
        end = at;
    }
    let mut micro = first;
    (micro.skip, micro.weight) = ((end - slot) as u8, weight as u8);
    if let Some((fused, run)) = chain.and_then(|chain| chain.finish(level)) {
        for part in &fused.parts {
            micro.need = most(micro.need, part.need);
        }
        page.need = most(page.need, micro.need);
        micro.run = run;
        micro.ext = page.ext.len() as u32;
        page.ext.push(Ext::Fused(Box::new(fused)));
    }
    page.ops[slot] = micro;
}

/// The function of a micro-op that stands for several instructions, for waves that go together.
pub(crate) fn together(op: &MicroOp, page: &Page, level: Level) -> Option<OpFn> {
    let fused = fused(op, page).filter(|fused| fused.parts[0].slot == op.slot)?;
    Some(match fused.whole {
        Whole::MultiplyAdds(_) => function_of::<Together<MultiplyAdds, NOTHING>>(level),
        Whole::Reads(_) => function_of::<Together<ReadAll, NOTHING>>(level),
        Whole::Add64(_) => function_of::<Add64<true>>(level),
    })
}

/// The micro-op of an instruction by itself.
pub(crate) fn first_of(page: &Page, op: &MicroOp) -> MicroOp {
    match page.ext.get(op.ext as usize) {
        Some(Ext::Fused(fused)) if fused.parts[0].slot == op.slot => fused.parts[0],
        _ => *op,
    }
}

/// The instruction at a slot, if it is whole in the page.
fn peek(arch: Arch, page: &Page, slot: usize) -> Option<Inst> {
    let mut bytes = [0u8; 20];
    let words = page.words(slot);
    let words = &words[..words.len().min(5)];
    for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    crate::isa::decode(arch, &bytes[..words.len() * 4]).ok()
}

/// Instructions that change nothing.
fn does_nothing(op: Op) -> bool {
    sopp::does_nothing(op) || matches!(op, Op::buffer_gl0_inv | Op::buffer_gl1_inv)
}

/// What is being fused.
enum Chain {
    MultiplyAdds(Vec<MicroOp>),
    Reads(Vec<MicroOp>, Reads),
    Add64(Vec<MicroOp>),
}

impl Chain {
    /// One that begins with an instruction, if it is of a kind that is fused.
    fn begin(first: &MicroOp, inst: &Inst) -> Option<Chain> {
        let mut chain = match inst.op {
            Op::v_fmac_f32 | Op::v_fma_f32 => Chain::MultiplyAdds(Vec::new()),
            Op::v_add_co_u32 if first.flags == MASK_OUT => Chain::Add64(Vec::new()),
            _ if width(inst.op).is_some() => Chain::Reads(
                Vec::new(),
                Reads {
                    reads: Vec::new(),
                    reach: 0,
                },
            ),
            _ => return None,
        };
        let begun = match &chain {
            Chain::Add64(_) => is_plain(inst),
            _ => chain.accepts(inst),
        };
        let begun = begun && chain.push(first, inst);
        begun.then_some(chain)
    }

    /// Whether an instruction could be the next.
    fn accepts(&self, next: &Inst) -> bool {
        match self {
            Chain::MultiplyAdds(_) => {
                is_plain(next) && matches!(next.op, Op::v_fmac_f32 | Op::v_fma_f32)
            }
            Chain::Reads(..) => !next.mods.gds && width(next.op).is_some(),
            Chain::Add64(parts) => {
                parts.len() == 1 && is_plain(next) && next.op == Op::v_addc_co_u32
            }
        }
    }

    /// Takes an instruction, if it goes with the others.
    fn push(&mut self, micro: &MicroOp, inst: &Inst) -> bool {
        match self {
            Chain::MultiplyAdds(parts) => {
                let sources = &micro.src;
                let fits = micro.flags == 0
                    && micro.handler.is_some()
                    && sources.iter().all(|&source| is_vector(source))
                    && sources[2] == micro.dst;
                if fits {
                    parts.push(*micro);
                }
                fits
            }
            Chain::Reads(parts, reads) => reads.push(parts, micro, inst),
            Chain::Add64(parts) => {
                let fits = match parts.first() {
                    None => is_vector(micro.src[1]) && is_vector(micro.dst),
                    Some(low) => {
                        micro.flags == MASK_OUT | MASK_IN
                            && is_vector(micro.src[1])
                            && is_vector(micro.dst)
                            && u32::from(low.dst2) == micro.ext
                            && low.dst2 == micro.dst2
                            && !micro.src[..2].contains(&low.dst)
                            && low.dst != micro.dst
                    }
                };
                if fits {
                    parts.push(*micro);
                }
                fits
            }
        }
    }

    fn finish(self, level: Level) -> Option<(Fused, OpFn)> {
        let (parts, whole, run) = match self {
            Chain::MultiplyAdds(parts) => {
                let whole = Whole::MultiplyAdds(sums(&parts));
                (parts, whole, function_of::<MultiplyAdds>(level))
            }
            Chain::Reads(parts, reads) => {
                (parts, Whole::Reads(reads), function_of::<ReadAll>(level))
            }
            Chain::Add64(parts) => {
                let [low, high] = parts[..] else { return None };
                // The sources that may be scalars, where `Machine::source` finds them.
                let mut first = low;
                (first.src[1], first.k[1]) = (high.src[0], high.k[0]);
                (
                    parts,
                    Whole::Add64(first),
                    function_of::<Add64<false>>(level),
                )
            }
        };
        (parts.len() > 1).then_some((Fused { parts, whole }, run))
    }
}

/// Whether an instruction has no modifiers.
fn is_plain(inst: &Inst) -> bool {
    inst.mods == Mods::default()
}

fn is_vector(register: u16) -> bool {
    (VGPR..VGPR + 256).contains(&register)
}

/// Multiply-adds, by the register that they add to.
fn sums(parts: &[MicroOp]) -> Vec<Sum> {
    let mut sums: Vec<Sum> = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let factors = [part.src[0] - VGPR, part.src[1] - VGPR];
        let itself = factors.contains(&(part.dst - VGPR));
        match sums.last_mut() {
            Some(sum) if sum.dst == part.dst && !itself => {
                sum.factors.push(factors);
                sum.parts.end = at + 1;
            }
            _ => sums.push(Sum {
                dst: part.dst,
                factors: alloc::vec![factors],
                parts: at..at + 1,
            }),
        }
    }
    sums
}

/// Dwords of each access of a read of group memory, and how many accesses it makes.
fn width(op: Op) -> Option<(u16, usize)> {
    Some(match op {
        Op::ds_read_b32 => (1, 1),
        Op::ds_read_b64 => (2, 1),
        Op::ds_read_b96 => (3, 1),
        Op::ds_read_b128 => (4, 1),
        Op::ds_read2_b32 | Op::ds_read2st64_b32 => (1, 2),
        Op::ds_read2_b64 | Op::ds_read2st64_b64 => (2, 2),
        _ => return None,
    })
}

impl Reads {
    fn push(&mut self, parts: &mut Vec<MicroOp>, micro: &MicroOp, inst: &Inst) -> bool {
        let Some((words, accesses)) = width(inst.op) else {
            return false;
        };
        let address = micro.src[0];
        let registers = inst.operands.iter();
        let vectors = registers
            .into_iter()
            .all(|operand| !matches!(operand, Operand::Acc(_)));
        let fits = match parts.first() {
            // The address register of one that came before may be overwritten: nothing comes after that.
            Some(first) => first.src[0] == address && !self.writes(address),
            None => true,
        };
        let last = micro.dst + words * accesses as u16 - 1;
        if !fits || !vectors || !is_vector(address) || !is_vector(micro.dst) || !is_vector(last) {
            return false;
        }
        for (access, offset) in (0..accesses as u16).zip([micro.k[0], micro.k[2]]) {
            let offset = offset as u32;
            self.reach = self.reach.max(offset + u32::from(words) * 4);
            self.reads.push(Read {
                dst: micro.dst - VGPR + access * words,
                words,
                offset,
            });
        }
        parts.push(*micro);
        true
    }

    fn writes(&self, register: u16) -> bool {
        let writes = |read: &Read| (read.dst..read.dst + read.words).contains(&(register - VGPR));
        self.reads.iter().any(writes)
    }
}

fn fused<'p>(op: &MicroOp, page: &'p Page) -> Option<&'p Fused> {
    match page.ext.get(op.ext as usize) {
        Some(Ext::Fused(fused)) => Some(fused),
        _ => None,
    }
}

/// Executes micro-ops, none of which stops the wave, one after the other.
#[inline(never)]
fn one_by_one(m: &mut Machine<'_>, parts: &[MicroOp], page: &Page) {
    for part in parts {
        // SAFETY: the code cache has no level that the host has not; the run loop checked the registers of all
        // parts with those of the first.
        unsafe { (part.run)(m, part, page) };
    }
}

struct MultiplyAdds;

impl Leveled for MultiplyAdds {
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        let Some(fused) = fused(op, page) else {
            return Flow::Next;
        };
        let Whole::MultiplyAdds(sums) = &fused.whole else {
            return Flow::Next;
        };
        if m.wave.exec() != m.wave.lane_mask() || !m.wave.float.is_plain_f32() {
            one_by_one(m, &fused.parts, page);
            return Flow::Next;
        }
        let rows = m.wave.rows.ptr(0);
        let wide = m.wave.lanes == 64;
        for sum in sums {
            let to = sum.dst - VGPR;
            // SAFETY: the run loop checked the registers of all parts; rows are of so many lanes.
            let added = unsafe {
                if wide {
                    H::multiply_adds::<64>(rows, to, &sum.factors)
                } else {
                    H::multiply_adds::<32>(rows, to, &sum.factors)
                }
            };
            if !added {
                one_by_one(m, &fused.parts[sum.parts.clone()], page);
            }
        }
        Flow::Next
    }
}

struct ReadAll;

impl Leveled for ReadAll {
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        let Some(fused) = fused(op, page) else {
            return Flow::Next;
        };
        let Whole::Reads(all) = &fused.whole else {
            return Flow::Next;
        };
        let Some(groups) = m.lds_groups::<H>(op.src[0] - VGPR, all.reach) else {
            one_by_one(m, &fused.parts, page);
            return Flow::Next;
        };
        for read in &all.reads {
            m.lds_read_groups(&groups, read.dst, usize::from(read.words), read.offset);
        }
        Flow::Next
    }
}

/// With `GANG` for all waves that go together.
struct Add64<const GANG: bool>;

impl<const GANG: bool> Leveled for Add64<GANG> {
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        let Some(fused) = fused(op, page) else {
            return Flow::Next;
        };
        let (Whole::Add64(sources), [low, high]) = (&fused.whole, &fused.parts[..]) else {
            return Flow::Next;
        };
        if m.wave.exec() != m.wave.lane_mask() {
            if GANG {
                return each::<MASK>(m, op, page);
            }
            one_by_one(m, &fused.parts, page);
            return Flow::Next;
        }
        if m.wave.lanes == 64 {
            add_all::<H, GANG, 64>(m, page, sources, [low, high])
        } else {
            add_all::<H, GANG, 32>(m, page, sources, [low, high])
        }
    }
}

/// The sums of [`Add64`], of all lanes.
#[inline(always)]
fn add_all<H: Host, const GANG: bool, const LANES: usize>(
    m: &mut Machine<'_>,
    page: &Page,
    sources: &MicroOp,
    [low, high]: [&MicroOp; 2],
) -> Flow {
    let row = |m: &mut Machine<'_>, register: u16| m.wave.rows.ptr(register - VGPR);
    let mut a = [m.source(sources, page, 0, 1), m.source(sources, page, 1, 1)];
    let mut b: [*const u32; 2] = [row(m, low.src[1]), row(m, high.src[1])];
    let mut to = [row(m, low.dst), row(m, high.dst)];
    if !GANG {
        // SAFETY: one-row operands: registers checked by the run loop for both parts, constants of the page or
        // temporaries. No source of the second part is the first's result.
        let carry = unsafe { add64::<H, LANES>(to, a, b) };
        m.wave.set_mask(usize::from(high.dst2), carry);
        return Flow::Next;
    }
    // How far it is from a wave's registers to the next one's.
    let stride = m.wave.rows.dwords();
    let steps = [0, 1].map(|i| {
        let register = (VGPR..CONST).contains(&sources.src[i]);
        if register { stride } else { 0 }
    });
    let mut masks = [0; MOST_TOGETHER];
    for mask in &mut masks[..m.waves()] {
        // SAFETY: as above, for the registers of one wave after the other.
        *mask = unsafe { add64::<H, LANES>(to, a, b) };
        a = [a[0].wrapping_add(steps[0]), a[1].wrapping_add(steps[1])];
        b = b.map(|row| row.wrapping_add(stride));
        to = to.map(|row| row.wrapping_add(stride));
    }
    m.put_masks(high.dst2, &masks)
}
