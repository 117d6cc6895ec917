//! Bytes as a sequence of decisions, for oracles whose input is a program of calls. When the bytes are used up every decision
//! is 0, so that any prefix of an input is one too.

/// What is left of an input.
#[derive(Clone, Debug)]
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    /// Reads from the start.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether all is read.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is left.
    pub const fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// The next bytes, zeros behind the end.
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0; N];
        let taken = self.take(N);
        out[..taken.len()].copy_from_slice(taken);
        out
    }

    /// The next `count` bytes, fewer at the end.
    pub fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    /// A truth value.
    pub fn flag(&mut self) -> bool {
        self.byte() & 1 != 0
    }

    /// The next two bytes.
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    /// The next four bytes.
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    /// The next eight bytes.
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    /// A number below `bound`, which is at most 256; 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()).checked_rem(bound).unwrap_or(0)
    }

    /// One of several.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// A number that is small, on an edge, or anything.
    pub fn number(&mut self) -> u64 {
        let kind = self.byte();
        match kind >> 5 {
            0..=3 => u64::from(kind & 0x7f),
            4 => u64::MAX - u64::from(kind & 0x1f),
            5 => 1 << (u32::from(kind & 0x1f) * 2 + 1),
            6 => (1 << (u32::from(kind & 0x1f) * 2 + 1)) - 1,
            _ => self.u64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_reach_the_edges_and_the_end_is_all_zeros() {
        let mut input = Input::new(&[5, 0x80, 0xa0, 0xc1, 0xff, 1, 2, 3]);
        assert_eq!(input.number(), 5);
        assert_eq!(input.number(), u64::MAX);
        assert_eq!(input.number(), 2);
        assert_eq!(input.number(), 7);
        assert_eq!(input.number(), 0x03_0201);
        assert!(input.is_empty());
        assert_eq!(
            (input.number(), input.below(0), input.pick(&[7])),
            (0, 0, 7)
        );
    }
}
