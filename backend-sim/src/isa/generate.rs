//! Random valid instructions, for tests and fuzzing: every row of the instruction list in every form it has.

use super::image::{is_ray, registers};
use super::list::vopd::DUALS;
use super::row::{Code, Field, Flags, ImmKind, OperandDesc, Row, Type};
use super::{
    Arch, Cache, Column, Dpp, DppCtrl, Format, InlineFloat, Inst, Lanes, Mods, Op, Operand, Sdwa,
    Select, Unused, encode,
};

/// A small deterministic generator of random numbers (SplitMix64). Equal seeds give equal sequences anywhere.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A sequence of its own for each seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// The next 32 bits.
    pub fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// A number below `bound`, which must not be zero.
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.next_u32()) * u64::from(bound)) >> 32) as u32
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }
}

/// A random valid instruction with the given operation, in one of the forms that `arch` has for it. `None` if
/// the processor lacks it.
pub fn generate(arch: Arch, op: Op, rng: &mut Rng) -> Option<Inst> {
    let row = op.row();
    let format = match row.code(arch) {
        Code::Absent => return None,
        Code::Vop3(_) => Format::Vop3,
        Code::Own(_) => {
            let vop3 = row.has_vop3(arch) && !row.operands().is_empty();
            if vop3 && rng.one_in(2) {
                Format::Vop3
            } else {
                row.format
            }
        }
    };
    let mut make = Maker {
        arch,
        row,
        format,
        rng,
        mods: Mods::default(),
        // The literal of fmamk and its kin leaves no room for another.
        scalar: row.has(Field::Literal).then_some(Operand::Literal(0)),
    };
    make.modifiers();
    let mut operands = [Operand::None; 8];
    for (slot, desc) in operands.iter_mut().zip(row.operands()) {
        *slot = make.operand(desc);
    }
    make.fix_up(&mut operands);
    let mods = make.mods;
    let mut inst = Inst {
        op,
        op_y: None,
        format,
        len: 0,
        operands,
        mods,
    };
    inst.len = encode(arch, &inst).ok()?.len() as u8;
    Some(inst)
}

/// A random valid VOPD instruction: two operations side by side, for wave32 code since gfx11.
pub fn generate_dual(arch: Arch, rng: &mut Rng) -> Option<Inst> {
    let pick = |rng: &mut Rng| &DUALS[rng.below(DUALS.len() as u32) as usize];
    let (x, y) = loop {
        let (x, y) = (pick(rng), pick(rng));
        if x.x.is_some() {
            break (x.op, y.op);
        }
    };
    let mut operands = [Operand::None; 8];
    let mut literal = None;
    for (first, op) in [(0, x), (4, y)] {
        let mut make = Maker {
            arch,
            row: op.row(),
            format: Format::Vopd,
            rng: &mut *rng,
            mods: Mods::default(),
            scalar: None,
        };
        for (slot, desc) in operands[first..].iter_mut().zip(op.row().operands()) {
            *slot = match make.operand(desc) {
                // Both halves read one literal.
                Operand::Literal(value) => Operand::Literal(*literal.get_or_insert(value)),
                _ if desc.field == Field::Src2 => Operand::VccLo,
                _ if desc.field == Field::Src1 => make.vgpr(Type::B32),
                other => other,
            };
        }
    }
    if let (Operand::Vgpr(a), Operand::Vgpr(b)) = (operands[0], operands[4]) {
        operands[4] = Operand::Vgpr(b & !1 | (!a & 1));
    }
    let mut inst = Inst {
        op: x,
        op_y: Some(y),
        format: Format::Vopd,
        len: 0,
        operands,
        mods: Mods::default(),
    };
    inst.len = encode(arch, &inst).ok()?.len() as u8;
    Some(inst)
}

struct Maker<'a> {
    arch: Arch,
    row: &'static Row,
    format: Format,
    rng: &'a mut Rng,
    mods: Mods,
    /// The scalar source that a vector instruction already has: it may have one.
    scalar: Option<Operand>,
}

