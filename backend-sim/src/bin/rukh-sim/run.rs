//! `rukh-sim run`.

use crate::hint;
use crate::lines::{self, Lines};
use crate::options::RunOptions;
use crate::value::Argument;
use rukh_backend_sim::device::FaultReport;
use rukh_backend_sim::profile::Profile;
use rukh_backend_sim::{Mode, SimBackend, SimConfig};
use rukh_core::backend::{AgentId, Clock, Timeout};
use rukh_core::isa::Isa;
use rukh_core::loader::CodeObject;
use rukh_core::loader::kernarg::{Explicit, Grid, Hidden};
use rukh_core::loader::metadata::{self, KernelMetadata};
use rukh_core::mem::PoolFlags;
use rukh_core::runtime::{
    Buffer, Completion, Dispatch, Kernel, QueueConfig, QueueError, Runtime, RuntimeConfig,
};
use std::fmt::Display;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Runs a kernel, or lists the file's kernels if none is named.
pub fn run(options: &RunOptions) -> Result<(), String> {
    let file = options.file.display();
    let named = |e: &dyn Display| format!("{file}: {e}");
    // A trace shows its lines from the threads of the device, up to the end of the process.
    let bytes: &'static [u8] = std::fs::read(&options.file).map_err(|e| named(&e))?.leak();
    let object = CodeObject::parse(bytes).map_err(|e| named(&e))?;
    let Some(name) = &options.kernel else {
        return list(&object).map_err(|e| named(&e));
    };
    let profile = profile(options, &object)?;
    let mode = match options.step {
        Some(seed) => Mode::Step { seed },
        None => Mode::Threads { workers: 0 },
    };
    let mut config = SimConfig::new(vec![profile]).mode(mode);
    let bias = Arc::new(OnceLock::new());
    if options.lines {
        let lines = Mutex::new(Lines::of(&object).map_err(|e| named(&e))?);
        let bias = bias.clone();
        config = config.trace(Arc::new(move |event| {
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            let address = event.pc.wrapping_sub(*bias.get().unwrap_or(&0));
            if let Some(source) = lines.change(address) {
                eprintln!("; {source}");
            }
            eprintln!("{event}");
        }));
    } else if options.trace {
        config = config.trace(Arc::new(|event| eprintln!("{event}")));
    }
    let backend = SimBackend::new(config).map_err(|e| e.to_string())?;
    let runtime =
        Runtime::new(Arc::new(backend), runtime_config(options)).map_err(|e| e.to_string())?;
    let gpu = runtime.gpu_ids().next().ok_or("the system has no GPU")?;
    let program = runtime.load_program(gpu, bytes).map_err(|e| named(&e))?;
    let loaded = program.executable().code_objects().first();
    let bias = *bias.get_or_init(|| loaded.map_or(0, |loaded| loaded.bias));
    let kernel = program.kernel(name).ok_or_else(|| {
        let names: Vec<&str> = program.kernel_names().collect();
        format!(
            "{file}: there is no kernel '{name}'; there are: {}",
            names.join(", ")
        )
    })?;
    let has_group_memory = kernel.info().group_segment_size > 0
        || options.dynamic_lds > 0
        || options.args.iter().any(|a| matches!(a, Argument::Local(_)));
    if !has_group_memory && hint::uses_group_memory(&object, name) {
        eprintln!(
            "rukh-sim: note: {name} accesses group memory and has none: reads give zero; see --dynamic-lds"
        );
    }
    let explain = |report: &FaultReport| lines::place(report, &object, bias);
    launch(options, &runtime, gpu, &kernel, &explain)
}

fn runtime_config(options: &RunOptions) -> RuntimeConfig {
    if options.step.is_some() {
        // One thread: the order of events then depends on the seed alone.
        RuntimeConfig::default()
    } else {
        RuntimeConfig::threaded()
    }
}

/// The profile asked for, or the first that executes the code object.
fn profile(options: &RunOptions, object: &CodeObject<'_>) -> Result<&'static Profile, String> {
    let known = || {
        let names: Vec<&str> = Profile::all().iter().map(|p| p.name).collect();
        names.join(", ")
    };
    match &options.gpu {
        Some(name) => Profile::by_name(name)
            .ok_or_else(|| format!("--gpu: there is no '{name}'; there are: {}", known())),
        None => Profile::all()
            .iter()
            .find(|profile| {
                Isa::from_target_id(profile.target_id)
                    .is_ok_and(|isa| object.isa().runs_on(&isa, object.generic_version()))
            })
            .ok_or_else(|| {
                format!(
                    "the code object is for {}, which none of these executes: {}",
                    object.isa(),
                    known()
                )
            }),
    }
}

fn list(object: &CodeObject<'_>) -> Result<(), String> {
    println!("{}", object.isa());
    let metadata = object
        .metadata()
        .map_err(|e| e.to_string())?
        .ok_or("there is no metadata, so that kernels cannot be listed")?;
    for kernel in metadata.kernels() {
        let kernel = kernel.map_err(|e| e.to_string())?;
        println!("{}", signature(&kernel)?);
    }
    Ok(())
}

/// The arguments that a client passes.
fn explicit<'a>(kernel: &KernelMetadata<'a>) -> Result<Vec<metadata::Argument<'a>>, String> {
    kernel
        .args()
        .filter(|a| a.as_ref().map_or(true, |a| !a.value_kind.is_hidden()))
        .collect::<Result<_, _>>()
        .map_err(|e| e.to_string())
}

