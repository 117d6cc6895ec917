//! Which backend a process gets, by the environment variable `RUKH_BACKEND`.
//!
//! | value | backend |
//! |---|---|
//! | `kfd` | the Linux kernel driver |
//! | `sim` | the software GPU, one `gfx90a` |
//! | `sim:gfx90a,gfx1100` | the software GPU, as these profiles |
//! | not set | the kernel driver if it has a usable GPU; otherwise none |
//!
//! With `kfd` a machine without a GPU has its CPU agents. What stands behind the kernel driver can be chosen too: see
//! [`driver`](crate::driver).

use crate::driver::{Driver, DriverError, SystemPort};
use crate::runtime::SystemBackend;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use rukh_backend_linux_kfd::{KfdBackend, OpenError};
use rukh_backend_sim::profile::ProfileError;
use rukh_backend_sim::{SimBackend, SimConfig};
use rukh_core::backend::{AgentId, AgentKind, SkipReason, SkippedAgent, Topology};
use std::sync::{Arc, Mutex, PoisonError};

/// The variable's name.
pub const VARIABLE: &str = "RUKH_BACKEND";
/// What `sim` alone stands for.
const DEFAULT_PROFILES: &str = "gfx90a";

/// What the variable asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Choice {
    /// The kernel driver, and nothing else.
    Kfd,
    /// The software GPU with a list of profiles.
    Sim(String),
    /// The kernel driver if it is of use.
    Default,
}

/// Why there is no backend.
#[derive(Debug)]
pub enum ChoiceError {
    /// The variable's value is none of the above.
    UnknownValue(String),
    /// The list of profiles is not one.
    Profiles(ProfileError),
    /// What stands for the kernel driver, or the recording of it, cannot be had.
    Driver(DriverError),
    /// The kernel driver cannot be used.
    Kfd(OpenError),
    /// The kernel driver has no GPU that can be used: those that were skipped, and why.
    NoGpu {
        /// What was skipped.
        skipped: Vec<SkippedAgent>,
    },
}

impl fmt::Display for ChoiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownValue(value) => write!(
                f,
                "{VARIABLE}={value} is not known; it can be kfd, sim or sim:PROFILE[,PROFILE...]"
            ),
            Self::Profiles(error) => write!(f, "{VARIABLE}: {error}"),
            Self::Driver(error) => error.fmt(f),
            Self::Kfd(error) => error.fmt(f),
            Self::NoGpu { skipped } => {
                write!(f, "the kernel driver has no usable GPU")?;
                for device in skipped {
                    write!(f, "; {}", Skipped(device))?;
                }
                Ok(())
            }
        }
    }
}

/// A device that cannot be used and why, in words.
#[derive(Clone, Copy, Debug)]
pub struct Skipped<'a>(pub &'a SkippedAgent);

impl Skipped<'_> {
    /// Whether it is hidden on purpose: a container that was given some of the GPUs may not look at the others.
    pub fn is_hidden(&self) -> bool {
        const REFUSED: [i32; 2] = [1, 13];
        matches!(&self.0.reason, SkipReason::CannotOpen { path, errno }
            if path.contains("/topology/") && REFUSED.contains(errno))
    }
}

impl fmt::Display for Skipped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}: ", self.0.node)?;
        match &self.0.reason {
            SkipReason::CannotOpen { path, errno } => {
                write!(f, "{path} cannot be opened (errno {errno})")
            }
            SkipReason::UnknownProcessor { gfx_target_version } => {
                write!(f, "processor {gfx_target_version} is not known")
            }
            SkipReason::BadProperty {
                key,
                value: Some(value),
            } => {
                write!(f, "its property {key} is {value}")
            }
            SkipReason::BadProperty { key, value: None } => {
                write!(f, "its property {key} is missing or no number")
            }
            SkipReason::Unsupported { what } => write!(f, "{what} is not supported"),
        }
    }
}

