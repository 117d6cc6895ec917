//! What a row of the instruction list says about an operation.

use super::{Arch, ArchSet, Column, Format, Lanes, Op};

/// One row of the instruction list.
pub struct Row {
    /// The operation that the row describes.
    pub op: Op,
    /// The mnemonic where it first appeared, without `_e32` and `_e64`.
    pub mnemonic: &'static str,
    /// The encoding that the row's list is about. VOP1, VOP2 and VOPC rows exist as VOP3 (and DPP, SDWA) too.
    pub format: Format,
    pub(super) codes: [Code; 5],
    pub(super) operands: &'static [OperandDesc],
    renamed: [Option<(Column, &'static str)>; 2],
    on: ArchSet,
    /// Properties that are not operands.
    pub flags: Flags,
}

/// An opcode in one column of the instruction list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// The instruction does not exist there.
    Absent,
    /// Opcode of the list's own encoding.
    Own(u16),
    /// Lists of VOP1, VOP2 and VOPC: there the instruction exists as VOP3 only, under this 10-bit opcode.
    Vop3(u16),
}

/// Properties of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flags(u16);

impl Flags {
    /// A VOP1 or VOP2 instruction without a VOP3 form.
    pub const SHORT_ONLY: Flags = Flags(1);
    /// DS with two offsets of 8 bits instead of one of 16.
    pub const TWO_OFFSETS: Flags = Flags(4);
    /// No DPP form, although its operands would allow one.
    pub const NO_DPP: Flags = Flags(8);
    /// VOP3P: one of the few with a DPP form (gfx11 and later).
    pub const PACKED_DPP: Flags = Flags(16);
    /// As `SHORT_ONLY`, but gfx9 has a VOP3 form.
    pub const SHORT_SINCE_GFX10: Flags = Flags(64);
    /// VOP3P on gfx9: a matrix operation, or a move to or from accumulation registers.
    pub const MATRIX: Flags = Flags(32);

    /// Whether all of `other` is set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// One operand as the instruction list describes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperandDesc {
    /// Where the encoding holds it.
    pub field: Field,
    /// What it holds.
    pub ty: Type,
    /// Whether it is read, written or both.
    pub dir: Dir,
}

/// Read or written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dir {
    /// Source.
    Read,
    /// Destination.
    Write,
    /// Both, as in `v_fmac_f32`.
    ReadWrite,
}

/// Where an operand stands in an encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    /// SDST or VDST (SMEM: SDATA; buffers: VDATA).
    Dst,
    /// VDST holding a scalar register, as in `v_readlane_b32`.
    ScalarDst,
    /// VDST holding an accumulation register.
    AccDst,
    /// A lane mask written: SDST of VOP3B, VDST of a VOP3 compare; VCC in 32-bit encodings.
    MaskDst,
    /// A lane mask written by `v_cmpx`: as [`Field::MaskDst`] on gfx9, EXEC (unwritten in assembly) since gfx10.
    CmpxDst,
    /// SSRC0 or SRC0.
    Src0,
    /// SSRC1, SRC1 or VSRC1.
    Src1,
    /// SRC2. A lane mask in a 32-bit encoding is VCC.
    Src2,
    /// SRC0 holding an accumulation register.
    AccSrc0,
    /// The literal of `fmamk` and its kin.
    Literal,
    /// Matrix operations: a register of scales, in the prefix.
    Scale,
    /// SIMM16 (or SDATA, for `s_atc_probe`), in the sense given.
    Imm(ImmKind),
    /// SMEM: SBASE.
    Base,
    /// SMEM and buffers: SOFFSET.
    Soffset,
    /// ADDR or VADDR.
    Addr,
    /// DATA, DATA0, VDATA or SDATA as a source.
    Data,
    /// DATA1.
    Data1,
    /// Flat atomics: VDST, present only if the value before is returned.
    Ret,
    /// FLAT: SADDR.
    Saddr,
    /// Buffers and images: SRSRC.
    Rsrc,
    /// Images: SSAMP.
    Samp,
    /// Exports: VSRC0 to VSRC3.
    Export(u8),
}

