//! The open runtime: reference-counted by `hsa_init` and `hsa_shut_down`, found by every export.
//!
//! Finding it takes no lock and no barrier, since signal operations and doorbells do so too. Readers announce
//! themselves in a counter of their thread; closing takes the pointer away, makes all threads pass a barrier, and then
//! waits until every reader that may have seen it has left, as short operations do at once. What may take longer (a wait, a copy, anything that calls back) takes
//! a reference of its own first.
//!
//! Nothing here has a destructor that runs at exit: a process that ends without `hsa_shut_down`,
//! or whose other threads still use the runtime then, ends as it is.

use crate::abi::Status;
use crate::entry::Result;
use crate::runtime::{State, SystemRuntime};
use core::cell::UnsafeCell;
use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence, fence,
};
use rukh_core::signal::SignalSlot;
use rustix::thread::{MembarrierCommand, membarrier};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};

/// Threads that have a counter of their own; later ones share the rest.
const OWN: usize = 240;
/// Counters that threads share.
const SHARED: usize = 16;

/// A counter with a cache line (and its neighbour) of its own.
#[repr(align(128))]
struct Stripe(AtomicU32);

/// `Arc::into_raw` of the open runtime, or null.
static CURRENT: AtomicPtr<State> = AtomicPtr::new(core::ptr::null_mut());
/// The runtime of the state behind `CURRENT`, or null.
static RUNTIME: AtomicPtr<SystemRuntime> = AtomicPtr::new(core::ptr::null_mut());
/// The first chunk of the open runtime's signals.
static FIRST: AtomicPtr<SignalSlot> = AtomicPtr::new(core::ptr::null_mut());
/// How many slots it has; 0 while signals are to be found the whole way.
static SLOTS: AtomicU64 = AtomicU64::new(0);
static READERS: [Stripe; OWN + SHARED] = [const { Stripe(AtomicU32::new(0)) }; OWN + SHARED];
/// Whether closing makes all threads pass a memory barrier, so that readers need none.
static BARRIERS: AtomicBool = AtomicBool::new(false);

/// Who uses the runtime.
struct References {
    /// Calls of `hsa_init` less those of `hsa_shut_down`.
    count: u32,
    /// The thread that is telling tools that the runtime opens or closes.
    changing: Option<usize>,
}

/// Held while a runtime starts.
static REFERENCES: Mutex<References> = Mutex::new(References {
    count: 0,
    changing: None,
});
/// Nobody is telling tools any more.
static SETTLED: Condvar = Condvar::new();
/// Deals out counters to threads.
static NEXT_STRIPE: AtomicUsize = AtomicUsize::new(0);

/// A number of each thread: the address of its own counter, or 0 while it has none. No destructor is registered for it.
#[cfg(target_arch = "x86_64")]
mod mine {
    use core::arch::{asm, global_asm};

    // In the block of thread-local storage that a thread has from its start. What `thread_local!` makes in a shared
    // library costs a call of the dynamic linker's, as much as all the rest of a signal operation.
    global_asm!(
        ".pushsection .tbss,\"awT\",@nobits",
        ".globl rukh_my_stripe",
        ".hidden rukh_my_stripe",
        ".type rukh_my_stripe, @object",
        ".size rukh_my_stripe, 8",
        ".balign 8",
        "rukh_my_stripe:",
        ".zero 8",
        ".popsection",
    );

    /// The number.
    #[inline(always)]
    pub fn get() -> usize {
        let value: usize;
        // SAFETY: reads eight bytes of this thread's own storage, which exist as long as it runs.
        unsafe {
            asm!(
                "mov {at}, qword ptr [rip + rukh_my_stripe@GOTTPOFF]",
                "mov {value}, qword ptr fs:[{at}]",
                at = out(reg) _,
                value = out(reg) value,
                options(nostack, preserves_flags, readonly),
            );
        }
        value
    }

    /// Sets the number.
    pub fn set(value: usize) {
        // SAFETY: writes eight bytes of this thread's own storage, which nothing else names.
        unsafe {
            asm!(
                "mov {at}, qword ptr [rip + rukh_my_stripe@GOTTPOFF]",
                "mov qword ptr fs:[{at}], {value}",
                at = out(reg) _,
                value = in(reg) value,
                options(nostack, preserves_flags),
            );
        }
    }
}

/// As above, in Rust's own way.
#[cfg(not(target_arch = "x86_64"))]
mod mine {
    use core::cell::Cell;

