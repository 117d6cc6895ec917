//! The KFD face under sequences of calls that are nearly right: every answer is one of the driver's, what a client gives
//! back is gone, and nothing is left when it has given back all.
//!
//! Addresses inside of arguments are those that a client owns or none at all: a driver copies with checks, a face in the
//! same process cannot.

mod events;
mod memory;
mod names;
mod others;
mod queues;

use std::ptr::NonNull;

use rukh_backend_sim::kfd::KfdFace;
use rukh_core::kfd::uapi::*;
use rukh_core::kfd::{KfdFile, KfdPort};

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

/// A client: the steps of a sequence are its methods, by what they are about.
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