/// `name(0: type name, …)` with sizes.
fn signature(kernel: &KernelMetadata<'_>) -> Result<String, String> {
    let arguments: Vec<String> = explicit(kernel)?
        .iter()
        .enumerate()
        .map(|(index, a)| {
            format!(
                "{index}: {}{} ({}, {} bytes)",
                a.type_name.map_or(String::new(), |t| format!("{t} ")),
                a.name.unwrap_or("?"),
                a.value_kind.as_str(),
                a.size
            )
        })
        .collect();
    Ok(format!("  {}({})", kernel.name, arguments.join(", ")))
}

/// A buffer argument on the device.
struct Bound {
    buffer: Buffer<SimBackend>,
    address: [u8; 8],
}

fn launch(
    options: &RunOptions,
    runtime: &Arc<Runtime<SimBackend>>,
    gpu: AgentId,
    kernel: &Kernel<SimBackend>,
    explain: &dyn Fn(&FaultReport) -> Option<String>,
) -> Result<(), String> {
    let metadata = kernel.metadata().ok_or(
        "the code object has no metadata for this kernel, so that its arguments are not known",
    )?;
    let parameters = explicit(&metadata)?;
    check_arguments(options, &metadata, &parameters)?;
    let grid = grid(options, &metadata)?;
    let bound = bind(options, runtime, gpu)?;
    let arguments: Vec<Explicit<'_>> = options
        .args
        .iter()
        .zip(&bound)
        .map(|(argument, bound)| match (argument, bound) {
            (_, Some(bound)) => Explicit::Bytes(&bound.address),
            (Argument::Local(bytes), None) => Explicit::DynamicLds(*bytes),
            (Argument::Scalar { bytes, .. } | Argument::Buffer { bytes, .. }, None) => {
                Explicit::Bytes(bytes)
            }
        })
        .collect();
    let dispatch = Dispatch {
        hidden: Hidden {
            dynamic_lds: options.dynamic_lds,
            ..Hidden::default()
        },
        ..Dispatch::new(grid)
    };

    let queue = runtime
        .create_queue(gpu, QueueConfig::default())
        .map_err(|e| e.to_string())?;
    let before = runtime.backend().wave_instructions();
    let begun = Instant::now();
    let completion = runtime
        .dispatch(&queue, kernel, &dispatch, &arguments)
        .map_err(|e| {
            format!(
                "{e}\nthe kernel is{}",
                signature(&metadata).unwrap_or_default()
            )
        })?;
    match wait(runtime, &completion, options.timeout) {
        Ok(()) => {}
        Err(QueueError::TimedOut) => {
            return Err(format!(
                "the kernel has not completed after {:.1} s and {} wave-instructions, and was stopped",
                begun.elapsed().as_secs_f64(),
                runtime.backend().wave_instructions() - before
            ));
        }
        Err(error) => {
            let mut message = error.to_string();
            for fault in runtime.backend().last_faults() {
                message.push_str(&format!("\n  {fault}"));
                if let Some(place) = explain(&fault) {
                    message.push_str(&format!("\n  {place}"));
                }
            }
            return Err(message);
        }
    }
    let time = begun.elapsed();
    let instructions = runtime.backend().wave_instructions() - before;
    eprintln!(
        "{}: {instructions} wave-instructions in {:.3} ms",
        kernel.name(),
        time.as_secs_f64() * 1e3
    );
    print(options, &bound)
}

/// Waits by the host's clock: in single-step mode the backend's is virtual.
fn wait(
    runtime: &Runtime<SimBackend>,
    completion: &Completion<SimBackend>,
    timeout: Option<Duration>,
) -> Result<(), QueueError> {
    let Some(timeout) = timeout else {
        return completion.wait(Timeout::Never);
    };
    let begun = Instant::now();
    loop {
        let left = timeout.saturating_sub(begun.elapsed());
        let slice = left.min(Duration::from_millis(1)).as_nanos() as u64;
        let until = runtime.backend().now().saturating_add(slice);
        match completion.wait(Timeout::At(until)) {
            Err(QueueError::TimedOut) if !left.is_zero() => {}
            outcome => return outcome,
        }
    }
}

