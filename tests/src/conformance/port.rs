//! The suite over a system that refuses: calls of the KFD backend's port fail below the backend.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rukh_backend_linux_kfd::KfdBackend;
use rukh_backend_linux_kfd::fault::{Failure, Fault, FaultPort, PortCall, PortFaults};
use rukh_backend_sim::kfd::KfdFace;
use rukh_backend_sim::{Mode, SimConfig};

use super::run::{bounded, find};
use super::{Factory, Watched};
use crate::oracle::rng::Rng;

const EPERM: i32 = 1;
const ENOENT: i32 = 2;
const EINTR: i32 = 4;
const EIO: i32 = 5;
const EBADF: i32 = 9;
const EAGAIN: i32 = 11;
const ENOMEM: i32 = 12;
const EACCES: i32 = 13;
const EFAULT: i32 = 14;
const EBUSY: i32 = 16;
const ENODEV: i32 = 19;
const EINVAL: i32 = 22;
const EMFILE: i32 = 24;
const ENOTTY: i32 = 25;
const ENOSPC: i32 = 28;
const ENOSYS: i32 = 38;

/// A backend that closes leaves the event page: the driver keeps it until the process ends.
const EVENT_PAGE_OBJECTS: usize = 1;

/// A run that takes longer is told of: something waited until its patience was over.
const SLOW: Duration = Duration::from_secs(10);

/// DESTROY_QUEUE, DESTROY_EVENT, FREE_MEMORY_OF_GPU, UNMAP_MEMORY_FROM_GPU, and what takes virtual memory from the host.
const GIVING_BACK: [PortCall; 5] = [
    PortCall::Kfd(0x03),
    PortCall::Kfd(0x09),
    PortCall::Kfd(0x17),
    PortCall::Kfd(0x19),
    PortCall::Clear,
];

type Port = FaultPort<Arc<KfdFace>>;

/// The Linux KFD backend over a face whose calls fail.
#[derive(Clone, Debug)]
pub struct PortFactory {
    gpus: &'static str,
    faults: Arc<PortFaults>,
    made: Arc<Mutex<Made>>,
}

#[derive(Debug, Default)]
struct Made {
    faces: Vec<Arc<KfdFace>>,
    /// Backends that could not be opened, and why.
    refused: Vec<String>,
}

impl PortFactory {
    /// These GPUs, and what fails.
    pub fn new(gpus: &'static str, fault: Option<Fault>) -> Self {
        Self {
            gpus,
            faults: Arc::new(PortFaults::new(fault)),
            made: Arc::default(),
        }
    }

    /// What the backends asked for.
    pub fn faults(&self) -> &PortFaults {
        &self.faults
    }

    /// What the faces still hold of clients that are gone; a line each.
    pub fn leaks(&self) -> Vec<String> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let held = made.faces.iter().map(|face| face.handles());
        held.filter(|(files, objects, queues)| {
            *files != 0 || *objects > EVENT_PAGE_OBJECTS || *queues != 0
        })
        .map(|(files, objects, queues)| {
            format!("{files} files, {objects} buffer objects and {queues} queues are left")
        })
        .collect()
    }

    fn face(&self) -> Arc<KfdFace> {
        let config = SimConfig::parse(self.gpus).expect("the suite names profiles that exist");
        let face = KfdFace::new(config.mode(Mode::Threads { workers: 2 }));
        let face = Arc::new(face.expect("the suite simulates few GPUs"));
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.faces.push(face.clone());
        face
    }
}

impl Factory for PortFactory {
    type Backend = KfdBackend<Port>;

    /// A backend; if it cannot be opened, nothing may be left of the attempt, and another one is made on a system in
    /// order.
    fn make(&self) -> Self::Backend {
        match KfdBackend::open(FaultPort::new(self.face(), self.faults.clone())) {
            Ok(backend) => backend,
            Err(error) => {
                let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
                made.refused.push(error.to_string());
                drop(made);
                let sound = Arc::new(PortFaults::new(None));
                KfdBackend::open(FaultPort::new(self.face(), sound))
                    .expect("the face answers what a kernel does")
            }
        }
    }

    fn faults_stop_the_agent(&self) -> bool {
        true
    }
}

