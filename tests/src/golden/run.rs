//! One case, from its initial bytes to the verdict.

use std::fmt;
use std::path::PathBuf;

use super::{
    Arg, Case, Compare, Difference, Element, GlobalValue, Launch, Launcher, Objects, Parameter,
    Reference, Strictness, difference,
};

/// Bytes behind every buffer that nobody may change.
const GUARD: [u8; 64] = [0xa5; 64];

/// How cases are run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Varies the initial contents of the buffers.
    pub seed: u64,
    /// Whether the stated tolerances hold.
    pub strictness: Strictness,
}

/// A case that did not come out as expected.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Failure {
    pub case: Case,
    /// Where its code object is.
    pub object: PathBuf,
    pub seed: u64,
    pub cause: Cause,
}

/// Why a case failed.
#[derive(Clone, Debug)]
pub enum Cause {
    /// The object or the host library could not be built or loaded.
    Unavailable(String),
    /// The launcher's error.
    Launch(String),
    /// The launcher gave back another number of bytes.
    Length {
        /// Which argument or variable.
        place: String,
        /// Bytes that were given to it.
        expected: usize,
        /// Bytes that came back.
        got: usize,
    },
    /// Other bytes than the reference's.
    Differs {
        /// Which argument or variable.
        place: String,
        /// Where in it, and what.
        difference: Difference,
    },
    /// A write behind the end of a buffer.
    Guard {
        /// Which argument.
        place: String,
        /// Bytes from the buffer's end.
        offset: usize,
        /// What was written there.
        got: u8,
    },
}

/// Runs the case on the host and by the launcher, and compares.
///
/// # Errors
///
/// The first thing that is not as expected.
pub fn run_case(
    case: Case,
    objects: &Objects,
    reference: &Reference,
    launcher: &mut dyn Launcher,
    options: Options,
) -> Result<(), Failure> {
    let mut attempt = || {
        let code_object = objects.code_object(&case).map_err(Cause::Unavailable)?;
        let mut expected = initial(case, &code_object, options.seed);
        reference.run(&mut expected).map_err(Cause::Unavailable)?;
        let mut got = initial(case, &code_object, options.seed);
        launcher.launch(&mut got).map_err(Cause::Launch)?;
        verdict(&expected, &got, options.strictness)
    };
    attempt().map_err(|cause| Failure {
        case,
        object: objects.path(&case),
        seed: options.seed,
        cause,
    })
}

/// Runs all cases, also after a failure, and returns the failures.
///
/// # Errors
///
/// The objects or the host library could not be built.
pub fn run_cases(
    cases: &[Case],
    objects: &Objects,
    launcher: &mut dyn Launcher,
    options: Options,
) -> Result<Vec<Failure>, String> {
    objects.prepare(cases)?;
    let reference = objects.reference()?;
    let mut run = |&case: &Case| run_case(case, objects, &reference, launcher, options).err();
    Ok(cases.iter().filter_map(&mut run).collect())
}

/// The launch as it is given to host and device alike.
fn initial(case: Case, code_object: &[u8], seed: u64) -> Launch<'_> {
    let kernel = case.kernel;
    let args = kernel
        .parameters
        .iter()
        .zip(0..)
        .map(|(parameter, stream)| match parameter {
            Parameter::Buffer {
                element,
                count,
                fill,
                ..
            } => {
                let mut bytes = fill.bytes(*element, *count, seed, stream);
                bytes.extend_from_slice(&GUARD);
                Arg::Buffer(bytes)
            }
            Parameter::Scalar(bytes) => Arg::Scalar(bytes.clone()),
        });
    let globals = kernel
        .globals
        .iter()
        .zip(100..)
        .map(|(global, stream)| GlobalValue {
            symbol: global.symbol,
            element: global.element,
            write: global.write.is_some(),
            bytes: match global.write {
                Some(fill) => fill.bytes(global.element, global.count, seed, stream),
                None => vec![0; global.count * global.element.size()],
            },
        });
    Launch {
        case,
        code_object,
        grid: kernel.grid,
        group: kernel.group,
        dynamic_lds: kernel.dynamic_lds,
        stack: kernel.stack,
        args: args.collect(),
        globals: globals.collect(),
    }
}

fn verdict(expected: &Launch<'_>, got: &Launch<'_>, strictness: Strictness) -> Result<(), Cause> {
    let kernel = expected.case.kernel;
    let values = kernel
        .parameters
        .iter()
        .zip(expected.args.iter().zip(&got.args))
        .enumerate();
    for (index, (parameter, (expected, got))) in values {
        if let Parameter::Buffer {
            element, compare, ..
        } = parameter
        {
            let place = format!("argument {index}");
            let length = expected.bytes().len() - GUARD.len();
            same_length(&place, expected.bytes(), got.bytes())?;
            let ((expected, _), (got, guard)) = (
                expected.bytes().split_at(length),
                got.bytes().split_at(length),
            );
            same(&place, *element, *compare, strictness, expected, got)?;
            if let Some(offset) = (0..GUARD.len()).find(|&offset| guard[offset] != GUARD[offset]) {
                return Err(Cause::Guard {
                    place,
                    offset,
                    got: guard[offset],
                });
            }
        }
    }
    for (global, (expected, got)) in kernel
        .globals
        .iter()
        .zip(expected.globals.iter().zip(&got.globals))
    {
        let place = format!("variable {}", global.symbol);
        same_length(&place, &expected.bytes, &got.bytes)?;
        same(
            &place,
            global.element,
            global.compare,
            strictness,
            &expected.bytes,
            &got.bytes,
        )?;
    }
    Ok(())
}

fn same_length(place: &str, expected: &[u8], got: &[u8]) -> Result<(), Cause> {
    if expected.len() == got.len() {
        return Ok(());
    }
    Err(Cause::Length {
        place: place.into(),
        expected: expected.len(),
        got: got.len(),
    })
}

fn same(
    place: &str,
    element: Element,
    compare: Compare,
    strictness: Strictness,
    expected: &[u8],
    got: &[u8],
) -> Result<(), Cause> {
    match difference(element, compare, strictness, expected, got) {
        None => Ok(()),
        Some(difference) => Err(Cause::Differs {
            place: place.into(),
            difference,
        }),
    }
}

impl Arg {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Arg::Buffer(bytes) | Arg::Scalar(bytes) => bytes,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.case, self.cause)?;
        writeln!(f, "  object {}", self.object.display())?;
        write!(
            f,
            "  source tests/golden/src/{}.*, data seed {}; ",
            self.case.kernel.file, self.seed
        )?;
        write!(f, "again: RUKH_GOLDEN='{}'", self.case)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Unavailable(why) => write!(f, "cannot be built or has no reference: {why}"),
            Cause::Launch(why) => write!(f, "launch failed: {why}"),
            Cause::Length {
                place,
                expected,
                got,
            } => write!(f, "{place} has {got} bytes instead of {expected}"),
            Cause::Differs { place, difference } => write!(f, "{place}, {difference}"),
            Cause::Guard { place, offset, got } => {
                write!(
                    f,
                    "{place}: byte {offset} behind its end was overwritten with {got:#04x}"
                )
            }
        }
    }
}
