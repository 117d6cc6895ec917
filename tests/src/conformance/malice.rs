//! A device that is malicious, or broken: it writes what it likes to all memory that devices write.

use std::collections::{BTreeMap, BTreeSet};
use std::ptr::with_exposed_provenance_mut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rukh_core::backend::{
    AgentId, Allocation, Call, EventId, EventReport, HardwareEvent, Hook, MemoryFaultInfo,
    MemoryHandle, QueueHandle, QueueRequest, Verdict,
};
use rukh_core::queue::QueueStatus;
use rukh_core::wire::aql::PACKET_SIZE;
use rukh_core::wire::queue::AmdQueue;
use rukh_core::wire::signal::AmdSignal;

use crate::oracle::rng::Rng;

/// What the device does wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Malice {
    /// Writes garbage to queues' read indices.
    ReadIndex,
    /// Writes garbage to the values of signals that packets complete on, and of queues' inactive signals.
    SignalValues,
    /// Writes garbage to whole signals: kind, mailbox, event id, time stamps, reserved words.
    WholeSignals,
    /// Writes garbage to all of the queue's descriptor, `amd_queue_t`, the write index included.
    Descriptor,
    /// Writes garbage to packets that were published.
    Packets,
    /// Completes packets again that were completed.
    CompletesTwice,
    /// Does not hear doorbells.
    NeverCompletes,
    /// Writes garbage to the mailboxes of events: what is raised there is another event, or none.
    Mailboxes,
    /// Reports faults, exceptions and stopped queues that never were, of agents and queues that there are and of none.
    Reports,
    /// All of that but `NeverCompletes`.
    Everything,
}

impl Malice {
    /// All kinds.
    pub const ALL: [Self; 10] = [
        Self::ReadIndex,
        Self::SignalValues,
        Self::WholeSignals,
        Self::Descriptor,
        Self::Packets,
        Self::CompletesTwice,
        Self::NeverCompletes,
        Self::Mailboxes,
        Self::Reports,
        Self::Everything,
    ];

    fn includes(self, other: Self) -> bool {
        self == other || self == Self::Everything
    }
}

/// The hook that plays the device. It acts where a real one could at any time: at calls of the client.
#[derive(Debug)]
pub struct Device {
    malice: Malice,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    rng: Rng,
    /// Live memory that the host maps: start to handle and size. Nothing else is ever touched.
    memory: BTreeMap<u64, (MemoryHandle, u64)>,
    /// Queues that are about to be created, or exist.
    queues: Vec<(u64, QueueRequest)>,
    /// Signals that packets named.
    signals: Vec<u64>,
    /// Mailboxes of events, which stay while the backend does.
    mailboxes: BTreeSet<u64>,
    /// How often it did something wrong.
    acts: u64,
}

/// Signals that are remembered.
const SIGNALS: usize = 64;

impl State {
    /// Whether live memory has these bytes.
    fn holds(&self, address: u64, bytes: u64) -> bool {
        let below = self.memory.range(..=address).next_back();
        below.is_some_and(|(start, (_, size))| {
            address.is_multiple_of(8)
                && address - start <= *size
                && size - (address - start) >= bytes
        })
    }

    fn word(&self, address: u64) -> Option<&AtomicU64> {
        self.holds(address, 8)
            // SAFETY: live memory that the host maps, aligned; `Free` takes this state's lock first. Client
            // and device share it as atomics.
            .then(|| unsafe { AtomicU64::from_ptr(with_exposed_provenance_mut(address as usize)) })
    }

    /// A value that breaks things: small, huge, near the present one, or nonsense.
    fn garbage(&mut self, present: u64) -> u64 {
        match self.rng.below(6) {
            0 => self.rng.below(4),
            1 => u64::MAX - self.rng.below(4),
            2 => present.wrapping_add(1 + self.rng.below(80)),
            3 => present.wrapping_sub(1 + self.rng.below(80)),
            4 => 1 << self.rng.below(64),
            _ => self.rng.next_u64(),
        }
    }

    fn spoil(&mut self, address: u64) {
        let Some(present) = self.word(address).map(|word| word.load(Ordering::Relaxed)) else {
            return;
        };
        let value = self.garbage(present);
        if let Some(word) = self.word(address) {
            word.store(value, Ordering::SeqCst);
            self.acts += 1;
        }
    }

    /// Remembers the signals that a queue's packets complete on.
    fn look(&mut self, queue: &QueueRequest) {
        for slot in 0..(queue.ring_bytes / PACKET_SIZE as u64).min(64) {
            let address = queue.ring + slot * PACKET_SIZE as u64 + 56;
            let signal = self
                .word(address)
                .map_or(0, |word| word.load(Ordering::Acquire));
            if signal != 0 && self.holds(signal, 64) && !self.signals.contains(&signal) {
                if self.signals.len() == SIGNALS {
                    self.signals.remove(0);
                }
                self.signals.push(signal);
            }
        }
        let inactive = std::mem::offset_of!(AmdQueue, queue_inactive_signal) as u64;
        let inactive = self.word(queue.descriptor + inactive);
        let inactive = inactive.map_or(0, |word| word.load(Ordering::Acquire));
        if self.holds(inactive, 64) && !self.signals.contains(&inactive) {
            self.signals.insert(0, inactive);
            self.signals.truncate(SIGNALS);
        }
    }

