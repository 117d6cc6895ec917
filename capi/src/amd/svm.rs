//! Shared virtual memory: attributes of ranges that the host allocated.

use crate::abi::{Agent, Signal, Status, SvmAttributePair};
use crate::arg::In;
use crate::diag;
use crate::entry::{Result, entry};
use crate::runtime::State;
use crate::signal::{dependencies, find};
use core::ffi::c_void;
use rukh_core::backend::{AgentId, SvmAccess, SvmAttribute, SvmError, SvmFlags, SvmLocation};
use rukh_core::signal::{Condition, MemoryOrder, SignalHandle};
use std::sync::Arc;

/// Attributes are of these pages.
const PAGE: u64 = 4096;

/// `hsa_amd_svm_attribute_t`
mod attribute {
    pub const GLOBAL_FLAG: u64 = 0;
    pub const READ_ONLY: u64 = 1;
    pub const HIVE_LOCAL: u64 = 2;
    pub const MIGRATION_GRANULARITY: u64 = 3;
    pub const PREFERRED_LOCATION: u64 = 4;
    pub const PREFETCH_LOCATION: u64 = 5;
    pub const READ_MOSTLY: u64 = 6;
    pub const GPU_EXEC: u64 = 7;
    pub const ACCESSIBLE: u64 = 0x200;
    pub const ACCESSIBLE_IN_PLACE: u64 = 0x201;
    pub const NO_ACCESS: u64 = 0x202;
    pub const ACCESS_QUERY: u64 = 0x203;
}

/// `hsa_amd_svm_model_t`
const FINE_GRAINED: u64 = 0;
const COARSE_GRAINED: u64 = 1;
const INDETERMINATE: u64 = 2;

/// Attributes of one call at most: more than there are kinds and agents.
const MOST: usize = 1024;

fn status(error: SvmError) -> Status {
    match error {
        SvmError::BadRange { .. } => Status::INVALID_ARGUMENT,
        SvmError::BadAgent { .. } => Status::INVALID_AGENT,
        SvmError::NotSupported(_) | SvmError::Os { .. } => Status::ERROR,
    }
}

/// The whole pages around a range.
fn pages(ptr: *const c_void, size: usize) -> Result<(u64, u64)> {
    let start = ptr.expose_provenance() as u64;
    let end = start
        .checked_add(size as u64)
        .and_then(|end| end.checked_next_multiple_of(PAGE))
        .filter(|_| start != 0 && size != 0)
        .ok_or(Status::INVALID_ARGUMENT)?;
    let start = start & !(PAGE - 1);
    Ok((start, end - start))
}

/// The agent in an attribute's value, and whether it is a GPU.
fn agent(state: &State, value: u64) -> Result<(AgentId, bool)> {
    let agent = state.agent(Agent { handle: value })?;
    Ok((agent.id, agent.is_gpu()))
}

/// A flag of the range that an attribute stands for.
fn flag(attribute: u64) -> Option<SvmFlags> {
    Some(match attribute {
        attribute::READ_ONLY => SvmFlags::GPU_READ_ONLY,
        attribute::HIVE_LOCAL => SvmFlags::HIVE_LOCAL,
        attribute::READ_MOSTLY => SvmFlags::READ_MOSTLY,
        attribute::GPU_EXEC => SvmFlags::GPU_EXECUTABLE,
        _ => return None,
    })
}

fn list(attributes: *mut SvmAttributePair, count: usize) -> Result<Vec<SvmAttributePair>> {
    if count == 0 || count > MOST {
        return Err(Status::INVALID_ARGUMENT);
    }
    In::from(attributes.cast_const()).list(count)
}

