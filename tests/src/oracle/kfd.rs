//! The KFD face under sequences of calls that are nearly right: every answer is one of the driver's, what a client gives
//! back is gone, and nothing is left when it has given back all.
//!
//! Addresses inside of arguments are those that a client owns or none at all: a driver copies with checks, a face in the
//! same process cannot.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

use rukh_backend_sim::kfd::KfdFace;
use rukh_core::kfd::uapi::*;
use rukh_core::kfd::{KfdFile, KfdPort, Mapping, Protection};
use zerocopy::IntoBytes;

use super::input::Input;

const PAGE: u64 = 4096;
/// Addresses that this process has no use for, under a sanitizer either.
const VA: u64 = 0x2000_0000_0000;
const STEPS: usize = 60;
/// Objects, events, queues and mappings at once.
const MOST: usize = 24;
/// Machines by a byte of the input, with the interface's version.
const MACHINES: [&str; 6] = [
    "1.17:gfx90a",
    "1.17:gfx90a,gfx942",
    "1.11:gfx90a",
    "1.17:gfx1100",
    "none",
    "1.11:gfx906,gfx1030",
];
/// What the driver can answer: EPERM, ENOENT, EINTR, EIO, EBADF, ENOMEM, EACCES, EFAULT, EBUSY, ENODEV, EINVAL, EMFILE, ENOTTY,
/// EFBIG, ENOSPC, EOPNOTSUPP, EADDRINUSE, ENOTSUPP.
const ERRNOS: [i32; 18] = [
    1, 2, 4, 5, 9, 12, 13, 14, 16, 19, 22, 24, 25, 27, 28, 95, 98, 524,
];
/// Words of the memory that arguments point to, and the largest counts that fit.
const WORDS: usize = 1024;
const COUNTS: [u32; 8] = [1, 2, 3, 0, 8, 16, 0x1_0001, u32::MAX];

/// Memory for user pointers.
#[repr(C, align(4096))]
struct Own([u8; 4 * PAGE as usize]);

struct Object {
    handle: u64,
    va: u64,
    size: u64,
    offset: u64,
}

struct HostMapping {
    at: NonNull<u8>,
    size: usize,
}

struct Client {
    face: KfdFace,
    kfd: KfdFile,
    files: Vec<KfdFile>,
    gpus: Vec<u32>,
    objects: Vec<Object>,
    events: Vec<u32>,
    queues: Vec<(u32, u64)>,
    maps: Vec<HostMapping>,
    event_page: Option<u64>,
    words: Box<[u64; WORDS]>,
    own: Box<Own>,
    next_va: u64,
}

/// Runs a sequence: the first byte chooses the machine.
pub fn check(data: &[u8]) {
    let mut input = Input::new(data);
    let mut client = Client::new(input.pick(&MACHINES));
    let vram = client.available();
    for _ in 0..STEPS {
        if input.is_empty() {
            break;
        }
        client.step(&mut input);
    }
    client.give_back();
    assert_eq!(client.available(), vram, "device memory");
    let kept = usize::from(client.event_page.is_some());
    for file in std::mem::take(&mut client.files) {
        client.face.close(file);
    }
    assert_eq!(client.face.handles(), (0, kept, 0), "what a client leaves");
    for report in client.face.last_faults() {
        assert!(!report.to_string().is_empty());
    }
}

/// An answer is none, or an error of the driver's.
fn known(answer: Result<(), i32>) -> Result<(), i32> {
    if let Err(errno) = answer {
        assert!(ERRNOS.contains(&errno), "errno {errno}");
    }
    answer
}

