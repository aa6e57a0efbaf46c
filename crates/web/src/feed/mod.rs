//! The events for readers: figures, points over time, lines of the log. Each reader has a [`FeedPosition`] and fetches the
//! next event once its connection can take more: nothing is buffered for a reader that does not read, and a slow reader
//! skips events. Filled once a second; an event is made when the first reader fetches it.

mod changes;
mod journal;
mod place;
mod points;

pub(super) use place::FeedPosition;

use changes::{changes, only_grew};
use journal::{FeedEntry, FeedLog};
use lgoose_metrics::control::{Handle, ReaderMessage, ReloadResult};
use lgoose_metrics::{Report, Snapshot, ThresholdRow};
use lgoose_report::json::JsonSnapshot;
use points::FeedPoints;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

/// Time between two events with figures.
const EVERY: Duration = Duration::from_secs(1);

/// The most points in one event, which bounds the memory for a reader that does not read.
const POINTS: usize = 100;

/// The events of a run.
#[derive(Debug)]
pub(super) struct Feed {
    state: Mutex<FeedState>,
    /// Wakes readers when there may be something.
    news: watch::Sender<()>,
}

#[derive(Debug)]
struct FeedState {
    /// Distinguishes the events of this process from those of others.
    epoch: u32,
    /// Counts measurements: a reader of another one has to drop its figures.
    measurement: u64,
    latest: Option<Arc<Snapshot>>,
    frame: FeedFrame,
    points: FeedPoints,
    journal: FeedLog,
    /// Thresholds that do not hold, by their texts and names.
    broken: HashMap<(String, Option<String>), bool>,
    /// JSON of the last event, once the run is over.
    end: Option<Arc<str>>,
}

/// The figures of a moment.
#[derive(Debug, Default)]
struct FeedFrame {
    number: u64,
    of: Option<Arc<Snapshot>>,
    over: bool,
    state: Map<String, Value>,
    /// Changes since the snapshot before.
    changes: Map<String, Value>,
}

impl Feed {
    pub(super) fn new() -> Feed {
        let state = FeedState {
            epoch: rand::random(),
            measurement: 1,
            latest: None,
            frame: FeedFrame::default(),
            points: FeedPoints::default(),
            journal: FeedLog::default(),
            broken: HashMap::new(),
            end: None,
        };
        Feed {
            state: Mutex::new(state),
            news: watch::channel(()).0,
        }
    }

    /// Fills the feed as long as the run goes on.
    pub(super) async fn follow(&self, handle: Handle) {
        let (mut log, mut news) = (handle.log(), handle.news());
        let mut snapshots = handle.snapshots();
        let mut tick = interval(EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = tick.tick() => {
                    let latest = snapshots.borrow_and_update().clone();
                    if let Some(latest) = latest {
                        self.state().look(latest);
                    }
                    self.news.send_replace(());
                    if snapshots.has_changed().is_err() {
                        return;
                    }
                }
                Some(line) = log.next() => {
                    self.state().journal.add(match line {
                        ReaderMessage::Entry(line) => FeedEntry::Line(line),
                        ReaderMessage::Skipped(lines) => FeedEntry::Skipped(lines),
                    });
                }
                Some(news) = news.next() => {
                    if let ReaderMessage::Entry(news) = news {
                        self.state().journal.add(reload(&news));
                    }
                }
            }
        }
    }

    /// Takes the report of the run, which is over; `None` if it came to none.
    pub(super) fn end(&self, report: Option<&Report>) {
        let mut state = self.state();
        if let Some(report) = report {
            let last = state.latest.clone().unwrap_or_default();
            state.look(Arc::new(last.ended(report)));
        }
        let end = json!({
            "ending": report.and_then(|report| report.ending.as_ref()),
            "verdict": report.and_then(|report| report.verdict.as_ref()),
        });
        state.end = Some(end.to_string().into());
        drop(state);
        self.news.send_replace(());
    }

    /// Returns a receiver that changes when there may be something new.
    pub(super) fn news(&self) -> watch::Receiver<()> {
        self.news.subscribe()
    }

    /// Returns the latest figures; `None` before there are some.
    pub(super) fn latest(&self) -> Option<Arc<Snapshot>> {
        self.state().latest.clone()
    }

    /// Returns the next event for a reader as it goes over the line, and moves the reader on; `None` if it has all.
    pub(super) fn next(&self, place: &mut FeedPosition) -> Option<String> {
        let mut state = self.state();
        place.settle(state.epoch);
        if let Some(next) = state.journal.after(place.entries) {
            place.entries = next.upto;
            return Some(event(next.event, &next.data, place));
        }
        if let Some(data) = state.snapshot_after(place) {
            return Some(event("snapshot", &data, place));
        }
        let end = state.end.clone().filter(|_| !place.has_end)?;
        place.has_end = true;
        Some(event("end", &end, place))
    }

    fn state(&self) -> MutexGuard<'_, FeedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An event as it goes over the line. JSON in one line has no line breaks.
