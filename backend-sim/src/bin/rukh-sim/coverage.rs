//! `rukh-sim coverage`.

use rukh_backend_sim::exec::coverage as table;
use rukh_backend_sim::isa::Arch;
use std::io::{self, Write};

/// Prints how much of each GPU's instruction list is executed, or of one GPU's.
pub fn coverage(gpu: Option<&str>) -> Result<(), String> {
    let chosen: Vec<Arch> = Arch::ALL
        .into_iter()
        .filter(|arch| gpu.is_none_or(|gpu| gpu == arch.name()))
        .collect();
    if chosen.is_empty() {
        let names: Vec<&str> = Arch::ALL.iter().map(|arch| arch.name()).collect();
        return Err(format!(
            "{} has no instruction list here: there are {}",
            gpu.unwrap_or_default(),
            names.join(", ")
        ));
    }
    let mut out = io::stdout().lock();
    for (number, arch) in chosen.into_iter().enumerate() {
        let gap = if number == 0 { "" } else { "\n" };
        match write!(out, "{gap}{}", table(arch)) {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => break,
            written => written.map_err(|e| format!("standard output: {e}"))?,
        }
    }
    Ok(())
}
