//! Limits on regressions: `[NAME:] FIGURE LIMIT%`, as in `GET /cart: p95 5%`.

use super::figure::Figure;
use super::row::{Row, RowVerdict};
use lgoose_base::error::nearest;
use lgoose_base::units::show_count;
use serde::{Serialize, Serializer};

/// The grammar of a limit, for messages.
pub const GRAMMAR: &str = "write FIGURE LIMIT, such as 'p95 5%' or 'GET /cart: failures 1%'; figures: median p95 p99 mean \
     failures rate, and 'ok' before a percentile, as in 'ok p95', for the successful requests alone; the limit is a share of the figure \
     before; for failures, a share of all requests";

/// The words for figures, with those that thresholds have for them.
const WORDS: [(&str, Figure); 8] = [
    ("median", Figure::Median),
    ("p50", Figure::Median),
    ("p95", Figure::P95),
    ("p99", Figure::P99),
    ("mean", Figure::Mean),
    ("avg", Figure::Mean),
    ("failures", Figure::Failures),
    ("rate", Figure::Rate),
];

/// The most by which a figure may be worse.
#[derive(Debug, Clone, PartialEq)]
pub struct RegressionLimit {
    /// The name that it is about, with or without its method; `None` for the whole and every name.
    name: Option<String>,
    figure: Figure,
    /// The most, in the terms of a row's change.
    pub(super) most: f64,
    text: String,
}

impl Serialize for RegressionLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl RegressionLimit {
    /// Reads a limit. A name ends at the last colon of the text, so it may have some itself.
    ///
    /// # Errors
    /// A sentence about the mistake and the form of a limit.
    pub fn read(text: &str) -> Result<RegressionLimit, String> {
        let (name, rest) = match text.rsplit_once(':') {
            Some((name, rest)) if !name.trim().is_empty() => (Some(name.trim()), rest),
            Some(_) => return Err("a name is missing before the ':'".to_owned()),
            None => (None, text),
        };
        let mut words = rest.split_whitespace().peekable();
        let is_ok = words.next_if_eq(&"ok").is_some();
        let (word, limit) = match (words.next(), words.next(), words.next()) {
            (Some(word), Some(limit), None) => (word, limit),
            (None, ..) => return Err("a figure is missing".to_owned()),
            (Some(_), None, _) => return Err("a limit is missing".to_owned()),
            (.., Some(more)) => return Err(format!("'{more}' is one word too many")),
        };
        let Some((_, figure)) = WORDS.iter().find(|(key, _)| *key == word) else {
            let near = nearest(word, WORDS.map(|(key, _)| key));
            let near = near.map_or_else(String::new, |near| format!(", did you mean '{near}'?"));
            return Err(format!("'{word}' is not a figure that is compared{near}"));
        };
        let figure = if is_ok {
            figure.of_ok().ok_or_else(|| {
                format!("'ok' cannot be before '{word}', only before a percentile")
            })?
        } else {
            *figure
        };
        let Some(number) = limit.strip_suffix('%') else {
            return Err(format!("'{limit}' needs a '%'"));
        };
        let percent = number.parse::<f64>().ok();
        let percent = percent.filter(|percent| (0.0..=1e6).contains(percent));
        let Some(percent) = percent else {
            return Err(format!("'{number}' is not a number from 0 to 1000000"));
        };
        Ok(RegressionLimit {
            name: name.map(str::to_owned),
            figure,
            most: percent / 100.0,
            text: text.trim().to_owned(),
        })
    }

    /// Returns whether it is about a row.
    pub(super) fn concerns(&self, row: &Row) -> bool {
        // Without failures, the successful requests are all of them.
        let of_ok = row.figure.of_ok().filter(|_| row.without_failures);
        self.names(row) && (self.figure == row.figure || of_ok == Some(self.figure))
    }

