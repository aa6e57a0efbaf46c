//! The text of a threshold: `[NAME:] FIGURE < LIMIT [during D] [abort] [after D]`. Every mistake is located in the
//! text.

use super::{ByteUnit, Comparator, FigureKind, LatencySubset, Threshold, Unit};
use crate::error::{bounded_name, nearest};
use crate::phases::TimedPart;
use crate::tags::split_selector;
use crate::units;
use std::ops::Range;
use std::time::Duration;

/// The grammar of a threshold, for messages.
pub const GRAMMAR: &str = "write FIGURE < LIMIT, such as 'p95 < 300ms' or 'GET /cart: failures < 1%'; figures: \
     p50 p75 p90 p95 p98 p99 p99.9 p99.99 avg min max failures rate count checks value oldest bytes dropped; 'ok', \
     'corrected', 'first_event', 'event_gap' or a phase such as 'first_byte' may stand before a latency; units: us ms s % /s, of bytes KB MB KiB MB/s \
     and the like";

/// The words for figures other than percentiles.
const FIGURES: [(&str, FigureKind); 11] = [
    ("avg", FigureKind::Avg),
    ("min", FigureKind::Min),
    ("max", FigureKind::Max),
    ("failures", FigureKind::Failures),
    ("rate", FigureKind::Rate),
    ("count", FigureKind::Count),
    ("checks", FigureKind::Checks),
    ("value", FigureKind::Value),
    ("oldest", FigureKind::Oldest),
    ("bytes", FigureKind::Bytes),
    ("dropped", FigureKind::Dropped),
];

/// Words for figures in other tools, with ours.
const ELSEWHERE: [(&[&str], &str); 9] = [
    (&["mean", "average"], "avg"),
    (&["median", "med", "percentile"], "p50"),
    (
        &[
            "errors",
            "error",
            "error_rate",
            "failure",
            "failed",
            "fails",
            "http_req_failed",
            "failure_rate",
        ],
        "failures",
    ),
    (
        &["rps", "throughput", "requests_per_second", "reqs"],
        "rate",
    ),
    (&["requests", "hits", "iterations", "http_reqs"], "count"),
    (
        &[
            "response_time",
            "latency",
            "duration",
            "http_req_duration",
            "time",
            "responseTime",
        ],
        "p95",
    ),
    (&["minimum"], "min"),
    (&["maximum"], "max"),
    (&["data_received"], "bytes"),
];

/// Returns our figure for one of another tool, such as `mean`, `p(95)` or `95th`.
fn figure_elsewhere(word: &str) -> Option<String> {
    let known = ELSEWHERE.iter().find(|(words, _)| words.contains(&word));
    if let Some((_, ours)) = known {
        return Some((*ours).to_owned());
    }
    let percent = word
        .strip_prefix("p(")
        .and_then(|word| word.strip_suffix(')'))
        .or_else(|| word.strip_suffix("th"))
        .or_else(|| word.strip_prefix("p_"))
        .or_else(|| word.strip_prefix("percentile"));
    let percent = percent.filter(|percent| decimal(percent).is_some())?;
    Some(format!("p{percent}"))
}

/// A mistake in the text of a threshold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThresholdMistake {
    /// The message: one lower-case sentence.
    pub message: String,
    /// The bytes of the text that are wrong.
    pub place: Range<usize>,
}

impl ThresholdMistake {
    fn new(message: impl Into<String>, place: Range<usize>) -> ThresholdMistake {
        ThresholdMistake {
            message: message.into(),
            place,
        }
    }
}

/// Reads a threshold. A name ends at the last colon of the text, so it may have some itself.
///
/// # Errors
/// The mistake and its place. [`Threshold::check`] finds whether the parts fit together.
pub(super) fn read(text: &str) -> Result<Threshold, ThresholdMistake> {
    match text.rfind(':') {
        None => limit(None, text, 0),
        Some(colon) => match text[..colon].trim() {
            "" => Err(ThresholdMistake::new(
                "a name is missing before the ':'",
                0..colon + 1,
            )),
            name => limit(Some(name), text, colon + 1),
        },
    }
}

/// Reads a threshold whose name is known already.
///
/// # Errors
/// As [`read`].
pub(super) fn read_for(name: &str, text: &str) -> Result<Threshold, ThresholdMistake> {
    match text.rfind(':') {
        None => limit(Some(name), text, 0),
        Some(colon) => {
            let message = "the name stands in [\"…\"] already";
            Err(ThresholdMistake::new(message, 0..colon + 1))
        }
    }
}

