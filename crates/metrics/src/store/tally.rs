//! Rows of the store: the totals of a name over the whole run, and their row in a report.

use crate::delta::{LatencyKind, PhaseSum, RequestCounts, RequestDelta, TaskDelta};
use crate::exemplars::{NameTraces, Slowest};
use crate::latencies::{
    ExactFigures, FilledLatencies, LatencySum, PartTallies, summary as latency,
};
use crate::record::Traffic;
use crate::report::{CoFigures, Figures, Latency, Messages, PhasesMs};
use crate::thresholds::ThresholdFigures;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2Serializer};
use lgoose_base::phases::TimedPart;
use lgoose_base::threshold::Threshold;
use std::borrow::Cow;
use std::time::Duration;

/// The quantiles that the live view shows.
const LIVE: [f64; 3] = [0.5, 0.95, 0.99];

/// Totals of one request name, or of all of them, over the whole run.
#[derive(Debug, Default)]
pub(crate) struct RequestTally {
    pub(crate) counts: RequestCounts,
    /// Streams that were opened.
    opened: u64,
    pub(crate) all: LatencySum,
    /// Latencies of the failed requests; allocated with the first.
    failed: Option<LatencySum>,
    /// Latencies from the actual start, in a run at a rate.
    service: Option<LatencySum>,
    /// Latencies filled in for late users; allocated with the first.
    pub(crate) filled: Option<Box<FilledLatencies>>,
    /// The slowest requests of one name.
    pub(crate) slowest: Slowest,
    /// Sampled traces of one name; allocated with the first.
    pub(crate) traced: Option<Box<NameTraces>>,
    /// Times of the phases that thresholds look at, and of the messages of streams.
    part_times: PartTallies,
    /// p50, p95, p99 as of the last tick that changed them.
    live: [Duration; 3],
    changed: bool,
    /// The same for the successful requests.
    live_ok: [Duration; 3],
    changed_ok: bool,
}

impl RequestTally {
    /// Adds a shard's row completely.
    pub(crate) fn merge(&mut self, row: &RequestDelta) {
        self.merge_counts(row);
        self.all.add(&row[LatencyKind::All]);
        self.slowest.merge(&row.slowest);
        if let Some(traced) = &row.traced {
            self.traced.get_or_insert_default().merge(traced);
        }
    }

    /// Adds a shard's row except for the latencies of all its requests, which follow through
    /// [`Self::add_latencies`].
    pub(crate) fn merge_counts(&mut self, row: &RequestDelta) {
        (self.changed, self.changed_ok) = (true, true);
        self.counts.add(&row.counts);
        self.opened += row.opened;
        self.part_times.merge(&row.part_times);
        for (kind, sum) in [
            (LatencyKind::Failed, &mut self.failed),
            (LatencyKind::Service, &mut self.service),
        ] {
            if !row[kind].is_empty() {
                sum.get_or_insert_default().add(&row[kind]);
            }
        }
    }

    /// Returns whether there is a row to show: a request has ended, or messages of one that goes on have come.
    pub(crate) fn has_figures(&self) -> bool {
        self.counts.count() > 0 || messages(self.counts.traffic).is_some()
    }

    /// Returns whether a live view shows it: it has figures, or a stream that goes on.
    pub(crate) fn is_live(&self) -> bool {
        self.opened > 0 || self.has_figures()
    }

    pub(crate) fn add_latencies(&mut self, latencies: &Histogram<u64>) {
        self.all.merge_histogram(latencies);
    }

    /// Returns p50, p95 and p99. Reading a histogram costs some µs, so it is done only where something changed.
    pub(crate) fn live(&mut self) -> [Duration; 3] {
        if std::mem::take(&mut self.changed) {
            self.live = self.exact().quantiles(&self.all, LIVE);
        }
        self.live
    }

    /// Returns p50, p95 and p99 of the successful requests alone. Costs a copy of the histogram once something has
    /// failed.
    pub(crate) fn live_ok(&mut self) -> [Duration; 3] {
        if std::mem::take(&mut self.changed_ok) {
            self.live_ok = match self.failed {
                Some(_) => self.counts.ok.quantiles(&*self.ok_latencies(), LIVE),
                None => self.counts.ok.quantiles(&self.all, LIVE),
            };
        }
        self.live_ok
    }

