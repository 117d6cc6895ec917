//! One kernel argument, as the metadata describes it.

use super::metadata::{MetadataError, boolean, number, string, words, wrong};
use super::msgpack::{Map, Value};

words! {
    /// What an argument is (`.value_kind`). Names that begin with `Hidden` are arguments that the
    /// compiler added and whoever dispatches fills in; see [`super::kernarg`].
    ValueKind {
        /// Copied as it is.
        ByValue = "by_value",
        /// Address of global memory.
        GlobalBuffer = "global_buffer",
        /// LDS offset of dynamic LDS, which whoever dispatches adds to the kernel's own.
        DynamicSharedPointer = "dynamic_shared_pointer",
        /// Address of a sampler.
        Sampler = "sampler",
        /// Address of an image.
        Image = "image",
        /// Address of a pipe.
        Pipe = "pipe",
        /// Address of a device-side queue.
        Queue = "queue",
        /// Offset of the grid's first work-item in X.
        HiddenGlobalOffsetX = "hidden_global_offset_x",
        /// Offset of the grid's first work-item in Y.
        HiddenGlobalOffsetY = "hidden_global_offset_y",
        /// Offset of the grid's first work-item in Z.
        HiddenGlobalOffsetZ = "hidden_global_offset_z",
        /// Unused space.
        HiddenNone = "hidden_none",
        /// Address of the buffer for `printf`.
        HiddenPrintfBuffer = "hidden_printf_buffer",
        /// Address of the buffer for calls to the host.
        HiddenHostcallBuffer = "hidden_hostcall_buffer",
        /// Address of the default device-side queue.
        HiddenDefaultQueue = "hidden_default_queue",
        /// Address of the completion action of device-side enqueue.
        HiddenCompletionAction = "hidden_completion_action",
        /// Address of the state of grids that synchronise across devices.
        HiddenMultigridSyncArg = "hidden_multigrid_sync_arg",
        /// Whole work-groups in X.
        HiddenBlockCountX = "hidden_block_count_x",
        /// Whole work-groups in Y.
        HiddenBlockCountY = "hidden_block_count_y",
        /// Whole work-groups in Z.
        HiddenBlockCountZ = "hidden_block_count_z",
        /// Work-items of a whole work-group in X.
        HiddenGroupSizeX = "hidden_group_size_x",
        /// Work-items of a whole work-group in Y.
        HiddenGroupSizeY = "hidden_group_size_y",
        /// Work-items of a whole work-group in Z.
        HiddenGroupSizeZ = "hidden_group_size_z",
        /// Work-items of the partial work-group in X, or 0.
        HiddenRemainderX = "hidden_remainder_x",
        /// Work-items of the partial work-group in Y, or 0.
        HiddenRemainderY = "hidden_remainder_y",
        /// Work-items of the partial work-group in Z, or 0.
        HiddenRemainderZ = "hidden_remainder_z",
        /// Dimensions of the grid, 1 to 3.
        HiddenGridDims = "hidden_grid_dims",
        /// Address of the device-side heap.
        HiddenHeapV1 = "hidden_heap_v1",
        /// Bytes of dynamic LDS.
        HiddenDynamicLdsSize = "hidden_dynamic_lds_size",
        /// High 32 bits of the address where flat addresses reach scratch; up to gfx8.
        HiddenPrivateBase = "hidden_private_base",
        /// High 32 bits of the address where flat addresses reach LDS; up to gfx8.
        HiddenSharedBase = "hidden_shared_base",
        /// Address of the `amd_queue_t`.
        HiddenQueuePtr = "hidden_queue_ptr",
    }
}

impl ValueKind<'_> {
    /// Whether the compiler added it, so that the client does not pass it. Unknown kinds follow
    /// their name.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        self.as_str().starts_with("hidden_")
    }

    /// Whether it is an address that the client passes.
    #[must_use]
    pub fn is_address(&self) -> bool {
        matches!(
            self,
            Self::GlobalBuffer | Self::Sampler | Self::Image | Self::Pipe | Self::Queue
        )
    }
}

words! {
    /// Type of a value (`.value_type`, code object version 3 and before).
    ValueType {
        /// A structure.
        Struct = "struct",
        /// Signed, 8 bits.
        I8 = "i8",
        /// Unsigned, 8 bits.
        U8 = "u8",
        /// Signed, 16 bits.
        I16 = "i16",
        /// Unsigned, 16 bits.
        U16 = "u16",
        /// Floating point, 16 bits.
        F16 = "f16",
        /// Signed, 32 bits.
        I32 = "i32",
        /// Unsigned, 32 bits.
        U32 = "u32",
        /// Floating point, 32 bits.
        F32 = "f32",
        /// Signed, 64 bits.
        I64 = "i64",
        /// Unsigned, 64 bits.
        U64 = "u64",
        /// Floating point, 64 bits.
        F64 = "f64",
    }
}