impl Choice {
    /// From the variable's value.
    ///
    /// # Errors
    /// [`ChoiceError::UnknownValue`].
    pub fn parse(value: Option<&str>) -> Result<Self, ChoiceError> {
        match value {
            None | Some("") => Ok(Self::Default),
            Some("kfd") => Ok(Self::Kfd),
            Some("sim") => Ok(Self::Sim(DEFAULT_PROFILES.into())),
            Some(other) => match other.strip_prefix("sim:") {
                Some(profiles) => Ok(Self::Sim(profiles.into())),
                None => Err(ChoiceError::UnknownValue(other.into())),
            },
        }
    }

    /// Opens the backend.
    ///
    /// # Errors
    /// See [`ChoiceError`].
    pub fn open(&self) -> Result<Arc<SystemBackend>, ChoiceError> {
        match self {
            Self::Kfd => Ok(open_kfd()?),
            Self::Default => {
                let kfd = open_kfd()?;
                if has_gpu(&*kfd) {
                    return Ok(kfd);
                }
                let mut skipped = Vec::new();
                kfd.skipped(&mut |device| skipped.push(device.clone()));
                Err(ChoiceError::NoGpu { skipped })
            }
            Self::Sim(profiles) => {
                let config = SimConfig::parse(profiles).map_err(ChoiceError::Profiles)?;
                let backend = SimBackend::new(config).map_err(ChoiceError::Profiles)?;
                Ok(Arc::new(backend))
            }
        }
    }
}

/// The kernel driver. The kernel binds address spaces and events to the process, not to an open
/// file, so it is opened once and kept, whatever runtimes come and go.
static KFD: Mutex<Option<Arc<SystemKfd>>> = Mutex::new(None);

/// Where debuggers find loaded code, which the kernel driver is told: `_amdgpu_r_debug`, or 0 in programs that load none. Not
/// named here: it has a version, which programs that are linked with this crate do not.
pub(crate) static DEBUG_LIST: AtomicU64 = AtomicU64::new(0);

/// The backend over the kernel driver, whatever stands for it.
pub type SystemKfd = KfdBackend<SystemPort>;

/// Opens the kernel driver, or gives the one that this process has open.
///
/// # Errors
/// [`ChoiceError::Driver`], [`ChoiceError::Kfd`].
pub fn open_kfd() -> Result<Arc<SystemKfd>, ChoiceError> {
    let mut kept = KFD.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(kfd) = kept.as_ref().filter(|kfd| !kfd.kfd().inherited()) {
        return Ok(kfd.clone());
    }
    let port = Driver::from_environment()
        .and_then(|driver| driver.port(kept.is_some()))
        .map_err(ChoiceError::Driver)?;
    let list = DEBUG_LIST.load(Ordering::Relaxed);
    let kfd = Arc::new(KfdBackend::open_for_debuggers(port, list).map_err(ChoiceError::Kfd)?);
    // What a child process inherited belongs to its parent: it is left alone.
    core::mem::forget(kept.replace(kfd.clone()));
    Ok(kfd)
}

fn has_gpu(topology: &dyn Topology) -> bool {
    (0..topology.agent_count()).any(|id| {
        topology
            .agent(AgentId(id))
            .is_ok_and(|agent| matches!(agent.kind, AgentKind::Gpu(_)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_names_a_backend_or_is_refused() {
        assert_eq!(Choice::parse(None).unwrap(), Choice::Default);
        assert_eq!(Choice::parse(Some("")).unwrap(), Choice::Default);
        assert_eq!(Choice::parse(Some("kfd")).unwrap(), Choice::Kfd);
        let sim = |list: &str| Choice::Sim(list.into());
        assert_eq!(Choice::parse(Some("sim")).unwrap(), sim("gfx90a"));
        let two = Choice::parse(Some("sim:gfx90a,gfx1100")).unwrap();
        assert_eq!(two, sim("gfx90a,gfx1100"));
        for wrong in ["SIM", "simulator", "kfd:0", "cuda"] {
            let error = Choice::parse(Some(wrong)).unwrap_err();
            assert!(error.to_string().contains(wrong));
        }
    }

    #[test]
    fn a_list_with_an_unknown_profile_is_refused_by_name() {
        let choice = Choice::parse(Some("sim:gfx90a,gfx9999")).unwrap();
        let Err(error) = choice.open() else {
            panic!("gfx9999 is no profile");
        };
        assert!(error.to_string().contains("gfx9999"), "{error}");
    }
}
