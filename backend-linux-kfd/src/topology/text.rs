//! Topology files: lines of a key and a decimal number.

/// What a file says about a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// Nothing.
    Absent,
    /// Something that is no number of 64 bits.
    Bad,
    /// A number.
    Number(u64),
}

impl Value {
    /// The number, if there is one and it is at most `max`.
    pub fn bounded(self, max: u64) -> Option<u64> {
        match self {
            Self::Number(n) if n <= max => Some(n),
            _ => None,
        }
    }

    /// The number, if there is one.
    pub const fn number(self) -> Option<u64> {
        match self {
            Self::Number(n) => Some(n),
            _ => None,
        }
    }
}

/// The properties in a file's bytes. Unknown keys are ignored; of a key that occurs twice the
/// first counts.
#[derive(Clone, Copy, Debug)]
pub struct Properties<'a>(pub &'a [u8]);

impl Properties<'_> {
    /// What the file says about `key`.
    pub fn get(&self, key: &str) -> Value {
        for line in self.0.split(|&b| b == b'\n') {
            let mut words = line
                .split(u8::is_ascii_whitespace)
                .filter(|word| !word.is_empty());
            if words.next() == Some(key.as_bytes()) {
                return match words.next() {
                    Some(word) => number(word).map_or(Value::Bad, Value::Number),
                    None => Value::Bad,
                };
            }
        }
        Value::Absent
    }
}

/// A decimal number of 64 bits, digits alone.
pub fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |value, byte| {
        let digit = byte.checked_sub(b'0').filter(|&d| d <= 9)?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// A text without white space at its ends.
pub fn trim(text: &[u8]) -> &[u8] {
    text.trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_whole_words_and_the_first_of_two_counts() {
        let properties = Properties(b"simd_count 416\nsimd_count_x 1\nsimd_count 2\nlate 7");
        assert_eq!(properties.get("simd_count"), Value::Number(416));
        assert_eq!(properties.get("simd"), Value::Absent);
        assert_eq!(properties.get("late"), Value::Number(7));
    }

    #[test]
    fn what_is_no_number_of_64_bits_is_bad_and_not_zero() {
        for text in [
            &b"k -1"[..],
            b"k 18446744073709551616",
            b"k",
            b"k 0x10",
            b"k \xff\xfe",
            b"k +1",
        ] {
            assert_eq!(Properties(text).get("k"), Value::Bad, "{text:?}");
        }
        assert_eq!(
            Properties(b"k 18446744073709551615").get("k"),
            Value::Number(u64::MAX)
        );
        assert_eq!(Properties(b"\xffk 1\n\n \n").get("k"), Value::Absent);
    }
}
