//! What is wrong with a run, as somebody asks at night: since when, where, why, and whether it is lgoose itself.
//!
//! Made from the figures of a report or of a running test; the views only draw it.

use super::figures::{share, time};
use super::line::one_line;
use super::thresholds::threshold_figure;
use crate::metrics::{Check, ErrorRow, GeneratorRow, Report, Snapshot, ThresholdRow};
use crate::units::{show_count, show_long};
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;
use std::time::Duration;

/// The most places and causes that are named; the rest is counted.
const MOST: usize = 3;
/// The most characters of a place or a cause.
const LONGEST: usize = 200;
/// The share of failures from which on a name counts as failing, and not as one with a few failures.
const FAILING: f64 = 0.01;
/// The share of a latency from which on lgoose itself has a part in it.
const OWN: f64 = 0.1;
/// Seconds without the error after which it counts as over.
const OVER_S: f64 = 10.0;

/// What is wrong with a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Diagnosis {
    /// Whether something fails for more than a few, or a limit is broken.
    pub(crate) is_failing: bool,
    /// When it began, and when it ended if it has, in seconds since the start of the measurement.
    pub(crate) since_s: Option<f64>,
    pub(crate) until_s: Option<f64>,
    /// Where, the worst first: `POST checkout 50% fail`, `GET report p95 896 ms (limit 500 ms)`.
    pub(crate) places: Vec<String>,
    /// Why, the most frequent first: `status 503 Service Unavailable ×351`.
    pub(crate) causes: Vec<String>,
    /// What lgoose itself has to do with it.
    pub(crate) generator: Option<GeneratorPart>,
}

/// What lgoose itself has to do with a failing run, in words.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum GeneratorPart {
    Innocent(String),
    Bottleneck(String),
}

/// Something of which runs, requests or checks fail.
struct FailingRow {
    label: String,
    failures: u64,
    /// How many there were, if that is counted.
    count: Option<u64>,
}

impl FailingRow {
    /// Returns the share that failed, from 0 to 1; that of all where they are not counted.
    fn share(&self) -> f64 {
        let count = self.count.map_or(self.failures, |count| count.max(1));
        self.failures as f64 / count as f64
    }

    /// Returns the row as a place: `POST checkout 50% fail`.
    fn text(&self) -> String {
        match self.count {
            Some(count) => format!("{} {} fail", self.label, share(self.failures, count)),
            None => format!("{} failed ×{}", self.label, show_count(self.failures)),
        }
    }
}

/// What a diagnosis is made from.
struct Symptoms<'a> {
    failing: Vec<FailingRow>,
    errors: &'a [ErrorRow],
    thresholds: &'a [ThresholdRow],
    now_s: f64,
    generator: Option<GeneratorPart>,
}

impl Diagnosis {
    /// Returns what was wrong with a run, if anything was.
    pub(crate) fn of_report(report: &Report) -> Option<Diagnosis> {
        let requests = report.requests.iter().map(|row| FailingRow {
            label: request_label(&row.method, &row.name),
            failures: row.figures.failures,
            count: Some(row.figures.count),
        });
        let tasks = report
            .tasks
            .iter()
            .map(|task| task_row(&task.name, task.failures, task.runs, &report.errors));
        let failing = requests
            .chain(tasks.flatten())
            .chain(checks(&report.checks));
        let p99 = report.aggregated.latency_ms.map(|latency| latency.p99);
        Symptoms {
            failing: failing.filter(|row| row.failures > 0).collect(),
            errors: &report.errors,
            thresholds: &report.thresholds,
            now_s: report.elapsed_s,
            generator: report.generator.as_ref().map(|row| own_part(row, p99)),
        }
        .diagnosis()
    }

    /// Returns what is wrong with a running test, if anything is.
    pub(crate) fn of_snapshot(snapshot: &Snapshot) -> Option<Diagnosis> {
        let requests = snapshot.requests.rows.iter().map(|row| FailingRow {
            label: request_label(&row.method, &row.name),
            failures: row.failures,
            count: Some(row.count),
        });
        let tasks = own_errors(&snapshot.errors).filter(|row| row.name.starts_with("task "));
        let tasks = tasks.map(|row| FailingRow {
            label: line(&row.name),
            failures: row.count,
            count: None,
        });
        let failing = requests.chain(tasks).chain(checks(&snapshot.checks));
        let last = snapshot.recent.last();
        let is_slow = last.is_some_and(|last| last.generator.saturated);
        Symptoms {
            failing: failing.filter(|row| row.failures > 0).collect(),
            errors: &snapshot.errors,
            // Without a request, none has a figure yet.
            thresholds: if snapshot.requests.total.count > 0 {
                &snapshot.thresholds
            } else {
                &[]
            },
            now_s: snapshot.progress.measured.as_secs_f64(),
            generator: is_slow.then(|| {
                GeneratorPart::Bottleneck("lgoose itself is the bottleneck now".to_owned())
            }),
        }
        .diagnosis()
    }

