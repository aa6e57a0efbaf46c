//! The table of how much of the latency was on the way, with a bar for each name.

use super::page::{TextPage, pad_left, pad_right};
use crate::findings::{Findings, TravelRow};
use lgoose_base::figures::{share, time};
use lgoose_base::line::cut_apart;
use lgoose_base::units::show_count;

/// The most names.
const MAX_ROWS: usize = 20;

/// The cells of a bar.
const BAR: usize = 12;

/// Puts the table, if the log has the server's times.
pub(super) fn put(found: &Findings, page: &mut TextPage) {
    if found.travel.is_empty() {
        return;
    }
    let has_upstream = found.travel.iter().any(|row| row.upstream_avg_ms.is_some());
    let mut titles = vec!["#", "latency", "server", "way", "way p95", ""];
    if has_upstream {
        titles.insert(3, "upstream");
    }
    let rows = &found.travel[..found.travel.len().min(MAX_ROWS)];
    let cells: Vec<Vec<String>> = rows.iter().map(|row| figures(row, has_upstream)).collect();
    let widths: Vec<usize> = titles
        .iter()
        .enumerate()
        .map(|(at, title)| {
            let cells = cells.iter().map(|cells| cells[at].chars().count());
            cells.max().unwrap_or(0).max(title.len())
        })
        .collect();
    let taken: usize = widths.iter().map(|width| width + 2).sum();
    let room = page.width.saturating_sub(taken + 1).max(10);
    let line = |name: &str, cells: &[String]| {
        let padded = cells
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("  {}", pad_left(cell, *width)));
        format!(" {}{}", pad_right(name, room), padded.collect::<String>())
    };
    let titles: Vec<String> = titles.into_iter().map(str::to_owned).collect();
    page.line("");
    page.line(&line("On the way, mean", &titles));
    let names: Vec<&str> = rows.iter().map(|row| &*row.name).collect();
    for (name, cells) in cut_apart(&names, room).iter().zip(&cells) {
        page.line(&line(name, cells));
    }
    if found.travel.len() > MAX_ROWS {
        page.line(&format!(
            "   and {} more names",
            found.travel.len() - MAX_ROWS
        ));
    }
    let coarse = if found.travel_in_ms {
        " The server's times are whole milliseconds."
    } else {
        ""
    };
    page.indented(
        "   ",
        &format!(
            "█ the server's own time, ░ the way: connecting, the network, queues before the server and lgoose itself.{coarse}"
        ),
    );
}

fn figures(row: &TravelRow, has_upstream: bool) -> Vec<String> {
    let mut cells = vec![
        show_count(row.count),
        time(row.latency_ms.avg),
        time(row.server_ms.avg),
        format!("{} {}", time(row.way_ms.avg), part(row)),
        time(row.way_ms.p95),
        bar(row),
    ];
    if has_upstream {
        let upstream = row.upstream_avg_ms.map_or("–".to_owned(), time);
        cells.insert(3, upstream);
    }
    cells
}

/// Returns the share of the latency that was on the way.
fn part(row: &TravelRow) -> String {
    let [way, latency] = [row.way_ms.avg, row.latency_ms.avg].map(|ms| (ms * 1e6) as u64);
    let percent = share(way, latency);
    let whole = percent.split('.').next().unwrap_or_default();
    let whole = whole.trim_end_matches('%');
    format!("{:>4}", format!("{whole}%"))
}

fn bar(row: &TravelRow) -> String {
    let part = row.way_ms.avg / row.latency_ms.avg.max(f64::MIN_POSITIVE);
    let way = ((part * BAR as f64).round() as usize).min(BAR);
    format!("{}{}", "█".repeat(BAR - way), "░".repeat(way))
}
