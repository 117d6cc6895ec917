//! How the runtime's own thread sleeps.
//!
//! The *keeper*, the thread of [`Reactor::run`], sleeps in the backend beside the leader of the clients' threads, on
//! events of its own: the first of the shared ones, which the runtime's own signals are bound to, those of the
//! handlers' signals, and the faults. So a completion that nobody asked to be told of wakes nobody, and one that a
//! client's thread sleeps for wakes that thread and no other.
//!
//! A fault is reported to everyone who sleeps on its event, and is to be handled once: either the keeper sleeps on the
//! fault events or the leader does ([`Holder`]). The keeper holds them but while it calls back, which may last; then
//! the leader takes them.
//!
//! An event that wakes two is not lost for either: each, when it has woken, looks for the other under the lock, as
//! it does for the followers, and kicks it if its wait is over.

use super::Reactor;
use super::service::Reports;
use super::waiters::{Node, Waiters, Watch};
use crate::backend::{Backend, EventId, Timeout, WaitMode};
use crate::config::SHARED_EVENTS;
use crate::signal::SignalFlags;
use crate::sync::{AtomicU32, Ordering};

/// Who sleeps on the fault events, or will as soon as it sleeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Holder {
    /// Nobody: whoever sleeps next.
    #[default]
    Nobody,
    /// The leader.
    Leader,
    /// The keeper.
    Keeper,
}

/// Events that one thread sleeps on.
type Set = heapless::Vec<EventId, { SHARED_EVENTS + 2 }>;

/// The keeper's place among those that sleep; leaves it when dropped.
struct Kept<'a, B: Backend + ?Sized>(&'a Reactor<B>);

impl<B: Backend + ?Sized> Drop for Kept<'_, B> {
    fn drop(&mut self) {
        let mut waiters = self.0.waiters.lock(self.0.park());
        waiters.keeper = None;
        // The event that ended this sleep may have been meant for others.
        self.0.wake_followers(&waiters, None);
        let kick = waiters.leader_is_done();
        drop(waiters);
        if kick {
            self.0.kick_leader();
        }
    }
}

impl<B: Backend + ?Sized> Reactor<B> {
    /// Sleeps until one of the keeper's watches is over, an event of its own is raised, or it is time to look again.
    pub(super) fn keep(&self, watches: &[Watch<'_>]) {
        self.park().heavy_barrier();
        let busy = self.shared.is_empty()
            || watches
                .iter()
                .any(|watch| watch.slot.flags().contains(SignalFlags::BUSY));
        let node = Node::new(watches, false);
        let mut events = Set::new();
        {
            let mut waiters = self.waiters.lock(self.park());
            if waiters.holder != Holder::Leader {
                waiters.holder = Holder::Keeper;
                // Never more than all there are.
                let _ = events.extend_from_slice(self.faults());
            }
            // SAFETY: the node is this thread's.
            if unsafe { node.look() }.is_some() {
                return;
            }
            waiters.keeper = Some(&raw const node);
        }
        let place = Kept(self);
        for (at, event) in self.shared.iter().enumerate() {
            // Where a device has scribbled over the number, the look after a while has to do.
            let bound = |watch: &Watch<'_>| {
                watch.slot.signal.event_id.load(Ordering::Relaxed) == u64::from(event.0)
            };
            if at == 0 || watches.iter().any(bound) {
                let _ = events.push(*event);
            }
        }
        let mut reports = Reports::new();
        let until = Timeout::At(self.limit(Timeout::Never, busy));
        self.wait_for(&events, until, &mut reports);
        drop(place);
        self.service(reports);
    }

    /// Says that the keeper will not sleep for a while: it calls back, or ends.
    pub(super) fn keeper_leaves(&self) {
        let mut waiters = self.waiters.lock(self.park());
        if waiters.holder != Holder::Keeper {
            return;
        }
        waiters.holder = Holder::Nobody;
        let kick = waiters.leader.is_some();
        drop(waiters);
        if kick {
            // It sleeps again at once, on the faults too.
            self.kick_leader();
        }
    }

    /// The events of faults.
    fn faults(&self) -> &[EventId] {
        &self.all[..self.all.len() - self.shared.len()]
    }

    /// The events that clients' signals are bound to.
    pub(super) fn client_events(&self) -> &[EventId] {
        match &self.shared[..] {
            // All but the runtime's own, if there are others.
            [_, clients @ ..] if !clients.is_empty() => clients,
            only => only,
        }
    }

    /// What the leader sleeps on; it holds the fault events from here if nobody did.
    pub(super) fn leaders_events(&self, waiters: &mut Waiters) -> &[EventId] {
        match waiters.holder {
            Holder::Keeper => self.client_events(),
            Holder::Nobody | Holder::Leader => {
                waiters.holder = Holder::Leader;
                &self.all
            }
        }
    }

    /// Ends the leader's sleep.
    pub(super) fn kick_leader(&self) {
        self.raise(self.shared.last());
    }

    /// Ends the keeper's sleep.
    pub(super) fn kick_keeper(&self) {
        self.raise(self.shared.first());
    }

    fn raise(&self, event: Option<&EventId>) {
        if let Some(event) = event
            && self.backend.set_event(*event).is_err()
        {
            crate::trace::event!(error, "event {} cannot be set", event.0);
        }
    }

    /// Sleeps on events.
    pub(super) fn wait_for(&self, events: &[EventId], until: Timeout, reports: &mut Reports) {
        let outcome = self
            .backend
            .wait_events(events, WaitMode::Any, until, &mut |report| {
                reports.push(report);
            });
        if outcome.is_err() {
            // Nothing to sleep on: look as often as for signals without an event.
            crate::trace::event!(error, "waiting for events failed; looking instead");
            let word = AtomicU32::new(0);
            self.park().park(&word, 0, Some(self.config.poll_ns));
        }
    }
}
