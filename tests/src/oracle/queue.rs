//! The queue protocol with a producer, and a device, that keep to nothing: packets of any contents, indices and doorbells of
//! any value, a queue's own structure written over. The rest of the machine is untouched, and what stops is told.

use rukh_backend_sim::SimBackend;
use rukh_core::backend::{QueuePriority, Timeout};
use rukh_core::runtime::{Queue, QueueConfig, Signal};
use rukh_core::signal::MemoryOrder;
use rukh_core::wire::aql::PACKET_SIZE;
use rukh_core::wire::queue::AmdQueue;

use super::bed::{Bed, GPU};
use super::input::Input;

/// Steps of a sequence, and packets of the ring.
const STEPS: usize = 60;
const PACKETS: u32 = 64;
/// Where the block holds a kernel: its descriptor, its code, its arguments.
pub(super) const DESCRIPTOR: u64 = 0;
pub(super) const CODE: u64 = 256;
const ARGUMENTS: u64 = 4096;

struct World<'a> {
    bed: &'a Bed,
    queue: Queue<SimBackend>,
    /// Where its ring is: the structure that says so may be written over.
    ring: u64,
    signals: [Signal<SimBackend>; 2],
    /// Whether nothing was written that a client has no business to write.
    honest: bool,
}

/// Runs a sequence: the first byte chooses the processor, then a kernel, then steps.
pub fn check(data: &[u8]) {
    let mut input = Input::new(data);
    Bed::lend(input.byte(), |bed| run(bed, &mut input));
}

fn run(bed: &Bed, input: &mut Input<'_>) {
    // The code is at most 64 bytes of the input, then an end.
    let mut descriptor = [0; 64];
    descriptor[16] = CODE as u8;
    descriptor[17] = (CODE >> 8) as u8;
    for _ in 0..input.below(4) {
        let at = 44 + input.below(16);
        descriptor[at] = input.byte();
    }
    bed.write(DESCRIPTOR, &descriptor);
    let length = input.below(17) * 4;
    let code = [
        input.take(length),
        &end_of_program(bed.profile).to_le_bytes(),
    ]
    .concat();
    bed.write(CODE, &code);
    let queue = create(bed);
    let signals = [1, 0].map(|value| bed.runtime.create_signal(value).expect("a signal"));
    let mut world = World {
        bed,
        ring: queue.amd_queue().hsa_queue.base_address,
        queue,
        signals,
        honest: true,
    };
    for _ in 0..STEPS {
        if input.is_empty() {
            break;
        }
        step(&mut world, input);
    }
    world.bed.step(50);
    Bed::check_queue(&world.queue);
    if world.honest && world.queue.status().is_none() {
        let (read, write) = indices(&world.queue);
        assert!(read <= write, "{read} packets of {write} are done");
    }
    // Before the signals, which its packets name.
    drop(world.queue);
    world.bed.check();
}

/// `s_endpgm`.
pub(super) fn end_of_program(profile: &str) -> u32 {
    if profile.starts_with("gfx11") || profile.starts_with("gfx12") {
        0xbfb0_0000
    } else {
        0xbf81_0000
    }
}

fn create(bed: &Bed) -> Queue<SimBackend> {
    let config = QueueConfig {
        size: PACKETS,
        ..QueueConfig::default()
    };
    bed.runtime.create_queue(GPU, config).expect("a queue")
}

fn indices(queue: &Queue<SimBackend>) -> (u64, u64) {
    let read = queue.read_index(MemoryOrder::Acquire);
    (read, queue.write_index(MemoryOrder::Acquire))
}