/// What a client's list sets.
fn wishes(state: &State, list: &[SvmAttributePair]) -> Result<Vec<SvmAttribute>> {
    let (mut set, mut clear) = (SvmFlags::empty(), SvmFlags::empty());
    let mut wishes = Vec::new();
    for &SvmAttributePair { attribute, value } in list {
        match attribute {
            attribute::GLOBAL_FLAG => match value {
                FINE_GRAINED => set |= SvmFlags::COHERENT,
                COARSE_GRAINED => clear |= SvmFlags::COHERENT,
                _ => return Err(Status::INVALID_ARGUMENT),
            },
            attribute::MIGRATION_GRANULARITY => {
                let power = u8::try_from(value.min(63)).unwrap_or(63);
                wishes.push(SvmAttribute::Granularity(power));
            }
            attribute::PREFERRED_LOCATION => wishes.push(SvmAttribute::Preferred(match value {
                0 => SvmLocation::Undefined,
                value => location(agent(state, value)?),
            })),
            attribute::ACCESSIBLE | attribute::ACCESSIBLE_IN_PLACE | attribute::NO_ACCESS => {
                let (agent, is_gpu) = agent(state, value)?;
                match (is_gpu, attribute) {
                    (true, attribute::ACCESSIBLE) => {
                        wishes.push(SvmAttribute::Access(agent, SvmAccess::Any));
                    }
                    (true, attribute::ACCESSIBLE_IN_PLACE) => {
                        wishes.push(SvmAttribute::Access(agent, SvmAccess::InPlace));
                    }
                    (true, _) => wishes.push(SvmAttribute::Access(agent, SvmAccess::None)),
                    (false, attribute::NO_ACCESS) => clear |= SvmFlags::HOST_ACCESS,
                    (false, _) => set |= SvmFlags::HOST_ACCESS,
                }
            }
            other => {
                let flag = flag(other).ok_or(Status::INVALID_ARGUMENT)?;
                if value != 0 {
                    set |= flag;
                } else {
                    clear |= flag;
                }
            }
        }
    }
    // If any CPU is to have access, the host has.
    clear -= set & SvmFlags::HOST_ACCESS;
    for (flags, wish) in [
        (clear, SvmAttribute::Clear as fn(SvmFlags) -> SvmAttribute),
        (set, SvmAttribute::Set),
    ] {
        if !flags.is_empty() {
            wishes.push(wish(flags));
        }
    }
    Ok(wishes)
}

const fn location((agent, is_gpu): (AgentId, bool)) -> SvmLocation {
    if is_gpu {
        SvmLocation::Agent(agent)
    } else {
        SvmLocation::Host
    }
}

/// A location as a client is told: an agent, or 0.
fn place(state: &State, location: SvmLocation) -> Result<u64> {
    let agent = match location {
        SvmLocation::Undefined => return Ok(0),
        SvmLocation::Agent(agent) => Some(agent),
        SvmLocation::Host => state.agents().first().map(|agent| agent.id),
    };
    Ok(state.agent_handle(agent.ok_or(Status::ERROR)?)?.handle)
}

/// Answers a client's questions.
fn answers(state: &State, (start, size): (u64, u64), list: &mut [SvmAttributePair]) -> Result {
    // The flags that all pages have, and that none has, then a question for each that needs one.
    let mut ask = vec![
        SvmAttribute::Set(SvmFlags::empty()),
        SvmAttribute::Clear(SvmFlags::empty()),
    ];
    let mut asked = Vec::new();
    for pair in &*list {
        let question = match pair.attribute {
            attribute::GLOBAL_FLAG => None,
            attribute::MIGRATION_GRANULARITY => Some(SvmAttribute::Granularity(0)),
            attribute::PREFERRED_LOCATION => Some(SvmAttribute::Preferred(SvmLocation::Undefined)),
            attribute::PREFETCH_LOCATION => Some(SvmAttribute::Prefetch(SvmLocation::Undefined)),
            attribute::ACCESS_QUERY => match agent(state, pair.value)? {
                (agent, true) => Some(SvmAttribute::Access(agent, SvmAccess::Any)),
                (_, false) => None,
            },
            other if flag(other).is_some() => None,
            _ => return Err(Status::INVALID_ARGUMENT),
        };
        asked.push(question.map(|_| ask.len()));
        ask.extend(question);
    }
    state.backend().svm(start, size, &mut ask).map_err(status)?;
    let flags = |index: usize| match ask.get(index) {
        Some(SvmAttribute::Set(flags) | SvmAttribute::Clear(flags)) => *flags,
        _ => SvmFlags::empty(),
    };
    let (set, clear) = (flags(0), flags(1));
    for (pair, at) in list.iter_mut().zip(asked) {
        match at.and_then(|at| ask.get(at)) {
            Some(SvmAttribute::Granularity(power)) => pair.value = u64::from(*power),
            Some(SvmAttribute::Preferred(at) | SvmAttribute::Prefetch(at)) => {
                pair.value = place(state, *at)?;
            }
            Some(SvmAttribute::Access(_, access)) => {
                pair.attribute = match access {
                    SvmAccess::Any => attribute::ACCESSIBLE,
                    SvmAccess::InPlace => attribute::ACCESSIBLE_IN_PLACE,
                    SvmAccess::None => attribute::NO_ACCESS,
                };
            }
            _ if pair.attribute == attribute::GLOBAL_FLAG => {
                pair.value = if set.contains(SvmFlags::COHERENT) {
                    FINE_GRAINED
                } else if clear.contains(SvmFlags::COHERENT) {
                    COARSE_GRAINED
                } else {
                    INDETERMINATE
                };
            }
            _ if pair.attribute == attribute::ACCESS_QUERY => {
                pair.attribute = if set.contains(SvmFlags::HOST_ACCESS) {
                    attribute::ACCESSIBLE
                } else {
                    attribute::NO_ACCESS
                };
            }
            _ => {
                let flag = flag(pair.attribute).unwrap_or(SvmFlags::empty());
                pair.value = u64::from(set.contains(flag));
            }
        }
    }
    Ok(())
}

