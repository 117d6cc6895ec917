//! Loaded code objects and their kernels.

use super::Runtime;
use super::code::CodeMemory;
use super::error::ProgramError;
use crate::backend::{AgentId, Backend};
use crate::loader::kernarg::{KernargError, Layout};
use crate::loader::metadata::KernelMetadata;
use crate::loader::{
    CodeObject, Executable, ExternalVariable, Frozen, KernelInfo, LoadedKind, LoadedSymbol,
    OwnedMetadata, Scope,
};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Code of one agent, frozen. Its memory goes when the last kernel and the last completion of a dispatch
/// that hold it are gone.
pub struct Program<B: Backend + ?Sized> {
    agent: AgentId,
    executable: Executable<CodeMemory<B>, Frozen>,
    metadata: Option<OwnedMetadata>,
}

impl<B: Backend + ?Sized> Program<B> {
    /// The agent that executes it.
    pub const fn agent(&self) -> AgentId {
        self.agent
    }

    /// The executable behind it.
    pub const fn executable(&self) -> &Executable<CodeMemory<B>, Frozen> {
        &self.executable
    }

    /// The kernel called `name`, with or without `.kd`.
    pub fn kernel(self: &Arc<Self>, name: &str) -> Option<Kernel<B>> {
        let info = *self.executable.kernel(self.agent, name)?;
        let name = name.strip_suffix(".kd").unwrap_or(name);
        let layout = self
            .kernel_metadata(name)
            .map(|metadata| Layout::new(&metadata).map(Arc::new));
        Some(Kernel {
            program: self.clone(),
            name: name.into(),
            info,
            layout,
        })
    }

    /// Where in the source the instruction at an address in memory was compiled from, such as the pc of a fault: by the debug
    /// information in `code`, which is what this program was loaded from (the program does not keep the file). `None` if
    /// the address is not of this program, or nothing is known of it.
    ///
    /// # Errors
    /// See [`SourceError`](crate::loader::source::SourceError).
    #[cfg(feature = "dwarf")]
    pub fn source_at<'a>(
        &self,
        code: &CodeObject<'a>,
        address: u64,
    ) -> Result<Option<crate::loader::source::Source<'a>>, crate::loader::source::SourceError> {
        let loaded = self.executable.code_objects();
        let Some(address) = loaded.iter().find_map(|o| o.file_address(address)) else {
            return Ok(None);
        };
        let map = crate::loader::source::SourceMap::around(code, address)?;
        Ok(map
            .map(|map| map.at(address))
            .filter(|source| !source.is_empty()))
    }

    fn kernel_metadata(&self, name: &str) -> Option<KernelMetadata<'_>> {
        let metadata = self.metadata.as_ref()?;
        metadata
            .kernel(&alloc::format!("{name}.kd"))
            .or_else(|| metadata.kernel(name))
    }

    /// The names of all kernels, without `.kd`.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.executable
            .symbols()
            .iter()
            .filter(|symbol| matches!(symbol.kind, LoadedKind::Kernel(_)))
            .map(|symbol| symbol.name.strip_suffix(".kd").unwrap_or(&symbol.name))
    }

    /// The variable called `name`: its address and size.
    pub fn variable(&self, name: &str) -> Option<&LoadedSymbol> {
        let scopes = [Scope::Agent(self.agent), Scope::Program];
        scopes
            .into_iter()
            .find_map(|scope| self.executable.symbol(scope, name))
            .filter(|symbol| symbol.kind == LoadedKind::Variable)
    }
}

impl<B: Backend + ?Sized> core::fmt::Debug for Program<B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Program")
            .field("agent", &self.agent)
            .field("kernels", &self.kernel_names().collect::<Vec<_>>())
            .finish()
    }
}

/// A kernel that can be dispatched. Holds its code.
pub struct Kernel<B: Backend + ?Sized> {
    program: Arc<Program<B>>,
    name: Box<str>,
    info: KernelInfo,
    /// Its arguments, read once; None if the code object does not tell them.
    layout: Option<Result<Arc<Layout>, KernargError>>,
}

impl<B: Backend + ?Sized> Kernel<B> {
    /// Its name, without `.kd`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What a dispatch packet says about it.
    pub const fn info(&self) -> &KernelInfo {
        &self.info
    }

    /// The code that it belongs to.
    pub const fn program(&self) -> &Arc<Program<B>> {
        &self.program
    }

    /// What the compiler says about it, if the code object tells.
    pub fn metadata(&self) -> Option<KernelMetadata<'_>> {
        self.program.kernel_metadata(&self.name)
    }

    pub(crate) const fn layout(&self) -> Option<&Result<Arc<Layout>, KernargError>> {
        self.layout.as_ref()
    }
}

impl<B: Backend + ?Sized> Clone for Kernel<B> {
    fn clone(&self) -> Self {
        Self {
            program: self.program.clone(),
            name: self.name.clone(),
            info: self.info,
            layout: self.layout.clone(),
        }
    }
}

impl<B: Backend + ?Sized> core::fmt::Debug for Kernel<B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Kernel")
            .field("name", &self.name)
            .field("info", &self.info)
            .finish()
    }
}

impl<B: Backend + ?Sized> Runtime<B> {
    /// Loads a code object for an agent.
    ///
    /// # Errors
    /// See [`ProgramError`]; nothing is kept then.
    pub fn load_program(
        self: &Arc<Self>,
        agent: AgentId,
        code_object: &[u8],
    ) -> Result<Arc<Program<B>>, ProgramError> {
        self.load_program_with(agent, code_object, &[])
    }

    /// Loads a code object for an agent, with variables that it may refer to.
    ///
    /// # Errors
    /// See [`ProgramError`]; nothing is kept then.
    pub fn load_program_with(
        self: &Arc<Self>,
        agent: AgentId,
        code_object: &[u8],
        variables: &[ExternalVariable<'_>],
    ) -> Result<Arc<Program<B>>, ProgramError> {
        let isa = self
            .agent(agent)
            .ok_or(ProgramError::NoAgent { agent })?
            .isa
            .ok_or(ProgramError::NoIsa { agent })?;
        let code = CodeObject::parse(code_object)?;
        let metadata = OwnedMetadata::new(&code)?;
        let mut executable = Executable::new(CodeMemory::new(self.clone()));
        for variable in variables {
            executable.define(variable)?;
        }
        executable.load(agent, isa, &code)?;
        Ok(Arc::new(Program {
            agent,
            executable: executable.freeze().map_err(|failed| failed.error)?,
            metadata,
        }))
    }
}
