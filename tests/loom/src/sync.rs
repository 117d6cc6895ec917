//! What core's `sync` has, of loom. Loom's atomics cannot be made in constants and core's are, so that these come to
//! be when they are first used: by one thread, before others know of them.

pub(crate) use loom::sync::atomic::fence;
pub(crate) use std::sync::atomic::Ordering;

use std::fmt;
use std::sync::OnceLock;

/// What only x86-64 promises is not used.
pub(crate) const RMW_IS_BARRIER: bool = false;

/// Threads of a model that may pass a [`compiler_fence`].
const POINTS: usize = 3;

loom::lazy_static! {
    /// For each of these threads the point between a store to a signal and the look at its waiters.
    static ref POINT: [loom::sync::atomic::AtomicUsize; POINTS] =
        std::array::from_fn(|_| loom::sync::atomic::AtomicUsize::new(0));
    static ref NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
}
loom::thread_local! {
    static OWN: usize = NEXT.fetch_add(1, Ordering::Relaxed);
}

/// Has the first use of the above come before all threads: otherwise those who come later would know what the first one
/// knew.
pub(crate) fn begin() {
    NEXT.load(Ordering::Relaxed);
    for point in POINT.iter() {
        point.load(Ordering::Relaxed);
    }
}

/// No fence of this thread; but a barrier that another one imposes on all takes effect here, before or after: the same
/// as anywhere before the store in the one case, behind the load in the other.
pub(crate) fn compiler_fence(_: Ordering) {
    if ended() {
        return;
    }
    OWN.with(|own| POINT[*own].fetch_add(1, Ordering::AcqRel));
}

/// Imposes a barrier on all threads: those at or behind their point are seen by this thread, the others see this one.
/// Nothing more: threads are not ordered with one another.
pub(crate) fn barrier_of_all_threads() {
    if ended() {
        return;
    }
    for point in POINT.iter() {
        point.fetch_add(1, Ordering::AcqRel);
    }
}

pub(crate) fn spin_loop() {
    loom::thread::yield_now();
}

/// Whether the model has failed and its threads are unwound: nothing is modelled then, and guards just end.
pub(crate) fn ended() -> bool {
    std::thread::panicking()
}

macro_rules! atomic {
    ($($name:ident $value:ty),*) => {$(
        pub struct $name {
            initial: $value,
            model: OnceLock<loom::sync::atomic::$name>,
        }

        #[allow(clippy::missing_panics_doc, missing_docs)]
        impl $name {
            pub const fn new(initial: $value) -> Self {
                Self { initial, model: OnceLock::new() }
            }

            fn model(&self) -> &loom::sync::atomic::$name {
                self.model.get_or_init(|| loom::sync::atomic::$name::new(self.initial))
            }

            pub fn load(&self, order: Ordering) -> $value {
                if ended() { return self.initial; }
                self.model().load(order)
            }

            pub fn store(&self, value: $value, order: Ordering) {
                if ended() { return; }
                self.model().store(value, order);
            }

            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                if ended() { return self.initial; }
                self.model().swap(value, order)
            }

            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                if ended() { return Ok(current); }
                self.model().compare_exchange(current, new, success, failure)
            }

            pub fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                if ended() { return self.initial; }
                self.model().fetch_add(value, order)
            }

            pub fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                if ended() { return self.initial; }
                self.model().fetch_sub(value, order)
            }

            pub fn fetch_and(&self, value: $value, order: Ordering) -> $value {
                if ended() { return self.initial; }
                self.model().fetch_and(value, order)
            }

            pub fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                if ended() { return self.initial; }
                self.model().fetch_or(value, order)
            }

            pub fn fetch_xor(&self, value: $value, order: Ordering) -> $value {
                if ended() { return self.initial; }
                self.model().fetch_xor(value, order)
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new(0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    )*};
}
atomic! { AtomicI64 i64, AtomicU32 u32, AtomicU64 u64, AtomicUsize usize }

pub struct AtomicBool {
    initial: bool,
    model: OnceLock<loom::sync::atomic::AtomicBool>,
}

impl AtomicBool {
    pub const fn new(initial: bool) -> Self {
        Self {
            initial,
            model: OnceLock::new(),
        }
    }

    fn model(&self) -> &loom::sync::atomic::AtomicBool {
        self.model
            .get_or_init(|| loom::sync::atomic::AtomicBool::new(self.initial))
    }

    pub fn load(&self, order: Ordering) -> bool {
        if ended() {
            return self.initial;
        }
        self.model().load(order)
    }

    pub fn store(&self, value: bool, order: Ordering) {
        if ended() {
            return;
        }
        self.model().store(value, order);
    }
}

pub struct AtomicPtr<T> {
    initial: *mut T,
    model: OnceLock<loom::sync::atomic::AtomicPtr<T>>,
}

// SAFETY: as the standard library's: it is a pointer, and whoever follows it answers for that.
unsafe impl<T> Send for AtomicPtr<T> {}
// SAFETY: as above; the pointer itself is only reached through loom's atomic.
unsafe impl<T> Sync for AtomicPtr<T> {}

impl<T> AtomicPtr<T> {
    pub const fn new(initial: *mut T) -> Self {
        Self {
            initial,
            model: OnceLock::new(),
        }
    }

    fn model(&self) -> &loom::sync::atomic::AtomicPtr<T> {
        self.model
            .get_or_init(|| loom::sync::atomic::AtomicPtr::new(self.initial))
    }

    pub fn load(&self, order: Ordering) -> *mut T {
        self.model().load(order)
    }

    pub fn store(&self, value: *mut T, order: Ordering) {
        self.model().store(value, order);
    }

    #[allow(clippy::missing_errors_doc)]
    pub fn compare_exchange(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        self.model()
            .compare_exchange(current, new, success, failure)
    }
}

impl<T> fmt::Debug for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AtomicPtr")
    }
}
