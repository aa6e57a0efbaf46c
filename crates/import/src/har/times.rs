//! The times at which a request was sent and its response arrived, as far as its entry has them.

use super::entry::HarEntry;

/// The longest time that is believed, in milliseconds.
const MAX_MS: f64 = 3.6e6;

/// Milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Times {
    pub(super) start_ms: f64,
    /// The time at which the response began to arrive, from which on scripts know its status and headers.
    pub(super) responded_ms: f64,
    pub(super) end_ms: f64,
    /// Whether the entry has the time of its beginning.
    pub(super) is_known: bool,
}

impl Times {
    /// Returns the times of an entry; one without a beginning begins where the one before it ended.
    pub(super) fn of(entry: &HarEntry, before: Option<f64>) -> Times {
        let start_ms = entry.started_date_time.as_deref().and_then(milliseconds);
        let is_known = start_ms.is_some();
        let start_ms = start_ms.or(before).unwrap_or(0.0);
        let duration = |time: Option<f64>| {
            let time = time.filter(|time| time.is_finite() && *time > 0.0);
            time.unwrap_or(0.0).min(MAX_MS)
        };
        let took = duration(entry.time);
        let receive = entry.receive;
        Times {
            start_ms,
            responded_ms: start_ms + (took - duration(receive)).max(0.0),
            end_ms: start_ms + took,
            is_known,
        }
    }
}

fn milliseconds(text: &str) -> Option<f64> {
    let time: jiff::Timestamp = text.parse().ok()?;
    Some(time.as_microsecond() as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn times_that_are_missing_or_make_no_sense_are_none() {
        const START: f64 = 1_777_888_800_000.0;
        let start = "2026-05-04T10:00:00Z";
        for (recorded, (start_ms, responded, end)) in [
            (
                json!({ "startedDateTime": "2026-05-04T10:00:00.0005Z", "time": 30.5, "timings": { "receive": 10 } }),
                (START + 0.5, 20.5, 30.5),
            ),
            (
                json!({ "startedDateTime": start, "time": 5 }),
                (START, 5.0, 5.0),
            ),
            (
                json!({ "startedDateTime": start, "time": 5, "timings": { "receive": 9 } }),
                (START, 0.0, 5.0),
            ),
            (
                json!({ "startedDateTime": start, "time": 5, "timings": { "receive": -1 } }),
                (START, 5.0, 5.0),
            ),
            (
                json!({ "startedDateTime": start, "time": "NaN", "timings": { "receive": "Infinity" } }),
                (START, 0.0, 0.0),
            ),
            (
                json!({ "startedDateTime": start, "time": -7, "timings": null }),
                (START, 0.0, 0.0),
            ),
            (
                json!({ "startedDateTime": "NaN", "time": 1e300 }),
                (7.0, MAX_MS, MAX_MS),
            ),
            (json!({ "time": null, "timings": [] }), (7.0, 0.0, 0.0)),
        ] {
            let mut entry = recorded.clone();
            entry["request"] = json!({ "method": "GET", "url": "http://127.0.0.1/" });
            let entry = HarEntry::read(entry).expect("it can be read");
            let expected = Times {
                start_ms,
                responded_ms: start_ms + responded,
                end_ms: start_ms + end,
                is_known: start_ms == START || start_ms == START + 0.5,
            };
            assert_eq!(Times::of(&entry, Some(7.0)), expected, "{recorded}");
        }
    }
}
