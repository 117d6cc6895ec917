use crate::fake::{Fake, GPU};
use crate::{soon, stepped, threaded, until};
use rukh_core::backend::Timeout;
use rukh_core::mem::PoolFlags;
use rukh_core::runtime::{InitError, QueueConfig, QueueError, Runtime, RuntimeConfig, WaitHint};
use rukh_core::signal::Condition;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

fn use_everything(rt: &Arc<Runtime<Fake>>) {
    let queue = rt
        .create_queue(
            GPU,
            QueueConfig {
                size: 64,
                ..QueueConfig::default()
            },
        )
        .unwrap();
    let signals: Vec<_> = (0..2000).map(|i| rt.create_signal(i).unwrap()).collect();
    let pool = rt.find_pool(GPU, PoolFlags::COARSE).unwrap().id;
    let buffer = rt.create_buffer(pool, 100, &[]).unwrap();
    let calls = Arc::new(AtomicU32::new(0));
    let seen = calls.clone();
    rt.on_signal(
        signals[1].handle(),
        Condition::Lt,
        1,
        Box::new(move |_| {
            seen.fetch_add(1, Ordering::Relaxed);
            false
        }),
    )
    .unwrap();
    // One that is never called, and one allocation that is never freed.
    rt.on_signal(signals[2].handle(), Condition::Eq, -7, Box::new(|_| false))
        .unwrap();
    rt.allocate(pool, 5000, Default::default()).unwrap();
    let claim = queue.claim(Timeout::Poll).unwrap();
    drop(claim);
    drop((buffer, queue, signals));
}

#[test]
fn everything_is_given_back_with_a_thread_and_without() {
    for (fake, rt) in [threaded(), stepped()] {
        assert_ne!(fake.held(), (0, 0, 0));
        use_everything(&rt);
        drop(rt);
        assert_eq!(fake.held(), (0, 0, 0));
    }
}

#[test]
fn a_runtime_that_does_not_start_keeps_nothing() {
    let fake = Fake::step();
    fake.fail_allocations_after(0);
    let error = Runtime::new(fake.clone(), RuntimeConfig::default()).unwrap_err();
    assert!(matches!(error, InitError::Signals(_)), "{error}");
    assert_eq!(fake.held(), (0, 0, 0));
}

#[test]
fn a_queue_that_is_not_created_keeps_nothing() {
    let (fake, rt) = stepped();
    let before = fake.held();
    for allocations in 0..2 {
        fake.fail_allocations_after(allocations);
        let config = QueueConfig {
            size: 64,
            ..QueueConfig::default()
        };
        let error = rt.create_queue(GPU, config).unwrap_err();
        assert!(matches!(error, QueueError::Memory(_)), "{error}");
        assert_eq!(fake.held(), before);
    }
}

#[test]
fn the_last_owner_may_be_a_callback_on_the_runtimes_own_thread() {
    let (fake, rt) = threaded();
    let done = Arc::new(AtomicU32::new(0));
    let signal = rt.create_signal(1).unwrap().into_handle();
    let (held, flag) = (rt.clone(), done.clone());
    let mut held = Some(held);
    rt.on_signal(
        signal,
        Condition::Eq,
        0,
        Box::new(move |_| {
            until(|| Arc::strong_count(held.as_ref().unwrap()) == 1);
            drop(held.take());
            flag.store(1, Ordering::Release);
            false
        }),
    )
    .unwrap();
    rt.signal(signal)
        .unwrap()
        .store(0, rukh_core::signal::MemoryOrder::Release);
    drop(rt);
    until(|| done.load(Ordering::Acquire) == 1 && fake.held() == (0, 0, 0));
}

#[test]
fn two_runtimes_on_one_backend_do_not_know_each_other() {
    let fake = Fake::threaded();
    let a = Runtime::new(fake.clone(), RuntimeConfig::default()).unwrap();
    let b = Runtime::new(fake.clone(), RuntimeConfig::default()).unwrap();
    let signal = a.create_signal(3).unwrap();
    assert!(b.signal(signal.handle()).is_err());
    let outcome = a
        .signal(signal.handle())
        .unwrap()
        .wait(Condition::Eq, 3, soon(&a), WaitHint::Blocked)
        .unwrap();
    assert!(outcome.is_met());
    drop((signal, a));
    drop(b);
    assert_eq!(fake.held(), (0, 0, 0));
}

#[test]
fn agents_come_with_their_isa_and_pools() {
    let (_, rt) = stepped();
    let gpu = rt.agent(GPU).unwrap();
    assert_eq!(
        gpu.isa.unwrap().to_string(),
        "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack+"
    );
    // Fine, extended fine, kernel arguments, coarse; coarse, extended fine, group memory.
    assert_eq!(rt.agents()[0].pools.len(), 4);
    assert_eq!(gpu.pools.len(), 3);
    assert_eq!(rt.gpu_ids().collect::<Vec<_>>(), [GPU]);
}