impl Client {
    fn new(machine: &str) -> Self {
        let face = KfdFace::parse(machine).expect("the oracle names machines that exist");
        let kfd = face.open("/dev/kfd").expect("it is there");
        let mut files = vec![kfd];
        let mut gpus = Vec::new();
        for node in 1.. {
            let mut text = [0; 16];
            let path = format!("/sys/devices/virtual/kfd/kfd/topology/nodes/{node}/gpu_id");
            let Ok(length) = face.read_file(&path, &mut text) else {
                break;
            };
            let text = std::str::from_utf8(&text[..length]).expect("a number");
            gpus.push(text.trim().parse().expect("a number"));
            let render = format!("/dev/dri/renderD{}", 127 + node);
            files.push(face.open(&render).expect("each GPU has one"));
        }
        let client = Self {
            face,
            kfd,
            files,
            gpus,
            objects: Vec::new(),
            events: Vec::new(),
            queues: Vec::new(),
            maps: Vec::new(),
            event_page: None,
            words: Box::new([0; WORDS]),
            own: Box::new(Own([0; 4 * PAGE as usize])),
            next_va: VA,
        };
        // Address spaces first: without them there is little to be done.
        for (gpu_id, file) in client.gpus.iter().zip(&client.files[1..]) {
            let mut acquire = AcquireVm {
                drm_fd: file.0.cast_unsigned(),
                gpu_id: *gpu_id,
            };
            assert_eq!(client.call(&mut acquire), Ok(()));
        }
        client
    }

    fn call<A: Ioctl>(&self, argument: &mut A) -> Result<(), i32> {
        self.raw(self.kfd, A::INFO.request, argument.as_mut_bytes())
    }

    fn raw(&self, file: KfdFile, request: u32, argument: &mut [u8]) -> Result<(), i32> {
        // SAFETY: pointers in arguments are of `words` and `own`, or of no address that a process can have.
        known(unsafe { self.face.ioctl_raw(file, request, argument) })
    }

    fn available(&self) -> Vec<u64> {
        let of = |gpu_id: &u32| {
            let mut left = AvailableMemory {
                gpu_id: *gpu_id,
                ..AvailableMemory::default()
            };
            self.call(&mut left).expect("the GPU is there");
            left.available
        };
        self.gpus.iter().map(of).collect()
    }

    /// A GPU's id, or none.
    fn gpu(&self, input: &mut Input<'_>) -> u32 {
        match input.byte() {
            0..=239 => {
                let at = input.below(self.gpus.len());
                self.gpus.get(at).copied().unwrap_or(0)
            }
            _ => input.u32(),
        }
    }

    fn handle(&self, input: &mut Input<'_>) -> u64 {
        let at = input.below(self.objects.len());
        match (input.byte(), self.objects.get(at)) {
            (0..=239, Some(object)) => object.handle,
            _ => input.number(),
        }
    }

    fn va(&self, input: &mut Input<'_>) -> u64 {
        let at = input.below(self.objects.len());
        match (input.byte(), self.objects.get(at)) {
            (0..=199, Some(object)) => object.va,
            (200..=219, _) => VA + u64::from(input.byte()) * PAGE,
            (220..=229, _) => VA + u64::from(input.u16()),
            _ => input.pick(&[0, u64::MAX, !0xfff, 1 << 47, (1 << 47) - PAGE, 1 << 63]),
        }
    }

    /// An address that arguments can point to.
    fn pointer(&self, input: &mut Input<'_>) -> u64 {
        match input.byte() {
            0..=229 => self.words.as_ptr().expose_provenance() as u64,
            _ => input.pick(&[0, u64::MAX, 1 << 47, u64::MAX - 7]),
        }
    }

    fn event(&self, input: &mut Input<'_>) -> u32 {
        let at = input.below(self.events.len());
        match (input.byte(), self.events.get(at)) {
            (0..=239, Some(event)) => *event,
            _ => input.number() as u32,
        }
    }

