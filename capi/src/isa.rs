//! Chapter instruction set architectures: names, limits, compatibility.
//!
//! An agent has one ISA here, its own: clients that keep the last one of an iteration (LLVM's OpenMP
//! runtime) would take the generic one for the agent's, and HIP 5 refuses agents that have two.

use crate::abi::{
    Agent, FlushMode, FpType, Isa, IsaInfo, Parts, Profile, RoundMethod, Status, VisitIsa,
    VisitWavefront, Wavefront, WavefrontInfo,
};
use crate::agent::{FBARRIER_MAX, GRID_MAX, WORKGROUP_MAX};
use crate::arg::{Out, Text, Value};
use crate::entry::{Result, callbacks, entry, gather};
use crate::state::open;
use core::ffi::c_void;
use rukh_core::isa::{Isa as CoreIsa, WaveSizes};

/// Wave slots of a compute unit, from the SIMD units and the slots of each.
fn waves_per_compute_unit(isa: &CoreIsa) -> u32 {
    let version = isa.processor().version;
    match (version.major, version.minor, version.stepping) {
        // Unified register files: 4 units of 8.
        (9, 0, 10) | (9, 4.., _) => 32,
        (..=9, _, _) => 40,
        // 2 units of 20, then of 16.
        (10, 1, _) => 40,
        _ => 32,
    }
}

fn info(isa: CoreIsa, attribute: IsaInfo, index: u32, value: Value) -> Result {
    let place = value.required()?;
    // The length counts the NUL, whatever the header says: clients allocate that much and print it.
    let name = || format!("{isa}\0");
    match attribute {
        IsaInfo::NameLength => place.put(u32::try_from(name().len()).unwrap_or(u32::MAX)),
        IsaInfo::Name => place.put_bytes(name().as_bytes()),
        IsaInfo::CallConventionCount => place.put(1u32),
        IsaInfo::CallConventionInfoWavefrontSize if index == 0 => {
            place.put(isa.processor().waves.native())
        }
        IsaInfo::CallConventionInfoWavefrontsPerComputeUnit if index == 0 => {
            place.put(waves_per_compute_unit(&isa))
        }
        IsaInfo::CallConventionInfoWavefrontSize
        | IsaInfo::CallConventionInfoWavefrontsPerComputeUnit => Err(Status::INVALID_INDEX),
        // Small, large.
        IsaInfo::MachineModels => place.put([false, true]),
        // Base, full.
        IsaInfo::Profiles => place.put([true, false]),
        // Default, towards zero, to nearest.
        IsaInfo::DefaultFloatRoundingModes | IsaInfo::BaseProfileDefaultFloatRoundingModes => {
            place.put([false, false, true])
        }
        IsaInfo::FastF16Operation => place.put(isa.processor().version.major >= 8),
        IsaInfo::WorkgroupMaxDim => place.put([WORKGROUP_MAX; 3]),
        IsaInfo::WorkgroupMaxSize => place.put(u32::from(WORKGROUP_MAX)),
        IsaInfo::GridMaxDim => place.put(GRID_MAX),
        IsaInfo::GridMaxSize => place.put(u64::from(u32::MAX)),
        IsaInfo::FbarrierMaxSize => place.put(FBARRIER_MAX),
    }
}

/// The lanes of the wavefronts that an ISA executes.
fn wavefront_sizes(isa: &CoreIsa) -> Vec<u32> {
    let waves: WaveSizes = isa.processor().waves;
    [32, 64]
        .into_iter()
        .filter(|&size| waves.supports(size))
        .collect()
}

