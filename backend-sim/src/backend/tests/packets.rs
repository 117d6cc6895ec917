//! Packets: order, dependencies, completion.

use super::fake::{ADD, END, SPIN_UNTIL, STORE_SGPRS};
use super::rig::*;
use core::mem::offset_of;
use rukh_core::backend::*;
use rukh_core::wire::aql::*;
use rukh_core::wire::queue::{AmdQueue, QueueProperties};
use rukh_core::wire::signal::AmdSignal;

fn barrier(kind: PacketType, deps: &[u64], completion: u64) -> BarrierPacket {
    let mut packet = BarrierPacket {
        header: Header::new(kind),
        completion_signal: completion,
        ..Default::default()
    };
    packet.dep_signal[..deps.len()].copy_from_slice(deps);
    packet
}

#[test]
fn a_dispatch_runs_and_its_slot_is_given_back_before_the_host_is_told() {
    for mode in modes() {
        let rig = Rig::new("gfx90a", mode);
        let counter = rig.alloc(4, 4);
        rig.args(&[counter]);
        let kernel = rig.plain_kernel(&[[ADD, 3], [END, 0]]);
        for round in 0..3 * PACKETS {
            assert!(rig.run(rig.packet(kernel, 64 * 5, 64)), "{mode:?}");
            assert_eq!(load32(counter), 15 * (round as u32 + 1));
            assert_eq!(rig.read_index(), round + 1);
            assert_eq!(rig.header(round), Header::INVALID.0);
        }
    }
}

#[test]
fn packets_published_out_of_order_wait_for_their_turn() {
    for mode in modes() {
        let rig = Rig::new("gfx90a", mode);
        let counter = rig.alloc(4, 4);
        rig.args(&[counter]);
        let kernel = rig.plain_kernel(&[[ADD, 1], [END, 0]]);
        store64(rig.queue_request().write_index, 2);
        let (first, second) = (rig.signal(1), rig.signal(1));
        let mut packet = rig.packet(kernel, 64, 64);
        packet.completion_signal = second;
        rig.fill(1, Packet::KernelDispatch(packet));
        rig.backend.ring_doorbell(rig.queue.handle, 1);
        for _ in 0..1000 {
            rig.backend.relax();
        }
        assert_eq!(rig.value(second), 1);
        packet.completion_signal = first;
        rig.fill(0, Packet::KernelDispatch(packet));
        rig.backend.ring_doorbell(rig.queue.handle, 0);
        assert!(rig.wait(first, 0) && rig.wait(second, 0), "{mode:?}");
    }
}

#[test]
fn without_the_barrier_bit_dispatches_run_beside_each_other() {
    for mode in modes() {
        let rig = Rig::new("gfx90a", mode);
        let flag = rig.alloc(4, 4);
        rig.args(&[flag]);
        let waits = rig.plain_kernel(&[[SPIN_UNTIL, 1], [END, 0]]);
        let sets = rig.plain_kernel(&[[ADD, 1], [END, 0]]);
        let (first, second) = (rig.signal(1), rig.signal(1));
        let mut packet = rig.packet(waits, 64, 64);
        packet.completion_signal = first;
        rig.submit(Packet::KernelDispatch(packet));
        let mut packet = rig.packet(sets, 64, 64);
        packet.header = packet.header.barrier(false);
        packet.completion_signal = second;
        rig.submit(Packet::KernelDispatch(packet));
        assert!(rig.wait(second, 0) && rig.wait(first, 0), "{mode:?}");
        assert!(rig.until(|| rig.read_index() == 2));
    }
}

