//! The kinds of errors that lgoose reports, and their exit codes.
//!
//! A mistake of the plan's author is a [`Diagnostic`]: it names the file, the line and the remedy. Failures of the
//! target are never errors here; they are measurements. Everything else is [`Trouble`] inside lgoose.

mod credentials;
mod printable;
mod secrets;
mod trouble;

use credentials::masked_line;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

pub use credentials::{masked_address, masked_url, split_credentials};
pub use printable::{beginning, bounded_name, cut, is_directing, one_line, printable};
pub use secrets::masked_secrets;
pub use trouble::Trouble;

/// Exit codes of the command; scripts rely on them.
pub mod exit {
    /// The test ran and every verdict was good.
    pub const OK: u8 = 0;
    /// The verdict is bad: a threshold failed, something failed under `--fail-on-error`, no request succeeded, all users
    /// were lost, or thresholds were set and the run was cut short.
    pub const VERDICT: u8 = 1;
    /// The plan or the command line is wrong.
    pub const MISTAKE: u8 = 2;
    /// lgoose itself could not go on.
    pub const TROUBLE: u8 = 3;
    /// A second Ctrl-C aborted the run.
    pub const ABORTED: u8 = 130;
}

/// The reason why lgoose cannot perform a command.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The plan, a flag or a file that the author wrote is wrong.
    #[error("{0}")]
    Mistake(Diagnostic),
    /// Something outside the plan: a port in use, a full disk, no memory. Names the path or address, the limit that was
    /// hit and the remedy.
    #[error(transparent)]
    Trouble(Trouble),
}

impl Error {
    /// Creates trouble from a whole sentence.
    pub fn trouble(message: impl Into<String>) -> Self {
        Trouble::new(message).into()
    }

    /// Creates trouble from an action (`write the page`) and the reason why it failed.
    pub fn cannot(
        action: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Trouble::cannot(action).because(source).into()
    }

    /// Returns the text without the leading `error: `, for use within a sentence.
    pub fn text(&self) -> String {
        let text = self.to_string();
        text.strip_prefix("error: ").unwrap_or(&text).to_owned()
    }

    /// Returns the exit code for this error.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Mistake(_) => exit::MISTAKE,
            Error::Trouble(_) => exit::TROUBLE,
        }
    }
}

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Self {
        Error::Mistake(diagnostic)
    }
}

impl From<Trouble> for Error {
    fn from(trouble: Trouble) -> Self {
        Error::Trouble(trouble)
    }
}

/// A mistake of the plan's author, printed as
///
/// ```text
/// error: unknown field 'wieght' in task 'front page'
///   --> plans/drupal.lua:14
///    |
/// 14 |   task { "front page", wieght = 10, front_page },
///    = help: did you mean 'weight'? fields of a task: weight, sequence, on_start, on_stop, wait
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic(Box<DiagnosticParts>);

// Behind one pointer: a `Result` that may hold a diagnostic stays small.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DiagnosticParts {
    message: String,
    place: Option<SourceLocation>,
    help: Option<String>,
    backtrace: Option<String>,
    mark: Option<MarkedText>,
}

/// A text that the author wrote, and the bytes of it that are wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MarkedText {
    text: String,
    place: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SourceLocation {
    file: String,
    line: Option<u32>,
    /// The line as it is quoted, and the bytes of that which are wrong.
    text: Option<(String, Option<Range<usize>>)>,
}

impl Diagnostic {
    /// Creates a diagnostic from one lower-case sentence without a full stop.
    pub fn new(message: impl Into<String>) -> Self {
        Diagnostic(Box::new(DiagnosticParts {
            message: cut(message.into()),
            place: None,
            help: None,
            backtrace: None,
            mark: None,
        }))
    }

    /// Sets the place of the mistake. `line` counts from 1; `source` is the whole file, from which the line is quoted:
    /// of a long one, the part around the mark.
    pub fn at(mut self, file: impl Into<String>, line: Option<u32>, source: &str) -> Self {
        let text = line.and_then(|line| source.lines().nth(line.saturating_sub(1) as usize));
        let marked = self.0.mark.as_ref().filter(|mark| !mark.text.is_empty());
        let text = text.map(|text| {
            let masked = masked_line(text);
            if let Cow::Owned(masked) = &masked {
                // The mark may lie in the masked part.
                return quoted(masked.trim_end(), None);
            }
            let wrong = marked.and_then(|mark| {
                let from = text.find(&mark.text)?;
                Some(from + mark.place.start..from + mark.place.end)
            });
            quoted(text.trim_end(), wrong)
        });
        self.0.place = Some(SourceLocation {
            file: file.into(),
            line,
            text,
        });
        self
    }

