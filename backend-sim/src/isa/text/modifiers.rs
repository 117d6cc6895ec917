//! What assembly writes after the operands.

use core::fmt::{self, Formatter};

use super::super::image::{DIMENSIONS, is_ray};
use super::super::row::Flags;
use super::super::{Cache, Dir, Dpp, DppCtrl, Field, Format, Op, Select, Unused};
use super::{Text, imm};

impl Text<'_> {
    pub(super) fn modifiers(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.inst.format {
            Format::Vop1 | Format::Vop2 | Format::Vopc => self.vop(f),
            Format::Vop3 if self.row().has_attribute() => {
                flag(f, self.inst.mods.op_sel & 1 != 0, " high")?;
                self.vop(f)
            }
            Format::Vop3 => {
                if self.inst.op.is_bitop3() && self.inst.mods.bitop3 != 0 {
                    write!(f, " bitop3:{}", Dec(self.inst.mods.bitop3))?;
                }
                self.op_sel(f)?;
                self.vop(f)
            }
            Format::Vop3p => self.vop3p(f),
            Format::Smem => self.cache(f),
            Format::Ds => self.ds(f),
            Format::Flat | Format::Global | Format::Scratch => {
                if self.inst.mods.offset != 0 {
                    write!(f, " offset:{}", self.inst.mods.offset)?;
                }
                self.cache(f)?;
                flag(f, self.inst.mods.lds, " lds")
            }
            Format::Mubuf | Format::Mtbuf => self.buffer(f),
            Format::Mimg if is_ray(self.inst.op) => flag(f, self.inst.mods.image.a16, " a16"),
            Format::Mimg => self.image(f),
            Format::Vinterp => {
                flag(f, self.inst.mods.clamp, " clamp")?;
                self.op_sel(f)?;
                write!(f, " wait_exp:{}", self.inst.mods.wait)
            }
            Format::Ldsdir => {
                let (vdst, vsrc) = (self.inst.mods.wait & 15, self.inst.mods.wait >> 4 & 1);
                if self.arch.is_gfx12_plus() {
                    write!(f, " wait_va_vdst:{vdst} wait_vm_vsrc:{vsrc}")
                } else {
                    write!(f, " wait_vdst:{vdst}")
                }
            }
            Format::Exp => {
                let export = self.inst.mods.export;
                flag(f, export.done, " done")?;
                flag(f, export.compr, " compr")?;
                flag(f, export.vm, " vm")?;
                flag(f, export.row_en, " row_en")
            }
            _ => Ok(()),
        }
    }

    fn vop(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mods = &self.inst.mods;
        flag(f, mods.clamp, " clamp")?;
        f.write_str(match mods.omod {
            1 => " mul:2",
            2 => " mul:4",
            3 => " div:2",
            _ => "",
        })?;
        if let Some(dpp) = mods.dpp {
            self.dpp(f, dpp)?;
        }
        let Some(sdwa) = mods.sdwa.filter(|_| !self.row().operands().is_empty()) else {
            return Ok(());
        };
        // Conversions from 8-bit floats write whole registers.
        let whole = ["fp8", "bf8"]
            .iter()
            .any(|name| self.row().mnemonic.contains(name));
        if self.inst.format != Format::Vopc && !whole {
            write!(f, " dst_sel:{}", select(sdwa.dst_sel))?;
            f.write_str(match sdwa.dst_unused {
                Unused::Pad => " dst_unused:UNUSED_PAD",
                Unused::Sext => " dst_unused:UNUSED_SEXT",
                Unused::Preserve => " dst_unused:UNUSED_PRESERVE",
            })?;
        }
        write!(f, " src0_sel:{}", select(sdwa.src0_sel))?;
        if self.has(Field::Src1) {
            write!(f, " src1_sel:{}", select(sdwa.src1_sel))?;
        }
        Ok(())
    }

    fn has(&self, field: Field) -> bool {
        self.row().operands().iter().any(|o| o.field == field)
    }

    fn op_sel(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let op_sel = self.inst.mods.op_sel;
        if op_sel == 0 {
            return Ok(());
        }
        match self.inst.op {
            // LLVM names halves of registers here, and nothing else.
            Op::v_cndmask_b16 => return Ok(()),
            Op::v_permlane16_swap_b32 | Op::v_permlane32_swap_b32 => {
                flag(f, op_sel & 2 != 0, " bound_ctrl:1")?;
                return flag(f, op_sel & 1 != 0, " fi:1");
            }
            // The bits are stored in reverse.
            Op::v_cvt_f32_fp8 | Op::v_cvt_f32_bf8 => {
                return write!(f, " byte_sel:{}", (op_sel & 1) << 1 | op_sel >> 1 & 1);
            }
            Op::v_cvt_sr_fp8_f32 | Op::v_cvt_sr_bf8_f32 if self.arch.is_gfx12_plus() => {
                return write!(f, " byte_sel:{}", op_sel >> 2);
            }
            _ => {}
        }
        let row = self.row();
        // Old values of the destination count, lane masks do not where they are not written.
        let old = row
            .operands()
            .first()
            .is_some_and(|o| o.dir == Dir::ReadWrite);
        let lanes =
            row.mnemonic.starts_with("v_permlane16_") || row.mnemonic.starts_with("v_permlanex16_");
        let unwritten =
            row.format == Format::Vopc && (row.has(Field::CmpxDst) || self.inst.mods.dpp.is_some());
        let sources = match lanes {
            true => 2,
            false => row.op_sel_sources() + u8::from(old),
        };
        for source in 0..sources {
            write!(
                f,
                "{}{}",
                if source == 0 { " op_sel:[" } else { "," },
                op_sel >> source & 1
            )?;
        }
        if !lanes && !unwritten {
            write!(f, ",{}", op_sel >> 3 & 1)?;
        }
        f.write_str("]")
    }

    fn vop3p(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mods = &self.inst.mods;
        if self.row().flags.has(Flags::MATRIX) {
            if self.row().operands().len() == 2 {
                return Ok(());
            }
            if self.row().has(Field::Scale) {
                let bits = |f: &mut Formatter<'_>, name, mask: u8| {
                    write!(f, " {name}:[{},{},0]", mask & 1, mask >> 1 & 1)
                };
                if mods.op_sel != 0 {
                    bits(f, "op_sel", mods.op_sel)?;
                }
                bits(f, "op_sel_hi", mods.op_sel_hi)?;
            }
            // Since gfx942, operations on doubles keep the signs of their sources in BLGP.
            let signs = self.arch.is_gfx942_plus() && self.row().mnemonic.ends_with("_f64");
            if signs && mods.blgp != 0 {
                let [a, b, c] = [0, 1, 2].map(|source| mods.blgp >> source & 1);
                return write!(f, " neg:[{a},{b},{c}]");
            }
            for (name, value) in [
                ("cbsz", mods.cbsz),
                ("abid", mods.abid),
                ("blgp", mods.blgp),
            ] {
                if value != 0 {
                    write!(f, " {name}:{value}")?;
                }
            }
            return Ok(());
        }
        let sources = self.row().op_sel_sources();
        let all = (1u8 << sources) - 1;
        let list = |f: &mut Formatter<'_>, name: &str, mask: u8, usual: u8| {
            if mask & all == usual {
                return Ok(());
            }
            write!(f, " {name}:[")?;
            for source in 0..sources {
                write!(
                    f,
                    "{}{}",
                    if source == 0 { "" } else { "," },
                    mask >> source & 1
                )?;
            }
            f.write_str("]")
        };
        let mix = self.is_mix();
        if self.row().mnemonic.starts_with("v_swmmac") {
            // The register holds the indices of several such operations.
            if mods.op_sel != 0 {
                write!(f, " index_key:{}", mods.op_sel & 3)?;
            }
            list(f, "neg_lo", mods.neg & 3, 0)?;
            list(f, "neg_hi", mods.neg_hi & 3, 0)?;
            return flag(f, mods.clamp, " clamp");
        }
        list(f, "op_sel", mods.op_sel, 0)?;
        list(f, "op_sel_hi", mods.op_sel_hi, if mix { 0 } else { all })?;
        if !mix {
            list(f, "neg_lo", mods.neg, 0)?;
            list(f, "neg_hi", mods.neg_hi, 0)?;
        }
        flag(f, mods.clamp, " clamp")?;
        match mods.dpp {
            Some(dpp) => self.dpp(f, dpp),
            None => Ok(()),
        }
    }

    fn dpp(&self, f: &mut Formatter<'_>, dpp: Dpp) -> fmt::Result {
        let (ctrl, row_mask, bank_mask, bound_ctrl, fetch_inactive) = match dpp {
            Dpp::Dpp8 {
                selectors,
                fetch_inactive,
            } => {
                f.write_str(" dpp8:[")?;
                for lane in 0..8 {
                    write!(
                        f,
                        "{}{}",
                        if lane == 0 { "" } else { "," },
                        selectors >> (3 * lane) & 7
                    )?;
                }
                f.write_str("]")?;
                return flag(f, fetch_inactive, " fi:1");
            }
            Dpp::Dpp16 {
                ctrl,
                row_mask,
                bank_mask,
                bound_ctrl,
                fetch_inactive,
            } => (ctrl, row_mask, bank_mask, bound_ctrl, fetch_inactive),
        };
        match ctrl {
            DppCtrl::QuadPerm([a, b, c, d]) => write!(f, " quad_perm:[{a},{b},{c},{d}]"),
            DppCtrl::RowShl(n) => write!(f, " row_shl:{n}"),
            DppCtrl::RowShr(n) => write!(f, " row_shr:{n}"),
            DppCtrl::RowRor(n) => write!(f, " row_ror:{n}"),
            DppCtrl::WaveShl => f.write_str(" wave_shl:1"),
            DppCtrl::WaveRol => f.write_str(" wave_rol:1"),
            DppCtrl::WaveShr => f.write_str(" wave_shr:1"),
            DppCtrl::WaveRor => f.write_str(" wave_ror:1"),
            DppCtrl::RowMirror => f.write_str(" row_mirror"),
            DppCtrl::RowHalfMirror => f.write_str(" row_half_mirror"),
            DppCtrl::RowBcast15 => f.write_str(" row_bcast:15"),
            DppCtrl::RowBcast31 => f.write_str(" row_bcast:31"),
            DppCtrl::RowShare(n) if self.arch.is_gfx9() => write!(f, " row_newbcast:{n}"),
            DppCtrl::RowShare(n) => write!(f, " row_share:{n}"),
            DppCtrl::RowXmask(n) => write!(f, " row_xmask:{n}"),
        }?;
        write!(f, " row_mask:{row_mask:#x} bank_mask:{bank_mask:#x}")?;
        flag(f, bound_ctrl, " bound_ctrl:1")?;
        flag(f, fetch_inactive, " fi:1")
    }

    fn ds(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mods = &self.inst.mods;
        if self.inst.op == Op::ds_swizzle_b32 {
            imm::swizzle(f, mods.offset as u32)?;
        } else if self.row().flags.has(Flags::TWO_OFFSETS) {
            if mods.offset != 0 {
                write!(f, " offset0:{}", mods.offset)?;
            }
            if mods.offset1 != 0 {
                write!(f, " offset1:{}", mods.offset1)?;
            }
        } else if mods.offset != 0 {
            write!(f, " offset:{}", mods.offset)?;
        }
        flag(f, mods.gds, " gds")
    }

    fn image(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (mods, image) = (&self.inst.mods, &self.inst.mods.image);
        if image.dmask != 0 {
            write!(f, " dmask:{:#x}", image.dmask)?;
        }
        if let Some(dim) = image.dim {
            write!(f, " dim:SQ_RSRC_IMG_{}", DIMENSIONS[usize::from(dim & 7)])?;
        }
        flag(f, image.unorm, " unorm")?;
        self.cache(f)?;
        flag(f, image.r128, " r128")?;
        flag(f, image.a16, " a16")?;
        flag(f, mods.tfe, " tfe")?;
        flag(f, image.lwe, " lwe")?;
        flag(f, image.da, " da")?;
        flag(f, image.d16, " d16")
    }

    fn buffer(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mods = &self.inst.mods;
        if self.inst.format == Format::Mtbuf {
            imm::buffer_format(f, self.arch, mods.fmt)?;
        }
        flag(f, mods.idxen, " idxen")?;
        flag(f, mods.offen, " offen")?;
        flag(f, mods.addr64, " addr64")?;
        if mods.offset != 0 {
            write!(f, " offset:{}", mods.offset)?;
        }
        let stores = self.inst.op == Op::buffer_store_lds_dword;
        flag(f, stores && mods.lds, " lds")?;
        self.cache(f)?;
        flag(f, !stores && mods.lds, " lds")?;
        flag(f, mods.tfe, " tfe")
    }

    fn cache(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let cache = self.inst.mods.cache;
        if self.arch.is_gfx12_plus() {
            return self.temporal_hint(f, cache);
        }
        let has = |bit| cache.0 & bit != 0;
        let vector = self.inst.format != Format::Smem;
        let new_names = self.arch.is_gfx942_plus();
        flag(
            f,
            has(Cache::GLC),
            if new_names && vector { " sc0" } else { " glc" },
        )?;
        flag(f, has(Cache::SLC), if new_names { " nt" } else { " slc" })?;
        flag(f, has(Cache::DLC), " dlc")?;
        flag(f, has(Cache::SCC), if new_names { " sc1" } else { " scc" })
    }

    fn temporal_hint(&self, f: &mut Formatter<'_>, cache: Cache) -> fmt::Result {
        let (hint, scope) = (cache.temporal_hint(), cache.scope());
        let operands = self.inst.op.row().operands();
        let atomic = self.row().mnemonic.contains("_atomic_");
        let store = !atomic && operands.iter().any(|o| o.field == Field::Data);
        let hint = match (hint, atomic, store) {
            (0, ..) => "",
            (1, true, _) => " th:TH_ATOMIC_RETURN",
            (2, true, _) => " th:TH_ATOMIC_NT",
            (3, true, _) => " th:TH_ATOMIC_NT_RETURN",
            (4 | 5, true, _) if scope >= 2 => " th:TH_ATOMIC_CASCADE_RT",
            (6 | 7, true, _) if scope >= 2 => " th:TH_ATOMIC_CASCADE_NT",
            (4..=7, true, _) => {
                write!(f, " th:TH_ATOMIC_{hint:#x}")?;
                ""
            }
            (1, _, true) => " th:TH_STORE_NT",
            (2, _, true) => " th:TH_STORE_HT",
            (3, _, true) if scope == 3 => " th:TH_STORE_BYPASS",
            (3, _, true) => " th:TH_STORE_WB",
            (4, _, true) => " th:TH_STORE_NT_RT",
            (5, _, true) => " th:TH_STORE_RT_NT",
            (6, _, true) => " th:TH_STORE_NT_HT",
            (7, _, true) => " th:TH_STORE_NT_WB",
            (1, _, false) => " th:TH_LOAD_NT",
            (2, _, false) => " th:TH_LOAD_HT",
            (3, _, false) if scope == 3 => " th:TH_LOAD_BYPASS",
            (3, _, false) => " th:TH_LOAD_LU",
            (4, _, false) => " th:TH_LOAD_NT_RT",
            (5, _, false) => " th:TH_LOAD_RT_NT",
            (6, _, false) => " th:TH_LOAD_NT_HT",
            _ => {
                write!(f, " th:{hint:#x}")?;
                ""
            }
        };
        f.write_str(hint)?;
        f.write_str(
            [
                "",
                " scope:SCOPE_SE",
                " scope:SCOPE_DEV",
                " scope:SCOPE_SYS",
            ][usize::from(scope)],
        )
    }
}

fn flag(f: &mut Formatter<'_>, set: bool, text: &str) -> fmt::Result {
    if set { f.write_str(text) } else { Ok(()) }
}

/// A number as LLVM writes small ones: in decimal up to ten.
struct Dec(u8);

impl fmt::Display for Dec {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            n @ 0..=10 => write!(f, "{n}"),
            n => write!(f, "{n:#x}"),
        }
    }
}

fn select(select: Select) -> &'static str {
    match select {
        Select::Byte0 => "BYTE_0",
        Select::Byte1 => "BYTE_1",
        Select::Byte2 => "BYTE_2",
        Select::Byte3 => "BYTE_3",
        Select::Word0 => "WORD_0",
        Select::Word1 => "WORD_1",
        Select::Dword => "DWORD",
    }
}
