//! Tools: shared libraries that put their own functions into the API table.
//!
//! They are told in this order, once the runtime is open:
//!
//! 1. rocprofiler-register, if it can be loaded, gets the root table (unless `HSA_TOOLS_DISABLE_REGISTER` is 1).
//! 2. Libraries that the process has loaded and that export a number `HSA_AMD_TOOL_PRIORITY`, lowest first.
//! 3. Those that `HSA_TOOLS_LIB` names: separated by spaces, quotes around names with spaces.
//!
//! Each must have `OnLoad`, which answers whether it is content. `OnUnload` is called in the opposite order before
//! the runtime closes; the table is this library's own again afterwards. A tool's library stays
//! loaded: its functions may be on some thread's stack.

use crate::diag;
use crate::environment;
use crate::table::{self, HsaApiTable};
use core::ffi::{CStr, c_char, c_int, c_void};
use rukh_core::runtime::ScratchEvent;
use std::ffi::CString;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// `OnLoad` of a tool.
type OnLoad =
    unsafe extern "C" fn(*const HsaApiTable, u64, failed: u64, names: *const *const c_char) -> bool;
/// `OnUnload` of a tool.
type OnUnload = unsafe extern "C" fn();
/// `rocprofiler_register_library_api_table`
type Register = unsafe extern "C" fn(
    name: *const c_char,
    import: extern "C" fn() -> u32,
    version: u32,
    tables: *mut *const c_void,
    count: u64,
    id: *mut u64,
) -> c_int;

/// The version that rocprofiler-register is told: 1.18.0 as five digits.
const REGISTER_VERSION: u32 = 10_000 + 18 * 100;

const RTLD_LAZY: c_int = 1;
const RTLD_NOLOAD: c_int = 4;

