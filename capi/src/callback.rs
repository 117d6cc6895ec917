//! Calling back into the client.
//!
//! Everything here runs outside of the panic boundary and with no lock held: a C++ exception that a
//! callback throws passes through these frames to the client's own code, and a callback may call
//! any function of this library.

use crate::abi::{Status, Visit};
use crate::entry::Result;
use core::ffi::c_void;

/// Shows each item to the client, until an answer is not SUCCESS: that answer is the result.
pub fn each<T: Copy>(
    callback: Visit<T>,
    items: impl IntoIterator<Item = T>,
    data: *mut c_void,
) -> Result {
    let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
    for item in items {
        // SAFETY: a function of this type, by the contract of the export that it is an argument of.
        stop_unless_success(unsafe { callback(item, data) })?;
    }
    Ok(())
}

/// Ends an iteration with the callback's answer unless it is SUCCESS.
pub fn stop_unless_success(answer: Status) -> Result {
    if answer == Status::SUCCESS {
        Ok(())
    } else {
        Err(answer)
    }
}
