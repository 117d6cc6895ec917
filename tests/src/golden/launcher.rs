//! The seam to what runs the code objects.

use super::{Case, Element, Reference, Target};

/// What a device under test implements.
pub trait Launcher {
    /// Loads the code object, writes the variables that have a value, runs the kernel once and waits
    /// for it, then reads the buffers and variables back into `launch`.
    ///
    /// # Errors
    ///
    /// Why it could not, for a person to read: a load error, a fault, a time-out.
    fn launch(&mut self, launch: &mut Launch<'_>) -> Result<(), String>;
}

/// One dispatch.
#[derive(Debug)]
pub struct Launch<'a> {
    /// Where the dispatch comes from; says the kernel and the target.
    pub case: Case,
    /// The ELF file.
    pub code_object: &'a [u8],
    /// Work-items. The packet has as many dimensions as the last one that is larger than 1.
    pub grid: [u32; 3],
    /// Work-items of a group.
    pub group: [u16; 3],
    /// LDS bytes in addition to the kernel's own.
    pub dynamic_lds: u32,
    /// Where the metadata say `.uses_dynamic_stack`, scratch bytes that an item needs beyond the fixed
    /// private segment.
    pub stack: u32,
    /// The explicit arguments. Hidden ones are the launcher's to fill, with a global offset of zero.
    pub args: Vec<Arg>,
    /// Variables of the program.
    pub globals: Vec<GlobalValue>,
}

impl Launch<'_> {
    /// The kernel's name, without the `.kd` of its descriptor.
    pub fn kernel(&self) -> &'static str {
        self.case.kernel.name
    }

    /// The target that the code object is for.
    pub fn target(&self) -> Target {
        self.case.target
    }
}

/// An argument's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg {
    /// Device memory with this content, 16-byte aligned or better; the argument is its address. After
    /// the launch, what the kernel left there.
    Buffer(Vec<u8>),
    /// A value, aligned to its size.
    Scalar(Vec<u8>),
}

/// A variable of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobalValue {
    /// The symbol in the code object.
    pub symbol: &'static str,
    /// What it holds.
    pub element: Element,
    /// Whether `bytes` is written before the launch, or the program's own value stays.
    pub write: bool,
    /// Its value; after the launch, what the kernel left there.
    pub bytes: Vec<u8>,
}

/// The reference in the role of a device: the engine's own test, and a way to time the host.
#[derive(Debug)]
pub struct HostLauncher<'a>(pub &'a Reference);

impl Launcher for HostLauncher<'_> {
    fn launch(&mut self, launch: &mut Launch<'_>) -> Result<(), String> {
        self.0.run(launch)
    }
}
