//! The patterns and CSS selectors of a plan, compiled once per process.

use super::cache::TextCache;
use super::classes::check_classes;
use crate::values::shorten;
use lgoose_html::Selector;
use regex::bytes::{Regex, RegexBuilder};
use regex_automata::meta;
use regex_syntax::hir::{Class, Hir, HirKind};
use std::sync::Arc;

/// The number of patterns of one kind that are kept: more than a person writes, but a plan that makes a new one for
/// every request must not fill the memory.
const MOST_PATTERNS: usize = 1000;

/// The most memory of all patterns of one kind, in bytes.
const MOST_BYTES: usize = 64 << 20;

/// The most memory of one pattern, in bytes, which is the default of the crate `regex`.
const MOST_BYTES_OF_ONE: usize = 10 << 20;

/// The memory of the smallest pattern, a literal, which the crate `regex` leaves out of its figure, in bytes.
const SMALLEST: usize = 2_600;

/// The longest text of a pattern or selector, in bytes. The memory to read one grows with its text, to more than a
/// hundred times as much, and nothing can end it.
const MAX_TEXT: usize = 64 << 10;

/// The memory of a selector for each byte of its text, in bytes, at most: each part of `a,b` has one of its own.
const SELECTOR_BYTES: usize = 128;

/// The most places times bytes that one call may look at.
const MOST_STEPS: usize = 1 << 27;

/// The compiled patterns and selectors of a process.
#[derive(Debug)]
pub(crate) struct Patterns {
    regexes: TextCache<CompiledRegex>,
    selectors: TextCache<CompiledSelector>,
}

/// A CSS selector and the memory that it takes, in bytes, about.
#[derive(Debug)]
struct CompiledSelector {
    selector: Arc<Selector>,
    weight: usize,
}

/// A compiled regular expression.
#[derive(Debug)]
pub struct CompiledRegex {
    pub(crate) regex: Regex,
    /// The memory that it takes, in bytes, about.
    pub weight: usize,
    /// The places of the pattern, its repetitions written out.
    places: usize,
    /// Those of them that a search may have to follow side by side at each byte.
    open_places: usize,
    /// Those that finding out the groups of a match may have to follow side by side at each of its bytes.
    group_places: usize,
}

/// A compiled pattern as a plan holds it.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    pub(crate) compiled: Arc<CompiledRegex>,
}

impl CompiledRegex {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// The problem with it, in words.
    pub fn compile(pattern: &str) -> Result<CompiledRegex, String> {
        let builder = RegexBuilder::new(pattern)
            .size_limit(MOST_BYTES_OF_ONE)
            .build();
        let regex = builder.map_err(|error| describe_regex_error(pattern, &error))?;
        // Parsed once more, to learn its size.
        let mut parser = regex_syntax::ParserBuilder::new().utf8(false).build();
        let (weight, places, open_places, group_places) = match parser.parse(pattern) {
            Ok(hir) => {
                let sized = meta::Builder::new()
                    .configure(meta::Config::new().utf8_empty(false))
                    .build_from_hir(&hir);
                let weight =
                    sized.map_or(MOST_BYTES_OF_ONE, |sized| SMALLEST + sized.memory_usage());
                // A step over a group's border or an anchor takes half as long as one over a byte.
                let group_places = count_open(&hir, false).saturating_add(steps_between(&hir) / 2);
                (weight, places(&hir), open_places(&hir), group_places)
            }
            Err(_) => (MOST_BYTES_OF_ONE, usize::MAX, usize::MAX, usize::MAX),
        };
        Ok(CompiledRegex {
            regex,
            weight,
            places,
            open_places,
            group_places,
        })
    }

    /// Refuses a text on which a search may take long inside one call, which nothing can end. Measured: 28 ns for each
    /// place at each byte where the automaton of the crate `regex` grows too large, 1 ns a byte where it does not.
    ///
    /// # Errors
    /// The remedy.
    pub(crate) fn check_length(&self, bytes: usize) -> Result<(), String> {
        /// Fewer cannot make an automaton that grows too large: it has a state for each set of them.
        const FEW_PLACES: usize = 12;
        let places = self.open_places;
        if places <= FEW_PLACES || places.saturating_mul(bytes) <= MOST_STEPS {
            return Ok(());
        }
        Err(format!(
            "this regular expression could take seconds on a text of {bytes} bytes: it stands for {} places; \
             repeat less, or without a limit ('+' for '{{1,900}}')",
            self.places
        ))
    }

