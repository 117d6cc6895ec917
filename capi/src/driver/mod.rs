//! What stands behind `/dev/kfd`, and who listens: the environment variables `RUKH_KFD` and `RUKH_TRACE`.
//!
//! | `RUKH_KFD` | the driver |
//! |---|---|
//! | not set | the kernel's |
//! | `gfx90a`, `gfx90a,gfx1100` | the software GPU's KFD face, in this process, with these profiles |
//! | `none` | the same without a GPU |
//! | `smallbar:gfx90a` | the same, and the host does not map device memory |
//! | `gfx90a,gfx1100,deny:/dev/dri/renderD128` | the same, and this file may not be opened |
//! | `replay:FILE` | what a recording answered |
//!
//! `RUKH_TRACE=kfd:FILE` records every call of the driver to a file; `%p` in its name stands for the process. This
//! library makes its system calls itself, so a preloaded library that fakes `/dev/kfd` for other programs does not
//! see them: the variable is how to have the face here.

mod deny;

use crate::diag;
use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use deny::Deny;
use rukh_backend_linux_kfd::sys::{FileSink, LinuxPort};
use rukh_backend_linux_kfd::trace::{ParseError, ReplayPort, TracePort, TraceSink};
use rukh_backend_sim::SimConfig;
use rukh_backend_sim::kfd::{FaceError, KfdFace};
use rukh_core::kfd::{KfdPort, PortError};
use std::sync::{Arc, Mutex, PoisonError};

/// Which driver.
pub const KFD_VARIABLE: &str = "RUKH_KFD";
/// What is recorded.
pub const TRACE_VARIABLE: &str = "RUKH_TRACE";

/// A driver that is chosen at run time.
pub type SystemPort = Box<dyn KfdPort>;

/// What the variables ask for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Driver {
    /// What answers.
    pub source: Source,
    /// The file that is written, as it was given.
    pub recording: Option<String>,
}

/// What answers as the driver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// The kernel that this process runs on.
    Kernel,
    /// The software GPU.
    Face {
        /// As these profiles; without a GPU if the list is empty.
        profiles: String,
        /// Files that may not be opened.
        denied: Vec<String>,
    },
    /// A recording in this file.
    Replay(String),
}

/// Why there is no driver, or no recording of it.
#[derive(Debug)]
pub enum DriverError {
    /// `RUKH_TRACE` is not what it can be.
    UnknownTrace(String),
    /// The file cannot be written.
    CannotRecord(PortError),
    /// The software GPU does not take the list.
    Face(FaceError),
    /// The recording cannot be read.
    CannotRead {
        /// Its name.
        file: String,
        /// What the system answered.
        error: std::io::Error,
    },
    /// The recording is none.
    NoRecording {
        /// Its name.
        file: String,
        /// What is wrong with it.
        error: ParseError,
    },
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTrace(value) => {
                write!(
                    f,
                    "{TRACE_VARIABLE}={value} is not known; it can be kfd:FILE"
                )
            }
            Self::CannotRecord(error) => {
                write!(
                    f,
                    "{TRACE_VARIABLE}: the recording cannot be written: {error}"
                )
            }
            Self::Face(error) => write!(f, "{KFD_VARIABLE}: {error}"),
            Self::CannotRead { file, error } => {
                write!(
                    f,
                    "{KFD_VARIABLE}: the recording {file} cannot be read: {error}"
                )
            }
            Self::NoRecording { file, error } => write!(f, "{KFD_VARIABLE}: {file}: {error}"),
        }
    }
}

impl Source {
    /// From a list of profiles, `none` and `deny:PATH`.
    fn face(list: &str) -> Self {
        let (denied, profiles): (Vec<&str>, Vec<&str>) = list
            .split(',')
            .filter(|part| *part != "none")
            .partition(|part| part.starts_with("deny:"));
        Self::Face {
            profiles: profiles.join(","),
            denied: denied
                .iter()
                .map(|part| part["deny:".len()..].into())
                .collect(),
        }
    }
}

impl Driver {
    /// From the variables' values; empty ones count as not set.
    ///
    /// # Errors
    /// [`DriverError::UnknownTrace`].
    pub fn parse(kfd: Option<&str>, trace: Option<&str>) -> Result<Self, DriverError> {
        let source = match kfd.unwrap_or("") {
            "" => Source::Kernel,
            list => match list.strip_prefix("replay:") {
                Some(file) => Source::Replay(file.into()),
                None => Source::face(list),
            },
        };
        let recording = match trace.unwrap_or("") {
            "" => None,
            value => match value.strip_prefix("kfd:") {
                Some(file) if !file.is_empty() => Some(String::from(file)),
                _ => return Err(DriverError::UnknownTrace(value.into())),
            },
        };
        Ok(Self { source, recording })
    }

