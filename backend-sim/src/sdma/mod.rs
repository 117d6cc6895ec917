//! SDMA engines: consume rings of packets that copy, fill, wait and signal.
//!
//! A queue executes one packet at a time, in order. Nothing here blocks: a wait that does not hold is looked at again
//! when memory may have changed, and a large copy gives others a turn between its pieces. Every address is translated and
//! checked as the device's; a bad one stops the queue and is reported as hardware reports it, and so is a packet that
//! the engine does not know, since where the next one begins cannot be told then.
//!
//! In the order that a packet travels: [`SdmaQueue`] fetches it from the `ring` or an indirect buffer, `moves` does
//! what takes more than a moment.

mod error;
mod moves;
mod queue;
mod ring;

pub use error::SdmaError;
pub(crate) use moves::Move;
pub(crate) use queue::SdmaQueue;
pub(crate) use ring::Ring;
