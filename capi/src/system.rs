//! Chapter system: what holds for the whole runtime, and its extensions.

use crate::abi::{Endianness, Extension, MachineModel, Status, SystemInfo};
use crate::arg::{Out, Value};
use crate::entry::{Result, entry};
use crate::image;
use crate::loader_extension;
use crate::runtime::State;
use core::ffi::{CStr, c_char};

/// `HSA_SYSTEM_INFO_VERSION_*`: the version that AMD's runtime of the same interface reports.
const VERSION: (u16, u16) = (1, 18);
/// Version of AMD's extension interface.
const EXT_VERSION: (u16, u16) = (1, 11);
/// Nanoseconds: the frequency of the system clock.
const TIMESTAMP_FREQUENCY: u64 = 1_000_000_000;

/// `HSA_AMD_SYSTEM_INFO_BUILD_VERSION`.
const BUILD_VERSION: &CStr = {
    match CStr::from_bytes_with_nul(concat!("rukh-", env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("the version holds a NUL"),
    }
};

/// The highest minor version of each major version of an extension that is there.
fn supported(extension: u16, major: u16) -> Option<u16> {
    match (Extension::from_raw(extension.into())?, major) {
        (Extension::AmdLoader, 1) => Some(loader_extension::MINOR),
        // There, with capacities of zero: HIP derives the pitch of its allocations from its presence.
        (Extension::Images, 1) => Some(image::MINOR),
        _ => None,
    }
}

/// A bit mask of the extensions, as `HSA_SYSTEM_INFO_EXTENSIONS` and `HSA_AGENT_INFO_EXTENSIONS`
/// give it.
pub fn extension_mask() -> [u8; 128] {
    let mut mask = [0u8; 128];
    for extension in 0..1024u16 {
        if supported(extension, 1).is_some() {
            mask[usize::from(extension / 8)] |= 1 << (extension % 8);
        }
    }
    mask
}

/// Whether the extension is there in this version or a later compatible one.
pub fn extension_supported(extension: u16, major: u16, minor: u16) -> Result<bool> {
    Extension::from_raw(extension.into()).ok_or(Status::INVALID_ARGUMENT)?;
    Ok(supported(extension, major).is_some_and(|highest| minor <= highest))
}

/// The highest minor version of an extension's major version.
pub fn extension_minor(extension: u16, major: u16) -> Result<Option<u16>> {
    Extension::from_raw(extension.into()).ok_or(Status::INVALID_ARGUMENT)?;
    Ok(supported(extension, major))
}

/// The functions of an extension that is there, as bytes to copy.
fn functions(extension: u16, minor: u16) -> Vec<u8> {
    match Extension::from_raw(extension.into()) {
        Some(Extension::Images) => image::table().to_vec(),
        _ => loader_extension::table(minor).to_vec(),
    }
}

fn info(state: &State, attribute: SystemInfo, value: Value) -> Result {
    let place = value.required()?;
    match attribute {
        SystemInfo::VersionMajor => place.put(VERSION.0),
        SystemInfo::VersionMinor => place.put(VERSION.1),
        SystemInfo::Timestamp => place.put(state.now()),
        SystemInfo::TimestampFrequency => place.put(TIMESTAMP_FREQUENCY),
        SystemInfo::SignalMaxWait => place.put(u64::MAX),
        SystemInfo::Endianness => place.put(Endianness::Little as u32),
        SystemInfo::MachineModel => place.put(MachineModel::Large as u32),
        SystemInfo::Extensions => place.put(extension_mask()),
        SystemInfo::BuildVersion => place.put(BUILD_VERSION.as_ptr()),
        SystemInfo::SvmSupported => place.put(state.backend().has_svm()),
        // Only devices that retry faults find what nobody gave them.
        SystemInfo::SvmAccessibleByDefault
        | SystemInfo::MwaitxEnabled
        | SystemInfo::XnackEnabled => place.put(false),
        SystemInfo::DmabufSupported => place.put(state.backend().has_dmabufs()),
        SystemInfo::VirtualMemApiSupported => place.put(state.runtime.has_virtual_memory()),
        SystemInfo::ExtVersionMajor => place.put(EXT_VERSION.0),
        SystemInfo::ExtVersionMinor => place.put(EXT_VERSION.1),
    }
}

entry! {
    /// `hsa_system_get_info`: an attribute of the system.
    fn hsa_system_get_info(state; attribute: u32, value: Value) {
        let attribute = SystemInfo::from_raw(attribute).ok_or(Status::INVALID_ARGUMENT)?;
        info(&state, attribute, value)
    }

    /// `hsa_extension_get_name`: the name of an extension.
    fn hsa_extension_get_name(_state; extension: u16, name: Out<*const c_char>) {
        let place = name.required()?;
        let text = match Extension::from_raw(extension.into()).ok_or(Status::INVALID_ARGUMENT)? {
            Extension::Finalizer => c"HSA_EXTENSION_FINALIZER",
            Extension::Images => c"HSA_EXTENSION_IMAGES",
            Extension::PerformanceCounters => c"HSA_EXTENSION_PERFORMANCE_COUNTERS",
            Extension::ProfilingEvents => c"HSA_EXTENSION_PROFILING_EVENTS",
            Extension::AmdProfiler => c"HSA_EXTENSION_AMD_PROFILER",
            Extension::AmdLoader => c"HSA_EXTENSION_AMD_LOADER",
            Extension::AmdAqlprofile => c"HSA_EXTENSION_AMD_AQLPROFILE",
            Extension::AmdPcSampling => c"HSA_EXTENSION_AMD_PC_SAMPLING",
        };
        place.put(text.as_ptr());
        Ok(())
    }

    /// `hsa_system_extension_supported`: whether an extension is there in a version.
    fn hsa_system_extension_supported(_state; extension: u16, version_major: u16, version_minor: u16,
        result: Out<bool>) {
        let place = result.required()?;
        place.put(extension_supported(extension, version_major, version_minor)?);
        Ok(())
    }

    /// `hsa_system_major_extension_supported`: whether an extension is there, and its highest minor
    /// version.
    fn hsa_system_major_extension_supported(_state; extension: u16, version_major: u16,
        version_minor: Out<u16>, result: Out<bool>) {
        let (minor, result) = (version_minor.required()?, result.required()?);
        let highest = extension_minor(extension, version_major)?;
        if let Some(highest) = highest {
            minor.put(highest);
        }
        result.put(highest.is_some());
        Ok(())
    }

    /// `hsa_system_get_extension_table`: the functions of an extension, by exact version.
    fn hsa_system_get_extension_table(_state; extension: u16, version_major: u16,
        version_minor: u16, table: Value) {
        let place = table.required()?;
        if !extension_supported(extension, version_major, version_minor)? {
            return Err(Status::ERROR);
        }
        place.put_bytes(&functions(extension, version_minor))
    }

    /// `hsa_system_get_major_extension_table`: as many functions of an extension as fit.
    fn hsa_system_get_major_extension_table(_state; extension: u16, version_major: u16,
        table_length: usize, table: Value) {
        let place = table.required()?;
        if table_length == 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        let highest = extension_minor(extension, version_major)?.ok_or(Status::ERROR)?;
        let functions = functions(extension, highest);
        place.put_bytes(functions.get(..table_length).unwrap_or(&functions))
    }
}
