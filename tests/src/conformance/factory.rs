//! Where the backend under test comes from.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rukh_backend_linux_kfd::KfdBackend;
use rukh_backend_sim::kfd::KfdFace;
use rukh_backend_sim::{Mode, SimBackend, SimConfig};
use rukh_core::backend::{Backend, FaultInjector, FaultPlan, Wrap};
use rukh_core::runtime::RuntimeConfig;

use super::{Device, Ledger, Malice};

/// Makes backends of one kind.
pub trait Factory: Clone + Send + Sync + 'static {
    /// The kind.
    type Backend: Backend + 'static;

    /// A backend that nobody uses yet.
    fn make(&self) -> Self::Backend;

    /// Whether devices make progress only inside of calls.
    fn is_stepped(&self) -> bool {
        false
    }

    /// How long a test waits for what must come; in step mode, of the virtual clock.
    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }

    /// Whether a memory fault of one queue stops all queues of its agent.
    ///
    /// Linux' driver takes all of a process's queues off a GPU that has seen one of them fault, and its event names
    /// none of them.
    fn faults_stop_the_agent(&self) -> bool {
        false
    }

    /// How a runtime over it is configured.
    fn config(&self) -> RuntimeConfig {
        if self.is_stepped() {
            RuntimeConfig::default()
        } else {
            RuntimeConfig::threaded()
        }
    }
}

/// The software GPU.
#[derive(Clone, Copy, Debug)]
pub struct SimFactory {
    gpus: &'static str,
    mode: Mode,
}

impl SimFactory {
    /// These GPUs, running on threads of their own.
    pub const fn threads(gpus: &'static str) -> Self {
        let mode = Mode::Threads { workers: 2 };
        Self { gpus, mode }
    }

    /// These GPUs, running when called, with turns chosen by the seed.
    pub const fn step(gpus: &'static str, seed: u64) -> Self {
        let mode = Mode::Step { seed };
        Self { gpus, mode }
    }
}

impl Factory for SimFactory {
    type Backend = SimBackend;

    fn make(&self) -> SimBackend {
        let config = SimConfig::parse(self.gpus).expect("the suite names profiles that exist");
        SimBackend::new(config.mode(self.mode)).expect("the suite simulates few GPUs")
    }

    fn is_stepped(&self) -> bool {
        matches!(self.mode, Mode::Step { .. })
    }
}

/// The Linux KFD backend over the software GPU's KFD face.
#[derive(Clone, Copy, Debug)]
pub struct KfdFactory {
    gpus: &'static str,
    small_bar: bool,
}

impl KfdFactory {
    /// These GPUs, each machine with its own process.
    pub const fn new(gpus: &'static str) -> Self {
        Self {
            gpus,
            small_bar: false,
        }
    }

    /// In machines where the host does not reach device memory.
    #[must_use]
    pub const fn with_small_bar(mut self) -> Self {
        self.small_bar = true;
        self
    }
}

impl Factory for KfdFactory {
    type Backend = KfdBackend<KfdFace>;

    fn make(&self) -> Self::Backend {
        let config = SimConfig::parse(self.gpus).expect("the suite names profiles that exist");
        let face = KfdFace::new(config.mode(Mode::Threads { workers: 2 }))
            .expect("the suite simulates few GPUs");
        let face = if self.small_bar {
            face.with_small_bar()
        } else {
            face
        };
        KfdBackend::open(face).expect("the face answers what a kernel does")
    }

    fn faults_stop_the_agent(&self) -> bool {
        true
    }
}

/// A factory whose backends keep books.
#[derive(Clone, Debug)]
pub struct Watched<F> {
    inner: F,
    ledgers: Arc<Mutex<Vec<Arc<Ledger>>>>,
}

impl<F> Watched<F> {
    /// Puts a ledger around each backend that `inner` makes.
    pub fn new(inner: F) -> Self {
        let ledgers = Arc::default();
        Self { inner, ledgers }
    }

