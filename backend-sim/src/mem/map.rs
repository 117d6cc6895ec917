//! The address map: regions come and go here, and a fault report asks here.

use super::fault::{FaultReason, FreedRange, MemoryFault, NearestRegion};
use super::table::{RecordRef, Records, Snapshot, Table};
use super::view::MemoryView;
use super::{Access, MAX_AGENTS, PAGE_SIZE, Rights, VA_BITS};
use crate::sync::Mutex;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use thiserror_no_std::Error;

/// How many freed ranges are remembered for fault reports.
const FREED_KEPT: usize = 256;

/// Names a region: an allocation, or host memory that was registered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RegionId(u64);

/// Why a region cannot be mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum MapError {
    /// The range is empty, not made of whole pages, or has addresses that cannot be mapped.
    #[error("{base:#x}, {size} bytes, is not a range of whole pages below 2^{VA_BITS}")]
    BadRange {
        /// First address.
        base: u64,
        /// Size in bytes.
        size: u64,
    },
    /// Something else is mapped in the range.
    #[error("{base:#x}, {size} bytes, overlaps the region at {other:#x}")]
    Overlap {
        /// First address.
        base: u64,
        /// Size in bytes.
        size: u64,
        /// First address of the other region.
        other: u64,
    },
    /// There is no such region.
    #[error("there is no such region")]
    NoRegion,
    /// The agent's number is [`MAX_AGENTS`] or more.
    #[error("agent {agent} is out of range")]
    BadAgent {
        /// The agent given.
        agent: u32,
    },
}

impl core::error::Error for MapError {}

/// Rights of all agents.
#[derive(Clone, Copy, Default)]
struct Masks {
    readable: u64,
    writable: u64,
    executable: u64,
}

impl Masks {
    fn union(self, other: Self) -> Self {
        Self {
            readable: self.readable | other.readable,
            writable: self.writable | other.writable,
            executable: self.executable | other.executable,
        }
    }
}

/// What was asked for: an allocation or a registration.
struct Region {
    base: u64,
    end: u64,
    host: *mut u8,
    handle: u64,
    masks: Masks,
    /// Registered host memory may overlap other registered host memory, page by page.
    shared: bool,
}

/// What is in the table: disjoint pieces. A private region is one piece.
struct Piece {
    end: u64,
    record: RecordRef,
    shared: bool,
}

#[derive(Default)]
struct Inner {
    records: Records,
    regions: BTreeMap<u64, Region>,
    pieces: BTreeMap<u64, Piece>,
    /// Regions that may overlap each other: few.
    shared: BTreeSet<u64>,
    next_id: u64,
    freed: VecDeque<FreedRange>,
}

// SAFETY: `Region::host` is an address that only `raw` uses; the rest is plain data.
unsafe impl Send for Inner {}

/// All regions of a simulated system, by address, with the rights of each agent.
pub struct AddressMap {
    // Dropped before `inner`, which owns the records that the table points to.
    table: Table,
    generation: AtomicU64,
    inner: Mutex<Inner>,
}

// SAFETY: the table is made of atomics and written under the lock of `inner`; see `Table`.
unsafe impl Send for AddressMap {}
// SAFETY: as above.
unsafe impl Sync for AddressMap {}

impl fmt::Debug for AddressMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddressMap")
            .field("generation", &self.generation())
            .finish_non_exhaustive()
    }
}

