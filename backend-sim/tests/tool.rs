//! The tool `rukh-sim` as its users see it: status and messages.

use std::process::{Command, Output};

fn rukh_sim(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rukh-sim"))
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .args(arguments)
        .output()
        .expect("the tool runs")
}

fn text(bytes: &[u8]) -> &str {
    core::str::from_utf8(bytes).expect("text")
}

const SPIN: &str = "tests/golden/objects/spin-gfx90a-O2-v5.co";
const ADD: &str = "tests/golden/objects/vector_add-gfx90a-O2-v5.co";

#[test]
fn a_kernel_prints_the_buffers_that_are_asked_for() {
    for mode in ["--trace", "--step", "--timeout=60"] {
        #[rustfmt::skip]
        let output = rukh_sim(&[
            "run", ADD, "vector_add", "--grid", "8", mode,
            "--arg", "buf:f32:8=iota", "--arg", "buf:f32:8=ones", "--arg", "buf:f32:8",
            "--arg", "u32:8", "--print", "2:3",
        ]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout), "2: 1 2 3\n", "{mode}");
    }
}

const LINES: &str = "core/tests/data/lines-gfx90a-dwarf5.co";

#[test]
fn a_fault_names_the_source_line() {
    for more in [&[][..], &["--step"]] {
        let mut arguments = vec!["run", LINES, "stray", "--grid", "64"];
        arguments.extend(["--arg", "buf:i32:64", "--arg", "u64:4096"]);
        arguments.extend(more);
        let output = rukh_sim(&arguments);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains("0x1000"), "{message}");
        let place = "\n  at /source/lines.cl:21:21 in stray\n";
        assert!(message.contains(place), "{message}");
    }
}

#[test]
fn disassembly_and_trace_show_source_lines_that_are_asked_for() {
    let inlined = "; /source/./include/lines.h:3:19 in scale, inlined into /source/./include/lines.h:11:10 in twice, \
        inlined into /source/lines.cl:6:9 in apart\n";
    let listing = rukh_sim(&["disasm", LINES, "--lines"]);
    assert!(listing.status.success());
    let listing = text(&listing.stdout);
    assert!(listing.contains(inlined), "{listing}");
    let without = rukh_sim(&["disasm", LINES]);
    let instructions = listing.lines().filter(|line| !line.starts_with("; "));
    assert!(instructions.eq(text(&without.stdout).lines()));
    let output = rukh_sim(&["disasm", ADD, "--lines"]);
    assert!(text(&output.stderr).contains("compile with -g"));

    #[rustfmt::skip]
    let output = rukh_sim(&[
        "run", LINES, "lines", "--grid", "64", "--group", "64", "--trace", "--lines",
        "--arg", "buf:f32:64", "--arg", "i32:1", "--print", "0:2",
    ]);
    let trace = text(&output.stderr);
    assert!(output.status.success(), "{trace}");
    assert!(trace.contains(inlined), "{trace}");
}

#[test]
fn an_endless_kernel_is_stopped_after_the_time_that_it_was_given() {
    for more in [
        &["--grid", "64"][..],
        &["--grid", "64", "--step"],
        &["--grid", "1000000"],
    ] {
        let mut arguments = vec!["run", SPIN, "spin_forever", "--arg", "buf:u32:1"];
        arguments.extend(["--timeout", "0.2"]);
        arguments.extend(more);
        let output = rukh_sim(&arguments);
        assert_eq!(output.status.code(), Some(1), "{more:?}");
        let message = text(&output.stderr);
        assert!(message.contains("has not completed after"), "{message}");
    }
}

#[test]
fn more_memory_than_there_is_is_an_error() {
    for init in ["zeros", "ones", "iota"] {
        // In a process that can have 4 GB.
        let output = Command::new("sh")
            .args(["-c", "ulimit -v 4000000 && exec \"$@\"", "sh"])
            .arg(env!("CARGO_BIN_EXE_rukh-sim"))
            .args(["run", "any.co", "any", "--arg"])
            .arg(format!("buf:u64:10000000000={init}"))
            .output()
            .expect("the tool runs");
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{init}: {message}");
        assert!(message.contains("there is no memory"), "{init}: {message}");
    }
}

