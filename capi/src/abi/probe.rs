//! Compiles a C program against the HSA headers of the system and compares what its compiler
//! says of every structure and constant with what this crate says.

use super::*;
use rukh_core::wire::{aql, queue, signal};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::string::String;

/// One line of the probe: a C expression and the value that it must have.
struct Expectations(Vec<(String, u64)>);

macro_rules! layout {
    ($list:ident, $c:literal, $rust:ty $(, $c_field:literal = $field:ident)* $(,)?) => {
        $list.0.push((format!("sizeof({})", $c), size_of::<$rust>() as u64));
        $list.0.push((format!("_Alignof({})", $c), align_of::<$rust>() as u64));
        $($list.0.push((
            format!("offsetof({}, {})", $c, $c_field),
            core::mem::offset_of!($rust, $field) as u64,
        ));)*
    };
}

fn constants(list: &mut Expectations, names: &[(&str, u32, bool)]) {
    for &(name, value, newer) in names {
        if !newer {
            list.0.push((format!("(unsigned){name}"), value.into()));
        }
    }
}

fn expectations() -> Expectations {
    let mut list = Expectations(Vec::new());
    constants(&mut list, Status::C_NAMES);
    for names in [
        SystemInfo::C_NAMES,
        CacheInfo::C_NAMES,
        RegionInfo::C_NAMES,
        IsaInfo::C_NAMES,
        WavefrontInfo::C_NAMES,
        ExecutableInfo::C_NAMES,
        SymbolInfo::C_NAMES,
        CodeObjectInfo::C_NAMES,
        AgentAttribute::C_NAMES,
        PoolInfo::C_NAMES,
        AgentPoolInfo::C_NAMES,
        QueueInfo::C_NAMES,
        LoadedInfo::C_NAMES,
        Profile::C_NAMES,
        MachineModel::C_NAMES,
        Endianness::C_NAMES,
        RoundingMode::C_NAMES,
        DeviceType::C_NAMES,
        Extension::C_NAMES,
        WaitState::C_NAMES,
        SignalCondition::C_NAMES,
        QueueType::C_NAMES,
        QueuePriority::C_NAMES,
        Segment::C_NAMES,
        ExecutableState::C_NAMES,
        SymbolKind::C_NAMES,
        SymbolLinkage::C_NAMES,
        VariableAllocation::C_NAMES,
        VariableSegment::C_NAMES,
        AccessPermission::C_NAMES,
        FpType::C_NAMES,
        FlushMode::C_NAMES,
        RoundMethod::C_NAMES,
        PoolAccess::C_NAMES,
        LinkType::C_NAMES,
        PointerType::C_NAMES,
        CodeObjectStorage::C_NAMES,
        LoadedKind::C_NAMES,
    ] {
        constants(&mut list, names);
    }
    for &(name, newer) in HANDLE_TYPES {
        if !newer {
            list.0.push((format!("sizeof({name})"), 8));
        }
    }
    layout!(list, "hsa_dim3_t", Dim3, "x" = x, "y" = y, "z" = z);
    layout!(
        list,
        "hsa_amd_hdp_flush_t",
        HdpFlush,
        "HDP_MEM_FLUSH_CNTL" = memory,
        "HDP_REG_FLUSH_CNTL" = registers
    );
    layout!(
        list,
        "hsa_amd_profiling_dispatch_time_t",
        ProfilingTime,
        "start" = start,
        "end" = end
    );
    layout!(
        list,
        "hsa_amd_profiling_async_copy_time_t",
        ProfilingTime,
        "start" = start,
        "end" = end
    );
    layout!(
        list,
        "hsa_amd_memory_pool_link_info_t",
        PoolLinkInfo,
        "min_latency" = min_latency,
        "max_latency" = max_latency,
        "min_bandwidth" = min_bandwidth,
        "max_bandwidth" = max_bandwidth,
        "atomic_support_32bit" = atomic_support_32bit,
        "atomic_support_64bit" = atomic_support_64bit,
        "coherent_support" = coherent_support,
        "link_type" = link_type,
        "numa_distance" = numa_distance
    );
    layout!(
        list,
        "hsa_pitched_ptr_t",
        PitchedPtr,
        "base" = base,
        "pitch" = pitch,
        "slice" = slice
    );
    layout!(
        list,
        "hsa_amd_pointer_info_t",
        PointerInfo,
        "size" = size,
        "type" = kind,
        "agentBaseAddress" = agent_base_address,
        "hostBaseAddress" = host_base_address,
        "sizeInBytes" = size_in_bytes,
        "userData" = user_data,
        "agentOwner" = agent_owner,
        "global_flags" = global_flags
    );
    layout!(list, "hsa_amd_ipc_memory_t", IpcMemory, "handle" = handle);
    layout!(
        list,
        "hsa_amd_gpu_memory_fault_info_t",
        MemoryFaultDetails,
        "agent" = agent,
        "virtual_address" = virtual_address,
        "fault_reason_mask" = fault_reason_mask
    );
    layout!(
        list,
        "hsa_amd_event_t",
        SystemEvent,
        "event_type" = event_type,
        "memory_fault" = memory_fault
    );
    layout!(
        list,
        "hsa_amd_svm_attribute_pair_t",
        SvmAttributePair,
        "attribute" = attribute,
        "value" = value
    );
    layout!(
        list,
        "hsa_ven_amd_loader_segment_descriptor_t",
        SegmentDescriptor,
        "agent" = agent,
        "executable" = executable,
        "code_object_storage_type" = code_object_storage_type,
        "code_object_storage_base" = code_object_storage_base,
        "code_object_storage_size" = code_object_storage_size,
        "code_object_storage_offset" = code_object_storage_offset,
        "segment_base" = segment_base,
        "segment_size" = segment_size
    );
    wire(&mut list);
    list
}

