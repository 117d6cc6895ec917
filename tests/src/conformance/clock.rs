//! Time.

use rukh_core::backend::{AgentId, Clock, Topology};

use super::failure::ensure;
use super::{Factory, Outcome};

pub(super) fn time_does_not_go_back<F: Factory>(factory: &F) -> Outcome {
    let backend = factory.make();
    let mut last = backend.now();
    let mut device = vec![0; backend.agent_count() as usize];
    for _ in 0..1000 {
        let now = backend.now();
        ensure!(now >= last);
        last = now;
        for (id, before) in (0..).zip(&mut device) {
            let counters = backend.counters(AgentId(id));
            ensure!(counters.system >= last && counters.device >= *before);
            (last, *before) = (counters.system, counters.device);
        }
    }
    Ok(())
}

pub(super) fn device_and_system_clocks_keep_pace<F: Factory>(factory: &F) -> Outcome {
    let backend = factory.make();
    for agent in (0..backend.agent_count()).map(AgentId) {
        let frequency = backend.device_frequency(agent);
        ensure!(frequency != 0);
        let start = backend.counters(agent);
        while backend.now() - start.system < 500_000 {
            backend.relax();
        }
        let end = backend.counters(agent);
        ensure!(end.device >= start.device && end.system >= start.system);
        let (ticks, ns) = (end.device - start.device, end.system - start.system);
        let expected = u128::from(ns) * u128::from(frequency) / 1_000_000_000;
        // The two are read one after the other; a descheduled reader reads far apart.
        let slack = expected / 2 + 2;
        ensure!(
            expected.abs_diff(u128::from(ticks)) <= slack,
            "{ticks} ticks in {ns} ns at {frequency} Hz"
        );
    }
    Ok(())
}
