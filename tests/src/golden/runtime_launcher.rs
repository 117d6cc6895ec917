//! Golden kernels through the runtime, on any backend.

use super::{Arg, GlobalValue, Launch, Launcher};
use rukh_core::backend::{AgentId, Backend, Timeout};
use rukh_core::loader::CodeObject;
use rukh_core::loader::kernarg::{Explicit, Grid};
use rukh_core::mem::{Address, PoolFlags};
use rukh_core::runtime::{Buffer, Dispatch, Program, Queue, QueueConfig, QueueError, Runtime};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Launches golden kernels on the GPUs of a runtime, each on the first GPU that executes its code.
pub struct RuntimeLauncher<B: Backend + ?Sized + 'static> {
    runtime: Arc<Runtime<B>>,
    queues: HashMap<AgentId, Queue<B>>,
    /// How long a kernel may take.
    timeout: Duration,
    explain: Explain<B>,
}

/// What a backend knows of its last fault, in words.
pub type Explain<B> = fn(&B) -> String;

impl<B: Backend + ?Sized + 'static> RuntimeLauncher<B> {
    /// On this runtime. `explain` adds to the text of a failure.
    pub fn new(runtime: Arc<Runtime<B>>, timeout: Duration, explain: Explain<B>) -> Self {
        Self {
            runtime,
            queues: HashMap::new(),
            timeout,
            explain,
        }
    }

    fn agent(&self, code_object: &[u8]) -> Result<AgentId, String> {
        let object = CodeObject::parse(code_object).map_err(|e| e.to_string())?;
        let (isa, generic) = (object.isa(), object.generic_version());
        self.runtime
            .agents()
            .iter()
            .find(|agent| agent.isa.is_some_and(|own| isa.runs_on(&own, generic)))
            .map(|agent| agent.id)
            .ok_or_else(|| format!("no agent executes {isa}"))
    }

    /// A buffer of the agent's memory with these contents.
    fn buffer(&self, agent: AgentId, bytes: &[u8]) -> Result<Buffer<B>, String> {
        let pool = self
            .runtime
            .find_pool(agent, PoolFlags::COARSE)
            .ok_or("the agent has no coarse-grained pool")?
            .id;
        let buffer = self
            .runtime
            .create_buffer(pool, bytes.len().max(1) as u64, &[])
            .map_err(|e| e.to_string())?;
        buffer.write(0, bytes).map_err(|e| e.to_string())?;
        Ok(buffer)
    }

    fn run(&mut self, agent: AgentId, launch: &mut Launch<'_>) -> Result<(), String> {
        let runtime = self.runtime.clone();
        let program = runtime
            .load_program(agent, launch.code_object)
            .map_err(|e| e.to_string())?;
        let kernel = program
            .kernel(launch.kernel())
            .ok_or_else(|| format!("no kernel {}", launch.kernel()))?;
        for global in launch.globals.iter().filter(|global| global.write) {
            // SAFETY: the variable is in memory of the program that is loaded, as large as checked by
            // `variable`, and no kernel runs.
            unsafe {
                runtime.copy(
                    variable(&program, global)?,
                    Address::from(global.bytes.as_ptr()),
                    global.bytes.len() as u64,
                )
            }
            .map_err(|e| e.to_string())?;
        }

        let buffers: Vec<Option<(Buffer<B>, [u8; 8])>> = launch
            .args
            .iter()
            .map(|arg| match arg {
                Arg::Buffer(bytes) => self.buffer(agent, bytes).map(|buffer| {
                    let address = buffer.address().0.to_le_bytes();
                    Some((buffer, address))
                }),
                Arg::Scalar(_) => Ok(None),
            })
            .collect::<Result<_, _>>()?;
        let arguments: Vec<Explicit<'_>> = launch
            .args
            .iter()
            .zip(&buffers)
            .map(|(arg, buffer)| match buffer {
                Some((_, address)) => Explicit::Bytes(address),
                None => Explicit::Bytes(arg.bytes()),
            })
            .collect();

        let mut dispatch = Dispatch::new(Grid::new(launch.grid, launch.group));
        dispatch.hidden.dynamic_lds = launch.dynamic_lds;
        let queue = self.queues.get(&agent).ok_or("no queue")?;
        let completion = runtime
            .dispatch(queue, &kernel, &dispatch, &arguments)
            .map_err(|e| e.to_string())?;
        let deadline = runtime.backend().now() + self.timeout.as_nanos() as u64;
        completion
            .wait(Timeout::At(deadline))
            .map_err(|error: QueueError| {
                format!("{error}; {}", (self.explain)(runtime.backend()))
            })?;

        for (arg, buffer) in launch.args.iter_mut().zip(&buffers) {
            if let (Arg::Buffer(bytes), Some((buffer, _))) = (arg, buffer) {
                buffer.read(0, bytes).map_err(|e| e.to_string())?;
            }
        }
        for global in &mut launch.globals {
            let address = variable(&program, global)?;
            // SAFETY: as above; the kernel is complete.
            unsafe {
                runtime.copy(
                    Address::from(global.bytes.as_mut_ptr().cast_const()),
                    address,
                    global.bytes.len() as u64,
                )
            }
            .map_err(|e| e.to_string())?;
        }
        Ok(())
    }
}

/// Where a variable is loaded, if it is as large as expected.
fn variable<B: Backend + ?Sized>(
    program: &Program<B>,
    global: &GlobalValue,
) -> Result<Address, String> {
    let symbol = program
        .variable(global.symbol)
        .ok_or_else(|| format!("no variable {}", global.symbol))?;
    if symbol.size != global.bytes.len() as u64 {
        return Err(format!(
            "variable {} has {} bytes instead of {}",
            global.symbol,
            symbol.size,
            global.bytes.len()
        ));
    }
    Ok(Address(symbol.address))
}

impl<B: Backend + ?Sized + 'static> Launcher for RuntimeLauncher<B> {
    fn launch(&mut self, launch: &mut Launch<'_>) -> Result<(), String> {
        let agent = self.agent(launch.code_object)?;
        if !self.queues.contains_key(&agent) {
            let queue = self
                .runtime
                .create_queue(agent, QueueConfig::default())
                .map_err(|e| e.to_string())?;
            self.queues.insert(agent, queue);
        }
        let result = self.run(agent, launch);
        if result.is_err() {
            // A queue that was stopped stays stopped; the next kernel gets another.
            self.queues.remove(&agent);
        }
        result
    }
}
