//! Waves of a work-group that go together: one set of scalars, vector registers for each.
//!
//! The waves of a work-group start alike but for the ids of their work-items, and most kernels keep it so: what
//! is not in vector registers (SGPRs, VCC, EXEC, SCC, M0, MODE, the program counter) is the same in all of them. As long
//! as it is, they go through the code together: scalar instructions are executed once, vector and memory instructions once
//! for each wave, one wave after the other, from a micro-op that was looked at once. Between barriers any order of what
//! waves do is one that a processor may choose.
//!
//! They part, each with scalars of its own from there on, where an instruction gives them different scalars, where one of
//! them faults, and before everything that knows more of a wave than its registers or changes more.

use alloc::boxed::Box;

use super::code::Page;
use super::context::Context;
use super::fault::Fault;
use super::flat;
use super::fuse;
use super::leveled::Leveled;
use super::lower;
use super::machine::Machine;
use super::microop::{Flow, MicroOp, OpFn, VGPR};
use super::run::{Exit, run_as};
use super::salu::{self, sopp};
use super::scalars::{EXEC, TRASH};
use super::smem;
use super::valu::levels::{Host, Portable};
use super::valu::{Level, hot};
use super::vector::MASK_IN;
use super::wave::Wave;
use crate::isa::{Arch, Dir, Field, Format, Inst, Op, Operand};

/// Waves that can go together.
pub(crate) const MOST: usize = 16;

/// How waves that went together part at an instruction that some of them have executed.
pub(crate) struct Parting {
    /// The first so many have.
    done: usize,
    /// Where they go on.
    next: u64,
    /// Instructions that they have executed there.
    weight: u64,
    /// A scalar that is not the same in all, and its value in each.
    scalars: Option<(Out, [u64; MOST])>,
    /// What the one behind them has met.
    fault: Option<Box<Fault>>,
}

/// Scalars that an instruction writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Out {
    Nothing,
    /// A lane mask, at a number.
    Mask(usize),
    Dword(usize),
}

impl Out {
    #[inline(always)]
    fn read(self, wave: &Wave) -> u64 {
        match self {
            Out::Nothing => 0,
            Out::Mask(at) => wave.mask(at),
            Out::Dword(at) => u64::from(wave.s[at & 255]),
        }
    }

    #[inline(always)]
    fn write(self, wave: &mut Wave, value: u64) {
        match self {
            Out::Nothing => {}
            Out::Mask(at) => wave.set_mask(at, value),
            Out::Dword(at) => wave.s[at & 255] = value as u32,
        }
    }
}

/// Runs waves that go together as [`super::run`] runs one; how they stand is how each of them does. `None`: they part
/// before anything else, by [`Wave::leave_gang`] of all but the first and then [`Wave::end_gang`] of the first.
pub(crate) fn run_gang(wave: &mut Wave, cx: &mut Context<'_>, budget: u64) -> Option<Exit> {
    run_as::<true>(wave, cx, budget)
}

/// The first wave has met a fault, and nobody has executed the instruction.
pub(super) fn first_faults(wave: &mut Wave, fault: Box<Fault>) {
    wave.parting = Some(Box::new(Parting {
        done: 0,
        next: wave.pc,
        weight: 0,
        scalars: None,
        fault: Some(fault),
    }));
}

/// Where those go on that have executed the instruction at which they part.
pub(super) fn parted(wave: &mut Wave, next: u64, weight: u64) {
    if let Some(parting) = &mut wave.parting {
        (parting.next, parting.weight) = (next, weight);
    }
}

impl Wave {
    /// Makes this wave what the `n`-th of those that go together in `lead` is.
    pub(crate) fn leave_gang(&mut self, lead: &Wave, n: usize) {
        // All fields by name, so that none is forgotten.
        let Wave {
            pc,
            s,
            rows,
            lanes,
            mode,
            float,
            mask_row: _,
            mask_of: _,
            arch,
            trap_status,
            excp_flag_user,
            trap_ctrl,
            ids,
            retired,
            ended,
            gpr_index,
            privileged,
            trouble: _,
            halted,
            gws,
            skips_vectors,
            barriers,
            gang: _,
            parting,
            met: _,
        } = lead;
        self.rows.copy_from(rows, n);
        (self.pc, self.s, self.lanes) = (*pc, *s, *lanes);
        (self.mode, self.float, self.arch) = (*mode, *float, *arch);
        self.trap_status = *trap_status;
        (self.excp_flag_user, self.trap_ctrl) = (*excp_flag_user, *trap_ctrl);
        self.ids = *ids;
        self.ids.wave += n as u32;
        (self.retired, self.ended) = (*retired, *ended);
        (self.gpr_index, self.skips_vectors) = (*gpr_index, *skips_vectors);
        (self.privileged, self.halted) = (*privileged, *halted);
        self.trouble = None;
        (self.gws, self.barriers) = (*gws, *barriers);
        (self.gang, self.parting, self.met) = (1, None, None);
        if let Some(parting) = parting {
            self.part(parting, n);
        }
    }

