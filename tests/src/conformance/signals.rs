//! Signals: values that hosts and devices change and wait for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rukh_core::backend::{Clock, Timeout};
use rukh_core::runtime::{SignalError, WaitCondition, WaitHint};
use rukh_core::signal::{Condition, MemoryOrder, SignalFlags, SignalHandle};

use super::failure::{ensure, ensure_eq, ensure_matches};
use super::memory::in_threads;
use super::{Factory, Outcome, World};

const ORDERS: [MemoryOrder; 4] = [
    MemoryOrder::Relaxed,
    MemoryOrder::Acquire,
    MemoryOrder::Release,
    MemoryOrder::AcqRel,
];

pub(super) fn operations_give_the_old_value_in_every_order<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    for order in ORDERS {
        let owned = world.runtime.create_signal(-5)?;
        let signal = owned.get();
        ensure_eq!(signal.load(order), -5);
        ensure_eq!(signal.exchange(12, order), -5);
        ensure_eq!(signal.add(3, order), 12);
        ensure_eq!(signal.subtract(5, order), 15);
        ensure_eq!(signal.and(0b0110, order), 10);
        ensure_eq!(signal.or(0b1001, order), 2);
        ensure_eq!(signal.xor(0b0001, order), 11);
        ensure_eq!(signal.cas(9, 1, order), 10);
        ensure_eq!(signal.cas(10, i64::MAX, order), 10);
        ensure_eq!(signal.add(1, order), i64::MAX);
        ensure_eq!(signal.load(order), i64::MIN, "additions wrap");
        signal.store(8, order);
        signal.silent_store(9, order);
        ensure_eq!(signal.load(order), 9);
    }
    Ok(())
}

pub(super) fn conditions_hold_as_they_say<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    for value in [i64::MIN, -1, 0, 1, i64::MAX] {
        let signal = world.runtime.create_signal(value)?;
        for compare in [i64::MIN, -1, 0, 1, i64::MAX] {
            for (condition, holds) in [
                (Condition::Eq, value == compare),
                (Condition::Ne, value != compare),
                (Condition::Lt, value < compare),
                (Condition::Gte, value >= compare),
            ] {
                let outcome = signal.wait(condition, compare, Timeout::Poll)?;
                ensure_eq!(outcome.is_met(), holds, "{value} {condition:?} {compare}");
                ensure_eq!(outcome.value(), value);
            }
        }
    }
    Ok(())
}

pub(super) fn a_wait_ends_in_time<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let signal = world.runtime.create_signal(1)?;
    for hint in [WaitHint::Blocked, WaitHint::Active] {
        let clock = world.runtime.backend();
        let end = clock.now() + 3_000_000;
        let wait = signal
            .get()
            .wait(Condition::Eq, 0, Timeout::At(end), hint)?;
        ensure!(!wait.is_met());
        ensure!(clock.now() >= end);
    }
    Ok(())
}

pub(super) fn a_store_wakes_who_sleeps<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let signal = world.runtime.create_signal(1)?;
    in_threads(2, |thread| {
        if thread == 0 {
            thread::sleep(Duration::from_millis(20));
            signal.store(0, MemoryOrder::Release);
        } else {
            let before = Instant::now();
            while !signal.wait(Condition::Eq, 0, world.deadline())?.is_met() {
                // Virtual time may be over at once.
                ensure!(world.stepped && before.elapsed() < Duration::from_secs(60));
            }
            // The recheck after a second would find it as well.
            ensure!(
                before.elapsed() < Duration::from_millis(900),
                "it was not woken"
            );
        }
        Ok(())
    })
}

pub(super) fn all_who_sleep_are_woken<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let signal = world.runtime.create_signal(0)?;
    let awake = AtomicU32::new(0);
    in_threads(6, |thread| {
        if thread == 0 {
            thread::sleep(Duration::from_millis(20));
            signal.get().add(7, MemoryOrder::AcqRel);
        } else {
            while !signal.wait(Condition::Gte, 7, world.deadline())?.is_met() {
                ensure!(world.stepped);
            }
            awake.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    })?;
    ensure_eq!(awake.load(Ordering::SeqCst), 5);
    Ok(())
}

