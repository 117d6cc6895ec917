//! Callbacks on signals: each is called when its signal is there, whoever changes it and whenever it was added, once for
//! each time that it asked for. One that is forgotten is a deadlock here: the thread that calls ends by a callback.

use rukh_loom::device::Barrier;
use rukh_loom::model::{model, spawn};
use rukh_loom::runtime::reactor::Runtime;
use rukh_loom::signal::SignalSlot;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

/// A signal of the runtime's arena, which lives as long as the runtime does.
#[derive(Clone, Copy)]
struct Signal(*const SignalSlot);

// SAFETY: slots are shared by design, and a model joins its threads before it drops the runtime.
unsafe impl Send for Signal {}

impl Signal {
    fn new(runtime: &Runtime) -> Self {
        Self(runtime.create_bound(1))
    }

    fn slot<'a>(self) -> &'a SignalSlot {
        // SAFETY: as above.
        unsafe { &*self.0 }
    }
}

/// Counts its calls, and ends the runtime's thread at the last one.
fn counter(
    runtime: &Arc<Runtime>,
    calls: &Arc<AtomicU32>,
    last: u32,
) -> impl FnMut(i64) -> bool + Send + 'static {
    let runtime: Weak<Runtime> = Arc::downgrade(runtime);
    let calls = calls.clone();
    move |value| {
        assert_eq!(value, 0);
        let call = calls.fetch_add(1, Ordering::Relaxed) + 1;
        if call == last {
            runtime.upgrade().expect("the runtime is there").stop();
        }
        call != last
    }
}

/// A handler is added while its signal changes and the thread that calls is on its way to sleep.
fn added_while(barrier: Barrier, change: fn(&Runtime, &SignalSlot)) {
    model(2, move || {
        let runtime = Arc::new(Runtime::threaded(1, barrier));
        let signal = Signal::new(&runtime);
        let calls = Arc::new(AtomicU32::new(0));
        let caller = spawn(&runtime, Runtime::run);
        let other = spawn(&runtime, move |runtime| change(runtime, signal.slot()));
        runtime.add_handler(signal.slot(), counter(&runtime, &calls, 1));
        other.join().expect("it ends");
        caller.join().expect("it ends");
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        assert_eq!(signal.slot().waiters.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn a_handler_sees_a_hosts_store() {
    added_while(Barrier::Fences, |runtime, slot| runtime.store(slot, 0));
}

#[test]
fn a_handler_sees_a_hosts_store_without_a_fence() {
    added_while(Barrier::Imposed, |runtime, slot| runtime.store(slot, 0));
}

#[test]
fn a_handler_sees_a_devices_event() {
    added_while(Barrier::Fences, |runtime, slot| {
        runtime.device_adds(slot, -1);
    });
}

/// What the models are worth: without the waiter's barrier a store is not seen.
#[test]
#[should_panic(expected = "deadlock")]
fn without_the_barrier_a_handler_is_forgotten() {
    added_while(Barrier::Broken, |runtime, slot| runtime.store(slot, 0));
}

#[test]
fn a_handler_that_stays_is_called_again() {
    model(2, || {
        let runtime = Arc::new(Runtime::threaded(1, Barrier::Fences));
        let signal = Signal::new(&runtime);
        let calls = Arc::new(AtomicU32::new(0));
        runtime.add_handler(signal.slot(), counter(&runtime, &calls, 2));
        let caller = spawn(&runtime, Runtime::run);
        // The value stays, so that the handler is due as soon as it is back in the list.
        runtime.store(signal.slot(), 0);
        caller.join().expect("it ends");
        assert_eq!(calls.load(Ordering::Relaxed), 2);
        assert_eq!(signal.slot().waiters.load(Ordering::Relaxed), 0);
    });
}

/// Taken back, or called, and never both.
#[test]
fn a_handler_that_was_taken_back_is_not_called() {
    model(2, || {
        let runtime = Arc::new(Runtime::threaded(1, Barrier::Fences));
        let signal = Signal::new(&runtime);
        let calls = Arc::new(AtomicU32::new(0));
        let handler = runtime.add_handler(signal.slot(), counter(&runtime, &calls, 1));
        let caller = spawn(&runtime, Runtime::run);
        let host = spawn(&runtime, move |runtime| runtime.store(signal.slot(), 0));
        let taken = runtime.remove_handler(handler);
        if taken {
            runtime.stop();
        }
        host.join().expect("it ends");
        caller.join().expect("it ends");
        assert_eq!(calls.load(Ordering::Relaxed), u32::from(!taken));
        assert_eq!(signal.slot().waiters.load(Ordering::Relaxed), 0);
    });
}

/// The handler of a signal that is destroyed is dropped, and the thread goes on to the next one.
#[test]
fn the_handler_of_a_destroyed_signal_is_in_nobodys_way() {
    model(2, || {
        let runtime = Arc::new(Runtime::threaded(2, Barrier::Fences));
        let [gone, there] = [0; 2].map(|_| Signal::new(&runtime));
        let calls = Arc::new(AtomicU32::new(0));
        runtime.add_handler(gone.slot(), |_| panic!("a signal that was never 0"));
        runtime.add_handler(there.slot(), counter(&runtime, &calls, 1));
        let caller = spawn(&runtime, Runtime::run);
        let host = spawn(&runtime, move |runtime| {
            assert!(runtime.destroy(gone.slot()));
        });
        runtime.store(there.slot(), 0);
        host.join().expect("it ends");
        caller.join().expect("it ends");
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    });
}
