//! Chapter executables: finding, showing and describing their symbols.

use crate::abi::{
    Agent, Executable, ExecutableSymbol, Parts, Status, SymbolInfo, SymbolKind, SymbolLinkage,
    VariableAllocation, VariableSegment, VisitAgentSymbol, VisitSymbol,
};
use crate::arg::{AnyPlace, In, Out, Text, Value};
use crate::callback::stop_unless_success;
use crate::entry::{Result, callbacks, entry, gather};
use crate::executable::ClientExecutable;
use crate::runtime::State;
use crate::state::open;
use core::ffi::{c_char, c_void};
use rukh_core::loader::{KERNARG_SEGMENT_ALIGN, LoadedKind, LoadedSymbol, Scope};

/// The handle of a symbol: that of its executable and its place in it.
fn handle(executable: Executable, index: usize) -> Result<ExecutableSymbol> {
    let parts = executable.parts().ok_or(Status::INVALID_EXECUTABLE)?;
    u32::try_from(index)
        .ok()
        .and_then(|sub| ExecutableSymbol::from_parts(Parts { sub, ..parts }))
        .ok_or(Status::OUT_OF_RESOURCES)
}

fn find(
    client: &ClientExecutable,
    executable: Executable,
    scopes: &[Scope],
    name: &str,
) -> Result<ExecutableSymbol> {
    let index = scopes.iter().find_map(|scope| client.find(*scope, name));
    handle(executable, index.ok_or(Status::INVALID_SYMBOL_NAME)?)
}

/// An attribute of a kernel; other symbols do not have it.
fn of_kernel<T: Copy>(
    symbol: &LoadedSymbol,
    place: AnyPlace,
    get: impl FnOnce(&rukh_core::loader::KernelInfo) -> T,
) -> Result {
    match &symbol.kind {
        LoadedKind::Kernel(kernel) => place.put(get(kernel)),
        LoadedKind::Variable | LoadedKind::IndirectFunction => Err(Status::INVALID_ARGUMENT),
    }
}

fn of_variable<T: Copy>(symbol: &LoadedSymbol, place: AnyPlace, value: T) -> Result {
    match &symbol.kind {
        LoadedKind::Variable => place.put(value),
        LoadedKind::Kernel(_) | LoadedKind::IndirectFunction => Err(Status::INVALID_ARGUMENT),
    }
}

fn info(state: &State, symbol: &LoadedSymbol, attribute: SymbolInfo, place: AnyPlace) -> Result {
    use SymbolInfo as S;
    let saturate = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    match attribute {
        S::Type => place.put(match &symbol.kind {
            LoadedKind::Kernel(_) => SymbolKind::Kernel as u32,
            LoadedKind::Variable => SymbolKind::Variable as u32,
            LoadedKind::IndirectFunction => SymbolKind::IndirectFunction as u32,
        }),
        // Without the NUL, and none is written: clients add it.
        S::NameLength => place.put(saturate(symbol.name.len() as u64)),
        S::Name => place.put_bytes(symbol.name.as_bytes()),
        S::ModuleNameLength => place.put(0u32),
        S::ModuleName => Ok(()),
        S::Agent => match symbol.scope {
            Scope::Agent(agent) => place.put(state.agent_handle(agent)?),
            Scope::Program => Err(Status::INVALID_ARGUMENT),
        },
        S::Linkage => place.put(SymbolLinkage::Program as u32),
        S::IsDefinition => place.put(true),
        S::VariableAddress => of_variable(symbol, place, symbol.address),
        S::VariableAllocation => of_variable(
            symbol,
            place,
            match symbol.scope {
                Scope::Agent(_) => VariableAllocation::Agent as u32,
                Scope::Program => VariableAllocation::Program as u32,
            },
        ),
        S::VariableSegment => of_variable(
            symbol,
            place,
            match symbol.is_const {
                true => VariableSegment::Readonly as u32,
                false => VariableSegment::Global as u32,
            },
        ),
        S::VariableAlignment => of_variable(symbol, place, saturate(symbol.align)),
        S::VariableSize => of_variable(symbol, place, saturate(symbol.size)),
        S::VariableIsConst => of_variable(symbol, place, symbol.is_const),
        S::KernelObject => of_kernel(symbol, place, |kernel| kernel.kernel_object),
        S::KernelKernargSegmentSize => {
            of_kernel(symbol, place, |kernel| kernel.kernarg_segment_size)
        }
        S::KernelKernargSegmentAlignment => of_kernel(symbol, place, |_| KERNARG_SEGMENT_ALIGN),
        S::KernelGroupSegmentSize => of_kernel(symbol, place, |kernel| kernel.group_segment_size),
        S::KernelPrivateSegmentSize => {
            of_kernel(symbol, place, |kernel| kernel.private_segment_size)
        }
        S::KernelDynamicCallstack => of_kernel(symbol, place, |kernel| kernel.dynamic_call_stack),
        S::KernelCallConvention => of_kernel(symbol, place, |_| 0u32),
        S::KernelWavefrontSize => {
            let isa = match symbol.scope {
                Scope::Agent(agent) => state
                    .agents()
                    .get(agent.0 as usize)
                    .and_then(|agent| agent.isa),
                Scope::Program => None,
            };
            let isa = isa.ok_or(Status::INVALID_ARGUMENT)?;
            of_kernel(symbol, place, |kernel| {
                kernel.descriptor.wavefront_size(isa.processor())
            })
        }
        S::IndirectFunctionObject => match &symbol.kind {
            LoadedKind::IndirectFunction => place.put(symbol.address),
            LoadedKind::Kernel(_) | LoadedKind::Variable => Err(Status::INVALID_ARGUMENT),
        },
        S::IndirectFunctionCallConvention => place.put(0u32),
    }
}

