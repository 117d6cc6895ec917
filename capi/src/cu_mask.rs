//! Masks of compute units: what `HSA_CU_MASK` says of each GPU, and what becomes of the masks that clients set.
//!
//! A mask is words of 32 units, the lowest first. Parsing is apart from reading the environment.

use std::collections::BTreeMap;

/// Why a mask cannot be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unpaired {
    /// The first unit of a pair of which one alone is chosen.
    pub unit: u32,
}

/// What `HSA_CU_MASK` says: masks by the numbers of the visible GPUs. `GPUS:UNITS;…`, where each side is a list of
/// numbers and ranges, and units may be one hexadecimal number instead; white space is ignored, and so are numbers
/// beyond `gpus` and `units`. No GPU and no unit may be named twice, and each list must leave something.
///
/// Reading ends at the first part that is not so, as in AMD's runtime: what came before it holds. That part is
/// given too.
pub fn parse(text: &str, gpus: u32, units: u32) -> (BTreeMap<u32, Vec<u32>>, Option<String>) {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let mut masks: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for part in text.split(';').filter(|part| !part.is_empty()) {
        let read = part.split_once(':').and_then(|(named, chosen)| {
            let mask = match chosen.strip_prefix("0x").or(chosen.strip_prefix("0X")) {
                Some(digits) => hexadecimal(digits, units)?,
                None => bits(&list(chosen, units)?),
            };
            let named = list(named, gpus)?;
            let fresh = named.iter().all(|gpu| !masks.contains_key(gpu));
            fresh.then_some((named, mask))
        });
        let Some((named, mask)) = read else {
            return (masks, Some(part.into()));
        };
        masks.extend(named.into_iter().map(|gpu| (gpu, mask.clone())));
    }
    (masks, None)
}

/// Numbers and ranges, separated by commas, without those from `end` on. None if it is not such a list, if a number
/// comes twice or if nothing is left.
fn list(text: &str, end: u32) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for item in text.strip_suffix(',').unwrap_or(text).split(',') {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return None;
        }
        numbers.extend(first..last.saturating_add(1).min(end));
    }
    numbers.sort_unstable();
    let twice = numbers.windows(2).any(|pair| pair[0] == pair[1]);
    (!twice && !numbers.is_empty()).then_some(numbers)
}

/// Digits; more than there are numbers for is the largest.
fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u32::MAX))
}

fn bits(units: &[u32]) -> Vec<u32> {
    let words = units.iter().max().map_or(0, |last| last / 32 + 1);
    let mut mask = vec![0; words as usize];
    for unit in units {
        mask[(unit / 32) as usize] |= 1 << (unit % 32);
    }
    mask
}

fn hexadecimal(digits: &str, units: u32) -> Option<Vec<u32>> {
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let words = digits
        .as_bytes()
        .rchunks(8)
        .map(|chunk| u32::from_str_radix(core::str::from_utf8(chunk).ok()?, 16).ok());
    let mut mask: Vec<u32> = words
        .take(units.div_ceil(32) as usize)
        .collect::<Option<_>>()?;
    cut(&mut mask, units);
    mask.iter().any(|word| *word != 0).then_some(mask)
}

/// Takes units from `units` on out of a mask.
fn cut(mask: &mut Vec<u32>, units: u32) {
    mask.truncate(units.div_ceil(32) as usize);
    if mask.len() == units.div_ceil(32) as usize
        && !units.is_multiple_of(32)
        && let Some(last) = mask.last_mut()
    {
        *last &= (1 << (units % 32)) - 1;
    }
}

/// What becomes of a mask that a client sets on a queue of a GPU with so many units, of which the environment allows
/// some: the mask to use, and whether units that were asked for are kept back. An empty mask asks for all units.
pub fn applied(wanted: &[u32], allowed: Option<&[u32]>, units: u32) -> (Vec<u32>, bool) {
    let words = units.div_ceil(32) as usize;
    let mut mask = match wanted {
        [] => vec![u32::MAX; words],
        wanted => wanted.to_vec(),
    };
    let mut reduced = false;
    if let Some(allowed) = allowed {
        for (at, word) in mask.iter_mut().enumerate() {
            let may = allowed.get(at).copied().unwrap_or(0);
            reduced |= *word & !may != 0;
            *word &= may;
        }
    }
    cut(&mut mask, units);
    (mask, reduced)
}

