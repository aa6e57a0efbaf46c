//! The patterns and CSS selectors of a plan, compiled once per process.

use super::cache::Cache;
use crate::html::Selector;
use regex::bytes::Regex;
use std::sync::Arc;

/// The number of patterns of one kind that are kept: more than a person writes, but a plan that makes a new one for
/// every request must not fill the memory.
const MOST_PATTERNS: usize = 1000;

/// The compiled patterns and selectors of a process.
#[derive(Debug)]
pub(in crate::lua) struct Patterns {
    regexes: Cache<Regex>,
    selectors: Cache<Selector>,
}

impl Patterns {
    pub(super) fn new() -> Patterns {
        Patterns {
            regexes: Cache::new(MOST_PATTERNS),
            selectors: Cache::new(MOST_PATTERNS),
        }
    }

    /// Returns a compiled pattern of this text.
    pub(in crate::lua) fn regex(&self, pattern: &str) -> Result<Arc<Regex>, String> {
        self.regexes.get_or_insert_with(pattern, |pattern| {
            Regex::new(pattern).map_err(|error| describe_regex_error(pattern, &error))
        })
    }

    /// Returns a compiled CSS selector of this text.
    pub(in crate::lua) fn selector(&self, css: &str) -> Result<Arc<Selector>, String> {
        self.selectors.get_or_insert_with(css, Selector::parse)
    }
}

/// Describes on one line what is wrong with a pattern and at which character.
fn describe_regex_error(pattern: &str, error: &regex::Error) -> String {
    let mut parser = regex_syntax::ParserBuilder::new().utf8(false).build();
    let (kind, from) = match parser.parse(pattern) {
        Err(regex_syntax::Error::Parse(error)) => (error.kind().to_string(), error.span().start),
        Err(regex_syntax::Error::Translate(error)) => {
            (error.kind().to_string(), error.span().start)
        }
        _ => return error.to_string(),
    };
    match pattern.get(from.offset..) {
        Some(rest) if !rest.is_empty() => {
            let place = pattern[..from.offset].chars().count() + 1;
            format!("{kind} at character {place}: '{rest}'")
        }
        _ => format!("{kind} at the end of '{pattern}'"),
    }
}