#[test]
fn the_barrier_bit_waits_for_earlier_packets() {
    for mode in modes() {
        let rig = Rig::new("gfx90a", mode);
        let flag = rig.alloc(4, 4);
        rig.args(&[flag]);
        let waits = rig.plain_kernel(&[[SPIN_UNTIL, 1], [END, 0]]);
        let (first, second) = (rig.signal(1), rig.signal(1));
        let mut packet = rig.packet(waits, 64, 64);
        packet.completion_signal = first;
        rig.submit(Packet::KernelDispatch(packet));
        packet.completion_signal = second;
        rig.submit(Packet::KernelDispatch(packet));
        for _ in 0..1000 {
            rig.backend.relax();
        }
        assert_eq!((rig.value(first), rig.value(second)), (1, 1));
        store32(flag, 1);
        assert!(rig.wait(second, 0), "{mode:?}");
        assert_eq!(rig.value(first), 0);
    }
}

#[test]
fn barrier_and_waits_for_all_and_barrier_or_for_any() {
    for mode in modes() {
        let rig = Rig::new("gfx1100", mode);
        let (a, b) = (rig.signal(1), rig.signal(1));
        let (or, and, none) = (rig.signal(1), rig.signal(1), rig.signal(1));
        rig.submit(Packet::BarrierOr(barrier(
            PacketType::BarrierOr,
            &[a, 0, b],
            or,
        )));
        rig.submit(Packet::BarrierAnd(barrier(
            PacketType::BarrierAnd,
            &[a, 0, b],
            and,
        )));
        rig.submit(Packet::BarrierAnd(barrier(
            PacketType::BarrierAnd,
            &[],
            none,
        )));
        for _ in 0..1000 {
            rig.backend.relax();
        }
        assert_eq!(rig.value(or), 1);
        // Nobody tells the device that the host has changed a signal.
        store64(b + 8, 0);
        assert!(rig.wait(or, 0), "{mode:?}");
        for _ in 0..1000 {
            rig.backend.relax();
        }
        assert_eq!((rig.value(and), rig.value(none)), (1, 1));
        store64(a + 8, 0);
        assert!(rig.wait(and, 0) && rig.wait(none, 0), "{mode:?}");
    }
}

#[test]
fn barrier_value_compares_the_masked_value() {
    for mode in modes() {
        let rig = Rig::new("gfx90a", mode);
        let (dep, done) = (rig.signal(0x105), rig.signal(1));
        let packet = BarrierValuePacket {
            header: Header::new(PacketType::VendorSpecific),
            amd_format: AmdFormat::BarrierValue.bits(),
            signal: dep,
            value: 6,
            mask: 0xff,
            condition: 3,
            completion_signal: done,
            ..Default::default()
        };
        rig.submit(Packet::BarrierValue(packet));
        for _ in 0..1000 {
            rig.backend.relax();
        }
        assert_eq!(rig.value(done), 1);
        store64(dep + 8, 0x206);
        assert!(rig.wait(done, 0), "{mode:?}");
    }
}

#[test]
fn completion_raises_the_signals_event_by_its_mailbox() {
    for mode in modes() {
        let rig = Rig::new("gfx90a", mode);
        let (signal, event) = rig.event_signal(1);
        let kernel = rig.plain_kernel(NOTHING);
        let mut packet = rig.packet(kernel, 1, 1);
        packet.completion_signal = signal;
        rig.submit(Packet::KernelDispatch(packet));
        while rig.value(signal) != 0 {
            let outcome =
                rig.backend
                    .wait_events(&[event], WaitMode::Any, Timeout::Never, &mut |_| {});
            assert!(outcome.is_ok());
        }
        assert_eq!(load64(rig.backend.mailbox(event)), u64::from(event.0));
    }
}

#[test]
fn times_are_written_when_profiling_is_on() {
    for mode in modes() {
        let rig = Rig::new("gfx90a", mode);
        let kernel = rig.plain_kernel(NOTHING);
        let start = rig.backend.counters(GPU).device;
        for profiling in [false, true] {
            if profiling {
                let properties = QueueProperties::ENABLE_PROFILING.bits();
                rig.set_queue_field32(offset_of!(AmdQueue, queue_properties), properties);
            }
            let signal = rig.signal(1);
            let mut packet = rig.packet(kernel, 640, 64);
            packet.completion_signal = signal;
            rig.submit(Packet::KernelDispatch(packet));
            assert!(rig.wait(signal, 0));
            let began = load64(signal + offset_of!(AmdSignal, start_ts) as u64);
            let ended = load64(signal + offset_of!(AmdSignal, end_ts) as u64);
            if profiling {
                let now = rig.backend.counters(GPU).device;
                assert!(start <= began && began <= ended && ended <= now, "{mode:?}");
            } else {
                assert_eq!((began, ended), (0, 0));
            }
        }
    }
}

