//! No wake-up is lost, whoever changes a signal and whoever leads. A lost one is a deadlock here: nothing times out.

use rukh_loom::device::Barrier;
use rukh_loom::model::{model, spawn};
use rukh_loom::runtime::reactor::Runtime;
use rukh_loom::signal::{Condition, SignalSlot};
use std::sync::Arc;

/// A signal that threads of a model can be given: it lives as long as the runtime does.
#[derive(Clone, Copy)]
struct Signal(*const SignalSlot);

// SAFETY: slots are shared by design, and a model joins its threads before it drops the runtime.
unsafe impl Send for Signal {}

impl Signal {
    fn new(runtime: &Runtime, value: i64) -> Self {
        Self(runtime.create(value))
    }

    fn slot<'a>(self) -> &'a SignalSlot {
        // SAFETY: as above.
        unsafe { &*self.0 }
    }
}

fn one_waiter(preemptions: usize, change: fn(&Runtime, &SignalSlot)) {
    one_waiter_with(Barrier::Fences, preemptions, change);
}

fn one_waiter_with(barrier: Barrier, preemptions: usize, change: fn(&Runtime, &SignalSlot)) {
    model(preemptions, move || {
        let runtime = Arc::new(Runtime::with(1, barrier));
        let signal = Signal::new(&runtime, 1);
        let other = spawn(&runtime, move |runtime| change(runtime, signal.slot()));
        assert_eq!(runtime.wait(signal.slot(), Condition::Eq, 0), Some(0));
        other.join().expect("it ends");
    });
}

#[test]
fn a_hosts_store_wakes_a_waiter() {
    one_waiter(3, |runtime, slot| runtime.store(slot, 0));
}

#[test]
fn a_hosts_addition_wakes_a_waiter() {
    one_waiter(3, |runtime, slot| runtime.add(slot, -1));
}

#[test]
fn a_devices_event_wakes_a_waiter() {
    one_waiter(3, |runtime, slot| runtime.device_adds(slot, -1));
}

#[test]
fn an_event_without_a_change_is_slept_over() {
    one_waiter(3, |runtime, slot| {
        runtime.raise();
        runtime.device_adds(slot, -1);
    });
}

/// What the models are worth: they find what goes wrong without the barrier.
#[test]
#[should_panic(expected = "deadlock")]
fn without_the_barrier_a_wake_up_is_lost() {
    one_waiter(3, |runtime, slot| runtime.store_without_barrier(slot, 0));
}

/// Stores without a fence, and a barrier that the waiter imposes.
#[test]
fn a_hosts_store_without_a_fence_wakes_a_waiter() {
    one_waiter_with(Barrier::Imposed, 3, |runtime, slot| runtime.store(slot, 0));
}

#[test]
fn a_hosts_addition_without_a_fence_wakes_a_waiter() {
    one_waiter_with(Barrier::Imposed, 3, |runtime, slot| runtime.add(slot, -1));
}

#[test]
#[should_panic(expected = "deadlock")]
fn without_the_waiters_barrier_a_wake_up_is_lost() {
    one_waiter_with(Barrier::Broken, 3, |runtime, slot| runtime.store(slot, 0));
}

#[test]
fn a_leader_wakes_its_follower_or_hands_over() {
    model(2, || {
        let runtime = Arc::new(Runtime::new(2));
        let [a, b] = [1, 1].map(|value| Signal::new(&runtime, value));
        let other = spawn(&runtime, move |runtime| {
            assert_eq!(runtime.wait(b.slot(), Condition::Eq, 0), Some(0));
        });
        let device = spawn(&runtime, move |runtime| {
            runtime.device_adds(a.slot(), -1);
            runtime.device_adds(b.slot(), -1);
        });
        assert_eq!(runtime.wait(a.slot(), Condition::Eq, 0), Some(0));
        other.join().expect("it ends");
        device.join().expect("it ends");
    });
}

#[test]
fn a_hosts_store_wakes_leader_and_follower() {
    model(2, || {
        let runtime = Arc::new(Runtime::new(1));
        let signal = Signal::new(&runtime, 1);
        let other = spawn(&runtime, move |runtime| {
            assert_eq!(runtime.wait(signal.slot(), Condition::Lt, 1), Some(0));
        });
        let host = spawn(&runtime, move |runtime| runtime.store(signal.slot(), 0));
        assert_eq!(runtime.wait(signal.slot(), Condition::Lt, 1), Some(0));
        other.join().expect("it ends");
        host.join().expect("it ends");
    });
}