entry! {
    /// `hsa_isa_from_name`: the ISA of a name such as `amdgcn-amd-amdhsa--gfx90a:xnack-`.
    fn hsa_isa_from_name(state; name: Text, isa: Out<Isa>) {
        let name = name.required()?;
        let place = isa.required()?;
        let isa = name.parse::<CoreIsa>().map_err(|_| Status::INVALID_ISA_NAME)?;
        place.put(state.isa_handle(isa)?);
        Ok(())
    }

    /// `hsa_isa_get_info`: an attribute of an ISA, some of them per call convention.
    fn hsa_isa_get_info(state; isa: Isa, attribute: u32, index: u32, value: Value) {
        let isa = state.isa(isa)?;
        let attribute = IsaInfo::from_raw(attribute).ok_or(Status::INVALID_ARGUMENT)?;
        info(isa, attribute, index, value)
    }

    /// `hsa_isa_get_info_alt`: an attribute of an ISA.
    fn hsa_isa_get_info_alt(state; isa: Isa, attribute: u32, value: Value) {
        let isa = state.isa(isa)?;
        let attribute = IsaInfo::from_raw(attribute).ok_or(Status::INVALID_ARGUMENT)?;
        info(isa, attribute, 0, value)
    }

    /// `hsa_isa_get_exception_policies`: none is supported.
    fn hsa_isa_get_exception_policies(state; isa: Isa, profile: u32, mask: Out<u16>) {
        state.isa(isa)?;
        let place = mask.required()?;
        Profile::from_raw(profile).ok_or(Status::INVALID_ARGUMENT)?;
        place.put(0);
        Ok(())
    }

    /// `hsa_isa_get_round_method`: operations round once.
    fn hsa_isa_get_round_method(state; isa: Isa, fp_type: u32, flush_mode: u32,
        round_method: Out<u32>) {
        state.isa(isa)?;
        let place = round_method.required()?;
        FpType::from_raw(fp_type).ok_or(Status::INVALID_ARGUMENT)?;
        FlushMode::from_raw(flush_mode).ok_or(Status::INVALID_ARGUMENT)?;
        place.put(RoundMethod::Single as u32);
        Ok(())
    }

    /// `hsa_isa_compatible`: whether code of one ISA executes on an agent of another.
    fn hsa_isa_compatible(state; code_object_isa: Isa, agent_isa: Isa, result: Out<bool>) {
        let (code, agent) = (state.isa(code_object_isa)?, state.isa(agent_isa)?);
        let place = result.required()?;
        // A name does not say the version of a generic ISA: the latest is assumed.
        place.put(code.runs_on(&agent, u8::MAX));
        Ok(())
    }

    /// `hsa_wavefront_get_info`: the size of a wavefront.
    fn hsa_wavefront_get_info(_state; wavefront: Wavefront, attribute: u32, value: Value) {
        let lanes = wavefront.parts().ok_or(Status::INVALID_WAVEFRONT)?.slot;
        let place = value.required()?;
        match WavefrontInfo::from_raw(attribute).ok_or(Status::INVALID_ARGUMENT)? {
            WavefrontInfo::Size => place.put(lanes),
        }
    }
}

callbacks! {
    /// `hsa_agent_iterate_isas`: shows the ISA of an agent; a CPU has none. The generic one whose code it runs as well
    /// is not shown, though AMD's runtime does since version 6: see the [module](self).
    fn hsa_agent_iterate_isas(agent: Agent, callback: VisitIsa, data: *mut c_void) {
        let isas = gather("hsa_agent_iterate_isas", || {
            let state = open()?;
            let agent = state.agent(agent)?;
            callback.ok_or(Status::INVALID_ARGUMENT)?;
            let isas = agent.isa.into_iter();
            isas.map(|isa| state.isa_handle(isa)).collect::<Result<Vec<_>>>()
        })?;
        crate::callback::each(callback, isas, data)
    }

    /// `hsa_isa_iterate_wavefronts`: shows the wavefront sizes of an ISA.
    fn hsa_isa_iterate_wavefronts(isa: Isa, callback: VisitWavefront, data: *mut c_void) {
        let wavefronts = gather("hsa_isa_iterate_wavefronts", || {
            let state = open()?;
            let isa = state.isa(isa)?;
            callback.ok_or(Status::INVALID_ARGUMENT)?;
            wavefront_sizes(&isa)
                .into_iter()
                .map(|lanes| Wavefront::from_parts(Parts::slot(lanes)).ok_or(Status::INVALID_ISA))
                .collect::<Result<Vec<_>>>()
        })?;
        crate::callback::each(callback, wavefronts, data)
    }
}
