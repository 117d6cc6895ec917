//! `rukh-info`: the agents of this machine as a table, or why there are none and what to do about it.
//!
//! [`options`]: the command line. [`system`] and [`pci`]: what the machine says about itself. [`look`]: opens what
//! programs would open. [`diagnose`]: what failures mean; a [`finding`] is one. [`report`]: how it is told, [`json`]
//! for programs.

mod diagnose;
mod finding;
mod json;
mod look;
mod options;
mod pci;
mod report;
mod system;
#[cfg(test)]
mod tests;

use options::{HELP, Options};
use std::io::Write;
use std::process::ExitCode;
use system::System;

const NO_GPU: u8 = 1;
const CALLED_WRONGLY: u8 = 2;

fn print(text: impl std::fmt::Display) {
    // That nobody reads on is no failure of what was found.
    let _ = writeln!(std::io::stdout(), "{text}");
}

fn main() -> ExitCode {
    let json = match Options::parse(std::env::args().skip(1)) {
        Ok(Options::Report { json }) => json,
        Ok(Options::Help) => {
            print(HELP.trim_end());
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("rukh-info: {error}");
            return ExitCode::from(CALLED_WRONGLY);
        }
    };
    let system = System::read("/".as_ref());
    match look::look(&system) {
        Ok(report) => {
            if json {
                print(report.json());
            } else {
                print(report.to_string().trim_end());
            }
            if report.gpus() == 0 {
                ExitCode::from(NO_GPU)
            } else {
                ExitCode::SUCCESS
            }
        }
        Err(error) => {
            eprintln!("rukh-info: {error}");
            ExitCode::from(CALLED_WRONGLY)
        }
    }
}