impl Maker<'_> {
    fn modifiers(&mut self) {
        let gws = self.row.mnemonic.starts_with("ds_gws_");
        if self.row.operands().is_empty() && !gws && self.row.op != Op::v_nop {
            return;
        }
        match self.format {
            Format::Vop1 | Format::Vop2 | Format::Vopc => self.short(),
            Format::Vop3 if self.row.has_attribute() => self.interpolation(),
            Format::Vop3 => self.vop3(),
            Format::Vop3p => self.vop3p(),
            Format::Smem if !self.row.has(Field::Soffset) => {}
            Format::Smem => {
                self.mods.offset = self.signed(if self.arch.is_gfx12_plus() { 24 } else { 21 });
                self.mods.soffset_en = self.arch.is_gfx9() && self.rng.one_in(4);
            }
            Format::Ds => {
                let two = self.row.flags.has(Flags::TWO_OFFSETS);
                self.mods.offset = self.rng.below(if two { 256 } else { 65536 }) as i32;
                self.mods.offset1 = if two { self.rng.below(256) as u8 } else { 0 };
                self.mods.gds = ["_gws_", "_gs_reg_", "_ordered_"]
                    .iter()
                    .any(|name| self.row.mnemonic.contains(name));
            }
            Format::Flat | Format::Global | Format::Scratch => self.flat(),
            Format::Mubuf | Format::Mtbuf => self.buffer(),
            Format::Mimg if is_ray(self.row.op) => self.ray(),
            Format::Mimg => self.image(),
            Format::Vinterp => {
                self.mods.neg = self.some_bits(7);
                self.mods.clamp = self.rng.one_in(4);
                self.mods.op_sel = self.some_bits(self.row.half_operands());
                self.mods.wait = self.rng.below(8) as u8;
            }
            Format::Ldsdir => {
                let bits = if self.arch.is_gfx12_plus() { 32 } else { 16 };
                self.mods.wait = self.rng.below(bits) as u8;
            }
            Format::Exp => self.export(),
            _ => {}
        }
    }

    fn some_bits(&mut self, allowed: u8) -> u8 {
        if self.rng.one_in(2) {
            0
        } else {
            self.rng.next_u32() as u8 & allowed
        }
    }

    fn float_result(&self) -> bool {
        let dst = self.row.operands().first();
        dst.is_some_and(|o| {
            o.field == Field::Dst && matches!(o.ty, Type::F16 | Type::F32 | Type::F64)
        })
    }

    fn short(&mut self) {
        let signed = self.row.signed_sources();
        if self.rng.one_in(4) && self.row.has_sdwa(self.arch) {
            self.mods.sdwa = Some(match self.row.op {
                Op::v_nop => Sdwa::WHOLE,
                _ => self.sdwa(),
            });
            self.mods.neg = self.some_bits(signed & !self.mods.sdwa.map_or(0, |s| s.sext));
            self.mods.abs = self.some_bits(signed);
            if self.format != Format::Vopc && self.float_result() {
                self.mods.clamp = self.rng.one_in(4);
                self.mods.omod = if self.rng.one_in(4) {
                    self.rng.below(4) as u8
                } else {
                    0
                };
            }
        } else if self.rng.one_in(3) && self.row.has_dpp(self.arch, self.format) {
            let dpp = self.dpp();
            self.mods.dpp = Some(dpp);
            if matches!(dpp, Dpp::Dpp16 { .. }) {
                self.mods.neg = self.some_bits(signed & 3);
                self.mods.abs = self.some_bits(signed & 3);
            }
        }
    }

    fn vop3(&mut self) {
        let signed = self.row.signed_sources();
        self.mods.neg = self.some_bits(signed);
        let vop3b = self.row.format != Format::Vopc && self.row.has(Field::MaskDst);
        if !vop3b {
            self.mods.abs = self.some_bits(signed);
            self.mods.op_sel = self.some_bits(self.selectable());
        }
        if self.row.op.is_bitop3() {
            self.mods.bitop3 = self.rng.next_u32() as u8;
        }
        let converts = ["v_cvt_scalef32", "v_cvt_sr_"]
            .iter()
            .any(|name| self.row.mnemonic.starts_with(name));
        if converts {
            let whole = self.row.mnemonic.contains("pk32") || self.row.mnemonic.contains("pk16");
            self.mods.neg = if whole { 0 } else { self.mods.neg };
            self.mods.abs = if whole { 0 } else { self.mods.abs };
        } else if self.float_result() && !self.row.mnemonic.starts_with("v_dot2") {
            self.mods.clamp = self.rng.one_in(4);
            self.mods.omod = if self.rng.one_in(4) {
                self.rng.below(4) as u8
            } else {
                0
            };
        }
        if self.rng.one_in(4) && self.row.has_dpp(self.arch, self.format) {
            self.mods.dpp = Some(self.dpp());
        }
    }

    /// The bits of OP_SEL that compilers use. Before gfx11 that is those of operations on 16-bit numbers that are VOP3
    /// everywhere.
    fn selectable(&self) -> u8 {
        let row = self.row;
        let halves = row.half_operands() != 0;
        let old = row.format != Format::Vop3
            || !(row.has(Field::Src2) || row.mnemonic.contains("pk") || row.op == Op::v_add_i16);
        match row.op {
            _ if halves && old && !self.arch.is_gfx11_plus() => 0,
            _ if halves => row.selectable(self.arch) & row.half_operands(),
            _ => row.selectable(self.arch) & !row.packed_halves(),
        }
    }

    fn vop3p(&mut self) {
        if self.row.flags.has(Flags::MATRIX) {
            if self.row.mnemonic.starts_with("v_mfma") && !self.row.mnemonic.contains("f64") {
                self.mods.cbsz = self.some_bits(7);
                self.mods.abid = self.some_bits(15);
                self.mods.blgp = self.some_bits(7);
            }
            if self.row.op.is_f8f6f4() {
                self.mods.cbsz = self.rng.below(5) as u8;
                self.mods.blgp = self.rng.below(5) as u8;
                self.mods.abid = 0;
            }
            if self.row.has(Field::Scale) {
                self.mods.op_sel = self.some_bits(3);
                self.mods.op_sel_hi = self.some_bits(3);
            }
            return;
        }
        let sources = self
            .row
            .operands()
            .iter()
            .filter(|o| is_source(o.field))
            .count();
        let all = (1u8 << sources) - 1;
        let matrix = self.is_wave_matrix();
        self.mods.op_sel_hi = all;
        if self.row.mnemonic.starts_with("v_swmmac") {
            self.mods.op_sel = self.some_bits(1);
            // The third source counts, as an index.
            self.mods.op_sel_hi = 7;
        } else if !matrix && !self.row.is_byte_dot() {
            self.mods.op_sel = self.some_bits(all);
            self.mods.op_sel_hi ^= self.some_bits(all);
        }
        let float = self
            .row
            .operands()
            .iter()
            .any(|o| matches!(o.ty, Type::PkF16 | Type::F16 | Type::PkF32));
        if float && !matrix {
            self.mods.neg = self.some_bits(all);
            self.mods.neg_hi = self.some_bits(all);
        }
        if matrix && self.row.mnemonic.contains("_iu") {
            self.mods.neg = self.some_bits(3);
            self.mods.clamp = self.rng.one_in(4);
        }
        if self.rng.one_in(4) && self.row.has_dpp(self.arch, self.format) {
            self.mods.dpp = Some(self.dpp());
        }
    }

    /// WMMA and SWMMAC.
    fn is_wave_matrix(&self) -> bool {
        ["v_wmma", "v_swmmac"]
            .iter()
            .any(|name| self.row.mnemonic.starts_with(name))
    }

    fn cache(&mut self, atomic: bool) {
        if self.arch.is_gfx12_plus() {
            self.mods.cache = Cache(self.rng.below(3) as u8 | (self.rng.below(4) as u8) << 3);
            return;
        }
        let mut bits = Cache::SLC;
        if !atomic {
            bits |= Cache::GLC;
        }
        if self.arch.is_gfx10_plus() && !atomic {
            bits |= Cache::DLC;
        }
        if self.arch.is_gfx90a_plus() && !atomic {
            bits |= Cache::SCC;
        }
        self.mods.cache = Cache(self.some_bits(bits));
    }

    fn flat(&mut self) {
        let arch = self.arch;
        let width = if arch.is_gfx12_plus() {
            24
        } else if arch.column() == Column::Gfx10 {
            12
        } else {
            13
        };
        self.mods.offset = match self.format {
            Format::Flat if !arch.is_gfx12_plus() => self.rng.below(1 << (width - 1)) as i32,
            _ => self.signed(width),
        };
        let returns = self.row.has(Field::Ret);
        self.cache(returns);
        if returns && self.rng.one_in(2) {
            self.mods.cache.0 |= Cache::GLC;
        }
    }

    fn image(&mut self) {
        let gfx10 = self.arch.is_gfx10_plus();
        let name = self.row.mnemonic;
        let atomic = name.contains("_atomic_");
        let packed = name.contains("_pck");
        let sampled = self.row.has(Field::Samp) || name.contains("_msaa_");
        self.cache(atomic);
        if atomic && self.rng.one_in(2) {
            self.mods.cache.0 |= Cache::GLC;
        }
        let image = &mut self.mods.image;
        image.dmask = match (atomic, name.contains("cmpswap")) {
            (true, true) => [3, 15][self.rng.below(2) as usize],
            (true, false) => [1, 3][self.rng.below(2) as usize],
            _ => 1 + self.rng.below(15) as u8,
        };
        if gfx10 {
            image.dim = Some(match name.contains("_msaa_") {
                true => 6 + self.rng.below(2) as u8,
                false => self.rng.below(6) as u8,
            });
        } else {
            image.da = self.rng.one_in(4);
        }
        image.unorm = (sampled || !self.arch.is_gfx12_plus()) && self.rng.one_in(2);
        image.a16 = gfx10 && self.rng.one_in(4);
        let whole = atomic || packed || name.contains("resinfo") || name.contains("get_lod");
        image.d16 = !whole && self.rng.one_in(4);
        // LLVM does not know the three registers of four halves and the flag; gfx90a has no flag.
        if sampled && !image.d16 && !self.arch.is_gfx90a_plus() {
            self.mods.tfe = self.rng.one_in(8);
        }
    }

    fn ray(&mut self) {
        let sixteen = !self.row.mnemonic.contains("dual") && !self.row.mnemonic.contains("bvh8");
        self.mods.image = super::Image {
            dmask: 15,
            dim: Some(0),
            unorm: !self.arch.is_gfx12_plus(),
            r128: true,
            a16: sixteen && self.rng.one_in(2),
            ..super::Image::default()
        };
    }

    fn interpolation(&mut self) {
        let signed = self.row.signed_sources();
        self.mods.neg = self.some_bits(signed);
        self.mods.abs = self.some_bits(signed);
        // Only operations on halves choose one of the attribute.
        self.mods.op_sel = self.some_bits(self.row.mnemonic.contains("_f16") as u8);
        self.mods.clamp = self.rng.one_in(4);
        let whole = self
            .row
            .operands()
            .first()
            .is_some_and(|o| o.ty == Type::F32);
        if whole {
            self.mods.omod = self.rng.below(4) as u8;
        }
    }

    fn export(&mut self) {
        let gfx11 = self.arch.is_gfx11_plus();
        self.mods.export = super::Export {
            done: self.rng.one_in(2),
            compr: !gfx11 && self.rng.one_in(2),
            vm: !gfx11 && self.rng.one_in(2),
            row_en: gfx11 && self.rng.one_in(2),
        };
    }

    fn buffer(&mut self) {
        self.mods.offset = self.rng.below(4096) as i32;
        self.mods.offen = self.rng.one_in(2);
        self.mods.idxen = self.rng.one_in(2);
        self.cache(self.row.mnemonic.contains("_atomic_"));
        if self.format == Format::Mtbuf {
            self.mods.fmt = self.rng.below(128) as u8;
        }
        match self.row.op {
            Op::buffer_store_lds_dword => {
                self.mods.lds = true;
                (self.mods.offen, self.mods.idxen) = (false, false);
            }
            Op::buffer_load_ubyte
            | Op::buffer_load_sbyte
            | Op::buffer_load_ushort
            | Op::buffer_load_sshort
            | Op::buffer_load_dword
            | Op::buffer_load_format_x => {
                self.mods.lds = !self.arch.is_gfx11_plus() && self.rng.one_in(8);
            }
            _ => {}
        }
    }

    fn signed(&mut self, width: u32) -> i32 {
        (self.rng.next_u32() as i32) >> (32 - width)
    }

    fn select(&mut self) -> Select {
        const ALL: [Select; 7] = [
            Select::Byte0,
            Select::Byte1,
            Select::Byte2,
            Select::Byte3,
            Select::Word0,
            Select::Word1,
            Select::Dword,
        ];
        ALL[self.rng.below(7) as usize]
    }

    fn sdwa(&mut self) -> Sdwa {
        let compare = self.format == Format::Vopc;
        let two = self.row.has(Field::Src1);
        let integers = 3 & !self.row.signed_sources() & if two { 3 } else { 1 };
        Sdwa {
            dst_sel: if compare {
                Select::Dword
            } else {
                self.select()
            },
            dst_unused: match self.rng.below(3) {
                _ if compare => Unused::Pad,
                0 => Unused::Pad,
                1 => Unused::Sext,
                _ => Unused::Preserve,
            },
            src0_sel: self.select(),
            src1_sel: if two { self.select() } else { Select::Dword },
            sext: self.some_bits(integers),
        }
    }

    fn dpp(&mut self) -> Dpp {
        let gfx9 = self.arch.is_gfx9();
        if !gfx9 && self.rng.one_in(2) {
            return Dpp::Dpp8 {
                selectors: self.rng.next_u32() >> 8,
                fetch_inactive: self.rng.one_in(2),
            };
        }
        let n = 1 + self.rng.below(15) as u8;
        let quad = self.rng.next_u32();
        let wide = self
            .row
            .operands()
            .iter()
            .any(|o| o.ty.dwords(Lanes::W32) > 1);
        let ctrl = match self.rng.below(12) {
            // Register pairs know one pattern.
            _ if wide => DppCtrl::RowShare(n),
            0 => DppCtrl::RowShl(n),
            1 => DppCtrl::RowShr(n),
            2 => DppCtrl::RowRor(n),
            3 => DppCtrl::RowMirror,
            4 => DppCtrl::RowHalfMirror,
            5 if gfx9 => DppCtrl::WaveShl,
            6 if gfx9 => DppCtrl::WaveRor,
            7 if gfx9 => DppCtrl::RowBcast15,
            8 if gfx9 => DppCtrl::RowBcast31,
            5 => DppCtrl::RowShare(n),
            6 => DppCtrl::RowXmask(n),
            _ => DppCtrl::QuadPerm([0, 2, 4, 6].map(|at| (quad >> at & 3) as u8)),
        };
        Dpp::Dpp16 {
            ctrl,
            row_mask: self.rng.below(16) as u8,
            bank_mask: self.rng.below(16) as u8,
            bound_ctrl: self.rng.one_in(2),
            fetch_inactive: !gfx9 && self.rng.one_in(2),
        }
    }

    fn operand(&mut self, desc: &OperandDesc) -> Operand {
        let vector = matches!(
            self.format,
            Format::Vop1
                | Format::Vop2
                | Format::Vopc
                | Format::Vop3
                | Format::Vop3p
                | Format::Vopd
                | Format::Vintrp
        );
        match desc.field {
            Field::Dst | Field::Data if self.format == Format::Smem => self.sgpr(desc.ty),
            Field::Dst if !vector && is_scalar(self.format) => self.scalar_destination(desc.ty),
            Field::Dst | Field::Data if self.format == Format::Mimg => {
                let dwords = self.mods.image.data_dwords(self.row.op);
                self.vgpr(registers(dwords + usize::from(self.mods.tfe)))
            }
            Field::Dst if self.mods.lds => Operand::None,
            Field::Dst | Field::Data | Field::Data1 => self.vgpr(desc.ty),
            Field::ScalarDst => self.scalar_destination(desc.ty),
            Field::AccDst | Field::AccSrc0 => Operand::Acc(self.rng.below(256) as u8),
            Field::MaskDst | Field::CmpxDst => self.mask_destination(desc.field),
            Field::Src0 | Field::Src1 | Field::Src2 if self.format == Format::Vinterp => {
                self.vgpr(Type::B32)
            }
            Field::Src0 if self.row.op.is_pseudo_scalar() => self.scalar_source(desc.ty),
            Field::Src0 | Field::Src1 | Field::Src2 if vector => self.vector_source(desc),
            Field::Src0 | Field::Src1 | Field::Src2 => self.scalar_source(desc.ty),
            Field::Literal => Operand::Literal(self.literal()),
            Field::Imm(ImmKind::Offset) => Operand::None,
            Field::Imm(kind) => self.immediate(kind),
            Field::Base | Field::Rsrc => self.sgpr(desc.ty),
            Field::Soffset if self.format == Format::Smem => {
                if self.mods.soffset_en || self.rng.one_in(2) {
                    if !self.mods.soffset_en && self.arch.is_gfx9() {
                        self.mods.offset = 0;
                    }
                    self.sgpr(Type::B32)
                } else {
                    Operand::None
                }
            }
            Field::Soffset => self.sgpr(Type::B32),
            Field::Saddr => {
                if self.rng.one_in(2) {
                    self.sgpr(desc.ty)
                } else {
                    Operand::None
                }
            }
            Field::Addr if matches!(self.format, Format::Mubuf | Format::Mtbuf) => {
                match (self.mods.offen, self.mods.idxen) {
                    (false, false) => Operand::None,
                    (true, true) => self.vgpr(Type::B64),
                    _ => self.vgpr(Type::B32),
                }
            }
            Field::Addr if self.format == Format::Mimg => self.image_address(),
            Field::Samp => self.sgpr(desc.ty),
            Field::Export(n) if self.mods.export.compr && n % 2 == 1 => Operand::None,
            Field::Export(_) if self.rng.one_in(3) => Operand::None,
            Field::Export(_) => self.vgpr(desc.ty),
            Field::Addr => self.vgpr(desc.ty),
            Field::Scale => self.vgpr(Type::B32),
            Field::Ret if self.mods.cache.glc() => self.vgpr(desc.ty),
            Field::Ret => Operand::None,
        }
    }

    /// The first registers of an image's address: in one group, or named one by one.
    fn image_address(&mut self) -> Operand {
        let op = self.row.op;
        let gfx12 = self.arch.is_gfx12_plus();
        let often = gfx12 || self.rng.one_in(2);
        // What the encodings can name; gfx10 takes as many dwords as it needs.
        let names = match self.arch.column() {
            Column::Gfx10 => 13,
            Column::Gfx12 if super::image::is_vsample(op) => 4,
            _ => 5,
        };
        if self.arch.is_gfx10_plus() && often {
            let image = &self.mods.image;
            self.mods.image.groups = image.grouped(self.arch, op, names).unwrap_or(0);
            for group in 1..usize::from(self.mods.image.groups) {
                let dwords = self.mods.image.group_dwords(op, group);
                if let (Operand::Vgpr(n), Some(to)) = (
                    self.vgpr(registers(dwords)),
                    self.mods.image.further.get_mut(group - 1),
                ) {
                    *to = n;
                }
            }
        }
        self.vgpr(registers(self.mods.image.group_dwords(op, 0)))
    }

    /// Makes operands agree with each other where the encoding wants it.
    fn fix_up(&mut self, operands: &mut [Operand; 8]) {
        let row = self.row;
        if self.format.is_vop() && self.format != Format::Vop3 {
            // Which half of a register is part of its number.
            for (operand, desc) in operands.iter().zip(row.operands()) {
                let bit = match desc.field {
                    Field::Dst => 8,
                    Field::Src0 => 1,
                    Field::Src1 => 2,
                    _ => 0,
                };
                if matches!(operand, Operand::Vgpr(_)) && self.rng.one_in(2) {
                    self.mods.op_sel |= bit & row.short_halves(self.arch);
                }
            }
        }
        if self.format == Format::Scratch {
            // One address register, or on gfx942 and gfx11 any combination.
            let both = self.arch.is_gfx942_plus() || self.arch.is_gfx11_plus();
            let index = |field| row.operands().iter().position(|o| o.field == field);
            if let (Some(addr), Some(saddr)) = (index(Field::Addr), index(Field::Saddr)) {
                let keep = both && self.rng.one_in(2);
                if operands[saddr] != Operand::None && !keep {
                    operands[addr] = Operand::None;
                }
            }
        }
        if self.format == Format::Vop3p
            && row.flags.has(Flags::MATRIX)
            && row.operands().len() > 2
            && self.arch.column() == Column::Gfx9
        {
            // gfx908 accumulates in accumulation registers.
            for (slot, desc) in operands.iter_mut().zip(row.operands()) {
                if let (Operand::Vgpr(n), Field::Dst | Field::Src2) = (*slot, desc.field) {
                    *slot = Operand::Acc(n);
                }
            }
        }
    }

    fn vgpr(&mut self, ty: Type) -> Operand {
        let dwords = u32::from(ty.dwords(Lanes::W32).max(ty.dwords(Lanes::W64)).max(1));
        let half = self.arch.is_gfx11_plus() && ty.is_16() && self.format != Format::Vop3;
        let count = if half { 128 } else { 257 - dwords };
        let number = self.rng.below(count) as u8;
        let even = self.arch.is_gfx90a_plus() && dwords > 1;
        Operand::Vgpr(if even { number & !1 } else { number })
    }

    fn sgpr(&mut self, ty: Type) -> Operand {
        let dwords = u32::from(ty.dwords(Lanes::W64).max(1));
        let align = if dwords == 1 {
            1
        } else if dwords == 2 {
            2
        } else {
            4
        };
        let sgprs = if self.arch.is_gfx9() { 102 } else { 106 };
        Operand::Sgpr((self.rng.below((sgprs - dwords) / align + 1) * align) as u8)
    }

    fn scalar_destination(&mut self, ty: Type) -> Operand {
        match self.rng.below(8) {
            0 => Operand::VccLo,
            1 => Operand::ExecLo,
            2 if ty.dwords(Lanes::W64) == 1 => Operand::M0,
            3 if ty.dwords(Lanes::W64) == 1 => Operand::VccHi,
            4 => Operand::Ttmp((self.rng.below(6) * 2) as u8),
            _ => self.sgpr(ty),
        }
    }

    fn mask_destination(&mut self, field: Field) -> Operand {
        let exec = field == Field::CmpxDst && self.arch.is_gfx10_plus();
        let sdwa = self.mods.sdwa.is_some() && self.format == Format::Vopc;
        match self.format {
            _ if exec => Operand::ExecLo,
            Format::Vop3 => self.sgpr(Type::B64),
            _ if sdwa && self.rng.one_in(2) => self.sgpr(Type::B64),
            _ => Operand::VccLo,
        }
    }

    fn literal(&mut self) -> u32 {
        match self.rng.below(8) {
            // What an inline constant could have named.
            0 => (self.rng.below(81) as i32 - 16) as u32,
            1 => InlineFloat::ALL[self.rng.below(9) as usize].f32_bits(),
            _ => self.rng.next_u32() | 0x0100_0041,
        }
    }

    fn scalar_source(&mut self, ty: Type) -> Operand {
        match self.rng.below(10) {
            0 => Operand::VccLo,
            1 => Operand::ExecLo,
            2 => Operand::Int(self.rng.below(81) as i8 - 16),
            3 if ty != Type::I16 => Operand::Float(InlineFloat::ALL[self.rng.below(9) as usize]),
            4 if self.scalar.is_none() && ty.dwords(Lanes::W64) == 1 => {
                self.scalar = Some(Operand::Literal(self.literal()));
                self.scalar.unwrap_or_default()
            }
            5 if ty.dwords(Lanes::W64) == 1 => Operand::Scc,
            _ => self.sgpr(ty),
        }
    }

    fn vector_source(&mut self, desc: &OperandDesc) -> Operand {
        let ty = desc.ty;
        let matrix = self.row.flags.has(Flags::MATRIX)
            || self.is_wave_matrix()
            || self.row.mnemonic.starts_with("v_cvt_scalef32") && desc.ty.dwords(Lanes::W64) > 2;
        let short = !matches!(self.format, Format::Vop3 | Format::Vop3p);
        let sdwa = self.mods.sdwa.is_some();
        let must_be_vgpr = desc.dir == super::Dir::ReadWrite
            || matrix
            || self.row.has_attribute()
            || short && desc.field == Field::Src1 && !sdwa
            || self.mods.dpp.is_some() && desc.field == Field::Src0;
        // Lane numbers and lane values of the scalar file.
        let must_be_scalar = match self.row.op {
            Op::v_readlane_b32 => desc.field == Field::Src1,
            Op::v_writelane_b32 => true,
            Op::v_permlane16_b32 | Op::v_permlanex16_b32 => desc.field != Field::Src0,
            _ => false,
        };
        match ty {
            Type::Mask if short => return Operand::VccLo,
            Type::Mask => return self.sgpr(Type::B64),
            _ if must_be_vgpr => return self.vgpr(ty),
            _ => {}
        }
        let literals = self.mods.dpp.is_none() && !sdwa && (short || !self.arch.is_gfx9());
        match self.rng.below(8) {
            0 | 1 if self.scalar.is_none() || must_be_scalar => {
                let operand = self.sgpr(ty);
                self.scalar = Some(operand);
                operand
            }
            2 => Operand::Int(self.rng.below(81) as i8 - 16),
            3 if ty.is_float() => Operand::Float(InlineFloat::ALL[self.rng.below(9) as usize]),
            4 if literals
                && self.scalar.is_none()
                && ty.dwords(Lanes::W64) == 1
                && !must_be_scalar =>
            {
                // The mixed-precision operations read half of a literal, as LLVM writes it.
                let half = ty.is_16() || self.row.mnemonic.starts_with("v_fma_mix");
                let literal = if half {
                    self.literal() & 0xffff
                } else {
                    self.literal()
                };
                self.scalar = Some(Operand::Literal(literal));
                Operand::Literal(literal)
            }
            _ if must_be_scalar => Operand::Int(self.rng.below(65) as i8),
            _ => self.vgpr(ty),
        }
    }

    fn immediate(&mut self, kind: ImmKind) -> Operand {
        let bits = self.rng.next_u32();
        Operand::Imm(match kind {
            _ if self.format == Format::Smem => (bits & 0x7f) as i32,
            ImmKind::Message if self.format == Format::Sop1 => 128 + (bits % 7) as i32,
            // A generation, known or not, and flags in the top bits.
            ImmKind::Version => [0, 4, 6, 9, 8][(bits % 5) as usize] | (bits & 0xe000) as i32,
            ImmKind::GprIndex => (bits & 15) as i32,
            ImmKind::Branch => i32::from(bits as i16),
            ImmKind::Message => (bits & 15) as i32,
            ImmKind::Delay => {
                let (first, skip, second) = (bits % 12, bits >> 8 & 3, (bits >> 16) % 12);
                (first | skip << 4 | second << 7) as i32
            }
            ImmKind::Depctr => (bits & 0xff9f) as i32,
            ImmKind::Attribute => (bits & 0xff) as i32,
            ImmKind::Parameter => (bits % 3) as i32,
            ImmKind::Target => (bits & 63) as i32,
            _ => (bits & 0xffff) as i32,
        })
    }
}

fn is_source(field: Field) -> bool {
    matches!(field, Field::Src0 | Field::Src1 | Field::Src2)
}

fn is_scalar(format: Format) -> bool {
    matches!(
        format,
        Format::Sop1 | Format::Sop2 | Format::Sopk | Format::Sopc | Format::Sopp | Format::Smem
    )
}
