//! The tables of requests, tasks and errors, and the order of all tables.

use super::table::{Cell, HtmlTable, count, duration, times};
use super::{capacity, exemplar, measures, tags, workers};
use crate::metrics::{Figures, Latency, PhasesMs, Report, TaskRow};
use crate::output::display::Column::{self, Number, Text};
use crate::output::display::{
    listed_errors, moment, rate, request_name, slowest_traces, status_text, trace_text, with_share,
    worst_first,
};
use crate::units::{show_count, show_size};
use std::collections::BTreeSet;

/// The length in characters above which a message is shown whole only on demand.
const LONG_MESSAGE: usize = 160;

/// Returns the tables in reading order; those without rows are left out.
pub(super) fn sections(report: &Report) -> Vec<HtmlTable> {
    let mut all = Vec::new();
    all.extend(capacity::steps(report));
    all.extend(measures::thresholds(report));
    all.extend(errors(report));
    if report.aggregated.count > 0 {
        all.extend([requests(report), latency(report), percentiles(report)]);
        all.extend(service(report));
        all.extend([phases(report), status(report)]);
        all.extend(traces(report));
    }
    all.extend(scenarios(report));
    all.extend(tasks(report));
    all.extend(start_stop(report));
    all.extend(measures::checks(report));
    all.extend(measures::metrics(report));
    all.extend(measures::omission(report));
    all.extend(tags::tags(report));
    all.extend(workers::labels(report));
    all.extend(workers::workers(report));
    all.push(measures::overview(report));
    all
}

/// Adds a row for every request name and one for all requests.
fn each_name(report: &Report, table: &mut HtmlTable, cells: impl Fn(&Figures) -> Vec<Cell>) {
    for row in worst_first(report) {
        let mut all = vec![Cell::Text(request_name(&row.method, &row.name))];
        all.extend(cells(&row.figures));
        table.row(&all);
    }
    let mut all = vec![Cell::Text("Aggregated".to_owned())];
    all.extend(cells(&report.aggregated));
    table.total(&all);
}

fn requests(report: &Report) -> HtmlTable {
    let columns = [
        Text("Name"),
        Number("Requests"),
        Number("Failures"),
        Number("Requests/s"),
        Number("Failures/s"),
        Number("Bytes/s"),
        Number("Bytes sent/s"),
        Number("Redirects"),
        Number("Retries"),
    ];
    let mut table = HtmlTable::new("requests", "Requests", &columns);
    let per_second = |amount: f64| amount / report.elapsed_s.max(f64::MIN_POSITIVE);
    each_name(report, &mut table, |figures| {
        let failing = per_second(figures.failures as f64);
        let bytes = per_second(figures.bytes as f64);
        let sent = figures.bytes_sent.map(|bytes| per_second(bytes as f64));
        vec![
            count(figures.count),
            failures(figures.failures, figures.count),
            Cell::Number(figures.rate, rate(figures.rate)),
            Cell::Number(failing, rate(failing)),
            Cell::Number(bytes, show_size(bytes)),
            sent.map_or(Cell::None, |sent| Cell::Number(sent, show_size(sent))),
            count(figures.redirects),
            count(figures.retries),
        ]
    });
    table
}

fn latency(report: &Report) -> HtmlTable {
    let columns = [
        Text("Name"),
        Number("Average"),
        Number("Minimum"),
        Number("p50"),
        Number("Maximum"),
        Number("Average of successes"),
        Number("Maximum of successes"),
    ];
    let mut table = HtmlTable::new("latency", "Latency", &columns)
        .note("From the call until the last byte of the final response. Failed requests count at the time they took.");
    each_name(report, &mut table, |figures| {
        let mut cells = times(figures.latency_ms.as_ref(), |l| {
            [l.avg, l.min, l.p50, l.max]
        });
        cells.extend(times(figures.latency_ok_ms.as_ref(), |l| [l.avg, l.max]));
        cells
    });
    table
}

