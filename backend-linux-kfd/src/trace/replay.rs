//! A port that answers from a recording.

use super::layout;
use super::record::{ParseError, Record, brief, parse_all};
use crate::sys::FutexPark;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU32;
use rukh_core::backend::{Lock, Park, SpinPark};
use rukh_core::kfd::uapi::{Ioctl, ResetEvent, SetEvent, WaitEvents};
use rukh_core::kfd::{KfdFile, KfdPort, Mapping, PortError};
use zerocopy::{FromBytes, IntoBytes};

/// What a call that the recording does not have is answered: ENODATA.
const NO_RECORD: i32 = 61;

/// How far behind the first record that was not used a matching one is looked for: calls of several threads may come in
/// another order than they were recorded in.
const WINDOW: usize = 256;

/// How long a wait that the recording does not have sleeps at most, in milliseconds.
const NAP_MS: u32 = 5;

/// [`WaitEvents::wait_result`]: nothing happened.
const TIMED_OUT: u32 = 1;

/// Most differences that are kept.
const MAX_DIFFERENCES: usize = 100;

#[derive(Debug)]
struct State {
    left: VecDeque<Record>,
    differences: Vec<String>,
}

/// Answers every call as it was answered in a recording.
///
/// Calls are matched by kind, file, request and all fields but addresses and time-outs, which differ between runs. Memory
/// is real but nothing else is behind it: mappings of a file are anonymous memory of the port underneath. A call that was not
/// recorded fails with ENODATA (61), and is kept in [`ReplayPort::differences`].
///
/// How often events are waited for, set and reset depends on when threads run, in every run anew: a wait that was not
/// recorded sleeps a little and times out, the others succeed, and none of them counts as a difference.
#[derive(Debug)]
pub struct ReplayPort<M> {
    memory: M,
    park: FutexPark,
    state: Lock<State>,
}

impl<M: KfdPort> ReplayPort<M> {
    /// Reads a recording. `memory` maps anonymous memory and is asked nothing else.
    ///
    /// # Errors
    /// See [`ParseError`].
    pub fn new(recording: &str, memory: M) -> Result<Self, ParseError> {
        Ok(Self {
            memory,
            park: FutexPark::new(),
            state: Lock::new(State {
                left: parse_all(recording)?.into(),
                differences: Vec::new(),
            }),
        })
    }

    /// Calls that were made and not recorded, first to last.
    pub fn differences(&self) -> Vec<String> {
        self.state.lock(&SpinPark).differences.clone()
    }

    /// Calls that were recorded and not made. Unmappings, which depend on where memory was, do not count, nor do calls that
    /// depend on when threads run.
    pub fn left(&self) -> Vec<String> {
        let state = self.state.lock(&SpinPark);
        state
            .left
            .iter()
            .filter(|record| match record {
                Record::Unmap { .. } => false,
                Record::Ioctl { request, .. } => !depends_on_timing(*request),
                _ => true,
            })
            .map(brief)
            .collect()
    }

    /// The answer to an ioctl that the recording does not have.
    fn unrecorded(&self, request: u32, argument: &mut [u8]) -> Result<(), i32> {
        if !depends_on_timing(request) {
            return Err(NO_RECORD);
        }
        if request as u8 == WaitEvents::INFO.nr
            && let Ok((mut wait, _)) = WaitEvents::read_from_prefix(argument)
        {
            let nap = u64::from(wait.timeout.min(NAP_MS)) * 1_000_000;
            self.park.park(&AtomicU32::new(0), 0, Some(nap));
            wait.wait_result = TIMED_OUT;
            argument[..size_of::<WaitEvents>()].copy_from_slice(wait.as_bytes());
        }
        Ok(())
    }

