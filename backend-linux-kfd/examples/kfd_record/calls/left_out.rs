//! The lines of the records that no port is asked, in the records' order: why, and who answers them instead.

/// Who answers a line that a port is not asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answered {
    /// The software GPU's face too, with the preload library before a whole process (`tests/scripts/kfd_record.sh`).
    OverPreload,
    /// The kernels alone, in a virtual machine (`tests/scripts/vm.sh`): what the preload library answers otherwise stands
    /// with the reason in `tests/records/kfd-preload-differences.txt`.
    ByKernels,
    /// Nobody: it is no answer of the driver's.
    Not,
}
use Answered::{ByKernels, Not, OverPreload};

/// A line that is left out.
pub struct LeftOut {
    /// How the line begins; `N` stands for a number that is all of it, and nothing for an empty line.
    pub line: &'static str,
    /// Why a port is not asked.
    pub reason: &'static str,
    #[allow(
        dead_code,
        reason = "the test that replays the records in process reads it"
    )]
    pub answered: Answered,
}

impl LeftOut {
    /// Whether this is the line.
    pub fn is(&self, line: &str) -> bool {
        let line = line.trim();
        match self.line {
            "" => line.is_empty(),
            "N" => !line.is_empty() && line.chars().all(|c| c.is_ascii_digit()),
            begin => line.starts_with(begin),
        }
    }
}

const BANNER: &str = "printed by the machine that made the record, not by the driver";
const NO_FLAGS: &str = "a port opens for reading and writing alone";
const NO_SUCH_CALL: &str = "a port has ioctl and mmap, not this system call";
const NO_PRIVATE: &str = "a port has no private mappings of a file";
const NO_RESTART: &str =
    "a sleep with a timeout cannot tell the face whether the signal's handler has calls restarted";
const NO_CHILD: &str = "the face is in the process and goes with it: what puts it before programs keeps processes apart";
const NO_SYS: &str = "the face's files are those that a client reads: the topology";

const fn row(line: &'static str, reason: &'static str, answered: Answered) -> LeftOut {
    LeftOut {
        line,
        reason,
        answered,
    }
}

/// All of them.
pub const LEFT_OUT: &[LeftOut] = &[
    row("INIT uptime", BANNER, Not),
    row("MODS uptime", BANNER, Not),
    row("=== /t/kfdtest", BANNER, Not),
    row("stat mode", NO_SUCH_CALL, ByKernels),
    row("open O_RDONLY", NO_FLAGS, OverPreload),
    row("GET_VERSION on O_RDONLY", NO_FLAGS, OverPreload),
    row("open via int80", NO_FLAGS, ByKernels),
    row("read ret", NO_SUCH_CALL, ByKernels),
    row("write ret", NO_SUCH_CALL, ByKernels),
    row("poll ret", NO_SUCH_CALL, OverPreload),
    row("lseek ret", NO_SUCH_CALL, ByKernels),
    row("F_GETFL", NO_SUCH_CALL, OverPreload),
    row("mmap EVENTS MAP_PRIVATE", NO_PRIVATE, ByKernels),
    row("WAIT t=200, signal@50ms SA_RESTART", NO_RESTART, ByKernels),
    row("dup fd GET_VERSION", NO_SUCH_CALL, OverPreload),
    row("child (fork): GET_VERSION", NO_CHILD, OverPreload),
    row("child: CREATE_EVENT inherited", NO_CHILD, OverPreload),
    row("child: mmap EVENTS inherited", NO_CHILD, ByKernels),
    row("event page in child", NO_CHILD, OverPreload),
    row("child: own open", NO_CHILD, OverPreload),
    row("child: own GET_VERSION", NO_CHILD, OverPreload),
    row("child: own CREATE_EVENT", NO_CHILD, OverPreload),
    row("child status", NO_CHILD, OverPreload),
    row("after-execve GET_VERSION", NO_CHILD, ByKernels),
    row("after-execve CREATE_EVENT", NO_CHILD, ByKernels),
    row("exec child status", NO_CHILD, OverPreload),
    row("/sys/class/kfd/kfd/proc/", NO_SYS, ByKernels),
    row("/sys/class/kfd/kfd/proc:", NO_SYS, OverPreload),
    row("N", NO_SYS, ByKernels),
    row("", NO_SYS, OverPreload),
    row("/sys/class/kfd/kfd/proc/", NO_SYS, OverPreload),
    row("pasid   queues", NO_SYS, ByKernels),
    row("", NO_SYS, OverPreload),
    row("/sys/class/kfd/kfd/proc/", NO_SYS, OverPreload),
    row("KFDTEST DONE", BANNER, Not),
    row("=== rc=0", BANNER, Not),
];