fn percentiles(report: &Report) -> HtmlTable {
    let columns = [
        Text("Name"),
        Number("p50"),
        Number("p75"),
        Number("p90"),
        Number("p95"),
        Number("p98"),
        Number("p99"),
        Number("p99.9"),
        Number("p99.99"),
    ];
    let mut table = HtmlTable::new("percentiles", "Percentiles", &columns);
    let values = |l: &Latency| [l.p50, l.p75, l.p90, l.p95, l.p98, l.p99, l.p99_9, l.p99_99];
    each_name(report, &mut table, |figures| {
        times(figures.latency_ms.as_ref(), values)
    });
    table
}

/// Returns the service times of a run at a rate, in which the other tables count from the scheduled start.
fn service(report: &Report) -> Option<HtmlTable> {
    report.aggregated.service_ms?;
    let columns = [
        Text("Name"),
        Number("Average"),
        Number("Minimum"),
        Number("p50"),
        Number("p90"),
        Number("p95"),
        Number("p99"),
        Number("Maximum"),
    ];
    let mut table = HtmlTable::new("service", "Service time", &columns)
        .note("Latency from the actual start; the tables before count from the scheduled one.");
    let values = |l: &Latency| [l.avg, l.min, l.p50, l.p90, l.p95, l.p99, l.max];
    each_name(report, &mut table, |figures| {
        times(figures.service_ms.as_ref(), values)
    });
    Some(table)
}

fn phases(report: &Report) -> HtmlTable {
    let columns = [
        Text("Name"),
        Number("DNS"),
        Number("Connect"),
        Number("TLS"),
        Number("Send"),
        Number("First byte"),
        Number("Receive"),
    ];
    let mut table = HtmlTable::new("phases", "Phases", &columns)
        .note("What the latency was made of: the mean over the requests that had the phase.");
    let values = |p: &PhasesMs| [p.dns, p.connect, p.tls, p.send, p.first_byte, p.receive];
    each_name(report, &mut table, |figures| {
        let cell = |ms: Option<f64>| ms.map_or(Cell::None, duration);
        values(&figures.phases_ms).map(cell).to_vec()
    });
    table
}

fn status(report: &Report) -> HtmlTable {
    let rows = report.requests.iter().map(|row| &row.figures);
    let codes: BTreeSet<&str> = rows
        .chain([&report.aggregated])
        .flat_map(|figures| figures.status.keys())
        .map(String::as_str)
        .collect();
    let titles = codes.iter().map(|code| match *code {
        "0" => Number("No response"),
        code => Number(code),
    });
    let columns: Vec<Column<'_>> = std::iter::once(Text("Name")).chain(titles).collect();
    let mut table = HtmlTable::new("status", "Status codes", &columns);
    each_name(report, &mut table, |figures| {
        let cell = |code: &&str| match figures.status.get(*code) {
            None => Cell::None,
            Some(n) if *code == "0" || *code >= "400" => Cell::Bad(*n as f64, show_count(*n)),
            Some(n) => count(*n),
        };
        codes.iter().map(cell).collect()
    });
    table
}

fn traces(report: &Report) -> Option<HtmlTable> {
    let columns = [
        Text("Name"),
        Number("Latency"),
        Text("Status"),
        Number("At"),
        Number("User"),
        Text("Trace"),
    ];
    let mut table = HtmlTable::new("traces", "Slowest traces", &columns)
        .note("The slowest requests of each name among those whose trace the site was asked to keep: look for it in the site’s tracing.");
    let slowest = slowest_traces(report);
    for (name, one) in &slowest {
        let at = one.start_ns as f64 / 1e9;
        table.row(&[
            Cell::Text(name.clone()),
            duration(one.latency_ms + one.delay_ms),
            Cell::Text(status_text(one.status)),
            Cell::Number(at, moment(at)),
            count(one.user),
            Cell::Text(trace_text(&one.trace)),
        ]);
    }
    (!slowest.is_empty()).then_some(table)
}

