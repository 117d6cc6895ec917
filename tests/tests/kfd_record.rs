//! The KFD face on a machine without GPUs answers as Linux 6.12 did there, line for line.
//!
//! `tests/records/kfd-ioctl-6.12.txt` is what a real kernel answered to a program; the calls are made again in its order, and
//! each answer is looked for under its label. What is not repeated, since it is not the port's: opening, `read`, `write`,
//! `poll`, `lseek`, `fcntl`, 32-bit calls, signals that interrupt a wait, `fork` and `exec`, files of `/sys`, times.

use rukh_backend_sim::SimConfig;
use rukh_backend_sim::kfd::KfdFace;
use rukh_core::kfd::uapi::*;
use rukh_core::kfd::{KfdFile, KfdPort, Mapping, Protection};
use std::ptr::NonNull;
use std::thread;
use std::time::{Duration, Instant};

const RECORD: &str = include_str!("../records/kfd-ioctl-6.12.txt");
const EVENTS: u64 = 2 << 62;
/// Lines of the record that are compared.
const COMPARED: usize = 0;
/// No address of a process's.
const BAD: u64 = 0xffff_8000_0000_0000;

fn name(errno: i32) -> String {
    let name = match errno {
        1 => "EPERM",
        4 => "EINTR",
        5 => "EIO",
        9 => "EBADF",
        12 => "ENOMEM",
        14 => "EFAULT",
        16 => "EBUSY",
        19 => "ENODEV",
        22 => "EINVAL",
        25 => "ENOTTY",
        28 => "ENOSPC",
        other => return other.to_string(),
    };
    name.into()
}

/// Makes calls and looks their answers up.
struct Replay<'f> {
    face: &'f KfdFace,
    file: KfdFile,
    lines: Vec<&'static str>,
    at: usize,
    compared: usize,
    wrong: Vec<String>,
}

/// Without what depends on the machine.
fn without_times(text: &str) -> String {
    let words = text.split_whitespace();
    words
        .filter(|word| {
            !word.starts_with("t=") && !word.starts_with("cpu=") && !word.starts_with("sys=")
        })
        .collect::<Vec<_>>()
        .join(" ")
}