/// What a call may plausibly fail with.
fn failures(call: PortCall, gpus: u32) -> Vec<Failure> {
    let errnos: &[i32] = match call {
        PortCall::Open => &[
            ENOENT, EPERM, EACCES, ENODEV, EBUSY, EMFILE, ENOMEM, EINTR, EIO,
        ],
        PortCall::Read | PortCall::List => &[ENOENT, EPERM, EACCES, EIO, EINTR, EMFILE],
        PortCall::Map | PortCall::Clear => &[ENOMEM, EINVAL, EPERM, EAGAIN, EACCES],
        PortCall::WipeOnFork | PortCall::Place => &[EINVAL, EPERM, ENOSYS],
        PortCall::Kfd(_) | PortCall::Drm(_) => &[
            EINTR, EAGAIN, ENOMEM, EFAULT, ENODEV, EIO, EINVAL, EPERM, EBUSY, ENOSPC, ENOTTY, EBADF,
        ],
    };
    let mut all: Vec<_> = errnos.iter().map(|&errno| Failure::Errno(errno)).collect();
    match call {
        PortCall::Read | PortCall::List => all.push(Failure::Short),
        // MAP_MEMORY_TO_GPU and UNMAP_MEMORY_FROM_GPU.
        PortCall::Kfd(0x18 | 0x19) => {
            for done in 1..gpus {
                for errno in [EINTR, EAGAIN, ENOMEM, EIO] {
                    all.push(Failure::Partial { done, errno });
                }
            }
        }
        _ => {}
    }
    all
}

/// Whether a client must not notice: an ioctl that was interrupted is sent again.
fn is_harmless(fault: &Fault) -> bool {
    let (Failure::Errno(errno) | Failure::Partial { errno, .. }) = fault.failure else {
        return false;
    };
    matches!(errno, EINTR | EAGAIN) && fault.call.is_ioctl() && fault.times == 1
}

/// Says what a test was about that panics, as one does that hangs.
struct About<'a>(&'a str);

impl Drop for About<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.0);
        }
    }
}

/// Runs one test with one fault.
fn faulty(chapter: &str, name: &str, gpus: &'static str, fault: Option<Fault>) -> PortFactory {
    let factory = PortFactory::new(gpus, fault);
    let watched = Watched::new(factory.clone());
    let about = format!("{chapter}::{name} under {fault:?}");
    let begun = Instant::now();
    let _said = About(&about);
    let outcome = bounded(find(chapter, name), &watched);
    if begun.elapsed() > SLOW {
        println!("{about}: {:.1} s", begun.elapsed().as_secs_f64());
    }
    // What the driver refuses to take back stays with the backend until it goes.
    if !fault.is_some_and(|fault| GIVING_BACK.contains(&fault.call)) {
        let books = watched.faults();
        assert!(books.is_empty(), "{about}: {}", books.join("\n"));
    }
    let leaks = factory.leaks();
    assert!(leaks.is_empty(), "{about}: {}", leaks.join("\n"));
    if let Err(failure) = outcome {
        let told = factory.faults().injected() != 0;
        let harmless = fault.as_ref().is_some_and(is_harmless);
        assert!(told && !harmless, "{about}: {failure}");
    }
    factory
}

/// Runs one test once for each way in which each kind of call that it makes may fail, at its first, its middle and its last
/// occurrence; of all those runs `most`, chosen by the seed. Gives how many there were.
///
/// # Panics
/// If the test panics or hangs, the face is left with anything, or an interruption is noticed.
pub fn run_with_port_faults(
    chapter: &str,
    name: &str,
    gpus: &'static str,
    most: Option<usize>,
    seed: u64,
) -> usize {
    let sound = faulty(chapter, name, gpus, None);
    let count = gpus.split(',').count() as u32;
    let mut plans = Vec::new();
    let counts: BTreeMap<_, _> = sound.faults().counts().collect();
    for (&call, &calls) in &counts {
        let mut places = vec![0, calls / 2, calls - 1];
        places.dedup();
        for failure in failures(call, count) {
            plans.extend(places.iter().map(|&after| Fault {
                call,
                after,
                times: 1,
                failure,
            }));
        }
    }
    let mut random = Rng::new(seed ^ chapter.len() as u64 ^ (name.len() as u64) << 8);
    let runs = most.map_or(plans.len(), |most| most.min(plans.len()));
    for at in 0..runs {
        let other = at + random.below((plans.len() - at) as u64) as usize;
        plans.swap(at, other);
        faulty(chapter, name, gpus, Some(plans[at]));
    }
    runs
}
