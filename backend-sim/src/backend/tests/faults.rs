//! What goes wrong, and what the host is told of it.

use super::fake::{ADD, END, ILLEGAL, READ, SPIN_UNTIL, STORE_SGPRS};
use super::rig::*;
use crate::device::{FaultCause, PacketError, QueueCode};
use crate::mem::FaultReason;
use core::mem::offset_of;
use rukh_core::backend::*;
use rukh_core::wire::aql::*;
use rukh_core::wire::queue::{AmdQueue, QueueProperties};

/// Submits a packet that must stop the queue with a code, and leave its signal alone.
fn refused(change: impl Fn(&Rig, &mut KernelDispatchPacket), code: u64) -> Rig {
    let mut last = None;
    for mode in modes() {
        let rig = Rig::new("gfx90a", mode);
        let kernel = rig.plain_kernel(NOTHING);
        let signal = rig.signal(1);
        let mut packet = rig.packet(kernel, 64, 64);
        packet.completion_signal = signal;
        change(&rig, &mut packet);
        rig.submit(Packet::KernelDispatch(packet));
        assert!(
            rig.wait(rig.inactive, code as i64),
            "{mode:?}: {:?}",
            rig.backend.last_faults()
        );
        // The error event is raised after the code is stored.
        let outcome = rig.backend.wait_events(
            &[rig.error_event],
            WaitMode::Any,
            Timeout::At(rig.backend.now() + 5_000_000_000),
            &mut |_| {},
        );
        assert_eq!(outcome, Ok(EventOutcome::Raised));
        assert_eq!(rig.value(signal), 1);
        assert_eq!(rig.read_index(), 0);
        assert_eq!(rig.backend.last_faults().len(), 1);
        last = Some(rig);
    }
    last.expect("there are modes")
}

#[test]
fn packet_errors_have_the_codes_that_hosts_know() {
    refused(|_, p| p.setup = 0, 2);
    refused(|_, p| p.setup = 4, 2);
    refused(|_, p| p.group_segment_size = (64 << 10) + 1, 4);
    refused(|_, p| p.kernel_object = 0, 8);
    refused(|_, p| p.kernel_object += 4, 8);
    refused(|_, p| p.kernel_object = 0x1234_5678_0000, 8);
    refused(|_, p| p.workgroup_size[0] = 1025, 64);
    refused(|_, p| p.workgroup_size[0] = 0, 64);
    refused(
        |_, p| {
            p.setup = 3;
            p.workgroup_size = [64, 4, 8];
            p.grid_size = [64, 4, 8];
        },
        64,
    );
    refused(|_, p| p.grid_size[0] = 0, 64);
    refused(
        |_, p| {
            p.setup = 3;
            p.workgroup_size = [1, 1, 1];
            p.grid_size = [u32::MAX; 3];
        },
        64,
    );
    refused(|_, p| p.header = Header::new(PacketType::AgentDispatch), 32);
    refused(|_, p| p.header = Header::new(PacketType::Unknown(0x3f)), 32);
    refused(
        |_, p| {
            p.header = Header::new(PacketType::VendorSpecific);
            p.setup = 0x77;
        },
        256,
    );
    // 1024 work-items of 512 registers.
    let rig = refused(
        |rig, p| {
            p.kernel_object = rig.kernel(NOTHING, |d| {
                d.rsrc1 = d.rsrc1.with_granulated_workitem_vgpr_count(63);
            });
            p.workgroup_size[0] = 1024;
        },
        128,
    );
    let faults = rig.backend.last_faults();
    assert_eq!(
        faults[0].cause,
        FaultCause::Packet(PacketError::Registers {
            registers: 512,
            waves: 16
        })
    );
    assert_eq!((faults[0].agent, faults[0].queue), (GPU, rig.queue.handle));
}

#[test]
fn a_wave_of_32_lanes_is_no_kernel_of_gfx9() {
    refused(
        |rig, p| {
            p.kernel_object = rig.kernel(NOTHING, |d| {
                d.properties = d.properties.with_enable_wavefront_size32(true);
            });
        },
        8,
    );
}