    /// Leaves the first of the waves that went together alone.
    pub(crate) fn end_gang(&mut self) {
        self.rows.keep_first();
        self.gang = 1;
        if let Some(mut parting) = self.parting.take() {
            self.part(&parting, 0);
            if parting.done == 0 {
                self.met = parting.fault.take();
            }
        }
    }

    fn part(&mut self, parting: &Parting, n: usize) {
        if n < parting.done {
            self.pc = parting.next;
            self.retired += parting.weight;
            if let Some((out, values)) = &parting.scalars {
                out.write(self, values[n]);
            }
        } else if n == parting.done {
            self.met = parting.fault.clone();
        }
    }
}

/// What executes a decoded instruction, whose micro-op is at a slot of the page, for waves that go together.
pub(super) fn function(arch: Arch, level: Level, inst: &Inst, page: &Page, slot: usize) -> OpFn {
    let op = &page.ops[slot];
    match kind(arch, inst, op) {
        Kind::Once => op.run,
        Kind::Each(Out::Nothing) => usual(inst, op, page, level).unwrap_or(each::<NOTHING>),
        Kind::Each(Out::Mask(_)) => usual(inst, op, page, level).unwrap_or(each::<MASK>),
        Kind::Each(Out::Dword(_)) => each::<DWORD>,
        Kind::Alone => part,
    }
}

enum Kind {
    /// The same for all waves: scalars from scalars.
    Once,
    Each(Out),
    /// Not for waves that go together.
    Alone,
}

/// What an instruction is to waves that go together. What is not known to be fit for them is [`Kind::Alone`].
fn kind(arch: Arch, inst: &Inst, op: &MicroOp) -> Kind {
    if inst.operands.iter().any(names_wave) {
        return Kind::Alone;
    }
    if salu::float::is_scalar(inst.op) {
        return Kind::Once;
    }
    match inst.format {
        Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk => {
            if salu::is_of_scalars(inst.op) {
                Kind::Once
            } else {
                Kind::Alone
            }
        }
        Format::Sopp if sopp::is_same_for_all(inst.op) => Kind::Once,
        // Registers are given back early, which nobody sees.
        Format::Sopp if inst.op == Op::s_sendmsg && sopp::gives_back(arch, op) => Kind::Once,
        Format::Smem if smem::only_reads(inst.op) => Kind::Once,
        Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3 | Format::Vop3p => {
            vector(inst, op)
        }
        Format::Vopd => Kind::Each(Out::Nothing),
        Format::Ds if !inst.mods.gds && !super::gds::is_sync(inst.op) => Kind::Each(Out::Nothing),
        Format::Flat | Format::Global | Format::Mubuf | Format::Mtbuf | Format::Mimg => {
            Kind::Each(Out::Nothing)
        }
        _ => Kind::Alone,
    }
}

/// Whether an operand may hold a wave's number in its work-group, TTMP8. The widest operands have sixteen registers.
fn names_wave(operand: &Operand) -> bool {
    matches!(operand, Operand::Ttmp(n) if *n <= 8 && *n != 7)
}

fn vector(inst: &Inst, op: &MicroOp) -> Kind {
    let has = |field| {
        inst.op
            .row()
            .operands()
            .iter()
            .any(|desc| desc.field == field)
    };
    if has(Field::MaskDst) || has(Field::CmpxDst) {
        return match usize::from(op.dst2) {
            // GFX9 writes EXEC as well.
            at if has(Field::CmpxDst) && at != EXEC => Kind::Alone,
            TRASH => Kind::Each(Out::Nothing),
            at if at < 128 => Kind::Each(Out::Mask(at)),
            _ => Kind::Alone,
        };
    }
    let scalar = inst.operands.iter().zip(inst.op.row().operands());
    let scalar = scalar.into_iter().any(|(operand, desc)| {
        let vector = matches!(operand, Operand::Vgpr(_) | Operand::Acc(_) | Operand::None);
        desc.dir != Dir::Read && !vector
    });
    match inst.op {
        Op::v_readlane_b32 | Op::v_readfirstlane_b32 if op.dst < VGPR => {
            Kind::Each(Out::Dword(usize::from(op.dst)))
        }
        _ if scalar => Kind::Alone,
        _ => Kind::Each(Out::Nothing),
    }
}

/// The functions of the commonest instructions, in one piece with the loop over waves.
fn usual(inst: &Inst, op: &MicroOp, page: &Page, level: Level) -> Option<OpFn> {
    if let Some(run) = fuse::together(op, page, level) {
        return Some(run);
    }
    match inst.format {
        Format::Global if page.alignment.is_free() => flat::together(inst, level),
        Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3 if is_plain(inst, op, page) => {
            hot::together(inst.op, op, level)
        }
        _ => None,
    }
}

