//! Objects that a client names by handle.

use crate::abi::{MAX_SLOT, Parts};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One place of a registry. The generation goes up when an object leaves.
#[derive(Debug)]
struct Slot<T> {
    generation: u16,
    object: Option<Arc<T>>,
}

/// A table of shared objects. Handles of objects that are gone are refused, until a slot has been
/// used 65,536 times.
#[derive(Debug)]
pub struct Registry<T> {
    slots: Mutex<(Vec<Slot<T>>, Vec<u32>)>,
}

impl<T> Default for Registry<T> {
    fn default() -> Self {
        Self {
            slots: Mutex::new((Vec::new(), Vec::new())),
        }
    }
}

impl<T> Registry<T> {
    fn lock(&self) -> MutexGuard<'_, (Vec<Slot<T>>, Vec<u32>)> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an object; gives the parts of its handle, or `None` if the table is full.
    pub fn insert(&self, object: Arc<T>) -> Option<Parts> {
        let mut guard = self.lock();
        let (slots, free) = &mut *guard;
        let index = match free.pop() {
            Some(index) => index,
            None => {
                let index = u32::try_from(slots.len()).ok().filter(|&n| n <= MAX_SLOT)?;
                slots.push(Slot {
                    generation: 0,
                    object: None,
                });
                index
            }
        };
        let slot = slots.get_mut(index as usize)?;
        slot.object = Some(object);
        Some(Parts {
            generation: slot.generation,
            slot: index,
            sub: 0,
        })
    }

    /// The object of a handle.
    pub fn get(&self, parts: Parts) -> Option<Arc<T>> {
        let guard = self.lock();
        let slot = guard.0.get(parts.slot as usize)?;
        (slot.generation == parts.generation)
            .then(|| slot.object.clone())
            .flatten()
    }

    /// Takes an object out; its handle is refused from now on.
    pub fn remove(&self, parts: Parts) -> Option<Arc<T>> {
        let mut guard = self.lock();
        let (slots, free) = &mut *guard;
        let slot = slots.get_mut(parts.slot as usize)?;
        if slot.generation != parts.generation {
            return None;
        }
        let object = slot.object.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        free.push(parts.slot);
        Some(object)
    }

    /// All objects with the parts of their handles, in the order of their slots.
    pub fn all(&self) -> Vec<(Parts, Arc<T>)> {
        let guard = self.lock();
        (0u32..)
            .zip(&guard.0)
            .filter_map(|(index, slot)| {
                let parts = Parts {
                    generation: slot.generation,
                    slot: index,
                    sub: 0,
                };
                slot.object.clone().map(|object| (parts, object))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_of_a_removed_object_is_refused_even_after_its_slot_is_used_again() {
        let registry = Registry::default();
        let first = registry.insert(Arc::new("first")).unwrap();
        assert_eq!(registry.get(first).as_deref(), Some(&"first"));
        assert_eq!(registry.remove(first).as_deref(), Some(&"first"));
        let second = registry.insert(Arc::new("second")).unwrap();
        assert_eq!(second.slot, first.slot);
        assert!(registry.get(first).is_none());
        assert!(registry.remove(first).is_none());
        assert_eq!(registry.get(second).as_deref(), Some(&"second"));
    }

    #[test]
    fn handles_out_of_range_are_refused() {
        let registry = Registry::<u8>::default();
        assert!(registry.get(Parts::slot(0)).is_none());
        assert!(registry.remove(Parts::slot(MAX_SLOT)).is_none());
        assert!(registry.all().is_empty());
    }
}
