//! The diagnosis of a run: since when it fails, where, why, and whether lgoose itself is the cause.
//!
//! Made from the figures of a report or of a running test; the views only draw it.

use super::thresholds::threshold_figure;
use jiff::{SignedDuration, Timestamp};
use lgoose_base::figures::{share, time};
use lgoose_base::line::{cut_middle, one_line};
use lgoose_base::units::{counted, show_count, show_long};
use lgoose_metrics::{
    Check, ErrorRow, Event, EventKind, GeneratorRow, Report, RequestRow, Snapshot, ThresholdRow,
    saturations,
};
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;
use unicode_width::UnicodeWidthStr as _;

/// The most places and causes that are named; the rest is counted.
const MAX_PARTS: usize = 3;
/// The most characters of a place or a cause.
const MAX_TEXT_CHARS: usize = 200;
/// The share of failures from which on a name counts as failing, and not as one with a few failures; of the time, from which
/// on a run counts as stalled or saturated.
const FAILING: f64 = 0.01;
/// The share of a latency from which on lgoose itself has a part in it.
const OWN: f64 = 0.1;
/// Seconds without the error after which it counts as over.
const OVER_S: f64 = 10.0;

/// The diagnosis of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    trouble: Trouble,
    /// Its beginning, and its end if it has one, in seconds since the start of the measurement.
    since_s: Option<f64>,
    until_s: Option<f64>,
    /// The failing names and broken limits, the worst first: `POST checkout 50% fail`, `GET report p95 896 ms (limit
    /// 500 ms)`.
    places: Vec<String>,
    /// The reasons, the most frequent first: `status 503 Service Unavailable ×351`.
    causes: Vec<String>,
    /// The part of lgoose itself in it.
    generator: Option<GeneratorPart>,
}

/// The kinds of trouble, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    /// More than a few failures of one name, or a broken limit.
    Failing,
    /// No response came to any user for a while.
    Stalled,
    FewFailures,
    /// Lgoose itself set the latency for a while.
    Saturated,
}

/// The part of lgoose itself in a failing run, in words.
#[derive(Debug, Clone, PartialEq)]
enum GeneratorPart {
    Innocent(String),
    Bottleneck(String),
}

impl GeneratorPart {
    fn into_text(self) -> String {
        match self {
            GeneratorPart::Innocent(text) | GeneratorPart::Bottleneck(text) => text,
        }
    }
}

/// A name of which runs, requests or checks fail.
struct FailingRow {
    label: String,
    failures: u64,
    count: u64,
}

impl FailingRow {
    /// Returns the share that failed, from 0 to 1.
    fn share(&self) -> f64 {
        self.failures as f64 / self.count.max(1) as f64
    }

    /// Returns the row as a place: `POST checkout 50% fail`.
    fn text(&self) -> String {
        format!("{} {} fail", self.label, share(self.failures, self.count))
    }
}

/// The figures that a diagnosis is made from.
struct Symptoms<'a> {
    failing: Vec<FailingRow>,
    errors: &'a [ErrorRow],
    checks: &'a [Check],
    thresholds: &'a [ThresholdRow],
    events: Vec<&'a Event>,
    now_s: f64,
    generator: Option<GeneratorPart>,
}

impl Diagnosis {
    /// Returns the diagnosis of a run; `None` if nothing was wrong.
    pub fn of_report(report: &Report) -> Option<Diagnosis> {
        let requests = report.requests.iter().map(|row| FailingRow {
            label: request_label(&row.method, &row.name),
            failures: row.figures.failures,
            count: row.figures.count,
        });
        let tasks = report
            .tasks
            .iter()
            .map(|task| task_row(&task.name, task.failures, task.runs, &report.errors));
        let failing = requests
            .chain(tasks.flatten())
            .chain(checks(&report.checks));
        let p99 = report.aggregated.latency_ok_ms.map(|latency| latency.p99);
        Symptoms {
            failing: failing.filter(|row| row.failures > 0).collect(),
            errors: &report.errors,
            checks: &report.checks,
            events: report.events.iter().collect(),
            thresholds: &report.thresholds,
            now_s: report.elapsed_s,
            generator: report.generator.as_ref().and_then(|row| own_part(row, p99)),
        }
        .diagnosis()
    }

