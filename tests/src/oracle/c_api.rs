//! The C library under sequences of calls as a careless client makes them: handles that were destroyed, forged or of another
//! kind, sizes and attributes of any value, pointers to nothing. A call answers a status; it never ends the process.
//!
//! What the HSA specification gives no status for (operations on signals, indices of queues) is called with what is alive alone:
//! there AMD's library and this one end the process by design. Pointers are null or valid, since C has no other contract.

use std::ffi::{CString, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use rukh_capi as _;
use rukh_core::wire::queue::HsaQueue;

use super::input::Input;
use super::mutate::mutate;
use super::rng::Rng;
use crate::golden::committed;

type Status = u32;
type Visit = extern "C" fn(u64, *mut c_void) -> Status;
type OnError = extern "C" fn(Status, *mut HsaQueue, *mut c_void);

const SUCCESS: Status = 0;
const NOT_INITIALIZED: Status = 0x100b;

macro_rules! api {
    ($(fn $name:ident($($arg:ident: $ty:ty),*) $(-> $ret:ty)?;)*) => {
        unsafe extern "C" {
            $(fn $name($($arg: $ty),*) $(-> $ret)?;)*
        }
    };
}

api! {
    fn hsa_init() -> Status;
    fn hsa_amd_register_system_event_handler(handler: Option<extern "C" fn(*const c_void, *mut c_void) -> Status>,
        data: *mut c_void) -> Status;
    fn hsa_shut_down() -> Status;
    fn hsa_status_string(status: u32, text: *mut *const c_char) -> Status;
    fn hsa_system_get_info(attribute: u32, value: *mut c_void) -> Status;
    fn hsa_system_get_major_extension_table(extension: u16, major: u16, length: usize, table: *mut c_void) -> Status;
    fn hsa_iterate_agents(visit: Option<Visit>, data: *mut c_void) -> Status;
    fn hsa_agent_get_info(agent: u64, attribute: u32, value: *mut c_void) -> Status;
    fn hsa_agent_iterate_caches(agent: u64, visit: Option<Visit>, data: *mut c_void) -> Status;
    fn hsa_agent_iterate_isas(agent: u64, visit: Option<Visit>, data: *mut c_void) -> Status;
    fn hsa_agent_iterate_regions(agent: u64, visit: Option<Visit>, data: *mut c_void) -> Status;
    fn hsa_amd_agent_iterate_memory_pools(agent: u64, visit: Option<Visit>, data: *mut c_void) -> Status;
    fn hsa_isa_from_name(name: *const c_char, isa: *mut u64) -> Status;
    fn hsa_isa_get_info_alt(isa: u64, attribute: u32, value: *mut c_void) -> Status;
    fn hsa_cache_get_info(cache: u64, attribute: u32, value: *mut c_void) -> Status;
    fn hsa_region_get_info(region: u64, attribute: u32, value: *mut c_void) -> Status;
    fn hsa_amd_memory_pool_get_info(pool: u64, attribute: u32, value: *mut c_void) -> Status;
    fn hsa_amd_agent_memory_pool_get_info(agent: u64, pool: u64, attribute: u32, value: *mut c_void) -> Status;
    fn hsa_amd_memory_pool_allocate(pool: u64, size: usize, flags: u32, memory: *mut *mut c_void) -> Status;
    fn hsa_amd_memory_pool_free(memory: *mut c_void) -> Status;
    fn hsa_memory_allocate(region: u64, size: usize, memory: *mut *mut c_void) -> Status;
    fn hsa_memory_free(memory: *mut c_void) -> Status;
    fn hsa_memory_copy(to: *mut c_void, from: *const c_void, size: usize) -> Status;
    fn hsa_amd_memory_fill(to: *mut c_void, value: u32, count: usize) -> Status;
    fn hsa_amd_agents_allow_access(count: u32, agents: *const u64, flags: *const u32, memory: *const c_void) -> Status;
    fn hsa_amd_memory_lock(memory: *mut c_void, size: usize, agents: *const u64, count: i32, at: *mut *mut c_void) -> Status;
    fn hsa_amd_memory_unlock(memory: *mut c_void) -> Status;
    fn hsa_amd_pointer_info(memory: *const c_void, info: *mut c_void, allocate: *const c_void, count: *mut u32,
        agents: *mut *mut u64) -> Status;
    fn hsa_amd_pointer_info_set_userdata(memory: *const c_void, data: *mut c_void) -> Status;
    fn hsa_amd_memory_async_copy(to: *mut c_void, to_agent: u64, from: *const c_void, from_agent: u64, size: usize,
        count: u32, signals: *const u64, done: u64) -> Status;
    fn hsa_signal_create(value: i64, count: u32, consumers: *const u64, signal: *mut u64) -> Status;
    fn hsa_amd_signal_create(value: i64, count: u32, consumers: *const u64, attributes: u64, signal: *mut u64) -> Status;
    fn hsa_signal_destroy(signal: u64) -> Status;
    fn hsa_signal_load_scacquire(signal: u64) -> i64;
    fn hsa_signal_store_screlease(signal: u64, value: i64);
    fn hsa_signal_add_relaxed(signal: u64, value: i64);
    fn hsa_signal_cas_scacq_screl(signal: u64, expected: i64, value: i64) -> i64;
    fn hsa_signal_wait_scacquire(signal: u64, condition: u32, value: i64, timeout: u64, hint: u32) -> i64;
    fn hsa_amd_signal_wait_any(count: u32, signals: *const u64, conditions: *const u32, values: *const i64, timeout: u64,
        hint: u32, satisfying: *mut i64) -> u32;
    fn hsa_amd_signal_value_pointer(signal: u64, value: *mut *mut i64) -> Status;
    fn hsa_amd_signal_async_handler(signal: u64, condition: u32, value: i64,
        handler: Option<extern "C" fn(i64, *mut c_void) -> bool>, data: *mut c_void) -> Status;
    fn hsa_signal_group_create(count: u32, signals: *const u64, consumers: u32, agents: *const u64, group: *mut u64) -> Status;
    fn hsa_signal_group_destroy(group: u64) -> Status;
    fn hsa_queue_create(agent: u64, size: u32, kind: u32, error: Option<OnError>, data: *mut c_void, private: u32,
        group: u32, queue: *mut *mut HsaQueue) -> Status;
    fn hsa_soft_queue_create(region: u64, size: u32, kind: u32, features: u32, doorbell: u64, queue: *mut *mut HsaQueue) -> Status;
    fn hsa_queue_destroy(queue: *const HsaQueue) -> Status;
    fn hsa_queue_inactivate(queue: *const HsaQueue) -> Status;
    fn hsa_queue_add_write_index_screlease(queue: *const HsaQueue, value: u64) -> u64;
    fn hsa_queue_store_write_index_relaxed(queue: *const HsaQueue, value: u64);
    fn hsa_queue_load_read_index_scacquire(queue: *const HsaQueue) -> u64;
    fn hsa_amd_queue_set_priority(queue: *const HsaQueue, priority: u32) -> Status;
    fn hsa_amd_queue_cu_set_mask(queue: *const HsaQueue, count: u32, mask: *const u32) -> Status;
    fn hsa_amd_queue_get_info(queue: *const HsaQueue, attribute: u32, value: *mut c_void) -> Status;
    fn hsa_amd_profiling_set_profiler_enabled(queue: *const HsaQueue, on: i32) -> Status;
    fn hsa_amd_profiling_get_dispatch_time(agent: u64, signal: u64, time: *mut c_void) -> Status;
    fn hsa_code_object_reader_create_from_memory(bytes: *const c_void, size: usize, reader: *mut u64) -> Status;
    fn hsa_code_object_reader_create_from_file(file: i32, reader: *mut u64) -> Status;
    fn hsa_code_object_reader_destroy(reader: u64) -> Status;
    fn hsa_code_object_deserialize(bytes: *const c_void, size: usize, options: *const c_char, object: *mut u64) -> Status;
    fn hsa_code_object_destroy(object: u64) -> Status;
    fn hsa_code_object_get_info(object: u64, attribute: u32, value: *mut c_void) -> Status;
    fn hsa_executable_create_alt(profile: u32, rounding: u32, options: *const c_char, executable: *mut u64) -> Status;
    fn hsa_executable_destroy(executable: u64) -> Status;
    fn hsa_executable_load_agent_code_object(executable: u64, agent: u64, reader: u64, options: *const c_char,
        loaded: *mut u64) -> Status;
    fn hsa_executable_load_code_object(executable: u64, agent: u64, object: u64, options: *const c_char) -> Status;
    fn hsa_executable_freeze(executable: u64, options: *const c_char) -> Status;
    fn hsa_executable_get_info(executable: u64, attribute: u32, value: *mut c_void) -> Status;
    fn hsa_executable_agent_global_variable_define(executable: u64, agent: u64, name: *const c_char, at: *mut c_void) -> Status;
    fn hsa_executable_get_symbol_by_name(executable: u64, name: *const c_char, agent: *const u64, symbol: *mut u64) -> Status;
    fn hsa_executable_iterate_agent_symbols(executable: u64, agent: u64,
        visit: Option<extern "C" fn(u64, u64, u64, *mut c_void) -> Status>, data: *mut c_void) -> Status;
    fn hsa_executable_symbol_get_info(symbol: u64, attribute: u32, value: *mut c_void) -> Status;
    fn hsa_amd_ipc_memory_create(memory: *mut c_void, size: usize, handle: *mut c_void) -> Status;
    fn hsa_amd_ipc_memory_attach(handle: *const c_void, size: usize, count: u32, agents: *const u64, at: *mut *mut c_void) -> Status;
    fn hsa_amd_ipc_signal_create(signal: u64, handle: *mut c_void) -> Status;
    fn hsa_amd_ipc_signal_attach(handle: *const c_void, signal: *mut u64) -> Status;
    fn hsa_amd_vmem_address_reserve(at: *mut *mut c_void, size: usize, address: u64, flags: u64) -> Status;
    fn hsa_amd_vmem_address_free(at: *mut c_void, size: usize) -> Status;
}

/// Calls what answers a status, which has to be one; gives it.
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: pointers are null or of as much memory as the function uses, which outlives the call.
        let status = unsafe { $name($($argument),*) };
        // The core's statuses, and those that AMD's extensions have.
        let known = matches!(status, 0 | 1 | 40..=48 | 0x1000..=0x1040);
        assert!(known, "{} answers {status:#x}", stringify!($name));
        status
    }};
}

