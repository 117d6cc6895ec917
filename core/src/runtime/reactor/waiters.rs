//! Leading and following.
//!
//! # Why no wake-up is lost
//!
//! *A device changes a signal* and then raises its event. The leader looks at its own
//! signals after it took the lead and before it sleeps; an event raised since then ends the
//! sleep, or, raised before the sleep began, is latched by the backend and ends it at once. A
//! follower looks at its signals after it entered the list, under the lock. The leader wakes
//! followers under the same lock after the event: either it finds the follower in the list, or the
//! follower came later, and then it sees the change that came before the event. An event that one
//! leader consumed and that was meant for the next leader's signal is covered the same way: the next leader
//! looks after taking the lock that the previous one released after the event. The runtime's own thread sleeps in the
//! backend beside the leader, in part on the same events, and the two look after each other: see
//! [`keeper`](super::keeper).
//!
//! *A thread changes a signal* by a plain store and then loads the waiters count; a
//! waiter raises the count and then loads the value. If both loads could see the old state, the waiter would
//! sleep for ever. That needs a full barrier between store and load on both sides. Where the
//! platform can impose one on all threads ([`Park::has_heavy_barrier`]) the waiter, which is about
//! to sleep anyway, does so after raising the count, and the store's side is a compiler fence: a store that began
//! before the barrier is visible after it, one that began later sees the count. Elsewhere both
//! sides have a fence. Read-modify-writes are barriers by themselves on x86-64.
//! The count is then followed by [`Reactor::notify`], which takes the lock and wakes as the leader would.
//!
//! *Leadership* is never left vacant while followers sleep: whoever leaves and finds no leader wakes the
//! first follower, under the lock, and that one leads or, leaving, wakes the next.
//!
//! Everything sleeps for [`RuntimeConfig::recheck_ns`](crate::runtime::RuntimeConfig::recheck_ns) at most and
//! looks again: a device or driver that loses an interrupt costs time, not a hang.

use super::Reactor;
use super::keeper::Holder;
use super::service::Reports;
use crate::backend::{Backend, EventOutcome, LockGuard as Guard, Timeout, WaitMode};
use crate::config::{CLOCK_LOOKS, SPIN_LOOKS};
use crate::signal::{Condition, MemoryOrder, SignalFlags, SignalOps, SignalSlot};
use crate::sync::{AtomicU32, Ordering, RMW_IS_BARRIER, compiler_fence, fence};
use alloc::vec::Vec;

/// A signal and what is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch<'a> {
    pub slot: &'a SignalSlot,
    pub generation: u32,
    pub condition: Condition,
    pub compare: i64,
}

/// What a look at a signal saw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Seen {
    Met(i64),
    NotYet(i64),
    Gone,
}

impl Watch<'_> {
    pub fn look(&self) -> Seen {
        let value = self.slot.signal.load(MemoryOrder::Acquire);
        // After the value: a slot that is used again changed its generation before its value.
        if self.slot.generation.load(Ordering::Relaxed) != self.generation {
            Seen::Gone
        } else if self.condition.holds(value, self.compare) {
            Seen::Met(value)
        } else {
            Seen::NotYet(value)
        }
    }
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waited {
    /// The condition of this watch held (of the last one, if all were waited for).
    Met(usize, i64),
    /// The signal of this watch was destroyed.
    Gone(usize),
    /// The time was over.
    TimedOut,
}

/// How to wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WaitHint {
    /// Look for a short while, then sleep.
    #[default]
    Blocked,
    /// Never sleep.
    Active,
}

/// How a thread waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    pub all: bool,
    pub timeout: Timeout,
    pub hint: WaitHint,
}

const ASLEEP: u32 = 0;
const AWAKE: u32 = 1;

/// A thread that waits: on its stack, reached by others only under the lock and only while it is
/// the leader or in the list.
pub(super) struct Node {
    word: AtomicU32,
    watches: *const Watch<'static>,
    count: usize,
    all: bool,
}

