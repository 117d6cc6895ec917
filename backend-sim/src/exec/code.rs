//! Decoded code, by page of the address space, filled lazily, an instruction at a time.
//!
//! A page keeps a copy of its bytes, taken when it is first executed, and a micro-op for each
//! dword: most never get one. What runs is what the copy says, as an instruction cache has it, until
//! the copy is compared with memory: when a dispatch starts, when code asks for it (s_icache_inv), and when a
//! mapping went away.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use super::alignment::Alignment;
use super::fuse;
use super::gang;
use super::lower::{self, Ext};
use super::microop::{MicroOp, OpFn};
use super::rows::Row;
use super::valu::Level;
use crate::isa::{Arch, DecodeError};
use crate::mem::{self, Access, MemoryView};

/// Bytes of address space that a page covers.
pub(crate) const PAGE: u64 = 4096;
/// Instruction slots of a page.
pub(crate) const SLOTS: usize = PAGE as usize / 4;
const FRONT: usize = 64;

/// The decoded form of one page.
pub(crate) struct Page {
    pub(crate) va: u64,
    pub(crate) ops: Box<[MicroOp]>,
    /// What executes each micro-op for waves that go together.
    pub(crate) together: Box<[OpFn]>,
    /// Details of instructions that a micro-op has no room for.
    pub(crate) ext: Vec<Ext>,
    /// Constants as rows: two dwords a lane.
    pub(crate) consts: Vec<[Row; 2]>,
    const_index: BTreeMap<u64, u32>,
    words: Box<[u32; SLOTS]>,
    /// Slots that could be read.
    readable: core::ops::Range<usize>,
    /// What all micro-ops together need of a wave's registers, as [`MicroOp::need`] has it.
    pub(crate) need: u32,
    /// How its memory instructions take addresses.
    pub(crate) alignment: Alignment,
    /// Of [`CodeCache::validate`]: the last round in which the page was seen to be what memory holds.
    checked: u64,
}

impl Page {
    /// A page with nothing readable.
    pub(crate) fn empty(va: u64) -> Page {
        Page {
            va,
            ops: (0..SLOTS as u16)
                .map(MicroOp::undecoded)
                .collect::<Vec<_>>()
                .into(),
            together: vec![MicroOp::undecoded(0).run; SLOTS].into(),
            ext: Vec::new(),
            consts: Vec::new(),
            const_index: BTreeMap::new(),
            words: Box::new([0; SLOTS]),
            readable: 0..0,
            need: 0,
            alignment: Alignment::Unaligned,
            checked: 0,
        }
    }

    /// The index of a constant's rows.
    pub(crate) fn constant(&mut self, value: u64) -> u32 {
        let consts = &mut self.consts;
        *self.const_index.entry(value).or_insert_with(|| {
            let index = consts.len() as u32;
            consts.push([Row([value as u32; 64]), Row([(value >> 32) as u32; 64])]);
            index
        })
    }

    /// The dwords from a slot to the end of what was readable.
    pub(crate) fn words(&self, slot: usize) -> &[u32] {
        if self.readable.contains(&slot) {
            &self.words[slot..self.readable.end]
        } else {
            &[]
        }
    }
}

/// Why an instruction could not be fetched or decoded.
#[derive(Debug)]
pub(crate) enum FetchError {
    /// Not mapped, or not executable.
    Unmapped { va: u64 },
    /// No instruction.
    Illegal {
        encoding: [u32; 3],
        error: DecodeError,
    },
}

/// Decoded code of one agent, for one worker: nothing on an instruction's path takes a lock.
pub struct CodeCache {
    arch: Arch,
    level: Level,
    alignment: Alignment,
    pages: Vec<Option<Box<Page>>>,
    index: BTreeMap<u64, u32>,
    front: Box<[(u64, u32); FRONT]>,
    generation: u64,
    /// Where memory is copied to for comparing.
    scratch: Box<[u32; SLOTS]>,
    /// Counts calls of [`CodeCache::validate`].
    round: u64,
}

