//! Notes and MessagePack: read as the crates `object` and `rmpv` read them, and metadata of kernels is refused with a reason
//! or can be used.

use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::elf::NoteIterator;
use rmpv::Value as Theirs;
use rukh_core::elf::{NOTE_OWNER_AMDGPU, NT_AMDGPU_METADATA};
use rukh_core::loader::CodeObject;
use rukh_core::loader::metadata::Metadata;
use rukh_core::loader::msgpack::{MsgPackError, Reader, Value};

use super::elf::{self, Parts};
use super::input::Input;

/// Reads the input as its first byte says: MessagePack, notes, or decisions that make metadata of kernels.
pub fn check(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else {
        return;
    };
    match kind % 3 {
        0 => check_values(rest),
        1 => check_notes(rest),
        _ => check_values(&describe(&mut Input::new(rest))),
    }
}

/// Values one after the other, then as the metadata of an object.
pub fn check_values(data: &[u8]) {
    let mut reader = Reader::new(data);
    let mut rest = data;
    for _ in 0..4 {
        let ours = reader.value();
        let theirs = rmpv::decode::read_value(&mut rest);
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => {
                if !same(&ours, &theirs) {
                    break;
                }
            }
            (Err(error), theirs) => {
                assert!(!error.to_string().is_empty());
                // `rmpv` takes the byte that nothing uses for nil, and strings of any bytes.
                let strict = matches!(
                    error,
                    MsgPackError::Reserved { .. } | MsgPackError::NotUtf8 { .. }
                );
                assert!(strict || theirs.is_err(), "{error}, but there: {theirs:?}");
                break;
            }
            // Theirs has a limit of depth; ours has none and needs none.
            (Ok(_), Err(rmpv::decode::Error::DepthLimitExceeded)) => break,
            (Ok(ours), Err(error)) => panic!("{ours:?} where there: {error}"),
        }
    }
    if let Ok(metadata) = Metadata::parse(data) {
        for kernel in metadata.kernels().flatten() {
            for argument in kernel.args() {
                let _ = argument.map(|argument| format!("{argument:?}"));
            }
            let found = metadata.kernel(kernel.symbol);
            assert!(!matches!(found, Ok(None)), "{}", kernel.symbol);
        }
    }
    let fits = data.len() < 0x1f00;
    if fits {
        check_notes(&elf::note(NOTE_OWNER_AMDGPU, NT_AMDGPU_METADATA, data));
    }
}

/// Whether all of a value could be read; panics where the two differ.
fn same(ours: &Value<'_>, theirs: &Theirs) -> bool {
    match (ours, theirs) {
        (Value::Nil, Theirs::Nil) => {}
        (Value::Bool(a), Theirs::Boolean(b)) => assert_eq!(a, b),
        (Value::Unsigned(a), Theirs::Integer(b)) => assert_eq!(Some(*a), b.as_u64()),
        (Value::Negative(a), Theirs::Integer(b)) => {
            assert!(*a < 0);
            assert_eq!(Some(*a), b.as_i64());
        }
        (Value::Float(a), Theirs::F32(b)) => assert!(*a == f64::from(*b) || b.is_nan()),
        (Value::Float(a), Theirs::F64(b)) => assert!(a.to_bits() == b.to_bits()),
        (Value::Str(a), Theirs::String(b)) => assert_eq!(Some(*a), b.as_str()),
        (Value::Bin(a), Theirs::Binary(b)) => assert_eq!(a, b),
        (Value::Ext(a, bytes), Theirs::Ext(b, other)) => assert_eq!((a, bytes), (b, &&**other)),
        (Value::Array(a), Theirs::Array(b)) => {
            assert_eq!(a.len(), b.len());
            return a.values().zip(b).all(|(a, b)| match a {
                Ok(a) => same(&a, b),
                Err(error) => strict(error),
            });
        }
        (Value::Map(a), Theirs::Map(b)) => {
            assert_eq!(a.entries().count(), b.len());
            return a.entries().zip(b).all(|(a, (key, value))| match a {
                Ok(a) => same(&a.0, key) && same(&a.1, value),
                Err(error) => strict(error),
            });
        }
        _ => panic!("{ours:?} is there {theirs:?}"),
    }
    true
}

