//! Pools: what an agent's memory banks offer to clients.

use crate::backend::{AgentId, AgentKind, BankId, GpuInfo, HeapKind, MemoryBank, MemoryFlags};
use crate::isa::Isa;
use alloc::vec::Vec;

/// A pool of a runtime: an index over the pools of all agents, in their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PoolId(pub u32);

/// Which addresses a pool's memory has (`hsa_amd_segment_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Segment {
    /// Addresses that all agents share.
    Global,
    /// Group memory (LDS): not allocatable.
    Group,
}

bitflags::bitflags! {
    /// Properties of a global pool (`hsa_amd_memory_pool_global_flag_t`).
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct PoolFlags: u32 {
        /// Meant for kernel arguments.
        const KERNARG = 1;
        /// Host and devices see each other's writes within a kernel.
        const FINE = 2;
        /// Writes are seen at kernel boundaries.
        const COARSE = 4;
        /// Fine across devices as well.
        const EXTENDED_FINE = 8;
    }
}

/// A pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pool {
    /// Which.
    pub id: PoolId,
    /// Whose.
    pub owner: AgentId,
    /// The bank that it allocates from.
    pub bank: BankId,
    /// What the bank is.
    pub heap: HeapKind,
    /// Its segment.
    pub segment: Segment,
    /// Its properties.
    pub flags: PoolFlags,
    /// Size in bytes.
    pub size: u64,
    /// Largest single allocation in bytes; 0 if it cannot be allocated from.
    pub max_allocation: u64,
    /// Sizes are rounded up to a multiple of this many bytes; 0 if it cannot be allocated from.
    pub granule: u64,
    /// Granule that wastes nothing, in bytes.
    pub recommended_granule: u64,
    /// Alignment of allocations in bytes.
    pub align: u64,
    /// Whether all agents reach its memory by default.
    pub accessible_by_all: bool,
    /// Whether it can be allocated from.
    pub allocatable: bool,
}

impl Pool {
    /// What the backend is asked for on behalf of this pool.
    pub const fn memory_flags(&self) -> MemoryFlags {
        let base = MemoryFlags::WRITABLE.union(MemoryFlags::NO_SUBSTITUTE);
        let base = match self.heap {
            HeapKind::System => MemoryFlags::WRITABLE.union(MemoryFlags::HOST_ACCESS),
            HeapKind::VramPublic => base.union(MemoryFlags::HOST_ACCESS),
            HeapKind::VramPrivate | HeapKind::Lds | HeapKind::Scratch => base,
        };
        if self.flags.contains(PoolFlags::KERNARG) {
            base.union(MemoryFlags::COHERENT)
                .union(MemoryFlags::UNCACHED)
        } else if self.flags.contains(PoolFlags::EXTENDED_FINE) {
            base.union(MemoryFlags::COHERENT)
                .union(MemoryFlags::EXT_COHERENT)
        } else if self.flags.contains(PoolFlags::FINE) {
            base.union(MemoryFlags::COHERENT)
        } else {
            base
        }
    }
}

/// Fragments of device memory are 2 MiB; smaller pieces of address space cost page table entries.
const VRAM_GRANULE: u64 = 2 << 20;

/// What a bank of host memory is offered as, in the order that clients rely on.
const OF_HOST: &[PoolFlags] = &[
    PoolFlags::FINE,
    PoolFlags::EXTENDED_FINE,
    PoolFlags::FINE.union(PoolFlags::KERNARG),
    PoolFlags::COARSE,
];

/// What a GPU's memory is offered as: coarse-grained; extended fine-grained but on GFX12.0, which AMD's runtime
/// leaves out; fine-grained to the other GPUs of a hive.
fn of_device(gpu: &GpuInfo) -> impl Iterator<Item = PoolFlags> {
    let version = gpu.isa.parse().map(|isa: Isa| isa.processor().version);
    let extended = version.is_ok_and(|version| (version.major, version.minor) != (12, 0));
    let flags = [
        (PoolFlags::COARSE, true),
        (PoolFlags::EXTENDED_FINE, extended),
        (PoolFlags::FINE, gpu.hive_id != 0),
    ];
    flags
        .into_iter()
        .filter_map(|(flags, has)| has.then_some(flags))
}

