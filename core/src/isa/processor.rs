//! The processors, one table row each: the only place that knows their names, numbers and features.
//!
//! Source: LLVM's "User Guide for AMDGPU Backend", tables "AMDGPU Processors", "AMDGPU Generic
//! Processors" and "AMDGPU EF_AMDGPU_MACH Values"; checked against clang and llvm-readelf by
//! `tests/isa_names.rs`.

use core::fmt;

/// `major.minor.stepping` as in the processor's name: gfx90a is 9.0.10.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// First number, the generation.
    pub major: u8,
    /// Second number.
    pub minor: u8,
    /// Last digit of the name, hexadecimal there. 0 for a generic processor.
    pub stepping: u8,
}

/// Wavefront sizes that a processor executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaveSizes {
    /// Only 64 work-items.
    Wave64,
    /// 32 work-items natively; a kernel descriptor may ask for 64.
    Wave32And64,
}

impl WaveSizes {
    /// Work-items in a wavefront unless a kernel asks for another size.
    #[must_use]
    pub const fn native(self) -> u32 {
        match self {
            Self::Wave64 => 64,
            Self::Wave32And64 => 32,
        }
    }

    /// Whether a kernel of `size` work-items per wavefront can run.
    #[must_use]
    pub const fn supports(self, size: u32) -> bool {
        size == 64 || (size == 32 && matches!(self, Self::Wave32And64))
    }
}