#[test]
fn a_hosts_store_without_a_fence_wakes_leader_and_follower() {
    model(2, || {
        let runtime = Arc::new(Runtime::with(1, Barrier::Imposed));
        let signal = Signal::new(&runtime, 1);
        let other = spawn(&runtime, move |runtime| {
            assert_eq!(runtime.wait(signal.slot(), Condition::Lt, 1), Some(0));
        });
        let host = spawn(&runtime, move |runtime| runtime.store(signal.slot(), 0));
        assert_eq!(runtime.wait(signal.slot(), Condition::Lt, 1), Some(0));
        other.join().expect("it ends");
        host.join().expect("it ends");
    });
}

#[test]
fn a_wait_for_all_ends_when_the_last_one_is_there() {
    model(2, || {
        let runtime = Arc::new(Runtime::new(2));
        let [a, b] = [1, 1].map(|value| Signal::new(&runtime, value));
        let device = spawn(&runtime, move |runtime| runtime.device_adds(a.slot(), -1));
        let host = spawn(&runtime, move |runtime| runtime.store(b.slot(), 0));
        assert_eq!(runtime.wait_all(&[a.slot(), b.slot()]), Some(0));
        device.join().expect("it ends");
        host.join().expect("it ends");
    });
}

#[test]
fn hosts_stores_without_a_fence_wake_the_runtimes_thread_and_a_client() {
    model(2, || {
        let runtime = Arc::new(Runtime::with(2, Barrier::Imposed));
        let [own, clients] = [1, 1].map(|value| Signal::new(&runtime, value));
        let keeper = spawn(&runtime, move |runtime| runtime.keep(own.slot()));
        let host = spawn(&runtime, move |runtime| {
            runtime.store(own.slot(), 0);
            runtime.store(clients.slot(), 0);
        });
        assert_eq!(runtime.wait(clients.slot(), Condition::Eq, 0), Some(0));
        keeper.join().expect("it ends");
        host.join().expect("it ends");
    });
}

#[test]
fn a_wait_ends_when_its_signal_is_destroyed() {
    model(3, || {
        let runtime = Arc::new(Runtime::new(1));
        let signal = Signal::new(&runtime, 1);
        let other = spawn(&runtime, move |runtime| {
            assert!(runtime.destroy(signal.slot()));
        });
        // Destroyed before the wait began or later: gone both times, or never a signal of that value.
        assert_eq!(runtime.wait(signal.slot(), Condition::Eq, 0), None);
        other.join().expect("it ends");
    });
}

/// The runtime's own thread sleeps beside the leader, on other events and in part the same.
#[test]
fn the_runtimes_thread_and_a_client_each_get_what_is_theirs() {
    model(2, || {
        let runtime = Arc::new(Runtime::new(2));
        let [own, clients] = [1, 1].map(|value| Signal::new(&runtime, value));
        let keeper = spawn(&runtime, move |runtime| runtime.keep(own.slot()));
        let device = spawn(&runtime, move |runtime| {
            runtime.device_adds(clients.slot(), -1);
            runtime.device_adds_to_own(own.slot(), -1);
        });
        assert_eq!(runtime.wait(clients.slot(), Condition::Eq, 0), Some(0));
        keeper.join().expect("it ends");
        device.join().expect("it ends");
    });
}

#[test]
fn hosts_stores_wake_the_runtimes_thread_and_a_client() {
    model(2, || {
        let runtime = Arc::new(Runtime::new(2));
        let [own, clients] = [1, 1].map(|value| Signal::new(&runtime, value));
        let keeper = spawn(&runtime, move |runtime| runtime.keep(own.slot()));
        let host = spawn(&runtime, move |runtime| {
            runtime.store(own.slot(), 0);
            runtime.store(clients.slot(), 0);
        });
        assert_eq!(runtime.wait(clients.slot(), Condition::Eq, 0), Some(0));
        keeper.join().expect("it ends");
        host.join().expect("it ends");
    });
}
