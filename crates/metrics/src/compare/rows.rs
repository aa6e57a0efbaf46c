//! Rows of a comparison: each figure of the whole and of each name, with its change and the error of that.

use super::bootstrap::{FigureError, spread};
use super::comparison::NamedReport;
use super::figure::{Among, Figure};
use super::reasons::counts_start;
use super::row::{Row, RowVerdict};
use super::run_spread::RunSpread;
use super::side::{ComparedRun, RowName};
use super::track::{IntervalCounts, LatencyScale, Track};
use super::transient::transient_s;
use crate::Figures;
use crate::latencies::buckets;
use std::collections::BTreeMap;

/// Rounds of the bootstrap: its own error is then a sixtieth of the error that it estimates.
const ROUNDS: usize = 2_000;
/// The most names that are compared, those with the most requests.
const MOST_NAMES: usize = 200;
/// The fewest intervals of a side: seconds, in runs of less than twenty minutes.
const FEWEST_INTERVALS: usize = 20;

/// Returns the rows, the most requested name first after the whole; what is to be noted of them; and how many seconds at
/// the start of each run they leave out.
pub(super) fn rows(before: &[NamedReport], after: &[NamedReport]) -> (Vec<Row>, Vec<String>, u64) {
    let mut sides =
        [before, after].map(|side| side.iter().map(ComparedRun::of).collect::<Vec<_>>());
    let left_out_s = start_to_leave_out(&sides);
    for run in sides.iter_mut().flatten() {
        run.leave_out(left_out_s);
    }
    let mut notes = Vec::new();
    for (run, named) in sides.iter().flatten().zip(before.iter().chain(after)) {
        if !run.has_intervals() {
            notes.push(format!(
                "'{}' has no latencies of its seconds, so change cannot be told from chance: run without '--no-intervals', with an lgoose that has 'compare'",
                named.file
            ));
        }
    }
    let mut weights: BTreeMap<(String, String), u64> = BTreeMap::new();
    for row in sides.iter().flatten().flat_map(|run| &run.report.requests) {
        let key = (row.method.clone(), row.name.clone());
        let weight = weights.entry(key).or_default();
        *weight = weight.saturating_add(row.figures.count);
    }
    let mut names: Vec<_> = weights.into_iter().collect();
    names.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
    if names.len() > MOST_NAMES {
        notes.push(format!(
            "{} names are not compared one by one: only the {MOST_NAMES} with the most requests are",
            names.len() - MOST_NAMES
        ));
        names.truncate(MOST_NAMES);
    }
    let labels = std::iter::once(None).chain(names.into_iter().map(|(label, _)| Some(label)));
    let rows = labels.flat_map(|label| rows_of(&label, &sides)).collect();
    (rows, notes, left_out_s)
}

