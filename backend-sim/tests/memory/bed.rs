//! A wave with memory around it.

use std::collections::HashMap;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};

use rukh_backend_sim::exec::valu::Level;
use rukh_backend_sim::exec::{
    Apertures, Barriers, Clock, CodeCache, Context, Exit, Fault, Place, Shared, Wave, WaveConfig,
    WaveIds, Worker, run,
};
use rukh_backend_sim::isa::Arch;
use rukh_backend_sim::mem::{AddressMap, HeapMemory, HostMemory, MemoryView, Rights, raw};

/// Assembles a program; `s_endpgm` follows it.
pub fn assemble(arch: Arch, lanes: u32, source: &str) -> Vec<u8> {
    type Done = HashMap<(Arch, u32, String), Vec<u8>>;
    static DONE: OnceLock<Mutex<Done>> = OnceLock::new();
    let done = DONE.get_or_init(Default::default);
    let key = (arch, lanes, source.to_string());
    if let Some(code) = done.lock().expect("no test fails here").get(&key) {
        return code.clone();
    }
    let version = 22;
    let tool = format!("llvm-mc-{version}");
    let mut command = Command::new(&tool);
    command
        .args(["--triple=amdgcn-amd-amdhsa", "--show-encoding"])
        .arg(format!("--mcpu={arch}"));
    if arch >= Arch::Gfx1030 && lanes == 64 {
        command.arg("--mattr=+wavefrontsize64");
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{tool} is needed for this test (package llvm-{version}): {e}"));
    let text = format!("{source}\ns_endpgm\n");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(text.as_bytes()).expect("a reader");
    drop(stdin);
    let output = child.wait_with_output().expect("it runs to its end");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arch}: {source}\n{errors}");
    let listing = String::from_utf8(output.stdout).expect("text");
    let mut code = Vec::new();
    for line in listing.lines() {
        let Some((_, bytes)) = line.split_once("encoding: [") else {
            continue;
        };
        let (bytes, _) = bytes.split_once(']').expect("a list");
        for byte in bytes.split(',') {
            let digits = byte.trim().strip_prefix("0x").expect("a byte, not a fixup");
            code.push(u8::from_str_radix(digits, 16).expect("a byte"));
        }
    }
    done.lock()
        .expect("no test fails here")
        .insert(key, code.clone());
    code
}

struct Ticks(std::cell::Cell<u64>);

impl Clock for Ticks {
    fn cycles(&self) -> u64 {
        self.0.set(self.0.get() + 1);
        self.0.get()
    }

    fn realtime(&self) -> u64 {
        self.cycles() << 32
    }
}

pub const APERTURES: Apertures = Apertures {
    shared: 1 << 48,
    private: 2 << 48,
};

/// Memory, a work-group's LDS, and one wave.
pub struct Bed {
    map: Arc<AddressMap>,
    pub view: MemoryView,
    pub code: CodeCache,
    pub lds: Vec<u8>,
    pub wave: Wave,
    pub shared: Shared,
    pub barriers: Barriers,
    arch: Arch,
    lanes: u32,
}

impl Bed {
    /// A wave of `lanes` with all registers zero and all lanes active; 4 KiB of LDS.
    pub fn new(arch: Arch, lanes: u32) -> Bed {
        let map = AddressMap::new();
        let view = map.view(0);
        let wave = Wave::new(WaveConfig {
            arch,
            lanes,
            vgprs: 96,
            acc_vgprs: 0,
            mode: 0x3f0,
            ids: WaveIds::default(),
        });
        Bed {
            map,
            view,
            code: CodeCache::new(arch, Level::detect()),
            lds: vec![0; 4096],
            wave,
            shared: Shared::new(arch),
            barriers: Barriers::new(1),
            arch,
            lanes,
        }
    }

    /// Of the processor's own number of lanes.
    pub fn of(arch: Arch) -> Bed {
        Bed::new(arch, if arch < Arch::Gfx1030 { 64 } else { 32 })
    }

    /// Memory of whole pages, zero, that is never released: it is small, and a test is a process. The pages before
    /// and behind it are not mapped.
    pub fn allocate(&self, pages: u64) -> u64 {
        self.allocate_with(pages, Rights::READ | Rights::WRITE)
    }