pub(super) fn waiting_for_any_gives_which<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let signals = (0..5)
        .map(|_| world.runtime.create_signal(1))
        .collect::<Result<Vec<_>, _>>()?;
    let mut conditions: Vec<_> = signals
        .iter()
        .map(|signal| WaitCondition {
            signal: signal.handle(),
            condition: Condition::Eq,
            value: 0,
        })
        .collect();
    conditions[0].signal = SignalHandle::NULL;
    let wait = |timeout| {
        world
            .runtime
            .wait_any(&conditions, timeout, WaitHint::Blocked)
    };
    ensure_eq!(wait(Timeout::Poll)?, None);
    ensure_eq!(wait(world.after(Duration::from_millis(1)))?, None);
    signals[3].store(0, MemoryOrder::Release);
    ensure_eq!(wait(world.deadline())?, Some((3, 0)));
    ensure_eq!(
        world
            .runtime
            .wait_any(&[], Timeout::Poll, WaitHint::Active)?,
        None
    );
    Ok(())
}

pub(super) fn waiting_for_all_needs_all_at_once<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let signals = [
        world.runtime.create_signal(1)?,
        world.runtime.create_signal(1)?,
    ];
    let conditions = [signals[0].handle(), SignalHandle::NULL, signals[1].handle()].map(|signal| {
        WaitCondition {
            signal,
            condition: Condition::Eq,
            value: 0,
        }
    });
    let wait = |timeout| {
        world
            .runtime
            .wait_all(&conditions, timeout, WaitHint::Blocked)
    };
    ensure!(!wait(Timeout::Poll)?);
    signals[0].store(0, MemoryOrder::Release);
    ensure!(!wait(world.after(Duration::from_millis(1)))?);
    signals[1].store(0, MemoryOrder::Release);
    ensure!(wait(world.deadline())?);
    ensure!(
        world
            .runtime
            .wait_all(&[], Timeout::Poll, WaitHint::Active)?
    );
    Ok(())
}

pub(super) fn handlers_are_called_until_they_say_no<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let signal = world.runtime.create_signal(1)?;
    let done = world.runtime.create_signal(1)?;
    let calls = Arc::new(AtomicU32::new(0));
    let (counter, runtime) = (calls.clone(), Arc::downgrade(&world.runtime));
    let (signal_handle, done_handle) = (signal.handle(), done.handle());
    let callback = move |value| {
        let count = counter.fetch_add(1, Ordering::SeqCst) + 1;
        if count == 3 && value == 0 {
            // A callback may use the runtime.
            if let Some(runtime) = runtime.upgrade()
                && let Ok(done) = runtime.signal(done_handle)
            {
                done.store(0, MemoryOrder::Release);
            }
        }
        count < 3
    };
    world
        .runtime
        .on_signal(signal_handle, Condition::Eq, 0, Box::new(callback))?;
    ensure_eq!(calls.load(Ordering::SeqCst), 0);
    signal.store(0, MemoryOrder::Release);
    for _ in 0..1000 {
        world.runtime.poll();
        if done.load(MemoryOrder::Acquire) == 0 {
            break;
        }
        thread::sleep(Duration::from_millis(1));
    }
    ensure_eq!(done.load(MemoryOrder::Acquire), 0);
    ensure_eq!(calls.load(Ordering::SeqCst), 3);
    let never = world
        .runtime
        .on_signal(signal_handle, Condition::Eq, 5, Box::new(|_| true))?;
    ensure!(world.runtime.remove_handler(never));
    ensure!(!world.runtime.remove_handler(never));
    Ok(())
}

pub(super) fn destroying_a_signal_ends_waits<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let handle = world
        .runtime
        .create_signal_handle(1, SignalFlags::empty())?;
    // Found before it can be gone: the waiter may begin late.
    let signal = world.runtime.signal(handle)?;
    in_threads(2, |thread| {
        if thread == 0 {
            thread::sleep(Duration::from_millis(10));
            world.runtime.destroy_signal(handle)?;
            return Ok(());
        }
        loop {
            let wait = signal.wait(Condition::Eq, 0, world.deadline(), WaitHint::Blocked);
            match wait {
                Ok(outcome) if world.stepped && !outcome.is_met() => {}
                other => {
                    ensure_matches!(
                        other,
                        Err(SignalError::Destroyed { handle: h }) if *h == handle
                    );
                    return Ok(());
                }
            }
        }
    })
}

