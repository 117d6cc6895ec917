//! One thing that keeps a GPU from being used, and what to do about it.

use crate::json::Json;
use std::fmt;

/// A finding. `code` is for programs and stays the same between versions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Which kind.
    pub code: &'static str,
    /// What is the matter.
    pub what: String,
    /// What to do, the likeliest first.
    pub advice: Vec<String>,
}

impl Finding {
    /// A finding without advice.
    pub fn new(code: &'static str, what: impl Into<String>) -> Self {
        Self {
            code,
            what: what.into(),
            advice: Vec::new(),
        }
    }

    /// The same with one more piece of advice.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice.push(advice.into());
        self
    }

    /// The same with advice if there is any.
    #[must_use]
    pub fn advise_if(self, on: bool, advice: impl Into<String>) -> Self {
        if on { self.advise(advice) } else { self }
    }

    /// For programs.
    pub fn json(&self) -> Json {
        Json::Object(vec![
            ("code", Json::text(self.code)),
            ("what", Json::text(&self.what)),
            ("advice", Json::list(&self.advice, Json::text)),
        ])
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.what, self.code)?;
        for advice in &self.advice {
            write!(f, "\n  - {advice}")?;
        }
        Ok(())
    }
}
