//! The log of the streams of a site: the times at which each request was there, and each token left. Filled by the
//! responses themselves; `/_demo/sent` shows it, so that the measurements of a client can be compared with it.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The most times that are kept; the oldest responses make room.
const MAX_TIMES: usize = 250_000;

/// The newest streamed responses of a site.
#[derive(Debug)]
pub(super) struct SendLog {
    /// The zero of its clock.
    start: Instant,
    responses: Mutex<LoggedResponses>,
}

#[derive(Debug, Default)]
struct LoggedResponses {
    newest: VecDeque<LoggedResponse>,
    times: usize,
}

/// One streamed response. Times are nanoseconds on the log's clock.
#[derive(Debug)]
struct LoggedResponse {
    id: String,
    received_ns: u64,
    sent_ns: Vec<u64>,
}

/// A response that is to be logged, before it is sent.
#[derive(Debug, Clone)]
pub(super) struct SendRecorder {
    pub(super) log: Arc<SendLog>,
    /// The identity of the response.
    pub(super) id: String,
    /// The time at which the request had been read to its end.
    pub(super) received: Instant,
}

/// A response that is being sent. It enters the log when it ends or is cut off.
#[derive(Debug)]
pub(super) struct RecordedSending {
    recorder: SendRecorder,
    sent_ns: Vec<u64>,
}

impl SendLog {
    pub(super) fn new() -> SendLog {
        SendLog {
            start: Instant::now(),
            responses: Mutex::default(),
        }
    }

    /// The log as JSON: `[{ "id": …, "received_ns": …, "sent_ns": [ … ] }]`, in the order in which the responses ended.
    pub(super) fn shown(&self) -> Value {
        let shown = |response: &LoggedResponse| {
            let LoggedResponse {
                id,
                received_ns,
                sent_ns,
            } = response;
            json!({ "id": id, "received_ns": received_ns, "sent_ns": sent_ns })
        };
        self.responses().newest.iter().map(shown).collect()
    }

    fn enter(&self, response: LoggedResponse) {
        let mut responses = self.responses();
        responses.times += response.sent_ns.len();
        responses.newest.push_back(response);
        while responses.times > MAX_TIMES
            && let Some(oldest) = responses.newest.pop_front()
        {
            responses.times -= oldest.sent_ns.len();
        }
    }

    fn nanoseconds(&self, time: Instant) -> u64 {
        let since = time.saturating_duration_since(self.start);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }

    // Held for one response that ends, or while the log is shown.
    fn responses(&self) -> MutexGuard<'_, LoggedResponses> {
        self.responses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl SendRecorder {
    pub(super) fn begin(self) -> RecordedSending {
        RecordedSending {
            recorder: self,
            sent_ns: Vec::new(),
        }
    }
}

impl RecordedSending {
    /// Notes that a token is sent now.
    pub(super) fn note(&mut self) {
        let now = self.recorder.log.nanoseconds(Instant::now());
        self.sent_ns.push(now);
    }
}

impl Drop for RecordedSending {
    fn drop(&mut self) {
        let SendRecorder { log, id, received } = &mut self.recorder;
        log.enter(LoggedResponse {
            id: std::mem::take(id),
            received_ns: log.nanoseconds(*received),
            sent_ns: std::mem::take(&mut self.sent_ns),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_enter_when_they_end_and_the_oldest_make_room() {
        let log = Arc::new(SendLog::new());
        let begin = |id: &str| {
            let recorder = SendRecorder {
                log: log.clone(),
                id: id.to_owned(),
                received: Instant::now(),
            };
            recorder.begin()
        };
        let mut first = begin("first");
        first.note();
        assert_eq!(log.shown(), json!([]), "it goes on");
        drop(first);
        let mut second = begin("second");
        second.sent_ns = vec![1; MAX_TIMES - 1];
        drop(second);
        let of = |place: usize| log.shown()[place]["id"].clone();
        assert_eq!((of(0), of(1)), (json!("first"), json!("second")));
        let mut third = begin("third");
        third.note();
        drop(third);
        assert_eq!((of(0), of(1)), (json!("second"), json!("third")));
        let times = &log.shown()[1];
        assert!(times["sent_ns"][0].as_u64() >= times["received_ns"].as_u64());
    }
}
