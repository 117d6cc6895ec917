//! Calls about GPUs that are not there, and handles of nothing.

use super::BAD;
use super::replay::{Replay, request};
use rukh_core::kfd::KfdPort;
use rukh_core::kfd::uapi::*;
use zerocopy::IntoBytes;

const EINVAL: i32 = 22;

pub fn ioctls_of_a_gpu<P: KfdPort>(r: &mut Replay<'_, P>, gpu_id: u32) {
    let of = |label: &str| format!("{label} gpu={gpu_id:#x}");
    let mut a = AvailableMemory {
        available: 0x5a,
        gpu_id,
        pad: 0,
    };
    let answer = r.call(&mut a);
    r.answer(
        &of("AVAILABLE_MEMORY"),
        answer,
        &format!("avail={:x}", a.available),
    );
    let vram = AllocMemoryOfGpu {
        va_addr: 0x1000_0000,
        size: 4096,
        gpu_id,
        flags: (AllocFlags::VRAM | AllocFlags::WRITABLE).bits(),
        ..AllocMemoryOfGpu::default()
    };
    r.plain(&of("ALLOC_MEMORY_OF_GPU VRAM"), vram);
    r.plain(&of("ALLOC size=0"), AllocMemoryOfGpu { size: 0, ..vram });
    let user = AllocMemoryOfGpu {
        mmap_offset: 0x1000_0000,
        flags: AllocFlags::USERPTR.bits(),
        ..vram
    };
    r.plain(&of("ALLOC USERPTR"), user);
    let queue = CreateQueue {
        ring_base_address: 0x10000,
        ring_size: 4096,
        gpu_id,
        queue_type: queue_type::COMPUTE_AQL,
        queue_percentage: 100,
        queue_priority: 7,
        write_pointer_address: 0x20000,
        read_pointer_address: 0x20080,
        ..CreateQueue::default()
    };
    let mut a = queue;
    let answer = r.call(&mut a);
    r.answer(
        &of("CREATE_QUEUE AQL"),
        answer,
        &format!("qid={} db={:x}", a.queue_id, a.doorbell_offset),
    );
    for (label, argument) in [
        (
            "CREATE_QUEUE pct=101",
            CreateQueue {
                queue_percentage: 101,
                ..queue
            },
        ),
        (
            "CREATE_QUEUE ring=3000",
            CreateQueue {
                ring_size: 3000,
                ..queue
            },
        ),
        (
            "CREATE_QUEUE ring_base=0",
            CreateQueue {
                ring_base_address: 0,
                ..queue
            },
        ),
        (
            "CREATE_QUEUE ring_base=bad",
            CreateQueue {
                ring_base_address: BAD,
                ..queue
            },
        ),
        (
            "CREATE_QUEUE type=9",
            CreateQueue {
                queue_type: 9,
                ..queue
            },
        ),
        (
            "CREATE_QUEUE prio=16",
            CreateQueue {
                queue_priority: 16,
                ..queue
            },
        ),
    ] {
        r.plain(&of(label), argument);
    }
    let policy = SetMemoryPolicy {
        gpu_id,
        ..SetMemoryPolicy::default()
    };
    r.plain(&of("SET_MEMORY_POLICY"), policy);
    r.plain(
        &of("SET_MEMORY_POLICY bad policy"),
        SetMemoryPolicy {
            default_policy: 9,
            ..policy
        },
    );
    r.plain(
        &of("SET_SCRATCH_BACKING_VA"),
        SetScratchBackingVa {
            va_addr: 0,
            gpu_id,
            pad: 0,
        },
    );
    let mut tiles = [0u8; 40];
    tiles[24..28].copy_from_slice(&gpu_id.to_ne_bytes());
    let answer = r.raw(request(3, 0x12, 40), &mut tiles);
    r.answer(&of("GET_TILE_CONFIG"), answer, "");
    r.plain(
        &of("SET_TRAP_HANDLER"),
        SetTrapHandler {
            gpu_id,
            ..SetTrapHandler::default()
        },
    );
    r.plain(
        &of("ACQUIRE_VM drm_fd=-1"),
        AcquireVm {
            drm_fd: u32::MAX,
            gpu_id,
        },
    );
    r.plain(&of("ACQUIRE_VM drm_fd=0"), AcquireVm { drm_fd: 0, gpu_id });
    let mut a = SmiEvents {
        gpuid: gpu_id,
        anon_fd: u32::MAX,
    };
    let answer = r.call(&mut a);
    r.answer(
        &of("SMI_EVENTS"),
        answer,
        &format!("fd={}", a.anon_fd as i32),
    );
    for (label, dmabuf_fd) in [("IMPORT_DMABUF fd=-1", u32::MAX), ("IMPORT_DMABUF fd=0", 0)] {
        r.plain(
            &of(label),
            ImportDmabuf {
                gpu_id,
                dmabuf_fd,
                ..ImportDmabuf::default()
            },
        );
    }
}

