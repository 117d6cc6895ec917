//! Metadata: what the compiler says about kernels and their arguments, in the AMDGPU note.
//!
//! Source: LLVM's "User Guide for AMDGPU Backend", sections "Code Object V3 Metadata" to "Code Object
//! V5 Metadata". Keys and words that Rukh does not know are kept as `Other`.

use super::msgpack::{Array, Map, MsgPackError, Reader, Value};
use super::text::Text;
use thiserror_no_std::Error;

pub use super::argument::{Access, AddressSpace, Argument, ValueKind, ValueType};

/// Why metadata cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MetadataError {
    /// The encoding is broken.
    #[error("metadata: {0}")]
    MsgPack(#[from] MsgPackError),
    /// A value has a type or a size that its key does not have.
    #[error("metadata: {key} is not {expected}")]
    Value {
        /// The key.
        key: Text,
        /// What the key's value is.
        expected: &'static str,
    },
    /// A key that the specification requires is missing.
    #[error("metadata: {of} has no {key}")]
    Missing {
        /// What lacks it: a kernel's name if that is known.
        of: Text,
        /// The key.
        key: &'static str,
    },
}

crate::impl_error!(MetadataError);

/// Declares an enum of the words that the specification defines for a key.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name<'a> {
            $($(#[$variant_meta])* $variant,)*
            /// Another word.
            Other(&'a str),
        }

        impl<'a> $name<'a> {
            /// The word as in the metadata.
            #[must_use]
            pub fn as_str(&self) -> &'a str {
                match *self {
                    $(Self::$variant => $word,)*
                    Self::Other(word) => word,
                }
            }

            /// The same without the file's lifetime, if it is a known word.
            #[must_use]
            pub const fn known(&self) -> Option<$name<'static>> {
                match *self {
                    $(Self::$variant => Some($name::$variant),)*
                    Self::Other(_) => None,
                }
            }
        }

        impl<'a> From<&'a str> for $name<'a> {
            fn from(word: &'a str) -> Self {
                match word {
                    $($word => Self::$variant,)*
                    other => Self::Other(other),
                }
            }
        }
    };
}
pub(super) use words;

words! {
    /// Why a kernel exists (`.kind`).
    KernelKind {
        /// For the program to dispatch.
        Normal = "normal",
        /// Run once when the code object is loaded.
        Init = "init",
        /// Run once before it is unloaded.
        Fini = "fini",
    }
}

/// The metadata of one code object.
#[derive(Clone, Copy, Debug)]
pub struct Metadata<'a> {
    /// `amdhsa.version`: 1.0 for code object version 3, 1.1 for 4, 1.2 for 5 and 6.
    pub version: (u32, u32),
    /// `amdhsa.target`: the ISA name, since code object version 4.
    pub target: Option<&'a str>,
    printf: Array<'a>,
    kernels: Array<'a>,
    map: Map<'a>,
}

impl<'a> Metadata<'a> {
    /// Parses the contents of the note.
    ///
    /// # Errors
    /// See [`MetadataError`]. The kernels are only parsed as they are iterated.
    pub fn parse(data: &'a [u8]) -> Result<Self, MetadataError> {
        let map = match Reader::new(data).value()? {
            Value::Map(map) => map,
            _ => return Err(wrong("the metadata", "a map")),
        };
        let mut metadata = Self {
            version: (0, 0),
            target: None,
            printf: Array::default(),
            kernels: Array::default(),
            map,
        };
        let mut has_version = false;
        for entry in map.entries() {
            let (Value::Str(key), value) = entry? else {
                continue;
            };
            match key {
                "amdhsa.version" => {
                    let [major, minor] = numbers(key, value)?;
                    metadata.version = (major, minor);
                    has_version = true;
                }
                "amdhsa.target" => metadata.target = Some(string(key, value)?),
                "amdhsa.printf" => metadata.printf = array(key, value)?,
                "amdhsa.kernels" => metadata.kernels = array(key, value)?,
                _ => {}
            }
        }
        if !has_version {
            return Err(MetadataError::Missing {
                of: "the metadata".into(),
                key: "amdhsa.version",
            });
        }
        Ok(metadata)
    }

    /// Number of kernels.
    #[must_use]
    pub fn kernel_count(&self) -> usize {
        self.kernels.len()
    }

    /// The kernels.
    pub fn kernels(
        &self,
    ) -> impl Iterator<Item = Result<KernelMetadata<'a>, MetadataError>> + use<'a> {
        self.kernels.values().map(|value| match value? {
            Value::Map(map) => KernelMetadata::parse(map),
            _ => Err(wrong("amdhsa.kernels", "an array of maps")),
        })
    }

