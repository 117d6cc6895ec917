//! What a micro-op sees of the wave and its surroundings while it runs.

use alloc::boxed::Box;

use super::barrier::Barriers;
use super::code::{PAGE, Page, first_dwords};
use super::context::{Apertures, Clock, Place};
use super::fault::{Fault, FaultKind};
use super::microop::{CONST, Flow, MicroOp};
use super::rows::Temps;
use super::run::Exit;
use super::scalars::SCC;
use super::shared::Shared;
use super::tlb::Tlb;
use super::wave::Wave;
use crate::isa::Arch;
use crate::mem::{Access, MemoryView};

/// A wave with everything that an instruction may touch.
pub(crate) struct Machine<'m> {
    pub(crate) wave: &'m mut Wave,
    pub(crate) view: &'m MemoryView,
    pub(crate) lds: &'m mut [u8],
    pub(crate) temps: &'m mut Temps,
    pub(crate) tlb: &'m mut Tlb,
    pub(crate) clock: &'m dyn Clock,
    pub(crate) apertures: Apertures,
    pub(crate) place: Place,
    pub(crate) shared: &'m Shared,
    pub(crate) barriers: &'m mut Barriers,
    /// Where [`Flow::Jump`] goes.
    pub(crate) target: u64,
    /// Why [`Flow::Stop`] stops.
    pub(crate) exit: Option<Exit>,
}

impl Machine<'_> {
    pub(crate) fn arch(&self) -> Arch {
        self.wave.arch
    }

    pub(crate) fn is_gfx9(&self) -> bool {
        self.wave.arch.is_gfx9()
    }

    /// A 32-bit scalar source.
    #[inline(always)]
    pub(crate) fn s32(&self, op: &MicroOp, i: usize) -> u32 {
        let src = op.src[i];
        if src == CONST {
            op.k[i] as u32
        } else {
            self.wave.s[usize::from(src as u8)]
        }
    }

    /// A 64-bit scalar source.
    #[inline(always)]
    pub(crate) fn s64(&self, op: &MicroOp, i: usize) -> u64 {
        let src = op.src[i];
        if src == CONST {
            op.k[i]
        } else {
            self.wave.pair(usize::from(src))
        }
    }

    /// Writes a 32-bit scalar destination.
    #[inline(always)]
    pub(crate) fn put32(&mut self, dst: u16, value: u32) {
        self.wave.s[usize::from(dst as u8)] = value;
    }

    /// Writes a 64-bit scalar destination.
    #[inline(always)]
    pub(crate) fn put64(&mut self, dst: u16, value: u64) {
        self.wave.set_pair(usize::from(dst), value);
    }

    #[inline(always)]
    pub(crate) fn set_scc(&mut self, scc: bool) {
        self.wave.s[SCC] = u32::from(scc);
    }

    #[inline(always)]
    pub(crate) fn jump(&mut self, target: u64) -> Flow {
        self.target = target;
        Flow::Jump
    }

    pub(crate) fn stop(&mut self, exit: Exit) -> Flow {
        self.exit = Some(exit);
        Flow::Stop
    }

    #[cold]
    pub(crate) fn fault(&mut self, op: &MicroOp, page: &Page, kind: FaultKind) -> Flow {
        let fault = Fault {
            pc: pc(op, page),
            wave: self.wave.ids,
            kind,
        };
        self.stop(Exit::Fault(Box::new(fault)))
    }

    #[cold]
    pub(crate) fn memory_fault(
        &mut self,
        op: &MicroOp,
        page: &Page,
        lane: Option<u32>,
        (va, len): (u64, u64),
        access: Access,
    ) -> Flow {
        let fault = self.view.fault(va, len, access);
        self.fault(op, page, FaultKind::Memory { lane, fault })
    }

    #[cold]
    pub(crate) fn unsupported(
        &mut self,
        op: &MicroOp,
        page: &Page,
        mnemonic: &'static str,
        what: &'static str,
    ) -> Flow {
        let encoding = first_dwords(page.words(usize::from(op.slot)));
        self.fault(
            op,
            page,
            FaultKind::Unsupported {
                mnemonic,
                encoding,
                what,
            },
        )
    }
}

/// The address of an instruction.
#[inline(always)]
pub(crate) fn pc(op: &MicroOp, page: &Page) -> u64 {
    page.va + u64::from(op.slot) * 4
}

/// The address after an instruction.
#[inline(always)]
pub(crate) fn next_pc(op: &MicroOp, page: &Page) -> u64 {
    pc(op, page) + u64::from(op.len) * 4
}

/// The page-relative slot of an address, if it is in the page.
#[inline(always)]
pub(crate) fn slot_in(page: &Page, va: u64) -> Option<usize> {
    let offset = va.wrapping_sub(page.va);
    if offset < PAGE {
        Some(offset as usize / 4)
    } else {
        None
    }
}
