//! Signals that arrive in the middle of a call.

use std::time::{Duration, Instant};

extern "C" fn on_signal(_: i32) {}

/// Runs something in which a signal arrives after 50 milliseconds; whether calls go on after its handler. Gives when it was
/// sent: on a busy machine that may be later.
pub fn interrupted(restart: bool, run: &mut dyn FnMut()) -> Duration {
    let begun = Instant::now();
    // SAFETY: a handler that does nothing; the thread that gets the signal waits in this function.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = if restart { libc::SA_RESTART } else { 0 };
        libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
        let waiting = libc::pthread_self() as usize;
        std::thread::scope(|scope| {
            let sender = scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(50));
                libc::pthread_kill(waiting as libc::pthread_t, libc::SIGUSR1);
                begun.elapsed()
            });
            run();
            sender.join().unwrap_or(Duration::MAX)
        })
    }
}
