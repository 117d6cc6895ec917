//! The books of virtual memory: ranges of addresses that are taken, memory without addresses, and what is mapped where.
//!
//! Nothing here asks a backend for anything: it says what may be done, and notes what was.

use super::Address;
use super::pool::PoolId;
use crate::backend::{AgentId, MemoryAccess, MemoryHandle};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use thiserror_no_std::Error;

/// A client's name of memory that was made without an address. Never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VirtualMemoryId(pub u64);

/// What memory without addresses was made as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryProperties {
    /// The pool that it came from.
    pub pool: PoolId,
    /// Its size in bytes.
    pub size: u64,
    /// Whether it stays where it is (`MEMORY_TYPE_PINNED`).
    pub pinned: bool,
}

/// Why something cannot be done with virtual memory.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RangeError {
    /// A size of no bytes, or not of whole pages; an address or an alignment that is none.
    #[error("{number:#x} is no {what} of whole pages ({page} bytes)")]
    Unaligned {
        /// Size, address or alignment.
        what: &'static str,
        /// The number given.
        number: u64,
        /// The page, or the pool's granule.
        page: u64,
    },
    /// No range of addresses that was taken begins at, or contains, this one.
    #[error("{size} bytes at {address} were not reserved")]
    NotReserved {
        /// Where it begins.
        address: Address,
        /// Its bytes.
        size: u64,
    },
    /// Another size than the one that it has.
    #[error("{size} bytes were named of what has {actual}")]
    WrongSize {
        /// The size given.
        size: u64,
        /// The size that it has.
        actual: u64,
    },
    /// Memory is still mapped in the range.
    #[error("{mappings} mappings are left in the addresses from {address} on")]
    InUse {
        /// Where the range begins.
        address: Address,
        /// How many there are.
        mappings: u64,
    },
    /// There is no such memory, or all its references were given back.
    #[error("there is no memory with the number {}", .id.0)]
    NoMemory {
        /// The name given.
        id: VirtualMemoryId,
    },
    /// Something is mapped there.
    #[error("{size} bytes at {address} overlap the mapping at {other}")]
    Overlap {
        /// Where it begins.
        address: Address,
        /// Its bytes.
        size: u64,
        /// Where the other one begins.
        other: Address,
    },
    /// Nothing is mapped there.
    #[error("nothing is mapped at {address}")]
    NotMapped {
        /// The address.
        address: Address,
    },
    /// The range ends inside of a mapping.
    #[error("{size} bytes from {address} end inside of the mapping at {other}")]
    Partial {
        /// Where it begins.
        address: Address,
        /// Its bytes.
        size: u64,
        /// Where the mapping begins that it ends in.
        other: Address,
    },
}

/// Addresses that were taken.
#[derive(Debug)]
struct Reservation {
    size: u64,
    mappings: u64,
}

/// Memory without addresses.
#[derive(Debug)]
struct Memory {
    handle: MemoryHandle,
    properties: MemoryProperties,
    references: u64,
    mappings: u64,
}

/// Memory at an address.
#[derive(Debug)]
pub struct Mapping {
    /// The backend's word for it.
    pub handle: MemoryHandle,
    /// Its size in bytes.
    pub size: u64,
    /// What is mapped.
    pub memory: VirtualMemoryId,
    reservation: u64,
    access: Vec<(AgentId, MemoryAccess)>,
}

impl Mapping {
    /// What an agent may do, or None if nobody has said.
    pub fn access(&self, agent: AgentId) -> Option<MemoryAccess> {
        let found = self.access.iter().find(|(other, _)| *other == agent);
        found.map(|(_, access)| *access)
    }

    /// Notes what an agent may do.
    pub fn set_access(&mut self, agent: AgentId, access: MemoryAccess) {
        match self.access.iter_mut().find(|(other, _)| *other == agent) {
            Some((_, known)) => *known = access,
            None => self.access.push((agent, access)),
        }
    }

    /// The agents that may do anything.
    pub fn agents(&self) -> impl Iterator<Item = AgentId> + '_ {
        let some = self.access.iter().filter(|(_, access)| !access.is_empty());
        some.map(|(agent, _)| *agent)
    }
}

/// What is left of memory when somebody has let go of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Left {
    /// Others have it.
    Some,
    /// Nobody has it any more: the backend gets it back.
    None(MemoryHandle),
}

