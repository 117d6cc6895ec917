//! Events: the page that devices write mailboxes in, waits, and what comes with a fault.

use crate::backend::{INHERITED, KfdBackend, call_name};
use crate::memory::{Source, Want};
use crate::sys;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use rukh_core::backend::{
    EventError, EventId, EventKind, EventOutcome, EventReport, Events, HardwareEvent, MemoryError,
    MemoryFaultInfo, Park, Timeout, WaitMode,
};
use rukh_core::kfd::uapi::{
    AllocFlags, CreateEvent, DestroyEvent, EventData, Ioctl, SetEvent, WaitEvents, event_type,
};
use rukh_core::kfd::{EAGAIN, EINTR, KfdPort, PortError, RETRIES};

const EIO: i32 = 5;
const ENOMEM: i32 = 12;
const EINVAL: i32 = 22;
const ENOSPC: i32 = 28;

/// Bytes of the event page: a 64-bit mailbox for each of 4096 events.
const PAGE_BYTES: u64 = 0x8000;

/// Since this version an event has an age, and a wait for one whose age is not the one that was last seen
/// ends at once: what another thread consumed meanwhile is not lost.
const AGE_SINCE: u32 = 14;

/// Longest single wait, in milliseconds: the largest number but those that mean for ever.
const LONGEST_MS: u64 = u32::MAX as u64 - 2;
const FOR_EVER: u32 = u32::MAX;

/// The page.
#[derive(Clone, Copy, Debug)]
struct EventPage {
    memory: u64,
    address: u64,
    /// The driver's handle, until an event was created with it.
    announce: Option<u64>,
}

#[derive(Debug)]
struct Event {
    kind: EventKind,
    slot: u32,
    age: AtomicU64,
}

/// All events.
#[derive(Debug, Default)]
pub(crate) struct EventTable {
    page: Option<EventPage>,
    events: BTreeMap<u32, Event>,
}

impl EventTable {
    fn signals(&self) -> u32 {
        let signals = |event: &&Event| event.kind == EventKind::Signal;
        self.events.values().filter(signals).count() as u32
    }
}

const fn os(error: &PortError) -> EventError {
    EventError::Os {
        call: call_name(error),
        errno: error.errno(),
    }
}

/// Why there is no event page: without one there are no events, which must not look like a backend that has none.
fn no_page(error: MemoryError) -> EventError {
    match error {
        MemoryError::Os { call, errno, .. } => EventError::Os { call, errno },
        MemoryError::NotSupported(what) => EventError::NotSupported(what),
        _ => EventError::Os {
            call: "memory for the event page",
            errno: ENOMEM,
        },
    }
}

impl<P: KfdPort> KfdBackend<P> {
    /// The event page in memory that all GPUs write to, made when the first event is.
    fn make_event_page(&self, table: &mut EventTable) -> Result<(), EventError> {
        if table.page.is_some() || self.gpus.is_empty() {
            return Ok(());
        }
        let block = self
            .acquire(&Want {
                source: Source::Gtt,
                gpu: Some(0),
                size: PAGE_BYTES,
                align: 4096,
                flags: AllocFlags::WRITABLE
                    | AllocFlags::EXECUTABLE
                    | AllocFlags::NO_SUBSTITUTE
                    | AllocFlags::COHERENT
                    | AllocFlags::UNCACHED,
            })
            .map_err(no_page)?;
        let all: Vec<usize> = (0..self.gpus.len()).collect();
        let ready = self
            .map_to(block.handle, &all)
            .map_err(no_page)
            .and_then(|()| {
                let handle = self
                    .buffer_object(rukh_core::backend::MemoryHandle(block.handle))
                    .zip(block.host);
                handle.ok_or(EventError::NotSupported(
                    "events: the event page is not mapped",
                ))
            });
        let (announce, host) = match ready {
            Ok(ready) => ready,
            Err(error) => {
                // SAFETY: nobody has seen it.
                let _ = unsafe { self.relinquish(block.handle) };
                return Err(error);
            }
        };
        // All ones is a mailbox that no device has written.
        // SAFETY: mapped for that many bytes, and no device knows it yet.
        unsafe { core::ptr::write_bytes(host.as_ptr(), 0xff, PAGE_BYTES as usize) };
        table.page = Some(EventPage {
            memory: block.handle,
            address: block.gpu_va,
            announce: Some(announce),
        });
        Ok(())
    }