    std::thread_local! {
        static MINE: Cell<usize> = const { Cell::new(0) };
    }

    /// The number.
    pub fn get() -> usize {
        MINE.with(Cell::get)
    }

    /// Sets the number.
    pub fn set(value: usize) {
        MINE.with(|mine| mine.set(value));
    }
}

/// `hsa_init` may be called this often without `hsa_shut_down`, as in AMD's runtime.
const MAX_REFERENCES: u32 = i32::MAX as u32;

/// A reader that closing waits for.
struct Reading {
    counter: &'static AtomicU32,
    own: bool,
}

/// Gives a thread a counter of its own while there are, and one of those that are shared afterwards.
#[cold]
#[inline(never)]
fn deal() -> (&'static AtomicU32, bool) {
    if NEXT_STRIPE.load(Ordering::Relaxed) < OWN {
        let number = NEXT_STRIPE.fetch_add(1, Ordering::Relaxed);
        if number < OWN {
            let counter = &READERS[number].0;
            mine::set(core::ptr::from_ref(counter).expose_provenance());
            return (counter, true);
        }
    }
    // Stacks and what belongs to a thread lie pages apart.
    (&READERS[OWN + (me() >> 12) % SHARED].0, false)
}

impl Reading {
    #[inline(always)]
    fn begin() -> Self {
        let (counter, own) = match Self::mine() {
            Some(counter) => (counter, true),
            None => deal(),
        };
        if own {
            // Nobody else writes it, and readers do not nest: a plain store, which no later call waits for. Either this
            // reader sees null, or the scan in `take` sees the reader: the store comes before the load of the
            // pointer for whoever looks after a barrier of all threads.
            debug_assert_eq!(counter.load(Ordering::Relaxed), 0, "readers nest");
            counter.store(1, Ordering::Relaxed);
            if BARRIERS.load(Ordering::Relaxed) {
                compiler_fence(Ordering::SeqCst);
            } else {
                fence(Ordering::SeqCst);
            }
        } else {
            // Sequentially consistent, as the swap and the scan in `take` are.
            counter.fetch_add(1, Ordering::SeqCst);
        }
        Self { counter, own }
    }

    /// The thread's own counter, if it has one already.
    #[inline(always)]
    fn mine() -> Option<&'static AtomicU32> {
        let counter = core::ptr::with_exposed_provenance::<AtomicU32>(mine::get());
        // SAFETY: null, or the address of one of the static counters, which `deal` gave this thread.
        unsafe { counter.as_ref() }
    }
}