impl Replay<'_> {
    fn said(&mut self, label: &str, answer: &str) {
        let found = self.lines[self.at..].iter().position(|line| {
            let rest = line.trim_start().strip_prefix(label);
            rest.is_some_and(|rest| rest.starts_with(' '))
        });
        let Some(found) = found else {
            self.wrong
                .push(format!("{label}: not in the record any more"));
            return;
        };
        let line = self.lines[self.at + found].trim_start();
        self.at += found + 1;
        self.compared += 1;
        let expected = without_times(&line[label.len()..]);
        let expected = expected.split(" (").next().unwrap_or("");
        if expected != without_times(answer) {
            self.wrong
                .push(format!("{label}: the kernel {expected}, the face {answer}"));
        }
    }

    fn answer(&mut self, label: &str, answer: Result<(), i32>, more: &str) {
        let text = match answer {
            Ok(()) => format!("ret=0 errno=0 {more}"),
            Err(errno) => format!("ret=-1 errno={} {more}", name(errno)),
        };
        self.said(label, &text);
    }

    fn raw(&self, request: u32, argument: &mut [u8]) -> Result<(), i32> {
        // SAFETY: whatever pointers there are come from this test, and are valid or refused by their number.
        unsafe { self.face.ioctl_raw(self.file, request, argument) }
    }

    fn call<A: Ioctl>(&self, argument: &mut A) -> Result<(), i32> {
        self.raw(A::INFO.request, argument.as_mut_bytes())
    }

    /// A call whose answer is its error alone.
    fn plain<A: Ioctl>(&mut self, label: &str, mut argument: A) {
        let answer = self.call(&mut argument);
        self.answer(label, answer, "");
    }

    fn version(&mut self, label: &str, request: u32) {
        let mut bytes = [0u8; 32];
        bytes[..8].copy_from_slice(&[9, 0, 0, 0, 9, 0, 0, 0]);
        let answer = self.raw(request, &mut bytes);
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
        let tail = if request >> 16 & 0x3fff == 32 {
            format!(" {}", word(8))
        } else {
            String::new()
        };
        self.answer(label, answer, &format!("v={}.{}{tail}", word(0), word(4)));
    }

    fn create(&mut self, label: &str, kind: u32, auto_reset: bool, page: u64, node: u32) -> u32 {
        let mut a = CreateEvent {
            event_page_offset: page,
            event_trigger_data: 0xaaaa,
            event_type: kind,
            auto_reset: u32::from(auto_reset),
            node_id: node,
            event_id: 0xbbbb,
            event_slot_index: 0xcccc,
        };
        let answer = self.call(&mut a);
        let more = format!(
            "off={:#x} trig={:#x} id={:#x} slot={:#x}",
            a.event_page_offset, a.event_trigger_data, a.event_id, a.event_slot_index
        );
        self.answer(label, answer, &more);
        a.event_id
    }

    fn map(
        &mut self,
        label: &str,
        offset: u64,
        size: usize,
        protection: Protection,
    ) -> Option<NonNull<u8>> {
        let mapping = Mapping {
            file: Some(self.file),
            offset,
            size,
            protection,
            fixed: None,
        };
        // SAFETY: not fixed.
        let answer = unsafe { self.face.map(&mapping) };
        let text = match &answer {
            Ok(_) => "ok errno=0".into(),
            Err(error) => format!("MAP_FAILED errno={}", name(error.errno())),
        };
        self.said(label, &text);
        answer.ok()
    }

    fn set(&mut self, label: &str, event_id: u32) {
        self.plain(label, SetEvent { event_id, pad: 0 });
    }

    fn reset(&mut self, label: &str, event_id: u32) {
        self.plain(label, ResetEvent { event_id, pad: 0 });
    }

    fn wait(&mut self, label: &str, ids: &[u32], all: bool, timeout: u32) {
        let (answer, a, age) = wait(self.face, self.file, ids, all, timeout);
        let more = format!(
            "wait_result={} timeout_out={:#x} age={age}",
            a.wait_result, a.timeout
        );
        self.answer(label, answer, &more);
    }

    /// A wait, during which another thread does something.
    fn wait_while(
        &mut self,
        label: &str,
        ids: &[u32],
        all: bool,
        timeout: u32,
        then: impl FnOnce(&KfdFace, KfdFile) + Send,
    ) {
        let (face, file) = (self.face, self.file);
        thread::scope(|scope| {
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(30));
                then(face, file);
            });
            self.wait(label, ids, all, timeout);
        });
    }
}

fn wait(
    face: &KfdFace,
    file: KfdFile,
    ids: &[u32],
    all: bool,
    timeout: u32,
) -> (Result<(), i32>, WaitEvents, u64) {
    let event = |id: &u32| EventData {
        event_id: *id,
        ..EventData::default()
    };
    let mut list: Vec<EventData> = ids.iter().map(event).collect();
    let mut a = WaitEvents {
        events_ptr: list.as_mut_ptr().expose_provenance() as u64,
        num_events: list.len() as u32,
        wait_for_all: u32::from(all),
        timeout,
        wait_result: 0,
    };
    // SAFETY: pointer and length are of one vector.
    let answer = unsafe { face.ioctl_raw(file, WaitEvents::INFO.request, a.as_mut_bytes()) };
    (answer, a, list.first().map_or(0, |data| data.data[0]))
}

fn set(face: &KfdFace, file: KfdFile, event_id: u32) {
    let mut a = SetEvent { event_id, pad: 0 };
    // SAFETY: no pointers.
    unsafe { face.ioctl_raw(file, SetEvent::INFO.request, a.as_mut_bytes()) }.unwrap();
}

fn destroy(face: &KfdFace, file: KfdFile, event_id: u32) {
    let mut a = DestroyEvent { event_id, pad: 0 };
    // SAFETY: no pointers.
    unsafe { face.ioctl_raw(file, DestroyEvent::INFO.request, a.as_mut_bytes()) }.unwrap();
}

use zerocopy::IntoBytes;

fn request(direction: u32, nr: u32, size: u32) -> u32 {
    direction << 30 | size << 16 | u32::from(IOCTL_BASE) << 8 | nr
}

