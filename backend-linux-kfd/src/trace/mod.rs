//! Recordings: every call of a port written down, and a port that answers from what was written.
//!
//! A recording is text, one call a line, so that a person can read it and a user can send it:
//!
//! ```text
//! rukh-kfd-trace 1
//! open "/dev/kfd" = 4
//! ioctl 4 GET_VERSION 0x80084b01 -> major_version=0x1 minor_version=0x11 = 0
//! read "/sys/devices/virtual/kfd/kfd/topology/generation_id" = "2\n"
//! ioctl 4 ALLOC_MEMORY_OF_GPU 0xc0284b16 va_addr=0x7f2000 size=0x1000 gpu_id=0xc83d flags=0xd0000001 -> handle=0x1 = 0
//! map 5 0x100000000 0x1000 rw fixed 0x7f2000 = 0x7f2000
//! ```
//!
//! Fields that are zero are left out before the arrow, those that the call did not change behind it. `array=` is what lies
//! behind the argument's pointer, in hexadecimal; an ioctl that the table does not know has `bytes=`. A call that failed
//! ends with `= errno N`.
//!
//! [`TracePort`] writes, through any [`TraceSink`]; [`ReplayPort`] answers. Recordings hold what the driver says about the
//! machine (ids of boards among it) and addresses, and no contents of memory.
//!
//! ```no_run
//! use rukh_backend_linux_kfd::KfdBackend;
//! use rukh_backend_linux_kfd::sys::{FileSink, LinuxPort};
//! use rukh_backend_linux_kfd::trace::{ReplayPort, TracePort};
//!
//! // On the machine with the GPU:
//! let file = FileSink::create("kfd.trace")?;
//! let backend = KfdBackend::open(TracePort::new(LinuxPort, file))?;
//! // On any machine, later:
//! let recording = std::fs::read_to_string("kfd.trace")?;
//! let backend = KfdBackend::open(ReplayPort::new(&recording, LinuxPort)?)?;
//! assert!(backend.kfd().port().differences().is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod layout;
mod port;
mod record;
mod replay;

pub use port::{TracePort, TraceSink};
pub use record::{ParseError, Record};
pub use replay::ReplayPort;

/// The first line of a recording.
pub const HEADER: &str = "rukh-kfd-trace 1";

/// The file that the value of `RUKH_TRACE` names for this backend: `kfd:FILE`, alone or in a list with commas.
pub fn file_of(variable: &str) -> Option<&str> {
    variable
        .split(',')
        .find_map(|part| part.trim().strip_prefix("kfd:"))
        .filter(|file| !file.is_empty())
}
