//! Work-item ids by lane: the same for every work-group of one size, so they are worked out once.

use alloc::vec::Vec;

/// One vector register's lanes.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct IdRow(pub(crate) [u32; 64]);

/// What the ids depend on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LaneKey {
    /// Work-items of the work-group, by dimension.
    pub size: [u32; 3],
    /// Lanes of a wave.
    pub lanes: u32,
    /// All components in one register.
    pub packed: bool,
    /// Components that are set, less one.
    pub components: u32,
}

/// The ids of all waves of a work-group.
pub(crate) struct LaneTable {
    key: LaneKey,
    rows: Vec<IdRow>,
    rows_per_wave: usize,
    last_mask: u64,
    waves: u32,
}

impl LaneTable {
    pub(crate) fn new(key: LaneKey) -> Self {
        let items = key.size.iter().product::<u32>();
        let waves = items.div_ceil(key.lanes);
        let rows_per_wave = if key.packed {
            1
        } else {
            key.components as usize + 1
        };
        let mut rows = alloc::vec![IdRow([0; 64]); waves as usize * rows_per_wave];
        let [mut x, mut y, mut z] = [0u32; 3];
        for item in 0..items {
            let wave = (item / key.lanes) as usize;
            let lane = (item % key.lanes) as usize;
            let row = wave * rows_per_wave;
            if key.packed {
                let mut id = x;
                if key.components > 0 {
                    id |= y << 10;
                }
                if key.components > 1 {
                    id |= z << 20;
                }
                rows[row].0[lane] = id;
            } else {
                for (i, id) in [x, y, z].into_iter().enumerate().take(rows_per_wave) {
                    rows[row + i].0[lane] = id;
                }
            }
            x += 1;
            if x == key.size[0] {
                x = 0;
                y += 1;
                if y == key.size[1] {
                    y = 0;
                    z += 1;
                }
            }
        }
        let full = if key.lanes == 64 {
            u64::MAX
        } else {
            u64::from(u32::MAX)
        };
        let last = items % key.lanes;
        Self {
            key,
            rows,
            rows_per_wave,
            last_mask: if last == 0 { full } else { (1 << last) - 1 },
            waves,
        }
    }

    pub(crate) fn key(&self) -> &LaneKey {
        &self.key
    }

    /// Waves of the work-group.
    pub(crate) fn waves(&self) -> u32 {
        self.waves
    }

    /// Waves of which every lane has a work-item, before the first that is not so.
    pub(crate) fn full_waves(&self) -> u32 {
        let last = self.waves.saturating_sub(1);
        if self.waves > 0 && self.last_mask.count_ones() == self.key.lanes {
            self.waves
        } else {
            last
        }
    }

    /// The first vector registers of a wave, and of so many together with it.
    pub(crate) fn rows(&self, wave: u32, together: u32) -> &[IdRow] {
        let start = wave as usize * self.rows_per_wave;
        &self.rows[start..start + together as usize * self.rows_per_wave]
    }

    /// EXEC at a wave's start: lanes without a work-item are off.
    pub(crate) fn exec(&self, wave: u32) -> u64 {
        if wave + 1 == self.waves {
            self.last_mask
        } else if self.key.lanes == 64 {
            u64::MAX
        } else {
            u64::from(u32::MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_run_along_x_then_y_then_z() {
        let size = [3, 4, 5];
        for packed in [false, true] {
            let table = LaneTable::new(LaneKey {
                size,
                lanes: 32,
                packed,
                components: 2,
            });
            assert_eq!(table.waves(), 2);
            assert_eq!(table.full_waves(), 1);
            assert_eq!(table.exec(0), 0xffff_ffff);
            assert_eq!(table.exec(1), (1 << 28) - 1);
            for item in 0..60u32 {
                let id = [item % 3, item / 3 % 4, item / 12];
                let rows = table.rows(item / 32, 1);
                let lane = (item % 32) as usize;
                if packed {
                    assert_eq!(rows[0].0[lane], id[0] | id[1] << 10 | id[2] << 20);
                } else {
                    assert_eq!([0, 1, 2].map(|i| rows[i].0[lane]), id);
                }
            }
        }
    }
}
