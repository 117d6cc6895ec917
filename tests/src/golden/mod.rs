//! The golden kernels: real compiler output, and what it must compute.
//!
//! The sources stand in `tests/golden/src`, and `tests/golden/build.sh` compiles each of them for the
//! GPU in every combination of target, optimisation and code object version, and once for the host.
//! A run follows the files in this order:
//!
//! 1. [`matrix`] chooses [`Case`]s: a kernel of the [`catalogue`] for one [`Target`], [`Level`] and
//!    [`Version`].
//! 2. [`Objects`] finds or builds the case's code object and the host library.
//! 3. [`run_case`] fills the arguments ([`Fill`]), lets the [`Reference`] compute the expected bytes on
//!    the host, gives the same arguments to a [`Launcher`], and compares ([`Compare`]).
//! 4. What differs comes back as a [`Failure`], which says where, and how to run it again.
//!
//! A device under test implements [`Launcher`], one method, and [`run_cases`] does the rest. [`HostLauncher`] is the reference in that
//! role: it tests the engine itself.
//!
//! [`committed`] holds the few objects that tests can use where no compiler is at hand.

pub mod catalogue;
pub mod committed;
pub mod matrix;

mod compare;
mod element;
mod fill;
mod hsa_launcher;
mod kernel;
mod launcher;
mod objects;
mod reference;
mod run;
mod runtime_launcher;

pub use compare::{Compare, Difference, Strictness, difference};
pub use element::Element;
pub use fill::Fill;
pub use hsa_launcher::HsaLauncher;
pub use kernel::{Global, Kernel, Parameter};
pub use launcher::{Arg, GlobalValue, HostLauncher, Launch, Launcher};
pub use matrix::{Case, Level, Selection, Target, Version};
pub use objects::Objects;
pub use reference::Reference;
pub use run::{Cause, Failure, Options, run_case, run_cases};
pub use runtime_launcher::{Explain, RuntimeLauncher};
