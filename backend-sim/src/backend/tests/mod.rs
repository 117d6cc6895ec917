//! What the devices promise, with an executor that is not under test.

mod fake;
mod faults;
mod machine_code;
mod packets;
mod pm4;
mod rig;
mod scheduling;
mod sdma;
mod seam;
