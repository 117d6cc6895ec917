//! Vector handlers against judges that nobody here wrote: host arithmetic, `rustc_apfloat` and exact integers.

#![allow(clippy::precedence)]

mod arithmetic;
mod compare;
mod convert;
mod coverage;
mod division;
mod harness;
mod integer;
mod narrow;
mod packed;
mod transcendental;