impl AddressMap {
    /// An empty map.
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            table: Table::new(),
            generation: AtomicU64::new(0),
            inner: Mutex::new(Inner::default()),
        })
    }

    /// What an agent sees of the map; agents are numbered below [`MAX_AGENTS`].
    pub fn view(self: &Arc<Self>, agent: u32) -> MemoryView {
        MemoryView::new(self.clone(), agent.min(MAX_AGENTS - 1))
    }

    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    #[inline(always)]
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Adds a region; nobody has rights to it yet. `handle` is what fault reports call it.
    ///
    /// # Safety
    /// `host..host + size` is valid for reads and writes through [`super::raw`] until the region has
    /// been removed and every access that began before has ended.
    ///
    /// # Errors
    /// [`MapError::BadRange`], [`MapError::Overlap`].
    pub unsafe fn insert(
        &self,
        base: u64,
        size: u64,
        host: *mut u8,
        handle: u64,
    ) -> Result<RegionId, MapError> {
        self.add(base, size, host, handle, false)
    }

    /// Adds host memory at its own address. It may overlap other such memory: where it does,
    /// rights are the union.
    ///
    /// # Safety
    /// As for [`Self::insert`].
    ///
    /// # Errors
    /// [`MapError::BadRange`]; [`MapError::Overlap`] with a region of [`Self::insert`].
    pub unsafe fn insert_host(
        &self,
        host: *mut u8,
        size: u64,
        handle: u64,
    ) -> Result<RegionId, MapError> {
        self.add(host.addr() as u64, size, host, handle, true)
    }

    fn add(
        &self,
        base: u64,
        size: u64,
        host: *mut u8,
        handle: u64,
        shared: bool,
    ) -> Result<RegionId, MapError> {
        let end = base
            .checked_add(size)
            .filter(|end| {
                size != 0 && (base | size).is_multiple_of(PAGE_SIZE) && *end <= 1 << VA_BITS
            })
            .ok_or(MapError::BadRange { base, size })?;
        let mut inner = self.inner.lock();
        if let Some(other) = inner
            .overlapping(base, end)
            .find(|(_, piece)| !(shared && piece.shared))
            .map(|(other, _)| other)
        {
            return Err(MapError::Overlap { base, size, other });
        }
        let id = inner.next_id;
        inner.next_id += 1;
        inner.regions.insert(
            id,
            Region {
                base,
                end,
                host,
                handle,
                masks: Masks::default(),
                shared,
            },
        );
        if shared {
            inner.shared.insert(id);
            self.rebuild(&mut inner, base, end);
        } else {
            let record = inner.records.create(&Snapshot {
                base,
                end,
                host,
                readable: 0,
                writable: 0,
                executable: 0,
            });
            inner.pieces.insert(
                base,
                Piece {
                    end,
                    record,
                    shared,
                },
            );
            self.table.set(base, end, Some(record));
        }
        Ok(RegionId(id))
    }

    /// Gives an agent exactly these rights to a region.
    ///
    /// # Errors
    /// [`MapError::NoRegion`], [`MapError::BadAgent`].
    pub fn set_rights(&self, id: RegionId, agent: u32, rights: Rights) -> Result<(), MapError> {
        if agent >= MAX_AGENTS {
            return Err(MapError::BadAgent { agent });
        }
        let mut inner = self.inner.lock();
        let region = inner.regions.get_mut(&id.0).ok_or(MapError::NoRegion)?;
        let bit = 1u64 << agent;
        let before = region.masks;
        let set = |mask: u64, on: bool| if on { mask | bit } else { mask & !bit };
        region.masks = Masks {
            readable: set(before.readable, rights.contains(Rights::READ)),
            writable: set(before.writable, rights.contains(Rights::WRITE)),
            executable: set(before.executable, rights.contains(Rights::EXECUTE)),
        };
        let after = region.masks;
        let (base, end, shared) = (region.base, region.end, region.shared);
        if shared {
            self.rebuild(&mut inner, base, end);
        } else if let Some(piece) = inner.pieces.get(&base) {
            let record = inner.records.get(piece.record);
            record.readable.store(after.readable, Ordering::Release);
            record.writable.store(after.writable, Ordering::Release);
            record.executable.store(after.executable, Ordering::Release);
        }
        let lost = before.readable & !after.readable
            | before.writable & !after.writable
            | before.executable & !after.executable;
        if lost != 0 {
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
        Ok(())
    }

    /// The rights that an agent has to a region by that region alone.
    ///
    /// # Errors
    /// [`MapError::NoRegion`], [`MapError::BadAgent`].
    pub fn rights(&self, id: RegionId, agent: u32) -> Result<Rights, MapError> {
        if agent >= MAX_AGENTS {
            return Err(MapError::BadAgent { agent });
        }
        let inner = self.inner.lock();
        let masks = inner.regions.get(&id.0).ok_or(MapError::NoRegion)?.masks;
        let mut rights = Rights::empty();
        rights.set(Rights::READ, masks.readable >> agent & 1 != 0);
        rights.set(Rights::WRITE, masks.writable >> agent & 1 != 0);
        rights.set(Rights::EXECUTE, masks.executable >> agent & 1 != 0);
        Ok(rights)
    }

    /// Removes a region. Accesses that began before may still be running when this returns: see
    /// [`Self::insert`]. `now` is the time for fault reports, in nanoseconds.
    ///
    /// # Errors
    /// [`MapError::NoRegion`].
    pub fn remove(&self, id: RegionId, now: u64) -> Result<(), MapError> {
        let mut inner = self.inner.lock();
        let region = inner.regions.remove(&id.0).ok_or(MapError::NoRegion)?;
        if inner.freed.len() == FREED_KEPT {
            inner.freed.pop_front();
        }
        inner.freed.push_back(FreedRange {
            base: region.base,
            size: region.end - region.base,
            handle: region.handle,
            freed_at: now,
        });
        if region.shared {
            inner.shared.remove(&id.0);
            self.rebuild(&mut inner, region.base, region.end);
        } else if let Some(piece) = inner.pieces.remove(&region.base) {
            self.table.set(region.base, region.end, None);
            inner.records.retire(piece.record);
        }
        self.generation.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// Makes the table agree with the shared regions around `base..end`. Readers see each page
    /// change from the old to the new state at once.
    fn rebuild(&self, inner: &mut Inner, base: u64, end: u64) {
        let old: Vec<(u64, u64)> = inner
            .overlapping(base, end)
            .map(|(start, piece)| (start, piece.end))
            .collect();
        let base = old.iter().map(|p| p.0).fold(base, u64::min);
        let end = old.iter().map(|p| p.1).fold(end, u64::max);
        let old: Vec<RecordRef> = old
            .iter()
            .filter_map(|p| inner.pieces.remove(&p.0))
            .map(|p| p.record)
            .collect();

        let covering: Vec<&Region> = inner
            .shared
            .iter()
            .filter_map(|id| inner.regions.get(id))
            .filter(|r| r.base < end && r.end > base)
            .collect();
        let mut borders: Vec<u64> = covering
            .iter()
            .flat_map(|r| [r.base.max(base), r.end.min(end)])
            .chain([base, end])
            .collect();
        borders.sort_unstable();
        borders.dedup();
        let mut pieces = Vec::new();
        for pair in borders.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            let mut here = covering.iter().filter(|r| r.base <= from && r.end >= to);
            let Some(first) = here.next() else {
                pieces.push((from, to, None));
                continue;
            };
            let masks = here.fold(first.masks, |m, r| m.union(r.masks));
            pieces.push((
                from,
                to,
                Some(Snapshot {
                    base: from,
                    end: to,
                    host: first.host.wrapping_add((from - first.base) as usize),
                    readable: masks.readable,
                    writable: masks.writable,
                    executable: masks.executable,
                }),
            ));
        }
        for (from, to, contents) in pieces {
            let record = contents.map(|snapshot| {
                let record = inner.records.create(&snapshot);
                inner.pieces.insert(
                    from,
                    Piece {
                        end: to,
                        record,
                        shared: true,
                    },
                );
                record
            });
            self.table.set(from, to, record);
        }
        for record in old {
            inner.records.retire(record);
        }
    }

    pub(super) fn fault(
        &self,
        view: &MemoryView,
        va: u64,
        len: u64,
        access: Access,
    ) -> MemoryFault {
        let needs = access.needs();
        // The first byte that is not accessible: spans may touch.
        let last = va.saturating_add(len.max(1) - 1);
        let mut address = va;
        while let Some(span) = view.lookup(address) {
            if !span.rights.contains(needs) || span.end > last {
                break;
            }
            address = span.end;
        }
        let inner = self.inner.lock();
        let mapped = view.lookup(address);
        let reason = match mapped {
            _ if address >> VA_BITS != 0 => FaultReason::NotCanonical,
            None if self.table.find(address).is_some() => FaultReason::OtherAgent,
            None => FaultReason::NotMapped,
            Some(span) if needs.contains(Rights::EXECUTE) && !span.rights.contains(needs) => {
                FaultReason::NotExecutable
            }
            Some(span) if needs.contains(Rights::WRITE) && !span.rights.contains(Rights::WRITE) => {
                FaultReason::NotWritable
            }
            Some(_) => FaultReason::NotReadable,
        };
        MemoryFault {
            address,
            access,
            len,
            reason,
            agent: view.agent(),
            nearest: inner.nearest(address),
            freed: inner
                .freed
                .iter()
                .rev()
                .find(|f| address >= f.base && address - f.base < f.size)
                .copied(),
        }
    }
}

impl Inner {
    /// Pieces that overlap a range, in order.
    fn overlapping(&self, base: u64, end: u64) -> impl Iterator<Item = (u64, &Piece)> {
        let before = self
            .pieces
            .range(..base)
            .next_back()
            .filter(|(_, piece)| piece.end > base);
        before
            .into_iter()
            .chain(self.pieces.range(base..end))
            .map(|(start, piece)| (*start, piece))
    }

    fn nearest(&self, address: u64) -> Option<NearestRegion> {
        self.regions
            .values()
            .map(|r| {
                let distance = if address < r.base {
                    -((r.base - address).min(i64::MAX as u64) as i64)
                } else if address >= r.end {
                    (address - r.end).min(i64::MAX as u64 - 1) as i64 + 1
                } else {
                    0
                };
                NearestRegion {
                    base: r.base,
                    size: r.end - r.base,
                    handle: r.handle,
                    distance,
                }
            })
            .min_by_key(|near| near.distance.unsigned_abs())
    }
}