    pub fn allocate_with(&self, pages: u64, rights: Rights) -> u64 {
        let block = HeapMemory
            .allocate((pages + 2) * 4096, 4096)
            .expect("host memory");
        let host = block.host.as_ptr().wrapping_add(4096);
        // SAFETY: the block is valid for reads and writes and is never released.
        let region = unsafe { self.map.insert(host.addr() as u64, pages * 4096, host, 0) };
        self.map
            .set_rights(region.expect("a free range"), 0, rights)
            .expect("a region");
        host.addr() as u64
    }

    pub fn write(&self, va: u64, bytes: &[u8]) {
        let span = self.view.lookup(va).expect("mapped");
        assert!(span.contains(va, bytes.len() as u64));
        // SAFETY: the span covers the bytes.
        unsafe { raw::copy_out(bytes.as_ptr(), span.host_address(va), bytes.len()) };
    }

    pub fn read(&self, va: u64, bytes: usize) -> Vec<u8> {
        let span = self.view.lookup(va).expect("mapped");
        assert!(span.contains(va, bytes as u64));
        let mut copy = vec![0; bytes];
        // SAFETY: the span covers the bytes.
        unsafe { raw::copy_in(span.host_address(va), copy.as_mut_ptr(), bytes) };
        copy
    }

    pub fn word(&self, va: u64) -> u32 {
        u32::from_le_bytes(self.read(va, 4).try_into().expect("four bytes"))
    }

    pub fn lds_word(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.lds[at..at + 4].try_into().expect("four bytes"))
    }

    /// Sets consecutive scalars.
    pub fn set_scalars(&mut self, first: usize, values: &[u32]) {
        for (number, &value) in (first..).zip(values) {
            self.wave.set_sgpr(number, value);
        }
    }

    pub fn set_address(&mut self, first: usize, va: u64) {
        self.set_scalars(first, &[va as u32, (va >> 32) as u32]);
    }

    /// Sets a vector register lane by lane.
    pub fn set(&mut self, register: u16, value: impl Fn(usize) -> u32) {
        let row = self
            .wave
            .vgpr_mut(register)
            .expect("a register of the wave");
        for (lane, to) in row.iter_mut().enumerate() {
            *to = value(lane);
        }
    }

    pub fn get(&self, register: u16, lane: usize) -> u32 {
        self.wave.vgpr(register).expect("a register of the wave")[lane]
    }

    /// Places a program in memory and starts the wave at it; gives its address.
    pub fn load(&mut self, source: &str) -> u64 {
        self.load_code(&assemble(self.arch, self.lanes, source))
    }

    fn load_code(&mut self, code: &[u8]) -> u64 {
        let at = self.allocate_with(1, Rights::READ | Rights::EXECUTE);
        self.write(at, code);
        self.wave.set_pc(at);
        at
    }

    /// Goes on from where the wave is.
    pub fn resume(&mut self) -> Exit {
        let clock = Ticks(Default::default());
        let mut worker = Worker::new();
        let mut cx = Context {
            view: &self.view,
            code: &mut self.code,
            worker: &mut worker,
            lds: &mut self.lds,
            clock: &clock,
            apertures: APERTURES,
            place: Place::default(),
            shared: &self.shared,
            barriers: &mut self.barriers,
            trace: None,
        };
        run(&mut self.wave, &mut cx, 1000)
    }

    /// Runs a program to its end.
    pub fn run(&mut self, source: &str) {
        self.load(source);
        let exit = self.resume();
        assert!(
            matches!(exit, Exit::Ended),
            "{}: {source}: {exit:?}",
            self.arch
        );
        self.wave.restart();
    }

    /// As [`Bed::run`], of machine code.
    pub fn run_code(&mut self, code: &[u8]) {
        self.load_code(code);
        let exit = self.resume();
        assert!(matches!(exit, Exit::Ended), "{}: {exit:?}", self.arch);
        self.wave.restart();
    }

    /// Runs a program that faults.
    pub fn fault(&mut self, source: &str) -> Box<Fault> {
        self.fault_code(&assemble(self.arch, self.lanes, source))
    }

    /// As [`Bed::fault`], of machine code.
    pub fn fault_code(&mut self, code: &[u8]) -> Box<Fault> {
        self.load_code(code);
        match self.resume() {
            Exit::Fault(fault) => fault,
            other => panic!("{}: {code:x?}: {other:?}", self.arch),
        }
    }
}

/// A small generator of test values, the same on every run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 32) as u32 ^ self.0 as u32 >> 7
    }
}