/// A prefetch that waits for signals.
#[derive(Clone, Copy, Debug)]
struct Prefetch {
    range: (u64, u64),
    to: SvmLocation,
    done: Option<SignalHandle>,
}

/// Does a prefetch when all dependencies are zero, then counts the completion signal down, or sets it to -1 after an error.
fn after(state: &Arc<State>, mut waiting: Vec<SignalHandle>, prefetch: Prefetch) -> Result {
    while let Some(&next) = waiting.last() {
        if state.runtime.signal(next)?.load(MemoryOrder::Acquire) == 0 {
            waiting.pop();
            continue;
        }
        let weak = Arc::downgrade(state);
        let mut rest = Some(waiting);
        let again = Box::new(move |_| {
            if let (Some(state), Some(rest)) = (weak.upgrade(), rest.take())
                && let Err(status) = after(&state, rest, prefetch)
            {
                diag::say(format_args!("a prefetch failed: {status:?}"));
            }
            false
        });
        state.runtime.on_signal(next, Condition::Eq, 0, again)?;
        return Ok(());
    }
    let (start, size) = prefetch.range;
    let attributes = [SvmAttribute::Prefetch(prefetch.to)];
    let moved = state.backend().set_svm(start, size, &attributes);
    if let Some(done) = prefetch.done {
        let signal = state.runtime.signal(done)?;
        match moved {
            Ok(()) => drop(signal.subtract(1, MemoryOrder::AcqRel)),
            Err(_) => signal.store(-1, MemoryOrder::Release),
        }
    }
    moved.map_err(status)
}

entry! {
    /// `hsa_amd_svm_attributes_set`: sets attributes of the pages around a range.
    fn hsa_amd_svm_attributes_set(state; ptr: *mut c_void, size: usize,
        attribute_list: *mut SvmAttributePair, attribute_count: usize) {
        let (start, size) = pages(ptr, size)?;
        let list = list(attribute_list, attribute_count)?;
        let wishes = wishes(&state, &list)?;
        state.backend().set_svm(start, size, &wishes).map_err(status)
    }

    /// `hsa_amd_svm_attributes_get`: replaces values by those of the pages around a range.
    fn hsa_amd_svm_attributes_get(state; ptr: *mut c_void, size: usize,
        attribute_list: *mut SvmAttributePair, attribute_count: usize) {
        let range = pages(ptr, size)?;
        let mut list = list(attribute_list, attribute_count)?;
        answers(&state, range, &mut list)?;
        for (index, pair) in list.into_iter().enumerate() {
            // SAFETY: the client's list has as many pairs as were read from it; alignment is not assumed.
            unsafe { attribute_list.add(index).write_unaligned(pair) };
        }
        Ok(())
    }

    /// `hsa_amd_svm_prefetch_async`: moves pages after the dependencies are zero, then decrements the completion signal,
    /// if there is one.
    fn hsa_amd_svm_prefetch_async(state; ptr: *mut c_void, size: usize, agent: Agent, num_dep_signals: u32,
        dep_signals: In<Signal>, completion_signal: Signal) {
        let range = pages(ptr, size)?;
        let to = location(self::agent(&state, agent.handle)?);
        if num_dep_signals != 0 && dep_signals.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let waiting = dependencies(&state, num_dep_signals, dep_signals)?;
        let done = match completion_signal.handle {
            0 => None,
            _ => Some(find(&state, completion_signal)?.handle()),
        };
        after(&state, waiting, Prefetch { range, to, done })
    }
}
