//! Copies by an engine: each one's signal is set once, to what it was counted down to by the engine or to -1 because the
//! engine was lost, whoever hears of that and whenever; and whoever waits for it wakes. A wake-up that is lost is a deadlock
//! here. Whoever has waited stores another value at once: nobody may write that signal any more.

use rukh_loom::backend::{DmaProgress, DmaTicket};
use rukh_loom::device::Barrier;
use rukh_loom::model::{model, spawn};
use rukh_loom::runtime::reactor::Runtime;
use rukh_loom::signal::{Condition, MemoryOrder, SignalOps, SignalSlot};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

/// What a client stores to a signal that is its own again.
const REUSED: i64 = 7;

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

    fn value(self) -> i64 {
        self.slot().signal.load(MemoryOrder::Acquire)
    }
}

/// A copy that the engine was given, and nobody looks after yet.
#[derive(Clone, Copy)]
struct Copy {
    ticket: DmaTicket,
    done: Signal,
}

impl Copy {
    fn submit(runtime: &Runtime) -> Self {
        Self {
            ticket: runtime.submit(),
            done: Signal::new(runtime),
        }
    }

    fn look_after(self, runtime: &Runtime) {
        runtime.look_after(self.ticket, self.done.slot());
    }

    /// Waits for it as a client does, and holds what the signal says against what became of it.
    fn wait(self, runtime: &Runtime) {
        let value = runtime.wait(self.done.slot(), Condition::Lt, 1);
        let expected = match runtime.progress(self.ticket) {
            DmaProgress::Done => 0,
            DmaProgress::Lost => -1,
            DmaProgress::UnderWay => panic!("its signal is set before it has ended"),
        };
        assert_eq!(value, Some(expected));
    }

    /// The same, and the signal is the client's from here on.
    fn wait_and_reuse(self, runtime: &Runtime) {
        self.wait(runtime);
        runtime.store(self.done.slot(), REUSED);
    }

    /// When all threads are there: nobody has written what was the client's.
    fn was_told_once(self, runtime: &Runtime) {
        runtime.sweep_copies();
        assert_eq!(self.done.value(), REUSED);
        assert_eq!(runtime.copies(), 0);
    }
}

/// How often a copy was done and lost in all runs of a model, which is to show both.
#[derive(Clone, Default)]
struct Ends(Arc<[AtomicU32; 2]>);

impl Ends {
    fn note(&self, end: DmaProgress) {
        assert_ne!(end, DmaProgress::UnderWay);
        self.0[usize::from(end == DmaProgress::Lost)].fetch_add(1, Ordering::Relaxed);
    }

    fn were_seen(&self) {
        let counts = self.0.each_ref().map(|count| count.load(Ordering::Relaxed));
        assert!(!counts.contains(&0), "done and lost: {counts:?}");
    }
}

#[test]
fn a_copy_counts_its_signal_once() {
    model(3, || {
        let runtime = Arc::new(Runtime::new(1));
        let copy = Copy::submit(&runtime);
        let engine = spawn(&runtime, move |runtime| {
            runtime.engine_does(copy.ticket, copy.done.slot());
        });
        copy.look_after(&runtime);
        copy.wait_and_reuse(&runtime);
        engine.join().expect("it ends");
        copy.was_told_once(&runtime);
    });
}

/// The engine may end the copy, or the fault may come first, before anybody looks after the copy or later.
#[test]
fn a_copy_at_whose_end_the_agent_faults_is_done_or_lost() {
    let ends = Ends::default();
    let seen = ends.clone();
    model(2, move || {
        let runtime = Arc::new(Runtime::new(1));
        let copy = Copy::submit(&runtime);
        let engine = spawn(&runtime, move |runtime| {
            runtime.engine_does(copy.ticket, copy.done.slot());
        });
        let driver = spawn(&runtime, Runtime::driver_reports_fault);
        copy.look_after(&runtime);
        copy.wait_and_reuse(&runtime);
        engine.join().expect("it ends");
        driver.join().expect("it ends");
        copy.was_told_once(&runtime);
        seen.note(runtime.progress(copy.ticket));
    });
    ends.were_seen();
}

/// The engine was lost before anybody looked after the copy, and nobody hears of it later.
#[test]
fn who_waits_for_a_copy_of_a_lost_engine_wakes_when_it_is_looked_after() {
    for barrier in [Barrier::Fences, Barrier::Imposed] {
        model(3, move || {
            let runtime = Arc::new(Runtime::with(1, barrier));
            let copy = Copy::submit(&runtime);
            runtime.lose_engine();
            let client = spawn(&runtime, move |runtime| copy.wait_and_reuse(runtime));
            copy.look_after(&runtime);
            client.join().expect("it ends");
            copy.was_told_once(&runtime);
        });
    }
}

/// The engine is lost without a word while the copy comes to be looked after: by that, or by one who looks in time.
#[test]
fn of_several_that_look_one_has_a_lost_copy_fail() {
    model(2, || {
        let runtime = Arc::new(Runtime::new(1));
        let copy = Copy::submit(&runtime);
        let others = [0; 2].map(|_| {
            spawn(&runtime, |runtime| {
                runtime.lose_engine();
                runtime.sweep_copies();
            })
        });
        copy.look_after(&runtime);
        copy.wait_and_reuse(&runtime);
        for other in others {
            other.join().expect("it ends");
        }
        copy.was_told_once(&runtime);
    });
}

