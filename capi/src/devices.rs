//! What the environment says about GPUs: which are visible, what they say that they execute, how many queues and
//! which compute units of theirs are used. Parsing is apart from reading the environment.

use crate::cu_mask;
use crate::diag;
use crate::environment;
use rukh_core::isa::{Isa, Processor, Version};
use rukh_core::runtime::Agent;

/// Most queues that `HSA_MAX_QUEUES` can ask for.
const MAX_QUEUES: u64 = 128;

/// The UUID of a GPU, as HSA writes it.
pub fn uuid(unique_id: u64) -> String {
    match unique_id {
        0 => uuid_of_none().into(),
        id => format!("GPU-{id:016x}"),
    }
}

/// What a GPU without a unique id has for a UUID.
const fn uuid_of_none() -> &'static str {
    "GPU-XX"
}

/// The GPUs that `ROCR_VISIBLE_DEVICES` lists, in its order, by their places among all: indices (decimal, octal after
/// `0`, hexadecimal after `0x`), or beginnings of UUIDs that are those of one GPU, in letters of either case. What
/// follows a token that is neither, or one that was there, is ignored; an empty list has no GPU.
pub fn visible(list: Option<&str>, uuids: &[String]) -> Vec<usize> {
    let Some(list) = list else {
        return (0..uuids.len()).collect();
    };
    let mut chosen = Vec::new();
    for token in list.split(',').map(str::trim) {
        let place = match token.as_bytes().first() {
            Some(b'G' | b'g') => by_uuid(token, uuids),
            _ => index(token).filter(|at| *at < uuids.len()),
        };
        match place {
            Some(place) if !chosen.contains(&place) => chosen.push(place),
            _ => break,
        }
    }
    chosen
}

/// The one GPU whose UUID begins like this. Those that have none say `GPU-XX`, which names nothing.
fn by_uuid(token: &str, uuids: &[String]) -> Option<usize> {
    if !(5..=20).contains(&token.len()) {
        return None;
    }
    let begins = |uuid: &String| {
        let beginning = uuid.get(..token.len());
        *uuid != uuid_of_none() && beginning.is_some_and(|text| text.eq_ignore_ascii_case(token))
    };
    let mut matching = (0..uuids.len()).filter(|at| begins(&uuids[*at]));
    matching.next().filter(|_| matching.next().is_none())
}

/// A number as C reads constants.
fn index(token: &str) -> Option<usize> {
    let digits = token.strip_prefix('+').unwrap_or(token);
    let (digits, radix) = match digits.get(..2) {
        Some("0x" | "0X") => (&digits[2..], 16),
        _ if digits.len() > 1 && digits.starts_with('0') => (&digits[1..], 8),
        _ => (digits, 10),
    };
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    usize::from_str_radix(digits, radix).ok().filter(|_| plain)
}

/// What a GPU executes if `HSA_OVERRIDE_GFX_VERSION` says `text`: `MAJOR.MINOR.STEPPING` of the same major
/// version. `Ok(None)` for an empty value.
///
/// # Errors
/// Why it is not used.
pub fn overridden(text: &str, own: &Isa) -> Result<Option<Isa>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let mut numbers = text.split('.').map(|part| part.parse::<u8>().ok());
    let (Some(Some(major)), Some(Some(minor)), Some(Some(stepping)), None) = (
        numbers.next(),
        numbers.next(),
        numbers.next(),
        numbers.next(),
    ) else {
        return Err(format!("{text:?} is not MAJOR.MINOR.STEPPING"));
    };
    let processor = Processor::from_version(Version {
        major,
        minor,
        stepping,
    })
    .ok_or_else(|| format!("no processor has version {text}"))?;
    if major != own.processor().version.major {
        return Err(format!(
            "{} cannot stand in for {}: another major version has other instructions",
            processor.name,
            own.processor().name
        ));
    }
    Ok(Some(Isa::new(processor)))
}

/// What the environment says.
#[derive(Debug, Default)]
pub struct Devices {
    /// Visible GPUs by their places among all agents, in the order that clients see.
    pub visible: Vec<usize>,
    /// Most queues of a GPU, if that is limited.
    pub max_queues: Option<u32>,
    /// Compute units that queues may use, by agent.
    masks: Vec<(u32, Vec<u32>)>,
    /// Whether queues start with the mask.
    pub initial_mask: bool,
}

impl Devices {
    /// Reads the environment and changes what agents say of themselves.
    pub fn from_environment(agents: &mut [Agent]) -> Self {
        let gpus: Vec<usize> = (0..agents.len())
            .filter(|at| agents[*at].is_gpu())
            .collect();
        let uuids: Vec<String> = gpus
            .iter()
            .map(|at| uuid(agents[*at].gpu().map_or(0, |gpu| gpu.unique_id)))
            .collect();
        let list = environment::text("ROCR_VISIBLE_DEVICES");
        let visible: Vec<usize> = visible(list.as_deref(), &uuids)
            .into_iter()
            .map(|place| gpus[place])
            .collect();
        for at in &gpus {
            let node = agents[*at].info.node;
            if let Some(text) = environment::text_of_node("HSA_OVERRIDE_GFX_VERSION", node) {
                override_isa(&mut agents[*at], &text);
            }
        }
        let masks = environment::text("HSA_CU_MASK")
            .map(|text| masks(&text, agents, &visible))
            .unwrap_or_default();
        Self {
            visible,
            // 0, and what is no number, is no limit; so is a number below it, which is a large one to AMD's runtime.
            max_queues: environment::count("HSA_MAX_QUEUES")
                .filter(|number| *number != 0)
                .map(|number| number.min(MAX_QUEUES) as u32),
            masks,
            initial_mask: !environment::flag("HSA_CU_MASK_SKIP_INIT", false),
        }
    }

