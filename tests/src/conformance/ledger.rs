//! What a backend gave and did not get back.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rukh_core::backend::{Call, Hook};

/// A hook that keeps books of memory, queues and events.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<Books>);

#[derive(Debug, Default)]
struct Books {
    open: BTreeMap<(&'static str, u64), String>,
    /// Handles that were given back without having been given, or given twice.
    wrong: Vec<String>,
}

impl Books {
    fn give(&mut self, kind: &'static str, handle: u64, call: &Call<'_>) {
        if self
            .open
            .insert((kind, handle), format!("{call:?}"))
            .is_some()
        {
            self.wrong
                .push(format!("{kind} {handle:#x} was given twice"));
        }
    }

    fn take(&mut self, kind: &'static str, handle: u64) {
        if self.open.remove(&(kind, handle)).is_none() {
            self.wrong
                .push(format!("{kind} {handle:#x} was taken back and not given"));
        }
    }
}

impl Ledger {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is not as it must be after everything was dropped; a line each.
    pub fn faults(&self) -> Vec<String> {
        let books = self.books();
        let open = books
            .open
            .iter()
            .map(|((kind, handle), call)| format!("{kind} {handle:#x} leaked: {call}"));
        books.wrong.iter().cloned().chain(open).collect()
    }
}

impl Hook for Ledger {
    fn after(&self, call: &Call<'_>, outcome: Result<u64, &dyn Error>) {
        let Ok(number) = outcome else {
            return;
        };
        let mut books = self.books();
        match call {
            Call::Allocate(_)
            | Call::RegisterHost { .. }
            | Call::ImportDmabuf(..)
            | Call::CreateMemory(_)
            | Call::ImportMemory(_) => books.give("memory", number, call),
            Call::Free(handle) => books.take("memory", handle.0),
            Call::MapMemory { .. } => books.give("mapping", number, call),
            Call::UnmapMemory(mapping) => books.take("mapping", mapping.0),
            Call::Reserve { .. } => books.give("address range", number, call),
            Call::Unreserve { address, .. } => books.take("address range", *address),
            Call::CreateQueue(_) => books.give("queue", number, call),
            Call::DestroyQueue(queue) => books.take("queue", queue.0),
            Call::CreateEvent(_) => books.give("event", number, call),
            Call::DestroyEvent(event) => books.take("event", u64::from(event.0)),
            _ => {}
        }
    }
}
