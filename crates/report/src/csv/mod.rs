//! The report as CSV, for spreadsheets and scripts: a row for each name that the run measured, and a second table with
//! the series.
//!
//! Texts are on one line without control characters; a text that a spreadsheet would take for a formula gets a leading
//! `'`.

use csv::Writer;
use lgoose_base::error::Error;
use lgoose_base::figures;
use lgoose_base::line::one_line;
use lgoose_metrics::{
    Check, Figures, Latency, Metric, MetricKind, Report, RequestRow, ScenarioRow, SeriesPoint,
    TaskRow, WorkerRow,
};
use std::path::{Path, PathBuf};

/// The columns of [`names`]. A cell that does not apply to the kind of row is empty.
const NAMES: [&str; 33] = [
    "kind",
    "scenario",
    "method",
    "name",
    "count",
    "failures",
    "redirects",
    "retries",
    "rate",
    "bytes",
    "avg_ms",
    "min_ms",
    "max_ms",
    "p50_ms",
    "p75_ms",
    "p90_ms",
    "p95_ms",
    "p98_ms",
    "p99_ms",
    "p99.9_ms",
    "p99.99_ms",
    "users",
    "value",
    "value_min",
    "value_max",
    "value_p50",
    "value_p90",
    "value_p95",
    "value_p99",
    "bytes_sent",
    "stdev_ms",
    "dropped",
    "users_lost",
];

/// Shows a figure of a point in time.
type SeriesCell = fn(&SeriesPoint) -> String;

/// The columns of [`series`], each with what it shows of a point in time.
const SERIES: [(&str, SeriesCell); 20] = [
    ("second", |row| row.second.to_string()),
    ("seconds", |row| row.seconds.to_string()),
    ("users", |row| row.users.to_string()),
    ("count", |row| row.count.to_string()),
    ("failures", |row| row.failures.to_string()),
    ("rate", |row| figure(row.rate())),
    ("bytes", |row| row.bytes.to_string()),
    ("p50_ms", |row| figure(row.latency.p50_ms)),
    ("p95_ms", |row| figure(row.latency.p95_ms)),
    ("p99_ms", |row| figure(row.latency.p99_ms)),
    ("min_ms", |row| figure(row.latency.min_ms)),
    ("max_ms", |row| figure(row.latency.max_ms)),
    ("sum_ms", |row| row.latency.sum_ms.to_string()),
    ("under_way", |row| row.under_way.to_string()),
    ("oldest_ms", |row| row.oldest_ms.to_string()),
    ("busy", |row| row.generator.busy.to_string()),
    ("lag_ms", |row| row.generator.lag_ms.to_string()),
    ("saturated", |row| row.generator.saturated.to_string()),
    ("own_p50_ms", |row| figure(row.generator.own_p50_ms)),
    ("own_p99_ms", |row| figure(row.generator.own_p99_ms)),
];

/// Returns a row for each request name, for all requests together (`aggregated`), for each request name of `test_start`
/// and `test_stop` (`start_stop`), and for each scenario, task, check and custom metric; in a run on workers also for
/// each worker, for each of their labels, and for each request name of a label (`label_request`, with the label in the
/// column of scenarios); and in the same way for each tag (`tag`) and each request name of a tag (`tag_request`).
/// `count` is the number of requests, iterations, runs, checked values or recorded values. Rates are per second,
/// latencies in milliseconds.
///
/// # Errors
/// None that a report made by lgoose can cause.
pub(crate) fn names(report: &Report) -> Result<String, Error> {
    let mut table = CsvTable::new(NAMES.to_vec())?;
    for row in &report.requests {
        table.row(&request("request", &row.method, &row.name, &row.figures))?;
    }
    table.row(&request("aggregated", "", "Aggregated", &report.aggregated))?;
    for row in &report.start_stop {
        table.row(&request("start_stop", &row.method, &row.name, &row.figures))?;
    }
    let per_second = |count: u64| figures::per_second(count as f64, report.elapsed_s);
    for row in &report.scenarios {
        table.row(&scenario(row, per_second(row.iterations)))?;
    }
    for row in &report.tasks {
        table.row(&task(row, per_second(row.runs)))?;
    }
    for row in &report.checks {
        table.row(&check(row))?;
    }
    for row in &report.metrics {
        table.row(&metric(row))?;
    }
    for row in &report.workers {
        table.row(&worker(row, per_second(row.requests)))?;
    }
    for row in &report.by_label {
        table.row(&request("label", "", &row.label, &row.aggregated))?;
        for request in &row.requests {
            table.row(&request_of("label_request", &row.label, request))?;
        }
    }
    for row in &report.by_tag {
        table.row(&request("tag", "", &row.tag, &row.aggregated))?;
        for request in &row.requests {
            table.row(&request_of("tag_request", &row.tag, request))?;
        }
    }
    table.text()
}

/// Returns the series of all requests, a row for each point in time.
///
/// # Errors
/// None that a report made by lgoose can cause.
pub fn series(report: &Report) -> Result<String, Error> {
    let mut table = CsvTable::new(SERIES.map(|(title, _)| title).to_vec())?;
    for row in &report.series {
        table.record(SERIES.map(|(_, value)| value(row)))?;
    }
    table.text()
}

/// Returns the path of the series that goes with a file of names: `run_series.csv` for `run.csv`.
pub fn series_path(names: &Path) -> PathBuf {
    let mut file = names.file_stem().unwrap_or_default().to_owned();
    file.push("_series");
    if let Some(ending) = names.extension() {
        file.push(".");
        file.push(ending);
    }
    names.with_file_name(file)
}

