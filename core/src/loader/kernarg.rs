//! Fills a kernel's argument block: the client's arguments and the hidden ones.
//!
//! Source: LLVM's "User Guide for AMDGPU Backend", tables of kernel argument metadata up to code
//! object version 5. Where an argument lies and which hidden ones there are comes from the
//! metadata, so versions 4 and 5 differ in data only.

use super::metadata::{Argument, KernelMetadata, MetadataError, ValueKind};
use super::text::Text;
#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use thiserror_no_std::Error;

/// The grid as a dispatch packet describes it, in work-items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Dimensions, 1 to 3. Sizes beyond them must be 1.
    pub dims: u8,
    /// Work-items of the grid.
    pub grid: [u32; 3],
    /// Work-items of a whole work-group.
    pub group: [u16; 3],
}

impl Grid {
    /// A grid with as many dimensions as its sizes need.
    #[must_use]
    pub const fn new(grid: [u32; 3], group: [u16; 3]) -> Self {
        let dims = if grid[2] > 1 || group[2] > 1 {
            3
        } else if grid[1] > 1 || group[1] > 1 {
            2
        } else {
            1
        };
        Self { dims, grid, group }
    }
}

/// One argument that the client passes.
#[derive(Clone, Copy, Debug)]
pub enum Explicit<'a> {
    /// The argument's bytes, exactly as many as it has.
    Bytes(&'a [u8]),
    /// For a pointer to dynamic LDS (an OpenCL `__local` parameter): how many bytes it gets. Its
    /// offset is computed.
    DynamicLds(u32),
}

/// What hidden arguments need beyond the grid. An address that is `None` is stored as 0; if
/// the kernel lists it, [`Filled::absent`] says so.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hidden {
    /// Offset of the grid's first work-item (OpenCL's global offset).
    pub global_offset: [u64; 3],
    /// Bytes of dynamic LDS besides [`Explicit::DynamicLds`] (HIP's launch parameter).
    pub dynamic_lds: u32,
    /// Address of the `amd_queue_t` that the packet goes to.
    pub queue_ptr: Option<u64>,
    /// Where flat addresses reach scratch: the aperture's address.
    pub private_base: Option<u64>,
    /// Where flat addresses reach LDS: the aperture's address.
    pub shared_base: Option<u64>,
    /// Address of the device-side heap.
    pub heap_v1: Option<u64>,
    /// Address of the buffer for calls to the host.
    pub hostcall_buffer: Option<u64>,
    /// Address of the state for synchronisation across devices.
    pub multigrid_sync_arg: Option<u64>,
    /// Address of the `printf` buffer.
    pub printf_buffer: Option<u64>,
    /// Address of the default device-side queue.
    pub default_queue: Option<u64>,
    /// Address of the completion action of device-side enqueue.
    pub completion_action: Option<u64>,
}

/// A filled argument block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    /// Bytes written: the kernel's `.kernarg_segment_size`.
    pub size: usize,
    /// Alignment that the block needs in memory, at least 16 (HSA Runtime 1.2, section 2.8).
    pub align: usize,
    /// LDS for the dispatch packet: the kernel's own and all dynamic LDS.
    pub group_segment_size: u32,
    /// Hidden addresses that the kernel lists and the caller did not give.
    pub absent: Absent,
}

bitflags::bitflags! {
    /// Hidden addresses that were stored as 0. Compilers list them whenever they cannot prove that a
    /// kernel does without, so a member here is a hint and no error.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Absent: u16 {
        /// [`Hidden::queue_ptr`].
        const QUEUE_PTR = 1 << 0;
        /// [`Hidden::private_base`].
        const PRIVATE_BASE = 1 << 1;
        /// [`Hidden::shared_base`].
        const SHARED_BASE = 1 << 2;
        /// [`Hidden::heap_v1`].
        const HEAP_V1 = 1 << 3;
        /// [`Hidden::hostcall_buffer`].
        const HOSTCALL_BUFFER = 1 << 4;
        /// [`Hidden::multigrid_sync_arg`].
        const MULTIGRID_SYNC_ARG = 1 << 5;
        /// [`Hidden::printf_buffer`].
        const PRINTF_BUFFER = 1 << 6;
        /// [`Hidden::default_queue`].
        const DEFAULT_QUEUE = 1 << 7;
        /// [`Hidden::completion_action`].
        const COMPLETION_ACTION = 1 << 8;
    }
}

