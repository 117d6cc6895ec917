//! Source lines of instructions against what `llvm-symbolizer` says of the same addresses: functions, those inlined too,
//! files, lines and columns.
//!
//! Needs `llvm-symbolizer-19` (package llvm-19) and what builds the golden kernels.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rukh_core::loader::CodeObject;
use rukh_core::loader::source::{Frame, Source, SourceMap};

/// Golden kernels: OpenCL C, C++ with names for linkers, C; calls, calls that are inlined in others, headers.
const KERNELS: [&str; 4] = ["reduction", "calls", "sha256", "matmul"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A frame as the symbolizer writes it.
fn frame(frame: &Frame<'_>) -> String {
    let function = frame.symbol().unwrap_or("??");
    let place = frame.place.unwrap_or_default();
    let file = place.file.map_or("??".into(), |file| file.to_string());
    let line = place.line.map_or(0, |line| line.get());
    let column = place.column.map_or(0, |column| column.get());
    format!("{function}\n{file}:{line}:{column}\n")
}

fn said(source: &Source<'_>) -> String {
    match source.is_empty() {
        true => frame(&Frame::default()),
        false => source.frames.iter().map(frame).collect(),
    }
}

/// What the symbolizer says of each address.
fn symbolized(file: &Path, addresses: &[u64]) -> Vec<String> {
    let mut symbolizer = Command::new("llvm-symbolizer-19")
        .args(["--no-demangle", "--obj"])
        .arg(file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("llvm-symbolizer-19 (package llvm-19)");
    let mut input = symbolizer.stdin.take().expect("a pipe");
    let lines: String = addresses.iter().map(|a| format!("{a:#x}\n")).collect();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = symbolizer.wait_with_output().expect("it ends");
    writer.join().expect("a thread").expect("it reads all");
    assert!(output.status.success(), "{file:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let answers = text.strip_suffix("\n\n").unwrap_or(&text).split("\n\n");
    answers.map(|answer| format!("{answer}\n")).collect()
}

/// Compares every instruction's source; gives how many instructions have one, and how many are in inlined functions.
fn compare(file: &Path) -> (usize, usize) {
    let bytes = std::fs::read(file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
    let code = CodeObject::parse(&bytes).expect("a code object");
    let map = SourceMap::of(&code).expect("it can be read");
    let map = map.expect("it has debug information");
    let segments = code.segments().as_slice().iter();
    let executable = segments.filter(|segment| segment.executable);
    let addresses: Vec<u64> = executable
        .flat_map(|s| (s.address..s.address + s.data.len() as u64).step_by(4))
        .collect();
    let theirs = symbolized(file, &addresses);
    assert_eq!(theirs.len(), addresses.len(), "{file:?}");
    let (mut known, mut inlined) = (0, 0);
    for (at, (address, theirs)) in addresses.iter().zip(&theirs).enumerate() {
        let source = map.at(*address);
        // Between functions, the symbolizer names what symbols say; there is no code.
        if source.is_empty() {
            assert!(
                theirs.ends_with("??:0:0\n"),
                "{file:?} {address:#x}: {theirs}"
            );
            continue;
        }
        assert_eq!(&said(&source), theirs, "{file:?} {address:#x}");
        known += 1;
        inlined += usize::from(source.frames.len() > 1);
        // Asked for alone, an instruction has the same source.
        if at % 64 == 0 {
            let alone = SourceMap::around(&code, *address).expect("it can be read");
            assert_eq!(alone.expect("it is there").at(*address), source);
        }
    }
    (known, inlined)
}

#[test]
fn every_instruction_has_the_source_that_llvm_says() {
    let work = root()
        .join("target")
        .join(format!("source-lines-{}", std::process::id()));
    let mut builds = Vec::new();
    for dwarf in [4, 5] {
        let folder = work.join(dwarf.to_string());
        std::fs::create_dir_all(&folder).expect("a folder");
        for kernel in KERNELS {
            for gpu in ["gfx90a", "gfx1100"] {
                for level in ["O0", "O2"] {
                    let name = format!("{kernel}-{gpu}-{level}-v5");
                    builds.push((dwarf, name.clone(), folder.join(format!("{name}.co"))));
                }
            }
        }
    }
    let mut all = (0, 0);
    for (dwarf, name, object) in &builds {
        let built = Command::new(root().join("tests/golden/build.sh"))
            .args(["--object", name])
            .arg(object.parent().expect("its folder"))
            .env("DEVICE_FLAGS", format!("-g -gdwarf-{dwarf}"))
            .status();
        assert!(built.expect("a shell").success(), "{name}");
        let (known, inlined) = compare(object);
        assert!(known > 20, "{name}: {known} instructions with a source");
        all = (all.0 + known, all.1 + inlined);
    }
    println!(
        "{} words of instructions, {} of inlined functions",
        all.0, all.1
    );
    assert!(all.1 > 100, "{all:?}");
    std::fs::remove_dir_all(&work).expect("the folder");
}

#[test]
fn committed_objects_have_the_source_that_llvm_says() {
    for name in ["lines-gfx90a-dwarf5.co", "lines-gfx1100-dwarf4.co"] {
        let (known, inlined) = compare(&root().join("core/tests/data").join(name));
        assert!(known > 50 && inlined > 10, "{name}: {known}, {inlined}");
    }
}

#[test]
fn objects_without_debug_information_have_no_lines() {
    for name in ["linked-gfx90a-v4.co", "hidden-gfx900-v4.co"] {
        let bytes = std::fs::read(root().join("core/tests/data").join(name)).expect(name);
        let code = CodeObject::parse(&bytes).expect(name);
        assert!(!SourceMap::has_source(&code));
        assert!(SourceMap::of(&code).expect("nothing to read").is_none());
    }
}

#[test]
fn compressed_sections_are_refused_by_name() {
    let source = root().join("core/tests/data/lines-gfx90a-dwarf5.co");
    let packed = std::env::temp_dir().join(format!("rukh-packed-{}.co", std::process::id()));
    let status = Command::new("llvm-objcopy-19")
        .arg("--compress-debug-sections=zlib")
        .args([&source, &packed])
        .status();
    assert!(status.expect("llvm-objcopy-19 (package llvm-19)").success());
    let bytes = std::fs::read(&packed).expect("the file");
    std::fs::remove_file(&packed).expect("the file");
    let code = CodeObject::parse(&bytes).expect("a code object");
    let error = SourceMap::of(&code)
        .expect_err("it is compressed")
        .to_string();
    assert!(
        error.contains(".debug_") && error.contains("compressed"),
        "{error}"
    );
}
