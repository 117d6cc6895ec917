//! Intercept queues: a tool sees every packet before the device does, and decides what the device gets. In the API
//! table alone, not exported.
//!
//! The client's queue is memory; its doorbell is a signal whose store by the host hands what was published to the tool's
//! handlers, packet by packet, the last registered first, on the storing thread. Each handler passes packets on by a
//! function that it is given, and the last one's reach the device's queue. A handler may make more of them than the
//! device's queue has room for: the rest is kept, and a barrier packet behind those that fit tells when to go on, on the
//! runtime's thread. So ringing never waits for the device.

use crate::abi::{Agent, QueueErrorCallback, Signal, Status};
use crate::arg::Out;
use crate::entry::{Result, gather, run_status};
use crate::queue::{ClientQueue, create_device_queue};
use crate::queue_index::QueuePtr;
use crate::runtime::{ClientPointer, State, SystemBackend};
use crate::soft_queue::ProxyQueue;
use crate::state::open;
use core::cell::RefCell;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use rukh_core::backend::Timeout;
use rukh_core::runtime::{Queue, Signal as CoreSignal};
use rukh_core::signal::{Condition, MemoryOrder, SignalFlags, SignalHandle};
use rukh_core::wire::aql::{BarrierPacket, Header, PACKET_SIZE, PacketType};
use rukh_core::wire::queue::HsaQueue;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// `hsa_amd_queue_intercept_packet_writer`
pub type Writer = unsafe extern "C" fn(packets: *const c_void, count: u64);
/// `hsa_amd_queue_intercept_handler`
pub type Handler =
    Option<unsafe extern "C" fn(*const c_void, u64, u64, data: *mut c_void, writer: Writer)>;
/// `hsa_amd_runtime_queue_notifier`
pub type Notifier = Option<unsafe extern "C" fn(*const HsaQueue, Agent, *mut c_void)>;
/// `amd_intercept_marker_handler`
type MarkerHandler = Option<unsafe extern "C" fn(*const Packet, *mut HsaQueue, u64)>;

/// A packet as tools see it.
pub type Packet = [u8; PACKET_SIZE];

/// `AMD_AQL_FORMAT_INTERCEPT_MARKER`: the format byte of a vendor packet that is a call to a tool.
const MARKER: u8 = 0xfe;

/// A queue whose packets go through handlers.
pub struct InterceptQueue {
    /// What the device consumes.
    device: Queue<SystemBackend>,
    /// What the client fills.
    proxy: ProxyQueue,
    handlers: Mutex<Vec<(Handler, ClientPointer)>>,
    /// Index of the first packet that no handler has seen; held while handlers run.
    next: Mutex<u64>,
    /// Packets that go to the device next: what a rewrite has made and the ring had no slot for.
    overflow: Mutex<VecDeque<Packet>>,
    /// Becomes 0 when the device has come to the barrier packet that was put behind what fitted.
    retry: CoreSignal<SystemBackend>,
    /// That packet is in the ring.
    waiting: AtomicBool,
    /// A thread is handing packets on.
    busy: AtomicBool,
    /// The doorbell rang meanwhile.
    again: AtomicBool,
    doorbell: SignalHandle,
}

/// How many intercept queues there are: doorbells of other queues are not looked up.
static QUEUES: AtomicUsize = AtomicUsize::new(0);

/// Where the packets of the handler that is running go.
struct Cursor {
    queue: Arc<InterceptQueue>,
    /// Handlers that have not seen them; the one at `left - 1` is next.
    left: usize,
    index: u64,
}

thread_local! {
    static CURSORS: RefCell<Vec<Cursor>> = const { RefCell::new(Vec::new()) };
}

impl InterceptQueue {
    fn handler(&self, index: usize) -> Option<(Handler, ClientPointer)> {
        let handlers = self.handlers.lock().unwrap_or_else(PoisonError::into_inner);
        handlers.get(index).copied()
    }

    /// The device's queue.
    pub const fn device(&self) -> &Queue<SystemBackend> {
        &self.device
    }

    /// Its doorbell, which goes with it.
    pub const fn doorbell(&self) -> SignalHandle {
        self.doorbell
    }

    /// Hands the published packets to the handlers. One thread does at a time; another one's packets are its.
    fn rung(self: &Arc<Self>) {
        self.again.store(true, Ordering::SeqCst);
        while self.again.load(Ordering::SeqCst) && !self.busy.swap(true, Ordering::SeqCst) {
            self.again.store(false, Ordering::SeqCst);
            self.hand_over();
            self.busy.store(false, Ordering::SeqCst);
        }
    }