/// What an immediate field means, which is also how assembly writes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImmKind {
    /// A number in hexadecimal.
    Hex,
    /// A number in decimal.
    Dec,
    /// A number that assembly leaves out if it is zero.
    Optional,
    /// A distance in dwords from the end of the instruction.
    Branch,
    /// `s_waitcnt` counters.
    Waitcnt,
    /// A message.
    Message,
    /// A hardware register with bit offset and size.
    Hwreg,
    /// VGPR index modes.
    GprIndex,
    /// `s_waitcnt_depctr` counters.
    Depctr,
    /// `s_delay_alu` distances.
    Delay,
    /// A code version.
    Version,
    /// SMEM: the offset, where assembly writes it among the operands.
    Offset,
    /// Interpolation: the attribute in bits 0 to 5, its component above.
    Attribute,
    /// Interpolation: which of a triangle's values is moved.
    Parameter,
    /// What is exported to.
    Target,
}

/// What an operand holds: a number format and, with it, the width.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs)] // the names are the manuals' own
pub enum Type {
    B16,
    U16,
    I16,
    F16,
    Bf16,
    B32,
    U32,
    I32,
    F32,
    B64,
    U64,
    I64,
    F64,
    B96,
    B128,
    B160,
    B192,
    B224,
    B256,
    B288,
    B320,
    B352,
    B384,
    B512,
    B1024,
    /// Two halves in a dword.
    PkU16,
    PkI16,
    PkF16,
    PkBf16,
    /// Two dwords in a register pair.
    PkF32,
    PkB32,
    /// A matrix spread over the wave: eight registers in wave32, four in wave64.
    W256,
    /// A matrix spread over the wave: four registers in wave32, two in wave64.
    W128,
    /// A matrix spread over the wave: two registers in wave32, one in wave64.
    W64,
    /// A lane mask: 32 or 64 bits by wave size.
    Mask,
    /// An immediate.
    Imm,
}

impl Type {
    /// Width in 32-bit registers, in a wave of the size given.
    pub const fn dwords(self, lanes: Lanes) -> u8 {
        match self {
            Type::Mask => lanes as u8 / 32,
            Type::W256 => (256 / lanes as u16) as u8,
            Type::W128 => 128 / lanes as u8,
            Type::W64 => 64 / lanes as u8,
            Type::B16 | Type::U16 | Type::I16 | Type::F16 | Type::Bf16 => 1,
            Type::B32 | Type::U32 | Type::I32 | Type::F32 => 1,
            Type::PkU16 | Type::PkI16 | Type::PkF16 | Type::PkBf16 => 1,
            Type::B64 | Type::U64 | Type::I64 | Type::F64 | Type::PkF32 | Type::PkB32 => 2,
            Type::B96 => 3,
            Type::B128 => 4,
            Type::B160 => 5,
            Type::B192 => 6,
            Type::B224 => 7,
            Type::B256 => 8,
            Type::B288 => 9,
            Type::B320 => 10,
            Type::B352 => 11,
            Type::B384 => 12,
            Type::B512 => 16,
            Type::B1024 => 32,
            Type::Imm => 0,
        }
    }

    /// Whether the operand is a single 16-bit value in a 32-bit register.
    pub const fn is_16(self) -> bool {
        matches!(
            self,
            Type::B16 | Type::U16 | Type::I16 | Type::F16 | Type::Bf16
        )
    }

    /// Whether the operand is a floating-point number (or several).
    pub const fn is_float(self) -> bool {
        matches!(
            self,
            Type::F16
                | Type::Bf16
                | Type::F32
                | Type::F64
                | Type::PkF16
                | Type::PkBf16
                | Type::PkF32
        )
    }
}

impl Row {
    pub(super) const fn new(
        op: Op,
        mnemonic: &'static str,
        format: Format,
        codes: [Code; 5],
        operands: &'static [OperandDesc],
    ) -> Row {
        Row {
            op,
            mnemonic,
            format,
            codes,
            operands,
            renamed: [None; 2],
            on: ArchSet::ALL,
            flags: Flags(0),
        }
    }

