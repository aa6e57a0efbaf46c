//! The tables of requests: the figures of each name, of tags and labels, and the requests before and after the test.

use super::{Cell, Column, Scope, Table};
use lgoose_base::figures::{moment, per_second, time};
use lgoose_base::line::{one_line, request_name};
use lgoose_judgement::worst_first;
use lgoose_metrics::{Figures, Latency, Report, RequestRow};
use std::collections::BTreeMap;

/// The most names of a brief table, and the most tags where not all fit.
const MAX_NAMES: usize = 50;
const MAX_TAGS: usize = 30;
/// The most status codes of a table that is not the whole one.
const MAX_CODES: usize = 5;

/// A figure of requests: its title, the least scope that shows it, and how it is made.
type Figure = (&'static str, Scope, fn(&Figures, &Report) -> Cell);

/// A count of requests: its title, and how it is made.
type CountFigure = (&'static str, fn(&Figures) -> Cell);

/// A figure of a latency: its title, how soon it is left out where lines are short, and its value in milliseconds.
type LatencyFigure = (&'static str, u8, fn(&Latency) -> f64);

/// Figures of requests by name and, as far as they are known, together.
#[derive(Debug)]
pub struct NamedFigures<'a> {
    /// The rows by name.
    pub rows: Vec<&'a RequestRow>,
    /// The row of all together, where there are several.
    pub all: Option<&'a Figures>,
}

/// The figures of the first table, but for the latency.
const COUNTS: [CountFigure; 3] = [
    ("requests", |all| Cell::count(all.count)),
    ("failed", |all| Cell::failures(all.failures, all.count)),
    ("req/s", |all| Cell::rate_of(all.count, all.rate)),
];

/// All figures of a latency.
const LATENCIES: [LatencyFigure; 11] = [
    ("avg", 5, |all| all.avg),
    ("min", 7, |all| all.min),
    ("p50", 0, |all| all.p50),
    ("p75", 6, |all| all.p75),
    ("p90", 3, |all| all.p90),
    ("p95", 1, |all| all.p95),
    ("p98", 8, |all| all.p98),
    ("p99", 0, |all| all.p99),
    ("p99.9", 2, |all| all.p99_9),
    ("p99.99", 4, |all| all.p99_99),
    ("max", 1, |all| all.max),
];
/// The latencies of the first table, and those of a service time.
const FIRST: [&str; 4] = ["p50", "p95", "p99", "max"];
const SERVICE: [&str; 7] = ["avg", "min", "p50", "p90", "p95", "p99", "max"];

const MORE: [Figure; 11] = [
    ("avg", Scope::Usual, |all, _| latency(all, |ms| ms.avg)),
    ("min", Scope::Usual, |all, _| latency(all, |ms| ms.min)),
    ("max", Scope::Usual, |all, _| latency(all, |ms| ms.max)),
    ("stdev", Scope::Full, |all, _| {
        Cell::of(all.latency_ms.and_then(|ms| ms.stdev), Cell::duration)
    }),
    ("ok avg", Scope::Full, |all, _| {
        duration(all.latency_ok_ms, |ms| ms.avg)
    }),
    ("failed/s", Scope::Usual, |all, report| {
        Cell::rate(per_second(all.failures as f64, report.elapsed_s))
    }),
    ("bytes/s", Scope::Usual, |all, report| {
        Cell::bytes(per_second(all.bytes as f64, report.elapsed_s))
    }),
    ("sent/s", Scope::Usual, |all, report| {
        Cell::of(all.bytes_sent, |bytes| {
            Cell::bytes(per_second(bytes as f64, report.elapsed_s))
        })
    }),
    ("bytes", Scope::Full, |all, _| Cell::bytes(all.bytes as f64)),
    ("redirects", Scope::Full, |all, _| {
        Cell::count(all.redirects)
    }),
    ("retries", Scope::Full, |all, _| Cell::count(all.retries)),
];

const STREAMS: [Figure; 8] = [
    ("messages", Scope::Usual, |all, _| {
        Cell::of(all.messages, |messages| Cell::count(messages.received))
    }),
    ("messages/s", Scope::Usual, |all, report| {
        Cell::of(all.messages, |messages| {
            Cell::rate(per_second(messages.received as f64, report.elapsed_s))
        })
    }),
    ("first p50", Scope::Usual, |all, _| first(all, |ms| ms.p50)),
    ("first p95", Scope::Usual, |all, _| first(all, |ms| ms.p95)),
    ("first p99", Scope::Full, |all, _| first(all, |ms| ms.p99)),
    ("gap p50", Scope::Usual, |all, _| gap(all, |ms| ms.p50)),
    ("gap p99", Scope::Usual, |all, _| gap(all, |ms| ms.p99)),
    ("gap max", Scope::Usual, |all, _| gap(all, |ms| ms.max)),
];

const PHASES: [Figure; 6] = [
    ("DNS", Scope::Full, |all, _| phase(all.phases_ms.dns)),
    ("connect", Scope::Full, |all, _| {
        phase(all.phases_ms.connect)
    }),
    ("TLS", Scope::Full, |all, _| phase(all.phases_ms.tls)),
    ("send", Scope::Full, |all, _| phase(all.phases_ms.send)),
    ("first byte", Scope::Full, |all, _| {
        phase(all.phases_ms.first_byte)
    }),
    ("receive", Scope::Full, |all, _| {
        phase(all.phases_ms.receive)
    }),
];

fn phase(ms: Option<f64>) -> Cell {
    Cell::of(ms, Cell::duration)
}

fn duration(latency: Option<Latency>, value: fn(&Latency) -> f64) -> Cell {
    Cell::of(latency, |latency| Cell::duration(value(&latency)))
}

fn latency(all: &Figures, value: fn(&Latency) -> f64) -> Cell {
    duration(all.latency_ms, value)
}

fn first(all: &Figures, value: fn(&Latency) -> f64) -> Cell {
    duration(all.first_event_ms, value)
}

fn gap(all: &Figures, value: fn(&Latency) -> f64) -> Cell {
    duration(all.event_gap_ms, value)
}

/// Returns the figures of each name: the most important ones in the first table, more in the others.
pub(super) fn requests(report: &Report, scope: Scope) -> Vec<Table<'_>> {
    if report.aggregated.count == 0 {
        return Vec::new();
    }
    let named = NamedFigures::of(report);
    let first = named.first(report, scope);
    if scope == Scope::Brief {
        return vec![first.at_most(MAX_NAMES)];
    }
    let mut tables = vec![first];
    let note = "From the call until the last byte of the final response. Failed requests count at the time they took.";
    let is_percentile = |title: &str| title.starts_with('p');
    tables.push(
        named
            .latencies_of("percentiles", "Percentiles", is_percentile, |all| {
                all.latency_ms
            })
            .note(note),
    );
    if report.aggregated.service_ms.is_some() {
        let note = "Latency from the actual start; the tables before count from the scheduled one.";
        let is_shown = |title: &str| SERVICE.contains(&title);
        tables.push(
            named
                .latencies_of("service", "Service time", is_shown, |all| all.service_ms)
                .note(note),
        );
    }
    if report.aggregated.first_event_ms.is_some() {
        let note = "First: from the beginning of a stream to its first message. Gap: from one message to the next.";
        let is_stream = |row: &&RequestRow| row.figures.messages.is_some();
        let streams = NamedFigures {
            rows: named.rows.iter().copied().filter(is_stream).collect(),
            all: named.all,
        };
        tables.push(streams.streams(report, scope).note(note));
    }
    tables.push(named.listed(report, scope, "more", "More figures", &MORE));
    if scope == Scope::Full {
        let note = "What the latency was made of: the mean over the requests that had the phase.";
        tables.push(
            named
                .listed(report, scope, "phases", "Phases", &PHASES)
                .note(note),
        );
    }
    tables.push(named.status_codes(scope));
    for table in &mut tables[1..] {
        table.is_more = true;
    }
    tables
}

impl NamedFigures<'_> {
    /// Returns the requests of a report, those that fail or break a limit first.
    fn of(report: &Report) -> NamedFigures<'_> {
        NamedFigures {
            rows: worst_first(report),
            all: Some(&report.aggregated),
        }
    }

    /// Returns all figures of the latencies.
    pub fn latencies(&self) -> Table<'static> {
        self.latencies_of("latency", "Latency", |_| true, |all| all.latency_ms)
    }

    /// Returns the messages of streams, with the time to the first one and the gaps between them.
    pub fn streams(&self, report: &Report, scope: Scope) -> Table<'static> {
        self.listed(report, scope, "streams", "Streams", &STREAMS)
    }

    /// Returns the counts of status codes, a column each.
    pub fn status_codes(&self, scope: Scope) -> Table<'static> {
        let none = BTreeMap::new();
        let counted = self.all.map_or(&none, |all| &all.status);
        let mut counts: Vec<(&str, u64)> = counted
            .iter()
            .map(|(code, count)| (code.as_str(), *count))
            .collect();
        let mut others = 0;
        if scope < Scope::Full && counts.len() > MAX_CODES {
            counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            others = counts.len() - MAX_CODES;
            counts.truncate(MAX_CODES);
            counts.sort_unstable();
        }
        let codes: Vec<&str> = counts.into_iter().map(|(code, _)| code).collect();
        let column = |code: &&str| Column::number(code_text(code)).rank(1);
        let mut columns: Vec<Column> = codes.iter().map(column).collect();
        if others > 0 {
            columns.push(Column::number("others"));
        }
        self.table("status", "Status codes", columns, |all, _| {
            let cell = |code: &&str| {
                Cell::of(all.status.get(*code), |count| {
                    Cell::count(*count).bad_if(*code == "0" || *code >= "400")
                })
            };
            let mut cells: Vec<Cell> = codes.iter().map(cell).collect();
            if others > 0 {
                let rest = all
                    .status
                    .iter()
                    .filter(|(code, _)| !codes.contains(&code.as_str()));
                cells.push(Cell::count(rest.map(|(_, count)| count).sum()));
            }
            cells
        })
    }

    /// Returns a table with a row for each name and one for all.
    fn table(
        &self,
        id: &'static str,
        title: &'static str,
        mut columns: Vec<Column>,
        cells: impl Fn(&Figures, Option<&RequestRow>) -> Vec<Cell>,
    ) -> Table<'static> {
        columns.insert(0, Column::text("name"));
        let row = |name: Cell, mut cells: Vec<Cell>| {
            cells.insert(0, name);
            cells
        };
        let rows = self.rows.iter().map(|one| {
            let name = Cell::foreign(request_name(&one.method, &one.name));
            row(name, cells(&one.figures, Some(one)))
        });
        let mut table = Table::new(id, title, columns).with(rows);
        let all = self.all.map(|all| cells(all, None));
        table.total = all.map(|cells| row(Cell::words("Aggregated"), cells));
        table
    }

    /// Returns a table of those figures of a latency whose titles are `shown`.
    fn latencies_of(
        &self,
        id: &'static str,
        title: &'static str,
        shown: impl Fn(&str) -> bool,
        pick: fn(&Figures) -> Option<Latency>,
    ) -> Table<'static> {
        let figures = || LATENCIES.iter().filter(|(title, ..)| shown(title));
        let columns = figures().map(|(title, rank, _)| Column::number(*title).rank(*rank));
        self.table(id, title, columns.collect(), |all, _| {
            let latency = pick(all);
            let cell = |value: fn(&Latency) -> f64| {
                Cell::of(latency.as_ref(), |latency| Cell::duration(value(latency)))
            };
            figures().map(|(.., value)| cell(*value)).collect()
        })
    }

    /// Returns a table of the figures of a list that the scope shows.
    fn listed(
        &self,
        report: &Report,
        scope: Scope,
        id: &'static str,
        title: &'static str,
        figures: &[Figure],
    ) -> Table<'static> {
        let figures = || figures.iter().filter(|(_, least, _)| *least <= scope);
        let columns = figures().map(|(title, ..)| Column::number(*title));
        self.table(id, title, columns.collect(), |all, _| {
            figures().map(|(.., cell)| cell(all, report)).collect()
        })
    }

    /// Returns the table of the most important figures.
    fn first(&self, report: &Report, scope: Scope) -> Table<'static> {
        let has_failures = report.aggregated.failures > 0;
        let ok = if has_failures { "ok " } else { "" };
        let latencies = || LATENCIES.iter().filter(|(title, ..)| FIRST.contains(title));
        let counts = COUNTS.iter().map(|(title, ..)| Column::number(*title));
        let titles = latencies().map(|(title, ..)| Column::number(format!("{ok}{title}")));
        let mut columns: Vec<Column> = counts.chain(titles).collect();
        if scope == Scope::Full {
            columns.extend(Column::numbers(["share of time", "first failed"]));
        }
        let since = first_failures(report);
        let table = self.table("requests", "Requests", columns, |all, row| {
            let latency = if has_failures {
                all.latency_ok_ms
            } else {
                all.latency_ms
            };
            let mut cells: Vec<Cell> = COUNTS.iter().map(|(_, cell)| cell(all)).collect();
            cells.extend(latencies().map(|(.., value)| {
                Cell::of(latency.as_ref(), |latency| Cell::duration(value(latency)))
            }));
            if scope == Scope::Full {
                cells.push(Cell::percent(share_of_time(all, &report.aggregated)));
                let name = row.map(|row| format!("{} {}", row.method, row.name));
                let since = name.and_then(|name| since.get(name.trim_start()).copied());
                cells.push(Cell::of(since, |at| Cell::Figure(at, moment(at), false)));
            }
            cells
        });
        table.note(
            "Names that fail or break a limit come first. Where requests failed, latency is that of the others (ok).",
        )
    }
}

