//! The KFD face with a GPU, call by call: what it takes, what it refuses and with which error.

use rukh_backend_sim::kfd::KfdFace;
use rukh_core::kfd::uapi::*;
use rukh_core::kfd::{KfdFile, KfdPort, Mapping, Protection};
use std::ptr::NonNull;

const EPERM: i32 = 1;
const ENOMEM: i32 = 12;
const EFAULT: i32 = 14;
const EBUSY: i32 = 16;
const ENODEV: i32 = 19;
const EINVAL: i32 = 22;
const ENOTSUPP: i32 = 524;
/// Addresses that this process has no use for.
const VA: u64 = 0x1000_0000_0000;
const PAGE: u64 = 4096;

struct Client {
    face: KfdFace,
    kfd: KfdFile,
    render: KfdFile,
    gpu_id: u32,
}

impl Client {
    /// Opens everything, but has no address space yet.
    fn new(gpus: &str) -> Self {
        let face = KfdFace::parse(gpus).unwrap();
        let mut text = [0; 16];
        let path = "/sys/devices/virtual/kfd/kfd/topology/nodes/1/gpu_id";
        let length = face.read_file(path, &mut text).unwrap();
        let text = std::str::from_utf8(&text[..length]).unwrap();
        Self {
            kfd: face.open("/dev/kfd").unwrap(),
            render: face.open("/dev/dri/renderD128").unwrap(),
            gpu_id: text.trim().parse().unwrap(),
            face,
        }
    }

    fn ready(gpus: &str) -> Self {
        let client = Self::new(gpus);
        client.acquire(client.render).unwrap();
        client
    }

    fn call<A: Ioctl>(&self, argument: &mut A) -> Result<(), i32> {
        // SAFETY: the pointers in arguments of these tests are of arrays that live across the call.
        unsafe {
            self.face
                .ioctl_raw(self.kfd, A::INFO.request, argument.as_mut_bytes())
        }
    }

    fn acquire(&self, file: KfdFile) -> Result<(), i32> {
        self.call(&mut AcquireVm {
            drm_fd: file.0 as u32,
            gpu_id: self.gpu_id,
        })
    }

    fn allocate(
        &self,
        flags: AllocFlags,
        va_addr: u64,
        size: u64,
        host: u64,
    ) -> Result<AllocMemoryOfGpu, i32> {
        let mut a = AllocMemoryOfGpu {
            va_addr,
            size,
            mmap_offset: host,
            gpu_id: self.gpu_id,
            flags: (flags | AllocFlags::WRITABLE).bits(),
            ..AllocMemoryOfGpu::default()
        };
        self.call(&mut a).map(|()| a)
    }

    fn free(&self, handle: u64) -> Result<(), i32> {
        self.call(&mut FreeMemoryOfGpu { handle })
    }

    /// Maps to GPUs; gives how many of them that went well for.
    fn map(&self, handle: u64, ids: &[u32]) -> (Result<(), i32>, u32) {
        let mut a = MapMemoryToGpu {
            handle,
            device_ids_array_ptr: ids.as_ptr().expose_provenance() as u64,
            n_devices: ids.len() as u32,
            n_success: 0,
        };
        (self.call(&mut a), a.n_success)
    }

    fn unmap(&self, handle: u64) -> Result<(), i32> {
        let ids = [self.gpu_id];
        let mut a = UnmapMemoryFromGpu {
            handle,
            device_ids_array_ptr: ids.as_ptr().expose_provenance() as u64,
            n_devices: 1,
            n_success: 0,
        };
        self.call(&mut a)
    }

    fn host(&self, file: KfdFile, offset: u64, size: u64) -> Result<NonNull<u8>, i32> {
        let mapping = Mapping {
            file: Some(file),
            offset,
            size: size as usize,
            protection: Protection::ReadWrite,
            fixed: None,
        };
        // SAFETY: not fixed.
        unsafe { self.face.map(&mapping) }.map_err(|error| error.errno())
    }

