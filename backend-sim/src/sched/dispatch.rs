//! A dispatch on its way: work-groups are claimed from it and counted back.

use crate::cp::ScratchSlots;
use crate::device::WaveFault;
use crate::grid::{Kernel, Shape};
use crate::sync::Mutex;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use rukh_core::backend::QueuePriority;

/// Scratch memory of a dispatch's waves.
pub(crate) struct DispatchScratch {
    pub slots: Arc<ScratchSlots>,
    /// Bytes of one wave.
    pub wave_bytes: u64,
}

/// A kernel dispatch that has been launched.
pub(crate) struct Dispatch {
    /// Index of the GPU among the system's.
    pub gpu: usize,
    /// Slot of the queue it came from.
    pub queue: usize,
    /// Address of the kernel descriptor.
    pub kernel_object: u64,
    /// The agent's count of dispatches, for reports.
    pub number: u64,
    pub priority: QueuePriority,
    pub kernel: Kernel,
    pub shape: Shape,
    pub scratch: Option<DispatchScratch>,
    /// Device counter when it was launched.
    pub start: u64,
    next: AtomicU64,
    remaining: AtomicU64,
    resident: AtomicU32,
    cancelled: AtomicBool,
    /// Set by the first wave whose bad access its trap handler learns of.
    trapped: AtomicBool,
    fault: Mutex<Option<WaveFault>>,
    /// How often waves that went together have parted before long.
    parted: AtomicU32,
    /// Set once all work-groups are accounted for.
    done: AtomicBool,
}

impl Dispatch {
    #[expect(
        clippy::too_many_arguments,
        reason = "one call, right after they were worked out"
    )]
    pub(crate) fn new(
        gpu: usize,
        queue: usize,
        kernel_object: u64,
        number: u64,
        priority: QueuePriority,
        kernel: Kernel,
        shape: Shape,
        scratch: Option<DispatchScratch>,
        start: u64,
    ) -> Arc<Self> {
        Arc::new(Self {
            gpu,
            queue,
            kernel_object,
            number,
            priority,
            kernel,
            shape,
            scratch,
            start,
            next: AtomicU64::new(0),
            remaining: AtomicU64::new(shape.total_groups()),
            resident: AtomicU32::new(0),
            cancelled: AtomicBool::new(false),
            trapped: AtomicBool::new(false),
            fault: Mutex::new(None),
            parted: AtomicU32::new(0),
            done: AtomicBool::new(false),
        })
    }

    /// Whether a bad access of a wave that traps is the dispatch's first: drivers take a queue that has faulted off
    /// the device, so that clients see one event, however many waves fault.
    pub(crate) fn is_first_trap(&self) -> bool {
        !self.trapped.swap(true, Ordering::Relaxed)
    }

    /// Waves that went together have parted before long.
    pub(crate) fn note_parting(&self) {
        self.parted.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether it is worth while to let waves go together: most do not part before long.
    pub(crate) fn goes_together(&self) -> bool {
        let parted = u64::from(self.parted.load(Ordering::Relaxed));
        parted < 4 || parted < self.next.load(Ordering::Relaxed) / 4
    }

    /// Work-groups that nobody has claimed.
    pub(crate) fn unclaimed(&self) -> u64 {
        let total = self.shape.total_groups();
        total.saturating_sub(self.next.load(Ordering::Relaxed))
    }

    /// Claims up to `count` work-groups.
    pub(crate) fn claim(&self, count: u64) -> Option<core::ops::Range<u64>> {
        let total = self.shape.total_groups();
        let mut next = self.next.load(Ordering::Relaxed);
        while next < total {
            let end = next.saturating_add(count).min(total);
            match self
                .next
                .compare_exchange_weak(next, end, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return Some(next..end),
                Err(seen) => next = seen,
            }
        }
        None
    }

    /// Makes a claimed work-group resident, if the device holds one more. The first always fits.
    pub(crate) fn admit(&self) -> bool {
        let limit = self.kernel.resident_groups.max(1);
        self.resident
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |n| {
                (n < limit).then_some(n + 1)
            })
            .is_ok()
    }

    /// Whether [`Self::admit`] would succeed now.
    pub(crate) fn has_room(&self) -> bool {
        self.resident.load(Ordering::Relaxed) < self.kernel.resident_groups.max(1)
    }

    /// So many resident work-groups have left.
    pub(crate) fn leave(&self, groups: u32) {
        if groups > 0 {
            self.resident.fetch_sub(groups, Ordering::AcqRel);
        }
    }

    /// Counts claimed work-groups as finished; true for the one that finishes the dispatch.
    pub(crate) fn finish(&self, groups: u64) -> bool {
        groups > 0 && self.remaining.fetch_sub(groups, Ordering::AcqRel) == groups
    }

    /// Gives up what is not claimed yet, and has workers give up the rest. True if that
    /// finishes the dispatch.
    pub(crate) fn cancel(&self) -> bool {
        self.cancelled.store(true, Ordering::SeqCst);
        match self.claim(u64::MAX) {
            Some(rest) => self.finish(rest.end - rest.start),
            None => false,
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Records a fault (the first one counts) and cancels the rest. True if that finishes the
    /// dispatch.
    pub(crate) fn fail(&self, fault: WaveFault) -> bool {
        {
            let mut slot = self.fault.lock();
            if slot.is_none() {
                *slot = Some(fault);
            }
        }
        self.cancel()
    }

    pub(crate) fn take_fault(&self) -> Option<WaveFault> {
        self.fault.lock().take()
    }

    pub(crate) fn set_done(&self) {
        self.done.store(true, Ordering::Release);
    }

    pub(crate) fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }
}
