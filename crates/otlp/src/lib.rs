//! Export of a run to an OpenTelemetry collector while it runs: OTLP over HTTP with protobuf. Sends metrics every ten
//! seconds, and a span for each failed request that the report keeps as an exemplar. A slow or missing collector does
//! not affect the run; failed deliveries are reported.
//!
//! Used by the program.
//!
//! ```
//! use lgoose_otlp::ExportOptions;
//!
//! assert!(ExportOptions::read(Some("http://127.0.0.1:4318"), |_| None).is_ok());
//! assert!(ExportOptions::read(Some("no address"), |_| None).is_err());
//! ```

mod messages;
mod metrics;
mod options;
mod resource;
mod sender;
mod spans;
#[cfg(test)]
mod tests;

use lgoose_base::error::Error;
use lgoose_metrics::control::Handle;
use lgoose_metrics::{Detail, Report, Snapshot};
use lgoose_report::telemetry::{families, gen_ai};
pub use options::ExportOptions;
use resource::TelemetryScope;
use sender::{EndpointSender, PartialSuccess};
use spans::ExportedRequests;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval_at, timeout};

/// Time that the last export of a run may take.
const FAREWELL: Duration = Duration::from_secs(5);

/// Exports a run from a thread of its own.
#[derive(Debug)]
pub struct Exporter {
    over: oneshot::Sender<Arc<Report>>,
    thread: JoinHandle<Option<String>>,
}

impl Exporter {
    /// Begins to export the run of that plan against that host.
    ///
    /// # Errors
    /// Trouble with TLS or with the thread.
    pub fn start(
        options: ExportOptions,
        runtime: Runtime,
        handle: Handle,
        plan: &str,
        host: &str,
    ) -> Result<Exporter, Error> {
        let metrics = sender::client(&options.metrics.certificates)?;
        let traces = if options.traces.certificates == options.metrics.certificates {
            metrics.clone()
        } else {
            sender::client(&options.traces.certificates)?
        };
        let work = ExportLoop {
            scope: TelemetryScope::new(&options, plan, host),
            metrics: EndpointSender::new(metrics, options.metrics),
            traces: EndpointSender::new(traces, options.traces),
            interval: options.interval,
            handle,
            began: now(),
            sent: ExportedRequests::default(),
            exports: 0,
            failed: FailedExports::default(),
        };
        let (over, ends) = oneshot::channel();
        let export = move || {
            let result = runtime.block_on(work.run(ends));
            runtime.shutdown_background();
            result
        };
        let thread = std::thread::Builder::new().name("otlp".to_owned());
        let thread = thread.spawn(export);
        let thread = thread.map_err(|error| Error::cannot("start a thread", error))?;
        Ok(Exporter { over, thread })
    }

    /// Exports the report of a run that is over, unless that was aborted; returns a warning if something did not arrive. Takes
    /// some seconds at most, and ends at once when somebody aborts.
    pub fn finish(self, report: &Report) -> Option<String> {
        // A thread that panicked exports nothing more.
        let _gone = self.over.send(Arc::new(report.clone()));
        self.thread.join().ok().flatten()
    }
}

/// Exports that did not arrive.
#[derive(Debug, Default)]
struct FailedExports {
    count: u64,
    /// The reason for the last of them.
    why: String,
}

struct ExportLoop {
    scope: TelemetryScope,
    metrics: EndpointSender,
    traces: EndpointSender,
    interval: Duration,
    handle: Handle,
    /// The beginning of the run, in nanoseconds since 1970.
    began: u64,
    sent: ExportedRequests,
    exports: u64,
    failed: FailedExports,
}

impl ExportLoop {
    /// Exports until the run is over, and its report then; returns a warning if something did not arrive.
    async fn run(mut self, mut over: oneshot::Receiver<Arc<Report>>) -> Option<String> {
        let start = tokio::time::Instant::now() + self.interval;
        let mut tick = interval_at(start, self.interval);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let last = loop {
            tokio::select! {
                last = &mut over => break last,
                _ = tick.tick() => {}
            }
            let handle = self.handle.clone();
            let exporting = async {
                let Some(report) = handle.report_in(Detail::Totals).await else {
                    return;
                };
                let now = handle.snapshot().unwrap_or_default();
                self.export(&report, &now).await;
            };
            tokio::select! {
                last = &mut over => break last,
                () = exporting => {}
            }
        };
        // Without a report the run has come to nothing.
        let report = last.ok()?;
        // The last snapshot is of a moment at which users were still at work.
        let last = self.handle.snapshot().unwrap_or_default().ended(&report);
        let handle = self.handle.clone();
        let cut_off = tokio::select! {
            biased;
            () = handle.aborted() => Some("the run was aborted"),
            exported = timeout(FAREWELL, self.export(&report, &last)) => match exported {
                Ok(()) => None,
                Err(_) => Some("the collector did not answer in time"),
            },
        };
        if let Some(why) = cut_off {
            self.note(Err(why.to_owned()));
        }
        self.warning()
    }

    /// Exports a report, with its failed requests.
    async fn export(&mut self, report: &Report, snapshot: &Snapshot) {
        let end = now();
        // Figures begin anew after a warm-up, a reset or an edit of the plan.
        let span = metrics::FigureSpan {
            start: self.began.saturating_add(report.origin_ns).min(end),
            end,
        };
        let mut all = families(report, snapshot);
        all.extend(gen_ai(report));
        let request = metrics::request(all, &self.scope, span);
        let taken = self.metrics.send(&request).await;
        self.note(taken);
        let Some(batch) = self.sent.batch(report, &self.scope) else {
            return;
        };
        let taken = self.traces.send(&batch.request).await;
        let arrived = taken.is_ok();
        self.note(taken);
        if arrived {
            self.sent.note(batch);
        }
    }

    /// Records the result of an export: how much of it the collector rejected, and why; or why it did not arrive.
    fn note(&mut self, taken: Result<PartialSuccess, String>) {
        self.exports += 1;
        match taken {
            Ok(PartialSuccess { rejected: 0, .. }) => {}
            Ok(partly) => {
                let (rejected, why) = (partly.rejected, partly.error_message);
                self.fail(format!("the collector rejected {rejected}: {why}"));
            }
            Err(why) => self.fail(why),
        }
    }

    fn fail(&mut self, why: String) {
        tracing::debug!(target: "lgoose::otlp", "an export failed: {why}");
        self.failed.count += 1;
        self.failed.why = why;
    }

    fn warning(&self) -> Option<String> {
        let FailedExports { count, why } = &self.failed;
        let exports = self.exports;
        (*count > 0).then(|| {
            format!("{count} of {exports} exports by OTLP failed, the last because: {why}")
        })
    }
}

/// Returns the time in nanoseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}
