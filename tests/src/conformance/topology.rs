//! What agents there are.

use rukh_core::backend::{AgentId, AgentKind, HeapKind, Topology, TopologyError};
use rukh_core::isa::Isa;
use rukh_core::mem::{PoolFlags, Segment};

use super::failure::{ensure, ensure_eq, ensure_matches};
use super::{Factory, Outcome, World};

pub(super) fn agents_are_numbered_in_order_cpus_first<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let agents = world.runtime.agents();
    ensure_eq!(agents.len(), world.runtime.backend().agent_count() as usize);
    for (agent, id) in agents.iter().zip(0..) {
        ensure_eq!(agent.id, AgentId(id));
    }
    let first_gpu = agents.iter().position(|agent| agent.is_gpu());
    ensure!(first_gpu.is_some_and(|at| at != 0 && agents[at..].iter().all(|a| a.is_gpu())));
    Ok(())
}

pub(super) fn an_agent_out_of_range_is_refused<F: Factory>(factory: &F) -> Outcome {
    let backend = factory.make();
    let count = backend.agent_count();
    for agent in [AgentId(count), AgentId(u32::MAX)] {
        ensure_matches!(
            backend.agent(agent),
            Err(TopologyError::NoAgent { agent: a, count: c }) if *a == agent && *c == count
        );
        let mut visited = 0;
        backend.memory_banks(agent, &mut |_| visited += 1);
        backend.caches(agent, &mut |_| visited += 1);
        ensure_eq!(visited, 0);
    }
    Ok(())
}

pub(super) fn answers_do_not_change<F: Factory>(factory: &F) -> Outcome {
    let backend = factory.make();
    let all = || -> Outcome<String> {
        let mut text = String::new();
        for id in (0..backend.agent_count()).map(AgentId) {
            text += &format!("{:?}", backend.agent(id)?);
            backend.memory_banks(id, &mut |bank| text += &format!("{bank:?}"));
            backend.caches(id, &mut |cache| text += &format!("{cache:?}"));
        }
        backend.links(&mut |link| text += &format!("{link:?}"));
        Ok(text)
    };
    ensure_eq!(all()?, all()?);
    Ok(())
}

pub(super) fn every_gpu_says_what_clients_need<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let mut ids = Vec::new();
    for agent in world.gpus() {
        let info = agent.gpu().cloned().unwrap_or_default();
        ensure!(matches!(info.wavefront_size, 32 | 64));
        ensure!(info.compute_units > 0 && info.simds_per_cu > 0 && info.shader_engines > 0);
        ensure!(info.max_waves_per_simd > 0 && info.max_slots_scratch_cu > 0 && info.xcc_count > 0);
        ensure!(info.lds_bytes >= 64 << 10);
        ensure!(info.max_queues > 0 && info.max_clock_mhz > 0);
        ensure_eq!(info.vendor_id, 0x1002);
        ensure!(!agent.info.product_name.is_empty() && !agent.info.vendor.is_empty());
        ensure!(agent.info.cache_line_bytes.is_power_of_two());
        ids.push((info.domain, info.location_id));
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    ensure_eq!(ids.len(), count, "GPUs at the same place of the bus");
    Ok(())
}

pub(super) fn every_gpu_has_an_isa_that_core_knows<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    for agent in world.gpus() {
        let name = agent.gpu().map_or("", |gpu| gpu.isa.as_str());
        let isa: Isa = name.parse()?;
        ensure_eq!(Some(isa), agent.isa);
        ensure_eq!(isa.processor().name, agent.info.name.as_str());
    }
    Ok(())
}