    const fn rename(mut self, from: Column, name: &'static str) -> Row {
        match self.renamed[0] {
            None => self.renamed[0] = Some((from, name)),
            Some(_) => self.renamed[1] = Some((from, name)),
        }
        self
    }

    /// The name since gfx10.
    pub(super) const fn gfx10(self, name: &'static str) -> Row {
        self.rename(Column::Gfx10, name)
    }

    /// The name since gfx11.
    pub(super) const fn gfx11(self, name: &'static str) -> Row {
        self.rename(Column::Gfx11, name)
    }

    /// The name since gfx12.
    pub(super) const fn gfx12(self, name: &'static str) -> Row {
        self.rename(Column::Gfx12, name)
    }

    /// Only the processors given have it, of those whose column shows an opcode.
    pub(super) const fn on(mut self, set: ArchSet) -> Row {
        self.on = set;
        self
    }

    /// Adds a property.
    pub(super) const fn is(mut self, flag: Flags) -> Row {
        self.flags = Flags(self.flags.0 | flag.0);
        self
    }

    /// The opcode on `arch`.
    pub const fn code(&self, arch: Arch) -> Code {
        if self.on.has(arch) {
            self.codes[arch.column() as usize]
        } else {
            Code::Absent
        }
    }

    /// The mnemonic on `arch`, without `_e32` and `_e64`.
    pub fn mnemonic_on(&self, arch: Arch) -> &'static str {
        let since =
            |r: &Option<(Column, &'static str)>| r.filter(|(from, _)| arch.column() >= *from);
        let latest = self.renamed.iter().rev().find_map(since);
        latest.map_or(self.mnemonic, |(_, name)| name)
    }

    /// Whether any operand has the field.
    pub fn has(&self, field: Field) -> bool {
        self.operands.iter().any(|o| o.field == field)
    }

    /// Whether the instruction has a VOP3 form.
    pub fn has_vop3(&self, arch: Arch) -> bool {
        let vector = matches!(
            self.format,
            Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3 | Format::Vintrp
        );
        let short = self.flags.has(Flags::SHORT_ONLY)
            || self.flags.has(Flags::SHORT_SINCE_GFX10) && arch.is_gfx10_plus();
        vector && !short
    }

    /// Whether it interpolates an attribute (or loads one to be interpolated).
    pub(super) fn has_attribute(&self) -> bool {
        self.has(Field::Imm(ImmKind::Attribute))
    }

    /// Whether the instruction has an SDWA form (gfx9 and gfx10): one-dword operands, a destination that is
    /// only written, or is one that M0 numbers.
    pub fn has_sdwa(&self, arch: Arch) -> bool {
        let fits = |o: &OperandDesc| {
            let wide = o.ty.dwords(Lanes::W64) > 1 && !matches!(o.ty, Type::Mask | Type::PkF32);
            let plain = matches!(
                o.field,
                Field::Dst | Field::MaskDst | Field::CmpxDst | Field::Src0 | Field::Src1
            ) || o.field == Field::Src2 && o.ty == Type::Mask;
            plain && !wide && (o.dir != Dir::ReadWrite || self.op == Op::v_movreld_b32)
        };
        let short = matches!(self.format, Format::Vop1 | Format::Vop2 | Format::Vopc);
        short
            && !arch.is_gfx11_plus()
            && (!self.operands.is_empty() || self.op == Op::v_nop)
            && self.operands.iter().all(fits)
    }

    /// Whether the instruction has DPP forms in `format`.
    pub fn has_dpp(&self, arch: Arch, format: Format) -> bool {
        let in_format = match format {
            Format::Vop1 | Format::Vop2 => true,
            Format::Vopc | Format::Vop3 => arch.is_gfx11_plus(),
            Format::Vop3p => arch.is_gfx11_plus() && self.flags.has(Flags::PACKED_DPP),
            _ => false,
        };
        // CDNA 2 and later permute register pairs too.
        let wide = arch.is_gfx90a_plus() && format != Format::Vop3;
        let fits = |o: &OperandDesc| o.ty.dwords(Lanes::W32) <= 1 || wide;
        let literal = self.has(Field::Literal);
        let scalar = self.has(Field::ScalarDst) || self.has(Field::AccDst);
        in_format
            && !literal
            && !scalar
            && !self.flags.has(Flags::NO_DPP)
            && (!self.operands.is_empty() || self.op == Op::v_nop && !arch.is_gfx11_plus())
            && self.operands.iter().all(fits)
    }

