//! Why a queue was stopped, as the driver says it in the word that the context save area's header names.

use crate::backend::KfdBackend;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;
use rukh_core::backend::{EventReport, QueueHandle};
use rukh_core::kfd::KfdPort;
use rukh_core::queue::QueueStatus;

/// Codes of `enum kfd_dbg_trap_exception_code`; the bit of a code is one less.
const CODES: [(u32, QueueStatus); 15] = [
    (16, QueueStatus::IncompatibleArguments),
    (17, QueueStatus::InvalidAllocation),
    (18, QueueStatus::InvalidCodeObject),
    (19, QueueStatus::InvalidPacketFormat),
    (20, QueueStatus::InvalidPacketFormat),
    (21, QueueStatus::InvalidArgument),
    (22, QueueStatus::OutOfRegisters),
    (23, QueueStatus::InvalidPacketFormat),
    (4, QueueStatus::IllegalInstruction),
    // The address comes with the memory event.
    (5, QueueStatus::MemoryFault { address: 0 }),
    (6, QueueStatus::ApertureViolation),
    (1, QueueStatus::Exception),
    (2, QueueStatus::Exception),
    (3, QueueStatus::Exception),
    (30, QueueStatus::Exception),
];

/// The status that reasons come to: of several the first in the order above, the most telling one.
fn status(reasons: u64) -> QueueStatus {
    CODES
        .iter()
        .find(|(code, _)| reasons & 1 << (code - 1) != 0)
        .map_or(QueueStatus::Unknown { bits: reasons }, |(_, status)| {
            *status
        })
}

/// The reason of a queue whose wave met a memory fault.
const MEMORY_VIOLATION: u64 = 1 << 4;

impl<P: KfdPort> KfdBackend<P> {
    /// Reports what the driver has said about queues since the last time. Memory faults are left to the event of theirs, which
    /// has the address, if there is anybody to be told.
    pub(crate) fn report_exceptions(&self, report: &mut dyn FnMut(EventReport)) {
        let left = match self.has_memory_events() {
            true => MEMORY_VIOLATION,
            false => 0,
        };
        let stopped: Vec<_> = {
            let table = self.queues.lock(&self.park);
            table
                .queues
                .iter()
                .filter(|(_, queue)| queue.reasons.load(Ordering::Relaxed) & !left != 0)
                .map(|(&handle, queue)| {
                    let reasons = queue.reasons.fetch_and(left, Ordering::AcqRel) & !left;
                    EventReport::Queue(QueueHandle(handle), status(reasons))
                })
                .collect()
        };
        // With no lock held: whoever is told may destroy the queue.
        stopped.into_iter().for_each(report);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_its_bit_one_below_and_bad_packets_come_before_what_follows_from_them() {
        assert_eq!(status(1 << 15), QueueStatus::IncompatibleArguments);
        assert_eq!(status(1 << 3 | 1), QueueStatus::IllegalInstruction);
        assert_eq!(status(1 << 22 | 1 << 29), QueueStatus::InvalidPacketFormat);
        assert_eq!(status(1 << 40), QueueStatus::Unknown { bits: 1 << 40 });
    }
}