    fn queue(&self, input: &mut Input<'_>) -> u32 {
        let at = input.below(self.queues.len());
        match (input.byte(), self.queues.get(at)) {
            (0..=239, Some((queue, _))) => *queue,
            _ => input.number() as u32,
        }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        match input.below(26) {
            0..=2 => self.allocate(input),
            3 => {
                let handle = self.handle(input);
                let answer = self.call(&mut FreeMemoryOfGpu { handle });
                if answer.is_ok() {
                    let at = self.objects.iter().position(|o| o.handle == handle);
                    self.objects.swap_remove(at.expect("it was one of ours"));
                }
            }
            4 | 5 => {
                let count = self.ids(input);
                let mut argument = MapMemoryToGpu {
                    handle: self.handle(input),
                    device_ids_array_ptr: self.pointer(input),
                    n_devices: count,
                    n_success: input.pick(&[0, 0, 0, 1, 2, u32::MAX]),
                };
                let before = argument.n_success;
                let answer = self.call(&mut argument);
                assert!(argument.n_success >= before && argument.n_success <= before.max(count));
                assert!(answer.is_err() || argument.n_success == count);
            }
            6 => {
                let count = self.ids(input);
                let mut argument = UnmapMemoryFromGpu {
                    handle: self.handle(input),
                    device_ids_array_ptr: self.pointer(input),
                    n_devices: count,
                    n_success: input.pick(&[0, 0, 1, u32::MAX]),
                };
                let answer = self.call(&mut argument);
                assert!(answer.is_err() || argument.n_success == count);
            }
            7 | 8 => self.create_event(input),
            9 => self.change_event(input),
            10 => self.wait_events(input),
            11..=13 => self.create_queue(input),
            14 => self.change_queue(input),
            15 => {
                let queue_id = self.queue(input);
                let answer = self.call(&mut DestroyQueue { queue_id, pad: 0 });
                let known = self.queues.iter().position(|(id, _)| *id == queue_id);
                assert_eq!(answer, if known.is_some() { Ok(()) } else { Err(22) });
                known.map(|at| self.queues.swap_remove(at));
            }
            16 | 17 => self.map(input),
            18 => self.write(input),
            19 => self.query(input),
            20 => self.drm(input),
            21 => self.cut(input),
            22 => self.files(input),
            23 => self.share(input),
            24 => self.shared_memory(input),
            _ => self.noise(input),
        }
    }

    /// Puts ids into the words; gives how many to name.
    fn ids(&mut self, input: &mut Input<'_>) -> u32 {
        let pair = [self.gpu(input), self.gpu(input)];
        self.words[0] = u64::from(pair[0]) | u64::from(pair[1]) << 32;
        input.pick(&COUNTS)
    }

    fn allocate(&mut self, input: &mut Input<'_>) {
        if self.objects.len() >= MOST {
            return;
        }
        let kinds = [
            AllocFlags::VRAM,
            AllocFlags::GTT,
            AllocFlags::USERPTR,
            AllocFlags::DOORBELL,
            AllocFlags::MMIO_REMAP,
            AllocFlags::GTT,
            AllocFlags::VRAM | AllocFlags::GTT,
            AllocFlags::empty(),
        ];
        let kind = input.pick(&kinds);
        let own = self.own.0.as_ptr().expose_provenance() as u64;
        let size = match input.byte() {
            0..=199 => PAGE * (1 + input.below(4) as u64),
            200..=229 => 1 + u64::from(input.u16()),
            // Of memory that is there only when it is used: more than a machine has, or none.
            _ => input.pick(&[0, u64::MAX, 1 << 45, 1 << 63, 64 << 30]),
        };
        let host = input.pick(&[own, own, own + PAGE, own + 1, 0, 0x1000, 1 << 47]);
        let va = match input.byte() {
            0..=229 => self.next_va,
            _ => self.va(input),
        };
        let rights = [
            AllocFlags::WRITABLE | AllocFlags::EXECUTABLE,
            AllocFlags::WRITABLE | AllocFlags::PUBLIC,
            AllocFlags::empty(),
        ];
        let size = if kind == AllocFlags::USERPTR {
            size.min(2 * PAGE)
        } else {
            size
        };
        self.object(va, size, kind | input.pick(&rights), host, input);
    }

    /// Allocates; gives whether it was.
    fn object(
        &mut self,
        va_addr: u64,
        size: u64,
        flags: AllocFlags,
        host: u64,
        input: &mut Input<'_>,
    ) -> bool {
        let mut argument = AllocMemoryOfGpu {
            va_addr,
            size,
            handle: input.number(),
            mmap_offset: host,
            gpu_id: self.gpu(input),
            flags: flags.bits(),
        };
        let answer = self.call(&mut argument);
        if answer.is_ok() {
            let handle = argument.handle;
            let twice = self.objects.iter().any(|object| object.handle == handle);
            assert!(!twice, "{handle:#x} was given out twice");
            self.next_va += size.next_multiple_of(PAGE).min(1 << 40);
            self.objects.push(Object {
                handle,
                va: va_addr,
                size,
                offset: argument.mmap_offset,
            });
        }
        answer.is_ok()
    }