/// Runs an operation on a slot of the first chunk of signals: the way of almost all operations on signals. None,
/// with nothing done, where it needs the whole way ([`with_runtime`]): the signal lies elsewhere or nowhere, the runtime
/// is closed, the thread has no counter yet, or the operation says so.
///
/// The operation calls nothing.
#[inline(always)]
pub fn with_slot<T>(address: u64, operation: impl FnOnce(&SignalSlot) -> Option<T>) -> Option<T> {
    const SHIFT: u32 = size_of::<SignalSlot>().trailing_zeros();
    let counter = Reading::mine()?;
    // As in `Reading::begin`; slots are published only where barriers of all threads are to be had.
    counter.store(1, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    let slots = SLOTS.load(Ordering::Acquire);
    let first = FIRST.load(Ordering::Relaxed);
    // What is not on a slot's boundary has its odd bits at the top.
    let index = address
        .wrapping_sub(first.addr() as u64)
        .rotate_right(SHIFT);
    let result = if index < slots {
        // SAFETY: one of so many slots, which stay mapped until the runtime is closed: until this reader has left.
        operation(unsafe { &*first.add(index as usize) })
    } else {
        None
    };
    counter.store(0, Ordering::Release);
    result
}

/// Rings the doorbell that a slot stands for, if it is a register. Within [`with_slot`].
#[inline(always)]
pub fn ring_register(slot: &SignalSlot, value: i64) -> bool {
    let runtime = RUNTIME.load(Ordering::SeqCst);
    // SAFETY: null, or the open state's own, as in `with_runtime`: the slot comes with a reader.
    let runtime = unsafe { runtime.as_ref() };
    runtime.is_some_and(|runtime| runtime.ring_register(slot, value as u64))
}

impl Drop for Reading {
    #[inline(always)]
    fn drop(&mut self) {
        if self.own {
            self.counter.store(0, Ordering::Release);
        } else {
            self.counter.fetch_sub(1, Ordering::Release);
        }
    }
}

/// Makes every thread of the process pass a memory barrier, if the system can.
fn barrier_of_all_threads() {
    fence(Ordering::SeqCst);
    if !BARRIERS.load(Ordering::Relaxed) {
        return;
    }
    while membarrier(MembarrierCommand::PrivateExpedited).is_err() {
        // Readers rely on it. After a fork the registration may be gone.
        let _ = membarrier(MembarrierCommand::RegisterPrivateExpedited);
        std::thread::yield_now();
    }
}

/// Runs a short operation on the open runtime: one that neither waits nor calls the client.
///
/// # Errors
/// NOT_INITIALIZED, and those of the operation.
#[inline(always)]
pub fn with<T>(operation: impl FnOnce(&State) -> Result<T>) -> Result<T> {
    let _reading = Reading::begin();
    let state = CURRENT.load(Ordering::SeqCst);
    if state.is_null() {
        return Err(Status::NOT_INITIALIZED);
    }
    // SAFETY: a pointer from `Arc::into_raw`, and the reference that it stands for is not given up
    // before this reader has left.
    operation(unsafe { &*state })
}

/// As [`with`], on core's runtime: a step less on the way to a signal.
///
/// # Errors
/// NOT_INITIALIZED, and those of the operation.
#[inline(always)]
pub fn with_runtime<T>(operation: impl FnOnce(&SystemRuntime) -> Result<T>) -> Result<T> {
    let _reading = Reading::begin();
    let runtime = RUNTIME.load(Ordering::SeqCst);
    if runtime.is_null() {
        return Err(Status::NOT_INITIALIZED);
    }
    // SAFETY: the open state's own, which is not given up before this reader has left; it is taken away before
    // the state is.
    operation(unsafe { &*runtime })
}

/// A reference to the open runtime.
///
/// # Errors
/// NOT_INITIALIZED.
pub fn open() -> Result<Arc<State>> {
    with(|state| {
        let state: *const State = state;
        // SAFETY: `with` gives what `Arc::into_raw` gave, and the reference behind it is alive;
        // the count is raised for the one that is made here.
        Ok(unsafe {
            Arc::increment_strong_count(state);
            Arc::from_raw(state)
        })
    })
}

/// `hsa_init`: opens the runtime or counts a further user. Tools are told by the thread that opens it, while
/// others wait; a tool that calls this is counted.
///
/// # Errors
/// REFCOUNT_OVERFLOW, and those of `make`.
pub fn retain(make: impl FnOnce() -> Result<Arc<State>>, opened: impl FnOnce()) -> Result {
    let mut references = References::when_settled();
    if references.add()? {
        return Ok(());
    }
    prepare();
    let state = make()?;
    let runtime = Arc::as_ptr(&state.runtime).cast_mut();
    let signals = state.runtime.first_signals();
    CURRENT.store(Arc::into_raw(state).cast_mut(), Ordering::SeqCst);
    RUNTIME.store(runtime, Ordering::SeqCst);
    if let Some((first, slots)) = signals.filter(|_| BARRIERS.load(Ordering::SeqCst)) {
        FIRST.store(first.as_ptr(), Ordering::SeqCst);
        SLOTS.store(u64::from(slots), Ordering::SeqCst);
    }
    references.count = 1;
    references.changing = Some(me());
    drop(references);
    opened();
    References::settle();
    Ok(())
}

/// `hsa_shut_down`: gives one use back; the last one closes the runtime, after telling the tools.
///
/// # Errors
/// NOT_INITIALIZED.
pub fn release(closing: impl FnOnce()) -> Result {
    let mut references = References::when_settled();
    match references.count {
        0 => return Err(Status::NOT_INITIALIZED),
        // A tool gives back more than it took, while it is told that the runtime opens or closes.
        1 if references.changing.is_some() => return Err(Status::NOT_INITIALIZED),
        1 => {}
        _ => {
            references.count -= 1;
            return Ok(());
        }
    }
    references.changing = Some(me());
    drop(references);
    // Not under the lock: tools and the callbacks that closing waits for may call `hsa_init` and `hsa_shut_down`.
    closing();
    let mut references = lock();
    references.count -= 1;
    if references.count > 0 {
        // A tool took a use meanwhile and kept it: the runtime stays open.
        drop(references);
        References::settle();
        return Ok(());
    }
    let state = take();
    drop(references);
    References::settle();
    state.close();
    Ok(())
}

/// What a process needs once: barriers for readers, and a child that starts without its parent's runtime.
fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let barriers = membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
            && membarrier(MembarrierCommand::PrivateExpedited).is_ok();
        // Readers that still see it unset pass a barrier of their own: either way is correct.
        BARRIERS.store(barriers, Ordering::SeqCst);
        // SAFETY: functions that stay loaded (`-z nodelete`). If there is no memory for it, children of this
        // process cannot use the library: nothing else changes.
        unsafe { pthread_atfork(Some(before_fork), Some(after_fork), Some(in_child)) };
    });
}