    /// Returns what is the matter, and since when: `FAILING since +53s | 03:12:41 UTC`. `measured` is when the measurement
    /// began.
    pub(crate) fn heading(&self, measured: Option<Timestamp>) -> String {
        let word = if self.is_failing {
            "FAILING"
        } else {
            "few failures"
        };
        match (self.since_s, self.until_s) {
            (None, _) => word.to_owned(),
            (Some(since), None) => format!("{word} since {}", moment(since, measured)),
            (Some(since), Some(until)) => format!(
                "{word} from {} to {}",
                moment(since, measured),
                moment(until, measured)
            ),
        }
    }

    /// Returns the answers to where, why and whether it is lgoose, each after its word.
    pub(crate) fn answers(&self) -> Vec<(&'static str, String)> {
        let mut answers = vec![("where", self.places.join(" · "))];
        if !self.causes.is_empty() {
            answers.push(("why", self.causes.join(" · ")));
        }
        answers.extend(self.generator.as_ref().map(|part| match part {
            GeneratorPart::Innocent(text) => ("not", text.clone()),
            GeneratorPart::Bottleneck(text) => ("but", text.clone()),
        }));
        answers
    }
}

/// Returns when the measurement of a running test began.
pub(crate) fn measured_until_now(snapshot: &Snapshot) -> Timestamp {
    let lasted = SignedDuration::try_from(snapshot.progress.measured).unwrap_or_default();
    let now = Timestamp::now();
    now.checked_sub(lasted).unwrap_or(now)
}

/// Returns when the measurement of a report began.
pub(crate) fn measured_from(report: &Report) -> Option<Timestamp> {
    let started: Timestamp = report.started.parse().ok()?;
    let origin = SignedDuration::from_nanos(i64::try_from(report.origin_ns).ok()?);
    started.checked_add(origin).ok()
}

impl Symptoms<'_> {
    fn diagnosis(mut self) -> Option<Diagnosis> {
        let broken: Vec<&ThresholdRow> = self
            .thresholds
            .iter()
            .filter(|row| !row.passed && row.value.is_some())
            .collect();
        if self.failing.is_empty() && broken.is_empty() {
            return None;
        }
        self.failing.sort_by(|a, b| {
            let by_share = f64::total_cmp(&b.share(), &a.share());
            by_share.then(b.failures.cmp(&a.failures))
        });
        let is_failing =
            !broken.is_empty() || self.failing.iter().any(|row| row.share() >= FAILING);
        let failing = self.failing.iter().map(FailingRow::text);
        let mut limits: Vec<(f64, String)> = broken
            .iter()
            .map(|row| (excess(row), limit_text(row)))
            .collect();
        limits.sort_by(|(a, _), (b, _)| f64::total_cmp(b, a));
        let places = failing.chain(limits.into_iter().map(|(_, text)| text));
        let causes = self.causes();
        let firsts = own_errors(self.errors).map(|row| row.first_s);
        let since_s = firsts
            .chain(broken.iter().filter_map(|row| row.broken_s))
            .reduce(f64::min);
        let last_s = own_errors(self.errors)
            .map(|row| row.last_s)
            .reduce(f64::max);
        let until_s = last_s.filter(|last| broken.is_empty() && *last + OVER_S < self.now_s);
        Some(Diagnosis {
            is_failing,
            since_s,
            until_s,
            places: first(places.collect()),
            causes,
            generator: self.generator,
        })
    }

    /// Returns why, by message: how often each was seen.
    fn causes(&self) -> Vec<String> {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for row in own_errors(self.errors) {
            *counts.entry(&row.message).or_default() += row.count;
        }
        let mut counts: Vec<(&str, u64)> = counts.into_iter().collect();
        counts.sort_by(|(a, left), (b, right)| right.cmp(left).then(a.cmp(b)));
        let causes = counts.into_iter();
        let causes = causes.map(|(message, count)| match count {
            1 => line(message),
            count => format!("{} ×{}", line(message), show_count(count)),
        });
        first(causes.collect())
    }
}

/// Returns the errors, without those of tasks that a request ended.
fn own_errors(all: &[ErrorRow]) -> impl Iterator<Item = &ErrorRow> {
    all.iter().filter(|row| row.cause(all).is_none())
}

/// Returns the first of several, and how many more there are.
fn first(mut all: Vec<String>) -> Vec<String> {
    if all.len() > MOST {
        let more = all.split_off(MOST).len();
        all.push(format!("{more} more"));
    }
    all
}