    /// Adds the remedy.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(cut(help.into()));
        self
    }

    /// Marks bytes of a text that the author wrote: with carets below the line that [`Diagnostic::at`] quotes afterwards, if
    /// it contains the text verbatim.
    pub fn mark(mut self, text: impl Into<String>, place: Range<usize>) -> Self {
        let text = text.into();
        self.0.mark = Some(MarkedText { text, place });
        self
    }

    /// Returns the text of [`Diagnostic::mark`], if there is one, for finding it in the file.
    pub fn marked(&self) -> Option<&str> {
        self.0.mark.as_ref().map(|mark| mark.text.as_str())
    }

    /// Adds the call stack of the plan, which `--backtrace` shows.
    pub fn backtrace(mut self, backtrace: impl Into<String>) -> Self {
        self.0.backtrace = Some(backtrace.into());
        self
    }

    /// Returns the text of [`Diagnostic::backtrace`], if there is one.
    pub fn backtrace_text(&self) -> Option<&str> {
        self.0.backtrace.as_deref()
    }

    /// Returns the diagnostic as the text of a warning: for code that is allowed, but probably not intended.
    pub fn as_warning(&self) -> String {
        self.to_string().replacen("error", "warning", 1)
    }

    /// Returns only the sentence, without place and help.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", printable(&self.0.message))?;
        let mut margin = 0;
        if let Some(place) = &self.0.place {
            let line = place.line.map(|line| line.to_string()).unwrap_or_default();
            margin = line.len();
            write!(f, "\n{:1$}--> {2}", "", margin.max(1), place.file)?;
            if !line.is_empty() {
                write!(f, ":{line}")?;
            }
            if let Some((text, wrong)) = &place.text {
                write!(f, "\n{:margin$} |", "")?;
                write!(f, "\n{line} | {}", printable(text))?;
                if let Some(wrong) = wrong {
                    write!(f, "\n{:margin$} | {}", "", carets(text, wrong.clone()))?;
                }
            }
        }
        if let Some(help) = &self.0.help {
            write!(f, "\n{:1$} = help: {2}", "", margin, printable(help))?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

/// Returns a line as it is quoted, with the bytes of it that are wrong: of a long one, 200 bytes around these.
fn quoted(line: &str, wrong: Option<Range<usize>>) -> (String, Option<Range<usize>>) {
    const MAX_SHOWN: usize = 200;
    if line.len() <= MAX_SHOWN {
        return (line.to_owned(), wrong);
    }
    let centre = wrong.as_ref().map_or(0, |wrong| wrong.start);
    let from = centre
        .saturating_sub(MAX_SHOWN / 4)
        .min(line.len() - MAX_SHOWN);
    let from = line.floor_char_boundary(from);
    let to = line.floor_char_boundary(from + MAX_SHOWN);
    let before = if from > 0 { "…" } else { "" };
    let after = if to < line.len() { "…" } else { "" };
    let shown = format!("{before}{}{after}", &line[from..to]);
    let shift = |at: usize| at.clamp(from, to) - from + before.len();
    (
        shown,
        wrong.map(|wrong| shift(wrong.start)..shift(wrong.end)),
    )
}

/// Returns the carets that point at some bytes of a line from below, at least one; tabs stay tabs.
pub fn carets(line: &str, place: Range<usize>) -> String {
    let mut below = String::new();
    for c in line.get(..place.start).unwrap_or(line).chars() {
        match c {
            '\t' => below.push('\t'),
            c => below.push_str(&" ".repeat(c.width().unwrap_or(0))),
        }
    }
    let marked = line.get(place).unwrap_or("").width();
    below + &"^".repeat(marked.max(1))
}

/// The words with which `response:ensure()` raises, before the reason why the request failed.
pub const NOT_AS_EXPECTED: &str = "the response is not as expected: ";

/// Returns the first 200 bytes of a response body that is JSON or plain text, which usually names the problem; `None`
/// for any other body.
pub fn excerpt(content_type: Option<&str>, body: &[u8]) -> Option<String> {
    const MAX_SHOWN: usize = 200;
    let kind = content_type.unwrap_or_default().to_ascii_lowercase();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let is_text = match kind {
        "" => matches!(body.trim_ascii_start().first(), Some(b'{' | b'[')),
        kind => kind.starts_with("text/plain") || kind.ends_with("json"),
    };
    let body = body.trim_ascii();
    if !is_text || body.is_empty() {
        return None;
    }
    let mut start = beginning(body, MAX_SHOWN).into_owned();
    if body.len() > MAX_SHOWN {
        start.push('…');
    }
    Some(start)
}

/// Words of other load testers, and ours for the same.
const WORDS_ELSEWHERE: [(&str, &str); 35] = [
    ("VUs", "users"),
    ("vus", "users"),
    ("num_users", "users"),
    ("duration", "run_time"),
    ("test_time", "run_time"),
    ("spawn_rate", "hatch_rate"),
    ("ramp_up", "hatch_rate"),
    ("rampUp", "hatch_rate"),
    ("arrival_rate", "rate"),
    ("arrivalRate", "rate"),
    ("rps", "throttle_requests"),
    ("loops", "iterations"),
    ("target", "host"),
    ("base_url", "host"),
    ("baseUrl", "host"),
    ("baseURL", "host"),
    ("min_wait", "wait"),
    ("max_wait", "wait"),
    ("wait_time", "wait"),
    ("think_time", "wait"),
    ("think", "wait"),
    ("pause", "wait"),
    ("sleep", "wait"),
    ("group", "transaction"),
    ("max_redirects", "redirects"),
    ("maxRedirects", "redirects"),
    ("follow_redirects", "redirects"),
    ("allow_redirects", "redirects"),
    ("params", "query"),
    ("payload", "json"),
    ("catch_response", "expect"),
    ("checks", "expect"),
    ("discardResponseBodies", "discard"),
    ("status_code", "status"),
    ("del", "delete"),
];

/// Returns the candidate that `word` was most likely meant to be, if one is near enough to be worth suggesting.
/// Near: a Damerau-Levenshtein distance of at most a third of the longer word, at least one.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// No candidate is so long; the distance takes the square of the length.
    const MAX_WORD: usize = 100;
    if word.len() > MAX_WORD {
        return None;
    }
    let elsewhere = WORDS_ELSEWHERE.iter().filter(|(theirs, _)| *theirs == word);
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let mut known = elsewhere.filter_map(|(_, ours)| candidates.iter().find(|one| *one == ours));
    if let Some(ours) = known.next() {
        return Some(ours);
    }
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= (word.len().max(candidate.len()) / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnostic_quotes_the_line_and_names_the_remedy() {
        let text = Diagnostic::new("unknown field 'wieght' in task 'front page'")
            .at(
                "plans/drupal.lua",
                Some(2),
                "plan {}\n  task { wieght = 10 },\n",
            )
            .help("did you mean 'weight'?")
            .to_string();
        assert_eq!(
            text,
            "error: unknown field 'wieght' in task 'front page'\n --> plans/drupal.lua:2\n  |\n2 |   task { wieght = 10 },\n  = help: did you mean 'weight'?"
        );
    }

    #[test]
    fn carets_stand_below_the_bytes_that_are_wrong() {
        let text = Diagnostic::new("unknown unit 'sec'")
            .mark("p95 < 3sec", 7..10)
            .at(
                "p.lua",
                Some(1),
                "\tplan { thresholds = { \"p95 < 3sec\" } }",
            )
            .to_string();
        assert!(
            text.ends_with("3sec\" } }\n  | \t                              ^^^"),
            "{text}"
        );
        let long = format!("{}p95 < 3sec{}", "é".repeat(500_000), "x".repeat(1_000_000));
        let text = Diagnostic::new("unknown unit 'sec'")
            .mark("p95 < 3sec", 7..10)
            .at("p.lua", Some(1), &long)
            .to_string();
        let (quoted, below) = text.rsplit_once('\n').expect("two lines");
        let before = &below[..below.find('^').expect("carets")];
        assert_eq!(below.len() - before.len(), 3);
        let quoted = quoted.rsplit_once('\n').expect("a line").1;
        let marked: String = quoted.chars().skip(before.chars().count()).collect();
        assert!(marked.starts_with("secxx"), "{text}");
        assert!(quoted.len() < 220, "{text}");
        assert_eq!(carets("é: p95", 4..4), "   ^");
        assert_eq!(carets("検索: x", 8..9), "      ^");
    }

    #[test]
    fn the_nearest_word_is_found_and_a_far_one_is_not() {
        let fields = ["weight", "sequence", "wait"];
        assert_eq!(nearest("wieght", fields), Some("weight"));
        assert_eq!(nearest("colour", fields), None);
    }

    #[test]
    fn a_response_in_json_or_text_is_quoted_from_its_beginning() {
        let json = "{\"error\":\"sold out\"}";
        for (kind, body, expected) in [
            (Some("application/json"), json, Some(json)),
            (
                Some("application/problem+JSON; charset=utf-8"),
                json,
                Some(json),
            ),
            (Some("text/plain"), " no such user\n", Some("no such user")),
            (Some("text/html"), "<p>no", None),
            (Some("image/png"), json, None),
            (Some("text/plain"), " \n", None),
            (None, json, Some(json)),
            (None, "words", None),
        ] {
            let quoted = excerpt(kind, body.as_bytes());
            assert_eq!(quoted.as_deref(), expected, "{kind:?} {body}");
        }
        let long = excerpt(Some("text/plain"), "ä".repeat(150).as_bytes()).expect("a text");
        assert_eq!(long, format!("{}…", "ä".repeat(100)));
    }
}