/// One processor, real or generic. Obtained from the table: by name, by MACH value or by version.
#[derive(Clone, Copy, Debug)]
pub struct Processor {
    /// As in `-mcpu=`, for instance `gfx90a` or `gfx11-generic`.
    pub name: &'static str,
    /// Value of the `EF_AMDGPU_MACH` field of `e_flags`.
    pub mach: u8,
    /// Version triple; of a generic processor the part that its members share.
    pub version: Version,
    /// Whether XNACK is a setting of this processor.
    pub xnack: bool,
    /// Whether SRAM ECC is a setting of this processor.
    pub sramecc: bool,
    /// Wavefront sizes.
    pub waves: WaveSizes,
    /// Whether this is a generic processor: a name for code that runs on all its members.
    pub is_generic: bool,
    /// The generic processor that this one is a member of, and the oldest version of it (`e_flags`
    /// bits 24 and up) whose code runs here.
    pub member_of: Option<(&'static str, u8)>,
}

/// Processors are the rows of one table, so the name is the identity.
impl PartialEq for Processor {
    fn eq(&self, other: &Self) -> bool {
        self.mach == other.mach
    }
}

impl Eq for Processor {}

impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

macro_rules! processors {
    ($( $name:literal $mach:literal ($major:literal, $minor:literal, $stepping:literal)
        $($feature:ident)* : $waves:ident $(in $generic:literal since $since:literal)? $(; $kind:ident)? )*) => {
        /// Every processor that Rukh knows, in order of version; generic ones last.
        pub const PROCESSORS: &[Processor] = &[$(
            Processor {
                $($feature: true,)*
                $(member_of: Some(($generic, $since)),)?
                $($kind: true,)?
                ..row($name, $mach, Version { major: $major, minor: $minor, stepping: $stepping },
                    WaveSizes::$waves)
            },
        )*];
    };
}

const fn row(name: &'static str, mach: u8, version: Version, waves: WaveSizes) -> Processor {
    Processor {
        name,
        mach,
        version,
        xnack: false,
        sramecc: false,
        waves,
        is_generic: false,
        member_of: None,
    }
}

processors! {
    "gfx700"  0x22 (7, 0, 0) : Wave64
    "gfx701"  0x23 (7, 0, 1) : Wave64
    "gfx702"  0x24 (7, 0, 2) : Wave64
    "gfx703"  0x25 (7, 0, 3) : Wave64
    "gfx704"  0x26 (7, 0, 4) : Wave64
    "gfx705"  0x3b (7, 0, 5) : Wave64
    "gfx801"  0x28 (8, 0, 1) xnack : Wave64
    "gfx802"  0x29 (8, 0, 2) : Wave64
    "gfx803"  0x2a (8, 0, 3) : Wave64
    "gfx805"  0x3c (8, 0, 5) : Wave64
    "gfx810"  0x2b (8, 1, 0) xnack : Wave64
    "gfx900"  0x2c (9, 0, 0) xnack : Wave64 in "gfx9-generic" since 1
    "gfx902"  0x2d (9, 0, 2) xnack : Wave64 in "gfx9-generic" since 1
    "gfx904"  0x2e (9, 0, 4) xnack : Wave64 in "gfx9-generic" since 1
    "gfx906"  0x2f (9, 0, 6) xnack sramecc : Wave64 in "gfx9-generic" since 1
    "gfx908"  0x30 (9, 0, 8) xnack sramecc : Wave64
    "gfx909"  0x31 (9, 0, 9) xnack : Wave64 in "gfx9-generic" since 1
    "gfx90a"  0x3f (9, 0, 10) xnack sramecc : Wave64
    "gfx90c"  0x32 (9, 0, 12) xnack : Wave64 in "gfx9-generic" since 1
    "gfx940"  0x40 (9, 4, 0) xnack sramecc : Wave64 in "gfx9-4-generic" since 1
    "gfx941"  0x4b (9, 4, 1) xnack sramecc : Wave64 in "gfx9-4-generic" since 1
    "gfx942"  0x4c (9, 4, 2) xnack sramecc : Wave64 in "gfx9-4-generic" since 1
    "gfx950"  0x4f (9, 5, 0) xnack sramecc : Wave64 in "gfx9-4-generic" since 1
    "gfx1010" 0x33 (10, 1, 0) xnack : Wave32And64 in "gfx10-1-generic" since 1
    "gfx1011" 0x34 (10, 1, 1) xnack : Wave32And64 in "gfx10-1-generic" since 1
    "gfx1012" 0x35 (10, 1, 2) xnack : Wave32And64 in "gfx10-1-generic" since 1
    "gfx1013" 0x42 (10, 1, 3) xnack : Wave32And64 in "gfx10-1-generic" since 1
    "gfx1030" 0x36 (10, 3, 0) : Wave32And64 in "gfx10-3-generic" since 1
    "gfx1031" 0x37 (10, 3, 1) : Wave32And64 in "gfx10-3-generic" since 1
    "gfx1032" 0x38 (10, 3, 2) : Wave32And64 in "gfx10-3-generic" since 1
    "gfx1033" 0x39 (10, 3, 3) : Wave32And64 in "gfx10-3-generic" since 1
    "gfx1034" 0x3e (10, 3, 4) : Wave32And64 in "gfx10-3-generic" since 1
    "gfx1035" 0x3d (10, 3, 5) : Wave32And64 in "gfx10-3-generic" since 1
    "gfx1036" 0x45 (10, 3, 6) : Wave32And64 in "gfx10-3-generic" since 1
    "gfx1100" 0x41 (11, 0, 0) : Wave32And64 in "gfx11-generic" since 1
    "gfx1101" 0x46 (11, 0, 1) : Wave32And64 in "gfx11-generic" since 1
    "gfx1102" 0x47 (11, 0, 2) : Wave32And64 in "gfx11-generic" since 1
    "gfx1103" 0x44 (11, 0, 3) : Wave32And64 in "gfx11-generic" since 1
    "gfx1150" 0x43 (11, 5, 0) : Wave32And64 in "gfx11-generic" since 1
    "gfx1151" 0x4a (11, 5, 1) : Wave32And64 in "gfx11-generic" since 1
    "gfx1152" 0x55 (11, 5, 2) : Wave32And64 in "gfx11-generic" since 1
    "gfx1153" 0x58 (11, 5, 3) : Wave32And64 in "gfx11-generic" since 1
    "gfx1200" 0x48 (12, 0, 0) : Wave32And64 in "gfx12-generic" since 1
    "gfx1201" 0x4e (12, 0, 1) : Wave32And64 in "gfx12-generic" since 1
    "gfx9-generic"    0x51 (9, 0, 0) xnack : Wave64; is_generic
    "gfx9-4-generic"  0x5f (9, 4, 0) xnack sramecc : Wave64; is_generic
    "gfx10-1-generic" 0x52 (10, 1, 0) xnack : Wave32And64; is_generic
    "gfx10-3-generic" 0x53 (10, 3, 0) : Wave32And64; is_generic
    "gfx11-generic"   0x54 (11, 0, 0) : Wave32And64; is_generic
    "gfx12-generic"   0x59 (12, 0, 0) : Wave32And64; is_generic
}

impl Processor {
    /// The processor called `name` (`gfx90a`, not the full ISA name).
    #[must_use]
    pub fn from_name(name: &str) -> Option<&'static Self> {
        PROCESSORS.iter().find(|p| p.name == name)
    }

