//! The arena of signals and the lock that it takes: slots are given out once, freed once, and seen whole.

use loom::cell::UnsafeCell;
use loom::thread;
use rukh_loom::backend::Lock;
use rukh_loom::device::{Barrier, Futex};
use rukh_loom::runtime::reactor::Runtime;
use rukh_loom::signal::{ArenaError, MemoryOrder, SignalFlags, SignalHandle, SignalOps};
use std::sync::Arc;
use std::sync::atomic::Ordering;

fn model(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.max_branches = 20_000;
    builder.check(body);
}

#[test]
fn a_lock_excludes_and_nobody_sleeps_on_a_free_one() {
    model(|| {
        let shared = Arc::new((Lock::new(UnsafeCell::new(0)), Futex::new(Barrier::Fences)));
        drop(shared.0.lock(&shared.1));
        let add = |shared: &(Lock<UnsafeCell<u32>>, Futex)| {
            let cell = shared.0.lock(&shared.1);
            // Loom reports an access that another one does not come before.
            // SAFETY: the lock is held; that it excludes is what is tried.
            cell.with_mut(|value| unsafe { *value += 1 });
        };
        let others = [0; 2].map(|_| {
            let shared = shared.clone();
            thread::spawn(move || add(&shared))
        });
        add(&shared);
        for other in others {
            other.join().expect("it ends");
        }
        // SAFETY: all others have ended.
        shared
            .0
            .lock(&shared.1)
            .with(|value| assert_eq!(unsafe { *value }, 3));
    });
}

#[test]
fn a_slot_is_given_out_once() {
    model(|| {
        let runtime = Arc::new(Runtime::new(2));
        let other = {
            let runtime = runtime.clone();
            thread::spawn(move || runtime.create(1).handle())
        };
        let mine = runtime.create(2).handle();
        let others = other.join().expect("it ends");
        assert_ne!(mine, others);
        for (handle, value) in [(mine, 2), (others, 1)] {
            let slot = runtime.arena().get(handle).expect("a signal");
            assert_eq!(slot.signal.load(MemoryOrder::Relaxed), value);
        }
        assert_eq!(
            runtime
                .arena()
                .allocate(3, SignalFlags::empty(), runtime.park())
                .map(|slot| slot.handle()),
            Err(ArenaError::Full { slots: 2 })
        );
    });
}

#[test]
fn of_two_that_free_a_signal_one_does() {
    model(|| {
        let runtime = Arc::new(Runtime::new(1));
        let handle = runtime.create(0).handle();
        let free = move |runtime: &Runtime| {
            runtime
                .arena()
                .get(handle)
                .is_some_and(|slot| runtime.destroy(slot))
        };
        let other = {
            let runtime = runtime.clone();
            thread::spawn(move || free(&runtime))
        };
        let mine = free(&runtime);
        let others = other.join().expect("it ends");
        assert!(mine ^ others, "freed {mine} and {others}");
        assert_eq!(runtime.arena().live(runtime.park()), 0);
        // The slot is in the list once: it is given out once more, and then there is none.
        runtime.create(7);
        let again = runtime
            .arena()
            .allocate(8, SignalFlags::empty(), runtime.park());
        assert!(again.is_err());
    });
}

/// A handle becomes valid with the signal's value, and with a generation that is odd: nothing older is seen behind it.
#[test]
fn a_handle_that_is_valid_names_a_whole_signal() {
    model(|| {
        let runtime = Arc::new(Runtime::new(1));
        let first = runtime.create(0);
        let handle: SignalHandle = first.handle();
        runtime.destroy(first);
        let other = {
            let runtime = runtime.clone();
            thread::spawn(move || {
                runtime.create(5);
            })
        };
        if let Some(slot) = runtime.arena().get(handle) {
            assert_eq!(slot.signal.load(MemoryOrder::Relaxed), 5);
            assert_eq!(slot.generation.load(Ordering::Relaxed), 3);
            assert_eq!(slot.waiters.load(Ordering::Relaxed), 0);
        }
        other.join().expect("it ends");
    });
}

/// Who watches a signal that is destroyed, and its slot given out again with the value that was waited for,
/// sees that the signal is gone and not the new one's value.
#[test]
fn a_wait_does_not_end_by_the_next_signal_of_its_slot() {
    model(|| {
        let runtime = Arc::new(Runtime::new(1));
        let slot = runtime.create(1);
        let handle = slot.handle();
        let generation = slot.generation.load(Ordering::Relaxed);
        let other = {
            let runtime = runtime.clone();
            thread::spawn(move || {
                let slot = runtime.arena().get(handle).expect("a signal");
                runtime.destroy(slot);
                runtime.create(0);
            })
        };
        // As a watch looks: the value, then the generation.
        let value = slot.signal.load(MemoryOrder::Acquire);
        if slot.generation.load(Ordering::Relaxed) == generation {
            assert_eq!(value, 1);
        }
        other.join().expect("it ends");
    });
}
