//! A lane: work of one kind for one GPU's engines, in the order that it is given in.
//!
//! Copies to the GPU's memory have a lane, those from it another one, and work that waits for something a third, so that
//! nothing has to wait for what waits. Each has a queue of its own, which the driver puts on an engine as it likes.

use super::queue::DmaQueue;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use rukh_core::backend::{DmaProgress, Lock};

/// How long an engine may take for nothing, and beside that for each MiB: slower than any bus.
const TIMEOUT_NS: u64 = 5_000_000_000;
const NS_PER_MIB: u64 = 100_000_000;

/// What may count as time that the engine had, of the time between two looks. A process that is stopped, or hardly
/// gets a processor, and a machine that sleeps must not make an engine look stuck.
const LOOK_NS: u64 = 250_000_000;

/// Work that is in the ring, whole.
#[derive(Clone, Copy, Debug)]
struct Work {
    bytes: u64,
    /// It waits for something, for as long as that takes.
    waits: bool,
}

/// What a lane holds.
#[derive(Debug, Default)]
pub(super) struct State {
    pub queue: Option<DmaQueue>,
    /// Which queue it is: the number of those before it.
    pub incarnation: u64,
    /// The driver had no queue for this lane.
    pub refused: bool,
    /// Work that was sent, ever; numbers begin at 1.
    issued: u64,
    /// The first of the queue's.
    first: u64,
    /// What is sent and not ended: the last of `issued`.
    under_way: VecDeque<Work>,
    /// Work that queues which are gone have left undone, by number: first and last.
    lost: Vec<(u64, u64)>,
    /// The read index when somebody looked last, and when that was.
    seen: u64,
    looked: u64,
    /// For how long the read index has not moved.
    idle: u64,
}

/// A lane.
pub(super) type Lane = Lock<State>;

impl State {
    /// The last number whose work has ended.
    fn ended(&self) -> u64 {
        self.issued - self.under_way.len() as u64
    }

    /// Takes a queue. `now` in nanoseconds.
    pub fn open(&mut self, queue: DmaQueue, now: u64) {
        self.first = self.issued + 1;
        (self.seen, self.looked, self.idle) = (0, now, 0);
        self.refused = false;
        self.queue = Some(queue);
    }

    /// What the engine is to store when the work that comes next is done.
    pub const fn next_mark(&self) -> u32 {
        (self.issued + 1).wrapping_sub(self.first).wrapping_add(1) as u32
    }

    /// The last of a piece of work was published; gives its number.
    pub fn add(&mut self, bytes: u64, waits: bool, now: u64) -> u64 {
        if self.under_way.is_empty() {
            (self.looked, self.idle) = (now, 0);
        }
        self.under_way.push_back(Work { bytes, waits });
        self.issued += 1;
        self.issued
    }

    /// Sees what has ended, and whether the engine gets on.
    pub fn look(&mut self, now: u64) {
        let Some(queue) = &self.queue else {
            return;
        };
        // A number of the device's, which is believed as far as it can be true.
        let before = self.ended() + 1 - self.first;
        let ended = u64::from(queue.done().wrapping_sub(before as u32));
        if ended <= self.under_way.len() as u64 {
            self.under_way.drain(..ended as usize);
        }
        let read = queue.read();
        let nothing_to_do = self.under_way.is_empty() && queue.is_empty();
        if ended != 0 || read != self.seen || nothing_to_do {
            self.idle = 0;
        } else {
            let passed = now.saturating_sub(self.looked).min(LOOK_NS);
            self.idle = self.idle.saturating_add(passed);
        }
        (self.seen, self.looked) = (read, now);
    }

    /// Whether the engine has had time enough for what it is at, which is no more than all that it was given and `bytes`; how
    /// long that was.
    pub fn overdue(&self, bytes: u64) -> Option<u64> {
        // The engine may wait for as long as it likes.
        if self.front_waits() {
            return None;
        }
        let given = self.under_way.iter().map(|work| work.bytes);
        let bytes = given.fold(bytes, u64::saturating_add);
        let limit = TIMEOUT_NS.saturating_add((bytes >> 20).saturating_mul(NS_PER_MIB));
        (self.idle > limit).then_some(self.idle)
    }

    /// Whether the engine is at work that waits.
    pub fn front_waits(&self) -> bool {
        self.under_way.front().is_some_and(|work| work.waits)
    }

    /// Whether there is nothing to do.
    pub fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    /// How far work is.
    pub fn progress(&self, number: u64) -> DmaProgress {
        let among = |&(first, last): &(u64, u64)| (first..=last).contains(&number);
        if self.lost.iter().any(among) {
            DmaProgress::Lost
        } else if number <= self.ended() {
            DmaProgress::Done
        } else {
            DmaProgress::UnderWay
        }
    }

    /// Gives the queue away, and what was under way is lost.
    pub fn lose(&mut self) -> Option<DmaQueue> {
        if !self.under_way.is_empty() {
            let first = self.ended() + 1;
            match self.lost.last_mut() {
                // Nothing was done in between.
                Some((_, last)) if *last + 1 == first => *last = self.issued,
                _ => self.lost.push((first, self.issued)),
            }
        }
        self.under_way.clear();
        self.incarnation += 1;
        self.queue.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_without_a_queue_is_lost_and_what_ended_before_is_not() {
        let mut lane = State {
            first: 1,
            ..State::default()
        };
        assert_eq!([lane.add(1, false, 0), lane.add(1, false, 0)], [1, 2]);
        lane.under_way.pop_front();
        assert_eq!(lane.progress(1), DmaProgress::Done);
        assert_eq!(lane.progress(2), DmaProgress::UnderWay);
        assert!(lane.lose().is_none());
        assert_eq!(lane.progress(1), DmaProgress::Done);
        assert_eq!(lane.progress(2), DmaProgress::Lost);
        // Queues that are lost one after the other leave one range.
        assert_eq!(lane.add(1, false, 0), 3);
        assert!(lane.lose().is_none());
        assert_eq!(lane.lost, [(2, 3)]);
        assert_eq!(lane.progress(4), DmaProgress::UnderWay);
    }

    #[test]
    fn time_counts_for_an_engine_that_has_something_to_do_and_is_not_told_to_wait() {
        let mut lane = State {
            first: 1,
            ..State::default()
        };
        lane.add(8 << 20, false, 0);
        lane.idle = TIMEOUT_NS + 8 * NS_PER_MIB;
        assert_eq!(lane.overdue(0), None);
        lane.idle += 1;
        assert_eq!(lane.overdue(0), Some(lane.idle));
        assert_eq!(lane.overdue(1 << 20), None);
        lane.under_way.push_front(Work {
            bytes: 0,
            waits: true,
        });
        assert_eq!(lane.overdue(0), None);
    }
}