/// Whether a vector instruction has no modifiers, and no operand that is a value of the moment.
fn is_plain(inst: &Inst, op: &MicroOp, page: &Page) -> bool {
    let reads_mask = op.flags & MASK_IN != 0;
    let no_form = reads_mask || page.ext.get(op.ext as usize).is_none();
    op.handler.is_some() && no_form && !lower::is_computed(inst)
}

fn part(_: &mut Machine<'_>, _: &MicroOp, _: &Page) -> Flow {
    Flow::Part
}

/// Kinds of [`Out`].
pub(crate) const NOTHING: u8 = 0;
pub(crate) const MASK: u8 = 1;
const DWORD: u8 = 2;

/// A function of one wave, for each of those that go together.
pub(crate) struct Together<S, const OUT: u8>(core::marker::PhantomData<S>);

impl<S: Leveled, const OUT: u8> Leveled for Together<S, OUT> {
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        let waves = m.waves();
        if OUT == NOTHING {
            for n in 0..waves {
                m.wave.rows.select(n);
                if S::run::<H>(m, op, page) != Flow::Next {
                    return stopped(m, n, None);
                }
            }
            m.wave.rows.select(0);
            return Flow::Next;
        }
        let out = match OUT {
            MASK => Out::Mask(usize::from(op.dst2)),
            _ => Out::Dword(usize::from(op.dst)),
        };
        let before = out.read(m.wave);
        let mut values = [0; MOST];
        for (n, value) in values.iter_mut().enumerate().take(waves) {
            m.wave.rows.select(n);
            out.write(m.wave, before);
            if S::run::<H>(m, op, page) != Flow::Next {
                return stopped(m, n, Some((out, before, values)));
            }
            *value = out.read(m.wave);
        }
        m.wave.rows.select(0);
        if same(&values[..waves]) {
            Flow::Next
        } else {
            differ(m, waves, (out, before, values))
        }
    }
}

/// The function of a micro-op for one wave, for each of those that go together: the way for what is not usual.
#[inline(never)]
pub(crate) fn each<const OUT: u8>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    Together::<ByPointer, OUT>::run::<Portable>(m, op, page)
}

#[inline(always)]
fn same(values: &[u64]) -> bool {
    let differs = values.iter().fold(0, |all, &value| all | value ^ values[0]);
    differs == 0
}

impl Machine<'_> {
    /// Waves that go together, one where it is alone.
    #[inline(always)]
    pub(crate) fn waves(&self) -> usize {
        usize::from(self.wave.gang).min(MOST)
    }

    /// Writes the lane masks that an instruction has given all waves that go together.
    #[inline(always)]
    pub(crate) fn put_masks(&mut self, at: u16, masks: &[u64; MOST]) -> Flow {
        let waves = self.waves();
        if same(&masks[..waves]) {
            self.wave.set_mask(usize::from(at), masks[0]);
            return Flow::Next;
        }
        let out = Out::Mask(usize::from(at));
        let before = out.read(self.wave);
        differ(self, waves, (out, before, *masks))
    }
}

/// What waves that go together write to scalars: where, what was there, and the values.
type Written = (Out, u64, [u64; MOST]);

/// All have executed the instruction, and their scalars differ.
#[cold]
#[inline(never)]
fn differ(m: &mut Machine<'_>, waves: usize, (out, before, values): Written) -> Flow {
    out.write(m.wave, before);
    m.wave.parting = Some(Box::new(Parting {
        done: waves,
        next: 0,
        weight: 0,
        scalars: Some((out, values)),
        fault: None,
    }));
    Flow::Part
}

/// The `n`-th cannot go on with the instruction, or not now.
#[cold]
#[inline(never)]
fn stopped(m: &mut Machine<'_>, n: usize, written: Option<Written>) -> Flow {
    m.wave.rows.select(0);
    if let Some((out, before, _)) = written {
        out.write(m.wave, before);
    }
    let fault = match m.exit.take() {
        Some(Exit::Fault(mut fault)) => {
            fault.wave.wave += n as u32;
            Some(fault)
        }
        _ => None,
    };
    m.wave.parting = Some(Box::new(Parting {
        done: n,
        next: 0,
        weight: 0,
        scalars: written.map(|(out, _, values)| (out, values)),
        fault,
    }));
    Flow::Part
}

/// The function that the micro-op has, whatever it is.
struct ByPointer;

impl Leveled for ByPointer {
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        // SAFETY: the code cache has no level that the host has not; the run loop checked the registers.
        unsafe { (op.run)(m, op, page) }
    }
}