    /// Returns whether finding out the groups of a match of this many bytes takes short enough. Measured: 15 to 25 ns for
    /// each place at each byte, which nothing can end.
    pub(crate) fn may_group(&self, bytes: usize) -> bool {
        self.group_places.saturating_mul(bytes) <= MOST_STEPS
    }

    /// Refuses a match so long that finding out its groups may take long.
    ///
    /// # Errors
    /// The remedy.
    pub(crate) fn check_match(&self, bytes: usize) -> Result<(), String> {
        if self.may_group(bytes) {
            return Ok(());
        }
        Err(format!(
            "the groups of this regular expression could take seconds to find out: its match has {bytes} bytes; \
             match less of the text, or use fewer groups and repetitions"
        ))
    }
}

impl Patterns {
    pub(super) fn new() -> Patterns {
        Patterns {
            regexes: TextCache::new(MOST_PATTERNS).within(MOST_BYTES, |compiled| compiled.weight),
            selectors: TextCache::new(MOST_PATTERNS).within(MOST_BYTES, |compiled| compiled.weight),
        }
    }

    /// Returns a compiled pattern of this text.
    pub(crate) fn regex(&self, pattern: &str) -> Result<Arc<CompiledRegex>, String> {
        check_text(pattern)?;
        check_classes(pattern)?;
        self.regexes
            .get_or_insert_with(pattern, CompiledRegex::compile)
    }

    /// Returns a compiled CSS selector of this text.
    pub(crate) fn selector(&self, css: &str) -> Result<Arc<Selector>, String> {
        check_text(css)
            .map_err(|error| format!("'{}' is not a CSS selector: {error}", shorten(css)))?;
        let compiled = self.selectors.get_or_insert_with(css, |css| {
            Ok(CompiledSelector {
                selector: Arc::new(Selector::parse(css)?),
                weight: 1024 + css.len() * SELECTOR_BYTES,
            })
        })?;
        Ok(compiled.selector.clone())
    }
}

/// Refuses a pattern or selector whose text is too long.
fn check_text(text: &str) -> Result<(), String> {
    match text.len() {
        length if length > MAX_TEXT => {
            Err(format!("it has {length} bytes, and may have {MAX_TEXT}"))
        }
        _ => Ok(()),
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

/// Counts the places that a search may have to follow side by side: classes, and anything repeated up to some number.
/// Of a pattern that begins with a text in which a byte is in none of its classes, one match at most is open at a time.
fn open_places(hir: &Hir) -> usize {
    let is_closed = beginning(hir).iter().any(|byte| !allows(hir, *byte));
    if is_closed { 0 } else { count_open(hir, false) }
}

/// Returns the text that every match begins with.
fn beginning(hir: &Hir) -> &[u8] {
    match hir.kind() {
        HirKind::Literal(literal) => &literal.0,
        HirKind::Capture(group) => beginning(&group.sub),
        HirKind::Concat(parts) => parts.first().map_or(&[], beginning),
        _ => &[],
    }
}

/// Returns whether a class of the pattern contains the byte, or a repetition its text.
fn allows(hir: &Hir, byte: u8) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) | HirKind::Literal(_) => false,
        HirKind::Class(Class::Bytes(class)) => class
            .iter()
            .any(|range| (range.start()..=range.end()).contains(&byte)),
        HirKind::Class(Class::Unicode(class)) => class.iter().any(|range| {
            !byte.is_ascii() || (range.start()..=range.end()).contains(&char::from(byte))
        }),
        HirKind::Capture(group) => allows(&group.sub, byte),
        HirKind::Repetition(repeated) => {
            allows(&repeated.sub, byte)
                || places(&repeated.sub) > 1
                || beginning(&repeated.sub).contains(&byte)
        }
        HirKind::Concat(parts) => parts.iter().any(|part| allows(part, byte)),
        HirKind::Alternation(parts) => parts
            .iter()
            .any(|part| allows(part, byte) || beginning(part).contains(&byte)),
    }
}

