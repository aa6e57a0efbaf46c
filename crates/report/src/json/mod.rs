//! The report as JSON and back: the format for scripts and for `lgoose report`. Also snapshots of a running test, with
//! the same names.

mod comparison;
mod layout;
mod live;
mod requests;

pub(crate) use comparison::comparison;
use layout::JsonLayout;
use lgoose_base::error::{Diagnostic, Error, is_directing};
use lgoose_metrics::{Report, Snapshot};
pub use live::{JsonAim, JsonSnapshot};
pub use requests::{JsonTag, JsonTotal};
use serde::Serialize as _;

/// The action that the error names when the report cannot be written.
const ACTION: &str = "write the report as JSON";

/// Renders the report as indented JSON that ends with a line break.
///
/// # Errors
/// Returns trouble if a figure cannot be written as JSON, which a report made by lgoose never causes.
pub(crate) fn to_json(report: &Report) -> Result<String, Error> {
    let mut text = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, JsonLayout::default());
    report
        .serialize(&mut serializer)
        .map_err(|error| Error::cannot(ACTION, error))?;
    text.push(b'\n');
    let text = String::from_utf8(text).map_err(|error| Error::cannot(ACTION, error))?;
    Ok(escaped(text))
}

/// Renders the report as a value with the keys of the JSON report.
///
/// # Errors
/// As `to_json`.
pub fn to_value(report: &Report) -> Result<serde_json::Value, Error> {
    serde_json::to_value(report).map_err(|error| Error::cannot(ACTION, error))
}

/// Renders a snapshot as one line of JSON, without a line break. Fields that a report also has have the same name and
/// type here.
///
/// # Errors
/// Returns trouble if a figure cannot be written as JSON, which a snapshot made by lgoose never causes.
pub fn snapshot(snapshot: &Snapshot) -> Result<String, Error> {
    let text = serde_json::to_string(&JsonSnapshot::of(snapshot));
    let text = text.map_err(|error| Error::cannot("write a snapshot as JSON", error))?;
    Ok(escaped(text))
}

/// Escapes characters that JSON allows in strings but that control a terminal or change the direction of writing.
fn escaped(text: String) -> String {
    let is_control = |c: char| (c.is_control() && c != '\n') || is_directing(c);
    if !text.contains(is_control) {
        return text;
    }
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if is_control(c) {
            safe += &format!("\\u{:04x}", u32::from(c))
        } else {
            safe.push(c)
        }
    }
    safe
}

