//! The patterns and CSS selectors of a plan, compiled once per process.

use super::cache::Cache;
use crate::html::Selector;
use regex::bytes::{Regex, RegexBuilder};
use regex_automata::meta;
use std::sync::Arc;

/// The number of patterns of one kind that are kept: more than a person writes, but a plan that makes a new one for
/// every request must not fill the memory.
const MOST_PATTERNS: usize = 1000;

/// The most memory of them, in bytes.
const MOST_BYTES: usize = 64 << 20;

/// The most memory of one, in bytes, as the crate `regex` limits it by itself.
const MOST_BYTES_OF_ONE: usize = 10 << 20;

/// The compiled patterns and selectors of a process.
#[derive(Debug)]
pub(in crate::lua) struct Patterns {
    regexes: Cache<CompiledRegex>,
    selectors: Cache<Selector>,
}

/// A compiled regular expression.
#[derive(Debug)]
pub struct CompiledRegex {
    pub(in crate::lua) regex: Regex,
    /// The memory that it takes, in bytes, about.
    pub weight: usize,
}

impl CompiledRegex {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn compile(pattern: &str) -> Result<CompiledRegex, String> {
        let builder = RegexBuilder::new(pattern)
            .size_limit(MOST_BYTES_OF_ONE)
            .build();
        let regex = builder.map_err(|error| describe_regex_error(pattern, &error))?;
        // The same once more, which tells its size.
        let syntax = regex_automata::util::syntax::Config::new().utf8(false);
        let sized = meta::Builder::new()
            .syntax(syntax)
            .configure(meta::Config::new().utf8_empty(false))
            .build(pattern);
        let weight = sized.map_or(MOST_BYTES_OF_ONE, |sized| sized.memory_usage());
        Ok(CompiledRegex { regex, weight })
    }
}

impl Patterns {
    pub(super) fn new() -> Patterns {
        Patterns {
            regexes: Cache::new(MOST_PATTERNS).within(MOST_BYTES, |compiled| compiled.weight),
            selectors: Cache::new(MOST_PATTERNS).within(MOST_BYTES, |_| 1 << 10),
        }
    }

    /// Returns a compiled pattern of this text.
    pub(in crate::lua) fn regex(&self, pattern: &str) -> Result<Arc<CompiledRegex>, String> {
        self.regexes
            .get_or_insert_with(pattern, CompiledRegex::compile)
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
