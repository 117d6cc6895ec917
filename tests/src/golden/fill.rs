//! Initial contents of buffers, the same everywhere for the same seed.

use super::Element;

/// What a buffer holds before the launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fill {
    /// Zero bytes.
    Zero,
    /// These elements, then zeros.
    Values(&'static [u64]),
    /// Every bit at random.
    Random,
    /// Numbers from the first to below the second; rounded to the element.
    Range(f64, f64),
    /// Numbers of the range with a random sign: the way to keep away from zero.
    Signed(f64, f64),
    /// Floating-point edge cases (zeros, subnormals, infinities, NaN) among random bits.
    Edges,
    /// Whole numbers from 0 to below this.
    Whole(u64),
    /// From zero upwards, each element by less than this more than the one before.
    Steps(u64),
}

impl Fill {
    /// `count` elements. Buffers of one launch differ by `stream`.
    pub fn bytes(self, element: Element, count: usize, seed: u64, stream: u64) -> Vec<u8> {
        // Streams start far apart: a stream a step away would be the same sequence, shifted.
        let start = Random(seed).next() ^ Random(!stream).next().rotate_left(32);
        let mut random = Random(start);
        let mut bytes = Vec::with_capacity(count * element.size());
        let mut sum = 0;
        for index in 0..count {
            let mut bits = self.element(element, index, &mut random);
            if let Fill::Steps(_) = self {
                (bits, sum) = (element.nearest(sum as f64), sum + bits);
            }
            bytes.extend_from_slice(&bits.to_le_bytes()[..element.size()]);
        }
        bytes
    }

    fn element(self, element: Element, index: usize, random: &mut Random) -> u64 {
        match self {
            Fill::Zero => 0,
            Fill::Values(values) => values.get(index).copied().unwrap_or(0),
            Fill::Random => random.next(),
            Fill::Whole(most) => element.nearest((random.next() % most) as f64),
            Fill::Steps(most) => random.next() % most,
            Fill::Range(low, high) => element.nearest(low + (high - low) * random.fraction()),
            Fill::Signed(low, high) => {
                let magnitude = low + (high - low) * random.fraction();
                element.nearest(if random.next() & 1 == 0 {
                    magnitude
                } else {
                    -magnitude
                })
            }
            Fill::Edges => {
                let edges = edges(element);
                let choice = random.next();
                if choice & 3 == 0 {
                    edges[(choice >> 2) as usize % edges.len()]
                } else {
                    random.next()
                }
            }
        }
    }
}

fn edges(element: Element) -> [u64; 14] {
    let (one, infinity): (u64, u64) = match element {
        Element::F16 => (0x3c00, 0x7c00),
        Element::F64 => (0x3ff0_0000_0000_0000, 0x7ff0_0000_0000_0000),
        _ => (0x3f80_0000, 0x7f80_0000),
    };
    let sign = 1 << (8 * element.size() - 1);
    let least_normal = infinity & infinity.wrapping_neg();
    [
        0,
        sign,
        1,
        sign | 1,
        least_normal,
        least_normal - 1,
        sign | (least_normal - 1),
        one,
        sign | one,
        one + 1,
        infinity - 1,
        infinity,
        sign | infinity,
        infinity | least_normal >> 1,
    ]
}

/// SplitMix64.
pub(crate) struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// From 0 to below 1.
    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_bytes_and_a_stream_others() {
        let bytes = Fill::Random.bytes(Element::U32, 8, 1, 0);
        assert_eq!(bytes, Fill::Random.bytes(Element::U32, 8, 1, 0));
        assert_ne!(bytes, Fill::Random.bytes(Element::U32, 8, 1, 1));
        assert_ne!(bytes, Fill::Random.bytes(Element::U32, 8, 2, 0));
        assert_ne!(bytes[4..], Fill::Random.bytes(Element::U32, 8, 1, 1)[..28]);
    }

    #[test]
    fn values_are_followed_by_zeros() {
        assert_eq!(
            Fill::Values(&[7]).bytes(Element::U16, 2, 0, 0),
            [7, 0, 0, 0]
        );
    }
}
