//! Enumerations that are arguments or answers.

use super::c_enum;

c_enum! {
    /// `hsa_profile_t`.
    pub enum Profile {
        Base = 0, HSA_PROFILE_BASE;
        Full = 1, HSA_PROFILE_FULL;
    }

    /// `hsa_machine_model_t`.
    pub enum MachineModel {
        Small = 0, HSA_MACHINE_MODEL_SMALL;
        Large = 1, HSA_MACHINE_MODEL_LARGE;
    }

    /// `hsa_endianness_t`.
    pub enum Endianness {
        Little = 0, HSA_ENDIANNESS_LITTLE;
        Big = 1, HSA_ENDIANNESS_BIG;
    }

    /// `hsa_default_float_rounding_mode_t`.
    pub enum RoundingMode {
        Default = 0, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT;
        Zero = 1, HSA_DEFAULT_FLOAT_ROUNDING_MODE_ZERO;
        Near = 2, HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR;
    }

    /// `hsa_device_type_t`.
    pub enum DeviceType {
        Cpu = 0, HSA_DEVICE_TYPE_CPU;
        Gpu = 1, HSA_DEVICE_TYPE_GPU;
        Dsp = 2, HSA_DEVICE_TYPE_DSP;
        Aie = 3, HSA_DEVICE_TYPE_AIE, newer;
    }

    /// `hsa_extension_t`.
    pub enum Extension {
        Finalizer = 0, HSA_EXTENSION_FINALIZER;
        Images = 1, HSA_EXTENSION_IMAGES;
        PerformanceCounters = 2, HSA_EXTENSION_PERFORMANCE_COUNTERS;
        ProfilingEvents = 3, HSA_EXTENSION_PROFILING_EVENTS;
        AmdProfiler = 0x200, HSA_EXTENSION_AMD_PROFILER;
        AmdLoader = 0x201, HSA_EXTENSION_AMD_LOADER;
        AmdAqlprofile = 0x202, HSA_EXTENSION_AMD_AQLPROFILE;
        AmdPcSampling = 0x203, HSA_EXTENSION_AMD_PC_SAMPLING, newer;
    }

    /// `hsa_wait_state_t`.
    pub enum WaitState {
        Blocked = 0, HSA_WAIT_STATE_BLOCKED;
        Active = 1, HSA_WAIT_STATE_ACTIVE;
    }

    /// `hsa_signal_condition_t`.
    pub enum SignalCondition {
        Eq = 0, HSA_SIGNAL_CONDITION_EQ;
        Ne = 1, HSA_SIGNAL_CONDITION_NE;
        Lt = 2, HSA_SIGNAL_CONDITION_LT;
        Gte = 3, HSA_SIGNAL_CONDITION_GTE;
    }

    /// `hsa_queue_type_t`.
    pub enum QueueType {
        Multi = 0, HSA_QUEUE_TYPE_MULTI;
        Single = 1, HSA_QUEUE_TYPE_SINGLE;
        Cooperative = 2, HSA_QUEUE_TYPE_COOPERATIVE;
    }

    /// `hsa_amd_queue_priority_t`.
    pub enum QueuePriority {
        Low = 0, HSA_AMD_QUEUE_PRIORITY_LOW;
        Normal = 1, HSA_AMD_QUEUE_PRIORITY_NORMAL;
        High = 2, HSA_AMD_QUEUE_PRIORITY_HIGH;
    }

    /// `hsa_region_segment_t`; pools use the same numbers.
    pub enum Segment {
        Global = 0, HSA_REGION_SEGMENT_GLOBAL;
        Readonly = 1, HSA_REGION_SEGMENT_READONLY;
        Private = 2, HSA_REGION_SEGMENT_PRIVATE;
        Group = 3, HSA_REGION_SEGMENT_GROUP;
        Kernarg = 4, HSA_REGION_SEGMENT_KERNARG;
    }

    /// `hsa_executable_state_t`.
    pub enum ExecutableState {
        Unfrozen = 0, HSA_EXECUTABLE_STATE_UNFROZEN;
        Frozen = 1, HSA_EXECUTABLE_STATE_FROZEN;
    }

    /// `hsa_symbol_kind_t`.
    pub enum SymbolKind {
        Variable = 0, HSA_SYMBOL_KIND_VARIABLE;
        Kernel = 1, HSA_SYMBOL_KIND_KERNEL;
        IndirectFunction = 2, HSA_SYMBOL_KIND_INDIRECT_FUNCTION;
    }

    /// `hsa_symbol_linkage_t`.
    pub enum SymbolLinkage {
        Module = 0, HSA_SYMBOL_LINKAGE_MODULE;
        Program = 1, HSA_SYMBOL_LINKAGE_PROGRAM;
    }

    /// `hsa_variable_allocation_t`.
    pub enum VariableAllocation {
        Agent = 0, HSA_VARIABLE_ALLOCATION_AGENT;
        Program = 1, HSA_VARIABLE_ALLOCATION_PROGRAM;
    }

    /// `hsa_variable_segment_t`.
    pub enum VariableSegment {
        Global = 0, HSA_VARIABLE_SEGMENT_GLOBAL;
        Readonly = 1, HSA_VARIABLE_SEGMENT_READONLY;
    }

    /// `hsa_access_permission_t`.
    pub enum AccessPermission {
        Ro = 1, HSA_ACCESS_PERMISSION_RO;
        Wo = 2, HSA_ACCESS_PERMISSION_WO;
        Rw = 3, HSA_ACCESS_PERMISSION_RW;
        None = 0, HSA_ACCESS_PERMISSION_NONE, newer;
    }

    /// `hsa_fp_type_t`.
    pub enum FpType {
        X16 = 1, HSA_FP_TYPE_16;
        X32 = 2, HSA_FP_TYPE_32;
        X64 = 4, HSA_FP_TYPE_64;
    }

    /// `hsa_flush_mode_t`.
    pub enum FlushMode {
        Ftz = 1, HSA_FLUSH_MODE_FTZ;
        NonFtz = 2, HSA_FLUSH_MODE_NON_FTZ;
    }

    /// `hsa_round_method_t`.
    pub enum RoundMethod {
        Single = 1, HSA_ROUND_METHOD_SINGLE;
        Double = 2, HSA_ROUND_METHOD_DOUBLE;
    }

    /// `hsa_amd_memory_pool_access_t`.
    pub enum PoolAccess {
        NeverAllowed = 0, HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
        AllowedByDefault = 1, HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT;
        DisallowedByDefault = 2, HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT;
    }

    /// `hsa_amd_link_info_type_t`.
    pub enum LinkType {
        Hypertransport = 0, HSA_AMD_LINK_INFO_TYPE_HYPERTRANSPORT;
        Qpi = 1, HSA_AMD_LINK_INFO_TYPE_QPI;
        Pcie = 2, HSA_AMD_LINK_INFO_TYPE_PCIE;
        Infinband = 3, HSA_AMD_LINK_INFO_TYPE_INFINBAND;
        Xgmi = 4, HSA_AMD_LINK_INFO_TYPE_XGMI;
    }

    /// `hsa_amd_pointer_type_t`.
    pub enum PointerType {
        Unknown = 0, HSA_EXT_POINTER_TYPE_UNKNOWN;
        Hsa = 1, HSA_EXT_POINTER_TYPE_HSA;
        Locked = 2, HSA_EXT_POINTER_TYPE_LOCKED;
        Graphics = 3, HSA_EXT_POINTER_TYPE_GRAPHICS;
        Ipc = 4, HSA_EXT_POINTER_TYPE_IPC;
        ReservedAddress = 5, HSA_EXT_POINTER_TYPE_RESERVED_ADDR, newer;
        Vmem = 6, HSA_EXT_POINTER_TYPE_HSA_VMEM, newer;
    }

    /// `hsa_ven_amd_loader_code_object_storage_type_t`.
    pub enum CodeObjectStorage {
        None = 0, HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_NONE;
        File = 1, HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_FILE;
        Memory = 2, HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY;
    }

    /// `hsa_ven_amd_loader_loaded_code_object_kind_t`.
    pub enum LoadedKind {
        Program = 1, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_KIND_PROGRAM;
        Agent = 2, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_KIND_AGENT;
    }
}
