//! ISA names: which machine code an agent executes and a code object holds.
//!
//! An [`Isa`] is a processor with its settings of XNACK and SRAM ECC. It is written
//! `amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-`, is encoded in the `e_flags` of a code object, and
//! decides which code objects load on which agents.

mod feature;
mod flags;
mod processor;

pub use feature::{Feature, FeatureName};
pub use flags::FlagsError;
pub use processor::{PROCESSORS, Processor, Version, WaveSizes};

use core::{fmt, str::FromStr};
use thiserror_no_std::Error;

/// What every ISA name begins with: the target triple, and the separator of the empty environment.
pub const NAME_PREFIX: &str = "amdgcn-amd-amdhsa--";

/// Bytes of the longest ISA name.
pub const NAME_MAX: usize = NAME_PREFIX.len() + "gfx10-1-generic".len() + ":sramecc+:xnack+".len();

/// Instruction set of an agent or of a code object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isa {
    processor: &'static Processor,
    sramecc: Feature,
    xnack: Feature,
}

/// Why a string is no ISA name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum IsaNameError {
    /// The name does not begin with [`NAME_PREFIX`].
    #[error("an ISA name begins with {NAME_PREFIX}")]
    Prefix,
    /// The table has no such processor.
    #[error("the ISA name's processor is unknown")]
    UnknownProcessor,
    /// A part after the processor is not `sramecc` or `xnack` with a sign.
    #[error("the ISA name has a feature other than sramecc+, sramecc-, xnack+ and xnack-")]
    UnknownFeature,
    /// A feature occurs twice.
    #[error("the ISA name sets {0} twice")]
    Repeated(FeatureName),
    /// The processor has no such setting.
    #[error("the ISA name sets {1}, which {0} does not have")]
    Unsupported(&'static str, FeatureName),
}

crate::impl_error!(IsaNameError);

impl Isa {
    /// `processor` with the features it supports set to [`Feature::Any`].
    #[must_use]
    pub const fn new(processor: &'static Processor) -> Self {
        const fn any(supported: bool) -> Feature {
            if supported {
                Feature::Any
            } else {
                Feature::Unsupported
            }
        }
        Self {
            processor,
            sramecc: any(processor.sramecc),
            xnack: any(processor.xnack),
        }
    }

    /// The same ISA with `name` set to `value`.
    ///
    /// # Errors
    /// [`IsaNameError::Unsupported`] for `On` or `Off` on a processor without the feature.
    pub const fn with(mut self, name: FeatureName, value: Feature) -> Result<Self, IsaNameError> {
        let (supported, slot) = match name {
            FeatureName::Xnack => (self.processor.xnack, &mut self.xnack),
            FeatureName::Sramecc => (self.processor.sramecc, &mut self.sramecc),
        };
        match (supported, value) {
            (false, Feature::On | Feature::Off) => {
                Err(IsaNameError::Unsupported(self.processor.name, name))
            }
            // Nothing demanded is `Any` where the setting exists and `Unsupported` where it does not.
            (_, Feature::Any | Feature::Unsupported) => {
                *slot = if supported {
                    Feature::Any
                } else {
                    Feature::Unsupported
                };
                Ok(self)
            }
            (true, _) => {
                *slot = value;
                Ok(self)
            }
        }
    }

    /// The processor.
    #[must_use]
    pub const fn processor(&self) -> &'static Processor {
        self.processor
    }

    /// The XNACK setting.
    #[must_use]
    pub const fn xnack(&self) -> Feature {
        self.xnack
    }

    /// The SRAM ECC setting.
    #[must_use]
    pub const fn sramecc(&self) -> Feature {
        self.sramecc
    }

    /// The ISA of the generic processor that this one belongs to, with the settings it shares.
    ///
    /// An agent lists this as its second ISA.
    #[must_use]
    pub fn generic(&self) -> Option<Self> {
        let generic = self.processor.generic()?;
        let mut isa = Self::new(generic);
        if generic.xnack {
            isa.xnack = self.xnack;
        }
        if generic.sramecc {
            isa.sramecc = self.sramecc;
        }
        Some(isa)
    }

    /// Whether code of this ISA executes on `agent`.
    ///
    /// The processors must be the same, or this one the generic that contains the agent's in a
    /// version (`generic_version`, from `e_flags`) that the agent's processor is no older than. A
    /// feature set to on or off must be set the same on the agent.
    #[must_use]
    pub fn runs_on(&self, agent: &Self, generic_version: u8) -> bool {
        let processor = if self.processor.is_generic && !agent.processor.is_generic {
            agent.processor.member_of.is_some_and(|(name, since)| {
                name == self.processor.name && generic_version >= since
            })
        } else {
            self.processor == agent.processor
        };
        processor && self.xnack.runs_on(agent.xnack) && self.sramecc.runs_on(agent.sramecc)
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME_PREFIX}{}", self.processor.name)?;
        if let Some(sign) = self.sramecc.suffix() {
            write!(f, ":sramecc{sign}")?;
        }
        if let Some(sign) = self.xnack.suffix() {
            write!(f, ":xnack{sign}")?;
        }
        Ok(())
    }
}

