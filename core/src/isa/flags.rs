//! An ISA in the `e_flags` of a code object, which changed with code object versions 4 and 6.

use super::{Feature, FeatureName, Isa, Processor};
use crate::elf::{
    EF_AMDGPU_FEATURE_SRAMECC_V3, EF_AMDGPU_FEATURE_SRAMECC_V4_SHIFT, EF_AMDGPU_FEATURE_XNACK_V3,
    EF_AMDGPU_FEATURE_XNACK_V4_SHIFT, EF_AMDGPU_GENERIC_VERSION_SHIFT, EF_AMDGPU_MACH,
};
use crate::loader::CodeObjectVersion;
use thiserror_no_std::Error;

/// Why `e_flags` name no ISA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FlagsError {
    /// The processor's number is not in the table.
    #[error("e_flags {e_flags:#x} name processor number {mach:#x}, which is unknown")]
    UnknownProcessor {
        /// The flags.
        e_flags: u32,
        /// Their `EF_AMDGPU_MACH` field.
        mach: u8,
    },
    /// A feature is set on or off for a processor that does not have it.
    #[error("e_flags {e_flags:#x} set {feature}, which {processor} does not have")]
    Unsupported {
        /// The flags.
        e_flags: u32,
        /// Name of the processor.
        processor: &'static str,
        /// The feature.
        feature: FeatureName,
    },
    /// A generic processor in a version that has no place for its version, or with version 0.
    #[error("e_flags {e_flags:#x} give {processor} no version (code object version 6 carries it)")]
    GenericWithoutVersion {
        /// The flags.
        e_flags: u32,
        /// Name of the generic processor.
        processor: &'static str,
    },
}

crate::impl_error!(FlagsError);

impl Isa {
    /// Decodes `e_flags`; also gives the version of a generic processor, 0 for others.
    ///
    /// # Errors
    /// See [`FlagsError`].
    pub fn from_e_flags(
        e_flags: u32,
        version: CodeObjectVersion,
    ) -> Result<(Self, u8), FlagsError> {
        let mach = (e_flags & EF_AMDGPU_MACH) as u8;
        let processor =
            Processor::from_mach(mach).ok_or(FlagsError::UnknownProcessor { e_flags, mach })?;
        let unsupported = |feature| FlagsError::Unsupported {
            e_flags,
            processor: processor.name,
            feature,
        };
        let (xnack, sramecc) = if version == CodeObjectVersion::V3 {
            // One bit each, so a processor that has the feature always demands a setting.
            let bit = |mask, supported| match (e_flags & mask != 0, supported) {
                (true, _) => Feature::On,
                (false, true) => Feature::Off,
                (false, false) => Feature::Unsupported,
            };
            (
                bit(EF_AMDGPU_FEATURE_XNACK_V3, processor.xnack),
                bit(EF_AMDGPU_FEATURE_SRAMECC_V3, processor.sramecc),
            )
        } else {
            (
                Feature::from_bits(e_flags >> EF_AMDGPU_FEATURE_XNACK_V4_SHIFT),
                Feature::from_bits(e_flags >> EF_AMDGPU_FEATURE_SRAMECC_V4_SHIFT),
            )
        };
        let isa = Self::new(processor)
            .with(FeatureName::Xnack, xnack)
            .map_err(|_| unsupported(FeatureName::Xnack))?
            .with(FeatureName::Sramecc, sramecc)
            .map_err(|_| unsupported(FeatureName::Sramecc))?;
        let generic_version = match version {
            CodeObjectVersion::V6 if processor.is_generic => {
                (e_flags >> EF_AMDGPU_GENERIC_VERSION_SHIFT) as u8
            }
            _ => 0,
        };
        if processor.is_generic && generic_version == 0 {
            return Err(FlagsError::GenericWithoutVersion {
                e_flags,
                processor: processor.name,
            });
        }
        Ok((isa, generic_version))
    }

    /// Encodes this ISA as `e_flags` of code object version 4 and later; `generic_version` is
    /// only written for a generic processor (version 6).
    #[must_use]
    pub const fn to_e_flags(&self, generic_version: u8) -> u32 {
        let generic_version = if self.processor.is_generic {
            generic_version as u32
        } else {
            0
        };
        self.processor.mach as u32
            | (self.xnack as u32) << EF_AMDGPU_FEATURE_XNACK_V4_SHIFT
            | (self.sramecc as u32) << EF_AMDGPU_FEATURE_SRAMECC_V4_SHIFT
            | generic_version << EF_AMDGPU_GENERIC_VERSION_SHIFT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::PROCESSORS;
    use CodeObjectVersion::{V3, V4, V5, V6};

    fn isa(target_id: &str) -> Isa {
        Isa::from_target_id(target_id).expect(target_id)
    }

    #[test]
    fn flags_round_trip_for_every_processor_and_setting() {
        let settings = [Feature::Any, Feature::Off, Feature::On];
        for p in PROCESSORS {
            for (x, s) in settings.iter().flat_map(|x| settings.map(|s| (*x, s))) {
                let (Ok(isa), version) = (
                    Isa::new(p)
                        .with(FeatureName::Xnack, x)
                        .and_then(|i| i.with(FeatureName::Sramecc, s)),
                    u8::from(p.is_generic) * 3,
                ) else {
                    continue;
                };
                let flags = isa.to_e_flags(version);
                assert_eq!(Isa::from_e_flags(flags, V6), Ok((isa, version)));
            }
        }
    }

    #[test]
    fn version_3_has_one_bit_per_feature() {
        let decode = |flags| Isa::from_e_flags(flags, V3).map(|(isa, _)| isa);
        assert_eq!(decode(0x02f), Ok(isa("gfx906:sramecc-:xnack-")));
        assert_eq!(decode(0x32f), Ok(isa("gfx906:sramecc+:xnack+")));
        assert_eq!(decode(0x036), Ok(isa("gfx1030")));
        assert!(matches!(
            decode(0x136),
            Err(FlagsError::Unsupported {
                processor: "gfx1030",
                feature: FeatureName::Xnack,
                ..
            })
        ));
    }

    #[test]
    fn clangs_flags_decode_to_its_target() {
        // As printed by `llvm-readelf-19 -h` for clang-19's output.
        for (flags, version, target) in [
            (0x53f, V5, "gfx90a"),
            (0x12c, V4, "gfx900"),
            (0x041, V5, "gfx1100"),
            (0x0100_0151, V6, "gfx9-generic"),
            (0x0100_0054, V6, "gfx11-generic"),
        ] {
            assert_eq!(
                Isa::from_e_flags(flags, version).map(|(isa, _)| isa),
                Ok(isa(target))
            );
        }
    }

    #[test]
    fn a_generic_processor_needs_a_version() {
        for version in [V4, V5] {
            assert!(matches!(
                Isa::from_e_flags(0x0100_0054, version),
                Err(FlagsError::GenericWithoutVersion {
                    processor: "gfx11-generic",
                    ..
                })
            ));
        }
        assert!(Isa::from_e_flags(0x54, V6).is_err());
        assert_eq!(
            Isa::from_e_flags(0xff, V4),
            Err(FlagsError::UnknownProcessor {
                e_flags: 0xff,
                mach: 0xff
            })
        );
    }
}