    /// Destroys what is left, when the backend goes.
    pub(crate) fn close_events(&mut self) {
        let inherited = self.kfd.inherited();
        let table = core::mem::take(self.events.get_mut());
        for id in table.events.keys() {
            if !inherited {
                let mut argument = DestroyEvent {
                    event_id: *id,
                    pad: 0,
                };
                let _ = self
                    .kfd
                    .call(&mut argument)
                    .or_else(|_| self.kfd.call(&mut argument));
            }
        }
        if let Some(page) = table.page
            && page.announce.is_none()
        {
            // The driver keeps the page until the process ends, and refuses to have it freed.
            self.abandon(page.memory);
        }
    }

    /// Whether there is an event that memory faults are reported by.
    pub(crate) fn has_memory_events(&self) -> bool {
        let table = self.events.lock(&self.park);
        let mut events = table.events.values();
        events.any(|event| event.kind == EventKind::MemoryFault)
    }

    fn report(&self, kind: EventKind, data: &EventData, report: &mut dyn FnMut(EventReport)) {
        let low = |at: usize| data.data[at] as u32;
        let high = |at: usize| (data.data[at] >> 32) as u32;
        match kind {
            EventKind::MemoryFault => {
                if let Some(agent) = self.agent_by_gpu_id(low(3)) {
                    report(EventReport::Memory(
                        agent,
                        MemoryFaultInfo {
                            address: data.data[2],
                            not_present: low(0) != 0,
                            read_only: high(0) != 0,
                            no_execute: low(1) != 0,
                            imprecise: high(1) != 0,
                            queue: None,
                        },
                    ));
                }
            }
            EventKind::HardwareException => {
                if let Some(agent) = self.agent_by_gpu_id(high(1)) {
                    report(EventReport::Hardware(
                        agent,
                        HardwareEvent {
                            reset_kind: low(0),
                            cause: high(0),
                            memory_lost: low(1) != 0,
                        },
                    ));
                }
            }
            EventKind::Signal => {}
        }
    }

    /// What to hand to the driver for events, and their kinds.
    fn event_data(&self, events: &[EventId]) -> Result<Vec<(EventKind, EventData)>, EventError> {
        let aged = self.kfd.since(AGE_SINCE);
        let table = self.events.lock(&self.park);
        events
            .iter()
            .map(|&id| {
                let event = table.events.get(&id.0).ok_or(EventError::NoEvent(id))?;
                let mut data = EventData {
                    event_id: id.0,
                    ..EventData::default()
                };
                if aged && event.kind == EventKind::Signal {
                    data.data[0] = event.age.load(Ordering::Relaxed);
                }
                Ok((event.kind, data))
            })
            .collect()
    }

    /// Keeps the ages that the driver answered.
    fn keep_ages(&self, data: &[EventData]) {
        if !self.kfd.since(AGE_SINCE) {
            return;
        }
        let table = self.events.lock(&self.park);
        for data in data {
            if let Some(event) = table.events.get(&data.event_id)
                && event.kind == EventKind::Signal
            {
                event.age.fetch_max(data.data[0], Ordering::Relaxed);
            }
        }
    }

    /// The event of several that is not there any more.
    fn gone(&self, events: &[EventId]) -> Option<EventId> {
        let table = self.events.lock(&self.park);
        events
            .iter()
            .copied()
            .find(|id| !table.events.contains_key(&id.0))
    }
}

/// Milliseconds until a time, rounded up, and whether the wait is one piece of a longer one.
fn milliseconds(timeout: Timeout) -> u32 {
    match timeout {
        Timeout::Poll => 0,
        Timeout::Never => FOR_EVER,
        Timeout::At(deadline) => {
            let left = deadline.saturating_sub(sys::now());
            left.div_ceil(1_000_000).min(LONGEST_MS) as u32
        }
    }
}

impl<P: KfdPort> Events for KfdBackend<P> {
    fn parker(&self) -> &dyn Park {
        &self.park
    }

