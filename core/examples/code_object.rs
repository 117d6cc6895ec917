//! Prints what the loader finds in code objects: `cargo run --features alloc --example code_object FILE…`

use rukh_core::loader::{CodeObject, Place, SymbolKind};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut failed = 0;
    for path in std::env::args().skip(1) {
        if let Err(error) = show(&path) {
            println!("{path}: {error}");
            failed += 1;
        }
    }
    ExitCode::from(u8::from(failed != 0))
}

fn show(path: &str) -> Result<(), Box<dyn std::error::Error>> {
    let bytes = std::fs::read(path)?;
    let code = CodeObject::parse(&bytes)?;
    let processor = code.isa().processor();
    println!(
        "{path}: {} {:?}, {:#x} bytes in memory",
        code.isa(),
        code.version(),
        code.segments().size()
    );
    for symbol in code.symbols() {
        match (symbol.kind, symbol.place) {
            (SymbolKind::Kernel(d), _) => println!(
                "  kernel {}: kernarg {}, group {}, private {}, wave{}, {} VGPRs",
                symbol.name,
                d.kernarg_size,
                d.group_segment_fixed_size,
                d.private_segment_fixed_size,
                d.wavefront_size(processor),
                d.vgpr_count(processor),
            ),
            (SymbolKind::Variable, _) => {
                println!("  variable {}: {} bytes", symbol.name, symbol.size)
            }
            (_, Place::Undefined) if !symbol.name.is_empty() => println!("  needs {}", symbol.name),
            _ => {}
        }
    }
    for relocation in code.relocations() {
        relocation?;
    }
    let metadata = code.metadata()?;
    for kernel in metadata.iter().flat_map(|m| m.kernels()) {
        let kernel = kernel?;
        let kinds: Result<Vec<_>, _> = kernel
            .args()
            .map(|a| a.map(|a| a.value_kind.as_str()))
            .collect();
        println!("  arguments of {}: {}", kernel.name, kinds?.join(" "));
    }
    #[cfg(feature = "alloc")]
    rukh_core::loader::oracle::check(&bytes)?;
    Ok(())
}