impl Node {
    pub fn new(watches: &[Watch<'_>], all: bool) -> Self {
        Self {
            word: AtomicU32::new(ASLEEP),
            watches: watches.as_ptr().cast(),
            count: watches.len(),
            all,
        }
    }

    /// # Safety
    /// The node's watches are still borrowed by the thread that waits: the caller is that thread, or
    /// holds the lock and found the node in [`Waiters`].
    pub unsafe fn look(&self) -> Option<Waited> {
        // SAFETY: the pointer and count come from one slice, alive by the caller's promise.
        let watches = unsafe { core::slice::from_raw_parts(self.watches, self.count) };
        look(watches, self.all)
    }

    fn watches(&self, slot: &SignalSlot) -> bool {
        // SAFETY: as for `look`; called under the lock on nodes of the list.
        let watches = unsafe { core::slice::from_raw_parts(self.watches, self.count) };
        watches.iter().any(|w| core::ptr::eq(w.slot, slot))
    }
}

fn look(watches: &[Watch<'_>], all: bool) -> Option<Waited> {
    let mut last = None;
    for (index, watch) in watches.iter().enumerate() {
        match watch.look() {
            Seen::Gone => return Some(Waited::Gone(index)),
            Seen::Met(value) if !all => return Some(Waited::Met(index, value)),
            Seen::Met(value) => last = Some(Waited::Met(index, value)),
            Seen::NotYet(_) if all => return None,
            Seen::NotYet(_) => {}
        }
    }
    last
}

/// Threads that sleep.
#[derive(Default)]
pub(crate) struct Waiters {
    pub(super) leader: Option<*const Node>,
    followers: Vec<*const Node>,
    /// The runtime's own thread, while it sleeps.
    pub(super) keeper: Option<*const Node>,
    pub(super) holder: Holder,
}

// SAFETY: the pointers are followed under the lock that this lies in, while the nodes' threads cannot
// leave without that lock.
unsafe impl Send for Waiters {}

impl Waiters {
    /// Whether the leader sleeps although its wait is over.
    pub(super) fn leader_is_done(&self) -> bool {
        // SAFETY: a node in its place, under the lock.
        self.leader
            .is_some_and(|leader| unsafe { (*leader).look() }.is_some())
    }

    /// The same of the keeper.
    fn keeper_is_done(&self) -> bool {
        // SAFETY: as above.
        self.keeper
            .is_some_and(|keeper| unsafe { (*keeper).look() }.is_some())
    }

    /// Wakes one follower if nobody leads.
    fn hand_over<B: Backend + ?Sized>(&self, reactor: &Reactor<B>) {
        if self.leader.is_none()
            && let Some(first) = self.followers.first()
        {
            // SAFETY: a node in the list, under the lock.
            let node = unsafe { &**first };
            node.word.store(AWAKE, Ordering::Release);
            reactor.park().unpark(&node.word);
        }
    }
}

/// A thread's place among the waiters; leaves it when dropped, so that a panic in a callback
/// does not take the lead along.
struct Place<'a, B: Backend + ?Sized> {
    reactor: &'a Reactor<B>,
    node: &'a Node,
}

impl<B: Backend + ?Sized> Place<'_, B> {
    /// Takes the node out. Under the lock.
    fn leave(&self, waiters: &mut Waiters) {
        let node: *const Node = self.node;
        if waiters.leader == Some(node) {
            waiters.leader = None;
            if waiters.holder == Holder::Leader {
                waiters.holder = Holder::Nobody;
            }
        }
        waiters.followers.retain(|&other| other != node);
    }

    /// Ends a wait: somebody else leads, and holds the fault events. Gives the lock back.
    fn end(&self, mut waiters: Guard<'_, Waiters>) {
        self.leave(&mut waiters);
        waiters.hand_over(self.reactor);
        let kick = waiters.holder == Holder::Nobody && waiters.keeper.is_some();
        drop(waiters);
        if kick {
            // It sleeps without them.
            self.reactor.kick_keeper();
        }
    }
}

impl<B: Backend + ?Sized> Drop for Place<'_, B> {
    fn drop(&mut self) {
        self.end(self.reactor.waiters.lock(self.reactor.park()));
    }
}

/// Raised waiters counts.
struct Registration<'a>(&'a [Watch<'a>]);

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        for watch in self.0 {
            unregister(watch);
        }
    }
}

pub(crate) fn register(watch: &Watch<'_>) {
    watch.slot.waiters.fetch_add(1, Ordering::SeqCst);
}

