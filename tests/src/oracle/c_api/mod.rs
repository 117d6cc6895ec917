//! The C library under sequences of calls as a careless client makes them: handles that were destroyed, forged or of another
//! kind, sizes and attributes of any value, pointers to nothing. A call answers a status; it never ends the process.
//!
//! What the HSA specification gives no status for (operations on signals, indices of queues) is called with what is alive alone:
//! there AMD's library and this one end the process by design. Pointers are null or valid, since C has no other contract.

mod code;
mod declare;
mod extensions;
mod memory;
mod objects;
mod queries;
mod queues;
mod signals;

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::{Mutex, Once, PoisonError};

use rukh_capi as _;

use self::declare::*;
use self::objects::Objects;
use super::input::Input;

/// Steps of a sequence.
const STEPS: usize = 60;
/// Objects of a kind at once.
const MOST: usize = 12;
/// Bytes of the client's own memory.
const OWN: usize = 16384;

/// A client: the steps of a sequence are its methods, by what they are about.
struct Client {
    agents: Vec<u64>,
    pools: Vec<u64>,
    regions: Vec<u64>,
    others: Vec<u64>,
    signals: Objects,
    groups: Objects,
    queues: Objects,
    readers: Objects,
    code_objects: Objects,
    executables: Objects,
    symbols: Vec<u64>,
    /// Address and size.
    memory: Vec<(usize, usize)>,
    locked: bool,
    own: Box<[u64; OWN / 8]>,
    /// Code objects that readers borrow.
    files: Vec<Vec<u8>>,
}

extern "C" fn on_event(_: *const c_void, _: *mut c_void) -> Status {
    SUCCESS
}

/// Runs a sequence of calls.
pub fn check(data: &[u8]) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the library reads its environment in calls, all of which this oracle makes, after this. Whoever
        // runs it beside other code that reads the environment in C does so at its own risk; tests have a process of their own.
        unsafe {
            std::env::set_var("RUKH_BACKEND", "sim:gfx90a,gfx1100");
            std::env::set_var("RUKH_LOG", "off");
        }
    });
    // The library is one for the process.
    static LOCK: Mutex<()> = Mutex::new(());
    let _lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let mut input = Input::new(data);
    assert_eq!(call!(hsa_init()), SUCCESS);
    // A fault that nobody handles ends the process, as it must.
    assert_eq!(
        call!(hsa_amd_register_system_event_handler(
            Some(on_event),
            null_mut()
        )),
        SUCCESS
    );
    let mut client = Client::new();
    let clean = input.flag();
    for _ in 0..STEPS {
        if input.is_empty() {
            break;
        }
        client.step(&mut input);
    }
    if clean {
        client.give_back();
    }
    assert_eq!(call!(hsa_shut_down()), SUCCESS);
    assert_eq!(call!(hsa_shut_down()), NOT_INITIALIZED);
    assert_eq!(
        call!(hsa_signal_create(0, 0, null(), &mut 0)),
        NOT_INITIALIZED
    );
}

impl Client {
    fn new() -> Self {
        let agents = all(|visit, data| call!(hsa_iterate_agents(visit, data)));
        assert_eq!(agents.len(), 3);
        let of = |iterations: &[Iterate]| -> Vec<u64> {
            let of_one = |agent| iterations.iter().flat_map(move |one| all_of(agent, *one));
            agents.iter().copied().flat_map(of_one).collect()
        };
        Self {
            pools: of(&[hsa_amd_agent_iterate_memory_pools]),
            regions: of(&[hsa_agent_iterate_regions]),
            others: of(&[hsa_agent_iterate_isas, hsa_agent_iterate_caches]),
            agents,
            signals: Objects::default(),
            groups: Objects::default(),
            queues: Objects::default(),
            readers: Objects::default(),
            code_objects: Objects::default(),
            executables: Objects::default(),
            symbols: Vec::new(),
            memory: Vec::new(),
            locked: false,
            own: Box::new([0; OWN / 8]),
            files: Vec::new(),
        }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        match input.below(20) {
            0 | 1 => self.create_signal(input),
            2 => self.use_signal(input),
            3 => self.wait(input),
            4 => self.group(input),
            5 => self.allocate(input),
            6 => self.free(input),
            7 => self.memory(input),
            8 | 9 => self.create_queue(input),
            10 => self.change_queue(input),
            11 | 12 => self.publish(input),
            13 => self.read_object(input),
            14 | 15 => self.executable(input),
            16 => self.symbol(input),
            17 => self.query(input),
            18 => self.iterate(input),
            _ if input.flag() => self.rare(input),
            _ => self.extension(input),
        }
    }

    /// Everything in the order that a careful client keeps.
    fn give_back(&mut self) {
        for queue in std::mem::take(&mut self.queues.live) {
            let queue = std::ptr::with_exposed_provenance(queue as usize);
            assert_eq!(call!(hsa_queue_destroy(queue)), SUCCESS);
        }
        for executable in std::mem::take(&mut self.executables.live) {
            assert_eq!(call!(hsa_executable_destroy(executable)), SUCCESS);
        }
        for group in std::mem::take(&mut self.groups.live) {
            assert_eq!(call!(hsa_signal_group_destroy(group)), SUCCESS);
        }
        for signal in std::mem::take(&mut self.signals.live) {
            assert_eq!(call!(hsa_signal_destroy(signal)), SUCCESS);
        }
        for (at, _) in std::mem::take(&mut self.memory) {
            let at = std::ptr::with_exposed_provenance_mut(at);
            assert_eq!(call!(hsa_amd_memory_pool_free(at)), SUCCESS);
        }
        if std::mem::take(&mut self.locked) {
            let own = self.own.as_mut_ptr().cast();
            assert_eq!(call!(hsa_amd_memory_unlock(own)), SUCCESS);
        }
    }
}
