//! A wavefront: a resumable machine of scalars, vector rows and a program counter.

use alloc::boxed::Box;
use core::fmt;

use super::barrier::Seen;
use super::exceptions::ALL;
use super::fault::Fault;
use super::gang::Parting;
use super::rows::RowFile;
use super::scalars::{EXEC, M0, SCALARS, SCC, VCC};
use super::valu::FloatMode;
use crate::isa::Arch;

/// Where MODE has the exceptions that trap.
const EXCP_EN: u32 = 12;

/// Who a wave is, for reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WaveIds {
    /// The dispatch's number, as its agent counts.
    pub dispatch: u64,
    /// The work-group's coordinates in the grid.
    pub group: [u32; 3],
    /// The wave's number inside its work-group.
    pub wave: u32,
}

impl fmt::Display for WaveIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.group;
        write!(
            f,
            "dispatch {} work-group ({x}, {y}, {z}) wave {}",
            self.dispatch, self.wave
        )
    }
}

/// What a wave is made with. Registers start as zero.
#[derive(Debug, Clone, Copy)]
pub struct WaveConfig {
    /// The instruction set.
    pub arch: Arch,
    /// 32 or 64.
    pub lanes: u32,
    /// Architectural vector registers, at most 256.
    pub vgprs: u16,
    /// Accumulation vector registers, at most 256: on gfx90a and later GFX9 what the kernel
    /// descriptor's total leaves above its accumulation offset.
    pub acc_vgprs: u16,
    /// The MODE register's first value: FLOAT_MODE in bits 7:0, DX10_CLAMP bit 8, IEEE bit 9
    /// as `compute_pgm_rsrc1` gives them; floating-point exceptions that trap in bits 18:12, which on gfx12 go to
    /// TRAP_CTRL.
    pub mode: u32,
    /// For reports.
    pub ids: WaveIds,
}

/// A wavefront.
pub struct Wave {
    pub(crate) pc: u64,
    pub(crate) s: [u32; SCALARS],
    pub(crate) rows: RowFile,
    pub(crate) lanes: u32,
    pub(crate) mode: u32,
    pub(crate) float: FloatMode,
    /// EXEC expanded to lane masks, and the EXEC that it was expanded from.
    pub(crate) mask_row: super::rows::Row,
    pub(crate) mask_of: u64,
    pub(crate) arch: Arch,
    pub(crate) trap_status: u32,
    /// gfx12: EXCP_FLAG_USER, the floating-point exceptions that were met, and TRAP_CTRL, those that trap. Others have
    /// them in `trap_status` and `mode`.
    pub(crate) excp_flag_user: u32,
    pub(crate) trap_ctrl: u32,
    pub(crate) ids: WaveIds,
    pub(crate) retired: u64,
    pub(crate) ended: bool,
    /// Vector register indexing of GFX9, when it is on: which of sources 0 to 2 (bits 0 to 2) and
    /// the destination (bit 3) are relative to M0.
    pub(crate) gpr_index: Option<u8>,
    /// In the trap handler.
    pub(crate) privileged: bool,
    /// What brought the wave to the trap handler.
    pub(crate) trouble: Option<Box<Fault>>,
    /// Never goes on, once it is not in the trap handler.
    pub(crate) halted: bool,
    /// Waits for a resource of global wave sync: how often that had let waves go.
    pub(crate) gws: Option<u32>,
    /// Vector instructions are skipped (s_setvskip).
    pub(crate) skips_vectors: bool,
    pub(crate) barriers: Seen,
    /// Waves that go together in this one, itself included, and how they part ([`super::gang`]).
    pub(crate) gang: u16,
    pub(crate) parting: Option<Box<Parting>>,
    /// A fault that the wave has met already.
    pub(crate) met: Option<Box<Fault>>,
}