    /// From this process's environment.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn from_environment() -> Result<Self, DriverError> {
        let value = |name| std::env::var_os(name).map(|v| v.to_string_lossy().into_owned());
        Self::parse(
            value(KFD_VARIABLE).as_deref(),
            value(TRACE_VARIABLE).as_deref(),
        )
    }

    /// Whether a graphics card answers, and not a program.
    pub fn is_real(&self) -> bool {
        self.source == Source::Kernel
    }

    /// Makes the port. `child`: of a process whose parent may have a recording of the same name open; it gets one
    /// with the process's number behind.
    ///
    /// # Errors
    /// See [`DriverError`].
    pub fn port(&self, child: bool) -> Result<SystemPort, DriverError> {
        let port: SystemPort = match &self.source {
            Source::Kernel => Box::new(LinuxPort),
            Source::Face { profiles, denied } => {
                let face = face(profiles).map_err(DriverError::Face)?;
                if denied.is_empty() {
                    Box::new(face)
                } else {
                    Box::new(Deny::new(face, denied.clone()))
                }
            }
            Source::Replay(file) => Box::new(replay(file)?),
        };
        let Some(file) = &self.recording else {
            return Ok(port);
        };
        let process = std::process::id();
        let mut file = file.replace("%p", &process.to_string());
        if child {
            file.push_str(&format!(".{process}"));
        }
        let sink = FileSink::create(&file).map_err(DriverError::CannotRecord)?;
        let recording = Recording {
            sink,
            file,
            told: AtomicBool::new(false),
        };
        Ok(Box::new(TracePort::new(port, recording)))
    }
}

/// A file that says so, once, when it cannot be written any more: what it records goes on.
struct Recording {
    sink: FileSink,
    file: String,
    told: AtomicBool,
}

impl TraceSink for Recording {
    fn line(&self, line: &str) {
        self.sink.line(line);
        let errno = self.sink.errno();
        if errno != 0 && !self.told.swap(true, Ordering::Relaxed) {
            diag::say(format_args!(
                "{TRACE_VARIABLE}: the recording {} is not whole: writing it failed (errno {errno})",
                self.file
            ));
        }
    }
}

fn face(list: &str) -> Result<KfdFace, FaceError> {
    if list.is_empty() {
        KfdFace::new(SimConfig::new(Vec::new()))
    } else {
        KfdFace::parse(list)
    }
}

/// The recording that is being replayed, so that what differed can be told.
static REPLAY: Mutex<Option<Arc<ReplayPort<LinuxPort>>>> = Mutex::new(None);

fn replay(file: &str) -> Result<Arc<ReplayPort<LinuxPort>>, DriverError> {
    let text = std::fs::read_to_string(file).map_err(|error| DriverError::CannotRead {
        file: file.into(),
        error,
    })?;
    let port = ReplayPort::new(&text, LinuxPort).map_err(|error| DriverError::NoRecording {
        file: file.into(),
        error,
    })?;
    let port = Arc::new(port);
    *REPLAY.lock().unwrap_or_else(PoisonError::into_inner) = Some(port.clone());
    Ok(port)
}

/// What a replay came to.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct ReplayReport {
    /// Calls that were made and are not in the recording.
    pub differences: Vec<String>,
    /// Calls of the recording that were not made.
    pub left: Vec<String>,
}

/// What the replay came to so far. None if there is none.
pub fn replay_report() -> Option<ReplayReport> {
    let replay = REPLAY.lock().unwrap_or_else(PoisonError::into_inner);
    replay.as_ref().map(|port| ReplayReport {
        differences: port.differences(),
        left: port.left(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_names_the_driver() {
        let source = |value| Driver::parse(value, None).unwrap().source;
        assert_eq!(source(None), Source::Kernel);
        assert_eq!(source(Some("")), Source::Kernel);
        let face = |profiles: &str, denied: &[&str]| Source::Face {
            profiles: profiles.into(),
            denied: denied.iter().map(|path| String::from(*path)).collect(),
        };
        assert_eq!(source(Some("none")), face("", &[]));
        let two = "gfx90a,gfx1100";
        assert_eq!(source(Some(two)), face(two, &[]));
        assert_eq!(source(Some("gfx90a,deny:/a,gfx1100")), face(two, &["/a"]));
        assert_eq!(source(Some("replay:a:b")), Source::Replay("a:b".into()));
    }

    #[test]
    fn a_recording_is_asked_for_by_file_and_anything_else_is_refused_by_name() {
        let recording = |value| Driver::parse(None, value).map(|driver| driver.recording);
        assert_eq!(recording(None).unwrap(), None);
        assert_eq!(recording(Some("")).unwrap(), None);
        assert_eq!(
            recording(Some("kfd:/tmp/x")).unwrap(),
            Some("/tmp/x".into())
        );
        for wrong in ["kfd", "kfd:", "KFD:/tmp/x", "/tmp/x", "sim:/tmp/x"] {
            let error = recording(Some(wrong)).unwrap_err().to_string();
            assert!(
                error.contains(wrong) && error.contains("kfd:FILE"),
                "{error}"
            );
        }
    }

    /// The error of a driver that cannot be had.
    fn refused(kfd: &str, trace: Option<&str>) -> String {
        match Driver::parse(Some(kfd), trace).unwrap().port(false) {
            Ok(_) => panic!("{kfd} is a driver"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_cannot_be_had_is_named() {
        assert!(refused("gfx9999", None).contains("gfx9999"));
        assert!(refused("replay:/nowhere/at/all", None).contains("/nowhere/at/all"));
        assert!(refused("replay:/proc/self/status", None).contains("/proc/self/status"));
        assert!(refused("none", Some("kfd:/nowhere/at/all")).contains("/nowhere/at/all"));
        assert!(refused("none", Some("kfd:/")).contains("errno 21"));
    }
}
