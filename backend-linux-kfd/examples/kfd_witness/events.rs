//! What events do that needs no second thread and no clock: the same on the driver and on a recording of it.

use rukh_backend_linux_kfd::KfdBackend;
use rukh_core::backend::*;
use rukh_core::kfd::KfdPort;

/// Waits for any of several events.
pub fn wait<P: KfdPort>(
    backend: &KfdBackend<P>,
    events: &[EventId],
    timeout: Timeout,
) -> Result<EventOutcome, EventError> {
    backend.wait_events(events, WaitMode::Any, timeout, &mut |_| {})
}

/// Creates, sets, waits for and destroys events.
pub fn events<P: KfdPort>(backend: &KfdBackend<P>, check: &mut dyn FnMut(&str, bool)) {
    let raised = Ok(EventOutcome::Raised);
    let late = Ok(EventOutcome::TimedOut);
    let Ok(first) = backend.create_event(EventKind::Signal) else {
        return check("an event can be created", false);
    };
    let second = backend.create_event(EventKind::Signal).unwrap_or(first);
    check("two events differ", first != second);
    check(
        "an event that was not raised is waited for in vain",
        wait(backend, &[first], Timeout::Poll) == late,
    );
    check("an event can be set", backend.set_event(first).is_ok());
    check(
        "a raised event ends a wait",
        wait(backend, &[second, first], Timeout::Never) == raised,
    );
    check(
        "and is consumed by it",
        wait(backend, &[first], Timeout::Poll) == late,
    );
    let _ = backend.set_event(first);
    let all = backend.wait_events(&[first, second], WaitMode::All, Timeout::Poll, &mut |_| {});
    check("one of two is not all", all == late);
    check(
        "an event can be destroyed once",
        backend.destroy_event(second).is_ok()
            && backend.destroy_event(second) == Err(EventError::NoEvent(second)),
    );
    check(
        "and is not there any more",
        wait(backend, &[second], Timeout::Poll) == Err(EventError::NoEvent(second))
            && backend.set_event(second) == Err(EventError::NoEvent(second)),
    );
    let fault = backend.create_event(EventKind::MemoryFault);
    check("a fault event can be created", fault.is_ok());
    if let Ok(fault) = fault {
        check("and cannot be set", backend.set_event(fault).is_err());
        check(
            "and waited for",
            wait(backend, &[fault], Timeout::Poll) == late,
        );
        check("and destroyed", backend.destroy_event(fault).is_ok());
    }
    check(
        "the rest is destroyed",
        backend.destroy_event(first).is_ok(),
    );
}