fn limit(name: Option<&str>, text: &str, from: usize) -> Result<Threshold, ThresholdMistake> {
    if let Some(message) = name.and_then(foreign_name) {
        return Err(ThresholdMistake::new(message, 0..text.len()));
    }
    let mut reader = ThresholdParser { text, at: from };
    let (among, part, figure) = reader.figure_of()?;
    let comparison = reader.comparison()?;
    let (limit, number) = reader.number()?;
    let (unit, place) = reader.unit()?;
    let mut threshold = Threshold {
        name: name.map(name_of_row),
        among,
        part,
        figure,
        comparison,
        limit,
        unit,
        during: None,
        abort: false,
        after: None,
        of_left_out: false,
    };
    fits(&threshold, number, place)?;
    reader.options(&mut threshold)?;
    Ok(threshold)
}

/// Returns the mistake in a name that is a metric of k6, or that has no comma after its tags; `None` for others. As the name
/// of a row it would have no data, which only the end of a run shows.
fn foreign_name(name: &str) -> Option<String> {
    let tagged = [" metric ", " check "].into_iter().find_map(|word| {
        let (tag, called) = name.split_once(word)?;
        let is_tag = split_selector(tag)?.1.is_empty() && !tag.trim_end().ends_with(',');
        is_tag.then(|| format!("{tag},{word}{called}"))
    });
    if let Some(right) = tagged {
        return Some(format!(
            "'{name}' has no comma after its tag: write '{right}'"
        ));
    }
    let ours = match name.split('{').next()? {
        "http_req_failed" => "\"failures < 1%\" without a name",
        "http_reqs" => "\"rate > 10/s\" without a name",
        "iteration_duration" => "\"iterations: p95 < 10s\"",
        "group_duration" => "the name of the transaction, as in \"checkout: p95 < 1s\"",
        "http_req_waiting" => "\"first_byte p95 < 300ms\" without a name",
        other if other.starts_with("http_req_") => "\"p95 < 300ms\" without a name",
        _ => return None,
    };
    Some(format!("'{name}' is a metric of k6: write {ours}"))
}

/// Returns a name as rows are called: a long one is replaced in them, but for the method or kind before it.
fn name_of_row(name: &str) -> String {
    let is_kind = |word: &str| {
        matches!(word, "task" | "check" | "metric") || word.bytes().all(|b| b.is_ascii_uppercase())
    };
    match name.split_once(' ').filter(|(word, _)| is_kind(word)) {
        Some((kind, rest)) => format!("{kind} {}", bounded_name(rest)),
        None => bounded_name(name).into_owned(),
    }
}