/// Returns the share of the latency of all requests that those of a name took, from 0 to 1.
fn share_of_time(one: &Figures, all: &Figures) -> f64 {
    let sum = |of: &Figures| of.latency_ms.map_or(0.0, |latency| latency.avg) * of.count as f64;
    sum(one) / sum(all).max(f64::MIN_POSITIVE)
}

/// Returns when each name failed first, in seconds since the start of the measurement.
fn first_failures(report: &Report) -> BTreeMap<&str, f64> {
    let mut first: BTreeMap<&str, f64> = BTreeMap::new();
    for error in &report.errors {
        let at = first.entry(&error.name).or_insert(error.first_s);
        *at = at.min(error.first_s);
    }
    first
}

fn code_text(code: &str) -> String {
    match code {
        "0" => "no response".to_owned(),
        code => one_line(code),
    }
}

/// Returns a row for each name of a run of one iteration, with the longest time if it has more than one request.
pub(crate) fn once(report: &Report) -> Table<'_> {
    let status = |figures: &Figures| {
        let codes: Vec<_> = figures.status.iter().collect();
        match codes[..] {
            [(only, _)] => code_text(only),
            _ => {
                let all = codes
                    .iter()
                    .map(|(code, count)| format!("{count} × {}", code_text(code)));
                all.collect::<Vec<_>>().join(", ")
            }
        }
    };
    let rows = report.requests.iter().map(|row| {
        let figures = &row.figures;
        vec![
            Cell::foreign(request_name(&row.method, &row.name)),
            Cell::count(figures.count),
            Cell::count(figures.failures).bad_if(figures.failures > 0),
            Cell::words(status(figures)),
            Cell::of(figures.latency_ms, |latency| {
                let longest = time(latency.max);
                let text = match figures.count {
                    0 | 1 => longest,
                    _ => format!("≤ {longest}"),
                };
                Cell::Figure(latency.max, text, false)
            }),
        ]
    });
    let mut columns = vec![Column::text("name")];
    columns.extend(Column::numbers(["requests", "failed", "status", "time"]));
    Table::new("requests", "Requests", columns).with(rows)
}

