//! PM4 queues, and PM4 in the buffers that AQL packets call: what kfdtest sends, and bad commands.

use super::fake;
use super::rig::{GPU, Rig, load32, load64, modes, store32, store64};
use crate::backend::{Mode, SimBackend, SimConfig};
use crate::device::{FaultCause, PacketError};
use alloc::vec::Vec;
use rukh_core::backend::*;
use rukh_core::wire::aql::{AmdFormat, Header as AqlHeader, PacketType, Pm4IbPacket};
use rukh_core::wire::pm4::*;
use rukh_core::wire::sdma::{Address, AtomicOp};

const RING: u64 = 4096;

/// Copies a dword from s[0:1] to s[2:3], as kfdtest's CopyDwordIsa: v_mov_b32 v0 to v3, flat load of a dword, s_waitcnt,
/// flat store, s_endpgm; assembled by llvm-mc-19.
const PROGRAM_90A: &[u32] = &[
    0x7e00_0200,
    0x7e02_0201,
    0x7e04_0202,
    0x7e06_0203,
    0xdc50_0000,
    0x0400_0000,
    0xbf8c_0070,
    0xdc70_0000,
    0x0000_0402,
    0xbf81_0000,
];
/// The same.
const PROGRAM_1100: &[u32] = &[
    0x7e00_0200,
    0x7e02_0201,
    0x7e04_0202,
    0x7e06_0203,
    0xdc50_0000,
    0x047c_0000,
    0xbf89_0007,
    0xdc68_0000,
    0x007c_0402,
    0xbfb0_0000,
];

/// A queue of commands.
struct Compute {
    rig: Rig,
    queue: QueueHandle,
    ring: u64,
    /// Write index, and the read index behind it.
    indices: u64,
}

impl Compute {
    fn new(gpu: &str, mode: Mode) -> Self {
        Self::on(Rig::new(gpu, mode))
    }

    fn on(rig: Rig) -> Self {
        let ring = rig.alloc(RING, 4096);
        let indices = rig.alloc(64, 64);
        let request = QueueRequest {
            kind: QueueKind::Pm4,
            ring,
            ring_bytes: RING,
            write_index: indices,
            read_index: indices + 8,
            descriptor: 0,
            ..rig.queue_request()
        };
        let queue = rig.backend.create_queue(&request).expect("a queue").handle;
        Self {
            rig,
            queue,
            ring,
            indices,
        }
    }

    fn send(&self, dwords: &[u32]) {
        let write = load64(self.indices);
        for (index, dword) in (0u64..).zip(dwords) {
            store32(self.ring + (write + index) * 4 % RING, *dword);
        }
        let end = write + dwords.len() as u64;
        store64(self.indices, end);
        self.rig.backend.ring_doorbell(self.queue, end);
    }

    fn is_idle(&self) -> bool {
        u64::from(load32(self.indices + 8)) == load64(self.indices) % (RING / 4)
    }

    fn run(&self, dwords: &[u32]) {
        self.send(dwords);
        let idle = self.rig.until(|| self.is_idle());
        assert!(idle, "{:?}", self.rig.backend.last_faults());
    }

    fn refused(&self, dwords: &[u32]) -> (u32, &'static str) {
        self.send(dwords);
        let faults = || self.rig.backend.last_faults();
        assert!(self.rig.until(|| !faults().is_empty()));
        match faults().pop().expect("a report").cause {
            FaultCause::Packet(PacketError::Pm4 { command, why, .. }) => (command, why),
            other => panic!("{other:?}"),
        }
    }
}

fn list(packets: &[Packet]) -> Vec<u32> {
    packets.iter().flat_map(|p| p.emit().to_vec()).collect()
}

fn set(first: u32, values: &[u32]) -> Vec<u32> {
    let head = Packet::SetShReg(SetRegisters::shader(first, values.len() as u32));
    [head.emit(), values].concat()
}

