//! Chapter images and samplers: the extension is there with capacities of zero. Agents have no images yet,
//! no format has a capability, and creating one is refused.

use crate::abi::{Agent, Dim3, ExtImage, ExtSampler, Opaque, Status};
use crate::arg::{In, Out, Value};
use crate::entry::{entry, not_yet};
use crate::table::slot;
use core::ffi::c_void;

/// Latest minor version of major version 1.
pub const MINOR: u16 = 0;

/// `hsa_ext_images_1_pfn_t`: addresses of functions of different types, as bytes to copy. Calls by this table go
/// through the API table too.
pub fn table() -> [u8; 13 * 8] {
    let functions = [
        slot::hsa_ext_image_get_capability(),
        slot::hsa_ext_image_data_get_info(),
        slot::hsa_ext_image_create(),
        slot::hsa_ext_image_destroy(),
        slot::hsa_ext_image_copy(),
        slot::hsa_ext_image_import(),
        slot::hsa_ext_image_export(),
        slot::hsa_ext_image_clear(),
        slot::hsa_ext_sampler_create(),
        slot::hsa_ext_sampler_destroy(),
        slot::hsa_ext_image_get_capability_with_layout(),
        slot::hsa_ext_image_data_get_info_with_layout(),
        slot::hsa_ext_image_create_with_layout(),
    ];
    let mut bytes = [0; 13 * 8];
    for (place, function) in bytes.chunks_exact_mut(8).zip(functions) {
        place.copy_from_slice(&function.expose_provenance().to_ne_bytes());
    }
    bytes
}

entry! {
    /// `hsa_ext_image_get_capability`: no format has one.
    fn hsa_ext_image_get_capability(state; agent: Agent, geometry: u32, image_format: *const Opaque,
        capability_mask: Out<u32>) {
        state.agent(agent)?;
        let place = capability_mask.required()?;
        if image_format.is_null() || geometry > LAST_GEOMETRY {
            return Err(Status::INVALID_ARGUMENT);
        }
        place.put(0);
        Ok(())
    }

    /// `hsa_ext_image_get_capability_with_layout`: no format has one.
    fn hsa_ext_image_get_capability_with_layout(state; agent: Agent, geometry: u32,
        image_format: *const Opaque, image_data_layout: u32, capability_mask: Out<u32>) {
        state.agent(agent)?;
        let place = capability_mask.required()?;
        if image_format.is_null() || geometry > LAST_GEOMETRY || image_data_layout != LINEAR_LAYOUT {
            return Err(Status::INVALID_ARGUMENT);
        }
        place.put(0);
        Ok(())
    }
}

/// `HSA_EXT_IMAGE_GEOMETRY_2DADEPTH`.
const LAST_GEOMETRY: u32 = 7;
/// `HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR`: the layout that can be named.
const LINEAR_LAYOUT: u32 = 1;

not_yet! {
    fn hsa_ext_image_data_get_info(agent: Agent, image_descriptor: *const Opaque,
        access_permission: u32, image_data_info: *mut Opaque) -> IMAGE_FORMAT_UNSUPPORTED;
    fn hsa_ext_image_data_get_info_with_layout(agent: Agent, image_descriptor: *const Opaque,
        access_permission: u32, image_data_layout: u32, image_data_row_pitch: usize,
        image_data_slice_pitch: usize, image_data_info: *mut Opaque) -> IMAGE_FORMAT_UNSUPPORTED;
    fn hsa_ext_image_create(agent: Agent, image_descriptor: *const Opaque, image_data: *const c_void,
        access_permission: u32, image: Out<ExtImage>) -> IMAGE_FORMAT_UNSUPPORTED;
    fn hsa_ext_image_create_with_layout(agent: Agent, image_descriptor: *const Opaque,
        image_data: *const c_void, access_permission: u32, image_data_layout: u32,
        image_data_row_pitch: usize, image_data_slice_pitch: usize,
        image: Out<ExtImage>) -> IMAGE_FORMAT_UNSUPPORTED;
    fn hsa_ext_image_destroy(agent: Agent, image: ExtImage) -> INVALID_ARGUMENT;
    fn hsa_ext_image_copy(agent: Agent, src_image: ExtImage, src_offset: In<Dim3>,
        dst_image: ExtImage, dst_offset: In<Dim3>, range: In<Dim3>) -> INVALID_ARGUMENT;
    fn hsa_ext_image_import(agent: Agent, src_memory: *const c_void, src_row_pitch: usize,
        src_slice_pitch: usize, dst_image: ExtImage,
        image_region: *const Opaque) -> INVALID_ARGUMENT;
    fn hsa_ext_image_export(agent: Agent, src_image: ExtImage, dst_memory: *mut c_void,
        dst_row_pitch: usize, dst_slice_pitch: usize,
        image_region: *const Opaque) -> INVALID_ARGUMENT;
    fn hsa_ext_image_clear(agent: Agent, image: ExtImage, data: *const c_void,
        image_region: *const Opaque) -> INVALID_ARGUMENT;
    fn hsa_ext_sampler_create(agent: Agent, sampler_descriptor: *const Opaque,
        sampler: Out<ExtSampler>) -> SAMPLER_DESCRIPTOR_UNSUPPORTED;
    fn hsa_ext_sampler_create_v2(agent: Agent, sampler_descriptor: *const Opaque,
        sampler: Out<ExtSampler>) -> SAMPLER_DESCRIPTOR_UNSUPPORTED;
    fn hsa_ext_sampler_destroy(agent: Agent, sampler: ExtSampler) -> INVALID_ARGUMENT;
    fn hsa_amd_image_create(agent: Agent, image_descriptor: *const Opaque,
        image_layout: *const Opaque, image_data: *const c_void, access_permission: u32,
        image: Out<ExtImage>) -> IMAGE_FORMAT_UNSUPPORTED;
    fn hsa_amd_image_get_info_max_dim(agent: Agent, attribute: u32, value: Value) -> INVALID_ARGUMENT;
}
