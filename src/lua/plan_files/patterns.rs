//! The patterns and CSS selectors of a plan, compiled once per process.

use super::cache::Cache;
use crate::html::Selector;
use crate::lua::limits::Held;
use regex::bytes::{Regex, RegexBuilder};
use regex_automata::meta;
use regex_syntax::hir::{Hir, HirKind};
use std::rc::Rc;
use std::sync::Arc;

/// The number of patterns of one kind that are kept: more than a person writes, but a plan that makes a new one for
/// every request must not fill the memory.
const MOST_PATTERNS: usize = 1000;

/// The most memory of all patterns of one kind, in bytes.
const MOST_BYTES: usize = 64 << 20;

/// The most memory of one pattern, in bytes, which is the default of the crate `regex`.
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
    /// The places of the pattern, its repetitions written out: the most that a search may have to follow at each byte.
    places: usize,
}

/// A compiled pattern as a plan holds it.
#[derive(Debug, Clone)]
pub(in crate::lua) struct Pattern {
    pub(in crate::lua) compiled: Arc<CompiledRegex>,
    /// The bytes that it counts for in its VM, if the plan keeps it.
    #[allow(dead_code, reason = "it counts as long as it is there")]
    pub(in crate::lua) held: Option<Rc<Held>>,
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
        let mut parser = regex_syntax::ParserBuilder::new().utf8(false).build();
        let (weight, places) = match parser.parse(pattern) {
            Ok(hir) => {
                let sized = meta::Builder::new()
                    .configure(meta::Config::new().utf8_empty(false))
                    .build_from_hir(&hir);
                let weight = sized.map_or(MOST_BYTES_OF_ONE, |sized| sized.memory_usage());
                (weight, places(&hir))
            }
            Err(_) => (MOST_BYTES_OF_ONE, usize::MAX),
        };
        Ok(CompiledRegex {
            regex,
            weight,
            places,
        })
    }

    /// Refuses a text on which a search may take long inside one call, which nothing can end. Measured: 28 ns for each
    /// place at each byte where the automaton of the crate `regex` grows too large, 1 ns a byte where it does not.
    ///
    /// # Errors
    /// What to do about it.
    pub(in crate::lua) fn check_length(&self, bytes: usize) -> Result<(), String> {
        /// Fewer places seldom make a large automaton.
        const FEW_PLACES: usize = 300;
        const MOST_STEPS: usize = 1 << 27;
        if self.places <= FEW_PLACES || self.places.saturating_mul(bytes) <= MOST_STEPS {
            return Ok(());
        }
        Err(format!(
            "this regular expression could take seconds on a text of {bytes} bytes: it stands for {} places; \
             repeat less, or without a limit ('+' for '{{1,900}}')",
            self.places
        ))
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

/// Counts the places of a pattern, its repetitions written out.
fn places(hir: &Hir) -> usize {
    let all = |parts: &[Hir]| parts.iter().map(places).fold(0, usize::saturating_add);
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(_) => 1,
        HirKind::Capture(group) => places(&group.sub),
        HirKind::Repetition(repeated) => {
            let times = repeated.max.unwrap_or(repeated.min).max(1) as usize;
            places(&repeated.sub).saturating_mul(times)
        }
        HirKind::Concat(parts) | HirKind::Alternation(parts) => all(parts),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_written_out_to_count_the_places_of_a_pattern() {
        for (pattern, places) in [
            ("", 0),
            ("abc", 3),
            (r"\w+\s*", 2),
            ("(a|bc){2,10}", 30),
            ("a{3,}", 3),
            ("((x{0,50}){20}y)?", 1001),
        ] {
            let compiled = CompiledRegex::compile(pattern).expect(pattern);
            assert_eq!(compiled.places, places, "{pattern}");
        }
    }

    #[test]
    fn a_search_that_could_take_long_is_refused() {
        let costly = CompiledRegex::compile("(?s).{0,900}x.{0,900}y").expect("it is valid");
        assert_eq!(costly.check_length(50_000), Ok(()));
        let told = costly
            .check_length(200_000)
            .expect_err("it takes ten seconds");
        assert!(told.contains("1802 places"), "{told}");
        let usual =
            CompiledRegex::compile(r#"name="token" value="(\w{5,40})""#).expect("it is valid");
        assert_eq!(usual.check_length(60 << 20), Ok(()));
    }
}