/// Checks a mask for a GPU whose units come in pairs (work-group processors, from GFX10 on).
///
/// # Errors
/// [`Unpaired`].
pub fn check_pairs(mask: &[u32]) -> Result<(), Unpaired> {
    for (at, word) in (0u32..).zip(mask) {
        // A pair's lower unit without the upper one, or the other way round.
        let alone = (word ^ (word >> 1)) & 0x5555_5555;
        if alone != 0 {
            return Err(Unpaired {
                unit: at * 32 + alone.trailing_zeros(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masks(text: &str) -> Vec<(u32, Vec<u32>)> {
        let (masks, wrong) = parse(text, 4, 104);
        assert_eq!(wrong, None, "{text}");
        masks.into_iter().collect()
    }

    #[test]
    fn masks_are_ranges_or_hexadecimal() {
        assert_eq!(
            masks("0:0-3,40; 1-2:0xF00000001"),
            [
                (0, vec![0b1111, 1 << 8]),
                (1, vec![1, 0xf]),
                (2, vec![1, 0xf])
            ]
        );
        assert_eq!(masks(" 3 : 0X3 ; "), [(3, vec![3])]);
        assert_eq!(masks("0-99:1,"), masks("0-3:1"));
        assert!(masks("").is_empty());
    }

    #[test]
    fn units_and_gpus_that_there_are_not_are_left_out() {
        assert_eq!(masks("0:100-999"), [(0, vec![0, 0, 0, 0xf0])]);
        assert_eq!(
            masks("0:0xfffffffffffffffffffffffffffffffffff"),
            [(0, vec![u32::MAX, u32::MAX, u32::MAX, 0xff])]
        );
        assert_eq!(masks("0,7:1"), [(0, vec![2])]);
    }

    #[test]
    fn reading_ends_at_the_first_part_that_makes_no_sense() {
        for wrong in [
            "0", "0:", ":1", "0:x", "a:1", "0:3-1", "0:0x", "0:0xfg", "0:0x0", "0:1,1", "0:1-3,2",
            "0,0:1", "9:1", "0:104", "0:1:2", "0:-1", "0:+1", "0:1,,", "0:1--2", "2:1",
        ] {
            let text = format!("2:0-7;{wrong};1:0-7");
            let (masks, found) = parse(&text, 4, 104);
            assert_eq!(found.as_deref(), Some(wrong));
            assert_eq!(masks.into_iter().collect::<Vec<_>>(), [(2, vec![0xff])]);
        }
    }

    #[test]
    fn a_mask_is_clipped_to_what_the_environment_leaves() {
        let allowed = Some(&[0xff][..]);
        assert_eq!(applied(&[0xf0f], allowed, 104), (vec![0x0f], true));
        assert_eq!(applied(&[0x0f], allowed, 104), (vec![0x0f], false));
        assert_eq!(applied(&[1, 1], allowed, 104), (vec![1, 0], true));
        assert_eq!(applied(&[0xfff], None, 104), (vec![0xfff], false));
    }

    #[test]
    fn no_mask_asks_for_all_units_and_none_beyond_them_counts() {
        let all = vec![u32::MAX, u32::MAX, u32::MAX, 0xff];
        assert_eq!(applied(&[], None, 104), (all.clone(), false));
        assert_eq!(applied(&[u32::MAX; 8], None, 104), (all, false));
        assert_eq!(applied(&[u32::MAX; 2], None, 32), (vec![u32::MAX], false));
    }

    #[test]
    fn units_that_come_in_pairs_are_chosen_in_pairs() {
        assert_eq!(check_pairs(&[0b1100_0011, 3 << 30]), Ok(()));
        assert_eq!(check_pairs(&[3, 0b1000]), Err(Unpaired { unit: 34 }));
        assert_eq!(check_pairs(&[0b0110]), Err(Unpaired { unit: 0 }));
    }
}
