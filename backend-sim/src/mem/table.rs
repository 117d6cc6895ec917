//! A radix table from page number to region record, read without locks.
//!
//! Three levels of 12 bits cover 48 address bits in 4 KiB pages. An entry of the middle level may
//! be a record itself, when all of its 16 MiB belong to one region. Records are never given back
//! before the table: they are reused, and a sequence number lets a reader notice. Writers are
//! serialised by the caller ([`super::AddressMap`]'s lock).

use super::{PAGE_SHIFT, VA_BITS};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};

const LEVEL_BITS: u32 = 12;
const ENTRIES: usize = 1 << LEVEL_BITS;
const RECORDS_PER_CHUNK: usize = 64;
/// Set in entries that point to a record, clear in those that point to a node.
const RECORD_TAG: usize = 1;

/// A region as readers see it. All fields are atomics: a reader may look at a record that is
/// just being reused, and then finds the sequence number changed.
#[repr(align(64))]
pub(super) struct Record {
    /// Odd while the record changes hands.
    sequence: AtomicU64,
    base: AtomicU64,
    end: AtomicU64,
    host: AtomicPtr<u8>,
    /// Bit n: agent n may read.
    pub(super) readable: AtomicU64,
    /// Bit n: agent n may write.
    pub(super) writable: AtomicU64,
    /// Bit n: agent n may execute.
    pub(super) executable: AtomicU64,
}

/// A consistent copy of a record.
#[derive(Clone, Copy)]
pub(super) struct Snapshot {
    pub base: u64,
    pub end: u64,
    pub host: *mut u8,
    pub readable: u64,
    pub writable: u64,
    pub executable: u64,
}

impl Record {
    const fn new() -> Self {
        Self {
            sequence: AtomicU64::new(0),
            base: AtomicU64::new(0),
            end: AtomicU64::new(0),
            host: AtomicPtr::new(core::ptr::null_mut()),
            readable: AtomicU64::new(0),
            writable: AtomicU64::new(0),
            executable: AtomicU64::new(0),
        }
    }

    /// A copy, or `None` if the record was changing hands.
    fn snapshot(&self) -> Option<Snapshot> {
        let before = self.sequence.load(Ordering::Acquire);
        let copy = Snapshot {
            base: self.base.load(Ordering::Relaxed),
            end: self.end.load(Ordering::Relaxed),
            host: self.host.load(Ordering::Relaxed),
            readable: self.readable.load(Ordering::Relaxed),
            writable: self.writable.load(Ordering::Relaxed),
            executable: self.executable.load(Ordering::Relaxed),
        };
        fence(Ordering::Acquire);
        let after = self.sequence.load(Ordering::Relaxed);
        (before == after && before & 1 == 0).then_some(copy)
    }

    fn fill(&self, from: &Snapshot) {
        self.sequence.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::Release);
        self.base.store(from.base, Ordering::Relaxed);
        self.end.store(from.end, Ordering::Relaxed);
        self.host.store(from.host, Ordering::Relaxed);
        self.readable.store(from.readable, Ordering::Relaxed);
        self.writable.store(from.writable, Ordering::Relaxed);
        self.executable.store(from.executable, Ordering::Relaxed);
        self.sequence.fetch_add(1, Ordering::Release);
    }
}

/// Names a live record of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RecordRef(*const Record);

// SAFETY: the pointer is to a `Record` of atomics that lives as long as its table; the owner of the
// reference (the address map) is what keeps the table alive.
unsafe impl Send for RecordRef {}

struct Node([AtomicPtr<u8>; ENTRIES]);

impl Node {
    fn new() -> Box<Self> {
        let layout = core::alloc::Layout::new::<Self>();
        // SAFETY: the layout is not empty; all-zero bytes are null pointers, which `AtomicPtr`
        // may hold; a null answer goes to the allocation error handler.
        unsafe {
            let memory = alloc::alloc::alloc_zeroed(layout).cast::<Self>();
            if memory.is_null() {
                alloc::alloc::handle_alloc_error(layout);
            }
            Box::from_raw(memory)
        }
    }
}

/// What an entry points to.
enum Entry {
    Empty,
    Record(*const Record),
    Node(*mut Node),
}

fn entry(slot: &AtomicPtr<u8>) -> Entry {
    let pointer = slot.load(Ordering::Acquire);
    if pointer.is_null() {
        Entry::Empty
    } else if pointer.addr() & RECORD_TAG != 0 {
        Entry::Record(pointer.map_addr(|a| a & !RECORD_TAG).cast::<Record>())
    } else {
        Entry::Node(pointer.cast::<Node>())
    }
}

fn tagged(record: Option<RecordRef>) -> *mut u8 {
    match record {
        Some(record) => record
            .0
            .cast_mut()
            .cast::<u8>()
            .map_addr(|a| a | RECORD_TAG),
        None => core::ptr::null_mut(),
    }
}

