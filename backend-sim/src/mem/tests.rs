//! What the address map promises.

use super::*;
use alloc::sync::Arc;

fn page(n: u64) -> u64 {
    n * PAGE_SIZE
}

/// A map that is only asked, never used to touch memory: any host address will do.
fn insert(map: &AddressMap, base: u64, size: u64, handle: u64) -> RegionId {
    let host = core::ptr::without_provenance_mut::<u8>(base as usize);
    // SAFETY: nothing here reads or writes through the spans.
    unsafe { map.insert(base, size, host, handle) }.expect("a free range")
}

fn register(map: &AddressMap, base: u64, size: u64, handle: u64) -> RegionId {
    let host = core::ptr::without_provenance_mut::<u8>(base as usize);
    // SAFETY: as above.
    unsafe { map.insert_host(host, size, handle) }.expect("host memory")
}

#[test]
fn only_agents_with_rights_see_a_region() {
    let map = AddressMap::new();
    let id = insert(&map, page(16), page(2), 1);
    let (a, b) = (map.view(1), map.view(2));
    assert!(a.lookup(page(16)).is_none());
    map.set_rights(id, 1, Rights::READ | Rights::WRITE)
        .expect("a region");
    let span = a.lookup(page(17) + 5).expect("mapped");
    assert_eq!((span.base, span.end), (page(16), page(18)));
    assert_eq!(span.host_address(page(17)).addr() as u64, page(17));
    assert!(b.lookup(page(16)).is_none());
    assert_eq!(
        b.fault(page(16), 4, Access::Read).reason,
        FaultReason::OtherAgent
    );
    assert_eq!(
        a.fault(page(16), 4, Access::Execute).reason,
        FaultReason::NotExecutable
    );
}

#[test]
fn large_regions_end_where_they_end() {
    let map = AddressMap::new();
    let base = (5 << 24) - page(3);
    let size = (3 << 24) + page(7);
    let id = insert(&map, base, size, 1);
    map.set_rights(id, 0, Rights::READ).expect("a region");
    let view = map.view(0);
    for va in [base, base + size - 1, 5 << 24, (7 << 24) + 1] {
        assert_eq!(view.lookup(va).expect("inside").base, base);
    }
    assert!(view.lookup(base - 1).is_none());
    assert!(view.lookup(base + size).is_none());
    map.remove(id, 0).expect("a region");
    for va in [base, base + size - 1, 5 << 24, (7 << 24) + 1] {
        assert!(view.lookup(va).is_none());
    }
}

#[test]
fn a_generation_ends_when_a_region_or_a_right_goes() {
    let map = AddressMap::new();
    let view = map.view(0);
    let id = insert(&map, page(1), page(1), 1);
    map.set_rights(id, 0, Rights::all()).expect("a region");
    let start = view.generation();
    map.set_rights(id, 1, Rights::all()).expect("a region");
    assert_eq!(view.generation(), start);
    map.set_rights(id, 0, Rights::READ).expect("a region");
    assert_ne!(view.generation(), start);
    let start = view.generation();
    map.remove(id, 0).expect("a region");
    assert_ne!(view.generation(), start);
    assert_eq!(map.remove(id, 0), Err(MapError::NoRegion));
}

#[test]
fn a_fault_names_the_freed_range_and_the_nearest_region() {
    let map = AddressMap::new();
    let view = map.view(3);
    let kept = insert(&map, page(100), page(4), 7);
    map.set_rights(kept, 3, Rights::READ).expect("a region");
    let gone = insert(&map, page(110), page(1), 8);
    map.remove(gone, 1234).expect("a region");
    let fault = view.fault(page(110) + 8, 4, Access::Write);
    assert_eq!(fault.reason, FaultReason::NotMapped);
    assert_eq!(
        fault.freed,
        Some(FreedRange {
            base: page(110),
            size: page(1),
            handle: 8,
            freed_at: 1234
        })
    );
    let near = fault.nearest.expect("one region");
    assert_eq!((near.handle, near.distance), (7, page(6) as i64 + 9));
    // A read that starts inside and runs off the end faults at the first byte outside.
    let fault = view.fault(page(104) - 4, 16, Access::Read);
    assert_eq!(fault.address, page(104));
    assert_eq!(fault.nearest.expect("one region").distance, 1);
    assert_eq!(
        view.fault(page(100), 4, Access::Write).reason,
        FaultReason::NotWritable
    );
    assert_eq!(
        view.fault(u64::MAX, 16, Access::Read).reason,
        FaultReason::NotCanonical
    );
}

