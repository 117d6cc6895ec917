//! SDMA queues: each packet, bad ones, and how queues share an engine.

use super::rig::{GPU, Rig, load32, load64, modes, store32, store64};
use crate::backend::Mode;
use crate::device::{FaultCause, PacketError};
use crate::sdma::SdmaError;
use alloc::vec::Vec;
use rukh_core::backend::*;
use rukh_core::wire::sdma::*;

const RING: u64 = 4096;

/// A queue of packets, and memory for them to work on.
struct Engine {
    rig: Rig,
    queue: QueueHandle,
    ring: u64,
    /// Write pointer, and the read pointer behind it.
    pointers: u64,
    generation: Generation,
}

impl Engine {
    fn new(gpu: &str, mode: Mode) -> Self {
        Self::on(Rig::new(gpu, mode), QueueKind::Sdma)
    }

    fn on(rig: Rig, kind: QueueKind) -> Self {
        let ring = rig.alloc(RING, 4096);
        let pointers = rig.alloc(64, 64);
        let request = QueueRequest {
            kind,
            ring,
            ring_bytes: RING,
            write_index: pointers,
            read_index: pointers + 8,
            descriptor: 0,
            ..rig.queue_request()
        };
        let queue = rig.backend.create_queue(&request).expect("a queue");
        let profile = rig.backend.gpu(GPU).expect("a GPU").profile;
        Self {
            queue: queue.handle,
            ring,
            pointers,
            generation: profile.sdma_generation(),
            rig,
        }
    }

    fn request(&self, kind: QueueKind) -> QueueRequest {
        QueueRequest {
            kind,
            ring: self.ring,
            ring_bytes: RING,
            write_index: self.pointers,
            read_index: self.pointers + 8,
            descriptor: 0,
            ..self.rig.queue_request()
        }
    }

    /// Puts dwords in the ring, wherever it stands, and rings.
    fn send(&self, dwords: &[u32]) {
        let write = load64(self.pointers);
        for (index, dword) in (0u64..).zip(dwords) {
            store32(self.ring + (write + index * 4) % RING, *dword);
        }
        let end = write + dwords.len() as u64 * 4;
        store64(self.pointers, end);
        self.rig.backend.ring_doorbell(self.queue, end);
    }

