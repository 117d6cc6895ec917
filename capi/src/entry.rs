//! What every export has in common: its name and version, the panic boundary, the check that the
//! runtime is open.
//!
//! Three macros define exports, each for one shape of function. Each makes the function itself and an export
//! of the same name that jumps to it by way of the API table ([`crate::table`]):
//!
//! - [`entry!`]: answers a status. The body runs inside the panic boundary and yields
//!   `Result<(), Status>`; `fn name(state; …)` first requires an open runtime and binds it.
//! - [`value!`]: answers a value, with no status to report misuse by. Its errors end the process
//!   with a message, as they do in AMD's runtime: any value would be taken for an answer.
//! - [`callbacks!`]: calls back into the client. What the client is to see is gathered inside the
//!   boundary; the callbacks run outside of it, with no lock held, so that a C++ exception
//!   passes through to the caller.
//!
//! [`not_yet!`] defines the exports that do nothing yet.

use crate::abi::Status;
use crate::diag;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// What the inside of an entry yields.
pub type Result<T = ()> = core::result::Result<T, Status>;

/// Gives a symbol its version. The first `@` pair alone would keep the unversioned name as well.
/// Not in this crate's unit tests, which are linked without a version node.
macro_rules! version {
    ($name:ident) => {
        #[cfg(not(test))]
        core::arch::global_asm!(concat!(
            ".symver ",
            stringify!($name),
            ", ",
            stringify!($name),
            "@@@ROCR_1"
        ));
    };
}
pub(crate) use version;

/// Exports a function: a trampoline to the slot of the API table ([`crate::table`]).
macro_rules! export {
    ($name:ident via $slot:ident extern $abi:literal ($($arg:ident: $ty:ty),*) $(-> $ret:ty)?) => {
        $crate::entry::version!($name);
        #[cfg(test)]
        #[doc(hidden)]
        #[allow(unused_imports, reason = "types of the parent that a signature may not name")]
        pub mod $name {
            use super::*;
            /// Types and sizes of the result and the parameters: the header probe compares them.
            pub fn signature() -> Vec<(&'static str, usize)> {
                fn of<T>() -> (&'static str, usize) {
                    (core::any::type_name::<T>(), size_of::<T>())
                }
                #[allow(unused_parens, reason = "a function that answers nothing")]
                let result = of::<($($ret)?)>();
                vec![result $(, of::<$ty>())*]
            }
        }
        const _: () = {
            #[unsafe(no_mangle)]
            unsafe extern $abi fn $name($($arg: $ty),*) $(-> $ret)? {
                // SAFETY: a slot holds this library's function of this name, or what a tool put
                // there: a function of the same type, by the contract of the API table. The arguments are the client's.
                unsafe {
                    let function = core::mem::transmute::<
                        *const (),
                        unsafe extern $abi fn($($ty),*) $(-> $ret)?,
                    >($crate::table::slot::$slot());
                    function($($arg),*)
                }
            }
        };
    };
}
pub(crate) use export;

