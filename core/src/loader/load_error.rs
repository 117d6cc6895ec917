//! What can go wrong between a code object and kernels that can be dispatched.

use super::error::CodeObjectError;
use super::memory::SegmentError;
use super::text::Text;
use crate::backend::AgentId;
use crate::isa::Isa;
use core::fmt;
use thiserror_no_std::Error;

/// Where a name is defined: for one agent, or for the whole program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// For all agents.
    Program,
    /// For one agent.
    Agent(AgentId),
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program => f.write_str("the program"),
            Self::Agent(agent) => write!(f, "agent {}", agent.0),
        }
    }
}

/// Why a code object cannot be loaded, a variable not defined, or an executable not frozen.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoadError {
    /// The code object is malformed.
    #[error("{0}")]
    CodeObject(#[from] CodeObjectError),
    /// The agent cannot execute the code.
    #[error("code for {code} (generic version {generic_version}) does not run on agent {}, which is {isa}", .agent.0)]
    IncompatibleIsa {
        /// ISA of the code object.
        code: Isa,
        /// Version of a generic ISA, 0 for others.
        generic_version: u8,
        /// The agent.
        agent: AgentId,
        /// ISA of the agent.
        isa: Isa,
    },
    /// A name is defined twice in the same scope.
    #[error("{symbol} is already defined for {scope}")]
    AlreadyDefined {
        /// The name.
        symbol: Text,
        /// Where it is defined.
        scope: Scope,
    },
    /// A code object needs a variable that nobody has defined.
    #[error("{symbol}, which code on agent {} needs, is not defined", .agent.0)]
    VariableUndefined {
        /// The name.
        symbol: Text,
        /// The agent whose code needs it.
        agent: AgentId,
    },
    /// An address does not fit where a code object wants it stored.
    #[error("{relocation} at {address:#x} cannot hold {base:#x} plus {addend:#x}")]
    RelocationOverflow {
        /// LLVM's name of the relocation's type.
        relocation: &'static str,
        /// Where it is, as an address of the file.
        address: u64,
        /// Address of the symbol.
        base: u64,
        /// What is added.
        addend: i64,
    },
    /// The memory that was allocated is not what was asked for.
    #[error(
        "memory at {gpu_va:#x}, {size:#x} bytes, was allocated for a code object of {needed:#x} bytes aligned to {align:#x}"
    )]
    BadAllocation {
        /// Its address.
        gpu_va: u64,
        /// Its size.
        size: u64,
        /// The size asked for.
        needed: u64,
        /// The alignment asked for.
        align: u64,
    },
    /// Memory could not be had or written.
    #[error("{0}")]
    Memory(#[from] SegmentError),
}

crate::impl_error!(LoadError);