/// Returns a task as something that fails, unless all of its failures are those of its requests.
fn task_row(name: &str, failures: u64, count: u64, errors: &[ErrorRow]) -> Option<FailingRow> {
    let name_of_error = format!("task {name}");
    let is_own = own_errors(errors).any(|row| row.name == name_of_error);
    is_own.then(|| FailingRow {
        label: line(&name_of_error),
        failures,
        count: Some(count),
    })
}

fn checks(checks: &[Check]) -> impl Iterator<Item = FailingRow> {
    checks.iter().map(|check| FailingRow {
        label: format!("check '{}'", line(&check.name)),
        failures: check.failures,
        count: Some(check.passes + check.failures),
    })
}

fn request_label(method: &str, name: &str) -> String {
    line(&format!("{method} {name}"))
}

/// Returns how far a figure is beyond its limit, as a share of it.
fn excess(row: &ThresholdRow) -> f64 {
    let value = row.value.unwrap_or_default();
    let is_least = row.threshold.contains(" > ") || row.threshold.contains(" >= ");
    let (more, less) = if is_least {
        (row.limit, value)
    } else {
        (value, row.limit)
    };
    more / less.max(f64::MIN_POSITIVE)
}

/// Returns a broken threshold as a place: `GET report p95 896 ms (limit < 500ms)`.
fn limit_text(row: &ThresholdRow) -> String {
    let (figure, limit) = row.figure_and_limit();
    let name = row.name.as_deref().map(|name| format!("{name} "));
    line(&format!(
        "{}{figure} {} (limit {limit})",
        name.unwrap_or_default(),
        threshold_figure(row)
    ))
}

/// Returns a moment of the run, and its wall clock: `+53s | 03:12:41 UTC`.
fn moment(seconds: f64, started: Option<Timestamp>) -> String {
    let duration = Duration::try_from_secs_f64(seconds.floor()).unwrap_or_default();
    let run = format!("+{}", show_long(duration));
    let clock = started.and_then(|started| {
        let at = started
            .checked_add(SignedDuration::from_secs_f64(seconds))
            .ok()?;
        Some(at.strftime("%H:%M:%S").to_string())
    });
    match clock {
        Some(clock) => format!("{run} | {clock} UTC"),
        None => run,
    }
}

/// Returns what lgoose itself has to do with it.
fn own_part(row: &GeneratorRow, p99_ms: Option<f64>) -> GeneratorPart {
    if row.saturated_s > 0.0 {
        return GeneratorPart::Bottleneck(format!(
            "lgoose itself was the bottleneck in {} of {} s",
            show_count(row.saturated_s.round() as u64),
            show_count(row.judged_s.max(row.saturated_s).round() as u64)
        ));
    }
    match p99_ms.zip(row.own_p99_ms) {
        None => GeneratorPart::Innocent("lgoose, which kept up".to_owned()),
        Some((p99, own)) => {
            let text = format!("lgoose ({} of p99 {})", time(own), time(p99));
            if own > p99 * OWN {
                GeneratorPart::Bottleneck(text)
            } else {
                GeneratorPart::Innocent(text)
            }
        }
    }
}

