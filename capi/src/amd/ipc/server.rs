//! Who gives memory to other processes: a thread behind a socket whose name is in the handles, and the other end.
//!
//! Only processes of the same user are answered, and asked. A descriptor is all that is given: it names one allocation's memory
//! and nothing else, and the memory stays as long as somebody has it. A peer that says nothing is left after a while.

use super::message::{ANSWER, Answer, Handle, Kind, QUESTION, Question};
use core::ffi::{c_int, c_void};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown,
};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a peer may take for a message.
const PATIENCE: Duration = Duration::from_secs(5);

/// Memory that was offered.
#[derive(Debug)]
struct Offer {
    kind: Kind,
    file: OwnedFd,
    size: u64,
}

/// What a server has to offer.
#[derive(Debug)]
struct Shared {
    number: u64,
    listener: UnixListener,
    offers: Mutex<BTreeMap<u64, Offer>>,
}

/// A server. Dropping it ends it.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// Whose it is: a child process has a copy of the listener, and no thread.
    process: u32,
}

/// Why memory was not had from another process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AskError {
    /// There is no such process, or it has no such memory any more.
    Unknown,
    /// It, or this process, has no descriptors left, or no thread.
    Exhausted,
}

/// A number that others cannot guess.
fn secret() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

fn name(process: u32, server: u64) -> std::io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("rukh-ipc-{process}-{server:016x}"))
}

/// `struct ucred`. rustix has one whose process cannot be 0, as that of another namespace is.
#[derive(Default)]
#[repr(C)]
struct Credentials {
    process: i32,
    user: u32,
    group: u32,
}

/// Whether the process at the other end is of the same user, and which it is.
fn peer(stream: &UnixStream) -> Option<i32> {
    const SOL_SOCKET: c_int = 1;
    const SO_PEERCRED: c_int = 17;
    unsafe extern "C" {
        fn getsockopt(
            socket: c_int,
            level: c_int,
            name: c_int,
            value: *mut c_void,
            length: *mut u32,
        ) -> c_int;
    }
    let mut found = Credentials::default();
    let mut length = size_of::<Credentials>() as u32;
    // SAFETY: writes at most `length` bytes to the structure, which is of numbers alone.
    let answer = unsafe {
        let place = (&raw mut found).cast();
        getsockopt(
            stream.as_raw_fd(),
            SOL_SOCKET,
            SO_PEERCRED,
            place,
            &mut length,
        )
    };
    let whole = answer == 0 && length as usize == size_of::<Credentials>();
    (whole && found.user == rustix::process::geteuid().as_raw()).then_some(found.process)
}

impl Shared {
    fn offers(&self) -> MutexGuard<'_, BTreeMap<u64, Offer>> {
        self.offers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers one question.
    fn serve(&self, mut stream: UnixStream) -> std::io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        if peer(&stream).is_none() {
            return Ok(());
        }
        let mut bytes = [0; QUESTION];
        stream.read_exact(&mut bytes)?;
        let question = Question::parse(&bytes).filter(|asked| asked.server == self.number);
        let found = question.and_then(|asked| {
            let offers = self.offers();
            let offer = offers.get(&asked.token);
            let offer = offer.filter(|offer| offer.kind == asked.kind)?;
            Some((offer.file.try_clone(), offer.size))
        });
        match found {
            None => stream.write_all(&Answer::Unknown.emit()),
            Some((Err(_), _)) => stream.write_all(&Answer::Exhausted.emit()),
            Some((Ok(file), size)) => send(&stream, &Answer::Memory { size }, file.as_fd()),
        }
    }
}

fn send(stream: &UnixStream, answer: &Answer, file: BorrowedFd<'_>) -> std::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    let files = [file];
    beside.push(SendAncillaryMessage::ScmRights(&files));
    let bytes = answer.emit();
    // So few bytes are sent whole, or not at all.
    let flags = SendFlags::NOSIGNAL;
    rustix::net::sendmsg(stream, &[IoSlice::new(&bytes)], &mut beside, flags)?;
    Ok(())
}

impl Server {
    /// Starts one.
    ///
    /// # Errors
    /// What the system says.
    pub fn start() -> std::io::Result<Self> {
        let number = secret();
        let listener = UnixListener::bind_addr(&name(std::process::id(), number)?)?;
        let shared = Arc::new(Shared {
            number,
            listener,
            offers: Mutex::default(),
        });
        let own = shared.clone();
        let thread = std::thread::Builder::new()
            .name("rukh-ipc".into())
            .spawn(move || {
                loop {
                    match own.listener.accept() {
                        // A peer that breaks off gets nothing.
                        Ok((stream, _)) => drop(own.serve(stream)),
                        Err(error) => match error.raw_os_error() {
                            // The listener was shut down.
                            Some(code) if code == Errno::INVAL.raw_os_error() => return,
                            // Descriptors are short: later there may be some.
                            _ => std::thread::sleep(Duration::from_millis(10)),
                        },
                    }
                }
            })?;
        Ok(Self {
            shared,
            thread: Some(thread),
            process: std::process::id(),
        })
    }

    /// Offers memory by its descriptor.
    pub fn offer(&self, kind: Kind, file: OwnedFd, size: u64) -> Handle {
        let token = secret();
        self.shared
            .offers()
            .insert(token, Offer { kind, file, size });
        Handle {
            kind,
            process: std::process::id().cast_signed(),
            server: self.shared.number,
            token,
        }
    }

    /// What takes an offer back, for whoever frees the memory.
    pub fn withdrawal(&self, handle: Handle) -> impl FnOnce() + Send + use<> {
        let shared = Arc::downgrade(&self.shared);
        move || {
            if let Some(shared) = shared.upgrade() {
                drop(shared.offers().remove(&handle.token));
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            core::mem::forget(self.thread.take());
            return;
        }
        let _ = rustix::net::shutdown(&self.shared.listener, Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Asks the process of a handle for its memory: a descriptor, and the size that it was offered with.
///
/// # Errors
/// See [`AskError`].
pub fn ask(handle: &Handle) -> Result<(OwnedFd, u64), AskError> {
    let address = name(handle.process.cast_unsigned(), handle.server);
    let address = address.map_err(|_| AskError::Unknown)?;
    let stream =
        UnixStream::connect_addr(&address).map_err(|error| match error.raw_os_error() {
            Some(code) if code == Errno::MFILE.raw_os_error() => AskError::Exhausted,
            _ => AskError::Unknown,
        })?;
    // Whoever has taken the name meanwhile is not asked.
    if peer(&stream) != Some(handle.process) {
        return Err(AskError::Unknown);
    }
    exchange(stream, handle).map_err(|_| AskError::Unknown)?
}

fn exchange(
    mut stream: UnixStream,
    handle: &Handle,
) -> std::io::Result<Result<(OwnedFd, u64), AskError>> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let question = Question {
        kind: handle.kind,
        server: handle.server,
        token: handle.token,
    };
    stream.write_all(&question.emit())?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    // One more than there should be.
    let mut bytes = [0; ANSWER + 1];
    let got = rustix::net::recvmsg(
        &stream,
        &mut [IoSliceMut::new(&mut bytes)],
        &mut beside,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let mut files = Vec::new();
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            files.extend(rights);
        }
    }
    let answer = bytes.get(..got.bytes).and_then(Answer::parse);
    Ok(match (answer, files.pop()) {
        (Some(Answer::Memory { size }), Some(file)) if files.is_empty() => Ok((file, size)),
        (Some(Answer::Exhausted), _) => Err(AskError::Exhausted),
        _ => Err(AskError::Unknown),
    })
}
