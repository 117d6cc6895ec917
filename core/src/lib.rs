//! The HSA runtime core, no_std: AQL packets, queue rings, signals, code objects and the backend seam.
#![no_std]