/// Returns the seconds that the longest transient of a run takes that counts its warm-up; 0 if no figures would remain
/// without them.
fn start_to_leave_out(sides: &[Vec<ComparedRun<'_>>; 2]) -> u64 {
    let runs = || sides.iter().flatten();
    if !runs().all(ComparedRun::has_intervals) {
        return 0;
    }
    let cold = runs().filter(|run| counts_start(run.report));
    cold.map(|run| transient_s(run.report))
        .max()
        .unwrap_or_default()
}

/// Returns the rows of one label. Those of the successful requests are left out if none failed, as they would say the
/// same again.
fn rows_of(label: &RowName, sides: &[Vec<ComparedRun<'_>>; 2]) -> Vec<Row> {
    let all = RowEvidence::of(label, sides, Among::All);
    let without_failures = all.totals.iter().all(|side| side.failures == 0);
    let ok = (!without_failures).then(|| RowEvidence::of(label, sides, Among::Ok));
    let rows = Figure::ALL.into_iter().filter_map(|figure| {
        let evidence = match figure.among() {
            Among::All => Some(&all),
            Among::Ok => ok.as_ref(),
        };
        Some(Row {
            without_failures,
            ..evidence?.row(label, figure)
        })
    });
    rows.collect()
}

/// Figures of a label on both sides.
#[derive(Debug)]
struct RowEvidence<'a> {
    totals: [RowTotals<'a>; 2],
    /// The intervals of the runs of both sides; `None` if a report has none that can be read.
    measured: Option<(LatencyScale, [Vec<Track>; 2])>,
}

impl<'a> RowEvidence<'a> {
    fn of(label: &RowName, sides: &[Vec<ComparedRun<'a>>; 2], among: Among) -> RowEvidence<'a> {
        let intervals = [0, 1].map(|side: usize| -> Option<Vec<Vec<IntervalCounts>>> {
            let runs = sides[side].iter();
            runs.map(|run| run.intervals(label, among)).collect()
        });
        let measured = match &intervals {
            [Some(before), Some(after)] => {
                let scale = LatencyScale::of(before.iter().chain(after).flatten());
                let tracks = [before, after].map(|runs| {
                    let runs = runs.iter();
                    runs.map(|run| Track::of(run, &scale)).collect::<Vec<_>>()
                });
                Some((scale, tracks))
            }
            _ => None,
        };
        RowEvidence {
            totals: [0, 1].map(|side| RowTotals::of(label, &sides[side], among)),
            measured,
        }
    }

    /// Returns the row of a figure, without a verdict.
    fn row(&self, label: &RowName, figure: Figure) -> Row {
        let totals = &self.totals;
        let [before, after] = [0, 1].map(|side: usize| totals[side].value(figure));
        let difference = before.zip(after).map(|(before, after)| {
            // Zero on both sides is no change.
            if before == after {
                0.0
            } else {
                figure.scaled(after) - figure.scaled(before)
            }
        });
        let difference = difference.filter(|difference| difference.is_finite());
        let enough = [0, 1].into_iter().all(|side: usize| {
            let tracks = self.measured.as_ref().map(|(_, tracks)| &tracks[side]);
            figure.has_enough(totals[side].count as f64)
                && tracks.is_some_and(|tracks| {
                    tracks.iter().map(Track::intervals).sum::<usize>() >= FEWEST_INTERVALS
                })
        });
        let measured = self.measured.as_ref().filter(|_| enough);
        let found = measured.zip(difference);
        let found = found.and_then(|((scale, tracks), difference)| {
            error(figure, difference, totals, tracks, scale)
        });
        let (error, spread) = found.unzip();
        let judged = difference.zip(error);
        let (method, name) = label.clone().unzip();
        Row {
            method,
            name,
            figure,
            before,
            after,
            change: difference.map(|difference| figure.change(difference)),
            low: None,
            high: None,
            verdict: RowVerdict::TooFewData,
            beyond_limit: false,
            requests: [totals[0].count, totals[1].count],
            without_failures: false,
            runs_needed: None,
            judged,
            spread: spread.flatten(),
        }
    }
}

/// The error of a change: that of both sides within their runs, or, where runs of one side differ by more than that,
/// the error that their differences show, and those.
fn error(
    figure: Figure,
    difference: f64,
    totals: &[RowTotals<'_>; 2],
    tracks: &[Vec<Track>; 2],
    scale: &LatencyScale,
) -> Option<(FigureError, Option<RunSpread>)> {
    let of_side = |side: usize| {
        // Equal for equal files, another one for each side: the draws of both must be independent.
        let seed = 0x6c67_6f6f_7365 + side as u64;
        spread(figure, &tracks[side], scale, ROUNDS, seed)
    };
    let mut both = [of_side(0)?, of_side(1)?];
    if figure == Figure::Failures {
        let least = least_variance(totals);
        for (side, least) in both.iter_mut().zip(least) {
            side.variance = side.variance.max(least);
        }
    }
    let within = together(both);
    let between = between_runs(figure, difference, totals);
    let between = between.filter(|spread| spread.error().variance > within.variance);
    let error = between.map_or(within, |spread| spread.error());
    Some((error, between))
}

/// Adds up the errors of two sides, with the degrees of freedom of Welch and Satterthwaite.
fn together(both: [FigureError; 2]) -> FigureError {
    let [a, b] = both;
    let variance = a.variance + b.variance;
    let parts = a.variance.powi(2) / a.freedom + b.variance.powi(2) / b.freedom;
    FigureError {
        variance,
        freedom: if parts > 0.0 {
            variance.powi(2) / parts
        } else {
            a.freedom + b.freedom
        },
    }
}

/// The least variance of two shares of failures, that of independent requests: of few failures, which the rounds may all
/// miss, the bootstrap says too little.
fn least_variance(totals: &[RowTotals<'_>; 2]) -> [f64; 2] {
    let counts = totals.each_ref().map(|side| side.count as f64);
    let failures: f64 = totals.iter().map(|side| side.failures as f64).sum();
    let share = ((failures + 1.0) / (counts[0] + counts[1] + 2.0)).min(0.5);
    counts.map(|count| share * (1.0 - share) / count.max(1.0))
}

/// A change beside how runs of one side differ from each other, assumed to be alike on both sides; `None` with one run a
/// side.
fn between_runs(figure: Figure, difference: f64, totals: &[RowTotals<'_>; 2]) -> Option<RunSpread> {
    let (mut squares, mut freedom, mut share) = (0.0, 0.0, 0.0);
    for side in totals {
        let runs = side.runs.iter();
        let values: Vec<f64> = runs
            .filter_map(|run| run.value(figure))
            .map(|value| figure.scaled(value))
            .filter(|value| value.is_finite())
            .collect();
        let runs = values.len() as f64;
        if runs == 0.0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / runs;
        squares += values
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>();
        freedom += runs - 1.0;
        share += 1.0 / runs;
    }
    (freedom > 0.0).then(|| RunSpread {
        difference,
        of_run: squares / freedom,
        freedom,
        share,
    })
}

/// Counts of a label in the runs of a side.
#[derive(Debug)]
struct RowTotals<'a> {
    runs: Vec<RunTotal<'a>>,
    among: Among,
    count: u64,
    failures: u64,
}

#[derive(Debug)]
struct RunTotal<'a> {
    figures: &'a Figures,
    elapsed_s: f64,
    /// Counts after the start, if that is left out.
    kept: Option<IntervalCounts>,
}

impl<'a> RowTotals<'a> {
    fn of(label: &RowName, runs: &[ComparedRun<'a>], among: Among) -> RowTotals<'a> {
        let figures = |run: &ComparedRun<'a>| match label {
            None => Some(&run.report.aggregated),
            Some(_) => run.row(label).map(|row| &row.figures),
        };
        let runs: Vec<RunTotal<'a>> = runs
            .iter()
            .filter_map(|run| {
                Some(RunTotal {
                    figures: figures(run)?,
                    elapsed_s: run.report.elapsed_s,
                    kept: kept(run, label, among),
                })
            })
            .collect();
        let sum =
            |value: fn(&RunTotal<'a>) -> u64| runs.iter().map(value).fold(0, u64::saturating_add);
        let (count, failures) = (sum(RunTotal::count), sum(RunTotal::failures));
        let (count, failures) = match among {
            Among::All => (count, failures),
            Among::Ok => (count.saturating_sub(failures), 0),
        };
        RowTotals {
            count,
            failures,
            runs,
            among,
        }
    }

    /// Returns the figure over all runs; `None` without requests.
    fn value(&self, figure: Figure) -> Option<f64> {
        if let [run] = &self.runs[..] {
            return run.value(figure);
        }
        let runs = self.runs.iter();
        let intervals = runs.filter_map(|run| run.interval(self.among));
        value_over(figure, &intervals.collect::<Vec<_>>())
    }
}

/// Returns the counts of a run after its start, if that is left out, as one interval.
fn kept(run: &ComparedRun<'_>, label: &RowName, among: Among) -> Option<IntervalCounts> {
    if !run.leaves_out_start() {
        return None;
    }
    let mut all = IntervalCounts::default();
    for interval in run.intervals(label, among)? {
        all.seconds += interval.seconds;
        all.count += interval.count;
        all.failures += interval.failures;
        all.sum_ms += interval.sum_ms;
        all.buckets.extend(interval.buckets);
    }
    Some(all)
}

/// Returns a figure over some intervals; `None` without requests.
fn value_over(figure: Figure, intervals: &[IntervalCounts]) -> Option<f64> {
    let scale = LatencyScale::of(intervals.iter());
    let track = Track::of(intervals, &scale);
    let whole = [(0, track.whole())];
    let found = figure.over(&[track], &scale, &whole, scale.middle());
    found.map(|(value, _)| value)
}

impl RunTotal<'_> {
    /// All requests that count, failed ones included unless only the successful ones are kept.
    fn count(&self) -> u64 {
        let kept = self.kept.as_ref();
        kept.map_or(self.figures.count, |kept| kept.count as u64)
    }

    fn failures(&self) -> u64 {
        let kept = self.kept.as_ref();
        kept.map_or(self.figures.failures, |kept| kept.failures as u64)
    }

    /// Returns the figure of this run: as its report has it, unless the start is left out.
    fn value(&self, figure: Figure) -> Option<f64> {
        match &self.kept {
            Some(kept) => value_over(figure, std::slice::from_ref(kept)),
            None => value_of(figure, self.figures, self.elapsed_s),
        }
    }

    /// The whole run as one interval.
    fn interval(&self, among: Among) -> Option<IntervalCounts> {
        if let Some(kept) = &self.kept {
            return Some(kept.clone());
        }
        let figures = self.figures;
        let avg = figures.latency_ms.as_ref()?.avg;
        let all = IntervalCounts {
            seconds: self.elapsed_s,
            count: figures.count as f64,
            failures: figures.failures as f64,
            sum_ms: avg * figures.count as f64,
            buckets: buckets(&figures.histogram)?,
        };
        match among {
            Among::All => Some(all),
            Among::Ok => all.successful(figures.failures, &figures.failed_histogram),
        }
    }
}

/// Returns a figure of one run as its report has it.
fn value_of(figure: Figure, figures: &Figures, elapsed_s: f64) -> Option<f64> {
    let latency = match figure.among() {
        Among::All => figures.latency_ms.as_ref()?,
        Among::Ok => figures.latency_ok_ms.as_ref()?,
    };
    Some(match figure {
        Figure::Median | Figure::OkMedian => latency.p50,
        Figure::P95 | Figure::OkP95 => latency.p95,
        Figure::P99 | Figure::OkP99 => latency.p99,
        Figure::Mean => latency.avg,
        Figure::Failures => figures.failures as f64 / figures.count.max(1) as f64,
        Figure::Rate if elapsed_s > 0.0 => figures.count as f64 / elapsed_s,
        Figure::Rate => return None,
    })
}
