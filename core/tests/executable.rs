//! Loading, linking and freezing compiled code objects.
#![cfg(feature = "alloc")]

mod support;

use rukh_core::backend::{AgentId, MemoryError};
use rukh_core::isa::Isa;
use rukh_core::loader::oracle::ByteMemory;
use rukh_core::loader::{
    CodeObject, Executable, ExternalVariable, LoadError, LoadedKind, OwnedMetadata, Scope,
    SegmentError,
};
use support::{LINKED, bytes, hex, readelf};

const AGENT: AgentId = AgentId(3);
const EXTERNAL: u64 = 0x1234_5678_9ab0;

fn external(scope: Scope) -> ExternalVariable<'static> {
    ExternalVariable {
        name: "external",
        scope,
        address: EXTERNAL,
        is_const: false,
    }
}

fn agent_isa(code: &CodeObject<'_>) -> Isa {
    let target = match code.isa().processor().name {
        "gfx906" => "gfx906:sramecc+:xnack-",
        "gfx90a" => "gfx90a:sramecc+:xnack+",
        "gfx942" => "gfx942:sramecc+:xnack-",
        _ => "gfx1100",
    };
    Isa::from_target_id(target).expect("an ISA of the table")
}

fn load<'m>(memory: &'m ByteMemory, name: &str) -> Executable<&'m ByteMemory> {
    let bytes = bytes(name);
    let code = CodeObject::parse(&bytes).expect(name);
    let mut executable = Executable::new(memory);
    executable.load(AGENT, agent_isa(&code), &code).expect(name);
    // The file's bytes go here; the executable does not need them.
    executable
}

#[test]
fn loaded_memory_is_the_file_with_relocations_applied() {
    for name in LINKED {
        let memory = ByteMemory::new(1 << 20);
        let mut executable = load(&memory, name);
        executable
            .define(&external(Scope::Program))
            .expect("not yet defined");
        let executable = executable.freeze().expect(name);
        assert_eq!(memory.finished(), 1);
        let object = executable.code_objects()[0];
        assert_eq!(
            object.bias, object.memory.gpu_va,
            "linkers begin at address 0"
        );

        // The expected image, from the file and readelf alone.
        let file = bytes(name);
        let mut image = vec![0u8; object.size as usize];
        for line in readelf(name, "-lW").lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            if let ["LOAD", offset, address, _, size, ..] = &fields[..] {
                let (offset, address, size) = (hex(offset), hex(address), hex(size));
                image[address as usize..][..size as usize]
                    .copy_from_slice(&file[offset as usize..][..size as usize]);
            }
        }
        let mut relocations = 0;
        for line in readelf(name, "-r").lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let Some(&[offset, _, kind]) = fields.first_chunk() else {
                continue;
            };
            if !kind.starts_with("R_AMDGPU") {
                continue;
            }
            let place = &mut image[hex(offset) as usize..][..8];
            let in_place = u64::from_le_bytes(place.try_into().expect("8 bytes"));
            let value = match &fields[2..] {
                ["R_AMDGPU_RELATIVE64", addend] => object.bias + hex(addend),
                ["R_AMDGPU_RELATIVE64"] => object.bias + in_place,
                ["R_AMDGPU_ABS64", _, "external", ..] => EXTERNAL,
                ["R_AMDGPU_ABS64", _, "optional", ..] => 0,
                ["R_AMDGPU_ABS64", value, _, "+", addend] => object.bias + hex(value) + hex(addend),
                ["R_AMDGPU_ABS64", value, _] => object.bias + hex(value) + in_place,
                _ => panic!("{line}"),
            };
            place.copy_from_slice(&value.to_le_bytes());
            relocations += 1;
        }
        assert_eq!(relocations, 9);
        let loaded = memory.read(object.memory.gpu_va, image.len());
        assert!(
            loaded.as_deref() == Some(&image[..]),
            "{name}: memory differs"
        );
    }
}

#[test]
fn kernels_and_variables_are_found_by_name() {
    for name in LINKED {
        let memory = ByteMemory::new(1 << 20);
        let executable = load(&memory, name);
        let bias = executable.code_objects()[0].bias;
        let values = readelf(name, "--dyn-syms");
        let value = |symbol: &str| {
            let line = values.lines().find(|l| l.ends_with(&format!(" {symbol}")));
            hex(line
                .expect(symbol)
                .split_whitespace()
                .nth(1)
                .expect("a value"))
        };
        let scope = Scope::Agent(AGENT);
        let kernel = executable.kernel(AGENT, "touch").expect("in the source");
        assert_eq!(Some(kernel), executable.kernel(AGENT, "touch.kd"));
        assert_eq!(kernel.kernel_object, bias + value("touch.kd"));
        assert_eq!(
            kernel.descriptor.entry(kernel.kernel_object),
            Some(bias + value("touch"))
        );
        assert!(kernel.kernarg_segment_size >= 32);
        let zeroed = executable.symbol(scope, "zeroed").expect("in the source");
        assert_eq!(
            (zeroed.address, zeroed.size),
            (bias + value("zeroed"), 4000)
        );
        assert_eq!(zeroed.kind, LoadedKind::Variable);
        assert!(!zeroed.is_const);
        let primes = executable.symbol(scope, "primes").expect("in the source");
        assert!(primes.is_const && primes.align >= 4 && primes.is_global);
        for absent in ["touch", "external", "optional", "hidden_values", ""] {
            assert!(executable.symbol(scope, absent).is_none(), "{absent}");
        }
        assert!(executable.symbol(Scope::Program, "primes").is_none());
        assert!(executable.kernel(AgentId(0), "touch").is_none());
        assert_eq!(executable.symbols().len(), 7);
    }
}

