//! Devices as data: one table entry is one GPU that can be simulated.
//!
//! Figures are those that the driver's topology reports for the product that the entry names. To add a
//! device, add an entry to `table`; nothing else knows products.

mod host;
mod table;

pub use host::HostCpu;

use crate::isa::Arch;
use alloc::string::String;
use alloc::vec::Vec;
use rukh_core::backend::{CacheInfo, GpuInfo, Name};
use rukh_core::isa::Processor;
use rukh_core::wire::sdma::Generation;
use thiserror_no_std::Error;

/// A GPU that can be simulated.
#[derive(Debug)]
pub struct Profile {
    /// The processor: also the profile's name.
    pub name: &'static str,
    /// The product whose figures these are.
    pub product: &'static str,
    /// The driver's name of the chip; chips that describe themselves have none of their own there.
    pub chip: &'static str,
    /// Whose machine code it executes.
    pub arch: Arch,
    /// Target id: the processor with its feature settings.
    pub target_id: &'static str,
    /// Lanes of a wavefront unless a kernel says otherwise.
    pub wavefront_size: u32,
    /// Compute units, all XCCs together.
    pub compute_units: u32,
    /// SIMD units per compute unit.
    pub simds_per_cu: u32,
    /// Shader engines, all XCCs together.
    pub shader_engines: u32,
    /// Shader arrays per shader engine.
    pub arrays_per_engine: u32,
    /// Wave slots per SIMD unit.
    pub waves_per_simd: u32,
    /// Scratch wave slots per compute unit.
    pub scratch_slots_per_cu: u32,
    /// Dies that execute one dispatch together.
    pub xcc_count: u32,
    /// Group memory per compute unit and largest per work-group, in bytes.
    pub lds_bytes: u32,
    /// Vector registers of a SIMD unit, counted as registers of a wave of the native size.
    pub vgprs_per_simd: u32,
    /// Registers that a wave is given are a multiple of this, at the native wave size.
    pub vgpr_granule: u32,
    /// Highest engine clock, in MHz.
    pub max_clock_mhz: u32,
    /// Ticks per second of the counter that stamps packets.
    pub counter_hz: u64,
    /// PCI device id.
    pub device_id: u32,
    /// DRM family.
    pub family_id: u32,
    /// ASIC revision.
    pub revision: u32,
    /// Revision in the PCI configuration space: with the device id it tells products apart.
    pub pci_revision: u32,
    /// SDMA engines for host transfers.
    pub sdma_engines: u32,
    /// SDMA engines for XGMI.
    pub sdma_xgmi_engines: u32,
    /// Device memory, in bytes. Costs nothing until it is touched.
    pub vram_bytes: u64,
    /// Width of the device memory's bus, in bits.
    pub vram_width_bits: u32,
    /// Device memory clock, in MHz.
    pub vram_clock_mhz: u32,
    /// Caches, innermost first.
    pub caches: &'static [CacheInfo],
    /// Line size of the outermost cache, in bytes.
    pub cache_line_bytes: u32,
    /// Whether GPUs of this kind are linked by XGMI rather than by PCI Express.
    pub xgmi: bool,
}

/// Compute queues that one device has at once.
pub const MAX_QUEUES: u32 = 128;
/// Where flat addresses reach group memory; as Linux places it on GFX9 and later.
pub const GROUP_APERTURE: u64 = 1 << 48;
/// Where flat addresses reach private memory.
pub const PRIVATE_APERTURE: u64 = 2 << 48;
/// Largest work-group, in work-items.
pub const MAX_WORKGROUP: u32 = 1024;