/// What kfdtest's `Dispatch` puts in its indirect buffer.
fn dispatch(entry: u64, user_data: [u64; 2], grid: [u32; 3], gfx10: bool) -> Vec<u32> {
    let user: Vec<u32> = user_data
        .iter()
        .flat_map(|v| [*v as u32, (*v >> 32) as u32])
        .collect();
    let page = entry >> 8;
    let acquire = if gfx10 {
        Packet::AcquireMemGcr(AcquireMemGcr::all())
    } else {
        Packet::AcquireMem(AcquireMem::all())
    };
    let w32 = if gfx10 { initiator::W32 } else { 0 };
    let flags = initiator::SHADER_EN | initiator::THREAD_DIMENSIONS | w32;
    [
        list(&[acquire]),
        set(register::START, &[0, 0, 0, 1, 1, 1, 0, 0]),
        set(
            register::PGM,
            &[page as u32, (page >> 32) as u32, 0, 0, 0, 0],
        ),
        // 32 vector registers; 4 user SGPRs, a trap handler, the work-group's x, one id.
        set(
            register::PGM_RSRC1,
            &[0xc0 << 12 | 2 << 6 | 4, 4 << 1 | 1 << 6 | 1 << 7],
        ),
        // Of those all 32 are architectural ones, where there are others.
        set(register::PGM_RSRC3, &[7]),
        set(register::TMPRING_SIZE, &[0]),
        set(register::USER_DATA, &user),
        list(&[Packet::DispatchDirect(DispatchDirect::new(grid, flags))]),
    ]
    .concat()
}

#[test]
fn a_dispatch_runs_its_program_and_a_release_tells_of_its_end() {
    let programs: [(&str, bool, &[u32]); 2] = [
        ("gfx90a", false, PROGRAM_90A),
        ("gfx1100", true, PROGRAM_1100),
    ];
    for (gpu, gfx10, program) in programs {
        for mode in modes() {
            let config = SimConfig::parse(gpu).expect("a profile").mode(mode);
            let compute = Compute::on(Rig::on(SimBackend::new(config).expect("a system")));
            let rig = &compute.rig;
            let entry = rig.alloc(program.len() as u64 * 4, 256);
            for (index, dword) in (0u64..).zip(program) {
                store32(entry + index * 4, *dword);
            }
            let data = rig.alloc(16, 16);
            store32(data, 0xdead_beef);
            let event = rig
                .backend
                .create_event(EventKind::Signal)
                .expect("an event");
            let mailbox = rig.backend.mailbox(event);
            let mut commands = dispatch(entry, [data, data + 4], [1, 1, 1], gfx10);
            // Its end, the way kfdtest waits for it.
            let fence = rig.alloc(8, 8);
            commands.extend(list(&[
                Packet::ReleaseMem(ReleaseMem::write_64(fence, 0xdead_beef, 0)),
                Packet::WaitRegMem(WaitRegMem::equal(fence, 0xdead_beef)),
            ]));
            let buffer = rig.alloc(commands.len() as u64 * 4, 64);
            for (index, dword) in (0u64..).zip(&commands) {
                store32(buffer + index * 4, *dword);
            }
            let call = IndirectBuffer::new(buffer, commands.len() as u32);
            compute.send(&list(&[
                Packet::IndirectBuffer(call),
                Packet::ReleaseMem(ReleaseMem::write_64(mailbox, u64::from(event.0), event.0)),
            ]));
            let timeout = Timeout::At(rig.backend.now() + 20_000_000_000);
            let outcome = rig
                .backend
                .wait_events(&[event], WaitMode::Any, timeout, &mut |_| {});
            assert_eq!(
                outcome,
                Ok(EventOutcome::Raised),
                "{:?}",
                rig.backend.last_faults()
            );
            assert_eq!(load32(data + 4), 0xdead_beef, "{gpu}");
            assert!(rig.until(|| compute.is_idle()));
            assert_eq!(load64(mailbox), u64::from(event.0));
        }
    }
}

