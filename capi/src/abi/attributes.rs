//! Attributes of the core specification that a client may ask for.

use super::c_enum;

c_enum! {
    /// `hsa_system_info_t`, with AMD's additions.
    pub enum SystemInfo {
        VersionMajor = 0, HSA_SYSTEM_INFO_VERSION_MAJOR;
        VersionMinor = 1, HSA_SYSTEM_INFO_VERSION_MINOR;
        Timestamp = 2, HSA_SYSTEM_INFO_TIMESTAMP;
        TimestampFrequency = 3, HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY;
        SignalMaxWait = 4, HSA_SYSTEM_INFO_SIGNAL_MAX_WAIT;
        Endianness = 5, HSA_SYSTEM_INFO_ENDIANNESS;
        MachineModel = 6, HSA_SYSTEM_INFO_MACHINE_MODEL;
        Extensions = 7, HSA_SYSTEM_INFO_EXTENSIONS;
        BuildVersion = 0x200, HSA_AMD_SYSTEM_INFO_BUILD_VERSION;
        SvmSupported = 0x201, HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED;
        SvmAccessibleByDefault = 0x202, HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT;
        MwaitxEnabled = 0x203, HSA_AMD_SYSTEM_INFO_MWAITX_ENABLED, newer;
        DmabufSupported = 0x204, HSA_AMD_SYSTEM_INFO_DMABUF_SUPPORTED, newer;
        VirtualMemApiSupported = 0x205, HSA_AMD_SYSTEM_INFO_VIRTUAL_MEM_API_SUPPORTED, newer;
        XnackEnabled = 0x206, HSA_AMD_SYSTEM_INFO_XNACK_ENABLED, newer;
        ExtVersionMajor = 0x207, HSA_AMD_SYSTEM_INFO_EXT_VERSION_MAJOR, newer;
        ExtVersionMinor = 0x208, HSA_AMD_SYSTEM_INFO_EXT_VERSION_MINOR, newer;
    }

    /// `hsa_cache_info_t`.
    pub enum CacheInfo {
        NameLength = 0, HSA_CACHE_INFO_NAME_LENGTH;
        Name = 1, HSA_CACHE_INFO_NAME;
        Level = 2, HSA_CACHE_INFO_LEVEL;
        Size = 3, HSA_CACHE_INFO_SIZE;
    }

    /// `hsa_region_info_t`, with AMD's additions.
    pub enum RegionInfo {
        Segment = 0, HSA_REGION_INFO_SEGMENT;
        GlobalFlags = 1, HSA_REGION_INFO_GLOBAL_FLAGS;
        Size = 2, HSA_REGION_INFO_SIZE;
        AllocMaxSize = 4, HSA_REGION_INFO_ALLOC_MAX_SIZE;
        AllocMaxPrivateWorkgroupSize = 8, HSA_REGION_INFO_ALLOC_MAX_PRIVATE_WORKGROUP_SIZE;
        RuntimeAllocAllowed = 5, HSA_REGION_INFO_RUNTIME_ALLOC_ALLOWED;
        RuntimeAllocGranule = 6, HSA_REGION_INFO_RUNTIME_ALLOC_GRANULE;
        RuntimeAllocAlignment = 7, HSA_REGION_INFO_RUNTIME_ALLOC_ALIGNMENT;
        HostAccessible = 0xA000, HSA_AMD_REGION_INFO_HOST_ACCESSIBLE;
        Base = 0xA001, HSA_AMD_REGION_INFO_BASE;
        BusWidth = 0xA002, HSA_AMD_REGION_INFO_BUS_WIDTH;
        MaxClockFrequency = 0xA003, HSA_AMD_REGION_INFO_MAX_CLOCK_FREQUENCY;
    }

    /// `hsa_isa_info_t`.
    pub enum IsaInfo {
        NameLength = 0, HSA_ISA_INFO_NAME_LENGTH;
        Name = 1, HSA_ISA_INFO_NAME;
        CallConventionCount = 2, HSA_ISA_INFO_CALL_CONVENTION_COUNT;
        CallConventionInfoWavefrontSize = 3, HSA_ISA_INFO_CALL_CONVENTION_INFO_WAVEFRONT_SIZE;
        CallConventionInfoWavefrontsPerComputeUnit = 4, HSA_ISA_INFO_CALL_CONVENTION_INFO_WAVEFRONTS_PER_COMPUTE_UNIT;
        MachineModels = 5, HSA_ISA_INFO_MACHINE_MODELS;
        Profiles = 6, HSA_ISA_INFO_PROFILES;
        DefaultFloatRoundingModes = 7, HSA_ISA_INFO_DEFAULT_FLOAT_ROUNDING_MODES;
        BaseProfileDefaultFloatRoundingModes = 8, HSA_ISA_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES;
        FastF16Operation = 9, HSA_ISA_INFO_FAST_F16_OPERATION;
        WorkgroupMaxDim = 12, HSA_ISA_INFO_WORKGROUP_MAX_DIM;
        WorkgroupMaxSize = 13, HSA_ISA_INFO_WORKGROUP_MAX_SIZE;
        GridMaxDim = 14, HSA_ISA_INFO_GRID_MAX_DIM;
        GridMaxSize = 16, HSA_ISA_INFO_GRID_MAX_SIZE;
        FbarrierMaxSize = 17, HSA_ISA_INFO_FBARRIER_MAX_SIZE;
    }

    /// `hsa_wavefront_info_t`.
    pub enum WavefrontInfo {
        Size = 0, HSA_WAVEFRONT_INFO_SIZE;
    }

    /// `hsa_executable_info_t`.
    pub enum ExecutableInfo {
        Profile = 1, HSA_EXECUTABLE_INFO_PROFILE;
        State = 2, HSA_EXECUTABLE_INFO_STATE;
        DefaultFloatRoundingMode = 3, HSA_EXECUTABLE_INFO_DEFAULT_FLOAT_ROUNDING_MODE;
    }

    /// `hsa_executable_symbol_info_t`. `hsa_code_symbol_info_t` uses the same numbers for what code objects know.
    pub enum SymbolInfo {
        Type = 0, HSA_EXECUTABLE_SYMBOL_INFO_TYPE;
        NameLength = 1, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH;
        Name = 2, HSA_EXECUTABLE_SYMBOL_INFO_NAME;
        ModuleNameLength = 3, HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME_LENGTH;
        ModuleName = 4, HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME;
        Agent = 20, HSA_EXECUTABLE_SYMBOL_INFO_AGENT;
        VariableAddress = 21, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS;
        Linkage = 5, HSA_EXECUTABLE_SYMBOL_INFO_LINKAGE;
        IsDefinition = 17, HSA_EXECUTABLE_SYMBOL_INFO_IS_DEFINITION;
        VariableAllocation = 6, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALLOCATION;
        VariableSegment = 7, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SEGMENT;
        VariableAlignment = 8, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALIGNMENT;
        VariableSize = 9, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE;
        VariableIsConst = 10, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST;
        KernelObject = 22, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT;
        KernelKernargSegmentSize = 11, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE;
        KernelKernargSegmentAlignment = 12, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT;
        KernelGroupSegmentSize = 13, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE;
        KernelPrivateSegmentSize = 14, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE;
        KernelDynamicCallstack = 15, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK;
        KernelCallConvention = 18, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_CALL_CONVENTION;
        IndirectFunctionObject = 23, HSA_EXECUTABLE_SYMBOL_INFO_INDIRECT_FUNCTION_OBJECT;
        IndirectFunctionCallConvention = 16, HSA_EXECUTABLE_SYMBOL_INFO_INDIRECT_FUNCTION_CALL_CONVENTION;
        KernelWavefrontSize = 19, HSA_CODE_SYMBOL_INFO_KERNEL_WAVEFRONT_SIZE, newer;
    }

    /// `hsa_code_object_info_t`.
    pub enum CodeObjectInfo {
        Version = 0, HSA_CODE_OBJECT_INFO_VERSION;
        Type = 1, HSA_CODE_OBJECT_INFO_TYPE;
        Isa = 2, HSA_CODE_OBJECT_INFO_ISA;
        MachineModel = 3, HSA_CODE_OBJECT_INFO_MACHINE_MODEL;
        Profile = 4, HSA_CODE_OBJECT_INFO_PROFILE;
        DefaultFloatRoundingMode = 5, HSA_CODE_OBJECT_INFO_DEFAULT_FLOAT_ROUNDING_MODE;
    }
}
