//! Chapter status: texts of status codes.

use crate::abi::Status;
use crate::arg::Out;
use crate::entry::entry;
use core::ffi::c_char;

entry! {
    /// `hsa_status_string`: the name and meaning of a status code. Works before `hsa_init` too.
    fn hsa_status_string(status: Status, status_string: Out<*const c_char>) {
        let place = status_string.required()?;
        place.put(status.text().ok_or(Status::INVALID_ARGUMENT)?.as_ptr());
        Ok(())
    }
}