/// All virtual memory of a runtime.
#[derive(Debug, Default)]
pub struct VirtualBooks {
    reservations: BTreeMap<u64, Reservation>,
    memories: BTreeMap<u64, Memory>,
    mappings: BTreeMap<u64, Mapping>,
    last: u64,
}

impl VirtualBooks {
    /// Nothing.
    pub const fn new() -> Self {
        Self {
            reservations: BTreeMap::new(),
            memories: BTreeMap::new(),
            mappings: BTreeMap::new(),
            last: 0,
        }
    }

    /// Notes that addresses were taken.
    pub fn reserve(&mut self, address: u64, size: u64) {
        let reservation = Reservation { size, mappings: 0 };
        self.reservations.insert(address, reservation);
    }

    /// Forgets addresses in which nothing is mapped any more.
    ///
    /// # Errors
    /// [`RangeError::NotReserved`], [`RangeError::WrongSize`], [`RangeError::InUse`].
    pub fn unreserve(&mut self, address: Address, size: u64) -> Result<(), RangeError> {
        let found = self.reservations.get(&address.0);
        let reservation = found.ok_or(RangeError::NotReserved { address, size })?;
        let (actual, mappings) = (reservation.size, reservation.mappings);
        if size != actual {
            return Err(RangeError::WrongSize { size, actual });
        }
        if mappings != 0 {
            return Err(RangeError::InUse { address, mappings });
        }
        self.reservations.remove(&address.0);
        Ok(())
    }

    /// Names memory that the backend has made or imported; it has one reference.
    pub fn add(&mut self, handle: MemoryHandle, properties: MemoryProperties) -> VirtualMemoryId {
        self.last += 1;
        let memory = Memory {
            handle,
            properties,
            references: 1,
            mappings: 0,
        };
        self.memories.insert(self.last, memory);
        VirtualMemoryId(self.last)
    }

    /// Memory that has references left.
    fn memory(&mut self, id: VirtualMemoryId) -> Result<&mut Memory, RangeError> {
        let found = self.memories.get_mut(&id.0);
        found
            .filter(|memory| memory.references != 0)
            .ok_or(RangeError::NoMemory { id })
    }

    /// The backend's word for memory, and what it was made as.
    ///
    /// # Errors
    /// [`RangeError::NoMemory`].
    pub fn look_up(
        &mut self,
        id: VirtualMemoryId,
    ) -> Result<(MemoryHandle, MemoryProperties), RangeError> {
        let memory = self.memory(id)?;
        Ok((memory.handle, memory.properties))
    }

    /// The backend's word for memory that is mapped, whether or not anybody has a reference.
    pub fn mapped(&self, id: VirtualMemoryId) -> Option<MemoryHandle> {
        let memory = self.memories.get(&id.0)?;
        (memory.mappings != 0).then_some(memory.handle)
    }

    /// Gives a reference back.
    ///
    /// # Errors
    /// [`RangeError::NoMemory`].
    pub fn release(&mut self, id: VirtualMemoryId) -> Result<Left, RangeError> {
        self.memory(id)?.references -= 1;
        Ok(self.collect(id))
    }

    /// Takes another reference of what is mapped around an address.
    ///
    /// # Errors
    /// [`RangeError::NotMapped`].
    pub fn retain(&mut self, address: Address) -> Result<VirtualMemoryId, RangeError> {
        let not_mapped = RangeError::NotMapped { address };
        let (_, mapping) = self.containing(address).ok_or(not_mapped.clone())?;
        let id = mapping.memory;
        // What is mapped may be retained when all references were given back.
        let memory = self.memories.get_mut(&id.0).ok_or(not_mapped)?;
        memory.references = memory.references.saturating_add(1);
        Ok(id)
    }

    fn collect(&mut self, id: VirtualMemoryId) -> Left {
        match self.memories.get(&id.0) {
            Some(memory) if memory.references == 0 && memory.mappings == 0 => {
                let handle = memory.handle;
                self.memories.remove(&id.0);
                Left::None(handle)
            }
            _ => Left::Some,
        }
    }

