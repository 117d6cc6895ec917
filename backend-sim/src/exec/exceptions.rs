//! Floating-point exceptions of vector instructions, while one of them is enabled.
//!
//! MODE.EXCP_EN (bits 18-12; TRAP_CTRL on gfx12) says which of them trap. While none does, nothing is looked at, and
//! the sticky bits of TRAPSTS (EXCP_FLAG_USER on gfx12) stay as they are. Otherwise the slow loop asks here before each
//! vector instruction what its active lanes raise, by its own handler run in directed rounding modes: a result that
//! depends on the direction is inexact. The instruction is completed before the wave traps, and the program counter
//! that the trap handler finds is that of the next one.
//!
//! Where AMD's manuals say nothing: a subnormal source counts only where MODE keeps it. Tiny is what is below the
//! smallest normal number before rounding. What rounds toward zero overflows where the nearest number would. Functions
//! that always round to nearest (reciprocal, roots, exponential, logarithm, sine, cosine) raise neither inexact nor
//! underflow. Output modifiers, dot products, matrix operations and scalar floating point raise nothing.

use super::code::Page;
use super::dpp::Flat;
use super::lower::{self, Ext};
use super::machine::Machine;
use super::microop::{ABSENT, MicroOp};
use super::modifiers::SrcForm;
use super::rows::WIDEST;
use super::valu::{self, FloatMode, Level};
use super::vector::{VectorForm, blank};
use crate::isa::{Dir, Field, Inst, Op, Type, decode};

pub(crate) const INVALID: u32 = 1;
pub(crate) const INPUT_DENORMAL: u32 = 1 << 1;
pub(crate) const DIVISION_BY_ZERO: u32 = 1 << 2;
pub(crate) const OVERFLOW: u32 = 1 << 3;
pub(crate) const UNDERFLOW: u32 = 1 << 4;
pub(crate) const INEXACT: u32 = 1 << 5;
pub(crate) const INTEGER_DIVISION_BY_ZERO: u32 = 1 << 6;
/// All of them.
pub(crate) const ALL: u32 = 0x7f;

/// Their names, from bit 0 up.
pub(crate) const NAMES: [&str; 7] = [
    "invalid operation",
    "subnormal source",
    "division by zero",
    "overflow",
    "underflow",
    "inexact result",
    "integer division by zero",
];

/// Rows of a result or source, two at most.
type Rows = [u32; 128];

/// A binary format, by its fields' widths.
#[derive(Clone, Copy)]
struct Float {
    exponent: u32,
    fraction: u32,
}

impl Float {
    const HALF: Float = Float {
        exponent: 5,
        fraction: 10,
    };
    const SINGLE: Float = Float {
        exponent: 8,
        fraction: 23,
    };
    const DOUBLE: Float = Float {
        exponent: 11,
        fraction: 52,
    };

    fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    fn magnitude(self, x: u64) -> u64 {
        x & ((1 << (self.exponent + self.fraction)) - 1)
    }

    fn is_nan(self, x: u64) -> bool {
        self.magnitude(x) > self.infinity()
    }

    fn is_signalling(self, x: u64) -> bool {
        self.is_nan(x) && x >> (self.fraction - 1) & 1 == 0
    }

    fn is_infinite(self, x: u64) -> bool {
        self.magnitude(x) == self.infinity()
    }

    fn is_zero(self, x: u64) -> bool {
        self.magnitude(x) == 0
    }

    fn is_subnormal(self, x: u64) -> bool {
        (1..1 << self.fraction).contains(&self.magnitude(x))
    }

    /// Whether MODE reads subnormal numbers of the format as zero, and whether it writes them so.
    fn flushes(self, mode: FloatMode) -> (bool, bool) {
        let denorm = match self.fraction {
            23 => mode.denorm_f32(),
            _ => mode.denorm_f16_f64(),
        };
        (denorm.flush_in, denorm.flush_out)
    }

    /// The number, exactly; not for NaN and infinity.
    fn value(self, x: u64) -> f64 {
        match self.exponent {
            11 => f64::from_bits(x),
            8 => f64::from(f32::from_bits(x as u32)),
            _ => f64::from(f32::from_bits(super::modifiers::widen(x as u16))),
        }
    }
}