#[test]
fn dispatches_run_side_by_side_and_a_flush_waits_for_all() {
    for mode in modes() {
        let compute = Compute::new("gfx90a", mode);
        let rig = &compute.rig;
        let counter = rig.alloc(8, 8);
        let args = rig.args(&[counter]);
        let kernel = |code: &[[u32; 2]]| {
            let entry = rig.alloc(code.len() as u64 * 8, 256);
            for (i, word) in (0u64..).zip(code.iter().flatten()) {
                store32(entry + i * 4, *word);
            }
            entry
        };
        // The first waits for the second.
        let waits = kernel(&[[fake::SPIN_UNTIL, 1], [fake::ADD, 10], [fake::END, 0]]);
        let adds = kernel(&[[fake::ADD, 1], [fake::END, 0]]);
        let out = rig.alloc(8, 8);
        let flag = rig.alloc(8, 8);
        let mut commands = dispatch(waits, [args, 0], [1, 1, 1], false);
        commands.extend(dispatch(adds, [args, 0], [1, 1, 1], false));
        commands.extend(list(&[
            Packet::EventWrite(EventWrite::compute_flush()),
            Packet::AtomicMem(AtomicMem::new(AtomicOp::ADD_64, flag, 5)),
        ]));
        // What the atomic found, and what the counter was after the flush.
        let copy = |from: u32, source: u64, to: u64| {
            Packet::CopyData(CopyData {
                control: from | 5 << 8,
                source: Address::new(source),
                ..CopyData::clock(to)
            })
        };
        commands.extend(list(&[copy(6, 0, out + 4), copy(1, counter, out)]));
        store64(flag, 7);
        store32(out + 4, 99);
        compute.run(&commands);
        assert_eq!(load32(out), 11);
        assert_eq!((load32(out + 4), load64(flag)), (7, 12));
    }
}

#[test]
fn memory_commands_write_and_copy() {
    let compute = Compute::new("gfx90a", Mode::Step { seed: 1 });
    let rig = &compute.rig;
    let at = rig.alloc(4096, 64);
    let write = Packet::WriteData(WriteData::new(at, 3));
    compute.run(&[write.emit(), &[1, 2, 3]].concat());
    assert_eq!([0, 4, 8].map(|i| load32(at + i)), [1, 2, 3]);
    let dma = DmaData::copy(at + 100, at, 12);
    let fill = DmaData {
        control: 3 << 20 | 2 << 29,
        source: Address::new(0x55),
        ..DmaData::copy(at + 200, 0, 64)
    };
    let clock = CopyData::clock(at + 400);
    compute.run(&list(&[
        Packet::DmaData(dma),
        Packet::DmaData(fill),
        Packet::CopyData(clock),
    ]));
    assert_eq!([100, 104, 108].map(|i| load32(at + i)), [1, 2, 3]);
    assert!((0..16).all(|i| load32(at + 200 + i * 4) == 0x55));
    assert_eq!(load32(at + 264), 0);
    let now = rig.backend.counters(GPU).device;
    assert!(load64(at + 400) > 0 && load64(at + 400) <= now);
}

#[test]
fn the_ring_wraps_and_fillers_are_stepped_over() {
    for mode in modes() {
        let compute = Compute::new("gfx90a", mode);
        let at = compute.rig.alloc(8, 8);
        for round in 1..200u32 {
            let write = Packet::WriteData(WriteData::new(at, 1));
            let nop = Packet::Nop(Header::new(opcode::NOP, 5));
            let junk = [0x1234_5678; 5];
            compute.run(
                &[
                    &[0x8000_0000, 0xffff_1000],
                    nop.emit(),
                    &junk,
                    write.emit(),
                    &[round],
                ]
                .concat(),
            );
            assert_eq!(load32(at), round);
        }
    }
}

#[test]
fn commands_for_other_dies_are_skipped() {
    let compute = Compute::new("gfx90a", Mode::default());
    let at = compute.rig.alloc(8, 8);
    let write = |to| [Packet::WriteData(WriteData::new(to, 1)).emit(), &[9]].concat();
    let only = |dies: u32| {
        Packet::PredExec(PredExec {
            header: Header::new(opcode::PRED_EXEC, 1).0,
            select: 5 | dies << 24,
        })
    };
    compute.run(&[list(&[only(2)]), write(at), list(&[only(1)]), write(at + 4)].concat());
    assert_eq!([load32(at), load32(at + 4)], [0, 9]);
}

#[test]
fn a_wait_holds_back_what_follows() {
    for mode in modes() {
        let compute = Compute::new("gfx90a", mode);
        let at = compute.rig.alloc(8, 8);
        let write = Packet::WriteData(WriteData::new(at + 4, 1));
        compute.send(
            &[
                list(&[Packet::WaitRegMem(WaitRegMem::equal(at, 5))]),
                [write.emit(), &[8]].concat(),
            ]
            .concat(),
        );
        for _ in 0..200 {
            compute.rig.backend.relax();
        }
        assert_eq!(load32(at + 4), 0);
        store32(at, 5);
        assert!(compute.rig.until(|| load32(at + 4) == 8));
    }
}

