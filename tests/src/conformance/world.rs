//! A runtime with its agents, and what tests do with it again and again.

use std::sync::Arc;
use std::time::Duration;

use rukh_core::backend::{AgentId, Backend, Timeout};
use rukh_core::mem::{PoolFlags, PoolId, Segment};
use rukh_core::runtime::{Agent, Buffer, Kernel, Program, Queue, QueueConfig, Runtime};

use super::{Factory, Failure, Outcome};
use crate::golden::committed;

/// A runtime over a fresh backend.
#[derive(Debug)]
pub struct World<B: Backend + 'static> {
    /// The runtime.
    pub runtime: Arc<Runtime<B>>,
    /// The first CPU.
    pub cpu: AgentId,
    /// The first GPU.
    pub gpu: AgentId,
    /// Whether devices make progress only inside of calls.
    pub stepped: bool,
    /// How long to wait for what must come.
    pub patience: Duration,
    /// Whether a memory fault of one queue stops all queues of its agent.
    pub faults_stop_the_agent: bool,
}

impl<B: Backend + 'static> World<B> {
    /// Starts a runtime over a backend of the factory.
    ///
    /// # Errors
    /// What the runtime says, or that an agent is missing.
    pub fn start<F: Factory<Backend = B>>(factory: &F) -> Outcome<Self> {
        let runtime = Runtime::new(Arc::new(factory.make()), factory.config())?;
        let first = |gpu: bool| {
            let mut agents = runtime.agents().iter();
            agents
                .find(|agent| agent.is_gpu() == gpu)
                .map(|agent| agent.id)
                .ok_or_else(|| Failure::Broken(format!("there is no agent, GPU: {gpu}")))
        };
        Ok(Self {
            cpu: first(false)?,
            gpu: first(true)?,
            stepped: factory.is_stepped(),
            patience: factory.patience(),
            faults_stop_the_agent: factory.faults_stop_the_agent(),
            runtime,
        })
    }

    /// All GPUs.
    pub fn gpus(&self) -> impl Iterator<Item = &Agent> {
        self.runtime.agents().iter().filter(|agent| agent.is_gpu())
    }

    /// The present time and the factory's patience.
    pub fn deadline(&self) -> Timeout {
        self.after(self.patience)
    }

    /// The present time and this long, or the factory's patience if that is less.
    pub fn after(&self, wait: Duration) -> Timeout {
        let wait = wait.min(self.patience);
        Timeout::At(self.runtime.backend().now() + wait.as_nanos() as u64)
    }

    /// The pool with these flags.
    ///
    /// # Errors
    /// That there is none.
    pub fn pool(&self, agent: AgentId, flags: PoolFlags) -> Outcome<PoolId> {
        let pool = self.runtime.find_pool(agent, flags);
        pool.map(|pool| pool.id)
            .ok_or_else(|| Failure::Broken(format!("agent {} has no pool {flags:?}", agent.0)))
    }

    /// The pools that can be allocated from.
    pub fn pools(&self) -> Vec<PoolId> {
        let pools = self.runtime.agents().iter().flat_map(|agent| &agent.pools);
        pools
            .filter(|pool| pool.allocatable && pool.segment == Segment::Global)
            .map(|pool| pool.id)
            .collect()
    }

    /// Fine-grained host memory that all GPUs reach.
    ///
    /// # Errors
    /// What the runtime says.
    pub fn shared(&self, size: u64) -> Outcome<Buffer<B>> {
        let agents: Vec<AgentId> = self.runtime.gpu_ids().collect();
        let pool = self.pool(self.cpu, PoolFlags::FINE)?;
        Ok(self.runtime.create_buffer(pool, size, &agents)?)
    }

    /// Device memory of a GPU.
    ///
    /// # Errors
    /// What the runtime says.
    pub fn device(&self, gpu: AgentId, size: u64) -> Outcome<Buffer<B>> {
        let pool = self.pool(gpu, PoolFlags::COARSE)?;
        Ok(self.runtime.create_buffer(pool, size, &[])?)
    }

    /// A queue of 64 packets of the first GPU.
    ///
    /// # Errors
    /// What the runtime says.
    pub fn queue(&self) -> Outcome<Queue<B>> {
        self.queue_of(self.gpu, 64)
    }

    /// A queue.
    ///
    /// # Errors
    /// What the runtime says.
    pub fn queue_of(&self, gpu: AgentId, size: u32) -> Outcome<Queue<B>> {
        let config = QueueConfig {
            size,
            ..QueueConfig::default()
        };
        Ok(self.runtime.create_queue(gpu, config)?)
    }

    /// The committed code object of a source file for a GPU.
    ///
    /// # Errors
    /// That there is none.
    pub fn code_object(&self, gpu: AgentId, file: &str) -> Outcome<&'static [u8]> {
        let isa = self.runtime.agent(gpu).and_then(|agent| agent.isa);
        let name = isa.map_or("?", |isa| isa.processor().name);
        committed::ALL
            .iter()
            .find(|object| object.file == file && object.target.processor() == name)
            .map(|object| object.code_object)
            .ok_or_else(|| Failure::Broken(format!("{file} is not committed for {name}")))
    }

    /// Loads the committed code object of a source file.
    ///
    /// # Errors
    /// What the runtime says.
    pub fn program(&self, gpu: AgentId, file: &str) -> Outcome<Arc<Program<B>>> {
        Ok(self
            .runtime
            .load_program(gpu, self.code_object(gpu, file)?)?)
    }

    /// Loads a kernel of a committed code object.
    ///
    /// # Errors
    /// What the runtime says, or that there is none.
    pub fn kernel(&self, gpu: AgentId, file: &str, name: &str) -> Outcome<Kernel<B>> {
        let program = self.program(gpu, file)?;
        let kernel = program.kernel(name);
        kernel.ok_or_else(|| Failure::Broken(format!("{file} has no kernel {name}")))
    }
}
