//! Beginning and end.

use std::sync::Arc;
use std::thread;

use rukh_core::mem::{AllocFlags, PoolFlags};
use rukh_core::runtime::Runtime;

use super::failure::{ensure, ensure_eq};
use super::{Factory, Failure, Outcome, VectorAdd, World};

pub(super) fn a_runtime_starts_and_ends_again_and_again<F: Factory>(factory: &F) -> Outcome {
    let backend = Arc::new(factory.make());
    for _ in 0..5 {
        let runtime = Runtime::new(backend.clone(), factory.config())?;
        ensure!(runtime.agents().len() >= 2);
        let signal = runtime.create_signal(3)?;
        ensure_eq!(signal.load(Default::default()), 3);
    }
    Ok(())
}

pub(super) fn runtimes_live_side_by_side<F: Factory>(factory: &F) -> Outcome {
    let worlds = [World::start(factory)?, World::start(factory)?];
    let mut queues = Vec::new();
    let mut sums = Vec::new();
    for world in &worlds {
        let queue = world.queue()?;
        let sum = VectorAdd::new(world, &queue, 500, 64)?;
        sum.work.send(world, &queue)?;
        queues.push(queue);
        sums.push(sum);
    }
    for (world, (queue, sum)) in worlds.iter().zip(queues.iter().zip(&sums)) {
        sum.work.wait(world, queue)?;
        sum.check()?;
    }
    // The handles of one mean nothing to the other.
    ensure!(
        worlds[0]
            .runtime
            .signal(sums[1].work.signal.handle())
            .is_err()
    );
    Ok(())
}

pub(super) fn what_clients_leave_behind_is_given_back<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let pool = world.pool(world.cpu, PoolFlags::FINE)?;
    for _ in 0..10 {
        world.runtime.allocate(pool, 4096, AllocFlags::empty())?;
        let _ = world.runtime.create_signal(1)?.into_handle();
    }
    // The ledger sees the rest.
    Ok(())
}

pub(super) fn a_queue_outlives_the_clients_runtime<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    let sum = VectorAdd::new(&world, &queue, 100, 64)?;
    let runtime = queue.runtime().clone();
    let world = World { runtime, ..world };
    sum.run(&world, &queue)?;
    drop(world);
    ensure!(queue.status().is_none());
    Ok(())
}

pub(super) fn ending_in_the_middle_of_work_is_clean<F: Factory>(factory: &F) -> Outcome {
    for _ in 0..3 {
        let world = World::start(factory)?;
        let queue = world.queue()?;
        let sums = (0..4)
            .map(|_| VectorAdd::new(&world, &queue, 20_000, 256))
            .collect::<Outcome<Vec<_>>>()?;
        for sum in &sums {
            sum.work.send(&world, &queue)?;
        }
        // The device may be anywhere in them now.
        drop(queue);
    }
    Ok(())
}

pub(super) fn threads_may_start_runtimes_at_once<F: Factory>(factory: &F) -> Outcome {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| -> Result<(), String> {
                    let run = || -> Outcome {
                        let world = World::start(factory)?;
                        let queue = world.queue()?;
                        VectorAdd::new(&world, &queue, 100, 64)?.run(&world, &queue)
                    };
                    run().map_err(|failure| failure.to_string())
                })
            })
            .collect();
        for thread in threads {
            match thread.join() {
                Ok(outcome) => outcome.map_err(Failure::Broken)?,
                Err(_) => return Err(Failure::Broken("a thread panicked".into())),
            }
        }
        Ok(())
    })
}
