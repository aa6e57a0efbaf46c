//! Static charts, shown without scripts: lines over round grids, drawn as SVG.

use super::data::{events, saturated, wall_s};
use super::distribution::{self, STEPS};
use super::escape::text as escaped;
use lgoose_base::figures::{rate, time};
use lgoose_base::line::{cut_middle, one_line};
use lgoose_base::units::{show_count, show_long};
use lgoose_metrics::{LabelRow, Report, SeriesPoint};
use std::time::Duration;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 26.0;
/// Borders of the area of the lines: left, right, top and bottom.
pub(super) const AREA: (f64, f64, f64, f64) = (LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM);
/// The most points of a line; neighbouring points are merged into their largest.
const MAX_POINTS: usize = 300;

/// A line: its class in the style sheet, its label, its times and values.
type ChartLine<'a> = (&'a str, &'a str, Vec<(f64, f64)>);

/// Draws requests per second.
pub(super) fn request_rate(report: &Report) -> String {
    let line = over_time(report, |point| point.rate());
    chart(report, &[("k0", "requests/s", line)], &|v| {
        format!("{}/s", rate(v))
    })
}

/// Draws failures per second.
pub(super) fn failure_rate(report: &Report) -> String {
    let line = over_time(report, |point| point.rate_of(point.failures));
    chart(report, &[("kbad", "failures/s", line)], &|v| {
        format!("{}/s", rate(v))
    })
}

/// Draws the number of running users.
pub(super) fn users(report: &Report) -> String {
    let line = over_time(report, |point| Some(point.users as f64));
    chart(report, &[("k6", "users", line)], &|v| show_count(v as u64))
}

/// Draws p50, p95 and p99 over time.
pub(super) fn latency(report: &Report) -> String {
    let lines = [
        ("k2", "p50", over_time(report, |point| point.latency.p50_ms)),
        ("k0", "p95", over_time(report, |point| point.latency.p95_ms)),
        ("k1", "p99", over_time(report, |point| point.latency.p99_ms)),
    ];
    chart(report, &lines, &time)
}

/// Draws a figure over time with a line for each label, those with the most requests if there are many.
pub(super) fn labels(
    report: &Report,
    of: fn(&SeriesPoint) -> Option<f64>,
    show: &dyn Fn(f64) -> String,
) -> String {
    const LOOKS: [&str; 8] = ["k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"];
    let mut labels: Vec<&LabelRow> = report.by_label.iter().collect();
    labels.sort_by_key(|row| std::cmp::Reverse(row.aggregated.count));
    let shown = labels.iter().take(LOOKS.len());
    let names = shown
        .clone()
        .map(|row| escaped(&cut_middle(&one_line(&row.label), 40)));
    let names: Vec<String> = names.collect();
    let lines: Vec<ChartLine<'_>> = shown
        .zip(&names)
        .zip(LOOKS)
        .map(|((row, name), look)| (look, name.as_str(), thinned(&row.series, of)))
        .collect();
    chart(report, &lines, show)
}

/// Draws the distribution of all latencies on a logarithmic scale.
pub(super) fn distribution(report: &Report) -> String {
    let steps = distribution::steps(&report.aggregated.histogram);
    let (Some(first), Some(last)) = (steps.keys().next(), steps.keys().next_back()) else {
        return none();
    };
    let (first, width) = (f64::from(*first), f64::from(last - first + 1));
    let most = *steps.values().max().unwrap_or(&1) as f64;
    let total: u64 = steps.values().sum();
    let (inner, base) = (WIDTH - LEFT - RIGHT, HEIGHT - BOTTOM);
    let bars: String = steps
        .iter()
        .map(|(step, n)| {
            let x = LEFT + (f64::from(*step) - first) / width * inner;
            let height = *n as f64 / most * (base - TOP);
            format!(
                "<rect class=\"bar\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.2}\" height=\"{height:.1}\"/>",
                base - height,
                inner / width
            )
        })
        .collect();
    let ends = (first / STEPS, (first + width) / STEPS);
    let labels: String = round_powers(ends.0, ends.1)
        .map(|us| {
            let part = (us.log10() - ends.0) / (ends.1 - ends.0);
            label(LEFT + part * inner, HEIGHT - 8.0, "middle", &time(us / 1e3))
        })
        .collect();
    let top = format!("{:.1}%", 100.0 * most / total.max(1) as f64);
    let labels =
        labels + &label(LEFT - 8.0, TOP + 8.0, "end", &top) + &label(LEFT - 8.0, base, "end", "0");
    svg("Distribution of latencies", &format!("{bars}{labels}"))
}

/// Returns the values with the times of the middle of their intervals; long runs are thinned out.
fn over_time(report: &Report, of: impl Fn(&SeriesPoint) -> Option<f64>) -> Vec<(f64, f64)> {
    thinned(&report.series, of)
}