    /// Returns whether a row is held to it: those that it is about and, for a percentile of all requests, that of the
    /// successful ones.
    pub(super) fn holds(&self, row: &Row) -> bool {
        self.concerns(row) || (self.names(row) && self.figure.of_ok() == Some(row.figure))
    }

    fn names(&self, row: &Row) -> bool {
        self.name.as_ref().is_none_or(|expected| {
            row.name.as_ref().is_some_and(|name| {
                let method = row.method.as_deref().unwrap_or_default();
                expected == name || *expected == format!("{method} {name}")
            })
        })
    }

    /// Returns why the limit cannot be judged by the rows, if that is so: a limit that nothing is held to must not pass,
    /// nor one on what one side had and the other had not, nor one that may be broken and has too few runs to say so.
    pub(super) fn unjudged(&self, rows: &[Row]) -> Option<String> {
        let mut rows = rows.iter().filter(|row| self.concerns(row)).peekable();
        if rows.peek().is_none() {
            let name = self.name.as_deref().unwrap_or_default();
            return Some(format!(
                "nothing was requested under the name of the limit '{}': '{name}'",
                self.text
            ));
        }
        let rows: Vec<&Row> = rows.collect();
        if rows.iter().all(|row| row.verdict == RowVerdict::TooFewData) {
            return Some(format!(
                "there is too little data for the limit '{}'",
                self.text
            ));
        }
        let few_runs = rows.iter().find(|row| {
            let is_beyond = row.worsening().is_some_and(|worse| worse > self.most);
            row.verdict == RowVerdict::TooFewRuns && is_beyond
        });
        if let Some(row) = few_runs {
            let needed = row.runs_needed.map_or_else(String::new, |runs| {
                format!("; {runs} runs of each side would be enough ('--repeat {runs}')")
            });
            return Some(format!(
                "the limit '{}' cannot be judged for {}: it is worse by more than that, and there are too few runs to tell \
                 whether by chance{needed}",
                self.text,
                row.title()
            ));
        }
        let one_sided = rows.iter().find(|row| row.has_one_side())?;
        let [before, after] = one_sided.requests.map(show_count);
        let name = one_sided.title();
        Some(format!(
            "the limit '{}' cannot be judged for {name}: {before} requests before and {after} after",
            self.text
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_with_and_without_a_name() {
        for (text, name, figure, most) in [
            ("p95 5%", None, Figure::P95, 0.05),
            (
                " GET /a:b: failures 0.5% ",
                Some("GET /a:b"),
                Figure::Failures,
                0.005,
            ),
            ("p50 0%", None, Figure::Median, 0.0),
            ("avg 150%", None, Figure::Mean, 1.5),
            ("rate 10%", None, Figure::Rate, 0.1),
            ("ok p95 5%", None, Figure::OkP95, 0.05),
            ("a: ok p50 5%", Some("a"), Figure::OkMedian, 0.05),
        ] {
            let limit = RegressionLimit::read(text).expect(text);
            assert_eq!(limit.name.as_deref(), name);
            assert_eq!((limit.figure, limit.most), (figure, most));
        }
    }

    #[test]
    fn a_mistake_is_reported_with_the_grammar() {
        for (text, message) in [
            ("", "a figure is missing"),
            ("p95", "a limit is missing"),
            ("ok", "a figure is missing"),
            ("ok p95", "a limit is missing"),
            (
                "ok rate 5%",
                "'ok' cannot be before 'rate', only before a percentile",
            ),
            ("p95 5", "'5' needs a '%'"),
            ("p95 < 5%", "'5%' is one word too many"),
            ("p95 -5%", "'-5' is not a number"),
            ("p95 NaN%", "'NaN' is not a number"),
            (
                "p96 5%",
                "'p96' is not a figure that is compared, did you mean 'p95'?",
            ),
            (": p95 5%", "a name is missing"),
        ] {
            let error = RegressionLimit::read(text).expect_err(text);
            assert!(error.starts_with(message), "{text}: {error}");
        }
    }
}
