//! `hsa_ven_amd_loader`: what debuggers, profilers and HIP ask about loaded code. Its functions are
//! not exported; clients get their addresses from `hsa_system_get_major_extension_table`.

use crate::abi::{
    CodeObjectReader, CodeObjectStorage, Executable, LoadedCodeObject, LoadedInfo, LoadedKind,
    Parts, SegmentDescriptor, Status, VisitExecutable, VisitLoaded,
};
use crate::arg::{Out, Value};
use crate::callback::{each, stop_unless_success};
use crate::entry::{Result, gather, run_status};
use crate::executable::{LoadedFrom, loaded_handle};
use crate::reader::{Origin, create_from_file_with_offset_size};
use crate::runtime::State;
use crate::state::open;
use core::ffi::c_void;
use rukh_core::loader::LoadedCodeObject as CoreLoaded;
use rukh_core::mem::Address;

/// Latest minor version of major version 1.
pub const MINOR: u16 = 3;

/// `hsa_ven_amd_loader_1_03_pfn_t`; earlier versions are its beginning.
#[repr(C)]
struct Table {
    query_host_address: unsafe extern "C" fn(*const c_void, Out<*const c_void>) -> Status,
    query_segment_descriptors: unsafe extern "C" fn(Out<SegmentDescriptor>, Out<usize>) -> Status,
    query_executable: unsafe extern "C" fn(*const c_void, Out<Executable>) -> Status,
    executable_iterate_loaded_code_objects:
        unsafe extern "C-unwind" fn(Executable, VisitLoaded, *mut c_void) -> Status,
    loaded_code_object_get_info: unsafe extern "C" fn(LoadedCodeObject, u32, Value) -> Status,
    code_object_reader_create_from_file_with_offset_size:
        unsafe extern "C" fn(i32, usize, usize, Out<CodeObjectReader>) -> Status,
    iterate_executables: unsafe extern "C-unwind" fn(VisitExecutable, *mut c_void) -> Status,
}

static TABLE: Table = Table {
    query_host_address,
    query_segment_descriptors,
    query_executable,
    executable_iterate_loaded_code_objects,
    loaded_code_object_get_info,
    code_object_reader_create_from_file_with_offset_size: create_from_file_with_offset_size,
    iterate_executables,
};

/// The table of a minor version, as bytes to copy.
pub fn table(minor: u16) -> &'static [u8] {
    let functions = match minor {
        0 => 3,
        1 => 5,
        2 => 6,
        _ => 7,
    };
    // SAFETY: the table is nothing but function pointers, one after the other, without padding.
    let bytes =
        unsafe { core::slice::from_raw_parts((&raw const TABLE).cast::<u8>(), size_of::<Table>()) };
    &bytes[..functions * size_of::<usize>()]
}

/// All code objects that are loaded, with the handles of their executables and their places there.
fn all_loaded(state: &State) -> Vec<(Parts, usize, CoreLoaded, LoadedFrom)> {
    let executables = state.executables.all();
    executables
        .iter()
        .flat_map(|(parts, executable)| {
            let objects = executable.code_objects();
            objects
                .into_iter()
                .enumerate()
                .map(|(index, (object, from))| (*parts, index, object, from))
        })
        .collect()
}

fn contains(object: &CoreLoaded, address: u64) -> bool {
    address
        .checked_sub(object.memory.gpu_va)
        .is_some_and(|offset| offset < object.size)
}

fn storage(origin: &Origin) -> CodeObjectStorage {
    match origin {
        Origin::Memory { .. } => CodeObjectStorage::Memory,
        Origin::File { .. } => CodeObjectStorage::File,
    }
}

/// Bytes of an executable that is there, where the host does not reach them.
fn copy_of(state: &State, base: Address, size: u64) -> Result<Box<[u8]>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(size as usize)
        .map_err(|_| Status::OUT_OF_RESOURCES)?;
    copy.resize(size as usize, 0u8);
    // SAFETY: from memory of an executable that the caller holds, to this function's own.
    unsafe {
        let to = Address::from(copy.as_mut_ptr());
        state.runtime.copy(to, base, size)?;
    }
    Ok(copy.into_boxed_slice())
}

