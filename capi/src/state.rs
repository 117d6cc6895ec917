//! The open runtime: reference-counted by `hsa_init` and `hsa_shut_down`, found by every export.
//!
//! Finding it takes no lock, since signal operations and doorbells do so too. Readers announce
//! themselves in one of a few counters, so that threads rarely share a cache line; closing takes the
//! pointer away and then waits until every reader that may have seen it has left, as short
//! operations do at once. What may take longer (a wait, a copy, anything that calls back) takes
//! a reference of its own first.
//!
//! Nothing here has a destructor that runs at exit: a process that ends without `hsa_shut_down`,
//! or whose other threads still use the runtime then, ends as it is.

use crate::abi::Status;
use crate::entry::Result;
use crate::runtime::State;
use core::cell::Cell;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// How many counters readers spread over.
const STRIPES: usize = 16;

/// A counter with a cache line (and its neighbour) of its own.
#[repr(align(128))]
struct Stripe(AtomicU32);

/// `Arc::into_raw` of the open runtime, or null.
static CURRENT: AtomicPtr<State> = AtomicPtr::new(core::ptr::null_mut());
static READERS: [Stripe; STRIPES] = [const { Stripe(AtomicU32::new(0)) }; STRIPES];

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
/// Deals out stripes to threads.
static NEXT_STRIPE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    // A plain number: no destructor is registered for it.
    static MY_STRIPE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// `hsa_init` may be called this often without `hsa_shut_down`, as in AMD's runtime.
const MAX_REFERENCES: u32 = i32::MAX as u32;

/// A reader that closing waits for.
struct Reading(&'static AtomicU32);

impl Reading {
    fn begin() -> Self {
        let stripe = MY_STRIPE.with(|mine| {
            if mine.get() == usize::MAX {
                mine.set(NEXT_STRIPE.fetch_add(1, Ordering::Relaxed) % STRIPES);
            }
            mine.get()
        });
        let counter = &READERS[stripe].0;
        // Sequentially consistent, as the swap and the scan in `close` are: either the reader sees
        // null, or the scan sees the reader.
        counter.fetch_add(1, Ordering::SeqCst);
        Self(counter)
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Runs a short operation on the open runtime: one that neither waits nor calls the client.
///
/// # Errors
/// NOT_INITIALIZED, and those of the operation.
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
    if references.count == MAX_REFERENCES {
        return Err(Status::REFCOUNT_OVERFLOW);
    }
    if references.count > 0 {
        references.count += 1;
        return Ok(());
    }
    let state = Arc::into_raw(make()?).cast_mut();
    CURRENT.store(state, Ordering::SeqCst);
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

/// The thread that asks, by the address of a variable of its own.
fn me() -> usize {
    MY_STRIPE.with(|mine| core::ptr::from_ref(mine).addr())
}

fn lock() -> MutexGuard<'static, References> {
    REFERENCES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl References {
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
    let state = CURRENT.swap(core::ptr::null_mut(), Ordering::SeqCst);
    for stripe in &READERS {
        while stripe.0.load(Ordering::SeqCst) != 0 {
            std::thread::yield_now();
        }
    }
    // SAFETY: the reference that `retain` put there; nobody can find it any more, and readers
    // that did have left.
    unsafe { Arc::from_raw(state) }
}