    /// Takes the next record that `answer` makes something of. Without one, `call` is a difference unless it is empty.
    fn take<T>(
        &self,
        call: impl FnOnce() -> String,
        mut answer: impl FnMut(&Record) -> Option<T>,
    ) -> Option<T> {
        let mut state = self.state.lock(&SpinPark);
        while matches!(state.left.front(), Some(Record::Unmap { .. })) {
            state.left.pop_front();
        }
        let found = state
            .left
            .iter()
            .take(WINDOW)
            .enumerate()
            .find_map(|(index, record)| answer(record).map(|value| (index, value)));
        match found {
            Some((index, value)) => {
                state.left.remove(index);
                Some(value)
            }
            None => {
                let call = call();
                if !call.is_empty() && state.differences.len() < MAX_DIFFERENCES {
                    state.differences.push(call);
                }
                None
            }
        }
    }
}

/// Whether a call is made as often as threads get to it.
fn depends_on_timing(request: u32) -> bool {
    let numbers = [WaitEvents::INFO.nr, SetEvent::INFO.nr, ResetEvent::INFO.nr];
    layout::info(request).is_some_and(|info| numbers.contains(&info.nr))
}

/// Whether an argument asks what a recorded one asked.
fn same_question(request: u32, recorded: &[u8], asked: &[u8]) -> bool {
    match layout::info(request) {
        Some(info) => layout::fields(info)
            .filter(|field| !field.varies())
            .all(|field| field.value(recorded) == field.value(asked)),
        // Another driver's: a pointer may be anywhere, so the request has to do.
        None => recorded.len() == asked.len(),
    }
}

/// Writes the recorded answer over an argument, but for addresses that the call left as they were.
fn write_answer(request: u32, before: &[u8], after: &[u8], argument: &mut [u8]) {
    if let Some(info) = layout::info(request) {
        for field in layout::fields(info) {
            let value = field.value(after);
            if !field.varies() || value != field.value(before) {
                field.set(argument, value);
            }
        }
    }
}

// SAFETY: memory is the inner port's; an ioctl writes within the argument and, behind its pointer, no more than the
// argument says that there is room for.
unsafe impl<M: KfdPort> KfdPort for ReplayPort<M> {
    fn open(&self, path: &str) -> Result<KfdFile, PortError> {
        self.take(
            || format!("open {path}"),
            |record| match record {
                Record::Open {
                    path: known,
                    answer,
                } if known == path => Some(*answer),
                _ => None,
            },
        )
        .unwrap_or(Err(NO_RECORD))
        .map(KfdFile)
        .map_err(|errno| PortError::file(path, errno))
    }

    fn close(&self, file: KfdFile) {
        self.take(
            || format!("close {}", file.0),
            |record| (*record == Record::Close { file: file.0 }).then_some(()),
        );
    }

    unsafe fn ioctl_raw(
        &self,
        file: KfdFile,
        request: u32,
        argument: &mut [u8],
    ) -> Result<(), i32> {
        let room = layout::array(request, argument);
        let asked = argument.to_vec();
        let wait = request as u8 == WaitEvents::INFO.nr && layout::info(request).is_some();
        let found = self.take(
            || {
                if depends_on_timing(request) {
                    return String::new();
                }
                let name = layout::info(request).map_or("OTHER", |info| info.name);
                let values: Vec<String> = layout::info(request)
                    .into_iter()
                    .flat_map(layout::fields)
                    .filter(|field| field.value(&asked) != 0)
                    .map(|field| format!("{}={:#x}", field.name, field.value(&asked)))
                    .collect();
                format!("ioctl {} {name} {}", file.0, values.join(" "))
            },
            |record| match record {
                Record::Ioctl {
                    file: known,
                    request: recorded,
                    before,
                    after,
                    array_before,
                    array_after,
                    answer,
                } if *known == file.0
                    && *recorded == request
                    && same_question(request, before, &asked) =>
                {
                    // A wait's array has ages, an aperture's is empty: the arrays of GPU ids and masks are questions.
                    let question = !wait && array_before == array_after;
                    let same = match room {
                        Some((address, bytes)) if question => {
                            let start: *const u8 =
                                core::ptr::with_exposed_provenance(address as usize);
                            // SAFETY: the pointer is valid for what the ioctl reads there, by the caller's
                            // promise.
                            let here = unsafe { core::slice::from_raw_parts(start, bytes) };
                            here == array_before.as_slice() || layout::info(request).is_none()
                        }
                        _ => true,
                    };
                    same.then(|| (before.clone(), after.clone(), array_after.clone(), *answer))
                }
                _ => None,
            },
        );
        let Some((before, after, array, answer)) = found else {
            return self.unrecorded(request, argument);
        };
        write_answer(request, &before, &after, argument);
        if let Some((address, bytes)) = room {
            let start: *mut u8 = core::ptr::with_exposed_provenance_mut(address as usize);
            let bytes = bytes.min(array.len());
            // SAFETY: the pointer is valid for what the ioctl writes there, by the caller's promise, and no more bytes
            // are written than the argument has room for. Where the ioctl only reads, what is written is what is there.
            let here = unsafe { core::slice::from_raw_parts_mut(start, bytes) };
            if here != &array[..bytes] {
                here.copy_from_slice(&array[..bytes]);
            }
        }
        answer
    }

