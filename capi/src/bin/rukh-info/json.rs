//! Just as much of JSON as the report needs: writing it.

use std::fmt;

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Number(u64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// Keys and values, in this order.
    Object(Vec<(&'static str, Json)>),
}

impl Json {
    /// A text.
    pub fn text(text: impl fmt::Display) -> Self {
        Self::Text(text.to_string())
    }

    /// A number; JSON readers keep 53 bits of it, so larger ones (ids) are given as text.
    pub fn number(number: impl Into<u64>) -> Self {
        Self::Number(number.into())
    }

    /// A list of what is made from items.
    pub fn list<T>(items: impl IntoIterator<Item = T>, make: impl Fn(T) -> Self) -> Self {
        Self::List(items.into_iter().map(make).collect())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => quote(f, text),
            Self::List(list) => {
                f.write_str("[")?;
                for (index, value) in list.iter().enumerate() {
                    write!(f, "{}{value}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Self::Object(fields) => {
                f.write_str("{")?;
                for (index, (key, value)) in fields.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { ", " })?;
                    quote(f, key)?;
                    write!(f, ": {value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

fn quote(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            c if c < ' ' || c == '\u{7f}' => write!(f, "\\u{:04x}", u32::from(c))?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        assert_eq!(
            Json::text("a\"b\\c\n\u{1}é").to_string(),
            r#""a\"b\\c\u000a\u0001é""#
        );
        let object = Json::Object(vec![
            ("a", Json::list([1u32, 2], Json::number)),
            ("b", Json::Null),
            ("c", Json::Bool(true)),
        ]);
        assert_eq!(object.to_string(), r#"{"a": [1, 2], "b": null, "c": true}"#);
    }
}
