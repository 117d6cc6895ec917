//! The built objects: found, or built when first needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Case, Reference};

/// A directory of code objects and the host library.
#[derive(Clone, Debug)]
pub struct Objects {
    directory: PathBuf,
}

impl Objects {
    /// A directory that `build.sh` filled, or will.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Objects {
            directory: directory.into(),
        }
    }

    /// The directory that `RUKH_GOLDEN_OBJECTS` names, or one under the build directory that belongs to the
    /// present state of the sources.
    ///
    /// # Errors
    ///
    /// A source that cannot be read.
    pub fn standard() -> Result<Self, String> {
        if let Some(directory) = std::env::var_os("RUKH_GOLDEN_OBJECTS") {
            return Ok(Objects::at(directory));
        }
        let state =
            state_of_sources().map_err(|error| format!("{}: {error}", golden().display()))?;
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .unwrap_or(Path::new(""));
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or(workspace.join("target"), PathBuf::from);
        Ok(Objects::at(target.join(format!("golden-{state:016x}"))))
    }

    /// Where the case's code object is or will be.
    pub fn path(&self, case: &Case) -> PathBuf {
        self.directory.join(case.object()).with_extension("co")
    }

    /// The case's code object.
    ///
    /// # Errors
    ///
    /// What the build said.
    pub fn code_object(&self, case: &Case) -> Result<Vec<u8>, String> {
        let path = self.path(case);
        if !path.exists() {
            self.build(&[self.directory.as_os_str(), case.object().as_ref()])?;
        }
        fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Builds what is missing of the cases' code objects, all at once.
    ///
    /// # Errors
    ///
    /// What the build said.
    pub fn prepare(&self, cases: &[Case]) -> Result<(), String> {
        let mut missing: Vec<String> = cases
            .iter()
            .filter(|case| !self.path(case).exists())
            .map(Case::object)
            .collect();
        missing.sort();
        missing.dedup();
        if missing.is_empty() {
            return Ok(());
        }
        let mut arguments = vec![self.directory.as_os_str()];
        arguments.extend(missing.iter().map(std::ffi::OsStr::new));
        self.build(&arguments)
    }

    /// The host library.
    ///
    /// # Errors
    ///
    /// What the build or the dynamic linker said.
    pub fn reference(&self) -> Result<Reference, String> {
        let library = self.directory.join("libgolden_host.so");
        if !library.exists() {
            self.build(&["--host".as_ref(), self.directory.as_os_str()])?;
        }
        Reference::open(&library)
    }

    fn build(&self, arguments: &[&std::ffi::OsStr]) -> Result<(), String> {
        let script = golden().join("build.sh");
        let output = Command::new(&script).args(arguments).output();
        let output = output.map_err(|error| format!("{}: {error}", script.display()))?;
        if output.status.success() {
            return Ok(());
        }
        // The first error is the one to read.
        let said: String = String::from_utf8_lossy(&output.stderr)
            .chars()
            .take(2000)
            .collect();
        Err(format!(
            "{} {arguments:?}: {}\n{said}",
            script.display(),
            output.status
        ))
    }
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden")
}

/// FNV-1a of the build script and all sources.
fn state_of_sources() -> std::io::Result<u64> {
    let mut files = vec![golden().join("build.sh")];
    for entry in fs::read_dir(golden().join("src"))? {
        files.push(entry?.path());
    }
    files.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for file in files {
        for byte in fs::read(file)? {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    Ok(hash)
}
