//! Holds the backend to the driver of the machine it runs on: agents, events, waits, a child process, core's runtime. Needs
//! no GPU. Prints a line per check and ends with 0 if all hold; with a file's name as argument, records the calls there.
//!
//! Meant for virtual machines: built static (`-C target-feature=+crt-static`) it needs nothing but the kernel.

mod events;

use events::{events, wait};
use rukh_backend_linux_kfd::KfdBackend;
use rukh_backend_linux_kfd::sys::{FileSink, LinuxPort};
use rukh_backend_linux_kfd::trace::TracePort;
use rukh_core::backend::*;
use rukh_core::kfd::KfdPort;
use rukh_core::runtime::{Runtime, RuntimeConfig};
use rukh_core::signal::{Condition, MemoryOrder};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

type Backend = KfdBackend<Box<dyn KfdPort>>;

#[derive(Default)]
struct Checks {
    failed: u32,
}

impl Checks {
    fn check(&mut self, what: &str, holds: bool) {
        println!("{} {what}", if holds { "ok    " } else { "FAILED" });
        self.failed += u32::from(!holds);
    }
}

fn main() -> ExitCode {
    let record = std::env::args().nth(1);
    let port: Box<dyn KfdPort> = match &record {
        Some(file) => match FileSink::create(file) {
            Ok(sink) => Box::new(TracePort::new(LinuxPort, sink)),
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        },
        None => Box::new(LinuxPort),
    };
    let start = Instant::now();
    let backend: Arc<Backend> = match KfdBackend::open(port) {
        Ok(backend) => Arc::new(backend),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    println!(
        "opened in {:?}, KFD {:?}",
        start.elapsed(),
        backend.kfd().version()
    );
    for agent in (0..backend.agent_count()).map(AgentId) {
        println!("{:?}", backend.agent(agent));
        backend.memory_banks(agent, &mut |bank| println!("  {bank:?}"));
    }
    backend.links(&mut |link| println!("{link:?}"));
    backend.skipped(&mut |skipped| println!("{skipped:?}"));
    let mut checks = Checks::default();
    checks.check("there are agents", backend.agent_count() != 0);
    events(&backend, &mut |what, holds| checks.check(what, holds));
    // What comes next depends on threads and time, or makes thousands of calls.
    if record.is_none() {
        waits(&backend, &mut checks);
        second(&backend, &mut checks);
        limit(&backend, &mut checks);
        child(&backend, &mut checks);
        runtime(backend, &mut checks);
    }
    println!("{} checks failed", checks.failed);
    ExitCode::from(u8::from(checks.failed != 0))
}

fn waits(backend: &Arc<Backend>, checks: &mut Checks) {
    let Ok(event) = backend.create_event(EventKind::Signal) else {
        return checks.check("an event can be created", false);
    };
    let deadline = backend.now() + 12_300_000;
    let outcome = wait(backend, &[event], Timeout::At(deadline));
    checks.check(
        "a wait lasts until its deadline",
        outcome == Ok(EventOutcome::TimedOut) && backend.now() >= deadline,
    );
    let sleeper = |timeout| {
        let backend = backend.clone();
        thread::spawn(move || wait(&backend, &[event], timeout))
    };
    let thread = sleeper(Timeout::Never);
    thread::sleep(Duration::from_millis(50));
    let _ = backend.set_event(event);
    checks.check(
        "a sleeper is woken",
        thread.join().ok() == Some(Ok(EventOutcome::Raised)),
    );
    checks.check(
        "a signal's handler runs, and the wait goes on until its deadline",
        interrupted(backend, event),
    );
    let thread = sleeper(Timeout::Never);
    thread::sleep(Duration::from_millis(50));
    let _ = backend.destroy_event(event);
    checks.check(
        "a sleeper whose event is destroyed is told so",
        thread.join().ok() == Some(Err(EventError::Destroyed(event))),
    );
    let counters = backend.counters(AgentId(0));
    checks.check(
        "the clock runs",
        counters.system <= backend.now() && counters.system != 0,
    );
}

static HANDLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn on_signal(_: i32) {
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

/// Waits for an event that nobody raises, while signals arrive whose handler has calls end with EINTR.
fn interrupted(backend: &Arc<Backend>, event: EventId) -> bool {
    // SAFETY: the handler adds to an atomic, the structure is filled in, and the thread that gets the signals is this one,
    // which outlives the scope.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
        let this = libc::pthread_self() as usize;
        let deadline = backend.now() + 120_000_000;
        let outcome = thread::scope(|scope| {
            scope.spawn(move || {
                for _ in 0..3 {
                    thread::sleep(Duration::from_millis(25));
                    libc::pthread_kill(this as libc::pthread_t, libc::SIGUSR1);
                }
            });
            wait(backend, &[event], Timeout::At(deadline))
        });
        HANDLED.load(Ordering::Relaxed) == 3
            && outcome == Ok(EventOutcome::TimedOut)
            && backend.now() >= deadline
    }
}

/// Two backends of a process have the driver's state in common, and do not stand in each other's way.
fn second(backend: &Backend, checks: &mut Checks) {
    let Ok(event) = backend.create_event(EventKind::Signal) else {
        return checks.check("an event can be created", false);
    };
    match KfdBackend::open(LinuxPort) {
        Ok(second) => {
            let other = second.create_event(EventKind::Signal);
            checks.check(
                "a second backend gets other events",
                other.is_ok_and(|other| other != event),
            );
            checks.check(
                "and can set those of the first",
                second.set_event(event).is_ok(),
            );
        }
        Err(error) => {
            println!("{error}");
            checks.check("a second backend can be opened", false);
        }
    }
    checks.check(
        "which stay as they are when it goes",
        wait(backend, &[event], Timeout::Poll) == Ok(EventOutcome::Raised),
    );
    checks.check("and can be destroyed", backend.destroy_event(event).is_ok());
}

fn limit(backend: &Backend, checks: &mut Checks) {
    let mut events = Vec::new();
    let end = loop {
        match backend.create_event(EventKind::Signal) {
            Ok(event) => events.push(event),
            Err(error) => break error,
        }
    };
    println!("{} events, then: {end}", events.len());
    checks.check(
        "events end with their limit",
        matches!(end, EventError::NoneLeft { .. }),
    );
    let all = events
        .iter()
        .all(|event| backend.destroy_event(*event).is_ok());
    checks.check("all of them are destroyed", all);
}

fn child(backend: &Arc<Backend>, checks: &mut Checks) {
    use std::os::unix::process::CommandExt;
    let inherited = backend.clone();
    let mut command = std::process::Command::new("/proc/self/exe");
    command.arg("/dev/null");
    // SAFETY: the closure runs in the forked child, makes two calls that neither allocate nor lock, and returns.
    unsafe {
        command.pre_exec(move || {
            let told = inherited.kfd().inherited()
                && matches!(
                    inherited.create_event(EventKind::Signal),
                    Err(EventError::NotSupported(_))
                );
            if told {
                Ok(())
            } else {
                Err(std::io::Error::from_raw_os_error(71))
            }
        });
    }
    command.stdout(std::process::Stdio::null());
    let status = command.status();
    checks.check(
        "a child is told that it inherited the driver, and opens its own",
        status.is_ok_and(|status| status.success()),
    );
    checks.check("the parent goes on", !backend.kfd().inherited());
}

fn runtime(backend: Arc<Backend>, checks: &mut Checks) {
    let start = Instant::now();
    let runtime = match Runtime::new(backend, RuntimeConfig::default()) {
        Ok(runtime) => runtime,
        Err(error) => {
            println!("{error}");
            return checks.check("a runtime starts", false);
        }
    };
    println!("runtime started in {:?}", start.elapsed());
    let Ok(signal) = runtime.create_signal(1) else {
        return checks.check("a signal can be created", false);
    };
    let done = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(60));
            signal.store(0, MemoryOrder::Release);
        });
        signal.wait(Condition::Eq, 0, Timeout::Never)
    });
    println!("{done:?}");
    checks.check(
        "a thread that sleeps in the driver is woken by a signal",
        signal.load(MemoryOrder::Acquire) == 0,
    );
}
