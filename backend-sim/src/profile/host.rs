//! The CPU agent: the host that the simulator runs on, as far as it can be told.

use alloc::vec::Vec;
use rukh_core::backend::{CacheInfo, CacheKind, Name};

/// What is known of the host.
#[derive(Clone, Debug)]
pub struct HostCpu {
    /// Model name.
    pub name: Name,
    /// Logical processors.
    pub cores: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Caches, innermost first.
    pub caches: Vec<CacheInfo>,
}

impl HostCpu {
    /// A host about which nothing is known: one core, and as much memory as it may turn out to have.
    pub fn generic() -> Self {
        Self {
            name: short("CPU"),
            cores: 1,
            memory_bytes: 16 << 30,
            caches: alloc::vec![CacheInfo {
                level: 1,
                size: 32 << 10,
                line_bytes: 64,
                kind: CacheKind::Data,
            }],
        }
    }

    /// The host as its operating system describes it; [`Self::generic`] where it does not.
    #[cfg(feature = "std")]
    pub fn detect() -> Self {
        let mut host = Self::generic();
        if let Ok(cores) = std::thread::available_parallelism() {
            host.cores = u32::try_from(cores.get()).unwrap_or(u32::MAX);
        }
        if let Ok(text) = std::fs::read_to_string("/proc/cpuinfo")
            && let Some(model) = field(&text, "model name")
        {
            host.name = short(model);
        }
        if let Ok(text) = std::fs::read_to_string("/proc/meminfo")
            && let Some(total) = field(&text, "MemTotal")
            && let Some(kib) = total.split(' ').next().and_then(|n| n.parse::<u64>().ok())
            && kib >= 4
        {
            host.memory_bytes = kib.saturating_mul(1024) & !4095;
        }
        let caches: Vec<CacheInfo> = (0..8).map_while(read_cache).collect();
        if !caches.is_empty() {
            host.caches = caches;
        }
        host
    }
}

/// The longest beginning of a text that a name holds.
fn short(text: &str) -> Name {
    let mut name = Name::new();
    for c in text.trim().chars() {
        if name.len() + c.len_utf8() > 63 || name.push(c).is_err() {
            break;
        }
    }
    name
}

/// The value of the first line `key : value`.
#[cfg(feature = "std")]
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(k, _)| k.trim() == key)
        .map(|(_, value)| value.trim())
}

#[cfg(feature = "std")]
fn read_cache(index: u32) -> Option<CacheInfo> {
    let read = |file: &str| {
        let path = std::format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{file}");
        std::fs::read_to_string(path).ok()
    };
    let size = read("size")?;
    let size = size.trim();
    let (digits, unit) = match size.strip_suffix('K') {
        Some(digits) => (digits, 1 << 10),
        None => match size.strip_suffix('M') {
            Some(digits) => (digits, 1 << 20),
            None => (size, 1),
        },
    };
    Some(CacheInfo {
        level: read("level")?.trim().parse().ok()?,
        size: digits.parse::<u64>().ok()?.checked_mul(unit)?,
        line_bytes: read("coherency_line_size")?.trim().parse().ok()?,
        kind: match read("type")?.trim() {
            "Data" => CacheKind::Data,
            "Instruction" => CacheKind::Instruction,
            _ => CacheKind::Unified,
        },
    })
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn the_host_has_cores_and_memory() {
        let host = HostCpu::detect();
        assert!(host.cores >= 1);
        assert!(host.memory_bytes >= 1 << 20);
        assert!(!host.name.is_empty());
    }

    #[test]
    fn long_model_names_are_cut_at_a_character() {
        let text = "Ä".repeat(60);
        assert_eq!(short(&text).chars().count(), 31);
        assert_eq!(
            field("a: 1\nmodel name\t: X (R)\n", "model name"),
            Some("X (R)")
        );
    }
}
