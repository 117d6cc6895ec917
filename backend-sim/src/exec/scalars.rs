//! Where things stand in a wave's scalar file, and how operands of micro-ops name them.
//!
//! The first 128 entries are what an instruction can name: SGPRs, VCC, trap temporaries, M0,
//! the null register and EXEC, at the numbers that the encodings give them (M0 at 124 and null at 125
//! whatever the generation). Entries above are the executor's own: read-only values that an
//! operand may name, so that a scalar read is one indexed load whatever it reads.

/// Low half of VCC (gfx10+ wave32 uses this half alone).
pub(crate) const VCC: usize = 106;
/// First trap temporary.
pub(crate) const TTMP0: usize = 108;
/// M0.
pub(crate) const M0: usize = 124;
/// The null register: reads zero, writes go to [`TRASH`].
pub(crate) const NULL: usize = 125;
/// Low half of EXEC.
pub(crate) const EXEC: usize = 126;
/// FLAT_SCRATCH on GFX9, where it is a pair of SGPRs.
pub(crate) const FLAT_SCRATCH_GFX9: usize = 102;
/// FLAT_SCRATCH on GFX10+, where only s_setreg and s_getreg reach it.
pub(crate) const FLAT_SCRATCH: usize = 190;
/// XNACK_MASK on GFX9.
pub(crate) const XNACK_MASK: usize = 104;

/// SCC, zero or one.
pub(crate) const SCC: usize = 200;
/// Shared aperture base and limit, then private base and limit, two dwords each.
pub(crate) const SHARED_BASE: usize = 192;
pub(crate) const SHARED_LIMIT: usize = 194;
pub(crate) const PRIVATE_BASE: usize = 196;
pub(crate) const PRIVATE_LIMIT: usize = 198;
/// VCCZ and EXECZ as source operands: computed at the read.
pub(crate) const VCCZ: usize = 202;
pub(crate) const EXECZ: usize = 203;
/// A dword of LDS at M0, likewise.
pub(crate) const LDS_DIRECT: usize = 204;
/// Where writes to the null register go (a pair, or more for wide loads).
pub(crate) const TRASH: usize = 208;

/// Number of entries: an operand's index is a byte, so no read needs a bounds check.
pub(crate) const SCALARS: usize = 256;