#[test]
fn pm4_commands_invalidate_code_and_write_memory() {
    for mode in modes() {
        let rig = Rig::new("gfx90a", mode);
        let target = rig.alloc(8, 8);
        let commands = [
            0xc005_5800,
            0,
            0,
            0,
            0,
            0,
            0,           // ACQUIRE_MEM
            0x8000_0000, // one dword of nothing
            0xffff_1000, // NOP without a body
            0xc003_3700,
            5 << 8,
            target as u32,
            (target >> 32) as u32,
            77,
        ];
        let ib = rig.alloc(commands.len() as u64 * 4, 16);
        for (i, word) in commands.iter().enumerate() {
            store32(ib + 4 * i as u64, *word);
        }
        let done = rig.signal(1);
        let packet = Pm4IbPacket {
            header: Header::new(PacketType::VendorSpecific).barrier(true),
            amd_format: AmdFormat::Pm4Ib.bits(),
            ib_jump: [
                0xc002_3f00,
                ib as u32,
                (ib >> 32) as u32,
                commands.len() as u32 | 1 << 23,
            ],
            dw_count_remain: 10,
            completion_signal: done,
            ..Default::default()
        };
        rig.submit(Packet::Pm4Ib(packet));
        assert!(rig.wait(done, 0), "{mode:?}");
        assert_eq!(load32(target), 77);
    }
}

#[test]
fn user_and_system_sgprs_stand_in_their_order() {
    let rig = Rig::new("gfx90a", rig_step());
    let out = rig.alloc(256, 16);
    let args = rig.args(&[out, 0x1234]);
    let count = 16;
    let kernel = rig.kernel(&[[STORE_SGPRS, count], [END, 0]], |d| {
        // The fake executor reads the kernarg pointer from the first SGPRs: it comes first.
        d.properties = d
            .properties
            .with_enable_sgpr_dispatch_id(true)
            .with_enable_sgpr_flat_scratch_init(true)
            .with_enable_sgpr_private_segment_size(true);
        d.kernarg_preload = d.kernarg_preload.with_length(2).with_offset(2);
        d.rsrc2 = d
            .rsrc2
            .with_user_sgpr_count(10)
            .with_enable_sgpr_workgroup_id_y(true)
            .with_enable_sgpr_workgroup_info(true);
        // Preloading skips the first 256 bytes.
        d.kernel_code_entry_byte_offset -= 256;
    });
    rig.set_queue_field64(
        offset_of!(AmdQueue, scratch_backing_memory_location),
        0x7700_0000_1000,
    );
    let mut packet = rig.packet(kernel, 64, 64);
    packet.setup = 2;
    packet.workgroup_size = [32, 3, 1];
    packet.grid_size = [32, 3, 1];
    packet.private_segment_size = 5;
    assert!(rig.run(packet));
    let sgprs: alloc::vec::Vec<u32> = (0..count).map(|i| load32(out + 4 * u64::from(i))).collect();
    let expected = [
        args as u32,
        (args >> 32) as u32,
        0, // dispatch id
        0,
        0x1000, // scratch
        0x7700,
        8,      // private segment size, in whole dwords
        0x1234, // preloaded
        0,
        0, // user SGPRs that nothing was put in
        0, // work-group x
        0, // work-group y
        1 << 31 | 2,
    ];
    // The second wave may have written last: the first of the group is marked alone.
    assert_eq!(sgprs[..12], expected[..12]);
    assert_eq!(sgprs[12] & 0x7fff_ffff, 2);
}

fn rig_step() -> crate::backend::Mode {
    crate::backend::Mode::Step { seed: 5 }
}
