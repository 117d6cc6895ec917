//! `rukh-sim run`.

use crate::options::RunOptions;

/// Runs a kernel.
pub fn run(options: &RunOptions) -> Result<(), String> {
    Err(format!("{}: running is not possible yet", options.file.display()))
}
