//! Queues that want scratch or stop: whoever looks after them, it is done once, in order, and not once the queue is gone.
//! The backend of the models takes no doorbell and no scratch for a queue that was destroyed.

use loom::thread;
use rukh_core::queue::QueueStatus;
use rukh_loom::device::Barrier;
use rukh_loom::model::model;
use rukh_loom::runtime::reactor::{Queue, Runtime};
use rukh_loom::signal::Condition;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The runtime, its queue, and why the queue's callback was called.
struct Shared {
    runtime: Runtime,
    queue: Queue,
    calls: Arc<AtomicU32>,
    status: Arc<std::sync::Mutex<Option<QueueStatus>>>,
}

impl Shared {
    fn new(runtime: Runtime) -> Arc<Self> {
        let calls = Arc::new(AtomicU32::new(0));
        let status = Arc::new(std::sync::Mutex::new(None));
        let queue = {
            let (calls, status) = (calls.clone(), status.clone());
            runtime.create_queue(move |why| {
                calls.fetch_add(1, Ordering::Relaxed);
                *status.lock().expect("nobody panics") = Some(why);
            })
        };
        Arc::new(Self {
            runtime,
            queue,
            calls,
            status,
        })
    }

    /// Whether the callback was called once, with what the queue says too.
    fn was_told_once(&self) {
        assert_eq!(self.calls.load(Ordering::Relaxed), 1);
        let told = *self.status.lock().expect("nobody panics");
        assert_eq!(told, self.queue.status());
    }
}

fn spawn(shared: &Arc<Shared>, body: impl FnOnce(&Shared) + 'static) -> thread::JoinHandle<()> {
    let shared = shared.clone();
    thread::spawn(move || body(&shared))
}

#[test]
fn scratch_is_given_once_whoever_looks() {
    model(3, || {
        let shared = Shared::new(Runtime::new(2));
        shared.queue.device_asks_for_scratch();
        let other = spawn(&shared, |shared| shared.runtime.service());
        shared.runtime.service();
        other.join().expect("it ends");
        assert_eq!(shared.queue.inactive(), 0);
        // Given, not taken back, and the packet processor told.
        assert_eq!(shared.queue.counts(), [1, 0, 1]);
    });
}

#[test]
fn a_queue_that_is_destroyed_is_not_served_any_more() {
    model(3, || {
        let shared = Shared::new(Runtime::new(2));
        shared.queue.device_asks_for_scratch();
        let other = spawn(&shared, |shared| shared.runtime.service());
        shared.queue.destroy();
        other.join().expect("it ends");
        // Before it was destroyed or not at all; what was given was taken back.
        let [given, taken, rung] = shared.queue.counts();
        assert!(given <= 1 && rung == given && taken == 1);
        assert_eq!(shared.queue.status(), Some(QueueStatus::Destroyed));
        assert_eq!(shared.calls.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn of_two_failures_one_is_told() {
    model(3, || {
        let shared = Shared::new(Runtime::new(2));
        let other = spawn(&shared, |shared| {
            shared.queue.fail(QueueStatus::Exception);
            shared.runtime.run_pending();
        });
        shared.queue.fail(QueueStatus::InvalidPacketFormat);
        shared.runtime.run_pending();
        other.join().expect("it ends");
        shared.was_told_once();
    });
}

#[test]
fn a_failure_and_the_queues_end_do_not_meet() {
    model(3, || {
        let shared = Shared::new(Runtime::new(2));
        let other = spawn(&shared, |shared| {
            shared.queue.fail(QueueStatus::Exception);
            shared.runtime.run_pending();
        });
        shared.queue.destroy();
        other.join().expect("it ends");
        let told = *shared.status.lock().expect("nobody panics");
        match shared.queue.status() {
            Some(QueueStatus::Exception) => shared.was_told_once(),
            status => {
                assert_eq!(status, Some(QueueStatus::Destroyed));
                assert_eq!(told, None);
            }
        }
    });
}

/// A driver reports a queue while a client goes to sleep for it: the client wakes, and the callback has been called by the
/// time that it does, or by itself.
#[test]
fn who_waits_for_a_queue_that_fails_wakes() {
    model(2, || {
        let shared = Shared::new(Runtime::new(2));
        let driver = spawn(&shared, |shared| {
            shared.runtime.driver_reports(QueueStatus::Exception);
        });
        let failure = shared.queue.failure(&shared.runtime);
        assert_eq!(shared.runtime.wait(failure, Condition::Ne, 0), Some(1));
        driver.join().expect("it ends");
        shared.runtime.run_pending();
        shared.was_told_once();
    });
}

/// The same where the runtime has a thread: that one tells.
#[test]
fn the_runtimes_thread_tells_of_a_queue_that_fails() {
    model(2, || {
        let shared = Shared::new(Runtime::threaded(2, Barrier::Fences));
        let caller = spawn(&shared, |shared| shared.runtime.run());
        shared.runtime.driver_reports(QueueStatus::Exception);
        let failure = shared.queue.failure(&shared.runtime);
        assert_eq!(shared.runtime.wait(failure, Condition::Ne, 0), Some(1));
        shared.runtime.stop();
        caller.join().expect("it ends");
        // It ends with what is due left to others.
        shared.runtime.run_pending();
        shared.was_told_once();
    });
}
