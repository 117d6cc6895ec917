//! Image instructions: linear images of one to three dimensions and their arrays, by descriptor.
//!
//! Coordinates are integers, formats those of buffers ([`super::format`]). What lies outside of the image, or in a mip
//! level other than the first, reads as zero and is not written. Tiled layouts, multisampled images and formats that
//! buffers do not have are refused by name when they are met.
//!
//! | field of the descriptor | gfx9 | gfx10, gfx11 | gfx12 |
//! |---|---|---|---|
//! | base address, in units of 256 bytes | 39-0 | the same | the same |
//! | format | 61-52: data format (6 bits), above it the number format (4) | 60-52, 59-52 on gfx11 | 56-49 |
//! | width - 1 | 77-64 | 75-62 | 77-62 |
//! | height - 1 | 91-78 | the same | 93-78 |
//! | what each of X, Y, Z and W reads | 107-96 | the same | the same |
//! | first and last mip level | 111-108, 115-112 | the same | 61-57, 115-111 |
//! | layout: zero is linear | 120-116 | the same | the same |
//! | type | 127-124 | the same | the same |
//! | depth - 1, or the last slice | 140-128 | the same | 141-128 |
//! | pitch - 1 | 156-141 | 141-128 of 1D and 2D images; other images' rows fill multiples of 256 bytes | 143-128 of them |
//! | first slice | 172-160 | 156-144 | 157-144 |

use super::access::{Addresses, Lanes};
use super::code::Page;
use super::flat::{atomic_index, atomic_of, done, vector};
use super::format::{self, Width};
use super::lower::{Cx, GRAPHICS, Lowered, need, scalar_index};
use super::machine::Machine;
use super::microop::{ABSENT, Flow, MicroOp, OpFn, VGPR};
use crate::isa::{
    Arch, BufferFormat, DataFormat, Field, Inst, Op, Operand, buffer_format, has_level, is_ray,
};

const MIP: u64 = 1 << 16;
const PACKED: u64 = 1 << 17;
const SIGNED: u64 = 1 << 18;
const A16: u64 = 1 << 19;
const D16: u64 = 1 << 20;
const TFE: u64 = 1 << 21;
const ARRAY: u64 = 1 << 22;

fn operation(op: Op) -> Option<super::atomic::AtomicOp> {
    use super::atomic::AtomicOp as A;
    Some(match op {
        Op::image_atomic_swap => A::Swap,
        Op::image_atomic_cmpswap => A::CmpSwap,
        Op::image_atomic_add => A::Add,
        Op::image_atomic_sub => A::Sub,
        Op::image_atomic_smin => A::SMin,
        Op::image_atomic_umin => A::UMin,
        Op::image_atomic_smax => A::SMax,
        Op::image_atomic_umax => A::UMax,
        Op::image_atomic_and => A::And,
        Op::image_atomic_or => A::Or,
        Op::image_atomic_xor => A::Xor,
        Op::image_atomic_inc => A::Inc,
        Op::image_atomic_dec => A::Dec,
        Op::image_atomic_fcmpswap => A::FCmpSwap,
        Op::image_atomic_fmin | Op::image_atomic_min_flt => A::FMin,
        Op::image_atomic_fmax | Op::image_atomic_max_flt => A::FMax,
        Op::image_atomic_add_flt => A::FAdd,
        Op::image_atomic_pk_add_f16 => A::PkAddF16,
        Op::image_atomic_pk_add_bf16 => A::PkAddBf16,
        _ => return None,
    })
}