    /// Memory that the GPU maps at `va`.
    fn buffer(&self, flags: AllocFlags, va: u64, size: u64) -> AllocMemoryOfGpu {
        let a = self.allocate(flags, va, size, 0).unwrap();
        assert_eq!(self.map(a.handle, &[self.gpu_id]), (Ok(()), 1));
        a
    }

    /// An argument for a queue whose buffers are all as the driver wants them on a gfx90a.
    fn queue(&self) -> (CreateQueue, Vec<AllocMemoryOfGpu>) {
        let (index, ring, eop, save) = (VA, VA + PAGE, VA + 2 * PAGE, VA + 3 * PAGE);
        let buffers = vec![
            self.buffer(AllocFlags::GTT, index, PAGE),
            self.buffer(AllocFlags::GTT, ring, PAGE),
            self.buffer(AllocFlags::VRAM, eop, PAGE),
            self.buffer(AllocFlags::GTT, save, 0x3cb_1000),
        ];
        let argument = CreateQueue {
            ring_base_address: ring,
            ring_size: PAGE as u32,
            write_pointer_address: index + 0x38,
            read_pointer_address: index + 0x80,
            eop_buffer_address: eop,
            eop_buffer_size: PAGE,
            ctx_save_restore_address: save,
            ctx_save_restore_size: 0x3c9_1000,
            ctl_stack_size: 0x9000,
            gpu_id: self.gpu_id,
            queue_type: queue_type::COMPUTE_AQL,
            queue_percentage: 100,
            queue_priority: 7,
            ..CreateQueue::default()
        };
        (argument, buffers)
    }
}

#[test]
fn an_address_space_comes_with_the_first_render_file_and_stays() {
    let client = Client::new("gfx90a");
    assert_eq!(
        client.allocate(AllocFlags::VRAM, VA, PAGE, 0).err(),
        Some(ENODEV)
    );
    assert_eq!(client.acquire(client.kfd), Err(EINVAL));
    assert_eq!(client.acquire(client.render), Ok(()));
    assert_eq!(client.acquire(client.render), Ok(()));
    let other = client.face.open("/dev/dri/renderD128").unwrap();
    assert_eq!(client.acquire(other), Err(EBUSY));
    client.face.close(client.render);
    assert_eq!(client.acquire(other), Err(EBUSY));
    assert!(client.face.open("/dev/dri/renderD129").is_err());
}

#[test]
fn memory_is_checked_when_it_is_allocated() {
    let client = Client::ready("gfx90a");
    let refused = |flags, size, host| client.allocate(flags, VA, size, host).err();
    assert_eq!(refused(AllocFlags::VRAM, 0, 0), Some(EINVAL));
    assert_eq!(refused(AllocFlags::empty(), PAGE, 0), Some(EINVAL));
    let both = AllocFlags::VRAM | AllocFlags::GTT;
    assert_eq!(refused(both, PAGE, 0), Some(EINVAL));
    assert_eq!(refused(AllocFlags::VRAM, 65 << 30, 0), Some(ENOMEM));
    assert_eq!(refused(AllocFlags::USERPTR, PAGE, 0), Some(EINVAL));
    assert_eq!(refused(AllocFlags::USERPTR, PAGE, 0x1000), Some(EFAULT));
    assert_eq!(refused(AllocFlags::DOORBELL, PAGE, 0), Some(EINVAL));
    assert_eq!(refused(AllocFlags::MMIO_REMAP, 2 * PAGE, 0), Some(EINVAL));
    let mut left = AvailableMemory {
        gpu_id: client.gpu_id,
        ..AvailableMemory::default()
    };
    client.call(&mut left).unwrap();
    let before = left.available;
    let vram = client.allocate(AllocFlags::VRAM, VA, PAGE, 0).unwrap();
    client.call(&mut left).unwrap();
    assert_eq!(left.available, before - PAGE);
    assert_eq!(client.free(vram.handle), Ok(()));
    assert_eq!(client.free(vram.handle), Err(EINVAL));
}