/// Contents of a container are all there when it is given; only strings can be wrong.
fn strict(error: MsgPackError) -> bool {
    assert!(matches!(error, MsgPackError::NotUtf8 { .. }), "{error}");
    false
}

/// The bytes of a PT_NOTE segment.
pub fn check_notes(data: &[u8]) {
    let parts = Parts {
        notes: data[..data.len().min(0x2000)].to_vec(),
        ..Parts::default()
    };
    let file = elf::build(&parts);
    let code = CodeObject::parse(&file).expect("notes do not decide whether a file is an object");
    let mut theirs = NoteIterator::<FileHeader64<LittleEndian>>::new(LittleEndian, 4, &parts.notes)
        .expect("4 is an alignment");
    for ours in code.notes() {
        let other = theirs.next();
        match (ours, other) {
            (Ok(note), Ok(Some(other))) => {
                assert_eq!(note.data, other.desc());
                assert_eq!(note.note_type, other.n_type(LittleEndian).0);
                let name = other.name_bytes();
                assert_eq!(note.owner, name.strip_suffix(&[0]).unwrap_or(name));
            }
            (Err(error), other) => {
                assert!(!error.to_string().is_empty());
                assert!(!matches!(other, Ok(Some(_))), "{error}, but there a note");
                break;
            }
            (Ok(note), other) => panic!("{note:?} is there {:?}", other.err()),
        }
    }
    let _ = code.build_id();
    if let Err(error) = rukh_core::loader::oracle::check(&file) {
        assert!(!error.to_string().is_empty());
    }
}

/// Metadata that is nearly right: all keys of the specification, now and then a value of another type or a key that is
/// missing.
pub fn describe(input: &mut Input<'_>) -> Vec<u8> {
    let mut entries = vec![
        ("amdhsa.version", Theirs::Array(vec![1.into(), 2.into()])),
        ("amdhsa.target", "amdgcn-amd-amdhsa--gfx90a".into()),
    ];
    let kernels = (0..input.below(4)).map(|_| kernel(input)).collect();
    entries.push(("amdhsa.kernels", Theirs::Array(kernels)));
    if input.flag() {
        let text = String::from_utf8_lossy(input.take(12)).into_owned();
        entries.push(("amdhsa.printf", Theirs::Array(vec![text.into()])));
    }
    let mut bytes = Vec::new();
    let map = map(input, entries);
    rmpv::encode::write_value(&mut bytes, &map).expect("a Vec takes everything");
    bytes
}

/// A map of entries, of which the input may leave out or change one.
fn map(input: &mut Input<'_>, mut entries: Vec<(&str, Theirs)>) -> Theirs {
    let damage = usize::from(input.byte());
    if damage < entries.len() {
        if input.flag() {
            entries.remove(damage);
        } else {
            entries[damage].1 = input.pick(&[
                || Theirs::Nil,
                || (-1).into(),
                || u64::MAX.into(),
                || "".into(),
                || Theirs::Array(vec![1.into(), (-1).into()]),
                || Theirs::Map(Vec::new()),
            ])();
        }
    }
    Theirs::Map(
        entries
            .into_iter()
            .map(|(key, value)| (key.into(), value))
            .collect(),
    )
}

