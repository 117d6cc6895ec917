//! What it costs that doorbells are plain memory: workers that look at them.
//!
//! One test in a program of its own, since it measures the processor time of the whole process.

use rukh_tests::conformance::{KfdFactory, VectorAdd, World};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// Ticks of processor time that this process has used, 100 a second.
fn ticks() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let field = |n: usize| -> u64 { fields.split_whitespace().nth(n).unwrap().parse().unwrap() };
    field(11) + field(12)
}

#[test]
fn a_queue_without_packets_costs_little_and_wakes_in_time() {
    let world = World::start(&KfdFactory::new("gfx90a")).unwrap();
    let queue = world.queue().unwrap();
    let run = || {
        let begun = Instant::now();
        let sum = VectorAdd::new(&world, &queue, 64, 64).unwrap();
        sum.run(&world, &queue).unwrap();
        begun.elapsed()
    };
    run();
    let busy: Vec<Duration> = (0..50).map(|_| run()).collect();
    thread::sleep(Duration::from_millis(500));
    let (before, begun) = (ticks(), Instant::now());
    thread::sleep(Duration::from_secs(2));
    let (used, elapsed) = (ticks() - before, begun.elapsed());
    let share = used as f64 / 100.0 / elapsed.as_secs_f64();
    let first = run();
    println!(
        "idle: {:.2} % of a processor; a dispatch (made, run, checked) after the pause {first:?}, in a row {:?}",
        share * 100.0,
        busy.iter().min().unwrap()
    );
    // Far above what is expected, for a busy machine and an unoptimised build.
    assert!(share < 0.1, "{share}");
}