fn errors(report: &Report) -> Option<HtmlTable> {
    let columns = [
        Number("Count"),
        Text("Name"),
        Text("Message"),
        Number("First seen"),
        Number("Last seen"),
        Text("Plan"),
    ];
    let mut table = HtmlTable::new("errors", "Errors", &columns);
    for listed in listed_errors(report) {
        let error = listed.row;
        let cells = [
            Cell::Bad(error.count as f64, show_count(error.count)),
            Cell::Text(error.name.clone()),
            Cell::Text(start_of(&listed.message)),
            Cell::Number(error.first_s, moment(error.first_s)),
            Cell::Number(error.last_s, moment(error.last_s)),
            error.line.clone().map_or(Cell::None, Cell::Text),
        ];
        let whole = listed.message.chars().nth(LONG_MESSAGE).is_none();
        match exemplar::detail(error, whole) {
            Some((label, detail)) => table.row_with_detail(&cells, &label, &detail),
            None => table.row(&cells),
        }
    }
    (!report.errors.is_empty()).then_some(table)
}

fn start_of(message: &str) -> String {
    match message.char_indices().nth(LONG_MESSAGE) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message.to_owned(),
    }
}

fn scenarios(report: &Report) -> Option<HtmlTable> {
    let columns = [
        Text("Scenario"),
        Number("Users"),
        Number("Iterations"),
        Number("Average"),
        Number("p50"),
        Number("p95"),
        Number("Maximum"),
    ];
    let mut table = HtmlTable::new("scenarios", "Scenarios", &columns);
    for row in &report.scenarios {
        let name = Cell::Text(row.name.clone());
        let mut cells = vec![name, count(row.users), count(row.iterations)];
        let values = |l: &Latency| [l.avg, l.p50, l.p95, l.max];
        cells.extend(times(row.iteration_ms.as_ref(), values));
        table.row(&cells);
    }
    (!report.scenarios.is_empty()).then_some(table)
}

fn tasks(report: &Report) -> Option<HtmlTable> {
    let columns = [
        Text("Scenario"),
        Text("Task"),
        Number("Runs"),
        Number("Failures"),
        Number("Runs/s"),
        Number("Average"),
        Number("Minimum"),
        Number("p50"),
        Number("p95"),
        Number("Maximum"),
    ];
    let mut table = HtmlTable::new("tasks", "Tasks and transactions", &columns);
    for task in &report.tasks {
        table.row(&task_cells(task, report.elapsed_s));
    }
    (!report.tasks.is_empty()).then_some(table)
}

fn start_stop(report: &Report) -> Option<HtmlTable> {
    let columns = [
        Text("Name"),
        Number("Requests"),
        Number("Failures"),
        Number("Average"),
        Number("Minimum"),
        Number("Maximum"),
    ];
    let mut table = HtmlTable::new("start_stop", "Test start and stop", &columns).note(
        "Requests of the plan’s test_start and test_stop: in no other table, chart or threshold.",
    );
    for row in &report.start_stop {
        let figures = &row.figures;
        let mut cells = vec![
            Cell::Text(request_name(&row.method, &row.name)),
            count(figures.count),
            failures(figures.failures, figures.count),
        ];
        let values = |l: &Latency| [l.avg, l.min, l.max];
        cells.extend(times(figures.latency_ms.as_ref(), values));
        table.row(&cells);
    }
    (!report.start_stop.is_empty()).then_some(table)
}

fn task_cells(task: &TaskRow, elapsed_s: f64) -> Vec<Cell> {
    let per_second = task.runs as f64 / elapsed_s.max(f64::MIN_POSITIVE);
    let mut cells = vec![
        Cell::Text(task.scenario.clone()),
        Cell::Text(task.name.clone()),
        count(task.runs),
        failures(task.failures, task.runs),
        Cell::Number(per_second, rate(per_second)),
    ];
    let values = |l: &Latency| [l.avg, l.min, l.p50, l.p95, l.max];
    cells.extend(times(task.latency_ms.as_ref(), values));
    cells
}

fn failures(n: u64, of: u64) -> Cell {
    match n {
        0 => count(0),
        n => Cell::Bad(n as f64, with_share(n, of)),
    }
}
