//! Figures that a threshold looks at: of requests, checks or a metric, of the run so far or of a stretch of it.
//! Made by the store, read by the judges of thresholds.

use crate::delta::{LatencyKind, RequestCounts, RequestDelta};
use crate::latencies::{ExactFigures, FilledLatencies, LatencySum, histogram};
use crate::measures::{BucketLimit, Spread};
use crate::report::{MetricKind, ScenarioArrivals};
use hdrhistogram::Histogram;
use lgoose_base::threshold::{FigureKind, LatencySubset, Threshold, Unit};
use std::time::Duration;

/// Why figures are not judged that may lack a part.
pub(crate) const MAY_LACK: &str = "some of it may be counted as '(other)', since there are too many names or tags; \
     keep ids out of them";

/// Why figures of one name are not judged that are of several kinds of metrics.
const SEVERAL_KINDS: &str = "metrics of two kinds have that name; give each a name of its own";

/// Figures of one subject at one moment.
#[derive(Debug, Clone)]
pub(crate) struct ThresholdFigures {
    pub(crate) subject: ThresholdSubject,
    pub(crate) count: u64,
    /// Failed requests, checks that did not hold, values of a rate that were false. Negative in a part of the run where verdicts
    /// are taken back on requests that are counted in another one.
    pub(crate) failures: i64,
    pub(crate) bytes: u64,
    /// Sum of all values, in milliseconds or in a metric's unit, like all that follows.
    pub(crate) sum: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// Latest value of a gauge.
    pub(crate) last: Option<f64>,
    /// Age of the oldest request that is not counted yet: it is under way, or waits in a silence.
    pub(crate) oldest: f64,
    pub(crate) values: SubjectValues,
    /// Latencies of the failed requests, if only the successful ones are wanted.
    pub(crate) without: Option<Histogram<u64>>,
    /// Whether count, sum and extremes are those of all requests although only the successful ones are wanted: in a
    /// slice, a request counts as what it was when it ended until the plan says otherwise.
    pub(crate) is_of_all: bool,
    /// Why they are not to be judged, if so.
    pub(crate) flaw: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThresholdSubject {
    Requests,
    /// Runs of tasks and transactions.
    Tasks,
    /// Iterations that were due in a run at a rate.
    Arrivals,
    Checks,
    Metric(MetricKind),
}

#[derive(Debug, Clone)]
pub(crate) enum SubjectValues {
    Latencies(Histogram<u64>),
    Numbers(Spread),
}

impl ThresholdFigures {
    /// Makes the figures of a subject of which nothing was seen yet.
    pub(crate) fn nothing(subject: ThresholdSubject) -> ThresholdFigures {
        ThresholdFigures {
            subject,
            count: 0,
            failures: 0,
            bytes: 0,
            sum: 0.0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            last: None,
            oldest: 0.0,
            values: match subject {
                ThresholdSubject::Requests | ThresholdSubject::Tasks => {
                    SubjectValues::Latencies(histogram::empty())
                }
                ThresholdSubject::Arrivals
                | ThresholdSubject::Checks
                | ThresholdSubject::Metric(_) => SubjectValues::Numbers(Spread::default()),
            },
            without: None,
            is_of_all: false,
            flaw: None,
        }
    }

    /// Makes the figures of checks or of a metric.
    pub(crate) fn numbers(
        subject: ThresholdSubject,
        count: u64,
        failures: u64,
        values: &Spread,
    ) -> ThresholdFigures {
        ThresholdFigures {
            count,
            failures: failures as i64,
            values: SubjectValues::Numbers(values.clone()),
            ..ThresholdFigures::nothing(subject)
        }
    }

    /// Adds iterations that were due.
    pub(crate) fn add_arrivals(&mut self, counts: ScenarioArrivals) {
        self.count += counts.due();
        self.failures += counts.dropped as i64;
    }

    /// Adds tasks or transactions.
    pub(crate) fn add_tasks(
        &mut self,
        ok: &ExactFigures,
        failed: &ExactFigures,
        add: impl FnOnce(&mut Histogram<u64>),
    ) {
        self.failures += failed.count as i64;
        self.add_times(&ok.merged(failed), add);
    }

    /// Adds times that come without failures, such as those of a phase.
    pub(crate) fn add_times(
        &mut self,
        exact: &ExactFigures,
        add: impl FnOnce(&mut Histogram<u64>),
    ) {
        self.add_exact(exact);
        if let SubjectValues::Latencies(all) = &mut self.values {
            add(all);
        }
    }