    /// Whether memory may be mapped at an address: gives the backend's word for it.
    ///
    /// # Errors
    /// [`RangeError::NotReserved`], [`RangeError::Overlap`], [`RangeError::NoMemory`], [`RangeError::WrongSize`].
    pub fn check_map(
        &mut self,
        address: Address,
        size: u64,
        id: VirtualMemoryId,
    ) -> Result<MemoryHandle, RangeError> {
        self.reservation_of(address, size)?;
        let end = address.0 + size;
        if let Some((other, mapping)) = self.mappings.range(..end).next_back()
            && other + mapping.size > address.0
        {
            let other = Address(*other);
            return Err(RangeError::Overlap {
                address,
                size,
                other,
            });
        }
        let (handle, properties) = self.look_up(id)?;
        if properties.size != size {
            let actual = properties.size;
            return Err(RangeError::WrongSize { size, actual });
        }
        Ok(handle)
    }

    /// Notes a mapping that [`Self::check_map`] has found possible.
    pub fn map(&mut self, address: Address, id: VirtualMemoryId, handle: MemoryHandle) {
        let Some(memory) = self.memories.get_mut(&id.0) else {
            return;
        };
        memory.mappings += 1;
        let size = memory.properties.size;
        let reservation = self.reservation_of(address, size).unwrap_or(address.0);
        if let Some(range) = self.reservations.get_mut(&reservation) {
            range.mappings += 1;
        }
        let mapping = Mapping {
            handle,
            size,
            memory: id,
            reservation,
            access: Vec::new(),
        };
        self.mappings.insert(address.0, mapping);
    }

    /// Forgets the mapping that begins at an address.
    pub fn unmap(&mut self, address: u64) -> Left {
        let Some(mapping) = self.mappings.remove(&address) else {
            return Left::Some;
        };
        if let Some(range) = self.reservations.get_mut(&mapping.reservation) {
            range.mappings -= 1;
        }
        if let Some(memory) = self.memories.get_mut(&mapping.memory.0) {
            memory.mappings -= 1;
        }
        self.collect(mapping.memory)
    }

    /// Where the reservation begins that a range lies in.
    ///
    /// # Errors
    /// [`RangeError::NotReserved`].
    pub fn reservation_of(&self, address: Address, size: u64) -> Result<u64, RangeError> {
        let found = self.reservations.range(..=address.0).next_back();
        found
            .filter(|(base, range)| {
                let offset = address.0 - **base;
                offset
                    .checked_add(size)
                    .is_some_and(|end| end <= range.size)
            })
            .map(|(base, _)| *base)
            .ok_or(RangeError::NotReserved { address, size })
    }

    /// The reservation around an address: where it begins, and its size.
    pub fn reserved(&self, address: Address) -> Option<(Address, u64)> {
        let base = self.reservation_of(address, 1).ok()?;
        Some((Address(base), self.reservations.get(&base)?.size))
    }

    /// Where the mappings begin that a range consists of, without a hole.
    ///
    /// # Errors
    /// [`RangeError::NotMapped`], [`RangeError::Partial`].
    pub fn pieces(&self, address: Address, size: u64) -> Result<Vec<u64>, RangeError> {
        let mut pieces = Vec::new();
        let mut done = 0;
        while done < size {
            let at = Address(address.0.wrapping_add(done));
            let mapping = self
                .mappings
                .get(&at.0)
                .ok_or(RangeError::NotMapped { address: at })?;
            pieces.push(at.0);
            done += mapping.size;
            if done > size {
                return Err(RangeError::Partial {
                    address,
                    size,
                    other: at,
                });
            }
        }
        Ok(pieces)
    }

    /// The mapping that begins at an address.
    pub fn mapping(&mut self, address: u64) -> Option<&mut Mapping> {
        self.mappings.get_mut(&address)
    }

    /// The mapping around an address, and where it begins.
    pub fn containing(&self, address: Address) -> Option<(u64, &Mapping)> {
        let (base, mapping) = self.mappings.range(..=address.0).next_back()?;
        (address.0 - base < mapping.size).then_some((*base, mapping))
    }

    /// The number of reservations, of memories and of mappings.
    pub fn len(&self) -> (usize, usize, usize) {
        (
            self.reservations.len(),
            self.memories.len(),
            self.mappings.len(),
        )
    }