    fn hand_over(self: &Arc<Self>) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        // What is made of one packet has room before the next one is looked at, and none is once the queue has stopped.
        while self.drain() && self.device.status().is_none() {
            let Some(packet) = self.proxy.take(*next) else {
                return;
            };
            let handlers = self.handlers.lock().map_or(0, |handlers| handlers.len());
            // Before its completion can be seen, whoever sees it first: the packet is a copy, and its slot is free.
            let index = *next;
            *next += 1;
            self.proxy.consumed(*next);
            self.pass(handlers, index, &[packet]);
        }
    }

    /// Shows packets to the next handler, or to the device when there is none left.
    fn pass(self: &Arc<Self>, left: usize, index: u64, packets: &[Packet]) {
        let next = left.checked_sub(1);
        let handler = next.and_then(|next| self.handler(next));
        let (Some(next), Some((Some(handler), data))) = (next, handler) else {
            return self.submit(packets);
        };
        let cursor = Cursor {
            queue: self.clone(),
            left: next,
            index,
        };
        CURSORS.with(|cursors| cursors.borrow_mut().push(cursor));
        // SAFETY: a function of this type, by the contract of `hsa_amd_queue_intercept_register`; the packets
        // outlive the call.
        unsafe {
            handler(
                packets.as_ptr().cast(),
                packets.len() as u64,
                index,
                data.get(),
                write,
            );
        }
        CURSORS.with(|cursors| cursors.borrow_mut().pop());
    }

    fn submit(self: &Arc<Self>, packets: &[Packet]) {
        self.overflow().extend(packets);
        self.drain();
    }

    fn overflow(&self) -> MutexGuard<'_, VecDeque<Packet>> {
        self.overflow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the device what it has room for; gives whether that was all.
    fn drain(self: &Arc<Self>) -> bool {
        loop {
            let first = self.overflow().front().copied();
            let Some(packet) = first else {
                return true;
            };
            if is_marker(&packet) {
                self.overflow().pop_front();
                self.mark(&packet);
                continue;
            }
            let (write, read) = (
                self.device.write_index(MemoryOrder::Relaxed),
                self.device.read_index(MemoryOrder::Acquire),
            );
            let free = u64::from(self.device.size()).saturating_sub(write.wrapping_sub(read));
            // A slot is left for the barrier packet until it is in the ring.
            let waiting = self.waiting.load(Ordering::SeqCst);
            if free <= u64::from(!waiting) && (waiting || self.come_back()) {
                return false;
            }
            match self.device.claim(Timeout::Never) {
                Ok(claim) => claim.publish_packet(&packet),
                // It has stopped: its error callback tells.
                Err(_) => {
                    self.overflow().clear();
                    return true;
                }
            }
            self.overflow().pop_front();
        }
    }

    /// Has the runtime's thread go on when the device has come to the end of its ring. False if there is no such thread.
    fn come_back(self: &Arc<Self>) -> bool {
        self.retry.store(1, MemoryOrder::Relaxed);
        self.waiting.store(true, Ordering::SeqCst);
        let queue = Arc::downgrade(self);
        let told = self.device.runtime().on_signal(
            self.retry.handle(),
            Condition::Lt,
            1,
            Box::new(move |_| {
                if let Some(queue) = queue.upgrade() {
                    queue.waiting.store(false, Ordering::SeqCst);
                    queue.rung();
                }
                false
            }),
        );
        let Ok(handler) = told else {
            self.waiting.store(false, Ordering::SeqCst);
            return false;
        };
        match self.device.claim(Timeout::Never) {
            Ok(mut claim) => {
                let barrier = BarrierPacket {
                    completion_signal: self.retry.handle().0,
                    ..BarrierPacket::default()
                };
                claim.write(&barrier);
                claim.publish(Header::new(PacketType::BarrierAnd), 0);
            }
            Err(_) => {
                self.overflow().clear();
                self.device.runtime().remove_handler(handler);
                self.waiting.store(false, Ordering::SeqCst);
            }
        }
        true
    }

    /// Calls the tool that a marker names, with the index of the packet that comes next.
    fn mark(&self, packet: &Packet) {
        let mut word = [0; 8];
        word.copy_from_slice(&packet[8..16]);
        let address = usize::from_ne_bytes(word);
        // SAFETY: null or a function of this type, by the contract of the marker packet.
        let callback = unsafe { core::mem::transmute::<usize, MarkerHandler>(address) };
        if let Some(callback) = callback {
            let queue = core::ptr::with_exposed_provenance_mut(self.device.address() as usize);
            let index = self.device.write_index(MemoryOrder::Relaxed);
            // SAFETY: as above; the packet outlives the call.
            unsafe { callback(packet, queue, index) };
        }
    }
}

fn is_marker(packet: &Packet) -> bool {
    let header = Header(u16::from_le_bytes([packet[0], packet[1]]));
    header.packet_type() == PacketType::VendorSpecific && packet[2] == MARKER
}

