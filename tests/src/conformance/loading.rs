//! Code objects, good and bad. What can be wrong with a file is core's to test; here it is that
//! nothing is kept of one that was refused.

use rukh_core::loader::{CodeObjectError, LoadError};
use rukh_core::runtime::ProgramError;

use super::failure::{ensure, ensure_eq, ensure_matches};
use super::{Factory, Outcome, VectorAdd, World};
use crate::golden::committed;
use crate::oracle::{mutate::mutate, rng::Rng};

/// Offset of `e_flags` in a 64-bit ELF header.
const E_FLAGS: usize = 48;

pub(super) fn a_program_has_its_kernels_and_no_others<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let program = world.program(world.gpu, "spin")?;
    let mut names: Vec<_> = program.kernel_names().map(str::to_owned).collect();
    names.sort_unstable();
    ensure_eq!(names, ["spin_forever", "spin_turns", "spin_until"]);
    for name in ["spin_until", "spin_until.kd"] {
        let kernel = program.kernel(name);
        let object = kernel.as_ref().map_or(0, |k| k.info().kernel_object);
        ensure!(object != 0 && object.is_multiple_of(64), "{object:#x}");
    }
    for name in ["", "spin", ".kd", "spin_until.kd.kd"] {
        ensure!(program.kernel(name).is_none(), "{name:?}");
    }
    Ok(())
}

pub(super) fn code_for_another_processor_is_refused<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    for gpu in world.gpus() {
        let own = gpu.isa.map_or("", |isa| isa.processor().name);
        let others = committed::ALL
            .iter()
            .filter(|object| object.file == "vector_add" && object.target.processor() != own);
        for code in others.map(|object| object.code_object) {
            ensure_matches!(
                world.runtime.load_program(gpu.id, code),
                Err(ProgramError::Load(LoadError::IncompatibleIsa { agent, .. })) if *agent == gpu.id
            );
        }
    }
    let code = world.code_object(world.gpu, "vector_add")?;
    ensure_matches!(
        world.runtime.load_program(world.cpu, code),
        Err(ProgramError::NoIsa { agent }) if *agent == world.cpu
    );
    let none = rukh_core::backend::AgentId(50);
    ensure_matches!(
        world.runtime.load_program(none, code),
        Err(ProgramError::NoAgent { agent }) if *agent == none
    );
    Ok(())
}

pub(super) fn code_with_flags_of_no_processor_is_refused<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let mut code = world.code_object(world.gpu, "vector_add")?.to_vec();
    // EF_AMDGPU_MACH, the lowest byte.
    for mach in [0x00, 0x01, 0xfe, 0xff] {
        code[E_FLAGS] = mach;
        ensure_matches!(
            world.runtime.load_program(world.gpu, &code),
            Err(ProgramError::CodeObject(_) | ProgramError::Load(LoadError::IncompatibleIsa { .. }))
        );
    }
    Ok(())
}

pub(super) fn a_cut_file_is_refused<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let code = world.code_object(world.gpu, "vector_add")?;
    let mut refused = 0;
    for end in (0..code.len()).step_by(97) {
        // Sections behind the last segment are not needed.
        refused += u32::from(world.runtime.load_program(world.gpu, &code[..end]).is_err());
    }
    ensure!(refused > 20, "{refused}");
    ensure_matches!(
        world.runtime.load_program(world.gpu, &code[..100]),
        Err(ProgramError::CodeObject(_))
    );
    Ok(())
}

pub(super) fn what_is_no_elf_file_is_refused<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let own = world.code_object(world.gpu, "vector_add")?;
    let mut big_endian = own.to_vec();
    big_endian[5] = 2;
    let mut x86 = own.to_vec();
    x86[18] = 62;
    let files: [&[u8]; 5] = [b"", b"\x7fELF", &[0; 4096], &big_endian, &x86];
    for file in files {
        let loaded = world.runtime.load_program(world.gpu, file);
        ensure_matches!(loaded, Err(ProgramError::CodeObject(_)));
    }
    let _: Option<CodeObjectError> = None;
    Ok(())
}

pub(super) fn damaged_code_is_refused_or_loaded_and_given_back<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let code = world.code_object(world.gpu, "reduction")?;
    let mut rng = Rng::new(6);
    let pool = world.pool(world.gpu, rukh_core::mem::PoolFlags::COARSE)?;
    let before = world.runtime.available(pool)?;
    for _ in 0..300 {
        let _ = world
            .runtime
            .load_program(world.gpu, &mutate(code, &mut rng));
        ensure_eq!(world.runtime.available(pool)?, before);
    }
    Ok(())
}

pub(super) fn a_program_outlives_its_file_and_loads_twice<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    let load = || -> Outcome<_> {
        let file = world.code_object(world.gpu, "vector_add")?.to_vec();
        Ok(world.runtime.load_program(world.gpu, &file)?)
    };
    let programs = [load()?, load()?];
    let kernels: Vec<_> = programs
        .iter()
        .filter_map(|program| program.kernel("vector_add"))
        .collect();
    drop(programs);
    ensure_eq!(kernels.len(), 2);
    ensure!(kernels[0].info().kernel_object != kernels[1].info().kernel_object);
    for kernel in &kernels {
        VectorAdd::with(&world, &queue, kernel, 300, 64)?.run(&world, &queue)?;
    }
    Ok(())
}
