use crate::{soon, stepped, threaded, until};
use rukh_core::backend::{Clock, Timeout};
use rukh_core::runtime::{
    Runtime, RuntimeConfig, SignalError, SystemEvent, WaitCondition, WaitHint, WaitOutcome,
};
use rukh_core::signal::{Condition, MemoryOrder, SignalFlags, SignalHandle};
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use crate::fake::Fake;

fn eq(signal: SignalHandle, value: i64) -> WaitCondition {
    WaitCondition {
        signal,
        condition: Condition::Eq,
        value,
    }
}

/// No looking before sleeping, so that every wait goes through the reactor; and no second look, so that a
/// lost wake-up is a hang.
fn sleepy() -> RuntimeConfig {
    RuntimeConfig {
        spin_ns: 0,
        recheck_ns: u64::MAX,
        ..RuntimeConfig::default()
    }
}

#[test]
fn operations_wake_and_give_the_old_value() {
    let (_, rt) = stepped();
    let signal = rt.create_signal(10).unwrap();
    let s = signal.get();
    for order in [
        MemoryOrder::Relaxed,
        MemoryOrder::Acquire,
        MemoryOrder::Release,
        MemoryOrder::AcqRel,
    ] {
        s.store(10, order);
        assert_eq!(s.add(5, order), 10);
        assert_eq!(s.subtract(3, order), 15);
        assert_eq!(s.exchange(0b1100, order), 12);
        assert_eq!(s.and(0b0110, order), 0b1100);
        assert_eq!(s.or(0b0001, order), 0b0100);
        assert_eq!(s.xor(0b1111, order), 0b0101);
        assert_eq!(s.cas(0, 1, order), 0b1010);
        assert_eq!(s.cas(0b1010, 1, order), 0b1010);
        assert_eq!(s.load(order), 1);
        s.silent_store(4, order);
        assert_eq!(s.load(order), 4);
    }
}

#[test]
fn a_wait_that_is_over_or_may_not_last_returns_at_once() {
    let (_, rt) = stepped();
    let signal = rt.create_signal(1).unwrap();
    assert_eq!(
        signal.wait(Condition::Gte, 1, Timeout::Never),
        Ok(WaitOutcome::Met(1))
    );
    assert_eq!(
        signal.wait(Condition::Eq, 0, Timeout::Poll),
        Ok(WaitOutcome::TimedOut(1))
    );
    let deadline = rt.backend().now() + 5_000_000;
    assert_eq!(
        signal.wait(Condition::Eq, 0, Timeout::At(deadline)),
        Ok(WaitOutcome::TimedOut(1))
    );
    assert!(rt.backend().now() >= deadline);
}

#[test]
fn handles_that_are_no_signals_are_refused() {
    let (_, rt) = stepped();
    let signal = rt.create_signal_handle(0, SignalFlags::empty()).unwrap();
    for bad in [0, 8, signal.0 + 8, signal.0 + 64, u64::MAX] {
        let handle = SignalHandle(bad);
        assert_eq!(
            rt.signal(handle).map(|_| ()),
            Err(SignalError::BadHandle { handle })
        );
    }
    rt.destroy_signal(signal).unwrap();
    assert_eq!(
        rt.destroy_signal(signal),
        Err(SignalError::BadHandle { handle: signal })
    );
}

#[test]
fn many_signals_need_few_events_and_all_have_one() {
    let (fake, rt) = stepped();
    let events = fake.held().1;
    let handles: Vec<_> = (0..10_000)
        .map(|i| rt.create_signal_handle(i, SignalFlags::empty()).unwrap())
        .collect();
    assert_eq!(fake.held().1, events);
    for (i, handle) in handles.iter().enumerate() {
        let signal = rt.signal(*handle).unwrap();
        assert_eq!(signal.load(MemoryOrder::Relaxed), i as i64);
        let mailbox = signal
            .amd_signal()
            .event_mailbox_ptr
            .load(Ordering::Relaxed);
        assert_ne!(mailbox, 0);
    }
}

