//! Which cases are run: kernel by target by optimisation level by code object version.

use std::collections::{BTreeSet, BinaryHeap};
use std::fmt;

use super::fill::Random;
use super::{Kernel, catalogue};

macro_rules! targets {
    ($($kind:ident: $($target:ident $name:literal $processor:literal $lanes:literal)*;)*) => {
        /// A processor and the size of its waves: `Wave64` where the processor's own size is 32.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[allow(missing_docs)]
        pub enum Target {
            $($($target,)*)*
        }

        impl Target {
            $(targets!{@list $kind $($target)*})*

            /// As in the names of objects.
            pub const fn name(self) -> &'static str {
                match self {
                    $($(Target::$target => $name,)*)*
                }
            }

            /// The processor that it is compiled for.
            pub const fn processor(self) -> &'static str {
                match self {
                    $($(Target::$target => $processor,)*)*
                }
            }

            /// Lanes of a wave.
            pub const fn wave_size(self) -> u32 {
                match self {
                    $($(Target::$target => $lanes,)*)*
                }
            }
        }
    };
    (@list real $($target:ident)*) => {
        /// Every processor that there is as hardware.
        pub const ALL: &[Target] = &[$(Target::$target),*];
    };
    (@list generic $($target:ident)*) => {
        /// Generic processors: names for code that runs on all their members. Code object version 6.
        pub const GENERIC: &[Target] = &[$(Target::$target),*];
    };
}

targets! {
    real:
        Gfx900 "gfx900" "gfx900" 64
        Gfx906 "gfx906" "gfx906" 64
        Gfx908 "gfx908" "gfx908" 64
        Gfx90a "gfx90a" "gfx90a" 64
        Gfx942 "gfx942" "gfx942" 64
        Gfx950 "gfx950" "gfx950" 64
        Gfx1030 "gfx1030" "gfx1030" 32
        Gfx1030Wave64 "gfx1030w64" "gfx1030" 64
        Gfx1100 "gfx1100" "gfx1100" 32
        Gfx1100Wave64 "gfx1100w64" "gfx1100" 64
        Gfx1201 "gfx1201" "gfx1201" 32
        Gfx1201Wave64 "gfx1201w64" "gfx1201" 64;
    generic:
        Gfx9Generic "gfx9_generic" "gfx9-generic" 64
        Gfx94Generic "gfx9_4_generic" "gfx9-4-generic" 64
        Gfx103Generic "gfx10_3_generic" "gfx10-3-generic" 32
        Gfx11Generic "gfx11_generic" "gfx11-generic" 32
        Gfx12Generic "gfx12_generic" "gfx12-generic" 32;
}

/// The compiler's optimisation level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Level {
    O0,
    O1,
    O2,
    O3,
}

impl Level {
    /// Every level of the matrix.
    pub const ALL: [Level; 4] = [Level::O0, Level::O1, Level::O2, Level::O3];
}

/// The code object version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Version {
    V4,
    V5,
    V6,
}

impl Version {
    /// Every version of the matrix.
    pub const ALL: [Version; 3] = [Version::V4, Version::V5, Version::V6];

    /// `v4`, `v5` or `v6`.
    pub const fn name(self) -> &'static str {
        match self {
            Version::V4 => "v4",
            Version::V5 => "v5",
            Version::V6 => "v6",
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
        for &target in kernel.targets.iter().chain(kernel.generic) {
            for level in Level::ALL {
                let versions = kernel.versions.iter().filter(|&&version| {
                    version == Version::V6 || !Target::GENERIC.contains(&target)
                });
                for &version in versions {
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
    // What a case would cover only shrinks, so the top of the heap is the best once its count is a fresh one.
    let mut heap: BinaryHeap<(usize, usize)> =
        (0..order.len()).map(|place| (usize::MAX, place)).collect();
    let mut chosen = BTreeSet::new();
    while let Some((count, place)) = heap.pop() {
        let case = &cases[order[place]];
        let covers = pairs(case)
            .iter()
            .filter(|pair| open.contains(pair))
            .count();
        if covers < count {
            if covers > 0 {
                heap.push((covers, place));
            }
            continue;
        }
        for pair in pairs(case) {
            open.remove(&pair);
        }
        chosen.insert(order[place]);
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
            [
                "vector_add-gfx90a-O2-v4",
                "vector_add-gfx90a-O2-v5",
                "vector_add-gfx90a-O2-v6"
            ]
        );
    }
}