    /// Returns the latencies of the successful requests.
    pub(crate) fn ok_latencies(&self) -> Cow<'_, Histogram<u64>> {
        let Some(failed) = &self.failed else {
            return self.all.histogram();
        };
        let mut ok = self.all.histogram().into_owned();
        // A verdict may arrive before the request that it is about.
        match ok.subtract(&*failed.histogram()) {
            Ok(()) => Cow::Owned(ok),
            Err(_) => self.all.histogram(),
        }
    }

    pub(crate) fn exact(&self) -> ExactFigures {
        self.counts.all
    }

    /// Adds its figures to those that a threshold looks at.
    pub(crate) fn show(&self, threshold_figures: &mut ThresholdFigures, of: &Threshold) {
        let Some(part) = of.part else {
            let (failed, filled) = (self.failed.as_ref(), self.filled.as_deref());
            let among = of.among;
            return threshold_figures.add_requests(among, &self.counts, &self.all, failed, filled);
        };
        if let Some((exact, times)) = self.part_times.of(part) {
            threshold_figures.add_times(exact, |all| times.add_to(all));
        }
    }

    /// Returns the figures with the latencies that were filled in.
    pub(crate) fn corrected(&self) -> CoFigures {
        let (mut exact, mut all) = (self.exact(), self.all.histogram());
        if let Some(filled) = &self.filled {
            exact = exact.merged(&filled.exact);
            filled.latencies.add_to(all.to_mut());
        }
        CoFigures {
            count: exact.count,
            filled: self.filled.as_ref().map_or(0, |filled| filled.exact.count),
            latency_ms: latency(&exact, &all),
            histogram: base64_v2(&all),
        }
    }

    /// Returns the row of a report over `measured` time.
    pub(crate) fn figures(&self, measured: Duration) -> Figures {
        let counts = &self.counts;
        let all = self.all.histogram();
        let latency_ok_ms = latency(&counts.ok, &self.ok_latencies());
        Figures {
            count: counts.count(),
            failures: counts.failures(),
            redirects: counts.redirects,
            retries: counts.retries,
            rate: per_second(counts.count(), measured),
            bytes: counts.traffic.received,
            bytes_sent: Some(counts.traffic.sent),
            messages: messages(counts.traffic),
            latency_ms: latency(&self.exact(), &all),
            latency_ok_ms,
            service_ms: self
                .service
                .as_ref()
                .and_then(|service| latency(&counts.service, &service.histogram())),
            first_event_ms: self.part_times.summary(TimedPart::FirstEvent),
            event_gap_ms: self.part_times.summary(TimedPart::EventGap),
            phases_ms: phases(&counts.phases),
            status: counts
                .status
                .iter()
                .map(|(code, n)| (code.to_string(), *n))
                .collect(),
            histogram: base64_v2(&all),
            failed_histogram: self
                .failed
                .as_ref()
                .map_or_else(String::new, |failed| base64_v2(&failed.histogram())),
        }
    }
}

/// Returns the messages of a row of a report; `None` if there were none, as with HTTP.
fn messages(traffic: Traffic) -> Option<Messages> {
    (traffic.messages_sent + traffic.messages_received > 0).then_some(Messages {
        sent: traffic.messages_sent,
        received: traffic.messages_received,
    })
}

/// Totals of one task or transaction over the whole run.
#[derive(Debug, Default)]
pub(crate) struct TaskTally {
    pub(crate) ok: ExactFigures,
    pub(crate) failed: ExactFigures,
    all: LatencySum,
}

impl TaskTally {
    pub(crate) fn merge(&mut self, row: &TaskDelta) {
        self.ok = self.ok.merged(&row.ok);
        self.failed = self.failed.merged(&row.failed);
        self.all.add(&row.all);
    }

    pub(crate) fn runs(&self) -> u64 {
        self.ok.count + self.failed.count
    }

    pub(crate) fn show(&self, threshold_figures: &mut ThresholdFigures) {
        threshold_figures.add_tasks(&self.ok, &self.failed, |all| self.all.add_to(all));
    }

    pub(crate) fn latency(&self) -> Option<Latency> {
        latency(&self.ok.merged(&self.failed), &self.all.histogram())
    }
}

/// Returns events per second; zero when no time has passed.
pub(crate) fn per_second(count: u64, measured: Duration) -> f64 {
    let seconds = measured.as_secs_f64();
    if seconds > 0.0 {
        count as f64 / seconds
    } else {
        0.0
    }
}

fn phases(sums: &[PhaseSum; 6]) -> PhasesMs {
    let mean = |sum: &PhaseSum| (sum.count > 0).then(|| sum.ns as f64 / sum.count as f64 / 1e6);
    PhasesMs::in_order(sums.each_ref().map(mean))
}

fn base64_v2(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2Serializer::new()
        .serialize(histogram, &mut bytes)
        .expect("memory takes what is written, and counts stay below 2^63");
    BASE64.encode(bytes)
}
