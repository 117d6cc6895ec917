//! A bound on the work that a file can cause: sections may overlap, and lists be shared by all who name them.

use super::{MAX_STEPS, SourceError};

/// Steps that are left.
#[derive(Debug)]
pub(super) struct Work(u64);

impl Work {
    pub const fn new() -> Self {
        Self(MAX_STEPS)
    }

    /// Pays for `steps`.
    pub fn spend(&mut self, steps: usize) -> Result<(), SourceError> {
        match self.0.checked_sub(steps as u64) {
            Some(left) => {
                self.0 = left;
                Ok(())
            }
            None => Err(SourceError::TooMany {
                what: "steps of reading debug information",
                limit: MAX_STEPS,
            }),
        }
    }
}
