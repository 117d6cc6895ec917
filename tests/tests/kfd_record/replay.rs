//! Making calls and looking their answers up.

use rukh_backend_sim::kfd::KfdFace;
use rukh_core::kfd::uapi::*;
use rukh_core::kfd::{KfdFile, KfdPort, Mapping, Protection};
use std::ptr::NonNull;
use std::thread;
use std::time::Duration;
use zerocopy::IntoBytes;

pub fn name(errno: i32) -> String {
    let name = match errno {
        1 => "EPERM",
        4 => "EINTR",
        5 => "EIO",
        9 => "EBADF",
        12 => "ENOMEM",
        14 => "EFAULT",
        16 => "EBUSY",
        19 => "ENODEV",
        22 => "EINVAL",
        25 => "ENOTTY",
        28 => "ENOSPC",
        other => return other.to_string(),
    };
    name.into()
}

/// Makes calls and looks their answers up.
pub struct Replay<'f> {
    pub face: &'f KfdFace,
    pub file: KfdFile,
    pub lines: Vec<&'static str>,
    pub at: usize,
    pub compared: usize,
    pub wrong: Vec<String>,
}

/// Without what depends on the machine.
pub fn without_times(text: &str) -> String {
    let words = text.split_whitespace();
    words
        .filter(|word| {
            !word.starts_with("t=") && !word.starts_with("cpu=") && !word.starts_with("sys=")
        })
        .collect::<Vec<_>>()
        .join(" ")
}

impl Replay<'_> {
    pub fn said(&mut self, label: &str, answer: &str) {
        let found = self.lines[self.at..].iter().position(|line| {
            let rest = line.trim_start().strip_prefix(label);
            rest.is_some_and(|rest| rest.starts_with(' '))
        });
        let Some(found) = found else {
            self.wrong
                .push(format!("{label}: not in the record any more"));
            return;
        };
        let line = self.lines[self.at + found].trim_start();
        self.at += found + 1;
        self.compared += 1;
        let expected = without_times(&line[label.len()..]);
        let expected = expected.split(" (").next().unwrap_or("");
        if expected != without_times(answer) {
            self.wrong
                .push(format!("{label}: the kernel {expected}, the face {answer}"));
        }
    }

    pub fn answer(&mut self, label: &str, answer: Result<(), i32>, more: &str) {
        let text = match answer {
            Ok(()) => format!("ret=0 errno=0 {more}"),
            Err(errno) => format!("ret=-1 errno={} {more}", name(errno)),
        };
        self.said(label, &text);
    }

    pub fn raw(&self, request: u32, argument: &mut [u8]) -> Result<(), i32> {
        // SAFETY: whatever pointers there are come from this test, and are valid or refused by their number.
        unsafe { self.face.ioctl_raw(self.file, request, argument) }
    }

    pub fn call<A: Ioctl>(&self, argument: &mut A) -> Result<(), i32> {
        self.raw(A::INFO.request, argument.as_mut_bytes())
    }

    /// A call whose answer is its error alone.
    pub fn plain<A: Ioctl>(&mut self, label: &str, mut argument: A) {
        let answer = self.call(&mut argument);
        self.answer(label, answer, "");
    }

    pub fn version(&mut self, label: &str, request: u32) {
        let mut bytes = [0u8; 32];
        bytes[..8].copy_from_slice(&[9, 0, 0, 0, 9, 0, 0, 0]);
        let answer = self.raw(request, &mut bytes);
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
        let tail = if request >> 16 & 0x3fff == 32 {
            format!(" {}", word(8))
        } else {
            String::new()
        };
        self.answer(label, answer, &format!("v={}.{}{tail}", word(0), word(4)));
    }

    pub fn create(
        &mut self,
        label: &str,
        kind: u32,
        auto_reset: bool,
        page: u64,
        node: u32,
    ) -> u32 {
        let mut a = CreateEvent {
            event_page_offset: page,
            event_trigger_data: 0xaaaa,
            event_type: kind,
            auto_reset: u32::from(auto_reset),
            node_id: node,
            event_id: 0xbbbb,
            event_slot_index: 0xcccc,
        };
        let answer = self.call(&mut a);
        let more = format!(
            "off={:#x} trig={:#x} id={:#x} slot={:#x}",
            a.event_page_offset, a.event_trigger_data, a.event_id, a.event_slot_index
        );
        self.answer(label, answer, &more);
        a.event_id
    }

    pub fn map(
        &mut self,
        label: &str,
        offset: u64,
        size: usize,
        protection: Protection,
    ) -> Option<NonNull<u8>> {
        let mapping = Mapping {
            file: Some(self.file),
            offset,
            size,
            protection,
            fixed: None,
        };
        // SAFETY: not fixed.
        let answer = unsafe { self.face.map(&mapping) };
        let text = match &answer {
            Ok(_) => "ok errno=0".into(),
            Err(error) => format!("MAP_FAILED errno={}", name(error.errno())),
        };
        self.said(label, &text);
        answer.ok()
    }

    pub fn set(&mut self, label: &str, event_id: u32) {
        self.plain(label, SetEvent { event_id, pad: 0 });
    }

    pub fn reset(&mut self, label: &str, event_id: u32) {
        self.plain(label, ResetEvent { event_id, pad: 0 });
    }

    pub fn wait(&mut self, label: &str, ids: &[u32], all: bool, timeout: u32) {
        let (answer, a, age) = wait(self.face, self.file, ids, all, timeout);
        let more = format!(
            "wait_result={} timeout_out={:#x} age={age}",
            a.wait_result, a.timeout
        );
        self.answer(label, answer, &more);
    }

    /// A wait, during which another thread does something.
    pub fn wait_while(
        &mut self,
        label: &str,
        ids: &[u32],
        all: bool,
        timeout: u32,
        then: impl FnOnce(&KfdFace, KfdFile) + Send,
    ) {
        let (face, file) = (self.face, self.file);
        thread::scope(|scope| {
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(30));
                then(face, file);
            });
            self.wait(label, ids, all, timeout);
        });
    }
}

