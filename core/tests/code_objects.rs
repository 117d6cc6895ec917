//! What the parser finds in compiled code objects, against llvm-readelf.

mod support;

use rukh_core::loader::metadata::{AddressSpace, KernelKind, ValueKind};
use rukh_core::loader::msgpack::{Map, Value};
use rukh_core::loader::{Binding, CodeObject, CodeObjectVersion, Place, SymbolKind};
use support::{ALL, bytes, hex, readelf};

#[test]
fn dynamic_symbols_agree_with_readelf() {
    for name in ALL {
        let bytes = bytes(name);
        let code = CodeObject::parse(&bytes).expect(name);
        let output = readelf(name, "--dyn-syms");
        let mut count = 0;
        // Num: Value Size Type Bind Vis Ndx Name
        for line in output.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [num, value, size, kind, bind, visibility, section, rest @ ..] = &fields[..] else {
                continue;
            };
            let Some(index) = num.strip_suffix(':').and_then(|n| n.parse().ok()) else {
                continue;
            };
            count += 1;
            let symbol = code.symbol(index).expect(name).expect("it is in the table");
            assert_eq!(symbol.name, rest.first().copied().unwrap_or(""));
            assert_eq!(symbol.size, size.parse::<u64>().expect("a size"));
            let place = match *section {
                "UND" => Place::Undefined,
                "ABS" => Place::Absolute(hex(value)),
                _ => Place::Address(hex(value)),
            };
            assert_eq!(symbol.place, place, "{line}");
            let binding = match *bind {
                "LOCAL" => Binding::Local,
                "WEAK" => Binding::Weak,
                _ => Binding::Global,
            };
            assert_eq!(symbol.binding, binding, "{line}");
            assert_eq!(symbol.hidden, *visibility == "HIDDEN");
            match *kind {
                "OBJECT" if symbol.name.ends_with(".kd") => {
                    assert!(matches!(symbol.kind, SymbolKind::Kernel(_)));
                    assert_eq!(symbol.kernel_name(), symbol.name.strip_suffix(".kd"));
                }
                "OBJECT" => assert_eq!(symbol.kind, SymbolKind::Variable),
                "FUNC" => assert_eq!(symbol.kind, SymbolKind::Function),
                "NOTYPE" => assert_eq!(symbol.kind, SymbolKind::Untyped),
                other => panic!("{other}"),
            }
        }
        assert!(count > 2);
        assert_eq!(count, code.symbol_count(), "{name}");
    }
}

#[test]
fn relocations_agree_with_readelf() {
    for name in ALL {
        let bytes = bytes(name);
        let code = CodeObject::parse(&bytes).expect(name);
        let mut found = code.relocations();
        // Offset Info Type [Symbol's-Value Symbol's-Name] [+ Addend]
        for line in readelf(name, "-r").lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [offset, _, kind, rest @ ..] = &fields[..] else {
                continue;
            };
            if !kind.starts_with("R_AMDGPU") {
                continue;
            }
            let relocation = found.next().expect("as many as readelf has").expect(line);
            assert_eq!(relocation.kind.name(), *kind);
            assert_eq!(relocation.address, hex(offset));
            let symbol = code
                .symbol(relocation.symbol)
                .expect(line)
                .expect("a symbol");
            let (expected, addend) = match rest {
                [_, name, "+", addend] => (*name, hex(addend)),
                [_, name] => (*name, in_place(&code, relocation.address)),
                [addend] => ("", hex(addend)),
                _ => ("", in_place(&code, relocation.address)),
            };
            assert_eq!(symbol.name, expected, "{line}");
            assert_eq!(relocation.addend, addend as i64, "{line}");
        }
        assert!(found.next().is_none());
        assert_eq!(code.relocations().count() > 0, name.starts_with("linked"));
    }
}