impl Wave {
    /// A wave with every register zero, EXEC all ones, at address zero.
    ///
    /// # Panics
    /// If `lanes` is neither 32 nor 64: a grid is built from a validated dispatch.
    pub fn new(config: WaveConfig) -> Self {
        assert!(
            config.lanes == 32 || config.lanes == 64,
            "a wave has 32 or 64 lanes"
        );
        let mut wave = Wave {
            pc: 0,
            s: [0; SCALARS],
            rows: RowFile::new(config.lanes, 0, 0),
            lanes: config.lanes,
            mode: 0,
            float: FloatMode::from_mode_register(0),
            mask_row: super::rows::Row::ZERO,
            mask_of: 0,
            arch: config.arch,
            trap_status: 0,
            excp_flag_user: 0,
            trap_ctrl: 0,
            ids: config.ids,
            retired: 0,
            ended: false,
            gpr_index: None,
            privileged: false,
            trouble: None,
            halted: false,
            gws: None,
            skips_vectors: false,
            barriers: Seen::default(),
            gang: 1,
            parting: None,
            met: None,
        };
        wave.reset(config);
        wave
    }

    /// Makes the wave as new, in the memory that it has.
    ///
    /// # Panics
    /// As [`Wave::new`].
    pub fn reset(&mut self, config: WaveConfig) {
        self.reset_gang(config, 1);
    }

    /// [`Wave::reset`] for so many waves that go together. The configuration is that of the first; the others have the
    /// numbers after its.
    pub(crate) fn reset_gang(&mut self, config: WaveConfig, waves: u16) {
        assert!(
            config.lanes == 32 || config.lanes == 64,
            "a wave has 32 or 64 lanes"
        );
        self.pc = 0;
        self.s = [0; SCALARS];
        self.rows.reset(
            config.lanes,
            config.vgprs.min(256),
            config.acc_vgprs.min(256),
            waves,
        );
        self.gang = waves;
        self.parting = None;
        self.met = None;
        self.lanes = config.lanes;
        self.arch = config.arch;
        self.trap_status = 0;
        self.excp_flag_user = 0;
        self.trap_ctrl = 0;
        self.ids = config.ids;
        self.retired = 0;
        self.ended = false;
        self.gpr_index = None;
        self.privileged = false;
        self.trouble = None;
        self.halted = false;
        self.gws = None;
        self.skips_vectors = false;
        self.barriers = Seen::default();
        if config.arch.is_gfx12_plus() {
            self.trap_ctrl = config.mode >> EXCP_EN & ALL;
            self.set_mode(config.mode & !(ALL << EXCP_EN));
        } else {
            self.set_mode(config.mode);
        }
        self.set_exec(self.lane_mask());
    }

    /// Address of the next instruction.
    pub fn pc(&self) -> u64 {
        self.pc
    }

    /// Sets the address of the next instruction.
    pub fn set_pc(&mut self, va: u64) {
        self.pc = va;
    }

    /// 32 or 64.
    pub fn lanes(&self) -> u32 {
        self.lanes
    }

    /// Who the wave is.
    pub fn ids(&self) -> WaveIds {
        self.ids
    }

    /// Wave-instructions executed since the wave began.
    pub fn retired(&self) -> u64 {
        self.retired
    }

    /// All lanes.
    #[inline(always)]
    pub(crate) fn lane_mask(&self) -> u64 {
        if self.lanes == 64 {
            u64::MAX
        } else {
            0xffff_ffff
        }
    }

    /// A scalar by its encoded number (0..=127: SGPRs, VCC at 106, TTMP0 at 108, M0 at 124,
    /// EXEC at 126); out of range reads zero.
    pub fn sgpr(&self, number: usize) -> u32 {
        if number < 128 { self.s[number] } else { 0 }
    }

    /// Writes a scalar by its encoded number; see [`Wave::sgpr`]. Out of range is ignored.
    pub fn set_sgpr(&mut self, number: usize, value: u32) {
        if number < 128 && number != super::scalars::NULL {
            self.s[number] = value;
        }
    }

    /// Writes SGPRs from the first on; there are 106.
    pub fn set_sgprs(&mut self, values: &[u32]) {
        let count = values.len().min(VCC);
        self.s[..count].copy_from_slice(&values[..count]);
    }

    /// Two consecutive scalars, low first.
    #[inline(always)]
    pub(crate) fn pair(&self, number: usize) -> u64 {
        u64::from(self.s[number & 255]) | u64::from(self.s[(number + 1) & 255]) << 32
    }

