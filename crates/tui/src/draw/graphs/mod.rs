//! Graphs over time: requests and failures per second, latency, requests in flight, users. With numbers on the axes,
//! gaps where nothing was measured, and marks for events.
//!
//! The window stands still while it fills and then moves by a quarter of its width: if the graph moved by a column
//! every second, the terminal would have to redraw all of it every second.

mod plot;
mod scale;

use super::super::pages::{ms_text, rate};
use super::super::state::ViewState;
use super::super::style::TextMeaning;
use super::super::timeline::{Timeline, TimelineColumn};
use super::paint::Painter;
use lgoose_base::threshold::{FigureKind, LatencySubset, Unit};
use lgoose_base::units::{show_count, show_long};
use lgoose_metrics::{Snapshot, ThresholdRow};
use plot::{Bar, Plot};
use ratatui::layout::Rect;
use std::time::Duration;
use unicode_width::UnicodeWidthStr as _;

/// The least time that a graph shows once the run is that long.
const SECONDS: u64 = 120;
/// Columns between two graphs.
const GAP: u16 = 2;
/// Milliseconds beyond which a waiting request is worth a warning.
pub(super) const LONG_MS: f64 = 1_000.0;

/// Subject of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GraphKind {
    Rate,
    Latency,
    UnderWay,
    Users,
}

/// The stretch of the run that a graph shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct GraphWindow {
    /// The second of the run at which it begins.
    from: u64,
    /// Seconds of a column.
    each: u64,
    columns: usize,
}

/// Draws as many graphs side by side as can be read.
pub(super) fn graphs(
    state: &ViewState,
    snapshot: &Snapshot,
    area: Rect,
    painter: &mut Painter<'_>,
) {
    if area.height < 3 || area.width < 24 {
        return;
    }
    let mut later = [GraphKind::Latency, GraphKind::UnderWay, GraphKind::Users];
    later.rotate_left(state.graph % 3);
    let shown = match area.width {
        ..56 => 1,
        56..100 => 2,
        100..140 => 3,
        _ => 4,
    };
    let kinds = [GraphKind::Rate].into_iter().chain(later);
    let each = (area.width + GAP) / shown as u16;
    for (at, kind) in (0..).zip(kinds.take(shown)) {
        let place = Rect {
            x: area.x + at * each,
            width: each - GAP,
            ..area
        };
        graph(kind, state, snapshot, place, painter);
    }
}

fn graph(
    kind: GraphKind,
    state: &ViewState,
    snapshot: &Snapshot,
    area: Rect,
    painter: &mut Painter<'_>,
) {
    let timeline = &state.figures.timeline;
    let width = usize::from(area.width).saturating_sub(plot::LABELS);
    let window = window(timeline, width, state.whole);
    let columns = timeline.columns(window.from, window.each, window.columns);
    let limit = limit(kind, snapshot);
    let bars: Vec<Bar> = columns.iter().map(|column| bar(kind, column)).collect();
    let plot = Plot {
        bars: &bars,
        limit,
        show: match kind {
            GraphKind::Latency => scale::short_ms,
            _ => scale::short,
        },
    };
    let title = title(kind, state, snapshot, &columns, window, limit);
    write_title(&title, area, painter);
    let rest = Rect {
        y: area.y + 1,
        height: area.height - 1,
        ..area
    };
    plot.draw(rest, painter);
    time_axis(timeline, window, rest, painter);
}

fn window(timeline: &Timeline, width: usize, whole: bool) -> GraphWindow {
    let width = width.max(1) as u64;
    let (first, now) = (timeline.first_s(), timeline.now_s() as u64);
    if whole {
        let each = scale::nice_seconds((now + 1).saturating_sub(first).div_ceil(width));
        return GraphWindow {
            from: first / each * each,
            each,
            columns: width as usize,
        };
    }
    // A short run is shown as large as it can be.
    let shown_seconds = (now + 1)
        .saturating_sub(first)
        .clamp(width, SECONDS.max(width));
    let each = scale::nice_seconds(shown_seconds.div_ceil(width));
    let (first, last) = (first / each, now / each);
    let over = (last + 1).saturating_sub(first + width);
    let step = (width / 4).max(1);
    GraphWindow {
        from: (first + over.div_ceil(step) * step) * each,
        each,
        columns: width as usize,
    }
}

