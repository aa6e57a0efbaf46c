//! The top of the screen: what runs, how far it is, its figures now, and how they went over the last minutes.

use super::super::ViewContext;
use super::super::listing::{cut_middle, one_line};
use super::super::pages::{ms_text, rate, tight};
use super::super::style::{Meaning, Styles};
use super::put;
use crate::metrics::{RunPhase, SeriesPoint, Snapshot};
use crate::units::{counted, show_count, show_long, show_size};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::{Sparkline, Widget as _};
use unicode_width::UnicodeWidthStr as _;

/// Columns of the bar that shows how far the run is.
const BAR: usize = 16;

/// Three lines: plan and target, progress and generator, figures.
pub(super) fn draw(
    facts: &ViewContext,
    snapshot: &Snapshot,
    area: Rect,
    buffer: &mut Buffer,
    styles: Styles,
) {
    let line = |at: u16| Rect {
        y: area.y + at,
        height: u16::from(at < area.height),
        ..area
    };
    let width = area.width as usize;
    let users = counted(snapshot.users, "user");
    let room = width.saturating_sub(users.width() + 12);
    let what = format!("{} → {}", one_line(&facts.plan), one_line(&facts.host));
    let x = put(buffer, line(0), area.x, "lgoose ", Meaning::Title, styles);
    put(
        buffer,
        line(0),
        x,
        &cut_middle(&what, room),
        Meaning::Strong,
        styles,
    );
    at_right(buffer, line(0), &users, Meaning::Strong, styles);

    let (text, meaning) = phase(snapshot);
    let x = put(
        buffer,
        line(1),
        area.x,
        &bar(snapshot),
        Meaning::Graph,
        styles,
    );
    let end = put(buffer, line(1), x, &text, meaning, styles);
    let room = area.right().saturating_sub(end + 2) as usize;
    let (texts, busy) = generator(snapshot);
    if let Some(text) = texts.iter().find(|text| text.width() <= room) {
        at_right(buffer, line(1), text, busy, styles);
    }

    figures(snapshot, line(2), buffer, styles);
}

fn at_right(buffer: &mut Buffer, area: Rect, text: &str, meaning: Meaning, styles: Styles) {
    let x = area.right().saturating_sub(text.width() as u16);
    put(buffer, area, x, text, meaning, styles);
}

/// Where the run is: `starting 40/120`, `running 2m10s of 10m`.
fn phase(snapshot: &Snapshot) -> (String, Meaning) {
    let wanted = snapshot.wanted;
    let elapsed = show_long(snapshot.played);
    let of = wanted
        .lasts
        .map_or_else(String::new, |lasts| format!(" of {}", show_long(lasts)));
    match snapshot.phase {
        RunPhase::Stopping => (format!("stopping after {elapsed}"), Meaning::Warning),
        RunPhase::Paused => (format!("paused at {elapsed}"), Meaning::Warning),
        RunPhase::Running if wanted.rate.is_none() && snapshot.users < wanted.users => (
            format!(
                "starting {}/{} · {elapsed}{of}",
                snapshot.users, wanted.users
            ),
            Meaning::Plain,
        ),
        RunPhase::Running => (format!("running {elapsed}{of}"), Meaning::Plain),
    }
}

fn bar(snapshot: &Snapshot) -> String {
    let Some(ends) = snapshot.wanted.lasts.filter(|ends| !ends.is_zero()) else {
        return String::new();
    };
    let share = (snapshot.played.as_secs_f64() / ends.as_secs_f64()).min(1.0);
    let full = (share * BAR as f64).round() as usize;
    format!("{}{} ", "█".repeat(full), "░".repeat(BAR - full))
}

/// How hard lgoose itself works, from the longest text to the shortest.
fn generator(snapshot: &Snapshot) -> ([String; 3], Meaning) {
    let Some(last) = snapshot.recent.last() else {
        return (Default::default(), Meaning::Faint);
    };
    let (mark, meaning) = match last.saturated {
        true => (" BOTTLENECK", Meaning::Warning),
        false => ("", Meaning::Faint),
    };
    let busy = format!("lgoose {:.0}% busy", last.busy * 100.0);
    let late = format!("{busy}, {} late", ms_text(last.lag_ms));
    let connections = show_count(snapshot.connections);
    let texts = [
        format!("{late}, {connections} conns{mark}"),
        format!("{late}{mark}"),
        format!("{busy}{mark}"),
    ];
    (texts, meaning)
}

