//! The API table (`hsa_api_trace.h`): every public call goes through it, so that tools can put their own functions in
//! front.
//!
//! The exports are trampolines: each loads its slot and jumps there. Tools get the root table and overwrite slots.
//! The order of the slots is part of the ABI; the names of 34 old exports share the slots of their successors.

use crate::agent::*;
use crate::amd::copy::*;
use crate::amd::dmabuf::*;
use crate::amd::event::*;
use crate::amd::intercept::*;
use crate::amd::ipc::*;
use crate::amd::memory::*;
use crate::amd::pcs::*;
use crate::amd::pool::*;
use crate::amd::profiling::*;
use crate::amd::queue::*;
use crate::amd::signal::*;
use crate::amd::svm::*;
use crate::amd::vmem::*;
use crate::code_object::*;
use crate::executable::*;
use crate::finalizer::*;
use crate::image::*;
use crate::init::*;
use crate::isa::*;
use crate::memory::*;
use crate::queue::*;
use crate::queue_index::*;
use crate::reader::*;
use crate::signal::*;
use crate::status::*;
use crate::symbol::*;
use crate::system::*;
use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, Ordering};

/// `ApiTableVersion`: first in every table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Version {
    /// Changes when a slot moves.
    pub major_id: u32,
    /// Size of the table in bytes.
    pub minor_id: u32,
    /// Grows with slots that are added at the end.
    pub step_id: u32,
    /// Zero.
    pub reserved: u32,
}

impl Version {
    const fn of<T>(major_id: u32, step_id: u32) -> Self {
        let minor_id = size_of::<T>() as u32;
        Self {
            major_id,
            minor_id,
            step_id,
            reserved: 0,
        }
    }
}

/// Declares the tables, the accessors of their slots and the lists of names for the tests.
macro_rules! tables {
    ($($(#[$meta:meta])* $table:ident $live:ident $original:ident: $major:literal, $step:literal {
        $($name:ident,)*
    })*) => {
        $(
            $(#[$meta])*
            #[repr(C)]
            pub struct $table {
                /// Its version.
                pub version: Version,
                $(
                    #[doc = concat!("`", stringify!($name), "`")]
                    pub $name: AtomicPtr<()>,
                )*
            }

            impl $table {
                /// This library's own functions.
                const fn new() -> Self {
                    Self {
                        version: Version::of::<Self>($major, $step),
                        $($name: AtomicPtr::new($name as *const () as *mut ()),)*
                    }
                }

                /// Puts this library's own functions back.
                fn restore(&self, original: &Self) {
                    $(
                        self.$name.store(original.$name.load(Ordering::Relaxed), Ordering::Release);
                    )*
                }
            }

            static $live: $table = $table::new();
            static $original: $table = $table::new();
        )*

        /// What the exports jump to.
        pub mod slot {
            $($(
                #[doc = concat!("The slot of `", stringify!($name), "`.")]
                #[inline(always)]
                pub fn $name() -> *const () {
                    super::$live.$name.load(super::Ordering::Relaxed)
                }
            )*)*

            /// `hsa_amd_image_get_info_max_dim` is exported but in no table.
            #[inline(always)]
            pub fn hsa_amd_image_get_info_max_dim() -> *const () {
                super::hsa_amd_image_get_info_max_dim as *const ()
            }
        }

        /// Takes the tools' functions out of all tables.
        pub fn restore() {
            $($live.restore(&$original);)*
            for slot in &TOOLS.scratch_events {
                slot.store(no_tool_event as *const () as *mut (), Ordering::Release);
            }
        }

        /// The names of each table's slots, in order.
        #[cfg(test)]
        pub(crate) const NAMES: &[(&str, &[&str])] =
            &[$((stringify!($table), &[$(stringify!($name)),*])),*];

        /// The signature of every function of the tables that is exported.
        #[cfg(test)]
        pub(crate) fn signatures() -> Vec<(&'static str, Vec<(&'static str, usize)>)> {
            vec![$($((stringify!($name), $name::signature())),*),*]
        }
    };
}

