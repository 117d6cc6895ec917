//! Dynamic symbols: the kernels and variables that a code object defines or needs.

use super::code_object::CodeObject;
use super::error::CodeObjectError;
use crate::elf::{STT_AMDGPU_HSA_INDIRECT_FUNCTION, STT_AMDGPU_HSA_KERNEL};
use crate::wire::kernel_descriptor::{self, KernelDescriptor};
use object::LittleEndian as LE;
use object::elf;

/// Longest symbol name in bytes. Real ones, of heavily templated kernels, reach 10 KiB.
const MAX_NAME: usize = 1 << 16;
/// What ends the name of a kernel descriptor's symbol.
const DESCRIPTOR_SUFFIX: &str = ".kd";

/// What a symbol names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// A kernel descriptor: an object of 64 bytes named `<kernel>.kd`.
    Kernel(KernelDescriptor),
    /// A variable in global memory.
    Variable,
    /// A function that an agent can call by address (HSA 1.2, section 2.7). Compilers of today make
    /// none.
    IndirectFunction,
    /// A function; a kernel's code also has such a symbol. Not visible through the HSA API.
    Function,
    /// Untyped: what other code objects or the client must define, or an absolute number.
    Untyped,
}

/// Where a symbol is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Not in this code object: it is needed from elsewhere.
    Undefined,
    /// A number that loading does not change.
    Absolute(u64),
    /// At this address of the file, inside a loaded segment.
    Address(u64),
}

/// How a definition competes with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// Only for this code object.
    Local,
    /// For everyone.
    Global,
    /// For everyone; if nobody defines it, its address is 0.
    Weak,
}

/// A dynamic symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// Index in the dynamic symbol table, which relocations use.
    pub index: u32,
    /// Name as in the file; a kernel's ends in `.kd`.
    pub name: &'a str,
    /// What it names.
    pub kind: SymbolKind,
    /// Where it is.
    pub place: Place,
    /// Size in bytes.
    pub size: u64,
    /// How it competes with others.
    pub binding: Binding,
    /// Hidden from other code objects and the client.
    pub hidden: bool,
    /// Alignment in bytes: its section's, or what the address shows if sections are stripped.
    pub align: u64,
    /// Whether code cannot write it.
    pub is_const: bool,
}

impl<'a> Symbol<'a> {
    /// Whether other code objects and the client see it.
    #[must_use]
    pub fn is_exported(&self) -> bool {
        self.binding != Binding::Local && !self.hidden && self.place != Place::Undefined
    }

    /// A kernel's name in the source and in the metadata: without `.kd`.
    #[must_use]
    pub fn kernel_name(&self) -> Option<&'a str> {
        match self.kind {
            SymbolKind::Kernel(_) => self.name.strip_suffix(DESCRIPTOR_SUFFIX),
            _ => None,
        }
    }
}

/// Where a symbol is; `None` for those in special sections.
fn place(raw: &elf::Sym64<LE>) -> Option<Place> {
    let value = raw.st_value.get(LE);
    match raw.st_shndx.get(LE) {
        elf::SHN_UNDEF => Some(Place::Undefined),
        elf::SHN_ABS => Some(Place::Absolute(value)),
        section if section.0 >= elf::SHN_LORESERVE => None,
        _ => Some(Place::Address(value)),
    }
}

impl<'a> CodeObject<'a> {
    /// Number of dynamic symbols, the empty first one included.
    #[must_use]
    pub fn symbol_count(&self) -> u32 {
        // A count of more than `u32` cannot come from a hash table.
        self.dynamic.symbols.len() as u32
    }