/// The numbers in an operand of a type: their format, and how many there are.
fn elements(ty: Type) -> Option<(Float, usize)> {
    Some(match ty {
        Type::F16 => (Float::HALF, 1),
        Type::PkF16 => (Float::HALF, 2),
        Type::F32 => (Float::SINGLE, 1),
        Type::PkF32 => (Float::SINGLE, 2),
        Type::F64 => (Float::DOUBLE, 1),
        _ => return None,
    })
}

/// Number `index` of a lane.
fn element(rows: &Rows, float: Float, index: usize, lane: usize, lanes: usize) -> u64 {
    let dword = |row: usize| u64::from(rows[(row * lanes + lane) & 127]);
    match float.exponent {
        5 => dword(0) >> (16 * index) & 0xffff,
        8 => dword(index),
        _ => dword(0) | dword(1) << 32,
    }
}

/// What can be said of an operation's result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// It is rounded as MODE says.
    Rounded,
    /// It is rounded to nearest.
    Nearest,
    /// It is chosen or judged, not rounded.
    Chosen,
    /// The last step of a division: sources are the quotient, the denominator and the numerator.
    Divided,
    /// It is an integer from `low` to `high`.
    Integer { low: i64, high: i64 },
}

fn kind(op: Op) -> Option<Kind> {
    let name = op.row().mnemonic;
    let starts = |names: &[&str]| names.iter().any(|start| name.starts_with(start));
    if starts(&[
        "v_s_",
        "v_dot",
        "v_mfma",
        "v_smfmac",
        "v_wmma",
        "v_swmmac",
        "v_cvt_scalef32",
        "v_cvt_sr",
    ]) || starts(&[
        "v_div_scale",
        "v_cmp_class",
        "v_cmpx_class",
        "v_trig_preop",
        "v_cvt_norm",
    ]) || name.contains("fp8")
        || name.contains("bf8")
        || name.contains("pknorm")
    {
        return None;
    }
    let reads_floats = sources(op).any(|ty| elements(ty).is_some());
    for (start, low, high) in [
        ("v_cvt_i32_f", i64::from(i32::MIN), i64::from(i32::MAX)),
        ("v_cvt_u32_f", 0, i64::from(u32::MAX)),
        ("v_cvt_i16_f", i64::from(i16::MIN), i64::from(i16::MAX)),
        ("v_cvt_u16_f", 0, i64::from(u16::MAX)),
    ] {
        if name.starts_with(start) {
            return Some(Kind::Integer { low, high });
        }
    }
    if starts(&[
        "v_rcp", "v_rsq", "v_sqrt", "v_exp", "v_log", "v_sin", "v_cos",
    ]) {
        return Some(Kind::Nearest);
    }
    if starts(&["v_div_fixup"]) {
        return Some(Kind::Divided);
    }
    let chosen = [
        "v_cmp", "v_min", "v_max", "v_med3", "v_pk_min", "v_pk_max", "v_frexp", "v_cube",
    ];
    if starts(&chosen) {
        return reads_floats.then_some(Kind::Chosen);
    }
    let result = op.row().operands().first()?.ty;
    elements(result).map(|_| Kind::Rounded)
}

/// Types of the sources, in the order that micro-ops have them.
fn sources(op: Op) -> impl Iterator<Item = Type> {
    let mix = op.row().mnemonic.contains("_mix");
    let read = op
        .row()
        .operands()
        .iter()
        .filter(|desc| desc.dir == Dir::Read && desc.ty != Type::Mask);
    let old = op.row().operands().iter().filter(|desc| {
        desc.dir == Dir::ReadWrite && !matches!(desc.field, Field::MaskDst | Field::CmpxDst)
    });
    read.chain(old)
        .map(move |desc| if mix { Type::F32 } else { desc.ty })
}

