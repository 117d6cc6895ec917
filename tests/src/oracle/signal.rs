//! Signals against a model of numbers: every operation gives what wrapping arithmetic gives, waits and handlers see what
//! holds, and handles that name nothing are refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use rukh_backend_sim::SimBackend;
use rukh_core::backend::Timeout;
use rukh_core::runtime::{
    HandlerId, Runtime, SignalError, SignalRef, WaitCondition, WaitHint, WaitOutcome,
};
use rukh_core::signal::{Condition, MemoryOrder, SignalFlags, SignalHandle};

use super::bed::Bed;
use super::input::Input;

const ORDERS: [MemoryOrder; 4] = [
    MemoryOrder::AcqRel,
    MemoryOrder::Relaxed,
    MemoryOrder::Acquire,
    MemoryOrder::Release,
];
const CONDITIONS: [Condition; 4] = [Condition::Eq, Condition::Ne, Condition::Lt, Condition::Gte];
/// Signals at once, and operations.
const MOST: usize = 24;
const STEPS: usize = 300;

/// A signal of the model.
struct Model {
    handle: SignalHandle,
    /// What handlers compare with, too.
    value: Arc<AtomicI64>,
}

/// A handler of the model.
struct Handler {
    id: HandlerId,
    on: SignalHandle,
    condition: Condition,
    compare: i64,
    calls: Arc<AtomicUsize>,
    /// Calls until it gives false.
    life: usize,
}

struct World {
    runtime: Arc<Runtime<SimBackend>>,
    live: Vec<Model>,
    /// Handles of signals that were destroyed.
    gone: Vec<SignalHandle>,
    handlers: Vec<Handler>,
}

impl World {
    fn of(&self, handle: SignalHandle) -> Option<&Model> {
        self.live.iter().find(|model| model.handle == handle)
    }

    /// A handle: of a signal, of one that is gone, or of nothing.
    fn handle(&self, input: &mut Input<'_>) -> SignalHandle {
        let live = |at: usize| self.live.get(at).map(|model| model.handle);
        let known = live(input.below(self.live.len()));
        match (input.byte(), known) {
            (0..=229, Some(handle)) => handle,
            (230..=239, _) => {
                let at = input.below(self.gone.len());
                self.gone.get(at).copied().unwrap_or_default()
            }
            // In the arena and no slot's start.
            (240..=247, Some(handle)) => SignalHandle(handle.0 + 8 * (1 + input.below(15)) as u64),
            (_, _) => SignalHandle(input.number() & !(0xffff << 32)),
        }
    }

    fn signal(&self, handle: SignalHandle) -> Option<(SignalRef<'_, SimBackend>, &Model)> {
        match (self.runtime.signal(handle), self.of(handle)) {
            (Ok(signal), Some(model)) => {
                assert_eq!(signal.handle(), handle);
                Some((signal, model))
            }
            (Err(error), None) => {
                assert_eq!(error, SignalError::BadHandle { handle });
                None
            }
            (ours, model) => panic!("{handle}: {ours:?}, in the model: {}", model.is_some()),
        }
    }
}

fn condition(input: &mut Input<'_>) -> (Condition, i64) {
    (input.pick(&CONDITIONS), input.number().cast_signed())
}

/// Runs a sequence of operations.
pub fn check(data: &[u8]) {
    let mut world = World {
        runtime: Bed::lend(1, |bed| bed.runtime.clone()),
        live: Vec::new(),
        gone: Vec::new(),
        handlers: Vec::new(),
    };
    let mut input = Input::new(data);
    for _ in 0..STEPS {
        if input.is_empty() {
            break;
        }
        step(&mut world, &mut input);
    }
    for handler in std::mem::take(&mut world.handlers) {
        world.runtime.remove_handler(handler.id);
    }
    for model in &world.live {
        assert_eq!(world.runtime.destroy_signal(model.handle), Ok(()));
    }
}

fn step(world: &mut World, input: &mut Input<'_>) {
    match input.below(16) {
        0 if world.live.len() < MOST => {
            let value = input.number().cast_signed();
            let flags = input.pick(&[SignalFlags::empty(), SignalFlags::BUSY, SignalFlags::IPC]);
            let handle = world
                .runtime
                .create_signal_handle(value, flags)
                .expect("there is room");
            assert!(world.of(handle).is_none(), "{handle} was given out twice");
            // What a handle of the past names now is the new signal.
            world.gone.retain(|gone| *gone != handle);
            let value = Arc::new(AtomicI64::new(value));
            world.live.push(Model { handle, value });
        }
        1 => {
            let handle = world.handle(input);
            let outcome = world.runtime.destroy_signal(handle);
            match world.live.iter().position(|model| model.handle == handle) {
                Some(at) => {
                    assert_eq!(outcome, Ok(()));
                    world.live.swap_remove(at);
                    world.gone.push(handle);
                    world.handlers.retain(|handler| handler.on != handle);
                }
                None => assert_eq!(outcome, Err(SignalError::BadHandle { handle })),
            }
        }
        at @ 2..=10 => operation(world, at, input),
        11 => wait_one(world, input),
        12 | 13 => wait_several(world, input),
        14 => add_handler(world, input),
        _ => {
            world.runtime.poll();
            // One call may take another handler's turn; all that hold have theirs by now.
            for handler in &world.handlers {
                let model = world.of(handler.on).expect("handlers go with their signal");
                let value = model.value.load(Ordering::Relaxed);
                let called = handler.calls.load(Ordering::Relaxed) != 0;
                assert!(called || !handler.condition.holds(value, handler.compare));
            }
            let ended = |handler: &Handler| handler.calls.load(Ordering::Relaxed) >= handler.life;
            world.handlers.retain(|handler| !ended(handler));
            if input.flag() && !world.handlers.is_empty() {
                let at = input.below(world.handlers.len());
                let handler = world.handlers.swap_remove(at);
                assert!(world.runtime.remove_handler(handler.id));
                assert!(!world.runtime.remove_handler(handler.id));
            }
        }
    }
}