    /// Returns the diagnosis of a running test; `None` if nothing is wrong.
    pub fn of_snapshot(snapshot: &Snapshot) -> Option<Diagnosis> {
        let requests = snapshot.requests.rows.iter().map(|row| FailingRow {
            label: request_label(&row.method, &row.name),
            failures: row.failures,
            count: row.count,
        });
        let tasks = snapshot.tasks.iter();
        let tasks =
            tasks.map(|task| task_row(&task.name, task.failures, task.runs, &snapshot.errors));
        let failing = requests
            .chain(tasks.flatten())
            .chain(checks(&snapshot.checks));
        let last = snapshot.recent.last();
        let is_slow = last.is_some_and(|last| last.generator.saturated);
        let slow = snapshot
            .recent
            .iter()
            .filter(|point| point.generator.saturated);
        let slow_s: f64 = slow.map(|point| point.seconds).sum();
        let seen_s: f64 = snapshot.recent.iter().map(|point| point.seconds).sum();
        let saturated = saturations(&snapshot.recent);
        Symptoms {
            failing: failing.filter(|row| row.failures > 0).collect(),
            errors: &snapshot.errors,
            checks: &snapshot.checks,
            events: snapshot.events.iter().chain(&saturated).collect(),
            // Without a request, none has a figure yet.
            thresholds: if snapshot.requests.total.count > 0 {
                &snapshot.thresholds
            } else {
                &[]
            },
            now_s: snapshot.progress.measured.as_secs_f64(),
            generator: is_slow.then(|| {
                GeneratorPart::Bottleneck(format!(
                    "lgoose itself is the bottleneck, in {} of {} s",
                    show_count(slow_s.round() as u64),
                    show_count(seen_s.round() as u64)
                ))
            }),
        }
        .diagnosis()
    }

    /// Returns whether something fails for more than a few, or a limit is broken.
    pub fn is_failing(&self) -> bool {
        self.trouble == Trouble::Failing
    }

    /// Returns the kind of trouble, and since when: `FAILING since +53s | 03:12:41 UTC`. `measured` is the beginning of
    /// the measurement.
    pub fn heading(&self, measured: Option<Timestamp>) -> String {
        let word = match self.trouble {
            Trouble::Failing => "FAILING",
            Trouble::Stalled => "STALLED",
            Trouble::FewFailures => "few failures",
            Trouble::Saturated => "LGOOSE AT ITS LIMIT",
        };
        match (self.since_s, self.until_s) {
            (None, _) => word.to_owned(),
            (Some(since), None) => format!("{word} since {}", moment(since, measured)),
            (Some(since), Some(until)) if until - since < 1.0 => {
                format!("{word} at {}", moment(since, measured))
            }
            (Some(since), Some(until)) => format!(
                "{word} from {} to {}",
                moment(since, measured),
                moment(until, measured)
            ),
        }
    }

    /// Returns where, why and whether it is lgoose, each after its word.
    pub fn findings(&self) -> Vec<(&'static str, String)> {
        self.findings_within(usize::MAX, usize::MAX)
    }

    /// Returns the same with as many places and causes as fit: places in so many columns, all else in `width`.
    pub fn findings_within(&self, places: usize, width: usize) -> Vec<(&'static str, String)> {
        let mut findings = vec![("where", fitting(&self.places, places))];
        if !self.causes.is_empty() {
            findings.push(("why", fitting(&self.causes, width)));
        }
        findings.extend(self.generator.as_ref().map(|part| match part {
            GeneratorPart::Innocent(text) => ("not", cut_middle(text, width)),
            GeneratorPart::Bottleneck(text) => ("but", cut_middle(text, width)),
        }));
        findings
    }
}