fn bar(kind: GraphKind, column: &TimelineColumn) -> Bar {
    let is_measured = column.seconds > 0.0;
    let bar = Bar {
        paused: column.paused,
        ..Bar::default()
    };
    match kind {
        GraphKind::Rate => Bar {
            value: column.rate(),
            bad: column.failure_rate().filter(|rate| *rate > 0.0),
            ..bar
        },
        // While no response comes, the age of the oldest request is all that is known.
        GraphKind::Latency => Bar {
            value: column.ok_p95_ms,
            point: column.failed_p95_ms,
            waiting: Some(column.oldest_ms)
                .filter(|oldest| *oldest >= LONG_MS && column.ok_p95_ms.is_none()),
            ..bar
        },
        GraphKind::UnderWay => Bar {
            value: is_measured.then_some(column.under_way as f64),
            warned: column.oldest_ms >= LONG_MS,
            ..bar
        },
        GraphKind::Users => Bar {
            value: is_measured.then_some(column.users as f64),
            ..bar
        },
    }
}

/// Returns the threshold on just that figure of all requests or, for users, the number that the run aims at.
fn limit(kind: GraphKind, snapshot: &Snapshot) -> Option<f64> {
    let rows = snapshot.thresholds.iter().filter(|row| row.name.is_none());
    let mut limits = rows.filter_map(ThresholdRow::parsed);
    match kind {
        GraphKind::Latency => {
            let limit = limits.find(|limit| {
                limit.figure == FigureKind::Percentile(95.0)
                    && limit.part.is_none()
                    && limit.among != LatencySubset::Corrected
            })?;
            match limit.unit {
                Unit::Microseconds => Some(limit.limit / 1e3),
                Unit::Milliseconds => Some(limit.limit),
                Unit::Seconds => Some(limit.limit * 1e3),
                _ => None,
            }
        }
        GraphKind::Rate => limits
            .find(|limit| limit.figure == FigureKind::Rate)
            .map(|limit| limit.limit),
        GraphKind::Users => {
            let aim = snapshot.progress.wanted;
            let elsewhere = aim.rate.is_none() && aim.users != snapshot.users;
            elsewhere.then_some(aim.users as f64)
        }
        GraphKind::UnderWay => None,
    }
    .filter(|limit| *limit > 0.0)
}