    /// The kernel whose descriptor's symbol is `symbol` (with `.kd`), or whose name in the source is.
    ///
    /// # Errors
    /// That of the first malformed kernel before it.
    pub fn kernel(&self, symbol: &str) -> Result<Option<KernelMetadata<'a>>, MetadataError> {
        for kernel in self.kernels() {
            let kernel = kernel?;
            if kernel.symbol == symbol || kernel.name == symbol {
                return Ok(Some(kernel));
            }
        }
        Ok(None)
    }

    /// The format strings of `printf`: `ID:N:S0:…:format`, see LLVM's guide.
    pub fn printf(&self) -> impl Iterator<Item = Result<&'a str, MetadataError>> + use<'a> {
        self.printf
            .values()
            .map(|value| string("amdhsa.printf", value?))
    }

    /// The whole map, for keys that this type does not know.
    #[must_use]
    pub fn raw(&self) -> Map<'a> {
        self.map
    }
}

/// The metadata of one kernel. Sizes are in bytes.
#[derive(Clone, Copy, Debug)]
pub struct KernelMetadata<'a> {
    /// `.name`: as in the source.
    pub name: &'a str,
    /// `.symbol`: of the kernel descriptor, `<name>.kd`.
    pub symbol: &'a str,
    /// `.kind`.
    pub kind: KernelKind<'a>,
    /// `.language`, for instance `OpenCL C`.
    pub language: Option<&'a str>,
    /// `.language_version`, major and minor.
    pub language_version: Option<(u32, u32)>,
    /// `.kernarg_segment_size`.
    pub kernarg_segment_size: u32,
    /// `.kernarg_segment_align`.
    pub kernarg_segment_align: u32,
    /// `.group_segment_fixed_size`: LDS without dynamic LDS.
    pub group_segment_fixed_size: u32,
    /// `.private_segment_fixed_size`: scratch of a work-item.
    pub private_segment_fixed_size: u32,
    /// `.wavefront_size`: 32 or 64 work-items.
    pub wavefront_size: u32,
    /// `.sgpr_count`: registers of a wavefront.
    pub sgpr_count: u32,
    /// `.vgpr_count`: registers of a work-item.
    pub vgpr_count: u32,
    /// `.agpr_count`: accumulation registers of a work-item.
    pub agpr_count: Option<u32>,
    /// `.sgpr_spill_count`.
    pub sgpr_spill_count: Option<u32>,
    /// `.vgpr_spill_count`.
    pub vgpr_spill_count: Option<u32>,
    /// `.max_flat_workgroup_size`: work-items that a work-group may have.
    pub max_flat_workgroup_size: u32,
    /// `.reqd_workgroup_size`: the only work-group size that the kernel may be dispatched with.
    pub reqd_workgroup_size: Option<[u32; 3]>,
    /// `.workgroup_size_hint`.
    pub workgroup_size_hint: Option<[u32; 3]>,
    /// `.vec_type_hint`.
    pub vec_type_hint: Option<&'a str>,
    /// `.device_enqueue_symbol`: a variable that holds the kernel's address for device enqueue.
    pub device_enqueue_symbol: Option<&'a str>,
    /// `.uses_dynamic_stack`: `private_segment_fixed_size` is a lower bound.
    pub uses_dynamic_stack: bool,
    /// `.workgroup_processor_mode`: work-groups span both compute units of a pair. gfx10 and later.
    pub workgroup_processor_mode: Option<bool>,
    /// `.uniform_work_group_size`: every work-group is whole.
    pub uniform_work_group_size: bool,
    args: Array<'a>,
    map: Map<'a>,
}

/// The numbers that every kernel has.
const REQUIRED: [&str; 8] = [
    ".kernarg_segment_size",
    ".kernarg_segment_align",
    ".group_segment_fixed_size",
    ".private_segment_fixed_size",
    ".wavefront_size",
    ".sgpr_count",
    ".vgpr_count",
    ".max_flat_workgroup_size",
];