    /// Adds requests of a whole run.
    pub(crate) fn add_requests(
        &mut self,
        among: LatencySubset,
        counts: &RequestCounts,
        all: &LatencySum,
        failed: Option<&LatencySum>,
        filled: Option<&FilledLatencies>,
    ) {
        if let (LatencySubset::Corrected, Some(filled)) = (among, filled) {
            self.add_times(&filled.exact, |all| filled.latencies.add_to(all));
        }
        let mut exact = &counts.all;
        if among == LatencySubset::Ok {
            exact = &counts.ok;
            let without = self.without.get_or_insert_with(histogram::empty);
            if let Some(failed) = failed {
                failed.add_to(without);
            }
        }
        self.add_counts(counts, exact, |to| all.add_to(to));
    }

    /// Adds requests of a slice.
    pub(crate) fn add_slice(&mut self, of: &Threshold, row: &RequestDelta) {
        if let Some(part) = of.part {
            if let Some(times) = row.part_times.0.get(&part) {
                self.add_times(&times.exact, |all| times.latencies.add_to(all));
            }
            return;
        }
        if let (LatencySubset::Corrected, Some(filled)) = (of.among, &row.filled) {
            self.add_times(&filled.exact, |all| filled.latencies.add_to(all));
        }
        if of.among == LatencySubset::Ok {
            let without = self.without.get_or_insert_with(histogram::empty);
            row[LatencyKind::FailedAtOnce].add_to(without);
            row[LatencyKind::FailedLater].add_to(without);
            if let SubjectValues::Latencies(all) = &mut self.values {
                row[LatencyKind::PassedLater].add_to(all);
            }
            self.is_of_all = true;
        }
        self.add_counts(&row.counts, &row.counts.all, |to| {
            row[LatencyKind::All].add_to(to)
        });
    }

    fn add_counts(
        &mut self,
        counts: &RequestCounts,
        exact: &ExactFigures,
        add: impl FnOnce(&mut Histogram<u64>),
    ) {
        self.add_times(exact, add);
        self.failures += counts.failures_change();
        self.bytes += counts.traffic.received;
    }

    fn add_exact(&mut self, exact: &ExactFigures) {
        if exact.count > 0 {
            self.count += exact.count;
            self.sum += exact.sum_ms();
            self.min = self.min.min(exact.min().as_secs_f64() * 1e3);
            self.max = self.max.max(exact.max().as_secs_f64() * 1e3);
        }
    }

    /// Adds the figures of another row, or of a later stretch of the same.
    pub(crate) fn add(&mut self, other: &ThresholdFigures) {
        if self.subject != other.subject && self.count > 0 && other.count > 0 {
            self.flaw = Some(SEVERAL_KINDS);
        }
        self.flaw = self.flaw.or(other.flaw);
        self.count += other.count;
        self.failures += other.failures;
        self.bytes += other.bytes;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.last = other.last.or(self.last);
        self.oldest = self.oldest.max(other.oldest);
        match (&mut self.values, &other.values) {
            (SubjectValues::Latencies(all), SubjectValues::Latencies(more)) => {
                histogram::add(all, more)
            }
            (SubjectValues::Numbers(all), SubjectValues::Numbers(more)) => {
                all.add(more, BucketLimit::WHOLE)
            }
            _ => {}
        }
        self.is_of_all |= other.is_of_all;
        if let Some(more) = &other.without {
            histogram::add(self.without.get_or_insert_with(histogram::empty), more);
        }
    }

    /// Returns the median latency; zero without any.
    pub(crate) fn median(&self) -> Duration {
        match &self.values {
            SubjectValues::Latencies(all) => Duration::from_micros(all.value_at_quantile(0.5)),
            SubjectValues::Numbers(_) => Duration::ZERO,
        }
    }

    /// Adds `requests` requests as if their waiting times were spread evenly from nothing to `longest`.
    pub(crate) fn wait_evenly(&mut self, requests: u64, longest: Duration) {
        const STEPS: u64 = 100;
        let SubjectValues::Latencies(all) = &mut self.values else {
            return;
        };
        let longest_ms = longest.as_secs_f64() * 1e3;
        for step in 1..=STEPS {
            // Rounded so that the steps add up, the longest waits coming first: one request has waited all the time.
            let times = requests * (STEPS - step + 1) / STEPS - requests * (STEPS - step) / STEPS;
            if times > 0 {
                let us = longest_ms * 1e3 * (STEPS - step + 1) as f64 / STEPS as f64;
                histogram::record_many(all, us as u64, times);
            }
        }
        self.count += requests;
        self.sum += requests as f64 * longest_ms / 2.0;
        self.max = self.max.max(longest_ms);
        self.min = self.min.min(longest_ms / requests.clamp(1, STEPS) as f64);
    }

