//! Copies and fills by engines of the device, outside of compute queues.

use super::queues::QueueCreateError;
use super::topology::AgentId;
use thiserror_no_std::Error;

/// What an engine is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DmaWork {
    /// Copy bytes between device addresses that do not overlap.
    Copy {
        /// First address to write.
        to: u64,
        /// First address to read.
        from: u64,
        /// Number of bytes.
        bytes: u64,
    },
    /// Store a value to consecutive 32-bit words.
    Fill {
        /// First address to write: a multiple of 4.
        to: u64,
        /// The value.
        value: u32,
        /// Number of words.
        words: u64,
    },
}

/// How an engine says that its work is done: as a packet processor does with a completion signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DmaCompletion {
    /// Device address of a 64-bit value that is counted down by one.
    pub value: u64,
    /// Device address of the mailbox that receives the event's number afterwards, or 0 for none.
    pub mailbox: u64,
    /// The event to raise then, or 0 for none.
    pub event: u32,
    /// Device addresses that receive the device's clock before and after, or 0 for none.
    pub timestamps: (u64, u64),
}

/// Work for an engine.
#[derive(Clone, Copy, Debug)]
pub struct DmaRequest<'a> {
    /// Whose engine.
    pub agent: AgentId,
    /// What to do.
    pub work: DmaWork,
    /// Device addresses of 64-bit values that have to be 0 first.
    pub after: &'a [u64],
    /// What is to happen at the end.
    pub completion: Option<DmaCompletion>,
}

/// Why an engine does not do its work.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum DmaError {
    /// The backend, or the agent, has no such engines: the runtime then copies through host mappings or a queue.
    #[error("this backend does not support {0}")]
    NotSupported(&'static str),
    /// The engine's queue is not to be had.
    #[error("no queue for a DMA engine: {0}")]
    Queue(QueueCreateError),
    /// An address is not aligned as it must be.
    #[error("the {what} at {address:#x} is not aligned")]
    Alignment {
        /// What the address is of.
        what: &'static str,
        /// The address.
        address: u64,
    },
    /// The engine did not get on in time; its queue is given up, with all work in it.
    #[error("the DMA engine of agent {} did not get on for {nanoseconds} ns", .agent.0)]
    Stuck {
        /// The agent.
        agent: AgentId,
        /// How long it was waited for.
        nanoseconds: u64,
    },
    /// The engine stopped at a fault, or its queue was given up for other work's sake, before this work was done.
    #[error("the DMA engine of agent {} stopped before its work was done", .agent.0)]
    Lost {
        /// The agent.
        agent: AgentId,
    },
    /// The queue is full of work that waits for something, and only what it waits for makes room.
    #[error("the DMA engine of agent {} has no room behind work that waits", .agent.0)]
    Full {
        /// The agent.
        agent: AgentId,
    },
}

impl DmaError {
    /// Whether nothing has been done: the work may be done in another way.
    pub const fn is_refusal(&self) -> bool {
        match self {
            Self::NotSupported(_) | Self::Queue(_) | Self::Alignment { .. } | Self::Full { .. } => {
                true
            }
            Self::Stuck { .. } | Self::Lost { .. } => false,
        }
    }
}

/// A backend's name of work that it was given, unique for the agent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct DmaTicket(pub u64);

/// How far work is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DmaProgress {
    /// The engine has yet to do it, or is at it.
    UnderWay,
    /// It is done, and its completion was counted.
    Done,
    /// It will never be done: the engine stopped. Nothing of it happens any more, unless the driver refused to take the
    /// queue back.
    Lost,
}

/// What an agent's engines are good for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DmaEngine {
    /// Bytes from which an engine copies the agent's memory faster than the host reads it by its mapping.
    pub worthwhile: u64,
    /// Whether whoever copies to the agent's memory has nothing to do at the moment.
    pub inward_idle: bool,
    /// Whether whoever copies to other memory has nothing to do at the moment.
    pub outward_idle: bool,
}

/// Copies by engines of the device, outside of queues.
pub trait Dma {
    /// The engines that [`Self::copy`] and [`Self::submit`] use for an agent, or `None` if there is none.
    fn dma_engine(&self, agent: AgentId) -> Option<DmaEngine> {
        let _ = agent;
        None
    }

    /// Copies between device addresses and returns when the bytes are there.
    ///
    /// # Safety
    /// Both ranges are mapped, do not overlap, and nothing else writes them meanwhile.
    ///
    /// # Errors
    /// See [`DmaError`].
    unsafe fn copy(&self, agent: AgentId, to: u64, from: u64, bytes: u64) -> Result<(), DmaError> {
        let _ = (agent, to, from, bytes);
        Err(DmaError::NotSupported(
            "copies by DMA engines outside of queues",
        ))
    }

    /// Hands work to an engine. Work is done in any order: what has to come first is named in [`DmaRequest::after`].
    ///
    /// Work that waits is begun in the order that it was given in, apart from work that does not: what it waits for must not
    /// be the completion of waiting work that is given to the same agent later.
    ///
    /// # Safety
    /// All addresses are mapped to the agent until the work is done, the ranges do not overlap, and nothing else writes
    /// them meanwhile.
    ///
    /// # Errors
    /// See [`DmaError`]; nothing is done then if it [is a refusal](DmaError::is_refusal), and in no case is the completion
    /// counted.
    unsafe fn submit(&self, request: &DmaRequest<'_>) -> Result<DmaTicket, DmaError> {
        let _ = request;
        Err(DmaError::NotSupported("work for DMA engines"))
    }

    /// How far submitted work is. An engine that does not get on is given up here, so that whoever asks now and then
    /// comes to know: each time that passes between two questions counts for 250 ms at most.
    fn dma_progress(&self, agent: AgentId, ticket: DmaTicket) -> DmaProgress {
        let _ = (agent, ticket);
        DmaProgress::Done
    }

    /// Takes an agent's engines away from all work that is not done, which is lost; later work gets others. For an agent
    /// that has seen a fault whose queue nobody can name.
    fn abandon_dma(&self, agent: AgentId) {
        let _ = agent;
    }
}
