//! Reads from reports what a comparison needs: intervals of equal length, of all requests and of each name.
//!
//! Reports of long runs, and of runs with many names, have longer intervals; an interval without requests of a name is
//! left out there and is one of zeros here.

use super::comparison::NamedReport;
use super::figure::Among;
use super::track::{IntervalCounts, counted};
use crate::latencies::buckets;
use crate::{NameSeries, Report, RequestRow};

/// The most intervals of a run: those of longer runs are joined, which keeps a comparison fast.
const MOST_INTERVALS: u64 = 1_200;

/// A row of a report: method and name, or `None` for all requests together.
pub(super) type RowName = Option<(String, String)>;

/// A run and the length of its intervals.
#[derive(Debug)]
pub(super) struct ComparedRun<'a> {
    pub(super) report: &'a Report,
    width_s: u64,
    /// Length of each interval in seconds, pauses left out.
    seconds: Vec<f64>,
    /// Number of intervals at the start that are left out.
    left_out: usize,
}

impl<'a> ComparedRun<'a> {
    pub(super) fn of(named: &'a NamedReport) -> ComparedRun<'a> {
        let report = &named.report;
        let series = report.series.iter().map(|point| point.second);
        let names = report.requests.iter().flat_map(|row| &row.series.second);
        let starts: Vec<u64> = series.chain(names.copied()).collect();
        let last = starts.iter().copied().max().unwrap_or_default();
        // Borders of intervals are multiples of a power of two, the same for all names.
        let mut width_s = 1_u64;
        let fits = |width: u64| starts.iter().all(|start| start % width == 0);
        while width_s <= last && fits(width_s * 2) {
            width_s *= 2;
        }
        while last / width_s >= MOST_INTERVALS {
            width_s *= 2;
        }
        let mut run = ComparedRun {
            report,
            width_s,
            seconds: vec![0.0; (last / width_s) as usize + 1],
            left_out: 0,
        };
        for point in &report.series {
            let place = run.place(point.second);
            run.seconds[place] += point.seconds.max(0.0);
        }
        // After the last request there is nothing to measure.
        while run.seconds.last() == Some(&0.0) {
            run.seconds.pop();
        }
        run
    }

    /// Leaves out the intervals that begin in the first seconds.
    pub(super) fn leave_out(&mut self, seconds: u64) {
        self.left_out = seconds.div_ceil(self.width_s) as usize;
    }

    /// Returns whether intervals at the start are left out.
    pub(super) fn leaves_out_start(&self) -> bool {
        self.left_out > 0
    }

    fn place(&self, second: u64) -> usize {
        (second / self.width_s) as usize
    }

    /// Returns the row of a label, if the run requested it.
    pub(super) fn row(&self, label: &RowName) -> Option<&'a RequestRow> {
        let (method, name) = label.as_ref()?;
        let mut rows = self.report.requests.iter();
        rows.find(|row| row.method == *method && row.name == *name)
    }

    /// Returns the intervals of a label; `None` if the report keeps no latencies of intervals, or none that can be read.
    /// Those of successful requests have no sum of latencies.
    pub(super) fn intervals(&self, label: &RowName, among: Among) -> Option<Vec<IntervalCounts>> {
        let seconds = self.seconds.iter();
        let mut intervals: Vec<IntervalCounts> = seconds
            .map(|seconds| IntervalCounts {
                seconds: *seconds,
                ..IntervalCounts::default()
            })
            .collect();
        for point in self.points(label) {
            let point = point?;
            let interval = intervals.get_mut(self.place(point.second))?;
            let more = point.counts(among)?;
            interval.count += more.count;
            interval.failures += more.failures;
            interval.sum_ms += more.sum_ms;
            interval.buckets.extend(more.buckets);
        }
        intervals.drain(..self.left_out.min(intervals.len()));
        Some(intervals)
    }

    fn points(&self, label: &RowName) -> Vec<Option<ReportInterval<'a>>> {
        match label {
            None => {
                let points = self.report.series.iter();
                points
                    .map(|point| {
                        Some(ReportInterval {
                            second: point.second,
                            count: point.count,
                            failures: point.failures,
                            sum_ms: point.latency.sum_ms,
                            histogram: &point.histogram,
                            failed_histogram: &point.failed_histogram,
                        })
                    })
                    .collect()
            }
            Some(_) => {
                let series = self.row(label).map(|row| &row.series);
                let points = series.map(|series| {
                    let places = 0..series.second.len();
                    places.map(|at| ReportInterval::of(series, at)).collect()
                });
                points.unwrap_or_default()
            }
        }
    }

    /// Returns whether the report keeps latencies of intervals.
    pub(super) fn has_intervals(&self) -> bool {
        let requested = self
            .report
            .requests
            .iter()
            .filter(|row| row.figures.count > 0);
        let mut points = self.report.series.iter().filter(|point| point.count > 0);
        points.all(|point| !point.histogram.is_empty())
            && requested
                .clone()
                .all(|row| !row.series.histogram.is_empty())
    }
}

/// What a report says of an interval.
struct ReportInterval<'a> {
    second: u64,
    count: u64,
    failures: u64,
    sum_ms: f64,
    histogram: &'a str,
    failed_histogram: &'a str,
}

impl<'a> ReportInterval<'a> {
    /// Reads a line of a name's columns; `None` where one of them is too short.
    fn of(series: &'a NameSeries, at: usize) -> Option<ReportInterval<'a>> {
        Some(ReportInterval {
            second: *series.second.get(at)?,
            count: *series.count.get(at)?,
            failures: *series.failures.get(at)?,
            sum_ms: *series.sum_ms.get(at)?,
            histogram: series.histogram.get(at)?,
            failed_histogram: series.failed_histogram.get(at).map_or("", String::as_str),
        })
    }

    /// Returns what it counts; `None` if its histograms cannot be read or count something else.
    fn counts(&self, among: Among) -> Option<IntervalCounts> {
        let all = buckets(self.histogram)?;
        if counted(&all) != self.count {
            return None;
        }
        let all = IntervalCounts {
            seconds: 0.0,
            count: self.count as f64,
            failures: self.failures as f64,
            sum_ms: self.sum_ms,
            buckets: all,
        };
        match among {
            Among::All => Some(all),
            Among::Ok => all.successful(self.failures, self.failed_histogram),
        }
    }
}
