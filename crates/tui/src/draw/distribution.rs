//! A histogram of latencies as lines of text: even steps where nearly all requests are, and wider ones beyond.

use super::super::pages::ms_text;
use super::super::style::TextMeaning;
use super::paint::StyledLines;
use lgoose_base::units::show_count;
use lgoose_metrics::Figures;

/// Steps from the shortest latency to the 99th percentile.
const STEPS: usize = 16;
/// Columns of the longest bar.
const WIDTH: usize = 40;

/// One step: its greatest latency in microseconds, and how many requests are in it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct DistributionStep {
    to_us: f64,
    count: u64,
}

pub(super) fn lines(figures: &Figures) -> StyledLines {
    let steps = steps(&figures.counted_us());
    let most = steps.iter().map(|step| step.count).max().unwrap_or(0);
    if most == 0 {
        return StyledLines::new();
    }
    let all: u64 = steps.iter().map(|step| step.count).sum();
    let mut lines: StyledLines = vec![
        (TextMeaning::Plain, String::new()),
        (TextMeaning::Strong, "distribution".to_owned()),
    ];
    for step in &steps {
        let eighths = (step.count as f64 / most as f64 * WIDTH as f64 * 8.0).ceil() as usize;
        let last = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8];
        let bar = format!("{}{last}", "█".repeat(eighths / 8));
        let text = format!(
            "≤ {:>8} {bar:<width$} {} ({:.1}%)",
            ms_text(step.to_us / 1e3),
            show_count(step.count),
            step.count as f64 * 100.0 / all as f64,
            width = WIDTH + 1,
        );
        lines.push((TextMeaning::Graph, text));
    }
    lines
}

/// Returns even steps up to the 99th percentile, then as many as it takes to the longest latency, each four times as
/// wide as the one before.
fn steps(counted: &[(u64, u64)]) -> Vec<DistributionStep> {
    let all: u64 = counted.iter().map(|(_, count)| count).sum();
    let (Some((least, _)), Some((most, _))) = (counted.first(), counted.last()) else {
        return Vec::new();
    };
    let mut below = 0;
    let p99 = counted.iter().find(|(_, count)| {
        below += count;
        below as f64 >= all as f64 * 0.99
    });
    let p99 = p99.map_or(*most, |(us, _)| *us) as f64;
    let (least, most) = (*least as f64, *most as f64);
    let step = ((p99 - least) / STEPS as f64).max(1.0);
    let mut steps: Vec<DistributionStep> = Vec::new();
    let mut to = least;
    let mut further = step;
    while steps.last().is_none_or(|last| last.to_us < most) {
        to += further;
        if to > p99 {
            further *= 4.0;
        }
        steps.push(DistributionStep {
            to_us: to.min(most.max(least + step)),
            count: 0,
        });
    }
    for (us, count) in counted {
        let place = steps.partition_point(|step| step.to_us < *us as f64);
        if let Some(step) = steps.get_mut(place) {
            step.count += count;
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearly_all_requests_are_separated_in_even_steps_and_none_is_omitted() {
        let mut counted: Vec<(u64, u64)> = (0..160).map(|n| (1_000 + n * 10, 10)).collect();
        counted.push((90_000, 3));
        let steps = steps(&counted);
        assert!((STEPS..STEPS + 10).contains(&steps.len()), "{steps:?}");
        assert_eq!(steps.iter().map(|step| step.count).sum::<u64>(), 1_603);
        assert!(
            steps[..STEPS - 1]
                .iter()
                .all(|step| (80..=120).contains(&step.count)),
            "{steps:?}"
        );
        assert_eq!(
            steps.last().map(|step| (step.to_us, step.count)),
            Some((90_000.0, 3))
        );
        assert_eq!(super::steps(&[(7, 2)]).len(), 1);
        assert_eq!(super::steps(&[]), []);
    }
}