const fn index(va: u64, level: u32) -> usize {
    (va >> (PAGE_SHIFT + LEVEL_BITS * (2 - level))) as usize & (ENTRIES - 1)
}

/// Bytes that one entry of the middle level covers.
const MIDDLE_BYTES: u64 = 1 << (PAGE_SHIFT + LEVEL_BITS);

pub(super) struct Table {
    root: Box<Node>,
}

/// Where records live. Kept by the writer, apart from the table, behind its lock.
#[derive(Default)]
pub(super) struct Records {
    chunks: Vec<Box<[Record]>>,
    free: Vec<RecordRef>,
}

impl Records {
    pub(super) fn create(&mut self, contents: &Snapshot) -> RecordRef {
        if self.free.is_empty() {
            let chunk: Box<[Record]> = (0..RECORDS_PER_CHUNK).map(|_| Record::new()).collect();
            self.free
                .extend(chunk.iter().map(|record| RecordRef(record)));
            self.chunks.push(chunk);
        }
        match self.free.pop() {
            Some(record) => {
                self.get(record).fill(contents);
                record
            }
            None => unreachable!("a chunk was just added"),
        }
    }

    /// The record is no longer in the table.
    pub(super) fn retire(&mut self, record: RecordRef) {
        self.get(record).fill(&Snapshot {
            base: 0,
            end: 0,
            host: core::ptr::null_mut(),
            readable: 0,
            writable: 0,
            executable: 0,
        });
        self.free.push(record);
    }

    pub(super) fn get(&self, record: RecordRef) -> &Record {
        // SAFETY: references are made by `create` alone, from chunks that `self` keeps until it
        // is dropped.
        unsafe { &*record.0 }
    }
}

impl Table {
    pub(super) fn new() -> Self {
        Self { root: Node::new() }
    }

    /// The record that covers an address.
    pub(super) fn find(&self, va: u64) -> Option<Snapshot> {
        if va >> VA_BITS != 0 {
            return None;
        }
        loop {
            let Entry::Node(middle) = entry(&self.root.0[index(va, 0)]) else {
                return None;
            };
            // SAFETY: nodes are only freed when the table is dropped, which takes `&mut self`.
            let record = match entry(unsafe { &(&*middle).0[index(va, 1)] }) {
                Entry::Empty => return None,
                Entry::Record(record) => record,
                // SAFETY: as above.
                Entry::Node(leaf) => match entry(unsafe { &(&*leaf).0[index(va, 2)] }) {
                    Entry::Record(record) => record,
                    _ => return None,
                },
            };
            // SAFETY: records live in chunks that the address map drops after the table.
            if let Some(found) = unsafe { &*record }.snapshot()
                && found.base <= va
                && va < found.end
            {
                return Some(found);
            }
            // The record changed hands between the table and here: look again.
            core::hint::spin_loop();
        }
    }

    /// Points all pages of `base..end` to a record, or to nothing. One writer at a time.
    pub(super) fn set(&self, base: u64, end: u64, record: Option<RecordRef>) {
        let mut va = base;
        while va < end {
            let block = va & !(MIDDLE_BYTES - 1);
            let stop = end.min(block + MIDDLE_BYTES);
            let middle = self.node(&self.root.0[index(va, 0)]);
            let slot = &middle.0[index(va, 1)];
            let whole = va == block && stop == block + MIDDLE_BYTES;
            if whole && !matches!(entry(slot), Entry::Node(_)) {
                slot.store(tagged(record), Ordering::Release);
            } else {
                let leaf = self.node(slot);
                for page in (va..stop).step_by(1 << PAGE_SHIFT) {
                    leaf.0[index(page, 2)].store(tagged(record), Ordering::Release);
                }
            }
            va = stop;
        }
    }

    /// The node behind an entry; makes one if there is none. A record that stood there is
    /// spread over the new node first, so that readers always find it.
    fn node<'a>(&'a self, slot: &'a AtomicPtr<u8>) -> &'a Node {
        let node = match entry(slot) {
            Entry::Node(node) => node,
            other => {
                let node = Node::new();
                if let Entry::Record(record) = other {
                    for entry in &node.0 {
                        entry.store(tagged(Some(RecordRef(record))), Ordering::Relaxed);
                    }
                }
                let node = Box::into_raw(node);
                slot.store(node.cast(), Ordering::Release);
                node
            }
        };
        // SAFETY: nodes are only freed when the table is dropped.
        unsafe { &*node }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        for top in &self.root.0 {
            let Entry::Node(middle) = entry(top) else {
                continue;
            };
            // SAFETY: `&mut self` means that no reader is left; each node was made by
            // `Box::into_raw` and is pointed to by exactly one entry.
            let middle = unsafe { Box::from_raw(middle) };
            for slot in &middle.0 {
                if let Entry::Node(leaf) = entry(slot) {
                    // SAFETY: as above.
                    drop(unsafe { Box::from_raw(leaf) });
                }
            }
        }
    }
}
