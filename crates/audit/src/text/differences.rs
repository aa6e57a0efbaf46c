//! Differences of one kind as text: how many, where, since when, over time, and the first of them line by line.

use super::page::{TextPage, clock, pad_right};
use crate::audit::RunSide;
use crate::findings::{Differences, DifferingLine};
use lgoose_base::figures::moment;
use lgoose_base::line::{cut_middle, one_line};
use lgoose_base::units::{counted, show_count};
use unicode_width::UnicodeWidthStr as _;

/// The columns of the chart over time.
const CHART: usize = 60;

/// The most subjects that are named.
const MAX_SUBJECTS: usize = 4;

/// Puts the differences of a kind, if there are any.
pub(super) fn put(title: &str, noun: &str, all: &Differences, run: &RunSide, page: &mut TextPage) {
    if all.count == 0 {
        return;
    }
    page.line("");
    page.indented(
        &format!(" {title}: "),
        &format!("{}, {}", counted(all.count, noun), when(all, run)),
    );
    page.indented("   ", &subjects(all));
    if let Some(chart) = chart(all, run) {
        page.line(&format!("   {chart}"));
    }
    let places: Vec<String> = all.lines.iter().map(|line| one_line(&line.place)).collect();
    let widest = places.iter().map(|place| place.width()).max().unwrap_or(0);
    let widest = widest.min(page.width / 3);
    for (line, place) in all.lines.iter().zip(&places) {
        let place = pad_right(&cut_middle(place, widest), widest);
        put_line(&place, line, page);
    }
    let shown = all.lines.len() as u64;
    if all.count > shown && shown > 0 {
        page.line(&format!(
            "   and {} more ('--lines N')",
            show_count(all.count - shown)
        ));
    }
}

fn put_line(place: &str, line: &DifferingLine, page: &mut TextPage) {
    let status = match line.status {
        0 => "–".to_owned(),
        status => status.to_string(),
    };
    let at = clock(line.at_ns);
    let head = format!("   {place}  {at}  {status:>3}  {} ", line.method);
    let url = one_line(&line.url);
    let note = match &*line.note {
        "" => String::new(),
        note => format!("  {}", one_line(note)),
    };
    if head.width() + url.width() + note.width() <= page.width {
        return page.line(&format!("{head}{url}{note}"));
    }
    let room = page.width.saturating_sub(head.width()).max(12);
    page.line(&format!("{head}{}", cut_middle(&url, room)));
    if !note.is_empty() {
        page.line(&format!("     {note}"));
    }
}

/// Returns since when they are there, and until when.
pub(super) fn when(all: &Differences, run: &RunSide) -> String {
    let (Some(first), Some(last)) = (all.first_ns, all.last_ns) else {
        return String::new();
    };
    let of_run = |at_ns: i64| {
        let seconds = (at_ns - run.origin_ns) as f64 / 1e9;
        // The time of a line may be rounded down to a second.
        if seconds < -1.0 {
            format!("{} before it was measured", moment(-seconds))
        } else {
            moment(seconds.max(0.0))
        }
    };
    if first == last {
        return format!("at {} of the run ({} UTC)", of_run(first), clock(first));
    }
    format!(
        "from {} ({} UTC) to {} of the run",
        of_run(first),
        clock(first),
        of_run(last)
    )
}

/// Returns the most frequent subjects: `GET /cart × 48, GET / × 2`.
pub(super) fn subjects(all: &Differences) -> String {
    let subjects = all.subjects();
    let named = subjects.iter().take(MAX_SUBJECTS);
    let named =
        named.map(|(subject, count)| format!("{} × {}", one_line(subject), show_count(*count)));
    let mut text = named.collect::<Vec<_>>().join(", ");
    if subjects.len() > MAX_SUBJECTS {
        text.push_str(&format!(" and {} more", subjects.len() - MAX_SUBJECTS));
    }
    text
}

/// Draws their number over the time of the run.
fn chart(all: &Differences, run: &RunSide) -> Option<String> {
    const BARS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let second = |at_ns: i64| (at_ns - run.origin_ns).div_euclid(1_000_000_000);
    let (from, to) = (second(run.from_ns), second(run.to_ns));
    let seconds = usize::try_from(to.checked_sub(from)?).ok()? + 1;
    if seconds < 3 {
        return None;
    }
    let columns = seconds.min(CHART);
    let mut counts = vec![0_u64; columns];
    for (second, count) in &all.by_second {
        let at = usize::try_from(second - from).unwrap_or(0).min(seconds - 1);
        counts[at * columns / seconds] += count;
    }
    let most = counts.iter().max().copied().unwrap_or(0).max(1);
    let bar = |count: &u64| BARS[(count * 8).div_ceil(most) as usize];
    let bars: String = counts.iter().map(bar).collect();
    Some(format!(
        "{} {bars} {}",
        moment(from.max(0) as f64),
        moment(to as f64)
    ))
}
