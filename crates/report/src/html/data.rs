//! Data for the scripts of the page: JSON in script elements that browsers do not run.
//!
//! There is one block for all requests, and one for each name, which is parsed only when its line is shown: an hour of
//! 100 names is megabytes.

use super::distribution::{self, STEPS};
use super::escape::{json, shown};
use crate::display::marked_events;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use lgoose_base::line::{one_line, request_name};
use lgoose_base::threshold::{FigureKind, LatencySubset, Unit};
use lgoose_judgement::measured_from;
use lgoose_metrics::{EventKind, NameSeries, Report, RequestRow, SeriesPoint, ThresholdRow};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// The number of steps that double a latency of a name: exact within 0.07 %, as in a histogram.
const OCTAVE: f64 = 512.0;
/// The latency of the first step, in milliseconds.
const LEAST_MS: f64 = 1e-4;

/// Renders the script elements.
pub(super) fn blocks(report: &Report) -> String {
    let stretches = stretches(report);
    let places = stretches
        .keys()
        .enumerate()
        .map(|(at, second)| (*second, at));
    let places: HashMap<u64, usize> = places.collect();
    let mut out = block("data", &whole(report, &stretches));
    for (at, row) in report.requests.iter().enumerate() {
        out.push_str(&block(&format!("name-{at}"), &name(row, &places)));
    }
    out
}

fn block(id: &str, value: &Value) -> String {
    format!(
        "<script type=\"application/json\" id=\"{id}\">{}</script>\n",
        json(value)
    )
}

fn whole(report: &Report, stretches: &BTreeMap<u64, f64>) -> Value {
    let points = &report.series;
    let names: Vec<Value> = report
        .requests
        .iter()
        .map(|row| {
            json!([
                shown(&request_name(&row.method, &row.name)),
                row.figures.count
            ])
        })
        .collect();
    let stretches: Vec<(&u64, f64)> = stretches
        .iter()
        .map(|(second, seconds)| (second, rounded(*seconds, 1e3)))
        .collect();
    let broken: Vec<f64> = report
        .thresholds
        .iter()
        .filter_map(|row| row.broken_s)
        .collect();
    let limits = report.thresholds.iter().filter_map(limit);
    let limits: Vec<(String, f64)> = limits.collect();
    let wall_ms = measured_from(report).map(|at| at.as_millisecond());
    let marks = report.aggregated.latency_ms.map(|l| [l.p50, l.p95, l.p99]);
    json!({
        "elapsed": wall_s(report),
        "second": column(points, |point| point.second),
        "seconds": column(points, |point| rounded(point.seconds, 1e3)),
        "users": column(points, |point| point.users),
        "count": column(points, |point| point.count),
        "failures": column(points, |point| point.failures),
        "rate": column(points, |point| point.rate().map(short)),
        "failing": column(points, |point| point.rate_of(point.failures).map(short)),
        "p50": column(points, |point| point.latency.p50_ms.map(short)),
        "p95": column(points, |point| point.latency.p95_ms.map(short)),
        "p99": column(points, |point| point.latency.p99_ms.map(short)),
        "saturated": saturated(points),
        "events": events(report),
        "broken": broken,
        "limits": limits,
        "wall": wall_ms,
        "names": names,
        "stretches": stretches,
        "octave": OCTAVE,
        "least": LEAST_MS,
        "steps": STEPS,
        "spread": pairs(&distribution::steps(&report.aggregated.histogram)),
        "marks": marks,
        "heat": heat(points),
    })
}

/// Returns how many requests took how long at each moment: columns of time, each with pairs of a step of latency and a count
/// in one list. `null` if no point has a distribution.
fn heat(points: &[SeriesPoint]) -> Option<Value> {
    /// The most columns, and the steps of a distribution that make one of a column.
    const MAX_COLUMNS: usize = 240;
    const COARSE: u32 = 4;
    let per_column = points.len().div_ceil(MAX_COLUMNS).max(1);
    let columns: Vec<(f64, f64, Vec<u64>)> = points
        .chunks(per_column)
        .map(|chunk| {
            let mut cells: BTreeMap<u32, u64> = BTreeMap::new();
            for (step, count) in chunk
                .iter()
                .flat_map(|point| distribution::steps(&point.histogram))
            {
                *cells.entry(step / COARSE).or_default() += count;
            }
            let last = &chunk[chunk.len() - 1];
            let cells = cells
                .into_iter()
                .flat_map(|(step, count)| [u64::from(step), count]);
            (
                chunk[0].second as f64,
                rounded(last.second as f64 + last.seconds, 1e3),
                cells.collect(),
            )
        })
        .collect();
    let has_cells = columns.iter().any(|(_, _, cells)| !cells.is_empty());
    has_cells.then(|| json!({ "steps": STEPS / f64::from(COARSE), "columns": columns }))
}

