//! Copying segments and applying relocations.

use super::code_object::CodeObject;
use super::executable::{CodeObjectId, LoadedCodeObject};
use super::load_error::LoadError;
use super::memory::{LoaderMemory, SegmentError};
use super::relocation::{Relocation, RelocationKind};
use super::symbol::{Binding, Place, Symbol};
use crate::backend::AgentId;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// A relocation that waits for somebody to define its symbol.
#[derive(Debug)]
pub(super) struct Pending {
    code_object: CodeObjectId,
    relocation: Relocation,
    /// Where it is in the code object's memory.
    offset: u64,
    symbol: Box<str>,
    /// If nobody defines the symbol, its address is 0.
    weak: bool,
}

/// Address of a defined symbol in memory.
pub(super) fn address(symbol: &Symbol<'_>, bias: u64) -> Option<u64> {
    match symbol.place {
        Place::Undefined => None,
        Place::Absolute(value) => Some(value),
        Place::Address(address) => Some(address.wrapping_add(bias)),
    }
}

/// Writes all segments, and zeros to everything between and behind them.
pub(super) fn copy<M: LoaderMemory>(
    memory: &M,
    object: &LoadedCodeObject,
    code: &CodeObject<'_>,
) -> Result<(), SegmentError> {
    let segments = code.segments();
    // End of what has been written, from the start of the memory.
    let mut at = 0;
    for segment in segments.as_slice() {
        let offset = segment.address - segments.base();
        memory.zero(&object.memory, at, offset - at)?;
        memory.write(&object.memory, offset, segment.data)?;
        at = offset + segment.data.len() as u64;
    }
    memory.zero(&object.memory, at, segments.size() - at)
}

/// Applies all relocations whose symbols the code object defines; returns the others.
pub(super) fn relocate<M: LoaderMemory>(
    memory: &M,
    id: CodeObjectId,
    object: &LoadedCodeObject,
    code: &CodeObject<'_>,
) -> Result<Vec<Pending>, LoadError> {
    let mut pending = Vec::new();
    for relocation in code.relocations() {
        let relocation = relocation?;
        let offset = relocation.address - code.segments().base();
        // Symbol 0 is the empty one: it stands for the number 0.
        let symbol = match relocation.symbol {
            0 => None,
            index => code.symbol(index)?,
        };
        let base = match (relocation.kind, &symbol) {
            (RelocationKind::Relative64, _) => Some(object.bias),
            (_, Some(symbol)) => address(symbol, object.bias),
            (_, None) => Some(0),
        };
        match (base, symbol) {
            (None, Some(symbol)) => pending.push(Pending {
                code_object: id,
                relocation,
                offset,
                symbol: symbol.name.into(),
                weak: symbol.binding == Binding::Weak,
            }),
            (base, _) => apply(memory, object, &relocation, offset, base.unwrap_or(0))?,
        }
    }
    Ok(pending)
}

/// Applies what was pending. Nothing is written if a symbol is missing.
pub(super) fn resolve<M: LoaderMemory>(
    memory: &M,
    objects: &[LoadedCodeObject],
    pending: &[Pending],
    find: impl Fn(AgentId, &str) -> Option<u64>,
) -> Result<(), LoadError> {
    let resolved = pending.iter().filter_map(|p| {
        let object = objects.get(p.code_object.0)?;
        let agent = object.memory.agent;
        let base = find(agent, &p.symbol).or(p.weak.then_some(0));
        Some(match base {
            Some(base) => Ok((object, p, base)),
            None => Err(LoadError::VariableUndefined {
                symbol: (&*p.symbol).into(),
                agent,
            }),
        })
    });
    for (object, p, base) in resolved.collect::<Result<Vec<_>, _>>()? {
        apply(memory, object, &p.relocation, p.offset, base)?;
    }
    Ok(())
}

fn apply<M: LoaderMemory>(
    memory: &M,
    object: &LoadedCodeObject,
    relocation: &Relocation,
    offset: u64,
    base: u64,
) -> Result<(), LoadError> {
    let kind = relocation.kind;
    let value = kind
        .value(base, relocation.addend)
        .ok_or(LoadError::RelocationOverflow {
            relocation: kind.name(),
            address: relocation.address,
            base,
            addend: relocation.addend,
        })?;
    memory.write(&object.memory, offset, &value[..kind.width()])?;
    Ok(())
}
