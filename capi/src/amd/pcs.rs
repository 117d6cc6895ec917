//! Program-counter sampling and performance monitor streams.

use crate::abi::{Agent, Opaque, PcSampling};
use crate::arg::Out;
use crate::entry::not_yet;
use core::ffi::c_void;

not_yet! {
    fn hsa_ven_amd_pcs_iterate_configuration(agent: Agent, configuration_callback: *const Opaque,
        callback_data: *mut c_void) -> NOT_SUPPORTED;
    fn hsa_ven_amd_pcs_create(agent: Agent, method: u32, units: u32, interval: usize, latency: usize,
        buffer_size: usize, data_ready_callback: *const Opaque, client_callback_data: *mut c_void,
        pc_sampling: Out<PcSampling>) -> NOT_SUPPORTED;
    fn hsa_ven_amd_pcs_create_from_id(pcs_id: u32, agent: Agent, method: u32, units: u32,
        interval: usize, latency: usize, buffer_size: usize, data_ready_callback: *const Opaque,
        client_callback_data: *mut c_void, pc_sampling: Out<PcSampling>) -> NOT_SUPPORTED;
    fn hsa_ven_amd_pcs_destroy(pc_sampling: PcSampling) -> NOT_SUPPORTED;
    fn hsa_ven_amd_pcs_start(pc_sampling: PcSampling) -> NOT_SUPPORTED;
    fn hsa_ven_amd_pcs_stop(pc_sampling: PcSampling) -> NOT_SUPPORTED;
    fn hsa_ven_amd_pcs_flush(pc_sampling: PcSampling) -> NOT_SUPPORTED;
    fn hsa_amd_spm_acquire(preferred_agent: Agent) -> NOT_SUPPORTED;
    fn hsa_amd_spm_release(preferred_agent: Agent) -> NOT_SUPPORTED;
    fn hsa_amd_spm_set_dest_buffer(preferred_agent: Agent, size_in_bytes: usize, timeout: Out<u32>,
        size_copied: Out<u32>, dest: *mut c_void, is_data_loss: Out<bool>) -> NOT_SUPPORTED;
}
