//! What the record has that no [`KfdPort`](rukh_core::kfd::KfdPort) does: files as the system sees them, and processes.

/// A system with processes.
pub trait System {
    /// Opens `/dev/kfd` for reading alone, or for both; a file that a program that is started keeps.
    fn open(&self, read_only: bool) -> Result<i32, i32>;
    /// Closes a file.
    fn close(&self, file: i32);
    /// A second number of a file.
    fn duplicate(&self, file: i32) -> i32;
    /// An ioctl whose argument is at address 0.
    fn ioctl_null(&self, file: i32, request: u32) -> Result<(), i32>;
    /// Maps the event page for the process alone.
    fn map_private(&self, file: i32, offset: u64, size: usize) -> Result<(), i32>;
    /// The answer of what has no argument, by its label in the record.
    fn ask(&self, label: &str, file: i32) -> String;
    /// Runs something in a child process, which is given a pipe; the lines that came through it, and its status.
    fn child(&self, run: &mut dyn FnMut(i32)) -> (Vec<String>, i32);
    /// Becomes the same program anew, which makes [`after_exec`](super::after_exec) with a file and a pipe.
    fn exec(&self, file: i32, pipe: i32);
    /// Writes a line to a pipe.
    fn write_line(&self, pipe: i32, line: &str);
    /// Names in a folder, sorted.
    fn list(&self, path: &str) -> Vec<String>;
}