fn thinned(series: &[SeriesPoint], of: impl Fn(&SeriesPoint) -> Option<f64>) -> Vec<(f64, f64)> {
    let points: Vec<(f64, f64)> = series
        .iter()
        .filter_map(|point| Some((point.second as f64 + point.seconds / 2.0, of(point)?)))
        .collect();
    let largest = |chunk: &[(f64, f64)]| chunk.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    let joined = points.len().div_ceil(MAX_POINTS).max(1);
    points.chunks(joined).filter_map(largest).collect()
}

fn chart(report: &Report, lines: &[ChartLine], show: &dyn Fn(f64) -> String) -> String {
    let values = lines.iter().flat_map(|(_, _, line)| line).map(|(_, y)| *y);
    if values.clone().next().is_none() {
        return none();
    }
    let step = round_step(values.fold(0.0, f64::max) / 4.0);
    let end = wall_s(report).max(1.0);
    let x = |at: f64| LEFT + at / end * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| HEIGHT - BOTTOM - value / (step * 4.0) * (HEIGHT - BOTTOM - TOP);
    let mut out = String::new();
    for [from, to] in saturated(&report.series) {
        out += &format!(
            "<rect class=\"band\" x=\"{:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            x(from),
            x(to.min(end)) - x(from),
            HEIGHT - TOP - BOTTOM
        );
    }
    for (at, lasted, kind, text) in events(report) {
        let width = lasted.map_or(1.0, |lasted| x((at + lasted).min(end)) - x(at));
        out += &format!(
            "<rect class=\"event {}\" x=\"{:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
            kind.name(),
            x(at),
            width.max(1.0),
            HEIGHT - TOP - BOTTOM,
            escaped(&text)
        );
    }
    for n in 0..=4 {
        let value = step * f64::from(n);
        let at = y(value);
        out += &format!(
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{}\"/>",
            WIDTH - RIGHT
        );
        out += &label(
            LEFT - 8.0,
            at + 4.0,
            "end",
            &if n == 0 { "0".to_owned() } else { show(value) },
        );
    }
    for part in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let moment = show_long(Duration::try_from_secs_f64(end * part).unwrap_or_default());
        out += &label(x(end * part), HEIGHT - 8.0, anchor(part), &moment);
    }
    for (n, (look, name, line)) in lines
        .iter()
        .enumerate()
        .filter(|(_, (_, _, line))| !line.is_empty())
    {
        let path: Vec<String> = line
            .iter()
            .map(|(at, value)| format!("{:.1} {:.1}", x(*at), y(*value)))
            .collect();
        out += &format!(
            "<path class=\"line {look}\" d=\"M{}h.01\"/>",
            path.join("L")
        );
        if lines.len() > 1 {
            out += &format!(
                "<text class=\"key {look}\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{name}</text>",
                WIDTH - RIGHT - 4.0,
                TOP + 12.0 + 14.0 * n as f64
            );
        }
    }
    let names: Vec<&str> = lines.iter().map(|(_, name, _)| *name).collect();
    svg(&format!("{} over time", names.join(", ")), &out)
}

pub(super) fn none() -> String {
    "<p class=\"note\">no data</p>".to_owned()
}

pub(super) fn svg(name: &str, content: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{name}\">{content}</svg>"
    )
}

pub(super) fn label(x: f64, y: f64, anchor: &str, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>")
}

/// Anchors labels so that those at the ends of an axis stay within the picture.
fn anchor(part: f64) -> &'static str {
    match part {
        0.0 => "start",
        1.0 => "end",
        _ => "middle",
    }
}

/// Returns 1 and 3 times the powers of ten between two exponents; on a short scale also 2 and 5 times.
fn round_powers(from: f64, to: f64) -> impl Iterator<Item = f64> {
    let factors: &[f64] = if to - from < 1.5 {
        &[1.0, 2.0, 5.0]
    } else {
        &[1.0, 3.0]
    };
    (from.floor() as i32..=to.ceil() as i32)
        .flat_map(|power| {
            factors
                .iter()
                .map(move |factor| factor * 10_f64.powi(power))
        })
        .filter(move |value| (from..=to).contains(&value.log10()))
}

/// Returns the next 1, 2 or 5 times a power of ten.
pub(super) fn round_step(least: f64) -> f64 {
    if least <= 0.0 || !least.is_finite() {
        return 1.0;
    }
    let power = 10_f64.powf(least.log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0];
    let factor = factors
        .into_iter()
        .find(|factor| factor * power >= least * 0.999_999);
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_a_grid_are_round() {
        for (least, step) in [
            (0.0, 1.0),
            (0.013, 0.02),
            (1.0, 1.0),
            (3.1, 5.0),
            (60.0, 100.0),
        ] {
            assert!((round_step(least) - step).abs() < 1e-9, "{least}");
        }
    }
}
