//! The host instruction sets that vector handlers are compiled for.

/// A host instruction set. Every handler exists once per level, from one source, and gives the same bytes at each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
#[non_exhaustive]
pub enum Level {
    /// What the compilation target guarantees (SSE2 on x86_64).
    Baseline,
    /// x86_64 with AVX2, FMA, BMI1, BMI2, LZCNT, POPCNT and F16C.
    Avx2Fma,
}

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
cpufeatures::new!(host_avx2_fma, "avx2", "fma", "bmi1", "bmi2");

impl Level {
    /// The best level of this host.
    pub fn detect() -> Self {
        #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
        if host_avx2_fma::get() {
            return Self::Avx2Fma;
        }
        Self::Baseline
    }

    /// Whether this host can run handlers of this level.
    pub fn is_available(self) -> bool {
        self <= Self::detect()
    }
}