    fn create_event(&self, kind: EventKind) -> Result<EventId, EventError> {
        if self.kfd.inherited() {
            return Err(EventError::NotSupported(INHERITED));
        }
        let mut table = self.events.lock(&self.park);
        self.make_event_page(&mut table)?;
        let mut argument = CreateEvent {
            event_page_offset: table.page.and_then(|page| page.announce).unwrap_or(0),
            event_type: match kind {
                EventKind::Signal => event_type::SIGNAL,
                EventKind::MemoryFault => event_type::MEMORY,
                EventKind::HardwareException => event_type::HW_EXCEPTION,
            },
            auto_reset: 1,
            ..CreateEvent::default()
        };
        self.kfd
            .call(&mut argument)
            .map_err(|error| match error.errno() {
                // 4095, or 255 where no GPU needs the event page.
                ENOSPC => EventError::NoneLeft {
                    limit: table.signals(),
                },
                _ => os(&error),
            })?;
        if let Some(page) = &mut table.page {
            page.announce = None;
        }
        let event = Event {
            kind,
            slot: argument.event_slot_index,
            // The age of an event that was never raised.
            age: AtomicU64::new(1),
        };
        table.events.insert(argument.event_id, event);
        Ok(EventId(argument.event_id))
    }

    fn destroy_event(&self, event: EventId) -> Result<(), EventError> {
        let mut table = self.events.lock(&self.park);
        if !table.events.contains_key(&event.0) {
            return Err(EventError::NoEvent(event));
        }
        if !self.kfd.inherited() {
            // After an error it is still there, and is destroyed when the backend goes.
            self.kfd
                .call(&mut DestroyEvent {
                    event_id: event.0,
                    pad: 0,
                })
                .map_err(|error| os(&error))?;
        }
        table.events.remove(&event.0);
        Ok(())
    }

    fn mailbox(&self, event: EventId) -> u64 {
        let table = self.events.lock(&self.park);
        match (&table.page, table.events.get(&event.0)) {
            (Some(page), Some(event))
                if event.kind == EventKind::Signal && u64::from(event.slot) < PAGE_BYTES / 8 =>
            {
                page.address + u64::from(event.slot) * 8
            }
            _ => 0,
        }
    }

    fn set_event(&self, event: EventId) -> Result<(), EventError> {
        if self.kfd.inherited() {
            return Err(EventError::NotSupported(INHERITED));
        }
        self.kfd
            .call(&mut SetEvent {
                event_id: event.0,
                pad: 0,
            })
            .map_err(|error| match error.errno() {
                EINVAL => EventError::NoEvent(event),
                _ => os(&error),
            })
    }

    fn wait_events(
        &self,
        events: &[EventId],
        mode: WaitMode,
        timeout: Timeout,
        report: &mut dyn FnMut(EventReport),
    ) -> Result<EventOutcome, EventError> {
        if self.kfd.inherited() {
            return Err(EventError::NotSupported(INHERITED));
        }
        let (kinds, mut data): (Vec<_>, Vec<_>) = self.event_data(events)?.into_iter().unzip();
        let mut tries = 0;
        loop {
            let mut argument = WaitEvents {
                events_ptr: data.as_mut_ptr().expose_provenance() as u64,
                num_events: data.len() as u32,
                wait_for_all: u32::from(mode == WaitMode::All),
                timeout: milliseconds(timeout),
                wait_result: 0,
            };
            // SAFETY: pointer and length are of one vector that lives across the call and that nothing else uses.
            let answer = unsafe {
                self.port().ioctl_raw(
                    self.kfd.file(),
                    WaitEvents::INFO.request,
                    zerocopy::IntoBytes::as_mut_bytes(&mut argument),
                )
            };
            match answer {
                Ok(()) if argument.wait_result == 0 => break,
                Ok(()) => {
                    let over = match timeout {
                        Timeout::Poll => true,
                        Timeout::At(deadline) => sys::now() >= deadline,
                        // A driver that ends an endless wait early is looked at again by the caller.
                        Timeout::Never => true,
                    };
                    if over {
                        return Ok(EventOutcome::TimedOut);
                    }
                }
                // The time that is left follows from the deadline, not from what the driver wrote back.
                Err(EINTR | EAGAIN) if tries < RETRIES => tries += 1,
                Err(EIO | EINVAL) if self.gone(events).is_some() => {
                    let first = events.first().copied().unwrap_or(EventId(0));
                    return Err(EventError::Destroyed(self.gone(events).unwrap_or(first)));
                }
                Err(errno) => {
                    return Err(EventError::Os {
                        call: WaitEvents::INFO.name,
                        errno,
                    });
                }
            }
        }
        self.keep_ages(&data);
        for (kind, data) in kinds.iter().zip(&data) {
            self.report(*kind, data, report);
        }
        self.report_exceptions(report);
        Ok(EventOutcome::Raised)
    }
}