/// Why arguments do not fit a kernel. `argument` is its name if the metadata has it, else its index.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KernargError {
    /// The kernel's metadata cannot be read.
    #[error("{0}")]
    Metadata(#[from] MetadataError),
    /// Another number of arguments than the kernel has.
    #[error("kernel {kernel} has {expected} arguments; {given} were given")]
    Count {
        /// The kernel.
        kernel: Text,
        /// How many it has.
        expected: usize,
        /// How many were given.
        given: usize,
    },
    /// An argument of another size than the kernel's.
    #[error("argument {argument} has {expected} bytes; {given} were given")]
    Size {
        /// The argument.
        argument: Text,
        /// Its size.
        expected: u32,
        /// Bytes given.
        given: usize,
    },
    /// Dynamic LDS for an argument that is no pointer to it.
    #[error("argument {argument} is no pointer to dynamic LDS")]
    NotDynamicLds {
        /// The argument.
        argument: Text,
    },
    /// An argument that reaches beyond the block.
    #[error(
        "argument {argument} at {offset}, {size} bytes, lies outside of the block's {block} bytes"
    )]
    Outside {
        /// The argument.
        argument: Text,
        /// Its offset.
        offset: u32,
        /// Its size.
        size: u32,
        /// Size of the block.
        block: u32,
    },
    /// An address or number that is not at a multiple of its size.
    #[error("argument {argument} of {size} bytes is not aligned at offset {offset}")]
    Misaligned {
        /// The argument.
        argument: Text,
        /// Its offset.
        offset: u32,
        /// Its size.
        size: u32,
    },
    /// A hidden argument of a kind that Rukh does not know. Its contents cannot be guessed.
    #[error("hidden argument kind {kind} is not supported")]
    UnknownHidden {
        /// The kind.
        kind: Text,
    },
    /// A hidden argument of another size than its kind has.
    #[error("hidden argument {kind} has {found} bytes; {expected} are defined")]
    HiddenSize {
        /// The kind.
        kind: Text,
        /// Size in the metadata.
        found: u32,
        /// Size that the kind has.
        expected: u32,
    },
    /// The buffer is smaller than the block.
    #[error("the kernel's arguments take {needed} bytes; the buffer has {given}")]
    Buffer {
        /// Size of the block.
        needed: u32,
        /// Size of the buffer.
        given: usize,
    },
    /// A grid that cannot be dispatched.
    #[error("dimension {dimension} of the grid has {grid} work-items in groups of {group}")]
    Grid {
        /// 0 for X, 1 for Y, 2 for Z.
        dimension: u8,
        /// Work-items of the grid.
        grid: u32,
        /// Work-items of a work-group.
        group: u16,
    },
    /// More or fewer dimensions than 1 to 3.
    #[error("a grid has 1 to 3 dimensions, not {dims}")]
    Dims {
        /// The number given.
        dims: u8,
    },
    /// The LDS of a work-group exceeds 32 bits.
    #[error("the kernel's LDS exceeds 4 GiB")]
    LdsOverflow,
}

crate::impl_error!(KernargError);

/// Fills the argument block of `kernel` at the start of `out`; bytes that belong to no argument
/// become zero.
///
/// `explicit` has one member for each argument that is not hidden, in the order of the signature.
/// Reads the kernel's metadata anew; with an allocator, a [`Layout`] has read it once.
///
/// # Errors
/// See [`KernargError`]. `out` may be written in part then.
pub fn fill(
    kernel: &KernelMetadata<'_>,
    grid: &Grid,
    explicit: &[Explicit<'_>],
    hidden: &Hidden,
    out: &mut [u8],
) -> Result<Filled, KernargError> {
    let slots = || kernel.args().map(|argument| Ok(Slot::of(&argument?)));
    fill_slots(&Block::of(kernel), slots, grid, explicit, hidden, out)
}

/// What filling needs of a kernel. Sizes in bytes.
#[derive(Clone, Copy, Debug)]
struct Block<'a> {
    kernel: &'a str,
    size: u32,
    align: u32,
    group_segment_size: u32,
}