    /// The compute units of an agent that queues may use; none is all.
    pub fn mask(&self, agent: u32) -> Option<&[u32]> {
        let found = self.masks.iter().find(|(other, _)| *other == agent);
        found.map(|(_, mask)| mask.as_slice())
    }
}

/// The masks of `HSA_CU_MASK` by agent.
fn masks(text: &str, agents: &[Agent], visible: &[usize]) -> Vec<(u32, Vec<u32>)> {
    let gpus: Vec<&Agent> = visible.iter().map(|at| &agents[*at]).collect();
    let units = |gpu: &&Agent| gpu.gpu().map_or(0, |gpu| gpu.compute_units);
    let most = gpus.iter().map(units).max().unwrap_or(0);
    let (masks, wrong) = cu_mask::parse(text, u32::try_from(gpus.len()).unwrap_or(u32::MAX), most);
    if let Some(part) = wrong {
        diag::say(format_args!(
            "HSA_CU_MASK is ignored from {part:?} on: it is no GPUS:UNITS, or names a GPU or a unit twice or none \
             that there is"
        ));
    }
    let named = masks.into_iter().filter_map(|(number, mask)| {
        let gpu = gpus.get(number as usize)?;
        let (mask, _) = cu_mask::applied(&[], Some(&mask), units(gpu));
        let reason = match cu_mask::check_pairs(&mask) {
            Err(unpaired) if is_paired(gpu) => format!(
                "its units come in pairs, and of {} and the one beside it one is named",
                unpaired.unit
            ),
            _ if mask.iter().all(|word| *word == 0) => "it has none of the units".into(),
            _ => return Some((gpu.id.0, mask)),
        };
        diag::say(format_args!(
            "HSA_CU_MASK is ignored for GPU {number}: {reason}"
        ));
        None
    });
    named.collect()
}

/// Whether the compute units of a GPU come in pairs: work-group processors, from GFX10 on.
pub fn is_paired(agent: &Agent) -> bool {
    agent
        .isa
        .is_some_and(|isa| isa.processor().version.major >= 10)
}

fn override_isa(agent: &mut Agent, text: &str) {
    let Some(own) = agent.isa else { return };
    match overridden(text, &own) {
        Ok(Some(isa)) => {
            agent.info.name.clear();
            let _ = agent.info.name.push_str(isa.processor().name);
            agent.isa = Some(isa);
        }
        Ok(None) => {}
        Err(reason) => diag::say(format_args!(
            "HSA_OVERRIDE_GFX_VERSION is ignored: {reason}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uuids() -> Vec<String> {
        [0x1111_2222_3333_4444, 0x1111_5555_0000_0001, 0]
            .map(uuid)
            .to_vec()
    }

    #[test]
    fn visible_devices_are_chosen_and_ordered_by_index_or_uuid() {
        let all = uuids();
        assert_eq!(visible(None, &all), [0, 1, 2]);
        assert_eq!(visible(Some("2,0"), &all), [2, 0]);
        assert_eq!(visible(Some("GPU-11115, 0"), &all), [1, 0]);
        assert_eq!(visible(Some("GPU-1111222233334444"), &all), [0]);
        let lettered = [0xabcd_ef00_0000_0000, 0].map(uuid);
        assert_eq!(visible(Some("gpu-ABcd"), &lettered), [0]);
        assert_eq!(visible(Some("0x1,+2,00"), &all), [1, 2, 0]);
        assert!(visible(Some(""), &all).is_empty());
    }

    #[test]
    fn a_list_of_devices_ends_where_it_makes_no_sense() {
        let all = uuids();
        assert_eq!(visible(Some("1,1,0"), &all), [1]);
        assert_eq!(visible(Some("0,7,1"), &all), [0]);
        // The beginning of two UUIDs, or of none.
        assert!(visible(Some("GPU-1111,0"), &all).is_empty());
        assert_eq!(visible(Some("2,GPU-9,0"), &all), [2]);
        for none in [
            "GPU-XX",
            "GPU-X",
            "GPU-",
            "GPU",
            "-1,0",
            ",0",
            "x,0",
            "0x,0",
            "08,0",
            "0x+1",
            "1 0",
            "4294967296",
            "18446744073709551616",
            "GPU-11112222333344445",
        ] {
            assert!(visible(Some(none), &all).is_empty(), "{none}");
        }
    }

    #[test]
    fn a_version_is_overridden_within_the_same_major_version() {
        let own: Isa = "amdgcn-amd-amdhsa--gfx1100".parse().unwrap();
        let isa = overridden("11.5.1", &own).unwrap().unwrap();
        assert_eq!(isa.processor().name, "gfx1151");
        assert!(overridden("", &own).unwrap().is_none());
        for wrong in ["10.3.0", "11.0", "gfx1100", "11.0.0.0", "11.9.9"] {
            assert!(overridden(wrong, &own).is_err(), "{wrong}");
        }
        let own: Isa = "amdgcn-amd-amdhsa--gfx908".parse().unwrap();
        let isa = overridden("9.0.10", &own).unwrap().unwrap();
        assert_eq!(isa.processor().name, "gfx90a");
    }
}