/// The destination or source 2 is the data, `dst2` the descriptor; source 0 the first address register. `k[0]`: the other
/// address registers, 16 bits each, if they are named one by one. `k[1]`: the mask of components and flags. `k[2]`: the
/// atomic operation.
pub(crate) fn lower(_: &mut Cx<'_>, inst: &Inst) -> Lowered {
    if is_ray(inst.op) || matches!(inst.op, Op::image_msaa_load | Op::image_msaa_load_x) {
        return Err(GRAPHICS);
    }
    let (image, mut micro) = (&inst.mods.image, MicroOp::undecoded(0));
    if image.r128 {
        return Err("a descriptor of 128 bits");
    }
    let mut data = ABSENT;
    for (&operand, desc) in inst.operands.iter().zip(inst.op.row().operands()) {
        match desc.field {
            Field::Addr => micro.src[0] = vector(operand)?,
            Field::Rsrc => micro.dst2 = scalar_index(operand).ok_or("this descriptor")? as u16,
            Field::Samp => return Err(GRAPHICS),
            _ => data = vector(operand)?,
        }
    }
    for (at, &register) in image.further.iter().enumerate().take(3) {
        if at + 1 < usize::from(image.groups) {
            let register = Operand::Vgpr(register);
            micro.k[0] |= u64::from(vector(register)?) << (16 * (at + 1));
            need(&mut micro, register, 1);
        }
    }
    let flag = |set: bool, flag: u64| if set { flag } else { 0 };
    let packed = matches!(
        inst.op,
        Op::image_load_pck
            | Op::image_load_pck_sgn
            | Op::image_load_mip_pck
            | Op::image_load_mip_pck_sgn
            | Op::image_store_pck
            | Op::image_store_mip_pck
    );
    let signed = matches!(inst.op, Op::image_load_pck_sgn | Op::image_load_mip_pck_sgn);
    // Arrays have a slice among their coordinates; gfx9 says so with a flag.
    let array = image.dim.map_or(image.da, |dim| matches!(dim, 4 | 5));
    micro.k[1] = u64::from(image.dmask & 15)
        | flag(has_level(inst.op), MIP)
        | flag(packed, PACKED)
        | flag(signed, SIGNED)
        | flag(image.a16, A16)
        | flag(image.d16, D16)
        | flag(inst.mods.tfe, TFE)
        | flag(array, ARRAY);
    let run: OpFn = match inst.op {
        Op::image_store | Op::image_store_mip | Op::image_store_pck | Op::image_store_mip_pck => {
            store
        }
        Op::image_get_resinfo => info,
        op => match operation(op) {
            Some(what) => {
                let two = if what.two_values() { 2 } else { 1 };
                let wide = image.data_dwords(inst.op) / two >= 2;
                micro.k[2] = atomic_index(what, wide);
                atomic
            }
            None => load,
        },
    };
    micro.run = run;
    let stores = inst.op.row().has(Field::Data);
    if operation(inst.op).is_some() {
        micro.src[2] = data;
        // GLC, and on gfx12 the same bit of the temporal hint.
        if inst.mods.cache.glc() {
            micro.dst = data;
        }
    } else if stores {
        micro.src[2] = data;
    } else {
        micro.dst = data;
    }
    Ok(micro)
}

/// How many dimensions there are, and whether there are slices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shape {
    dimensions: u8,
    array: bool,
}

struct Image {
    base: u64,
    /// Width, height, and depth or slices.
    size: [u32; 3],
    first_slice: u32,
    levels: u32,
    /// Elements from row to row.
    pitch: u64,
    shape: Shape,
    format: BufferFormat,
    selects: [u32; 4],
}

/// Fields whose place depends on the generation, as they are stored.
struct Fields {
    /// The code of a buffer's format, if it can be one.
    format: Option<u8>,
    width: u32,
    height: u32,
    depth: u32,
    /// `None` where rows follow from the width.
    pitch: Option<u32>,
    first_slice: u32,
    levels: [u32; 2],
}

impl Fields {
    fn of(arch: Arch, w: &[u32; 8]) -> Fields {
        // 1D and 2D: what is the depth of others is a pitch.
        let plain = matches!(w[3] >> 28, 8 | 9);
        let levels = [w[3] >> 12 & 15, w[3] >> 16 & 15];
        if arch.is_gfx9() {
            let (data, number) = (w[1] >> 20 & 63, w[1] >> 26 & 15);
            return Fields {
                format: (data < 15 && number < 8).then_some((data | number << 4) as u8),
                width: w[2] & 0x3fff,
                height: w[2] >> 14 & 0x3fff,
                depth: w[4] & 0x1fff,
                pitch: Some(w[4] >> 13 & 0xffff),
                first_slice: w[5] & 0x1fff,
                levels,
            };
        }
        if arch.is_gfx12_plus() {
            return Fields {
                format: Some((w[1] >> 17) as u8).filter(|code| *code < 64),
                width: w[1] >> 30 | (w[2] & 0x3fff) << 2,
                height: w[2] >> 14 & 0xffff,
                depth: w[4] & 0x3fff,
                pitch: plain.then_some(w[4] & 0xffff),
                first_slice: w[4] >> 16 & 0x3fff,
                levels: [w[1] >> 25 & 31, w[3] >> 15 & 31],
            };
        }
        let (code, codes) = match arch.is_gfx11_plus() {
            true => (w[1] >> 20 & 0xff, 64),
            false => (w[1] >> 20 & 0x1ff, 128),
        };
        Fields {
            format: (code < codes).then_some(code as u8),
            width: w[1] >> 30 | (w[2] & 0xfff) << 2,
            height: w[2] >> 14 & 0x3fff,
            depth: w[4] & 0x1fff,
            pitch: plain.then_some(w[4] & 0x3fff),
            first_slice: w[4] >> 16 & 0x1fff,
            levels,
        }
    }
}