impl<'a> Block<'a> {
    const fn of(kernel: &KernelMetadata<'a>) -> Self {
        Self {
            kernel: kernel.name,
            size: kernel.kernarg_segment_size,
            align: kernel.kernarg_segment_align,
            group_segment_size: kernel.group_segment_fixed_size,
        }
    }
}

/// What filling needs of an argument.
#[derive(Clone, Copy, Debug)]
struct Slot<'a> {
    name: Option<&'a str>,
    kind: ValueKind<'a>,
    offset: u32,
    size: u32,
    pointee_align: Option<u32>,
}

impl<'a> Slot<'a> {
    const fn of(argument: &Argument<'a>) -> Self {
        Self {
            name: argument.name,
            kind: argument.value_kind,
            offset: argument.offset,
            size: argument.size,
            pointee_align: argument.pointee_align,
        }
    }
}

fn fill_slots<'a, I: Iterator<Item = Result<Slot<'a>, KernargError>>>(
    block: &Block<'_>,
    slots: impl Fn() -> I,
    grid: &Grid,
    explicit: &[Explicit<'_>],
    hidden: &Hidden,
    out: &mut [u8],
) -> Result<Filled, KernargError> {
    check_grid(grid)?;
    let given = out.len();
    let out = out
        .get_mut(..block.size as usize)
        .ok_or(KernargError::Buffer {
            needed: block.size,
            given,
        })?;
    out.fill(0);
    let mut filler = Filler {
        grid,
        hidden,
        out,
        block: block.size,
        group_segment_size: block.group_segment_size,
        absent: Absent::empty(),
    };
    let mut expected = 0;
    for slot in slots() {
        let slot = slot?;
        if slot.kind.is_hidden() {
            continue;
        }
        // Of too few arguments the right number is only known at the end.
        if let Some(value) = explicit.get(expected) {
            filler.explicit(expected, &slot, value)?;
        }
        expected += 1;
    }
    if expected != explicit.len() {
        return Err(KernargError::Count {
            kernel: block.kernel.into(),
            expected,
            given: explicit.len(),
        });
    }
    filler.group_segment_size = filler
        .group_segment_size
        .checked_add(hidden.dynamic_lds)
        .ok_or(KernargError::LdsOverflow)?;
    // After the explicit ones: the size of dynamic LDS is known now.
    let dynamic_lds = filler
        .group_segment_size
        .saturating_sub(block.group_segment_size);
    for slot in slots() {
        let slot = slot?;
        if slot.kind.is_hidden() {
            filler.hidden(&slot, dynamic_lds)?;
        }
    }
    Ok(Filled {
        size: block.size as usize,
        align: (block.align as usize).max(16),
        group_segment_size: filler.group_segment_size,
        absent: filler.absent,
    })
}

/// A kernel's arguments, read from its metadata once, for kernels that are dispatched often.
#[cfg(feature = "alloc")]
#[derive(Clone, Debug)]
pub struct Layout {
    kernel: Text,
    size: u32,
    align: u32,
    group_segment_size: u32,
    slots: Box<[OwnedSlot]>,
}

#[cfg(feature = "alloc")]
#[derive(Clone, Debug)]
struct OwnedSlot {
    name: Option<Text>,
    kind: ValueKind<'static>,
    offset: u32,
    size: u32,
    pointee_align: Option<u32>,
}

#[cfg(feature = "alloc")]
impl Layout {
    /// Of a kernel.
    ///
    /// # Errors
    /// [`KernargError::Metadata`], [`KernargError::UnknownHidden`].
    pub fn new(kernel: &KernelMetadata<'_>) -> Result<Self, KernargError> {
        let slots = kernel
            .args()
            .map(|argument| {
                let argument = argument?;
                let kind = argument.value_kind;
                Ok(OwnedSlot {
                    name: argument.name.map(Text::new),
                    kind: match kind.known() {
                        Some(known) => known,
                        None if kind.is_hidden() => {
                            return Err(KernargError::UnknownHidden {
                                kind: kind.as_str().into(),
                            });
                        }
                        // What the client passes is copied as it is, whatever it means.
                        None => ValueKind::ByValue,
                    },
                    offset: argument.offset,
                    size: argument.size,
                    pointee_align: argument.pointee_align,
                })
            })
            .collect::<Result<_, KernargError>>()?;
        let block = Block::of(kernel);
        Ok(Self {
            kernel: block.kernel.into(),
            size: block.size,
            align: block.align,
            group_segment_size: block.group_segment_size,
            slots,
        })
    }

    /// Size of the argument block in bytes.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.size as usize
    }

    /// As [`fill`].
    ///
    /// # Errors
    /// As [`fill`].
    pub fn fill(
        &self,
        grid: &Grid,
        explicit: &[Explicit<'_>],
        hidden: &Hidden,
        out: &mut [u8],
    ) -> Result<Filled, KernargError> {
        let block = Block {
            kernel: self.kernel.as_str(),
            size: self.size,
            align: self.align,
            group_segment_size: self.group_segment_size,
        };
        let slots = || {
            self.slots.iter().map(|slot| {
                Ok(Slot {
                    name: slot.name.as_ref().map(Text::as_str),
                    kind: slot.kind,
                    offset: slot.offset,
                    size: slot.size,
                    pointee_align: slot.pointee_align,
                })
            })
        };
        fill_slots(&block, slots, grid, explicit, hidden, out)
    }
}

/// Checks that a grid can be dispatched.
///
/// # Errors
/// [`KernargError::Dims`], [`KernargError::Grid`].
pub fn check_grid(grid: &Grid) -> Result<(), KernargError> {
    if !(1..=3).contains(&grid.dims) {
        return Err(KernargError::Dims { dims: grid.dims });
    }
    for ((dimension, items), group) in (0u8..).zip(grid.grid).zip(grid.group) {
        let beyond = dimension >= grid.dims && (items != 1 || group != 1);
        if items == 0 || group == 0 || beyond {
            return Err(KernargError::Grid {
                dimension,
                grid: items,
                group,
            });
        }
    }
    Ok(())
}

struct Filler<'a> {
    grid: &'a Grid,
    hidden: &'a Hidden,
    out: &'a mut [u8],
    block: u32,
    group_segment_size: u32,
    absent: Absent,
}

