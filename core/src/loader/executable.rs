//! Executables: code objects in device memory, linked and ready to dispatch.
//!
//! An [`Executable`] begins [`Loading`]: code objects are loaded and external variables defined.
//! [`Executable::freeze`] links what is left, makes the code visible to the agents, and gives
//! an `Executable<M, Frozen>`, which never changes. (HSA Runtime 1.2, section 2.7.)

use super::code_object::CodeObject;
use super::link::{self, Pending};
use super::load_error::{LoadError, Scope};
use super::memory::{LoaderMemory, SegmentMemory};
use super::symbol::{Binding, Symbol, SymbolKind};
use crate::backend::AgentId;
use crate::isa::Isa;
use crate::wire::kernel_descriptor::KernelDescriptor;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

/// State of an executable that code objects are loaded into.
#[derive(Debug)]
pub enum Loading {}
/// State of an executable whose kernels can be dispatched.
#[derive(Debug)]
pub enum Frozen {}

/// Alignment of every kernel's arguments in memory, in bytes.
pub const KERNARG_SEGMENT_ALIGN: u32 = 16;

/// A code object that was loaded: an index into [`Executable::code_objects`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodeObjectId(pub usize);

/// A loaded code object.
#[derive(Clone, Copy, Debug)]
pub struct LoadedCodeObject {
    /// Its memory.
    pub memory: SegmentMemory,
    /// Bytes that are loaded, from [`SegmentMemory::gpu_va`] on.
    pub size: u64,
    /// What to add (wrapping) to an address of the file to get one in memory.
    pub bias: u64,
    /// ISA of the code.
    pub isa: Isa,
}

impl LoadedCodeObject {
    /// The address in the file of what is loaded at an address in memory; `None` if this code object is not there.
    #[must_use]
    pub fn file_address(&self, address: u64) -> Option<u64> {
        let offset = address.checked_sub(self.memory.gpu_va)?;
        (offset < self.size).then(|| address.wrapping_sub(self.bias))
    }
}

/// How a kernel is dispatched. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelInfo {
    /// What a dispatch packet's `kernel_object` must hold: the descriptor's address.
    pub kernel_object: u64,
    /// Size of the arguments.
    pub kernarg_segment_size: u32,
    /// LDS of a work-group, without dynamic LDS.
    pub group_segment_size: u32,
    /// Scratch of a work-item; a lower bound if the stack is dynamic.
    pub private_segment_size: u32,
    /// Whether calls may need more scratch than `private_segment_size`.
    pub dynamic_call_stack: bool,
    /// The descriptor.
    pub descriptor: KernelDescriptor,
}

/// What a loaded symbol is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadedKind {
    /// A kernel.
    Kernel(KernelInfo),
    /// A variable.
    Variable,
    /// A function that agents call by address.
    IndirectFunction,
}

/// A symbol of an executable.
#[derive(Clone, Debug)]
pub struct LoadedSymbol {
    /// Name as in the code object: a kernel's ends in `.kd`. The linker name is the same.
    pub name: Box<str>,
    /// For which agents.
    pub scope: Scope,
    /// What it is.
    pub kind: LoadedKind,
    /// Address in device memory.
    pub address: u64,
    /// Size in bytes; 0 for an external variable.
    pub size: u64,
    /// Alignment in bytes; 0 for an external variable.
    pub align: u64,
    /// Whether code cannot write it.
    pub is_const: bool,
    /// Whether a global definition; otherwise a weak one.
    pub is_global: bool,
    /// The code object that defines it; `None` for an external variable.
    pub code_object: Option<CodeObjectId>,
}

/// A variable outside of the code objects, that a client defines for them.
#[derive(Clone, Copy, Debug)]
pub struct ExternalVariable<'a> {
    /// Its name.
    pub name: &'a str,
    /// For which agents.
    pub scope: Scope,
    /// Its address in memory that those agents reach.
    pub address: u64,
    /// Whether it is read-only.
    pub is_const: bool,
}

/// Code objects in memory; see the module's description. Memory is freed when it is dropped: no
/// kernel of it may run then.
pub struct Executable<M: LoaderMemory, S = Loading> {
    inner: Box<Inner<M>>,
    state: PhantomData<fn() -> S>,
}

struct Inner<M: LoaderMemory> {
    memory: M,
    objects: Vec<LoadedCodeObject>,
    symbols: Vec<LoadedSymbol>,
    /// Indices into `symbols`.
    names: BTreeMap<Scope, BTreeMap<Box<str>, usize>>,
    pending: Vec<Pending>,
}

impl<M: LoaderMemory> Drop for Inner<M> {
    fn drop(&mut self) {
        for object in self.objects.drain(..).rev() {
            self.memory.free(object.memory);
        }
    }
}

impl<M: LoaderMemory> Inner<M> {
    fn find(&self, scope: Scope, name: &str) -> Option<&LoadedSymbol> {
        self.symbols.get(*self.names.get(&scope)?.get(name)?)
    }

