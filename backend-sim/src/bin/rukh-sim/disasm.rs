//! `rukh-sim disasm`.

use crate::lines::Lines;
use rukh_backend_sim::isa::{Arch, Lanes, decode};
use rukh_core::isa::Processor;
use rukh_core::loader::{CodeObject, Place, SymbolKind};
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Disassembles every executable segment, with labels where symbols are, and source lines if they are asked for.
pub fn disasm(file: &Path, with_lines: bool) -> Result<(), String> {
    let name = file.display();
    let bytes = std::fs::read(file).map_err(|e| format!("{name}: {e}"))?;
    let object = CodeObject::parse(&bytes).map_err(|e| format!("{name}: {e}"))?;
    let isa = object.isa();
    let arch = arch(isa.processor())
        .ok_or_else(|| format!("{name}: {isa} has no instruction list here"))?;
    let lanes = lanes(&object, arch).map_err(|e| format!("{name}: {e}"))?;

    let mut lines = match with_lines {
        true => Some(Lines::of(&object).map_err(|e| format!("{name}: {e}"))?),
        false => None,
    };

    let mut labels = BTreeMap::new();
    for symbol in object.symbols() {
        if let (SymbolKind::Function, Place::Address(address)) = (symbol.kind, symbol.place) {
            labels.insert(address, symbol.name);
        }
    }
    for (symbol, descriptor) in object.kernels() {
        if let Place::Address(address) = symbol.place {
            let entry = address.wrapping_add_signed(descriptor.kernel_code_entry_byte_offset);
            labels
                .entry(entry)
                .or_insert(symbol.kernel_name().unwrap_or(symbol.name));
        }
    }

    let mut out = BufWriter::new(io::stdout().lock());
    let written = (|| {
        writeln!(out, "{name}: {isa}")?;
        for segment in object.segments().as_slice() {
            if segment.executable {
                section(
                    &mut out,
                    segment.address,
                    segment.data,
                    arch,
                    lanes,
                    &labels,
                    lines.as_mut(),
                )?;
            }
        }
        out.flush()
    })();
    match written {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(format!("standard output: {e}")),
        _ => Ok(()),
    }
}

/// The instruction list of a processor; of a generic one, that of the member it stands for.
pub fn arch(processor: &Processor) -> Option<Arch> {
    let exact = |name: &str| Arch::ALL.into_iter().find(|arch| arch.name() == name);
    exact(processor.name).or_else(|| {
        Arch::ALL.into_iter().find(|arch| {
            Processor::from_name(arch.name()).is_some_and(|member| processor.contains(member))
        })
    })
}

/// How many lanes the file's kernels have, which decides how masks are written.
fn lanes(object: &CodeObject<'_>, arch: Arch) -> Result<Lanes, String> {
    let mut wave32 = !arch.is_gfx9();
    if let Some(metadata) = object.metadata().map_err(|e| e.to_string())? {
        for kernel in metadata.kernels() {
            wave32 = kernel.map_err(|e| e.to_string())?.wavefront_size == 32;
        }
    }
    Ok(if wave32 { Lanes::W32 } else { Lanes::W64 })
}

fn section(
    out: &mut impl Write,
    address: u64,
    code: &[u8],
    arch: Arch,
    lanes: Lanes,
    labels: &BTreeMap<u64, &str>,
    mut lines: Option<&mut Lines<'_>>,
) -> io::Result<()> {
    let mut offset = 0;
    while offset < code.len() {
        let at = address + offset as u64;
        if let Some(label) = labels.get(&at) {
            writeln!(out, "\n{at:016x} <{label}>:")?;
        }
        if let Some(source) = lines.as_mut().and_then(|lines| lines.change(at)) {
            writeln!(out, "; {source}")?;
        }
        let rest = &code[offset..];
        let (text, length) = match decode(arch, rest) {
            Ok(inst) => (inst.text(arch, lanes).to_string(), usize::from(inst.len)),
            Err(_) if rest.len() < 4 => break,
            Err(_) => {
                let word = u32::from_le_bytes([rest[0], rest[1], rest[2], rest[3]]);
                (format!(".long {word:#010x}"), 4)
            }
        };
        write!(out, "\t{text:<60}// {at:012X}:")?;
        for word in rest[..length].as_chunks::<4>().0 {
            write!(out, " {:08X}", u32::from_le_bytes(*word))?;
        }
        writeln!(out)?;
        offset += length;
    }
    Ok(())
}