/// Returns the requests of a report as tables list them: those that fail or break a limit first, the worst on top, then all
/// others in the order of the report.
pub fn worst_first(report: &Report) -> Vec<&RequestRow> {
    let broken = report.thresholds.iter().filter(|row| !row.passed);
    let broken: HashSet<&str> = broken.filter_map(|row| row.name.as_deref()).collect();
    let mut rows: Vec<(f64, &RequestRow)> = report
        .requests
        .iter()
        .map(|row| {
            let figures = &row.figures;
            let share = figures.failures as f64 / figures.count.max(1) as f64;
            let is_broken = || {
                broken.contains(&*row.name)
                    || broken.contains(&*format!("{} {}", row.method, row.name))
            };
            let trouble = if !broken.is_empty() && is_broken() {
                share.max(FAILING / 2.0)
            } else {
                share
            };
            (trouble, row)
        })
        .collect();
    rows.sort_by(|(a, _), (b, _)| f64::total_cmp(b, a));
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Returns when the measurement of a running test began.
pub fn measured_until_now(snapshot: &Snapshot) -> Timestamp {
    let lasted = SignedDuration::try_from(snapshot.progress.measured).unwrap_or_default();
    let now = Timestamp::now();
    now.checked_sub(lasted).unwrap_or(now)
}

/// Returns when the measurement of a report began.
pub fn measured_from(report: &Report) -> Option<Timestamp> {
    let started: Timestamp = report.started.parse().ok()?;
    let origin = SignedDuration::from_nanos(i64::try_from(report.origin_ns).ok()?);
    started.checked_add(origin).ok()
}

impl<'a> Symptoms<'a> {
    fn diagnosis(mut self) -> Option<Diagnosis> {
        self.failing.sort_by(|a, b| {
            let by_share = f64::total_cmp(&b.share(), &a.share());
            by_share.then(b.failures.cmp(&a.failures))
        });
        let broken = self.thresholds.iter();
        let broken: Vec<&'a ThresholdRow> = broken
            .filter(|row| !row.passed && row.value.is_some())
            .collect();
        let stalls = self.events_of(EventKind::Silence);
        let saturated = self.events_of(EventKind::Saturation);
        let takes_long = |events: &[&Event]| lasted(events) >= FAILING * self.now_s.max(1.0);
        let trouble = if !broken.is_empty() || self.failing.iter().any(|row| row.share() >= FAILING)
        {
            Trouble::Failing
        } else if takes_long(&stalls) {
            Trouble::Stalled
        } else if !self.failing.is_empty() {
            Trouble::FewFailures
        } else if takes_long(&saturated) {
            Trouble::Saturated
        } else {
            return None;
        };
        let (since_s, until_s) = match trouble {
            Trouble::Stalled => self.span(&stalls),
            Trouble::Saturated => self.span(&saturated),
            Trouble::Failing | Trouble::FewFailures => self.failed_span(&broken),
        };
        let mut places = self.places(&broken);
        let mut causes = self.causes();
        // After the most frequent one: the rest may be cut.
        let at = causes.len().min(1);
        causes.splice(at..at, stalls_text(&stalls));
        if trouble == Trouble::Saturated {
            places.push("lgoose itself, not the site".to_owned());
            let why = "its threads came late to responses".to_owned();
            let generator = self.generator.take();
            causes.push(generator.map_or(why, GeneratorPart::into_text));
        } else if places.is_empty() {
            places.push("all requests".to_owned());
        }
        Some(Diagnosis {
            trouble,
            since_s,
            until_s,
            places: first(places),
            causes: first(causes),
            generator: self.generator,
        })
    }

    fn events_of(&self, kind: EventKind) -> Vec<&'a Event> {
        let all = self.events.iter().copied();
        all.filter(|event| event.kind == kind).collect()
    }

    /// Returns the failing names and the broken limits, the worst first.
    fn places(&self, broken: &[&ThresholdRow]) -> Vec<String> {
        let failing = self.failing.iter().map(FailingRow::text);
        let limits = broken.iter().map(|row| (excess(row), limit_text(row)));
        let mut limits: Vec<(f64, String)> = limits.collect();
        limits.sort_by(|(a, _), (b, _)| f64::total_cmp(b, a));
        failing
            .chain(limits.into_iter().map(|(_, text)| text))
            .collect()
    }

    /// Returns when the first of several events began, and when the last ended if that is a while ago.
    fn span(&self, events: &[&Event]) -> (Option<f64>, Option<f64>) {
        let since = events.iter().map(|event| event.at_s).reduce(f64::min);
        let ends = events
            .iter()
            .map(|event| event.at_s + event.lasted_s.unwrap_or_default());
        let until = ends.reduce(f64::max);
        (since, until.filter(|until| self.is_over(*until)))
    }

    /// Returns when the first failure came and the first limit broke, and when the last came if that is a while ago and no
    /// limit is broken.
    fn failed_span(&self, broken: &[&ThresholdRow]) -> (Option<f64>, Option<f64>) {
        let errors = || own_errors(self.errors);
        let failed_checks = self.checks.iter().filter_map(|check| check.first_failed_s);
        let since = errors()
            .map(|row| row.first_s)
            .chain(failed_checks)
            .chain(broken.iter().filter_map(|row| row.broken_s))
            .reduce(f64::min);
        let has_an_end = broken.is_empty() && self.checks.iter().all(|check| check.failures == 0);
        let last = errors().map(|row| row.last_s).reduce(f64::max);
        (since, last.filter(|last| has_an_end && self.is_over(*last)))
    }

    fn is_over(&self, at_s: f64) -> bool {
        at_s + OVER_S < self.now_s
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
        causes.collect()
    }
}

