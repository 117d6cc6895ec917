//! Which cases are run: kernel by target by optimisation level by code object version.

use std::collections::BTreeSet;
use std::fmt;

use super::fill::Random;
use super::{Kernel, catalogue};

/// A processor and the size of its waves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// gfx90a, waves of 64 lanes.
    Gfx90a,
    /// gfx942, waves of 64 lanes.
    Gfx942,
    /// gfx1100, waves of 32 lanes.
    Gfx1100,
    /// gfx1100, waves of 64 lanes.
    Gfx1100Wave64,
}

impl Target {
    /// Every target of the matrix.
    pub const ALL: [Target; 4] = [
        Target::Gfx90a,
        Target::Gfx942,
        Target::Gfx1100,
        Target::Gfx1100Wave64,
    ];

    /// As in the names of objects.
    pub const fn name(self) -> &'static str {
        match self {
            Target::Gfx90a => "gfx90a",
            Target::Gfx942 => "gfx942",
            Target::Gfx1100 => "gfx1100",
            Target::Gfx1100Wave64 => "gfx1100w64",
        }
    }

    /// The processor that runs it.
    pub const fn processor(self) -> &'static str {
        match self {
            Target::Gfx90a => "gfx90a",
            Target::Gfx942 => "gfx942",
            Target::Gfx1100 | Target::Gfx1100Wave64 => "gfx1100",
        }
    }

    /// Lanes of a wave.
    pub const fn wave_size(self) -> u32 {
        match self {
            Target::Gfx90a | Target::Gfx942 | Target::Gfx1100Wave64 => 64,
            Target::Gfx1100 => 32,
        }
    }
}

/// The compiler's optimisation level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Level {
    O0,
    O2,
    O3,
}

impl Level {
    /// Every level of the matrix.
    pub const ALL: [Level; 3] = [Level::O0, Level::O2, Level::O3];
}

/// The code object version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Version {
    V4,
    V5,
}

impl Version {
    /// Every version of the matrix.
    pub const ALL: [Version; 2] = [Version::V4, Version::V5];

    const fn name(self) -> &'static str {
        match self {
            Version::V4 => "v4",
            Version::V5 => "v5",
        }
    }
}

/// One point of the matrix.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Case {
    pub kernel: &'static Kernel,
    pub target: Target,
    pub level: Level,
    pub version: Version,
}

impl Case {
    /// The name of its code object, without the ending `.co`.
    pub fn object(&self) -> String {
        format!(
            "{}-{}-{:?}-{}",
            self.kernel.file,
            self.target.name(),
            self.level,
            self.version.name()
        )
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Kernel { name, variant, .. } = self.kernel;
        let slash = if variant.is_empty() { "" } else { "/" };
        let (target, level, version) = (self.target.name(), self.level, self.version.name());
        write!(f, "{name}{slash}{variant} {target} {level:?} {version}")
    }
}

/// A choice of cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Every case.
    Full,
    /// Enough cases that every pair of kernel, target, level and version occurs. The number varies
    /// which pairs meet.
    Pairwise(u64),
    /// Every case whose text ([`Case`]'s `Display`) holds the filter.
    Matching(String),
}

impl Selection {
    /// From the variable `RUKH_GOLDEN`: `full`, a number (pairwise from this seed), or a filter.
    pub fn from_environment() -> Self {
        match std::env::var("RUKH_GOLDEN") {
            Err(_) => Selection::Pairwise(0),
            Ok(text) if text == "full" => Selection::Full,
            Ok(text) => text
                .parse()
                .map_or(Selection::Matching(text), Selection::Pairwise),
        }
    }

    /// The cases, kernel by kernel.
    pub fn cases(&self) -> Vec<Case> {
        match self {
            Selection::Full => all(),
            Selection::Pairwise(seed) => pairwise(*seed),
            Selection::Matching(filter) => {
                let mut cases = all();
                cases.retain(|case| case.to_string().contains(filter));
                cases
            }
        }
    }
}

fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for kernel in catalogue::kernels() {
        for &target in kernel.targets {
            for level in Level::ALL {
                for &version in kernel.versions {
                    cases.push(Case {
                        kernel,
                        target,
                        level,
                        version,
                    });
                }
            }
        }
    }
    cases
}

/// Two of a case's coordinates: which two, and their values.
type Pair = (u8, usize, usize);

fn pairs(case: &Case) -> [Pair; 6] {
    let kernel = std::ptr::from_ref(case.kernel) as usize;
    let [target, level, version] = [
        case.target as usize,
        case.level as usize,
        case.version as usize,
    ];
    [
        (0, kernel, target),
        (1, kernel, level),
        (2, kernel, version),
        (3, target, level),
        (4, target, version),
        (5, level, version),
    ]
}

/// Greedy: always the case that covers most of what is not covered, in a shuffled order.
fn pairwise(seed: u64) -> Vec<Case> {
    let cases = all();
    let mut order: Vec<usize> = (0..cases.len()).collect();
    let mut random = Random(seed);
    for last in (1..order.len()).rev() {
        order.swap(last, (random.next() % (last as u64 + 1)) as usize);
    }
    let mut open: BTreeSet<Pair> = cases.iter().flat_map(pairs).collect();
    let mut chosen = BTreeSet::new();
    while !open.is_empty() {
        let covers = |index: usize| {
            pairs(&cases[index])
                .iter()
                .filter(|pair| open.contains(pair))
                .count()
        };
        let best = order
            .iter()
            .copied()
            .max_by_key(|&index| covers(index))
            .expect("there are open pairs");
        for pair in pairs(&cases[best]) {
            open.remove(&pair);
        }
        chosen.insert(best);
    }
    chosen.into_iter().map(|index| cases[index]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pairwise_sample_holds_every_pair_in_fewer_cases() {
        let full = Selection::Full.cases();
        let sample = Selection::Pairwise(1).cases();
        let covered: BTreeSet<Pair> = sample.iter().flat_map(pairs).collect();
        assert!(
            full.iter()
                .flat_map(pairs)
                .all(|pair| covered.contains(&pair))
        );
        assert!(
            sample.len() * 4 < full.len(),
            "{} of {}",
            sample.len(),
            full.len()
        );
    }

    #[test]
    fn another_seed_gives_another_sample() {
        let names = |seed| {
            Selection::Pairwise(seed)
                .cases()
                .iter()
                .map(Case::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(names(1), names(1));
        assert_ne!(names(1), names(2));
    }

    #[test]
    fn a_filter_chooses_by_the_text_of_a_case() {
        let cases = Selection::Matching("vector_add gfx90a O2".into()).cases();
        assert_eq!(
            cases.iter().map(Case::object).collect::<Vec<_>>(),
            ["vector_add-gfx90a-O2-v4", "vector_add-gfx90a-O2-v5"]
        );
    }
}