#[test]
fn group_memory_that_a_kernel_accesses_and_does_not_have_is_remarked_on() {
    // What a compiler writes that leaves the size to the launch.
    let path = std::env::temp_dir().join(format!("rukh-tool-{}.co", std::process::id()));
    let object = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/golden/objects/reduction-gfx90a-O2-v5.co"
    );
    let original = std::fs::read(object).expect("a code object");
    let code = rukh_core::loader::CodeObject::parse(&original).expect("a code object");
    let (symbol, _) = code
        .kernels()
        .find(|(symbol, _)| symbol.name == "reduction.kd")
        .expect("a kernel");
    let rukh_core::loader::Place::Address(address) = symbol.place else {
        panic!("{:?}", symbol.place);
    };
    // Read-only data lies in the file where it lies in memory: group_segment_fixed_size.
    let at = address as usize;
    let mut bytes = original.clone();
    let size: [u8; 4] = bytes[at..at + 4].try_into().expect("a word");
    assert_ne!(size, [0; 4]);
    bytes[at..at + 4].fill(0);
    std::fs::write(&path, bytes).expect("a file");
    let run = |file: &str| {
        #[rustfmt::skip]
        let output = rukh_sim(&[
            "run", file, "reduction", "--grid", "256", "--group", "256",
            "--arg", "buf:f32:256=ones", "--arg", "buf:f32:256", "--arg", "u32:256",
        ]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr).contains("note: reduction accesses group memory")
    };
    assert!(run(path.to_str().expect("a path")));
    assert!(!run(object));
    std::fs::remove_file(path).expect("removed");
}

/// Rows `| gfx90a | 1014 | 112 | 0 |` of the README's coverage table: executed, decoded only, graphics.
fn claims() -> Vec<(String, [usize; 3])> {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
    let readme = std::fs::read_to_string(readme).expect("the README");
    let mut claims = Vec::new();
    for line in readme.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", gpu, counts @ .., ""] = &cells[..] else {
            continue;
        };
        let counts: Vec<usize> = counts.iter().filter_map(|c| c.parse().ok()).collect();
        if let Ok(counts) = <[usize; 3]>::try_from(counts) {
            claims.push((gpu.to_string(), counts));
        }
    }
    claims
}

#[test]
fn the_readme_claims_no_more_than_what_is_executed() {
    let claims = claims();
    let gpus: Vec<&str> = claims.iter().map(|(gpu, _)| &gpu[..]).collect();
    #[rustfmt::skip]
    assert_eq!(gpus, ["gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201"]);
    for (gpu, [executed, decoded, graphics]) in claims {
        let output = rukh_sim(&["coverage", "--gpu", &gpu]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let table = text(&output.stdout);
        let all = table.lines().find_map(|line| line.strip_prefix("all "));
        let counts = all.expect("a sum").split_whitespace();
        let counts: Vec<usize> = counts.map(|n| n.parse().expect("a number")).collect();
        assert!(
            executed <= counts[0] && decoded >= counts[1] && graphics >= counts[2],
            "{gpu}: {executed} executed, {decoded} decoded only, {graphics} graphics; but it is {counts:?}"
        );
        let named = table.lines().filter(|l| l.starts_with("decoded only: "));
        assert_eq!(named.count(), counts[1]);
    }
}

#[test]
fn the_coverage_of_a_processor_that_does_not_exist_is_an_error() {
    let output = rukh_sim(&["coverage", "--gpu", "gfx9000"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("gfx9000 has no instruction list here"));
}

#[test]
fn code_objects_of_version_3_run_and_those_of_version_2_are_refused_by_name() {
    let object = |target: &str, version: u32| {
        format!("backend-sim/tests/data/dot_product-{target}-O2-v{version}.co")
    };
    let run = |path: &str| {
        #[rustfmt::skip]
        let arguments = [
            "run", path, "dot_product", "--grid", "100", "--group", "64",
            "--arg", "buf:f32:100=iota", "--arg", "buf:f32:100=ones", "--arg", "buf:f32:2",
            "--arg", "u32:100", "--print", "2:2",
        ];
        rukh_sim(&arguments)
    };
    for target in ["gfx900", "gfx90a", "gfx1030"] {
        let output = run(&object(target, 3));
        assert!(output.status.success(), "{}", text(&output.stderr));
        // 0 + 1 + ... + 63, and 64 + ... + 99.
        assert_eq!(text(&output.stdout), "2: 2016 2934\n", "{target}");
    }
    let output = run(&object("gfx900", 2));
    assert!(!output.status.success());
    let message = text(&output.stderr);
    assert!(
        message.contains("code object version 2 is not supported"),
        "{message}"
    );
}
