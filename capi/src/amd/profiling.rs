//! When packets and copies ran.

use crate::abi::{Agent, ProfilingTime, Signal, Status};
use crate::arg::Out;
use crate::entry::{Result, entry};
use crate::runtime::State;
use crate::signal::find;
use core::sync::atomic::Ordering;
use rukh_core::backend::AgentId;

/// An agent's ticks in system ticks (nanoseconds): by how far they lie from now. Both clocks are read
/// at one moment, so that a start and its end never change places.
struct Conversion {
    device_now: u64,
    system_now: u64,
    frequency: u64,
}

impl Conversion {
    fn of(state: &State, agent: AgentId) -> Self {
        let counters = state.backend().counters(agent);
        Self {
            device_now: counters.device,
            system_now: counters.system,
            frequency: state.backend().device_frequency(agent).max(1),
        }
    }

    fn convert(&self, tick: u64) -> u64 {
        let away = i128::from(tick) - i128::from(self.device_now);
        let nanoseconds = away * 1_000_000_000 / i128::from(self.frequency);
        let system = i128::from(self.system_now) + nanoseconds;
        u64::try_from(system.max(0)).unwrap_or(u64::MAX)
    }
}

fn timestamps(state: &State, signal: Signal) -> Result<(u64, u64)> {
    let signal = find(state, signal).map_err(|_| Status::INVALID_SIGNAL)?;
    if signal.is_doorbell() {
        return Err(Status::INVALID_SIGNAL);
    }
    Ok(signal.timestamps())
}

entry! {
    /// `hsa_amd_profiling_async_copy_enable`: whether copies stamp their completion signals.
    fn hsa_amd_profiling_async_copy_enable(state; enable: bool) {
        state.copy_profiling.store(enable, Ordering::Relaxed);
        Ok(())
    }

    /// `hsa_amd_profiling_get_dispatch_time`: when the packet that completed on a signal ran, in system
    /// ticks. Its queue must have been profiled.
    fn hsa_amd_profiling_get_dispatch_time(state; agent: Agent, signal: Signal,
        time: Out<ProfilingTime>) {
        let place = time.required()?;
        let agent = state.agent(agent)?;
        if !agent.is_gpu() {
            return Err(Status::INVALID_AGENT);
        }
        let (start, end) = timestamps(&state, signal)?;
        let conversion = Conversion::of(&state, agent.id);
        place.put(ProfilingTime { start: conversion.convert(start), end: conversion.convert(end) });
        Ok(())
    }

    /// `hsa_amd_profiling_get_async_copy_time`: when the copy that completed on a signal ran, in system
    /// ticks.
    fn hsa_amd_profiling_get_async_copy_time(state; signal: Signal, time: Out<ProfilingTime>) {
        let place = time.required()?;
        let (start, end) = timestamps(&state, signal)?;
        if start == 0 {
            return Err(Status::ERROR);
        }
        let engine = state.copy_clocks().get(&signal.handle).copied();
        place.put(match engine {
            Some(agent) => {
                let conversion = Conversion::of(&state, agent);
                ProfilingTime { start: conversion.convert(start), end: conversion.convert(end) }
            }
            // The host copied, and stamped with the system's clock.
            None => ProfilingTime { start, end },
        });
        Ok(())
    }

    /// `hsa_amd_profiling_convert_tick_to_system_domain`: an agent's time in system ticks.
    fn hsa_amd_profiling_convert_tick_to_system_domain(state; agent: Agent, agent_tick: u64,
        system_tick: Out<u64>) {
        let place = system_tick.required()?;
        let agent = state.agent(agent)?;
        if !agent.is_gpu() {
            return Err(Status::INVALID_AGENT);
        }
        place.put(Conversion::of(&state, agent.id).convert(agent_tick));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_before_and_after_now_keep_their_distance() {
        let conversion = Conversion {
            device_now: 1_000,
            system_now: 5_000_000,
            frequency: 100_000_000,
        };
        assert_eq!(conversion.convert(1_000), 5_000_000);
        assert_eq!(conversion.convert(900), 5_000_000 - 1_000);
        assert_eq!(conversion.convert(1_100), 5_000_000 + 1_000);
        assert_eq!(conversion.convert(u64::MAX), u64::MAX);
    }
}