#[test]
fn mapping_counts_the_gpus_that_it_went_well_for() {
    let client = Client::ready("gfx90a,gfx90a");
    let vram = client.allocate(AllocFlags::VRAM, VA, PAGE, 0).unwrap();
    let id = client.gpu_id;
    assert_eq!(client.map(vram.handle, &[id, 0xdead]), (Err(EINVAL), 1));
    // Of the second GPU the process has no address space.
    assert_eq!(client.map(vram.handle, &[id, id + 1]), (Err(ENODEV), 1));
    assert_eq!(client.free(vram.handle), Err(EBUSY));
    let overlapping = client.allocate(AllocFlags::GTT, VA, PAGE, 0).unwrap();
    assert_eq!(client.map(overlapping.handle, &[id]), (Err(EINVAL), 0));
    assert_eq!(client.unmap(vram.handle), Ok(()));
    assert_eq!(client.map(overlapping.handle, &[id]), (Ok(()), 1));
    assert_eq!(client.free(vram.handle), Ok(()));
}

#[test]
fn the_host_sees_the_pages_as_long_as_it_maps_them() {
    let client = Client::ready("gfx90a");
    let vram = client.allocate(AllocFlags::VRAM, VA, 2 * PAGE, 0).unwrap();
    let offset = vram.mmap_offset;
    let bad = |offset, size| client.host(client.render, offset, size).err();
    assert_eq!(bad(offset + PAGE, PAGE), Some(EINVAL));
    assert_eq!(bad(offset, 3 * PAGE), Some(EINVAL));
    let one = client.host(client.render, offset, 2 * PAGE).unwrap();
    let two = client.host(client.render, offset, 2 * PAGE).unwrap();
    // SAFETY: both are mapped for two pages; nobody else has them.
    unsafe {
        one.cast::<u64>().write_volatile(7);
        assert_eq!(two.cast::<u64>().read_volatile(), 7);
        client.face.unmap(two, PAGE as usize);
    }
    client.free(vram.handle).unwrap();
    // Nobody is given pages that are still mapped somewhere.
    for turn in 0..2 {
        let other = client.allocate(AllocFlags::VRAM, VA, 2 * PAGE, 0).unwrap();
        let fresh = client
            .host(client.render, other.mmap_offset, 2 * PAGE)
            .unwrap();
        // SAFETY: as above.
        unsafe {
            assert_eq!(fresh.cast::<u64>().read_volatile(), 0);
            fresh.cast::<u64>().write_volatile(9);
            if turn == 0 {
                assert_eq!(one.cast::<u64>().read_volatile(), 7);
                client.face.unmap(one, 2 * PAGE as usize);
                client.face.unmap(two.add(PAGE as usize), PAGE as usize);
            }
        }
    }
}

#[test]
fn registers_and_doorbells_are_mapped_by_the_driver() {
    let client = Client::ready("gfx90a");
    let registers = client
        .allocate(AllocFlags::MMIO_REMAP, VA, PAGE, 0)
        .unwrap();
    assert!(client.host(client.kfd, registers.mmap_offset, PAGE).is_ok());
    let long = client.host(client.kfd, registers.mmap_offset, 2 * PAGE);
    assert_eq!(long.err(), Some(EINVAL));
    assert_eq!(client.host(client.kfd, 3 << 62, 0x2000).err(), Some(ENODEV));
}

