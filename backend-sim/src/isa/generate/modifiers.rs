//! What is written around operands: modifiers of each encoding.

use super::Maker;
use super::operands::is_source;
use crate::isa::image::is_ray;
use crate::isa::row::{Field, Flags, Type};
use crate::isa::{
    Cache, Column, Dpp, DppCtrl, Export, Format, Image, Lanes, Op, Sdwa, Select, Unused,
};

impl Maker<'_> {
    pub(super) fn modifiers(&mut self) {
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

    pub(super) fn some_bits(&mut self, allowed: u8) -> u8 {
        if self.rng.one_in(2) {
            0
        } else {
            self.rng.next_u32() as u8 & allowed
        }
    }

    pub(super) fn float_result(&self) -> bool {
        let dst = self.row.operands().first();
        dst.is_some_and(|o| {
            o.field == Field::Dst && matches!(o.ty, Type::F16 | Type::F32 | Type::F64)
        })
    }

    pub(super) fn short(&mut self) {
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

    pub(super) fn vop3(&mut self) {
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
    pub(super) fn selectable(&self) -> u8 {
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

    pub(super) fn vop3p(&mut self) {
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
    pub(super) fn is_wave_matrix(&self) -> bool {
        ["v_wmma", "v_swmmac"]
            .iter()
            .any(|name| self.row.mnemonic.starts_with(name))
    }

    pub(super) fn cache(&mut self, atomic: bool) {
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

    pub(super) fn flat(&mut self) {
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

    pub(super) fn image(&mut self) {
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

    pub(super) fn ray(&mut self) {
        let sixteen = !self.row.mnemonic.contains("dual") && !self.row.mnemonic.contains("bvh8");
        self.mods.image = Image {
            dmask: 15,
            dim: Some(0),
            unorm: !self.arch.is_gfx12_plus(),
            r128: true,
            a16: sixteen && self.rng.one_in(2),
            ..Image::default()
        };
    }

    pub(super) fn interpolation(&mut self) {
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

    pub(super) fn export(&mut self) {
        let gfx11 = self.arch.is_gfx11_plus();
        self.mods.export = Export {
            done: self.rng.one_in(2),
            compr: !gfx11 && self.rng.one_in(2),
            vm: !gfx11 && self.rng.one_in(2),
            row_en: gfx11 && self.rng.one_in(2),
        };
    }

    pub(super) fn buffer(&mut self) {
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

    pub(super) fn signed(&mut self, width: u32) -> i32 {
        (self.rng.next_u32() as i32) >> (32 - width)
    }

    pub(super) fn select(&mut self) -> Select {
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

    pub(super) fn sdwa(&mut self) -> Sdwa {
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

    pub(super) fn dpp(&mut self) -> Dpp {
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
}