    fn insert(&mut self, symbol: LoadedSymbol) {
        let index = self.symbols.len();
        self.names
            .entry(symbol.scope)
            .or_default()
            .insert(symbol.name.clone(), index);
        self.symbols.push(symbol);
    }

    fn check_undefined(&self, scope: Scope, name: &str) -> Result<(), LoadError> {
        match self.find(scope, name) {
            Some(_) => Err(LoadError::AlreadyDefined {
                symbol: name.into(),
                scope,
            }),
            None => Ok(()),
        }
    }
}

/// An executable that could not be frozen is still loading.
pub struct FreezeError<M: LoaderMemory> {
    /// Why.
    pub error: LoadError,
    /// The executable, as it was: more variables may be defined, and freezing be tried again.
    pub executable: Executable<M, Loading>,
}

impl<M: LoaderMemory> fmt::Debug for FreezeError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<M: LoaderMemory> fmt::Display for FreezeError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<M: LoaderMemory> core::error::Error for FreezeError<M> {}

/// Memory that goes back if loading fails half-way.
struct Guard<'m, M: LoaderMemory> {
    memory: &'m M,
    segment: Option<SegmentMemory>,
}

impl<M: LoaderMemory> Drop for Guard<'_, M> {
    fn drop(&mut self) {
        if let Some(segment) = self.segment.take() {
            self.memory.free(segment);
        }
    }
}

impl<M: LoaderMemory> Executable<M, Loading> {
    /// An executable without code.
    #[must_use]
    pub fn new(memory: M) -> Self {
        Self {
            inner: Box::new(Inner {
                memory,
                objects: Vec::new(),
                symbols: Vec::new(),
                names: BTreeMap::new(),
                pending: Vec::new(),
            }),
            state: PhantomData,
        }
    }

    /// Loads a code object for `agent`, whose ISA is `isa`. The code object's bytes are not needed
    /// any more afterwards.
    ///
    /// # Errors
    /// See [`LoadError`]; nothing is loaded then.
    pub fn load(
        &mut self,
        agent: AgentId,
        isa: Isa,
        code: &CodeObject<'_>,
    ) -> Result<CodeObjectId, LoadError> {
        if !code.isa().runs_on(&isa, code.generic_version()) {
            return Err(LoadError::IncompatibleIsa {
                code: code.isa(),
                generic_version: code.generic_version(),
                agent,
                isa,
            });
        }
        let inner = &mut *self.inner;
        let scope = Scope::Agent(agent);
        let id = CodeObjectId(inner.objects.len());
        let segments = code.segments();
        let (needed, align) = (segments.size(), segments.align());
        let mut guard = Guard {
            memory: &inner.memory,
            segment: None,
        };
        let memory = *guard
            .segment
            .insert(inner.memory.allocate(agent, needed, align)?);
        if memory.size < needed
            || !memory.gpu_va.is_multiple_of(align)
            || memory.gpu_va.checked_add(needed).is_none()
        {
            return Err(LoadError::BadAllocation {
                gpu_va: memory.gpu_va,
                size: memory.size,
                needed,
                align,
            });
        }
        let object = LoadedCodeObject {
            memory,
            size: needed,
            bias: memory.gpu_va.wrapping_sub(segments.base()),
            isa: code.isa(),
        };
        link::copy(&inner.memory, &object, code)?;
        let pending = link::relocate(&inner.memory, id, &object, code)?;
        let mut sizes = KernargSizes { code, known: None };
        let mut defined = Vec::new();
        for symbol in code.symbols().filter(Symbol::is_exported) {
            if let Some(symbol) = loaded_symbol(id, &object, &mut sizes, &symbol) {
                inner.check_undefined(scope, &symbol.name)?;
                defined.push(symbol);
            }
        }
        defined.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some([twice, _]) = defined.array_windows().find(|[a, b]| a.name == b.name) {
            return Err(LoadError::AlreadyDefined {
                symbol: (&*twice.name).into(),
                scope,
            });
        }
        // Nothing fails from here on.
        guard.segment = None;
        drop(guard);
        defined.into_iter().for_each(|symbol| inner.insert(symbol));
        inner.pending.push(pending);
        inner.objects.push(object);
        Ok(id)
    }

    /// Defines a variable that code objects may refer to.
    ///
    /// # Errors
    /// [`LoadError::AlreadyDefined`].
    pub fn define(&mut self, variable: &ExternalVariable<'_>) -> Result<(), LoadError> {
        self.inner.check_undefined(variable.scope, variable.name)?;
        self.inner.insert(LoadedSymbol {
            name: variable.name.into(),
            scope: variable.scope,
            kind: LoadedKind::Variable,
            address: variable.address,
            size: 0,
            align: 0,
            is_const: variable.is_const,
            is_global: true,
            code_object: None,
        });
        Ok(())
    }