    /// Returns the figure of a threshold in its unit, over that many seconds; `None` without data.
    ///
    /// # Errors
    /// Names the subject and the figures that it has, if the threshold's is none of them; or why
    /// they are not to be judged.
    pub(crate) fn value(&self, of: &Threshold, seconds: f64) -> Result<Option<f64>, &'static str> {
        if let Some(flaw) = self.flaw {
            return Err(flaw);
        }
        let (figure, unit) = (of.figure, of.unit);
        let of_requests = of.part.is_some() || of.among != LatencySubset::All;
        if of_requests && self.subject != ThresholdSubject::Requests {
            return Err(self.figures());
        }
        let count = self.count as f64;
        let share = |part: u64| (self.count > 0).then(|| 100.0 * part as f64 / count);
        let per_second = |amount: f64| Some(if seconds > 0.0 { amount / seconds } else { 0.0 });
        // A verdict may arrive before the request that it is about.
        let failures = self.failures.max(0) as u64;
        let passes = self.count.saturating_sub(failures);
        use ThresholdSubject::{Arrivals, Metric, Requests, Tasks};
        let scale = || unit.per_millisecond().ok_or(self.figures());
        Ok(match (self.subject, figure, unit) {
            // Where none was due, none was dropped.
            (Arrivals, FigureKind::Dropped, Unit::Percent) => share(failures).or(Some(0.0)),
            (Arrivals, FigureKind::Dropped, _) => Some(failures as f64),
            (Requests | Tasks | ThresholdSubject::Checks, FigureKind::Rate, Unit::PerSecond) => {
                per_second(count)
            }
            (Requests | Tasks | ThresholdSubject::Checks, FigureKind::Count, _) => Some(count),
            (Requests, FigureKind::Bytes, Unit::Size(size)) => {
                Some(self.bytes as f64 / size.bytes())
            }
            (Requests, FigureKind::Bytes, Unit::SizePerSecond(size)) => {
                per_second(self.bytes as f64 / size.bytes())
            }
            (_, FigureKind::Failures, Unit::Percent) if self.has_failures() => share(failures),
            (_, FigureKind::Failures, _) if self.has_failures() => {
                (self.count > 0).then_some(failures as f64)
            }
            (Requests, FigureKind::Oldest, _) => Some(self.oldest.max(self.max) * scale()?),
            (Requests | Tasks, ..) => {
                let scale = scale()?;
                self.distribution(figure)?.map(|ms| ms * scale)
            }
            (ThresholdSubject::Checks, FigureKind::Checks | FigureKind::Rate, Unit::Percent) => {
                share(passes)
            }
            (Metric(MetricKind::Rate), FigureKind::Rate | FigureKind::Value, Unit::Percent) => {
                share(passes)
            }
            (Metric(MetricKind::Counter), FigureKind::Rate, Unit::PerSecond) => {
                per_second(self.sum)
            }
            (Metric(_), FigureKind::Rate, Unit::PerSecond) => per_second(count),
            (Metric(MetricKind::Counter), FigureKind::Value, Unit::None) => Some(self.sum),
            (Metric(_), FigureKind::Count, _) => Some(count),
            (Metric(MetricKind::Gauge), FigureKind::Value, Unit::None) => self.last,
            (Metric(MetricKind::Trend), FigureKind::Value, Unit::None) => {
                self.distribution(FigureKind::Avg)?
            }
            (Metric(MetricKind::Trend), _, Unit::None) => self.distribution(figure)?,
            // The extremes of a gauge are not known for a stretch.
            (Metric(MetricKind::Gauge), FigureKind::Min | FigureKind::Max, Unit::None)
                if of.during.is_none() =>
            {
                self.distribution(figure)?
            }
            (Metric(MetricKind::Gauge), FigureKind::Avg, Unit::None) => {
                self.distribution(figure)?
            }
            _ => return Err(self.figures()),
        })
    }

    fn has_failures(&self) -> bool {
        !matches!(
            self.subject,
            ThresholdSubject::Metric(MetricKind::Counter | MetricKind::Gauge | MetricKind::Trend)
        )
    }

