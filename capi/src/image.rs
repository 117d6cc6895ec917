//! Chapter images and samplers: the extension is there with capacities of zero. Agents have no images yet,
//! no format has a capability, and creating one is refused.

use crate::abi::{Agent, AgentAttribute, Dim3, ExtImage, ExtSampler, Opaque, Status};
use crate::agent;
use crate::arg::{In, Out, Value};
use crate::entry::{entry, not_implemented};
use crate::table::slot;
use core::ffi::c_void;
use core::sync::atomic::AtomicBool;

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

entry! {
    /// `hsa_amd_image_get_info_max_dim`: how large images may be, as `hsa_agent_get_info` says it too. That other attributes
    /// and null answer INVALID_QUEUE is what the header says.
    fn hsa_amd_image_get_info_max_dim(state; agent: Agent, attribute: u32, value: Value) {
        let agent = state.agent(agent)?;
        let attribute = AgentAttribute::from_raw(attribute)
            .filter(|_| MAX_DIMENSIONS.contains(&attribute))
            .ok_or(Status::INVALID_QUEUE)?;
        let place = value.required().map_err(|_| Status::INVALID_QUEUE)?;
        agent::info(&state, agent, attribute, place)
    }
}

/// Attributes from `HSA_EXT_AGENT_INFO_IMAGE_1D_MAX_ELEMENTS` to `HSA_EXT_AGENT_INFO_IMAGE_ARRAY_MAX_LAYERS`.
const MAX_DIMENSIONS: core::ops::RangeInclusive<u32> =
    AgentAttribute::Image1dMaxElements as u32..=AgentAttribute::ImageArrayMaxLayers as u32;

/// `HSA_EXT_IMAGE_GEOMETRY_2DADEPTH`.
const LAST_GEOMETRY: u32 = 7;
/// `HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR`: the layout that can be named.
const LINEAR_LAYOUT: u32 = 1;

/// Defines functions that look at the agent and at what may not be null, and then refuse.
macro_rules! refused {
    ($(fn $name:ident($agent:ident: Agent $(, $arg:ident: $ty:ty)*) if $missing:expr => $status:ident;)*) => {
        entry! {$(
            #[doc = concat!("`", stringify!($name), "`: answers ", stringify!($status), ".")]
            fn $name(state; $agent: Agent $(, $arg: $ty)*) {
                static SAID: AtomicBool = AtomicBool::new(false);
                state.agent($agent)?;
                let missing = $missing;
                $(let _ = $arg;)*
                if missing {
                    return Err(Status::INVALID_ARGUMENT);
                }
                Err(not_implemented(stringify!($name), Status::$status, &SAID))
            }
        )*}
    };
}

// There are no images: what a function on one is given is no image.
refused! {
    fn hsa_ext_image_data_get_info(agent: Agent, image_descriptor: *const Opaque,
        access_permission: u32, image_data_info: *mut Opaque)
        if image_descriptor.is_null() || image_data_info.is_null() => IMAGE_FORMAT_UNSUPPORTED;
    fn hsa_ext_image_data_get_info_with_layout(agent: Agent, image_descriptor: *const Opaque,
        access_permission: u32, image_data_layout: u32, image_data_row_pitch: usize,
        image_data_slice_pitch: usize, image_data_info: *mut Opaque)
        if image_descriptor.is_null() || image_data_info.is_null() || image_data_layout != LINEAR_LAYOUT
        => IMAGE_FORMAT_UNSUPPORTED;
    fn hsa_ext_image_create(agent: Agent, image_descriptor: *const Opaque, image_data: *const c_void,
        access_permission: u32, image: Out<ExtImage>)
        if image_descriptor.is_null() || image_data.is_null() || image.optional().is_none()
        => IMAGE_FORMAT_UNSUPPORTED;
    fn hsa_ext_image_create_with_layout(agent: Agent, image_descriptor: *const Opaque,
        image_data: *const c_void, access_permission: u32, image_data_layout: u32,
        image_data_row_pitch: usize, image_data_slice_pitch: usize, image: Out<ExtImage>)
        if image_descriptor.is_null() || image_data.is_null() || image.optional().is_none()
            || image_data_layout != LINEAR_LAYOUT
        => IMAGE_FORMAT_UNSUPPORTED;
    fn hsa_amd_image_create(agent: Agent, image_descriptor: *const Opaque,
        image_layout: *const Opaque, image_data: *const c_void, access_permission: u32,
        image: Out<ExtImage>)
        if image_descriptor.is_null() || image_layout.is_null() || image_data.is_null() || image.optional().is_none()
        => IMAGE_FORMAT_UNSUPPORTED;
    fn hsa_ext_image_destroy(agent: Agent, image: ExtImage) if false => INVALID_ARGUMENT;
    fn hsa_ext_image_copy(agent: Agent, src_image: ExtImage, src_offset: In<Dim3>,
        dst_image: ExtImage, dst_offset: In<Dim3>, range: In<Dim3>) if false => INVALID_ARGUMENT;
    fn hsa_ext_image_import(agent: Agent, src_memory: *const c_void, src_row_pitch: usize,
        src_slice_pitch: usize, dst_image: ExtImage, image_region: *const Opaque) if false => INVALID_ARGUMENT;
    fn hsa_ext_image_export(agent: Agent, src_image: ExtImage, dst_memory: *mut c_void,
        dst_row_pitch: usize, dst_slice_pitch: usize, image_region: *const Opaque) if false => INVALID_ARGUMENT;
    fn hsa_ext_image_clear(agent: Agent, image: ExtImage, data: *const c_void,
        image_region: *const Opaque) if false => INVALID_ARGUMENT;
    fn hsa_ext_sampler_create(agent: Agent, sampler_descriptor: *const Opaque, sampler: Out<ExtSampler>)
        if sampler_descriptor.is_null() || sampler.optional().is_none() => SAMPLER_DESCRIPTOR_UNSUPPORTED;
    fn hsa_ext_sampler_create_v2(agent: Agent, sampler_descriptor: *const Opaque, sampler: Out<ExtSampler>)
        if sampler_descriptor.is_null() || sampler.optional().is_none() => SAMPLER_DESCRIPTOR_UNSUPPORTED;
    fn hsa_ext_sampler_destroy(agent: Agent, sampler: ExtSampler) if false => INVALID_ARGUMENT;
}