/// `is_repeated` is set inside of a repetition up to some number.
fn count_open(hir: &Hir, is_repeated: bool) -> usize {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) if is_repeated => literal.0.len(),
        HirKind::Literal(_) => 0,
        HirKind::Class(_) => 1,
        HirKind::Capture(group) => count_open(&group.sub, is_repeated),
        HirKind::Repetition(repeated) => {
            let times = repeated.max.unwrap_or(repeated.min).max(1) as usize;
            count_open(&repeated.sub, is_repeated || times > 1).saturating_mul(times)
        }
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            let open = parts.iter().map(|part| count_open(part, is_repeated));
            open.fold(0, usize::saturating_add)
        }
    }
}

/// Counts the steps of a pattern that take no byte: borders of groups, anchors, and empty alternatives.
fn steps_between(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(_) | HirKind::Class(_) => 0,
        HirKind::Capture(group) => steps_between(&group.sub).saturating_add(1),
        HirKind::Repetition(repeated) => {
            let times = repeated.max.unwrap_or(repeated.min).max(1) as usize;
            steps_between(&repeated.sub).saturating_mul(times)
        }
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            let all = parts.iter().map(steps_between);
            all.fold(0, usize::saturating_add)
        }
    }
}

/// Describes on one line the problem with a pattern and its character.
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
        let message = costly
            .check_length(200_000)
            .expect_err("it takes ten seconds");
        assert!(message.contains("1802 places"), "{message}");
        let usual =
            CompiledRegex::compile(r#"name="token" value="(\w{5,40})""#).expect("it is valid");
        assert_eq!(usual.check_length(60 << 20), Ok(()));
        for (pattern, bytes, may_take_long) in [
            ("[A-Z][0-9A-Za-z]{250}[^0-9A-Za-z]", 10 << 20, true),
            (r#"v="t".*[A-Z][0-9a-zA-Z]{250}""#, 10 << 20, true),
            (r"\d{4}-\d\d-\d\d", 60 << 20, false),
            (r#"<a href="([^"]+)" class="\w+">"#, 60 << 20, false),
            (r#"id="(\w{8}-\w{4}-\w{4}-\w{4}-\w{12})""#, 60 << 20, false),
            ("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", 3 << 20, false),
        ] {
            let compiled = CompiledRegex::compile(pattern).expect(pattern);
            let refused = compiled.check_length(bytes).is_err();
            assert_eq!(
                refused, may_take_long,
                "{pattern}: {}",
                compiled.open_places
            );
        }
    }

    #[test]
    fn groups_of_a_long_match_are_found_out_if_that_is_quick() {
        for (pattern, bytes, is_quick) in [
            ("(?s)<body>(.*)</body>", 60 << 20, true),
            ("(?s)^(.*)$", 60 << 20, true),
            (
                "(?s)^(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)$",
                60 << 20,
                false,
            ),
            (
                "(?s)^(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)$",
                1 << 20,
                true,
            ),
            (
                r"(?s)^(?:()()()()()()()()()()\b?\b?.(x)?.*)*$",
                60 << 20,
                false,
            ),
        ] {
            let compiled = CompiledRegex::compile(pattern).expect(pattern);
            let result = compiled.check_match(bytes);
            assert_eq!(result.is_ok(), is_quick, "{pattern}: {result:?}");
        }
    }

    #[test]
    fn a_long_text_is_no_pattern_and_a_selector_weighs_what_it_takes() {
        let patterns = Patterns::new();
        let long = "a,".repeat(MAX_TEXT);
        for result in [
            patterns.regex(&long).map(|_| ()),
            patterns.selector(&long).map(|_| ()),
        ] {
            let message = result.expect_err("it is too long");
            assert!(
                message.ends_with("it has 131072 bytes, and may have 65536"),
                "{message}"
            );
        }
        for n in 0..100 {
            let css = "b,".repeat(30_000) + &format!("a{n}");
            patterns.selector(&css).expect("it is valid");
        }
        let selectors = patterns.selectors.all();
        let weight: usize = selectors.iter().map(|selector| selector.weight).sum();
        assert!(selectors.len() > 1 && weight <= MOST_BYTES, "{weight}");
    }
}