/// Returns the parts of a title, the most important first.
fn title(
    kind: GraphKind,
    state: &ViewState,
    snapshot: &Snapshot,
    columns: &[TimelineColumn],
    window: GraphWindow,
    limit: Option<f64>,
) -> Vec<(String, TextMeaning)> {
    let span = window.each * columns.iter().filter(|c| c.seconds > 0.0).count() as u64;
    let last = format!("last {}", show_long(Duration::from_secs(span)));
    let over = if state.whole {
        "of the run".to_owned()
    } else {
        last
    };
    let highest = |of: fn(&TimelineColumn) -> Option<f64>| {
        let values = columns.iter().filter_map(of);
        values.fold(None, |most: Option<f64>, value| {
            Some(most.map_or(value, |most| most.max(value)))
        })
    };
    let now = snapshot.recent.last();
    let mut parts = Vec::new();
    let mut part = |text: String, meaning| parts.push((text, meaning));
    match kind {
        GraphKind::Rate => {
            let rates = now.and_then(|point| {
                let failed = point.rate_of(point.failures).unwrap_or(0.0);
                Some((point.rate()?, failed))
            });
            let (all, failed) = rates.unwrap_or_default();
            part(format!("req/s {}", rate(all)), TextMeaning::Strong);
            if state.figures.one_tag.is_some() {
                part("all requests".to_owned(), TextMeaning::Faint);
            }
            if failed > 0.0 {
                part(format!("✗ {}/s", rate(failed)), TextMeaning::Bad);
            }
            if let Some(most) = highest(TimelineColumn::rate) {
                part(format!("max {} {over}", rate(most)), TextMeaning::Faint);
            }
        }
        GraphKind::Latency => {
            let ok = now.and_then(|point| point.latency.ok_p95_ms);
            let text = ok.map_or_else(|| "-".to_owned(), ms_text);
            part(format!("p95 {text}"), TextMeaning::Strong);
            if state.figures.one_tag.is_some() {
                part("all requests".to_owned(), TextMeaning::Faint);
            }
            if let Some(failed) = now.and_then(|point| point.latency.failed_p95_ms) {
                part(format!("✗ {}", ms_text(failed)), TextMeaning::Bad);
            }
            if let Some(limit) = limit {
                let text = format!("limit {}", scale::short_ms(limit));
                part(text, TextMeaning::Faint);
            }
            if let Some(most) = highest(|column| column.ok_p95_ms) {
                part(format!("max {} {over}", ms_text(most)), TextMeaning::Faint);
            }
        }
        GraphKind::UnderWay => {
            let (count, oldest) = now.map_or((0, 0.0), |now| (now.under_way, now.oldest_ms));
            let text = format!("in flight {}", show_count(count));
            part(text, TextMeaning::Strong);
            let (sign, meaning) = if oldest >= LONG_MS {
                (" ⚠", TextMeaning::Warning)
            } else {
                ("", TextMeaning::Faint)
            };
            if count > 0 {
                part(format!("oldest {}{sign}", ms_text(oldest)), meaning);
            }
        }
        GraphKind::Users => {
            let text = format!("users {}", show_count(snapshot.users));
            part(text, TextMeaning::Strong);
            if let Some(limit) = limit.filter(|limit| *limit != snapshot.users as f64) {
                part(format!("→ {}", scale::short(limit)), TextMeaning::Strong);
            }
            if let Some(most) = highest(|column| Some(column.users as f64)) {
                let text = format!("max {} {over}", scale::short(most));
                part(text, TextMeaning::Faint);
            }
        }
    }
    parts
}

fn write_title(parts: &[(String, TextMeaning)], area: Rect, painter: &mut Painter<'_>) {
    let mut x = area.x;
    for (text, meaning) in parts {
        let between = if x == area.x { "" } else { " · " };
        let end = usize::from(x) + between.width() + text.width();
        if end <= usize::from(area.right()) {
            x = painter.put(area, x, between, TextMeaning::Faint);
            x = painter.put(area, x, text, *meaning);
        }
    }
}

/// Draws the last line: times into the run, and over them the marks of events.
fn time_axis(timeline: &Timeline, window: GraphWindow, area: Rect, painter: &mut Painter<'_>) {
    let line = Rect {
        y: area.bottom() - 1,
        height: 1,
        x: area.x + plot::LABELS as u16,
        width: area.width - plot::LABELS as u16,
    };
    let room = usize::from(line.width);
    let every = scale::nice_seconds(12 * window.each).div_ceil(window.each) as usize;
    let start = (window.from / window.each) as usize;
    let first = start.div_ceil(every) * every - start;
    for place in (first..room).step_by(every) {
        let second = window.from + place as u64 * window.each;
        let text = format!("╵{}", show_long(Duration::from_secs(second)));
        if place + text.width() <= room {
            painter.put(line, line.x + place as u16, &text, TextMeaning::Faint);
        }
    }
    let to = window.from + window.each * window.columns as u64;
    let mut free = 0;
    for mark in timeline.marks(window.from, to) {
        let place = ((mark.at_s - window.from as f64) / window.each as f64) as usize;
        let text = format!("↑{} ", mark.word);
        let fits = place + text.width() <= room;
        let text = if fits { text.as_str() } else { "↑" };
        if place >= free {
            painter.put(line, line.x + place as u16, text, TextMeaning::Warning);
            free = place + text.width();
        }
    }
}

#[cfg(test)]
mod tests;
