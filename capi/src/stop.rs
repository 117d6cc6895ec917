//! Where a wave stopped, in the words of whoever wrote the kernel: its name, and the source line of code that has debug
//! information.

use crate::abi::Parts;
use crate::diag;
use crate::executable::ClientExecutable;
use crate::runtime::State;
use rukh_core::backend::{QueueHandle, WaveStop};
use rukh_core::loader::source::SourceMap;
use rukh_core::loader::{CodeObject, LoadedKind};
use std::sync::Arc;

/// The kernel's name, of a kernel object.
fn kernel(executable: &ClientExecutable, kernel_object: u64) -> Option<String> {
    executable.symbols(|symbols| {
        let mut kernels = symbols.iter().filter_map(|symbol| match &symbol.kind {
            LoadedKind::Kernel(kernel) => Some((kernel.kernel_object, &*symbol.name)),
            _ => None,
        });
        let (_, name) = kernels.find(|(object, _)| *object == kernel_object)?;
        Some(name.strip_suffix(".kd").unwrap_or(name).into())
    })
}

/// Where in the source the instruction at an address in memory is from, or why that cannot be told.
fn source(executable: &ClientExecutable, pc: u64) -> Option<String> {
    let objects = executable.code_objects();
    let (address, from) = objects
        .iter()
        .find_map(|(object, from)| Some((object.file_address(pc)?, from)))?;
    let code = CodeObject::parse(from.debug_bytes()?).ok()?;
    match SourceMap::around(&code, address) {
        Ok(map) => {
            let map = map?;
            let source = map.at(address);
            (!source.is_empty()).then(|| format!(" at {source}"))
        }
        Err(error) => Some(format!(" (its source lines cannot be read: {error})")),
    }
}

fn say_one(executables: &[(Parts, Arc<ClientExecutable>)], stop: &WaveStop<'_>) {
    let find = |ask: &dyn Fn(&ClientExecutable) -> Option<String>| {
        executables
            .iter()
            .find_map(|(_, executable)| ask(executable))
    };
    let kernel = find(&|executable| kernel(executable, stop.kernel_object));
    // Functions may be in another executable than the kernel that calls them.
    let source = find(&|executable| source(executable, stop.pc)).unwrap_or_default();
    let kernel = kernel.map_or("a kernel".into(), |name| format!("kernel {name}"));
    diag::say(format_args!("{kernel} stopped{source}: {}", stop.account));
}

/// Says where the wave stood that stopped a queue, if the backend can tell.
pub fn say(state: &State, queue: QueueHandle) {
    let executables = state.executables.all();
    state
        .backend()
        .wave_stop(queue, &mut |stop| say_one(&executables, stop));
}
