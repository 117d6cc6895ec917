//! Dispatches that still have work-groups to give out.

use super::dispatch::Dispatch;
use crate::sync::Mutex;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};

/// The list that workers take dispatches from: higher priorities first, then in order of launch.
#[derive(Default)]
pub(crate) struct Active {
    list: Mutex<Vec<Arc<Dispatch>>>,
    count: AtomicUsize,
}

impl Active {
    /// Adds a dispatch.
    pub(crate) fn push(&self, dispatch: Arc<Dispatch>) {
        let mut list = self.list.lock();
        let at = list.partition_point(|d| d.priority >= dispatch.priority);
        list.insert(at, dispatch);
        self.count.store(list.len(), Ordering::SeqCst);
    }

    /// Whether there may be something to take.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    /// A dispatch with work-groups to give out that suits: the first, or, to give others a chance
    /// as well, the `turn`-th.
    pub(crate) fn pick(
        &self,
        turn: usize,
        suits: impl Fn(&Arc<Dispatch>) -> bool,
    ) -> Option<Arc<Dispatch>> {
        if self.is_empty() {
            return None;
        }
        let mut list = self.list.lock();
        if list.iter().any(|d| d.unclaimed() == 0) {
            list.retain(|d| d.unclaimed() > 0);
            self.count.store(list.len(), Ordering::SeqCst);
        }
        let at = turn.checked_rem(list.len())?;
        let (before, after) = list.split_at(at);
        after.iter().chain(before).find(|d| suits(d)).cloned()
    }
}
