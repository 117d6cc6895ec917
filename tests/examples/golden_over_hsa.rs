//! Golden kernels through an HSA library, against the same sources compiled for the host.
//!
//! ```text
//! golden_over_hsa LIBRARY GPU [VERSION...]
//! ```
//!
//! The library is a path or a name that the dynamic linker finds; the GPU the name of an agent;
//! the versions (`v4`, `v5`, `v6`; without any, all) those of the code objects that it reads. `RUKH_GOLDEN` (a filter, a
//! seed or `full`) chooses cases, `RUKH_GOLDEN_DIR` has the objects, `RUKH_TEST_SEED` fills the buffers.

use rukh_tests::golden::{HsaLauncher, Objects, Options, Selection, Strictness, run_cases};
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn run() -> Result<(usize, usize), String> {
    let mut arguments = std::env::args().skip(1);
    let (Some(library), Some(gpu)) = (arguments.next(), arguments.next()) else {
        return Err("usage: golden_over_hsa LIBRARY GPU [VERSION...]".into());
    };
    let setting = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let mut cases = Selection::from_environment().cases();
    let versions: Vec<String> = arguments.collect();
    cases.retain(|case| {
        let read = |version: &String| version == case.version.name();
        case.target.processor() == gpu && (versions.is_empty() || versions.iter().any(read))
    });
    let objects = match setting("RUKH_GOLDEN_DIR") {
        Some(directory) => Objects::at(directory),
        None => Objects::standard()?,
    };
    let seed = setting("RUKH_TEST_SEED").and_then(|seed| seed.parse().ok());
    let options = Options {
        seed: seed.unwrap_or(1),
        strictness: Strictness::CorrectlyRounded,
    };
    let mut launcher = HsaLauncher::open(library.as_ref(), &gpu, Duration::from_secs(120))?;
    let begun = Instant::now();
    let failures = run_cases(&cases, &objects, &mut launcher, options)?;
    for failure in &failures {
        eprintln!("{failure}\n");
    }
    let agree = cases.len() - failures.len();
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{agree} of {} golden cases agree with the host ({library}, {gpu}, {seconds:.1} s)",
        cases.len()
    );
    Ok((cases.len(), failures.len()))
}

fn main() -> ExitCode {
    match run() {
        Ok((cases, 0)) if cases > 0 => ExitCode::SUCCESS,
        Ok((cases, failures)) => {
            eprintln!("{failures} of {cases} cases failed");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
