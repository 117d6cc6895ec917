//! The command line.

use crate::value::Argument;
use lexopt::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// What the tool prints when asked how it is used.
pub const USAGE: &str = "\
Usage:
  rukh-sim info                       the GPUs that can be simulated, and this host's features
  rukh-sim coverage [--gpu NAME]      how much of a GPU's instruction list is executed, and what is not
  rukh-sim disasm FILE [--lines]      disassemble a code object; with the source lines of one that has
                                      debug information (-g)
  rukh-sim run FILE [KERNEL] [options]
                                      run a kernel; without KERNEL, list the kernels with their arguments

Options of run:
  --gpu NAME            the GPU (see info); otherwise the one that the code object is for
  --grid X[,Y,Z]        work-items of the grid
  --group X[,Y,Z]       work-items of a work-group
  --arg ARG             one per argument of the kernel, in order:
                          TYPE:VALUE                     u8 i8 u16 i16 u32 i32 u64 i64 f32 f64
                          buf:TYPE:COUNT[=INIT]          a buffer; INIT is zeros, ones, iota or file:PATH
                          local:BYTES                    dynamic group memory, for a pointer to it
  --dynamic-lds BYTES   dynamic group memory that no argument points to (Triton: its metadata's shared)
  --print INDEX:COUNT   after the run, print the first COUNT elements of the buffer that is argument INDEX
  --step                run in single-step mode: one thread, virtual clock, the same order every time
  --seed S              seed of the order in single-step mode (implies --step)
  --trace               one line per instruction on standard error (implies --step)
  --lines               with --trace: source lines too, of a code object that has debug information (-g)
  --timeout SECONDS     stop a kernel that has not completed after so long, by the host's clock
";

/// What to do.
#[derive(Debug)]
pub enum Command {
    /// Print [`USAGE`].
    Help,
    /// List profiles.
    Info,
    /// Print how much of the instruction list is executed.
    Coverage {
        /// The only GPU to print it for.
        gpu: Option<String>,
    },
    /// Disassemble.
    Disasm {
        /// The code object.
        file: PathBuf,
        /// Whether to show source lines.
        lines: bool,
    },
    /// Run a kernel.
    Run(RunOptions),
}

/// Options of `run`.
#[derive(Debug, Default)]
pub struct RunOptions {
    /// The code object.
    pub file: PathBuf,
    /// The kernel's name.
    pub kernel: Option<String>,
    /// The profile's name.
    pub gpu: Option<String>,
    /// Work-items of the grid.
    pub grid: Option<[u32; 3]>,
    /// Work-items of a work-group.
    pub group: Option<[u16; 3]>,
    /// Arguments.
    pub args: Vec<Argument>,
    /// Dynamic group memory in bytes.
    pub dynamic_lds: u32,
    /// Argument index and element count, as asked.
    pub print: Vec<(usize, usize)>,
    /// Seed of single-step mode.
    pub step: Option<u64>,
    /// Whether to trace instructions.
    pub trace: bool,
    /// Whether the trace shows source lines.
    pub lines: bool,
    /// How long the kernel may take, by the host's clock.
    pub timeout: Option<Duration>,
}

impl Command {
    /// From the arguments after the program's name.
    pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self, String> {
        let mut parser = lexopt::Parser::from_args(args);
        let command = match parser.next().map_err(text)? {
            None => return Err("a command is missing".into()),
            Some(Short('h') | Long("help")) => return Ok(Self::Help),
            Some(Value(command)) => command.string().map_err(text)?,
            Some(other) => return Err(text(other.unexpected())),
        };
        match command.as_str() {
            "help" => Ok(Self::Help),
            "info" => end(&mut parser).map(|()| Self::Info),
            "coverage" => {
                let mut gpu = None;
                while let Some(argument) = parser.next().map_err(text)? {
                    match argument {
                        Long("gpu") => gpu = Some(string(&mut parser)?),
                        other => return Err(text(other.unexpected())),
                    }
                }
                Ok(Self::Coverage { gpu })
            }
            "disasm" => {
                let file = parser
                    .value()
                    .map_err(|_| "disasm: the file is missing".to_string())?;
                let mut lines = false;
                while let Some(argument) = parser.next().map_err(text)? {
                    match argument {
                        Long("lines") => lines = true,
                        other => return Err(text(other.unexpected())),
                    }
                }
                Ok(Self::Disasm {
                    file: file.into(),
                    lines,
                })
            }
            "run" => RunOptions::parse(&mut parser).map(Self::Run),
            other => Err(format!("there is no command '{other}'")),
        }
    }
}

fn text(error: lexopt::Error) -> String {
    error.to_string()
}

fn end(parser: &mut lexopt::Parser) -> Result<(), String> {
    match parser.next().map_err(text)? {
        None => Ok(()),
        Some(argument) => Err(text(argument.unexpected())),
    }
}

impl RunOptions {
    fn parse(parser: &mut lexopt::Parser) -> Result<Self, String> {
        let mut options = Self::default();
        let mut positional = 0;
        while let Some(argument) = parser.next().map_err(text)? {
            match argument {
                Long("gpu") => options.gpu = Some(string(parser)?),
                Long("grid") => options.grid = Some(extent(&string(parser)?, "--grid")?),
                Long("group") => options.group = Some(extent(&string(parser)?, "--group")?),
                Long("arg") => options.args.push(Argument::parse(&string(parser)?)?),
                Long("dynamic-lds") => {
                    options.dynamic_lds = number(&string(parser)?, "--dynamic-lds")?
                }
                Long("print") => {
                    let value = string(parser)?;
                    let (index, count) = value
                        .split_once(':')
                        .ok_or_else(|| format!("--print '{value}': write INDEX:COUNT"))?;
                    options
                        .print
                        .push((number(index, "--print")?, number(count, "--print")?));
                }
                Long("step") => options.step = options.step.or(Some(0)),
                Long("seed") => options.step = Some(number(&string(parser)?, "--seed")?),
                Long("trace") => options.trace = true,
                Long("lines") => options.lines = true,
                Long("timeout") => options.timeout = Some(seconds(&string(parser)?)?),
                Value(value) if positional == 0 => {
                    options.file = value.into();
                    positional += 1;
                }
                Value(value) if positional == 1 => {
                    options.kernel = Some(value.string().map_err(text)?);
                    positional += 1;
                }
                other => return Err(text(other.unexpected())),
            }
        }
        if positional == 0 {
            return Err("run: the file is missing".into());
        }
        if options.lines && !options.trace {
            return Err("--lines: there is nothing to show them in without --trace".into());
        }
        if options.trace {
            options.step = options.step.or(Some(0));
        }
        Ok(options)
    }
}

fn string(parser: &mut lexopt::Parser) -> Result<String, String> {
    parser.value().and_then(|v| v.string()).map_err(text)
}

fn number<T: std::str::FromStr>(value: &str, option: &str) -> Result<T, String> {
    value
        .parse()
        .map_err(|_| format!("{option}: '{value}' is not a number in range"))
}

fn seconds(value: &str) -> Result<Duration, String> {
    value
        .parse()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| format!("--timeout: '{value}' is no number of seconds"))
}

