//! Waves of real machine code: the scheduler's view of [`crate::exec`].

use super::executor::{Executor, RunContext, ShaderClock, Trouble, WaveExit, WaveStart};
use crate::device::QueueCode;
use crate::exec::{
    Alignment, Apertures, Clock, CodeCache, Context, Exit, Fault, FaultKind, Place, TraceEvent,
    Tracer, Wave, WaveConfig, WaveIds, Worker, run, valu::Level,
};
use crate::isa::Arch;
use crate::mem::MemoryView;
use crate::profile::{GROUP_APERTURE, PRIVATE_APERTURE};
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;

/// Number of the first trap temporary among scalars.
const TTMP0: usize = 108;

const APERTURES: Apertures = Apertures {
    shared: GROUP_APERTURE,
    private: PRIVATE_APERTURE,
};

/// What a worker keeps for one GPU: translations and decoded code depend on the agent.
struct PerGpu {
    code: CodeCache,
    worker: Worker,
}

/// Executes waves by the interpreter.
pub(crate) struct Interpreter {
    level: Level,
    alignment: Alignment,
    gpus: Vec<Option<Box<PerGpu>>>,
}

impl Interpreter {
    fn gpu(&mut self, gpu: usize, arch: Arch) -> &mut PerGpu {
        let (level, alignment) = (self.level, self.alignment);
        self.gpus[gpu].get_or_insert_with(|| {
            Box::new(PerGpu {
                code: CodeCache::new(arch, level).aligned(alignment),
                worker: Worker::new(),
            })
        })
    }
}

impl Executor for Interpreter {
    type Wave = Wave;

    fn new(gpus: usize, level: Level, alignment: Alignment) -> Self {
        Self {
            level,
            alignment,
            gpus: (0..gpus).map(|_| None).collect(),
        }
    }

    fn begin(&mut self, gpu: usize, arch: Arch, view: &MemoryView) {
        self.gpu(gpu, arch).code.validate(view);
    }

    fn create(&mut self, start: &WaveStart<'_>) -> Wave {
        let mut wave = Wave::new(config(start));
        fill(&mut wave, start);
        wave
    }

    fn restart(&mut self, wave: &mut Wave, start: &WaveStart<'_>) {
        wave.reset(config(start));
        fill(wave, start);
    }

    #[inline(always)]
    fn run(&mut self, wave: &mut Wave, cx: RunContext<'_>, budget: u64) -> WaveExit {
        let clock = Clocks(cx.clock);
        let gpu = self.gpu(cx.gpu, cx.arch);
        let mut tracer = cx
            .trace
            .map(|hook| move |event: &TraceEvent<'_>| hook(event));
        let mut context = Context {
            view: cx.view,
            code: &mut gpu.code,
            worker: &mut gpu.worker,
            lds: cx.lds,
            clock: &clock,
            apertures: APERTURES,
            place: Place {
                compute_unit: cx.compute_unit as u8,
                doorbell: cx.doorbell,
                ..Place::default()
            },
            shared: cx.shared,
            barriers: cx.barriers,
            trace: tracer.as_mut().map(|tracer| tracer as &mut Tracer<'_>),
        };
        match run(wave, &mut context, budget) {
            Exit::Ended => WaveExit::Ended,
            Exit::Barrier => WaveExit::Barrier,
            Exit::Waiting => WaveExit::Waiting,
            Exit::Sleeping { .. } => WaveExit::Sleeping,
            Exit::Message { message, payload } => WaveExit::Message { message, payload },
            Exit::Budget => WaveExit::Budget,
            Exit::Fault(fault) => WaveExit::Fault(Box::new(trouble(*fault, false))),
            Exit::Halted(fault) => WaveExit::Fault(Box::new(trouble(*fault, true))),
            Exit::Trapped(fault) => match fault.kind {
                FaultKind::Memory { fault, .. } => WaveExit::Trapped(fault),
                _ => WaveExit::Budget,
            },
        }
    }

    fn joined_barrier(wave: &Wave) -> u8 {
        wave.joined_barrier()
    }

    fn retired(wave: &Wave) -> u64 {
        wave.retired()
    }
}

fn config(start: &WaveStart<'_>) -> WaveConfig {
    WaveConfig {
        arch: start.arch,
        lanes: start.lanes,
        vgprs: start.vgprs,
        acc_vgprs: start.acc_vgprs,
        mode: start.mode,
        ids: WaveIds {
            dispatch: start.dispatch,
            group: start.group,
            wave: start.wave,
        },
    }
}

/// Gives a wave, whose registers are zero, its start state.
fn fill(wave: &mut Wave, start: &WaveStart<'_>) {
    wave.set_pc(start.pc);
    wave.set_exec(start.exec);
    wave.set_sgprs(start.sgprs);
    for (number, ids) in (0u16..).zip(start.ids) {
        if let Some(row) = wave.vgpr_mut(number) {
            let lanes = row.len();
            row.copy_from_slice(&ids.0[..lanes]);
        }
    }
    if let Some([x, y, z]) = start.ttmp_group {
        wave.set_sgpr(TTMP0 + 9, x);
        wave.set_sgpr(TTMP0 + 7, y & 0xffff | z << 16);
        // Compilers take the wave's number in its work-group from bits 29-25.
        wave.set_sgpr(TTMP0 + 8, (start.wave & 31) << 25);
    }
    if let Some(address) = start.flat_scratch {
        wave.set_flat_scratch(address);
    }
}

/// What the host is told of a fault.
fn trouble(fault: Fault, handled: bool) -> Trouble {
    let text = fault.to_string();
    let (code, memory) = match fault.kind {
        FaultKind::Memory { fault, .. } => (QueueCode::Exception, Some(fault)),
        FaultKind::Misaligned { .. } | FaultKind::Aperture { .. } => {
            (QueueCode::ApertureViolation, None)
        }
        FaultKind::IllegalInstruction { .. }
        | FaultKind::Unsupported { .. }
        | FaultKind::Register { .. }
        | FaultKind::MisalignedPc { .. } => (QueueCode::IllegalInstruction, None),
        FaultKind::Trap { .. } | FaultKind::Halted | FaultKind::Arithmetic { .. } => {
            (QueueCode::Exception, None)
        }
    };
    Trouble {
        pc: fault.pc,
        code,
        memory,
        text,
        handled,
    }
}

struct Clocks<'a>(&'a dyn ShaderClock);

impl Clock for Clocks<'_> {
    fn cycles(&self) -> u64 {
        self.0.cycles()
    }

    fn realtime(&self) -> u64 {
        self.0.counter()
    }
}