/// What the active lanes raise when the instruction is executed next.
#[cold]
pub(super) fn raised(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> u32 {
    let bytes: alloc::vec::Vec<u8> = page
        .words(usize::from(op.slot))
        .iter()
        .take(4)
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let Ok(inst) = decode(m.arch(), &bytes) else {
        return 0;
    };
    if let (Some(op_y), Some(Ext::Dual(halves))) = (inst.op_y, page.ext.get(op.ext as usize)) {
        // The halves may be stored in the other order; they have different destinations.
        let first = lower::destination(inst.operands[0]);
        let ops = match first == Ok(halves[0].dst) {
            true => [inst.op, op_y],
            false => [op_y, inst.op],
        };
        return ops
            .into_iter()
            .zip(halves.iter())
            .fold(0, |flags, (op, half)| {
                flags | of_form(m, op, half, page, None)
            });
    }
    match lower::modifiers_of(m.arch(), &inst) {
        Ok(form) => of_instruction(m, &inst, op, page, &form),
        Err(_) => 0,
    }
}

fn of_instruction(
    m: &mut Machine<'_>,
    inst: &Inst,
    op: &MicroOp,
    page: &Page,
    form: &VectorForm,
) -> u32 {
    of_form(m, inst.op, op, page, Some(form))
}

/// Without a form, operands are whole registers.
fn of_form(
    m: &mut Machine<'_>,
    operation: Op,
    op: &MicroOp,
    page: &Page,
    form: Option<&VectorForm>,
) -> u32 {
    let (Some(kind), Some(handler)) = (kind(operation), valu::handler(operation, Level::Baseline))
    else {
        return 0;
    };
    let lanes = m.wave.lanes;
    let mut active = m.wave.exec();
    let mut values: [Rows; 3] = [[0; 128]; 3];
    let types: [Option<Type>; 3] = {
        let mut types = sources(operation);
        core::array::from_fn(|_| types.next())
    };
    for (i, ty) in types.into_iter().enumerate() {
        let Some(ty) = ty else { break };
        if op.src[i] == ABSENT {
            return 0;
        }
        let plain = SrcForm::plain(if matches!(ty, Type::F64 | Type::PkF32) {
            2
        } else {
            1
        });
        let src = form.map_or(plain, |form| form.src[i]);
        let from = m.source(op, page, i, u32::from(src.rows));
        match form.and_then(|form| form.dpp.as_ref()).filter(|_| i == 0) {
            Some(permute) => {
                active = permute.apply(
                    from,
                    &mut m.temps.src[i],
                    lanes,
                    u32::from(src.rows),
                    active,
                );
                src.apply_in_place(&mut m.temps.src[i], lanes);
            }
            None => src.apply(from, &mut m.temps.src[i], lanes),
        }
        values[i].copy_from_slice(&m.temps.src[i].as_flattened_mut()[..128]);
    }
    let mode = m.wave.float;
    let mut args = blank(m, active);
    args.src = core::array::from_fn(|i| m.temps.src[i].as_ptr().cast());
    args.imm = form.map_or(0, |form| form.imm);
    if let Some(mask) = form.and_then(|form| form.mask_in) {
        args.mask_in = m.wave.mask(usize::from(mask));
    }
    let mut run = |mode: FloatMode| -> Rows {
        args.mode = mode;
        args.dst = m.temps.dst.as_mut_ptr().cast();
        // SAFETY: sources and destination are temporaries of `WIDEST` rows, wider than any operand of an operation that
        // has a kind; the handler is of the level that every host has.
        unsafe { handler(&args) };
        let mut rows = [0; 128];
        rows.copy_from_slice(&m.temps.dst.as_flattened_mut()[..128]);
        rows
    };
    const { assert!(WIDEST >= 2) };
    let results = Results {
        actual: run(mode),
        down: run(directed(mode, 0b1010)),
        up: run(directed(mode, 0b0101)),
        nearest: run(directed(mode, 0)),
    };
    let mut flags = 0;
    for lane in super::access::Lanes(active) {
        flags |= of_lane(
            operation,
            kind,
            mode,
            &types,
            &values,
            &results,
            (lane, lanes as usize),
        );
    }
    flags
}

/// MODE with another rounding, and subnormal results kept.
fn directed(mode: FloatMode, round: u32) -> FloatMode {
    let overflow = u32::from(mode.saturates()) << 23;
    FloatMode::from_mode_register(mode.bits() & !0xf | 0xa0 | round | overflow)
}

/// An instruction's results in MODE as it is, rounded down, up and to nearest.
struct Results {
    actual: Rows,
    down: Rows,
    up: Rows,
    nearest: Rows,
}

fn of_lane(
    op: Op,
    kind: Kind,
    mode: FloatMode,
    types: &[Option<Type>; 3],
    values: &[Rows; 3],
    results: &Results,
    (lane, lanes): (usize, usize),
) -> u32 {
    let row = op.row();
    let result = row.operands().first().and_then(|desc| elements(desc.ty));
    let count = result.map_or(1, |(_, count)| count);
    let mut flags = 0;
    for index in 0..count {
        let mut finite = true;
        let mut nan = false;
        let mut source = [None; 3];
        for (i, ty) in types.iter().enumerate() {
            let Some((float, of_source)) = ty.and_then(elements) else {
                continue;
            };
            let x = element(&values[i], float, index.min(of_source - 1), lane, lanes);
            source[i] = Some((float, x));
            nan |= float.is_nan(x);
            finite &= float.magnitude(x) < float.infinity();
            if float.is_signalling(x) {
                flags |= INVALID;
            }
            if float.is_subnormal(x) && !float.flushes(mode).0 {
                flags |= INPUT_DENORMAL;
            }
        }
        match (kind, result) {
            (Kind::Integer { low, high }, _) => {
                if let Some((float, x)) = source[0] {
                    flags |= to_integer(float, x, low, high);
                }
            }
            (Kind::Divided, _) => {
                if let [_, Some((float, d)), Some((_, n))] = source {
                    flags |= division(float, n, d);
                }
            }
            (Kind::Chosen, _) | (_, None) => {}
            (Kind::Rounded | Kind::Nearest, Some((float, _))) => {
                let at = |rows: &Rows| element(rows, float, index, lane, lanes);
                let four = [
                    &results.actual,
                    &results.down,
                    &results.up,
                    &results.nearest,
                ]
                .map(at);
                if float.is_nan(four[0]) && !nan {
                    flags |= INVALID;
                } else if finite && kind == Kind::Nearest {
                    flags |= of_function(op, float, source[0], four[0]);
                } else if finite {
                    flags |= rounding(float, mode, four);
                }
            }
        }
    }
    flags
}

/// What a conversion raises.
fn to_integer(float: Float, x: u64, low: i64, high: i64) -> u32 {
    if float.magnitude(x) >= float.infinity() {
        return INVALID;
    }
    let value = float.value(x);
    // Saturates, which is out of range too.
    let whole = value as i64;
    if whole < low || whole > high {
        return INVALID;
    }
    if whole as f64 == value { 0 } else { INEXACT }
}

/// What the quotient `n / d` is that no rounding gives.
fn division(float: Float, n: u64, d: u64) -> u32 {
    let both = |test: fn(Float, u64) -> bool| test(float, n) && test(float, d);
    if both(Float::is_zero) || both(Float::is_infinite) {
        INVALID
    } else if float.is_zero(d) && float.magnitude(n) < float.infinity() {
        DIVISION_BY_ZERO
    } else {
        0
    }
}

/// What a function of a finite number raises.
fn of_function(op: Op, float: Float, source: Option<(Float, u64)>, result: u64) -> u32 {
    if !float.is_infinite(result) {
        return 0;
    }
    // Those of single precision read subnormal numbers as zero.
    let pole = source.is_some_and(|(float, x)| {
        float.is_zero(x) || float.fraction == 23 && float.is_subnormal(x)
    });
    match (pole, op) {
        (true, Op::v_rcp_iflag_f32) => INTEGER_DIVISION_BY_ZERO,
        (true, _) => DIVISION_BY_ZERO,
        (false, _) => OVERFLOW,
    }
}

/// What rounding raises, by the results in MODE as it is, rounded down, up and to nearest.
fn rounding(float: Float, mode: FloatMode, [actual, down, up, nearest]: [u64; 4]) -> u32 {
    let smallest_normal = 1 << float.fraction;
    let [a, b] = [down, up].map(|x| float.magnitude(x));
    let exact = down == up || a == 0 && b == 0;
    let tiny = a.max(b) <= smallest_normal && a.min(b) < smallest_normal && a.max(b) != 0;
    let overflow =
        float.is_infinite(actual) || float.is_infinite(nearest) && a.max(b) == float.infinity();
    let flushed = exact && float.is_subnormal(down) && float.flushes(mode).1;
    let mut flags = 0;
    if overflow {
        flags |= OVERFLOW | INEXACT;
    }
    if !exact || flushed {
        flags |= INEXACT;
    }
    if tiny && !exact || flushed {
        flags |= UNDERFLOW;
    }
    flags
}
