//! Middleware that reports every call.

use super::wrap::{Call, Hook};
use core::error::Error;
use core::fmt::Arguments;

/// Reports calls and what came of them to a function, a line each: `Wrap::new(backend, Trace(|line| …))`.
///
/// A doorbell is reported too; one that is a register is not a call, and is not.
#[derive(Clone, Copy, Debug)]
pub struct Trace<F>(pub F);

impl<F: Fn(Arguments<'_>) + Send + Sync> Hook for Trace<F> {
    fn after(&self, call: &Call<'_>, outcome: Result<u64, &dyn Error>) {
        match outcome {
            Ok(0) => (self.0)(format_args!("{call:?}")),
            Ok(number) => (self.0)(format_args!("{call:?} gives {number:#x}")),
            Err(error) => (self.0)(format_args!("{call:?} fails: {error}")),
        }
    }
}
