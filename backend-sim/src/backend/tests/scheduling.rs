//! Grids, work-groups and waves.

use super::fake::{ADD, ADD_LDS, BARRIER, COUNT_LDS, END, MESSAGE, SPIN_UNTIL, STORE_IDS};
use super::rig::*;
use crate::Mode;
use rukh_core::backend::*;
use rukh_core::wire::aql::Packet;

#[test]
fn every_work_item_runs_once_and_partial_work_groups_are_cut() {
    for mode in modes() {
        for (list, grid, group) in [
            ("gfx90a", 1000, 64),
            ("gfx90a", 1000, 100),
            ("gfx1100", 77, 33),
            ("gfx900", 1, 256),
            ("gfx1201", 513, 512),
        ] {
            let rig = Rig::new(list, mode);
            let out = rig.alloc(4096 + 4 * u64::from(grid), 64);
            for i in 0..grid + 1024 {
                store32(out + 4 * u64::from(i), 0xffff_ffff);
            }
            rig.args(&[out]);
            let wave32 = list.starts_with("gfx1");
            let kernel = rig.kernel(&[[STORE_IDS, u32::from(group)], [END, 0]], |d| {
                d.properties = d.properties.with_enable_wavefront_size32(wave32);
            });
            // Work-group ids are in TTMP registers there; the fake executor knows them anyway.
            assert!(rig.run(rig.packet(kernel, grid, group)), "{mode:?}");
            for i in 0..grid {
                let id = load32(out + 4 * u64::from(i));
                assert_eq!(id, i % u32::from(group), "{list} {mode:?} item {i}");
            }
            for i in grid..grid + 1024 {
                assert_eq!(
                    load32(out + 4 * u64::from(i)),
                    0xffff_ffff,
                    "beyond the grid"
                );
            }
        }
    }
}

#[test]
fn waves_of_a_work_group_meet_at_barriers() {
    for mode in modes() {
        let rig = Rig::new("gfx90a", mode);
        let out = rig.alloc(4, 4);
        rig.args(&[out]);
        let code = [
            [COUNT_LDS, 0],
            [BARRIER, 0],
            [ADD_LDS, 0],
            [BARRIER, 0],
            [END, 0],
        ];
        let kernel = rig.plain_kernel(&code);
        let mut packet = rig.packet(kernel, 512 * 10, 512);
        packet.group_segment_size = 16;
        assert!(rig.run(packet));
        // 10 work-groups of 8 waves: each wave sees all 8, and fresh LDS.
        assert_eq!(load32(out), 10 * 8 * 8, "{mode:?}");
    }
}

#[test]
fn all_work_groups_that_the_device_holds_make_progress_together() {
    for mode in [
        Mode::Threads { workers: 2 },
        Mode::Threads { workers: 1 },
        Mode::Step { seed: 7 },
    ] {
        let rig = Rig::new("gfx90a", mode);
        let flag = rig.alloc(4, 4);
        rig.args(&[flag]);
        // As many work-groups as compute units wait for each other.
        let groups = 104;
        let kernel = rig.plain_kernel(&[[ADD, 1], [SPIN_UNTIL, groups], [END, 0]]);
        assert!(rig.run(rig.packet(kernel, 64 * groups, 64)), "{mode:?}");
    }
}

#[test]
fn residency_is_that_of_the_device() {
    let rig = Rig::new("gfx90a", Mode::Threads { workers: 2 });
    let flag = rig.alloc(4, 4);
    rig.args(&[flag]);
    // 64 KiB of LDS: one work-group per compute unit.
    let kernel = rig.plain_kernel(&[[ADD, 1], [SPIN_UNTIL, 1000], [END, 0]]);
    let signal = rig.signal(1);
    let mut packet = rig.packet(kernel, 64 * 200, 64);
    packet.group_segment_size = 64 << 10;
    packet.completion_signal = signal;
    rig.submit(Packet::KernelDispatch(packet));
    assert!(rig.until(|| load32(flag) == 104));
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert_eq!(load32(flag), 104);
    store32(flag, 1000);
    assert!(rig.wait(signal, 0));
}

#[test]
fn a_message_raises_the_event_that_it_names() {
    for mode in modes() {
        let rig = Rig::new("gfx90a", mode);
        let event = rig
            .backend
            .create_event(EventKind::Signal)
            .expect("an event");
        let out = rig.alloc(4, 4);
        rig.args(&[out, u64::from(event.0)]);
        let kernel = rig.plain_kernel(&[[MESSAGE, 1], [END, 0]]);
        assert!(rig.run(rig.packet(kernel, 1, 1)));
        let outcome = rig
            .backend
            .wait_events(&[event], WaitMode::Any, Timeout::Poll, &mut |_| {});
        assert_eq!(outcome, Ok(EventOutcome::Raised));
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let trace = |seed| {
        let rig = Rig::new("gfx90a", Mode::Step { seed });
        let out = rig.alloc(8192, 64);
        rig.args(&[out]);
        let kernel = rig.plain_kernel(&[[ADD, 1], [SPIN_UNTIL, 7], [END, 0]]);
        assert!(rig.run(rig.packet(kernel, 64 * 16, 64)));
        rig.backend.now()
    };
    assert_eq!(trace(4), trace(4));
    assert_ne!(trace(4), trace(5));
}

#[test]
fn two_gpus_and_two_queues_do_not_disturb_each_other() {
    for mode in modes() {
        let rig = Rig::new("gfx90a,gfx1100", mode);
        let flag = rig.alloc(4, 4);
        rig.args(&[flag]);
        let spin = rig.plain_kernel(&[[SPIN_UNTIL, 1], [END, 0]]);
        let signal = rig.signal(1);
        let mut packet = rig.packet(spin, 64 * 4, 64);
        packet.completion_signal = signal;
        rig.submit(Packet::KernelDispatch(packet));
        let other = rig.second_queue(AgentId(2));
        let sets = rig.plain_kernel(&[[ADD, 1], [END, 0]]);
        let mut packet = rig.packet(sets, 1, 1);
        packet.completion_signal = rig.signal(1);
        other.publish(&rig, packet);
        assert!(rig.wait(packet.completion_signal, 0), "{mode:?}");
        assert!(rig.wait(signal, 0), "{mode:?}");
    }
}
