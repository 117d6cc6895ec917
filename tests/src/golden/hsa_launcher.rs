//! Golden kernels through a C library of the HSA: ours or anybody's, by its public functions alone.

use super::{Arg, GlobalValue, Launch, Launcher};
use libloading::Library;
use rukh_core::loader::CodeObject;
use rukh_core::loader::kernarg::{Explicit, Grid, Hidden, fill};
use rukh_core::wire::aql::{FenceScope, Header, KernelDispatchPacket, PACKET_SIZE, PacketType};
use rukh_core::wire::queue::AmdQueue;
use std::ffi::{CString, c_char, c_void};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use zerocopy::IntoBytes;

type Status = u32;
const SUCCESS: Status = 0;

type Visit = extern "C" fn(u64, *mut c_void) -> Status;
type OnError = extern "C" fn(Status, *mut AmdQueue, *mut c_void);

macro_rules! api {
    ($($name:ident: fn($($ty:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions that are used, as the public headers declare them; handles are 64-bit numbers.
        struct Api {
            $($name: unsafe extern "C" fn($($ty),*) $(-> $result)?,)*
            /// Keeps them loaded.
            _library: Library,
        }

        impl Api {
            fn open(path: &Path) -> Result<Self, libloading::Error> {
                // SAFETY: an HSA library runs no constructors that need care.
                unsafe {
                    let library = Library::new(path)?;
                    Ok(Self {
                        $($name: *library.get(stringify!($name).as_bytes())?,)*
                        _library: library,
                    })
                }
            }
        }
    };
}

api! {
    hsa_init: fn() -> Status;
    hsa_shut_down: fn() -> Status;
    hsa_iterate_agents: fn(Visit, *mut c_void) -> Status;
    hsa_agent_get_info: fn(u64, u32, *mut c_void) -> Status;
    hsa_amd_agent_iterate_memory_pools: fn(u64, Visit, *mut c_void) -> Status;
    hsa_amd_memory_pool_get_info: fn(u64, u32, *mut c_void) -> Status;
    hsa_amd_memory_pool_allocate: fn(u64, usize, u32, *mut *mut c_void) -> Status;
    hsa_amd_memory_pool_free: fn(*mut c_void) -> Status;
    hsa_amd_agents_allow_access: fn(u32, *const u64, *const u32, *const c_void) -> Status;
    hsa_memory_copy: fn(*mut c_void, *const c_void, usize) -> Status;
    hsa_code_object_reader_create_from_memory: fn(*const c_void, usize, *mut u64) -> Status;
    hsa_code_object_reader_destroy: fn(u64) -> Status;
    hsa_executable_create_alt: fn(u32, u32, *const c_char, *mut u64) -> Status;
    hsa_executable_load_agent_code_object: fn(u64, u64, u64, *const c_char, *mut u64) -> Status;
    hsa_executable_freeze: fn(u64, *const c_char) -> Status;
    hsa_executable_destroy: fn(u64) -> Status;
    hsa_executable_get_symbol_by_name: fn(u64, *const c_char, *const u64, *mut u64) -> Status;
    hsa_executable_symbol_get_info: fn(u64, u32, *mut c_void) -> Status;
    hsa_queue_create: fn(u64, u32, u32, OnError, *mut c_void, u32, u32, *mut *mut AmdQueue) -> Status;
    hsa_queue_destroy: fn(*mut AmdQueue) -> Status;
    hsa_queue_add_write_index_relaxed: fn(*const AmdQueue, u64) -> u64;
    hsa_signal_create: fn(i64, u32, *const u64, *mut u64) -> Status;
    hsa_signal_destroy: fn(u64) -> Status;
    hsa_signal_store_screlease: fn(u64, i64);
    hsa_signal_wait_scacquire: fn(u64, u32, i64, u64, u32) -> i64;
}

/// `HSA_AGENT_INFO_…`, `HSA_AMD_MEMORY_POOL_INFO_…`, `HSA_EXECUTABLE_SYMBOL_INFO_…`.
mod attribute {
    pub const AGENT_NAME: u32 = 0;
    pub const AGENT_DEVICE: u32 = 17;
    pub const POOL_SEGMENT: u32 = 0;
    pub const POOL_GLOBAL_FLAGS: u32 = 1;
    pub const VARIABLE_SIZE: u32 = 9;
    pub const PRIVATE_SEGMENT_SIZE: u32 = 14;
    pub const VARIABLE_ADDRESS: u32 = 21;
    pub const KERNEL_OBJECT: u32 = 22;
}

const POOL_KERNARG: u32 = 1;
const POOL_COARSE: u32 = 4;

/// What the queue was told; 0 for nothing.
static STOPPED: AtomicU32 = AtomicU32::new(0);

extern "C" fn on_error(status: Status, _: *mut AmdQueue, _: *mut c_void) {
    STOPPED.store(status, Ordering::SeqCst);
}

fn checked(what: &str, status: Status) -> Result<(), String> {
    if status == SUCCESS {
        Ok(())
    } else {
        Err(format!("{what}: status {status:#x}"))
    }
}

/// Calls a function of the library and says which one failed.
macro_rules! call {
    ($api:expr, $name:ident($($argument:expr),*)) => {
        // SAFETY: handles are of this library and live; pointers are of as much memory as the function uses.
        checked(stringify!($name), unsafe { ($api.$name)($($argument),*) })
    };
}

/// Launches golden kernels for one GPU of a library.
pub struct HsaLauncher {
    api: Api,
    gpu: u64,
    kernargs: u64,
    device: u64,
    queue: *mut AmdQueue,
    /// How long a kernel may take.
    timeout: Duration,
}

extern "C" fn collect(handle: u64, list: *mut c_void) -> Status {
    // SAFETY: the list that `handles` passes.
    unsafe { (*list.cast::<Vec<u64>>()).push(handle) };
    SUCCESS
}

impl HsaLauncher {
    /// Opens the library, and takes the first GPU of this name.
    ///
    /// # Errors
    /// What failed.
    pub fn open(library: &Path, gpu: &str, timeout: Duration) -> Result<Self, String> {
        let api = Api::open(library).map_err(|error| error.to_string())?;
        call!(api, hsa_init())?;
        let mut agents: Vec<u64> = Vec::new();
        call!(api, hsa_iterate_agents(collect, (&raw mut agents).cast()))?;
        let (mut cpu, mut found) = (None, None);
        for agent in agents {
            let mut name = [0u8; 64];
            let mut kind = 0u32;
            call!(
                api,
                hsa_agent_get_info(agent, attribute::AGENT_NAME, name.as_mut_ptr().cast())
            )?;
            call!(
                api,
                hsa_agent_get_info(agent, attribute::AGENT_DEVICE, (&raw mut kind).cast())
            )?;
            let name = name.split(|byte| *byte == 0).next().unwrap_or(&[]);
            match kind {
                0 if cpu.is_none() => cpu = Some(agent),
                1 if found.is_none() && name == gpu.as_bytes() => found = Some(agent),
                _ => {}
            }
        }
        let gpu = found.ok_or_else(|| format!("no agent is named {gpu}"))?;
        let kernargs = pool(&api, cpu.ok_or("no CPU agent")?, POOL_KERNARG)?;
        let device = pool(&api, gpu, POOL_COARSE)?;
        Ok(Self {
            api,
            gpu,
            kernargs,
            device,
            queue: null_mut(),
            timeout,
        })
    }

    fn allocate(&self, pool: u64, bytes: usize) -> Result<*mut c_void, String> {
        let mut memory = null_mut();
        call!(
            self.api,
            hsa_amd_memory_pool_allocate(pool, bytes.max(1), 0, &raw mut memory)
        )?;
        call!(
            self.api,
            hsa_amd_agents_allow_access(1, &raw const self.gpu, null_mut(), memory)
        )?;
        Ok(memory)
    }

    fn symbol(&self, executable: u64, name: &str) -> Result<u64, String> {
        let text = CString::new(name).map_err(|error| error.to_string())?;
        let mut symbol = 0;
        call!(
            self.api,
            hsa_executable_get_symbol_by_name(
                executable,
                text.as_ptr(),
                &raw const self.gpu,
                &raw mut symbol
            )
        )
        .map_err(|error| format!("{name}: {error}"))?;
        Ok(symbol)
    }

    fn symbol_info<T: Default>(&self, symbol: u64, attribute: u32) -> Result<T, String> {
        let mut value = T::default();
        call!(
            self.api,
            hsa_executable_symbol_get_info(symbol, attribute, (&raw mut value).cast())
        )?;
        Ok(value)
    }

    /// Where a variable is, if it is as large as expected.
    fn variable(&self, executable: u64, global: &GlobalValue) -> Result<*mut c_void, String> {
        let symbol = self.symbol(executable, global.symbol)?;
        let size: u32 = self.symbol_info(symbol, attribute::VARIABLE_SIZE)?;
        if size as usize != global.bytes.len() {
            return Err(format!("variable {} has {size} bytes", global.symbol));
        }
        let address: u64 = self.symbol_info(symbol, attribute::VARIABLE_ADDRESS)?;
        Ok(std::ptr::with_exposed_provenance_mut(address as usize))
    }

    fn copy(&self, to: *mut c_void, from: *const c_void, bytes: usize) -> Result<(), String> {
        if bytes == 0 {
            return Ok(());
        }
        call!(self.api, hsa_memory_copy(to, from, bytes))
    }

    fn run(&self, executable: u64, launch: &mut Launch<'_>) -> Result<(), String> {
        for global in launch.globals.iter().filter(|global| global.write) {
            let to = self.variable(executable, global)?;
            self.copy(to, global.bytes.as_ptr().cast(), global.bytes.len())?;
        }
        let mut memory: Vec<*mut c_void> = Vec::new();
        let result = self.dispatch(executable, launch, &mut memory);
        for memory in memory {
            call!(self.api, hsa_amd_memory_pool_free(memory))?;
        }
        result?;
        for global in &mut launch.globals {
            let from = self.variable(executable, global)?;
            self.copy(global.bytes.as_mut_ptr().cast(), from, global.bytes.len())?;
        }
        Ok(())
    }

    fn dispatch(
        &self,
        executable: u64,
        launch: &mut Launch<'_>,
        memory: &mut Vec<*mut c_void>,
    ) -> Result<(), String> {
        let mut values: Vec<Vec<u8>> = Vec::new();
        let mut buffers = Vec::new();
        for arg in &launch.args {
            let (value, buffer) = match arg {
                Arg::Scalar(bytes) => (bytes.clone(), null_mut()),
                Arg::Buffer(bytes) => {
                    let buffer = self.allocate(self.device, bytes.len())?;
                    memory.push(buffer);
                    self.copy(buffer, bytes.as_ptr().cast(), bytes.len())?;
                    (buffer.expose_provenance().to_le_bytes().to_vec(), buffer)
                }
            };
            values.push(value);
            buffers.push(buffer);
        }
        let symbol = self.symbol(executable, &format!("{}.kd", launch.kernel()))?;
        let kernel_object: u64 = self.symbol_info(symbol, attribute::KERNEL_OBJECT)?;
        let private: u32 = self.symbol_info(symbol, attribute::PRIVATE_SEGMENT_SIZE)?;

        // The block of arguments, as the code object's metadata describe it.
        let object = CodeObject::parse(launch.code_object).map_err(|error| error.to_string())?;
        let kernel = object
            .metadata()
            .map_err(|error| error.to_string())?
            .and_then(|metadata| {
                metadata
                    .kernel(&format!("{}.kd", launch.kernel()))
                    .transpose()
            })
            .ok_or_else(|| format!("no metadata of {}", launch.kernel()))?
            .map_err(|error| error.to_string())?;
        // SAFETY: the queue exists.
        let queue = unsafe { &*self.queue };
        let grid = Grid::new(launch.grid, launch.group);
        let hidden = Hidden {
            dynamic_lds: launch.dynamic_lds,
            queue_ptr: Some(self.queue.expose_provenance() as u64),
            private_base: Some(u64::from(queue.private_segment_aperture_base_hi) << 32),
            shared_base: Some(u64::from(queue.group_segment_aperture_base_hi) << 32),
            ..Hidden::default()
        };
        let explicit: Vec<Explicit<'_>> =
            values.iter().map(|bytes| Explicit::Bytes(bytes)).collect();
        let mut block = vec![0; kernel.kernarg_segment_size as usize];
        let filled = fill(&kernel, &grid, &explicit, &hidden, &mut block)
            .map_err(|error| error.to_string())?;
        let kernarg = self.allocate(self.kernargs, block.len())?;
        memory.push(kernarg);
        // SAFETY: host memory of so many bytes, which nobody else knows yet.
        unsafe { std::ptr::copy_nonoverlapping(block.as_ptr(), kernarg.cast(), block.len()) };

        let mut done = 0;
        call!(
            self.api,
            hsa_signal_create(1, 0, std::ptr::null(), &raw mut done)
        )?;
        let packet = KernelDispatchPacket {
            header: Header::new(PacketType::KernelDispatch)
                .acquire(FenceScope::System)
                .release(FenceScope::System),
            setup: u16::from(grid.dims),
            workgroup_size: grid.group,
            reserved0: 0,
            grid_size: grid.grid,
            private_segment_size: private + launch.stack,
            group_segment_size: filled.group_segment_size,
            kernel_object,
            kernarg_address: kernarg.expose_provenance() as u64,
            reserved2: 0,
            completion_signal: done,
        };
        let result = self.send(&packet, done);
        call!(self.api, hsa_signal_destroy(done))?;
        result?;
        for (arg, buffer) in launch.args.iter_mut().zip(buffers) {
            if let Arg::Buffer(bytes) = arg {
                self.copy(bytes.as_mut_ptr().cast(), buffer, bytes.len())?;
            }
        }
        Ok(())
    }

    /// Sends a packet and waits.
    fn send(&self, packet: &KernelDispatchPacket, done: u64) -> Result<(), String> {
        STOPPED.store(0, Ordering::SeqCst);
        // SAFETY: the queue exists.
        let queue = unsafe { &(*self.queue).hsa_queue };
        // SAFETY: as above. One packet is under way at a time, so that its slot is free.
        let index = unsafe { (self.api.hsa_queue_add_write_index_relaxed)(self.queue, 1) };
        let slot = (index % u64::from(queue.size)) as usize * PACKET_SIZE;
        let at = std::ptr::with_exposed_provenance_mut::<u8>(queue.base_address as usize + slot);
        let bytes = packet.as_bytes();
        // SAFETY: a free slot of the ring; its header, which gives the packet away, is stored last.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes[2..].as_ptr(), at.add(2), PACKET_SIZE - 2);
            let header = u16::from_le_bytes([bytes[0], bytes[1]]);
            (*at.cast::<AtomicU16>()).store(header, Ordering::Release);
            (self.api.hsa_signal_store_screlease)(queue.doorbell_signal, index as i64);
        }
        let begun = Instant::now();
        loop {
            // Less than 1, for a tenth of a second, blocked.
            // SAFETY: the signal exists.
            let value = unsafe { (self.api.hsa_signal_wait_scacquire)(done, 2, 1, 100_000_000, 0) };
            if value < 1 {
                return Ok(());
            }
            let status = STOPPED.load(Ordering::SeqCst);
            if status != 0 {
                return Err(format!("the queue stopped: status {status:#x}"));
            }
            if begun.elapsed() > self.timeout {
                return Err(format!("not complete after {:?}", self.timeout));
            }
        }
    }
}

/// The first pool of an agent in global memory with a flag.
fn pool(api: &Api, agent: u64, flag: u32) -> Result<u64, String> {
    let mut pools: Vec<u64> = Vec::new();
    call!(
        api,
        hsa_amd_agent_iterate_memory_pools(agent, collect, (&raw mut pools).cast())
    )?;
    for pool in pools {
        let (mut segment, mut flags) = (u32::MAX, 0u32);
        call!(
            api,
            hsa_amd_memory_pool_get_info(pool, attribute::POOL_SEGMENT, (&raw mut segment).cast())
        )?;
        if segment != 0 {
            continue;
        }
        call!(
            api,
            hsa_amd_memory_pool_get_info(
                pool,
                attribute::POOL_GLOBAL_FLAGS,
                (&raw mut flags).cast()
            )
        )?;
        if flags & flag != 0 {
            return Ok(pool);
        }
    }
    Err(format!("no pool with flag {flag}"))
}

impl Launcher for HsaLauncher {
    fn launch(&mut self, launch: &mut Launch<'_>) -> Result<(), String> {
        if self.queue.is_null() {
            // Several producers, no limits on segments.
            call!(
                self.api,
                hsa_queue_create(
                    self.gpu,
                    64,
                    0,
                    on_error,
                    null_mut(),
                    u32::MAX,
                    u32::MAX,
                    &raw mut self.queue
                )
            )?;
        }
        let code = launch.code_object;
        let (mut reader, mut executable) = (0, 0);
        call!(
            self.api,
            hsa_code_object_reader_create_from_memory(
                code.as_ptr().cast(),
                code.len(),
                &raw mut reader
            )
        )?;
        // Full profile, default rounding.
        call!(
            self.api,
            hsa_executable_create_alt(1, 0, std::ptr::null(), &raw mut executable)
        )?;
        let load = || {
            let (options, loaded) = (std::ptr::null(), null_mut());
            call!(
                self.api,
                hsa_executable_load_agent_code_object(
                    executable, self.gpu, reader, options, loaded
                )
            )?;
            call!(self.api, hsa_executable_freeze(executable, options))
        };
        let result = load().and_then(|()| self.run(executable, launch));
        if result.is_err() {
            // A queue that was stopped stays stopped; the next kernel gets another.
            call!(self.api, hsa_queue_destroy(self.queue))?;
            self.queue = null_mut();
        }
        call!(self.api, hsa_executable_destroy(executable))?;
        call!(self.api, hsa_code_object_reader_destroy(reader))?;
        result
    }
}

impl Drop for HsaLauncher {
    fn drop(&mut self) {
        if !self.queue.is_null() {
            let _ = call!(self.api, hsa_queue_destroy(self.queue));
        }
        let _ = call!(self.api, hsa_shut_down());
    }
}