/// Handles of the symbols that `select` picks.
fn select(
    state: &State,
    executable: Executable,
    mut select: impl FnMut(&LoadedSymbol) -> bool,
) -> Result<Vec<ExecutableSymbol>> {
    let client = state.executable(executable)?;
    client.symbols(|symbols| {
        let selected = symbols
            .iter()
            .enumerate()
            .filter(|(_, symbol)| select(symbol));
        selected
            .map(|(index, _)| handle(executable, index))
            .collect()
    })
}

entry! {
    /// `hsa_executable_get_symbol_by_name`: a symbol of an agent, or of the program.
    fn hsa_executable_get_symbol_by_name(state; executable: Executable, symbol_name: Text,
        agent: In<Agent>, symbol: Out<ExecutableSymbol>) {
        let client = state.executable(executable)?;
        let name = symbol_name.required()?;
        let place = symbol.required()?;
        let scope = match agent.optional() {
            Some(agent) => Scope::Agent(state.agent(agent)?.id),
            None => Scope::Program,
        };
        place.put(find(&client, executable, &[scope], &name)?);
        Ok(())
    }

    /// `hsa_executable_get_symbol`: the deprecated form; modules have no names here.
    fn hsa_executable_get_symbol(state; executable: Executable, module_name: *const c_char,
        symbol_name: Text, agent: Agent, call_convention: i32, symbol: Out<ExecutableSymbol>) {
        let _ = (module_name, call_convention);
        let client = state.executable(executable)?;
        let name = symbol_name.required()?;
        let place = symbol.required()?;
        let found = match agent.handle {
            0 => find(&client, executable, &[Scope::Program], &name)?,
            _ => {
                let on_agent = Scope::Agent(state.agent(agent)?.id);
                find(&client, executable, &[on_agent, Scope::Program], &name)?
            }
        };
        place.put(found);
        Ok(())
    }

    /// `hsa_executable_symbol_get_info`: an attribute of a symbol.
    fn hsa_executable_symbol_get_info(state; executable_symbol: ExecutableSymbol, attribute: u32,
        value: Value) {
        let invalid = Status::INVALID_EXECUTABLE_SYMBOL;
        let parts = executable_symbol.parts().ok_or(invalid)?;
        let client = state.executables.get(Parts { sub: 0, ..parts }).ok_or(invalid)?;
        let place = value.required()?;
        let attribute = SymbolInfo::from_raw(attribute).ok_or(Status::INVALID_ARGUMENT)?;
        client.symbols(|symbols| {
            let symbol = symbols.get(parts.sub as usize).ok_or(invalid)?;
            info(&state, symbol, attribute, place)
        })
    }
}

callbacks! {
    /// `hsa_executable_iterate_symbols`: shows every symbol.
    fn hsa_executable_iterate_symbols(executable: Executable, callback: VisitSymbol,
        data: *mut c_void) {
        let (callback, symbols) = gather("hsa_executable_iterate_symbols", || {
            let state = open()?;
            let symbols = select(&state, executable, |_| true)?;
            Ok((callback.ok_or(Status::INVALID_ARGUMENT)?, symbols))
        })?;
        for symbol in symbols {
            // SAFETY: a function of this type, by the contract of this export.
            stop_unless_success(unsafe { callback(executable, symbol, data) })?;
        }
        Ok(())
    }

    /// `hsa_executable_iterate_agent_symbols`: shows every symbol of an agent.
    fn hsa_executable_iterate_agent_symbols(executable: Executable, agent: Agent,
        callback: VisitAgentSymbol, data: *mut c_void) {
        let (callback, symbols) = gather("hsa_executable_iterate_agent_symbols", || {
            let state = open()?;
            let scope = Scope::Agent(state.agent(agent)?.id);
            let symbols = select(&state, executable, |symbol| symbol.scope == scope)?;
            Ok((callback.ok_or(Status::INVALID_ARGUMENT)?, symbols))
        })?;
        for symbol in symbols {
            // SAFETY: a function of this type, by the contract of this export.
            stop_unless_success(unsafe { callback(executable, agent, symbol, data) })?;
        }
        Ok(())
    }

    /// `hsa_executable_iterate_program_symbols`: shows every symbol of the program.
    fn hsa_executable_iterate_program_symbols(executable: Executable, callback: VisitSymbol,
        data: *mut c_void) {
        let (callback, symbols) = gather("hsa_executable_iterate_program_symbols", || {
            let state = open()?;
            let symbols = select(&state, executable, |symbol| symbol.scope == Scope::Program)?;
            Ok((callback.ok_or(Status::INVALID_ARGUMENT)?, symbols))
        })?;
        for symbol in symbols {
            // SAFETY: a function of this type, by the contract of this export.
            stop_unless_success(unsafe { callback(executable, symbol, data) })?;
        }
        Ok(())
    }
}