/// Two threads hand a value back and forth; each store has a sleeper to wake.
#[test]
fn stores_of_one_thread_wake_the_other_every_time() {
    let fake = Fake::threaded();
    let rt = Runtime::new(fake, sleepy()).unwrap();
    let ping = rt.create_signal(0).unwrap();
    let pong = rt.create_signal(0).unwrap();
    const ROUNDS: i64 = 3000;
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=ROUNDS {
                let met = ping.wait(Condition::Eq, round, soon(&rt)).unwrap();
                assert!(met.is_met(), "ping {round}");
                pong.store(round, MemoryOrder::Release);
            }
        });
        for round in 1..=ROUNDS {
            if round % 2 == 0 {
                ping.store(round, MemoryOrder::Release);
            } else {
                ping.get().add(1, MemoryOrder::AcqRel);
            }
            let met = pong.wait(Condition::Gte, round, soon(&rt)).unwrap();
            assert!(met.is_met(), "pong {round}");
        }
    });
}

/// A leader, followers, changes by host and by device, in any order that the scheduler finds.
#[test]
fn no_wake_up_is_lost_among_many_waiters() {
    let fake = Fake::threaded();
    let rt = Runtime::new(fake.clone(), sleepy()).unwrap();
    const WAITERS: usize = 8;
    const ROUNDS: i64 = 200;
    let signals: Vec<_> = (0..WAITERS).map(|_| rt.create_signal(0).unwrap()).collect();
    let start = Barrier::new(WAITERS + 2);
    let began = std::time::Instant::now();
    thread::scope(|scope| {
        for (at, signal) in signals.iter().enumerate() {
            let (rt, start) = (&rt, &start);
            scope.spawn(move || {
                start.wait();
                for round in 1..=ROUNDS {
                    let met = match at % 3 {
                        0 => signal
                            .wait(Condition::Lt, 1 - round, soon(rt))
                            .unwrap()
                            .is_met(),
                        1 => rt
                            .wait_any(
                                &[
                                    WaitCondition {
                                        signal: signal.handle(),
                                        condition: Condition::Lt,
                                        value: 1 - round,
                                    },
                                    eq(SignalHandle::NULL, 0),
                                ],
                                soon(rt),
                                WaitHint::Blocked,
                            )
                            .unwrap()
                            .is_some(),
                        _ => rt
                            .wait_all(
                                &[WaitCondition {
                                    signal: signal.handle(),
                                    condition: Condition::Lt,
                                    value: 1 - round,
                                }],
                                soon(rt),
                                WaitHint::Blocked,
                            )
                            .unwrap(),
                    };
                    assert!(met, "waiter {at}, round {round}");
                }
            });
        }
        for by_device in [false, true] {
            let (signals, start, fake) = (&signals, &start, &fake);
            scope.spawn(move || {
                start.wait();
                for round in 0..ROUNDS {
                    for (at, signal) in signals.iter().enumerate() {
                        if (at % 2 == 0) != by_device {
                            continue;
                        }
                        if by_device {
                            fake.complete(signal.get().amd_signal());
                        } else {
                            signal.get().subtract(1, MemoryOrder::Release);
                        }
                    }
                    if round % 16 == 0 {
                        thread::yield_now();
                    }
                }
            });
        }
    });
    assert!(
        began.elapsed().as_secs() < 8,
        "somebody slept to a deadline"
    );
}

#[test]
fn waiters_sleep_instead_of_looking() {
    let fake = Fake::threaded();
    let rt = Runtime::new(fake.clone(), sleepy()).unwrap();
    let signal = rt.create_signal(1).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| signal.wait(Condition::Eq, 0, soon(&rt)).unwrap());
        }
        thread::sleep(std::time::Duration::from_millis(100));
        // One leader, in one wait.
        let waits = fake.waits.load(Ordering::Relaxed);
        assert!(waits <= 4, "{waits} waits by one leader");
        signal.store(0, MemoryOrder::Release);
    });
}

#[test]
fn a_store_that_nobody_waits_for_stays_out_of_the_backend() {
    let (fake, rt) = threaded();
    let signal = rt.create_signal(1).unwrap();
    for value in 0..1000 {
        signal.store(value, MemoryOrder::Release);
        signal.get().add(1, MemoryOrder::AcqRel);
    }
    assert_eq!(fake.sets.load(Ordering::Relaxed), 0);
}

