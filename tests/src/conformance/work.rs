//! Dispatches as packets, so that tests can spoil them.

use rukh_core::backend::{AgentId, Backend};
use rukh_core::loader::kernarg::{self, Explicit, Grid, Hidden};
use rukh_core::mem::PoolFlags;
use rukh_core::queue::QueueStatus;
use rukh_core::runtime::{Buffer, Kernel, Queue, Signal, WaitCondition, WaitHint};
use rukh_core::signal::{Condition, MemoryOrder};
use rukh_core::wire::aql::{BarrierPacket, FenceScope, Header, KernelDispatchPacket, PacketType};

use super::failure::ensure_eq;
use super::{Failure, Outcome, World};

/// A dispatch that is ready to be sent, with everything it needs.
#[derive(Debug)]
pub struct Prepared<B: Backend + 'static> {
    /// The packet.
    pub packet: KernelDispatchPacket,
    /// Its completion signal, 1.
    pub signal: Signal<B>,
    _arguments: Buffer<B>,
    _kernel: Kernel<B>,
}

impl<B: Backend + 'static> Prepared<B> {
    /// Publishes the packet as it is now.
    ///
    /// # Errors
    /// What the queue says.
    pub fn send(&self, world: &World<B>, queue: &Queue<B>) -> Outcome {
        queue.claim(world.deadline())?.publish_packet(&self.packet);
        Ok(())
    }

    /// Waits for its completion.
    ///
    /// # Errors
    /// If the queue stops or the time is over.
    pub fn wait(&self, world: &World<B>, queue: &Queue<B>) -> Outcome {
        world.wait_for(&self.signal, queue)
    }

    /// The value of the completion signal.
    pub fn value(&self) -> i64 {
        self.signal.load(MemoryOrder::Acquire)
    }
}

impl<B: Backend + 'static> World<B> {
    /// Prepares a dispatch with these arguments.
    ///
    /// # Errors
    /// What the runtime says.
    pub fn prepare(
        &self,
        queue: &Queue<B>,
        kernel: &Kernel<B>,
        (grid, group): ([u32; 3], [u16; 3]),
        arguments: &[&[u8]],
    ) -> Outcome<Prepared<B>> {
        let metadata = kernel
            .metadata()
            .ok_or_else(|| Failure::Broken(format!("{} has no metadata", kernel.name())))?;
        let explicit: Vec<_> = arguments
            .iter()
            .map(|bytes| Explicit::Bytes(bytes))
            .collect();
        let grid = Grid::new(grid, group);
        let hidden = Hidden {
            queue_ptr: Some(queue.address()),
            ..Hidden::default()
        };
        let mut block = vec![0; metadata.kernarg_segment_size as usize];
        let filled = kernarg::fill(&metadata, &grid, &explicit, &hidden, &mut block)?;
        let agents: Vec<AgentId> = self.runtime.gpu_ids().collect();
        let pool = self.pool(self.cpu, PoolFlags::KERNARG)?;
        let size = block.len().max(1) as u64;
        let arguments = self.runtime.create_buffer(pool, size, &agents)?;
        arguments.write(0, &block)?;
        let signal = self.runtime.create_signal(1)?;
        let info = kernel.info();
        Ok(Prepared {
            packet: KernelDispatchPacket {
                header: Header::new(PacketType::KernelDispatch)
                    .acquire(FenceScope::System)
                    .release(FenceScope::System),
                setup: u16::from(grid.dims),
                workgroup_size: grid.group,
                grid_size: grid.grid,
                private_segment_size: info.private_segment_size,
                group_segment_size: filled.group_segment_size,
                kernel_object: info.kernel_object,
                kernarg_address: arguments.address().0,
                completion_signal: signal.handle().0,
                ..KernelDispatchPacket::default()
            },
            signal,
            _arguments: arguments,
            _kernel: kernel.clone(),
        })
    }

    /// Waits until the signal is below 1.
    ///
    /// # Errors
    /// If the queue stops or the time is over.
    pub fn wait_for(&self, signal: &Signal<B>, queue: &Queue<B>) -> Outcome {
        let conditions = [
            WaitCondition {
                signal: signal.handle(),
                condition: Condition::Lt,
                value: 1,
            },
            WaitCondition {
                signal: queue.failure_signal(),
                condition: Condition::Ne,
                value: 0,
            },
        ];
        let deadline = self.deadline();
        match self
            .runtime
            .wait_any(&conditions, deadline, WaitHint::Blocked)?
        {
            Some((0, _)) => Ok(()),
            Some(_) => {
                let status = queue.status().unwrap_or(QueueStatus::Destroyed);
                Err(Failure::Broken(format!("the queue stopped: {status}")))
            }
            None => Err(Failure::Broken(format!(
                "the signal is still {}: read index {}, write index {}",
                signal.load(MemoryOrder::Acquire),
                queue.read_index(MemoryOrder::Acquire),
                queue.write_index(MemoryOrder::Acquire),
            ))),
        }
    }

    /// Waits until the queue has stopped; gives why.
    ///
    /// # Errors
    /// If it does not.
    pub fn wait_stopped(&self, queue: &Queue<B>) -> Outcome<QueueStatus> {
        self.runtime.signal(queue.failure_signal())?.wait(
            Condition::Ne,
            0,
            self.deadline(),
            WaitHint::Blocked,
        )?;
        // The status is set before the signal is, whoever waits.
        queue
            .status()
            .ok_or_else(|| Failure::Broken("the queue did not stop".into()))
    }

    /// Sends a barrier-AND packet with these dependencies; gives its completion signal.
    ///
    /// # Errors
    /// What the runtime says.
    pub fn barrier(&self, queue: &Queue<B>, dependencies: &[&Signal<B>]) -> Outcome<Signal<B>> {
        self.barrier_packet(queue, PacketType::BarrierAnd, dependencies)
    }

    /// Sends a barrier packet of this type.
    ///
    /// # Errors
    /// What the runtime says.
    pub fn barrier_packet(
        &self,
        queue: &Queue<B>,
        kind: PacketType,
        dependencies: &[&Signal<B>],
    ) -> Outcome<Signal<B>> {
        let signal = self.runtime.create_signal(1)?;
        let mut packet = BarrierPacket {
            header: Header::new(kind).barrier(true),
            completion_signal: signal.handle().0,
            ..BarrierPacket::default()
        };
        for (place, dependency) in packet.dep_signal.iter_mut().zip(dependencies) {
            *place = dependency.handle().0;
        }
        queue.claim(self.deadline())?.publish_packet(&packet);
        Ok(signal)
    }
}

