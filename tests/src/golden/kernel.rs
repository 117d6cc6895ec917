//! What a kernel of the catalogue needs, and what is compared afterwards.

use super::{Compare, Element, Fill, Target, Version};

/// A kernel, one launch of it, and what must come out.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The source file in `tests/golden/src`, without its ending.
    pub file: &'static str,
    /// The kernel's name; its descriptor is the symbol `NAME.kd`.
    pub name: &'static str,
    /// Tells apart several launches of one kernel; usually empty.
    pub variant: &'static str,
    /// Work-items of the grid, which the group's need not divide.
    pub grid: [u32; 3],
    /// Work-items of a work-group.
    pub group: [u16; 3],
    /// LDS bytes in addition to the kernel's own.
    pub dynamic_lds: u32,
    /// Bytes of call stack an item may use beyond the fixed private segment, where the metadata say
    /// `.uses_dynamic_stack`.
    pub stack: u32,
    /// The explicit arguments, in order.
    pub parameters: Vec<Parameter>,
    /// Variables of the program that are written before or compared after the launch.
    pub globals: Vec<Global>,
    /// The targets that have the instructions.
    pub targets: &'static [Target],
    /// The generic processors that it is compiled for too.
    pub generic: &'static [Target],
    /// The code object versions that have the kernel.
    pub versions: &'static [Version],
}

/// An explicit kernel argument.
#[derive(Clone, Debug)]
pub enum Parameter {
    /// Memory. Everything is compared, so that a write to an input is found too.
    Buffer {
        /// What it holds.
        element: Element,
        /// How many.
        count: usize,
        /// Before the launch.
        fill: Fill,
        /// After it.
        compare: Compare,
    },
    /// A value of 2, 4 or 8 bytes, aligned to its size.
    Scalar(Vec<u8>),
}

/// A variable of the program. The host library exports it under the same name as the code object.
#[derive(Clone, Debug)]
pub struct Global {
    /// The symbol.
    pub symbol: &'static str,
    /// What it holds.
    pub element: Element,
    /// How many.
    pub count: usize,
    /// What the host writes to it before the launch; without it, the program's own value stays.
    pub write: Option<Fill>,
    /// After the launch.
    pub compare: Compare,
}

impl Kernel {
    /// A launch with nothing special: one dimension, every target and version.
    pub(crate) fn new(file: &'static str, name: &'static str, grid: u32, group: u16) -> Self {
        Kernel {
            file,
            name,
            variant: "",
            grid: [grid, 1, 1],
            group: [group, 1, 1],
            dynamic_lds: 0,
            // As much as HIP gives. At -O0 the compiler counts no callee of any kernel.
            stack: 1024,
            parameters: Vec::new(),
            globals: Vec::new(),
            targets: Target::ALL,
            generic: &[],
            versions: &Version::ALL,
        }
    }

    pub(crate) fn grid(mut self, grid: [u32; 3], group: [u16; 3]) -> Self {
        (self.grid, self.group) = (grid, group);
        self
    }

    pub(crate) fn variant(mut self, variant: &'static str) -> Self {
        self.variant = variant;
        self
    }

    pub(crate) fn dynamic_lds(mut self, bytes: u32) -> Self {
        self.dynamic_lds = bytes;
        self
    }

    pub(crate) fn stack(mut self, bytes: u32) -> Self {
        self.stack = bytes;
        self
    }

    pub(crate) fn targets(mut self, targets: &'static [Target]) -> Self {
        self.targets = targets;
        self
    }

    /// Also as code for generic processors.
    pub(crate) fn generic(mut self) -> Self {
        self.generic = Target::GENERIC;
        self
    }

    pub(crate) fn versions(mut self, versions: &'static [Version]) -> Self {
        self.versions = versions;
        self
    }

    /// A buffer that is compared bit by bit.
    pub(crate) fn buffer(self, element: Element, count: usize, fill: Fill) -> Self {
        self.compared(element, count, fill, Compare::Exact)
    }

    pub(crate) fn compared(
        mut self,
        element: Element,
        count: usize,
        fill: Fill,
        compare: Compare,
    ) -> Self {
        self.parameters.push(Parameter::Buffer {
            element,
            count,
            fill,
            compare,
        });
        self
    }

    pub(crate) fn u32(self, value: u32) -> Self {
        self.scalar(&value.to_le_bytes())
    }

    pub(crate) fn u64(self, value: u64) -> Self {
        self.scalar(&value.to_le_bytes())
    }

    pub(crate) fn f32(self, value: f32) -> Self {
        self.scalar(&value.to_le_bytes())
    }

    pub(crate) fn scalar(mut self, bytes: &[u8]) -> Self {
        self.parameters.push(Parameter::Scalar(bytes.to_vec()));
        self
    }

    pub(crate) fn global(
        mut self,
        symbol: &'static str,
        element: Element,
        count: usize,
        write: Option<Fill>,
    ) -> Self {
        self.globals.push(Global {
            symbol,
            element,
            count,
            write,
            compare: Compare::Exact,
        });
        self
    }
}
