//! Data-parallel primitives: source 0 read from other lanes.

use super::rows::{Row, WIDEST};

/// Where each lane reads from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pattern {
    /// Any permutation of each four lanes, two bits a lane.
    Quad(u8),
    /// Lane `i` of a row reads lane `i + n`.
    RowShl(u8),
    /// Lane `i` of a row reads lane `i - n`.
    RowShr(u8),
    /// Rotation right in a row.
    RowRor(u8),
    /// The wave shifted left by one lane (GFX9).
    WaveShl,
    /// The wave rotated left by one lane (GFX9).
    WaveRol,
    /// The wave shifted right by one lane (GFX9).
    WaveShr,
    /// The wave rotated right by one lane (GFX9).
    WaveRor,
    /// A row reversed.
    RowMirror,
    /// Each half row reversed.
    RowHalfMirror,
    /// Lane 15 of each row to the next row (GFX9).
    Bcast15,
    /// Lane 31 to the upper half (GFX9).
    Bcast31,
    /// One lane of a row to the whole row (row_newbcast of gfx90a, row_share of GFX10+).
    RowShare(u8),
    /// Lane `i` of a row reads lane `i ^ n` (GFX10+).
    RowXmask(u8),
    /// Any permutation of each eight lanes, three bits a lane (DPP8).
    Eight(u32),
}

impl Pattern {
    /// The lane that `lane` reads, or `None` when it is out of bounds.
    pub(crate) fn source(self, lane: u32, lanes: u32) -> Option<u32> {
        let row = lane & !15;
        let in_row = lane & 15;
        match self {
            Pattern::Quad(perm) => Some(lane & !3 | u32::from(perm) >> (2 * (lane & 3)) & 3),
            Pattern::RowShl(n) => {
                let from = in_row + u32::from(n);
                (from < 16).then_some(row + from)
            }
            Pattern::RowShr(n) => in_row.checked_sub(u32::from(n)).map(|from| row + from),
            Pattern::RowRor(n) => Some(row | in_row.wrapping_sub(u32::from(n)) & 15),
            Pattern::WaveShl => (lane + 1 < lanes).then_some(lane + 1),
            Pattern::WaveRol => Some((lane + 1) % lanes),
            Pattern::WaveShr => lane.checked_sub(1),
            Pattern::WaveRor => Some((lane + lanes - 1) % lanes),
            Pattern::RowMirror => Some(row | (15 - in_row)),
            Pattern::RowHalfMirror => Some(lane & !7 | (7 - (lane & 7))),
            Pattern::Bcast15 => row.checked_sub(1),
            Pattern::Bcast31 => (lane >= 32).then_some(31),
            Pattern::RowShare(n) => Some(row | u32::from(n)),
            Pattern::RowXmask(n) => Some(lane ^ u32::from(n)),
            Pattern::Eight(sel) => Some(lane & !7 | sel >> (3 * (lane & 7)) & 7),
        }
    }
}

/// A DPP operand, with its lane table worked out.
#[derive(Clone, Debug)]
pub(crate) struct Permute {
    /// Source lane of each lane, for 32 and 64 lanes (they differ for the whole-wave patterns).
    from: [[u8; 64]; 2],
    /// Lanes whose source is in bounds.
    valid: [u64; 2],
    /// Lanes that row and bank masks let through.
    enabled: u64,
    /// An invalid source reads zero instead of disabling the lane.
    zero: bool,
    /// Inactive lanes are read as they are.
    fetch_inactive: bool,
}

impl Permute {
    pub(crate) fn new(
        pattern: Pattern,
        row_mask: u8,
        bank_mask: u8,
        zero: bool,
        fetch_inactive: bool,
    ) -> Permute {
        let mut permute = Permute {
            from: [[0; 64]; 2],
            valid: [0; 2],
            enabled: 0,
            zero,
            fetch_inactive,
        };
        for lane in 0..64u32 {
            for (size, lanes) in [(0, 32), (1, 64)] {
                if lane < lanes
                    && let Some(from) = pattern.source(lane, lanes)
                {
                    permute.from[size][lane as usize] = from as u8;
                    permute.valid[size] |= 1 << lane;
                }
            }
            let row = row_mask >> (lane / 16) & 1;
            let bank = bank_mask >> (lane / 4 % 4) & 1;
            permute.enabled |= u64::from(row & bank) << lane;
        }
        permute
    }

    /// Permutes `rows` rows into `to`, and tells which lanes of `exec` stay active.
    pub(crate) fn apply(
        &self,
        from: *const u32,
        to: &mut [Row; WIDEST],
        lanes: u32,
        rows: u32,
        exec: u64,
    ) -> u64 {
        let size = usize::from(lanes == 64);
        let table = &self.from[size];
        let mut readable = self.valid[size];
        if !self.fetch_inactive {
            let mut live = 0u64;
            for (lane, &from) in table.iter().enumerate().take(lanes as usize) {
                live |= (exec >> from & 1) << lane;
            }
            readable &= live;
        }
        let flat = to.as_flattened_mut();
        for row in 0..(rows as usize).min(WIDEST) {
            let at = row * lanes as usize;
            // SAFETY: `source` gave a pointer to `rows` rows of `lanes` dwords.
            let source: [u32; 64] = unsafe {
                let mut copy = [0; 64];
                core::ptr::copy_nonoverlapping(from.add(at), copy.as_mut_ptr(), lanes as usize);
                copy
            };
            for lane in 0..lanes as usize {
                let value = source[usize::from(table[lane] & 63)];
                flat[at + lane] = if readable >> lane & 1 != 0 { value } else { 0 };
            }
        }
        let active = exec & self.enabled;
        if self.zero { active } else { active & readable }
    }
}

/// Rows as one array of dwords, which is how operands wider than a row are laid out at 32 lanes.
pub(crate) trait Flat {
    /// The dwords.
    fn as_flattened_mut(&mut self) -> &mut [u32; 64 * WIDEST];
}

impl Flat for [Row; WIDEST] {
    fn as_flattened_mut(&mut self) -> &mut [u32; 64 * WIDEST] {
        // SAFETY: a `Row` is 64 dwords, 256 bytes at an alignment that divides its size, so an
        // array of rows is an array of dwords without gaps.
        unsafe { &mut *core::ptr::from_mut(self).cast() }
    }
}
