//! Chapter executables: loading, defining, freezing, and their symbols (`symbol.rs`).

use crate::abi::{
    Agent, CodeObject, CodeObjectReader, Executable, ExecutableInfo, ExecutableState,
    LoadedCodeObject, Parts, Profile, RoundingMode, Status,
};
use crate::arg::{Out, Text, Value};
use crate::debug::Listed;
use crate::diag;
use crate::entry::{Result, entry};
use crate::error::status_of_load;
use crate::reader::SharedSource;
use crate::runtime::CodeMemory;
use crate::runtime::State;
use core::ffi::{c_char, c_void};
use rukh_core::backend::AgentId;
use rukh_core::loader::source::SourceMap;
use rukh_core::loader::{
    CodeObject as ParsedCodeObject, Executable as CoreExecutable, ExternalVariable, Frozen,
    LoadError, LoadedCodeObject as CoreLoaded, LoadedSymbol, Loading, Scope,
};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An executable in either state.
enum Phase {
    Loading(CoreExecutable<CodeMemory, Loading>),
    Frozen(CoreExecutable<CodeMemory, Frozen>),
    /// While it is being frozen: never seen from outside, since the lock is held.
    Changing,
}

/// What a code object was loaded from: for `hsa_ven_amd_loader_*`.
#[derive(Clone, Debug)]
pub struct LoadedFrom {
    /// The agent that it was loaded for.
    pub agent: AgentId,
    /// Its bytes.
    pub source: SharedSource,
    /// A copy of those that have debug information, where a client keeps them no longer than its reader.
    debug: Option<Arc<[u8]>>,
}

impl LoadedFrom {
    fn new(agent: AgentId, source: &SharedSource, code: &ParsedCodeObject<'_>) -> Self {
        let copied = !source.is_owned() && SourceMap::has_source(code);
        Self {
            agent,
            source: source.clone(),
            debug: copied.then(|| source.bytes().into()),
        }
    }

    /// The bytes, as far as they are there and hold debug information.
    pub fn debug_bytes(&self) -> Option<&[u8]> {
        let owned = self.source.is_owned().then(|| self.source.bytes());
        self.debug.as_deref().or(owned)
    }
}

/// What a client's handle stands for.
pub struct ClientExecutable {
    /// What debuggers see of it once it is frozen. First, so that they are told before the code's memory goes.
    listed: Mutex<Vec<Listed>>,
    phase: Mutex<Phase>,
    /// In the order of loading.
    loaded: Mutex<Vec<LoadedFrom>>,
    /// Copies of loaded code objects that the host does not reach, by their places: made when somebody asks where the
    /// host finds them.
    copies: Mutex<BTreeMap<usize, Box<[u8]>>>,
    profile: Profile,
    rounding: RoundingMode,
}