/// Returns a text from a plan or a site as one short line.
fn line(text: &str) -> String {
    // What is cut off need not be made safe: each character of it becomes at least one.
    let start: String = text.chars().take(LONGEST + 1).collect();
    let safe = one_line(&start);
    match safe.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &safe[..end]),
        None => safe,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{LiveRequests, LiveRow, Progress, RequestRow};

    fn error(name: &str, message: &str, count: u64, (first_s, last_s): (f64, f64)) -> ErrorRow {
        let row = serde_json::json!({
            "count": count, "name": name, "message": message, "line": null, "first_s": first_s, "last_s": last_s,
        });
        serde_json::from_value(row).expect("an error")
    }

    fn request(method: &str, name: &str, failures: u64, count: u64) -> RequestRow {
        let figures = serde_json::to_value(crate::metrics::Figures {
            count,
            failures,
            ..Default::default()
        });
        let mut row = figures.expect("JSON");
        row["method"] = method.into();
        row["name"] = name.into();
        serde_json::from_value(row).expect("a row")
    }

    fn limit(name: Option<&str>, threshold: &str, unit: &str, figures: (f64, f64)) -> ThresholdRow {
        ThresholdRow {
            threshold: threshold.to_owned(),
            name: name.map(str::to_owned),
            value: Some(figures.0),
            limit: figures.1,
            unit: unit.to_owned(),
            passed: false,
            broken_s: None,
        }
    }

    #[test]
    fn a_run_without_failures_and_broken_limits_has_none() {
        let mut report = Report {
            requests: vec![request("GET", "front", 0, 100)],
            ..Report::default()
        };
        assert_eq!(Diagnosis::of_report(&report), None);
        let held = ThresholdRow {
            passed: true,
            ..limit(None, "p95 < 300ms", "ms", (100.0, 300.0))
        };
        report.thresholds = vec![held];
        assert_eq!(Diagnosis::of_report(&report), None);
    }

    #[test]
    fn the_worst_comes_first_with_its_begin_and_its_reasons() {
        let report = Report {
            started: "2026-05-04T03:11:47.900Z".to_owned(),
            origin_ns: 1_200_000_000,
            elapsed_s: 60.0,
            requests: vec![
                request("GET", "front", 0, 1_000),
                request("GET", "search", 1, 1_000),
                request("POST", "checkout", 351, 702),
            ],
            errors: vec![
                error(
                    "POST checkout",
                    "status 503 Service Unavailable",
                    350,
                    (52.25, 59.75),
                ),
                error(
                    "task buy",
                    "the response is not as expected: status 503 Service Unavailable",
                    350,
                    (52.25, 59.75),
                ),
                error("POST checkout", "timed out after 4.9 s", 1, (55.0, 55.0)),
                error("GET search", "timed out after 4.9 s", 1, (53.0, 53.0)),
            ],
            thresholds: vec![
                limit(Some("GET report"), "p95 < 500ms", "ms", (896.0, 500.0)),
                limit(None, "rate > 100/s", "/s", (99.0, 100.0)),
            ],
            ..Report::default()
        };
        let diagnosis = Diagnosis::of_report(&report).expect("it fails");
        assert_eq!(
            diagnosis.heading(measured_from(&report)),
            "FAILING since +52s | 03:12:41 UTC"
        );
        assert_eq!(diagnosis.heading(None), "FAILING since +52s");
        assert_eq!(
            diagnosis.answers(),
            [
                (
                    "where",
                    "POST checkout 50.0% fail · GET search 0.10% fail · GET report p95 896 ms (limit < 500ms) · 1 more".to_owned()
                ),
                (
                    "why",
                    "status 503 Service Unavailable ×350 · timed out after 4.9 s ×2".to_owned()
                ),
            ]
        );
    }

    #[test]
    fn a_few_failures_that_are_over_have_an_end() {
        let report = Report {
            elapsed_s: 600.0,
            requests: vec![request("GET", "front", 3, 10_000)],
            errors: vec![error("GET front", "connection reset", 3, (61.0, 75.5))],
            ..Report::default()
        };
        let diagnosis = Diagnosis::of_report(&report).expect("some failed");
        assert!(!diagnosis.is_failing);
        assert_eq!(diagnosis.heading(None), "few failures from +1m1s to +1m15s");
    }

    #[test]
    fn a_task_that_fails_of_itself_and_a_check_are_places_too() {
        let mut snapshot = Snapshot {
            progress: Progress {
                measured: Duration::from_secs(20),
                ..Progress::default()
            },
            requests: LiveRequests {
                rows: vec![LiveRow {
                    method: "GET".into(),
                    name: "front".into(),
                    count: 67,
                    ..LiveRow::default()
                }],
                ..LiveRequests::default()
            },
            errors: vec![error("task buy", "this is not JSON", 67, (0.5, 19.75))],
            ..Snapshot::default()
        };
        let diagnosis = Diagnosis::of_snapshot(&snapshot).expect("it fails");
        assert_eq!(diagnosis.places, ["task buy failed ×67"]);
        assert_eq!(diagnosis.causes, ["this is not JSON ×67"]);
        assert!(diagnosis.is_failing);
        let check = serde_json::json!({ "name": "is tea", "passes": 1, "failures": 9 });
        snapshot.errors.clear();
        snapshot.checks = [serde_json::from_value(check).expect("a check")].into();
        let diagnosis = Diagnosis::of_snapshot(&snapshot).expect("it fails");
        assert_eq!(diagnosis.places, ["check 'is tea' 90.0% fail"]);
        assert_eq!(diagnosis.heading(None), "FAILING");
    }

    #[test]
    fn texts_of_a_site_are_short_and_harmless() {
        let message = format!("a\nb\u{202e}{}", "x".repeat(1_000_000));
        let report = Report {
            requests: vec![request("GET", "front", 1, 1)],
            errors: vec![error("GET front", &message, 1, (0.0, 0.0))],
            ..Report::default()
        };
        let diagnosis = Diagnosis::of_report(&report).expect("it fails");
        let cause = &diagnosis.causes[0];
        assert!(cause.chars().count() <= LONGEST + 1, "{cause}");
        assert!(
            cause.starts_with("a b") && !cause.contains('\u{202e}'),
            "{cause}"
        );
    }
}