tables! {
    /// The core functions.
    CoreApiTable CORE CORE_ORIGINAL: 2, 0 {
        hsa_init, hsa_shut_down, hsa_system_get_info, hsa_system_extension_supported,
        hsa_system_get_extension_table, hsa_iterate_agents, hsa_agent_get_info, hsa_queue_create,
        hsa_soft_queue_create, hsa_queue_destroy, hsa_queue_inactivate, hsa_queue_load_read_index_scacquire,
        hsa_queue_load_read_index_relaxed, hsa_queue_load_write_index_scacquire,
        hsa_queue_load_write_index_relaxed, hsa_queue_store_write_index_relaxed,
        hsa_queue_store_write_index_screlease, hsa_queue_cas_write_index_scacq_screl,
        hsa_queue_cas_write_index_scacquire, hsa_queue_cas_write_index_relaxed,
        hsa_queue_cas_write_index_screlease, hsa_queue_add_write_index_scacq_screl,
        hsa_queue_add_write_index_scacquire, hsa_queue_add_write_index_relaxed,
        hsa_queue_add_write_index_screlease, hsa_queue_store_read_index_relaxed,
        hsa_queue_store_read_index_screlease, hsa_agent_iterate_regions, hsa_region_get_info,
        hsa_agent_get_exception_policies, hsa_agent_extension_supported, hsa_memory_register,
        hsa_memory_deregister, hsa_memory_allocate, hsa_memory_free, hsa_memory_copy, hsa_memory_assign_agent,
        hsa_signal_create, hsa_signal_destroy, hsa_signal_load_relaxed, hsa_signal_load_scacquire,
        hsa_signal_store_relaxed, hsa_signal_store_screlease, hsa_signal_wait_relaxed,
        hsa_signal_wait_scacquire, hsa_signal_and_relaxed, hsa_signal_and_scacquire, hsa_signal_and_screlease,
        hsa_signal_and_scacq_screl, hsa_signal_or_relaxed, hsa_signal_or_scacquire, hsa_signal_or_screlease,
        hsa_signal_or_scacq_screl, hsa_signal_xor_relaxed, hsa_signal_xor_scacquire, hsa_signal_xor_screlease,
        hsa_signal_xor_scacq_screl, hsa_signal_exchange_relaxed, hsa_signal_exchange_scacquire,
        hsa_signal_exchange_screlease, hsa_signal_exchange_scacq_screl, hsa_signal_add_relaxed,
        hsa_signal_add_scacquire, hsa_signal_add_screlease, hsa_signal_add_scacq_screl,
        hsa_signal_subtract_relaxed, hsa_signal_subtract_scacquire, hsa_signal_subtract_screlease,
        hsa_signal_subtract_scacq_screl, hsa_signal_cas_relaxed, hsa_signal_cas_scacquire,
        hsa_signal_cas_screlease, hsa_signal_cas_scacq_screl, hsa_isa_from_name, hsa_isa_get_info,
        hsa_isa_compatible, hsa_code_object_serialize, hsa_code_object_deserialize, hsa_code_object_destroy,
        hsa_code_object_get_info, hsa_code_object_get_symbol, hsa_code_symbol_get_info,
        hsa_code_object_iterate_symbols, hsa_executable_create, hsa_executable_destroy,
        hsa_executable_load_code_object, hsa_executable_freeze, hsa_executable_get_info,
        hsa_executable_global_variable_define, hsa_executable_agent_global_variable_define,
        hsa_executable_readonly_variable_define, hsa_executable_validate, hsa_executable_get_symbol,
        hsa_executable_symbol_get_info, hsa_executable_iterate_symbols, hsa_status_string,
        hsa_extension_get_name, hsa_system_major_extension_supported, hsa_system_get_major_extension_table,
        hsa_agent_major_extension_supported, hsa_cache_get_info, hsa_agent_iterate_caches,
        hsa_signal_silent_store_relaxed, hsa_signal_silent_store_screlease, hsa_signal_group_create,
        hsa_signal_group_destroy, hsa_signal_group_wait_any_scacquire, hsa_signal_group_wait_any_relaxed,
        hsa_agent_iterate_isas, hsa_isa_get_info_alt, hsa_isa_get_exception_policies,
        hsa_isa_get_round_method, hsa_wavefront_get_info, hsa_isa_iterate_wavefronts,
        hsa_code_object_get_symbol_from_name, hsa_code_object_reader_create_from_file,
        hsa_code_object_reader_create_from_memory, hsa_code_object_reader_destroy, hsa_executable_create_alt,
        hsa_executable_load_program_code_object, hsa_executable_load_agent_code_object,
        hsa_executable_validate_alt, hsa_executable_get_symbol_by_name, hsa_executable_iterate_agent_symbols,
        hsa_executable_iterate_program_symbols,
    }
    /// AMD's extensions.
    AmdExtTable AMD_EXT AMD_EXT_ORIGINAL: 2, 7 {
        hsa_amd_coherency_get_type, hsa_amd_coherency_set_type, hsa_amd_profiling_set_profiler_enabled,
        hsa_amd_profiling_async_copy_enable, hsa_amd_profiling_get_dispatch_time,
        hsa_amd_profiling_get_async_copy_time, hsa_amd_profiling_convert_tick_to_system_domain,
        hsa_amd_signal_async_handler, hsa_amd_async_function, hsa_amd_signal_wait_any,
        hsa_amd_queue_cu_set_mask, hsa_amd_memory_pool_get_info, hsa_amd_agent_iterate_memory_pools,
        hsa_amd_memory_pool_allocate, hsa_amd_memory_pool_free, hsa_amd_memory_async_copy,
        hsa_amd_memory_async_copy_on_engine, hsa_amd_memory_copy_engine_status,
        hsa_amd_agent_memory_pool_get_info, hsa_amd_agents_allow_access, hsa_amd_memory_pool_can_migrate,
        hsa_amd_memory_migrate, hsa_amd_memory_lock, hsa_amd_memory_unlock, hsa_amd_memory_fill,
        hsa_amd_interop_map_buffer, hsa_amd_interop_unmap_buffer, hsa_amd_image_create, hsa_amd_pointer_info,
        hsa_amd_pointer_info_set_userdata, hsa_amd_ipc_memory_create, hsa_amd_ipc_memory_attach,
        hsa_amd_ipc_memory_detach, hsa_amd_signal_create, hsa_amd_ipc_signal_create,
        hsa_amd_ipc_signal_attach, hsa_amd_register_system_event_handler, hsa_amd_queue_intercept_create,
        hsa_amd_queue_intercept_register, hsa_amd_queue_set_priority, hsa_amd_memory_async_copy_rect,
        hsa_amd_runtime_queue_create_register, hsa_amd_memory_lock_to_pool,
        hsa_amd_register_deallocation_callback, hsa_amd_deregister_deallocation_callback,
        hsa_amd_signal_value_pointer, hsa_amd_svm_attributes_set, hsa_amd_svm_attributes_get,
        hsa_amd_svm_prefetch_async, hsa_amd_spm_acquire, hsa_amd_spm_release, hsa_amd_spm_set_dest_buffer,
        hsa_amd_queue_cu_get_mask, hsa_amd_portable_export_dmabuf, hsa_amd_portable_close_dmabuf,
        hsa_amd_vmem_address_reserve, hsa_amd_vmem_address_free, hsa_amd_vmem_handle_create,
        hsa_amd_vmem_handle_release, hsa_amd_vmem_map, hsa_amd_vmem_unmap, hsa_amd_vmem_set_access,
        hsa_amd_vmem_get_access, hsa_amd_vmem_export_shareable_handle, hsa_amd_vmem_import_shareable_handle,
        hsa_amd_vmem_retain_alloc_handle, hsa_amd_vmem_get_alloc_properties_from_handle,
        hsa_amd_agent_set_async_scratch_limit, hsa_amd_queue_get_info, hsa_amd_vmem_address_reserve_align,
        hsa_amd_enable_logging, hsa_amd_signal_wait_all, hsa_amd_memory_get_preferred_copy_engine,
        hsa_amd_portable_export_dmabuf_v2,
    }
    /// The finalizer.
    FinalizerExtTable FINALIZER FINALIZER_ORIGINAL: 2, 0 {
        hsa_ext_program_create, hsa_ext_program_destroy, hsa_ext_program_add_module,
        hsa_ext_program_iterate_modules, hsa_ext_program_get_info, hsa_ext_program_finalize,
    }
    /// Images.
    ImageExtTable IMAGE IMAGE_ORIGINAL: 2, 1 {
        hsa_ext_image_get_capability, hsa_ext_image_data_get_info, hsa_ext_image_create, hsa_ext_image_import,
        hsa_ext_image_export, hsa_ext_image_copy, hsa_ext_image_clear, hsa_ext_image_destroy,
        hsa_ext_sampler_create, hsa_ext_sampler_destroy, hsa_ext_image_get_capability_with_layout,
        hsa_ext_image_data_get_info_with_layout, hsa_ext_image_create_with_layout, hsa_ext_sampler_create_v2,
    }
    /// Program-counter sampling.
    PcSamplingExtTable PC_SAMPLING PC_SAMPLING_ORIGINAL: 1, 0 {
        hsa_ven_amd_pcs_iterate_configuration, hsa_ven_amd_pcs_create, hsa_ven_amd_pcs_create_from_id,
        hsa_ven_amd_pcs_destroy, hsa_ven_amd_pcs_start, hsa_ven_amd_pcs_stop, hsa_ven_amd_pcs_flush,
    }
}