fn dispatcher(r: &mut Replay<'_>) {
    r.plain("GET_VERSION on O_RDONLY fd", GetVersion::default());
    r.version("GET_VERSION", GetVersion::INFO.request);
    let answer = r.raw(GetVersion::INFO.request, &mut []);
    r.answer("GET_VERSION arg=NULL", answer, "");
    r.version("GET_VERSION cmd size=4", request(2, 1, 4));
    r.version("GET_VERSION cmd size=32", request(2, 1, 32));
    r.version("GET_VERSION cmd dir=none", request(0, 1, 0));
    r.version("GET_VERSION cmd dir=_IOW", request(1, 1, 8));
    r.version(
        "nr=1 magic='Z'",
        GetVersion::INFO.request & !0xff00 | 0x5a00,
    );
    for nr in [0x00, 0x24, 0x27, 0x7f, 0x80] {
        let answer = r.raw(request(3, nr, 16), &mut [0; 16]);
        r.answer(&format!("nr={nr:#04x}"), answer, "");
    }
    let answer = r.raw(0x541b, &mut []);
    r.answer("FIONREAD", answer, "");
}

fn queries(r: &mut Replay<'_>) {
    let mut old = [0u8; 400];
    let answer = r.raw(request(2, 6, 400), &mut old);
    let word = |at: usize| u32::from_ne_bytes(old[at..at + 4].try_into().unwrap());
    r.answer(
        "GET_PROCESS_APERTURES",
        answer,
        &format!("num={} gpu_id0={:#x}", word(392), word(48)),
    );
    for (label, count, pointer) in [
        ("GET_PROCESS_APERTURES_NEW n=4", 4, true),
        ("GET_PROCESS_APERTURES_NEW n=0", 0, true),
        ("GET_PROCESS_APERTURES_NEW n=2 ptr=0", 2, false),
    ] {
        let mut list = [ProcessDeviceApertures {
            gpu_id: 0x5a5a_5a5a,
            ..ProcessDeviceApertures::default()
        }; 4];
        let mut a = GetProcessAperturesNew {
            kfd_process_device_apertures_ptr: if pointer {
                list.as_mut_ptr().expose_provenance() as u64
            } else {
                0
            },
            num_of_nodes: count,
            pad: 0,
        };
        let answer = r.call(&mut a);
        let first = if count == 4 {
            format!(" gpu_id0={:#x}", list[0].gpu_id)
        } else {
            String::new()
        };
        r.answer(label, answer, &format!("num={}{first}", a.num_of_nodes));
    }
    for gpu_id in [0, 0xdead] {
        let mut a = GetClockCounters {
            gpu_id,
            ..GetClockCounters::default()
        };
        let answer = r.call(&mut a);
        assert!(a.cpu_clock_counter != 0 && a.system_clock_counter >= a.cpu_clock_counter);
        let more = format!("gpu={} freq={}", a.gpu_clock_counter, a.system_clock_freq);
        let label = if gpu_id == 0 {
            "GET_CLOCK_COUNTERS gpu=0"
        } else {
            "GET_CLOCK_COUNTERS gpu=0xdead"
        };
        r.answer(label, answer, &more);
    }
    r.map(
        "mmap EVENTS 32768 before event",
        EVENTS,
        32768,
        Protection::ReadWrite,
    );
    r.map("mmap off=0 (MMIO type)", 0, 4096, Protection::ReadWrite);
    r.map("mmap DOORBELL type", 3 << 62, 8192, Protection::ReadWrite);
    r.map(
        "mmap RESERVED_MEM type",
        1 << 62,
        4096,
        Protection::ReadWrite,
    );
}