    /// The symbol at `index`.
    ///
    /// # Errors
    /// What [`CodeObject::parse`] reports; a parsed code object has none.
    pub fn symbol(&self, index: u32) -> Result<Option<Symbol<'a>>, CodeObjectError> {
        self.dynamic
            .symbols
            .get(index as usize)
            .map(|raw| self.decode_symbol(index, raw))
            .transpose()
    }

    /// Where the symbol at `index` is, for less than decoding it costs: a symbol may be in many relocations.
    #[cfg(feature = "alloc")]
    pub(super) fn symbol_place(&self, index: u32) -> Option<Place> {
        place(self.dynamic.symbols.get(index as usize)?)
    }

    /// The symbols that are not local, hidden ones included; undefined ones too.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol<'a>> + '_ {
        (0..self.symbol_count())
            .filter_map(|index| self.symbol(index).ok().flatten())
            .filter(|s| s.binding != Binding::Local)
    }

    /// The exported kernels.
    pub fn kernels(&self) -> impl Iterator<Item = (Symbol<'a>, KernelDescriptor)> + '_ {
        self.symbols()
            .filter(Symbol::is_exported)
            .filter_map(|s| match s.kind {
                SymbolKind::Kernel(descriptor) => Some((s, descriptor)),
                _ => None,
            })
    }

    /// Checks every symbol, so that the iterators above leave none out.
    pub(super) fn check_symbols(&self) -> Result<(), CodeObjectError> {
        let mut total = 0u64;
        // Linkers share the tails of names, which doubles the sum at most. Much more is an attack on
        // whoever copies the names.
        let limit = (self.data().len() as u64).saturating_mul(4);
        for index in 0..self.symbol_count() {
            if let Some(symbol) = self.symbol(index)? {
                total = total.saturating_add(symbol.name.len() as u64);
            }
            if total > limit {
                return Err(CodeObjectError::SymbolNames { total });
            }
        }
        Ok(())
    }

    fn symbol_name(&self, index: u32, raw: &elf::Sym64<LE>) -> Result<&'a str, CodeObjectError> {
        let offset = raw.st_name.get(LE);
        let name = || {
            let tail = self.dynamic.strings.get(offset as usize..)?;
            let tail = &tail[..tail.len().min(MAX_NAME)];
            let end = tail.iter().position(|b| *b == 0)?;
            core::str::from_utf8(&tail[..end]).ok()
        };
        name().ok_or(CodeObjectError::SymbolName {
            index,
            offset,
            size: self.dynamic.strings.len() as u64,
        })
    }

    fn decode_symbol(
        &self,
        index: u32,
        raw: &elf::Sym64<LE>,
    ) -> Result<Symbol<'a>, CodeObjectError> {
        let name = self.symbol_name(index, raw)?;
        let size = raw.st_size.get(LE);
        let value = raw.st_value.get(LE);
        let section = raw.st_shndx.get(LE);
        let binding = match raw.st_bind() {
            elf::STB_LOCAL => Binding::Local,
            elf::STB_WEAK => Binding::Weak,
            _ => Binding::Global,
        };
        let place = place(raw).ok_or_else(|| CodeObjectError::SymbolKind {
            symbol: name.into(),
            what: "in special section",
            value: section.0,
        })?;
        let segment = match place {
            // A local symbol is only ever the base of a relocation, which may lie at a segment's end.
            // A global one without bytes may mark the place of an empty section (`.offload_var_table` of
            // GCC's code objects), which no segment covers.
            Place::Address(address) if binding != Binding::Local => {
                let segment = self.segments().find(address, size);
                if segment.is_none() && size != 0 {
                    return Err(CodeObjectError::SymbolOutside {
                        symbol: name.into(),
                        address,
                        size,
                    });
                }
                segment
            }
            _ => None,
        };
        let mut kind = match raw.st_type() {
            elf::STT_OBJECT => SymbolKind::Variable,
            elf::STT_FUNC => SymbolKind::Function,
            STT_AMDGPU_HSA_INDIRECT_FUNCTION => SymbolKind::IndirectFunction,
            t if t == STT_AMDGPU_HSA_KERNEL => {
                return Err(CodeObjectError::SymbolKind {
                    symbol: name.into(),
                    what: "a version 2 kernel, type",
                    value: u16::from(t.0),
                });
            }
            _ => SymbolKind::Untyped,
        };
        if kind == SymbolKind::Variable
            && binding != Binding::Local
            && name.ends_with(DESCRIPTOR_SUFFIX)
            && let Place::Address(address) = place
        {
            kind = SymbolKind::Kernel(self.descriptor(name, address, size)?);
        }
        Ok(Symbol {
            index,
            name,
            kind,
            place,
            size,
            binding,
            hidden: matches!(raw.st_visibility(), elf::STV_HIDDEN | elf::STV_INTERNAL),
            align: self.section_align(section.0).unwrap_or_else(|| {
                let natural = 1u64 << value.trailing_zeros().min(63);
                natural.min(self.segments().align())
            }),
            is_const: segment.is_some_and(|s| !s.writable),
        })
    }

    fn descriptor(
        &self,
        name: &str,
        address: u64,
        size: u64,
    ) -> Result<KernelDescriptor, CodeObjectError> {
        let bytes = self
            .segments()
            .bytes(address, kernel_descriptor::SIZE as u64)
            .filter(|_| {
                size == kernel_descriptor::SIZE as u64
                    && address.is_multiple_of(kernel_descriptor::ALIGN)
            });
        let descriptor = bytes
            .and_then(KernelDescriptor::new_checked)
            .ok_or_else(|| CodeObjectError::Descriptor {
                symbol: name.into(),
                address,
                size,
            })?;
        // The packet processor starts a wave at this address without further checks.
        descriptor
            .entry(address)
            .and_then(|entry| self.segments().find(entry, 4))
            .filter(|segment| segment.executable)
            .ok_or_else(|| CodeObjectError::KernelEntry {
                symbol: name.into(),
                address,
                offset: descriptor.kernel_code_entry_byte_offset,
            })?;
        Ok(descriptor)
    }
}