fn step(world: &mut World<'_>, input: &mut Input<'_>) {
    match input.below(16) {
        0..=4 => {
            let packet = packet(world, input);
            let (read, write) = indices(&world.queue);
            match world.queue.try_claim() {
                Ok(claim) => {
                    assert!(!world.honest || claim.index() == write);
                    claim.publish_packet(&packet);
                }
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    let full = write - read.min(write) >= u64::from(PACKETS);
                    let stopped = world.queue.status().is_some();
                    assert!(!world.honest || full || stopped, "{error}");
                }
            }
        }
        5 => {
            let count = input.below(70) as u32;
            if let Ok(mut batch) = world.queue.claim_batch(count, Timeout::Poll) {
                assert!(count != 0 && count <= PACKETS);
                let packet = packet(world, input);
                for _ in 0..input.below(3) {
                    let _ = batch.push(&packet);
                }
            }
        }
        6 => {
            // Published by hand: whatever is in the slot, claimed or not.
            let packet = packet(world, input);
            let slot = input.below(PACKETS as usize) as u64;
            for (at, dword) in (0..).step_by(4).zip(packet.as_chunks::<4>().0) {
                let at = slot * PACKET_SIZE as u64 + at;
                let bytes = u64::from(PACKETS) * PACKET_SIZE as u64;
                world
                    .bed
                    .spoil(world.ring, bytes, at, u32::from_le_bytes(*dword));
            }
            world.honest = false;
        }
        7 => {
            let value = index(world, input);
            world.queue.store_write_index(value, MemoryOrder::Release);
            world.honest = false;
        }
        8 => {
            let value = index(world, input);
            world.queue.store_read_index(value, MemoryOrder::Release);
            world.honest = false;
        }
        9 => {
            // Any number of times, with any value: a doorbell carries no promise.
            let value = index(world, input).cast_signed();
            let doorbell = world.bed.runtime.signal(world.queue.doorbell_signal());
            doorbell
                .expect("it has one")
                .store(value, MemoryOrder::Release);
        }
        10 => {
            let address = world.queue.address();
            let (offset, value) = (input.u16(), input.u32());
            let size = size_of::<AmdQueue>() as u64;
            world.bed.spoil(address, size, offset.into(), value);
            world.honest = false;
        }
        11 => {
            let value = input.number().cast_signed();
            let signal = &world.signals[input.below(2)];
            signal.store(value, MemoryOrder::Release);
        }
        12 => {
            let priority = input.pick(&[QueuePriority::Low, QueuePriority::High]);
            let _ = world.queue.set_priority(priority);
            let mask = [input.u32(), input.u32()];
            let _ = world.queue.set_cu_mask(&mask[..input.below(3)]);
            world.queue.set_profiling(input.flag());
        }
        13 => {
            if input.below(8) == 0 {
                world.queue.inactivate().expect("nothing can go wrong");
                assert!(world.queue.try_claim().is_err());
            } else if input.below(8) == 0 {
                world.queue = create(world.bed);
                world.ring = world.queue.amd_queue().hsa_queue.base_address;
                world.honest = true;
            }
        }
        _ => world.bed.step(1 + input.below(40)),
    }
    Bed::check_queue(&world.queue);
}

/// An index: near what the queue has, or any.
fn index(world: &World<'_>, input: &mut Input<'_>) -> u64 {
    let (read, write) = indices(&world.queue);
    match input.below(4) {
        0 => write.wrapping_add(input.below(130) as u64),
        1 => write.wrapping_sub(input.below(130) as u64),
        2 => read.wrapping_add(input.below(130) as u64),
        _ => input.number(),
    }
}

/// A packet that is nearly right, or none of the kind.
fn packet(world: &World<'_>, input: &mut Input<'_>) -> [u8; PACKET_SIZE] {
    let mut packet = [0; PACKET_SIZE];
    let kind = input.pick(&[2u8, 3, 5, 0, 4, 1, 2, 6, 255]);
    packet[0] = kind;
    packet[1] = input.byte();
    let mut put = |at: usize, bytes: &[u8]| packet[at..][..bytes.len()].copy_from_slice(bytes);
    let signal = |input: &mut Input<'_>| {
        let handles = [0, 1].map(|at: usize| world.signals[at].handle().0);
        let block = world.bed.block.0;
        input.pick(&[handles[0], 0, handles[1], handles[0] + 8, block, 1, !0])
    };
    match kind {
        2 => {
            put(2, &input.pick(&[1u16, 2, 3, 0, 4]).to_le_bytes());
            for at in 0..3 {
                let size = input.pick(&[1u16, 64, 3, 0, 1025, 33]);
                put(4 + 2 * at, &size.to_le_bytes());
                let grid = input.pick(&[1u32, 64, 200, 0, u32::MAX]);
                put(12 + 4 * at, &grid.to_le_bytes());
            }
            let sizes = [0u32, 16, 4096, 1 << 20, u32::MAX];
            put(24, &input.pick(&sizes).to_le_bytes());
            put(28, &input.pick(&sizes).to_le_bytes());
            let block = world.bed.block.0;
            let objects = [
                block + DESCRIPTOR,
                block + DESCRIPTOR,
                block + 64,
                block + 1,
                0,
            ];
            put(32, &input.pick(&objects).to_le_bytes());
            put(40, &input.pick(&[block + ARGUMENTS, 0, !7]).to_le_bytes());
        }
        0 => {
            put(2, &input.pick(&[2u8, 1, 0, 3]).to_le_bytes());
            if input.flag() {
                put(8, &signal(input).to_le_bytes());
                put(16, &input.number().to_le_bytes());
                put(24, &input.number().to_le_bytes());
                put(32, &input.pick(&[0u32, 1, 2, 3, 4]).to_le_bytes());
            } else {
                let block = world.bed.block.0 + ARGUMENTS;
                let jump = [
                    0xc002_3f00,
                    block as u32,
                    (block >> 32) as u32,
                    16 | 1 << 23,
                ];
                for (at, dword) in jump.into_iter().enumerate() {
                    put(4 + 4 * at, &u32::to_le_bytes(dword));
                }
                put(20, &10u32.to_le_bytes());
            }
        }
        3 | 5 => {
            for at in 0..input.below(6) {
                put(8 + 8 * at, &signal(input).to_le_bytes());
            }
        }
        _ => put(2, input.take(54)),
    }
    put(56, &signal(input).to_le_bytes());
    packet
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::rng::Rng;

    #[test]
    fn random_sequences_disturb_nothing_else() {
        let mut rng = Rng::new(12);
        let mut data = [0; 500];
        for case in 0..300u32 {
            rng.fill(&mut data);
            data[0] = case as u8;
            check(&data);
        }
    }
}
