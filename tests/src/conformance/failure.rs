//! Why a test did not pass.

use std::error::Error;
use std::fmt;

/// What a test comes to.
pub type Outcome<T = ()> = Result<T, Failure>;

/// Why a test did not pass.
#[derive(Debug)]
pub enum Failure {
    /// Something is not as stated.
    Broken(String),
    /// A call failed that should not have.
    Error(Box<dyn Error>),
}

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::Error(Box::new(error))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Broken(what) => f.write_str(what),
            Failure::Error(error) => write!(f, "an unexpected error: {error} ({error:?})"),
        }
    }
}

/// Ends the test unless the condition holds.
macro_rules! ensure {
    ($condition:expr $(, $($words:tt)+)?) => {
        if !$condition {
            return Err($crate::conformance::Failure::Broken(format!(
                "{}:{}: {}{}", file!(), line!(), stringify!($condition),
                String::new() $(+ ": " + &format!($($words)+))?
            )));
        }
    };
}

/// Ends the test unless both are equal.
macro_rules! ensure_eq {
    ($left:expr, $right:expr $(, $($words:tt)+)?) => {
        match (&$left, &$right) {
            (left, right) => {
                if *left != *right {
                    return Err($crate::conformance::Failure::Broken(format!(
                        "{}:{}: {} is {left:?} and not {right:?}{}", file!(), line!(), stringify!($left),
                        String::new() $(+ ": " + &format!($($words)+))?
                    )));
                }
            }
        }
    };
}

/// Ends the test unless the value matches.
macro_rules! ensure_matches {
    ($value:expr, $pattern:pat $(if $guard:expr)?) => {
        match &$value {
            $pattern $(if $guard)? => {}
            other => {
                return Err($crate::conformance::Failure::Broken(format!(
                    "{}:{}: {other:?} is not {}", file!(), line!(), stringify!($pattern $(if $guard)?)
                )));
            }
        }
    };
}

pub(super) use {ensure, ensure_eq, ensure_matches};