impl Filler<'_> {
    fn explicit(
        &mut self,
        index: usize,
        argument: &Slot<'_>,
        value: &Explicit<'_>,
    ) -> Result<(), KernargError> {
        let name = || match argument.name {
            Some(name) => Text::new(name),
            None => number_text(index),
        };
        let kind = argument.kind;
        // Only of addresses is the alignment known from the size.
        let aligned = kind.is_address() || kind == ValueKind::DynamicSharedPointer;
        if aligned && argument.size != 0 && !argument.offset.is_multiple_of(argument.size) {
            return Err(KernargError::Misaligned {
                argument: name(),
                offset: argument.offset,
                size: argument.size,
            });
        }
        let lds_offset;
        let bytes = match *value {
            Explicit::Bytes(bytes) => bytes,
            Explicit::DynamicLds(size) if kind == ValueKind::DynamicSharedPointer => {
                lds_offset = self.add_lds(argument, size)?.to_le_bytes();
                &lds_offset[..]
            }
            Explicit::DynamicLds(_) => {
                return Err(KernargError::NotDynamicLds { argument: name() });
            }
        };
        if bytes.len() != argument.size as usize {
            return Err(KernargError::Size {
                argument: name(),
                expected: argument.size,
                given: bytes.len(),
            });
        }
        self.store(argument, bytes)
            .ok_or_else(|| KernargError::Outside {
                argument: name(),
                offset: argument.offset,
                size: argument.size,
                block: self.block,
            })
    }

    /// Gives an argument `size` bytes of LDS after what is taken; returns their offset.
    fn add_lds(&mut self, argument: &Slot<'_>, size: u32) -> Result<u32, KernargError> {
        let align = argument.pointee_align.unwrap_or(16).max(1);
        let offset = self
            .group_segment_size
            .checked_next_multiple_of(align)
            .ok_or(KernargError::LdsOverflow)?;
        self.group_segment_size = offset.checked_add(size).ok_or(KernargError::LdsOverflow)?;
        Ok(offset)
    }

    fn hidden(&mut self, argument: &Slot<'_>, dynamic_lds: u32) -> Result<(), KernargError> {
        use ValueKind as K;
        let kind = argument.kind;
        let (g, h) = (self.grid, self.hidden);
        // A grid that was checked has no groups of 0.
        let whole = |d: usize| g.grid[d] / u32::from(g.group[d]).max(1);
        let rest = |d: usize| g.grid[d] % u32::from(g.group[d]).max(1);
        let half = |base: Option<u64>| base.map(|b| b >> 32);
        let (size, value): (u32, u64) = match kind {
            K::HiddenNone => return Ok(()),
            K::HiddenGlobalOffsetX => (8, h.global_offset[0]),
            K::HiddenGlobalOffsetY => (8, h.global_offset[1]),
            K::HiddenGlobalOffsetZ => (8, h.global_offset[2]),
            K::HiddenBlockCountX => (4, whole(0).into()),
            K::HiddenBlockCountY => (4, whole(1).into()),
            K::HiddenBlockCountZ => (4, whole(2).into()),
            K::HiddenGroupSizeX => (2, g.group[0].into()),
            K::HiddenGroupSizeY => (2, g.group[1].into()),
            K::HiddenGroupSizeZ => (2, g.group[2].into()),
            K::HiddenRemainderX => (2, rest(0).into()),
            K::HiddenRemainderY => (2, rest(1).into()),
            K::HiddenRemainderZ => (2, rest(2).into()),
            K::HiddenGridDims => (2, g.dims.into()),
            K::HiddenDynamicLdsSize => (4, dynamic_lds.into()),
            K::HiddenPrivateBase => (4, self.address(half(h.private_base), Absent::PRIVATE_BASE)),
            K::HiddenSharedBase => (4, self.address(half(h.shared_base), Absent::SHARED_BASE)),
            K::HiddenQueuePtr => (8, self.address(h.queue_ptr, Absent::QUEUE_PTR)),
            K::HiddenHeapV1 => (8, self.address(h.heap_v1, Absent::HEAP_V1)),
            K::HiddenHostcallBuffer => {
                (8, self.address(h.hostcall_buffer, Absent::HOSTCALL_BUFFER))
            }
            K::HiddenMultigridSyncArg => (
                8,
                self.address(h.multigrid_sync_arg, Absent::MULTIGRID_SYNC_ARG),
            ),
            K::HiddenPrintfBuffer => (8, self.address(h.printf_buffer, Absent::PRINTF_BUFFER)),
            K::HiddenDefaultQueue => (8, self.address(h.default_queue, Absent::DEFAULT_QUEUE)),
            K::HiddenCompletionAction => (
                8,
                self.address(h.completion_action, Absent::COMPLETION_ACTION),
            ),
            _ => {
                return Err(KernargError::UnknownHidden {
                    kind: kind.as_str().into(),
                });
            }
        };
        if argument.size != size {
            return Err(KernargError::HiddenSize {
                kind: kind.as_str().into(),
                found: argument.size,
                expected: size,
            });
        }
        if !argument.offset.is_multiple_of(size) {
            return Err(KernargError::Misaligned {
                argument: kind.as_str().into(),
                offset: argument.offset,
                size,
            });
        }
        self.store(argument, &value.to_le_bytes()[..size as usize])
            .ok_or_else(|| KernargError::Outside {
                argument: kind.as_str().into(),
                offset: argument.offset,
                size,
                block: self.block,
            })
    }

    fn address(&mut self, address: Option<u64>, flag: Absent) -> u64 {
        address.unwrap_or_else(|| {
            self.absent |= flag;
            0
        })
    }

    fn store(&mut self, argument: &Slot<'_>, bytes: &[u8]) -> Option<()> {
        let start = argument.offset as usize;
        self.out
            .get_mut(start..start.checked_add(bytes.len())?)?
            .copy_from_slice(bytes);
        Some(())
    }
}

/// An argument without a name: `#2`. Without the formatting of core's library, which is as large as all of this file.
fn number_text(index: usize) -> Text {
    // 20 digits at most, and a sign before them.
    let mut text = [b'#'; 21];
    let mut rest = index;
    let mut start = text.len() - 1;
    for digit in text.iter_mut().skip(1).rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
        start -= 1;
        if rest == 0 {
            break;
        }
    }
    let text = text.get(start..).unwrap_or(&[]);
    Text::new(str::from_utf8(text).unwrap_or("#"))
}