unsafe extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlclose(handle: *mut c_void) -> c_int;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
    fn dl_iterate_phdr(
        callback: unsafe extern "C" fn(*const PhdrInfo, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
}

/// The beginning of `struct dl_phdr_info`.
#[repr(C)]
struct PhdrInfo {
    address: usize,
    name: *const c_char,
}

/// A library that is loaded.
#[derive(Clone, Copy, PartialEq)]
struct Library(*mut c_void);

impl Library {
    fn open(name: &CStr, flags: c_int) -> Option<Self> {
        // SAFETY: a string that ends with NUL. Loading runs the library's constructors: that is what the
        // person who named it wants.
        let handle = unsafe { dlopen(name.as_ptr(), flags) };
        (!handle.is_null()).then_some(Self(handle))
    }

    fn symbol(self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: an open library and a string that ends with NUL.
        let address = unsafe { dlsym(self.0, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }
}

/// Whether the program has loaded a library of this name.
pub fn is_loaded(name: &CStr) -> bool {
    let found = Library::open(name, RTLD_LAZY | RTLD_NOLOAD);
    if let Some(library) = found {
        // SAFETY: gives back what was just taken; the program's own use of the library is not touched.
        unsafe { dlclose(library.0) };
    }
    found.is_some()
}

/// A tool that has been told.
struct Tool {
    unload: Option<OnUnload>,
}

// SAFETY: addresses of functions.
unsafe impl Send for Tool {}

/// In the order of loading.
static TOOLS: Mutex<Vec<Tool>> = Mutex::new(Vec::new());

/// The tools that were told, which nobody changes meanwhile.
pub struct Locked(MutexGuard<'static, Vec<Tool>>);

impl Locked {
    /// For a child process, whose tools are told anew: they hear of the end of what its own runtime was alone.
    pub fn forget_all(&mut self) {
        self.0.clear();
    }
}

/// Keeps the list of tools as it is while the process forks.
pub fn lock() -> Locked {
    Locked(TOOLS.lock().unwrap_or_else(PoisonError::into_inner))
}

fn loading_error() -> String {
    // SAFETY: gives null or a string that the next call on this thread may replace; it is copied.
    unsafe {
        let text = dlerror();
        if text.is_null() {
            String::from("no reason given")
        } else {
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }
}

extern "C" fn import() -> u32 {
    REGISTER_VERSION
}

/// Tells rocprofiler-register, if there is one.
fn register() {
    if environment::flag("HSA_TOOLS_DISABLE_REGISTER", false) {
        return;
    }
    let Some(library) = Library::open(c"librocprofiler-register.so.0", RTLD_LAZY) else {
        return;
    };
    let Some(address) = library.symbol(c"rocprofiler_register_library_api_table") else {
        return;
    };
    let mut tables = [table::root().cast::<c_void>()];
    let mut id = 0u64;
    // SAFETY: the function of this name has this type; all pointers are valid during the call, and the
    // table stays.
    let status = unsafe {
        let register = core::mem::transmute::<*mut c_void, Register>(address);
        register(
            c"hsa".as_ptr(),
            import,
            REGISTER_VERSION,
            tables.as_mut_ptr(),
            1,
            &raw mut id,
        )
    };
    if status != 0 && environment::flag("HSA_TOOLS_REPORT_REGISTER_FAILURE", false) {
        diag::say(format_args!(
            "rocprofiler-register refused the API table with error {status}"
        ));
    }
}

unsafe extern "C" fn collect(info: *const PhdrInfo, _size: usize, names: *mut c_void) -> c_int {
    // SAFETY: `loaded` passes its list, and the loader a valid structure whose name is null or a string.
    unsafe {
        let names = &mut *names.cast::<Vec<CString>>();
        let name = (*info).name;
        if !name.is_null() && *name != 0 {
            names.push(CStr::from_ptr(name).to_owned());
        }
    }
    0
}

/// Libraries of the process that say that they are tools, by priority.
fn loaded() -> Vec<(Library, CString)> {
    let mut names: Vec<CString> = Vec::new();
    // SAFETY: `collect` takes this list.
    unsafe { dl_iterate_phdr(collect, (&raw mut names).cast()) };
    let mut found: Vec<(u32, Library, CString)> = Vec::new();
    let mut seen = Vec::new();
    for name in names {
        let Some(library) = Library::open(&name, RTLD_LAZY | RTLD_NOLOAD) else {
            continue;
        };
        // A dependency's symbol is found through each library that depends on it: the first is its own.
        let Some(address) = library.symbol(c"HSA_AMD_TOOL_PRIORITY") else {
            continue;
        };
        if !seen.contains(&address) && is_in(address, &name) {
            seen.push(address);
            // SAFETY: the symbol is a 32-bit number, by the contract of tools.
            let priority = unsafe { address.cast::<u32>().read_unaligned() };
            found.push((priority, library, name));
        }
    }
    found.sort_by_key(|(priority, ..)| *priority);
    found.into_iter().map(|(_, l, name)| (l, name)).collect()
}

/// Whether an address belongs to the library of a name.
fn is_in(address: *const c_void, name: &CStr) -> bool {
    #[repr(C)]
    struct DlInfo {
        file: *const c_char,
        base: *mut c_void,
        symbol: *const c_char,
        value: *mut c_void,
    }
    unsafe extern "C" {
        fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
    }
    let mut info = DlInfo {
        file: core::ptr::null(),
        base: core::ptr::null_mut(),
        symbol: core::ptr::null(),
        value: core::ptr::null_mut(),
    };
    // SAFETY: writes the structure if it answers other than zero; the name then ends with NUL.
    unsafe {
        dladdr(address, &raw mut info) != 0
            && !info.file.is_null()
            && CStr::from_ptr(info.file) == name
    }
}

/// Names in a list that spaces separate; quotes keep a name with spaces together.
fn names(list: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut name = String::new();
    let mut quoted = false;
    for c in list.chars() {
        match c {
            '"' => quoted = !quoted,
            ' ' if !quoted => {
                names.extend(Some(core::mem::take(&mut name)).filter(|n| !n.is_empty()))
            }
            _ => name.push(c),
        }
    }
    names.extend(Some(name).filter(|name| !name.is_empty()));
    names
}

/// Libraries that the environment names, and those that could not be loaded.
fn named(report: bool) -> (Vec<(Library, CString)>, Vec<CString>) {
    let mut found = Vec::new();
    let mut failed = Vec::new();
    for name in names(&environment::text("HSA_TOOLS_LIB").unwrap_or_default()) {
        let Ok(name) = CString::new(name) else {
            continue;
        };
        match Library::open(&name, RTLD_LAZY) {
            Some(library) => found.push((library, name)),
            None => {
                if report {
                    let reason = loading_error();
                    diag::say(format_args!("tool {name:?} is not loaded: {reason}"));
                }
                failed.push(name);
            }
        }
    }
    (found, failed)
}

/// Tells all tools that the runtime is open. No lock of this library is held: they call it.
pub fn load() {
    register();
    let report = environment::flag("HSA_TOOLS_REPORT_LOAD_FAILURE", cfg!(debug_assertions));
    let mut libraries = loaded();
    let (named, failed) = named(report);
    for (library, name) in named {
        if !libraries.iter().any(|(other, _)| *other == library) {
            libraries.push((library, name));
        }
    }
    let failed: Vec<*const c_char> = failed.iter().map(|name| name.as_ptr()).collect();
    for (library, name) in libraries {
        let Some(address) = library.symbol(c"OnLoad") else {
            if report {
                diag::say(format_args!("tool {name:?} has no function OnLoad"));
            }
            continue;
        };
        // SAFETY: a tool's function of this name has this type.
        let on_load = unsafe { core::mem::transmute::<*mut c_void, OnLoad>(address) };
        // SAFETY: the table stays, the names outlive the call.
        let content = unsafe {
            let version = u64::from((*table::root()).version.major_id);
            on_load(table::root(), version, failed.len() as u64, failed.as_ptr())
        };
        if !content {
            if report {
                diag::say(format_args!("tool {name:?} does not want to be loaded"));
            }
            continue;
        }
        let unload = library.symbol(c"OnUnload");
        let mut tools = TOOLS.lock().unwrap_or_else(PoisonError::into_inner);
        tools.push(Tool {
            // SAFETY: a tool's function of this name has this type.
            unload: unload
                .map(|address| unsafe { core::mem::transmute::<*mut c_void, OnUnload>(address) }),
        });
    }
}

/// Beginnings of the events of `hsa_amd_tool.h`, which differ by their ends.
#[repr(C)]
struct ScratchRecord {
    kind: u32,
    queue: u64,
    flags: u32,
    packet: u64,
    bytes: usize,
    waves: usize,
}

/// `HSA_AMD_EVENT_SCRATCH_ALLOC_FLAG_USE_ONCE`
const USE_ONCE: u32 = 1;

/// Tells the tool that wants to know what becomes of a queue's scratch.
pub fn scratch_event(event: &ScratchEvent) {
    let none = ScratchRecord {
        kind: 0,
        queue: 0,
        flags: 0,
        packet: 0,
        bytes: 0,
        waves: 0,
    };
    let flags = |once| if once { USE_ONCE } else { 0 };
    let record = match *event {
        ScratchEvent::AllocStart { queue, packet } => ScratchRecord {
            kind: 1,
            queue,
            packet,
            ..none
        },
        ScratchEvent::AllocEnd {
            queue,
            packet,
            bytes,
            waves,
            once,
        } => ScratchRecord {
            kind: 2,
            queue,
            flags: flags(once),
            packet,
            bytes: bytes as usize,
            waves: waves as usize,
        },
        ScratchEvent::FreeStart { queue, once } => ScratchRecord {
            kind: 3,
            queue,
            flags: flags(once),
            ..none
        },
        ScratchEvent::FreeEnd { queue, once } => ScratchRecord {
            kind: 4,
            queue,
            flags: flags(once),
            ..none
        },
    };
    if let Some(tell) = table::tool_event(record.kind) {
        // SAFETY: a function of this type; the event is of its kind and valid during the call.
        unsafe { tell((&raw const record).cast()) };
    }
}

/// Tells all tools that the runtime closes, and takes their functions out of the table.
pub fn unload() {
    let tools = {
        let mut tools = TOOLS.lock().unwrap_or_else(PoisonError::into_inner);
        core::mem::take(&mut *tools)
    };
    for tool in tools.into_iter().rev() {
        if let Some(unload) = tool.unload {
            // SAFETY: a function of this type, by the contract of tools.
            unsafe { unload() };
        }
    }
    table::restore();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_separated_by_spaces_outside_of_quotes() {
        assert_eq!(names("a.so  /b/c.so "), ["a.so", "/b/c.so"]);
        assert_eq!(names("\"with space.so\" d.so"), ["with space.so", "d.so"]);
        assert!(names("  ").is_empty());
    }
}
