//! AMD's GPUs on the PCI bus, whatever the driver makes of them.

use std::fs;
use std::path::Path;

/// A GPU on the bus.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PciGpu {
    /// Its address, `0000:03:00.0`.
    pub address: String,
    /// PCI domain.
    pub domain: u64,
    /// Bus in bits 8 to 15, device in bits 3 to 7, function in bits 0 to 2.
    pub location: u64,
    /// PCI device id.
    pub device: u64,
    /// The driver that has it.
    pub driver: Option<String>,
    /// Version of the graphics core, if the driver shows it: major, minor, revision.
    pub core: Option<(u32, u32, u32)>,
    /// Whether atomic operations towards the host are on; unknown without the right to read the whole
    /// configuration space.
    pub atomics: Option<bool>,
}

const AMD: u64 = 0x1002;
/// Class codes, upper 8 of 24 bits: display controllers and processing accelerators.
const CLASSES: [u64; 2] = [0x03, 0x12];

fn text(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_string())
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()
}

/// AMD's GPUs below a root, by address.
pub fn list(root: &Path) -> Vec<PciGpu> {
    let devices = root.join("sys/bus/pci/devices");
    let mut gpus: Vec<PciGpu> = fs::read_dir(devices)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| gpu(&entry.path()))
        .collect();
    gpus.sort_by(|a, b| a.address.cmp(&b.address));
    gpus
}

fn gpu(path: &Path) -> Option<PciGpu> {
    let number = |file: &str| hex(&text(&path.join(file))?);
    if number("vendor")? != AMD || !CLASSES.contains(&(number("class")? >> 16)) {
        return None;
    }
    let address = path.file_name()?.to_str()?.to_string();
    let (domain, location) = place(&address)?;
    let core = path.join("ip_discovery/die/0/GC/0");
    let part = |file: &str| text(&core.join(file))?.parse().ok();
    Some(PciGpu {
        domain,
        location,
        device: number("device")?,
        driver: fs::read_link(path.join("driver"))
            .ok()
            .and_then(|driver| Some(driver.file_name()?.to_str()?.to_string())),
        core: Option::zip(part("major"), part("minor"))
            .zip(part("revision"))
            .map(|((major, minor), revision)| (major, minor, revision)),
        atomics: fs::read(path.join("config")).ok().and_then(|c| atomics(&c)),
        address,
    })
}

/// Domain and location of an address.
fn place(address: &str) -> Option<(u64, u64)> {
    let (bus, function) = address.rsplit_once('.')?;
    let mut parts = bus.split(':').map(hex);
    let (domain, bus, device) = (parts.next()??, parts.next()??, parts.next()??);
    Some((domain, bus << 8 | device << 3 | hex(function)?))
}

/// Whether AtomicOp requests are enabled in a function's configuration space (PCI Express Base Specification, Device
/// Control 2, bit 6). None if its PCI Express capability is not in what could be read.
fn atomics(config: &[u8]) -> Option<bool> {
    const STATUS: usize = 6;
    const HAS_CAPABILITIES: u8 = 1 << 4;
    const FIRST: usize = 0x34;
    const PCI_EXPRESS: u8 = 0x10;
    const DEVICE_CONTROL_2: usize = 0x28;
    const REQUESTER_ENABLE: u8 = 1 << 6;
    if config.get(STATUS)? & HAS_CAPABILITIES == 0 {
        return None;
    }
    let mut at = usize::from(*config.get(FIRST)? & 0xfc);
    // A list in a circle ends too.
    for _ in 0..48 {
        if at == 0 {
            return None;
        }
        if *config.get(at)? == PCI_EXPRESS {
            return Some(config.get(at + DEVICE_CONTROL_2)? & REQUESTER_ENABLE != 0);
        }
        at = usize::from(*config.get(at + 1)? & 0xfc);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_the_drivers_location() {
        assert_eq!(place("0000:03:00.0"), Some((0, 0x300)));
        assert_eq!(place("0001:c5:1f.7"), Some((1, 0xc5ff)));
        assert_eq!(place("nonsense"), None);
    }

    #[test]
    fn atomics_are_bit_6_of_device_control_2() {
        let mut config = vec![0; 256];
        assert_eq!(atomics(&config), None);
        config[6] = 0x10;
        config[0x34] = 0x48;
        config[0x48] = 1;
        config[0x49] = 0x64;
        config[0x64] = 0x10;
        assert_eq!(atomics(&config), Some(false));
        config[0x64 + 0x28] = 0x40;
        assert_eq!(atomics(&config), Some(true));
        assert_eq!(
            atomics(&config[..64]),
            None,
            "what users without rights read"
        );
        config[0x65] = 0x48;
        config[0x64] = 9;
        assert_eq!(atomics(&config), None, "a list in a circle");
    }
}
