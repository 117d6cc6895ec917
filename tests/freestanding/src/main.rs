//! Core's tier 0 where there is nothing else: no std, no allocator, no C library, no start files.
//!
//! One packet travels from a producer through the ring to a consumer that plays the device, and back as
//! a decremented signal; a real code object is parsed, its metadata read, its kernel arguments laid out; packets for
//! DMA engines and commands are written.
//! The exit status says which step failed.
#![no_std]
#![no_main]

mod engines;
mod stack;
mod system;

use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use rukh_core::backend::SpinPark;
use rukh_core::isa::Isa;
use rukh_core::loader::CodeObject;
use rukh_core::loader::kernarg::{Explicit, Grid, Hidden, fill};
use rukh_core::loader::metadata::KernelMetadata;
use rukh_core::queue::{MappedRing, Ring};
use rukh_core::scratch::{Generation, ScratchDevice, layout};
use rukh_core::signal::{MemoryOrder, SignalArena, SignalFlags, SignalOps, SignalSlot};
use rukh_core::wire::aql::{FenceScope, Header, KernelDispatchPacket, Packet, PacketType};
use rukh_core::wire::queue::AmdQueue;

const PACKETS: usize = 64;

static OBJECT: &[u8] = include_bytes!("../../golden/objects/vector_add-gfx90a-O2-v5.co");

/// Memory that a device would share: zeros at the start, reached by pointers alone.
#[repr(C, align(4096))]
struct Shared<T>(UnsafeCell<T>);

// SAFETY: this program has one thread, and core touches the contents as atomics.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn pointer(&self) -> NonNull<T> {
        NonNull::from(&self.0).cast()
    }
}

static RING: Shared<[[u32; 16]; PACKETS]> = Shared(UnsafeCell::new([[0; 16]; PACKETS]));
static QUEUE: Shared<[u8; size_of::<AmdQueue>()]> =
    Shared(UnsafeCell::new([0; size_of::<AmdQueue>()]));
static SIGNALS: Shared<[SignalSlot; 8]> = Shared(UnsafeCell::new([const { SignalSlot::new() }; 8]));
static ARENA: SignalArena = SignalArena::new();
static DOORBELL: AtomicU64 = AtomicU64::new(u64::MAX);

/// Plays the device: consumes what lies between the indices; packets consumed, or none if one is wrong.
fn consume(queue: &AmdQueue) -> Option<u64> {
    let write = queue.write_dispatch_id.load(Ordering::Acquire);
    let mut read = queue.read_dispatch_id.load(Ordering::Relaxed);
    let before = read;
    while read < write {
        let slot = (read % PACKETS as u64) as usize;
        // SAFETY: the slot is within the ring, which is static.
        let words = unsafe { &*RING.pointer().cast::<[AtomicU32; 16]>().as_ptr().add(slot) };
        let mut bytes = [0u8; 64];
        for (word, out) in words.iter().zip(bytes.as_chunks_mut::<4>().0) {
            *out = word.load(Ordering::Acquire).to_le_bytes();
        }
        let packet = Packet::parse(&bytes);
        let Packet::KernelDispatch(dispatch) = packet else {
            return None;
        };
        if dispatch.grid_size != [1000, 1, 1] {
            return None;
        }
        let handle = rukh_core::signal::SignalHandle(packet.completion_signal()?);
        ARENA.get(handle)?.signal.subtract(1, MemoryOrder::Release);
        words[0].store(u32::from(Header::INVALID.0), Ordering::Relaxed);
        read += 1;
        queue.read_dispatch_id.store(read, Ordering::Release);
    }
    Some(read - before)
}

/// A signal is made, changed and freed.
fn signals() -> Option<()> {
    // SAFETY: static, zeroed, aligned, and added once.
    unsafe { ARENA.add_chunk(SIGNALS.pointer().cast(), 8, &SpinPark) }.ok()?;
    let slot = ARENA.allocate(5, SignalFlags::empty(), &SpinPark).ok()?;
    slot.signal.subtract(5, MemoryOrder::Release);
    let zero = slot.signal.load(MemoryOrder::Acquire) == 0;
    (ARENA.release(slot, &SpinPark) && zero).then_some(())
}