impl Image {
    fn new(arch: Arch, w: [u32; 8]) -> Result<Image, &'static str> {
        let shape = |dimensions, array| Shape { dimensions, array };
        let kind = w[3] >> 28;
        let shape = match kind {
            8 => shape(1, false),
            9 => shape(2, false),
            10 => shape(3, false),
            11 | 13 => shape(2, true),
            12 => shape(1, true),
            14 | 15 => return Err("a multisampled image"),
            _ => return Err("a descriptor that is no image's"),
        };
        if w[3] >> 20 & 31 != 0 {
            return Err("a tiled image");
        }
        let fields = Fields::of(arch, &w);
        let format = fields
            .format
            .and_then(|code| buffer_format(arch, code))
            .filter(|(data, _)| !matches!(data, DataFormat::Reserved15))
            .ok_or("this format of an image")?;
        let bytes = format.0.bytes().max(1) as u64;
        let pitch = match fields.pitch {
            Some(pitch) => u64::from(pitch) + 1,
            None => ((u64::from(fields.width) + 1) * bytes).next_multiple_of(256) / bytes,
        };
        let slices = match (shape.array, shape.dimensions) {
            (true, _) => (fields.depth + 1).saturating_sub(fields.first_slice),
            (false, 3) => fields.depth + 1,
            _ => 1,
        };
        let [first_level, last_level] = fields.levels;
        Ok(Image {
            base: (u64::from(w[0]) | u64::from(w[1] & 0xff) << 32) << 8,
            size: [
                fields.width + 1,
                if shape.dimensions > 1 {
                    fields.height + 1
                } else {
                    1
                },
                slices,
            ],
            first_slice: if shape.array { fields.first_slice } else { 0 },
            levels: last_level.saturating_sub(first_level) + 1,
            pitch,
            shape,
            format,
            selects: core::array::from_fn(|i| w[3] >> (3 * i) & 7),
        })
    }

    /// The address of an element, if it is in the image.
    fn locate(&self, [x, y, z]: [u32; 3]) -> Option<u64> {
        let [width, height, slices] = self.size;
        if x >= width || y >= height || z >= slices {
            return None;
        }
        let rows = (u64::from(z) + u64::from(self.first_slice)) * u64::from(height) + u64::from(y);
        let element = rows * self.pitch + u64::from(x);
        let bytes = self.format.0.bytes() as u64;
        (bytes > 0).then(|| self.base.wrapping_add(element * bytes))
    }
}

