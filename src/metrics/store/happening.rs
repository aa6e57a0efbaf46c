//! Events of a run that the store is told of or finds itself.

use super::super::events::EventKind;
use super::super::latency::nanoseconds;
use super::super::silence::Silence;
use super::Store;
use crate::units::counted;
use std::time::Duration;

/// Length of a silence that is worth reporting, in median latencies; it is never less than a second.
const MEDIANS: u32 = 10;
const LEAST: Duration = Duration::from_secs(1);

impl Store {
    /// Sets the beginning of the load, as the time since the clock of the logs began.
    pub(crate) fn begin_at(&mut self, since_origin: Duration) {
        self.identity.begin_ns = nanoseconds(since_origin);
    }

    /// Records an event `at` that time since the start of the run.
    pub(crate) fn happened(&mut self, at: Duration, kind: EventKind, text: impl Into<String>) {
        self.events.add(nanoseconds(at), None, kind, text.into());
    }

    /// Pauses the run at a moment: rates leave out the time from then on.
    pub(crate) fn pause(&mut self, at: Duration) {
        self.time.pause(at);
        self.workers.each_store(|store| store.pause(at));
    }

    /// Ends the pause.
    pub(crate) fn resume(&mut self, at: Duration) {
        self.end_pause(at, "paused");
    }

    /// Records that the process could not work between two moments, which counts as a pause.
    pub(crate) fn stood_still(&mut self, from: Duration, to: Duration) {
        self.pause(from);
        self.end_pause(to, "the process stood still");
    }

    fn end_pause(&mut self, at: Duration, text: &str) {
        self.workers.each_store(|store| store.end_pause(at, text));
        if let Some((since, lasted)) = self.time.resume(at) {
            self.events
                .add(since, Some(lasted), EventKind::Pause, text.to_owned());
        }
    }

    /// Enters the silences that are over as events.
    pub(super) fn hear_silences(&mut self) {
        let least = self.least_silence();
        let origin = self.time.origin_ns();
        let users = self.measured.scenarios.users.peak().max(1);
        for mut silence in self.silences.over(self.time.known_ns(), least) {
            // A user may wait for several requests at once.
            silence.waiting = silence.waiting.min(users);
            silence.from = silence.from.max(origin);
            if silence.to <= silence.from || silence.length() < least {
                continue;
            }
            self.silences.report(silence);
            let length = silence.length();
            self.events.add(
                silence.from,
                Some(length),
                EventKind::Silence,
                said(&silence),
            );
        }
    }

    fn least_silence(&self) -> u64 {
        let total = &self.measured.requests.total;
        let [median] = total.exact().quantiles(&total.all, [0.5]);
        nanoseconds((median * MEDIANS).max(LEAST))
    }

    /// Returns all silences so far, the one that goes on included, in nanoseconds since the measurement began.
    pub(super) fn silences(&self) -> Vec<Silence> {
        let origin = self.time.origin_ns();
        let going_on = self
            .silences
            .going_on(self.time.known_ns())
            .filter(|silence| {
                silence.to.saturating_sub(silence.from.max(origin)) >= self.least_silence()
            });
        let all = self.silences.reported().chain(going_on);
        all.map(|silence| Silence {
            from: silence.from.saturating_sub(origin),
            to: silence.to.saturating_sub(origin),
            ..silence
        })
        .collect()
    }

    /// Returns a warning about the percentiles if no response came for long.
    pub(super) fn silence_warning(&self) -> Option<String> {
        let silences = self.silences();
        let longest = silences.iter().max_by_key(|silence| silence.length())?;
        let seconds = |ns: u64| ns as f64 / 1e9;
        let times = match silences.len() {
            1 => "once".to_owned(),
            times => format!("{times} times"),
        };
        Some(format!(
            "no answer came to anybody {times}, for {:.1} s at most ({:.1} s into the run) while {} waited: users who \
             wait ask for nothing, so percentiles show little of it",
            seconds(longest.length()),
            seconds(longest.from),
            counted(longest.waiting, "user"),
        ))
    }
}

fn said(silence: &Silence) -> String {
    format!(
        "no answer for {:.1} s while {} waited",
        silence.length() as f64 / 1e9,
        counted(silence.waiting, "user")
    )
}
