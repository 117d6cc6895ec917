//! Chapter initialisation: `hsa_init`, `hsa_shut_down`, and what the debugger reads.

use crate::abi::Status;
use crate::amd::event;
use crate::backend::{Choice, ChoiceError, DEBUG_LIST, Skipped, VARIABLE};
use crate::debug;
use crate::entry::{Result, entry};
use crate::runtime::State;
use crate::state::{release, retain};
use crate::{diag, driver, tools};
use core::sync::atomic::Ordering;
use rukh_core::backend::Topology;
use rukh_core::runtime::{Runtime, RuntimeConfig};
use std::sync::{Arc, Once};

/// Why there is no runtime, in words; the specification has but one status for all of it.
fn explain(error: &ChoiceError) -> Status {
    match error {
        ChoiceError::Kfd(_) | ChoiceError::NoGpu { .. } => diag::say(format_args!(
            "hsa_init: no GPU can be used: {error}. \
             rukh-info says what to do. To run on the software GPU, set {VARIABLE}=sim:gfx90a or another profile"
        )),
        ChoiceError::UnknownValue(_) | ChoiceError::Profiles(_) | ChoiceError::Driver(_) => {
            diag::say(format_args!("hsa_init: {error}"));
        }
    }
    Status::OUT_OF_RESOURCES
}

fn start() -> Result<Arc<State>> {
    let value = std::env::var_os(VARIABLE).map(|value| value.to_string_lossy().into_owned());
    let list = core::ptr::from_ref(debug::list()).expose_provenance() as u64;
    DEBUG_LIST.store(list, Ordering::Relaxed);
    let backend = Choice::parse(value.as_deref())
        .inspect(say_unused)
        .and_then(|choice| choice.open())
        .map_err(|error| explain(&error))?;
    say_skipped(&*backend);
    let config = RuntimeConfig {
        on_scratch: Some(tools::scratch_event),
        ..RuntimeConfig::threaded()
    };
    let runtime = Runtime::new(backend, config).map_err(|error| {
        diag::say(format_args!("hsa_init: {error}"));
        Status::from(error)
    })?;
    let state = State::new(runtime);
    event::attach(&state);
    Ok(state)
}

/// Says that a recording was asked for where there is nothing to record.
fn say_unused(choice: &Choice) {
    let trace = std::env::var_os(driver::TRACE_VARIABLE).filter(|value| !value.is_empty());
    if let (Choice::Sim(_), Some(value)) = (choice, trace) {
        diag::say(format_args!(
            "hsa_init: {}={} records nothing: {VARIABLE} asks for the software GPU itself; to record its driver, set \
             {VARIABLE}=kfd and {}=PROFILE",
            driver::TRACE_VARIABLE,
            value.display(),
            driver::KFD_VARIABLE
        ));
    }
}

/// Says, once in a process, which GPUs are left out while others can be used.
fn say_skipped(topology: &dyn Topology) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        topology.skipped(&mut |device| {
            let device = Skipped(device);
            if device.is_hidden() {
                diag::note(format_args!("hsa_init: a GPU is hidden: {device}"));
            } else {
                diag::say(format_args!(
                    "hsa_init: a GPU is left out: {device}; rukh-info says what to do"
                ));
            }
        });
    });
}

/// Says what a replay of a recorded driver came to so far; nothing if there is none.
fn say_replay() {
    let Some(report) = driver::replay_report() else {
        return;
    };
    let (differences, left) = (report.differences, report.left);
    for call in &differences {
        diag::say(format_args!("replay: not in the recording: {call}"));
    }
    let next = left.first().map_or("none", String::as_str);
    diag::say(format_args!(
        "replay: {} calls were not in the recording; {} of its calls are left, next: {next}",
        differences.len(),
        left.len()
    ));
}

entry! {
    /// `hsa_init`: opens the runtime, or counts a further user of it.
    fn hsa_init() {
        retain(start, tools::load)
    }

    /// `hsa_shut_down`: undoes one [`hsa_init`]; the last one closes the runtime.
    fn hsa_shut_down() {
        release(tools::unload)?;
        if crate::state::open().is_err() {
            say_replay();
        }
        Ok(())
    }
}
