//! The conformance suite on the software GPU: on threads, and step by step.

use rukh_tests::conformance;
use rukh_tests::conformance::SimFactory;

conformance! { gfx90a => SimFactory::threads("gfx90a") }
conformance! { gfx942 => SimFactory::threads("gfx942") }
conformance! { gfx1030 => SimFactory::threads("gfx1030") }
conformance! { gfx1100 => SimFactory::threads("gfx1100") }
conformance! { gfx1201 => SimFactory::threads("gfx1201") }
conformance! { two_gpus => SimFactory::threads("gfx90a,gfx1100") }
conformance! { gfx90a_stepped => SimFactory::step("gfx90a", 1) }
conformance! { gfx1100_stepped => SimFactory::step("gfx1100,gfx1100", 2) }
