//! Chapter initialisation: `hsa_init`, `hsa_shut_down`, and what the debugger reads.

use crate::abi::Status;
use crate::amd::event;
use crate::backend::{Choice, ChoiceError, VARIABLE};
use crate::diag;
use crate::entry::{Result, entry};
use crate::runtime::State;
use crate::state::{release, retain};
use crate::tools;
use rukh_core::runtime::{Runtime, RuntimeConfig};
use std::sync::Arc;

/// Why there is no runtime, in words; the specification has but one status for all of it.
fn explain(error: &ChoiceError) -> Status {
    match error {
        ChoiceError::Kfd(_) | ChoiceError::NoGpu { .. } => diag::say(format_args!(
            "hsa_init: no GPU can be used: {error}. \
             To run on the software GPU, set {VARIABLE}=sim:gfx90a or another profile"
        )),
        ChoiceError::UnknownValue(_) | ChoiceError::Profiles(_) => {
            diag::say(format_args!("hsa_init: {error}"));
        }
    }
    Status::OUT_OF_RESOURCES
}

fn start() -> Result<Arc<State>> {
    let value = std::env::var_os(VARIABLE).map(|value| value.to_string_lossy().into_owned());
    let backend = Choice::parse(value.as_deref())
        .and_then(|choice| choice.open())
        .map_err(|error| explain(&error))?;
    let runtime = Runtime::new(backend, RuntimeConfig::threaded()).map_err(|error| {
        diag::say(format_args!("hsa_init: {error}"));
        Status::from(error)
    })?;
    let state = State::new(runtime);
    event::attach(&state);
    Ok(state)
}

entry! {
    /// `hsa_init`: opens the runtime, or counts a further user of it.
    fn hsa_init() {
        retain(start, tools::load)
    }

    /// `hsa_shut_down`: undoes one [`hsa_init`]; the last one closes the runtime.
    fn hsa_shut_down() {
        release(tools::unload)
    }
}
