//! Starting the one thread that a runtime may have.

use super::error::SpawnError;
use alloc::boxed::Box;

/// Starts threads.
pub trait Spawn: Send + Sync {
    /// Runs `body` on a thread of its own.
    ///
    /// # Errors
    /// [`SpawnError`].
    fn spawn(
        &self,
        name: &str,
        body: Box<dyn FnOnce() + Send>,
    ) -> Result<Box<dyn Join>, SpawnError>;
}

/// A thread that was started.
pub trait Join: Send {
    /// Whether the caller is this thread, which cannot wait for itself.
    fn is_current(&self) -> bool;

    /// Waits for its end.
    fn join(self: Box<Self>);
}

#[cfg(feature = "std")]
mod threads {
    use super::{Box, Join, Spawn, SpawnError};
    use std::string::ToString;
    use std::thread;

    /// Threads of the standard library.
    #[derive(Clone, Copy, Debug)]
    pub struct StdSpawn;

    impl Spawn for StdSpawn {
        fn spawn(
            &self,
            name: &str,
            body: Box<dyn FnOnce() + Send>,
        ) -> Result<Box<dyn Join>, SpawnError> {
            let handle = thread::Builder::new()
                .name(name.to_string())
                .spawn(body)
                .map_err(|error| SpawnError {
                    errno: error.raw_os_error().unwrap_or(0),
                })?;
            Ok(Box::new(handle))
        }
    }

    impl Join for thread::JoinHandle<()> {
        fn is_current(&self) -> bool {
            self.thread().id() == thread::current().id()
        }

        fn join(self: Box<Self>) {
            // A panic of a callback has been reported by the panic hook; there is nothing to add.
            let _ = thread::JoinHandle::join(*self);
        }
    }
}
#[cfg(feature = "std")]
pub use threads::StdSpawn;
