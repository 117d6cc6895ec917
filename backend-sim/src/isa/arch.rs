//! Which processor's encoding is meant.

/// A processor whose machine code the software GPU knows.
///
/// Wave size is not part of it: the same code runs as wave32 or wave64 on gfx10 and later, and only
/// the width of lane masks (VCC, EXEC, carry operands) depends on it; see [`Lanes`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Arch {
    /// Vega 10.
    Gfx900,
    /// Vega 20.
    Gfx906,
    /// CDNA 1 (MI100).
    Gfx908,
    /// CDNA 2 (MI200).
    Gfx90a,
    /// CDNA 3 (MI300).
    Gfx942,
    /// CDNA 4 (MI350).
    Gfx950,
    /// RDNA 2; gfx1031 to gfx1036 encode alike.
    Gfx1030,
    /// RDNA 3; gfx1101 to gfx1103 encode alike.
    Gfx1100,
    /// RDNA 4; gfx1200 encodes alike.
    Gfx1201,
}

impl Arch {
    /// Every processor, in the order of the discriminants.
    pub const ALL: [Arch; 9] = [
        Arch::Gfx900,
        Arch::Gfx906,
        Arch::Gfx908,
        Arch::Gfx90a,
        Arch::Gfx942,
        Arch::Gfx950,
        Arch::Gfx1030,
        Arch::Gfx1100,
        Arch::Gfx1201,
    ];

    /// The opcode column of the instruction list that this processor reads.
    pub const fn column(self) -> Column {
        match self {
            Arch::Gfx900 | Arch::Gfx906 | Arch::Gfx908 => Column::Gfx9,
            Arch::Gfx90a | Arch::Gfx942 | Arch::Gfx950 => Column::Gfx90a,
            Arch::Gfx1030 => Column::Gfx10,
            Arch::Gfx1100 => Column::Gfx11,
            Arch::Gfx1201 => Column::Gfx12,
        }
    }

    /// GFX9 in the wide sense: Vega and CDNA, wave64 only.
    pub const fn is_gfx9(self) -> bool {
        matches!(self.column(), Column::Gfx9 | Column::Gfx90a)
    }

    /// RDNA 2 and later: the encodings that gfx10 introduced.
    pub const fn is_gfx10_plus(self) -> bool {
        !self.is_gfx9()
    }

    /// RDNA 3 and later.
    pub const fn is_gfx11_plus(self) -> bool {
        matches!(self.column(), Column::Gfx11 | Column::Gfx12)
    }

    /// RDNA 4 and later.
    pub const fn is_gfx12_plus(self) -> bool {
        matches!(self.column(), Column::Gfx12)
    }

    /// CDNA 2 and later: AGPRs as memory operands, even alignment of register tuples.
    pub const fn is_gfx90a_plus(self) -> bool {
        matches!(self.column(), Column::Gfx90a)
    }

    /// CDNA 3 and later: cache policy written sc0, sc1, nt.
    pub const fn is_gfx942_plus(self) -> bool {
        matches!(self, Arch::Gfx942 | Arch::Gfx950)
    }

    /// The processor's name, as compilers spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Arch::Gfx900 => "gfx900",
            Arch::Gfx906 => "gfx906",
            Arch::Gfx908 => "gfx908",
            Arch::Gfx90a => "gfx90a",
            Arch::Gfx942 => "gfx942",
            Arch::Gfx950 => "gfx950",
            Arch::Gfx1030 => "gfx1030",
            Arch::Gfx1100 => "gfx1100",
            Arch::Gfx1201 => "gfx1201",
        }
    }
}

impl core::fmt::Display for Arch {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// An opcode column of the instruction list: processors that number their instructions alike.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
#[repr(u8)]
pub enum Column {
    /// gfx900, gfx906, gfx908.
    Gfx9,
    /// gfx90a, gfx942, gfx950.
    Gfx90a,
    /// gfx1030 and its kin.
    Gfx10,
    /// gfx1100 and its kin.
    Gfx11,
    /// gfx1200 and gfx1201.
    Gfx12,
}

/// Lanes of a wave: the width of a lane mask, in bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
pub enum Lanes {
    /// Wave32.
    W32 = 32,
    /// Wave64.
    W64 = 64,
}

/// A set of processors, for rows that only a part of a column has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArchSet(u16);

impl ArchSet {
    /// Every processor.
    pub const ALL: ArchSet = ArchSet(u16::MAX);
    /// gfx900 alone.
    pub const GFX900: ArchSet = ArchSet::of(&[Arch::Gfx900]);
    /// gfx906 and later.
    pub const GFX906_UP: ArchSet = ArchSet(!Self::GFX900.0);
    /// gfx908 and later.
    pub const GFX908_UP: ArchSet = ArchSet(!ArchSet::of(&[Arch::Gfx900, Arch::Gfx906]).0);
    /// gfx908 and gfx90a, gone in gfx942.
    pub const GFX908_90A: ArchSet = ArchSet::of(&[Arch::Gfx908, Arch::Gfx90a]);
    /// gfx90a alone.
    pub const GFX90A: ArchSet = ArchSet::of(&[Arch::Gfx90a]);
    /// gfx942 and later.
    pub const GFX942_UP: ArchSet =
        ArchSet(!ArchSet::of(&[Arch::Gfx900, Arch::Gfx906, Arch::Gfx908, Arch::Gfx90a]).0);
    /// gfx942 alone, gone in gfx950.
    pub const GFX942: ArchSet = ArchSet(
        !ArchSet::of(&[
            Arch::Gfx900,
            Arch::Gfx906,
            Arch::Gfx908,
            Arch::Gfx90a,
            Arch::Gfx950,
        ])
        .0,
    );
    /// gfx950 and later.
    pub const GFX950_UP: ArchSet = ArchSet(Self::GFX942_UP.0 & !ArchSet::of(&[Arch::Gfx942]).0);
    /// Everything but gfx942 and gfx950.
    pub const BEFORE_GFX942: ArchSet = ArchSet(!ArchSet::of(&[Arch::Gfx942, Arch::Gfx950]).0);

    /// The set of the given processors.
    pub const fn of(archs: &[Arch]) -> ArchSet {
        let mut bits = 0;
        let mut i = 0;
        while i < archs.len() {
            bits |= 1 << archs[i] as u16;
            i += 1;
        }
        ArchSet(bits)
    }

    /// Whether `arch` is in the set.
    pub const fn has(self, arch: Arch) -> bool {
        self.0 & (1 << arch as u16) != 0
    }
}