/// Explains a wrong call in the terms of the command line.
fn check_arguments(
    options: &RunOptions,
    metadata: &KernelMetadata<'_>,
    parameters: &[metadata::Argument<'_>],
) -> Result<(), String> {
    let explain = |why: String| {
        format!(
            "{why}\nthe kernel is{}",
            signature(metadata).unwrap_or_default()
        )
    };
    if options.args.len() != parameters.len() {
        return Err(explain(format!(
            "{} arguments are given, the kernel takes {}",
            options.args.len(),
            parameters.len()
        )));
    }
    for (index, (argument, parameter)) in options.args.iter().zip(parameters).enumerate() {
        let is_local = parameter.value_kind == metadata::ValueKind::DynamicSharedPointer;
        match argument {
            Argument::Local(_) if !is_local => {
                return Err(explain(format!(
                    "argument {index} is no pointer to group memory"
                )));
            }
            Argument::Local(_) => {}
            _ if is_local => {
                return Err(explain(format!(
                    "argument {index} points to group memory: write local:BYTES"
                )));
            }
            Argument::Buffer { .. } if parameter.size != 8 => {
                return Err(explain(format!(
                    "argument {index} has {} bytes and cannot be a buffer",
                    parameter.size
                )));
            }
            Argument::Scalar { .. } if parameter.value_kind.is_address() => {
                return Err(explain(format!(
                    "argument {index} is a pointer: write buf:TYPE:COUNT"
                )));
            }
            Argument::Scalar { element, bytes }
                if bytes.len() as u64 != u64::from(parameter.size) =>
            {
                return Err(explain(format!(
                    "argument {index} has {} bytes, {element} has {}",
                    parameter.size,
                    bytes.len()
                )));
            }
            Argument::Scalar { .. } | Argument::Buffer { .. } => {}
        }
    }
    for (index, _) in &options.print {
        if !matches!(options.args.get(*index), Some(Argument::Buffer { .. })) {
            return Err(format!("--print {index}: argument {index} is no buffer"));
        }
    }
    Ok(())
}

fn grid(options: &RunOptions, metadata: &KernelMetadata<'_>) -> Result<Grid, String> {
    let grid = options.grid.ok_or("--grid is missing")?;
    let required = metadata
        .reqd_workgroup_size
        .map(|sizes| sizes.map(|size| u16::try_from(size).unwrap_or(u16::MAX)));
    let group = match (options.group, required) {
        (Some(group), Some(required)) if group != required => {
            return Err(format!(
                "--group: the kernel demands work-groups of {required:?}"
            ));
        }
        (Some(group), _) => group,
        (None, Some(required)) => required,
        (None, None) => {
            let most = metadata.max_flat_workgroup_size.clamp(1, 256);
            [grid[0].clamp(1, most) as u16, 1, 1]
        }
    };
    Ok(Grid::new(grid, group))
}

/// Puts buffers into the GPU's memory.
fn bind(
    options: &RunOptions,
    runtime: &Arc<Runtime<SimBackend>>,
    gpu: AgentId,
) -> Result<Vec<Option<Bound>>, String> {
    let pool = runtime
        .find_pool(gpu, PoolFlags::COARSE)
        .ok_or("the GPU has no memory pool")?
        .id;
    options
        .args
        .iter()
        .enumerate()
        .map(|(index, argument)| {
            let Argument::Buffer { bytes, .. } = argument else {
                return Ok(None);
            };
            let failed = |e: &dyn Display| format!("argument {index}: {e}");
            // A buffer of no elements still has an address.
            let size = bytes.len().max(1) as u64;
            let buffer = runtime
                .create_buffer(pool, size, &[])
                .map_err(|e| failed(&e))?;
            buffer.write(0, bytes).map_err(|e| failed(&e))?;
            let address = buffer.address().0.to_le_bytes();
            Ok(Some(Bound { buffer, address }))
        })
        .collect()
}

fn print(options: &RunOptions, bound: &[Option<Bound>]) -> Result<(), String> {
    for &(index, count) in &options.print {
        let (Some(Argument::Buffer { element, bytes }), Some(Some(bound))) =
            (options.args.get(index), bound.get(index))
        else {
            return Err(format!("--print {index}: argument {index} is no buffer"));
        };
        let size = element.size();
        let count = count.min(bytes.len() / size);
        let mut out = vec![0; count * size];
        bound.buffer.read(0, &mut out).map_err(|e| e.to_string())?;
        let values: Vec<String> = out.chunks(size).map(|b| element.decode(b)).collect();
        println!("{index}: {}", values.join(" "));
    }
    Ok(())
}