/// Returns the requests of `test_start` and `test_stop`.
pub(super) fn start_stop(report: &Report) -> Table<'_> {
    let rows = report.start_stop.iter().map(|row| {
        let figures = &row.figures;
        let mut cells = vec![
            Cell::foreign(request_name(&row.method, &row.name)),
            Cell::count(figures.count),
            Cell::failures(figures.failures, figures.count),
        ];
        let values = |all: &Latency| [all.avg, all.min, all.max];
        cells.extend(durations(figures.latency_ms.as_ref(), values));
        cells
    });
    let mut columns = vec![Column::text("name")];
    columns.extend(Column::numbers(["requests", "failed", "avg", "min", "max"]));
    Table::new("start_stop", "Test start and stop", columns)
        .with(rows)
        .note("Requests of the plan’s test_start and test_stop: in no other table, chart or threshold.")
}

/// Returns a row for each scenario and tag and, where all is shown, for each request name of it.
pub(super) fn tags(report: &Report, scope: Scope) -> Table<'_> {
    let columns = Column::numbers(["requests", "failed", "req/s", "p50", "p95", "p99", "max"]);
    let parts = report.by_tag.iter();
    let parts = parts.map(|part| {
        (
            one_line(&part.tag),
            Vec::new(),
            &part.aggregated,
            &part.requests[..],
        )
    });
    let table = by_part(
        "tags",
        "Scenarios and tags",
        "tag",
        columns.collect(),
        parts,
        scope,
    );
    match scope {
        Scope::Brief | Scope::Usual => table.at_most(MAX_TAGS),
        Scope::Full => table,
    }
}

