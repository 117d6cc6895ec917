//! Packets without sense: whatever a queue is fed, the others go on.

use rukh_core::backend::{Backend, Clock};
use rukh_core::queue::QueueStatus;
use rukh_core::runtime::{Kernel, Queue};
use rukh_core::wire::aql::PACKET_SIZE;

use super::{Factory, Outcome, VectorAdd, World};
use crate::oracle::rng::Rng;

/// An address of no memory.
const NOWHERE: u64 = 0x1234_5000;
const PAGE: u64 = 4096;

fn pick<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.below(of.len() as u64) as usize]
}

/// Packets of every type with contents that mean little: half of them nearly right, so that they get further.
pub(super) fn packets_of_random_bytes_disturb_no_other_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let mut bystander = world.queue()?;
    let kernel = world.kernel(world.gpu, "vector_add", "vector_add")?;
    let memory = world.shared(PAGE)?;
    let mut rng = Rng::new(0x5eed);
    for round in 0..256u32 {
        let queue = world.queue()?;
        let signal = world.runtime.create_signal(1)?;
        // All that a kernel is told: places in one page, nowhere, and a size that stays in the page.
        let places = [0, NOWHERE, u64::MAX - 7, memory.address().0];
        let mut arguments: Vec<u8> = Vec::new();
        for at in 0..16 {
            let value = if at == 3 {
                100
            } else {
                pick(&mut rng, &places)
            };
            arguments.extend(value.to_le_bytes());
        }
        memory.write(PAGE - 256, &arguments)?;
        for at in 0..8 {
            let mut packet = [0; PACKET_SIZE];
            rng.fill(&mut packet);
            // Each type once, with all that may follow it.
            packet[0] = if at == 0 {
                round as u8
            } else {
                rng.below(8) as u8
            };
            let mut put =
                |at: usize, bytes: &[u8]| packet[at..][..bytes.len()].copy_from_slice(bytes);
            if rng.below(4) != 0 {
                let handle = signal.handle().0;
                let handles = [0, handle, handle + 8, 1, NOWHERE, memory.address().0];
                put(56, &pick(&mut rng, &handles).to_le_bytes());
                if rng.below(2) == 0 {
                    for dependency in 0..5 {
                        put(8 + 8 * dependency, &pick(&mut rng, &handles).to_le_bytes());
                    }
                } else {
                    put(2, &pick(&mut rng, &[1u16, 2, 3, 0, 4]).to_le_bytes());
                    for dimension in 0..3 {
                        let group = pick(&mut rng, &[1u16, 2, 16, 0, 1025]);
                        put(4 + 2 * dimension, &group.to_le_bytes());
                        let grid = pick(&mut rng, &[1u32, 64, 1000, 0, u32::MAX]);
                        put(12 + 4 * dimension, &grid.to_le_bytes());
                    }
                    put(
                        24,
                        &pick(&mut rng, &[0u32, 16, 1 << 20, u32::MAX]).to_le_bytes(),
                    );
                    put(
                        28,
                        &pick(&mut rng, &[0u32, 64, 65536, u32::MAX]).to_le_bytes(),
                    );
                    let object = kernel.info().kernel_object;
                    let objects = [object, object, object + 64, memory.address().0, 0];
                    put(32, &pick(&mut rng, &objects).to_le_bytes());
                    let block = memory.address().0 + PAGE - 256;
                    put(
                        40,
                        &pick(&mut rng, &[block, block + 1, 0, NOWHERE]).to_le_bytes(),
                    );
                }
            }
            match queue.try_claim() {
                Ok(claim) => claim.publish_packet(&packet),
                Err(_) => break,
            };
        }
        for _ in 0..20 {
            world.runtime.backend().relax();
        }
        // Before the signal, which its packets name.
        drop(queue);
        if round.is_multiple_of(8) {
            goes_on(&world, &mut bystander, &kernel)?;
        }
    }
    goes_on(&world, &mut bystander, &kernel)
}

/// Runs a dispatch on the bystander; one that a fault of its neighbours has stopped, where that is how it is, is replaced.
fn goes_on<B: Backend + 'static>(
    world: &World<B>,
    bystander: &mut Queue<B>,
    kernel: &Kernel<B>,
) -> Outcome {
    let outcome = VectorAdd::with(world, bystander, kernel, 100, 64)?.run(world, bystander);
    let fault = matches!(bystander.status(), Some(QueueStatus::MemoryFault { .. }));
    if outcome.is_err() && fault && world.faults_stop_the_agent {
        *bystander = world.queue()?;
        return Ok(());
    }
    outcome
}