/// `X[,Y,Z]`; what is not given is 1.
fn extent<T: std::str::FromStr + From<u8> + Copy>(
    value: &str,
    option: &str,
) -> Result<[T; 3], String> {
    let mut out = [T::from(1); 3];
    let parts: Vec<&str> = value.split(',').collect();
    if parts.len() > 3 {
        return Err(format!("{option} '{value}': at most three dimensions"));
    }
    for (slot, part) in out.iter_mut().zip(parts) {
        *slot = number(part, option)?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Command, String> {
        Command::parse(line.split(' ').map(OsString::from))
    }

    #[test]
    fn a_whole_run_is_understood() {
        let line = "run k.co add --gpu gfx90a --grid 1000,2 --group 64 --arg buf:f32:8=iota --arg u32:7 --print 0:4 --seed 5";
        let Command::Run(options) = parse(line).unwrap() else {
            panic!("not a run");
        };
        assert_eq!(options.kernel.as_deref(), Some("add"));
        assert_eq!(options.grid, Some([1000, 2, 1]));
        assert_eq!(options.group, Some([64, 1, 1]));
        assert_eq!(options.args.len(), 2);
        assert_eq!(options.print, [(0, 4)]);
        assert_eq!(options.step, Some(5));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(parse("fly").unwrap_err().contains("fly"));
        assert!(parse("run").unwrap_err().contains("file"));
        assert!(
            parse("run k.co --grid 1,2,3,4")
                .unwrap_err()
                .contains("--grid")
        );
        assert!(
            parse("run k.co --group 70000")
                .unwrap_err()
                .contains("70000")
        );
        for wrong in ["-1", "soon", "inf", "NaN"] {
            let line = format!("run k.co --timeout={wrong}");
            assert!(parse(&line).unwrap_err().contains("--timeout"), "{wrong}");
        }
        assert!(parse("run k.co --what").unwrap_err().contains("--what"));
        assert!(parse("disasm a b").is_err());
        assert!(parse("disasm a --lines").is_ok());
        assert!(parse("run k.co --lines").unwrap_err().contains("--trace"));
    }
}