impl ClientExecutable {
    fn new(memory: CodeMemory, profile: Profile, rounding: RoundingMode) -> Self {
        Self {
            listed: Mutex::new(Vec::new()),
            phase: Mutex::new(Phase::Loading(CoreExecutable::new(memory))),
            loaded: Mutex::new(Vec::new()),
            copies: Mutex::default(),
            profile,
            rounding,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs an operation that needs an executable which is not frozen.
    fn loading<T>(
        &self,
        operation: impl FnOnce(&mut CoreExecutable<CodeMemory, Loading>) -> Result<T>,
    ) -> Result<T> {
        match &mut *self.lock() {
            Phase::Loading(executable) => operation(executable),
            Phase::Frozen(_) => Err(Status::FROZEN_EXECUTABLE),
            Phase::Changing => Err(Status::INVALID_EXECUTABLE),
        }
    }

    /// Looks at the symbols in either state.
    pub fn symbols<T>(&self, look: impl FnOnce(&[LoadedSymbol]) -> T) -> T {
        match &*self.lock() {
            Phase::Loading(executable) => look(executable.symbols()),
            Phase::Frozen(executable) => look(executable.symbols()),
            Phase::Changing => look(&[]),
        }
    }

    /// The place of a symbol in the list, by name.
    pub fn find(&self, scope: Scope, name: &str) -> Option<usize> {
        self.symbols(|symbols| {
            symbols
                .iter()
                .position(|symbol| symbol.scope == scope && &*symbol.name == name)
        })
    }

    /// The loaded code objects with where they come from.
    pub fn code_objects(&self) -> Vec<(CoreLoaded, LoadedFrom)> {
        let objects = match &*self.lock() {
            Phase::Loading(executable) => executable.code_objects().to_vec(),
            Phase::Frozen(executable) => executable.code_objects().to_vec(),
            Phase::Changing => Vec::new(),
        };
        let from = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        objects.into_iter().zip(from.iter().cloned()).collect()
    }

    /// Where a copy of a loaded code object is that the host can read, for as long as the executable is there.
    ///
    /// # Errors
    /// Those of making one.
    pub fn host_copy(
        &self,
        index: usize,
        make: impl FnOnce() -> Result<Box<[u8]>>,
    ) -> Result<*const u8> {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        let copy = match copies.entry(index) {
            Entry::Occupied(copy) => copy.into_mut(),
            Entry::Vacant(place) => place.insert(make()?),
        };
        Ok(copy.as_ptr())
    }

    /// Whether it is frozen.
    fn state(&self) -> ExecutableState {
        match &*self.lock() {
            Phase::Frozen(_) => ExecutableState::Frozen,
            Phase::Loading(_) | Phase::Changing => ExecutableState::Unfrozen,
        }
    }

    /// Loads a code object for an agent; gives its place among the loaded ones.
    fn load(
        &self,
        state: &State,
        name: &str,
        agent: Agent,
        source: &SharedSource,
    ) -> Result<usize> {
        let agent = state.agent(agent)?;
        let isa = agent.isa.ok_or(Status::INVALID_AGENT)?;
        self.loading(|executable| {
            let code = ParsedCodeObject::parse(source.bytes())
                .map_err(|error| explain(name, &LoadError::from(error)))?;
            let id = executable
                .load(agent.id, isa, &code)
                .map_err(|error| explain(name, &error))?;
            let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
            loaded.push(LoadedFrom::new(agent.id, source, &code));
            Ok(id.0)
        })
    }

    fn define(&self, scope: Scope, name: &str, address: *mut c_void, is_const: bool) -> Result {
        let variable = ExternalVariable {
            name,
            scope,
            address: address.addr() as u64,
            is_const,
        };
        self.loading(|executable| {
            executable
                .define(&variable)
                .map_err(|error| status_of_load(&error))
        })
    }

    /// Has debuggers see the code objects.
    fn list(&self) {
        let listed = self
            .code_objects()
            .iter()
            .map(|(object, from)| Listed::new(object.bias, from.source.origin.uri()))
            .collect();
        *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = listed;
    }

    fn freeze(&self) -> Result {
        let mut phase = self.lock();
        match core::mem::replace(&mut *phase, Phase::Changing) {
            Phase::Loading(executable) => match executable.freeze() {
                Ok(frozen) => {
                    *phase = Phase::Frozen(frozen);
                    drop(phase);
                    self.list();
                    Ok(())
                }
                Err(failed) => {
                    *phase = Phase::Loading(failed.executable);
                    Err(explain("hsa_executable_freeze", &failed.error))
                }
            },
            other => {
                *phase = other;
                Err(Status::FROZEN_EXECUTABLE)
            }
        }
    }
}

/// Why code cannot be loaded is more than a status can tell.
pub fn explain(name: &str, error: &LoadError) -> Status {
    diag::say(format_args!("{name}: {error}"));
    status_of_load(error)
}

fn create(state: &State, profile: u32, rounding: u32, executable: Out<Executable>) -> Result {
    let place = executable.required()?;
    let profile = Profile::from_raw(profile).ok_or(Status::INVALID_ARGUMENT)?;
    let rounding = RoundingMode::from_raw(rounding).ok_or(Status::INVALID_ARGUMENT)?;
    let created = ClientExecutable::new(state.code_memory(), profile, rounding);
    let parts = state.executables.insert(Arc::new(created));
    let handle = parts.and_then(Executable::from_parts);
    place.put(handle.ok_or(Status::OUT_OF_RESOURCES)?);
    Ok(())
}

/// The handle of a loaded code object.
pub fn loaded_handle(executable: Parts, index: usize) -> Result<LoadedCodeObject> {
    u32::try_from(index)
        .ok()
        .and_then(|sub| LoadedCodeObject::from_parts(Parts { sub, ..executable }))
        .ok_or(Status::OUT_OF_RESOURCES)
}

entry! {
    /// `hsa_executable_create_alt`: an empty executable.
    fn hsa_executable_create_alt(state; profile: u32, default_float_rounding_mode: u32,
        options: *const c_char, executable: Out<Executable>) {
        let _ = options;
        create(&state, profile, default_float_rounding_mode, executable)
    }

    /// `hsa_executable_create`: an empty executable, or one that is frozen at once.
    fn hsa_executable_create(state; profile: u32, executable_state: u32, options: *const c_char,
        executable: Out<Executable>) {
        let _ = options;
        let wanted = ExecutableState::from_raw(executable_state).ok_or(Status::INVALID_ARGUMENT)?;
        create(&state, profile, RoundingMode::Default as u32, executable)?;
        match wanted {
            ExecutableState::Unfrozen => Ok(()),
            ExecutableState::Frozen => {
                state.executable(executable.required()?.get())?.freeze()
            }
        }
    }

    /// `hsa_executable_destroy`: gives the memory of the code back. No kernel of it may run.
    fn hsa_executable_destroy(state; executable: Executable) {
        let invalid = Status::INVALID_EXECUTABLE;
        let parts = executable.parts().ok_or(invalid)?;
        state.executables.remove(parts).map(drop).ok_or(invalid)
    }

    /// `hsa_executable_load_agent_code_object`: loads a code object for an agent.
    fn hsa_executable_load_agent_code_object(state; executable: Executable, agent: Agent,
        code_object_reader: CodeObjectReader, options: *const c_char,
        loaded_code_object: Out<LoadedCodeObject>) {
        let _ = options;
        let client = state.executable(executable)?;
        let invalid = Status::INVALID_CODE_OBJECT_READER;
        let reader = code_object_reader.parts().and_then(|parts| state.readers.get(parts)).ok_or(invalid)?;
        let index = client.load(&state, "hsa_executable_load_agent_code_object", agent, &reader)?;
        if let (Some(place), Some(parts)) = (loaded_code_object.optional(), executable.parts()) {
            place.put(loaded_handle(parts, index)?);
        }
        Ok(())
    }

    /// `hsa_executable_load_code_object`: the same for a code object of the deprecated interface.
    fn hsa_executable_load_code_object(state; executable: Executable, agent: Agent,
        code_object: CodeObject, options: *const c_char) {
        let _ = options;
        let client = state.executable(executable)?;
        let source = state.code_object(code_object)?;
        client.load(&state, "hsa_executable_load_code_object", agent, &source).map(drop)
    }

    /// `hsa_executable_load_program_code_object`: loads definitions of the program. No tool makes such code
    /// objects: one that holds code of an agent is refused.
    fn hsa_executable_load_program_code_object(state; executable: Executable,
        code_object_reader: CodeObjectReader, options: *const c_char,
        loaded_code_object: Out<LoadedCodeObject>) {
        let _ = (options, loaded_code_object);
        let client = state.executable(executable)?;
        let invalid = Status::INVALID_CODE_OBJECT_READER;
        let reader = code_object_reader.parts().and_then(|parts| state.readers.get(parts)).ok_or(invalid)?;
        client.loading(|_| Ok(()))?;
        let name = "hsa_executable_load_program_code_object";
        ParsedCodeObject::parse(reader.bytes()).map_err(|error| explain(name, &LoadError::from(error)))?;
        diag::say(format_args!("{name}: the code object is one of an agent"));
        Err(Status::INCOMPATIBLE_ARGUMENTS)
    }

    /// `hsa_executable_freeze`: links the code and makes it visible to the agents.
    fn hsa_executable_freeze(state; executable: Executable, options: *const c_char) {
        let _ = options;
        state.executable(executable)?.freeze()
    }

    /// `hsa_executable_get_info`: an attribute of an executable.
    fn hsa_executable_get_info(state; executable: Executable, attribute: u32, value: Value) {
        let client = state.executable(executable)?;
        let place = value.required()?;
        match ExecutableInfo::from_raw(attribute).ok_or(Status::INVALID_ARGUMENT)? {
            ExecutableInfo::Profile => place.put(client.profile as u32),
            ExecutableInfo::State => place.put(client.state() as u32),
            ExecutableInfo::DefaultFloatRoundingMode => place.put(client.rounding as u32),
        }
    }

    /// `hsa_executable_global_variable_define`: gives a variable of the program its address.
    fn hsa_executable_global_variable_define(state; executable: Executable, variable_name: Text,
        address: *mut c_void) {
        let client = state.executable(executable)?;
        client.define(Scope::Program, &variable_name.required()?, address, false)
    }

    /// `hsa_executable_agent_global_variable_define`: gives a variable its address on an agent.
    fn hsa_executable_agent_global_variable_define(state; executable: Executable, agent: Agent,
        variable_name: Text, address: *mut c_void) {
        let client = state.executable(executable)?;
        let scope = Scope::Agent(state.agent(agent)?.id);
        client.define(scope, &variable_name.required()?, address, false)
    }

    /// `hsa_executable_readonly_variable_define`: gives a read-only variable its address on an agent.
    fn hsa_executable_readonly_variable_define(state; executable: Executable, agent: Agent,
        variable_name: Text, address: *mut c_void) {
        let client = state.executable(executable)?;
        let scope = Scope::Agent(state.agent(agent)?.id);
        client.define(scope, &variable_name.required()?, address, true)
    }

    /// `hsa_executable_validate`: 0 for an executable that is valid, as each that exists is.
    fn hsa_executable_validate(state; executable: Executable, result: Out<u32>) {
        state.executable(executable)?;
        result.required()?.put(0);
        Ok(())
    }

    /// `hsa_executable_validate_alt`: as [`hsa_executable_validate`].
    fn hsa_executable_validate_alt(state; executable: Executable, options: *const c_char,
        result: Out<u32>) {
        let _ = options;
        state.executable(executable)?;
        result.required()?.put(0);
        Ok(())
    }
}