/// c = a + b on a GPU, sent or to be sent.
#[derive(Debug)]
pub struct VectorAdd<B: Backend + 'static> {
    /// The dispatch.
    pub work: Prepared<B>,
    count: u32,
    c: Buffer<B>,
    _inputs: [Buffer<B>; 2],
}

impl<B: Backend + 'static> VectorAdd<B> {
    /// Prepares `count` additions in groups of `group`, on the queue's agent.
    ///
    /// # Errors
    /// What the runtime says.
    pub fn new(world: &World<B>, queue: &Queue<B>, count: u32, group: u16) -> Outcome<Self> {
        let kernel = world.kernel(queue.agent(), "vector_add", "vector_add")?;
        Self::with(world, queue, &kernel, count, group)
    }

    /// The same, with a kernel that is loaded.
    ///
    /// # Errors
    /// What the runtime says.
    pub fn with(
        world: &World<B>,
        queue: &Queue<B>,
        kernel: &Kernel<B>,
        count: u32,
        group: u16,
    ) -> Outcome<Self> {
        let size = u64::from(count) * 4;
        let gpu = queue.agent();
        let [a, b, c] = [(); 3].map(|()| world.device(gpu, size));
        let (a, b, c) = (a?, b?, c?);
        for (buffer, term) in [(&a, first as fn(u32) -> f32), (&b, second)] {
            let bytes: Vec<u8> = (0..count).flat_map(|i| term(i).to_le_bytes()).collect();
            buffer.write(0, &bytes)?;
        }
        let addresses = [&a, &b, &c].map(|buffer| buffer.address().0.to_le_bytes());
        let [pa, pb, pc] = &addresses;
        let arguments: [&[u8]; 4] = [pa, pb, pc, &count.to_le_bytes()];
        let shape = ([count, 1, 1], [group, 1, 1]);
        Ok(Self {
            work: world.prepare(queue, kernel, shape, &arguments)?,
            count,
            c,
            _inputs: [a, b],
        })
    }

    /// Sends it, waits and checks the sums.
    ///
    /// # Errors
    /// What is wrong.
    pub fn run(&self, world: &World<B>, queue: &Queue<B>) -> Outcome {
        self.work.send(world, queue)?;
        self.work.wait(world, queue)?;
        self.check()
    }

    /// Checks the sums.
    ///
    /// # Errors
    /// The first that is wrong.
    pub fn check(&self) -> Outcome {
        for (i, sum) in (0..).zip(self.sums()?) {
            ensure_eq!(sum, first(i) + second(i), "element {i} of {}", self.count);
        }
        Ok(())
    }

    /// Checks that nothing was computed.
    ///
    /// # Errors
    /// The first that was.
    pub fn check_untouched(&self) -> Outcome {
        for (i, sum) in (0..).zip(self.sums()?) {
            ensure_eq!(sum, 0.0, "element {i} of {}", self.count);
        }
        Ok(())
    }

    fn sums(&self) -> Outcome<impl Iterator<Item = f32> + use<B>> {
        let mut bytes = vec![0; self.count as usize * 4];
        self.c.read(0, &mut bytes)?;
        let words = bytes.into_iter().collect::<Vec<u8>>();
        Ok((0..words.len() / 4).map(move |at| {
            let word = [0, 1, 2, 3].map(|byte| words[4 * at + byte]);
            f32::from_le_bytes(word)
        }))
    }
}

fn first(i: u32) -> f32 {
    i as f32 * 0.5
}

fn second(i: u32) -> f32 {
    1.0 + i as f32
}
