//! A search for the greatest load, on the page: the result, latency and throughput over load with the knee, and the
//! steps.

use super::charts::{AREA, label, none, round_step, svg};
use super::escape::text;
use super::table;
use crate::display::{capacity_facts, load_unit, scalability_facts};
use lgoose_base::figures::{rate, time};
use lgoose_metrics::{Capacity, CapacityStep, Report, StepResult};

/// Renders the section of a search; nothing if the report is not that of a search.
pub(super) fn section(report: &Report) -> String {
    let Some(found) = &report.capacity else {
        return String::new();
    };
    let facts = capacity_facts(found);
    // The result comes first; the fitted law is for those who look for it.
    format!(
        "<section id=\"capacity\" aria-label=\"Capacity\">\n<h2>Capacity</h2>\n<p class=\"answer\">{}</p>\n{}\n\
         <div class=\"charts\">{}{}</div><p class=\"note\">Hollow points did not hold.</p>\
         <details><summary>Scalability</summary>{}</details></section>\n",
        text(&facts[0].1),
        table::facts(&facts[1..]),
        figure("Latency over load", &latency(found)),
        figure("Throughput over load", &throughput(found)),
        table::facts(&scalability_facts(found)),
    )
}

/// Returns the latency that a limit of the search allows, in milliseconds: `p95 < 500ms`, `p99 < 1.5s`.
fn latency_limit(limit: &str) -> Option<f64> {
    let value = limit.split_whitespace().nth(2)?;
    match value.strip_suffix("ms") {
        Some(ms) => ms.parse().ok(),
        None => Some(1e3 * value.strip_suffix('s')?.parse::<f64>().ok()?),
    }
}

fn figure(title: &str, plot: &str) -> String {
    format!(
        "<figure class=\"chart\"><figcaption><h3>{title}</h3></figcaption><div class=\"plot\">{plot}</div></figure>\n"
    )
}

fn latency(found: &Capacity) -> String {
    let of = |pick: fn(&CapacityStep) -> Option<f64>| curve(found, pick);
    let lines = [
        ("k2", "p50", of(|step| step.p50_ms)),
        ("k0", "p95", of(|step| step.p95_ms)),
    ];
    let limits = found.slo.iter();
    let limits = limits.filter_map(|limit| Some((limit.as_str(), latency_limit(limit)?)));
    let limits: Vec<(&str, f64)> = limits.collect();
    over_load(found, "Latency over load", &lines, &limits, &time)
}

fn throughput(found: &Capacity) -> String {
    let lines = [(
        "k0",
        "requests/s",
        curve(found, |step| Some(step.throughput)),
    )];
    over_load(found, "Throughput over load", &lines, &[], &|value| {
        format!("{}/s", rate(value))
    })
}

