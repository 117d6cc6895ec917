//! Linearizability: whether what threads saw of an object could have come from one operation after another.
//!
//! Each operation is recorded with a stamp before it was called and one after it returned ([`Clock`]). A history is
//! linearizable if there is an order of all operations that keeps those that came after one another in that order, and
//! in which each gives what it gave (Herlihy and Wing, 1990). The search is Wing and Gong's, with the states that it has
//! been in remembered (Lowe, 2017).

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};

/// The order of calls and returns over all threads.
#[derive(Debug, Default)]
pub struct Clock(AtomicU64);

/// An operation that was carried out.
#[derive(Clone, Debug)]
pub struct Event<O> {
    /// What it was, and what it gave.
    pub operation: O,
    /// Before it was called.
    pub called: u64,
    /// After it returned.
    pub returned: u64,
}

impl Clock {
    /// Carries out an operation and says when. `None` is one that did not take place.
    pub fn record<O>(&self, operation: impl FnOnce() -> Option<O>) -> Option<Event<O>> {
        let called = self.0.fetch_add(1, Ordering::SeqCst);
        let operation = operation()?;
        let returned = self.0.fetch_add(1, Ordering::SeqCst);
        Some(Event {
            operation,
            called,
            returned,
        })
    }
}

/// What an object does, one operation at a time.
pub trait Model: Clone + Eq + Hash {
    /// An operation and what it gave.
    type Operation;

    /// The state after the operation, if it gives in this state what it gave.
    fn apply(&self, operation: &Self::Operation) -> Option<Self>;
}

/// Whether an order of the history's operations, from this state, explains all of them. At most 64 operations.
///
/// # Panics
/// If there are more.
pub fn is_linearizable<M: Model>(initial: &M, history: &[Event<M::Operation>]) -> bool {
    assert!(
        history.len() <= 64,
        "a history of {} operations",
        history.len()
    );
    let all =
        u64::MAX >> (64 - history.len().max(1)) & if history.is_empty() { 0 } else { u64::MAX };
    let mut seen = HashSet::new();
    let mut open = vec![(0u64, initial.clone())];
    while let Some((done, state)) = open.pop() {
        if done == all {
            return true;
        }
        if !seen.insert((done, state.clone())) {
            continue;
        }
        let left = || (0..history.len()).filter(|at| done >> at & 1 == 0);
        // What was called after another one returned comes after it.
        let first_return = left().map(|at| history[at].returned).min();
        for at in left().filter(|&at| Some(history[at].called) < first_return) {
            if let Some(next) = state.apply(&history[at].operation) {
                open.push((done | 1 << at, next));
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number, and what reads gave.
    #[derive(Clone, PartialEq, Eq, Hash)]
    struct Register(u32);

    enum Access {
        Write(u32),
        Read(u32),
    }

    impl Model for Register {
        type Operation = Access;

        fn apply(&self, operation: &Access) -> Option<Self> {
            match *operation {
                Access::Write(value) => Some(Self(value)),
                Access::Read(value) => (value == self.0).then(|| self.clone()),
            }
        }
    }

    fn event(operation: Access, called: u64, returned: u64) -> Event<Access> {
        Event {
            operation,
            called,
            returned,
        }
    }

    #[test]
    fn reads_beside_a_write_may_see_either() {
        use Access::{Read, Write};
        let old = [event(Write(1), 0, 3), event(Read(0), 1, 2)];
        let new = [event(Write(1), 0, 3), event(Read(1), 1, 2)];
        assert!(is_linearizable(&Register(0), &old));
        assert!(is_linearizable(&Register(0), &new));
        assert!(is_linearizable(&Register(0), &[]));
    }

    #[test]
    fn a_read_after_a_write_sees_it() {
        use Access::{Read, Write};
        let stale = [event(Write(1), 0, 1), event(Read(0), 2, 3)];
        assert!(!is_linearizable(&Register(0), &stale));
        // Once the new value was seen, the old one is gone, though the write has not returned.
        let back = [
            event(Write(1), 0, 5),
            event(Read(1), 1, 2),
            event(Read(0), 3, 4),
        ];
        assert!(!is_linearizable(&Register(0), &back));
    }

    #[test]
    fn a_value_that_nobody_wrote_is_seen_by_nobody() {
        let invented = [event(Access::Write(1), 0, 3), event(Access::Read(2), 1, 2)];
        assert!(!is_linearizable(&Register(0), &invented));
    }
}