#[test]
fn an_undefined_variable_is_named_and_can_still_be_defined() {
    let memory = ByteMemory::new(1 << 20);
    let failure = load(&memory, "linked-gfx90a-v4")
        .freeze()
        .expect_err("external is undefined");
    assert_eq!(
        failure.error,
        LoadError::VariableUndefined {
            symbol: "external".into(),
            agent: AGENT
        }
    );
    let mut executable = failure.executable;
    executable
        .define(&external(Scope::Agent(AgentId(0))))
        .expect("not yet defined there");
    let failure = executable
        .freeze()
        .expect_err("it is defined for another agent");
    let mut executable = failure.executable;
    executable
        .define(&external(Scope::Agent(AGENT)))
        .expect("not yet defined there");
    executable.freeze().expect("all is defined now");
}

#[test]
fn a_definition_for_the_agent_comes_before_one_for_the_program() {
    let memory = ByteMemory::new(1 << 20);
    let mut executable = load(&memory, "linked-gfx90a-v4");
    executable
        .define(&external(Scope::Agent(AGENT)))
        .expect("not yet defined");
    let program = ExternalVariable {
        address: 0x10,
        ..external(Scope::Program)
    };
    executable.define(&program).expect("another scope");
    // A weak reference takes a definition if there is one.
    let optional = ExternalVariable {
        name: "optional",
        address: 0x5000,
        ..program
    };
    executable.define(&optional).expect("not yet defined");
    let executable = executable.freeze().expect("all is defined");
    let bias = executable.code_objects()[0].bias;
    for line in readelf("linked-gfx90a-v4", "-r").lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let expected = match fields.get(4) {
            Some(&"external") => EXTERNAL,
            Some(&"optional") => 0x5000,
            _ => continue,
        };
        let value = memory.read(bias + hex(fields[0]), 8).expect("in memory");
        assert_eq!(value, expected.to_le_bytes());
    }
}

#[test]
fn a_name_can_be_defined_once_in_a_scope() {
    let memory = ByteMemory::new(1 << 20);
    let mut executable = load(&memory, "linked-gfx90a-v4");
    let counter = ExternalVariable {
        name: "counter",
        ..external(Scope::Agent(AGENT))
    };
    let already = |symbol: &str| LoadError::AlreadyDefined {
        symbol: symbol.into(),
        scope: Scope::Agent(AGENT),
    };
    assert_eq!(executable.define(&counter), Err(already("counter")));
    let bytes = bytes("linked-gfx90a-v4");
    let code = CodeObject::parse(&bytes).expect("it parses");
    let isa = agent_isa(&code);
    let again = executable.load(AGENT, isa, &code);
    assert!(
        matches!(again, Err(LoadError::AlreadyDefined { .. })),
        "{again:?}"
    );
    assert_eq!(memory.live(), 1, "the second load gave its memory back");
    executable
        .load(AgentId(4), isa, &code)
        .expect("another agent");
    assert_eq!(memory.live(), 2);
    assert_eq!(executable.symbols().len(), 14);
    drop(executable);
    assert_eq!(memory.live(), 0);
}

#[test]
fn code_for_another_isa_is_refused_with_both_names() {
    let memory = ByteMemory::new(1 << 20);
    let bytes = bytes("linked-gfx90a-v4");
    let code = CodeObject::parse(&bytes).expect("it parses");
    let mut executable = Executable::new(&memory);
    let isa = Isa::from_target_id("gfx90a:sramecc+:xnack-").expect("an ISA");
    let error = executable
        .load(AGENT, isa, &code)
        .expect_err("XNACK differs");
    let text = error.to_string();
    assert!(
        text.contains("gfx90a:xnack+") && text.contains("gfx90a:sramecc+:xnack-"),
        "{text}"
    );
    assert_eq!(memory.live(), 0);
}

#[test]
fn memory_that_does_not_suffice_is_an_error_and_nothing_stays() {
    let memory = ByteMemory::new(0x1000);
    let bytes = bytes("linked-gfx1100-v5");
    let code = CodeObject::parse(&bytes).expect("it parses");
    let mut executable = Executable::new(&memory);
    let error = executable
        .load(AGENT, agent_isa(&code), &code)
        .expect_err("too small");
    assert!(
        matches!(
            error,
            LoadError::Memory(SegmentError::Memory(MemoryError::OutOfMemory { .. }))
        ),
        "{error}"
    );
    assert!(executable.symbols().is_empty() && executable.code_objects().is_empty());
}

#[test]
fn owned_metadata_outlives_the_file() {
    let owned = {
        let bytes = bytes("linked-gfx1100-v5");
        let code = CodeObject::parse(&bytes).expect("it parses");
        OwnedMetadata::new(&code)
            .expect("well-formed")
            .expect("clang writes metadata")
    };
    let kernel = owned.kernel("empty.kd").expect("in the source");
    assert_eq!(kernel.reqd_workgroup_size, Some([64, 2, 1]));
    assert_eq!(owned.kernel("touch").map(|k| k.symbol), Some("touch.kd"));
    assert_eq!(owned.kernel("touch").map(|k| k.args().count()), Some(18));
    assert!(owned.kernel("absent").is_none());
}
