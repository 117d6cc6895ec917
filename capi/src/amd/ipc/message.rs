//! What goes between processes: the handle that a client carries over, a question and an answer.
//!
//! All of it may come from anybody. Each is read by one function that takes nothing but bytes, and what it gives is consistent.

/// `Rki` and the version of what is below.
const MAGIC: u32 = 0x0169_6b52;
/// What is shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An allocation.
    Memory,
    /// A signal.
    Signal,
}

impl Kind {
    const fn number(self) -> u32 {
        match self {
            Self::Memory => 1,
            Self::Signal => 2,
        }
    }

    const fn parse(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::Memory),
            2 => Some(Self::Signal),
            _ => None,
        }
    }
}

/// Addresses that a process can have.
const MOST_BYTES: u64 = 1 << 47;

/// Bytes of a question.
pub const QUESTION: usize = 24;
/// Bytes of an answer.
pub const ANSWER: usize = 24;

/// Names what a process shares: the eight words of `hsa_amd_ipc_memory_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handle {
    /// What it is.
    pub kind: Kind,
    /// The process.
    pub process: i32,
    /// Its server, of those that it has had.
    pub server: u64,
    /// The memory, a number that cannot be guessed.
    pub token: u64,
}

impl Handle {
    /// As a client carries it.
    pub const fn emit(&self) -> [u32; 8] {
        [
            MAGIC,
            self.kind.number(),
            self.process.cast_unsigned(),
            self.server as u32,
            (self.server >> 32) as u32,
            self.token as u32,
            (self.token >> 32) as u32,
            0,
        ]
    }

    /// Back from that, if it can be one.
    pub const fn parse(words: &[u32; 8]) -> Option<Self> {
        let [MAGIC, kind, process, a, b, c, d, 0] = *words else {
            return None;
        };
        let Some(kind) = Kind::parse(kind) else {
            return None;
        };
        let process = process.cast_signed();
        if process <= 0 {
            return None;
        }
        Some(Self {
            kind,
            process,
            server: a as u64 | (b as u64) << 32,
            token: c as u64 | (d as u64) << 32,
        })
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

fn double(bytes: &[u8], at: usize) -> Option<u64> {
    let eight = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(eight.try_into().ok()?))
}

/// Asks a server for what it shares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Question {
    /// Of the handle.
    pub kind: Kind,
    /// Of the handle.
    pub server: u64,
    /// Of the handle.
    pub token: u64,
}

impl Question {
    /// As bytes.
    pub fn emit(&self) -> [u8; QUESTION] {
        let mut bytes = [0; QUESTION];
        bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.kind.number().to_le_bytes());
        bytes[8..16].copy_from_slice(&self.server.to_le_bytes());
        bytes[16..].copy_from_slice(&self.token.to_le_bytes());
        bytes
    }

    /// Back from bytes, if they are one and nothing else.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let known = bytes.len() == QUESTION && word(bytes, 0) == Some(MAGIC);
        known.then_some(Self {
            kind: Kind::parse(word(bytes, 4)?)?,
            server: double(bytes, 8)?,
            token: double(bytes, 16)?,
        })
    }
}

/// What a server says. The descriptor comes beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// There is no such memory.
    Unknown,
    /// The descriptor could not be made.
    Exhausted,
    /// The memory's size in bytes, as the exporter's client has stated it: not zero, and less than a process has addresses.
    Memory {
        /// The size.
        size: u64,
    },
}

impl Answer {
    /// As bytes.
    pub fn emit(&self) -> [u8; ANSWER] {
        let (state, size) = match self {
            Self::Memory { size } => (0u32, *size),
            Self::Unknown => (1, 0),
            Self::Exhausted => (2, 0),
        };
        let mut bytes = [0; ANSWER];
        bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[4..8].copy_from_slice(&state.to_le_bytes());
        bytes[8..16].copy_from_slice(&size.to_le_bytes());
        bytes
    }

    /// Back from bytes, if they are one and nothing else.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != ANSWER || word(bytes, 0) != Some(MAGIC) || double(bytes, 16) != Some(0) {
            return None;
        }
        match (word(bytes, 4)?, double(bytes, 8)?) {
            (0, size) if size != 0 && size < MOST_BYTES => Some(Self::Memory { size }),
            (1, 0) => Some(Self::Unknown),
            (2, 0) => Some(Self::Exhausted),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_emitted_is_read_back_and_nothing_else_is() {
        let handle = Handle {
            kind: Kind::Signal,
            process: 77,
            server: 0x0123_4567_89ab_cdef,
            token: u64::MAX - 3,
        };
        assert_eq!(Handle::parse(&handle.emit()), Some(handle));
        for (at, wrong) in [(0, 0), (1, 3), (2, 0), (2, u32::MAX), (7, 1)] {
            let mut words = handle.emit();
            words[at] = wrong;
            assert_eq!(Handle::parse(&words), None, "{at} {wrong}");
        }
        let question = Question {
            kind: Kind::Memory,
            server: 5,
            token: 6,
        };
        let bytes = question.emit();
        assert_eq!(Question::parse(&bytes), Some(question));
        for length in 0..QUESTION {
            assert_eq!(Question::parse(&bytes[..length]), None);
        }
        for answer in [
            Answer::Unknown,
            Answer::Exhausted,
            Answer::Memory { size: 4096 },
        ] {
            let bytes = answer.emit();
            assert_eq!(Answer::parse(&bytes), Some(answer));
            for length in 0..ANSWER {
                assert_eq!(Answer::parse(&bytes[..length]), None);
            }
        }
        for size in [0, MOST_BYTES, u64::MAX] {
            assert_eq!(Answer::parse(&Answer::Memory { size }.emit()), None);
        }
    }
}
