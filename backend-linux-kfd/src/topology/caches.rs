//! Caches: thousands of files on a large GPU, a handful of kinds.

use super::Reader;
use super::text::Properties;
use alloc::format;
use alloc::vec::Vec;
use rukh_core::backend::{CacheInfo, CacheKind};
use rukh_core::kfd::KfdPort;

/// Most caches of a node that are looked at.
pub(super) const MAX: u32 = 1 << 16;

/// Most kinds of cache that a node can have; more is nonsense.
const KINDS: usize = 16;

fn same(a: &CacheInfo, b: &CacheInfo) -> bool {
    (a.level, a.size, a.line_bytes, a.kind) == (b.level, b.size, b.line_bytes, b.kind)
}

fn parse(properties: &Properties<'_>) -> Option<CacheInfo> {
    let kind = properties.get("type").number()?;
    let (data, instruction) = (kind & 1 != 0, kind & 2 != 0);
    Some(CacheInfo {
        level: properties.get("level").bounded(16).filter(|&n| n != 0)? as u32,
        // In KiB; a terabyte of cache is nonsense.
        size: properties
            .get("size")
            .bounded(1 << 30)
            .filter(|&n| n != 0)?
            * 1024,
        line_bytes: properties
            .get("cache_line_size")
            .bounded(1 << 20)
            .unwrap_or(0) as u32,
        kind: match (data, instruction) {
            (true, true) => CacheKind::Unified,
            (_, true) => CacheKind::Instruction,
            _ => CacheKind::Data,
        },
    })
}

/// The kinds of cache of a node, innermost first.
///
/// The kernel lists the caches of one kind one after the other, each with the units that share it. Where the first
/// and the last of a stretch are alike, so are those between: that makes a few reads of a thousand files. A
/// tree that does otherwise is read less completely, nothing worse.
pub(super) fn read<P: KfdPort + ?Sized>(
    reader: &mut Reader<'_, P>,
    base: &str,
    count: u32,
) -> Vec<CacheInfo> {
    let mut kinds: Vec<CacheInfo> = Vec::new();
    let mut file = |index: u32| {
        let cache = reader
            .read(&format!("{base}/caches/{index}/properties"))
            .ok()
            .and_then(|file| parse(&Properties(file)));
        if let Some(cache) = &cache
            && kinds.len() < KINDS
            && !kinds.iter().any(|known| same(known, cache))
        {
            kinds.push(*cache);
        }
        cache
    };
    if let Some(last) = count.checked_sub(1) {
        let ends = (file(0), file(last));
        let mut stretches = alloc::vec![(0, last, ends)];
        let mut reads = 0;
        while let Some((from, to, (first, end))) = stretches.pop() {
            let alike = match (&first, &end) {
                (Some(first), Some(end)) => same(first, end),
                (None, None) => true,
                _ => false,
            };
            if alike || to - from < 2 || reads > 1024 {
                continue;
            }
            reads += 1;
            let middle = from + (to - from) / 2;
            let seen = file(middle);
            stretches.push((from, middle, (first, seen)));
            stretches.push((middle, to, (seen, end)));
        }
    }
    kinds.sort_by_key(|cache| (cache.level, cache.kind as u32));
    kinds
}