pub(super) fn stale_and_wild_handles_are_refused<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let live = world.runtime.create_signal(1)?;
    let stale = world
        .runtime
        .create_signal_handle(1, SignalFlags::empty())?;
    world.runtime.destroy_signal(stale)?;
    let h = live.handle().0;
    let local = 0u64;
    let wild = [
        0,
        1,
        8,
        h + 1,
        h + 8,
        h + 64,
        h ^ 1 << 40,
        u64::MAX,
        u64::MAX - 63,
        (&raw const local).expose_provenance() as u64,
    ];
    for handle in wild.into_iter().map(SignalHandle).chain([stale]) {
        let bad = |error: &SignalError| matches!(error, SignalError::BadHandle { handle: h } if *h == handle);
        ensure!(
            world.runtime.signal(handle).is_err_and(|e| bad(&e)),
            "{handle}"
        );
        ensure!(
            world.runtime.destroy_signal(handle).is_err_and(|e| bad(&e)),
            "{handle}"
        );
        if handle != SignalHandle::NULL {
            let condition = WaitCondition {
                signal: handle,
                condition: Condition::Eq,
                value: 0,
            };
            let wait = world
                .runtime
                .wait_any(&[condition], Timeout::Poll, WaitHint::Blocked);
            ensure!(wait.is_err_and(|e| bad(&e)), "{handle}");
        }
    }
    ensure_eq!(live.load(MemoryOrder::Relaxed), 1);
    Ok(())
}

pub(super) fn doorbells_can_only_be_stored_to<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    let handle = queue.doorbell_signal();
    let doorbell = world.runtime.signal(handle)?;
    ensure!(doorbell.is_doorbell());
    ensure_eq!(doorbell.load(MemoryOrder::Acquire), 0);
    ensure_eq!(doorbell.add(3, MemoryOrder::AcqRel), 0);
    ensure_matches!(
        doorbell.wait(Condition::Eq, 0, Timeout::Poll, WaitHint::Active),
        Err(SignalError::Doorbell { handle: h }) if *h == handle
    );
    ensure_matches!(
        world.runtime.destroy_signal(handle),
        Err(SignalError::Doorbell { .. })
    );
    // A client that fills the ring by itself rings this way; too much and too little is harmless.
    for value in [0, -1, i64::MAX] {
        doorbell.store(value, MemoryOrder::Release);
    }
    let done = world.barrier(&queue, &[])?;
    world.wait_for(&done, &queue)?;
    drop(queue);
    ensure!(world.runtime.signal(handle).is_err());
    Ok(())
}

pub(super) fn there_can_be_many_signals<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    // More than the driver has events.
    let signals = (0..10_000)
        .map(|i| world.runtime.create_signal(i))
        .collect::<Result<Vec<_>, _>>()?;
    for (signal, i) in signals.iter().zip(0..) {
        ensure_eq!(signal.load(MemoryOrder::Relaxed), i);
    }
    let queue = world.queue()?;
    let done = world.barrier(&queue, &[&signals[0]])?;
    world.wait_for(&done, &queue)
}

pub(super) fn many_threads_create_and_destroy<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    in_threads(4, |thread| {
        let mut kept = Vec::new();
        for round in 0..2000 {
            let value = (thread * 10_000 + round) as i64;
            kept.push((value, world.runtime.create_signal(value)?));
            if kept.len() == 20 {
                for (value, signal) in kept.drain(..) {
                    ensure_eq!(signal.load(MemoryOrder::Relaxed), value);
                }
            }
        }
        Ok(())
    })
}

pub(super) fn concurrent_additions_all_count<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let signal = world.runtime.create_signal(0)?;
    in_threads(4, |thread| {
        for _ in 0..10_000 {
            signal.get().add(thread as i64, MemoryOrder::Relaxed);
        }
        Ok(())
    })?;
    ensure_eq!(signal.load(MemoryOrder::Acquire), 60_000);
    Ok(())
}