impl Drop for InterceptQueue {
    fn drop(&mut self) {
        QUEUES.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a handler passes packets on by.
///
/// # Safety
/// `count` packets, and called by a handler during its call.
unsafe extern "C" fn write(packets: *const c_void, count: u64) {
    let cursor = CURSORS.with(|cursors| {
        let cursors = cursors.borrow();
        let cursor = cursors.last()?;
        Some((cursor.queue.clone(), cursor.left, cursor.index))
    });
    let (Some((queue, left, index)), Ok(count)) = (cursor, usize::try_from(count)) else {
        return;
    };
    if packets.is_null() || count == 0 {
        return;
    }
    // A copy: the next handler may have its own view of the alignment.
    // SAFETY: so many packets, by the contract of this function.
    let packets: Vec<Packet> = (0..count)
        .map(|at| unsafe { packets.cast::<Packet>().add(at).read_unaligned() })
        .collect();
    queue.pass(left, index, &packets);
}

/// After a store to a signal: if it is an intercept queue's doorbell, its packets are handed over.
#[inline]
pub fn rung(signal: Signal) {
    if QUEUES.load(Ordering::Relaxed) != 0 {
        look_up(signal);
    }
}

#[cold]
fn look_up(signal: Signal) {
    if let Some(queue) = open()
        .ok()
        .and_then(|state| state.queues.intercepted(signal.core()))
    {
        queue.rung();
    }
}

fn create(
    state: &State,
    agent: Agent,
    size: u32,
    kind: u32,
    callback: (QueueErrorCallback, *mut c_void),
    segments: (u32, u32),
) -> Result<*mut HsaQueue> {
    let (device, shown) = create_device_queue(state, agent, size, kind, callback, segments)?;
    let doorbell = state
        .runtime
        .create_signal_handle(-1, SignalFlags::empty())?;
    let proxy = ProxyQueue::new(state, &device, doorbell)?;
    let address = proxy.address();
    shown.set(address);
    let retry = state.runtime.create_signal(0)?;
    QUEUES.fetch_add(1, Ordering::Relaxed);
    let queue = InterceptQueue {
        device,
        proxy,
        handlers: Mutex::new(Vec::new()),
        next: Mutex::new(0),
        overflow: Mutex::default(),
        retry,
        waiting: AtomicBool::new(false),
        busy: AtomicBool::new(false),
        again: AtomicBool::new(false),
        doorbell,
    };
    Ok(state
        .queues
        .insert(address, ClientQueue::Intercepted(Arc::new(queue))))
}

/// `hsa_amd_queue_intercept_create`: a queue whose packets tools see first.
///
/// # Safety
/// Pointers are null or valid as the API table says of this function.
#[allow(
    clippy::too_many_arguments,
    reason = "the signature is part of the ABI"
)]
pub unsafe extern "C" fn hsa_amd_queue_intercept_create(
    agent: Agent,
    size: u32,
    kind: u32,
    callback: QueueErrorCallback,
    data: *mut c_void,
    private_segment_size: u32,
    group_segment_size: u32,
    queue: Out<*mut HsaQueue>,
) -> Status {
    run_status("hsa_amd_queue_intercept_create", || {
        let state = open()?;
        let place = queue.required()?;
        let segments = (private_segment_size, group_segment_size);
        place.put(create(
            &state,
            agent,
            size,
            kind,
            (callback, data),
            segments,
        )?);
        Ok(())
    })
}

/// `hsa_amd_queue_intercept_register`: adds a handler, which sees packets before those that are there.
///
/// # Safety
/// Pointers are null or valid as the API table says of this function.
pub unsafe extern "C" fn hsa_amd_queue_intercept_register(
    queue: QueuePtr,
    handler: Handler,
    data: *mut c_void,
) -> Status {
    run_status("hsa_amd_queue_intercept_register", || {
        let state = open()?;
        if handler.is_none() {
            return Err(Status::INVALID_ARGUMENT);
        }
        match &*state.queues.get(queue)? {
            ClientQueue::Intercepted(queue) => {
                let mut handlers = queue
                    .handlers
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                handlers.push((handler, ClientPointer(data)));
                Ok(())
            }
            ClientQueue::Device { .. } | ClientQueue::Soft(_) => Err(Status::INVALID_QUEUE),
        }
    })
}

/// `hsa_amd_runtime_queue_create_register`: has queues that the runtime makes for itself reported. Copies and
/// fills need none here, so there is nothing to report: the notifier is checked and kept.
///
/// # Safety
/// Pointers are null or valid as the API table says of this function.
pub unsafe extern "C" fn hsa_amd_runtime_queue_create_register(
    notifier: Notifier,
    data: *mut c_void,
) -> Status {
    let kept = gather("hsa_amd_runtime_queue_create_register", || {
        let state = open()?;
        let mut kept = state
            .queue_notifier
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *kept = Some((
            notifier.ok_or(Status::INVALID_ARGUMENT)?,
            ClientPointer(data),
        ));
        Ok(())
    });
    kept.err().unwrap_or(Status::SUCCESS)
}
