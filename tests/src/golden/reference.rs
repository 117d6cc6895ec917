//! The host library: the same sources, compiled for this machine.

use std::ffi::c_void;
use std::path::Path;
use std::sync::Mutex;

use libloading::{Library, Symbol};

use super::{Arg, GlobalValue, Launch};

/// The entry of a kernel, as `tests/golden/src/host.h` declares it.
type Entry = unsafe extern "C" fn(*const u32, *const u16, u32, u32, *const *const c_void);

/// The library keeps the state of its only run, and the program's variables, in statics.
static RUN: Mutex<()> = Mutex::new(());

/// `libgolden_host.so`, loaded.
#[derive(Debug)]
pub struct Reference(Library);

impl Reference {
    /// Loads the library.
    ///
    /// # Errors
    ///
    /// The dynamic linker's words.
    pub fn open(library: &Path) -> Result<Self, String> {
        // SAFETY: the library is built from our own sources (tests/golden/build.sh) and has no
        // constructors or destructors.
        let library = unsafe { Library::new(library) };
        library.map(Reference).map_err(|error| error.to_string())
    }

    /// Runs the kernel on the host; buffers and variables receive what it left.
    ///
    /// # Errors
    ///
    /// The name that the library lacks, or a variable of another size.
    pub fn run(&self, launch: &mut Launch<'_>) -> Result<(), String> {
        let one_at_a_time = RUN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let variables = launch
            .globals
            .iter()
            .map(|global| self.variable(global))
            .collect::<Result<Vec<_>, _>>()?;
        let initial: Vec<Vec<u8>> = variables
            .iter()
            .map(|variable| variable.read(&one_at_a_time))
            .collect();
        for (variable, global) in variables.iter().zip(&launch.globals) {
            if global.write {
                variable.write(&one_at_a_time, &global.bytes);
            }
        }

        self.call(launch)?;

        for ((variable, global), initial) in variables.iter().zip(&mut launch.globals).zip(initial)
        {
            global.bytes = variable.read(&one_at_a_time);
            variable.write(&one_at_a_time, &initial);
        }
        Ok(())
    }

    fn call(&self, launch: &mut Launch<'_>) -> Result<(), String> {
        let name = format!("golden_host_{}", launch.kernel());
        // SAFETY: every symbol of this prefix is made by GOLDEN_ENTRY in host.h, with the type of `Entry`.
        let entry: Symbol<'_, Entry> =
            unsafe { self.0.get(name.as_bytes()) }.map_err(|error| format!("{name}: {error}"))?;

        let mut storage: Vec<Aligned> = launch
            .args
            .iter()
            .map(|arg| Aligned::new(arg.bytes()))
            .collect();
        let addresses: Vec<*mut u8> = storage.iter_mut().map(Aligned::as_mut_ptr).collect();
        let values: Vec<*const c_void> = launch
            .args
            .iter()
            .zip(&addresses)
            .map(|(arg, address)| match arg {
                Arg::Buffer(_) => std::ptr::from_ref(address).cast(),
                Arg::Scalar(_) => address.cast_const().cast(),
            })
            .collect();
        let (grid, group) = (launch.grid, launch.group);
        let wave_size = launch.target().wave_size();
        // SAFETY: the entry reads three words at `grid` and at `group`, and one value per parameter
        // through `values`: a scalar's own bytes or a buffer's address. The catalogue states the
        // kernel's parameters as its source does, sizes included, and each value stands in memory
        // aligned for any type. The kernels stay inside their buffers for the catalogue's sizes
        // (the guard bytes of `run_case` watch over it). RUN keeps a second run out.
        unsafe {
            entry(
                grid.as_ptr(),
                group.as_ptr(),
                wave_size,
                launch.dynamic_lds,
                values.as_ptr(),
            )
        };

        for (arg, storage) in launch.args.iter_mut().zip(&storage) {
            if let Arg::Buffer(bytes) = arg {
                storage.copy_to(bytes);
            }
        }
        Ok(())
    }

    fn variable(&self, global: &GlobalValue) -> Result<Variable<'_>, String> {
        // SAFETY: the value of a symbol of pointer type is its address; `Variable` answers for its use.
        let symbol: Symbol<'_, *mut u8> = unsafe { self.0.get(global.symbol.as_bytes()) }
            .map_err(|error| format!("{}: {error}", global.symbol))?;
        Ok(Variable {
            symbol,
            size: global.bytes.len(),
        })
    }
}

/// A variable of the library. The catalogue states its size.
struct Variable<'a> {
    symbol: Symbol<'a, *mut u8>,
    size: usize,
}

impl Variable<'_> {
    fn read(&self, _one_at_a_time: &std::sync::MutexGuard<'_, ()>) -> Vec<u8> {
        // SAFETY: the symbol is defined, so its address is not null, and the variable is `size` bytes
        // of initialised static data which only a kernel's run changes; the lock keeps those out.
        unsafe { std::slice::from_raw_parts(*self.symbol, self.size) }.to_vec()
    }

    fn write(&self, _one_at_a_time: &std::sync::MutexGuard<'_, ()>, bytes: &[u8]) {
        assert_eq!(bytes.len(), self.size);
        // SAFETY: as in `read`; the variable is writable data.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), *self.symbol, self.size) }
    }
}

/// Bytes at an address that is aligned for any type of C.
struct Aligned(Vec<u128>);

impl Aligned {
    fn new(bytes: &[u8]) -> Self {
        let words = bytes.chunks(16).map(|chunk| {
            let mut word = [0; 16];
            word[..chunk.len()].copy_from_slice(chunk);
            u128::from_ne_bytes(word)
        });
        Aligned(words.collect())
    }

    fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }

    fn copy_to(&self, bytes: &mut [u8]) {
        for (chunk, word) in bytes.chunks_mut(16).zip(&self.0) {
            chunk.copy_from_slice(&word.to_ne_bytes()[..chunk.len()]);
        }
    }
}