/// Returns the loads in ascending order, each with a figure of its last step.
fn curve(found: &Capacity, pick: fn(&CapacityStep) -> Option<f64>) -> Vec<(f64, f64, bool)> {
    let mut points: Vec<(f64, f64, bool)> = Vec::new();
    for step in &found.steps {
        let judged = matches!(step.result, StepResult::Held | StepResult::Failed);
        if let Some(value) = pick(step).filter(|_| judged && step.count > 0) {
            points.retain(|(load, ..)| *load != step.load);
            points.push((step.load, value, step.result == StepResult::Held));
        }
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

type CapacityLine<'a> = (&'a str, &'a str, Vec<(f64, f64, bool)>);

/// Draws lines over the load, with a mark for each step, the knee, the greatest load that held, and limits that are in sight.
fn over_load(
    found: &Capacity,
    title: &str,
    lines: &[CapacityLine<'_>],
    limits: &[(&str, f64)],
    show: &dyn Fn(f64) -> String,
) -> String {
    let all = || lines.iter().flat_map(|(.., line)| line);
    let most = all().map(|(load, ..)| *load).fold(0.0, f64::max);
    if most <= 0.0 {
        return none();
    }
    let (left, right, top, bottom) = AREA;
    let x_step = round_step(most / 4.0);
    let y_step = round_step(all().map(|(_, value, _)| *value).fold(0.0, f64::max) / 4.0);
    let end = most * 1.03;
    let x = |load: f64| left + load / end * (right - left);
    let y = |value: f64| bottom - value / (y_step * 4.0) * (bottom - top);
    let mut out = String::new();
    for n in 0..=4 {
        let value = y_step * f64::from(n);
        let shown = if n == 0 { "0".to_owned() } else { show(value) };
        out += &format!(
            "<path class=\"grid\" d=\"M{left} {:.1}H{right}\"/>",
            y(value)
        );
        out += &label(left - 8.0, y(value) + 4.0, "end", &shown);
        let load = x_step * f64::from(n);
        if load > 0.0 && load <= end {
            let anchor = if x(load) > right - 40.0 {
                "end"
            } else {
                "middle"
            };
            out += &label(x(load), bottom + 18.0, anchor, &found.by.number(load));
        }
    }
    out += &label(left, bottom + 18.0, "start", load_unit(found.by));
    for (limit, value) in limits.iter().filter(|(_, value)| *value <= y_step * 4.0) {
        out += &format!(
            "<path class=\"limit\" d=\"M{left} {:.1}H{right}\"/>{}",
            y(*value),
            label(right - 4.0, y(*value) - 4.0, "end", &text(limit))
        );
    }
    let marks = [("knee", found.knee), ("holds", found.low)];
    for (at, (name, load)) in marks.into_iter().enumerate() {
        let Some(load) = load else { continue };
        let below = top + 12.0 + 14.0 * at as f64;
        out += &format!(
            "<path class=\"mark {name}\" d=\"M{:.1} {top}V{bottom}\"/>{}",
            x(load),
            label(
                x(load) - 4.0,
                below,
                "end",
                &format!("{name} {}", found.by.number(load))
            ),
        );
    }
    for (at, (look, name, line)) in lines.iter().enumerate() {
        let path: Vec<String> = line
            .iter()
            .map(|(load, value, _)| format!("{:.1} {:.1}", x(*load), y(*value)))
            .collect();
        out += &format!(
            "<path class=\"line {look}\" d=\"M{}h.01\"/>",
            path.join("L")
        );
        for (load, value, held) in line {
            let class = if *held { "step" } else { "step failed" };
            let tip = format!("{}: {}", found.shown(*load), show(*value));
            out += &format!(
                "<circle class=\"{class} {look}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"><title>{}</title></circle>",
                x(*load),
                y(*value),
                text(&tip)
            );
        }
        if lines.len() > 1 {
            out += &format!(
                "<text class=\"key {look}\" x=\"{}\" y=\"{}\">{name}</text>",
                left + 6.0,
                top + 12.0 + 14.0 * at as f64
            );
        }
    }
    svg(title, &out)
}

#[cfg(test)]
mod tests {
    use crate::{fixture, html};

    #[test]
    fn the_page_of_a_search_has_its_charts_and_steps_and_nothing_of_a_plan_harms_it() {
        let mut report = fixture::capacity();
        let page = html::to_html(&report);
        for text in [
            "id=\"capacity\"",
            "Latency over load",
            "holds 340",
            "Steps of the search",
            "Gunther",
        ] {
            assert!(page.contains(text), "{text} in\n{page}");
        }
        let place = |text: &str| {
            page.find(text)
                .unwrap_or_else(|| panic!("{text} in\n{page}"))
        };
        assert!(place("<p class=\"answer\">") < place("Latency over load"));
        assert!(place("Latency over load") < place("Gunther"));
        assert!(!html::to_html(&fixture::report()).contains("id=\"capacity\""));
        if let Some(found) = &mut report.capacity {
            found.limited_by = Some("<script>alert(1)</script>".to_owned());
            found.steps[0].reason = Some("<img src=x onerror=alert(1)>".to_owned());
        }
        let page = html::to_html(&report);
        assert!(
            !page.contains("<script>alert") && !page.contains("<img"),
            "{page}"
        );
    }

    #[test]
    fn a_search_without_a_step_that_was_judged_has_a_page() {
        let mut report = fixture::capacity();
        if let Some(found) = &mut report.capacity {
            found.steps.clear();
            (found.low, found.high, found.usl, found.knee) = (None, None, None, None);
        }
        assert!(html::to_html(&report).contains("no data"));
    }
}
