//! Metrics as OpenMetrics text
//! (<https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md#text-format>).

use lgoose_report::telemetry::{Distribution, Family, FigureValue, Labels, TraceExemplar};
use std::fmt::Write as _;

/// The prefix of all names.
pub(super) const PREFIX: &str = "lgoose";

/// The label of an exemplar that has its trace.
pub(super) const LABEL: &str = "trace_id";

/// Writes all metrics.
pub(super) fn write(families: &[Family]) -> String {
    let mut text = Text::default();
    for family in families {
        text.family(family);
    }
    text.0 += "# EOF\n";
    text.0
}

/// Lines that have been written.
#[derive(Debug, Default)]
struct Text(String);

impl Text {
    fn family(&mut self, family: &Family) {
        let Some((_, first)) = family.rows.first() else {
            return;
        };
        let kind = match first {
            FigureValue::Counter(_) => "counter",
            FigureValue::Gauge(_) => "gauge",
            FigureValue::Histogram(_) => "histogram",
        };
        let name = format!("{PREFIX}_{}", family.name);
        self.push(format_args!("# HELP {name} {}\n", family.help));
        self.push(format_args!("# TYPE {name} {kind}\n"));
        for (row, (labels, figure)) in family.rows.iter().enumerate() {
            let labels = written(labels);
            let exemplar = |bucket| family.exemplars.get(&(row, bucket));
            match figure {
                FigureValue::Counter(value) => {
                    let value = number(*value);
                    self.line(&format!("{name}_total"), &labels, &value, exemplar(0));
                }
                FigureValue::Gauge(value) => self.line(&name, &labels, &number(*value), None),
                FigureValue::Histogram(of) => self.histogram(&name, &labels, of, exemplar),
            }
        }
    }

    pub(super) fn histogram<'a>(
        &mut self,
        name: &str,
        labels: &str,
        of: &Distribution,
        exemplar: impl Fn(usize) -> Option<&'a TraceExemplar>,
    ) {
        self.line(&format!("{name}_sum"), labels, &number(of.sum), None);
        self.line(
            &format!("{name}_count"),
            labels,
            &of.count.to_string(),
            None,
        );
        let name = format!("{name}_bucket");
        let rest = if labels.is_empty() { "" } else { "," };
        let borders = of.classic.iter();
        let borders = borders.map(|(border, count)| (number(*border), count));
        let buckets = borders.chain([("+Inf".to_owned(), &of.beyond)]);
        let mut below = 0;
        for (bucket, (border, count)) in buckets.enumerate() {
            below += count;
            let labels = format!("le=\"{border}\"{rest}{labels}");
            self.line(&name, &labels, &below.to_string(), exemplar(bucket));
        }
    }

    fn line(&mut self, name: &str, labels: &str, value: &str, exemplar: Option<&TraceExemplar>) {
        self.0 += name;
        if !labels.is_empty() {
            self.push(format_args!("{{{labels}}}"));
        }
        self.push(format_args!(" {value}"));
        if let Some(one) = exemplar {
            let (trace, value, at) = (&one.trace_id, one.value, one.at_s);
            self.push(format_args!(" # {{{LABEL}=\"{trace}\"}} {value:?} {at:.3}"));
        }
        self.0.push('\n');
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        // Memory takes any text.
        let _written = self.0.write_fmt(text);
    }
}

/// Returns labels as they stand between braces.
fn written(labels: &Labels) -> String {
    let mut all = String::new();
    for (name, value) in labels {
        if !all.is_empty() {
            all.push(',');
        }
        all += name;
        all += "=\"";
        for c in value.chars() {
            match c {
                '\\' => all += "\\\\",
                '"' => all += "\\\"",
                '\n' => all += "\\n",
                _ => all.push(c),
            }
        }
        all.push('"');
    }
    all
}

/// Returns the shortest text of a number that is read as the same one, with a point in it if it is finite.
fn number(value: f64) -> String {
    dtoa::Buffer::new().format(value).to_owned()
}