impl FromStr for Isa {
    type Err = IsaNameError;

    /// Parses a full ISA name. The features may come in either order; [`Isa`] is displayed with
    /// `sramecc` first, which is the canonical one.
    fn from_str(name: &str) -> Result<Self, IsaNameError> {
        let target_id = name.strip_prefix(NAME_PREFIX).ok_or(IsaNameError::Prefix)?;
        Self::from_target_id(target_id)
    }
}

impl Isa {
    /// Parses a target ID: an ISA name without the triple, `gfx90a:xnack+`, as clang takes it.
    ///
    /// # Errors
    /// Every [`IsaNameError`] but `Prefix`.
    pub fn from_target_id(target_id: &str) -> Result<Self, IsaNameError> {
        // `str::split` brings a bounds check into programs that want none.
        let mut rest = Some(target_id);
        let mut parts = core::iter::from_fn(|| {
            let text = rest?;
            let end = text.bytes().position(|byte| byte == b':');
            let (part, after) = text.split_at_checked(end.unwrap_or(text.len()))?;
            rest = after.get(1..);
            Some(part)
        });
        let processor = parts
            .next()
            .and_then(Processor::from_name)
            .ok_or(IsaNameError::UnknownProcessor)?;
        let mut isa = Self::new(processor);
        let mut seen = [false; 2];
        for part in parts {
            let (name, value) = match part {
                "xnack+" => (FeatureName::Xnack, Feature::On),
                "xnack-" => (FeatureName::Xnack, Feature::Off),
                "sramecc+" => (FeatureName::Sramecc, Feature::On),
                "sramecc-" => (FeatureName::Sramecc, Feature::Off),
                _ => return Err(IsaNameError::UnknownFeature),
            };
            let seen = &mut seen[usize::from(name == FeatureName::Sramecc)];
            if *seen {
                return Err(IsaNameError::Repeated(name));
            }
            *seen = true;
            isa = isa.with(name, value)?;
        }
        Ok(isa)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    fn isa(target_id: &str) -> Isa {
        Isa::from_target_id(target_id).expect(target_id)
    }

    #[test]
    fn a_name_round_trips_in_canonical_order() {
        let name = "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-";
        assert_eq!(
            name.parse::<Isa>().map(|i| i.to_string()).as_deref(),
            Ok(name)
        );
        assert_eq!(isa("gfx90a:xnack-:sramecc+").to_string(), name);
        for p in PROCESSORS {
            let isa = Isa::new(p);
            assert_eq!(isa.to_string().parse(), Ok(isa));
            assert!(isa.to_string().len() <= NAME_MAX);
        }
    }

    #[test]
    fn a_bad_name_says_what_is_wrong() {
        assert_eq!("gfx90a".parse::<Isa>(), Err(IsaNameError::Prefix));
        let parse = Isa::from_target_id;
        assert_eq!(parse("gfx000"), Err(IsaNameError::UnknownProcessor));
        assert_eq!(parse(""), Err(IsaNameError::UnknownProcessor));
        assert_eq!(parse("gfx90a:"), Err(IsaNameError::UnknownFeature));
        assert_eq!(parse("gfx90a:xnack"), Err(IsaNameError::UnknownFeature));
        assert_eq!(
            parse("gfx90a:xnack+:xnack+"),
            Err(IsaNameError::Repeated(FeatureName::Xnack))
        );
        assert_eq!(
            parse("gfx1030:sramecc+"),
            Err(IsaNameError::Unsupported("gfx1030", FeatureName::Sramecc))
        );
    }

    #[test]
    fn a_demanded_feature_must_be_set_the_same_on_the_agent() {
        let agent = isa("gfx90a:sramecc+:xnack-");
        for runs in [
            "gfx90a",
            "gfx90a:xnack-",
            "gfx90a:sramecc+",
            "gfx90a:sramecc+:xnack-",
        ] {
            assert!(isa(runs).runs_on(&agent, 0), "{runs}");
        }
        for not in [
            "gfx90a:xnack+",
            "gfx90a:sramecc-",
            "gfx908",
            "gfx9-4-generic",
        ] {
            assert!(!isa(not).runs_on(&agent, 9), "{not}");
        }
    }

    #[test]
    fn generic_code_runs_on_members_only_and_not_before_its_first_version() {
        let generic = isa("gfx11-generic");
        assert!(generic.runs_on(&isa("gfx1151"), 1));
        assert!(generic.runs_on(&isa("gfx1151"), 7));
        assert!(!generic.runs_on(&isa("gfx1151"), 0));
        assert!(!generic.runs_on(&isa("gfx1200"), 1));
        assert!(!isa("gfx1151").runs_on(&generic, 1));
        let gfx906 = isa("gfx906:sramecc+:xnack-");
        assert!(isa("gfx9-generic:xnack-").runs_on(&gfx906, 1));
        assert!(!isa("gfx9-generic:xnack+").runs_on(&gfx906, 1));
        assert_eq!(gfx906.generic(), Some(isa("gfx9-generic:xnack-")));
        assert_eq!(isa("gfx90a").generic(), None);
    }
}
