//! Queues of every type on the KFD face, ioctl by ioctl: answers as the driver's, and PM4 commands that run.

use rukh_backend_linux_kfd::KfdBackend;
use rukh_backend_sim::kfd::KfdFace;
use rukh_core::backend::{
    AgentId, Allocation, BankId, Clock, EventKind, EventOutcome, Events, Memory, MemoryFlags,
    MemoryRequest, Timeout, WaitMode,
};
use rukh_core::kfd::uapi::{
    AllocQueueGws, CreateQueue, DestroyQueue, GetQueueWaveState, NoPointers, SetCuMask,
    UpdateQueue, queue_type,
};
use rukh_core::kfd::{KfdFile, KfdPort, call, call_plain};
use rukh_core::wire::pm4::{Packet, ReleaseMem, WriteData};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ENOMEM: i32 = 12;
const EFAULT: i32 = 14;
const EBUSY: i32 = 16;
const EINVAL: i32 = 22;
const ENOTSUPP: i32 = 524;
const RING: u64 = 0x4000;

/// Sizes of a compute queue's buffers on gfx90a, as AMD's runtime was seen to pass them.
const CONTROL_STACK: u32 = 0x9000;
const SAVE_AREA: u32 = 0x3c9_1000;
const SAVE_MAPPING: u64 = 0x3cb_1000;

/// A process with memory by our backend and queues by ioctls.
struct Client {
    face: Arc<KfdFace>,
    backend: KfdBackend<Arc<KfdFace>>,
    file: KfdFile,
    gpu_id: u32,
    ring: Allocation,
    pointers: Allocation,
}

impl Client {
    fn new(gpu: &str) -> Self {
        let face = Arc::new(KfdFace::parse(gpu).unwrap());
        let backend = KfdBackend::open(face.clone()).unwrap();
        let mut text = [0; 64];
        let path = "/sys/devices/virtual/kfd/kfd/topology/nodes/1/gpu_id";
        let length = face.read_file(path, &mut text).unwrap();
        let gpu_id = std::str::from_utf8(&text[..length]).unwrap().trim();
        let ring = memory(&backend, RING);
        let pointers = memory(&backend, 4096);
        Self {
            file: face.open("/dev/kfd").unwrap(),
            gpu_id: gpu_id.parse().unwrap(),
            face,
            backend,
            ring,
            pointers,
        }
    }

    fn argument(&self, queue_type: u32) -> CreateQueue {
        CreateQueue {
            ring_base_address: self.ring.gpu_va,
            ring_size: RING as u32,
            write_pointer_address: self.pointers.gpu_va,
            read_pointer_address: self.pointers.gpu_va + 8,
            gpu_id: self.gpu_id,
            queue_type,
            queue_percentage: 100,
            queue_priority: 7,
            ..CreateQueue::default()
        }
    }

    fn compute(&self, queue_type: u32) -> CreateQueue {
        let area = memory(&self.backend, SAVE_MAPPING);
        CreateQueue {
            // Where they stand in an amd_queue_t, which AQL queues have around them.
            write_pointer_address: self.pointers.gpu_va + 0x38,
            read_pointer_address: self.pointers.gpu_va + 0x80,
            ctx_save_restore_address: area.gpu_va,
            ctx_save_restore_size: SAVE_AREA,
            ctl_stack_size: CONTROL_STACK,
            ..self.argument(queue_type)
        }
    }

    fn send<A: NoPointers>(&self, mut argument: A) -> Result<A, i32> {
        call_plain(&*self.face, self.file, &mut argument)
            .map(|()| argument)
            .map_err(|error| error.errno())
    }

    fn word(&self, of: &Allocation, byte: usize) -> *mut u32 {
        of.host.unwrap().as_ptr().wrapping_add(byte).cast()
    }
}

fn memory(backend: &KfdBackend<Arc<KfdFace>>, size: u64) -> Allocation {
    let request = MemoryRequest {
        bank: BankId {
            agent: AgentId(0),
            index: 0,
        },
        size,
        align: 4096,
        flags: MemoryFlags::HOST_ACCESS
            | MemoryFlags::WRITABLE
            | MemoryFlags::EXECUTABLE
            | MemoryFlags::COHERENT
            | MemoryFlags::QUEUE,
    };
    let allocation = backend.allocate(&request).unwrap();
    backend.map(allocation.handle, &[AgentId(1)]).unwrap();
    allocation
}

#[test]
fn sdma_queues_are_as_many_as_the_engines_have() {
    let client = Client::new("gfx90a");
    let create = |kind| client.send(client.argument(kind)).map(|a| a.queue_id);
    // Two engines for the host, three for XGMI, eight queues each.
    for kind in [queue_type::SDMA, queue_type::SDMA_XGMI] {
        let engines = if kind == queue_type::SDMA { 2 } else { 3 };
        let ids: Vec<u32> = (0..engines * 8).map(|_| create(kind).unwrap()).collect();
        assert_eq!(create(kind), Err(ENOMEM));
        for queue_id in ids {
            client.send(DestroyQueue { queue_id, pad: 0 }).unwrap();
        }
    }
    let on = |engine| {
        client.send(CreateQueue {
            sdma_engine_id: engine,
            ..client.argument(queue_type::SDMA_BY_ENG_ID)
        })
    };
    for _ in 0..8 {
        on(4).unwrap();
    }
    assert_eq!(on(4).unwrap_err(), ENOMEM);
    assert!(on(3).is_ok());
    assert_eq!(on(5).unwrap_err(), EINVAL);
    assert_eq!(create(9), Err(ENOTSUPP));
    // The ring has to be a whole mapping.
    let cut = CreateQueue {
        ring_size: RING as u32 / 2,
        ..client.argument(queue_type::SDMA)
    };
    assert_eq!(client.send(cut).unwrap_err(), EINVAL);
    // A GPU without such engines.
    let client = Client::new("gfx1030");
    let xgmi = client.argument(queue_type::SDMA_XGMI);
    assert_eq!(client.send(xgmi).unwrap_err(), ENOMEM);
}

