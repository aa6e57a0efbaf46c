//! Adds exemplars to metrics that are written: the trace of a request in a bucket of latencies, or of one that failed.
//! The crate `prometheus-client` writes exemplars of its own counters and histograms only, not of figures that it is
//! given, so they are put where it has left room for them.

use crate::telemetry::{BUCKETS, Exemplar, Family};
use prometheus_client::encoding::prometheus_protobuf::prometheus_data_model as protobuf;

/// The prefix of all names.
pub(super) const PREFIX: &str = "lgoose";

/// The label of an exemplar that has its trace.
const LABEL: &str = "trace_id";

/// The beginning of lines of text that may have exemplars, and how many of them a row has.
struct Lines<'a> {
    begin: String,
    a_row: usize,
    seen: usize,
    family: &'a Family,
}

impl Lines<'_> {
    fn of(family: &Family) -> Lines<'_> {
        let (kind, a_row) = if family.is_histogram() {
            ("bucket", BUCKETS)
        } else {
            ("total", 1)
        };
        Lines {
            begin: format!("{PREFIX}_{}_{kind}", family.name),
            a_row,
            seen: 0,
            family,
        }
    }

    fn has(&self, line: &str) -> bool {
        let rest = line.strip_prefix(&self.begin);
        rest.is_some_and(|rest| rest.starts_with(['{', ' ']))
    }

    /// Returns the exemplar of the next line.
    fn next(&mut self) -> Option<&Exemplar> {
        let place = (self.seen / self.a_row, self.seen % self.a_row);
        self.seen += 1;
        self.family.exemplars.get(&place)
    }
}

/// Adds the exemplars of these families to metrics as text, in which rows stand in their order.
pub(super) fn add_to_text(text: String, families: &[Family]) -> String {
    let with_some = families.iter().filter(|all| !all.exemplars.is_empty());
    let mut kinds: Vec<Lines<'_>> = with_some.map(Lines::of).collect();
    if kinds.is_empty() {
        return text;
    }
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    for line in text.lines() {
        out.push_str(line);
        let kind = kinds.iter_mut().find(|kind| kind.has(line));
        if let Some(one) = kind.and_then(Lines::next) {
            let (value, at) = (one.value, one.at_s);
            out += &format!(" # {{{LABEL}=\"{}\"}} {value:?} {at:.3}", one.trace_id);
        }
        out.push('\n');
    }
    out
}

/// Adds the exemplars of these families to metrics as Prometheus' messages, in which rows stand in their order.
pub(super) fn add_to_messages(messages: &mut [protobuf::MetricFamily], families: &[Family]) {
    for family in families.iter().filter(|all| !all.exemplars.is_empty()) {
        let name = format!("{PREFIX}_{}", family.name);
        let mut rows = messages.iter_mut();
        let Some(rows) = rows.find(|known| known.name.trim_end_matches("_total") == name) else {
            continue;
        };
        for ((row, bucket), one) in &family.exemplars {
            let Some(metric) = rows.metric.get_mut(*row) else {
                continue;
            };
            if let Some(counter) = &mut metric.counter {
                counter.exemplar = Some(message(one));
            }
            if let Some(histogram) = &mut metric.histogram {
                // Native buckets have a list of their own, from which Prometheus takes those of any bucket.
                histogram.exemplars.push(message(one));
                if let Some(bucket) = histogram.bucket.get_mut(*bucket) {
                    bucket.exemplar = Some(message(one));
                }
            }
        }
    }
}

fn message(one: &Exemplar) -> protobuf::Exemplar {
    let mut message = protobuf::Exemplar {
        label: vec![protobuf::LabelPair {
            name: LABEL.to_owned(),
            value: one.trace_id.clone(),
        }],
        value: one.value,
        ..protobuf::Exemplar::default()
    };
    let at = message.timestamp.get_or_insert_default();
    at.seconds = one.at_s as i64;
    at.nanos = (one.at_s.fract() * 1e9) as i32;
    message
}
