//! What a dispatch costs beside its work: start-up, latency, and set-up per wavefront, on this host.
//!
//! `cargo run --release --example overhead [profile [workers]]`

use rukh_backend_sim::{Mode, SimBackend, SimConfig};
use rukh_core::backend::{AgentId, Timeout};
use rukh_core::mem::{Address, AllocFlags, PoolFlags};
use rukh_core::runtime::{QueueConfig, Runtime, RuntimeConfig};
use rukh_core::wire::aql::{FenceScope, Header, KernelDispatchPacket, PacketType};
use rukh_core::wire::kernel_descriptor::KernelDescriptor;
use rukh_core::wire::signal::Condition;
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

const GPU: AgentId = AgentId(1);
/// s_endpgm, of gfx9 and gfx10, and of gfx11 and later.
const END: [u32; 2] = [0xbf81_0000, 0xbfb0_0000];

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmRSS"));
    line.and_then(|l| l.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or(0)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let profile = args.next().unwrap_or("gfx90a".into());
    let workers = args.next().map_or(Ok(0), |n| n.parse())?;
    let before = resident_kib();
    let start = Instant::now();
    let config = SimConfig::parse(&profile)?.mode(Mode::Threads { workers });
    let backend = Arc::new(SimBackend::new(config)?);
    println!(
        "backend: {:?}, {} KiB",
        start.elapsed(),
        resident_kib() - before
    );
    let runtime = Runtime::new(backend, RuntimeConfig::threaded())?;
    println!(
        "runtime: {:?}, {} KiB",
        start.elapsed(),
        resident_kib() - before
    );
    let config = QueueConfig {
        size: 1024,
        ..QueueConfig::default()
    };
    let queue = runtime.create_queue(GPU, config)?;
    println!(
        "queue:   {:?}, {} KiB",
        start.elapsed(),
        resident_kib() - before
    );

    let pool = runtime
        .find_pool(GPU, PoolFlags::COARSE)
        .ok_or("no pool")?
        .id;
    let code = runtime.allocate(pool, 8192, AllocFlags::EXECUTABLE)?;
    let mut descriptor = KernelDescriptor {
        kernel_code_entry_byte_offset: 256,
        ..Default::default()
    };
    // 32 registers, and work-group ids in SGPRs.
    descriptor.rsrc1 = descriptor.rsrc1.with_granulated_workitem_vgpr_count(3);
    descriptor.rsrc2 = descriptor.rsrc2.with_enable_sgpr_workgroup_id_x(true);
    let end = END[usize::from(profile.starts_with("gfx11") || profile.starts_with("gfx12"))];
    write(code, &descriptor.emit());
    write(code.offset(256), &end.to_le_bytes());

    let dispatch = |grid: u32, group: u16, times: u32| -> Result<(f64, f64), Box<dyn Error>> {
        let mut best = f64::INFINITY;
        let mut sum = 0.0;
        for _ in 0..times {
            let signal = runtime.create_signal(1)?;
            let packet = KernelDispatchPacket {
                header: Header::new(PacketType::KernelDispatch)
                    .barrier(true)
                    .acquire(FenceScope::System)
                    .release(FenceScope::System),
                setup: 1,
                workgroup_size: [group, 1, 1],
                grid_size: [grid, 1, 1],
                kernel_object: code.0,
                completion_signal: signal.handle().0,
                ..Default::default()
            };
            let start = Instant::now();
            queue.claim(Timeout::Never)?.publish_packet(&packet);
            signal.wait(Condition::Eq, 0, Timeout::Never)?;
            let took = start.elapsed().as_nanos() as f64;
            best = best.min(took);
            sum += took;
        }
        Ok((best, sum / f64::from(times)))
    };
    dispatch(64, 64, 100)?;
    let (best, mean) = dispatch(64, 64, 10_000)?;
    println!("one wave: best {best:.0} ns, mean {mean:.0} ns");
    for group in [64u16, 256, 1024] {
        let (best, mean) = dispatch(1_000_000, group, 20)?;
        let waves = 15_625.0;
        println!(
            "15625 waves in groups of {group}: best {:.0} ns, mean {:.0} ns per wave",
            best / waves,
            mean / waves
        );
    }
    Ok(())
}

fn write(to: Address, bytes: &[u8]) {
    // SAFETY: the memory was allocated here, is larger, and no device uses it yet.
    unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), to.as_ptr(), bytes.len()) };
}