fn kernel(input: &mut Input<'_>) -> Theirs {
    let arguments: Vec<Theirs> = (0..input.below(12)).map(|_| argument(input)).collect();
    let number = |input: &mut Input<'_>| Theirs::from(input.number() & 0xffff_ffff);
    let mut entries = vec![
        (".name", Theirs::from("k")),
        (".symbol", "k.kd".into()),
        (".kernarg_segment_size", u32::from(input.u16()).into()),
        (
            ".kernarg_segment_align",
            input.pick(&[8u32, 4, 16, 0, 3]).into(),
        ),
        (".group_segment_fixed_size", number(input)),
        (".private_segment_fixed_size", number(input)),
        (".wavefront_size", input.pick(&[64u32, 32, 0]).into()),
        (".sgpr_count", number(input)),
        (".vgpr_count", number(input)),
        (".max_flat_workgroup_size", number(input)),
        (".args", Theirs::Array(arguments)),
    ];
    if input.flag() {
        let sizes: Vec<Theirs> = (0..3).map(|_| number(input)).collect();
        entries.push((".reqd_workgroup_size", Theirs::Array(sizes)));
        entries.push((".uses_dynamic_stack", input.flag().into()));
        entries.push((".kind", input.pick(&["normal", "init", "other"]).into()));
    }
    map(input, entries)
}

fn argument(input: &mut Input<'_>) -> Theirs {
    /// Every word of the specification, in the order of LLVM's guide.
    const KINDS: [&str; 31] = [
        "by_value",
        "global_buffer",
        "dynamic_shared_pointer",
        "sampler",
        "image",
        "pipe",
        "queue",
        "hidden_global_offset_x",
        "hidden_global_offset_y",
        "hidden_global_offset_z",
        "hidden_none",
        "hidden_printf_buffer",
        "hidden_hostcall_buffer",
        "hidden_default_queue",
        "hidden_completion_action",
        "hidden_multigrid_sync_arg",
        "hidden_block_count_x",
        "hidden_block_count_y",
        "hidden_block_count_z",
        "hidden_group_size_x",
        "hidden_group_size_y",
        "hidden_group_size_z",
        "hidden_remainder_x",
        "hidden_grid_dims",
        "hidden_heap_v1",
        "hidden_dynamic_lds_size",
        "hidden_private_base",
        "hidden_shared_base",
        "hidden_queue_ptr",
        "hidden_remainder_z",
        "no_kind_of_argument",
    ];
    let mut entries = vec![
        (".offset", Theirs::from(input.number() & 0xffff)),
        (".size", input.pick(&[8u32, 4, 2, 16, 0, 3, 64]).into()),
        (".value_kind", input.pick(&KINDS).into()),
    ];
    if input.flag() {
        entries.push((".address_space", input.pick(&["global", "local"]).into()));
        entries.push((".pointee_align", input.number().into()));
        entries.push((".is_const", input.flag().into()));
        entries.push((".access", input.pick(&["read_only", "all"]).into()));
    }
    map(input, entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::committed;
    use crate::oracle::{mutate::mutate, rng::Rng};

    #[test]
    fn compiled_metadata_holds_also_when_damaged() {
        let mut rng = Rng::new(9);
        for object in committed::ALL {
            let code = CodeObject::parse(object.code_object).expect("it is ours");
            for note in code.notes().flatten() {
                check_notes(&elf::note(note.owner, note.note_type, note.data));
                check_values(note.data);
                for _ in 0..30 {
                    check_values(&mutate(note.data, &mut rng));
                }
            }
        }
    }

    #[test]
    fn random_values_notes_and_metadata_hold() {
        let mut rng = Rng::new(10);
        let mut data = [0; 300];
        for case in 0..6_000u32 {
            rng.fill(&mut data);
            data[0] = case as u8;
            check(&data);
        }
    }

    #[test]
    fn metadata_without_damage_is_accepted() {
        // One kernel without arguments, and nothing that is changed: a first byte behind the last entry.
        let mut data = vec![1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        data.resize(64, 0xfe);
        let bytes = describe(&mut Input::new(&data));
        let metadata = Metadata::parse(&bytes).expect("it is whole");
        let kernels: Result<Vec<_>, _> = metadata.kernels().collect();
        assert_eq!(kernels.expect("whole as well")[0].symbol, "k.kd");
    }
}