    fn create_event(&mut self, input: &mut Input<'_>) {
        if self.events.len() >= MOST {
            return;
        }
        let mut argument = CreateEvent {
            event_page_offset: match input.byte() {
                0..=199 => 0,
                _ => self.handle(input),
            },
            event_type: input.pick(&[0, 3, 8, 5, 1, 9, u32::MAX]),
            auto_reset: input.pick(&[0, 1, 7]),
            node_id: input.u32(),
            ..CreateEvent::default()
        };
        let page = argument.event_page_offset;
        let answer = self.call(&mut argument);
        if answer.is_ok() {
            assert!(!self.events.contains(&argument.event_id));
            self.events.push(argument.event_id);
        }
        // Whether the rest of the call went well or not: a page that was taken is kept by the driver. To ask is to free.
        let at = self.objects.iter().position(|object| object.handle == page);
        if let Some(at) = at.filter(|_| self.event_page != Some(page)) {
            match self.call(&mut FreeMemoryOfGpu { handle: page }) {
                Ok(()) => drop(self.objects.swap_remove(at)),
                Err(1) => self.event_page = Some(page),
                Err(_) => {}
            }
        }
    }

    fn change_event(&mut self, input: &mut Input<'_>) {
        let event_id = self.event(input);
        let is_known = self.events.contains(&event_id);
        let pad = input.u32();
        let answer = match input.below(3) {
            0 => self.call(&mut SetEvent { event_id, pad }),
            1 => self.call(&mut ResetEvent { event_id, pad }),
            _ => {
                let answer = self.call(&mut DestroyEvent { event_id, pad });
                assert_eq!(answer.is_ok(), is_known);
                self.events.retain(|event| *event != event_id);
                answer
            }
        };
        assert!(answer.is_err() || is_known);
    }

    fn wait_events(&mut self, input: &mut Input<'_>) {
        let count = input.pick(&COUNTS);
        let mut wanted = Vec::new();
        for at in 0..count.min(16) as usize {
            let event_id = self.event(input);
            let data = EventData {
                data: [input.number(); 4],
                event_id,
                ..EventData::default()
            };
            wanted.push(event_id);
            let bytes = data.as_bytes();
            self.words.as_mut_bytes()[at * bytes.len()..][..bytes.len()].copy_from_slice(bytes);
        }
        let mut argument = WaitEvents {
            events_ptr: self.pointer(input),
            num_events: count,
            wait_for_all: input.pick(&[0, 1, 2]),
            // A device may raise them meanwhile; nobody waits for that here.
            timeout: input.pick(&[0, 0, 1]),
            wait_result: input.u32(),
        };
        match self.call(&mut argument) {
            Ok(()) => {
                assert!(argument.wait_result <= 1);
                assert!(wanted.iter().all(|event| self.events.contains(event)));
            }
            Err(_) => assert_eq!(argument.wait_result, 2),
        }
    }