/// Checks that the figure can have that unit. Numbers of a custom metric have none.
fn fits(
    threshold: &Threshold,
    number: Range<usize>,
    unit: Range<usize>,
) -> Result<(), ThresholdMistake> {
    let figure = threshold.figure;
    let is_time = threshold.unit.per_millisecond().is_some();
    let is_plain = threshold.unit == Unit::None;
    let is_share = threshold.unit == Unit::Percent;
    let (fits, units) = match figure {
        FigureKind::Percentile(_) | FigureKind::Avg | FigureKind::Min | FigureKind::Max => (
            is_time || is_plain && threshold.name.is_some() && threshold.part.is_none(),
            "'us', 'ms' or 's'",
        ),
        FigureKind::Failures | FigureKind::Dropped => {
            (is_share || is_plain, "'%', or none for a number of them")
        }
        FigureKind::Rate => (
            is_share || threshold.unit == Unit::PerSecond,
            "'/s', or '%' for a share",
        ),
        FigureKind::Count => (is_plain, "none"),
        FigureKind::Checks => (is_share, "'%'"),
        FigureKind::Value => (is_share || is_plain, "none, or '%' for a share"),
        FigureKind::Oldest => (is_time, "'us', 'ms' or 's'"),
        FigureKind::Bytes => (
            matches!(threshold.unit, Unit::Size(_) | Unit::SizePerSecond(_)),
            "'KB', 'MB', 'GB' or 'B', and the same with '/s'",
        ),
    };
    // A share that is written as a fraction.
    let is_fraction = is_plain && threshold.limit > 0.0 && threshold.limit <= 1.0;
    let as_share = |figure: &str| {
        let percent = (threshold.limit * 1e8).round() / 1e6;
        let comparison = threshold.comparison;
        format!("did you mean '{figure} {comparison} {percent}%'?")
    };
    let is_count = matches!(
        figure,
        FigureKind::Failures | FigureKind::Dropped | FigureKind::Count
    );
    if is_count && is_plain && threshold.limit.fract() != 0.0 {
        let hint = match figure {
            FigureKind::Count => "write a whole number".to_owned(),
            _ if is_fraction => as_share(&figure.to_string()),
            _ => "a share of them is written with '%'".to_owned(),
        };
        let message =
            format!("the limit of '{figure}' is a number of them, and a fraction is none; {hint}");
        return Err(ThresholdMistake::new(message, number));
    }
    if !fits {
        let message = if is_plain && is_fraction && figure == FigureKind::Checks {
            format!(
                "the limit of 'checks' needs a unit: {units}; {}",
                as_share("checks")
            )
        } else if is_plain {
            format!("the limit of '{figure}' needs a unit: {units}")
        } else {
            format!(
                "'{}' is not a unit of '{figure}'; it has {units}",
                threshold.unit
            )
        };
        return Err(ThresholdMistake::new(
            message,
            if is_plain { number } else { unit },
        ));
    }
    if figure == FigureKind::Value && threshold.name.is_none() {
        let message = "'value' is a figure of custom metrics: name one, as in 'orders: value > 10'";
        return Err(ThresholdMistake::new(message, number));
    }
    if figure == FigureKind::Oldest && threshold.name.is_some() {
        let message = "'oldest' is about all requests together: write it without a name";
        return Err(ThresholdMistake::new(message, number));
    }
    let of_other = |name: &str| !name.starts_with("scenario=") || name.contains(',');
    if figure == FigureKind::Dropped && threshold.name.as_deref().is_some_and(of_other) {
        let message = "'dropped' is about all iterations, or with 'scenario=NAME: ' before it about those of one scenario: write \
                       it without another name";
        return Err(ThresholdMistake::new(message, number));
    }
    if is_share && threshold.limit > 100.0 {
        return Err(ThresholdMistake::new(
            "a share is at most 100%",
            number.start..unit.end,
        ));
    }
    if threshold.limit < 0.0 && !is_plain {
        return Err(ThresholdMistake::new("the limit is below zero", number));
    }
    Ok(())
}
/// A reader that goes through a text from left to right.
struct ThresholdParser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> ThresholdParser<'a> {
    /// Returns the next characters that are all `wanted`, after skipping spaces.
    fn take(&mut self, accepts: impl Fn(char) -> bool) -> (&'a str, Range<usize>) {
        let rest = &self.text[self.at..];
        let from = self.at + rest.len() - rest.trim_start().len();
        let rest = &self.text[from..];
        let length = rest.find(|c| !accepts(c)).unwrap_or(rest.len());
        self.at = from + length;
        (&rest[..length], from..self.at)
    }

    fn word(&mut self) -> (&'a str, Range<usize>) {
        self.take(|c| !c.is_whitespace() && !"<>=".contains(c))
    }

    /// Reads a figure, and `ok`, `corrected` or a part before it if one is there.
    fn figure_of(
        &mut self,
    ) -> Result<(LatencySubset, Option<TimedPart>, FigureKind), ThresholdMistake> {
        let (word, place) = self.word();
        let part = TimedPart::all().find(|part| part.name() == word);
        let (among, part) = match (word, part) {
            (_, Some(part)) => (LatencySubset::All, Some(part)),
            ("ok", _) => (LatencySubset::Ok, None),
            ("corrected", _) => (LatencySubset::Corrected, None),
            _ => return Ok((LatencySubset::All, None, self.figure(word, place)?)),
        };
        let (next, next_place) = self.word();
        let figure = self.figure(next, next_place)?;
        match figure {
            FigureKind::Percentile(_) | FigureKind::Avg | FigureKind::Min | FigureKind::Max => {
                Ok((among, part, figure))
            }
            _ => Err(ThresholdMistake::new(
                format!("'{word}' stands before a latency only, such as '{word} p95'"),
                place,
            )),
        }
    }

    fn figure(&self, word: &str, place: Range<usize>) -> Result<FigureKind, ThresholdMistake> {
        if word.is_empty() {
            return Err(ThresholdMistake::new(
                "a figure is missing, such as 'p95'",
                place,
            ));
        }
        if let Some((_, figure)) = FIGURES.iter().find(|(name, _)| *name == word) {
            return Ok(*figure);
        }
        let percent = word.strip_prefix('p').and_then(decimal);
        match percent {
            Some(percent) if percent > 0.0 && percent < 100.0 => {
                Ok(FigureKind::Percentile(percent))
            }
            Some(percent) => Err(ThresholdMistake::new(
                format!(
                    "there is no percentile {percent}; the longest is 'max', the shortest 'min'"
                ),
                place,
            )),
            None => {
                let parts = TimedPart::all().map(TimedPart::name);
                let names = FIGURES.iter().map(|(name, _)| *name).chain(parts);
                let near =
                    figure_elsewhere(word).or_else(|| nearest(word, names).map(str::to_owned));
                let hint =
                    near.map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
                Err(ThresholdMistake::new(
                    format!("unknown figure '{word}'{hint}"),
                    place,
                ))
            }
        }
    }

    fn comparison(&mut self) -> Result<Comparator, ThresholdMistake> {
        let (sign, place) = self.take(|c| "<>=!".contains(c));
        Ok(match sign {
            "<" => Comparator::Less,
            "<=" => Comparator::LessOrEqual,
            ">" => Comparator::Greater,
            ">=" => Comparator::GreaterOrEqual,
            "" => {
                let (word, place) = self.word();
                let found = if word.is_empty() {
                    String::new()
                } else {
                    format!(", not '{word}'")
                };
                let message = format!("expected a comparison here: <, <=, > or >={found}");
                return Err(ThresholdMistake::new(message, place));
            }
            other => {
                let message = format!("'{other}' is not a comparison: write <, <=, > or >=");
                return Err(ThresholdMistake::new(message, place));
            }
        })
    }

    fn number(&mut self) -> Result<(f64, Range<usize>), ThresholdMistake> {
        let (digits, place) = self.take(|c| c.is_ascii_digit() || "-.,_".contains(c));
        if digits.is_empty() {
            let (word, place) = self.word();
            let found = if word.is_empty() {
                String::new()
            } else {
                format!(", not '{word}'")
            };
            return Err(ThresholdMistake::new(
                format!("expected a number here{found}"),
                place,
            ));
        }
        let negative = digits.strip_prefix('-');
        let (sign, plain) = negative.map_or((1.0, digits), |plain| (-1.0, plain));
        match decimal(plain) {
            Some(number) => Ok((sign * number, place)),
            None => Err(ThresholdMistake::new(
                format!("'{digits}' is not a number: write digits and at most one point"),
                place,
            )),
        }
    }

    fn unit(&mut self) -> Result<(Unit, Range<usize>), ThresholdMistake> {
        let start = self.at;
        let (word, place) = self.word();
        let unit = match word {
            "us" | "\u{b5}s" | "\u{3bc}s" => Unit::Microseconds,
            "ms" => Unit::Milliseconds,
            "s" => Unit::Seconds,
            "%" => Unit::Percent,
            "/s" => Unit::PerSecond,
            // The unit is left out, and an option follows.
            "" | "during" | "abort" | "after" => {
                self.at = start;
                return Ok((Unit::None, start..start));
            }
            _ => match size(word) {
                Some(unit) => unit,
                None => {
                    let message = format!(
                        "unknown unit '{word}'; there are us, ms, s, % and /s, and for bytes KB, MB and GB"
                    );
                    return Err(ThresholdMistake::new(message, place));
                }
            },
        };
        Ok((unit, place))
    }

    fn options(&mut self, threshold: &mut Threshold) -> Result<(), ThresholdMistake> {
        loop {
            let (word, place) = self.take(|c| !c.is_whitespace());
            match word {
                "" => return Ok(()),
                "abort" => threshold.abort = true,
                "during" => threshold.during = Some(self.duration(word)?),
                "after" => threshold.after = Some(self.duration(word)?),
                _ => {
                    let message = format!(
                        "'{word}' is not expected here; 'during 30s', 'abort' or 'after 30s' may follow"
                    );
                    return Err(ThresholdMistake::new(message, place));
                }
            }
        }
    }

    fn duration(&mut self, option: &str) -> Result<Duration, ThresholdMistake> {
        let (word, place) = self.take(|c| !c.is_whitespace());
        match word {
            "" => Err(ThresholdMistake::new(
                format!("'{option}' needs a time, such as '{option} 30s'"),
                place,
            )),
            word => units::duration(word).map_err(|problem| ThresholdMistake::new(problem, place)),
        }
    }
}

/// Returns the unit of bytes that a word stands for.
fn size(word: &str) -> Option<Unit> {
    ByteUnit::ALL
        .into_iter()
        .find_map(|size| match size.texts() {
            (alone, _) if alone == word => Some(Unit::Size(size)),
            (_, per_second) if per_second == word => Some(Unit::SizePerSecond(size)),
            _ => None,
        })
}

fn decimal(text: &str) -> Option<f64> {
    let plain = text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests;