/// `ToolsApiTable`: what a tool has the runtime call.
#[repr(C)]
pub struct ToolsApiTable {
    version: Version,
    /// Allocation started and ended, freeing started and ended; taking back while kernels run, which does not occur here.
    scratch_events: [AtomicPtr<()>; 6],
}

/// A slot of [`ToolsApiTable`]: it gets the address of an event of `hsa_amd_tool.h`.
pub type ToolEvent = unsafe extern "C" fn(event: *const c_void) -> u32;

/// What a slot of [`ToolsApiTable`] holds while no tool wants it.
unsafe extern "C" fn no_tool_event(_event: *const c_void) -> u32 {
    0
}

/// What a tool wants to be called for an event of this kind (1 to 6).
pub fn tool_event(kind: u32) -> Option<ToolEvent> {
    let slot = TOOLS.scratch_events.get(kind.checked_sub(1)? as usize)?;
    let function = slot.load(Ordering::Acquire);
    // SAFETY: null, this library's function or what a tool put there: a function of this type, by the contract of the API
    // table. An `Option` of a function is null for none.
    unsafe { core::mem::transmute::<*mut (), Option<ToolEvent>>(function) }
}

static TOOLS: ToolsApiTable = ToolsApiTable {
    version: Version::of::<ToolsApiTable>(1, 0),
    scratch_events: [const { AtomicPtr::new(no_tool_event as *const () as *mut ()) }; 6],
};