/// A dispatch through the ring, `rounds` times around it.
fn dispatch(rounds: u64) -> Option<()> {
    // SAFETY: both are static memory of that size, zeroed, and used by this ring alone.
    let memory = unsafe {
        MappedRing::new(
            RING.pointer().cast(),
            PACKETS as u32,
            QUEUE.pointer().cast(),
            |index| DOORBELL.store(index, Ordering::Release),
        )
    };
    let ring = Ring::new(memory);
    let slot = ARENA.allocate(0, SignalFlags::empty(), &SpinPark).ok()?;

    for round in 0..rounds {
        for _ in 0..PACKETS {
            slot.signal.add(1, MemoryOrder::Relaxed);
            let packet = KernelDispatchPacket {
                setup: 1,
                workgroup_size: [64, 1, 1],
                grid_size: [1000, 1, 1],
                completion_signal: slot.handle().0,
                ..KernelDispatchPacket::default()
            };
            let header = Header::new(PacketType::KernelDispatch)
                .acquire(FenceScope::System)
                .release(FenceScope::System);
            let mut claim = ring.try_claim().ok()?;
            claim.write(&packet);
            claim.publish(header, packet.setup);
        }
        // The ring is full now, and says so.
        if ring.try_claim().is_ok() {
            return None;
        }
        let rung = DOORBELL.load(Ordering::Acquire);
        if rung != (round + 1) * PACKETS as u64 - 1 {
            return None;
        }
        // SAFETY: static, and all of its fields that change are atomics.
        let queue = unsafe { QUEUE.pointer().cast::<AmdQueue>().as_ref() };
        if consume(queue)? != PACKETS as u64 || slot.signal.load(MemoryOrder::Acquire) != 0 {
            return None;
        }
    }
    ARENA.release(slot, &SpinPark).then_some(())
}

/// A real code object: its ISA.
fn code_object() -> Option<()> {
    let object = CodeObject::parse(OBJECT).ok()?;
    let agent = Isa::from_target_id("gfx90a:sramecc+:xnack-").ok()?;
    object
        .isa()
        .runs_on(&agent, object.generic_version())
        .then_some(())
}

/// The code object and its first kernel: the name, the size of its arguments as the descriptor has it.
fn kernel(object: &CodeObject<'static>) -> Option<(&'static str, u32)> {
    let (symbol, descriptor) = object.kernels().next()?;
    Some((symbol.kernel_name()?, descriptor.kernarg_size))
}

/// Its kernel's descriptor.
fn descriptor() -> Option<()> {
    let (name, size) = kernel(&CodeObject::parse(OBJECT).ok()?)?;
    (name == "vector_add" && size != 0).then_some(())
}

/// What the compiler says of the kernel.
fn metadata() -> Option<KernelMetadata<'static>> {
    let object = CodeObject::parse(OBJECT).ok()?;
    let (name, _) = kernel(&object)?;
    object.metadata().ok()??.kernel(name).ok()?
}

/// Its arguments.
fn arguments() -> Option<()> {
    let kernel = metadata()?;
    let mut kernarg = [0u8; 512];
    let explicit = [
        Explicit::Bytes(&[1u8; 8]),
        Explicit::Bytes(&[2; 8]),
        Explicit::Bytes(&[3; 8]),
        Explicit::Bytes(&[4; 4]),
    ];
    let grid = Grid::new([1000, 1, 1], [64, 1, 1]);
    fill(&kernel, &grid, &explicit, &Hidden::default(), &mut kernarg).ok()?;
    (kernel.kernarg_segment_size <= 512 && kernarg[..8] == [1; 8]).then_some(())
}

fn scratch() -> Option<()> {
    let device = ScratchDevice {
        generation: Generation::Gfx9,
        compute_units: 104,
        shader_engines: 8,
        slots_per_cu: 32,
        xcc_count: 1,
    };
    (layout(&device, 260, 64).ok()?.wave_bytes == 17 * 1024).then_some(())
}

/// No entry of tier 0 may need more stack than this, in bytes: kernels have little.
const STACK_LIMIT: usize = 8 << 10;

pub(crate) fn run() -> i32 {
    let steps: [(&str, fn() -> Option<()>); 9] = [
        ("signals", signals),
        ("packets and ring", || dispatch(3)),
        ("code object", code_object),
        ("kernel descriptor", descriptor),
        ("metadata", || metadata().map(|_| ())),
        ("arguments", arguments),
        ("scratch", scratch),
        ("SDMA packets", engines::sdma),
        ("PM4 commands", engines::pm4),
    ];
    for (number, (name, step)) in (1..).zip(steps) {
        system::print(name);
        let (outcome, stack) = stack::measure(step);
        let passed = outcome.is_some() && stack <= STACK_LIMIT;
        system::print(if passed {
            ": passed, with "
        } else {
            ": FAILED, with "
        });
        system::print_number(stack);
        system::print(" bytes of stack\n");
        if !passed {
            return number;
        }
    }
    0
}
