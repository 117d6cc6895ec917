//! The vector register file: rows of 32 or 64 lanes, register-major.

use alloc::vec::Vec;

/// One cache line, so that rows never straddle more lines than they must.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u32; 16]);

/// The vector registers of one wave: row `r` is register `r`, one `u32` a lane.
///
/// Architectural registers come first; the accumulation registers of a unified file follow
/// them, so that the accumulation offset of the kernel descriptor is simply where they start.
pub(crate) struct RowFile {
    lines: Vec<Line>,
    lanes: u32,
    vgprs: u16,
    accs: u16,
}

impl RowFile {
    pub(crate) fn new(lanes: u32, vgprs: u16, accs: u16) -> Self {
        let mut file = RowFile {
            lines: Vec::new(),
            lanes,
            vgprs,
            accs,
        };
        file.reset(lanes, vgprs, accs);
        file
    }

    /// Gives the file a new shape, every register zero. Keeps its allocation where it can.
    pub(crate) fn reset(&mut self, lanes: u32, vgprs: u16, accs: u16) {
        debug_assert!(lanes == 32 || lanes == 64);
        let rows = usize::from(vgprs) + usize::from(accs);
        self.lines.clear();
        self.lines
            .resize(rows * (lanes as usize / 16), Line([0; 16]));
        self.lanes = lanes;
        self.vgprs = vgprs;
        self.accs = accs;
    }

    pub(crate) fn vgprs(&self) -> u16 {
        self.vgprs
    }

    pub(crate) fn accs(&self) -> u16 {
        self.accs
    }

    /// The row of an encoded vector register: 0..=255 architectural, 256..=511 accumulation.
    #[inline(always)]
    pub(crate) fn index(&self, reg: u16) -> usize {
        if reg < 256 {
            usize::from(reg)
        } else {
            usize::from(reg - 256) + usize::from(self.vgprs)
        }
    }

    /// A pointer to the first lane of a register's row. Rows are contiguous, so a wide operand
    /// is read by running on.
    ///
    /// The caller must have checked the register against the file's size (the run loop does,
    /// once an instruction) before it goes through the pointer.
    #[inline(always)]
    pub(crate) fn ptr(&mut self, reg: u16) -> *mut u32 {
        let row = self.index(reg);
        debug_assert!(row < usize::from(self.vgprs) + usize::from(self.accs));
        self.lines
            .as_mut_ptr()
            .cast::<u32>()
            .wrapping_add(row * self.lanes as usize)
    }

    /// The lanes of a register, or `None` when the wave does not have it.
    #[inline(always)]
    pub(crate) fn row(&self, reg: u16) -> Option<&[u32]> {
        let lanes = self.lanes as usize;
        let start = self.index(reg) * lanes;
        self.all().get(start..start + lanes)
    }

    /// The lanes of a register, to write.
    #[inline(always)]
    pub(crate) fn row_mut(&mut self, reg: u16) -> Option<&mut [u32]> {
        let lanes = self.lanes as usize;
        let start = self.index(reg) * lanes;
        self.all_mut().get_mut(start..start + lanes)
    }

    fn all(&self) -> &[u32] {
        // SAFETY: a `Line` is sixteen `u32` without padding, so the vector's elements are that
        // many initialised `u32`, borrowed for as long as `self`.
        unsafe { core::slice::from_raw_parts(self.lines.as_ptr().cast(), self.lines.len() * 16) }
    }

    fn all_mut(&mut self) -> &mut [u32] {
        // SAFETY: as in `all`, and `self` is borrowed mutably for as long as the slice lives.
        unsafe {
            core::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.lines.len() * 16)
        }
    }
}

/// A row that is not a register: a source after its modifiers, or a result before the blend.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Row(pub(crate) [u32; 64]);

impl Row {
    pub(crate) const ZERO: Row = Row([0; 64]);
}

/// The widest operand that is materialised: sixteen dwords a lane at 64 lanes would be a matrix
/// operand; ordinary vector sources are at most four.
pub(crate) const WIDEST: usize = 4;

/// Scratch rows of the executor: one set for each of three sources and the two results.
#[repr(C, align(64))]
pub(crate) struct Temps {
    pub(crate) src: [[Row; WIDEST]; 3],
    pub(crate) dst: [Row; WIDEST],
    pub(crate) dst2: [Row; WIDEST],
    pub(crate) matrix: super::matrix::Scratch,
}

impl Temps {
    pub(crate) const ZERO: Temps = Temps {
        src: [[Row::ZERO; WIDEST]; 3],
        dst: [Row::ZERO; WIDEST],
        dst2: [Row::ZERO; WIDEST],
        matrix: super::matrix::Scratch::ZERO,
    };
}