    /// What is wrong in the books of all backends so far.
    pub fn faults(&self) -> Vec<String> {
        let ledgers = self.ledgers.lock().unwrap_or_else(PoisonError::into_inner);
        ledgers.iter().flat_map(|ledger| ledger.faults()).collect()
    }
}

impl<F: Factory> Factory for Watched<F> {
    type Backend = Wrap<F::Backend, Arc<Ledger>>;

    fn make(&self) -> Self::Backend {
        let ledger = Arc::new(Ledger::default());
        let mut ledgers = self.ledgers.lock().unwrap_or_else(PoisonError::into_inner);
        ledgers.push(ledger.clone());
        Wrap::new(self.inner.make(), ledger)
    }

    fn is_stepped(&self) -> bool {
        self.inner.is_stepped()
    }

    fn faults_stop_the_agent(&self) -> bool {
        self.inner.faults_stop_the_agent()
    }

    fn config(&self) -> RuntimeConfig {
        self.inner.config()
    }
}

/// A factory whose backends have calls fail.
#[derive(Clone, Debug)]
pub struct Faulty<F> {
    inner: F,
    injector: Arc<FaultInjector>,
}

impl<F> Faulty<F> {
    /// Puts a fault injector around what `inner` makes; one for all of its backends.
    pub fn new(inner: F, plan: FaultPlan) -> Self {
        let injector = Arc::new(FaultInjector::new(plan));
        Self { inner, injector }
    }

    /// The injector.
    pub fn injector(&self) -> &FaultInjector {
        &self.injector
    }
}

impl<F: Factory> Factory for Faulty<F> {
    type Backend = Wrap<F::Backend, Arc<FaultInjector>>;

    fn make(&self) -> Self::Backend {
        Wrap::new(self.inner.make(), self.injector.clone())
    }

    fn is_stepped(&self) -> bool {
        self.inner.is_stepped()
    }

    fn faults_stop_the_agent(&self) -> bool {
        self.inner.faults_stop_the_agent()
    }

    fn config(&self) -> RuntimeConfig {
        self.inner.config()
    }
}

/// A factory whose devices are malicious or broken.
#[derive(Clone, Debug)]
pub struct Malicious<F> {
    inner: F,
    malice: Malice,
    seed: u64,
    devices: Arc<Mutex<Vec<Arc<Device>>>>,
}

impl<F> Malicious<F> {
    /// Has the devices of what `inner` makes do this wrong, by the seed.
    pub fn new(inner: F, malice: Malice, seed: u64) -> Self {
        Self {
            inner,
            malice,
            seed,
            devices: Arc::default(),
        }
    }

    /// How often any of them did.
    pub fn acts(&self) -> u64 {
        let devices = self.devices.lock().unwrap_or_else(PoisonError::into_inner);
        devices.iter().map(|device| device.acts()).sum()
    }
}

impl<F: Factory> Factory for Malicious<F> {
    type Backend = Wrap<F::Backend, Arc<Device>>;

    fn make(&self) -> Self::Backend {
        let device = Arc::new(Device::new(self.malice, self.seed));
        let mut devices = self.devices.lock().unwrap_or_else(PoisonError::into_inner);
        devices.push(device.clone());
        Wrap::new(self.inner.make(), device)
    }

    fn is_stepped(&self) -> bool {
        self.inner.is_stepped()
    }

    /// Devices that work need little of the virtual clock; a kernel that never ends uses all that there is. In real time
    /// it is what the suite waits for what never comes, again and again.
    fn patience(&self) -> Duration {
        Duration::from_millis(if self.is_stepped() { 20 } else { 300 })
    }

    fn faults_stop_the_agent(&self) -> bool {
        self.inner.faults_stop_the_agent()
    }

    fn config(&self) -> RuntimeConfig {
        self.inner.config()
    }
}