/// The 64 bits that the file has at an address.
fn in_place(code: &CodeObject<'_>, address: u64) -> u64 {
    let bytes = code
        .segments()
        .bytes(address, 8)
        .expect("inside of a segment");
    u64::from_le_bytes(bytes.try_into().expect("8 bytes"))
}

#[test]
fn segments_agree_with_readelf() {
    for name in ALL {
        let bytes = bytes(name);
        let code = CodeObject::parse(&bytes).expect(name);
        let mut found = code.segments().as_slice().iter();
        let mut end = 0;
        for line in readelf(name, "-lW").lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let ["LOAD", offset, address, _, file, memory, flags @ .., _] = &fields[..] else {
                continue;
            };
            let segment = found.next().expect("as many as readelf has");
            let offset = hex(offset) as usize;
            let data = &bytes[offset..offset + hex(file) as usize];
            assert_eq!((segment.address, segment.size), (hex(address), hex(memory)));
            assert_eq!(segment.data, data);
            assert_eq!(segment.writable, flags.concat().contains('W'));
            assert_eq!(segment.executable, flags.concat().contains('E'));
            end = hex(address) + hex(memory);
        }
        assert!(found.next().is_none());
        assert_eq!((code.segments().base(), code.segments().size()), (0, end));
        assert_eq!(code.segments().align(), 0x1000);
    }
}

/// A map as the sequence of keys and words that LLVM's YAML form has.
fn flatten(map: Map<'_>, out: &mut Vec<String>) {
    for entry in map.entries() {
        let (Value::Str(key), value) = entry.expect("a pair") else {
            panic!("a key that is no string");
        };
        out.push(key.to_owned());
        flatten_value(value, out);
    }
}