unsafe extern "C" {
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> i32;
}

/// The locks of the references, of the tools and of the debugger's list while the process forks.
type Locks = (
    MutexGuard<'static, References>,
    crate::tools::Locked,
    MutexGuard<'static, ()>,
);
struct Held(UnsafeCell<Option<Locks>>);

// SAFETY: used by the thread that forks alone, from taking the lock until giving it back.
unsafe impl Sync for Held {}

static HELD: Held = Held(UnsafeCell::new(None));

extern "C" fn before_fork() {
    crate::diag::settle();
    let locks = (lock(), crate::tools::lock(), crate::debug::lock());
    // SAFETY: this thread holds the locks, so no other one is between the two functions.
    unsafe { *HELD.0.get() = Some(locks) };
}

extern "C" fn after_fork() {
    // SAFETY: as in `before_fork`.
    drop(unsafe { (*HELD.0.get()).take() });
}

/// A child has none of the runtime's threads and devices: the runtime is its parent's, left as it is. Memory
/// that the parent allocated stays mapped and readable.
extern "C" fn in_child() {
    // SAFETY: as in `before_fork`; a child has one thread, a copy of that which forked.
    let held = unsafe { (*HELD.0.get()).take() };
    if let Some((mut references, mut tools, _list)) = held {
        references.count = 0;
        references.changing = None;
        SLOTS.store(0, Ordering::SeqCst);
        CURRENT.store(core::ptr::null_mut(), Ordering::SeqCst);
        RUNTIME.store(core::ptr::null_mut(), Ordering::SeqCst);
        for stripe in &READERS {
            stripe.0.store(0, Ordering::SeqCst);
        }
        tools.forget_all();
        crate::table::restore();
        crate::debug::forget_all();
    }
}

/// The thread that asks, by the address of a variable of its own.
fn me() -> usize {
    std::thread_local! {
        static MINE: u8 = const { 0 };
    }
    MINE.with(|mine| core::ptr::from_ref(mine).addr())
}

fn lock() -> MutexGuard<'static, References> {
    REFERENCES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl References {
    /// Counts a further user of an open runtime; gives false, with nothing done, if it is not open.
    fn add(&mut self) -> Result<bool> {
        match self.count {
            MAX_REFERENCES => Err(Status::REFCOUNT_OVERFLOW),
            0 => Ok(false),
            _ => {
                self.count += 1;
                Ok(true)
            }
        }
    }

    /// The counts, when no other thread is telling tools.
    fn when_settled() -> MutexGuard<'static, Self> {
        let mut references = lock();
        while references.changing.is_some_and(|who| who != me()) {
            references = SETTLED
                .wait(references)
                .unwrap_or_else(PoisonError::into_inner);
        }
        references
    }

    fn settle() {
        lock().changing = None;
        SETTLED.notify_all();
    }
}

/// Takes the runtime away from all who look for it.
fn take() -> Arc<State> {
    SLOTS.store(0, Ordering::SeqCst);
    RUNTIME.store(core::ptr::null_mut(), Ordering::SeqCst);
    let state = CURRENT.swap(core::ptr::null_mut(), Ordering::SeqCst);
    barrier_of_all_threads();
    for stripe in &READERS {
        while stripe.0.load(Ordering::SeqCst) != 0 {
            std::thread::yield_now();
        }
    }
    // SAFETY: the reference that `retain` put there; nobody can find it any more, and readers
    // that did have left.
    unsafe { Arc::from_raw(state) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_of_users_ends_where_amds_does() {
        let mut references = References {
            count: 0,
            changing: None,
        };
        assert_eq!(references.add(), Ok(false));
        references.count = i32::MAX as u32 - 1;
        assert_eq!(references.add(), Ok(true));
        assert_eq!(references.add(), Err(Status::REFCOUNT_OVERFLOW));
        assert_eq!(references.count, i32::MAX as u32);
    }
}