    #[inline(always)]
    pub(crate) fn set_pair(&mut self, number: usize, value: u64) {
        self.s[number & 255] = value as u32;
        self.s[(number + 1) & 255] = (value >> 32) as u32;
    }

    /// A lane mask held in scalars: a pair at 64 lanes, one at 32.
    #[inline(always)]
    pub(crate) fn mask(&self, number: usize) -> u64 {
        if self.lanes == 64 {
            self.pair(number)
        } else {
            u64::from(self.s[number & 255])
        }
    }

    #[inline(always)]
    pub(crate) fn set_mask(&mut self, number: usize, value: u64) {
        self.s[number & 255] = value as u32;
        if self.lanes == 64 {
            self.s[(number + 1) & 255] = (value >> 32) as u32;
        }
    }

    /// The active lanes.
    #[inline(always)]
    pub fn exec(&self) -> u64 {
        self.mask(EXEC)
    }

    /// Sets the active lanes. At 32 lanes the high half is kept for s_mov to read.
    pub fn set_exec(&mut self, mask: u64) {
        self.set_pair(EXEC, mask);
    }

    /// VCC.
    pub fn vcc(&self) -> u64 {
        self.pair(VCC)
    }

    /// FLAT_SCRATCH where it is no SGPR pair (GFX10 and later, gfx942): the address of the
    /// wave's private memory. Set at the start of a wave where it is architected.
    pub fn set_flat_scratch(&mut self, address: u64) {
        self.set_pair(super::scalars::FLAT_SCRATCH, address);
    }

    /// SCC.
    pub fn scc(&self) -> bool {
        self.s[SCC] != 0
    }

    /// M0.
    pub fn m0(&self) -> u32 {
        self.s[M0]
    }

    /// The lanes of a vector register (256 and up: accumulation registers), or `None` when the
    /// wave was not given it.
    pub fn vgpr(&self, register: u16) -> Option<&[u32]> {
        self.rows.row(register)
    }

    /// The lanes of a vector register, to write; see [`Wave::vgpr`].
    pub fn vgpr_mut(&mut self, register: u16) -> Option<&mut [u32]> {
        self.rows.row_mut(register)
    }

    /// The MODE register.
    pub fn mode(&self) -> u32 {
        self.mode
    }

    /// Writes MODE, whole.
    pub fn set_mode(&mut self, mode: u32) {
        self.mode = mode;
        self.float = FloatMode::from_mode_register(mode);
    }

    /// The floating-point exceptions that trap, as [`super::exceptions`] numbers them.
    #[inline(always)]
    pub(crate) fn exceptions_enabled(&self) -> u32 {
        if self.arch.is_gfx12_plus() {
            self.trap_ctrl & ALL
        } else {
            self.mode >> EXCP_EN & ALL
        }
    }

    /// Whether one of them traps now: none does in the trap handler.
    #[inline(always)]
    pub(crate) fn exceptions_trap(&self) -> bool {
        self.exceptions_enabled() != 0 && !self.privileged
    }

    /// Notes floating-point exceptions that were met.
    pub(crate) fn raise(&mut self, exceptions: u32) {
        if self.arch.is_gfx12_plus() {
            self.excp_flag_user |= exceptions;
        } else {
            self.trap_status |= exceptions;
        }
    }

    /// Whether s_endpgm has run.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// The named barrier that the wave has joined; zero if none.
    pub fn joined_barrier(&self) -> u8 {
        self.barriers.joined
    }

    /// Lets a wave that has ended go on, from wherever its program counter is set to.
    pub fn restart(&mut self) {
        self.ended = false;
    }

    /// EXEC as a row of lane masks, expanded when it is not the one expanded last.
    #[inline(always)]
    pub(crate) fn exec_row(&mut self, exec: u64) -> *const u32 {
        if self.mask_of != exec {
            self.expand_exec(exec);
        }
        self.mask_row.0.as_ptr()
    }

    #[inline(never)]
    fn expand_exec(&mut self, exec: u64) {
        for (lane, mask) in self.mask_row.0.iter_mut().enumerate() {
            *mask = 0u32.wrapping_sub((exec >> lane) as u32 & 1);
        }
        self.mask_of = exec;
    }
}