/// The cells of a row by their columns.
type CsvCells = Vec<(&'static str, String)>;

/// A table being written as CSV.
struct CsvTable {
    columns: Vec<&'static str>,
    writer: Writer<Vec<u8>>,
}

impl CsvTable {
    fn new(columns: Vec<&'static str>) -> Result<CsvTable, Error> {
        let mut writer = Writer::from_writer(Vec::new());
        writer.write_record(&columns).map_err(trouble)?;
        Ok(CsvTable { columns, writer })
    }

    fn row(&mut self, cells: &CsvCells) -> Result<(), Error> {
        let cell = |column: &&str| {
            let found = cells.iter().find(|(name, _)| name == column);
            found.map_or("", |(_, value)| value)
        };
        let row = self.columns.iter().map(cell);
        self.writer.write_record(row).map_err(trouble)
    }

    /// Adds a row that has a cell for each column.
    fn record<const N: usize>(&mut self, cells: [String; N]) -> Result<(), Error> {
        self.writer.write_record(cells).map_err(trouble)
    }

    fn text(self) -> Result<String, Error> {
        let bytes = self.writer.into_inner();
        let bytes = bytes.map_err(|error| trouble(error.into_error()))?;
        String::from_utf8(bytes).map_err(trouble)
    }
}

fn trouble(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::cannot("write the report as CSV", error)
}

fn request(kind: &str, method: &str, name: &str, figures: &Figures) -> CsvCells {
    let mut cells = vec![
        ("kind", kind.to_owned()),
        ("method", harmless(method)),
        ("name", harmless(name)),
        ("count", figures.count.to_string()),
        ("failures", figures.failures.to_string()),
        ("redirects", figures.redirects.to_string()),
        ("retries", figures.retries.to_string()),
        ("rate", figures.rate.to_string()),
        ("bytes", figures.bytes.to_string()),
        ("bytes_sent", figure(figures.bytes_sent)),
    ];
    cells.extend(latency(figures.latency_ms));
    cells
}

/// Returns the row of a request name among the requests of a label or a tag.
fn request_of(kind: &'static str, group: &str, row: &RequestRow) -> CsvCells {
    let mut cells = request(kind, &row.method, &row.name, &row.figures);
    cells.push(("scenario", harmless(group)));
    cells
}

fn worker(row: &WorkerRow, rate: f64) -> CsvCells {
    vec![
        ("kind", "worker".to_owned()),
        ("name", harmless(&row.name)),
        ("count", row.requests.to_string()),
        ("failures", row.failures.to_string()),
        ("rate", rate.to_string()),
        ("bytes", row.bytes.to_string()),
        ("p95_ms", figure(row.p95_ms)),
        ("users", row.users.to_string()),
    ]
}

fn scenario(row: &ScenarioRow, rate: f64) -> CsvCells {
    let mut cells = vec![
        ("kind", "scenario".to_owned()),
        ("name", harmless(&row.name)),
        ("count", row.iterations.to_string()),
        ("rate", rate.to_string()),
        ("users", row.users.to_string()),
        ("users_lost", row.users_lost.to_string()),
    ];
    cells.extend(
        row.arrivals
            .map(|counts| ("dropped", counts.dropped.to_string())),
    );
    cells.extend(latency(row.iteration_ms));
    cells
}

fn task(row: &TaskRow, rate: f64) -> CsvCells {
    let mut cells = vec![
        ("kind", "task".to_owned()),
        ("scenario", harmless(&row.scenario)),
        ("name", harmless(&row.name)),
        ("count", row.runs.to_string()),
        ("failures", row.failures.to_string()),
        ("rate", rate.to_string()),
    ];
    cells.extend(latency(row.latency_ms));
    cells
}

fn check(row: &Check) -> CsvCells {
    let all = row.passes + row.failures;
    let share = (all > 0).then(|| row.passes as f64 / all as f64);
    vec![
        ("kind", "check".to_owned()),
        ("name", harmless(&row.name)),
        ("count", all.to_string()),
        ("failures", row.failures.to_string()),
        ("value", figure(share)),
    ]
}

fn metric(row: &Metric) -> CsvCells {
    let kind = match row.kind {
        MetricKind::Counter => "counter",
        MetricKind::Gauge => "gauge",
        MetricKind::Rate => "rate",
        MetricKind::Trend => "trend",
    };
    vec![
        ("kind", kind.to_owned()),
        ("name", harmless(&row.name)),
        ("count", row.count.to_string()),
        ("value", figure(row.value)),
        ("value_min", figure(row.min)),
        ("value_max", figure(row.max)),
        ("value_p50", figure(row.p50)),
        ("value_p90", figure(row.p90)),
        ("value_p95", figure(row.p95)),
        ("value_p99", figure(row.p99)),
    ]
}

fn latency(latency: Option<Latency>) -> CsvCells {
    let Some(row) = latency else {
        return Vec::new();
    };
    let figures = [
        ("avg_ms", row.avg),
        ("min_ms", row.min),
        ("max_ms", row.max),
        ("p50_ms", row.p50),
        ("p75_ms", row.p75),
        ("p90_ms", row.p90),
        ("p95_ms", row.p95),
        ("p98_ms", row.p98),
        ("p99_ms", row.p99),
        ("p99.9_ms", row.p99_9),
        ("p99.99_ms", row.p99_99),
    ];
    let mut cells = Vec::from(figures.map(|(column, ms)| (column, ms.to_string())));
    cells.push(("stdev_ms", figure(row.stdev)));
    cells
}

fn figure(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Returns a text that no spreadsheet takes for a formula; also covers full-width signs, which some spreadsheets
/// accept. See OWASP, "CSV Injection".
fn harmless(text: &str) -> String {
    let text = one_line(text);
    let formula = |c| matches!(c, '=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠');
    if text.trim_start().starts_with(formula) {
        format!("'{text}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests;
