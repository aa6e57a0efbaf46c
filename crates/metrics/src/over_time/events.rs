//! Events of a run: pauses, reloads of the plan, new stages, times without any response.

use serde::{Deserialize, Serialize};

/// The most events kept of one measurement.
const MOST: usize = 1_000;

/// Something that happened to a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct Event {
    /// When it happened, in seconds since the start of the measurement, on the clock of `series`.
    pub at_s: f64,
    /// How long it lasted, in seconds; `null` for events without a duration.
    pub lasted_s: Option<f64>,
    /// Kind of the event.
    pub kind: EventKind,
    /// Description of the event for people.
    pub text: String,
}

/// Kind of an [`Event`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// The run was paused: no task started.
    Pause,
    /// The figures were reset.
    Reset,
    /// Users switched to a new version of the plan, and the figures were reset.
    Reload,
    /// A new stage began.
    Stage,
    /// A command changed the number of users or the rate.
    Steered,
    /// A worker joined, was lost or came back.
    Worker,
    /// Users waited for responses, and none arrived for anyone.
    Silence,
    /// lgoose and not the target set the latency.
    Saturation,
    /// The run began to stop.
    Stop,
    /// The run was over.
    End,
}

impl EventKind {
    /// Returns the name of the kind in JSON.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::Pause => "pause",
            EventKind::Reset => "reset",
            EventKind::Reload => "reload",
            EventKind::Stage => "stage",
            EventKind::Steered => "steered",
            EventKind::Worker => "worker",
            EventKind::Silence => "silence",
            EventKind::Saturation => "saturation",
            EventKind::Stop => "stop",
            EventKind::End => "end",
        }
    }
}

/// Events of a measurement; times are nanoseconds since the run began.
#[derive(Debug, Default)]
pub(crate) struct EventLog {
    events: Vec<(u64, Option<u64>, EventKind, String)>,
    left_out: u64,
}

impl EventLog {
    /// Adds an event at `at`, which may have lasted for some time from then on.
    pub(crate) fn add(&mut self, at: u64, lasted: Option<u64>, kind: EventKind, text: String) {
        if self.events.len() < MOST {
            self.events.push((at, lasted, kind, text));
        } else {
            self.left_out += 1;
        }
    }

    /// Returns the events of the measurement that began at `origin`, in order of time.
    pub(crate) fn rows(&self, origin: u64) -> Vec<Event> {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let mut rows: Vec<Event> = self
            .events
            .iter()
            .map(|(at, lasted, kind, text)| Event {
                at_s: seconds(at.saturating_sub(origin)),
                lasted_s: lasted.map(seconds),
                kind: *kind,
                text: text.clone(),
            })
            .collect();
        rows.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        rows
    }

    /// Returns at most the last `limit` events.
    pub(crate) fn last(&self, limit: usize, origin: u64) -> Vec<Event> {
        if self.events.is_empty() {
            Vec::new()
        } else {
            let mut rows = self.rows(origin);
            rows.split_off(rows.len().saturating_sub(limit))
        }
    }

    /// Returns a warning if the list of events is not complete.
    pub(crate) fn warning(&self) -> Option<String> {
        (self.left_out > 0).then(|| {
            format!(
                "only the first {MOST} events of the run are kept; {} more happened",
                self.left_out
            )
        })
    }
}

/// Times in which a run was paused, in nanoseconds since it began.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pauses {
    over: Vec<(u64, u64)>,
    since: Option<u64>,
}

impl Pauses {
    pub(crate) fn start(&mut self, at: u64) {
        self.since.get_or_insert(at);
    }

    /// Ends a pause and returns when it began, if there was one.
    pub(crate) fn end(&mut self, at: u64) -> Option<u64> {
        let since = self.since.take()?;
        self.over.push((since, at));
        Some(since)
    }

    /// Returns the time between `from` and `to` that was not spent in a pause, in nanoseconds.
    pub(crate) fn lasted(&self, from: u64, to: u64) -> u64 {
        let open = self.since.map(|since| (since, to));
        let paused: u64 = self
            .over
            .iter()
            .copied()
            .chain(open)
            .map(|(start, end)| end.min(to).saturating_sub(start.max(from)))
            .sum();
        to.saturating_sub(from).saturating_sub(paused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_subtracted_from_every_time_they_overlap() {
        let mut pauses = Pauses::default();
        pauses.start(10);
        pauses.start(12);
        assert_eq!(pauses.lasted(5, 20), 5, "it goes on");
        assert_eq!(pauses.end(15), Some(10));
        assert_eq!(pauses.end(16), None);
        pauses.start(30);
        pauses.end(40);
        for (from, to, remaining) in [
            (0, 10, 10),
            (0, 50, 35),
            (11, 14, 0),
            (14, 31, 15),
            (41, 50, 9),
        ] {
            assert_eq!(pauses.lasted(from, to), remaining, "{from}..{to}");
        }
    }

    #[test]
    fn events_are_reported_in_order_and_counted_beyond_the_most() {
        let mut log = EventLog::default();
        log.add(3_500_000_000, None, EventKind::Stage, "b".to_owned());
        log.add(
            2_500_000_000,
            Some(500_000_000),
            EventKind::Pause,
            "a".to_owned(),
        );
        let rows = log.rows(1_000_000_000);
        let shown: Vec<_> = rows
            .iter()
            .map(|row| (row.at_s, row.lasted_s, row.text.as_str()))
            .collect();
        assert_eq!(shown, [(1.5, Some(0.5), "a"), (2.5, None, "b")]);
        assert_eq!(log.warning(), None);
        for _ in 0..MOST {
            log.add(0, None, EventKind::Stage, String::new());
        }
        assert!(log.warning().is_some_and(|text| text.contains("2 more")));
    }
}