/// Steps of a sequence, and objects of a kind at once.
const STEPS: usize = 60;
const MOST: usize = 12;
/// Bytes of the client's own memory.
const OWN: usize = 16384;

/// What a client has. Objects that are gone stay, so that they are named again.
#[derive(Default)]
struct Objects {
    live: Vec<u64>,
    gone: Vec<u64>,
}

impl Objects {
    fn any(&self, input: &mut Input<'_>) -> Option<u64> {
        self.live.get(input.below(self.live.len())).copied()
    }

    fn add(&mut self, object: u64) {
        assert!(
            !self.live.contains(&object),
            "{object:#x} was given out twice"
        );
        self.gone.retain(|gone| *gone != object);
        self.live.push(object);
    }

    /// A destroying call was made: it has to have gone well exactly if the object was there.
    fn destroyed(&mut self, object: u64, status: Status) {
        match self.live.iter().position(|live| *live == object) {
            Some(at) => {
                assert_eq!(status, SUCCESS, "{object:#x}");
                self.live.swap_remove(at);
                self.gone.push(object);
            }
            None => assert_ne!(status, SUCCESS, "{object:#x} is not there"),
        }
    }
}

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

extern "C" fn collect(handle: u64, data: *mut c_void) -> Status {
    // SAFETY: the data that this oracle passes with this function.
    unsafe { &mut *data.cast::<Vec<u64>>() }.push(handle);
    SUCCESS
}