    fn write(&self, fill: impl FnOnce(&mut Writer<'_>)) {
        let mut buffer = [0; 1024];
        let mut writer = Writer::new(self.generation, &mut buffer);
        fill(&mut writer);
        self.send(writer.written());
    }

    fn is_idle(&self) -> bool {
        load64(self.pointers) == load64(self.pointers + 8)
    }

    fn run(&self, fill: impl FnOnce(&mut Writer<'_>)) {
        self.write(fill);
        let idle = self.rig.until(|| self.is_idle());
        assert!(idle, "{:?}", self.rig.backend.last_faults());
    }

    fn packet(&self, packet: Packet) {
        self.run(|w| w.packet(&packet).expect("space"));
    }

    fn pattern(&self, bytes: u64, seed: u32) -> u64 {
        let at = self.rig.alloc(bytes.next_multiple_of(4), 64);
        for index in 0..bytes.div_ceil(4) {
            let value = (index as u32).wrapping_mul(0x9e37_79b9) ^ seed;
            store32(at + index * 4, value);
        }
        at
    }

    fn bytes(&self, at: u64, bytes: u64) -> Vec<u8> {
        (0..bytes)
            .map(|i| (load32((at + i) & !3) >> ((at + i) % 4 * 8)) as u8)
            .collect()
    }

    /// The error that a packet stops the queue with.
    fn refused(mut self, dwords: &[u32]) -> (Self, SdmaError) {
        self.send(dwords);
        let faults = || self.rig.backend.last_faults();
        assert!(self.rig.until(|| !faults().is_empty()));
        let report = faults().pop().expect("a report");
        assert_eq!(report.queue, self.queue);
        let FaultCause::Packet(PacketError::Sdma { header, error, .. }) = report.cause else {
            panic!("{report}");
        };
        assert_eq!(header, dwords[0]);
        // Nothing more happens on it.
        let read = load64(self.pointers + 8);
        self.send(&[0; 4]);
        for _ in 0..100 {
            self.rig.backend.relax();
        }
        assert_eq!(load64(self.pointers + 8), read);
        self.rig = Rig::on_new_queue(self.rig);
        (self, error)
    }
}

#[test]
fn a_copy_of_any_size_and_alignment_copies_exactly_that() {
    for mode in modes() {
        for gpu in ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"] {
            let engine = Engine::new(gpu, mode);
            for (bytes, offset) in [(1, 0), (3, 1), (64, 2), (4096, 3), (70_001, 5)] {
                let from = engine.pattern(bytes + 8, 7);
                let to = engine.pattern(bytes + 16, 99);
                let (before, after) = (engine.bytes(to, 4), engine.bytes(to + 4 + bytes, 4));
                engine.run(|w| w.copy(to + 4, from + offset, bytes).expect("space"));
                assert_eq!(
                    engine.bytes(to + 4, bytes),
                    engine.bytes(from + offset, bytes)
                );
                assert_eq!(engine.bytes(to, 4), before);
                assert_eq!(engine.bytes(to + 4 + bytes, 4), after);
            }
        }
    }
}

#[test]
fn a_large_copy_lets_others_have_turns_and_step_mode_is_the_same_each_time() {
    let run = || {
        let engine = Engine::new("gfx90a", Mode::Step { seed: 3 });
        let big = super::rig::shared(&engine.rig.backend, 16 << 20).gpu_va;
        let stamp = engine.rig.alloc(16, 8);
        engine.write(|w| {
            w.timestamp(stamp).expect("space");
            w.copy(big + (8 << 20), big, 8 << 20).expect("space");
            w.timestamp(stamp + 8).expect("space");
        });
        let mut steps = 0;
        while !engine.is_idle() {
            assert!(engine.rig.backend.step());
            steps += 1;
        }
        (steps, load64(stamp + 8) - load64(stamp))
    };
    let (steps, ticks) = run();
    assert!(steps > 8, "{steps}");
    assert!(ticks > 0);
    assert_eq!(run(), (steps, ticks));
}

#[test]
fn a_backwards_copy_moves_up_within_a_buffer() {
    let engine = Engine::new("gfx1100", Mode::Step { seed: 1 });
    let at = engine.pattern(9000, 5);
    let expected = engine.bytes(at, 8000);
    let mut copy = CopyLinear::new(at + 100, at, 8000);
    copy.header |= 1 << 25;
    engine.packet(Packet::CopyLinear(copy));
    assert_eq!(engine.bytes(at + 100, 8000), expected);
}

#[test]
fn a_broadcast_arrives_twice() {
    let engine = Engine::new("gfx90a", Mode::default());
    let from = engine.pattern(1000, 1);
    let to = [engine.pattern(1000, 2), engine.pattern(1000, 3)];
    engine.packet(Packet::CopyBroadcast(CopyBroadcast::new(to, from, 1000)));
    let expected = engine.bytes(from, 1000);
    assert_eq!(
        to.map(|to| engine.bytes(to, 1000)),
        [expected.clone(), expected]
    );
}

#[test]
fn a_rectangle_is_cut_out_of_pitched_images() {
    for gpu in ["gfx90a", "gfx1030", "gfx1201"] {
        let engine = Engine::new(gpu, Mode::default());
        for element_log2 in 0..=4 {
            let rect = Rect {
                element_log2,
                source: RectSide {
                    base: engine.pattern(40 * 30 * 4 * 16, 11),
                    at: [3, 2, 1],
                    pitch: 40,
                    slice: 40 * 30,
                },
                destination: RectSide {
                    base: engine.pattern(20 * 25 * 4 * 16, 12),
                    at: [1, 4, 0],
                    pitch: 20,
                    slice: 20 * 25,
                },
                size: [17, 9, 2],
            };
            let bytes = (20 * 25 * 2) << element_log2;
            let element = |side: &RectSide, x: u64, y: u64, z: u64| {
                let [fx, fy, fz] = side.at.map(u64::from);
                side.base
                    + (((z + fz) * side.slice + (y + fy) * side.pitch + x + fx) << element_log2)
            };
            let mut expected = engine.bytes(rect.destination.base, bytes);
            for (x, y, z) in
                (0..17).flat_map(|x| (0..9).flat_map(move |y| (0..2).map(move |z| (x, y, z))))
            {
                let from = engine.bytes(element(&rect.source, x, y, z), 1 << element_log2);
                let to = (element(&rect.destination, x, y, z) - rect.destination.base) as usize;
                expected[to..to + from.len()].copy_from_slice(&from);
            }
            let packet = CopyRect::new(&rect, engine.generation).expect("fits");
            engine.packet(Packet::CopyRect(packet));
            assert_eq!(
                engine.bytes(rect.destination.base, bytes),
                expected,
                "{gpu} {element_log2}"
            );
        }
    }
}

#[test]
fn fills_write_patterns_of_each_size() {
    let engine = Engine::new("gfx90a", Mode::default());
    let at = engine.pattern(4096, 1);
    let last = load32(at + 4000);
    engine.run(|w| w.fill(at, 0x1234_5678, 1000).expect("space"));
    assert!((0..1000).all(|i| load32(at + i * 4) == 0x1234_5678));
    assert_eq!(load32(at + 4000), last);
    for (log2, address, count) in [(0, at + 1, 6), (1, at + 2, 5)] {
        engine.run(|w| w.fill(at, 0x1234_5678, 2).expect("space"));
        let mut fill = ConstantFill::new(address, 0, 1);
        fill.header = 11 | log2 << 30;
        fill.data = if log2 == 0 { 0xab } else { 0xcdab };
        fill.count = count;
        engine.packet(Packet::ConstantFill(fill));
        let found = engine.bytes(at, 8);
        let mut model: Vec<u8> = [0x78, 0x56, 0x34, 0x12, 0x78, 0x56, 0x34, 0x12].into();
        let pattern: &[u8] = if log2 == 0 { &[0xab] } else { &[0xab, 0xcd] };
        let start = (address - at) as usize;
        for (i, byte) in model[start..]
            .iter_mut()
            .enumerate()
            .take(count as usize + 1)
        {
            *byte = pattern[i % pattern.len()];
        }
        assert_eq!(found, model);
    }
}

#[test]
fn written_dwords_may_run_over_the_rings_end() {
    for mode in modes() {
        let engine = Engine::new("gfx90a", mode);
        let at = engine.pattern(4096, 1);
        engine.run(|w| w.pad(RING / 4 - 10).expect("space"));
        let data: Vec<u32> = (100..150).collect();
        engine.run(|w| w.write(at, &data).expect("space"));
        assert!((0..50).all(|i| load32(at + i * 4) == 100 + i as u32));
        // A NOP that steps over what stands behind it, over the end again.
        engine.run(|w| w.pad(RING / 4 - 20).expect("space"));
        let mut nop = [0xffff_ffff; 30];
        nop[0] = Nop::new(29).header;
        engine.send(&nop);
        assert!(engine.rig.until(|| engine.is_idle()));
    }
}

#[test]
fn a_packet_that_is_not_whole_is_waited_for() {
    let engine = Engine::new("gfx90a", Mode::Step { seed: 1 });
    let fence = engine.rig.alloc(8, 8);
    let mut buffer = [0; 8];
    let mut writer = Writer::new(engine.generation, &mut buffer);
    writer.fence(fence, 77).expect("space");
    let dwords = writer.written();
    engine.send(&dwords[..2]);
    while engine.rig.backend.step() {}
    assert_eq!((load64(engine.pointers + 8), load32(fence)), (0, 0));
    engine.send(&dwords[2..]);
    while engine.rig.backend.step() {}
    assert_eq!((load64(engine.pointers + 8), load32(fence)), (16, 77));
}

#[test]
fn what_amds_runtime_sends_completes_a_signal_after_its_dependency() {
    for mode in modes() {
        let engine = Engine::new("gfx90a", mode);
        let (signal, event) = engine.rig.event_signal(1);
        let dependency = engine.rig.signal(1);
        let from = engine.pattern(5000, 1);
        let to = engine.pattern(5000, 2);
        engine.write(|w| {
            w.wait_for_zero(dependency + 8).expect("space");
            w.timestamp(signal + 0x20).expect("space");
            w.flush_host_data_path().expect("space");
            w.copy(to, from, 5000).expect("space");
            w.timestamp(signal + 0x28).expect("space");
            w.add_64(signal + 8, -1).expect("space");
            w.fence(load64(signal + 0x10), event.0).expect("space");
            w.trap(event.0).expect("space");
        });
        for _ in 0..200 {
            engine.rig.backend.relax();
        }
        assert_eq!(engine.rig.value(signal), 1);
        assert_ne!(engine.bytes(to, 5000), engine.bytes(from, 5000));
        store64(dependency + 8, 0);
        let outcome = engine.rig.backend.wait_events(
            &[event],
            WaitMode::Any,
            Timeout::At(engine.rig.backend.now() + 20_000_000_000),
            &mut |_| {},
        );
        assert_eq!(outcome, Ok(EventOutcome::Raised));
        assert_eq!(engine.rig.value(signal), 0);
        assert_eq!(engine.bytes(to, 5000), engine.bytes(from, 5000));
        let (start, end) = (load64(signal + 0x20), load64(signal + 0x28));
        assert!(start > 0 && end >= start, "{start} {end}");
    }
}

#[test]
fn atomics_change_memory_as_their_codes_say() {
    let engine = Engine::new("gfx90a", Mode::default());
    let at = engine.rig.alloc(16, 8);
    for code in 0..0x80u8 {
        let Some(op) = AtomicOp::from_code(code) else {
            continue;
        };
        store64(at, 0xffff_fff0_8000_0003);
        store64(at + 8, 0x1122_3344_5566_7788);
        let mut atomic = Atomic::new(op, at, 5);
        atomic.header = atomic.header & !(0x7f << 25) | u32::from(code) << 25;
        atomic.compare = Address::new(0xffff_fff0_8000_0003);
        engine.packet(Packet::Atomic(atomic));
        let expected = match op.width {
            AtomicWidth::Bits64 => op.apply(0xffff_fff0_8000_0003, 5, atomic.compare.get()),
            AtomicWidth::Bits32 => {
                0xffff_fff0 << 32 | op.apply(0x8000_0003, 5, atomic.compare.get())
            }
        };
        assert_eq!(load64(at), expected, "{op:?}");
        assert_eq!(load64(at + 8), 0x1122_3344_5566_7788);
    }
}

#[test]
fn a_comparison_that_loops_waits_for_its_value() {
    for mode in modes() {
        let engine = Engine::new("gfx90a", mode);
        let at = engine.rig.alloc(8, 8);
        let op = AtomicOp {
            operation: AtomicOperation::CompareSwap,
            width: AtomicWidth::Bits32,
        };
        let mut atomic = Atomic::new(op, at, 9);
        atomic.header |= 1 << 16;
        atomic.compare = Address::new(4);
        engine.write(|w| w.packet(&Packet::Atomic(atomic)).expect("space"));
        for _ in 0..100 {
            engine.rig.backend.relax();
        }
        assert!(!engine.is_idle());
        store32(at, 4);
        assert!(engine.rig.until(|| engine.is_idle()));
        assert_eq!(load32(at), 9);
    }
}

#[test]
fn polls_compare_as_their_function_says() {
    let engine = Engine::new("gfx90a", Mode::Step { seed: 1 });
    let at = engine.rig.alloc(8, 8);
    type Comparison = fn(u32, u32) -> bool;
    let holds: [(u32, Comparison); 6] = [
        (1, |a, b| a < b),
        (2, |a, b| a <= b),
        (3, |a, b| a == b),
        (4, |a, b| a != b),
        (5, |a, b| a >= b),
        (6, |a, b| a > b),
    ];
    for (function, holds) in holds {
        for value in [4, 5, 6] {
            store32(at, value | 0xab00);
            let mut poll = Poll::equal(at, 5);
            poll.header = poll.header & !(7 << 28) | function << 28;
            poll.mask = 0xff;
            engine.write(|w| w.packet(&Packet::Poll(poll)).expect("space"));
            for _ in 0..20 {
                engine.rig.backend.step();
            }
            assert_eq!(engine.is_idle(), holds(value, 5), "{function} {value}");
            for free in 0..=10 {
                store32(at, free);
                for _ in 0..20 {
                    engine.rig.backend.step();
                }
            }
            assert!(engine.is_idle());
        }
    }
}

#[test]
fn clocks_are_the_engines_and_the_devices() {
    let engine = Engine::new("gfx90a", Mode::Step { seed: 1 });
    let at = engine.rig.alloc(32, 8);
    engine.packet(Packet::TimestampSet(TimestampSet {
        header: 13,
        value: Address::new(1 << 60),
    }));
    let get = Timestamp {
        header: 13 | 1 << 8,
        address: Address::new(at),
    };
    engine.packet(Packet::TimestampGet(get));
    engine.packet(Packet::TimestampGlobal(Timestamp::global(at + 8)));
    let (own, global) = (load64(at), load64(at + 8));
    assert!((1 << 60..(1 << 60) + 1_000_000).contains(&own), "{own:#x}");
    let now = engine.rig.backend.counters(GPU).device;
    assert!(global <= now && now - global < 1_000_000);
}

#[test]
fn an_indirect_buffer_runs_and_a_condition_skips() {
    for mode in modes() {
        let engine = Engine::new("gfx90a", mode);
        let out = engine.rig.alloc(64, 64);
        let flag = engine.rig.alloc(8, 8);
        store32(flag, 1);
        let condition = |reference| {
            Packet::CondExe(CondExe {
                header: 9,
                address: Address::new(flag),
                reference,
                count: 4,
            })
        };
        let mut buffer = [0; 64];
        let mut writer = Writer::new(engine.generation, &mut buffer);
        writer.packet(&condition(1)).expect("space");
        writer.fence(out, 1).expect("space");
        writer.packet(&condition(2)).expect("space");
        writer.fence(out + 4, 2).expect("space");
        writer.fence(out + 8, 3).expect("space");
        let dwords = writer.written();
        let at = engine.rig.alloc(dwords.len() as u64 * 4, 32);
        for (index, dword) in (0u64..).zip(dwords) {
            store32(at + index * 4, *dword);
        }
        let call = Indirect::new(at, dwords.len() as u32);
        engine.packet(Packet::Indirect(call));
        assert_eq!([0, 4, 8].map(|i| load32(out + i)), [1, 0, 3]);
        engine.run(|w| {
            w.packet(&condition(2)).expect("space");
            w.fence(out + 12, 4).expect("space");
            w.fence(out + 16, 5).expect("space");
        });
        assert_eq!([12, 16].map(|i| load32(out + i)), [0, 5]);
    }
}

#[test]
fn caches_are_flushed_where_there_are_any() {
    let engine = Engine::new("gfx1100", Mode::default());
    engine.run(|w| {
        w.caches(true).expect("space");
        w.caches(false).expect("space");
    });
    assert_eq!(load64(engine.pointers + 8), 40);
    let gcr = Packet::Gcr(Gcr::all(true));
    let (_, error) = Engine::new("gfx90a", Mode::default()).refused(gcr.emit());
    let unknown = ParseError::Unknown {
        opcode: 17,
        sub_opcode: 1,
    };
    assert_eq!(error, SdmaError::Packet(unknown));
}

#[test]
fn bad_packets_stop_the_queue_and_say_what_is_wrong() {
    let refused = |dwords: &[u32]| Engine::new("gfx90a", Mode::default()).refused(dwords).1;
    assert!(matches!(
        refused(&[0xdead_beef]),
        SdmaError::Packet(ParseError::Unknown {
            opcode: 0xef,
            sub_opcode: 0xbe
        })
    ));
    assert!(matches!(
        refused(&[14, 0, 0]),
        SdmaError::Packet(ParseError::Privileged { name: "SRBM_WRITE" })
    ));
    assert!(matches!(
        refused(&[7, 0, 0]),
        SdmaError::NotSupported { .. }
    ));
    assert!(matches!(
        refused(&[Nop::new(0x3fff).header]),
        SdmaError::TooLong { dwords: 0x4000, .. }
    ));
    assert!(matches!(
        refused(&[5, 2, 0, 0]),
        SdmaError::Misaligned {
            address: 2,
            align: 4,
            ..
        }
    ));
    assert!(matches!(
        refused(&[10, 0, 0, 0, 0, 0, 0, 0]),
        SdmaError::AtomicCode { code: 0 }
    ));
    assert!(matches!(
        refused(&[11 | 3 << 30, 0, 0, 0, 0]),
        SdmaError::Reserved { .. }
    ));
    let engine = Engine::new("gfx90a", Mode::default());
    let at = engine.rig.alloc(8, 8);
    let mut poll = Poll::equal(at, 1);
    poll.interval = 3 << 16;
    let (_, error) = engine.refused(Packet::Poll(poll).emit());
    assert_eq!(error, SdmaError::PollTimeout { retries: 3 });
    // An indirect buffer within one.
    let engine = Engine::new("gfx90a", Mode::default());
    let at = engine.rig.alloc(64, 64);
    let call = Packet::Indirect(Indirect::new(at, 6));
    for (index, dword) in (0u64..).zip(call.emit()) {
        store32(at + index * 4, *dword);
    }
    let (_, error) = engine.refused(call.emit());
    assert!(matches!(error, SdmaError::NotSupported { .. }));
}

#[test]
fn a_write_pointer_that_is_none_stops_the_queue() {
    for (write, fine) in [
        (RING, true),
        (RING + 4, false),
        (2, false),
        (u64::MAX, false),
    ] {
        let engine = Engine::new("gfx90a", Mode::default());
        store64(engine.pointers, write);
        engine.rig.backend.ring_doorbell(engine.queue, 0);
        let faults = || engine.rig.backend.last_faults();
        assert!(
            engine
                .rig
                .until(|| engine.is_idle() || !faults().is_empty())
        );
        assert_eq!(faults().is_empty(), fine, "{write:#x}");
    }
}

#[test]
fn an_address_that_is_nowhere_is_a_memory_fault_at_its_first_page() {
    for mode in modes() {
        let engine = Engine::new("gfx90a", mode);
        let event = engine
            .rig
            .backend
            .create_event(EventKind::MemoryFault)
            .expect("an event");
        let block = super::rig::shared(&engine.rig.backend, 8192).gpu_va;
        let beyond = (block..).step_by(4096).find(|va| {
            let view = engine.rig.backend.system.map.view(GPU.0);
            view.lookup(*va).is_none()
        });
        let beyond = beyond.expect("memory ends");
        engine.write(|w| w.copy(beyond - 100, block, 200).expect("space"));
        let mut reports = Vec::new();
        let timeout = Timeout::At(engine.rig.backend.now() + 20_000_000_000);
        let raised = engine
            .rig
            .backend
            .wait_events(&[event], WaitMode::Any, timeout, &mut |r| reports.push(r));
        assert_eq!(raised, Ok(EventOutcome::Raised));
        let [EventReport::Memory(GPU, info)] = reports[..] else {
            panic!("{reports:?}");
        };
        assert_eq!((info.address, info.queue), (beyond, Some(engine.queue)));
        assert!(info.not_present);
        assert_eq!(load64(engine.pointers + 8), 0);
    }
}

#[test]
fn engines_have_so_many_queues_and_take_them_back() {
    let engine = Engine::new("gfx90a", Mode::default());
    let create = |kind| engine.rig.backend.create_queue(&engine.request(kind));
    let profile = engine.rig.backend.gpu(GPU).expect("a GPU").profile;
    let all = profile.sdma_engines * profile.sdma_queues_per_engine();
    let mut queues = Vec::new();
    for _ in 1..all {
        queues.push(create(QueueKind::Sdma).expect("a queue").handle);
    }
    assert!(matches!(
        create(QueueKind::Sdma),
        Err(QueueCreateError::NoneLeft { limit, .. }) if limit == all
    ));
    assert!(create(QueueKind::SdmaEngine(profile.sdma_engines)).is_ok());
    assert!(matches!(
        create(QueueKind::SdmaEngine(1000)),
        Err(QueueCreateError::NoSuchKind { .. })
    ));
    engine
        .rig
        .backend
        .destroy_queue(queues[3])
        .expect("destroyed");
    assert!(create(QueueKind::Sdma).is_ok());
}

#[test]
fn an_inactive_queue_keeps_its_packets() {
    let engine = Engine::new("gfx90a", Mode::default());
    let at = engine.rig.alloc(8, 8);
    let update = |active| {
        let update = QueueUpdate {
            active,
            priority: QueuePriority::Normal,
        };
        engine
            .rig
            .backend
            .update_queue(engine.queue, &update)
            .expect("updated");
    };
    update(false);
    engine.write(|w| w.fence(at, 1).expect("space"));
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert_eq!(load32(at), 0);
    update(true);
    assert!(engine.rig.until(|| load32(at) == 1));
}