#[test]
fn a_queue_holds_its_buffers_and_each_must_be_as_the_driver_wants_it() {
    let client = Client::ready("gfx90a");
    let (good, buffers) = client.queue();
    let refused = |change: fn(&mut CreateQueue)| {
        let mut argument = good;
        change(&mut argument);
        client.call(&mut argument).err()
    };
    assert_eq!(refused(|a| a.ring_size *= 2), Some(EINVAL));
    assert_eq!(refused(|a| a.ctl_stack_size -= 0x1000), Some(EINVAL));
    assert_eq!(refused(|a| a.ctx_save_restore_size += 1), Some(EINVAL));
    assert_eq!(refused(|a| a.eop_buffer_size *= 2), Some(EINVAL));
    assert_eq!(
        refused(|a| a.write_pointer_address += 4 * PAGE),
        Some(EINVAL)
    );
    assert_eq!(refused(|a| a.read_pointer_address = 1 << 63), Some(EFAULT));
    assert_eq!(refused(|a| a.queue_type = 77), Some(ENOTSUPP));

    let mut first = good;
    client.call(&mut first).unwrap();
    assert_eq!(first.queue_id, 0);
    assert_eq!(first.doorbell_offset >> 62, 3);
    let page = first.doorbell_offset & !0x1fff;
    assert!(client.host(client.kfd, page, 0x2000).is_ok());
    assert_eq!(client.host(client.kfd, page, PAGE).err(), Some(EINVAL));
    for buffer in &buffers {
        assert_eq!(client.unmap(buffer.handle), Err(EBUSY));
        assert_eq!(client.free(buffer.handle), Err(EBUSY));
    }
    let mut xnack = SetXnackMode { xnack_enabled: 0 };
    assert_eq!(client.call(&mut xnack), Err(EBUSY));
    xnack.xnack_enabled = -1;
    assert_eq!(client.call(&mut xnack), Ok(()));
    assert_eq!(xnack.xnack_enabled, 0);

    let bits = [0xffu32];
    let mut mask = SetCuMask {
        queue_id: 0,
        num_cu_mask: 32,
        cu_mask_ptr: bits.as_ptr().expose_provenance() as u64,
    };
    assert_eq!(client.call(&mut mask), Ok(()));
    let mut update = UpdateQueue {
        ring_base_address: good.ring_base_address,
        queue_id: 0,
        ring_size: good.ring_size,
        queue_percentage: 0,
        queue_priority: 15,
    };
    assert_eq!(client.call(&mut update), Ok(()));
    update.queue_id = 1;
    assert_eq!(client.call(&mut update), Err(EFAULT));

    let mut destroy = DestroyQueue {
        queue_id: 0,
        pad: 0,
    };
    assert_eq!(client.call(&mut destroy), Ok(()));
    assert_eq!(client.call(&mut destroy), Err(EINVAL));
    for buffer in &buffers {
        assert_eq!(client.unmap(buffer.handle), Ok(()));
        assert_eq!(client.free(buffer.handle), Ok(()));
    }
    assert_eq!(client.face.handles(), (2, 0, 0));
}

#[test]
fn the_event_page_is_the_clients_and_the_driver_keeps_it() {
    let client = Client::ready("gfx90a");
    let page = client.allocate(AllocFlags::GTT, VA, 0x8000, 0).unwrap();
    let mut event = CreateEvent {
        event_page_offset: page.handle,
        auto_reset: 1,
        ..CreateEvent::default()
    };
    client.call(&mut event).unwrap();
    assert_eq!((event.event_id, event.event_slot_index), (1, 1));
    let host = client
        .host(client.render, page.mmap_offset, 0x8000)
        .unwrap();
    // SAFETY: mapped for 4096 words.
    assert_eq!(unsafe { host.cast::<u64>().add(1).read_volatile() }, !0);
    assert_eq!(client.free(page.handle), Err(EPERM));
    event.event_page_offset = page.handle;
    assert_eq!(client.call(&mut event), Err(EINVAL));

    // An age that is not the event's says that it was raised since, even if somebody has consumed that.
    let mut set = SetEvent {
        event_id: 1,
        pad: 0,
    };
    client.call(&mut set).unwrap();
    let wait = |age: u64| {
        let mut data = [EventData {
            data: [age, 0, 0, 0],
            event_id: 1,
            ..EventData::default()
        }];
        let mut a = WaitEvents {
            events_ptr: data.as_mut_ptr().expose_provenance() as u64,
            num_events: 1,
            ..WaitEvents::default()
        };
        client.call(&mut a).unwrap();
        (a.wait_result, data[0].data[0])
    };
    assert_eq!(wait(0), (0, 0));
    assert_eq!(wait(0), (1, 0));
    assert_eq!(wait(1), (0, 2));
    assert_eq!(wait(2), (1, 2));
}