/// Returns the limit of a threshold on the latency of all requests, in words and milliseconds.
fn limit(row: &ThresholdRow) -> Option<(String, f64)> {
    let threshold = row.parsed().filter(|_| row.name.is_none())?;
    let ms = match threshold.unit {
        Unit::Milliseconds => row.limit,
        Unit::Seconds => row.limit * 1e3,
        _ => return None,
    };
    let is_whole = threshold.among == LatencySubset::All && threshold.part.is_none();
    let is_of_run = threshold.during.is_none() && threshold.after.is_none() && !threshold.abort;
    let is_line = is_whole && is_of_run && threshold.figure != FigureKind::Oldest;
    let (figure, limit) = row.figure_and_limit();
    is_line.then(|| (format!("{figure} {limit}"), ms))
}

/// Returns the length of the time axis in seconds, pauses included.
pub(super) fn wall_s(report: &Report) -> f64 {
    report.elapsed_s + report.paused_s
}

/// Returns the events to mark in the charts: start, length, kind and text of each.
pub(super) fn events(report: &Report) -> Vec<(f64, Option<f64>, EventKind, String)> {
    let events = marked_events(report);
    events
        .map(|event| {
            (
                event.at_s,
                event.lasted_s,
                event.kind,
                one_line(&event.text),
            )
        })
        .collect()
}

/// Returns the intervals that the series of names refer to by position.
fn stretches(report: &Report) -> BTreeMap<u64, f64> {
    let mut stretches = BTreeMap::new();
    for NameSeries {
        second, seconds, ..
    } in report.requests.iter().map(|row| &row.series)
    {
        stretches.extend(second.iter().copied().zip(seconds.iter().copied()));
    }
    stretches
}

/// Returns where the series of a name has points: the first interval and the length of each unbroken sequence.
fn runs(series: &NameSeries, places: &HashMap<u64, usize>) -> Vec<[usize; 2]> {
    let mut runs: Vec<[usize; 2]> = Vec::new();
    for at in series.second.iter().filter_map(|second| places.get(second)) {
        match runs.last_mut().filter(|[from, count]| from + count == *at) {
            Some([_, count]) => *count += 1,
            None => runs.push([*at, 1]),
        }
    }
    runs
}

fn name(row: &RequestRow, places: &HashMap<u64, usize>) -> Value {
    let series = &row.series;
    let counts =
        |counts: &[u64]| pack(counts.iter().map(|n| i64::try_from(*n).unwrap_or(i64::MAX)));
    let times = |ms: &[f64]| {
        pack(
            ms.iter()
                .map(|ms| (ms.max(LEAST_MS) / LEAST_MS).log2() * OCTAVE)
                .map(|steps| steps.round() as i64),
        )
    };
    let mut value = json!({
        "runs": runs(series, places),
        "count": counts(&series.count),
        "p50": times(&series.p50_ms),
        "p95": times(&series.p95_ms),
        "p99": times(&series.p99_ms),
        "spread": pairs(&distribution::steps(&row.figures.histogram)),
    });
    if series.failures.iter().any(|failed| *failed > 0) {
        value["failures"] = json!(counts(&series.failures));
    }
    value
}

/// Packs numbers that change little from one to the next into a text: base64 of the differences in groups of seven
/// bits, the lowest first, with the sign in the lowest bit.
fn pack(values: impl Iterator<Item = i64>) -> String {
    let (mut bytes, mut last) = (Vec::new(), 0_i64);
    for value in values {
        let difference = value.wrapping_sub(last);
        let mut rest = (difference << 1 ^ difference >> 63) as u64;
        while rest > 0x7f {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
        last = value;
    }
    BASE64.encode(bytes)
}

fn column<T: serde::Serialize>(points: &[SeriesPoint], of: impl Fn(&SeriesPoint) -> T) -> Value {
    json!(points.iter().map(of).collect::<Vec<T>>())
}

/// Returns the intervals in which lgoose itself set the latency; neighbours are joined.
pub(super) fn saturated(points: &[SeriesPoint]) -> Vec<[f64; 2]> {
    let mut stretches: Vec<[f64; 2]> = Vec::new();
    for point in points.iter().filter(|point| point.generator.saturated) {
        let (from, to) = (point.second as f64, point.second as f64 + point.seconds);
        match stretches.last_mut().filter(|last| from - last[1] < 0.5) {
            Some(last) => last[1] = to,
            None => stretches.push([from, to]),
        }
    }
    stretches
}

fn pairs(steps: &BTreeMap<u32, u64>) -> Vec<[u64; 2]> {
    steps
        .iter()
        .map(|(step, n)| [u64::from(*step), *n])
        .collect()
}

/// Rounds milliseconds to three or four significant digits: as many as a histogram has.
fn short(ms: f64) -> f64 {
    match ms {
        ms if ms < 1.0 => rounded(ms, 1e4),
        ms if ms < 10.0 => rounded(ms, 1e3),
        ms if ms < 100.0 => rounded(ms, 1e2),
        ms => rounded(ms, 1e1),
    }
}

fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}
