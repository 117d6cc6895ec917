//! The SDMA engines of a GPU, and which of their queues are taken.

use crate::profile::Profile;
use crate::sync::Mutex;
use alloc::vec::Vec;
use rukh_core::backend::QueueKind;

/// Why no engine has a queue to give.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoEngine {
    /// There is no engine of this kind, or of this number.
    NoSuch,
    /// All queues of the engines asked for are taken; they have so many.
    Taken(u32),
}

/// Queues taken, by engine: those for transfers with the host first, as the driver counts them.
pub(crate) struct Engines {
    taken: Mutex<Vec<u32>>,
    /// Engines for transfers with the host.
    host: usize,
    per_engine: u32,
}

impl Engines {
    pub(crate) fn new(profile: &Profile) -> Self {
        let host = profile.sdma_engines as usize;
        let all = host + profile.sdma_xgmi_engines as usize;
        Self {
            taken: Mutex::new((0..all).map(|_| 0).collect()),
            host,
            per_engine: profile.sdma_queues_per_engine(),
        }
    }

    /// Takes a queue: of the engine of the kind that has the fewest taken.
    pub(crate) fn take(&self, kind: QueueKind) -> Result<usize, NoEngine> {
        let mut taken = self.taken.lock();
        let engines = match kind {
            QueueKind::Sdma => 0..self.host,
            QueueKind::SdmaXgmi => self.host..taken.len(),
            QueueKind::SdmaEngine(number) => number as usize..(number as usize).saturating_add(1),
            QueueKind::Compute | QueueKind::Pm4 => return Err(NoEngine::NoSuch),
        };
        let start = engines.start;
        let engines = taken.get_mut(engines).ok_or(NoEngine::NoSuch)?;
        let limit = self.per_engine * engines.len() as u32;
        let (at, least) = engines
            .iter_mut()
            .enumerate()
            .min_by_key(|(_, taken)| **taken)
            .ok_or(NoEngine::NoSuch)?;
        if *least >= self.per_engine {
            return Err(NoEngine::Taken(limit));
        }
        *least += 1;
        Ok(start + at)
    }

    /// Gives a queue of an engine back.
    pub(crate) fn give_back(&self, engine: usize) {
        if let Some(taken) = self.taken.lock().get_mut(engine) {
            *taken = taken.saturating_sub(1);
        }
    }
}
