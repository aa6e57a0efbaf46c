//! Rows of a comparison: each figure of the whole and of each name, with its change and the error of that.

use super::bootstrap::{FigureError, spread};
use super::comparison::NamedReport;
use super::figure::Figure;
use super::row::{Row, RowVerdict};
use super::side::{ComparedRun, RowName};
use super::track::{IntervalBlock, IntervalCounts, LatencyScale, Track};
use super::verdict::{interval, probability};
use crate::metrics::{Figures, buckets};
use std::collections::BTreeMap;

/// Rounds of the bootstrap: its own error is then a sixtieth of the error that it estimates.
const ROUNDS: usize = 2_000;
/// The most names that are compared, those with the most requests.
const MOST_NAMES: usize = 200;
/// The fewest intervals of a side: seconds, in runs of less than twenty minutes.
const FEWEST_INTERVALS: usize = 20;

/// Returns the rows, the most requested name first after the whole, and what is to be noted of them.
pub(super) fn rows(before: &[NamedReport], after: &[NamedReport]) -> (Vec<Row>, Vec<String>) {
    let sides = [before, after].map(|side| side.iter().map(ComparedRun::of).collect::<Vec<_>>());
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
    (rows, notes)
}

/// Returns the rows of one label.
fn rows_of(label: &RowName, sides: &[Vec<ComparedRun<'_>>; 2]) -> Vec<Row> {
    let totals = [0, 1].map(|side| RowTotals::of(label, &sides[side]));
    let intervals = [0, 1].map(|side: usize| -> Option<Vec<Vec<IntervalCounts>>> {
        let runs = sides[side].iter();
        runs.map(|run| run.intervals(label)).collect()
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
    let row = |figure: Figure| {
        let [before, after] = [0, 1].map(|side: usize| totals[side].value(figure));
        let difference = before.zip(after).map(|(before, after)| {
            // Of what was nothing and is nothing, nothing has changed.
            if before == after {
                0.0
            } else {
                figure.scaled(after) - figure.scaled(before)
            }
        });
        let difference = difference.filter(|difference| difference.is_finite());
        let enough = [0, 1].into_iter().all(|side: usize| {
            let tracks = measured.as_ref().map(|(_, tracks)| &tracks[side]);
            figure.has_enough(totals[side].count as f64)
                && tracks.is_some_and(|tracks| {
                    tracks.iter().map(Track::intervals).sum::<usize>() >= FEWEST_INTERVALS
                })
        });
        let measured = measured.as_ref().filter(|_| enough);
        let error = measured.and_then(|(scale, tracks)| error(figure, &totals, tracks, scale));
        let judged = difference.zip(error);
        let ends = judged.map(|(difference, error)| interval(difference, error));
        let (method, name) = label.clone().unzip();
        Row {
            method,
            name,
            figure,
            before,
            after,
            change: difference.map(|difference| figure.change(difference)),
            low: ends.map(|(low, _)| figure.change(low)),
            high: ends.map(|(_, high)| figure.change(high)),
            verdict: RowVerdict::TooFewData,
            beyond_limit: false,
            requests: [totals[0].count, totals[1].count],
            p: judged.map(|(difference, error)| probability(difference, error)),
        }
    };
    Figure::ALL.into_iter().map(row).collect()
}

/// The error of a change: that of both sides within their runs, or, where runs of one side differ by more than that,
/// the error that their differences show.
fn error(
    figure: Figure,
    totals: &[RowTotals<'_>; 2],
    tracks: &[Vec<Track>; 2],
    scale: &LatencyScale,
) -> Option<FigureError> {
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
    let between = between_runs(figure, totals);
    match between.filter(|between| between.variance > within.variance) {
        Some(between) => Some(between),
        None => Some(within),
    }
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

/// The error of a change by how runs of one side differ from each other, assumed to be alike on both sides; `None`
/// with one run a side.
fn between_runs(figure: Figure, totals: &[RowTotals<'_>; 2]) -> Option<FigureError> {
    let (mut squares, mut freedom, mut share) = (0.0, 0.0, 0.0);
    for side in totals {
        let runs = side.runs.iter();
        let values: Vec<f64> = runs
            .filter_map(|run| value_of(figure, run.figures, run.elapsed_s))
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
    (freedom > 0.0).then(|| FigureError {
        variance: squares / freedom * share,
        freedom,
    })
}

/// What the runs of a side counted of a label.
#[derive(Debug)]
struct RowTotals<'a> {
    runs: Vec<RunTotal<'a>>,
    count: u64,
    failures: u64,
}

#[derive(Debug)]
struct RunTotal<'a> {
    figures: &'a Figures,
    elapsed_s: f64,
}

impl<'a> RowTotals<'a> {
    fn of(label: &RowName, runs: &[ComparedRun<'a>]) -> RowTotals<'a> {
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
                })
            })
            .collect();
        let sum = |value: fn(&Figures) -> u64| {
            let values = runs.iter().map(|run| value(run.figures));
            values.fold(0, u64::saturating_add)
        };
        RowTotals {
            count: sum(|figures| figures.count),
            failures: sum(|figures| figures.failures),
            runs,
        }
    }

    /// Returns the figure over all runs; `None` without requests.
    fn value(&self, figure: Figure) -> Option<f64> {
        if let [run] = &self.runs[..] {
            return value_of(figure, run.figures, run.elapsed_s);
        }
        let intervals: Vec<IntervalCounts> =
            self.runs.iter().filter_map(RunTotal::interval).collect();
        let scale = LatencyScale::of(intervals.iter());
        let track = Track::of(&intervals, &scale);
        let whole = [(
            0,
            IntervalBlock {
                from: 0,
                to: intervals.len(),
            },
        )];
        let found = figure.over(&[track], &scale, &whole, scale.middle());
        found.map(|(value, _)| value)
    }
}

impl RunTotal<'_> {
    /// The whole run as one interval.
    fn interval(&self) -> Option<IntervalCounts> {
        let avg = self.figures.latency_ms.as_ref()?.avg;
        Some(IntervalCounts {
            seconds: self.elapsed_s,
            count: self.figures.count as f64,
            failures: self.figures.failures as f64,
            sum_ms: avg * self.figures.count as f64,
            buckets: buckets(&self.figures.histogram)?,
        })
    }
}

/// Returns a figure of one run as its report has it.
fn value_of(figure: Figure, figures: &Figures, elapsed_s: f64) -> Option<f64> {
    let latency = figures.latency_ms.as_ref()?;
    Some(match figure {
        Figure::Median => latency.p50,
        Figure::P95 => latency.p95,
        Figure::P99 => latency.p99,
        Figure::Mean => latency.avg,
        Figure::Failures => figures.failures as f64 / figures.count.max(1) as f64,
        Figure::Rate if elapsed_s > 0.0 => figures.count as f64 / elapsed_s,
        Figure::Rate => return None,
    })
}