words! {
    /// Address space of a pointer (`.address_space`).
    AddressSpace {
        /// Of a work-item.
        Private = "private",
        /// Of all agents.
        Global = "global",
        /// Global and not written.
        Constant = "constant",
        /// Of a work-group.
        Local = "local",
        /// Any of them.
        Generic = "generic",
        /// Of an agent (GDS).
        Region = "region",
    }
}

words! {
    /// How memory is used (`.access`, `.actual_access`).
    Access {
        /// Only read.
        ReadOnly = "read_only",
        /// Only written.
        WriteOnly = "write_only",
        /// Both.
        ReadWrite = "read_write",
    }
}

/// One argument. Sizes, offsets and alignments are in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Argument<'a> {
    /// `.name`; compilers only write it on request.
    pub name: Option<&'a str>,
    /// `.type_name`.
    pub type_name: Option<&'a str>,
    /// `.offset` in the kernel arguments.
    pub offset: u32,
    /// `.size`.
    pub size: u32,
    /// `.value_kind`.
    pub value_kind: ValueKind<'a>,
    /// `.value_type`.
    pub value_type: Option<ValueType<'a>>,
    /// `.pointee_align` of a pointer to dynamic LDS.
    pub pointee_align: Option<u32>,
    /// `.address_space`.
    pub address_space: Option<AddressSpace<'a>>,
    /// `.access`: as declared.
    pub access: Option<Access<'a>>,
    /// `.actual_access`: as the kernel does.
    pub actual_access: Option<Access<'a>>,
    /// `.is_const`.
    pub is_const: bool,
    /// `.is_restrict`.
    pub is_restrict: bool,
    /// `.is_volatile`.
    pub is_volatile: bool,
    /// `.is_pipe`.
    pub is_pipe: bool,
    map: Map<'a>,
}

impl<'a> Argument<'a> {
    pub(super) fn parse(map: Map<'a>) -> Result<Self, MetadataError> {
        let mut offset = None;
        let mut size = None;
        let mut value_kind = None;
        let mut a = Self {
            name: None,
            type_name: None,
            offset: 0,
            size: 0,
            value_kind: ValueKind::HiddenNone,
            value_type: None,
            pointee_align: None,
            address_space: None,
            access: None,
            actual_access: None,
            is_const: false,
            is_restrict: false,
            is_volatile: false,
            is_pipe: false,
            map,
        };
        for entry in map.entries() {
            let (Value::Str(key), value) = entry? else {
                continue;
            };
            match key {
                ".name" => a.name = Some(string(key, value)?),
                ".type_name" => a.type_name = Some(string(key, value)?),
                ".offset" => offset = Some(number(key, value)?),
                ".size" => size = Some(number(key, value)?),
                ".value_kind" => value_kind = Some(string(key, value)?.into()),
                ".value_type" => a.value_type = Some(string(key, value)?.into()),
                ".pointee_align" => {
                    let align = number(key, value)?;
                    if !align.is_power_of_two() {
                        return Err(wrong(key, "a power of two"));
                    }
                    a.pointee_align = Some(align);
                }
                ".address_space" => a.address_space = Some(string(key, value)?.into()),
                ".access" => a.access = Some(string(key, value)?.into()),
                ".actual_access" => a.actual_access = Some(string(key, value)?.into()),
                ".is_const" => a.is_const = boolean(key, value)?,
                ".is_restrict" => a.is_restrict = boolean(key, value)?,
                ".is_volatile" => a.is_volatile = boolean(key, value)?,
                ".is_pipe" => a.is_pipe = boolean(key, value)?,
                _ => {}
            }
        }
        let missing = |key| MetadataError::Missing {
            of: a.name.unwrap_or("an argument").into(),
            key,
        };
        a.offset = offset.ok_or_else(|| missing(".offset"))?;
        a.size = size.ok_or_else(|| missing(".size"))?;
        a.value_kind = value_kind.ok_or_else(|| missing(".value_kind"))?;
        Ok(a)
    }

    /// The whole map, for keys that this type does not know.
    #[must_use]
    pub fn raw(&self) -> Map<'a> {
        self.map
    }
}