#[test]
fn registered_host_memory_may_overlap_and_rights_add_up() {
    let map = AddressMap::new();
    let view = map.view(0);
    let first = register(&map, page(10), page(4), 1);
    let second = register(&map, page(12), page(4), 2);
    map.set_rights(first, 0, Rights::READ).expect("a region");
    map.set_rights(second, 0, Rights::WRITE).expect("a region");
    assert_eq!(view.lookup(page(11)).expect("first").rights, Rights::READ);
    assert_eq!(
        view.lookup(page(12)).expect("both").rights,
        Rights::READ | Rights::WRITE
    );
    assert_eq!(view.lookup(page(15)).expect("second").rights, Rights::WRITE);
    map.remove(first, 0).expect("a region");
    assert!(view.lookup(page(11)).is_none());
    assert_eq!(view.lookup(page(12)).expect("second").rights, Rights::WRITE);
    map.remove(second, 0).expect("a region");
    assert!(view.lookup(page(12)).is_none());
    // Allocations never overlap anything.
    let _own = insert(&map, page(20), page(2), 3);
    let host = core::ptr::without_provenance_mut::<u8>(page(21) as usize);
    // SAFETY: nothing here reads or writes through the spans.
    let overlap = unsafe { map.insert_host(host, page(4), 4) };
    assert!(matches!(overlap, Err(MapError::Overlap { .. })));
}

#[test]
fn bad_ranges_are_refused() {
    let map = AddressMap::new();
    for (base, size) in [
        (page(1), 0),
        (page(1) + 1, page(1)),
        (page(1), 17),
        ((1 << VA_BITS) - page(1), page(2)),
        (u64::MAX - page(1) + 1, page(1)),
    ] {
        // SAFETY: nothing here reads or writes through the spans.
        let answer = unsafe { map.insert(base, size, core::ptr::null_mut(), 0) };
        assert_eq!(answer, Err(MapError::BadRange { base, size }));
    }
}

#[test]
fn lookups_race_with_writers_and_never_see_a_mixture() {
    let map = AddressMap::new();
    let stop = Arc::new(core::sync::atomic::AtomicBool::new(false));
    let readers: alloc::vec::Vec<_> = (0..2)
        .map(|_| {
            let (view, stop) = (map.view(0), stop.clone());
            std::thread::spawn(move || {
                while !stop.load(core::sync::atomic::Ordering::Relaxed) {
                    for n in 0..64 {
                        if let Some(span) = view.lookup(page(1000 + n)) {
                            assert!(span.contains(page(1000 + n), 1));
                            // Host addresses mirror addresses in this test.
                            assert_eq!(span.host.addr() as u64, span.base);
                        }
                    }
                }
            })
        })
        .collect();
    for round in 0..3000u64 {
        let base = page(1000 + round % 50);
        let id = insert(&map, base, page(1 + round % 9), round);
        map.set_rights(id, 0, Rights::all()).expect("a region");
        map.remove(id, round).expect("a region");
    }
    stop.store(true, core::sync::atomic::Ordering::Relaxed);
    for reader in readers {
        reader.join().expect("no mixture");
    }
}

fn blocks_are_zero_apart_and_aligned(source: &dyn HostMemory) {
    let mut blocks = alloc::vec::Vec::new();
    for round in 0..40u64 {
        let align = PAGE_SIZE << (round % 10);
        let size = page(1 + round % 5);
        let block = source.allocate(size, align).expect("memory");
        assert_eq!(block.host.addr().get() as u64 % align, 0);
        // SAFETY: the block is ours and as long as asked.
        unsafe {
            let host = block.host.as_ptr();
            for at in [0, 8, size as usize - 8] {
                assert_eq!(raw::load_u64(host.add(at)), 0);
            }
            raw::fill(host, 0xff, size as usize);
        }
        blocks.push((block, align));
        if round % 3 == 0 {
            let (block, align) = blocks.swap_remove(round as usize % blocks.len());
            // SAFETY: nothing uses it any more.
            unsafe { source.release(block, align) };
        }
    }
    let mut ranges: alloc::vec::Vec<_> = blocks
        .iter()
        .map(|(b, _)| (b.host.addr().get() as u64, b.size))
        .collect();
    ranges.sort_unstable();
    assert!(
        ranges
            .windows(2)
            .all(|w| w[0].0 + w[0].1 + PAGE_SIZE <= w[1].0)
    );
    for (block, align) in blocks {
        // SAFETY: nothing uses it any more.
        unsafe { source.release(block, align) };
    }
}

#[test]
fn heap_blocks_are_zero_apart_and_aligned() {
    blocks_are_zero_apart_and_aligned(&HeapMemory);
}

#[cfg(feature = "std")]
#[test]
fn system_blocks_are_zero_apart_and_aligned() {
    blocks_are_zero_apart_and_aligned(&OsMemory::new());
}

#[cfg(feature = "std")]
#[test]
fn a_huge_block_costs_nothing_until_it_is_touched() {
    let source = OsMemory::new();
    let size = 64 << 30;
    let block = source.allocate(size, PAGE_SIZE).expect("address space");
    // SAFETY: the last bytes of the block.
    unsafe {
        raw::store_u32(block.host.as_ptr().add(size as usize - 4), 5);
        source.release(block, PAGE_SIZE);
    }
}