/// `hsa_ven_amd_loader_query_host_address`: where the host reads code that an agent executes: at the same address, or in
/// a copy where the host does not reach the agent's memory.
unsafe extern "C" fn query_host_address(
    device_address: *const c_void,
    host_address: Out<*const c_void>,
) -> Status {
    run_status("hsa_ven_amd_loader_query_host_address", || {
        let state = open()?;
        if device_address.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let place = host_address.required()?;
        let address = device_address.addr() as u64;
        let loaded = all_loaded(&state);
        let (parts, index, object, _) = loaded
            .iter()
            .find(|(_, _, object, _)| contains(object, address))
            .ok_or(Status::INVALID_ARGUMENT)?;
        let base = Address(object.memory.gpu_va);
        if state.runtime.pointer_info(base).host_base != Address::NULL {
            place.put(device_address);
            return Ok(());
        }
        let executable = state.executables.get(*parts);
        let executable = executable.ok_or(Status::INVALID_ARGUMENT)?;
        let copy = executable.host_copy(*index, || copy_of(&state, base, object.size))?;
        place.put(copy.wrapping_add((address - base.0) as usize).cast());
        Ok(())
    })
}

/// `hsa_ven_amd_loader_query_segment_descriptors`: how many segments are loaded, or all of them.
unsafe extern "C" fn query_segment_descriptors(
    segment_descriptors: Out<SegmentDescriptor>,
    num_segment_descriptors: Out<usize>,
) -> Status {
    run_status("hsa_ven_amd_loader_query_segment_descriptors", || {
        let state = open()?;
        let count = num_segment_descriptors.required()?;
        let loaded = all_loaded(&state);
        let Some(place) = segment_descriptors.optional() else {
            if count.get() != 0 {
                return Err(Status::INVALID_ARGUMENT);
            }
            count.put(loaded.len());
            return Ok(());
        };
        if count.get() == 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        if count.get() != loaded.len() {
            return Err(Status::INCOMPATIBLE_ARGUMENTS);
        }
        for (index, (parts, _, object, from)) in loaded.iter().enumerate() {
            let (base, size) = match &from.source.origin {
                Origin::Memory { address, size } => (*address, *size),
                Origin::File { size, .. } => (0, *size),
            };
            place.put_at(
                index,
                SegmentDescriptor {
                    agent: state.agent_handle(from.agent)?,
                    executable: Executable::from_parts(*parts).ok_or(Status::ERROR)?,
                    code_object_storage_type: storage(&from.source.origin) as u32,
                    code_object_storage_base: core::ptr::without_provenance(base),
                    code_object_storage_size: size,
                    code_object_storage_offset: 0,
                    segment_base: core::ptr::without_provenance(object.memory.gpu_va as usize),
                    segment_size: object.size as usize,
                },
            );
        }
        Ok(())
    })
}

/// `hsa_ven_amd_loader_query_executable`: whose code is at an address.
unsafe extern "C" fn query_executable(
    device_address: *const c_void,
    executable: Out<Executable>,
) -> Status {
    run_status("hsa_ven_amd_loader_query_executable", || {
        let state = open()?;
        if device_address.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let place = executable.required()?;
        let address = device_address.addr() as u64;
        let parts = all_loaded(&state)
            .iter()
            .find(|(_, _, object, _)| contains(object, address))
            .map(|(parts, ..)| *parts);
        place.put(
            parts
                .and_then(Executable::from_parts)
                .ok_or(Status::INVALID_ARGUMENT)?,
        );
        Ok(())
    })
}