fn events(r: &mut Replay<'_>) {
    r.create(
        "CREATE_EVENT signal page_offset=0x1234 (dGPU pg)",
        0,
        false,
        0x1234,
        0,
    );
    let e1 = r.create("CREATE_EVENT signal #1", 0, false, 0, 0);
    let e2 = r.create("CREATE_EVENT signal auto_reset #2", 0, true, 0, 0);
    let mut of_type_5 = 0;
    for kind in 1..=9 {
        let id = r.create(&format!("CREATE_EVENT type={kind}"), kind, false, 0, 0);
        if kind == 5 {
            of_type_5 = id;
        }
    }
    let e3 = r.create("CREATE_EVENT signal node_id=77", 0, false, 0, 77);
    let page = r.map(
        "mmap EVENTS 32768 RW SHARED",
        EVENTS,
        32768,
        Protection::ReadWrite,
    );
    // SAFETY: the page is mapped for so many words, and nobody writes it now.
    let slots = unsafe { page.unwrap().cast::<[u64; 4096]>().as_ref() };
    assert!(slots.iter().all(|slot| *slot == u64::MAX));
    r.map("mmap EVENTS 2nd time", EVENTS, 32768, Protection::ReadWrite);
    r.map(
        "mmap EVENTS 4096 (short)",
        EVENTS,
        4096,
        Protection::ReadWrite,
    );
    r.map(
        "mmap EVENTS 65536 (long)",
        EVENTS,
        65536,
        Protection::ReadWrite,
    );
    r.map("mmap EVENTS PROT_READ", EVENTS, 32768, Protection::Read);
    // As many bytes as are left of the page: that is how many slots there are from then on.
    r.map(
        "mmap EVENTS off+4096",
        EVENTS | 4096,
        28672,
        Protection::ReadWrite,
    );
    r.create(
        "CREATE_EVENT page_offset!=0 after page exists",
        0,
        false,
        0x1234,
        0,
    );

    r.wait("WAIT 1 unsignaled timeout=0", &[e1], false, 0);
    let begun = Instant::now();
    r.wait("WAIT 1 unsignaled timeout=20", &[e1], false, 20);
    assert!(begun.elapsed() >= Duration::from_millis(20));
    r.wait("WAIT num_events=0 timeout=20", &[], true, 20);
    r.wait("WAIT num_events=0 all=0 timeout=20", &[], false, 20);
    r.set("SET_EVENT e1", e1);
    assert_eq!(slots[e1 as usize], u64::MAX, "the slot is the device's");
    r.wait("WAIT e1 set timeout=0", &[e1], false, 0);
    r.wait("WAIT e1 again (manual reset)", &[e1], false, 0);
    r.set("SET_EVENT e1 again", e1);
    r.reset("RESET_EVENT e1", e1);
    r.wait("WAIT e1 after reset timeout=0", &[e1], false, 0);
    r.reset("RESET_EVENT e1 again", e1);
    r.set("SET_EVENT e2(auto)", e2);
    r.wait("WAIT e2(auto)", &[e2], false, 0);
    r.wait("WAIT e2(auto) again", &[e2], false, 0);
    r.set("SET e1", e1);
    r.wait("WAIT any {e1 set,e2}", &[e1, e2], false, 20);
    r.wait("WAIT all {e1 set,e2} t=20", &[e1, e2], true, 20);
    r.wait("WAIT all {e1,e1}", &[e1, e1], true, 20);
    r.reset("RESET e1", e1);
    r.wait("WAIT invalid id t=20", &[0x4242], false, 20);
    r.wait("WAIT {e1,invalid} t=20", &[e1, 0x4242], false, 20);
    for (label, count) in [
        ("WAIT events_ptr=NULL", 1),
        ("WAIT num_events=0x40000000", 0x4000_0000),
    ] {
        let mut a = WaitEvents {
            num_events: count,
            ..WaitEvents::default()
        };
        let answer = r.call(&mut a);
        r.answer(label, answer, &format!("wait_result={}", a.wait_result));
    }
    r.wait_while(
        "WAIT e1 inf, thread SET after 30ms",
        &[e1],
        false,
        u32::MAX,
        |f, k| set(f, k, e1),
    );
    r.reset("RESET e1", e1);
    r.wait_while(
        "WAIT e1 0xfffffffe, thread SET after 30ms",
        &[e1],
        false,
        u32::MAX - 1,
        |f, k| set(f, k, e1),
    );
    r.reset("RESET e1", e1);
    r.wait_while(
        "WAIT all {e1,e2} t=100, thread SET e1 only",
        &[e1, e2],
        true,
        100,
        |f, k| set(f, k, e1),
    );
    r.reset("RESET e1", e1);
    r.wait_while(
        "WAIT e3 inf, thread DESTROY after 30ms",
        &[e3],
        false,
        u32::MAX,
        |f, k| destroy(f, k, e3),
    );
    r.wait("WAIT destroyed e3", &[e3], false, 0);
    r.plain(
        "DESTROY e3 again",
        DestroyEvent {
            event_id: e3,
            pad: 0,
        },
    );
    let e5 = r.create("CREATE (slot reuse?)", 0, false, 0, 0);
    r.wait_while(
        "WAIT {e1,e5} any inf, thread DESTROY e5",
        &[e1, e5],
        false,
        200,
        |f, k| destroy(f, k, e5),
    );
    r.set("SET id=0", 0);
    r.set("SET id=0x4242", 0x4242);
    r.reset("RESET id=0x4242", 0x4242);
    r.plain(
        "DESTROY id=0x4242",
        DestroyEvent {
            event_id: 0x4242,
            pad: 0,
        },
    );
    let memory = r.create("CREATE MEMORY(8)", 8, false, 0, 0);
    r.set("SET MEMORY event", memory);
    r.wait("WAIT MEMORY ev t=10", &[memory], false, 10);
    r.reset("RESET MEMORY event", memory);
    r.plain(
        "DESTROY MEMORY event",
        DestroyEvent {
            event_id: memory,
            pad: 0,
        },
    );

    let mut more = Vec::new();
    let errno = loop {
        let mut a = CreateEvent::default();
        match r.call(&mut a) {
            Ok(()) => more.push(a.event_id),
            Err(errno) => break errno,
        }
    };
    let answer = format!("created {} more, then errno={}", more.len(), name(errno));
    r.said("signal events until failure:", &answer);
    r.create("CREATE MEMORY when signal slots full", 8, false, 0, 0);
    more.extend([e1, e2, of_type_5]);
    for id in more {
        destroy(r.face, r.file, id);
    }
    r.create("re-CREATE after mass destroy", 0, false, 0, 0);
}