    /// Takes everything out, in the order that it can be given back: mappings, memory, addresses with their sizes.
    pub fn drain(&mut self) -> (Vec<MemoryHandle>, Vec<MemoryHandle>, Vec<(u64, u64)>) {
        let mappings = core::mem::take(&mut self.mappings);
        let memories = core::mem::take(&mut self.memories);
        let ranges = core::mem::take(&mut self.reservations);
        (
            mappings
                .into_values()
                .map(|mapping| mapping.handle)
                .collect(),
            memories.into_values().map(|memory| memory.handle).collect(),
            ranges.into_iter().map(|(at, r)| (at, r.size)).collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Address = Address(0x10_0000);

    fn books(pages: u64) -> (VirtualBooks, VirtualMemoryId) {
        let mut books = VirtualBooks::new();
        books.reserve(AT.0, 0x1_0000);
        let id = books.add(
            MemoryHandle(7),
            MemoryProperties {
                pool: PoolId(0),
                size: pages * 0x1000,
                pinned: false,
            },
        );
        (books, id)
    }

    #[test]
    fn memory_is_mapped_whole_inside_of_what_was_reserved_and_nowhere_twice() {
        let (mut books, id) = books(2);
        let not_reserved = |r| matches!(r, Err(RangeError::NotReserved { .. }));
        assert!(not_reserved(books.check_map(Address(0xf_f000), 0x2000, id)));
        assert!(not_reserved(books.check_map(AT.offset(0xf000), 0x2000, id)));
        assert!(not_reserved(books.check_map(AT, u64::MAX, id)));
        let size = books.check_map(AT, 0x1000, id);
        assert!(matches!(size, Err(RangeError::WrongSize { .. })));
        let none = VirtualMemoryId(99);
        let none = books.check_map(AT, 0x2000, none);
        assert!(matches!(none, Err(RangeError::NoMemory { .. })));
        let first = AT.offset(0x2000);
        assert_eq!(books.check_map(first, 0x2000, id), Ok(MemoryHandle(7)));
        books.map(first, id, MemoryHandle(8));
        for at in [0x1000, 0x2000, 0x3000] {
            let again = books.check_map(AT.offset(at), 0x2000, id);
            assert!(matches!(again, Err(RangeError::Overlap { .. })), "{at:#x}");
        }
        for at in [0, 0x4000] {
            assert!(books.check_map(AT.offset(at), 0x2000, id).is_ok());
        }
    }

    #[test]
    fn a_range_of_mappings_has_no_holes_and_ends_where_one_ends() {
        let (mut books, id) = books(2);
        books.map(AT, id, MemoryHandle(8));
        books.map(AT.offset(0x2000), id, MemoryHandle(9));
        assert_eq!(books.pieces(AT, 0x4000), Ok([AT.0, AT.0 + 0x2000].into()));
        let partial = books.pieces(AT, 0x3000);
        assert!(matches!(partial, Err(RangeError::Partial { .. })));
        let hole = books.pieces(AT, 0x6000);
        assert!(matches!(hole, Err(RangeError::NotMapped { .. })));
        let inside = books.pieces(AT.offset(0x1000), 0x1000);
        assert!(matches!(inside, Err(RangeError::NotMapped { .. })));
    }

    #[test]
    fn memory_stays_while_it_is_mapped_or_somebody_has_a_reference() {
        let (mut books, id) = books(2);
        books.map(AT, id, MemoryHandle(8));
        let in_use = books.unreserve(AT, 0x1_0000);
        assert!(matches!(in_use, Err(RangeError::InUse { .. })));
        assert_eq!(books.release(id), Ok(Left::Some));
        // Its name is void, but by its address it can be had again.
        assert!(books.release(id).is_err() && books.look_up(id).is_err());
        assert_eq!(books.retain(AT.offset(0x1fff)), Ok(id));
        assert!(books.retain(AT.offset(0x2000)).is_err());
        assert_eq!(books.unmap(AT.0), Left::Some);
        assert_eq!(books.release(id), Ok(Left::None(MemoryHandle(7))));
        let wrong = books.unreserve(AT, 0x1000);
        assert!(matches!(wrong, Err(RangeError::WrongSize { .. })));
        assert_eq!(books.unreserve(AT, 0x1_0000), Ok(()));
        assert_eq!(books.len(), (0, 0, 0));
    }
}
