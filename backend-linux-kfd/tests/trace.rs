//! Recordings: text that reads back as it was, and a run that replays.

mod fake;

use fake::{Fake, FakeGpu};
use rukh_backend_linux_kfd::sys::{FileSink, LinuxPort};
use rukh_backend_linux_kfd::trace::{self, ParseError, Record, ReplayPort, TracePort};
use rukh_backend_linux_kfd::{KfdBackend, topology::TreePort};
use rukh_core::backend::*;
use rukh_core::kfd::{KfdPort, Protection};
use std::sync::{Arc, Mutex};

/// A client's run, the same on any port; what it saw, as text without addresses.
fn client<P: KfdPort>(backend: &KfdBackend<P>) -> Vec<String> {
    let mut seen = Vec::new();
    for agent in (0..backend.agent_count()).map(AgentId) {
        seen.push(format!("{:?}", backend.agent(agent)));
    }
    let (cpu, gpu) = (AgentId(0), AgentId(1));
    let host = MemoryFlags::HOST_ACCESS | MemoryFlags::WRITABLE;
    let allocate = |agent, size, flags| {
        backend
            .allocate(&MemoryRequest {
                bank: BankId { agent, index: 0 },
                size,
                align: 4096,
                flags,
            })
            .unwrap()
    };
    let event = backend.create_event(EventKind::Signal).unwrap();
    let page = allocate(cpu, 4096, host | MemoryFlags::QUEUE);
    let ring = allocate(cpu, 4096, host | MemoryFlags::QUEUE);
    let vram = allocate(gpu, 1 << 21, host);
    backend.map(page.handle, &[gpu]).unwrap();
    backend.map(ring.handle, &[gpu]).unwrap();
    backend.map(vram.handle, &[gpu, AgentId(2)]).unwrap();
    let queue = backend
        .create_queue(&QueueRequest {
            agent: gpu,
            kind: QueueKind::Compute,
            ring: ring.gpu_va,
            ring_bytes: 4096,
            write_index: page.gpu_va + 56,
            read_index: page.gpu_va + 128,
            descriptor: page.gpu_va,
            priority: QueuePriority::Normal,
            error_event: Some(event),
        })
        .unwrap();
    seen.push(format!("{:?}", backend.set_cu_mask(queue.handle, &[3, 0])));
    seen.push(format!("{:?}", backend.set_event(event)));
    let mut wait = |timeout| {
        let outcome = backend.wait_events(&[event], WaitMode::Any, timeout, &mut |_| {});
        seen.push(format!("{outcome:?}"));
    };
    wait(Timeout::Never);
    wait(Timeout::Poll);
    let bank = BankId {
        agent: gpu,
        index: 0,
    };
    seen.push(format!("{:?}", backend.available(bank)));
    backend.destroy_queue(queue.handle).unwrap();
    // SAFETY: nothing uses it.
    unsafe { backend.free(vram.handle) }.unwrap();
    seen
}

fn machine() -> Fake {
    Fake::new("gfx942", &FakeGpu::GFX942)
}

fn record() -> (String, Vec<String>) {
    let text = Arc::new(Mutex::new(String::new()));
    let lines = text.clone();
    let port = TracePort::new(machine(), move |line: &str| {
        let mut text = lines.lock().unwrap();
        text.push_str(line);
        text.push('\n');
    });
    let backend = KfdBackend::open(port).unwrap();
    let seen = client(&backend);
    drop(backend);
    let text = text.lock().unwrap().clone();
    (text, seen)
}

#[test]
fn a_recorded_run_replays_without_a_difference() {
    let (text, seen) = record();
    let port = Arc::new(ReplayPort::new(&text, LinuxPort).unwrap());
    let backend = KfdBackend::open(port.clone()).unwrap();
    assert_eq!(client(&backend), seen);
    drop(backend);
    assert_eq!(port.differences(), [""; 0]);
    assert_eq!(port.left(), [""; 0]);
}

#[test]
fn every_line_reads_back_as_the_record_that_it_was_written_from() {
    let (text, _) = record();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(trace::HEADER));
    let mut count = 0;
    for line in lines {
        assert!(line.is_ascii());
        let record = Record::parse(line).unwrap_or_else(|what| panic!("no {what}: {line}"));
        assert_eq!(record.to_string(), line);
        count += 1;
    }
    assert!(count > 100);
}

#[test]
fn a_line_shows_fields_by_name_and_only_what_changed_behind_the_arrow() {
    let (text, _) = record();
    let line = |start: &str| text.lines().find(|line| line.contains(start)).unwrap();
    assert!(
        line("GET_VERSION")
            .ends_with("GET_VERSION 0x80084b01 -> major_version=0x1 minor_version=0x11 = 0")
    );
    let queue = line("CREATE_QUEUE");
    assert!(queue.contains(" queue_type=0x2 queue_percentage=0x64 queue_priority=0x7 "));
    assert!(queue.contains(" ctx_save_restore_size=0x1621000 ctl_stack_size=0x3000 "));
    assert!(queue.contains(" -> doorbell_offset=0x"));
    assert!(
        line("MAP_MEMORY_TO_GPU").contains(" array=b3700000 "),
        "ids are little-endian"
    );
}