#[test]
fn unknown_pm4_commands_are_named() {
    let rig = Rig::new("gfx90a", crate::Mode::Step { seed: 3 });
    let ib = rig.alloc(16, 16);
    store32(ib, 0xc000_9900);
    let packet = Pm4IbPacket {
        header: Header::new(PacketType::VendorSpecific),
        amd_format: AmdFormat::Pm4Ib.bits(),
        ib_jump: [0xc002_3f00, ib as u32, (ib >> 32) as u32, 2],
        ..Default::default()
    };
    rig.submit(Packet::Pm4Ib(packet));
    assert!(rig.wait(rig.inactive, 256));
    assert!(matches!(
        rig.backend.last_faults()[0].cause,
        FaultCause::Packet(PacketError::Pm4 {
            command: 0xc000_9900,
            offset: 0,
            ..
        })
    ));
}

#[test]
fn an_illegal_instruction_stops_the_queue_and_no_other() {
    for mode in modes() {
        let rig = Rig::new("gfx90a", mode);
        let kernel = rig.plain_kernel(&[[ILLEGAL, 0]]);
        let signal = rig.signal(1);
        let mut packet = rig.packet(kernel, 64 * 1000, 64);
        packet.completion_signal = signal;
        rig.submit(Packet::KernelDispatch(packet));
        assert!(rig.wait(rig.inactive, 0x4000_0000), "{mode:?}");
        assert_eq!(rig.value(signal), 1);
        let faults = rig.backend.last_faults();
        let FaultCause::Wave(fault) = &faults[0].cause else {
            panic!("{faults:?}");
        };
        assert_eq!(fault.kernel_object, kernel);
        // Destroying it works, and another queue runs on the same memory.
        rig.backend
            .destroy_queue(rig.queue.handle)
            .expect("destroyed");
        let rig = Rig::on_new_queue(rig);
        assert!(rig.run(rig.packet(rig.plain_kernel(NOTHING), 64, 64)));
    }
}

#[test]
fn a_memory_fault_is_reported_with_page_and_allocation() {
    for mode in modes() {
        let rig = Rig::new("gfx90a", mode);
        let event = rig
            .backend
            .create_event(EventKind::MemoryFault)
            .expect("an event");
        let victim = shared(&rig.backend, 8192);
        let address = victim.gpu_va + 4100;
        let target = rig.alloc(4, 4);
        rig.args(&[target, address]);
        let kernel = rig.plain_kernel(&[[READ, 0], [END, 0]]);
        assert!(rig.run(rig.packet(kernel, 64, 64)));
        // SAFETY: nothing on the host uses it.
        unsafe { rig.backend.free(victim.handle) }.expect("freed");
        let signal = rig.signal(1);
        let mut packet = rig.packet(kernel, 64, 64);
        packet.completion_signal = signal;
        rig.submit(Packet::KernelDispatch(packet));
        let mut reports = alloc::vec::Vec::new();
        let start = std::time::Instant::now();
        while reports.is_empty() && start.elapsed().as_secs() < 20 {
            rig.backend
                .wait_events(&[event], WaitMode::Any, Timeout::Never, &mut |r| {
                    reports.push(r)
                })
                .expect("a wait");
        }
        let info = MemoryFaultInfo {
            address: address & !4095,
            not_present: true,
            queue: Some(rig.queue.handle),
            ..Default::default()
        };
        assert_eq!(reports, [EventReport::Memory(GPU, info)], "{mode:?}");
        let faults = rig.backend.last_faults();
        let memory = faults[0].memory().expect("a memory fault");
        assert_eq!(
            (memory.address, memory.reason),
            (address, FaultReason::NotMapped)
        );
        let freed = memory.freed.expect("it was freed");
        assert_eq!((freed.base, freed.size), (victim.gpu_va, 8192));
        assert_eq!((rig.value(signal), rig.value(rig.inactive)), (1, 0));
    }
}

#[test]
fn a_completion_signal_that_is_none_is_a_memory_fault() {
    for mode in modes() {
        for handle in [0x1234_5678_0000u64, 24] {
            let rig = Rig::new("gfx90a", mode);
            let mut packet = rig.packet(rig.plain_kernel(NOTHING), 64, 64);
            packet.completion_signal = handle;
            rig.submit(Packet::KernelDispatch(packet));
            assert!(
                rig.until(|| !rig.backend.last_faults().is_empty()),
                "{mode:?}"
            );
            assert_eq!(
                rig.backend.last_faults()[0]
                    .memory()
                    .expect("memory")
                    .address,
                handle
            );
        }
    }
}