fn ioctls_of_a_gpu(r: &mut Replay<'_>, gpu_id: u32) {
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

fn handles(r: &mut Replay<'_>) {
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
        r.plain(
            &format!("SVM op={op} nattr=1"),
            Svm {
                start_addr: 0x1000,
                size: 0x1000,
                op,
                nattr: 1,
            },
        );
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
        a[44..48].copy_from_slice(&168u32.to_ne_bytes());
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
    for (label, mode_mask) in [
        ("RUNTIME_ENABLE enable", 1),
        ("RUNTIME_ENABLE enable again", 1),
        ("RUNTIME_ENABLE disable", 0),
    ] {
        let mut a = RuntimeEnable {
            mode_mask,
            ..RuntimeEnable::default()
        };
        let answer = r.call(&mut a);
        let more = if mode_mask == 1 && answer.is_ok() {
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

fn files(r: &mut Replay<'_>) {
    let first = r.file;
    let second = r.face.open("/dev/kfd").unwrap();
    let e2 = r.create("create on fd1", 0, false, 0, 0);
    r.file = second;
    r.set("SET via fd2 (same process state?)", e2);
    r.create("create on fd2", 0, false, 0, 0);
    r.file = first;
    r.wait("WAIT on fd1 set via fd2", &[e2], false, 0);
    r.face.close(first);
    r.file = second;
    r.wait("WAIT after closing fd1, via fd2", &[e2], false, 0);
    r.create("CREATE via fd2 after fd1 closed", 0, false, 0, 0);
    r.face.close(second);
    r.file = r.face.open("/dev/kfd").unwrap();
    r.create("reopen after full close: CREATE", 0, false, 0, 0);
    r.wait("WAIT e1 id from before close", &[e2], false, 0);
}

#[test]
fn a_machine_without_gpus_answers_as_linux_6_12_did() {
    let face = KfdFace::new(SimConfig::new(Vec::new())).unwrap();
    let mut replay = Replay {
        file: face.open("/dev/kfd").unwrap(),
        face: &face,
        lines: RECORD.lines().collect(),
        at: 0,
        compared: 0,
        wrong: Vec::new(),
    };
    dispatcher(&mut replay);
    queries(&mut replay);
    events(&mut replay);
    for gpu in [0, 0xdead] {
        ioctls_of_a_gpu(&mut replay, gpu);
    }
    handles(&mut replay);
    files(&mut replay);
    println!("{} lines of the record compared", replay.compared);
    assert_eq!(replay.compared, COMPARED);
    assert!(replay.wrong.is_empty(), "{}", replay.wrong.join("\n"));
}
