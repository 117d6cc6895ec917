//! The face, made when a program first looks for a GPU.

use core::cell::Cell;
use core::ffi::c_int;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use rukh_backend_sim::device::FaultReport;
use rukh_backend_sim::kfd::KfdFace;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Names the GPUs.
const VARIABLE: &str = "RUKH_KFD";

/// Set to say on standard error when the machine is made, and at the process's end what its GPUs have done.
const LOG_VARIABLE: &str = "RUKH_KFD_LOG";

/// The machine of this process. It lives as long as the process: client threads and devices use it until the end.
pub(crate) struct Machine {
    pub face: KfdFace,
    pid: u32,
    /// Where the client has mapped files of the face's: start to end. Taken alone, so that whoever unmaps something else
    /// waits for no ioctl.
    ranges: Mutex<BTreeMap<usize, usize>>,
}

static MACHINE: AtomicPtr<Machine> = AtomicPtr::new(null_mut());
/// A word that is 1, and 0 in a process that has been forked off since.
static GENERATION: AtomicPtr<AtomicU32> = AtomicPtr::new(null_mut());
static COMPLAINED: AtomicBool = AtomicBool::new(false);

std::thread_local! {
    /// Whether this thread is inside of the face: its calls of the C library are not the client's.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs as part of the face: calls of the C library go straight on.
pub(crate) fn inside<T>(run: impl FnOnce() -> T) -> T {
    let before = INSIDE.replace(true);
    let result = run();
    INSIDE.set(before);
    result
}

/// Whether this thread's calls are the face's own.
pub(crate) fn is_inside() -> bool {
    INSIDE.get()
}

/// The process's number. Children have another, whatever they share: it is how they are told apart, those of `vfork` too.
pub(crate) fn pid() -> u32 {
    rustix::process::getpid().as_raw_nonzero().get() as u32
}

fn generation() -> Option<&'static AtomicU32> {
    // SAFETY: null, or a word of a page that stays mapped.
    unsafe { GENERATION.load(Ordering::Acquire).as_ref() }
}

/// Whether this process's memory is a copy of its parent's, and nobody has asked yet.
pub(crate) fn was_forked() -> bool {
    generation().is_some_and(|word| word.swap(1, Ordering::Relaxed) == 0)
}

fn begin_generation() -> Result<(), rustix::io::Errno> {
    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
    if let Some(word) = generation() {
        word.store(1, Ordering::Relaxed);
        return Ok(());
    }
    const PAGE: usize = 4096;
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice; a child is to find it empty.
    let page = unsafe {
        let page = mmap_anonymous(null_mut(), PAGE, access, MapFlags::PRIVATE)?;
        madvise(page, PAGE, Advice::LinuxWipeOnFork)?;
        page.cast::<AtomicU32>()
    };
    // SAFETY: mapped, zero, and never unmapped. Whoever else has done this at the same time has wasted a page.
    unsafe { &*page }.store(1, Ordering::Relaxed);
    GENERATION.store(page, Ordering::Release);
    Ok(())
}

fn complain(why: &dyn core::fmt::Display) {
    if !COMPLAINED.swap(true, Ordering::Relaxed) {
        std::eprintln!("rukh-kfd: {why}; there is no simulated GPU");
    }
}

fn log(report: &FaultReport) {
    std::eprintln!("rukh-kfd: {report}");
}

extern "C" fn log_work() {
    if let Some(machine) = existing() {
        let executed = machine.face.wave_instructions();
        std::eprintln!(
            "rukh-kfd: process {} executed {executed} wave instructions",
            pid()
        );
    }
}

/// The machine, if this process has one already.
pub(crate) fn existing() -> Option<&'static Machine> {
    // SAFETY: null, or a machine that was leaked.
    let machine = unsafe { MACHINE.load(Ordering::Acquire).as_ref() }?;
    (machine.pid == pid()).then_some(machine)
}

/// The machine; ENOENT if there is none, and why is said once.
pub(crate) fn machine() -> Result<&'static Machine, c_int> {
    if let Some(machine) = existing() {
        return Ok(machine);
    }
    inside(make)
}

fn make() -> Result<&'static Machine, c_int> {
    let Some(list) = std::env::var_os(VARIABLE) else {
        complain(&format_args!(
            "{VARIABLE} is not set; it lists GPUs, as in {VARIABLE}=gfx90a,gfx1030"
        ));
        return Err(libc::ENOENT);
    };
    let list = list.to_string_lossy();
    let face = KfdFace::parse(&list).map_err(|error| {
        complain(&format_args!("{VARIABLE}={list:?}: {error}"));
        libc::ENOENT
    })?;
    face.log_faults(log);
    begin_generation().map_err(|errno| errno.raw_os_error())?;
    if std::env::var_os(LOG_VARIABLE).is_some() {
        std::eprintln!("rukh-kfd: process {} has {list}", pid());
        // SAFETY: a function of this library, which stays loaded.
        unsafe { libc::atexit(log_work) };
    }
    let made = Box::into_raw(Box::new(Machine {
        face,
        pid: pid(),
        ranges: Mutex::default(),
    }));
    let mut old = MACHINE.load(Ordering::Acquire);
    loop {
        // SAFETY: null, or a machine that was leaked.
        if let Some(found) = unsafe { old.as_ref() }
            && found.pid == pid()
        {
            // SAFETY: made above, and nobody has seen it.
            drop(unsafe { Box::from_raw(made) });
            return Ok(found);
        }
        // A machine of the parent's is left where it is: its locks and threads are in no known state.
        match MACHINE.compare_exchange(old, made, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: leaked just now.
            Ok(_) => return Ok(unsafe { &*made }),
            Err(other) => old = other,
        }
    }
}

impl Machine {
    fn ranges(&self) -> std::sync::MutexGuard<'_, BTreeMap<usize, usize>> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client has mapped a file of the face's.
    pub(crate) fn note(&self, start: usize, size: usize) {
        inside(|| {
            self.forget(start, size);
            let end = start.saturating_add(size);
            self.ranges().insert(start, end);
        });
    }

    /// Whether the client has such a mapping in a range.
    pub(crate) fn overlaps(&self, start: usize, size: usize) -> bool {
        let end = start.saturating_add(size);
        let ranges = self.ranges();
        let last = ranges.range(..end).next_back();
        last.is_some_and(|(_, last)| *last > start)
    }

    /// The client has no such mapping in a range any more.
    pub(crate) fn forget(&self, start: usize, size: usize) {
        inside(|| {
            let end = start.saturating_add(size);
            let mut ranges = self.ranges();
            while let Some((from, to)) = ranges
                .range(..end)
                .next_back()
                .map(|(from, to)| (*from, *to))
                .filter(|(_, to)| *to > start)
            {
                ranges.remove(&from);
                if to > end {
                    ranges.insert(end, to);
                }
                if from < start {
                    ranges.insert(from, start);
                }
            }
        });
    }
}