    /// Links the code objects with each other and with the external variables, and makes the code
    /// visible to the agents. A name is looked for on the agent first, then in the program.
    ///
    /// # Errors
    /// [`LoadError::VariableUndefined`] and others, with the executable as it was.
    pub fn freeze(self) -> Result<Executable<M, Frozen>, FreezeError<M>> {
        match self.link() {
            Ok(()) => Ok(Executable {
                inner: self.inner,
                state: PhantomData,
            }),
            Err(error) => Err(FreezeError {
                error,
                executable: self,
            }),
        }
    }

    fn link(&self) -> Result<(), LoadError> {
        let inner = &*self.inner;
        let resolve = |agent, name: &str| {
            inner
                .find(Scope::Agent(agent), name)
                .or_else(|| inner.find(Scope::Program, name))
                .map(|s| s.address)
        };
        link::resolve(&inner.memory, &inner.objects, &inner.pending, resolve)?;
        for object in &inner.objects {
            inner.memory.finish(&object.memory)?;
        }
        Ok(())
    }
}

impl<M: LoaderMemory, S> Executable<M, S> {
    /// The symbol called `name` in `scope`. Before freezing, addresses are final, but what is there
    /// may not be visible to the agent yet.
    #[must_use]
    pub fn symbol(&self, scope: Scope, name: &str) -> Option<&LoadedSymbol> {
        self.inner.find(scope, name)
    }

    /// The kernel called `name` on `agent`, with or without `.kd`.
    #[must_use]
    pub fn kernel(&self, agent: AgentId, name: &str) -> Option<&KernelInfo> {
        let kernel = |name: &str| match &self.symbol(Scope::Agent(agent), name)?.kind {
            LoadedKind::Kernel(info) => Some(info),
            _ => None,
        };
        kernel(name).or_else(|| kernel(&alloc::format!("{name}.kd")))
    }

    /// All symbols, in order of definition; those of one code object by name.
    #[must_use]
    pub fn symbols(&self) -> &[LoadedSymbol] {
        &self.inner.symbols
    }

    /// All loaded code objects.
    #[must_use]
    pub fn code_objects(&self) -> &[LoadedCodeObject] {
        &self.inner.objects
    }

    /// What the executable's memory comes from.
    #[must_use]
    pub fn memory(&self) -> &M {
        &self.inner.memory
    }
}

impl<M: LoaderMemory, S> fmt::Debug for Executable<M, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executable")
            .field("objects", &self.inner.objects)
            .field("symbols", &self.inner.symbols)
            .finish_non_exhaustive()
    }
}

/// What becomes of an exported symbol; `None` for functions and untyped ones, which HSA does not
/// show.
fn loaded_symbol(
    id: CodeObjectId,
    object: &LoadedCodeObject,
    sizes: &mut KernargSizes<'_, '_>,
    symbol: &Symbol<'_>,
) -> Option<LoadedSymbol> {
    let address = link::address(symbol.place, object.bias)?;
    let kind = match symbol.kind {
        SymbolKind::Kernel(descriptor) => LoadedKind::Kernel(KernelInfo {
            kernel_object: address,
            kernarg_segment_size: match descriptor.kernarg_size {
                0 => sizes.of(symbol.name),
                size => size,
            },
            group_segment_size: descriptor.group_segment_fixed_size,
            private_segment_size: descriptor.private_segment_fixed_size,
            dynamic_call_stack: descriptor.properties.uses_dynamic_stack(),
            descriptor,
        }),
        SymbolKind::Variable => LoadedKind::Variable,
        SymbolKind::IndirectFunction => LoadedKind::IndirectFunction,
        SymbolKind::Function | SymbolKind::Untyped => return None,
    };
    Some(LoadedSymbol {
        name: symbol.name.into(),
        scope: Scope::Agent(object.memory.agent),
        kind,
        address,
        size: symbol.size,
        align: symbol.align,
        is_const: symbol.is_const,
        is_global: symbol.binding == Binding::Global,
        code_object: Some(id),
    })
}

/// Sizes of kernels' arguments as the metadata tells them: compilers before LLVM 11 left the descriptor's field 0. Read
/// once, when the first is asked for: there may be many kernels.
struct KernargSizes<'c, 'a> {
    code: &'c CodeObject<'a>,
    known: Option<BTreeMap<&'a str, u32>>,
}

impl<'a> KernargSizes<'_, 'a> {
    fn of(&mut self, name: &str) -> u32 {
        let known = self.known.get_or_insert_with(|| {
            let mut known = BTreeMap::new();
            let metadata = self.code.metadata().ok().flatten();
            let kernels = metadata.iter().flat_map(|metadata| metadata.kernels());
            for kernel in kernels.map_while(Result::ok) {
                for name in [kernel.symbol, kernel.name] {
                    known.entry(name).or_insert(kernel.kernarg_segment_size);
                }
            }
            known
        });
        known.get(name).copied().unwrap_or(0)
    }
}