#[test]
fn wait_any_says_which_and_wait_all_waits_for_the_last() {
    let (_, rt) = threaded();
    let a = rt.create_signal(1).unwrap();
    let b = rt.create_signal(1).unwrap();
    let (ha, hb) = (a.handle(), b.handle());
    thread::scope(|scope| {
        let rt = &rt;
        let any = scope.spawn(move || {
            rt.wait_any(
                &[eq(SignalHandle::NULL, 0), eq(ha, 0), eq(hb, 0)],
                soon(rt),
                WaitHint::Blocked,
            )
        });
        let all =
            scope.spawn(move || rt.wait_all(&[eq(ha, 0), eq(hb, 0)], soon(rt), WaitHint::Blocked));
        b.store(0, MemoryOrder::Release);
        assert_eq!(any.join().unwrap(), Ok(Some((2, 0))));
        assert!(!all.is_finished());
        a.store(0, MemoryOrder::Release);
        assert_eq!(all.join().unwrap(), Ok(true));
    });
    assert_eq!(
        rt.wait_any(&[eq(ha, 9)], Timeout::Poll, WaitHint::Active),
        Ok(None)
    );
    assert_eq!(
        rt.wait_all(
            &[eq(SignalHandle::NULL, 9)],
            Timeout::Poll,
            WaitHint::Blocked
        ),
        Ok(true)
    );
}

#[test]
fn destroying_a_signal_ends_waits_on_it() {
    let (_, rt) = threaded();
    let handle = rt.create_signal_handle(1, SignalFlags::empty()).unwrap();
    thread::scope(|scope| {
        let rt = &rt;
        let waits: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(move || {
                    rt.signal(handle)
                        .and_then(|s| s.wait(Condition::Eq, 0, soon(rt), WaitHint::Blocked))
                })
            })
            .collect();
        thread::sleep(std::time::Duration::from_millis(20));
        rt.destroy_signal(handle).unwrap();
        for wait in waits {
            assert_eq!(wait.join().unwrap(), Err(SignalError::Destroyed { handle }));
        }
    });
}

#[test]
fn signals_without_an_event_are_looked_at() {
    let fake = Fake::threaded();
    let rt = Runtime::new(fake.clone(), sleepy()).unwrap();
    let handle = rt.create_signal_handle(1, SignalFlags::BUSY).unwrap();
    let signal = rt.signal(handle).unwrap();
    assert_eq!(
        signal
            .amd_signal()
            .event_mailbox_ptr
            .load(Ordering::Relaxed),
        0
    );
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(std::time::Duration::from_millis(5));
            // A device that raises nothing.
            signal.amd_signal().value.store(0, Ordering::Release);
        });
        let outcome = signal.wait(Condition::Eq, 0, soon(&rt), WaitHint::Blocked);
        assert_eq!(outcome, Ok(WaitOutcome::Met(0)));
    });
}

#[test]
fn an_active_wait_never_sleeps_and_still_serves_the_device() {
    let (_, rt) = threaded();
    let signal = rt.create_signal(1).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(std::time::Duration::from_millis(5));
            signal.store(0, MemoryOrder::Release);
        });
        let outcome = signal
            .get()
            .wait(Condition::Eq, 0, soon(&rt), WaitHint::Active);
        assert_eq!(outcome, Ok(WaitOutcome::Met(0)));
    });
}

#[test]
fn handlers_are_called_by_the_thread_until_they_say_no() {
    let (fake, rt) = threaded();
    let signal = rt.create_signal(3).unwrap();
    let values = Arc::new(Mutex::new(Vec::new()));
    let (seen, handle, inner) = (values.clone(), signal.handle(), rt.clone());
    rt.on_signal(
        handle,
        Condition::Ne,
        3,
        Box::new(move |value| {
            seen.lock().unwrap().push(value);
            // Callbacks may use the runtime.
            inner.signal(handle).unwrap().store(3, MemoryOrder::Release);
            seen.lock().unwrap().len() < 3
        }),
    )
    .unwrap();
    for round in 0..3 {
        match round {
            1 => fake.complete(signal.get().amd_signal()),
            _ => signal.store(10 + round, MemoryOrder::Release),
        }
        let reset = signal.wait(Condition::Eq, 3, soon(&rt)).unwrap();
        assert!(reset.is_met());
        until(|| values.lock().unwrap().len() > round as usize);
    }
    signal.store(99, MemoryOrder::Release);
    thread::sleep(std::time::Duration::from_millis(5));
    assert_eq!(*values.lock().unwrap(), [10, 2, 12]);
}