    fn create_queue(&mut self, input: &mut Input<'_>) {
        if self.queues.len() >= MOST {
            return;
        }
        // Most have buffers made for them: indices and ring, for compute queues of later interfaces two more.
        let va = self.next_va;
        let sizes = [PAGE, PAGE, PAGE, 0x3cb_1000];
        let made = if input.below(4) == 0 || self.objects.len() + 4 > MOST {
            0
        } else {
            input.pick(&[2, 4, 3])
        };
        for size in sizes.into_iter().take(made) {
            let at = self.next_va;
            let flags = AllocFlags::GTT | AllocFlags::WRITABLE | AllocFlags::EXECUTABLE;
            if self.object(at, size, flags, 0, input) {
                let handle = self.objects.last().map_or(0, |object| object.handle);
                self.words[0] = self.gpus.first().copied().unwrap_or(0).into();
                let _ = self.call(&mut MapMemoryToGpu {
                    handle,
                    device_ids_array_ptr: self.words.as_ptr().expose_provenance() as u64,
                    n_devices: 1,
                    n_success: 0,
                });
            }
        }
        let base = if made == 0 { self.va(input) } else { va };
        let mut argument = CreateQueue {
            ring_base_address: base.wrapping_add(PAGE),
            write_pointer_address: base.wrapping_add(0x38),
            read_pointer_address: base.wrapping_add(0x80),
            ring_size: PAGE as u32,
            gpu_id: self.gpu(input),
            queue_type: input.pick(&[2, 0, 1, 3, 4, 5]),
            queue_percentage: input.pick(&[100, 100, 0, 101, 0x164]),
            queue_priority: input.pick(&[7, 15, 16, 0]),
            eop_buffer_address: if made > 2 {
                base.wrapping_add(2 * PAGE)
            } else {
                0
            },
            eop_buffer_size: PAGE,
            ctx_save_restore_address: base.wrapping_add(3 * PAGE),
            ctx_save_restore_size: 0x3c9_1000,
            ctl_stack_size: 0x9000,
            ..CreateQueue::default()
        };
        match input.below(16) {
            0 => argument.ring_base_address = self.va(input),
            1 => argument.write_pointer_address = self.va(input),
            2 => argument.read_pointer_address = self.va(input),
            3 => argument.ring_size = input.number() as u32,
            4 => argument.eop_buffer_address = self.va(input),
            5 => argument.ctx_save_restore_address = self.va(input),
            6 => argument.ctx_save_restore_size = input.number() as u32,
            7 => argument.sdma_engine_id = input.number() as u32,
            8 => argument.eop_buffer_size = input.number(),
            _ => {}
        }
        if self.call(&mut argument).is_ok() {
            let id = argument.queue_id;
            assert!(self.queues.iter().all(|(other, _)| *other != id));
            self.queues.push((id, argument.doorbell_offset));
        }
    }

    fn change_queue(&mut self, input: &mut Input<'_>) {
        let queue_id = self.queue(input);
        let is_known = self.queues.iter().any(|(id, _)| *id == queue_id);
        let answer = match input.below(4) {
            0 => self.call(&mut UpdateQueue {
                ring_base_address: self.va(input),
                queue_id,
                ring_size: input.pick(&[PAGE as u32, 0, 3, 1 << 31]),
                queue_percentage: input.pick(&[100, 0, 101]),
                queue_priority: input.pick(&[7, 15, 16]),
            }),
            1 => {
                self.words[0] = input.u64();
                self.call(&mut SetCuMask {
                    queue_id,
                    num_cu_mask: input.pick(&[32, 64, 0, 31, 1024, u32::MAX - 31]),
                    cu_mask_ptr: self.pointer(input),
                })
            }
            2 => self.call(&mut GetQueueWaveState {
                ctl_stack_address: self.pointer(input),
                queue_id,
                ..GetQueueWaveState::default()
            }),
            _ => self.call(&mut AllocQueueGws {
                queue_id,
                num_gws: input.pick(&[1, 0, 64]),
                ..AllocQueueGws::default()
            }),
        };
        assert!(answer.is_err() || is_known);
    }

