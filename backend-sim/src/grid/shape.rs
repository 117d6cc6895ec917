//! Grids, work-groups and waves as numbers.

/// A grid cut into work-groups. The last work-group of a dimension may be partial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    grid: [u32; 3],
    workgroup: [u32; 3],
    groups: [u32; 3],
    total: u64,
}

impl Shape {
    /// `None` if a dimension is empty or the work-groups cannot be counted in 63 bits.
    pub(crate) fn new(grid: [u32; 3], workgroup: [u32; 3]) -> Option<Self> {
        if grid.contains(&0) || workgroup.contains(&0) {
            return None;
        }
        let groups = [0, 1, 2].map(|i| grid[i].div_ceil(workgroup[i]));
        let total = groups
            .iter()
            .try_fold(1u64, |n, g| n.checked_mul(u64::from(*g)))
            .filter(|n| *n <= i64::MAX as u64)?;
        Some(Self {
            grid,
            workgroup,
            groups,
            total,
        })
    }

    /// Work-groups of the grid.
    pub(crate) fn total_groups(&self) -> u64 {
        self.total
    }

    /// Work-items of a full work-group.
    pub(crate) fn workgroup_items(&self) -> u32 {
        self.workgroup.iter().product()
    }

    /// Coordinates of the `n`-th work-group: x runs fastest.
    #[inline]
    pub(crate) fn coordinates(&self, n: u64) -> [u32; 3] {
        let [gx, gy, _] = self.groups.map(u64::from);
        if gx == self.total {
            return [n as u32, 0, 0];
        }
        let row = n / gx;
        [(n % gx) as u32, (row % gy) as u32, (row / gy) as u32]
    }

    /// Work-items of the work-group at these coordinates, by dimension. A partial work-group is
    /// numbered over its own size, as hardware does.
    #[inline]
    pub(crate) fn size_at(&self, at: [u32; 3]) -> [u32; 3] {
        [0, 1, 2].map(|i| {
            let start = at[i] * self.workgroup[i];
            (self.grid[i] - start).min(self.workgroup[i])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_work_item_is_in_exactly_one_work_group() {
        for (grid, workgroup) in [
            ([10, 1, 1], [4, 1, 1]),
            ([7, 5, 3], [4, 2, 2]),
            ([64, 64, 1], [8, 8, 1]),
            ([1, 9, 2], [1, 4, 2]),
        ] {
            let shape = Shape::new(grid, workgroup).expect("a grid");
            let mut items = 0u64;
            for n in 0..shape.total_groups() {
                let size = shape.size_at(shape.coordinates(n));
                assert!(size.iter().all(|s| *s > 0));
                items += size.iter().map(|s| u64::from(*s)).product::<u64>();
            }
            assert_eq!(items, grid.iter().map(|g| u64::from(*g)).product::<u64>());
        }
    }

    #[test]
    fn grids_that_cannot_be_counted_are_none() {
        assert!(Shape::new([0, 1, 1], [1, 1, 1]).is_none());
        assert!(Shape::new([u32::MAX; 3], [1, 1, 1]).is_none());
        let large = Shape::new([u32::MAX, 1 << 31, 1], [1, 1, 1]).expect("countable");
        let last = large.coordinates(large.total_groups() - 1);
        assert_eq!(last, [u32::MAX - 1, (1 << 31) - 1, 0]);
        assert_eq!(large.size_at(last), [1, 1, 1]);
    }
}
