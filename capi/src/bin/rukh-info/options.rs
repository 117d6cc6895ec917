//! The command line.

/// What `--help` prints.
pub const HELP: &str = "\
rukh-info: the agents that HSA programs find on this machine, or why there are none

Usage: rukh-info [--json]

  --json     one JSON object instead of tables
  --help     this text

It looks where programs that load Rukh's libhsa-runtime64.so.1 look, by the same variables:

  RUKH_BACKEND   kfd, sim or sim:PROFILE[,PROFILE...]; not set: kfd
  RUKH_KFD       PROFILE[,PROFILE...], none or replay:FILE in place of the kernel's driver
  RUKH_TRACE     kfd:FILE records what the driver is asked and answers

Exit status: 0 if a GPU can be used, 1 if none can, 2 if it was called wrongly.
";

/// What was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Options {
    /// A report.
    Report {
        /// As JSON.
        json: bool,
    },
    /// The help.
    Help,
}

impl Options {
    /// From the arguments behind the program's name.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut json = false;
        for argument in arguments {
            match argument.as_str() {
                "--json" => json = true,
                "--help" | "-h" => return Ok(Self::Help),
                other => return Err(format!("{other} is not known; see --help")),
            }
        }
        Ok(Self::Report { json })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_named() {
        let parse = |list: &[&str]| Options::parse(list.iter().map(|a| String::from(*a)));
        assert_eq!(parse(&[]), Ok(Options::Report { json: false }));
        assert_eq!(parse(&["--json"]), Ok(Options::Report { json: true }));
        assert_eq!(parse(&["--json", "--help"]), Ok(Options::Help));
        assert!(parse(&["--jsn"]).unwrap_err().contains("--jsn"));
    }
}
