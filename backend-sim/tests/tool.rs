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
