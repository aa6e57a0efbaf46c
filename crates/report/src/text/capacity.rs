//! A search for the greatest load: its steps while they run, and the section of the report.

use super::fact_lines;
use super::table::rule;
use crate::display::{capacity_facts, load_unit, scalability_facts, step_cells, step_result};
use lgoose_base::figures::rate;
use lgoose_base::line::{one_line, wrapped};
use lgoose_base::units::{show_duration, show_long};
use lgoose_metrics::{CapacityStep, LoadKind, Report, Snapshot};

/// The most columns that the lines of a search take.
const WIDTH: usize = 80;

/// Returns the headings of the columns of [`capacity_step`].
pub fn capacity_heading(by: LoadKind) -> String {
    let cells = ["requests/s", "p95", "failed", "judged"];
    line(load_unit(by), cells.map(str::to_owned), "left", "")
}

/// Returns a finished step, with how long the search is likely to go on, and below it the reason if it did not hold.
pub fn capacity_step(by: LoadKind, step: &CapacityStep, left: Option<&str>) -> Vec<String> {
    let [load, cells @ ..] = step_cells(by, step);
    let left = left.unwrap_or("–");
    let mut lines = vec![line(&load, cells, left, step_result(step))];
    if let Some(reason) = &step.reason {
        let texts = wrapped(&one_line(reason), WIDTH - 17);
        lines.extend(texts.iter().map(|text| format!("{:17}{text}", "")));
    }
    lines
}

/// Returns the running step, to be shown in place.
pub fn capacity_now(
    by: LoadKind,
    load: f64,
    doing: &str,
    now: &Snapshot,
    left: Option<&str>,
) -> String {
    let second = now.recent.iter().rev().find(|point| point.seconds > 0.99);
    let figures = second.map_or_else(String::new, |point| {
        let p95 = point.latency.p95_ms.unwrap_or(0.0);
        let p95 = std::time::Duration::try_from_secs_f64(p95 / 1e3).unwrap_or_default();
        format!(
            " · {} requests/s · p95 {}",
            rate(point.rate().unwrap_or(0.0)),
            show_duration(p95)
        )
    });
    let lasted = show_long(now.progress.elapsed);
    let left = left.map_or_else(String::new, |left| format!(" · {left} left"));
    let text = format!("{:>14}  {doing} {lasted}{left}{figures}", by.number(load));
    text.chars().take(WIDTH - 1).collect()
}

fn line(load: &str, cells: [String; 4], left: &str, result: &str) -> String {
    let [throughput, p95, failed, judged] = cells;
    let line = format!(
        "{load:>14}  {throughput:>10}  {p95:>8}  {failed:>7}  {judged:>6}  {left:>6}  {result}"
    );
    line.trim_end().to_owned()
}

/// Appends the result of a search, if the report is that of a search.
pub(super) fn section(report: &Report, page: usize, out: &mut String) {
    let Some(found) = &report.capacity else {
        return;
    };
    out.push_str("\n Capacity\n");
    out.push_str(&rule(page));
    let facts = [capacity_facts(found), scalability_facts(found)].concat();
    fact_lines(&facts, 13, page, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::text::{TableOptions, tables};
    use unicode_width::UnicodeWidthStr as _;

    #[test]
    fn a_search_fits_eighty_columns() {
        let report = fixture::capacity();
        let out = tables(&report, 80, TableOptions::default());
        let end = out.find("\n Requests").expect("they come next");
        fixture::golden("capacity.txt", &out[..end]);
        let found = report.capacity.as_deref().expect("it is one of a search");
        let steps = found.steps.iter();
        let lines = steps.flat_map(|step| capacity_step(found.by, step, Some("1h12m")));
        let lines: Vec<String> = lines.chain([capacity_heading(found.by)]).collect();
        let all = lines.iter().map(String::as_str).chain(out.lines());
        assert!(all.map(|line| line.width()).max() <= Some(80), "{lines:#?}");
        assert!(tables(&report, 80, TableOptions::default()).contains("Capacity"));
    }

    #[test]
    fn limits_from_a_plan_cannot_harm_a_terminal() {
        let mut report = fixture::capacity();
        if let Some(found) = &mut report.capacity {
            found.limited_by = Some("\x1b[31mGET /".to_owned());
            found.text = "\x07".to_owned();
            found.steps[0].reason = Some("\x1b]0;x".to_owned());
            for line in found
                .steps
                .iter()
                .flat_map(|step| capacity_step(found.by, step, None))
            {
                assert!(!line.contains('\x1b'), "{line:?}");
            }
        }
        let text = tables(&report, 80, TableOptions::default());
        assert!(!text.contains(['\x1b', '\x07']), "{text:?}");
    }
}