fn operation(world: &World, which: usize, input: &mut Input<'_>) {
    let handle = world.handle(input);
    let order = input.pick(&ORDERS);
    let operand = input.number().cast_signed();
    let Some((signal, model)) = world.signal(handle) else {
        return;
    };
    let old = model.value.load(Ordering::Relaxed);
    let (found, new) = match which {
        2 => (signal.load(order), old),
        3 => {
            signal.store(operand, order);
            (old, operand)
        }
        4 => {
            signal.silent_store(operand, order);
            (old, operand)
        }
        5 => (signal.exchange(operand, order), operand),
        6 => {
            let expected = if input.flag() { old } else { operand ^ 1 };
            let new = if expected == old { operand } else { old };
            (signal.cas(expected, operand, order), new)
        }
        7 => (signal.add(operand, order), old.wrapping_add(operand)),
        8 => (signal.subtract(operand, order), old.wrapping_sub(operand)),
        9 => (signal.and(operand, order), old & operand),
        _ if input.flag() => (signal.or(operand, order), old | operand),
        _ => (signal.xor(operand, order), old ^ operand),
    };
    assert_eq!(found, old, "operation {which} with {operand:#x}");
    assert_eq!(signal.load(MemoryOrder::Acquire), new);
    model.value.store(new, Ordering::Relaxed);
}

fn wait_one(world: &World, input: &mut Input<'_>) {
    let handle = world.handle(input);
    let (condition, compare) = condition(input);
    let Some((signal, model)) = world.signal(handle) else {
        return;
    };
    let value = model.value.load(Ordering::Relaxed);
    let hint = input.pick(&[WaitHint::Blocked, WaitHint::Active]);
    // Of a time that is over there are a few looks; most have one.
    let timeout = if input.below(64) == 1 {
        Timeout::At(0)
    } else {
        Timeout::Poll
    };
    let expected = if condition.holds(value, compare) {
        WaitOutcome::Met(value)
    } else {
        WaitOutcome::TimedOut(value)
    };
    assert_eq!(signal.wait(condition, compare, timeout, hint), Ok(expected));
}

fn wait_several(world: &World, input: &mut Input<'_>) {
    let conditions: Vec<WaitCondition> = (0..input.below(9))
        .map(|_| {
            let signal = world.handle(input);
            let (condition, value) = condition(input);
            WaitCondition {
                signal,
                condition,
                value,
            }
        })
        .collect();
    let holds = |wanted: &WaitCondition| {
        let value = world.of(wanted.signal)?.value.load(Ordering::Relaxed);
        Some(wanted.condition.holds(value, wanted.value))
    };
    let named = || conditions.iter().filter(|wanted| !wanted.signal.is_null());
    let bad = named().find(|wanted| world.of(wanted.signal).is_none());
    let any = world
        .runtime
        .wait_any(&conditions, Timeout::Poll, WaitHint::Blocked);
    let all = world
        .runtime
        .wait_all(&conditions, Timeout::Poll, WaitHint::Blocked);
    if let Some(bad) = bad {
        let handle = bad.signal;
        assert_eq!(any, Err(SignalError::BadHandle { handle }));
        assert_eq!(all, Err(SignalError::BadHandle { handle }));
        return;
    }
    match any.expect("all of them are signals") {
        Some((at, value)) => {
            let wanted = conditions[at];
            assert_eq!(holds(&wanted), Some(true), "{at} of {conditions:?}");
            let model = world.of(wanted.signal).expect("it is one");
            assert_eq!(model.value.load(Ordering::Relaxed), value);
        }
        None => assert!(named().all(|wanted| holds(wanted) == Some(false))),
    }
    let every = named().all(|wanted| holds(wanted) == Some(true));
    assert_eq!(all, Ok(every));
}

fn add_handler(world: &mut World, input: &mut Input<'_>) {
    let handle = world.handle(input);
    let (condition, compare) = condition(input);
    let life = 1 + input.below(4);
    let calls = Arc::new(AtomicUsize::new(0));
    let model = world.of(handle).map(|model| model.value.clone());
    let (counted, known) = (calls.clone(), model.clone());
    let callback = Box::new(move |value: i64| {
        assert!(condition.holds(value, compare), "called for {value}");
        // Nothing but this thread changes signals here.
        let now = known.as_ref().map(|known| known.load(Ordering::Relaxed));
        assert_eq!(now, Some(value));
        counted.fetch_add(1, Ordering::Relaxed) + 1 < life
    });
    let outcome = world
        .runtime
        .on_signal(handle, condition, compare, callback);
    match (outcome, model) {
        (Ok(id), Some(_)) => world.handlers.push(Handler {
            id,
            on: handle,
            condition,
            compare,
            calls,
            life,
        }),
        (Err(error), None) => assert_eq!(error, SignalError::BadHandle { handle }),
        (outcome, model) => panic!("{handle}: {outcome:?}, known: {}", model.is_some()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::rng::Rng;

    #[test]
    fn random_sequences_hold() {
        let mut rng = Rng::new(11);
        let mut data = [0; 1500];
        for _ in 0..500 {
            rng.fill(&mut data);
            // Signals first, so that the rest has something to work on.
            data[..12].copy_from_slice(&[0, 5, 0, 0, 6, 0, 0, 0x80, 1, 0, 0, 0]);
            check(&data);
        }
    }
}