#[test]
fn what_is_asked_of_queues_is_answered_errno_for_errno() {
    let client = Client::new("gfx90a");
    let sdma = client
        .send(client.argument(queue_type::SDMA))
        .unwrap()
        .queue_id;
    let aql = client.compute(queue_type::COMPUTE_AQL);
    let compute = client.send(aql).unwrap().queue_id;
    let state = |queue_id| {
        let mut argument = GetQueueWaveState {
            queue_id,
            ..GetQueueWaveState::default()
        };
        // SAFETY: the face writes no control stack, since it saves none.
        unsafe { call(&*client.face, client.file, &mut argument) }
            .map(|()| argument)
            .map_err(|error| error.errno())
    };
    assert_eq!(state(sdma).unwrap_err(), EINVAL);
    assert_eq!(state(compute).unwrap_err(), EINVAL);
    assert_eq!(state(1000).unwrap_err(), EFAULT);
    client
        .send(UpdateQueue {
            queue_id: compute,
            ring_base_address: aql.ring_base_address,
            ring_size: RING as u32,
            queue_percentage: 0,
            queue_priority: 7,
        })
        .unwrap();
    assert_eq!(state(compute).unwrap().save_area_used_size, 0);
    let gws = |queue_id, num_gws| {
        client.send(AllocQueueGws {
            queue_id,
            num_gws,
            ..AllocQueueGws::default()
        })
    };
    assert_eq!(gws(compute, 0).unwrap_err(), EINVAL);
    assert!(gws(compute, 1).is_ok());
    assert_eq!(gws(compute, 1).unwrap_err(), EBUSY);
    assert!(gws(compute, 0).is_ok());
    assert_eq!(gws(1000, 1).unwrap_err(), EINVAL);
    let mask = |client: &Client, queue_id, words: &[u32]| {
        let mut argument = SetCuMask {
            queue_id,
            num_cu_mask: words.len() as u32 * 32,
            cu_mask_ptr: words.as_ptr().expose_provenance() as u64,
        };
        // SAFETY: the pointer is of as many words as the argument says.
        unsafe { call(&*client.face, client.file, &mut argument) }.map_err(|e| e.errno())
    };
    assert_eq!(mask(&client, compute, &[]), Err(EINVAL));
    assert_eq!(mask(&client, compute, &[0x1, 0]), Ok(()));
    assert_eq!(mask(&client, sdma, &[0x1, 0]), Ok(()));
    assert_eq!(mask(&client, 1000, &[0x1]), Err(EFAULT));
    // From GFX10 on two compute units go together.
    let client = Client::new("gfx1030");
    let sdma = client
        .send(client.argument(queue_type::SDMA))
        .unwrap()
        .queue_id;
    assert_eq!(mask(&client, sdma, &[0b0111]), Err(EINVAL));
    assert_eq!(mask(&client, sdma, &[0b1111]), Ok(()));
}

#[test]
fn pm4_commands_run_and_raise_an_event() {
    let client = Client::new("gfx90a");
    let queue = client.send(client.compute(queue_type::COMPUTE)).unwrap();
    let event = client.backend.create_event(EventKind::Signal).unwrap();
    let data = memory(&client.backend, 4096);
    let mailbox = client.backend.mailbox(event);
    let release = ReleaseMem::write_64(mailbox, u64::from(event.0), event.0);
    let commands = [
        Packet::WriteData(WriteData::new(data.gpu_va, 1)).emit(),
        &[77],
        Packet::ReleaseMem(release).emit(),
    ]
    .concat();
    for (index, dword) in commands.iter().enumerate() {
        // SAFETY: within the ring, which is mapped.
        unsafe { client.word(&client.ring, index * 4).write_volatile(*dword) };
    }
    // Polling the write pointer suffices, since a doorbell is not mapped here.
    let pointer = client.word(&client.pointers, 0x38);
    // SAFETY: the page of pointers, which is mapped.
    unsafe { pointer.write_volatile(commands.len() as u32) };
    client
        .send(UpdateQueue {
            queue_id: queue.queue_id,
            ring_base_address: client.ring.gpu_va,
            ring_size: RING as u32,
            queue_percentage: 100,
            queue_priority: 7,
        })
        .unwrap();
    let deadline = Timeout::At(client.backend.now() + 60_000_000_000);
    let outcome = client
        .backend
        .wait_events(&[event], WaitMode::Any, deadline, &mut |_| {});
    assert_eq!(
        outcome,
        Ok(EventOutcome::Raised),
        "{:?}",
        client.face.last_faults()
    );
    // SAFETY: mapped memory.
    assert_eq!(unsafe { client.word(&data, 0).read_volatile() }, 77);
    // The read pointer follows, within the ring.
    let begun = Instant::now();
    // SAFETY: the page of pointers.
    while unsafe { client.word(&client.pointers, 0x80).read_volatile() } != commands.len() as u32 {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::yield_now();
    }
    let queue_id = queue.queue_id;
    client.send(DestroyQueue { queue_id, pad: 0 }).unwrap();
    assert_eq!(
        client.send(DestroyQueue { queue_id, pad: 0 }).unwrap_err(),
        EINVAL
    );
}
