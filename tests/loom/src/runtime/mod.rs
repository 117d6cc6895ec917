//! A runtime that can do nothing but wait, around core's own waiting.

pub mod reactor;