pub(crate) fn unregister(watch: &Watch<'_>) {
    // A slot that was freed and given out again starts at 0 and is not this wait's any more.
    if watch.slot.generation.load(Ordering::Relaxed) == watch.generation {
        watch.slot.waiters.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<B: Backend + ?Sized> Reactor<B> {
    pub fn watch<'a>(slot: &'a SignalSlot, condition: Condition, compare: i64) -> Watch<'a> {
        let generation = slot.generation.load(Ordering::Acquire);
        Watch {
            slot,
            // Even: the slot was freed since its handle was looked up. The one before is gone, and is seen to be.
            generation: generation.wrapping_sub(u32::from(generation.is_multiple_of(2))),
            condition,
            compare,
        }
    }

    /// Waits. Looks at least once.
    pub fn wait(&self, watches: &[Watch<'_>], how: How) -> Waited {
        if let Some(done) = look(watches, how.all) {
            return done;
        }
        if how.timeout == Timeout::Poll {
            return Waited::TimedOut;
        }
        if let Some(done) = self.spin(watches, how) {
            return done;
        }
        self.sleep(watches, how)
    }

    /// Looks until the wait is over or, if it may sleep, looking has lasted long enough.
    fn spin(&self, watches: &[Watch<'_>], how: How) -> Option<Waited> {
        let start = self.backend.now();
        let active = how.hint == WaitHint::Active;
        let mut looks = 0u32;
        loop {
            if let Some(done) = look(watches, how.all) {
                return Some(done);
            }
            self.backend.relax();
            looks = looks.wrapping_add(1);
            if !looks.is_multiple_of(CLOCK_LOOKS) {
                continue;
            }
            let now = self.backend.now();
            if let Timeout::At(deadline) = how.timeout
                && now >= deadline
            {
                return Some(look(watches, how.all).unwrap_or(Waited::TimedOut));
            }
            if active {
                if looks.is_multiple_of(4096) {
                    self.poll_events();
                }
            } else if now.saturating_sub(start) >= self.config.spin_ns || looks >= SPIN_LOOKS {
                return None;
            }
        }
    }

    fn sleep(&self, watches: &[Watch<'_>], how: How) -> Waited {
        watches.iter().for_each(register);
        let _registration = Registration(watches);
        // After the counts are raised, before the next look at a value: see the head of this file.
        self.park().heavy_barrier();
        let busy = self.shared.is_empty()
            || watches
                .iter()
                .any(|w| w.slot.flags().contains(SignalFlags::BUSY));
        let node = Node::new(watches, how.all);
        let me: *const Node = &node;
        let place = Place {
            reactor: self,
            node: &node,
        };
        loop {
            // Callbacks before sleeping: whoever caused them may be waiting for their effect. No
            // place is taken here, so a callback may wait itself.
            self.run_pending_if_unthreaded();
            let events = {
                let mut waiters = self.waiters.lock(self.park());
                node.word.store(ASLEEP, Ordering::Relaxed);
                let leads = waiters.leader.is_none() && !self.all.is_empty();
                let events = leads.then(|| {
                    waiters.leader = Some(me);
                    self.leaders_events(&mut waiters)
                });
                if !leads {
                    waiters.followers.push(me);
                }
                // In place, under the lock: what changes from here on finds this node.
                // SAFETY: the node is this thread's.
                let done = unsafe { node.look() };
                let late = matches!(how.timeout, Timeout::At(t) if self.backend.now() >= t);
                if let Some(done) = done.or(late.then_some(Waited::TimedOut)) {
                    place.end(waiters);
                    // It has left; there is nothing for the guard to do.
                    core::mem::forget(place);
                    return done;
                }
                events
            };
            let leads = events.is_some();
            if let Some(events) = events {
                let mut reports = Reports::new();
                let until = Timeout::At(self.limit(how.timeout, busy));
                self.wait_for(events, until, &mut reports);
                self.service(reports);
            } else {
                let limit = self.limit(how.timeout, busy);
                let now = self.backend.now();
                self.park()
                    .park(&node.word, ASLEEP, Some(limit.saturating_sub(now).max(1)));
                if node.word.load(Ordering::Relaxed) == ASLEEP {
                    // Time for a device that makes progress in calls alone; who was woken has no need of it.
                    self.backend.relax();
                }
            }
            let mut waiters = self.waiters.lock(self.park());
            let mut kick = false;
            if leads {
                // The event that ended this sleep may have been meant for others.
                self.wake_followers(&waiters, None);
                kick = waiters.keeper_is_done();
            }
            // What is due is called first: whoever caused it may be waiting for its effect.
            let calls = leads && self.has_pending();
            if !calls && let Some(done) = look(watches, how.all) {
                place.end(waiters);
                // It has left; there is nothing for the guard to do.
                core::mem::forget(place);
                if kick {
                    self.kick_keeper();
                }
                return done;
            }
            place.leave(&mut waiters);
            if calls {
                // This thread is about to call back and may be gone for long.
                waiters.hand_over(self);
            }
            drop(waiters);
            if kick {
                self.kick_keeper();
            }
        }
    }

    /// When to look again at the latest.
    pub(super) fn limit(&self, timeout: Timeout, busy: bool) -> u64 {
        let now = self.backend.now();
        let recheck = if busy {
            self.config.poll_ns
        } else {
            self.config.recheck_ns
        };
        let recheck = now.saturating_add(recheck);
        match timeout {
            Timeout::At(deadline) => deadline.min(recheck),
            Timeout::Poll => now,
            Timeout::Never => recheck,
        }
    }

    /// Looks at events and queues without sleeping, for threads that never sleep and for
    /// [`poll`](crate::runtime::Runtime::poll). Gives whether an event was raised.
    pub fn poll_events(&self) -> bool {
        let mut reports = Reports::new();
        let mut raised = false;
        // Beside a leader nothing is consumed that it needs: an event raised while several wait wakes all.
        // Without one, the followers (there are none then) would be this thread's to wake. The keeper, where there is
        // one, does what is to be done.
        let nobody = {
            let waiters = self.waiters.lock(self.park());
            waiters.leader.is_none() && waiters.holder == Holder::Nobody
        };
        if !self.all.is_empty() && nobody {
            raised =
                self.backend
                    .wait_events(&self.all, WaitMode::Any, Timeout::Poll, &mut |report| {
                        reports.push(report);
                    })
                    == Ok(EventOutcome::Raised);
            let waiters = self.waiters.lock(self.park());
            self.wake_followers(&waiters, None);
            // Whoever came meanwhile may have lost its event to this look.
            self.kick_who_is_done(waiters);
        }
        self.service(reports);
        raised
    }

    /// Wakes waiters after a plain store to a signal. The store and the look at the waiters count must
    /// not change places: see the head of this file.
    #[inline]
    pub fn wake_after_store(&self, slot: &SignalSlot) {
        if self.light_stores {
            compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
        if slot.waiters.load(Ordering::Relaxed) != 0 {
            self.notify(slot);
        }
    }

    /// Wakes waiters after a read-modify-write, which is a full barrier by itself on x86-64.
    #[inline]
    pub fn wake_after_rmw(&self, slot: &SignalSlot) {
        if self.light_stores || RMW_IS_BARRIER {
            compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
        if slot.waiters.load(Ordering::Relaxed) != 0 {
            self.notify(slot);
        }
    }

    /// After a host's store to a signal that somebody waits for.
    #[cold]
    pub fn notify(&self, slot: &SignalSlot) {
        let waiters = self.waiters.lock(self.park());
        self.wake_followers(&waiters, Some(slot));
        self.kick_who_is_done(waiters);
    }

    /// Ends the sleep in the backend of those whose wait is over. Gives the lock back.
    fn kick_who_is_done(&self, waiters: Guard<'_, Waiters>) {
        let (leader, keeper) = (waiters.leader_is_done(), waiters.keeper_is_done());
        drop(waiters);
        if leader {
            self.kick_leader();
        }
        if keeper {
            self.kick_keeper();
        }
    }

    /// Wakes the followers whose wait is over, of those that watch `slot` if it is given.
    pub(super) fn wake_followers(&self, waiters: &Waiters, slot: Option<&SignalSlot>) {
        for follower in &waiters.followers {
            // SAFETY: nodes of the list, under the lock.
            let node = unsafe { &**follower };
            if node.word.load(Ordering::Relaxed) == AWAKE
                || slot.is_some_and(|slot| !node.watches(slot))
            {
                continue;
            }
            // SAFETY: as above.
            if unsafe { node.look() }.is_some() {
                node.word.store(AWAKE, Ordering::Release);
                self.park().unpark(&node.word);
            }
        }
    }
}
