//! Runs inputs of a fuzz target without a fuzzer: `oracle TARGET FILE|FOLDER...`. For coverage, and for a finding at hand.

use std::path::Path;
use std::process::ExitCode;

use rukh_tests::oracle::{Check, TARGETS};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, paths)) = arguments.split_first() else {
        eprintln!("usage: oracle TARGET FILE|FOLDER...");
        return ExitCode::from(2);
    };
    let Some((_, check)) = TARGETS.iter().find(|(target, _)| target == name) else {
        let names = TARGETS.map(|(name, _)| name).join(" ");
        eprintln!("there is no target {name}; there are {names}");
        return ExitCode::from(2);
    };
    let mut inputs = 0;
    for path in paths {
        match run(*check, Path::new(path)) {
            Ok(count) => inputs += count,
            Err(error) => {
                eprintln!("{path}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    println!("{name}: {inputs} inputs hold");
    if inputs == 0 {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn run(check: Check, path: &Path) -> std::io::Result<usize> {
    if !path.is_dir() {
        check(&std::fs::read(path)?);
        return Ok(1);
    }
    let mut files: Vec<_> = std::fs::read_dir(path)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.sort();
    files.iter().map(|file| run(check, file)).sum()
}