    fn map(&mut self, input: &mut Input<'_>) {
        if self.maps.len() >= MOST {
            return;
        }
        let file = input.below(self.files.len());
        let object = self.objects.get(input.below(self.objects.len()));
        let queue = self.queues.get(input.below(self.queues.len()));
        let (offset, size) = match (input.below(8), object, queue) {
            (0..=3, Some(object), _) => (object.offset, object.size.min(1 << 20)),
            (4, _, Some((_, doorbell))) => (doorbell & !0xfff, 2 * PAGE),
            (5, ..) => (2 << 62, 8 * PAGE),
            (6, ..) => (u64::from(self.gpu(input)) << 46, PAGE),
            _ => (input.number() & !0xfff, PAGE),
        };
        let size = match input.byte() {
            0..=199 => size,
            _ => input.pick(&[0, 1, PAGE, 3 * PAGE, 1 << 46]),
        };
        let mapping = Mapping {
            file: self.files.get(file).copied(),
            offset,
            size: size as usize,
            protection: input.pick(&[Protection::ReadWrite, Protection::Read, Protection::None]),
            fixed: None,
        };
        // SAFETY: not at a fixed address.
        match unsafe { self.face.map(&mapping) } {
            Ok(at) => {
                let size = (size as usize).next_multiple_of(PAGE as usize);
                if input.below(4) == 0 {
                    // SAFETY: mapped just now, and nothing uses it.
                    unsafe { self.face.unmap(at, size) };
                } else if mapping.protection == Protection::ReadWrite {
                    self.maps.push(HostMapping { at, size });
                } else {
                    // SAFETY: as above; of several pages the first goes first.
                    unsafe {
                        self.face.unmap(at, PAGE as usize);
                        if size > PAGE as usize {
                            self.face.unmap(at.add(PAGE as usize), size - PAGE as usize);
                        }
                    }
                }
            }
            Err(error) => {
                let _ = known(Err(error.errno()));
            }
        }
    }

    /// Writes packets, indices, doorbells: anything where the client has mapped something.
    fn write(&mut self, input: &mut Input<'_>) {
        let Some(map) = self.maps.get(input.below(self.maps.len())) else {
            return;
        };
        let at = usize::from(input.u16()) * 8 % map.size;
        let count = input.below(16) * 8;
        let bytes = input.take(count);
        for (word, chunk) in (at..map.size).step_by(8).zip(bytes.as_chunks::<8>().0) {
            // SAFETY: within a mapping that may be read and written; devices use it as atomics too.
            let cell =
                unsafe { std::sync::atomic::AtomicU64::from_ptr(map.at.add(word).cast().as_ptr()) };
            cell.store(
                u64::from_le_bytes(*chunk),
                std::sync::atomic::Ordering::Release,
            );
        }
    }

    fn query(&mut self, input: &mut Input<'_>) {
        let gpu_id = self.gpu(input);
        let _ = match input.below(8) {
            0 => self.call(&mut GetVersion::default()),
            1 => self.call(&mut GetClockCounters {
                gpu_id,
                ..GetClockCounters::default()
            }),
            2 => self.call(&mut GetProcessAperturesNew {
                kfd_process_device_apertures_ptr: self.pointer(input),
                num_of_nodes: input.pick(&[0, 1, 2, 3, 8, u32::MAX]),
                pad: 0,
            }),
            3 => self.call(&mut SetMemoryPolicy {
                gpu_id,
                default_policy: input.pick(&[0, 1, 2]),
                alternate_policy: input.pick(&[0, 1, 2]),
                ..SetMemoryPolicy::default()
            }),
            4 => self.call(&mut SetTrapHandler {
                tba_addr: self.va(input),
                tma_addr: self.va(input),
                gpu_id,
                pad: 0,
            }),
            5 => self.call(&mut SetXnackMode {
                xnack_enabled: input.pick(&[-1, 0, 1, i32::MIN]),
            }),
            6 => self.call(&mut RuntimeEnable {
                r_debug: self.pointer(input),
                mode_mask: input.pick(&[1, 0, 3, u32::MAX]),
                capabilities_mask: 0,
            }),
            _ => self.call(&mut SetScratchBackingVa {
                va_addr: input.number(),
                gpu_id,
                pad: 0,
            }),
        };
    }

