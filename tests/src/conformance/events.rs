//! Events: what devices and hosts wake with.

use std::thread;
use std::time::Duration;

use rukh_core::backend::{
    Clock, EventError, EventId, EventKind, EventOutcome, Events, Timeout, WaitMode,
};

use super::failure::{ensure, ensure_eq, ensure_matches};
use super::{Factory, Outcome};

fn wait<B: Events>(
    backend: &B,
    events: &[EventId],
    mode: WaitMode,
    timeout: Timeout,
) -> Result<EventOutcome, EventError> {
    backend.wait_events(events, mode, timeout, &mut |_| {})
}

/// Events that are destroyed at the end, however that comes.
struct Held<'a, B: Events>(&'a B, Vec<EventId>);

impl<B: Events> Held<'_, B> {
    fn create(&mut self, kind: EventKind) -> Result<EventId, EventError> {
        let event = self.0.create_event(kind)?;
        self.1.push(event);
        Ok(event)
    }
}

impl<B: Events> Drop for Held<'_, B> {
    fn drop(&mut self) {
        for event in &self.1 {
            let _ = self.0.destroy_event(*event);
        }
    }
}

pub(super) fn an_event_stays_raised_until_a_wait_takes_it<F: Factory>(factory: &F) -> Outcome {
    let backend = factory.make();
    let mut held = Held(&backend, Vec::new());
    let event = held.create(EventKind::Signal)?;
    for _ in 0..2 {
        backend.set_event(event)?;
    }
    let poll = || wait(&backend, &[event], WaitMode::Any, Timeout::Poll);
    ensure_eq!(poll()?, EventOutcome::Raised);
    ensure_eq!(poll()?, EventOutcome::TimedOut);
    backend.set_event(event)?;
    ensure_eq!(
        wait(&backend, &[event], WaitMode::Any, Timeout::Never)?,
        EventOutcome::Raised
    );
    Ok(())
}

pub(super) fn a_wait_ends_when_its_time_is_over<F: Factory>(factory: &F) -> Outcome {
    let backend = factory.make();
    let mut held = Held(&backend, Vec::new());
    let event = held.create(EventKind::Signal)?;
    let end = backend.now() + 2_000_000;
    // A wait may end early; but not for ever.
    while backend.now() < end {
        let outcome = wait(&backend, &[event], WaitMode::Any, Timeout::At(end))?;
        ensure_eq!(outcome, EventOutcome::TimedOut);
    }
    let past = Timeout::At(0);
    ensure_eq!(
        wait(&backend, &[event], WaitMode::Any, past)?,
        EventOutcome::TimedOut
    );
    Ok(())
}

pub(super) fn waiting_for_all_needs_every_event<F: Factory>(factory: &F) -> Outcome {
    let backend = factory.make();
    let mut held = Held(&backend, Vec::new());
    let pair = [
        held.create(EventKind::Signal)?,
        held.create(EventKind::Signal)?,
    ];
    ensure!(pair[0] != pair[1]);
    backend.set_event(pair[0])?;
    let all = || wait(&backend, &pair, WaitMode::All, Timeout::Poll);
    ensure_eq!(all()?, EventOutcome::TimedOut);
    backend.set_event(pair[1])?;
    ensure_eq!(all()?, EventOutcome::Raised, "the first was raised before");
    Ok(())
}

pub(super) fn an_event_from_another_thread_wakes<F: Factory>(factory: &F) -> Outcome {
    let backend = factory.make();
    let mut held = Held(&backend, Vec::new());
    let event = held.create(EventKind::Signal)?;
    thread::scope(|scope| {
        let setter = scope.spawn(|| {
            thread::sleep(Duration::from_millis(5));
            // Once more where calls are made to fail, lest the other thread waits for nothing.
            backend
                .set_event(event)
                .or_else(|_| backend.set_event(event))
        });
        let end = Timeout::At(backend.now() + 60_000_000_000);
        let mut outcome = EventOutcome::TimedOut;
        // Where time is virtual, it is over before the other thread is there.
        while outcome == EventOutcome::TimedOut {
            outcome = wait(&backend, &[event], WaitMode::Any, end)?;
            if setter.is_finished() && outcome == EventOutcome::TimedOut {
                outcome = wait(&backend, &[event], WaitMode::Any, Timeout::Poll)?;
                ensure_eq!(outcome, EventOutcome::Raised);
            }
        }
        ensure!(matches!(setter.join(), Ok(Ok(()))));
        Ok(())
    })
}

pub(super) fn events_that_do_not_exist_are_refused<F: Factory>(factory: &F) -> Outcome {
    let backend = factory.make();
    let event = backend.create_event(EventKind::Signal)?;
    backend.destroy_event(event)?;
    for id in [event, EventId(u32::MAX), EventId(0xff_ffff)] {
        ensure_matches!(backend.set_event(id), Err(EventError::NoEvent(e)) if *e == id);
        ensure_matches!(backend.destroy_event(id), Err(EventError::NoEvent(_)));
        ensure_matches!(
            wait(&backend, &[id], WaitMode::Any, Timeout::Poll),
            Err(EventError::NoEvent(_))
        );
        ensure_eq!(backend.mailbox(id), 0);
    }
    Ok(())
}

pub(super) fn only_signal_events_can_be_set<F: Factory>(factory: &F) -> Outcome {
    let backend = factory.make();
    let mut held = Held(&backend, Vec::new());
    for kind in [EventKind::MemoryFault, EventKind::HardwareException] {
        match held.create(kind) {
            Ok(event) => {
                ensure_matches!(backend.set_event(event), Err(EventError::NoEvent(_)));
                ensure_eq!(
                    wait(&backend, &[event], WaitMode::Any, Timeout::Poll)?,
                    EventOutcome::TimedOut
                );
            }
            Err(EventError::NotSupported(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

pub(super) fn events_run_out_with_an_error<F: Factory>(factory: &F) -> Outcome {
    let backend = factory.make();
    let mut held = Held(&backend, Vec::new());
    let first = held.create(EventKind::Signal)?;
    // Far beyond the driver's 4096.
    let error = loop {
        match held.create(EventKind::Signal) {
            Ok(_) => ensure!(held.1.len() < 10_000),
            Err(error) => break error,
        }
    };
    ensure_matches!(error, EventError::NoneLeft { limit } if *limit as usize == held.1.len());
    backend.set_event(first)?;
    ensure_eq!(
        wait(&backend, &[first], WaitMode::Any, Timeout::Poll)?,
        EventOutcome::Raised
    );
    // One that is given back can be had again.
    backend.destroy_event(held.1.pop().unwrap_or(first))?;
    held.create(EventKind::Signal)?;
    Ok(())
}
