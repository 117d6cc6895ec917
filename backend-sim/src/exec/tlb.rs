//! The translations that a worker used last.

use crate::mem::{Access, MemoryView, Span};

const ENTRIES: usize = 8;
const HINTS: usize = 64;

/// Spans of the address map that were used last, dropped whenever a mapping goes away.
pub(crate) struct Tlb {
    spans: [Option<Span>; ENTRIES],
    last: usize,
    /// The entry that instructions used last, by the low bits of their places in their pages.
    hints: [u8; HINTS],
    victim: usize,
    generation: u64,
}

impl Tlb {
    pub(crate) fn new() -> Self {
        Tlb {
            spans: [const { None }; ENTRIES],
            last: 0,
            hints: [0; HINTS],
            victim: 0,
            generation: 0,
        }
    }

    /// Forgets everything if a mapping went away since the last call. Once an instruction.
    #[inline(always)]
    pub(crate) fn sync(&mut self, view: &MemoryView) {
        let now = view.generation();
        if now != self.generation {
            self.forget(now);
        }
    }

    #[cold]
    fn forget(&mut self, now: u64) {
        self.spans = [const { None }; ENTRIES];
        self.generation = now;
    }

    /// The host address of `len` bytes at `va`, if one mapping covers them all with the right
    /// to `access`.
    #[inline(always)]
    pub(crate) fn host(
        &mut self,
        view: &MemoryView,
        va: u64,
        len: u64,
        access: Access,
    ) -> Option<*mut u8> {
        if let Some(span) = &self.spans[self.last % ENTRIES]
            && let Some(host) = within(span, va, len, access)
        {
            return Some(host);
        }
        self.host_slow(view, va, len, access)
    }

    /// [`Tlb::host`] for the instruction at a slot, which tends to use the same mapping again.
    #[inline(always)]
    pub(crate) fn host_of(
        &mut self,
        slot: u16,
        view: &MemoryView,
        va: u64,
        len: u64,
        access: Access,
    ) -> Option<*mut u8> {
        let hint = usize::from(slot) % HINTS;
        if let Some(span) = &self.spans[usize::from(self.hints[hint]) % ENTRIES]
            && let Some(host) = within(span, va, len, access)
        {
            return Some(host);
        }
        let host = self.host_slow(view, va, len, access);
        self.hints[hint] = self.last as u8;
        host
    }

    /// The span that holds `va` with the right to `access`, for a caller that checks several
    /// addresses against it.
    #[inline(always)]
    pub(crate) fn span(&mut self, view: &MemoryView, va: u64, access: Access) -> Option<Span> {
        self.host(view, va, 1, access)?;
        self.spans[self.last % ENTRIES]
    }

    #[inline(never)]
    fn host_slow(
        &mut self,
        view: &MemoryView,
        va: u64,
        len: u64,
        access: Access,
    ) -> Option<*mut u8> {
        for (i, span) in self.spans.iter().enumerate() {
            if let Some(span) = span
                && let Some(host) = within(span, va, len, access)
            {
                self.last = i;
                return Some(host);
            }
        }
        let span = view.lookup(va)?;
        let host = within(&span, va, len, access)?;
        self.victim = (self.victim + 1) % ENTRIES;
        self.last = self.victim;
        self.spans[self.victim] = Some(span);
        Some(host)
    }
}

/// The host address of `len` bytes at `va` inside a span.
#[inline(always)]
pub(crate) fn within(span: &Span, va: u64, len: u64, access: Access) -> Option<*mut u8> {
    if span.contains(va, len) && span.rights.contains(access.needs()) {
        Some(span.host_address(va))
    } else {
        None
    }
}