/// Counts down; at the end it answers what stops an iteration, or an error.
extern "C" fn stop(_: u64, data: *mut c_void) -> Status {
    // SAFETY: the data that this oracle passes with this function.
    let left = unsafe { &mut *data.cast::<u32>() };
    *left = left.wrapping_sub(1);
    match *left {
        0 => 1,
        1 => 0x1001,
        _ => SUCCESS,
    }
}

extern "C" fn collect_symbol(_: u64, _: u64, symbol: u64, data: *mut c_void) -> Status {
    collect(symbol, data)
}

static ERRORS: AtomicU32 = AtomicU32::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn on_error(status: Status, queue: *mut HsaQueue, _: *mut c_void) {
    assert!(status != SUCCESS && !queue.is_null());
    ERRORS.fetch_add(1, Ordering::Relaxed);
}

extern "C" fn on_event(_: *const c_void, _: *mut c_void) -> Status {
    SUCCESS
}

extern "C" fn on_signal(_: i64, data: *mut c_void) -> bool {
    CALLS.fetch_add(1, Ordering::Relaxed) % 4 < data.addr() % 4
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
        let mut client = Self {
            agents: Vec::new(),
            pools: Vec::new(),
            regions: Vec::new(),
            others: Vec::new(),
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
        };
        let into = |list: &mut Vec<u64>| (&raw mut *list).cast::<c_void>();
        let status = call!(hsa_iterate_agents(Some(collect), into(&mut client.agents)));
        assert_eq!(status, SUCCESS);
        for agent in client.agents.clone() {
            let pools = into(&mut client.pools);
            let regions = into(&mut client.regions);
            assert_eq!(
                call!(hsa_amd_agent_iterate_memory_pools(
                    agent,
                    Some(collect),
                    pools
                )),
                SUCCESS
            );
            assert_eq!(
                call!(hsa_agent_iterate_regions(agent, Some(collect), regions)),
                SUCCESS
            );
            let others = into(&mut client.others);
            assert_eq!(
                call!(hsa_agent_iterate_isas(agent, Some(collect), others)),
                SUCCESS
            );
            assert_eq!(
                call!(hsa_agent_iterate_caches(agent, Some(collect), others)),
                SUCCESS
            );
        }
        assert_eq!(client.agents.len(), 3);
        client
    }

    /// A handle: mostly of the kind, sometimes one that is gone, forged, or of another kind.
    fn handle(&self, of: &[u64], gone: &[u64], input: &mut Input<'_>) -> u64 {
        let one = |list: &[u64], at: usize| list.get(at).copied();
        let at = input.byte() as usize;
        let pick = |list: &[u64]| one(list, at.checked_rem(list.len()).unwrap_or(0));
        match input.byte() {
            0..=191 => pick(of).unwrap_or(0),
            192..=207 => pick(gone).unwrap_or(1),
            208..=223 => pick(of).unwrap_or(0) ^ 1 << (at % 64),
            224..=231 => pick(&self.agents).unwrap_or(0),
            232..=239 => pick(&self.signals.live).unwrap_or(0),
            240..=243 => pick(&self.executables.live).unwrap_or(0),
            244..=247 => 0,
            // Its parts: kind, generation, slot.
            248..=251 => (0xa1 + at as u64 % 13) << 56 | (at as u64 / 16) << 20,
            _ => input.number(),
        }
    }

    fn agent(&self, input: &mut Input<'_>) -> u64 {
        self.handle(&self.agents, &[], input)
    }

    fn signal(&self, input: &mut Input<'_>) -> u64 {
        let signal = self.handle(&self.signals.live, &self.signals.gone, input);
        let ours = [&self.signals.live, &self.signals.gone];
        let is_ours = ours.iter().any(|list| list.contains(&signal));
        // Beside them are the library's own, which no handle can be told from: nobody hits on those by accident.
        let near = |live: &u64| {
            live.abs_diff(signal) < 1 << 28 && live.abs_diff(signal).is_multiple_of(128)
        };
        let is_other = ours.iter().any(|list| list.iter().any(near));
        if is_other && !is_ours { 1 } else { signal }
    }

    fn pool(&self, input: &mut Input<'_>) -> u64 {
        self.handle(&self.pools, &self.regions, input)
    }

    /// A queue's address, or one that is no queue. It is not followed unless it is one.
    fn queue(&self, input: &mut Input<'_>) -> *const HsaQueue {
        let queue = self.handle(&self.queues.live, &self.queues.gone, input);
        std::ptr::with_exposed_provenance(queue as usize)
    }

    /// An allocation, or the client's own memory.
    fn range(&mut self, input: &mut Input<'_>) -> (*mut c_void, usize) {
        match self.memory.get(input.below(self.memory.len() + 1)) {
            Some((at, size)) => (std::ptr::with_exposed_provenance_mut(*at), *size),
            None => (self.own.as_mut_ptr().cast(), OWN),
        }
    }

    /// A place for an answer, or none.
    fn value(&mut self, input: &mut Input<'_>) -> *mut c_void {
        if input.byte() >= 240 {
            return null_mut();
        }
        self.own.as_mut_ptr().cast()
    }

    /// A list of agents for a count that it returns.
    fn agent_list(&self, input: &mut Input<'_>) -> (u32, Vec<u64>) {
        let list: Vec<u64> = (0..input.below(4)).map(|_| self.agent(input)).collect();
        (list.len() as u32, list)
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
            _ => self.rare(input),
        }
    }

    fn create_signal(&mut self, input: &mut Input<'_>) {
        if input.below(4) == 0 {
            let signal = self.signal(input);
            // Doorbells and signals that the library has are refused, and not in the list.
            let status = call!(hsa_signal_destroy(signal));
            self.signals.destroyed(signal, status);
            return;
        }
        if self.signals.live.len() >= MOST {
            return;
        }
        let (count, agents) = self.agent_list(input);
        let good = agents.iter().all(|agent| self.agents.contains(agent));
        let value = input.number().cast_signed();
        let mut signal = 0;
        let status = if input.flag() {
            call!(hsa_signal_create(
                value,
                count,
                agents.as_ptr(),
                &mut signal
            ))
        } else {
            let attributes = input.pick(&[0, 1, 2, 3, 4, u64::MAX]);
            call!(hsa_amd_signal_create(
                value,
                count,
                agents.as_ptr(),
                attributes,
                &mut signal
            ))
        };
        assert!(good || status != SUCCESS);
        if status == SUCCESS {
            self.signals.add(signal);
        }
        let lists = [(u32::MAX, null()), (1, null())];
        let (count, list) = input.pick(&lists);
        assert_ne!(call!(hsa_signal_create(0, count, list, &mut 0)), SUCCESS);
        assert_ne!(call!(hsa_signal_create(0, 0, null(), null_mut())), SUCCESS);
    }

    fn use_signal(&mut self, input: &mut Input<'_>) {
        let Some(signal) = self.signals.any(input) else {
            return;
        };
        let value = input.number().cast_signed();
        // SAFETY: the signal is alive.
        unsafe {
            match input.below(4) {
                0 => hsa_signal_store_screlease(signal, value),
                1 => hsa_signal_add_relaxed(signal, value),
                2 => drop(hsa_signal_cas_scacq_screl(signal, value, 0)),
                _ => drop(hsa_signal_load_scacquire(signal)),
            }
        }
    }

    fn wait(&mut self, input: &mut Input<'_>) {
        let (condition, value) = (input.below(4) as u32, input.number().cast_signed());
        let other = self.signal(input);
        let handler = input
            .flag()
            .then_some(on_signal as extern "C" fn(_, _) -> _);
        let data = std::ptr::without_provenance_mut(input.below(4));
        let conditions = input.pick(&[condition, condition, 4, u32::MAX]);
        let _ = call!(hsa_amd_signal_async_handler(
            other, conditions, value, handler, data
        ));
        let mut pointer = null_mut();
        let status = call!(hsa_amd_signal_value_pointer(other, &mut pointer));
        assert!(status != SUCCESS || !pointer.is_null());
        let Some(signal) = self.signals.any(input) else {
            return;
        };
        let timeout = input.pick(&[0, 1, 1000]);
        let signals = [signal, 0];
        let count = 1 + u32::from(input.flag());
        // SAFETY: the signal is alive and the conditions exist; the lists have two elements.
        unsafe {
            hsa_signal_wait_scacquire(signal, condition, value, timeout, input.byte().into());
            hsa_amd_signal_wait_any(
                count,
                signals.as_ptr(),
                [condition; 2].as_ptr(),
                [value; 2].as_ptr(),
                timeout,
                0,
                if input.flag() {
                    &raw mut self.own[0] as *mut i64
                } else {
                    null_mut()
                },
            );
        }
    }

    fn group(&mut self, input: &mut Input<'_>) {
        if input.flag() {
            let group = self.handle(&self.groups.live, &self.groups.gone, input);
            let status = call!(hsa_signal_group_destroy(group));
            self.groups.destroyed(group, status);
        } else if self.groups.live.len() < MOST {
            let signals: Vec<u64> = (0..input.below(4)).map(|_| self.signal(input)).collect();
            let (count, agents) = self.agent_list(input);
            let mut group = 0;
            let status = call!(hsa_signal_group_create(
                signals.len() as u32,
                signals.as_ptr(),
                count,
                agents.as_ptr(),
                &mut group
            ));
            if status == SUCCESS {
                self.groups.add(group);
            }
        }
    }

    fn allocate(&mut self, input: &mut Input<'_>) {
        if self.memory.len() >= MOST {
            return;
        }
        let pool = self.pool(input);
        let size = match input.byte() {
            0..=199 => 1 + usize::from(input.u16()),
            _ => input.pick(&[0, usize::MAX, 1 << 50, 1 << 63, usize::MAX - 4095]),
        };
        let flags = input.pick(&[0u32, 0, 4, 1, 0x80, u32::MAX]);
        let mut at = null_mut();
        let status = if input.flag() {
            call!(hsa_amd_memory_pool_allocate(pool, size, flags, &mut at))
        } else {
            call!(hsa_memory_allocate(pool, size, &mut at))
        };
        if status == SUCCESS {
            assert!(!at.is_null() && size <= 1 << 17);
            self.memory.push((at.expose_provenance(), size));
        }
    }

    fn free(&mut self, input: &mut Input<'_>) {
        let at = input.below(self.memory.len());
        let known = self.memory.get(at).copied();
        let address = match (input.byte(), known) {
            (0..=199, Some((address, _))) => address,
            (200..=219, Some((address, size))) => address + size / 2 + 1,
            (220..=239, _) => self.own.as_ptr().addr(),
            _ => input.number() as usize,
        };
        let memory = std::ptr::with_exposed_provenance_mut(address);
        let status = if input.flag() {
            call!(hsa_memory_free(memory))
        } else {
            call!(hsa_amd_memory_pool_free(memory))
        };
        let found = self.memory.iter().position(|(start, _)| *start == address);
        assert_eq!(
            status == SUCCESS,
            found.is_some() || address == 0,
            "{address:#x}"
        );
        found.map(|at| self.memory.swap_remove(at));
    }

    fn memory(&mut self, input: &mut Input<'_>) {
        let (to, room) = self.range(input);
        let (from, size) = self.range(input);
        let size = room.min(size).min(usize::from(input.u16()));
        match input.below(8) {
            0 if to != from => drop(call!(hsa_memory_copy(to, from, size))),
            0 | 1 => {
                let at = if input.flag() {
                    to
                } else {
                    to.wrapping_byte_add(1)
                };
                let _ = call!(hsa_amd_memory_fill(at, input.u32(), size / 8));
            }
            2 => {
                let (count, agents) = self.agent_list(input);
                let flags = input.pick(&[null(), null(), &raw const count]);
                let list = if input.byte() < 240 {
                    agents.as_ptr()
                } else {
                    null()
                };
                let count = if list.is_null() { u32::MAX } else { count };
                let _ = call!(hsa_amd_agents_allow_access(count, list, flags, to));
            }
            3 => {
                let own = self.own.as_mut_ptr().cast::<c_void>();
                if self.locked {
                    assert_eq!(call!(hsa_amd_memory_unlock(own)), SUCCESS);
                    self.locked = false;
                } else {
                    let (count, agents) = self.agent_list(input);
                    let size = input.pick(&[OWN, 4096, 1, 0]);
                    let list = if count == 0 { null() } else { agents.as_ptr() };
                    let mut at = null_mut();
                    let status = call!(hsa_amd_memory_lock(own, size, list, count as i32, &mut at));
                    self.locked = status == SUCCESS;
                    assert!(!self.locked || !at.is_null());
                }
            }
            4 => {
                let room = input.pick(&[56u32, 64, 4, 3, 0, 48, 4096]);
                let info = self.own.as_mut_ptr().cast::<u32>();
                // SAFETY: the client's own memory.
                unsafe { info.write(room) };
                let address = if input.flag() {
                    to
                } else {
                    input.number() as usize as *mut c_void
                };
                let _ = call!(hsa_amd_pointer_info(
                    address,
                    info.cast(),
                    null(),
                    null_mut(),
                    null_mut()
                ));
                let _ = call!(hsa_amd_pointer_info_set_userdata(address, to));
            }
            _ if to != from => {
                let agents = [self.agent(input), self.agent(input)];
                let signals: Vec<u64> = (0..input.below(3)).map(|_| self.signal(input)).collect();
                let list = if signals.is_empty() {
                    null()
                } else {
                    signals.as_ptr()
                };
                let done = self.signal(input);
                // What waits for a signal may copy later, when an allocation is gone: only what is done now uses
                // those.
                let now = signals.iter().all(|signal| *signal == 0);
                let own = self.own.as_mut_ptr();
                let (to, from, size) = if now {
                    (to, from, size)
                } else {
                    (own.cast(), own.wrapping_add(OWN / 16).cast(), 0)
                };
                let _ = call!(hsa_amd_memory_async_copy(
                    to,
                    agents[0],
                    from,
                    agents[1],
                    size,
                    signals.len() as u32,
                    list,
                    done
                ));
            }
            _ => {}
        }
    }

    fn create_queue(&mut self, input: &mut Input<'_>) {
        if input.below(4) == 0 {
            let queue = self.queue(input);
            let status = call!(hsa_queue_destroy(queue));
            self.queues.destroyed(queue.addr() as u64, status);
            return;
        }
        if self.queues.live.len() >= 4 {
            return;
        }
        let size = input.pick(&[64u32, 64, 128, 63, 0, 1 << 18, u32::MAX]);
        let kind = input.pick(&[0u32, 0, 1, 2, 3, u32::MAX]);
        let segments = [u32::MAX, input.number() as u32];
        let mut queue = null_mut();
        let status = if input.below(8) == 0 {
            let region = self.handle(&self.regions, &self.pools, input);
            let features = input.pick(&[1u32, 2, 3, 0, 4]);
            let doorbell = self.signal(input);
            call!(hsa_soft_queue_create(
                region, size, kind, features, doorbell, &mut queue
            ))
        } else {
            let agent = self.agent(input);
            call!(hsa_queue_create(
                agent,
                size,
                kind,
                Some(on_error),
                null_mut(),
                segments[0],
                segments[1],
                &mut queue
            ))
        };
        if status == SUCCESS {
            assert!(!queue.is_null() && size.is_power_of_two());
            self.queues.add(queue.expose_provenance() as u64);
        }
    }

    fn change_queue(&mut self, input: &mut Input<'_>) {
        let queue = self.queue(input);
        let is_live = self.queues.live.contains(&(queue.addr() as u64));
        let status = match input.below(5) {
            0 => call!(hsa_queue_inactivate(queue)),
            1 => call!(hsa_amd_queue_set_priority(
                queue,
                input.pick(&[0, 1, 2, 3, u32::MAX])
            )),
            2 => {
                let mask = [input.u32(); 8];
                let count = input.pick(&[32u32, 64, 0, 31, 256, 1]);
                call!(hsa_amd_queue_cu_set_mask(queue, count, mask.as_ptr()))
            }
            3 => {
                let value = self.value(input);
                call!(hsa_amd_queue_get_info(queue, input.byte().into(), value))
            }
            _ => call!(hsa_amd_profiling_set_profiler_enabled(
                queue,
                input.byte().into()
            )),
        };
        assert!(is_live || status != SUCCESS);
        let (agent, signal) = (self.agent(input), self.signal(input));
        let value = self.value(input);
        let _ = call!(hsa_amd_profiling_get_dispatch_time(agent, signal, value));
    }

    /// A packet of any contents, or one that names what the client has.
    fn publish(&mut self, input: &mut Input<'_>) {
        let Some(queue) = self.queues.any(input) else {
            return;
        };
        let queue = std::ptr::with_exposed_provenance::<HsaQueue>(queue as usize);
        // SAFETY: the queue is alive.
        let (base, size, doorbell, index) = unsafe {
            let fields = &*queue;
            let index = hsa_queue_add_write_index_screlease(queue, 1);
            (
                fields.base_address,
                fields.size,
                fields.doorbell_signal,
                index,
            )
        };
        let mut packet = [0u64; 8];
        for word in &mut packet {
            *word = match input.below(5) {
                0 => 0,
                1 => self.signal(input),
                2 => self
                    .symbols
                    .get(input.below(self.symbols.len()))
                    .copied()
                    .unwrap_or(0),
                3 => self
                    .memory
                    .get(input.below(self.memory.len()))
                    .map_or(0, |(at, _)| *at as u64),
                _ => input.number(),
            };
        }
        if input.below(4) != 0 {
            let header = u64::from(input.pick(&[2u16, 3, 5, 0x1503, 0, 4, 1]));
            packet[0] = header | input.pick(&[1u64 << 16, 2 << 16, 0]) | 64 << 32 | 1 << 48;
            packet[1] = 1 | 64 << 32;
            packet[2] = 1 | 1 << 32;
            packet[3] = 0;
        }
        let slot = base + (index & u64::from(size - 1)) * 64;
        let words = std::ptr::with_exposed_provenance_mut::<u64>(slot as usize);
        // SAFETY: a slot of the ring of a queue that is alive; its device reads it by volatile accesses.
        unsafe {
            for at in (1..8).chain([0]) {
                words.add(at).write_volatile(packet[at]);
            }
        }
        if self.queues.live.contains(&(queue.addr() as u64)) {
            // SAFETY: the doorbell is the queue's. That of a soft queue is a signal which may be gone by now.
            unsafe {
                hsa_queue_load_read_index_scacquire(queue);
                if (*queue).features & 1 != 0 && !self.signals.gone.contains(&doorbell) {
                    hsa_signal_store_screlease(doorbell, index.cast_signed());
                }
                if input.below(16) == 0 {
                    hsa_queue_store_write_index_relaxed(queue, input.number());
                }
            }
        }
    }

    fn read_object(&mut self, input: &mut Input<'_>) {
        if input.below(4) == 0 {
            let reader = self.handle(&self.readers.live, &self.readers.gone, input);
            let status = call!(hsa_code_object_reader_destroy(reader));
            self.readers.destroyed(reader, status);
            let object = self.handle(&self.code_objects.live, &self.code_objects.gone, input);
            let status = call!(hsa_code_object_destroy(object));
            self.code_objects.destroyed(object, status);
            return;
        }
        if self.files.len() >= MOST {
            return;
        }
        let object = committed::ALL[input.below(committed::ALL.len())].code_object;
        let mut bytes = object.to_vec();
        if input.flag() {
            bytes = mutate(&bytes, &mut Rng::new(input.u16().into()));
        }
        let size = input.pick(&[bytes.len(), bytes.len(), bytes.len() / 2, 0]);
        let at = bytes.as_ptr().cast::<c_void>();
        let mut handle = 0;
        let old = input.flag();
        let status = if old {
            call!(hsa_code_object_deserialize(at, size, null(), &mut handle))
        } else {
            call!(hsa_code_object_reader_create_from_memory(
                at,
                size,
                &mut handle
            ))
        };
        if status == SUCCESS {
            let list = if old {
                &mut self.code_objects
            } else {
                &mut self.readers
            };
            list.add(handle);
            self.files.push(bytes);
        }
        assert_ne!(
            call!(hsa_code_object_reader_create_from_file(-1, &mut handle)),
            SUCCESS
        );
    }

    fn executable(&mut self, input: &mut Input<'_>) {
        let executable = self.handle(&self.executables.live, &self.executables.gone, input);
        let is_live = self.executables.live.contains(&executable);
        let agent = self.agent(input);
        let status = match input.below(9) {
            0 | 1 if self.executables.live.len() < MOST => {
                let mut made = 0;
                let (profile, rounding) = (input.pick(&[1, 0, 2]), input.pick(&[0, 1, 2, 3]));
                let status = call!(hsa_executable_create_alt(
                    profile,
                    rounding,
                    null(),
                    &mut made
                ));
                if status == SUCCESS {
                    self.executables.add(made);
                }
                return;
            }
            2 => {
                let status = call!(hsa_executable_destroy(executable));
                self.executables.destroyed(executable, status);
                return;
            }
            3 | 4 => {
                let reader = self.handle(&self.readers.live, &self.readers.gone, input);
                let mut loaded = 0;
                call!(hsa_executable_load_agent_code_object(
                    executable,
                    agent,
                    reader,
                    null(),
                    &mut loaded
                ))
            }
            5 => {
                let object = self.handle(&self.code_objects.live, &self.code_objects.gone, input);
                call!(hsa_executable_load_code_object(
                    executable,
                    agent,
                    object,
                    null()
                ))
            }
            6 => {
                let value = self.value(input);
                call!(hsa_executable_get_info(
                    executable,
                    input.byte().into(),
                    value
                ))
            }
            7 => {
                let (at, _) = self.range(input);
                let name = name(input);
                let name = name.as_ref().map_or(null(), |name| name.as_ptr());
                call!(hsa_executable_agent_global_variable_define(
                    executable, agent, name, at
                ))
            }
            _ => call!(hsa_executable_freeze(executable, null())),
        };
        assert!(is_live || status != SUCCESS);
    }

    fn symbol(&mut self, input: &mut Input<'_>) {
        let executable = self.handle(&self.executables.live, &self.executables.gone, input);
        let agent = self.agent(input);
        let mut found = Vec::new();
        let list = (&raw mut found).cast();
        let _ = call!(hsa_executable_iterate_agent_symbols(
            executable,
            agent,
            Some(collect_symbol),
            list
        ));
        let name = name(input);
        let text = name.as_ref().map_or(null(), |name| name.as_ptr());
        let by = if input.byte() < 200 {
            &raw const agent
        } else {
            null()
        };
        let mut symbol = 0;
        let status = call!(hsa_executable_get_symbol_by_name(
            executable,
            text,
            by,
            &mut symbol
        ));
        if status == SUCCESS {
            found.push(symbol);
        }
        for symbol in &found {
            let mut object = 0u64;
            // HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT.
            let at = (&raw mut object).cast();
            if call!(hsa_executable_symbol_get_info(*symbol, 22, at)) == SUCCESS {
                self.symbols.push(object);
            }
        }
        self.symbols.truncate(MOST);
        let symbol = self.handle(&found, &self.executables.live, input);
        let value = self.value(input);
        let _ = call!(hsa_executable_symbol_get_info(
            symbol,
            input.byte().into(),
            value
        ));
    }

    fn query(&mut self, input: &mut Input<'_>) {
        let attribute = match input.byte() {
            0..=127 => u32::from(input.byte()),
            // AMD's own begin there.
            128..=247 => 0xa000 + u32::from(input.byte()),
            _ => input.number() as u32,
        };
        let value = self.value(input);
        let of = |list: &[u64], input: &mut Input<'_>| self.handle(list, &self.pools, input);
        let _ = match input.below(9) {
            0 => call!(hsa_system_get_info(attribute, value)),
            1 | 2 => call!(hsa_agent_get_info(
                of(&self.agents, input),
                attribute,
                value
            )),
            3 => call!(hsa_isa_get_info_alt(
                of(&self.others, input),
                attribute,
                value
            )),
            4 => call!(hsa_cache_get_info(
                of(&self.others, input),
                attribute,
                value
            )),
            5 => call!(hsa_region_get_info(
                of(&self.regions, input),
                attribute,
                value
            )),
            6 => call!(hsa_amd_memory_pool_get_info(
                of(&self.pools, input),
                attribute,
                value
            )),
            7 => {
                let agent = of(&self.agents, input);
                let pool = of(&self.pools, input);
                call!(hsa_amd_agent_memory_pool_get_info(
                    agent, pool, attribute, value
                ))
            }
            _ => call!(hsa_code_object_get_info(
                of(&self.code_objects.live, input),
                attribute,
                value
            )),
        };
    }

    fn iterate(&mut self, input: &mut Input<'_>) {
        let agent = self.agent(input);
        let visit = (input.byte() < 240).then_some(stop as Visit);
        let mut left = 1 + u32::from(input.byte());
        let data = (&raw mut left).cast();
        let _ = match input.below(5) {
            0 => call!(hsa_iterate_agents(visit, data)),
            1 => call!(hsa_agent_iterate_caches(agent, visit, data)),
            2 => call!(hsa_agent_iterate_isas(agent, visit, data)),
            3 => call!(hsa_agent_iterate_regions(agent, visit, data)),
            _ => call!(hsa_amd_agent_iterate_memory_pools(agent, visit, data)),
        };
    }

    fn rare(&mut self, input: &mut Input<'_>) {
        let (memory, size) = self.range(input);
        let signal = self.signal(input);
        // Words of a handle that some other process might have sent.
        let handle = [input.u64(), input.u64(), 0, 0];
        match input.below(6) {
            0 => {
                assert_eq!(call!(hsa_init()), SUCCESS);
                assert_eq!(call!(hsa_shut_down()), SUCCESS);
            }
            1 => {
                let mut text = null();
                let status = call!(hsa_status_string(input.number() as u32, &mut text));
                assert!(status != SUCCESS || !text.is_null());
            }
            2 => {
                let length = input.pick(&[0, 8, 64, 512, 4096]);
                let (extension, major) = (
                    input.pick(&[0u16, 1, 0x200, 0x201, 0x202, 0x203, 7]),
                    input.byte() % 3,
                );
                let table = self.own.as_mut_ptr().cast();
                let _ = call!(hsa_system_get_major_extension_table(
                    extension,
                    major.into(),
                    length,
                    table
                ));
            }
            3 => {
                let text = name(input);
                let text = text.as_ref().map_or(null(), |text| text.as_ptr());
                let _ = call!(hsa_isa_from_name(text, &mut 0));
            }
            // What cannot be shared with other processes yet says so, whatever it is given.
            4 => {
                let mut room = [0u64; 8];
                let room = room.as_mut_ptr().cast();
                assert_ne!(
                    call!(hsa_amd_ipc_memory_create(memory, size, room)),
                    SUCCESS
                );
                assert_ne!(call!(hsa_amd_ipc_signal_create(signal, room)), SUCCESS);
                let (mut at, mut attached) = (null_mut(), 0);
                let from = handle.as_ptr().cast();
                assert_ne!(
                    call!(hsa_amd_ipc_memory_attach(from, size, 0, null(), &mut at)),
                    SUCCESS
                );
                assert_ne!(
                    call!(hsa_amd_ipc_signal_attach(from, &mut attached)),
                    SUCCESS
                );
            }
            _ => {
                let mut at = null_mut();
                let status = call!(hsa_amd_vmem_address_reserve(
                    &mut at,
                    size,
                    input.number(),
                    0
                ));
                if status == SUCCESS {
                    assert_ne!(call!(hsa_amd_vmem_address_free(at, size + 1)), SUCCESS);
                    assert_eq!(call!(hsa_amd_vmem_address_free(at, size)), SUCCESS);
                }
                assert_ne!(call!(hsa_amd_vmem_address_free(memory, size)), SUCCESS);
            }
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

/// A name: of a kernel or a variable that objects have, any text, or none.
fn name(input: &mut Input<'_>) -> Option<CString> {
    match input.byte() {
        0..=99 => CString::new("vector_add.kd").ok(),
        100..=149 => CString::new("amdgcn-amd-amdhsa--gfx90a:xnack+").ok(),
        150..=239 => CString::new(input.take(16).to_vec()).ok(),
        _ => None,
    }
}