fn figures(snapshot: &Snapshot, area: Rect, buffer: &mut Buffer, styles: Styles) {
    let total = &snapshot.total;
    let share = 100.0 * total.failures as f64 / total.count.max(1) as f64;
    let failed = match total.failures {
        0 => ("no failures".to_owned(), Meaning::Good),
        count => (
            format!("✗ {} failed ({share:.2}%)", show_count(count)),
            Meaning::Bad,
        ),
    };
    let mut parts = vec![
        (format!("{} req/s", rate(total.rate_now)), Meaning::Strong),
        failed,
        (format!("p50 {}", tight(total.p50)), Meaning::Plain),
        (format!("p95 {}", tight(total.p95)), Meaning::Plain),
        (format!("{} reqs", show_count(total.count)), Meaning::Plain),
        (show_size(snapshot.bytes as f64), Meaning::Plain),
    ];
    if snapshot.dropped > 0 {
        let text = format!("✗ {} dropped", show_count(snapshot.dropped));
        parts.insert(2, (text, Meaning::Bad));
    }
    let broken = snapshot.thresholds.iter().filter(|row| !row.passed).count();
    if broken > 0 {
        let of = snapshot.thresholds.len();
        parts.insert(2, (format!("✗ {broken} of {of} thresholds"), Meaning::Bad));
    }
    if !snapshot.warnings.is_empty() {
        parts.push((
            format!("! {} warnings", snapshot.warnings.len()),
            Meaning::Warning,
        ));
    }
    let mut x = area.x;
    for (at, (text, meaning)) in parts.iter().enumerate() {
        let between = if at == 0 { "" } else { " · " };
        if x as usize + between.width() + text.width() > area.right() as usize {
            return;
        }
        x = put(buffer, area, x, between, Meaning::Faint, styles);
        x = put(buffer, area, x, text, *meaning, styles);
    }
}

/// One graph over time.
struct Graph {
    title: &'static str,
    of: fn(&SeriesPoint) -> f64,
    show: fn(f64) -> String,
    /// What stands for several points where there is no room for each.
    join: fn(&[f64]) -> f64,
}

const GRAPHS: [Graph; 4] = [
    Graph {
        title: "requests/s",
        of: |point| point.rate().unwrap_or(0.0),
        show: rate,
        join: |values| values.iter().sum::<f64>() / values.len().max(1) as f64,
    },
    latency("p50", |point| point.p50_ms.unwrap_or(0.0)),
    latency("p95", |point| point.p95_ms.unwrap_or(0.0)),
    latency("p99", |point| point.p99_ms.unwrap_or(0.0)),
];

const fn latency(title: &'static str, of: fn(&SeriesPoint) -> f64) -> Graph {
    Graph {
        title,
        of,
        show: ms_text,
        join: |values| values.iter().copied().fold(0.0, f64::max),
    }
}

/// Requests a second and percentiles over the last two minutes, as many graphs side by side as can be read.
pub(super) fn graphs(snapshot: &Snapshot, area: Rect, buffer: &mut Buffer, styles: Styles) {
    const GAP: u16 = 2;
    if area.height < 2 {
        return;
    }
    let [rates, p50, p95, p99] = &GRAPHS;
    let shown = match area.width {
        ..60 => vec![rates],
        60..110 => vec![rates, p95],
        _ => vec![rates, p50, p95, p99],
    };
    let each = (area.width + GAP) / shown.len() as u16;
    for (at, graph) in (0..).zip(&shown) {
        let place = Rect {
            x: area.x + at * each,
            width: each - GAP,
            ..area
        };
        draw_graph(snapshot, graph, place, buffer, styles);
    }
}

fn draw_graph(snapshot: &Snapshot, graph: &Graph, area: Rect, buffer: &mut Buffer, styles: Styles) {
    let Graph {
        title, of, show, ..
    } = graph;
    let points = &snapshot.recent;
    let values: Vec<f64> = points.iter().map(of).collect();
    let most = values.iter().copied().fold(0.0, f64::max);
    let x = put(buffer, area, area.x, title, Meaning::Faint, styles);
    if let Some(now) = values.last() {
        let now = format!("  {}", show(*now));
        let highest = format!("{now} · most {}", show(most));
        let whole = format!("{highest} in {} s", values.len());
        let room = usize::from(area.right().saturating_sub(x));
        let texts = [whole, highest, now];
        let fits = texts.iter().find(|text| text.width() <= room);
        let text = fits.map_or("", String::as_str);
        put(buffer, area, x, text, Meaning::Faint, styles);
    }
    let bars = Rect {
        y: area.y + 1,
        height: area.height - 1,
        ..area
    };
    // Points are joined by the second they began, so that a bar stays what it is while others come.
    let joined = (points.len() as u64)
        .div_ceil(area.width.max(1).into())
        .max(1);
    let bar_of = |point: &SeriesPoint| point.second / joined;
    let columns: Vec<f64> = points
        .chunk_by(|one, next| bar_of(one) == bar_of(next))
        .map(|points| (graph.join)(&points.iter().map(of).collect::<Vec<_>>()))
        .collect();
    let columns = &columns[columns.len().saturating_sub(area.width.into())..];
    let most = columns.iter().copied().fold(0.0, f64::max);
    // Whole numbers, fine enough for any height.
    let scaled = columns.iter().map(|value| match most > 0.0 {
        true => (value / most * 1_000.0).round() as u64,
        false => 0,
    });
    Sparkline::default()
        .data(scaled.collect::<Vec<u64>>())
        .max(1_000)
        .style(styles.of(Meaning::Graph))
        .render(bars, buffer);
}