/// What clients share with core.
fn wire(list: &mut Expectations) {
    layout!(
        list,
        "hsa_queue_t",
        queue::HsaQueue,
        "type" = kind,
        "features" = features,
        "base_address" = base_address,
        "doorbell_signal" = doorbell_signal,
        "size" = size,
        "id" = id
    );
    layout!(
        list,
        "hsa_kernel_dispatch_packet_t",
        aql::KernelDispatchPacket,
        "header" = header,
        "setup" = setup,
        "private_segment_size" = private_segment_size,
        "group_segment_size" = group_segment_size,
        "kernel_object" = kernel_object,
        "kernarg_address" = kernarg_address,
        "completion_signal" = completion_signal
    );
    list.0.push((
        "sizeof(hsa_barrier_and_packet_t)".into(),
        size_of::<aql::BarrierPacket>() as u64,
    ));
    list.0.push((
        "sizeof(hsa_amd_barrier_value_packet_t)".into(),
        size_of::<aql::BarrierValuePacket>() as u64,
    ));
    list.0.push((
        "sizeof(amd_signal_t)".into(),
        size_of::<signal::AmdSignal>() as u64,
    ));
    list.0.push((
        "offsetof(amd_queue_t, read_dispatch_id)".into(),
        core::mem::offset_of!(queue::AmdQueue, read_dispatch_id) as u64,
    ));
}

#[test]
fn structures_and_constants_are_those_of_the_c_headers() {
    if !Path::new("/usr/include/hsa/hsa_ven_amd_loader.h").exists() {
        eprintln!("skipped: no HSA headers in /usr/include/hsa (Debian: libhsa-runtime-dev)");
        return;
    }
    let expectations = expectations();
    assert!(
        expectations.0.len() > 250,
        "only {} facts to check",
        expectations.0.len()
    );
    let mut source = String::from(
        "#include <stddef.h>\n#include <stdio.h>\n#include <hsa/hsa.h>\n#include <hsa/hsa_ext_amd.h>\n\
         #include <hsa/hsa_ext_image.h>\n#include <hsa/hsa_ext_finalize.h>\n\
         #include <hsa/hsa_ven_amd_loader.h>\n#include <hsa/amd_hsa_queue.h>\n\
         #include <hsa/amd_hsa_signal.h>\nint main(void) {\n",
    );
    for (expression, _) in &expectations.0 {
        let _ = writeln!(
            source,
            "printf(\"%llu\\n\", (unsigned long long)({expression}));"
        );
    }
    source.push_str("return 0; }\n");
    let dir = std::env::temp_dir().join(format!("rukh-abi-probe-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let (file, program) = (dir.join("probe.c"), dir.join("probe"));
    std::fs::write(&file, source).unwrap();
    let cc = Command::new("cc")
        .args(["-std=gnu11", "-o"])
        .args([&program, &file])
        .status()
        .unwrap();
    assert!(cc.success(), "the probe does not compile");
    let output = Command::new(&program).output().unwrap().stdout;
    std::fs::remove_dir_all(&dir).unwrap();
    let output = String::from_utf8(output).unwrap();
    let values: Vec<u64> = output.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(values.len(), expectations.0.len());
    let wrong: Vec<String> = expectations
        .0
        .iter()
        .zip(values)
        .filter(|((_, ours), theirs)| ours != theirs)
        .map(|((name, ours), theirs)| format!("{name} is {theirs} in C and {ours} here"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
