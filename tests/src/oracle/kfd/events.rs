//! Events and waits.

use rukh_core::kfd::uapi::*;
use zerocopy::IntoBytes;

use super::{COUNTS, Client, MOST};
use crate::oracle::input::Input;

impl Client {
    pub(super) fn create_event(&mut self, input: &mut Input<'_>) {
        if self.events.len() >= MOST {
            return;
        }
        let mut argument = CreateEvent {
            event_page_offset: match input.byte() {
                0..=199 => 0,
                _ => self.handle(input),
            },
            event_type: input.pick(&[0, 3, 8, 5, 1, 9, u32::MAX]),
            auto_reset: input.pick(&[0, 1, 7]),
            node_id: input.u32(),
            ..CreateEvent::default()
        };
        let page = argument.event_page_offset;
        let answer = self.call(&mut argument);
        if answer.is_ok() {
            assert!(!self.events.contains(&argument.event_id));
            self.events.push(argument.event_id);
        }
        // Whether the rest of the call went well or not: a page that was taken is kept by the driver. To ask is to free.
        let at = self.objects.iter().position(|object| object.handle == page);
        if let Some(at) = at.filter(|_| self.event_page != Some(page)) {
            match self.call(&mut FreeMemoryOfGpu { handle: page }) {
                Ok(()) => drop(self.objects.swap_remove(at)),
                Err(1) => self.event_page = Some(page),
                Err(_) => {}
            }
        }
    }

    pub(super) fn change_event(&mut self, input: &mut Input<'_>) {
        let event_id = self.event(input);
        let is_known = self.events.contains(&event_id);
        let pad = input.u32();
        let answer = match input.below(3) {
            0 => self.call(&mut SetEvent { event_id, pad }),
            1 => self.call(&mut ResetEvent { event_id, pad }),
            _ => {
                let answer = self.call(&mut DestroyEvent { event_id, pad });
                assert_eq!(answer.is_ok(), is_known);
                self.events.retain(|event| *event != event_id);
                answer
            }
        };
        assert!(answer.is_err() || is_known);
    }

    pub(super) fn wait_events(&mut self, input: &mut Input<'_>) {
        let count = input.pick(&COUNTS);
        let mut wanted = Vec::new();
        for at in 0..count.min(16) as usize {
            let event_id = self.event(input);
            let data = EventData {
                data: [input.number(); 4],
                event_id,
                ..EventData::default()
            };
            wanted.push(event_id);
            let bytes = data.as_bytes();
            self.words.as_mut_bytes()[at * bytes.len()..][..bytes.len()].copy_from_slice(bytes);
        }
        let mut argument = WaitEvents {
            events_ptr: self.pointer(input),
            num_events: count,
            wait_for_all: input.pick(&[0, 1, 2]),
            // A device may raise them meanwhile; nobody waits for that here.
            timeout: input.pick(&[0, 0, 1]),
            wait_result: input.u32(),
        };
        match self.call(&mut argument) {
            Ok(()) => {
                assert!(argument.wait_result <= 1);
                assert!(wanted.iter().all(|event| self.events.contains(event)));
            }
            Err(_) => assert_eq!(argument.wait_result, 2),
        }
    }
}
