//! What core's files name: the structure of a signal.

#[path = "../../../core/src/wire/signal.rs"]
pub mod signal;