/// Defines exports that answer a status. See the [module](self).
macro_rules! entry {
    () => {};
    ($(#[$meta:meta])* fn $name:ident($state:ident; $($arg:ident: $ty:ty),* $(,)?) $body:block $($rest:tt)*) => {
        $crate::entry::entry! {
            $(#[$meta])*
            fn $name($($arg: $ty),*) {
                let $state = $crate::state::open()?;
                $body
            }
        }
        $crate::entry::entry! { $($rest)* }
    };
    ($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block $($rest:tt)*) => {
        $crate::entry::export!($name via $name extern "C" ($($arg: $ty),*) -> $crate::abi::Status);
        $(#[$meta])*
        ///
        /// # Safety
        /// Pointers are null or valid as the HSA specification of the function says.
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> $crate::abi::Status {
            $crate::entry::run_status(stringify!($name), || -> $crate::entry::Result { $body })
        }
        $crate::entry::entry! { $($rest)* }
    };
}
pub(crate) use entry;

/// Defines exports that answer a value or nothing, some of them under a deprecated name as well. See
/// the [module](self).
macro_rules! value {
    () => {};
    ($(#[$meta:meta])* fn $name:ident alias $old:ident ($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block
        $($rest:tt)*) => {
        $crate::entry::value! {
            $(#[$meta])*
            fn $name($($arg: $ty),*) $(-> $ret)? $body
        }
        $crate::entry::export!($old via $name extern "C" ($($arg: $ty),*) $(-> $ret)?);
        $crate::entry::value! { $($rest)* }
    };
    ($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block $($rest:tt)*) => {
        $crate::entry::export!($name via $name extern "C" ($($arg: $ty),*) $(-> $ret)?);
        $(#[$meta])*
        ///
        /// # Safety
        /// Pointers are valid as the HSA specification of the function says.
        pub unsafe extern "C" fn $name($($arg: $ty),*) $(-> $ret)? {
            $crate::entry::run_value(stringify!($name), || $body)
        }
        $crate::entry::value! { $($rest)* }
    };
}
pub(crate) use value;

/// Defines exports that call back into the client. The body is outside of the panic boundary: it
/// uses [`gather`] for what is not the client's. See the [module](self).
macro_rules! callbacks {
    () => {};
    ($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block $($rest:tt)*) => {
        $crate::entry::export!($name via $name extern "C-unwind" ($($arg: $ty),*) -> $crate::abi::Status);
        $(#[$meta])*
        ///
        /// # Safety
        /// Pointers are null or valid as the HSA specification of the function says.
        pub unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> $crate::abi::Status {
            // A closure, so that `?` and `return` stay inside.
            let body = || -> $crate::entry::Result { $body };
            match body() {
                Ok(()) => $crate::abi::Status::SUCCESS,
                Err(status) => status,
            }
        }
        $crate::entry::callbacks! { $($rest)* }
    };
}
pub(crate) use callbacks;

/// Defines exports that do nothing yet: each answers the given status and says so once on
/// standard error.
macro_rules! not_yet {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $status:ident;)*) => {$(
        $crate::entry::export!($name via $name extern "C" ($($arg: $ty),*) -> $crate::abi::Status);
        $(#[$meta])*
        #[doc = concat!("`", stringify!($name), "`: not implemented yet, answers ", stringify!($status), ".")]
        ///
        /// # Safety
        /// None of the arguments is used.
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> $crate::abi::Status {
            static SAID: core::sync::atomic::AtomicBool = core::sync::atomic::AtomicBool::new(false);
            let _ = ($($arg,)*);
            $crate::entry::run_status(stringify!($name), || {
                $crate::state::open()?;
                Err($crate::entry::not_implemented(
                    stringify!($name), $crate::abi::Status::$status, &SAID))
            })
        }
    )*};
}
pub(crate) use not_yet;

/// Runs the inside of an entry that answers a status.
pub fn run_status(name: &'static str, body: impl FnOnce() -> Result) -> Status {
    match gather(name, body) {
        Ok(()) => Status::SUCCESS,
        Err(status) => status,
    }
}

/// The panic boundary: runs what must not unwind into C. A panic is a defect of this library; the
/// panic hook has printed it.
pub fn gather<T>(name: &'static str, body: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        diag::say(format_args!(
            "{name}: internal error, answered HSA_STATUS_ERROR"
        ));
        Err(Status::ERROR)
    })
}

/// Runs the inside of an entry that has no status to answer. These are short and on the path of every dispatch: there
/// is no panic boundary, since a panic that reaches an `extern "C"` function ends the process, as misuse does.
#[inline(always)]
pub fn run_value<T>(name: &'static str, body: impl FnOnce() -> Result<T>) -> T {
    match body() {
        Ok(value) => value,
        Err(status) => misused(name, status),
    }
}

#[cold]
#[inline(never)]
fn misused(name: &'static str, status: Status) -> ! {
    diag::fatal(format_args!("{name}: {status:?}"))
}

/// Says once that an export does nothing yet, and gives its status.
pub fn not_implemented(name: &'static str, status: Status, said: &AtomicBool) -> Status {
    if !said.swap(true, Ordering::Relaxed) {
        diag::say(format_args!(
            "{name} is not implemented; it answers: {status:?}"
        ));
    }
    status
}
