//! Clocks: CLOCK_BOOTTIME, and the GPU's counter beside it.

use crate::backend::KfdBackend;
use crate::device::Gpu;
use crate::sys;
use rukh_core::backend::{AgentId, Clock, ClockCounters};
use rukh_core::kfd::uapi::GetClockCounters;
use rukh_core::kfd::{KfdPort, PortError};

/// Frequency of the reference clock of most GPUs, if nothing better is known.
const USUAL_FREQUENCY: u64 = 100_000_000;

/// Nanoseconds between two looks at a counter that tell its frequency to a part in ten thousand.
const CALIBRATION_NS: u64 = 10_000_000;

impl<P: KfdPort> KfdBackend<P> {
    pub(crate) fn read_counters(&self, gpu: &Gpu) -> Result<ClockCounters, PortError> {
        let mut counters = GetClockCounters {
            gpu_id: gpu.id,
            ..GetClockCounters::default()
        };
        self.kfd.call(&mut counters)?;
        Ok(ClockCounters {
            device: counters.gpu_clock_counter,
            system: counters.system_clock_counter,
        })
    }
}

impl<P: KfdPort> KfdBackend<P> {
    /// The counter as it must be by now, from its first reading and its frequency: for when the driver refuses to read it.
    fn estimate(&self, agent: AgentId) -> ClockCounters {
        let system = sys::now();
        let first = self
            .gpu_index(agent)
            .and_then(|index| self.first_counters.get(index))
            .copied()
            .unwrap_or_default();
        let ns = u128::from(system.saturating_sub(first.system));
        let ticks = ns * u128::from(self.device_frequency(agent)) / 1_000_000_000;
        ClockCounters {
            device: first.device.wrapping_add(ticks as u64),
            system,
        }
    }
}

impl<P: KfdPort> Clock for KfdBackend<P> {
    fn now(&self) -> u64 {
        sys::now()
    }

    fn counters(&self, agent: AgentId) -> ClockCounters {
        let host = || {
            let now = sys::now();
            ClockCounters {
                device: now,
                system: now,
            }
        };
        match self.gpu(agent) {
            Some(gpu) => self
                .read_counters(gpu)
                .or_else(|_| self.read_counters(gpu))
                .unwrap_or_else(|_| self.estimate(agent)),
            None => host(),
        }
    }

    fn device_frequency(&self, agent: AgentId) -> u64 {
        let Some(index) = self.gpu_index(agent) else {
            return 1_000_000_000;
        };
        let gpu = &self.gpus[index];
        let told = gpu.device.map_or(0, |d| u64::from(d.counter_khz) * 1000);
        if told != 0 {
            return told;
        }
        let Ok(now) = self.read_counters(gpu) else {
            return USUAL_FREQUENCY;
        };
        let first = self.first_counters[index];
        let ns = now.system.wrapping_sub(first.system);
        let ticks = now.device.wrapping_sub(first.device);
        if first.system == 0 || !(CALIBRATION_NS..1 << 62).contains(&ns) {
            return USUAL_FREQUENCY;
        }
        let frequency = u128::from(ticks) * 1_000_000_000 / u128::from(ns);
        match u64::try_from(frequency) {
            // No GPU counts slower than this or faster than that.
            Ok(frequency @ 1_000_000..=10_000_000_000) => frequency,
            _ => USUAL_FREQUENCY,
        }
    }
}
