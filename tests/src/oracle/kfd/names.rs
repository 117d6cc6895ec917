//! What arguments name: mostly something that the client has.

use super::{Client, PAGE, VA};
use crate::oracle::input::Input;

impl Client {
    /// A GPU's id, or none.
    pub(super) fn gpu(&self, input: &mut Input<'_>) -> u32 {
        match input.byte() {
            0..=239 => {
                let at = input.below(self.gpus.len());
                self.gpus.get(at).copied().unwrap_or(0)
            }
            _ => input.u32(),
        }
    }

    pub(super) fn handle(&self, input: &mut Input<'_>) -> u64 {
        let at = input.below(self.objects.len());
        match (input.byte(), self.objects.get(at)) {
            (0..=239, Some(object)) => object.handle,
            _ => input.number(),
        }
    }

    pub(super) fn va(&self, input: &mut Input<'_>) -> u64 {
        let at = input.below(self.objects.len());
        match (input.byte(), self.objects.get(at)) {
            (0..=199, Some(object)) => object.va,
            (200..=219, _) => VA + u64::from(input.byte()) * PAGE,
            (220..=229, _) => VA + u64::from(input.u16()),
            _ => input.pick(&[0, u64::MAX, !0xfff, 1 << 47, (1 << 47) - PAGE, 1 << 63]),
        }
    }

    /// An address that arguments can point to.
    pub(super) fn pointer(&self, input: &mut Input<'_>) -> u64 {
        match input.byte() {
            0..=229 => self.words.as_ptr().expose_provenance() as u64,
            _ => input.pick(&[0, u64::MAX, 1 << 47, u64::MAX - 7]),
        }
    }

    pub(super) fn event(&self, input: &mut Input<'_>) -> u32 {
        let at = input.below(self.events.len());
        match (input.byte(), self.events.get(at)) {
            (0..=239, Some(event)) => *event,
            _ => input.number() as u32,
        }
    }

    pub(super) fn queue(&self, input: &mut Input<'_>) -> u32 {
        let at = input.below(self.queues.len());
        match (input.byte(), self.queues.get(at)) {
            (0..=239, Some((queue, _))) => *queue,
            _ => input.number() as u32,
        }
    }
}