/// `HsaApiTable`: where tools find the others.
#[derive(Debug)]
#[repr(C)]
pub struct HsaApiTable {
    /// Its version: 3.1.
    pub version: Version,
    tables: [*const (); 6],
}

// SAFETY: the addresses of statics, which never change.
unsafe impl Sync for HsaApiTable {}

static ROOT: HsaApiTable = HsaApiTable {
    version: Version::of::<HsaApiTable>(3, 1),
    tables: [
        (&raw const CORE).cast(),
        (&raw const AMD_EXT).cast(),
        (&raw const FINALIZER).cast(),
        (&raw const IMAGE).cast(),
        (&raw const TOOLS).cast(),
        (&raw const PC_SAMPLING).cast(),
    ],
};

/// The root table, as tools get it. They write to the tables that it names.
pub fn root() -> *const HsaApiTable {
    &raw const ROOT
}

#[cfg(test)]
use unexported::*;

/// The three functions that only the table has: they have no export to take a signature from.
#[cfg(test)]
mod unexported {
    macro_rules! none {
        ($($name:ident)*) => {$(
            pub mod $name {
                pub fn signature() -> Vec<(&'static str, usize)> {
                    Vec::new()
                }
            }
        )*};
    }
    none!(hsa_amd_queue_intercept_create hsa_amd_queue_intercept_register hsa_amd_runtime_queue_create_register);
}