pub fn handles<P: KfdPort>(r: &mut Replay<'_, P>) {
    r.plain("FREE_MEMORY handle=0", FreeMemoryOfGpu { handle: 0 });
    r.plain(
        "FREE_MEMORY handle=bogus",
        FreeMemoryOfGpu {
            handle: 0xdead_beef,
        },
    );
    let ids = [0u32; 4];
    let pointer = ids.as_ptr().expose_provenance() as u64;
    let map = |n_devices, n_success, pointer| MapMemoryToGpu {
        handle: 0xdead_beef,
        device_ids_array_ptr: pointer,
        n_devices,
        n_success,
    };
    let unmap = |n_devices| UnmapMemoryFromGpu {
        handle: 0xdead_beef,
        device_ids_array_ptr: pointer,
        n_devices,
        n_success: 0,
    };
    r.plain("MAP n_devices=0", map(0, 0, pointer));
    let mut a = map(1, 0, pointer);
    let answer = r.call(&mut a);
    r.answer(
        "MAP n=1 bogus",
        answer,
        &format!("n_success={}", a.n_success),
    );
    r.plain("MAP n_success>n_devices", map(1, 2, pointer));
    r.plain("MAP ids ptr NULL", map(1, 0, 0));
    r.plain("UNMAP n=1 bogus", unmap(1));
    r.plain("UNMAP n=0", unmap(0));
    for queue_id in [0, 5] {
        r.plain(
            &format!("DESTROY_QUEUE {queue_id}"),
            DestroyQueue { queue_id, pad: 0 },
        );
    }
    r.plain(
        "UPDATE_QUEUE 0",
        UpdateQueue {
            ring_size: 4096,
            queue_percentage: 100,
            ..UpdateQueue::default()
        },
    );
    let mask = |num_cu_mask| SetCuMask {
        queue_id: 0,
        num_cu_mask,
        cu_mask_ptr: pointer,
    };
    for bits in [0, 33] {
        r.plain(&format!("SET_CU_MASK n={bits}"), mask(bits));
    }
    r.plain("SET_CU_MASK n=32 q=0", mask(32));
    r.plain("GET_QUEUE_WAVE_STATE", GetQueueWaveState::default());
    r.plain("GET_DMABUF_INFO fd=0", GetDmabufInfo::default());
    r.plain(
        "ALLOC_QUEUE_GWS",
        AllocQueueGws {
            num_gws: 1,
            ..AllocQueueGws::default()
        },
    );
    for op in 0..3 {
        let a = Svm {
            start_addr: 0x1000,
            size: 0x1000,
            op,
            nattr: 1,
        };
        // The attributes follow the argument, and count for its size.
        let mut bytes = [0u8; 32];
        bytes[..24].copy_from_slice(a.as_bytes());
        let answer = r.raw(request(3, 0x20, 32), &mut bytes);
        r.answer(&format!("SVM op={op} nattr=1"), answer, "");
        let without = r.raw(request(3, 0x20, 24), &mut bytes);
        r.check(without == Err(EINVAL), "attributes must be within the size");
    }
    r.plain("SVM start=0 size=0 nattr=0", Svm::default());
    for mode in [-1, 0, 1] {
        let mut a = SetXnackMode {
            xnack_enabled: mode,
        };
        let answer = r.call(&mut a);
        r.answer(
            &format!("SET_XNACK_MODE {mode}"),
            answer,
            &format!("out={}", a.xnack_enabled),
        );
    }
    for op in [0u32, 1, 2, 3, 5] {
        let mut a = [0u8; 56];
        a[44..48].copy_from_slice(&std::process::id().to_ne_bytes());
        a[48..52].copy_from_slice(&op.to_ne_bytes());
        let answer = r.raw(request(3, 0x22, 56), &mut a);
        let word = |at: usize| u32::from_ne_bytes(a[at..at + 4].try_into().unwrap());
        let more = format!(
            "ndev={} nbo={} nobj={} priv={} pid={}",
            word(32),
            word(36),
            word(40),
            word(24),
            word(44)
        );
        r.answer(&format!("CRIU_OP {op}"), answer, &more);
        if op == 3 {
            // It would have the kernel follow a null pointer.
            r.line("CRIU_OP 4 (RESUME) SKIPPED (kernel NULL deref)");
        }
    }
    for (nr, label) in [
        (0x0d, "DBG_REGISTER_DEPRECATED"),
        (0x0e, "DBG_UNREGISTER_DEPRECATED"),
        (0x0f, "DBG_ADDRESS_WATCH_DEPR"),
        (0x10, "DBG_WAVE_CONTROL_DEPR"),
    ] {
        let answer = r.raw(request(1, nr, 16), &mut [0; 16]);
        r.answer(label, answer, "");
    }
    r.plain("EXPORT_DMABUF (0x24)", ExportDmabuf::default());
    for (label, mode_mask, shown) in [
        ("RUNTIME_ENABLE enable", 1, true),
        ("RUNTIME_ENABLE enable again", 1, false),
        ("RUNTIME_ENABLE disable", 0, false),
    ] {
        let mut a = RuntimeEnable {
            mode_mask,
            ..RuntimeEnable::default()
        };
        let answer = r.call(&mut a);
        let more = if shown {
            format!("caps={}", a.capabilities_mask)
        } else {
            String::new()
        };
        r.answer(label, answer, &more);
    }
    let mut trap = [0u8; 32];
    trap[..4].copy_from_slice(&std::process::id().to_ne_bytes());
    let answer = r.raw(request(3, 0x26, 32), &mut trap);
    r.answer("DBG_TRAP enable self", answer, "");
}