fn descriptor(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Result<Image, Flow> {
    let words = core::array::from_fn(|i| m.wave.s[(usize::from(op.dst2) + i) & 255]);
    let image = Image::new(m.arch(), words);
    image.map_err(|what| m.unsupported(op, page, "image instruction", what))
}

/// The coordinate at an index, of a lane.
fn coordinate(m: &Machine<'_>, op: &MicroOp, at: usize, lane: usize) -> u32 {
    let a16 = op.k[1] & A16 != 0;
    let register = if a16 { at / 2 } else { at };
    let named = (op.k[0] >> (16 * register)) as u16;
    let source = match register {
        1..4 if named != 0 => named,
        _ => op.src[0] + register as u16,
    };
    let value = m.lane_value(source, false, lane) as u32;
    match (a16, at % 2) {
        (false, _) => value,
        (true, 0) => value & 0xffff,
        (true, _) => value >> 16,
    }
}

/// Where each lane's element is, and which lanes have one.
fn places(m: &Machine<'_>, op: &MicroOp, image: &Image) -> (Addresses, u64) {
    let (mut va, mut inside) = ([0; 64], 0);
    let array = image.shape.array && op.k[1] & ARRAY != 0;
    let dimensions = usize::from(image.shape.dimensions);
    for lane in Lanes(m.wave.exec()) {
        let mut at = [0; 3];
        for (axis, to) in at.iter_mut().enumerate().take(dimensions) {
            *to = coordinate(m, op, axis, lane);
        }
        let mut next = dimensions;
        if array {
            at[2] = coordinate(m, op, next, lane);
            next += 1;
        }
        let first_level = op.k[1] & MIP == 0 || coordinate(m, op, next, lane) == 0;
        if let Some(found) = image.locate(at).filter(|_| first_level) {
            va[lane] = found;
            inside |= 1 << lane;
        }
    }
    (va, inside)
}

fn width(op: &MicroOp) -> Width {
    if op.k[1] & D16 != 0 {
        Width::Half
    } else {
        Width::Full
    }
}

/// Writes the components of the mask to consecutive registers or halves; gives the number of registers.
fn put(m: &mut Machine<'_>, op: &MicroOp, lane: usize, values: [u32; 4]) -> u16 {
    let mut count = 0;
    for (component, value) in values.into_iter().enumerate() {
        if op.k[1] >> component & 1 == 0 {
            continue;
        }
        let (register, low) = match width(op) {
            Width::Full => (count, 0),
            Width::Half => (count / 2, count % 2 * 16),
        };
        if let Some(row) = m.wave.rows.row_mut(op.dst - VGPR + register) {
            row[lane] = match width(op) {
                Width::Full => value,
                Width::Half => row[lane] & !(0xffff << low) | (value & 0xffff) << low,
            };
        }
        count += 1;
    }
    match width(op) {
        Width::Full => count,
        Width::Half => count.div_ceil(2),
    }
}

fn load(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    done(try_load(m, op, page))
}

fn try_load(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Result<(), Flow> {
    let image = descriptor(m, op, page)?;
    let (va, inside) = places(m, op, &image);
    let bytes = image.format.0.bytes();
    let one = format::one(image.format.1, width(op));
    for lane in Lanes(m.wave.exec()) {
        let there = inside >> lane & 1 != 0;
        let mut memory = [0; 16];
        if there {
            m.read_lane(op, page, lane, va[lane], &mut memory[..bytes])?;
        }
        let values = if op.k[1] & PACKED != 0 {
            let element = u128::from_le_bytes(memory);
            let mut words: [u32; 4] = core::array::from_fn(|i| (element >> (32 * i)) as u32);
            if op.k[1] & SIGNED != 0 && bytes < 4 {
                let up = 32 - 8 * bytes as u32;
                words[0] = ((words[0] << up) as i32 >> up) as u32;
            }
            words
        } else {
            let element = if there {
                format::load(image.format, &memory, width(op))
            } else {
                [0; 4]
            };
            image.selects.map(|select| match select {
                1 => one,
                4.. => element[select as usize & 3],
                _ => 0,
            })
        };
        let registers = put(m, op, lane, values);
        if op.k[1] & TFE != 0 {
            m.set_lane_value(op.dst + registers.max(1), false, lane, 0);
        }
    }
    Ok(())
}

fn store(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    done(try_store(m, op, page))
}

fn try_store(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Result<(), Flow> {
    let image = descriptor(m, op, page)?;
    let (va, inside) = places(m, op, &image);
    let bytes = image.format.0.bytes();
    for lane in Lanes(inside) {
        let (mut values, mut count) = ([0; 4], 0u16);
        for (component, value) in values.iter_mut().enumerate() {
            if op.k[1] >> component & 1 == 0 {
                continue;
            }
            let (register, low) = match width(op) {
                Width::Full => (count, 0),
                Width::Half => (count / 2, count % 2 * 16),
            };
            *value = m.lane_value(op.src[2] + register, false, lane) as u32 >> low;
            count += 1;
        }
        let memory = if op.k[1] & PACKED != 0 {
            let words = values.iter().enumerate();
            let element = words.fold(0, |all, (i, &word)| all | u128::from(word) << (32 * i));
            element.to_le_bytes()
        } else {
            format::store(image.format, &values, width(op))
        };
        m.write_lane(op, page, lane, va[lane], &memory[..bytes])?;
    }
    Ok(())
}

fn atomic(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let image = match descriptor(m, op, page) {
        Ok(image) => image,
        Err(flow) => return flow,
    };
    let (va, inside) = places(m, op, &image);
    let (what, wide) = atomic_of(op.k[2]);
    if op.dst != ABSENT {
        for lane in Lanes(m.wave.exec() & !inside) {
            m.set_lane_value(op.dst, wide, lane, 0);
        }
    }
    done(m.vmem_atomic(op, page, what, wide, op.src[2], &va, inside))
}

/// Width, height, depth or slices, and mip levels, of the level asked for.
fn info(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let image = match descriptor(m, op, page) {
        Ok(image) => image,
        Err(flow) => return flow,
    };
    for lane in Lanes(m.wave.exec()) {
        let level = coordinate(m, op, 0, lane);
        let of = |size: u32| size.checked_shr(level).unwrap_or(0).max(1);
        let [width, height, depth] = image.size;
        let depth = if image.shape.dimensions == 3 {
            of(depth)
        } else {
            depth
        };
        put(m, op, lane, [of(width), of(height), depth, image.levels]);
    }
    Flow::Next
}
