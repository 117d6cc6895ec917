//! Caches of processors, which the driver does not list: sysfs does.

use super::text::{number, trim};
use alloc::format;
use alloc::vec::Vec;
use rukh_core::backend::{CacheInfo, CacheKind};
use rukh_core::kfd::KfdPort;

/// Most caches of a processor.
const MOST: u32 = 16;

/// The first processor of a list such as `0-3,8`.
fn first(list: &[u8]) -> Option<u64> {
    let end = list.iter().position(|b| !b.is_ascii_digit());
    number(&list[..end.unwrap_or(list.len())])
}

/// A size such as `32K` in bytes.
fn size(text: &[u8]) -> Option<u64> {
    let (digits, unit) = match text.split_last() {
        Some((b'K', digits)) => (digits, 1 << 10),
        Some((b'M', digits)) => (digits, 1 << 20),
        _ => (text, 1),
    };
    let bytes = number(digits)?.checked_mul(unit)?;
    // A terabyte of cache is nonsense.
    (1..=1 << 40).contains(&bytes).then_some(bytes)
}

/// The caches that a NUMA node's first processor uses, innermost first; none where the system does not say.
pub(crate) fn caches<P: KfdPort + ?Sized>(port: &P, node: u32) -> Vec<CacheInfo> {
    let mut buffer = [0; 4096];
    let mut read = |path: &str| -> Option<Vec<u8>> {
        let length = port.read_file(path, &mut buffer).ok()?;
        Some(trim(buffer.get(..length)?).to_vec())
    };
    let list = read(&format!("/sys/devices/system/node/node{node}/cpulist"));
    // Systems without NUMA have no nodes there, and one in the topology.
    let cpu = match list {
        Some(list) => first(&list),
        None => (node == 0).then_some(0),
    };
    let Some(cpu) = cpu else {
        return Vec::new();
    };
    let mut caches = Vec::new();
    for index in 0..MOST {
        let base = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
        let Some(kind) = read(&format!("{base}/type")) else {
            break;
        };
        let kind = match kind.as_slice() {
            b"Data" => CacheKind::Data,
            b"Instruction" => CacheKind::Instruction,
            b"Unified" => CacheKind::Unified,
            _ => continue,
        };
        let level = read(&format!("{base}/level")).and_then(|text| number(&text));
        let bytes = read(&format!("{base}/size")).and_then(|text| size(&text));
        let line = read(&format!("{base}/coherency_line_size")).and_then(|text| number(&text));
        if let (Some(level @ 1..=16), Some(size)) = (level, bytes) {
            caches.push(CacheInfo {
                level: level as u32,
                size,
                line_bytes: line.filter(|&n| n <= 1 << 20).unwrap_or(0) as u32,
                kind,
            });
        }
    }
    caches.sort_by_key(|cache| (cache.level, cache.kind as u32));
    caches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::TreePort;

    #[test]
    fn caches_are_those_of_the_nodes_first_processor() {
        let tree = TreePort::parse(
            b"## /sys/devices/system/node/node1/cpulist\n8-11,24\n\
            ## /sys/devices/system/cpu/cpu8/cache/index0/type\nUnified\n\
            ## /sys/devices/system/cpu/cpu8/cache/index0/level\n3\n\
            ## /sys/devices/system/cpu/cpu8/cache/index0/size\n32M\n\
            ## /sys/devices/system/cpu/cpu8/cache/index0/coherency_line_size\n64\n\
            ## /sys/devices/system/cpu/cpu8/cache/index1/type\nData\n\
            ## /sys/devices/system/cpu/cpu8/cache/index1/level\n1\n\
            ## /sys/devices/system/cpu/cpu8/cache/index1/size\n48K\n",
        );
        let found = caches(&tree, 1);
        let found: Vec<_> = found
            .iter()
            .map(|cache| (cache.level, cache.size, cache.line_bytes, cache.kind))
            .collect();
        assert_eq!(
            found,
            [
                (1, 48 << 10, 0, CacheKind::Data),
                (3, 32 << 20, 64, CacheKind::Unified)
            ]
        );
        assert!(caches(&tree, 0).is_empty());
    }

    #[test]
    fn nonsense_is_no_cache() {
        for (level, bytes) in [
            ("0", "1K"),
            ("99", "1K"),
            ("1", "0"),
            ("1", "-4K"),
            ("1", "99999999M"),
        ] {
            let text = format!(
                "## /sys/devices/system/cpu/cpu0/cache/index0/type\nData\n\
                ## /sys/devices/system/cpu/cpu0/cache/index0/level\n{level}\n\
                ## /sys/devices/system/cpu/cpu0/cache/index0/size\n{bytes}\n"
            );
            assert!(
                caches(&TreePort::parse(text.as_bytes()), 0).is_empty(),
                "{text}"
            );
        }
    }
}
