//! Events: sleeping on them, or making progress until they are raised.

use super::SimBackend;
use crate::device::MAX_EVENTS;
use rukh_core::backend::{
    EventError, EventId, EventKind, EventOutcome, EventReport, Events, Timeout, WaitMode,
};

impl Events for SimBackend {
    #[cfg(feature = "std")]
    fn parker(&self) -> &dyn rukh_core::backend::Park {
        &self.park
    }

    fn create_event(&self, kind: EventKind) -> Result<EventId, EventError> {
        self.system.events.create(kind)
    }

    fn destroy_event(&self, event: EventId) -> Result<(), EventError> {
        self.system.events.destroy(event)
    }

    fn mailbox(&self, event: EventId) -> u64 {
        if !self.system.events.exists(event) {
            return 0;
        }
        match self.mailboxes(MAX_EVENTS + 1) {
            Some(base) => base + u64::from(event.0) * 8,
            None => 0,
        }
    }

    fn set_event(&self, event: EventId) -> Result<(), EventError> {
        self.system.events.set(event)
    }

    fn wait_events(
        &self,
        events: &[EventId],
        mode: WaitMode,
        timeout: Timeout,
        report: &mut dyn FnMut(EventReport),
    ) -> Result<EventOutcome, EventError> {
        let wait = self.system.events.begin(events, mode)?;
        let met = if self.engine.is_step() {
            self.step_until(&wait, timeout)
        } else {
            self.sleep_until(&wait, timeout)
        };
        let outcome = self
            .system
            .events
            .end(wait, *met.as_ref().unwrap_or(&false), report);
        met.map(|_| outcome)
    }
}

impl SimBackend {
    /// Makes progress until the wait is over, the time is, or there is nothing left to do.
    fn step_until(&self, wait: &crate::device::Wait, timeout: Timeout) -> Result<bool, EventError> {
        loop {
            if self.system.events.check(wait)? {
                return Ok(true);
            }
            let progress = self.engine.advance(&self.system);
            match timeout {
                Timeout::Poll => return self.system.events.check(wait),
                Timeout::At(time) if self.system.clock.now() >= time => {
                    return self.system.events.check(wait);
                }
                _ if progress => {}
                Timeout::At(time) => {
                    // Only the host could change anything, and it is here.
                    self.system.clock.skip_to(time);
                    return Ok(false);
                }
                Timeout::Never => {
                    #[cfg(feature = "std")]
                    std::thread::yield_now();
                    return Ok(false);
                }
            }
        }
    }

    #[cfg(feature = "std")]
    fn sleep_until(
        &self,
        wait: &crate::device::Wait,
        timeout: Timeout,
    ) -> Result<bool, EventError> {
        let deadline = match timeout {
            Timeout::Poll => return self.system.events.check(wait),
            Timeout::Never => None,
            Timeout::At(time) => {
                let left = time.saturating_sub(self.system.clock.now());
                // A time too far to be told is never.
                std::time::Instant::now().checked_add(std::time::Duration::from_nanos(left))
            }
        };
        self.system.events.sleep(wait, deadline)
    }

    #[cfg(not(feature = "std"))]
    fn sleep_until(
        &self,
        wait: &crate::device::Wait,
        timeout: Timeout,
    ) -> Result<bool, EventError> {
        self.step_until(wait, timeout)
    }
}