    /// A buffer object goes out as a descriptor, is asked about and comes in again.
    fn share(&mut self, input: &mut Input<'_>) {
        let mut export = ExportDmabuf {
            handle: self.handle(input),
            flags: input.pick(&[0, 0o2_000_000, 2, u32::MAX]),
            ..ExportDmabuf::default()
        };
        let file = self.call(&mut export).ok().map(|()| {
            let number = export.dmabuf_fd.cast_signed();
            // SAFETY: a descriptor that the driver has just made for its caller.
            unsafe { OwnedFd::from_raw_fd(number) }
        });
        let other = input.pick(&[u32::MAX, 1 << 30, 0, 1 << 20]);
        let number = file
            .as_ref()
            .map_or(other, |file| file.as_raw_fd().cast_unsigned());
        let mut info = GetDmabufInfo {
            metadata_ptr: self.pointer(input),
            metadata_size: input.pick(&[0, 8, 4096, u32::MAX]),
            dmabuf_fd: number,
            ..GetDmabufInfo::default()
        };
        let told = self.call(&mut info).is_ok();
        assert!(!told || file.is_some());
        if self.objects.len() >= MOST {
            return;
        }
        let va = if input.byte() < 200 {
            self.next_va
        } else {
            self.va(input)
        };
        let mut import = ImportDmabuf {
            va_addr: va,
            handle: 0,
            gpu_id: self.gpu(input),
            dmabuf_fd: number,
        };
        if self.call(&mut import).is_ok() {
            assert!(file.is_some());
            let handle = import.handle;
            assert!(self.objects.iter().all(|object| object.handle != handle));
            self.next_va += 1 << 40;
            self.objects.push(Object {
                handle,
                va,
                size: info.size,
                offset: 0,
            });
        }
    }

    /// Attributes of ranges of the client's own memory, or of none.
    fn shared_memory(&mut self, input: &mut Input<'_>) {
        let own = self.own.0.as_ptr().expose_provenance() as u64;
        let start = input.pick(&[own, own + PAGE, own + 1, VA, 0, u64::MAX - 0xfff, 1 << 47]);
        let size = input.pick(&[PAGE, 2 * PAGE, 3 * PAGE, 1, 0, !0xfff]);
        let count = input.below(5);
        let said = input.pick(&[
            count as u32,
            count as u32,
            count as u32,
            0x1fff_ffff,
            u32::MAX,
        ]);
        let mut argument = Vec::new();
        argument.extend(start.to_le_bytes());
        argument.extend(size.to_le_bytes());
        argument.extend(input.pick(&[0u32, 1, 0, 1, 2]).to_le_bytes());
        argument.extend(said.to_le_bytes());
        for _ in 0..count {
            let kind = u32::from(input.byte() % 10);
            let value = match input.below(4) {
                0 => input.number() as u32,
                1 => 1 << input.below(8),
                _ => self.gpu(input),
            };
            argument.extend(kind.to_le_bytes());
            argument.extend(value.to_le_bytes());
        }
        let length = argument.len() as u32;
        let size = input.pick(&[length, length, length, length - 1, 24, 0x3fff]);
        let request = Svm::INFO.request & !(0x3fff << 16) | size << 16;
        let _ = self.raw(self.kfd, request, &mut argument);
    }

    /// The render node's calls, with as much room as there is.
    fn drm(&mut self, input: &mut Input<'_>) {
        let mut argument = [0u64; 16];
        let pointer = self.pointer(input);
        let room = input.pick(&[0u64, 1, 4, 64, 4096]);
        let nr = match input.below(4) {
            0 => {
                for at in 0..3 {
                    argument[2 + 2 * at] = room;
                    argument[3 + 2 * at] = pointer;
                }
                0
            }
            1 | 2 => {
                argument[0] = pointer;
                argument[1] = room | u64::from(input.byte() % 0x20) << 32;
                argument[2] = input.pick(&[0x263e, 0, u64::MAX]) | 1 << 32;
                0x45
            }
            _ => {
                // Those that hold no pointer.
                argument[0] = input.number();
                input.pick(&[0x0c, 0x09, 0x2d, 0x40, 0x56, 0x57, 0xff, 0x01])
            }
        };
        let length = input.pick(&[128, 64, 0, 8, 31]);
        let file = self.files[input.below(self.files.len())];
        if file != self.kfd {
            let _ = self.raw(
                file,
                u32::from(nr as u8),
                &mut argument.as_mut_bytes()[..length],
            );
        }
    }