/// The pools of an agent, in the order that clients rely on: for a CPU fine-grained, extended fine-grained, kernel
/// arguments, coarse-grained, for each NUMA bank; for a GPU its device memory, coarse-grained first, then group memory.
///
/// `next` numbers the first pool; `system_bytes` is the host memory of all CPU agents, the
/// bound of one allocation there.
pub fn pools_of(
    agent: AgentId,
    kind: &AgentKind,
    banks: &[MemoryBank],
    page: u64,
    system_bytes: u64,
    next: u32,
) -> Vec<Pool> {
    let mut pools = Vec::new();
    let mut add = |bank: usize, heap: HeapKind, segment, flags, size, max_allocation| {
        let allocatable = max_allocation != 0;
        pools.push(Pool {
            id: PoolId(next + pools.len() as u32),
            owner: agent,
            bank: BankId {
                agent,
                index: bank as u32,
            },
            heap,
            segment,
            flags,
            size,
            max_allocation,
            granule: if allocatable { page } else { 0 },
            recommended_granule: match heap {
                HeapKind::VramPublic | HeapKind::VramPrivate => VRAM_GRANULE.max(page),
                _ if allocatable => page,
                _ => 0,
            },
            align: if allocatable { page } else { 0 },
            accessible_by_all: heap == HeapKind::System,
            allocatable,
        });
    };
    for (index, bank) in banks.iter().enumerate() {
        match (kind, bank.heap) {
            (AgentKind::Cpu { .. }, HeapKind::System) => {
                for &flags in OF_HOST {
                    add(
                        index,
                        bank.heap,
                        Segment::Global,
                        flags,
                        bank.size,
                        system_bytes,
                    );
                }
            }
            (AgentKind::Gpu(gpu), HeapKind::VramPublic | HeapKind::VramPrivate) => {
                for flags in of_device(gpu) {
                    add(
                        index,
                        bank.heap,
                        Segment::Global,
                        flags,
                        bank.size,
                        bank.size,
                    );
                }
            }
            (AgentKind::Gpu(_), HeapKind::Lds) => {
                add(
                    index,
                    bank.heap,
                    Segment::Group,
                    PoolFlags::empty(),
                    bank.size,
                    0,
                );
            }
            _ => {}
        }
    }
    // Group memory last, wherever the backend lists it.
    pools.sort_by_key(|pool| pool.segment == Segment::Group);
    for (at, pool) in pools.iter_mut().enumerate() {
        pool.id = PoolId(next + at as u32);
    }
    pools
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bank(heap: HeapKind, size: u64) -> MemoryBank {
        MemoryBank {
            heap,
            size,
            width_bits: 0,
            max_clock_mhz: 0,
        }
    }

    #[test]
    fn a_cpu_offers_fine_then_extended_then_kernarg_then_coarse_memory() {
        let kind = AgentKind::Cpu { cores: 2 };
        let banks = [bank(HeapKind::System, 1 << 30)];
        let pools = pools_of(AgentId(0), &kind, &banks, 4096, 2 << 30, 5);
        let flags: Vec<_> = pools.iter().map(|p| p.flags.bits()).collect();
        assert_eq!(flags, [2, 8, 3, 4]);
        assert!(
            pools
                .iter()
                .all(|p| p.accessible_by_all && p.granule == 4096)
        );
        assert_eq!(pools[0].id, PoolId(5));
        assert_eq!(pools[0].max_allocation, 2 << 30);
        assert!(
            pools[1]
                .memory_flags()
                .contains(MemoryFlags::EXT_COHERENT | MemoryFlags::COHERENT)
        );
        assert!(
            pools[2]
                .memory_flags()
                .contains(MemoryFlags::UNCACHED | MemoryFlags::COHERENT)
        );
        assert!(!pools[3].memory_flags().contains(MemoryFlags::COHERENT));
    }

    #[test]
    fn a_gpu_offers_coarse_device_memory_and_group_memory_that_cannot_be_allocated() {
        let kind = AgentKind::Gpu(GpuInfo::default());
        let banks = [
            bank(HeapKind::Lds, 65536),
            bank(HeapKind::Scratch, 0),
            bank(HeapKind::VramPublic, 1 << 34),
        ];
        let pools = pools_of(AgentId(1), &kind, &banks, 4096, 0, 3);
        assert_eq!(pools.len(), 2);
        assert_eq!(
            (pools[0].segment, pools[0].flags, pools[0].bank.index),
            (Segment::Global, PoolFlags::COARSE, 2)
        );
        assert_eq!(
            (pools[1].segment, pools[1].allocatable, pools[1].id),
            (Segment::Group, false, PoolId(4))
        );
    }

    /// The pools that AMD's rocminfo shows: extended fine-grained on all but GFX12.0, fine-grained in a hive.
    #[test]
    fn device_memory_is_offered_as_the_gpu_shares_it() {
        for (isa, hive_id, expected) in [
            (
                "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-",
                7,
                &[4, 8, 2, 0][..],
            ),
            ("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", 0, &[4, 8, 0]),
            ("amdgcn-amd-amdhsa--gfx1103", 0, &[4, 8, 0]),
            ("amdgcn-amd-amdhsa--gfx1201", 0, &[4, 0]),
        ] {
            let gpu = GpuInfo {
                isa: isa.try_into().unwrap(),
                hive_id,
                ..GpuInfo::default()
            };
            let banks = [
                bank(HeapKind::VramPublic, 1 << 34),
                bank(HeapKind::Lds, 65536),
            ];
            let pools = pools_of(AgentId(1), &AgentKind::Gpu(gpu), &banks, 4096, 0, 0);
            let flags: Vec<_> = pools.iter().map(|p| p.flags.bits()).collect();
            assert_eq!(flags, expected, "{isa}");
        }
    }
}
