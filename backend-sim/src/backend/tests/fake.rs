//! An executor for tests of everything around it: its "machine code" is a list of few, wide
//! instructions.

use crate::device::QueueCode;
use crate::isa::Arch;
use crate::mem::{Access, MemoryFault, MemoryView, raw};
use crate::sched::{Executor, RunContext, Trouble, WaveExit, WaveStart};
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;

/// Ends the wave.
pub const END: u32 = 1;
/// Meets the work-group's other waves.
pub const BARRIER: u32 = 2;
/// Each active lane stores its v0 at `*kernarg + 4 * (group x * items + lane of the group)`; the
/// operand is the work-group's size.
pub const STORE_IDS: u32 = 3;
/// Adds the operand to the dword at `*kernarg`.
pub const ADD: u32 = 4;
/// Stays here until the dword at `*kernarg` is at least the operand.
pub const SPIN_UNTIL: u32 = 5;
/// Reads a dword at the address in the second kernel argument.
pub const READ: u32 = 6;
/// Not an instruction.
pub const ILLEGAL: u32 = 7;
/// Adds one to the first dword of LDS; the last wave's sum is added to `*kernarg` by `ADD_LDS`.
pub const COUNT_LDS: u32 = 8;
/// Adds the first dword of LDS to the dword at `*kernarg`.
pub const ADD_LDS: u32 = 9;
/// Stores the SGPRs that the wave started with, as many as the operand, at `*kernarg`.
pub const STORE_SGPRS: u32 = 10;
/// Sends the message of the operand with the second kernel argument as payload.
pub const MESSAGE: u32 = 11;

pub struct FakeWave {
    pc: u64,
    exec: u64,
    lanes: u32,
    sgprs: Vec<u32>,
    ids: [u32; 64],
    flat_scratch: Option<u64>,
    wave: u32,
    group: [u32; 3],
    retired: u64,
}

pub struct Fake;

impl FakeWave {
    fn kernarg(&self) -> u64 {
        u64::from(self.sgprs[0]) | u64::from(self.sgprs[1]) << 32
    }
}

fn load(view: &MemoryView, va: u64) -> Result<u32, Box<Trouble>> {
    let host = view.check(va, 4, Access::Read).map_err(trouble)?;
    // SAFETY: checked for the read just now.
    Ok(unsafe { raw::load_u32(host) })
}

fn load64(view: &MemoryView, va: u64) -> Result<u64, Box<Trouble>> {
    Ok(u64::from(load(view, va)?) | u64::from(load(view, va + 4)?) << 32)
}

fn host(view: &MemoryView, va: u64) -> Result<*mut u8, Box<Trouble>> {
    view.check(va, 4, Access::ReadWrite).map_err(trouble)
}

fn step(wave: &mut FakeWave, cx: &mut RunContext<'_>) -> Result<Option<WaveExit>, Box<Trouble>> {
    let view = cx.view;
    let op = load(view, wave.pc)?;
    let operand = load(view, wave.pc + 4)?;
    let target = if op == END || op == BARRIER || op == ILLEGAL {
        0
    } else {
        load64(view, wave.kernarg())?
    };
    match op {
        END => return Ok(Some(WaveExit::Ended)),
        BARRIER => {
            wave.pc += 8;
            return Ok(Some(WaveExit::Barrier));
        }
        STORE_IDS => {
            for lane in (0..wave.lanes).filter(|lane| wave.exec >> lane & 1 != 0) {
                let item = wave.group[0] * operand + wave.wave * wave.lanes + lane;
                let host = host(view, target + u64::from(item) * 4)?;
                // SAFETY: checked for the write just now.
                unsafe { raw::store_u32(host, wave.ids[lane as usize]) };
            }
        }
        ADD => {
            // SAFETY: checked for the access just now, and tests align it.
            unsafe { raw::add_u32(host(view, target)?, operand) };
        }
        SPIN_UNTIL => {
            if load(view, target)? < operand {
                return Ok(None);
            }
        }
        READ => {
            let address = load64(view, wave.kernarg() + 8)?;
            load(view, address)?;
        }
        COUNT_LDS => {
            let count = u32::from_le_bytes([cx.lds[0], cx.lds[1], cx.lds[2], cx.lds[3]]) + 1;
            cx.lds[..4].copy_from_slice(&count.to_le_bytes());
        }
        ADD_LDS => {
            let count = u32::from_le_bytes([cx.lds[0], cx.lds[1], cx.lds[2], cx.lds[3]]);
            // SAFETY: as for ADD.
            unsafe { raw::add_u32(host(view, target)?, count) };
        }
        STORE_SGPRS => {
            for i in 0..operand {
                let value = wave.sgprs.get(i as usize).copied().unwrap_or(0);
                let host = host(view, target + u64::from(i) * 4)?;
                // SAFETY: checked for the write just now.
                unsafe { raw::store_u32(host, value) };
            }
            if let Some(scratch) = wave.flat_scratch {
                let host = view.check(target + u64::from(operand) * 4, 8, Access::Write);
                // SAFETY: checked for the write just now.
                unsafe { raw::store_u64(host.map_err(|_| illegal(wave))?, scratch) };
            }
        }
        MESSAGE => {
            let payload = load(view, wave.kernarg() + 8)?;
            wave.pc += 8;
            return Ok(Some(WaveExit::Message {
                message: operand as u16,
                payload,
            }));
        }
        _ => return Err(illegal(wave)),
    }
    wave.pc += 8;
    Ok(None)
}

fn trouble(fault: MemoryFault) -> Box<Trouble> {
    Box::new(Trouble {
        pc: 0,
        code: QueueCode::Exception,
        text: fault.to_string(),
        memory: Some(fault),
        handled: false,
    })
}

fn illegal(wave: &FakeWave) -> Box<Trouble> {
    Box::new(Trouble {
        pc: wave.pc,
        code: QueueCode::IllegalInstruction,
        memory: None,
        text: "illegal instruction".to_string(),
        handled: false,
    })
}

impl Executor for Fake {
    type Wave = FakeWave;

    fn new(_gpus: usize, _: crate::exec::valu::Level, _: crate::exec::Alignment) -> Self {
        Self
    }

    fn begin(&mut self, _gpu: usize, _arch: Arch, _view: &MemoryView) {}

    fn create(&mut self, start: &WaveStart<'_>) -> FakeWave {
        FakeWave {
            pc: start.pc,
            exec: start.exec,
            lanes: start.lanes,
            sgprs: start.sgprs.to_vec(),
            ids: start.ids[0].0,
            flat_scratch: start.flat_scratch,
            wave: start.wave,
            group: start.group,
            retired: 0,
        }
    }

    fn restart(&mut self, wave: &mut FakeWave, start: &WaveStart<'_>) {
        *wave = self.create(start);
    }

    fn run(&mut self, wave: &mut FakeWave, mut cx: RunContext<'_>, budget: u64) -> WaveExit {
        for _ in 0..budget.min(500) {
            wave.retired += 1;
            match step(wave, &mut cx) {
                Ok(None) => {}
                Ok(Some(exit)) => return exit,
                Err(mut trouble) => {
                    trouble.pc = wave.pc;
                    return WaveExit::Fault(trouble);
                }
            }
        }
        WaveExit::Budget
    }

    fn retired(wave: &FakeWave) -> u64 {
        wave.retired
    }
}