/// Returns how many seconds several events lasted in all.
fn lasted(events: &[&Event]) -> f64 {
    events.iter().filter_map(|event| event.lasted_s).sum()
}

/// Returns the times without any response in words: `3 silences of up to 4.9 s (first at 52.9 s)`.
fn stalls_text(stalls: &[&Event]) -> Option<String> {
    let (first, others) = stalls.split_first()?;
    if others.is_empty() {
        return Some(line(&first.text));
    }
    let longest = stalls.iter().filter_map(|event| event.lasted_s);
    Some(format!(
        "{} of up to {:.1} s (first at {:.1} s)",
        counted(stalls.len() as u64, "silence"),
        longest.fold(0.0, f64::max),
        first.at_s
    ))
}

/// Returns the errors, without those of tasks that a request ended.
fn own_errors(all: &[ErrorRow]) -> impl Iterator<Item = &ErrorRow> {
    all.iter().filter(|row| row.cause(all).is_none())
}

/// Joins as many parts as fit that many columns; one that does not fit alone loses its middle.
fn fitting(parts: &[String], width: usize) -> String {
    let shown = |most: usize| {
        let more = if most < parts.len() { " · …" } else { "" };
        parts[..most].join(" · ") + more
    };
    let mut fitting = (1..=parts.len())
        .rev()
        .map(shown)
        .filter(|text| text.width() <= width);
    let first = || cut_middle(&shown(parts.len().min(1)), width);
    fitting.next().unwrap_or_else(first)
}

/// Returns the first of several, and how many more there are.
fn first(mut all: Vec<String>) -> Vec<String> {
    if all.len() > MAX_PARTS {
        let more = all.split_off(MAX_PARTS).len();
        all.push(format!("{more} more"));
    }
    all
}

/// Returns a task as something that fails, unless all of its failures are those of its requests.
fn task_row(name: &str, failures: u64, count: u64, errors: &[ErrorRow]) -> Option<FailingRow> {
    let is_own = own_errors(errors).any(|row| row.task() == Some(name));
    is_own.then(|| FailingRow {
        label: line(&format!("task {name}")),
        failures,
        count,
    })
}

fn checks(checks: &[Check]) -> impl Iterator<Item = FailingRow> {
    checks.iter().map(|check| FailingRow {
        label: format!("check '{}'", line(&check.name)),
        failures: check.failures,
        count: check.passes + check.failures,
    })
}

fn request_label(method: &str, name: &str) -> String {
    line(&format!("{method} {name}"))
}

