//! The loader on a committed code object (`reduction`, gfx90a, two kernels): elements are code objects.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rukh_backend_sim::{SimBackend, SimConfig};
use rukh_core::backend::AgentId;
use rukh_core::loader::kernarg::{self, Explicit, Grid, Hidden};
use rukh_core::loader::oracle::ByteMemory;
use rukh_core::loader::{CodeObject, Executable, OwnedMetadata};
use rukh_core::runtime::{Runtime, RuntimeConfig};
use rukh_tests::golden::{Target, committed};

fn loader(c: &mut Criterion) {
    let file = committed::code_object("reduction", Target::Gfx90a).expect("it is committed");
    let code = CodeObject::parse(file).expect("it is ours");
    let mut group = c.benchmark_group("loader");
    group.throughput(Throughput::Elements(1));
    group.bench_function("parse", |b| {
        b.iter(|| CodeObject::parse(black_box(file)).is_ok())
    });
    group.bench_function("parse_and_read_all_metadata", |b| {
        b.iter(|| {
            let code = CodeObject::parse(black_box(file)).expect("it is ours");
            let metadata = code.metadata().ok().flatten().expect("it has some");
            metadata.kernels().flatten().flat_map(|k| k.args()).count()
        });
    });
    group.bench_function("load_and_freeze_into_plain_memory", |b| {
        b.iter(|| {
            let memory = ByteMemory::new(1 << 20);
            let mut executable = Executable::new(&memory);
            let loaded = executable.load(AgentId(1), code.isa(), &code);
            assert!(loaded.is_ok() && executable.freeze().is_ok());
        });
    });
    let system = SimConfig::parse("gfx90a").expect("a profile");
    let backend = Arc::new(SimBackend::new(system).expect("a system"));
    let runtime = Runtime::new(backend, RuntimeConfig::threaded()).expect("a runtime");
    let gpu = runtime.gpu_ids().next().expect("a GPU");
    group.bench_function("load_program_onto_the_software_gpu", |b| {
        b.iter(|| runtime.load_program(gpu, file).is_ok());
    });
    group.bench_function("fill_kernel_arguments", |b| {
        let metadata = OwnedMetadata::new(&code)
            .ok()
            .flatten()
            .expect("it has some");
        let kernel = metadata.kernel("reduction").expect("it is there");
        let (pointer, count) = ([0; 8], [0; 4]);
        let arguments = [
            Explicit::Bytes(&pointer),
            Explicit::Bytes(&pointer),
            Explicit::Bytes(&count),
        ];
        let grid = Grid::new([1 << 20, 1, 1], [256, 1, 1]);
        let mut block = [0; 512];
        b.iter(|| {
            kernarg::fill(&kernel, &grid, &arguments, &Hidden::default(), &mut block).is_ok()
        });
    });
    group.finish();
}

criterion_group!(benches, loader);
criterion_main!(benches);
