//! Waves of real machine code: the scheduler's view of [`crate::exec`].

use super::executor::{Executor, RunContext, ShaderClock, Trouble, WaveExit, WaveStart};
use crate::device::QueueCode;
use crate::exec::{
    Alignment, Apertures, Clock, CodeCache, Context, Exit, Fault, FaultKind, MOST_TOGETHER, Place,
    TraceEvent, Tracer, Wave, WaveConfig, WaveIds, Worker, run, run_gang, valu::Level,
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

    /// Runs a wave in a context of the scheduler's.
    #[inline(always)]
    fn execute(
        &mut self,
        cx: RunContext<'_>,
        how: impl FnOnce(&mut Wave, &mut Context<'_>, u64) -> Option<Exit>,
        wave: &mut Wave,
        budget: u64,
    ) -> Option<WaveExit> {
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
        Some(match how(wave, &mut context, budget)? {
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
        })
    }
}

impl Executor for Interpreter {
    type Wave = Wave;

    const MOST_TOGETHER: usize = MOST_TOGETHER;

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
        let mut wave = Wave::new(WaveConfig {
            vgprs: 0,
            acc_vgprs: 0,
            ..config(start)
        });
        self.restart(&mut wave, start);
        wave
    }

    fn restart(&mut self, wave: &mut Wave, start: &WaveStart<'_>) {
        wave.reset_gang(config(start), start.together);
        fill(wave, start);
    }

    #[inline(always)]
    fn run(&mut self, wave: &mut Wave, cx: RunContext<'_>, budget: u64) -> WaveExit {
        let exit = self.execute(
            cx,
            |wave, cx, budget| Some(run(wave, cx, budget)),
            wave,
            budget,
        );
        exit.unwrap_or(WaveExit::Budget)
    }

    fn run_together(
        &mut self,
        wave: &mut Wave,
        cx: RunContext<'_>,
        budget: u64,
    ) -> Option<WaveExit> {
        self.execute(cx, run_gang, wave, budget)
    }

    fn part<'w>(lead: &mut Wave, others: impl Iterator<Item = &'w mut Wave>, numbered: bool) {
        for (n, wave) in (1..).zip(others) {
            wave.leave_gang(lead, n);
            if numbered {
                set_number(wave, wave.ids().wave);
            }
        }
        lead.end_gang();
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
    let rows = start.ids.len() / usize::from(start.together.max(1));
    for (n, ids) in start.ids.chunks_exact(rows.max(1)).enumerate() {
        wave.rows.select(n);
        for (number, ids) in (0u16..).zip(ids) {
            if let Some(row) = wave.vgpr_mut(number) {
                let lanes = row.len();
                row.copy_from_slice(&ids.0[..lanes]);
            }
        }
    }
    wave.rows.select(0);
    if let Some([x, y, z]) = start.ttmp_group {
        wave.set_sgpr(TTMP0 + 9, x);
        wave.set_sgpr(TTMP0 + 7, y & 0xffff | z << 16);
        set_number(wave, start.wave);
    }
    if let Some(address) = start.flat_scratch {
        wave.set_flat_scratch(address);
    }
}

/// Compilers take the wave's number in its work-group from bits 29-25 of TTMP8.
fn set_number(wave: &mut Wave, number: u32) {
    wave.set_sgpr(TTMP0 + 8, (number & 31) << 25);
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
