//! Scheduling: dispatches are lists of work-groups; workers make some of them resident and run their
//! waves in turns.

mod active;
mod dispatch;
mod executor;
mod group;
mod park;
mod quiesce;
mod waves;
mod worker;

pub(crate) use active::Active;
pub(crate) use dispatch::{Dispatch, DispatchScratch};
pub(crate) use executor::{Executor, ShaderClock};
#[cfg(all(test, feature = "std"))]
pub(crate) use executor::{RunContext, Trouble, WaveExit, WaveStart};
pub(crate) use park::{MAX_WORKERS, Parking};
pub(crate) use quiesce::Quiescence;
pub(crate) use waves::Interpreter;
pub(crate) use worker::Worker;
