//! What the bytes of a buffer are, so that they can be filled, compared and shown.

/// The type of a buffer's elements, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Element {
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
}

impl Element {
    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Element::U8 => 1,
            Element::U16 | Element::F16 => 2,
            Element::U32 | Element::F32 => 4,
            Element::U64 | Element::F64 => 8,
        }
    }

    /// The bits of the element that starts the bytes.
    pub(crate) fn bits(self, bytes: &[u8]) -> u64 {
        let mut word = [0; 8];
        word[..self.size()].copy_from_slice(&bytes[..self.size()]);
        u64::from_le_bytes(word)
    }

    /// The value of the bits, exactly; an integer's as it is.
    pub(crate) fn value(self, bits: u64) -> f64 {
        match self {
            Element::F16 => f16_value(bits as u16),
            Element::F32 => f64::from(f32::from_bits(bits as u32)),
            Element::F64 => f64::from_bits(bits),
            Element::U8 | Element::U16 | Element::U32 | Element::U64 => bits as f64,
        }
    }

    /// The bits of the nearest value, ties to even.
    pub(crate) fn nearest(self, value: f64) -> u64 {
        match self {
            Element::F16 => u64::from(f16_nearest(value)),
            Element::F32 => u64::from((value as f32).to_bits()),
            Element::F64 => value.to_bits(),
            Element::U8 => u64::from(value as u8),
            Element::U16 => u64::from(value as u16),
            Element::U32 => u64::from(value as u32),
            Element::U64 => value as u64,
        }
    }

    /// Whether the bits are a NaN of a floating-point element.
    pub(crate) fn is_nan(self, bits: u64) -> bool {
        self.precision().is_some() && self.value(bits).is_nan()
    }

    /// The distance of neighbouring values at `magnitude`, or `None` for integers.
    pub(crate) fn ulp(self, magnitude: f64) -> Option<f64> {
        let (fraction_bits, least_exponent) = self.precision()?;
        let exponent = if magnitude == 0.0 {
            least_exponent
        } else {
            exponent_of(magnitude).max(least_exponent)
        };
        Some(power_of_two(exponent - fraction_bits))
    }

    /// Bits of the fraction, and the exponent of the least normal number.
    const fn precision(self) -> Option<(i32, i32)> {
        match self {
            Element::F16 => Some((10, -14)),
            Element::F32 => Some((23, -126)),
            // The unit of the least doubles would be subnormal; no bound is stated down there.
            Element::F64 => Some((52, -960)),
            Element::U8 | Element::U16 | Element::U32 | Element::U64 => None,
        }
    }
}

fn exponent_of(value: f64) -> i32 {
    ((value.to_bits() >> 52 & 0x7ff) as i32) - 1023
}

fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

fn f16_value(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let fraction = f64::from(bits & 0x3ff);
    sign * match bits >> 10 & 31 {
        0 => fraction * power_of_two(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1024.0 + fraction) * power_of_two(i32::from(exponent) - 25),
    }
}

fn f16_nearest(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = value.abs();
    if magnitude.is_nan() {
        return 0x7e00;
    }
    if magnitude >= 65520.0 {
        return sign | 0x7c00;
    }
    let exponent = if magnitude == 0.0 {
        -14
    } else {
        exponent_of(magnitude).max(-14)
    };
    // In units of the last place the value is below 2048. A carry out of the fraction raises the
    // exponent by itself.
    let units = (magnitude / power_of_two(exponent - 10)).round_ties_even() as u16;
    sign | ((((exponent + 14) as u16) << 10) + units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_values_survive_the_way_there_and_back() {
        for bits in (0..=u16::MAX).filter(|bits| !Element::F16.is_nan(u64::from(*bits))) {
            assert_eq!(f16_nearest(f16_value(bits)), bits);
        }
        assert_eq!(f16_nearest(1.0 + 1.0 / 2048.0), 0x3c00);
        assert_eq!(f16_nearest(1.0 + 3.0 / 2048.0), 0x3c02);
        assert_eq!(f16_nearest(-65519.0), 0xfbff);
    }

    #[test]
    fn the_unit_in_the_last_place_follows_the_exponent() {
        assert_eq!(Element::F32.ulp(1.0), Some(f64::from(f32::EPSILON)));
        assert_eq!(Element::F32.ulp(0.0), Some(f64::from(f32::from_bits(1))));
        assert_eq!(Element::F16.ulp(1500.0), Some(1.0));
        assert_eq!(Element::U32.ulp(1.0), None);
    }
}
