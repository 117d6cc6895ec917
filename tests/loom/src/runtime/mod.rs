//! A runtime that can do nothing but wait, call back and look after queues, around core's own files for that.

pub(crate) mod error;
pub(crate) mod queue;
pub mod reactor;
