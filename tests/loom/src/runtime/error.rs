//! What core's files name: why a signal is refused.

use crate::signal::SignalHandle;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignalError {
    BadHandle { handle: SignalHandle },
}
