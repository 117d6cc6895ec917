//! Small assembled programs on a bare test context, compared with plain models.
//!
//! `programs/` holds the sources, what the assembler made of them, and the command.

mod control;
mod fused;
mod gang;
mod lanes;
mod matrix;
mod memory;
mod narrow;
mod scalar;

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use super::valu::Level;
use super::*;
use crate::isa::Arch;
use crate::mem::{AddressMap, HeapMemory, HostMemory, MemoryView, Rights, raw};

/// A clock that advances with each reading.
struct Ticks(core::cell::Cell<u64>);

impl Clock for Ticks {
    fn cycles(&self) -> u64 {
        self.0.set(self.0.get() + 1);
        self.0.get()
    }

    fn realtime(&self) -> u64 {
        self.cycles()
    }
}

const APERTURES: Apertures = Apertures {
    shared: 1 << 48,
    private: 2 << 48,
};

/// Memory with a program, data, and what a wave runs in.
struct Bed {
    map: Arc<AddressMap>,
    view: MemoryView,
    code: CodeCache,
    worker: Worker,
    lds: Vec<u8>,
    shared: Shared,
    barriers: Barriers,
    arch: Arch,
    entry: u64,
}

impl Bed {
    fn new(arch: Arch, program: &[u8]) -> Bed {
        let map = AddressMap::new();
        let view = map.view(0);
        let mut bed = Bed {
            map,
            view,
            code: CodeCache::new(arch, Level::detect()),
            worker: Worker::new(),
            lds: vec![0; 4096],
            shared: Shared::new(arch),
            barriers: Barriers::new(1),
            arch,
            entry: 0,
        };
        bed.entry = bed.allocate(4096, Rights::READ | Rights::EXECUTE);
        bed.write(bed.entry, program);
        bed
    }

    /// Memory that is never released: it is small, and a test is a process.
    fn allocate(&self, size: u64, rights: Rights) -> u64 {
        let block = HeapMemory.allocate(size, 4096).expect("host memory");
        let host = block.host.as_ptr();
        // SAFETY: the block is valid for reads and writes and is never released.
        let region = unsafe { self.map.insert(host.addr() as u64, size, host, 0) };
        self.map
            .set_rights(region.expect("a free range"), 0, rights)
            .expect("a region");
        host.addr() as u64
    }

    fn write(&self, va: u64, bytes: &[u8]) {
        let span = self.view.lookup(va).expect("mapped");
        assert!(span.contains(va, bytes.len() as u64));
        // SAFETY: the span covers the bytes.
        unsafe { raw::copy_out(bytes.as_ptr(), span.host_address(va), bytes.len()) };
    }

    fn read(&self, va: u64, bytes: usize) -> Vec<u8> {
        let span = self.view.lookup(va).expect("mapped");
        assert!(span.contains(va, bytes as u64));
        let mut copy = vec![0; bytes];
        // SAFETY: the span covers the bytes.
        unsafe { raw::copy_in(span.host_address(va), copy.as_mut_ptr(), bytes) };
        copy
    }

    fn wave(&self, lanes: u32) -> Wave {
        let mut wave = Wave::new(WaveConfig {
            arch: self.arch,
            lanes,
            vgprs: 32,
            acc_vgprs: 0,
            mode: 0x3f0,
            ids: WaveIds::default(),
        });
        wave.set_pc(self.entry);
        wave
    }

    fn run(&mut self, wave: &mut Wave, budget: u64) -> Exit {
        self.run_by(wave, |wave, cx| run(wave, cx, budget))
    }

    fn run_gang(&mut self, wave: &mut Wave, budget: u64) -> Option<Exit> {
        self.run_by(wave, |wave, cx| run_gang(wave, cx, budget))
    }

    fn run_by<T>(
        &mut self,
        wave: &mut Wave,
        how: impl FnOnce(&mut Wave, &mut Context<'_>) -> T,
    ) -> T {
        let clock = Ticks(core::cell::Cell::new(0));
        let mut cx = Context {
            view: &self.view,
            code: &mut self.code,
            worker: &mut self.worker,
            lds: &mut self.lds,
            clock: &clock,
            apertures: APERTURES,
            place: Place::default(),
            shared: &self.shared,
            barriers: &mut self.barriers,
            trace: None,
        };
        how(wave, &mut cx)
    }
}

/// A small generator of test values, the same on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        self.0 ^ self.0 >> 29
    }

    fn row(&mut self) -> [u32; 64] {
        core::array::from_fn(|_| (self.next() >> 16) as u32)
    }
}

/// The lanes of a register, as an array.
fn lanes_of(wave: &Wave, register: u16) -> [u32; 64] {
    let mut lanes = [0; 64];
    let row = wave.vgpr(register).expect("a register of the wave");
    lanes[..row.len()].copy_from_slice(row);
    lanes
}

fn set_lanes(wave: &mut Wave, register: u16, values: &[u32; 64]) {
    let row = wave.vgpr_mut(register).expect("a register of the wave");
    let count = row.len();
    row.copy_from_slice(&values[..count]);
}