impl CodeCache {
    /// An empty cache for code of `arch`, whose vector handlers are those of `level`, or of the best level that
    /// the host has if that is lower.
    pub fn new(arch: Arch, level: Level) -> Self {
        CodeCache {
            arch,
            level: level.min(Level::detect()),
            alignment: Alignment::Unaligned,
            pages: Vec::new(),
            index: BTreeMap::new(),
            front: Box::new([(u64::MAX, 0); FRONT]),
            generation: 0,
            scratch: Box::new([0; SLOTS]),
            round: 0,
        }
    }

    /// The same, for a device that takes addresses as the mode says. Called before anything is executed.
    #[must_use]
    pub fn aligned(mut self, alignment: Alignment) -> Self {
        self.clear();
        self.alignment = alignment;
        self
    }

    /// The instruction set.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// The level of its vector handlers.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Pages held.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Drops everything.
    pub fn clear(&mut self) {
        self.pages.clear();
        self.index.clear();
        self.front.fill((u64::MAX, 0));
    }

    /// From here on no page counts as what memory holds: each is compared with it before it is executed again, and
    /// dropped if it changed or is no longer executable. Called at the start of a dispatch and on an
    /// instruction-cache invalidate.
    pub fn validate(&mut self, view: &MemoryView) {
        self.generation = view.generation();
        self.round += 1;
        self.front.fill((u64::MAX, 0));
    }

    /// Whether a page is still what memory holds.
    fn is_current(view: &MemoryView, page: &Page, scratch: &mut [u32; SLOTS]) -> bool {
        let start = page.va + page.readable.start as u64 * 4;
        let read = snapshot(view, page.va, start, scratch);
        read.is_some_and(|readable| readable == page.readable)
            && scratch[page.readable.clone()] == page.words[page.readable.clone()]
    }

    /// [`CodeCache::validate`], if a mapping went away since the last time.
    #[inline]
    pub(crate) fn sync(&mut self, view: &MemoryView) {
        if self.generation != view.generation() {
            self.validate(view);
        }
    }

    /// The page of an address.
    #[inline]
    pub(crate) fn page(&mut self, view: &MemoryView, pc: u64) -> Result<&Page, FetchError> {
        let va = pc & !(PAGE - 1);
        let way = (va / PAGE) as usize % FRONT;
        let (tag, at) = self.front[way];
        let at = if tag == va {
            at
        } else {
            self.find_or_load(view, pc)?
        };
        self.pages[at as usize]
            .as_deref()
            .ok_or(FetchError::Unmapped { va: pc })
    }

    fn find_or_load(&mut self, view: &MemoryView, pc: u64) -> Result<u32, FetchError> {
        let va = pc & !(PAGE - 1);
        let slot = (pc - va) as usize / 4;
        let round = self.round;
        if let Some(&at) = self.index.get(&va) {
            let scratch = &mut self.scratch;
            let known = self.pages[at as usize].as_deref_mut().is_some_and(|page| {
                let current = page.checked == round || Self::is_current(view, page, scratch);
                page.checked = round;
                current && page.readable.contains(&slot)
            });
            if known {
                self.front[(va / PAGE) as usize % FRONT] = (va, at);
                return Ok(at);
            }
        }
        let mut words = Box::new([0u32; SLOTS]);
        let readable = snapshot(view, va, pc, &mut words).ok_or(FetchError::Unmapped { va: pc })?;
        let page = Box::new(Page {
            words,
            readable,
            checked: round,
            alignment: self.alignment,
            ..Page::empty(va)
        });
        let at = match self.index.get(&va) {
            Some(&at) => at,
            None => {
                self.pages.push(None);
                self.pages.len() as u32 - 1
            }
        };
        self.pages[at as usize] = Some(page);
        self.index.insert(va, at);
        self.front[(va / PAGE) as usize % FRONT] = (va, at);
        Ok(at)
    }