/// `hsa_ven_amd_loader_executable_iterate_loaded_code_objects`.
unsafe extern "C-unwind" fn executable_iterate_loaded_code_objects(
    executable: Executable,
    callback: VisitLoaded,
    data: *mut c_void,
) -> Status {
    let name = "hsa_ven_amd_loader_executable_iterate_loaded_code_objects";
    let body = || -> Result {
        let (callback, objects) = gather(name, || {
            let client = open()?.executable(executable)?;
            let parts = executable.parts().ok_or(Status::INVALID_EXECUTABLE)?;
            let objects = (0..client.code_objects().len())
                .map(|index| loaded_handle(parts, index))
                .collect::<Result<Vec<_>>>()?;
            Ok((callback.ok_or(Status::INVALID_ARGUMENT)?, objects))
        })?;
        for object in objects {
            // SAFETY: a function of this type, by the contract of the extension's function.
            stop_unless_success(unsafe { callback(executable, object, data) })?;
        }
        Ok(())
    };
    body().err().unwrap_or(Status::SUCCESS)
}

/// `hsa_ven_amd_loader_loaded_code_object_get_info`.
unsafe extern "C" fn loaded_code_object_get_info(
    loaded_code_object: LoadedCodeObject,
    attribute: u32,
    value: Value,
) -> Status {
    run_status("hsa_ven_amd_loader_loaded_code_object_get_info", || {
        let state = open()?;
        let invalid = Status::INVALID_CODE_OBJECT;
        let parts = loaded_code_object.parts().ok_or(invalid)?;
        let executable = Parts { sub: 0, ..parts };
        let client = state.executables.get(executable).ok_or(invalid)?;
        let objects = client.code_objects();
        let (object, from) = objects.get(parts.sub as usize).ok_or(invalid)?;
        let place = value.required()?;
        let origin = &from.source.origin;
        match LoadedInfo::from_raw(attribute).ok_or(Status::INVALID_ARGUMENT)? {
            LoadedInfo::Executable => place.put(Executable::from_parts(executable).ok_or(invalid)?),
            LoadedInfo::Kind => place.put(LoadedKind::Agent as u32),
            LoadedInfo::Agent => place.put(state.agent_handle(from.agent)?),
            LoadedInfo::CodeObjectStorageType => place.put(storage(origin) as u32),
            LoadedInfo::CodeObjectStorageMemoryBase => match origin {
                Origin::Memory { address, .. } => place.put(*address as u64),
                Origin::File { .. } => Err(Status::INVALID_ARGUMENT),
            },
            LoadedInfo::CodeObjectStorageMemorySize => match origin {
                Origin::Memory { size, .. } => place.put(*size as u64),
                Origin::File { .. } => Err(Status::INVALID_ARGUMENT),
            },
            LoadedInfo::CodeObjectStorageFile => match origin {
                Origin::File { descriptor, .. } => place.put(*descriptor),
                Origin::Memory { .. } => Err(Status::INVALID_ARGUMENT),
            },
            LoadedInfo::LoadDelta => place.put(object.bias.cast_signed()),
            LoadedInfo::LoadBase => place.put(object.memory.gpu_va),
            LoadedInfo::LoadSize => place.put(object.size),
            LoadedInfo::UriLength => {
                place.put(u32::try_from(origin.uri().len()).unwrap_or(u32::MAX))
            }
            LoadedInfo::Uri => place.put_bytes(origin.uri().as_bytes()),
        }
    })
}

/// `hsa_ven_amd_loader_iterate_executables`.
unsafe extern "C-unwind" fn iterate_executables(
    callback: VisitExecutable,
    data: *mut c_void,
) -> Status {
    let body = || -> Result {
        let executables = gather("hsa_ven_amd_loader_iterate_executables", || {
            let state = open()?;
            callback.ok_or(Status::INVALID_ARGUMENT)?;
            let all = state.executables.all();
            Ok(all
                .into_iter()
                .filter_map(|(parts, _)| Executable::from_parts(parts))
                .collect::<Vec<_>>())
        })?;
        each(callback, executables, data)
    };
    body().err().unwrap_or(Status::SUCCESS)
}