impl<'a> KernelMetadata<'a> {
    pub(super) fn parse(map: Map<'a>) -> Result<Self, MetadataError> {
        let mut name = None;
        let mut symbol = None;
        let mut required = [None; REQUIRED.len()];
        let mut k = Self::empty(map);
        for entry in map.entries() {
            let (Value::Str(key), value) = entry? else {
                continue;
            };
            if let Some((_, number_of)) = REQUIRED
                .iter()
                .zip(&mut required)
                .find(|(name, _)| **name == key)
            {
                *number_of = Some(number(key, value)?);
                continue;
            }
            match key {
                ".name" => name = Some(string(key, value)?),
                ".symbol" => symbol = Some(string(key, value)?),
                ".kind" => k.kind = string(key, value)?.into(),
                ".language" => k.language = Some(string(key, value)?),
                ".language_version" => {
                    let [major, minor] = numbers(key, value)?;
                    k.language_version = Some((major, minor));
                }
                ".args" => k.args = array(key, value)?,
                ".agpr_count" => k.agpr_count = Some(number(key, value)?),
                ".sgpr_spill_count" => k.sgpr_spill_count = Some(number(key, value)?),
                ".vgpr_spill_count" => k.vgpr_spill_count = Some(number(key, value)?),
                ".reqd_workgroup_size" => k.reqd_workgroup_size = Some(numbers(key, value)?),
                ".workgroup_size_hint" => k.workgroup_size_hint = Some(numbers(key, value)?),
                ".vec_type_hint" => k.vec_type_hint = Some(string(key, value)?),
                ".device_enqueue_symbol" => k.device_enqueue_symbol = Some(string(key, value)?),
                ".uses_dynamic_stack" => k.uses_dynamic_stack = boolean(key, value)?,
                ".workgroup_processor_mode" => {
                    k.workgroup_processor_mode = Some(boolean(key, value)?);
                }
                ".uniform_work_group_size" => k.uniform_work_group_size = boolean(key, value)?,
                _ => {}
            }
        }
        let of = Text::new(name.or(symbol).unwrap_or("a kernel"));
        let missing = |key| MetadataError::Missing {
            of: of.clone(),
            key,
        };
        k.name = name.ok_or_else(|| missing(".name"))?;
        k.symbol = symbol.ok_or_else(|| missing(".symbol"))?;
        if let Some((key, _)) = REQUIRED.iter().zip(&required).find(|(_, n)| n.is_none()) {
            return Err(missing(key));
        }
        [
            k.kernarg_segment_size,
            k.kernarg_segment_align,
            k.group_segment_fixed_size,
            k.private_segment_fixed_size,
            k.wavefront_size,
            k.sgpr_count,
            k.vgpr_count,
            k.max_flat_workgroup_size,
        ] = required.map(Option::unwrap_or_default);
        Ok(k)
    }

    /// All optional keys absent; the required ones are filled in by [`Self::parse`].
    fn empty(map: Map<'a>) -> Self {
        Self {
            name: "",
            symbol: "",
            kind: KernelKind::Normal,
            language: None,
            language_version: None,
            kernarg_segment_size: 0,
            kernarg_segment_align: 0,
            group_segment_fixed_size: 0,
            private_segment_fixed_size: 0,
            wavefront_size: 0,
            sgpr_count: 0,
            vgpr_count: 0,
            agpr_count: None,
            sgpr_spill_count: None,
            vgpr_spill_count: None,
            max_flat_workgroup_size: 0,
            reqd_workgroup_size: None,
            workgroup_size_hint: None,
            vec_type_hint: None,
            device_enqueue_symbol: None,
            uses_dynamic_stack: false,
            workgroup_processor_mode: None,
            uniform_work_group_size: false,
            args: Array::default(),
            map,
        }
    }

    /// The arguments in the order of the signature, hidden ones after.
    pub fn args(&self) -> impl Iterator<Item = Result<Argument<'a>, MetadataError>> + use<'a> {
        self.args.values().map(|value| match value? {
            Value::Map(map) => Argument::parse(map),
            _ => Err(wrong(".args", "an array of maps")),
        })
    }

    /// The whole map, for keys that this type does not know.
    #[must_use]
    pub fn raw(&self) -> Map<'a> {
        self.map
    }
}

pub(super) fn wrong(key: &str, expected: &'static str) -> MetadataError {
    MetadataError::Value {
        key: key.into(),
        expected,
    }
}

pub(super) fn string<'a>(key: &str, value: Value<'a>) -> Result<&'a str, MetadataError> {
    match value {
        Value::Str(s) => Ok(s),
        _ => Err(wrong(key, "a string")),
    }
}

pub(super) fn number(key: &str, value: Value<'_>) -> Result<u32, MetadataError> {
    match value {
        Value::Unsigned(n) => u32::try_from(n).ok(),
        _ => None,
    }
    .ok_or_else(|| wrong(key, "an integer of 32 bits"))
}

/// LLVM writes some truth values as the integers 0 and 1.
pub(super) fn boolean(key: &str, value: Value<'_>) -> Result<bool, MetadataError> {
    match value {
        Value::Bool(b) => Ok(b),
        Value::Unsigned(n) if n < 2 => Ok(n == 1),
        _ => Err(wrong(key, "a truth value")),
    }
}

pub(super) fn array<'a>(key: &str, value: Value<'a>) -> Result<Array<'a>, MetadataError> {
    match value {
        Value::Array(a) => Ok(a),
        _ => Err(wrong(key, "an array")),
    }
}

fn numbers<const N: usize>(key: &str, value: Value<'_>) -> Result<[u32; N], MetadataError> {
    let mut numbers = [0; N];
    fill(key, value, &mut numbers)?;
    Ok(numbers)
}

/// Once for all lengths.
fn fill(key: &str, value: Value<'_>, numbers: &mut [u32]) -> Result<(), MetadataError> {
    let array = array(key, value)?;
    if array.len() != numbers.len() {
        return Err(wrong(key, "an array of the right length"));
    }
    for (slot, value) in numbers.iter_mut().zip(array.values()) {
        *slot = number(key, value?)?;
    }
    Ok(())
}
