//! From a dispatch packet to waves: the grid cut into work-groups, and the registers that waves start
//! with.

mod kernel;
mod lanes;
mod shape;

pub(crate) use kernel::{Kernel, QueueContext, START_SGPRS, descriptor, prepare, shape};
pub(crate) use lanes::{IdRow, LaneKey, LaneTable};
pub(crate) use shape::Shape;
