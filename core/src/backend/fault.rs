//! Middleware that has calls fail, reproducibly.

use super::wrap::{Call, Hook, Verdict};
use core::sync::atomic::{AtomicU64, Ordering};

/// Which calls fail. Only calls that ask for something are counted and fail; giving back always works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultPlan {
    /// None: for counting.
    Never,
    /// The call of this number, from 0. Waits are not counted: their number is a matter of time.
    Nth(u64),
    /// About one in this many, chosen by the seed and the call's number; waits among them, which end
    /// early.
    Random {
        /// Chooses which.
        seed: u64,
        /// One in how many; 0 counts as 1.
        one_in: u32,
    },
}

/// Has calls fail as on a system that is out of memory, queues or events.
#[derive(Debug)]
pub struct FaultInjector {
    plan: FaultPlan,
    calls: AtomicU64,
    injected: AtomicU64,
}

impl FaultInjector {
    /// An injector that has seen no call.
    pub const fn new(plan: FaultPlan) -> Self {
        Self {
            plan,
            calls: AtomicU64::new(0),
            injected: AtomicU64::new(0),
        }
    }

    /// Number of calls that could have failed so far.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Number of calls that were made to fail so far.
    pub fn injected(&self) -> u64 {
        self.injected.load(Ordering::Relaxed)
    }

    fn fails(&self, call: &Call<'_>) -> bool {
        let waits = matches!(call, Call::WaitEvents { .. });
        match call {
            Call::Free(_)
            | Call::Unmap { .. }
            | Call::UnmapMemory(_)
            | Call::Unreserve { .. }
            | Call::DestroyQueue(_)
            | Call::DestroyEvent(_)
            | Call::SetEvent(_)
            | Call::RingDoorbell(..) => return false,
            _ if waits && !matches!(self.plan, FaultPlan::Random { .. }) => return false,
            _ => {}
        }
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        match self.plan {
            FaultPlan::Never => false,
            FaultPlan::Nth(n) => n == number,
            FaultPlan::Random { seed, one_in } => {
                mix(seed.wrapping_add(number)).is_multiple_of(u64::from(one_in.max(1)))
            }
        }
    }
}

impl Hook for FaultInjector {
    fn before(&self, call: &Call<'_>) -> Verdict {
        if self.fails(call) {
            self.injected.fetch_add(1, Ordering::Relaxed);
            Verdict::Refuse
        } else {
            Verdict::Pass
        }
    }
}

/// SplitMix64's output function.
const fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{AgentId, EventId, MemoryHandle};
    use std::vec::Vec;

    fn verdicts(plan: FaultPlan) -> Vec<Verdict> {
        let injector = FaultInjector::new(plan);
        let agents = [AgentId(1)];
        let map = Call::Map {
            handle: MemoryHandle(1),
            agents: &agents,
        };
        (0..100).map(|_| injector.before(&map)).collect()
    }

    #[test]
    fn the_nth_call_fails_and_no_other() {
        let all = verdicts(FaultPlan::Nth(7));
        for (at, verdict) in all.iter().enumerate() {
            assert_eq!(*verdict == Verdict::Refuse, at == 7);
        }
    }

    #[test]
    fn a_seed_chooses_the_same_calls_every_time() {
        let plan = |seed| FaultPlan::Random { seed, one_in: 10 };
        assert_eq!(verdicts(plan(1)), verdicts(plan(1)));
        assert_ne!(verdicts(plan(1)), verdicts(plan(2)));
        let failed = verdicts(plan(3))
            .iter()
            .filter(|v| **v == Verdict::Refuse)
            .count();
        assert!((3..30).contains(&failed), "{failed} of 100");
    }

    #[test]
    fn giving_back_never_fails() {
        let injector = FaultInjector::new(FaultPlan::Random { seed: 0, one_in: 1 });
        for call in [
            Call::Free(MemoryHandle(1)),
            Call::SetEvent(EventId(1)),
            Call::DestroyEvent(EventId(1)),
        ] {
            assert_eq!(injector.before(&call), Verdict::Pass);
        }
        assert_eq!(injector.calls(), 0);
    }
}