/// Parses the text of a file that an earlier run wrote; the error names `path`.
///
/// # Errors
/// Returns a mistake with the line where the text is no longer a report.
pub fn from_json(text: &str, path: &str) -> Result<Report, Error> {
    serde_json::from_str(text).map_err(|error| {
        let line = u32::try_from(error.line()).ok().filter(|line| *line > 0);
        let reason = error.to_string();
        let reason = reason.split(" at line ").next().unwrap_or_default();
        Diagnostic::new(format!("not a report of lgoose: {reason}"))
            .at(path, line, "")
            .help("give a file that a run wrote with '-o json=run.json'")
            .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::text::{TableOptions, tables};
    use serde_json::Value;

    fn keys(value: &Value) -> Vec<&str> {
        let object = value.as_object().expect("an object");
        object.keys().map(String::as_str).collect()
    }

    fn sorted(words: &str) -> Vec<&str> {
        let mut words: Vec<_> = words.split_whitespace().collect();
        words.sort_unstable();
        words
    }

    #[test]
    fn scripts_find_the_keys_they_rely_on() {
        let text = to_json(&fixture::report()).expect("a plain report");
        assert!(text.ends_with("}\n"));
        let json: Value = serde_json::from_str(&text).expect("JSON");
        let top = "version plan host started elapsed_s users seed ending verdict settings warnings requests aggregated scenarios tasks \
                   series checks metrics errors co_mitigation thresholds logs generator \
                   earlier events origin_ns paused_s start_stop";
        let figures = "count failures redirects retries rate bytes bytes_sent latency_ms latency_ok_ms phases_ms status histogram \
                       failed_histogram";
        let latency = "avg min max p50 p75 p90 p95 p98 p99 p99.9 p99.99 stdev";
        assert_eq!(keys(&json), sorted(top));
        assert_eq!(keys(&json["aggregated"]), sorted(figures));
        assert_eq!(
            keys(&json["requests"][0]),
            sorted(&format!("method name series slowest {figures}"))
        );
        let columns = "second seconds count failures min_ms max_ms sum_ms p50_ms p95_ms p99_ms histogram \
             failed_histogram";
        assert_eq!(keys(&json["requests"][0]["series"]), sorted(columns));
        assert_eq!(keys(&json["requests"][0]["latency_ms"]), sorted(latency));
        let phases = "dns connect tls send first_byte receive";
        assert_eq!(keys(&json["aggregated"]["phases_ms"]), sorted(phases));
        assert_eq!(
            keys(&json["scenarios"][0]),
            sorted(
                "name users users_started users_lost iterations iterations_failed iteration_ms arrivals"
            )
        );
        let task = "scenario name runs failures latency_ms";
        assert_eq!(keys(&json["tasks"][0]), sorted(task));
        let point = "second seconds users count failures bytes min_ms max_ms sum_ms p50_ms p95_ms p99_ms ok_p95_ms failed_p95_ms under_way oldest_ms \
             busy lag_ms saturated own_p50_ms own_p99_ms histogram failed_histogram";
        assert_eq!(keys(&json["series"][0]), sorted(point));
        let check = "name passes failures first_failed_s";
        assert_eq!(keys(&json["checks"][0]), sorted(check));
        let metric = "name kind count value min max p50 p90 p95 p99";
        assert_eq!(keys(&json["metrics"][0]), sorted(metric));
        assert_eq!(json["metrics"][0]["kind"], "trend");
        let filled = &json["co_mitigation"];
        let all = "cadence late_cycles cadence_ms measured_p99_ms requests aggregated";
        assert_eq!(keys(filled), sorted(all));
        assert_eq!(filled["cadence"], "average");
        let corrected = "count filled latency_ms histogram";
        assert_eq!(keys(&filled["aggregated"]), sorted(corrected));
        assert_eq!(
            keys(&filled["requests"][0]),
            sorted(&format!("method name {corrected}"))
        );
        let threshold = "threshold name value limit unit passed broken_s subject";
        assert_eq!(keys(&json["thresholds"][0]), sorted(threshold));
        assert_eq!(json["requests"][0]["status"]["200"], 13_189);
    }

    #[test]
    fn the_fixed_report_is_the_checked_in_one() {
        let text = to_json(&fixture::report()).expect("a plain report");
        fixture::golden("report.json", &text);
    }

    #[test]
    fn hostile_texts_are_escaped_and_come_back_as_they_were() {
        let report = fixture::hostile();
        let text = to_json(&report).expect("a plain report");
        fixture::assert_harmless(&text);
        assert_eq!(from_json(&text, "run.json").expect("JSON"), report);
    }

    #[test]
    fn a_report_read_back_shows_the_same() {
        let report = fixture::report();
        let text = to_json(&report).expect("a plain report");
        let read = from_json(&text, "run.json").expect("what was written");
        assert_eq!(read, report);
        let options = TableOptions::default();
        assert_eq!(tables(&read, 120, options), tables(&report, 120, options));
    }

    #[test]
    fn a_file_that_is_no_report_is_named_with_its_line() {
        let error = from_json("{\n  \"version\": 1\n}", "run.json").expect_err("no report");
        let text = error.to_string();
        assert!(
            text.contains("--> run.json:2") && text.contains("-o json="),
            "{text}"
        );
    }
}
