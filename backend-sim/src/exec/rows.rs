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
///
/// Waves that go together ([`super::gang`]) have their registers one after the other in the file of the first; all
/// functions here are about those of the wave that is selected.
pub(crate) struct RowFile {
    lines: Vec<Line>,
    lanes: u32,
    vgprs: u16,
    accs: u16,
    waves: u16,
    /// First dword of the selected wave's registers.
    start: u32,
}

impl RowFile {
    pub(crate) fn new(lanes: u32, vgprs: u16, accs: u16) -> Self {
        let mut file = RowFile {
            lines: Vec::new(),
            lanes,
            vgprs,
            accs,
            waves: 0,
            start: 0,
        };
        file.reset(lanes, vgprs, accs, 1);
        file
    }

    /// Gives the file a new shape, for so many waves, every register zero. Keeps its allocation where it can.
    pub(crate) fn reset(&mut self, lanes: u32, vgprs: u16, accs: u16, waves: u16) {
        debug_assert!(lanes == 32 || lanes == 64);
        self.lanes = lanes;
        self.vgprs = vgprs;
        self.accs = accs;
        self.waves = waves;
        self.start = 0;
        let lines = usize::from(waves) * self.dwords() / 16;
        if lines > self.lines.len() {
            self.lines.clear();
            self.lines.resize(lines, Line([0; 16]));
        } else {
            self.lines.truncate(lines);
            self.every_dword().fill(0);
        }
    }

    /// Dwords of one wave's registers.
    #[inline(always)]
    pub(crate) fn dwords(&self) -> usize {
        (usize::from(self.vgprs) + usize::from(self.accs)) * self.lanes as usize
    }

    /// Makes the `n`-th wave's registers those that are meant from here on.
    ///
    /// # Panics
    /// If there are not so many waves.
    #[inline(always)]
    pub(crate) fn select(&mut self, n: usize) {
        assert!(n < usize::from(self.waves), "a wave of the file");
        self.start = (n * self.dwords()) as u32;
    }

    /// Gives this file the shape of another, and the registers of its `n`-th wave.
    pub(crate) fn copy_from(&mut self, other: &RowFile, n: usize) {
        self.reset(other.lanes, other.vgprs, other.accs, 1);
        let lines = self.lines.len();
        if let Some(from) = other.lines.get(n * lines..(n + 1) * lines) {
            self.lines.copy_from_slice(from);
        }
    }

    /// Leaves the first wave's registers alone.
    pub(crate) fn keep_first(&mut self) {
        self.select(0);
        self.waves = 1;
        self.lines.truncate(self.dwords() / 16);
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
            .wrapping_add(self.start as usize + row * self.lanes as usize)
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

    /// The registers of all waves.
    fn every_dword(&mut self) -> &mut [u32] {
        // SAFETY: a `Line` is sixteen `u32` without padding, borrowed mutably for as long as the slice lives.
        unsafe {
            core::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.lines.len() * 16)
        }
    }

    /// The selected wave's registers.
    #[inline(always)]
    fn all(&self) -> &[u32] {
        debug_assert!(self.start as usize + self.dwords() <= self.lines.len() * 16);
        // SAFETY: a `Line` is sixteen `u32` without padding, and the vector has as many initialised ones as all waves
        // need, of which the selected is one, borrowed for as long as `self`.
        unsafe {
            let first = self.lines.as_ptr().cast::<u32>().add(self.start as usize);
            core::slice::from_raw_parts(first, self.dwords())
        }
    }

    #[inline(always)]
    fn all_mut(&mut self) -> &mut [u32] {
        debug_assert!(self.start as usize + self.dwords() <= self.lines.len() * 16);
        // SAFETY: as in `all`, and `self` is borrowed mutably for as long as the slice lives.
        unsafe {
            let first = self
                .lines
                .as_mut_ptr()
                .cast::<u32>()
                .add(self.start as usize);
            core::slice::from_raw_parts_mut(first, self.dwords())
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