    /// Returns a figure of the distribution of values; `None` without values.
    fn distribution(&self, figure: FigureKind) -> Result<Option<f64>, &'static str> {
        if self.count == 0 {
            return Ok(None);
        }
        let successes;
        let values = match (&self.values, &self.without) {
            (SubjectValues::Latencies(all), Some(failed)) => {
                let ok = histogram::less(all, failed);
                if self.is_of_all {
                    return self.of_successes(figure, &ok);
                }
                successes = SubjectValues::Latencies(ok);
                &successes
            }
            (values, _) => values,
        };
        let value = match (figure, values) {
            (FigureKind::Avg, _) => self.sum / self.count as f64,
            (FigureKind::Min, _) => self.min,
            (FigureKind::Max, _) => self.max,
            (FigureKind::Percentile(percent), SubjectValues::Latencies(histogram)) => {
                histogram.value_at_quantile(percent / 100.0) as f64 / 1e3
            }
            (FigureKind::Percentile(percent), SubjectValues::Numbers(spread)) => {
                let [value] = spread.quantiles([percent / 100.0]);
                value
            }
            _ => return Err(self.figures()),
        };
        Ok(Some(value.clamp(self.min, self.max)))
    }

    /// Returns a figure of successful requests whose exact figures are not known; `None` without any.
    fn of_successes(
        &self,
        figure: FigureKind,
        ok: &Histogram<u64>,
    ) -> Result<Option<f64>, &'static str> {
        if ok.is_empty() {
            return Ok(None);
        }
        let us = match figure {
            FigureKind::Avg => ok.mean(),
            FigureKind::Min => ok.min() as f64,
            FigureKind::Max => ok.max() as f64,
            FigureKind::Percentile(percent) => ok.value_at_quantile(percent / 100.0) as f64,
            _ => return Err(self.figures()),
        };
        Ok(Some((us / 1e3).clamp(self.min, self.max)))
    }

    /// Names the subject and the figures that it has.
    fn figures(&self) -> &'static str {
        match self.subject {
            ThresholdSubject::Arrivals => {
                "iterations that were due have 'dropped' in % or as a number"
            }
            ThresholdSubject::Requests | ThresholdSubject::Tasks => {
                "requests and tasks have p50 to p99.99, avg, min and max in us, ms or s, failures in % or as a \
                 number, rate in /s, and count; requests also have bytes and phases, and all together 'oldest'"
            }
            ThresholdSubject::Checks => {
                "checks have 'checks' and rate in %, failures in % or as a number, rate in /s, and count"
            }
            ThresholdSubject::Metric(MetricKind::Counter) => {
                "it is a counter, which has value and count without a unit, and rate in /s"
            }
            ThresholdSubject::Metric(MetricKind::Gauge) => {
                "it is a gauge, which has value, avg, and over the whole run min and max, without a unit"
            }
            ThresholdSubject::Metric(MetricKind::Rate) => {
                "it is a rate, which has rate in %, failures in % or as a number, rate in /s, and count"
            }
            ThresholdSubject::Metric(MetricKind::Trend) => {
                "it is a trend, which has p50 to p99.99, avg, min, max, value and count, all without a unit"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_a_silent_site_waits_between_nothing_and_its_end() {
        let mut waiting = ThresholdFigures::nothing(ThresholdSubject::Requests);
        waiting.wait_evenly(1_000, Duration::from_secs(10));
        for (text, from_s, to_s) in [
            ("min < 1s", 0.0, 0.2),
            ("p50 < 1s", 4.9, 5.2),
            ("avg < 1s", 4.9, 5.1),
            ("max < 1s", 9.9, 10.1),
        ] {
            let threshold = Threshold::read(text).expect("a threshold");
            let found = waiting
                .value(&threshold, 10.0)
                .expect("a figure of requests");
            let found_s = found.expect("some wait");
            assert!((from_s..=to_s).contains(&found_s), "{text}: {found_s}");
        }
    }

    #[test]
    fn one_request_that_waits_has_waited_all_the_time() {
        for (requests, text, expected_ms) in [
            (1, "min < 1s", 10_000.0),
            (1, "p50 < 1s", 10_000.0),
            (1, "p90 < 1s", 10_000.0),
            (2, "p50 < 1s", 5_000.0),
            (2, "p90 < 1s", 10_000.0),
            (3, "p50 < 1s", 6_700.0),
            (3, "p99 < 1s", 10_000.0),
            (4, "min < 1s", 2_500.0),
        ] {
            let mut waiting = ThresholdFigures::nothing(ThresholdSubject::Requests);
            waiting.wait_evenly(requests, Duration::from_secs(10));
            let threshold = Threshold::read(text).expect("a threshold");
            let found = waiting.value(&threshold, 10.0);
            let found_ms = 1e3 * found.expect("a figure").expect("some wait");
            assert!(
                (found_ms - expected_ms).abs() < 0.001 * expected_ms,
                "{requests} {text}: {found_ms}"
            );
        }
    }
}
