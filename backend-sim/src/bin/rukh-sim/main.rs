//! `rukh-sim`: looks at AMD GPU code objects and runs their kernels on the software GPU.
//!
//! - [`options`]: the command line.
//! - [`info`], [`coverage`], [`disasm`], [`run`]: the commands.
//! - [`lines`]: where in the source instructions are from.
//! - [`hint`]: what a user may have forgotten.
//! - [`value`]: element types and arguments.

mod coverage;
mod disasm;
mod hint;
mod info;
mod lines;
mod options;
mod run;
mod value;

use options::Command;
use std::process::ExitCode;

fn main() -> ExitCode {
    let outcome = match Command::parse(std::env::args_os().skip(1)) {
        Ok(Command::Help) => {
            print!("{}", options::USAGE);
            Ok(())
        }
        Ok(Command::Info) => info::info(),
        Ok(Command::Coverage { gpu }) => coverage::coverage(gpu.as_deref()),
        Ok(Command::Disasm { file, lines }) => disasm::disasm(&file, lines),
        Ok(Command::Run(options)) => run::run(&options),
        Err(message) => {
            eprintln!("rukh-sim: {message}\n\n{}", options::USAGE);
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("rukh-sim: {message}");
            ExitCode::FAILURE
        }
    }
}
