//! Source lines, of code objects that were compiled with `-g`.

use rukh_backend_sim::device::{FaultCause, FaultReport};
use rukh_core::loader::CodeObject;
use rukh_core::loader::source::{Source, SourceMap};

/// A code object's lines, as instructions come to be shown one after the other.
pub struct Lines<'a> {
    map: SourceMap<'a>,
    last: Source<'a>,
}

impl<'a> Lines<'a> {
    /// Reads them, or says why not.
    pub fn of(object: &CodeObject<'a>) -> Result<Self, String> {
        let map = SourceMap::of(object).map_err(|error| error.to_string())?;
        let map = map.ok_or("it has no debug information: compile with -g")?;
        let last = Source::default();
        Ok(Self { map, last })
    }

    /// Where the instruction at an address of the file is from, if it is not from where the last one was.
    pub fn change(&mut self, address: u64) -> Option<&Source<'a>> {
        let source = self.map.at(address);
        if source == self.last {
            return None;
        }
        self.last = source;
        (!self.last.is_empty()).then_some(&self.last)
    }
}

/// Where in the source a wave stopped; `None` if nobody can tell. `bias` is what to take from its address to get one of
/// the file.
pub fn place(report: &FaultReport, object: &CodeObject<'_>, bias: u64) -> Option<String> {
    let FaultCause::Wave(fault) = &report.cause else {
        return None;
    };
    let address = fault.pc.wrapping_sub(bias);
    match SourceMap::around(object, address) {
        Ok(map) => {
            let map = map?;
            let source = map.at(address);
            (!source.is_empty()).then(|| format!("at {source}"))
        }
        Err(error) => Some(format!("its source lines cannot be read: {error}")),
    }
}