#[test]
fn records_of_all_kinds_and_answers_survive_the_text() {
    let path = String::from("/a \"b\"\\\u{e9}\n");
    let records = [
        Record::Open {
            path: path.clone(),
            answer: Err(13),
        },
        Record::Open {
            path: path.clone(),
            answer: Ok(4),
        },
        Record::Close { file: 4 },
        Record::Map {
            file: None,
            offset: 0,
            size: 4096,
            protection: Protection::None,
            fixed: None,
            answer: Ok(0x7000),
        },
        Record::Map {
            file: Some(4),
            offset: u64::MAX,
            size: 1,
            protection: Protection::ReadWrite,
            fixed: Some(0x7000),
            answer: Err(12),
        },
        Record::Unmap {
            address: 0x7000,
            size: 4096,
        },
        Record::Read {
            path: path.clone(),
            answer: Ok((0..=255).collect()),
        },
        Record::Read {
            path: path.clone(),
            answer: Ok(Vec::new()),
        },
        Record::List {
            path: path.clone(),
            answer: Ok(vec!["0".into(), "x y".into()]),
        },
        Record::List {
            path,
            answer: Err(2),
        },
        Record::Ioctl {
            file: 5,
            request: 0x4004_6445,
            before: vec![1, 2, 3, 4],
            array_before: Vec::new(),
            after: vec![1, 2, 3, 5],
            array_after: Vec::new(),
            answer: Err(22),
        },
    ];
    for record in records {
        let line = record.to_string();
        assert!(!line.contains('\n'));
        assert_eq!(Record::parse(&line), Ok(record), "{line}");
    }
}

#[test]
fn what_is_no_recording_is_refused_with_its_line() {
    let parse = |text: &str| ReplayPort::new(text, TreePort::default()).err();
    assert_eq!(parse(""), Some(ParseError::Header));
    assert_eq!(parse("rukh-kfd-trace 2\n"), Some(ParseError::Header));
    for (line, what) in [
        ("explode", "call"),
        ("open /dev/kfd = 1", "quoted text"),
        ("open \"/dev/kfd\"", "call with an answer"),
        ("close x", "number"),
        (
            "ioctl 4 GET_VERSION 0xc0284b16 -> = 0",
            "ioctl of that request",
        ),
        ("ioctl 4 GET_VERSION 0x80084b01 colour=1 -> = 0", "field"),
        ("ioctl 4 GET_VERSION 0x80084b01 = 0", "call with an arrow"),
        ("read \"x\" = \"\\q\"", "escape"),
        ("map 4 0 0 rwx = 0", "protection"),
        (
            "ioctl 4 OTHER 0x1 bytes=abc -> = 0",
            "pair of hexadecimal digits",
        ),
    ] {
        let text = format!("{}\n# a comment\n\n{line}\n", trace::HEADER);
        assert_eq!(
            parse(&text),
            Some(ParseError::Line { line: 4, what }),
            "{line}"
        );
    }
}

#[test]
fn damaged_recordings_panic_nowhere() {
    let (text, _) = record();
    let bytes = text.into_bytes();
    for at in (0..bytes.len()).step_by(37) {
        let mut damaged = bytes.clone();
        damaged[at] = damaged[at].wrapping_add(7) & 0x7f;
        damaged.truncate(at + 400);
        let text = String::from_utf8_lossy(&damaged).into_owned();
        if let Ok(port) = ReplayPort::new(&text, LinuxPort) {
            let _ = KfdBackend::open(port);
        }
    }
}

#[test]
fn a_run_that_differs_is_answered_with_an_error_and_told() {
    let (text, _) = record();
    let port = Arc::new(ReplayPort::new(&text, LinuxPort).unwrap());
    let backend = KfdBackend::open(port.clone()).unwrap();
    let other = MemoryRequest {
        bank: BankId {
            agent: AgentId(1),
            index: 0,
        },
        size: 0x5000,
        align: 4096,
        flags: MemoryFlags::WRITABLE,
    };
    assert!(backend.allocate(&other).is_err());
    assert!(port.differences()[0].starts_with("map "));
}

#[test]
fn a_recording_goes_to_the_file_that_the_variable_names() {
    assert_eq!(trace::file_of("kfd:/tmp/x"), Some("/tmp/x"));
    assert_eq!(trace::file_of("aql:/tmp/y,kfd:z"), Some("z"));
    assert_eq!(trace::file_of("aql"), None);
    let path = std::env::temp_dir().join(format!("rukh-trace-{}", std::process::id()));
    let sink = FileSink::create(path.to_str().unwrap()).unwrap();
    let backend = KfdBackend::open(TracePort::new(Fake::gfx90a(), sink)).unwrap();
    drop(backend);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(text.starts_with(trace::HEADER));
    assert!(text.lines().last().unwrap().starts_with("close "));
}