    /// Arguments of other sizes than the table's.
    fn cut(&mut self, input: &mut Input<'_>) {
        let row = IOCTLS[input.below(IOCTLS.len())];
        let mut argument = [0u8; 256];
        let size = u32::from(input.u16() % 300);
        let request = row.request & !(0x3fff << 16) | size << 16;
        let length = if input.flag() {
            size as usize
        } else {
            input.below(256)
        };
        let length = length.min(argument.len());
        // All fields are zero: no pointer, and no object has handle 0. A queue has id 0, and an event may be made.
        if matches!(row.name, "DESTROY_QUEUE" | "CREATE_EVENT") {
            return;
        }
        let _ = self.raw(self.kfd, request, &mut argument[..length]);
    }

    fn files(&mut self, input: &mut Input<'_>) {
        match input.below(4) {
            0 => {
                let minor = 126 + u32::from(input.byte() % 6);
                let path = format!("/dev/dri/renderD{minor}");
                match self.face.open(&path) {
                    Ok(file) if self.files.len() < MOST => self.files.push(file),
                    Ok(file) => self.face.close(file),
                    Err(error) => drop(known(Err(error.errno()))),
                }
            }
            1 if self.files.len() > 1 => {
                let at = 1 + input.below(self.files.len() - 1);
                let file = self.files.swap_remove(at);
                self.face.close(file);
                assert_eq!(
                    self.raw(file, GetVersion::INFO.request, &mut [0; 8]),
                    Err(9)
                );
            }
            2 => {
                let file = self.files[input.below(self.files.len())];
                let _ = self.call(&mut AcquireVm {
                    drm_fd: file.0.cast_unsigned(),
                    gpu_id: self.gpu(input),
                });
            }
            _ => {
                let text = String::from_utf8_lossy(input.take(12)).into_owned();
                for path in [text.clone(), format!("/dev/dri/renderD{text}")] {
                    if let Ok(file) = self.face.open(&path) {
                        self.face.close(file);
                    }
                }
            }
        }
    }

    /// Calls without pointers, of any contents; and numbers that are no calls.
    fn noise(&mut self, input: &mut Input<'_>) {
        let numbers = [
            0x04u8, 0x05, 0x11, 0x12, 0x13, 0x1f, 0x21, 0x23, 0x00, 0x0d, 0x27, 0xff,
        ];
        let nr = input.pick(&numbers);
        let mut argument = [0u8; 64];
        let bytes = input.take(48);
        argument[..bytes.len()].copy_from_slice(bytes);
        let request = 0xc000_4b00 | (bytes.len() as u32) << 16 | u32::from(nr);
        let _ = self.raw(self.kfd, request, &mut argument);
    }

    /// Everything, in the order that a driver wants.
    fn give_back(&mut self) {
        for (queue_id, _) in std::mem::take(&mut self.queues) {
            assert_eq!(self.call(&mut DestroyQueue { queue_id, pad: 0 }), Ok(()));
        }
        for event_id in std::mem::take(&mut self.events) {
            assert_eq!(self.call(&mut DestroyEvent { event_id, pad: 0 }), Ok(()));
        }
        let ids: Vec<u32> = self.gpus.clone();
        for object in std::mem::take(&mut self.objects) {
            let mut argument = UnmapMemoryFromGpu {
                handle: object.handle,
                device_ids_array_ptr: ids.as_ptr().expose_provenance() as u64,
                n_devices: ids.len() as u32,
                n_success: 0,
            };
            assert_eq!(self.call(&mut argument), Ok(()));
            let handle = object.handle;
            let kept = self.event_page == Some(handle);
            let answer = self.call(&mut FreeMemoryOfGpu { handle });
            assert_eq!(answer, if kept { Err(1) } else { Ok(()) });
        }
        for map in std::mem::take(&mut self.maps) {
            // SAFETY: mapped by this face; queues are gone, and nothing else uses it.
            unsafe { self.face.unmap(map.at, map.size) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::rng::Rng;

    #[test]
    fn random_sequences_leave_nothing() {
        let mut rng = Rng::new(15);
        let mut data = [0; 700];
        for case in 0..250u32 {
            rng.fill(&mut data);
            data[0] = case as u8;
            check(&data);
        }
    }
}