pub fn wait(
    face: &KfdFace,
    file: KfdFile,
    ids: &[u32],
    all: bool,
    timeout: u32,
) -> (Result<(), i32>, WaitEvents, u64) {
    let event = |id: &u32| EventData {
        event_id: *id,
        ..EventData::default()
    };
    let mut list: Vec<EventData> = ids.iter().map(event).collect();
    let mut a = WaitEvents {
        events_ptr: list.as_mut_ptr().expose_provenance() as u64,
        num_events: list.len() as u32,
        wait_for_all: u32::from(all),
        timeout,
        wait_result: 0,
    };
    // SAFETY: pointer and length are of one vector.
    let answer = unsafe { face.ioctl_raw(file, WaitEvents::INFO.request, a.as_mut_bytes()) };
    (answer, a, list.first().map_or(0, |data| data.data[0]))
}

pub fn set(face: &KfdFace, file: KfdFile, event_id: u32) {
    let mut a = SetEvent { event_id, pad: 0 };
    // SAFETY: no pointers.
    unsafe { face.ioctl_raw(file, SetEvent::INFO.request, a.as_mut_bytes()) }.unwrap();
}

pub fn destroy(face: &KfdFace, file: KfdFile, event_id: u32) {
    let mut a = DestroyEvent { event_id, pad: 0 };
    // SAFETY: no pointers.
    unsafe { face.ioctl_raw(file, DestroyEvent::INFO.request, a.as_mut_bytes()) }.unwrap();
}

pub fn request(direction: u32, nr: u32, size: u32) -> u32 {
    direction << 30 | size << 16 | u32::from(IOCTL_BASE) << 8 | nr
}
