//! Chapter images and samplers: no agent has any yet, and the agents' attributes say so.

use crate::abi::{Agent, Dim3, ExtImage, ExtSampler, Opaque};
use crate::arg::{In, Out, Value};
use crate::entry::not_yet;
use core::ffi::c_void;

not_yet! {
    fn hsa_ext_image_get_capability(agent: Agent, geometry: u32, image_format: *const Opaque,
        capability_mask: Out<u32>) -> IMAGE_FORMAT_UNSUPPORTED;
    fn hsa_ext_image_get_capability_with_layout(agent: Agent, geometry: u32,
        image_format: *const Opaque, image_data_layout: u32,
        capability_mask: Out<u32>) -> IMAGE_FORMAT_UNSUPPORTED;
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