#[test]
fn without_a_thread_handlers_are_called_by_whoever_polls() {
    let (_, rt) = stepped();
    let signal = rt.create_signal(1).unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let seen = calls.clone();
    let id = rt
        .on_signal(
            signal.handle(),
            Condition::Eq,
            0,
            Box::new(move |_| {
                seen.fetch_add(1, Ordering::Relaxed);
                true
            }),
        )
        .unwrap();
    assert_eq!(rt.poll(), 0);
    signal.store(0, MemoryOrder::Relaxed);
    assert_eq!(rt.poll(), 1);
    // It stays as long as it wants to, and the condition holds.
    assert_eq!(rt.poll(), 1);
    assert!(rt.remove_handler(id));
    assert!(!rt.remove_handler(id));
    assert_eq!(rt.poll(), 0);
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

#[test]
fn a_handler_goes_with_its_signal() {
    let (_, rt) = stepped();
    let signal = rt.create_signal(1).unwrap();
    let owned = Arc::new(());
    let kept = owned.clone();
    rt.on_signal(
        signal.handle(),
        Condition::Eq,
        0,
        Box::new(move |_| {
            let _ = &kept;
            true
        }),
    )
    .unwrap();
    drop(signal);
    rt.poll();
    assert_eq!(Arc::strong_count(&owned), 1);
}

#[test]
fn functions_are_called_in_turn() {
    let (_, rt) = threaded();
    let sum = Arc::new(AtomicI64::new(0));
    for n in 1..=100 {
        let sum = sum.clone();
        rt.call_soon(Box::new(move || {
            sum.fetch_add(n, Ordering::Release);
        }))
        .unwrap();
    }
    until(|| sum.load(Ordering::Acquire) == 5050);
}

#[test]
fn memory_faults_reach_every_system_handler() {
    for (fake, rt) in [threaded(), stepped()] {
        let seen = Arc::new(AtomicU64::new(0));
        for handled in [false, true] {
            let seen = seen.clone();
            rt.on_system_event(Arc::new(move |event| {
                if let SystemEvent::MemoryFault { fault, .. } = event {
                    seen.fetch_add(fault.address, Ordering::Release);
                }
                handled
            }));
        }
        // With a thread, something must have started it.
        rt.call_soon(Box::new(|| {})).unwrap();
        rt.poll();
        fake.fault(0x7000);
        until(|| {
            if rt.config().spawn.is_none() {
                rt.poll();
            }
            seen.load(Ordering::Acquire) == 0xe000
        });
    }
}

/// One thread leads, waiting for the first signal; another follows, waiting for the second.
fn leader_and_follower(then: impl FnOnce(&Fake, &dyn Fn(), &dyn Fn())) {
    let fake = Fake::threaded();
    let rt = Runtime::new(fake.clone(), sleepy()).unwrap();
    let (first, second) = (rt.create_signal(1).unwrap(), rt.create_signal(1).unwrap());
    let wait = |signal: &rukh_core::runtime::Signal<Fake>| {
        let start = std::time::Instant::now();
        let outcome = signal.wait(Condition::Eq, 0, soon(&rt)).unwrap();
        assert_eq!(outcome, WaitOutcome::Met(0));
        // Woken, and not come back at its deadline to find the value changed.
        assert!(start.elapsed().as_secs() < 5, "not woken");
    };
    thread::scope(|scope| {
        let leader = scope.spawn(|| wait(&first));
        until(|| fake.waits.load(Ordering::Relaxed) != 0);
        let follower = scope.spawn(|| wait(&second));
        thread::sleep(std::time::Duration::from_millis(20));
        let by_device = || fake.complete(second.get().amd_signal());
        let by_host = || {
            first.store(0, MemoryOrder::Release);
            until(|| leader.is_finished());
        };
        then(&fake, &by_host, &by_device);
        until(|| follower.is_finished());
        if !leader.is_finished() {
            by_host();
        }
    });
}

#[test]
fn the_leader_wakes_a_follower_whose_signal_a_device_changed() {
    leader_and_follower(|_, _, device| device());
}

#[test]
fn a_leader_that_is_done_hands_the_lead_to_a_follower() {
    leader_and_follower(|fake, host, device| {
        let waits = fake.waits.load(Ordering::Relaxed);
        host();
        until(|| fake.waits.load(Ordering::Relaxed) != waits);
        device();
    });
}