#[test]
fn bad_commands_stop_the_queue_and_say_what_is_wrong() {
    let refused = |dwords: &[u32]| Compute::new("gfx90a", Mode::default()).refused(dwords);
    assert_eq!(refused(&[0x1234]).1, "is not a command of type 3");
    let unknown = Header::new(0x99, 2).0;
    assert_eq!(refused(&[unknown, 0, 0]), (unknown, "unknown operation"));
    let set = set(0x100, &[1]);
    assert!(refused(&set).1.contains("not of compute shaders"));
    assert!(
        refused(&set_end()).1.contains("not of compute shaders"),
        "runs past the last register"
    );
    let uconfig = [Header::new(opcode::SET_UCONFIG_REG, 2).0, 0, 0];
    assert!(refused(&uconfig).1.contains("SET_UCONFIG_REG"));
    assert!(
        refused(&[Header::new(opcode::RELEASE_MEM, 2).0, 0, 0])
            .1
            .contains("shorter")
    );
    assert!(
        refused(&[Header::new(opcode::NOP, 0x2000).0])
            .1
            .contains("longer than the ring")
    );
    let flags = initiator::SHADER_EN;
    let dispatch = Packet::DispatchDirect(DispatchDirect::new([1, 1, 1], flags));
    assert!(refused(dispatch.emit()).1.contains("cannot execute"));
}

fn set_end() -> Vec<u32> {
    set(register::END - 1, &[1, 2])
}

#[test]
fn a_wave_that_fails_stops_the_queue() {
    for mode in modes() {
        let compute = Compute::new("gfx90a", mode);
        let entry = compute.rig.alloc(256, 256);
        store32(entry, fake::ILLEGAL);
        compute.send(&dispatch(entry, [0, 0], [4, 1, 1], false));
        let faults = || compute.rig.backend.last_faults();
        assert!(compute.rig.until(|| !faults().is_empty()));
        let report = faults().pop().expect("a report");
        assert!(matches!(&report.cause, FaultCause::Wave(fault) if fault.pc == entry));
        compute
            .rig
            .backend
            .destroy_queue(compute.queue)
            .expect("destroyed");
    }
}

#[test]
fn destroying_a_queue_ends_a_program_that_never_does() {
    for mode in modes() {
        let compute = Compute::new("gfx90a", mode);
        let args = compute.rig.args(&[compute.rig.alloc(8, 8)]);
        let entry = compute.rig.alloc(256, 256);
        store32(entry, fake::SPIN_UNTIL);
        store32(entry + 4, 1);
        compute.send(&dispatch(entry, [args, 0], [1000, 1, 1], false));
        for _ in 0..100 {
            compute.rig.backend.relax();
        }
        compute
            .rig
            .backend
            .destroy_queue(compute.queue)
            .expect("destroyed");
    }
}

#[test]
fn a_buffer_of_an_aql_packet_waits_without_doing_anything_twice() {
    for mode in modes() {
        let rig = Rig::new("gfx90a", mode);
        let at = rig.alloc(16, 8);
        let commands = list(&[
            Packet::AtomicMem(AtomicMem::new(AtomicOp::ADD_64, at, 1)),
            Packet::WaitRegMem(WaitRegMem::equal(at + 8, 1)),
            Packet::AtomicMem(AtomicMem::new(AtomicOp::ADD_64, at, 10)),
        ]);
        let buffer = rig.alloc(commands.len() as u64 * 4, 64);
        for (index, dword) in (0u64..).zip(&commands) {
            store32(buffer + index * 4, *dword);
        }
        let call = IndirectBuffer::new(buffer, commands.len() as u32);
        let signal = rig.signal(1);
        let mut packet = Pm4IbPacket {
            header: AqlHeader::new(PacketType::VendorSpecific),
            amd_format: AmdFormat::Pm4Ib.bits(),
            completion_signal: signal,
            ..Pm4IbPacket::default()
        };
        packet
            .ib_jump
            .copy_from_slice(Packet::IndirectBuffer(call).emit());
        rig.submit(rukh_core::wire::aql::Packet::Pm4Ib(packet));
        assert!(rig.until(|| load64(at) == 1));
        for _ in 0..100 {
            rig.backend.relax();
        }
        assert_eq!((load64(at), rig.value(signal)), (1, 1));
        store32(at + 8, 1);
        assert!(rig.wait(signal, 0));
        assert_eq!(load64(at), 11);
    }
}
