//! What the environment says about GPUs: which are visible, what they say that they execute, how many queues and
//! which compute units of theirs are used. Parsing is apart from reading the environment.

use crate::diag;
use crate::environment;
use rukh_core::isa::{Isa, Processor, Version};
use rukh_core::runtime::Agent;

/// Most queues that `HSA_MAX_QUEUES` can ask for.
const MAX_QUEUES: u64 = 128;

/// The UUID of a GPU, as HSA writes it.
pub fn uuid(unique_id: u64) -> String {
    match unique_id {
        0 => "GPU-XX".into(),
        id => format!("GPU-{id:016x}"),
    }
}

/// The GPUs that `ROCR_VISIBLE_DEVICES` lists, in its order, by their places among all: indices, or beginnings of
/// UUIDs that are those of one GPU. What follows a token that is neither, or one that was there, is ignored; an empty
/// list has no GPU.
pub fn visible(list: Option<&str>, uuids: &[String]) -> Vec<usize> {
    let Some(list) = list else {
        return (0..uuids.len()).collect();
    };
    let mut chosen = Vec::new();
    for token in list.split(',').map(str::trim) {
        let place = if token.starts_with("GPU-") {
            let mut matching = (0..uuids.len()).filter(|at| {
                (5..=20).contains(&token.len())
                    && uuids[*at].starts_with(token)
                    && token != "GPU-XX"
            });
            matching.next().filter(|_| matching.next().is_none())
        } else {
            token.parse().ok().filter(|at| *at < uuids.len())
        };
        match place {
            Some(place) if !chosen.contains(&place) => chosen.push(place),
            _ => break,
        }
    }
    chosen
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

/// Compute units of each visible GPU by `HSA_CU_MASK`: `GPUS:UNITS;…`, where each side is a list of numbers and
/// ranges, and units may be one hexadecimal number instead. Gives the mask of one GPU; none is no restriction.
///
/// # Errors
/// The part that makes no sense.
pub fn cu_mask(text: &str, gpu: u32) -> Result<Option<Vec<u32>>, String> {
    let mut mask = None;
    for part in text.split(';').filter(|part| !part.trim().is_empty()) {
        let bad = || format!("{part:?} is not GPUS:UNITS");
        let (gpus, units) = part.split_once(':').ok_or_else(bad)?;
        let gpus = list(gpus).ok_or_else(bad)?;
        let units = units.trim();
        let words = match units.strip_prefix("0x").or(units.strip_prefix("0X")) {
            Some(digits) => hexadecimal(digits).ok_or_else(bad)?,
            None => bits(&list(units).ok_or_else(bad)?),
        };
        if gpus.contains(&gpu) {
            mask = Some(words);
        }
    }
    Ok(mask)
}

/// Numbers and ranges, separated by commas.
fn list(text: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for item in text.split(',').map(str::trim) {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        let first: u32 = first.trim().parse().ok()?;
        let last: u32 = last.trim().parse().ok()?;
        if first > last || last >= 4096 {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

fn bits(units: &[u32]) -> Vec<u32> {
    let words = units.iter().max().map_or(0, |last| last / 32 + 1);
    let mut mask = vec![0; words as usize];
    for unit in units {
        mask[(unit / 32) as usize] |= 1 << (unit % 32);
    }
    mask
}

fn hexadecimal(digits: &str) -> Option<Vec<u32>> {
    if digits.is_empty() || digits.len() > 1024 || !digits.is_ascii() {
        return None;
    }
    digits
        .as_bytes()
        .rchunks(8)
        .map(|chunk| u32::from_str_radix(core::str::from_utf8(chunk).ok()?, 16).ok())
        .collect()
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
        let mut masks = Vec::new();
        if let Some(text) = environment::text("HSA_CU_MASK") {
            for (number, at) in (0u32..).zip(&visible) {
                match cu_mask(&text, number) {
                    Ok(Some(mask)) => masks.push((agents[*at].id.0, mask)),
                    Ok(None) => {}
                    Err(reason) => {
                        diag::say(format_args!("HSA_CU_MASK is ignored: {reason}"));
                        masks.clear();
                        break;
                    }
                }
            }
        }
        Self {
            visible,
            max_queues: environment::number("HSA_MAX_QUEUES")
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

    /// A mask without the units that the environment keeps back, and whether that changed it.
    pub fn clip(&self, agent: u32, wanted: &[u32]) -> (Vec<u32>, bool) {
        let Some(allowed) = self.mask(agent) else {
            return (wanted.to_vec(), false);
        };
        let word = |at: usize| allowed.get(at).copied().unwrap_or(0);
        let clipped: Vec<u32> = (0..).zip(wanted).map(|(at, w)| w & word(at)).collect();
        let reduced = clipped != wanted;
        (clipped, reduced)
    }
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
        assert!(visible(Some("GPU-XX"), &all).is_empty());
        assert!(visible(Some("-1,0"), &all).is_empty());
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

    #[test]
    fn masks_of_compute_units_are_ranges_or_hexadecimal() {
        let text = "0:0-3,40; 1-2:0xF00000001";
        assert_eq!(cu_mask(text, 0), Ok(Some(vec![0b1111, 1 << 8])));
        assert_eq!(cu_mask(text, 2), Ok(Some(vec![1, 0xf])));
        assert_eq!(cu_mask(text, 3), Ok(None));
        for wrong in [
            "0", "0:", "0:x", "a:1", "0:3-1", "0:0x", "0:0xfg", "0:99999",
        ] {
            assert!(cu_mask(wrong, 0).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_mask_is_clipped_to_what_the_environment_leaves() {
        let devices = Devices {
            masks: vec![(1, vec![0xff])],
            ..Devices::default()
        };
        assert_eq!(devices.clip(1, &[0xf0f]), (vec![0x0f], true));
        assert_eq!(devices.clip(1, &[0x0f]), (vec![0x0f], false));
        assert_eq!(devices.clip(1, &[1, 1]), (vec![1, 0], true));
        assert_eq!(devices.clip(2, &[0xfff]), (vec![0xfff], false));
    }
}