fn event(name: &str, data: &str, place: &FeedPosition) -> String {
    format!("id: {place}\nevent: {name}\ndata: {data}\n\n")
}

fn reload(news: &ReloadResult) -> FeedEntry {
    let message = match news {
        Ok(done) => json!({ "done": &**done }),
        Err(error) => json!({ "error": error.text() }),
    };
    FeedEntry::Event("reload", message.to_string().into())
}

impl FeedState {
    /// Takes the figures of now.
    fn look(&mut self, now: Arc<Snapshot>) {
        if let Some(before) = &self.latest {
            let (was, is) = (before.progress.measured, now.progress.measured);
            if is < was || now.requests.total.count < before.requests.total.count {
                self.restart();
            }
        }
        self.points.take(&now.recent);
        for row in &now.thresholds {
            self.judge(row, now.progress.elapsed);
        }
        self.latest = Some(now);
    }

    fn restart(&mut self) {
        self.measurement += 1;
        self.points = FeedPoints::default();
    }

    /// Records whether a threshold holds, and reports a change to readers. One without data is none.
    fn judge(&mut self, row: &ThresholdRow, at: Duration) {
        let of = (row.threshold.clone(), row.name.clone());
        let passed = row.passed || row.value.is_none();
        let before = self.broken.insert(of, !passed).unwrap_or(false);
        if before == passed {
            let mut event = serde_json::to_value(row).unwrap_or(Value::Null);
            event["run_s"] = json!(at.as_secs_f64());
            self.journal
                .add(FeedEntry::Event("threshold", event.to_string().into()));
        }
    }

    /// Makes the figures of now, unless that is done.
    fn refresh(&mut self) {
        let over = self.end.is_some();
        let same = match (&self.frame.of, &self.latest) {
            (Some(of), Some(latest)) => Arc::ptr_eq(of, latest),
            (None, None) => self.frame.number > 0,
            _ => false,
        };
        if same && self.frame.over == over {
            return;
        }
        let state = shown(self.latest.as_deref(), over);
        if !only_grew(&self.frame.state, &state) && self.frame.number > 0 {
            self.measurement += 1;
        }
        self.frame = FeedFrame {
            number: self.frame.number + 1,
            of: self.latest.clone(),
            over,
            changes: changes(&self.frame.state, &state),
            state,
        };
    }

    /// Returns the JSON of the changes that a reader has not got; `None` if it has all.
    fn snapshot_after(&mut self, place: &mut FeedPosition) -> Option<String> {
        self.refresh();
        let is_new = place.measurement != self.measurement;
        if is_new {
            place.start(self.measurement);
        }
        let (points, last) = self.points.after(place.points, POINTS);
        let frame = &self.frame;
        let figures = match frame.number - place.frame.min(frame.number) {
            0 if points.is_empty() => return None,
            0 => None,
            1 if !is_new && place.frame > 0 => Some(frame.changes.clone()),
            _ => Some(changes(&Map::new(), &frame.state)),
        };
        let mut data = figures.unwrap_or_default();
        if is_new {
            data.insert("begin".to_owned(), true.into());
        }
        place.points = last;
        place.frame = frame.number;
        let mut text = Value::Object(data).to_string();
        if !points.is_empty() {
            text.pop();
            let comma = if text.len() > 1 { "," } else { "" };
            // Writing to a text cannot fail.
            let _ = write!(text, "{comma}\"points\":[{}]}}", points.join(","));
        }
        Some(text)
    }
}

/// Returns the figures of a snapshot for readers, without its points.
fn shown(snapshot: Option<&Snapshot>, over: bool) -> Map<String, Value> {
    let mut state = match snapshot.map(|snapshot| serde_json::to_value(JsonSnapshot::of(snapshot)))
    {
        Some(Ok(Value::Object(state))) => state,
        _ => Map::from_iter([("phase".to_owned(), "starting".into())]),
    };
    state.remove("series");
    for error in state
        .get_mut("errors")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Some(fields) = error.as_object_mut() {
            fields.remove("exemplars");
        }
    }
    if over {
        state.insert("phase".to_owned(), "over".into());
    }
    changes::round(&mut state);
    state
}

#[cfg(test)]
mod tests;