    /// Sources whose sign the instruction can change (bit 0 is the first): the floating-point ones, and those
    /// of conditional moves.
    pub fn signed_sources(&self) -> u8 {
        if self.op.is_bitop3() {
            return 0;
        }
        let selects = self
            .operands
            .last()
            .is_some_and(|o| o.field == Field::Src2 && o.ty == Type::Mask)
            && !self.has(Field::MaskDst);
        self.source_mask(|ty| ty.is_float() || selects && ty != Type::Mask)
    }

    /// Sources that are half a register (bit 0 is the first), and the destination (bit 3).
    pub fn half_operands(&self) -> u8 {
        let dst = self
            .operands
            .first()
            .is_some_and(|o| o.field == Field::Dst && o.ty.is_16());
        self.source_mask(Type::is_16) | (dst as u8) << 3
    }

    /// The operands (as [`Row::half_operands`] counts them) that a short encoding names half registers by: since gfx11
    /// the top bit of their register numbers says which half.
    pub(crate) fn short_halves(&self, arch: Arch) -> u8 {
        if !arch.is_gfx11_plus() {
            return 0;
        }
        self.half_operands()
    }

    /// The bits of OP_SEL that a VOP3 form has: 16-bit operands and results choose a half, some operations a byte. On
    /// gfx9 the instructions that VOP3 shares with the 32-bit encodings have none.
    pub(super) fn selectable(&self, arch: Arch) -> u8 {
        match self.op {
            // Here the bits say what becomes of inactive and out-of-range lanes.
            Op::v_permlane16_b32 | Op::v_permlanex16_b32 => 3,
            Op::v_permlane16_var_b32 | Op::v_permlanex16_var_b32 => 3,
            Op::v_permlane16_swap_b32 | Op::v_permlane32_swap_b32 => 3,
            Op::v_cvt_f32_fp8 | Op::v_cvt_f32_bf8 if arch.is_gfx12_plus() => 3,
            Op::v_cvt_pk_fp8_f32 | Op::v_cvt_pk_bf8_f32 => 0xb,
            Op::v_cvt_sr_fp8_f32 | Op::v_cvt_sr_bf8_f32 if arch.is_gfx12_plus() => 0xc,
            Op::v_cvt_sr_fp8_f32 | Op::v_cvt_sr_bf8_f32 => 0xf,
            Op::v_cvt_sr_f16_f32 | Op::v_cvt_sr_bf16_f32 => 0xb,
            Op::v_ashr_pk_i8_i32 | Op::v_ashr_pk_u8_i32 => 0xf,
            Op::v_cvt_pk_f16_f32 | Op::v_cvt_pk_bf16_f32 => 0,
            // The bits of the addend and of the result, which are whole registers, are stored but idle.
            Op::v_mad_u32_u16 | Op::v_mad_i32_i16 => 0xf,
            _ if self.mnemonic.starts_with("v_cvt_scalef32") => {
                let whole = self.mnemonic.contains("pk32") || self.mnemonic.contains("pk16");
                match (whole, self.op_sel_sources()) {
                    (true, _) => 0,
                    (false, 2) => 0xb,
                    (false, _) => 0xf,
                }
            }
            _ if arch.is_gfx9()
                && (self.format != Format::Vop3 || self.mnemonic.contains("_legacy_")) =>
            {
                0
            }
            _ => self.half_operands() | self.packed_halves(),
        }
    }

    /// Whether it is a dot product of bytes or nibbles.
    pub(super) fn is_byte_dot(&self) -> bool {
        self.format == Format::Vop3p
            && ["v_dot4_", "v_dot8_"]
                .iter()
                .any(|name| self.mnemonic.starts_with(name))
    }