fn flatten_value(value: Value<'_>, out: &mut Vec<String>) {
    match value {
        Value::Str(s) => out.push(s.to_owned()),
        Value::Bool(b) => out.push(b.to_string()),
        Value::Unsigned(n) => out.push(n.to_string()),
        Value::Map(m) => flatten(m, out),
        Value::Array(a) if a.is_empty() => out.push("[]".to_owned()),
        Value::Array(a) => a
            .values()
            .for_each(|v| flatten_value(v.expect("a value"), out)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn metadata_agrees_with_readelf() {
    for name in ALL {
        let bytes = bytes(name);
        let code = CodeObject::parse(&bytes).expect(name);
        let metadata = code.metadata().expect(name).expect("clang writes metadata");
        let mut found = Vec::new();
        flatten(metadata.raw(), &mut found);
        let output = readelf(name, "-n");
        let mut expected = Vec::new();
        let yaml = output.lines().skip_while(|l| l.trim() != "---").skip(1);
        for line in yaml.take_while(|l| l.trim() != "...") {
            let line = line.trim().trim_start_matches("- ").trim();
            let word = |w: &str| w.trim().trim_matches('\'').to_owned();
            match line
                .split_once(": ")
                .or(line.strip_suffix(':').map(|k| (k, "")))
            {
                Some((key, value)) => {
                    expected.push(word(key));
                    expected.extend(Some(word(value)).filter(|v| !v.is_empty()));
                }
                None => expected.push(word(line)),
            }
        }
        assert!(expected.len() > 20);
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn typed_metadata_tells_what_the_source_says() {
    for (name, version, target, wave) in [
        ("linked-gfx906-v3", (1, 0), None, 64),
        ("linked-gfx90a-v4", (1, 1), Some("gfx90a:xnack+"), 64),
        ("linked-gfx942-v4", (1, 1), Some("gfx942"), 64),
        ("linked-gfx1100-v5", (1, 2), Some("gfx1100"), 32),
        ("linked-gfx11-generic-v6", (1, 2), Some("gfx11-generic"), 32),
    ] {
        let bytes = bytes(name);
        let code = CodeObject::parse(&bytes).expect(name);
        let metadata = code.metadata().expect(name).expect("clang writes metadata");
        assert_eq!(metadata.version, version);
        let prefix = rukh_core::isa::NAME_PREFIX;
        assert_eq!(metadata.target.and_then(|t| t.strip_prefix(prefix)), target);
        assert_eq!(metadata.kernel_count(), 2);
        assert!(metadata.kernel("absent").expect(name).is_none());
        let empty = metadata
            .kernel("empty")
            .expect(name)
            .expect("in the source");
        assert_eq!(empty.reqd_workgroup_size, Some([64, 2, 1]));
        assert_eq!(empty.kind, KernelKind::Normal);
        let touch = metadata
            .kernel("touch.kd")
            .expect(name)
            .expect("in the source");
        assert_eq!(touch.name, "touch");
        assert_eq!(touch.language, Some("OpenCL C"));
        assert_eq!(touch.wavefront_size, wave);
        let args: Vec<_> = touch.args().map(|a| a.expect(name)).collect();
        assert_eq!(args[0].value_kind, ValueKind::GlobalBuffer);
        assert_eq!(args[0].address_space, Some(AddressSpace::Global));
        assert!(args[0].is_restrict && !args[0].is_const);
        assert_eq!(args[1].value_kind, ValueKind::DynamicSharedPointer);
        assert_eq!(args[1].pointee_align, Some(4));
        assert_eq!((args[2].offset, args[2].size), (12, 1));
        assert_eq!((args[3].offset, args[3].size), (16, 16));
        assert!(args[4..].iter().all(|a| a.value_kind.is_hidden()));
    }
}

#[test]
fn descriptors_and_metadata_agree() {
    for name in ALL {
        let bytes = bytes(name);
        let code = CodeObject::parse(&bytes).expect(name);
        let processor = code.isa().processor();
        let metadata = code.metadata().expect(name).expect("clang writes metadata");
        let mut kernels = 0;
        for (symbol, descriptor) in code.kernels() {
            kernels += 1;
            let m = metadata
                .kernel(symbol.name)
                .expect(name)
                .expect("one for each kernel");
            assert_eq!(descriptor.kernarg_size, m.kernarg_segment_size);
            assert_eq!(
                descriptor.group_segment_fixed_size,
                m.group_segment_fixed_size
            );
            assert_eq!(
                descriptor.private_segment_fixed_size,
                m.private_segment_fixed_size
            );
            assert_eq!(descriptor.wavefront_size(processor), m.wavefront_size);
            assert_eq!(
                descriptor.properties.uses_dynamic_stack(),
                m.uses_dynamic_stack
            );
            assert!(descriptor.vgpr_count(processor) >= m.vgpr_count);
            assert!(descriptor.sgpr_count(processor) >= m.sgpr_count);
        }
        assert_eq!(kernels, metadata.kernel_count(), "{name}");
    }
}

#[test]
fn the_build_id_is_found() {
    let with = bytes("linked-gfx11-generic-v6");
    let id = CodeObject::parse(&with)
        .expect("it parses")
        .build_id()
        .expect("asked for");
    let hex: String = id.iter().map(|b| format!("{b:02x}")).collect();
    assert!(readelf("linked-gfx11-generic-v6", "-n").contains(&format!("Build ID: {hex}")));
    let without = bytes("linked-gfx1100-v5");
    assert_eq!(
        CodeObject::parse(&without).expect("it parses").build_id(),
        None
    );
}

#[test]
fn the_version_is_the_compilers() {
    use CodeObjectVersion::{V3, V4, V5, V6};
    for (name, version) in support::LINKED.iter().zip([V3, V4, V4, V5, V6]) {
        let bytes = bytes(name);
        assert_eq!(CodeObject::parse(&bytes).expect(name).version(), version);
    }
}

#[test]
fn bytes_at_any_alignment_parse() {
    let bytes = bytes("linked-gfx90a-v4");
    for shift in 0..8 {
        let mut moved = vec![0; shift];
        moved.extend(&bytes);
        let code = CodeObject::parse(&moved[shift..]).expect("alignment does not matter");
        assert_eq!(code.kernels().count(), 2);
    }
}
