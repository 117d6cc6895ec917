//! Chapter images and samplers: the extension is there with capacities of zero. Agents have no images yet,
//! no format has a capability, and creating one is refused.

use crate::abi::{Agent, Dim3, ExtImage, ExtSampler, Opaque, Status};
use crate::arg::{In, Out, Value};
use crate::entry::{entry, not_yet};
use core::ffi::c_void;

/// Latest minor version of major version 1.
pub const MINOR: u16 = 0;

/// `hsa_ext_images_1_pfn_t`: its functions have different types, and clients get nothing but addresses.
#[repr(transparent)]
struct Table([*const (); 13]);

// SAFETY: addresses of functions, which never change.
unsafe impl Sync for Table {}

static TABLE: Table = Table([
    hsa_ext_image_get_capability as *const (),
    hsa_ext_image_data_get_info as *const (),
    hsa_ext_image_create as *const (),
    hsa_ext_image_destroy as *const (),
    hsa_ext_image_copy as *const (),
    hsa_ext_image_import as *const (),
    hsa_ext_image_export as *const (),
    hsa_ext_image_clear as *const (),
    hsa_ext_sampler_create as *const (),
    hsa_ext_sampler_destroy as *const (),
    hsa_ext_image_get_capability_with_layout as *const (),
    hsa_ext_image_data_get_info_with_layout as *const (),
    hsa_ext_image_create_with_layout as *const (),
]);

/// The functions of the extension, as bytes to copy.
pub fn table() -> &'static [u8] {
    // SAFETY: an array of addresses, without padding.
    unsafe { core::slice::from_raw_parts((&raw const TABLE).cast::<u8>(), size_of::<Table>()) }
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
