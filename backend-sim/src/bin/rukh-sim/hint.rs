//! What a code object's metadata does not say and its instructions do.

use crate::disasm::arch;
use rukh_backend_sim::isa::{Format, Inst, decode};
use rukh_core::loader::{CodeObject, Place, SymbolKind};

/// Whether a kernel's own instructions access group memory. Compilers that leave its size to the
/// launch, as Triton does, say nothing of it in the metadata; accesses beyond what a work-group has
/// read zero and write nothing.
pub fn uses_group_memory(object: &CodeObject<'_>, kernel: &str) -> bool {
    let Some(arch) = arch(object.isa().processor()) else {
        return false;
    };
    let function = object
        .symbols()
        .find(|symbol| symbol.kind == SymbolKind::Function && symbol.name == kernel);
    let Some((Place::Address(start), size)) = function.map(|f| (f.place, f.size)) else {
        return false;
    };
    let segments = object.segments();
    let code = segments.as_slice().iter().find_map(|segment| {
        let from = usize::try_from(start.checked_sub(segment.address)?).ok()?;
        let rest = segment.data.get(from..)?;
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        Some(&rest[..rest.len().min(size)])
    });
    let mut code = code.unwrap_or_default();
    while code.len() >= 4 {
        let length = match decode(arch, code) {
            Ok(inst) if is_access(&inst) => return true,
            Ok(inst) => usize::from(inst.len),
            Err(_) => 4,
        };
        code = code.get(length..).unwrap_or_default();
    }
    false
}

/// Not all of the encoding reaches memory: some only move data between lanes.
fn is_access(inst: &Inst) -> bool {
    let name = inst.op.row().mnemonic;
    inst.format == Format::Ds
        && !["permute", "swizzle", "nop", "gws"]
            .iter()
            .any(|other| name.contains(other))
}
