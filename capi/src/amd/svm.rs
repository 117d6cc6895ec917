//! Shared virtual memory: attributes of ranges that the host allocated. System information says
//! that it is not supported.

use crate::abi::{Agent, Signal, SvmAttributePair};
use crate::arg::In;
use crate::entry::not_yet;
use core::ffi::c_void;

not_yet! {
    fn hsa_amd_svm_attributes_set(ptr: *mut c_void, size: usize, attribute_list: *mut SvmAttributePair,
        attribute_count: usize) -> ERROR;
    fn hsa_amd_svm_attributes_get(ptr: *mut c_void, size: usize, attribute_list: *mut SvmAttributePair,
        attribute_count: usize) -> ERROR;
    fn hsa_amd_svm_prefetch_async(ptr: *mut c_void, size: usize, agent: Agent, num_dep_signals: u32,
        dep_signals: In<Signal>, completion_signal: Signal) -> ERROR;
}
