//! Making calls, and holding each answer to the next line of the record.

use super::left_out::LEFT_OUT;
use super::system::System;
use rukh_core::kfd::uapi::*;
use rukh_core::kfd::{KfdFile, KfdPort, Mapping, Protection};
use std::ptr::NonNull;
use std::thread;
use std::time::{Duration, Instant};
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
        29 => "ESPIPE",
        other => return other.to_string(),
    };
    name.into()
}

/// What is left of a line when all is taken off that differs from run to run: times, clocks, process and file numbers, the
/// device's major number, and the rest of a wait's time that was interrupted.
pub fn normal(line: &str) -> String {
    let line = line.split(" (MONO_RAW").next().unwrap_or(line);
    let line = line.split(" us each)").next().unwrap_or(line);
    let line = match line.split_once("/proc/") {
        Some((before, after)) => {
            let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{before}/proc/*{rest}")
        }
        None => line.to_string(),
    };
    if !line.is_empty() && line.chars().all(|c| c.is_ascii_digit()) {
        return "*".into();
    }
    let interrupted = line.contains("signal@");
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut kept: Vec<String> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let measured = words
            .get(at + 1)
            .is_some_and(|unit| *unit == "us" || *unit == "ns/op");
        match word.split_once('=') {
            Some(("t" | "cpu" | "sys", _)) => {}
            Some(("pid", _)) => kept.push("pid=*".into()),
            Some(("fd", number)) if !number.starts_with('-') => kept.push("fd=*".into()),
            Some(("rdev", number)) => {
                let minor = number.split(':').nth(1).unwrap_or(number);
                kept.push(format!("rdev=*:{minor}"));
            }
            Some(("timeout_out", left)) if interrupted && left != "0xffffffff" => {
                kept.push("timeout_out=*".into());
            }
            // `(4.0`, of which the unit is cut off above.
            None if word.starts_with('(') && word[1..].parse::<f64>().is_ok() => {}
            None if measured => kept.push("*".into()),
            _ => kept.push((*word).into()),
        }
    }
    kept.join(" ")
}

/// Makes calls and looks their answers up.
pub struct Replay<'f, P> {
    pub port: &'f P,
    pub file: KfdFile,
    /// What a port has not.
    pub system: Option<&'f dyn System>,
    lines: Vec<&'f str>,
    at: usize,
    /// The row of the list of lines to leave out that is next.
    row: usize,
    /// Where a child process writes its lines to.
    pub pipe: Option<i32>,
    /// Whether to print what was answered: a record of this machine.
    pub print: bool,
    /// Lines that were held to an answer.
    pub compared: usize,
    /// Lines that cannot be, and why.
    pub left_out: Vec<(String, &'static str)>,
    /// What differs.
    pub wrong: Vec<String>,
}

impl<'f, P: KfdPort> Replay<'f, P> {
    pub fn new(port: &'f P, record: &'f str) -> Self {
        Self {
            port,
            file: KfdFile(-1),
            system: None,
            lines: record.lines().collect(),
            at: 0,
            row: 0,
            pipe: None,
            print: false,
            compared: 0,
            left_out: Vec::new(),
            wrong: Vec::new(),
        }
    }

    /// What must hold besides the record's lines.
    pub fn check(&mut self, holds: bool, what: &str) {
        if !holds {
            self.wrong.push(format!("not so: {what}"));
        }
    }

    /// Holds an answer to the next line.
    pub fn line(&mut self, answer: &str) {
        if let (Some(pipe), Some(system)) = (self.pipe, self.system) {
            system.write_line(pipe, answer);
            return;
        }
        if self.print {
            println!("{answer}");
        }
        let answer = normal(answer);
        match self.lines.get(self.at) {
            Some(line) if normal(line) == answer => self.compared += 1,
            Some(line) => self
                .wrong
                .push(format!("recorded: {line}\n  answered: {answer}")),
            None => self.wrong.push(format!("not in the record: {answer}")),
        }
        self.at += 1;
    }

    /// Leaves so many of the next lines out, which are the next of the list but for those that were asked here.
    pub fn leave_out(&mut self, count: usize) {
        for _ in 0..count {
            let line = self.lines.get(self.at).copied().unwrap_or("the end");
            match LEFT_OUT[self.row..].iter().position(|row| row.is(line)) {
                Some(ahead) => {
                    self.row += ahead;
                    let reason = LEFT_OUT[self.row].reason;
                    self.left_out.push((line.trim().into(), reason));
                    self.row += 1;
                }
                None => self.wrong.push(format!("not to be left out: {line}")),
            }
            self.at += 1;
        }
    }

    /// Leaves the next line out, for what this machine is.
    pub fn leave_out_here(&mut self, reason: &'static str) {
        let line = self.lines.get(self.at).copied().unwrap_or("the end");
        self.left_out.push((line.trim().into(), reason));
        self.at += 1;
    }

    /// That all of the record was looked at.
    pub fn end(&mut self) {
        let left = self.lines.len().saturating_sub(self.at);
        self.check(left == 0, &format!("{left} lines are left of the record"));
    }

    pub fn said(&mut self, label: &str, answer: &str) {
        self.line(&format!("{label:46} {answer}"));
    }

    pub fn answer(&mut self, label: &str, answer: Result<(), i32>, more: &str) {
        let text = match answer {
            Ok(()) => format!("ret=0 errno=0 {more}"),
            Err(errno) => format!("ret=-1 errno={} {more}", name(errno)),
        };
        self.said(label, &text);
    }

    pub fn raw(&self, request: u32, argument: &mut [u8]) -> Result<(), i32> {
        // SAFETY: whatever pointers there are come from these calls, and are valid or refused by their number.
        unsafe { self.port.ioctl_raw(self.file, request, argument) }
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
        let answer = unsafe { self.port.map(&mapping) };
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
        let begun = Instant::now();
        let (answer, a, age) = wait(self.port, self.file, ids, all, timeout);
        self.waited(label, answer, &a, age, begun.elapsed());
    }

    /// What a wait answered.
    pub fn waited(
        &mut self,
        label: &str,
        answer: Result<(), i32>,
        a: &WaitEvents,
        age: u64,
        lasted: Duration,
    ) {
        let ms = lasted.as_secs_f64() * 1e3;
        let (result, left) = (a.wait_result, a.timeout);
        let more = format!("wait_result={result} timeout_out={left:#x} t={ms:.2}ms age={age}");
        self.answer(label, answer, &more);
    }

    /// A wait, during which another thread does something; when it was over after that.
    pub fn wait_while(
        &mut self,
        label: &str,
        ids: &[u32],
        all: bool,
        timeout: u32,
        then: impl FnOnce(&P, KfdFile) + Send,
    ) {
        let (port, file) = (self.port, self.file);
        let began = thread::scope(|scope| {
            let other = scope.spawn(move || {
                thread::sleep(Duration::from_millis(30));
                let began = Instant::now();
                then(port, file);
                began
            });
            self.wait(label, ids, all, timeout);
            other.join()
        });
        let latency = began.map_or(0.0, |began| began.elapsed().as_secs_f64() * 1e6);
        self.line(&format!("   wake latency after op start: {latency:.1} us"));
    }
}

pub fn wait<P: KfdPort>(
    port: &P,
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
    let answer = unsafe { port.ioctl_raw(file, WaitEvents::INFO.request, a.as_mut_bytes()) };
    (answer, a, list.first().map_or(0, |data| data.data[0]))
}

pub fn set<P: KfdPort>(port: &P, file: KfdFile, event_id: u32) {
    let mut a = SetEvent { event_id, pad: 0 };
    // SAFETY: no pointers.
    let answer = unsafe { port.ioctl_raw(file, SetEvent::INFO.request, a.as_mut_bytes()) };
    assert_eq!(answer, Ok(()));
}

pub fn destroy<P: KfdPort>(port: &P, file: KfdFile, event_id: u32) {
    let mut a = DestroyEvent { event_id, pad: 0 };
    // SAFETY: no pointers.
    let answer = unsafe { port.ioctl_raw(file, DestroyEvent::INFO.request, a.as_mut_bytes()) };
    assert_eq!(answer, Ok(()));
}

pub fn request(direction: u32, nr: u32, size: u32) -> u32 {
    direction << 30 | size << 16 | u32::from(IOCTL_BASE) << 8 | nr
}
