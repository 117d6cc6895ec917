//! Expected against computed bytes.

use super::Element;

/// How near an output has to come to the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Compare {
    /// The same bits, except that any NaN of a floating-point element is as good as another.
    Exact,
    /// Within a number of units in the last place of the expected value, where a value smaller than
    /// `floor` counts as `floor`.
    Ulps {
        /// The largest accepted distance.
        most: u32,
        /// The magnitude below which the error is absolute.
        floor: f64,
        /// Why the GPU may differ from the host.
        reason: &'static str,
    },
    /// Within a number of units in the last place whatever the device's approximations are: the program itself
    /// approximates. The units are those of the expected value, or of the least normal one.
    Library(u32),
}

/// Whether stated tolerances hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// As [`Compare`] states: what hardware must reach.
    #[default]
    Stated,
    /// Bit for bit: what a device must reach whose approximations are correctly rounded.
    CorrectlyRounded,
}

/// Where computed bytes leave the expected ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The first element that differs.
    pub index: usize,
    /// Its type.
    pub element: Element,
    /// The bits the reference has there.
    pub expected: u64,
    /// The bits the device has there.
    pub got: u64,
    /// How many elements differ.
    pub count: usize,
    /// How many elements there are.
    pub of: usize,
}

/// The first difference that the comparison does not accept. Both have the same length.
pub fn difference(
    element: Element,
    compare: Compare,
    strictness: Strictness,
    expected: &[u8],
    got: &[u8],
) -> Option<Difference> {
    let size = element.size();
    let of = expected.len() / size;
    let mut first = None;
    let mut count = 0;
    for (index, (expected, got)) in expected
        .chunks_exact(size)
        .zip(got.chunks_exact(size))
        .enumerate()
    {
        let (expected, got) = (element.bits(expected), element.bits(got));
        if !accepts(element, compare, strictness, expected, got) {
            first.get_or_insert((index, expected, got));
            count += 1;
        }
    }
    first.map(|(index, expected, got)| Difference {
        index,
        element,
        expected,
        got,
        count,
        of,
    })
}

fn accepts(
    element: Element,
    compare: Compare,
    strictness: Strictness,
    expected: u64,
    got: u64,
) -> bool {
    if expected == got || element.is_nan(expected) && element.is_nan(got) {
        return true;
    }
    let (most, floor) = match compare {
        Compare::Exact => return false,
        Compare::Ulps { .. } if strictness == Strictness::CorrectlyRounded => return false,
        Compare::Ulps { most, floor, .. } => (most, floor),
        Compare::Library(most) => (most, 0.0),
    };
    let (expected, got) = (element.value(expected), element.value(got));
    // An infinity or NaN on one side only is never near.
    element
        .ulp(expected.abs().max(floor))
        .is_some_and(|ulp| expected.is_finite() && (expected - got).abs() <= f64::from(most) * ulp)
}

impl core::fmt::Display for Difference {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let digits = 2 * self.element.size() + 2;
        write!(
            f,
            "element {} ({:?}): expected {:#0digits$x} ({}), got {:#0digits$x} ({}); {} of {} elements differ",
            self.index,
            self.element,
            self.expected,
            self.element.value(self.expected),
            self.got,
            self.element.value(self.got),
            self.count,
            self.of,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(values: &[f32]) -> Vec<u8> {
        values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect()
    }

    const TWO_ULPS: Compare = Compare::Ulps {
        most: 2,
        floor: 1.0,
        reason: "a test",
    };

    #[test]
    fn the_first_difference_is_told_with_its_place_and_bits() {
        let found = difference(
            Element::U16,
            Compare::Exact,
            Strictness::Stated,
            &[1, 0, 2, 0, 3, 0],
            &[1, 0, 9, 1, 4, 0],
        );
        let found = found.unwrap();
        assert_eq!(
            (
                found.index,
                found.expected,
                found.got,
                found.count,
                found.of
            ),
            (1, 2, 0x109, 2, 3)
        );
        assert!(
            found
                .to_string()
                .contains("expected 0x0002 (2), got 0x0109")
        );
    }

    #[test]
    fn any_nan_is_a_nan_but_zeros_have_signs() {
        let exact = |a, b| {
            difference(
                Element::F32,
                Compare::Exact,
                Strictness::Stated,
                &floats(&[a]),
                &floats(&[b]),
            )
        };
        assert_eq!(exact(f32::NAN, -f32::NAN), None);
        assert!(exact(f32::NAN, 1.0).is_some());
        assert!(exact(0.0, -0.0).is_some());
    }

    #[test]
    fn a_librarys_bound_holds_always() {
        let library = |a: f32, b: f32| {
            let (strictness, a, b) = (Strictness::CorrectlyRounded, floats(&[a]), floats(&[b]));
            difference(Element::F32, Compare::Library(3), strictness, &a, &b)
        };
        let above = |n| f32::from_bits(8f32.to_bits() + n);
        assert_eq!(library(8.0, above(3)), None);
        assert!(library(8.0, above(4)).is_some());
        assert_eq!(library(0.0, f32::from_bits(3)), None);
        assert!(library(0.0, f32::from_bits(4)).is_some());
        assert!(library(f32::INFINITY, f32::MAX).is_some());
    }

    #[test]
    fn a_bound_in_ulps_holds_unless_exactness_is_asked_for() {
        let ulps = |strictness, a: f32, b: f32| {
            difference(
                Element::F32,
                TWO_ULPS,
                strictness,
                &floats(&[a]),
                &floats(&[b]),
            )
        };
        let above = |n| f32::from_bits(8f32.to_bits() + n);
        assert_eq!(ulps(Strictness::Stated, 8.0, above(2)), None);
        assert!(ulps(Strictness::Stated, 8.0, above(3)).is_some());
        assert!(ulps(Strictness::CorrectlyRounded, 8.0, above(1)).is_some());
        assert_eq!(ulps(Strictness::Stated, 0.0, f32::EPSILON), None);
        assert!(ulps(Strictness::Stated, f32::MAX, f32::INFINITY).is_some());
        assert!(ulps(Strictness::Stated, 1.0, f32::NAN).is_some());
    }
}
