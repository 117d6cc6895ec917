//! Time, on the host and on devices.

use super::topology::AgentId;

/// The clocks of host and device, read as close together as can be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClockCounters {
    /// The device's counter, in ticks of [`Clock::device_frequency`].
    pub device: u64,
    /// The host's clock as [`Clock::now`] gives it, in nanoseconds.
    pub system: u64,
}

/// Reads clocks.
pub trait Clock {
    /// The system clock in nanoseconds: monotonic, the same on all agents of the host (on Linux
    /// CLOCK_BOOTTIME). Devices stamp packets with their own counter.
    fn now(&self) -> u64;

    /// Both clocks of an agent at one moment.
    fn counters(&self, agent: AgentId) -> ClockCounters;

    /// Ticks per second of an agent's counter; not zero.
    fn device_frequency(&self, agent: AgentId) -> u64;

    /// Called between two looks at a value that something else is about to change. A backend whose
    /// devices only make progress when called makes some here.
    fn relax(&self) {
        core::hint::spin_loop();
    }
}
