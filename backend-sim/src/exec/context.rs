//! What a wave runs in: memory, code, local data, clocks.

use alloc::boxed::Box;

use super::barrier::Barriers;
use super::code::CodeCache;
use super::rows::Temps;
use super::shared::Shared;
use super::tlb::Tlb;
use super::trace::Tracer;
use crate::mem::MemoryView;

/// The clocks that an instruction can read.
pub trait Clock {
    /// Shader clock, in cycles (s_memtime, SHADER_CYCLES).
    fn cycles(&self) -> u64;
    /// Constant-rate clock of the device (s_memrealtime), in its own ticks.
    fn realtime(&self) -> u64;
}

/// Where the flat address space shows LDS and private memory: both apertures are 4 GiB, so only
/// the high half of their base is kept by hardware.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Apertures {
    /// First address of the shared (LDS) aperture; the low 32 bits are zero.
    pub shared: u64,
    /// First address of the private (scratch) aperture; the low 32 bits are zero.
    pub private: u64,
}

/// Where a wave runs, for s_getreg of HW_ID.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    /// Compute unit (work-group processor from GFX10) in its shader array.
    pub compute_unit: u8,
    /// Shader array in its engine.
    pub shader_array: u8,
    /// Shader engine.
    pub shader_engine: u8,
    /// SIMD in the compute unit.
    pub simd: u8,
    /// Wave slot in the SIMD.
    pub slot: u8,
    /// Accelerated compute die (XCC_ID of gfx94x).
    pub xcc: u8,
    /// The doorbell of the queue, as trap handlers name it.
    pub doorbell: u32,
}

/// What a worker keeps between the waves it runs, so that nothing on an instruction's path
/// allocates: temporary rows and the translations used last.
pub struct Worker {
    pub(crate) temps: Box<Temps>,
    pub(crate) tlb: Tlb,
}

impl Worker {
    /// A fresh worker.
    pub fn new() -> Self {
        Worker {
            temps: Box::new(Temps::ZERO),
            tlb: Tlb::new(),
        }
    }
}

impl Default for Worker {
    fn default() -> Self {
        Worker::new()
    }
}

/// Everything that a run needs beside the wave.
pub struct Context<'a> {
    /// The wave's agent's view of the address map.
    pub view: &'a MemoryView,
    /// Decoded code: one cache a worker, for one agent.
    pub code: &'a mut CodeCache,
    /// The worker's own state.
    pub worker: &'a mut Worker,
    /// The work-group's local data share, as many bytes as the work-group was given.
    pub lds: &'a mut [u8],
    /// Clocks.
    pub clock: &'a dyn Clock,
    /// Flat apertures.
    pub apertures: Apertures,
    /// Where the wave runs.
    pub place: Place,
    /// What the waves of the device share beside memory.
    pub shared: &'a Shared,
    /// The barriers of the work-group.
    pub barriers: &'a mut Barriers,
    /// Called after each instruction, when there is one.
    pub trace: Option<&'a mut Tracer<'a>>,
}
