//! Agents: the host's CPU first, then the GPUs in the order of the configuration.

use super::SimBackend;
use rukh_core::backend::{
    AgentId, AgentInfo, AgentKind, CacheInfo, HeapKind, LinkInfo, LinkKind, MemoryBank, Name,
    Topology, TopologyError,
};

/// The CPU agent.
pub(super) const HOST: AgentId = AgentId(0);

fn name(text: &str) -> Name {
    let mut name = Name::new();
    // Names in profiles are short; a longer one would stay empty.
    let _ = name.push_str(text);
    name
}

impl Topology for SimBackend {
    fn agent_count(&self) -> u32 {
        1 + self.system.gpus.len() as u32
    }

    fn agent(&self, agent: AgentId) -> Result<AgentInfo, TopologyError> {
        if agent == HOST {
            return Ok(AgentInfo {
                kind: AgentKind::Cpu {
                    cores: self.host.cores,
                },
                name: self.host.name.clone(),
                product_name: self.host.name.clone(),
                vendor: name("CPU"),
                node: 0,
                cache_line_bytes: self.host.caches.last().map_or(64, |c| c.line_bytes),
            });
        }
        let gpu = self.gpu(agent).ok_or(TopologyError::NoAgent {
            agent,
            count: self.agent_count(),
        })?;
        let profile = gpu.profile;
        Ok(AgentInfo {
            kind: AgentKind::Gpu(profile.gpu_info(agent.0 - 1)),
            name: name(profile.name),
            product_name: name(profile.product),
            vendor: name("AMD"),
            node: agent.0,
            cache_line_bytes: profile.cache_line_bytes,
        })
    }

    fn memory_banks(&self, agent: AgentId, visit: &mut dyn FnMut(&MemoryBank)) {
        if agent == HOST {
            visit(&MemoryBank {
                heap: HeapKind::System,
                size: self.host.memory_bytes,
                width_bits: 64,
                max_clock_mhz: 0,
            });
        } else if let Some(gpu) = self.gpu(agent) {
            let profile = gpu.profile;
            let bank = |heap, size, width_bits, max_clock_mhz| MemoryBank {
                heap,
                size,
                width_bits,
                max_clock_mhz,
            };
            visit(&bank(
                HeapKind::VramPublic,
                profile.vram_bytes,
                profile.vram_width_bits,
                profile.vram_clock_mhz,
            ));
            visit(&bank(HeapKind::Lds, u64::from(profile.lds_bytes), 0, 0));
            visit(&bank(HeapKind::Scratch, 4 << 30, 0, 0));
        }
    }

    fn caches(&self, agent: AgentId, visit: &mut dyn FnMut(&CacheInfo)) {
        if agent == HOST {
            self.host.caches.iter().for_each(visit);
        } else if let Some(gpu) = self.gpu(agent) {
            gpu.profile.caches.iter().for_each(visit);
        }
    }

    fn links(&self, visit: &mut dyn FnMut(&LinkInfo)) {
        let count = self.agent_count();
        for from in 0..count {
            for to in (0..count).filter(|to| *to != from) {
                let xgmi = |agent: u32| self.gpu(AgentId(agent)).is_some_and(|g| g.profile.xgmi);
                let host = from == 0 || to == 0;
                let (kind, weight) = if host {
                    (LinkKind::PciExpress, 20)
                } else if xgmi(from) && xgmi(to) {
                    (LinkKind::Xgmi, 15)
                } else {
                    (LinkKind::PciExpress, 40)
                };
                visit(&LinkInfo {
                    from: AgentId(from),
                    to: AgentId(to),
                    kind,
                    weight,
                    bandwidth_mb_s: (0, 0),
                    latency_ns: (0, 0),
                    atomic32: true,
                    atomic64: true,
                    coherent: true,
                });
            }
        }
    }
}
