//! What a threshold looks at: the figures of requests, checks or a metric, of the run so far or of a stretch
//! of it. Made by the store, read by the judges of thresholds.

use super::latency::{self, Exact};
use super::report::MetricKind;
use super::spread::Spread;
use crate::threshold::{Figure, Threshold, Unit};
use hdrhistogram::Histogram;

/// Everything that is known of one subject at one moment.
#[derive(Debug, Clone)]
pub(super) struct Sight {
    pub(super) subject: Subject,
    pub(super) count: u64,
    /// Failed ones, checks that did not hold, values of a rate that were false.
    pub(super) failures: u64,
    /// Of milliseconds or of a metric's numbers, as all that follows.
    pub(super) sum: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    /// The latest value of a gauge.
    pub(super) last: Option<f64>,
    pub(super) values: Values,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    Requests,
    /// Runs of tasks and transactions.
    Tasks,
    Checks,
    Metric(MetricKind),
}

#[derive(Debug, Clone)]
pub(super) enum Values {
    Latencies(Histogram<u64>),
    Numbers(Spread),
}

impl Sight {
    /// Of requests or tasks.
    pub(super) fn latencies(
        subject: Subject,
        ok: &Exact,
        failed: &Exact,
        histogram: &Histogram<u64>,
    ) -> Sight {
        let all = ok.merged(failed);
        Sight {
            subject,
            count: all.count,
            failures: failed.count,
            sum: all.mean_ms() * all.count as f64,
            min: all.min().as_secs_f64() * 1e3,
            max: all.max().as_secs_f64() * 1e3,
            last: None,
            values: Values::Latencies(histogram.clone()),
        }
    }

    /// The same subject with the figures of another row.
    pub(super) fn with(mut self, other: &Sight) -> Sight {
        self.count += other.count;
        self.failures += other.failures;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        match (&mut self.values, &other.values) {
            (Values::Latencies(all), Values::Latencies(more)) => latency::add(all, more),
            (Values::Numbers(all), Values::Numbers(more)) => all.add(more),
            _ => {}
        }
        self
    }

    /// What came since an earlier moment. Its extremes are exact to 0.1 %.
    pub(super) fn since(&self, earlier: &Sight) -> Sight {
        let mut stretch = self.clone();
        // The name stood for something else then.
        if self.subject != earlier.subject {
            return stretch;
        }
        stretch.count -= earlier.count;
        stretch.failures -= earlier.failures;
        stretch.sum -= earlier.sum;
        match (&mut stretch.values, &earlier.values) {
            (Values::Latencies(all), Values::Latencies(before)) => {
                all.subtract(before)
                    .expect("what was counted before is part of all");
                stretch.min = self.min.max(all.min() as f64 / 1e3);
                stretch.max = self.max.min(all.max() as f64 / 1e3);
            }
            (Values::Numbers(all), Values::Numbers(before)) => {
                all.subtract(before);
                let [min, max] = all.quantiles([0.0, 1.0]);
                stretch.min = min.clamp(self.min, self.max);
                stretch.max = max.clamp(self.min, self.max);
            }
            _ => {}
        }
        stretch
    }