pub(super) fn every_gpu_has_device_and_group_memory<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    for agent in world.gpus() {
        let vram = agent
            .banks
            .iter()
            .find(|bank| matches!(bank.heap, HeapKind::VramPublic | HeapKind::VramPrivate));
        ensure!(vram.is_some_and(|bank| bank.size >= 1 << 30 && bank.width_bits > 0));
        let lds = agent.banks.iter().find(|bank| bank.heap == HeapKind::Lds);
        ensure_eq!(
            lds.map(|bank| bank.size),
            agent.gpu().map(|gpu| u64::from(gpu.lds_bytes))
        );
    }
    for agent in world
        .runtime
        .agents()
        .iter()
        .filter(|agent| !agent.is_gpu())
    {
        ensure!(matches!(agent.info.kind, AgentKind::Cpu { cores } if cores > 0));
        ensure!(
            agent
                .banks
                .iter()
                .any(|bank| bank.heap == HeapKind::System && bank.size > 0)
        );
    }
    Ok(())
}

pub(super) fn apertures_are_apart_and_aligned<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    for agent in world.gpus() {
        let info = agent.gpu().cloned().unwrap_or_default();
        for base in [info.group_aperture, info.private_aperture] {
            ensure!(base != 0 && base.trailing_zeros() >= 32, "{base:#x}");
        }
        ensure!(info.group_aperture != info.private_aperture);
    }
    Ok(())
}

pub(super) fn caches_are_listed_from_the_inside_out<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    for agent in world.gpus() {
        ensure!(!agent.caches.is_empty());
        ensure!(agent.caches.is_sorted_by_key(|cache| cache.level));
        for cache in &agent.caches {
            ensure!(cache.level > 0 && cache.size > 0 && cache.line_bytes.is_power_of_two());
        }
    }
    Ok(())
}

pub(super) fn links_join_agents_that_exist<F: Factory>(factory: &F) -> Outcome {
    let backend = factory.make();
    let mut links = Vec::new();
    backend.links(&mut |link| links.push(*link));
    for link in &links {
        ensure!(link.from != link.to, "{link:?}");
        ensure!(
            link.from.0.max(link.to.0) < backend.agent_count(),
            "{link:?}"
        );
        ensure!(link.bandwidth_mb_s.0 <= link.bandwidth_mb_s.1, "{link:?}");
        ensure!(link.latency_ns.0 <= link.latency_ns.1, "{link:?}");
        let same = |l: &&rukh_core::backend::LinkInfo| (l.from, l.to) == (link.from, link.to);
        ensure_eq!(links.iter().filter(same).count(), 1, "{link:?}");
    }
    Ok(())
}

pub(super) fn gpus_reach_the_host_and_each_other<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    for agent in world.gpus() {
        ensure!(agent.link_to(world.cpu).is_some(), "agent {}", agent.id.0);
        for other in world.gpus().filter(|other| other.id != agent.id) {
            let there = agent.link_to(other.id).map(|link| link.kind);
            let back = other.link_to(agent.id).map(|link| link.kind);
            ensure!(there.is_some(), "{} to {}", agent.id.0, other.id.0);
            ensure_eq!(there, back);
        }
    }
    Ok(())
}

pub(super) fn pools_come_in_the_order_that_clients_rely_on<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let mut next = 0;
    for agent in world.runtime.agents() {
        let shape: Vec<_> = agent.pools.iter().map(|p| (p.segment, p.flags)).collect();
        if agent.is_gpu() {
            ensure_eq!(shape[0], (Segment::Global, PoolFlags::COARSE));
            ensure_eq!(
                shape.last().copied(),
                Some((Segment::Group, PoolFlags::empty()))
            );
        } else {
            ensure_eq!(
                shape[..4].iter().map(|s| s.1).collect::<Vec<_>>(),
                [
                    PoolFlags::FINE,
                    PoolFlags::EXTENDED_FINE,
                    PoolFlags::FINE | PoolFlags::KERNARG,
                    PoolFlags::COARSE
                ]
            );
        }
        for pool in &agent.pools {
            ensure_eq!(pool.id.0, next);
            next += 1;
            ensure_eq!(pool.owner, agent.id);
            ensure_eq!(pool.allocatable, pool.segment == Segment::Global);
            ensure_eq!(pool.accessible_by_all, !agent.is_gpu());
        }
    }
    Ok(())
}