/// Returns how far a figure is beyond its limit, as a share of it.
fn excess(row: &ThresholdRow) -> f64 {
    let value = row.value.unwrap_or_default();
    let is_least = row.parsed().is_some_and(|limit| !limit.is_upper());
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

/// Returns a moment of a report's measurement, and its wall clock: `+53s | 03:12:41 UTC`.
pub fn clock_of(report: &Report, seconds: f64) -> String {
    moment(seconds, measured_from(report))
}

/// Returns a moment of the measurement, and its wall clock if it is known.
fn moment(seconds: f64, started: Option<Timestamp>) -> String {
    let duration = Duration::try_from_secs_f64(seconds.floor()).unwrap_or_default();
    let run = format!("+{}", show_long(duration));
    let clock = started.and_then(|started| {
        let past = SignedDuration::try_from_secs_f64(seconds).ok()?;
        let at = started.checked_add(past).ok()?;
        Some(at.strftime("%H:%M:%S").to_string())
    });
    match clock {
        Some(clock) => format!("{run} | {clock} UTC"),
        None => run,
    }
}

/// Returns the part of lgoose itself, as far as that was measured; `p99_ms` is that of the successful requests.
fn own_part(row: &GeneratorRow, p99_ms: Option<f64>) -> Option<GeneratorPart> {
    if row.saturated_s > 0.0 {
        let limit = row.held_back();
        let limit = limit.map_or_else(String::new, |limit| format!(": {limit}"));
        return Some(GeneratorPart::Bottleneck(format!(
            "lgoose itself was the bottleneck in {} of {} s{limit}",
            show_count(row.saturated_s.round() as u64),
            show_count(row.judged_s.max(row.saturated_s).round() as u64)
        )));
    }
    let (p99, own) = p99_ms.zip(row.own_p99_ms)?;
    let text = format!("lgoose ({} of p99 {})", time(own), time(p99));
    Some(if own > p99 * OWN {
        GeneratorPart::Bottleneck(text)
    } else {
        GeneratorPart::Innocent(text)
    })
}

/// Returns a text from a plan or a site as one short line.
fn line(text: &str) -> String {
    // Each character becomes at least one: the rest of the text need not be made safe.
    let start: String = text.chars().take(MAX_TEXT_CHARS + 1).collect();
    let safe = one_line(&start);
    match safe.char_indices().nth(MAX_TEXT_CHARS) {
        Some((end, _)) => format!("{}…", &safe[..end]),
        None => safe,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lgoose_metrics::{LiveRequests, LiveRow, LiveTask, Progress};

    fn error(name: &str, message: &str, count: u64, first_s: f64, last_s: f64) -> ErrorRow {
        let row = serde_json::json!({
            "count": count, "name": name, "message": message, "line": null, "first_s": first_s, "last_s": last_s,
        });
        serde_json::from_value(row).expect("an error")
    }

    fn request(method: &str, name: &str, failures: u64, count: u64) -> RequestRow {
        let figures = serde_json::to_value(lgoose_metrics::Figures {
            count,
            failures,
            ..Default::default()
        });
        let mut row = figures.expect("JSON");
        row["method"] = method.into();
        row["name"] = name.into();
        serde_json::from_value(row).expect("a row")
    }

    fn limit(
        name: Option<&str>,
        threshold: &str,
        unit: &str,
        value: f64,
        limit: f64,
    ) -> ThresholdRow {
        ThresholdRow {
            threshold: threshold.to_owned(),
            name: name.map(str::to_owned),
            value: Some(value),
            limit,
            unit: unit.to_owned(),
            passed: false,
            broken_s: None,
            subject: None,
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
            ..limit(None, "p95 < 300ms", "ms", 100.0, 300.0)
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
                    52.25,
                    59.75,
                ),
                error(
                    "task buy",
                    "the response is not as expected: status 503 Service Unavailable",
                    350,
                    52.25,
                    59.75,
                ),
                error("POST checkout", "timed out after 4.9 s", 1, 55.0, 55.0),
                error("GET search", "timed out after 4.9 s", 1, 53.0, 53.0),
            ],
            thresholds: vec![
                limit(Some("GET report"), "p95 < 500ms", "ms", 896.0, 500.0),
                limit(None, "rate > 100/s", "/s", 99.0, 100.0),
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
            diagnosis.findings(),
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
    fn the_limit_that_is_missed_by_most_comes_first_whichever_way_it_points() {
        let at_least = limit(Some("queue length"), "min > 50", "", 10.0, 50.0);
        let at_most = limit(None, "p95 < 300ms", "ms", 600.0, 300.0);
        let report = Report {
            thresholds: vec![at_most, at_least],
            ..Report::default()
        };
        let diagnosis = Diagnosis::of_report(&report).expect("they are broken");
        assert_eq!(
            diagnosis.places,
            [
                "queue length min 10 (limit > 50)",
                "p95 600 ms (limit < 300ms)"
            ]
        );
    }

    #[test]
    fn lgoose_has_a_part_only_where_that_was_measured() {
        let generator = GeneratorRow {
            own_p50_ms: None,
            own_p99_ms: None,
            saturated_s: 0.0,
            judged_s: 60.0,
            ..crate::fixture::report().generator.expect("a generator")
        };
        let mut report = Report {
            elapsed_s: 60.0,
            requests: vec![request("GET", "front", 100, 100)],
            errors: vec![error("GET front", "connection refused", 100, 0.0, 59.0)],
            generator: Some(generator),
            ..Report::default()
        };
        report.aggregated.latency_ms = crate::fixture::report().aggregated.latency_ms;
        let part = |report: &Report| Diagnosis::of_report(report).expect("it fails").generator;
        assert_eq!(part(&report), None, "nothing succeeded");
        report.generator = Some(GeneratorRow {
            own_p99_ms: Some(0.2),
            ..generator
        });
        assert_eq!(part(&report), None, "nothing succeeded");
        report.aggregated.latency_ok_ms = report.aggregated.latency_ms;
        assert!(matches!(part(&report), Some(GeneratorPart::Innocent(_))));
        report.generator = Some(GeneratorRow {
            saturated_s: 12.0,
            ..generator
        });
        let GeneratorPart::Bottleneck(text) = part(&report).expect("it was slow") else {
            panic!("it was slow");
        };
        assert_eq!(text, "lgoose itself was the bottleneck in 12 of 60 s");
        let limit = generator
            .cpu_limit
            .map(|limit| lgoose_metrics::CpuLimitRow {
                times: 132,
                held_back_s: 11.0,
                ..limit
            });
        report.generator = Some(GeneratorRow {
            saturated_s: 12.0,
            cpu_limit: limit,
            ..generator
        });
        let text = part(&report)
            .map(GeneratorPart::into_text)
            .unwrap_or_default();
        assert_eq!(
            text,
            "lgoose itself was the bottleneck in 12 of 60 s: the CPU limit of this container (cpu.max, 1.5 cores) held lgoose back \
             132 times for 11 s"
        );
    }

    #[test]
    fn a_few_failures_that_are_over_have_an_end() {
        let report = Report {
            elapsed_s: 600.0,
            requests: vec![request("GET", "front", 3, 10_000)],
            errors: vec![error("GET front", "connection reset", 3, 61.0, 75.5)],
            ..Report::default()
        };
        let diagnosis = Diagnosis::of_report(&report).expect("some failed");
        assert!(!diagnosis.is_failing());
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
            tasks: vec![LiveTask {
                name: "buy".into(),
                runs: 67,
                failures: 67,
                ..LiveTask::default()
            }],
            errors: vec![error("task buy", "this is not JSON", 67, 0.5, 19.75)],
            ..Snapshot::default()
        };
        let diagnosis = Diagnosis::of_snapshot(&snapshot).expect("it fails");
        assert_eq!(diagnosis.places, ["task buy 100% fail"]);
        assert_eq!(diagnosis.causes, ["this is not JSON ×67"]);
        assert!(diagnosis.is_failing());
        let check = serde_json::json!({ "name": "is tea", "passes": 1, "failures": 9, "first_failed_s": 4.5 });
        snapshot.errors.clear();
        snapshot.checks = [serde_json::from_value(check).expect("a check")].into();
        let diagnosis = Diagnosis::of_snapshot(&snapshot).expect("it fails");
        assert_eq!(diagnosis.places, ["check 'is tea' 90.0% fail"]);
        assert_eq!(diagnosis.heading(None), "FAILING since +4s");
    }

    #[test]
    fn texts_of_a_site_are_short_and_harmless() {
        let message = format!("a\nb\u{202e}{}", "x".repeat(1_000_000));
        let report = Report {
            requests: vec![request("GET", "front", 1, 1)],
            errors: vec![error("GET front", &message, 1, 0.0, 0.0)],
            ..Report::default()
        };
        let diagnosis = Diagnosis::of_report(&report).expect("it fails");
        let cause = &diagnosis.causes[0];
        assert!(cause.chars().count() <= MAX_TEXT_CHARS + 1, "{cause}");
        assert!(
            cause.starts_with("a b") && !cause.contains('\u{202e}'),
            "{cause}"
        );
    }
}
