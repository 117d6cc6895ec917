//! Makes all calls of the record of a kernel on this machine's kernel and holds every answer to it. Needs no GPU, and
//! expects none. Prints what it was answered, then what differs; ends with 0 if nothing does.
//!
//! Meant for virtual machines: built static (`-C target-feature=+crt-static`) it needs nothing but the kernel. All it asks, it
//! asks through libc, so that linked to one that is shared it can be run on what `LD_PRELOAD` puts before it.

mod calls;
mod linux;

use calls::replay::Replay;
use linux::Linux;
use rukh_core::kfd::{KfdFile, KfdPort};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, word, file, pipe] = &arguments[..]
        && word == "after-exec"
        && let (Ok(file), Ok(pipe)) = (file.parse(), pipe.parse())
    {
        let mut replay = Replay::new(&Linux, "");
        replay.system = Some(&Linux);
        replay.file = KfdFile(file);
        replay.pipe = Some(pipe);
        calls::after_exec(&mut replay);
        return ExitCode::SUCCESS;
    }
    let version = match version() {
        Ok(version) => version,
        Err(error) => {
            eprintln!("/dev/kfd: {error}");
            return ExitCode::FAILURE;
        }
    };
    let record = match version {
        (1, 11) => calls::RECORD_6_1,
        (1, 17..) => calls::RECORD_6_12,
        _ => {
            eprintln!("no record is of interface {version:?}");
            return ExitCode::FAILURE;
        }
    };
    let mut replay = Replay::new(&Linux, record);
    replay.system = Some(&Linux);
    replay.print = true;
    calls::replay(&mut replay);
    println!("interface {}.{}", version.0, version.1);
    println!("{} lines compared", replay.compared);
    for (line, reason) in &replay.left_out {
        println!("left out: {line:?}: {reason}");
    }
    for wrong in &replay.wrong {
        println!("DIFFERENCE {wrong}");
    }
    println!("{} differences", replay.wrong.len());
    ExitCode::from(u8::from(!replay.wrong.is_empty()))
}

/// The interface's version, asked through a file that is closed again.
fn version() -> Result<(u32, u32), rukh_core::kfd::PortError> {
    let file = Linux.open("/dev/kfd")?;
    let version = rukh_core::kfd::get_version(&Linux, file);
    Linux.close(file);
    version.map(|version| (version.major_version, version.minor_version))
}
