//! Copying segments and applying relocations.

use super::code_object::CodeObject;
use super::executable::{CodeObjectId, LoadedCodeObject};
use super::load_error::LoadError;
use super::memory::{LoaderMemory, SegmentError};
use super::relocation::{Relocation, RelocationKind};
use super::symbol::{Binding, Place};
use crate::backend::AgentId;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::vec::Vec;

/// Relocations of a code object that wait for somebody to define their symbols. A symbol may have a long name and be in
/// many relocations: it is kept, and looked for, once.
#[derive(Debug)]
pub(super) struct Pending {
    code_object: CodeObjectId,
    symbols: Vec<Undefined>,
    relocations: Vec<Waiting>,
}

/// A symbol that the code object does not define.
#[derive(Debug)]
struct Undefined {
    name: Box<str>,
    /// If nobody defines the symbol, its address is 0.
    weak: bool,
}

/// A relocation.
#[derive(Debug)]
struct Waiting {
    relocation: Relocation,
    /// Where it is in the code object's memory.
    offset: u64,
    /// Index of its symbol among those that are not defined.
    symbol: usize,
}

/// Address of a defined symbol in memory.
pub(super) fn address(place: Place, bias: u64) -> Option<u64> {
    match place {
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

/// Applies all relocations whose symbols the code object defines; gives the others.
pub(super) fn relocate<M: LoaderMemory>(
    memory: &M,
    id: CodeObjectId,
    object: &LoadedCodeObject,
    code: &CodeObject<'_>,
) -> Result<Pending, LoadError> {
    let mut pending = Pending {
        code_object: id,
        symbols: Vec::new(),
        relocations: Vec::new(),
    };
    // By their indices in the code object.
    let mut undefined = BTreeMap::new();
    for relocation in code.relocations() {
        let relocation = relocation?;
        let offset = relocation.address - code.segments().base();
        // Symbol 0 is the empty one: it stands for the number 0.
        let place = match relocation.symbol {
            0 => None,
            index => code.symbol_place(index),
        };
        let base = match (relocation.kind, place) {
            (RelocationKind::Relative64, _) => Some(object.bias),
            (_, Some(place)) => address(place, object.bias),
            (_, None) => Some(0),
        };
        if let Some(base) = base {
            apply(memory, object, &relocation, offset, base)?;
            continue;
        }
        let symbol = match undefined.entry(relocation.symbol) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let Some(symbol) = code.symbol(relocation.symbol)? else {
                    continue;
                };
                pending.symbols.push(Undefined {
                    name: symbol.name.into(),
                    weak: symbol.binding == Binding::Weak,
                });
                *new.insert(pending.symbols.len() - 1)
            }
        };
        pending.relocations.push(Waiting {
            relocation,
            offset,
            symbol,
        });
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
    let resolved = pending.iter().filter_map(|pending| {
        let object = objects.get(pending.code_object.0)?;
        let agent = object.memory.agent;
        let bases = pending.symbols.iter().map(|symbol| {
            let base = find(agent, &symbol.name).or(symbol.weak.then_some(0));
            base.ok_or(LoadError::VariableUndefined {
                symbol: (&*symbol.name).into(),
                agent,
            })
        });
        let bases = bases.collect::<Result<Vec<u64>, _>>();
        Some(bases.map(|bases| (object, pending, bases)))
    });
    for (object, pending, bases) in resolved.collect::<Result<Vec<_>, _>>()? {
        for waiting in &pending.relocations {
            let base = bases.get(waiting.symbol).copied().unwrap_or(0);
            apply(memory, object, &waiting.relocation, waiting.offset, base)?;
        }
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