    /// The processor with this `EF_AMDGPU_MACH` value.
    #[must_use]
    pub fn from_mach(mach: u8) -> Option<&'static Self> {
        PROCESSORS.iter().find(|p| p.mach == mach)
    }

    /// The real processor of a version triple.
    #[must_use]
    pub fn from_version(version: Version) -> Option<&'static Self> {
        PROCESSORS
            .iter()
            .find(|p| !p.is_generic && p.version == version)
    }

    /// The real processor of a KFD topology's `gfx_target_version`, decimal digits `MMmmss`
    /// (90010 is gfx90a).
    #[must_use]
    pub fn from_gfx_target_version(value: u32) -> Option<&'static Self> {
        Self::from_version(Version {
            major: u8::try_from(value / 10_000).ok()?,
            minor: u8::try_from(value / 100 % 100).ok()?,
            stepping: u8::try_from(value % 100).ok()?,
        })
    }

    /// `gfx_target_version` as KFD's topology writes it; 0 for a generic processor.
    #[must_use]
    pub const fn gfx_target_version(&self) -> u32 {
        if self.is_generic {
            return 0;
        }
        let v = self.version;
        v.major as u32 * 10_000 + v.minor as u32 * 100 + v.stepping as u32
    }

    /// The generic processor that this one is a member of.
    #[must_use]
    pub fn generic(&self) -> Option<&'static Self> {
        Self::from_name(self.member_of?.0)
    }

    /// Whether `self` is generic and `other` is one of its members.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        other.member_of.is_some_and(|(name, _)| name == self.name)
    }

    /// Whether accumulation VGPRs share one register file with the others, so that a kernel
    /// descriptor states where they begin (gfx90a, gfx94x, gfx950).
    #[must_use]
    pub const fn has_unified_vgprs(&self) -> bool {
        self.version.major == 9
            && (self.version.minor >= 4 || (self.version.minor == 0 && self.version.stepping == 10))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_mach_values_are_unique() {
        for (i, a) in PROCESSORS.iter().enumerate() {
            for b in &PROCESSORS[i + 1..] {
                assert_ne!(a.name, b.name);
                assert_ne!(a.mach, b.mach, "{} and {}", a.name, b.name);
            }
        }
    }

    #[test]
    fn every_membership_names_a_generic_processor_with_no_feature_its_member_lacks() {
        for p in PROCESSORS.iter().filter(|p| p.member_of.is_some()) {
            let generic = p.generic().expect(p.name);
            assert!(generic.is_generic && !p.is_generic && generic.contains(p));
            assert_eq!(generic.version.major, p.version.major);
            assert_eq!(generic.waves, p.waves);
            assert!(!generic.xnack || p.xnack, "{}", p.name);
            assert!(!generic.sramecc || p.sramecc, "{}", p.name);
        }
    }

    #[test]
    fn the_kernel_drivers_version_number_round_trips() {
        assert_eq!(
            Processor::from_gfx_target_version(90_010).map(|p| p.name),
            Some("gfx90a")
        );
        for p in PROCESSORS.iter().filter(|p| !p.is_generic) {
            assert_eq!(
                Processor::from_gfx_target_version(p.gfx_target_version()),
                Some(p)
            );
        }
        assert_eq!(Processor::from_gfx_target_version(0), None);
        assert_eq!(Processor::from_gfx_target_version(u32::MAX), None);
    }

    #[test]
    fn names_spell_the_version() {
        for p in PROCESSORS.iter().filter(|p| !p.is_generic) {
            let digits = p.name.strip_prefix("gfx").expect(p.name);
            let (major, rest) = digits.split_at(digits.len() - 2);
            let digit = |i: usize| u8::from_str_radix(&rest[i..=i], 16).expect(p.name);
            assert_eq!(major.parse(), Ok(p.version.major));
            assert_eq!((digit(0), digit(1)), (p.version.minor, p.version.stepping));
        }
    }
}
