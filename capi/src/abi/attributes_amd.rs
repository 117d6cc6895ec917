//! Attributes of agents and of AMD's extensions that a client may ask for.

use super::c_enum;

c_enum! {
    /// `hsa_agent_info_t`, with AMD's and the image extension's additions.
    pub enum AgentAttribute {
        Name = 0, HSA_AGENT_INFO_NAME;
        VendorName = 1, HSA_AGENT_INFO_VENDOR_NAME;
        Feature = 2, HSA_AGENT_INFO_FEATURE;
        MachineModel = 3, HSA_AGENT_INFO_MACHINE_MODEL;
        Profile = 4, HSA_AGENT_INFO_PROFILE;
        DefaultFloatRoundingMode = 5, HSA_AGENT_INFO_DEFAULT_FLOAT_ROUNDING_MODE;
        BaseProfileDefaultFloatRoundingModes = 23, HSA_AGENT_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES;
        FastF16Operation = 24, HSA_AGENT_INFO_FAST_F16_OPERATION;
        WavefrontSize = 6, HSA_AGENT_INFO_WAVEFRONT_SIZE;
        WorkgroupMaxDim = 7, HSA_AGENT_INFO_WORKGROUP_MAX_DIM;
        WorkgroupMaxSize = 8, HSA_AGENT_INFO_WORKGROUP_MAX_SIZE;
        GridMaxDim = 9, HSA_AGENT_INFO_GRID_MAX_DIM;
        GridMaxSize = 10, HSA_AGENT_INFO_GRID_MAX_SIZE;
        FbarrierMaxSize = 11, HSA_AGENT_INFO_FBARRIER_MAX_SIZE;
        QueuesMax = 12, HSA_AGENT_INFO_QUEUES_MAX;
        QueueMinSize = 13, HSA_AGENT_INFO_QUEUE_MIN_SIZE;
        QueueMaxSize = 14, HSA_AGENT_INFO_QUEUE_MAX_SIZE;
        QueueType = 15, HSA_AGENT_INFO_QUEUE_TYPE;
        Node = 16, HSA_AGENT_INFO_NODE;
        Device = 17, HSA_AGENT_INFO_DEVICE;
        CacheSize = 18, HSA_AGENT_INFO_CACHE_SIZE;
        Isa = 19, HSA_AGENT_INFO_ISA;
        Extensions = 20, HSA_AGENT_INFO_EXTENSIONS;
        VersionMajor = 21, HSA_AGENT_INFO_VERSION_MAJOR;
        VersionMinor = 22, HSA_AGENT_INFO_VERSION_MINOR;
        ChipId = 0xA000, HSA_AMD_AGENT_INFO_CHIP_ID;
        CachelineSize = 0xA001, HSA_AMD_AGENT_INFO_CACHELINE_SIZE;
        ComputeUnitCount = 0xA002, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT;
        MaxClockFrequency = 0xA003, HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY;
        DriverNodeId = 0xA004, HSA_AMD_AGENT_INFO_DRIVER_NODE_ID;
        MaxAddressWatchPoints = 0xA005, HSA_AMD_AGENT_INFO_MAX_ADDRESS_WATCH_POINTS;
        Bdfid = 0xA006, HSA_AMD_AGENT_INFO_BDFID;
        MemoryWidth = 0xA007, HSA_AMD_AGENT_INFO_MEMORY_WIDTH;
        MemoryMaxFrequency = 0xA008, HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY;
        ProductName = 0xA009, HSA_AMD_AGENT_INFO_PRODUCT_NAME;
        MaxWavesPerCu = 0xA00A, HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU;
        NumSimdsPerCu = 0xA00B, HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU;
        NumShaderEngines = 0xA00C, HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES;
        NumShaderArraysPerSe = 0xA00D, HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE;
        HdpFlush = 0xA00E, HSA_AMD_AGENT_INFO_HDP_FLUSH;
        Domain = 0xA00F, HSA_AMD_AGENT_INFO_DOMAIN;
        CooperativeQueues = 0xA010, HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES;
        Uuid = 0xA011, HSA_AMD_AGENT_INFO_UUID;
        AsicRevision = 0xA012, HSA_AMD_AGENT_INFO_ASIC_REVISION;
        SvmDirectHostAccess = 0xA013, HSA_AMD_AGENT_INFO_SVM_DIRECT_HOST_ACCESS;
        CooperativeComputeUnitCount = 0xA014, HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT;
        Image1dMaxElements = 0x3000, HSA_EXT_AGENT_INFO_IMAGE_1D_MAX_ELEMENTS;
        Image1daMaxElements = 0x3001, HSA_EXT_AGENT_INFO_IMAGE_1DA_MAX_ELEMENTS;
        Image1dbMaxElements = 0x3002, HSA_EXT_AGENT_INFO_IMAGE_1DB_MAX_ELEMENTS;
        Image2dMaxElements = 0x3003, HSA_EXT_AGENT_INFO_IMAGE_2D_MAX_ELEMENTS;
        Image2daMaxElements = 0x3004, HSA_EXT_AGENT_INFO_IMAGE_2DA_MAX_ELEMENTS;
        Image2ddepthMaxElements = 0x3005, HSA_EXT_AGENT_INFO_IMAGE_2DDEPTH_MAX_ELEMENTS;
        Image2dadepthMaxElements = 0x3006, HSA_EXT_AGENT_INFO_IMAGE_2DADEPTH_MAX_ELEMENTS;
        Image3dMaxElements = 0x3007, HSA_EXT_AGENT_INFO_IMAGE_3D_MAX_ELEMENTS;
        ImageArrayMaxLayers = 0x3008, HSA_EXT_AGENT_INFO_IMAGE_ARRAY_MAX_LAYERS;
        MaxImageRdHandles = 0x3009, HSA_EXT_AGENT_INFO_MAX_IMAGE_RD_HANDLES;
        MaxImageRorwHandles = 0x300A, HSA_EXT_AGENT_INFO_MAX_IMAGE_RORW_HANDLES;
        MaxSamplerHandlers = 0x300B, HSA_EXT_AGENT_INFO_MAX_SAMPLER_HANDLERS;
        ImageLinearRowPitchAlignment = 0x300C, HSA_EXT_AGENT_INFO_IMAGE_LINEAR_ROW_PITCH_ALIGNMENT;
        MemoryAvail = 0xA015, HSA_AMD_AGENT_INFO_MEMORY_AVAIL, newer;
        TimestampFrequency = 0xA016, HSA_AMD_AGENT_INFO_TIMESTAMP_FREQUENCY, newer;
        AsicFamilyId = 0xA107, HSA_AMD_AGENT_INFO_ASIC_FAMILY_ID, newer;
        UcodeVersion = 0xA108, HSA_AMD_AGENT_INFO_UCODE_VERSION, newer;
        SdmaUcodeVersion = 0xA109, HSA_AMD_AGENT_INFO_SDMA_UCODE_VERSION, newer;
        NumSdmaEng = 0xA10A, HSA_AMD_AGENT_INFO_NUM_SDMA_ENG, newer;
        NumSdmaXgmiEng = 0xA10B, HSA_AMD_AGENT_INFO_NUM_SDMA_XGMI_ENG, newer;
        IommuSupport = 0xA110, HSA_AMD_AGENT_INFO_IOMMU_SUPPORT, newer;
        NumXcc = 0xA111, HSA_AMD_AGENT_INFO_NUM_XCC, newer;
        DriverUid = 0xA112, HSA_AMD_AGENT_INFO_DRIVER_UID, newer;
        NearestCpu = 0xA113, HSA_AMD_AGENT_INFO_NEAREST_CPU, newer;
        MemoryProperties = 0xA114, HSA_AMD_AGENT_INFO_MEMORY_PROPERTIES, newer;
        AqlExtensions = 0xA115, HSA_AMD_AGENT_INFO_AQL_EXTENSIONS, newer;
        ScratchLimitMax = 0xA116, HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_MAX, newer;
        ScratchLimitCurrent = 0xA117, HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_CURRENT, newer;
        ClockCounters = 0xA118, HSA_AMD_AGENT_INFO_CLOCK_COUNTERS, newer;
    }

    /// `hsa_amd_memory_pool_info_t`.
    pub enum PoolInfo {
        Segment = 0, HSA_AMD_MEMORY_POOL_INFO_SEGMENT;
        GlobalFlags = 1, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS;
        Size = 2, HSA_AMD_MEMORY_POOL_INFO_SIZE;
        RuntimeAllocAllowed = 5, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED;
        RuntimeAllocGranule = 6, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE;
        RuntimeAllocAlignment = 7, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT;
        AccessibleByAll = 15, HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL;
        AllocMaxSize = 16, HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE;
        Location = 17, HSA_AMD_MEMORY_POOL_INFO_LOCATION, newer;
        RuntimeAllocRecGranule = 18, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_REC_GRANULE, newer;
    }

    /// `hsa_amd_agent_memory_pool_info_t`.
    pub enum AgentPoolInfo {
        Access = 0, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS;
        NumLinkHops = 1, HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS;
        LinkInfo = 2, HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO;
    }

    /// `hsa_queue_info_attribute_t`.
    pub enum QueueInfo {
        Agent = 0, HSA_AMD_QUEUE_INFO_AGENT, newer;
        DoorbellId = 1, HSA_AMD_QUEUE_INFO_DOORBELL_ID, newer;
    }

    /// `hsa_ven_amd_loader_loaded_code_object_info_t`.
    pub enum LoadedInfo {
        Executable = 1, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_EXECUTABLE;
        Kind = 2, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_KIND;
        Agent = 3, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT;
        CodeObjectStorageType = 4, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE;
        CodeObjectStorageMemoryBase = 5, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE;
        CodeObjectStorageMemorySize = 6, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE;
        CodeObjectStorageFile = 7, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_FILE;
        LoadDelta = 8, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA;
        LoadBase = 9, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE;
        LoadSize = 10, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE;
        UriLength = 11, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH;
        Uri = 12, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI;
    }
}