/// Returns a row for each label of workers and, where all is shown, for each request name of it.
pub(super) fn labels(report: &Report, scope: Scope) -> Table<'_> {
    let titles = [
        "workers", "requests", "failed", "req/s", "p50", "p95", "p99", "max",
    ];
    let parts = report.by_label.iter().map(|part| {
        let workers = vec![Cell::count(part.workers)];
        (
            one_line(&part.label),
            workers,
            &part.aggregated,
            &part.requests[..],
        )
    });
    by_part(
        "labels",
        "Labels",
        "label",
        Column::numbers(titles).collect(),
        parts,
        scope,
    )
}

/// A part of all requests: its name, cells before its figures, the figures, and those of its request names.
type RequestPart<'a> = (String, Vec<Cell>, &'a Figures, &'a [RequestRow]);

fn by_part<'a>(
    id: &'static str,
    title: &'static str,
    noun: &'static str,
    figures: Vec<Column>,
    parts: impl Iterator<Item = RequestPart<'a>>,
    scope: Scope,
) -> Table<'a> {
    let is_full = scope == Scope::Full;
    let mut columns = vec![Column::text(noun)];
    if is_full {
        columns.push(Column::text("name"));
    }
    columns.extend(figures);
    let rows = parts.flat_map(|(part, before, all, names)| {
        let names = names.iter().filter(|_| is_full);
        let names = names.map(|row| (request_name(&row.method, &row.name), &row.figures));
        let all = [("Aggregated".to_owned(), all)];
        let rows = all.into_iter().chain(names).map(move |(name, all)| {
            let mut cells = vec![Cell::foreign(&*part)];
            if is_full {
                cells.push(Cell::foreign(name));
            }
            cells.extend(before.clone());
            cells.extend([
                Cell::count(all.count),
                Cell::failures(all.failures, all.count),
                Cell::rate_of(all.count, all.rate),
            ]);
            let values = |all: &Latency| [all.p50, all.p95, all.p99, all.max];
            cells.extend(durations(all.latency_ms.as_ref(), values));
            cells
        });
        rows.collect::<Vec<_>>()
    });
    Table::new(id, title, columns).with(rows)
}

/// Returns the cells of a latency; empty ones if there was none.
pub(super) fn durations<const N: usize>(
    latency: Option<&Latency>,
    values: impl Fn(&Latency) -> [f64; N],
) -> Vec<Cell> {
    match latency {
        Some(latency) => values(latency).map(Cell::duration).to_vec(),
        None => vec![Cell::None; N],
    }
}