#[test]
fn a_dispatch_without_scratch_waits_until_the_host_has_provided_it() {
    for mode in modes() {
        let rig = Rig::new("gfx942", mode);
        let out = rig.alloc(64, 16);
        rig.args(&[out]);
        let kernel = rig.kernel(&[[STORE_SGPRS, 2], [END, 0]], |d| {
            d.rsrc2 = d.rsrc2.with_enable_private_segment(true);
        });
        let signal = rig.signal(1);
        let mut packet = rig.packet(kernel, 64, 64);
        packet.private_segment_size = 20;
        packet.completion_signal = signal;
        rig.submit(Packet::KernelDispatch(packet));
        assert!(
            rig.wait(rig.inactive, QueueCode::Scratch as i64),
            "{mode:?}"
        );
        for _ in 0..1000 {
            rig.backend.relax();
        }
        assert_eq!(rig.value(signal), 1);
        let scratch = shared(&rig.backend, 65536);
        rig.set_queue_field64(
            offset_of!(AmdQueue, scratch_backing_memory_location),
            scratch.gpu_va,
        );
        rig.set_queue_field64(
            offset_of!(AmdQueue, scratch_backing_memory_byte_size),
            65536,
        );
        rig.set_queue_field32(offset_of!(AmdQueue, scratch_wave64_lane_byte_size), 32);
        rig.set_queue_field32(offset_of!(AmdQueue, compute_tmpring_size), 32 | 2 << 12);
        rig.set_queue_field32(
            offset_of!(AmdQueue, queue_properties),
            QueueProperties::USE_SCRATCH_ONCE.bits(),
        );
        store64(rig.inactive + 8, 0);
        assert!(rig.wait(signal, 0), "{mode:?}");
        // The architected flat scratch register holds the wave's own memory.
        let flat = load64(out + 8);
        assert!((scratch.gpu_va..scratch.gpu_va + 65536).contains(&flat));
        assert_eq!((flat - scratch.gpu_va) % 2048, 0);
        // It served one dispatch: the host may take it back, and answers.
        assert!(
            rig.wait(rig.inactive, QueueCode::ScratchReclaim as i64),
            "{mode:?}"
        );
        rig.set_queue_field32(offset_of!(AmdQueue, compute_tmpring_size), 0);
        store64(rig.inactive + 8, 0);
        let next = rig.signal(1);
        packet.private_segment_size = 0;
        packet.completion_signal = next;
        rig.submit(Packet::KernelDispatch(packet));
        assert!(rig.wait(next, 0), "{mode:?}");
    }
}

#[test]
fn a_queue_with_work_under_way_can_be_destroyed() {
    for mode in modes() {
        let rig = Rig::new("gfx90a", mode);
        let flag = rig.alloc(4, 4);
        rig.args(&[flag]);
        let kernel = rig.plain_kernel(&[[SPIN_UNTIL, 1], [END, 0]]);
        let signal = rig.signal(1);
        let mut packet = rig.packet(kernel, u32::MAX, 64);
        packet.completion_signal = signal;
        rig.submit(Packet::KernelDispatch(packet));
        for _ in 0..100 {
            rig.backend.relax();
        }
        rig.backend
            .destroy_queue(rig.queue.handle)
            .expect("destroyed");
        assert_eq!(rig.value(signal), 1);
        assert_eq!(
            rig.backend.destroy_queue(rig.queue.handle),
            Err(QueueCreateError::NoQueue(rig.queue.handle))
        );
        // A stale doorbell is ignored.
        rig.backend.ring_doorbell(rig.queue.handle, 5);
        rig.backend.ring_doorbell(QueueHandle(u64::MAX), 5);
    }
}

#[test]
fn a_backend_with_work_under_way_can_be_dropped() {
    for mode in modes() {
        let rig = Rig::new("gfx90a", mode);
        let flag = rig.alloc(4, 4);
        rig.args(&[flag]);
        let kernel = rig.plain_kernel(&[[ADD, 0], [SPIN_UNTIL, 1], [END, 0]]);
        rig.submit(Packet::KernelDispatch(rig.packet(kernel, 1 << 20, 256)));
        for _ in 0..100 {
            rig.backend.relax();
        }
        drop(rig);
    }
}