    /// The figure of a threshold in its unit, over so many seconds; `None` is no data.
    ///
    /// # Errors
    /// What the subject is and which figures it has, when this is none of them.
    pub(super) fn value(&self, of: &Threshold, seconds: f64) -> Result<Option<f64>, &'static str> {
        let (figure, unit) = (of.figure, of.unit);
        let count = self.count as f64;
        let share = |part: u64| (self.count > 0).then(|| 100.0 * part as f64 / count);
        let per_second = |amount: f64| Some(if seconds > 0.0 { amount / seconds } else { 0.0 });
        let passes = self.count - self.failures;
        Ok(match (self.subject, figure, unit) {
            (
                Subject::Requests | Subject::Tasks | Subject::Checks,
                Figure::Rate,
                Unit::PerSecond,
            ) => per_second(count),
            (Subject::Requests | Subject::Tasks | Subject::Checks, Figure::Count, _) => Some(count),
            (_, Figure::Failures, Unit::Percent) if self.has_failures() => share(self.failures),
            (_, Figure::Failures, _) if self.has_failures() => {
                (self.count > 0).then_some(self.failures as f64)
            }
            (Subject::Requests | Subject::Tasks, ..) => {
                let scale = unit.per_millisecond().ok_or(self.figures())?;
                self.distribution(figure)?.map(|ms| ms * scale)
            }
            (Subject::Checks, Figure::Checks | Figure::Rate, Unit::Percent) => share(passes),
            (Subject::Metric(MetricKind::Rate), Figure::Rate | Figure::Value, Unit::Percent) => {
                share(passes)
            }
            (Subject::Metric(MetricKind::Counter), Figure::Rate, Unit::PerSecond) => {
                per_second(self.sum)
            }
            (Subject::Metric(_), Figure::Rate, Unit::PerSecond) => per_second(count),
            (Subject::Metric(MetricKind::Counter), Figure::Count | Figure::Value, Unit::None) => {
                Some(self.sum)
            }
            (Subject::Metric(_), Figure::Count, _) => Some(count),
            (Subject::Metric(MetricKind::Gauge), Figure::Value, Unit::None) => self.last,
            (Subject::Metric(MetricKind::Trend), Figure::Value, Unit::None) => {
                self.distribution(Figure::Avg)?
            }
            (Subject::Metric(MetricKind::Trend), _, Unit::None) => self.distribution(figure)?,
            // The extremes of a stretch are not known of a gauge.
            (Subject::Metric(MetricKind::Gauge), Figure::Min | Figure::Max, Unit::None)
                if of.during.is_none() =>
            {
                self.distribution(figure)?
            }
            (Subject::Metric(MetricKind::Gauge), Figure::Avg, Unit::None) => {
                self.distribution(figure)?
            }
            _ => return Err(self.figures()),
        })
    }

    fn has_failures(&self) -> bool {
        !matches!(
            self.subject,
            Subject::Metric(MetricKind::Counter | MetricKind::Gauge | MetricKind::Trend)
        )
    }

    /// A figure of how values are spread; nothing without values.
    fn distribution(&self, figure: Figure) -> Result<Option<f64>, &'static str> {
        if self.count == 0 {
            return Ok(None);
        }
        let value = match (figure, &self.values) {
            (Figure::Avg, _) => self.sum / self.count as f64,
            (Figure::Min, _) => self.min,
            (Figure::Max, _) => self.max,
            (Figure::Percentile(percent), Values::Latencies(histogram)) => {
                histogram.value_at_quantile(percent / 100.0) as f64 / 1e3
            }
            (Figure::Percentile(percent), Values::Numbers(spread)) => {
                let [value] = spread.quantiles([percent / 100.0]);
                value
            }
            _ => return Err(self.figures()),
        };
        Ok(Some(value.clamp(self.min, self.max)))
    }

    /// What it is and which figures it has.
    fn figures(&self) -> &'static str {
        match self.subject {
            Subject::Requests | Subject::Tasks => {
                "requests and tasks have p50 to p99.99, avg, min and max in us, ms or s, failures in % or as a \
                 number, rate in /s, and count"
            }
            Subject::Checks => {
                "checks have 'checks' and rate in %, failures in % or as a number, rate in /s, and count"
            }
            Subject::Metric(MetricKind::Counter) => {
                "it is a counter, which has value and count without a unit, and rate in /s"
            }
            Subject::Metric(MetricKind::Gauge) => {
                "it is a gauge, which has value, avg, and over the whole run min and max, without a unit"
            }
            Subject::Metric(MetricKind::Rate) => {
                "it is a rate, which has rate in %, failures in % or as a number, rate in /s, and count"
            }
            Subject::Metric(MetricKind::Trend) => {
                "it is a trend, which has p50 to p99.99, avg, min, max, value and count, all without a unit"
            }
        }
    }
}