impl Profile {
    /// All profiles, oldest processor first.
    pub fn all() -> &'static [Self] {
        table::PROFILES
    }

    /// The profile of a processor, by name: `gfx90a`.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        Self::all().iter().find(|p| p.name == name)
    }

    /// The processor's entry in core's table.
    pub fn processor(&self) -> Option<&'static Processor> {
        Processor::from_name(self.name)
    }

    /// Wave slots of a compute unit.
    pub const fn waves_per_cu(&self) -> u32 {
        self.waves_per_simd * self.simds_per_cu
    }

    /// The generation of its SDMA engines.
    pub fn sdma_generation(&self) -> Generation {
        let processor = self.processor();
        // All profiles are of GFX9 or later, which a test holds them to.
        processor
            .and_then(Generation::of_processor)
            .unwrap_or(Generation::V4)
    }

    /// Queues of each SDMA engine that processes have: what the driver's table says, less those that it keeps.
    pub fn sdma_queues_per_engine(&self) -> u32 {
        match self.sdma_generation() {
            Generation::V4 if self.name == "gfx900" => 2,
            Generation::V6 | Generation::V7 => 6,
            _ => 8,
        }
    }

    /// Facts for the topology of the `index`-th GPU of a system.
    pub fn gpu_info(&self, index: u32) -> GpuInfo {
        let mut isa = Name::new();
        // Target ids are short; a longer one would be cut, not refused.
        let _ = isa.push_str("amdgcn-amd-amdhsa--");
        let _ = isa.push_str(self.target_id);
        GpuInfo {
            isa,
            wavefront_size: self.wavefront_size,
            compute_units: self.compute_units,
            simds_per_cu: self.simds_per_cu,
            shader_engines: self.shader_engines,
            arrays_per_engine: self.arrays_per_engine,
            max_waves_per_simd: self.waves_per_simd,
            max_slots_scratch_cu: self.scratch_slots_per_cu,
            xcc_count: self.xcc_count,
            lds_bytes: self.lds_bytes,
            max_clock_mhz: self.max_clock_mhz,
            device_id: self.device_id,
            vendor_id: 0x1002,
            location_id: (3 + index) << 8,
            domain: 0,
            family_id: self.family_id,
            asic_revision: self.revision,
            firmware_version: 100,
            sdma_firmware_version: 10,
            sdma_engines: self.sdma_engines,
            sdma_xgmi_engines: self.sdma_xgmi_engines,
            max_queues: MAX_QUEUES,
            // Recognisable, and different for each GPU of a system.
            unique_id: 0x7275_6b68_0000_0000 | u64::from(self.device_id) << 8 | u64::from(index),
            hive_id: if self.xgmi { 0x7275_6b68_7869_7665 } else { 0 },
            group_aperture: GROUP_APERTURE,
            private_aperture: PRIVATE_APERTURE,
            watch_points: 4,
            images: false,
            svm_direct_host_access: false,
            apu: false,
        }
    }
}

/// Why a list of profiles means nothing.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ProfileError {
    /// The list is empty, or has an empty entry.
    #[error("a profile name is missing in {list:?}")]
    Empty {
        /// The list.
        list: String,
    },
    /// There is no profile of this name.
    #[error("there is no GPU profile {name:?}; there are {known}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// The names that exist, with spaces between.
        known: String,
    },
    /// More GPUs than an address map tells apart.
    #[error("{count} GPUs are too many: the limit is {limit}")]
    TooMany {
        /// How many were asked for.
        count: usize,
        /// How many there can be.
        limit: usize,
    },
}

impl core::error::Error for ProfileError {}

/// GPUs that one system can have.
pub const MAX_GPUS: usize = 16;

/// Reads a list of GPUs: profile names with commas between, `gfx90a,gfx1100`.
///
/// # Errors
/// See [`ProfileError`].
pub fn parse(list: &str) -> Result<Vec<&'static Profile>, ProfileError> {
    let mut profiles = Vec::new();
    for name in list.split(',').map(str::trim) {
        if name.is_empty() {
            return Err(ProfileError::Empty { list: list.into() });
        }
        let Some(profile) = Profile::by_name(name) else {
            let known: Vec<&str> = Profile::all().iter().map(|p| p.name).collect();
            return Err(ProfileError::Unknown {
                name: name.into(),
                known: known.join(" "),
            });
        };
        profiles.push(profile);
    }
    if profiles.len() > MAX_GPUS {
        return Err(ProfileError::TooMany {
            count: profiles.len(),
            limit: MAX_GPUS,
        });
    }
    Ok(profiles)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_names_is_a_list_of_gpus() {
        let names = |list| parse(list).map(|l| l.iter().map(|p| p.name).collect::<Vec<_>>());
        assert_eq!(
            names("gfx90a, gfx1100"),
            Ok(alloc::vec!["gfx90a", "gfx1100"])
        );
        assert!(matches!(names(""), Err(ProfileError::Empty { .. })));
        assert!(matches!(names("gfx90a,"), Err(ProfileError::Empty { .. })));
        assert!(matches!(
            names("gfx90a,gfx90b"),
            Err(ProfileError::Unknown { name, .. }) if name == "gfx90b"
        ));
        let many = ["gfx1100"; 17].join(",");
        assert!(matches!(names(&many), Err(ProfileError::TooMany { .. })));
    }

    #[test]
    fn profiles_agree_with_cores_table_of_processors() {
        for profile in Profile::all() {
            let processor = profile.processor().expect(profile.name);
            assert_eq!(processor.name, profile.arch.name());
            assert_eq!(processor.waves.native(), profile.wavefront_size);
            assert!(Generation::of_processor(processor).is_some());
            let isa = profile.gpu_info(0).isa;
            let isa = isa.strip_prefix("amdgcn-amd-amdhsa--").expect("a triple");
            assert!(rukh_core::isa::Isa::from_target_id(isa).is_ok(), "{isa}");
        }
    }
}