    /// How many sources OP_SEL counts before the destination.
    pub(super) fn op_sel_sources(&self) -> u8 {
        let is_source = |field| matches!(field, Field::Src0 | Field::Src1 | Field::Src2);
        match self.op {
            // Two bits choose a byte of the result.
            Op::v_cvt_sr_fp8_f32
            | Op::v_cvt_sr_bf8_f32
            | Op::v_cvt_scalef32_pk_fp4_f16
            | Op::v_cvt_scalef32_pk_fp4_bf16 => 3,
            _ => self.operands.iter().filter(|o| is_source(o.field)).count() as u8,
        }
    }

    /// The destination (bit 3) of instructions that pack two halves from halves, whose OP_SEL bit is stored but idle.
    pub fn packed_halves(&self) -> u8 {
        let packs = self
            .operands
            .first()
            .is_some_and(|o| matches!(o.ty, Type::PkF16 | Type::PkI16 | Type::PkU16));
        let halves = self.source_mask(Type::is_16) != 0;
        ((packs && halves || self.op == Op::v_pack_b32_f16) as u8) << 3
    }

    fn source_mask(&self, test: impl Fn(Type) -> bool) -> u8 {
        let bit = |o: &OperandDesc| match o.field {
            Field::Src0 if test(o.ty) => 1,
            Field::Src1 if test(o.ty) => 2,
            Field::Src2 if test(o.ty) => 4,
            _ => 0,
        };
        self.operands
            .iter()
            .map(bit)
            .fold(0, |mask, bit| mask | bit)
    }

    /// The operands in assembly order.
    pub const fn operands(&self) -> &'static [OperandDesc] {
        self.operands
    }
}

/// The words that rows write for their operands.
#[allow(missing_docs)]
pub(super) mod field {
    use super::{Dir, Field, ImmKind, OperandDesc, Type};

    macro_rules! fields {
        ($($name:ident $field:expr, $dir:ident;)*) => { $(
            pub const fn $name(ty: Type) -> OperandDesc {
                OperandDesc { field: $field, ty, dir: Dir::$dir }
            }
        )* };
    }

    fields! {
        d       Field::Dst,       Write;
        m       Field::Dst,       ReadWrite;
        r       Field::Dst,       Read;
        sdst    Field::ScalarDst, Write;
        acc     Field::AccDst,    Write;
        mask    Field::MaskDst,   Write;
        maskx   Field::CmpxDst,   Write;
        a       Field::Src0,      Read;
        b       Field::Src1,      Read;
        c       Field::Src2,      Read;
        am      Field::Src0,      ReadWrite;
        aacc    Field::AccSrc0,   Read;
        lit     Field::Literal,   Read;
        scale   Field::Scale,     Read;
        base    Field::Base,      Read;
        soff    Field::Soffset,   Read;
        addr    Field::Addr,      Read;
        am_addr Field::Addr,      ReadWrite;
        v       Field::Data,      Read;
        w       Field::Data1,     Read;
        ret     Field::Ret,       Write;
        saddr   Field::Saddr,     Read;
        rsrc    Field::Rsrc,      Read;
        samp    Field::Samp,      Read;
        export0 Field::Export(0), Read;
        export1 Field::Export(1), Read;
        export2 Field::Export(2), Read;
        export3 Field::Export(3), Read;
        hex     Field::Imm(ImmKind::Hex),      Read;
        dec     Field::Imm(ImmKind::Dec),      Read;
        opt     Field::Imm(ImmKind::Optional), Read;
        label   Field::Imm(ImmKind::Branch),   Read;
        waitcnt Field::Imm(ImmKind::Waitcnt),  Read;
        message Field::Imm(ImmKind::Message),  Read;
        hwreg   Field::Imm(ImmKind::Hwreg),    Read;
        gpridx  Field::Imm(ImmKind::GprIndex), Read;
        depctr  Field::Imm(ImmKind::Depctr),   Read;
        delay   Field::Imm(ImmKind::Delay),    Read;
        version Field::Imm(ImmKind::Version),  Read;
        ioff    Field::Imm(ImmKind::Offset),   Read;
        attr    Field::Imm(ImmKind::Attribute), Read;
        param   Field::Imm(ImmKind::Parameter), Read;
        target  Field::Imm(ImmKind::Target),   Read;
    }
}