    unsafe fn map(&self, mapping: &Mapping) -> Result<NonNull<u8>, PortError> {
        let answer = self
            .take(
                || format!("map {mapping:?}"),
                |record| match record {
                    Record::Map {
                        file,
                        offset,
                        size,
                        protection,
                        fixed,
                        answer,
                    } if *file == mapping.file.map(|file| file.0)
                        && *offset == mapping.offset
                        && *size == mapping.size as u64
                        && *protection == mapping.protection
                        && fixed.is_some() == mapping.fixed.is_some() =>
                    {
                        Some(*answer)
                    }
                    _ => None,
                },
            )
            .unwrap_or(Err(NO_RECORD));
        if let Err(errno) = answer {
            return Err(PortError::Map {
                size: mapping.size,
                offset: mapping.offset,
                errno,
            });
        }
        // SAFETY: as the caller promised; anonymous memory stands for what the file has.
        unsafe {
            self.memory.map(&Mapping {
                file: None,
                offset: 0,
                ..*mapping
            })
        }
    }

    unsafe fn unmap(&self, address: NonNull<u8>, size: usize) {
        // SAFETY: as the caller promised.
        unsafe { self.memory.unmap(address, size) };
    }

    unsafe fn wipe_on_fork(&self, address: NonNull<u8>, size: usize) -> Result<(), PortError> {
        // SAFETY: as the caller promised.
        unsafe { self.memory.wipe_on_fork(address, size) }
    }

    unsafe fn place(
        &self,
        address: NonNull<u8>,
        size: usize,
        node: u32,
        strict: bool,
    ) -> Result<(), PortError> {
        // No question to the driver.
        // SAFETY: passed on as it came.
        unsafe { self.memory.place(address, size, node, strict) }
    }

    fn read_file(&self, path: &str, buffer: &mut [u8]) -> Result<usize, PortError> {
        let bytes = self
            .take(
                || format!("read {path}"),
                |record| match record {
                    Record::Read {
                        path: known,
                        answer,
                    } if known == path => Some(answer.clone()),
                    _ => None,
                },
            )
            .unwrap_or(Err(NO_RECORD))
            .map_err(|errno| PortError::file(path, errno))?;
        let length = bytes.len().min(buffer.len());
        buffer[..length].copy_from_slice(&bytes[..length]);
        Ok(length)
    }

    fn list_directory(&self, path: &str, visit: &mut dyn FnMut(&str)) -> Result<(), PortError> {
        let names = self
            .take(
                || format!("list {path}"),
                |record| match record {
                    Record::List {
                        path: known,
                        answer,
                    } if known == path => Some(answer.clone()),
                    _ => None,
                },
            )
            .unwrap_or(Err(NO_RECORD))
            .map_err(|errno| PortError::file(path, errno))?;
        names.iter().for_each(|name| visit(name));
        Ok(())
    }
}