    /// Decodes the instruction at `pc` into its page.
    pub(crate) fn decode(&mut self, view: &MemoryView, pc: u64) -> Result<(), FetchError> {
        let slot = (pc % PAGE) as usize / 4;
        let words = self.fetch(view, pc)?;
        let mut bytes = vec![0u8; words.len() * 4];
        for (to, word) in bytes.chunks_exact_mut(4).zip(&words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        let inst = crate::isa::decode(self.arch, &bytes).map_err(|error| FetchError::Illegal {
            encoding: first_dwords(&words),
            error,
        })?;
        let (arch, level) = (self.arch, self.level);
        let va = pc & !(PAGE - 1);
        let Some(page) = self
            .index
            .get(&va)
            .and_then(|&at| self.pages.get_mut(at as usize))
            .and_then(|page| page.as_deref_mut())
        else {
            return Err(FetchError::Unmapped { va: pc });
        };
        let mut micro = lower::lower(arch, level, &inst, pc, page);
        micro.slot = slot as u16;
        micro.len = (inst.len / 4).max(1);
        (micro.skip, micro.weight) = (micro.len, 1);
        page.need = most(page.need, micro.need);
        page.ops[slot] = micro;
        // Sequences that execute as one take any address.
        if page.alignment.is_free() {
            fuse::extend(arch, level, page, slot, &inst);
        }
        page.together[slot] = gang::function(arch, level, &inst, page, slot);
        Ok(())
    }

    /// Up to five dwords at `pc` (the longest instruction has that many), from the copies.
    pub(crate) fn fetch(&mut self, view: &MemoryView, pc: u64) -> Result<Vec<u32>, FetchError> {
        const LONGEST: usize = 5;
        let slot = (pc % PAGE) as usize / 4;
        let page = self.page(view, pc)?;
        let mut words: Vec<u32> = page.words(slot).iter().copied().take(LONGEST).collect();
        if words.is_empty() {
            return Err(FetchError::Unmapped { va: pc });
        }
        let read = words.len();
        if slot + read == SLOTS
            && read < LONGEST
            && let Ok(next) = self.page(view, pc + read as u64 * 4)
        {
            words.extend(next.words(0).iter().take(LONGEST - read));
        }
        Ok(words)
    }
}

/// The larger of two needs of registers, for each kind of them.
pub(crate) fn most(a: u32, b: u32) -> u32 {
    (a & 0xffff).max(b & 0xffff) | (a >> 16).max(b >> 16) << 16
}

/// The first three dwords, zero where there are fewer.
pub(crate) fn first_dwords(words: &[u32]) -> [u32; 3] {
    core::array::from_fn(|i| words.get(i).copied().unwrap_or(0))
}

/// Copies the executable part of the page at `va` around `pc` to its slots; gives which they are, and leaves the others. All
/// dispatches begin with it, for each page of their code.
fn snapshot(
    view: &MemoryView,
    va: u64,
    pc: u64,
    words: &mut [u32; SLOTS],
) -> Option<core::ops::Range<usize>> {
    let span = view.lookup(pc)?;
    if !span.rights.contains(Access::Execute.needs()) {
        return None;
    }
    let start = span.base.max(va).next_multiple_of(4);
    let end = span.end.min(va + PAGE) & !3;
    if start > pc || end <= pc {
        return None;
    }
    let slots = (start - va) as usize / 4..(end - va) as usize / 4;
    let to = words.get_mut(slots.clone())?;
    let host = span.host.wrapping_add((start - span.base) as usize);
    // SAFETY: the span was looked up just now and covers `start..end`, of which the slots are made; the words are this
    // function's to write. Hosts are little-endian, as code is.
    unsafe { mem::raw::copy_in(host, to.as_mut_ptr().cast(), size_of_val(to)) };
    Some(slots)
}
