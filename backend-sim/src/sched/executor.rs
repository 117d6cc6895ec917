//! What the scheduler asks of whatever executes waves.

use crate::device::QueueCode;
use crate::exec::{Alignment, Barriers, Shared, TraceHook, valu::Level};
use crate::grid::IdRow;
use crate::isa::Arch;
use crate::mem::{MemoryFault, MemoryView};
use alloc::boxed::Box;
use alloc::string::String;

/// What a wave starts with.
#[derive(Clone, Copy)]
pub(crate) struct WaveStart<'a> {
    pub arch: Arch,
    pub lanes: u32,
    pub vgprs: u16,
    pub acc_vgprs: u16,
    pub mode: u32,
    pub pc: u64,
    pub exec: u64,
    /// SGPRs from 0 on.
    pub sgprs: &'a [u32],
    /// Waves that go together, of which this is the start of the first. What they start with is the same but for the
    /// ids and their numbers.
    pub together: u16,
    /// Vector registers from 0 on, of one wave after the other.
    pub ids: &'a [IdRow],
    /// Work-group coordinates for TTMP registers, where the processor has them there (and then also the
    /// wave's number).
    pub ttmp_group: Option<[u32; 3]>,
    /// FLAT_SCRATCH, where hardware sets it.
    pub flat_scratch: Option<u64>,
    pub dispatch: u64,
    pub group: [u32; 3],
    pub wave: u32,
}

/// What a wave runs in.
pub(crate) struct RunContext<'a> {
    pub view: &'a MemoryView,
    pub lds: &'a mut [u8],
    /// Index of the GPU among the system's.
    pub gpu: usize,
    pub arch: Arch,
    pub clock: &'a dyn ShaderClock,
    pub compute_unit: u32,
    /// The queue's doorbell, as trap handlers name it.
    pub doorbell: u32,
    pub shared: &'a Shared,
    /// The work-group's.
    pub barriers: &'a mut Barriers,
    /// Called after each instruction.
    pub trace: Option<&'a TraceHook>,
}

/// Clocks that instructions read.
pub(crate) trait ShaderClock {
    /// Shader clock, in cycles.
    fn cycles(&self) -> u64;
    /// The device's counter.
    fn counter(&self) -> u64;
}

/// Why a wave stopped running for now.
pub(crate) enum WaveExit {
    Ended,
    Barrier,
    /// For something that other waves do: looks again when it is run.
    Waiting,
    /// Others should run first.
    Sleeping,
    Message {
        message: u16,
        payload: u32,
    },
    Fault(Box<Trouble>),
    /// An access has failed, and the wave goes on in its trap handler.
    Trapped(MemoryFault),
    Budget,
}

/// Why a wave cannot go on.
pub(crate) struct Trouble {
    pub pc: u64,
    pub code: QueueCode,
    pub memory: Option<MemoryFault>,
    pub text: String,
    /// The wave's own trap handler has had it, and told whom it tells.
    pub handled: bool,
}

/// Executes waves; one for each worker.
pub(crate) trait Executor: Send + 'static {
    /// A wavefront: its registers, reused from one wave to the next.
    type Wave: Send;

    /// Waves that can go together at most.
    const MOST_TOGETHER: usize = 1;

    /// For a system of so many GPUs that take addresses like this, with handlers of this level at most.
    fn new(gpus: usize, level: Level, alignment: Alignment) -> Self;

    /// Called before the first wave of a dispatch runs on this worker: code may have changed.
    fn begin(&mut self, gpu: usize, arch: Arch, view: &MemoryView);

    /// A wave in its start state.
    fn create(&mut self, start: &WaveStart<'_>) -> Self::Wave;

    /// Puts a wave that is not used any more in a start state, in the memory that it has.
    fn restart(&mut self, wave: &mut Self::Wave, start: &WaveStart<'_>);

    /// Runs a wave until it stops or has executed about `budget` instructions.
    fn run(&mut self, wave: &mut Self::Wave, cx: RunContext<'_>, budget: u64) -> WaveExit;

    /// [`Self::run`] for waves that go together, all in the one wave, and stop alike. `None`: they part.
    fn run_together(
        &mut self,
        wave: &mut Self::Wave,
        cx: RunContext<'_>,
        budget: u64,
    ) -> Option<WaveExit> {
        Some(self.run(wave, cx, budget))
    }

    /// After [`Self::run_together`] said so: makes waves of their own of all that went together in the first: of the
    /// others, then of the first itself. `numbered`: TTMP registers hold numbers of waves.
    fn part<'w>(
        lead: &mut Self::Wave,
        others: impl Iterator<Item = &'w mut Self::Wave>,
        numbered: bool,
    ) where
        Self::Wave: 'w,
    {
        let _ = (lead, others, numbered);
    }

    /// The named barrier that a wave has joined; zero if none.
    fn joined_barrier(wave: &Self::Wave) -> u8 {
        let _ = wave;
        0
    }

    /// Instructions that a wave has executed.
    fn retired(wave: &Self::Wave) -> u64;
}