    /// A report of nothing that has happened.
    fn lie(&mut self) -> EventReport {
        let agent = AgentId([0, 1, 2, 3, u32::MAX][self.rng.below(5) as usize]);
        let real = self.queues.get(self.rng.below(8) as usize);
        let queue = QueueHandle(real.map_or(self.rng.next_u64(), |(handle, _)| *handle));
        match self.rng.below(3) {
            0 => {
                let fault = MemoryFaultInfo {
                    address: self.garbage(0),
                    not_present: self.rng.below(2) == 0,
                    queue: (self.rng.below(2) == 0).then_some(queue),
                    ..MemoryFaultInfo::default()
                };
                EventReport::Memory(agent, fault)
            }
            1 => {
                let exception = HardwareEvent {
                    reset_kind: self.rng.next_u64() as u32,
                    cause: self.rng.next_u64() as u32,
                    memory_lost: self.rng.below(2) == 0,
                };
                EventReport::Hardware(agent, exception)
            }
            _ => EventReport::Queue(
                queue,
                QueueStatus::Unknown {
                    bits: self.garbage(0),
                },
            ),
        }
    }

    /// An event's number goes where another's belongs, or nobody's.
    fn spoil_mailbox(&mut self) {
        let at = self.rng.below(self.mailboxes.len() as u64 + 1) as usize;
        let Some(&address) = self.mailboxes.iter().nth(at) else {
            return;
        };
        // SAFETY: the backend, which is in a call, keeps mailboxes as long as it lives, for devices to write to at any time.
        let word = unsafe { AtomicU64::from_ptr(with_exposed_provenance_mut(address as usize)) };
        let value = self.garbage(word.load(Ordering::Relaxed));
        word.store(value, Ordering::SeqCst);
        self.acts += 1;
    }

    fn act(&mut self, malice: Malice) {
        if malice.includes(Malice::Mailboxes) {
            self.spoil_mailbox();
        }
        let queues = self.queues.len() as u64;
        let queue = (queues != 0).then(|| self.queues[self.rng.below(queues) as usize].1);
        let signals = self.signals.len() as u64;
        let signal = (signals != 0).then(|| self.signals[self.rng.below(signals) as usize]);
        if let Some(queue) = queue {
            self.look(&queue);
            if malice.includes(Malice::ReadIndex) {
                self.spoil(queue.read_index);
            }
            if malice.includes(Malice::Descriptor) {
                let at = self.rng.below(size_of::<AmdQueue>() as u64 / 8);
                self.spoil(queue.descriptor + 8 * at);
            }
            if malice.includes(Malice::Packets) {
                let at = self.rng.below(queue.ring_bytes / 8);
                self.spoil(queue.ring + 8 * at);
            }
        }
        if let Some(signal) = signal {
            let value = signal + std::mem::offset_of!(AmdSignal, value) as u64;
            if malice.includes(Malice::SignalValues) {
                self.spoil(value);
            }
            if malice.includes(Malice::WholeSignals) {
                let at = self.rng.below(8);
                self.spoil(signal + 8 * at);
            }
            if malice.includes(Malice::CompletesTwice)
                && let Some(word) = self.word(value)
            {
                word.fetch_sub(1, Ordering::SeqCst);
                self.acts += 1;
            }
        }
    }
}

impl Device {
    /// A device of this kind; the seed chooses what it writes, and where.
    pub fn new(malice: Malice, seed: u64) -> Self {
        Self {
            malice,
            state: Mutex::new(State {
                rng: Rng::new(seed),
                memory: BTreeMap::new(),
                queues: Vec::new(),
                signals: Vec::new(),
                mailboxes: BTreeSet::new(),
                acts: 0,
            }),
        }
    }

    /// How often it did something wrong.
    pub fn acts(&self) -> u64 {
        self.state().acts
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hook for Device {
    fn before(&self, call: &Call<'_>) -> Verdict {
        let mut state = self.state();
        match call {
            Call::Free(handle) => {
                state.memory.retain(|_, (held, _)| held != handle);
                let mut signals = std::mem::take(&mut state.signals);
                signals.retain(|signal| state.holds(*signal, 64));
                state.signals = signals;
            }
            Call::DestroyQueue(queue) => {
                state.act(self.malice);
                state.queues.retain(|(handle, _)| *handle != queue.0);
            }
            Call::RingDoorbell(..) if self.malice == Malice::NeverCompletes => {
                state.acts += 1;
                return Verdict::Refuse;
            }
            Call::RingDoorbell(..) | Call::WaitEvents { .. } | Call::SetEvent(_)
                if state.rng.below(3) == 0 =>
            {
                state.act(self.malice);
            }
            _ => {}
        }
        Verdict::Pass
    }

    fn after(&self, call: &Call<'_>, outcome: Result<u64, &dyn std::error::Error>) {
        if let (Call::CreateQueue(request), Ok(handle)) = (call, outcome) {
            self.state().queues.push((handle, **request));
        }
        if matches!(call, Call::WaitEvents { .. }) {
            let mut state = self.state();
            if state.rng.below(3) == 0 {
                state.act(self.malice);
            }
        }
    }

    fn mailbox(&self, _: EventId, address: u64) {
        if address != 0 && address.is_multiple_of(8) {
            self.state().mailboxes.insert(address);
        }
    }

    fn reports(&self, report: &mut dyn FnMut(EventReport)) {
        let mut state = self.state();
        if !self.malice.includes(Malice::Reports) || state.rng.below(3) != 0 {
            return;
        }
        let lie = state.lie();
        state.acts += 1;
        // What is told may call back.
        drop(state);
        report(lie);
    }

    fn allocated(&self, allocation: &Allocation) {
        if let Some(host) = allocation.host {
            let start = host.as_ptr().expose_provenance() as u64;
            let entry = (allocation.handle, allocation.size);
            self.state().memory.insert(start, entry);
        }
    }
}