/// One thread leads, hears of the fault and has the copy fail; the other one only sleeps.
#[test]
fn a_fault_wakes_all_who_wait_for_the_copy() {
    model(2, || {
        let runtime = Arc::new(Runtime::new(1));
        let copy = Copy::submit(&runtime);
        copy.look_after(&runtime);
        let client = spawn(&runtime, move |runtime| copy.wait(runtime));
        let driver = spawn(&runtime, Runtime::driver_reports_fault);
        copy.wait(&runtime);
        client.join().expect("it ends");
        driver.join().expect("it ends");
        assert_eq!((copy.done.value(), runtime.copies()), (-1, 0));
    });
}

/// The runtime's own thread hears of the fault, and the client sleeps in the backend on other events.
fn told_by_the_runtimes_thread(barrier: Barrier) {
    model(2, move || {
        let runtime = Arc::new(Runtime::threaded(1, barrier));
        let copy = Copy::submit(&runtime);
        let caller = spawn(&runtime, Runtime::run);
        runtime.driver_reports_fault();
        copy.look_after(&runtime);
        copy.wait_and_reuse(&runtime);
        runtime.stop();
        caller.join().expect("it ends");
        copy.was_told_once(&runtime);
    });
}

#[test]
fn the_runtimes_thread_has_a_lost_copy_fail() {
    told_by_the_runtimes_thread(Barrier::Fences);
}

#[test]
fn the_runtimes_thread_has_a_lost_copy_fail_without_a_fence() {
    told_by_the_runtimes_thread(Barrier::Imposed);
}

/// What the models are worth: without the waiter's barrier the store of -1 is not seen.
#[test]
#[should_panic(expected = "deadlock")]
fn without_the_barrier_a_lost_copy_is_waited_for_in_vain() {
    model(3, || {
        let runtime = Arc::new(Runtime::with(1, Barrier::Broken));
        let copy = Copy::submit(&runtime);
        runtime.lose_engine();
        let client = spawn(&runtime, move |runtime| copy.wait(runtime));
        copy.look_after(&runtime);
        client.join().expect("it ends");
    });
}

/// A copy that depends on a signal is given to the engine by a callback on that one, as the C API does it.
#[test]
fn a_copy_comes_after_its_dependency() {
    model(2, || {
        let runtime = Arc::new(Runtime::threaded(2, Barrier::Fences));
        let [dependency, done] = [0; 2].map(|_| Signal::new(&runtime));
        let give = {
            let runtime: Weak<Runtime> = Arc::downgrade(&runtime);
            move |value| {
                assert_eq!((value, done.value()), (0, 1));
                let runtime = runtime.upgrade().expect("the runtime is there");
                let ticket = runtime.submit();
                runtime.look_after(ticket, done.slot());
                false
            }
        };
        runtime.add_handler(dependency.slot(), give);
        let caller = spawn(&runtime, Runtime::run);
        let engine = spawn(&runtime, move |runtime| {
            runtime.engine_waits_for_copies(1);
            assert_eq!(dependency.value(), 0);
            runtime.engine_does(DmaTicket(0), done.slot());
        });
        runtime.store(dependency.slot(), 0);
        let copy = Copy {
            ticket: DmaTicket(0),
            done,
        };
        copy.wait_and_reuse(&runtime);
        runtime.stop();
        caller.join().expect("it ends");
        engine.join().expect("it ends");
        copy.was_told_once(&runtime);
    });
}

/// A slot is another signal's at once when its client has destroyed it, while others still look at the copy.
#[test]
fn the_signal_of_a_copy_that_ended_is_free_for_others() {
    let ends = Ends::default();
    let seen = ends.clone();
    model(2, move || {
        let runtime = Arc::new(Runtime::new(1));
        let copy = Copy::submit(&runtime);
        copy.look_after(&runtime);
        let engine = spawn(&runtime, move |runtime| {
            runtime.engine_does(copy.ticket, copy.done.slot());
        });
        let other = spawn(&runtime, |runtime| {
            runtime.lose_engine();
            runtime.sweep_copies();
        });
        copy.wait(&runtime);
        assert!(runtime.destroy(copy.done.slot()));
        let next = runtime.create_bound(REUSED);
        assert!(std::ptr::eq(next, copy.done.slot()));
        engine.join().expect("it ends");
        other.join().expect("it ends");
        copy.was_told_once(&runtime);
        seen.note(runtime.progress(copy.ticket));
    });
    ends.were_seen();
}

/// Before the memory of signals goes, no engine has a copy any more, whatever becomes of the engine.
#[test]
fn the_runtimes_end_waits_for_copies() {
    let ends = Ends::default();
    let seen = ends.clone();
    model(2, move || {
        let runtime = Arc::new(Runtime::new(1));
        let copy = Copy::submit(&runtime);
        copy.look_after(&runtime);
        let engine = spawn(&runtime, move |runtime| {
            runtime.engine_does(copy.ticket, copy.done.slot());
        });
        let driver = spawn(&runtime, Runtime::driver_reports_fault);
        runtime.finish_copies();
        seen.note(runtime.progress(copy.ticket));
        runtime.store(copy.done.slot(), REUSED);
        engine.join().expect("it ends");
        driver.join().expect("it ends");
        copy.was_told_once(&runtime);
    });
    ends.were_seen();
}
