//! The top of the screen: the plan, its progress, the load of lgoose itself, and the figures.

use super::super::ViewContext;
use super::super::pages::{is_broken, ms_text, rate, tight};
use super::super::state::ViewState;
use super::super::style::TextMeaning;
use super::super::text::one_line;
use super::graphs::LONG_MS;
use super::paint::Painter;
use lgoose_base::line::cut_middle;
use lgoose_base::units::{counted, show_count, show_duration, show_long, show_size};
use lgoose_metrics::{LiveRequests, RunPhase, Snapshot};
use ratatui::layout::Rect;
use std::time::Duration;
use unicode_width::UnicodeWidthStr as _;

/// Columns of the bar that shows how far the run is.
const BAR: usize = 16;
/// The most columns of a tag.
const TAG: usize = 32;

/// Draws three lines: plan, target and users; progress and generator; figures. The first two show `live`, the figures
/// the moment that the pages show.
pub(super) fn draw(
    facts: &ViewContext,
    state: &ViewState,
    live: &Snapshot,
    shown: &Snapshot,
    area: Rect,
    painter: &mut Painter<'_>,
) {
    let line = |at: u16| Rect {
        y: area.y + at,
        height: u16::from(at < area.height),
        ..area
    };
    let width = area.width as usize;
    let users = users(live);
    let room = width.saturating_sub(users.width() + 9);
    let what = format!("{} → {}", one_line(&facts.plan), one_line(&facts.host));
    let x = painter.put(line(0), area.x, "lgoose ", TextMeaning::Title);
    let what = cut_middle(&what, room);
    painter.put(line(0), x, &what, TextMeaning::Strong);
    painter.put_right(line(0), &users, TextMeaning::Strong);

    let x = match state.figures.finished {
        Some(_) => area.x,
        None => painter.put(line(1), area.x, &bar(live), TextMeaning::Graph),
    };
    let (texts, meaning) = phase(state, live);
    let room = area.right().saturating_sub(x) as usize;
    let fits = texts.iter().find(|text| text.width() <= room);
    let text = fits.or(texts.last()).map_or("", String::as_str);
    let end = painter.put(line(1), x, text, meaning);
    let room = area.right().saturating_sub(end + 2) as usize;
    let (texts, busy) = generator(live);
    if let Some(text) = texts.iter().find(|text| text.width() <= room) {
        painter.put_right(line(1), text, busy);
    }

    figures(state, shown, line(2), painter);
}

/// Returns `12 users` or, while they change, where they are going: `1,738 → 100 users`.
fn users(snapshot: &Snapshot) -> String {
    let (users, target) = (snapshot.users, snapshot.progress.wanted.users);
    let stopping = snapshot.progress.phase == RunPhase::Stopping;
    if users != target && snapshot.progress.wanted.rate.is_none() && !stopping {
        format!("{} → {}", show_count(users), counted(target, "user"))
    } else {
        counted(users, "user")
    }
}

/// Returns where the run is, from the longest text to the shortest: `running 2m10s of 10m · stage 3 of 5 → 3 users`.
fn phase(state: &ViewState, snapshot: &Snapshot) -> (Vec<String>, TextMeaning) {
    if let Some(finished) = &state.figures.finished {
        let after = format!("FINISHED {}", show_long(finished.after));
        let meaning = if finished.passed {
            TextMeaning::Good
        } else {
            TextMeaning::Bad
        };
        let whole = match finished.verdict.as_str() {
            "" => format!("{after} · q quit"),
            verdict => format!("{after} · {verdict} · q quit"),
        };
        // Where there is no room for its reason, the verdict is one word.
        let word = finished.verdict.split(':').next().unwrap_or_default();
        let short = match word {
            "" => format!("{after} · q quit"),
            word => format!("{after} · {word} · q quit"),
        };
        return (vec![whole, short], meaning);
    }
    let aim = snapshot.progress.wanted;
    let elapsed = show_long(snapshot.progress.played);
    let of = |ends: Option<Duration>| {
        ends.map_or_else(String::new, |ends| format!(" of {}", show_long(ends)))
    };
    let (word, meaning) = match snapshot.progress.phase {
        RunPhase::Stopping => ("stopping after", TextMeaning::Warning),
        RunPhase::Paused => ("paused at", TextMeaning::Warning),
        RunPhase::Running => ("running", TextMeaning::Plain),
    };
    let (start, meaning) = match (snapshot.progress.phase, aim.warmup_ends) {
        (RunPhase::Stopping, _) => (format!("{word} {elapsed}"), meaning),
        (RunPhase::Running, Some(ends)) => (
            format!("warm-up {elapsed}{}", of(Some(ends))),
            TextMeaning::Warning,
        ),
        _ => (format!("{word} {elapsed}{}", of(aim.ends)), meaning),
    };
    let mut texts = vec![start];
    let mut more = |text: String| {
        let longer = format!("{} · {text}", texts[0]);
        texts.insert(0, longer);
    };
    if let Some(rate) = aim.rate {
        more(format!("target {} iterations/s", short_rate(rate)));
    }
    if let Some((number, of)) = aim.stage {
        let goal = match aim.rate {
            Some(rate) => format!("{}/s", short_rate(rate)),
            None => counted(aim.users, "user"),
        };
        more(format!("stage {number} of {of} → {goal}"));
    }
    if let Some(all) = aim.iterations {
        more(format!(
            "{} of {} iterations",
            show_count(iterations(snapshot)),
            show_count(all)
        ));
    }
    (texts, meaning)
}

fn short_rate(per_second: f64) -> String {
    let text = format!("{per_second:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

fn iterations(snapshot: &Snapshot) -> u64 {
    let scenarios = snapshot.scenarios.iter();
    scenarios.map(|scenario| scenario.iterations).sum()
}

/// Returns a bar for the progress of the run, by the limit that ends first: its warm-up, its iterations or its time.
fn bar(snapshot: &Snapshot) -> String {
    let aim = snapshot.progress.wanted;
    let of_time =
        |ends: Duration| snapshot.progress.played.as_secs_f64() / ends.as_secs_f64().max(1e-9);
    let by_time = aim.lasts.map(of_time);
    let by_count = aim
        .iterations
        .map(|all| iterations(snapshot) as f64 / all.max(1) as f64);
    let further = by_time.into_iter().chain(by_count).reduce(f64::max);
    let Some(share) = aim.warmup_ends.map(of_time).or(further) else {
        return String::new();
    };
    let full = (share.min(1.0) * BAR as f64).round() as usize;
    format!("{}{} ", "█".repeat(full), "░".repeat(BAR - full))
}

/// Returns how hard lgoose itself works, from the longest text to the shortest.
fn generator(snapshot: &Snapshot) -> ([String; 3], TextMeaning) {
    let Some(last) = snapshot.recent.last() else {
        return (Default::default(), TextMeaning::Faint);
    };
    let (mark, meaning) = if last.generator.saturated {
        (" BOTTLENECK", TextMeaning::Warning)
    } else {
        ("", TextMeaning::Faint)
    };
    let busy = format!("generator CPU {:.0}%", last.generator.busy * 100.0);
    let lag = Duration::try_from_secs_f64(last.generator.lag_ms / 1e3).unwrap_or_default();
    let late = format!("{busy}, timer lag {}", show_duration(lag));
    let connections = show_count(snapshot.connections);
    let texts = [
        format!("{late}, {connections} connections{mark}"),
        format!("{late}{mark}"),
        format!("{busy}{mark}"),
    ];
    (texts, meaning)
}

/// A figure. Where there is no room, all figures become short, then those of the highest rank are left out first.
struct HeaderFigure {
    rank: u8,
    text: String,
    short: Option<String>,
    meaning: TextMeaning,
}

fn figures(state: &ViewState, snapshot: &Snapshot, area: Rect, painter: &mut Painter<'_>) {
    let mut parts = parts(snapshot, state.requests(snapshot));
    parts.splice(0..0, chosen(state));
    let between = " · ";
    let width = |parts: &[HeaderFigure]| -> usize {
        let texts: usize = parts.iter().map(|part| part.text.width()).sum();
        texts + parts.len().saturating_sub(1) * between.width()
    };
    if width(&parts) > area.width as usize {
        for part in &mut parts {
            if let Some(short) = part.short.take() {
                part.text = short;
            }
        }
    }
    while width(&parts) > area.width as usize && parts.len() > 1 {
        let least = parts.iter().enumerate().max_by_key(|(_, part)| part.rank);
        if let Some(at) = least.map(|(at, _)| at) {
            parts.remove(at);
        }
    }
    let mut x = area.x;
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            x = painter.put(area, x, between, TextMeaning::Faint);
        }
        x = painter.put(area, x, &part.text, part.meaning);
    }
}

/// Returns the tag whose requests the figures and the page are about, or a warning that the page cannot be shown by
/// it.
fn chosen(state: &ViewState) -> Option<HeaderFigure> {
    let tag = cut_middle(&one_line(state.figures.one_tag.as_ref()?.tag()), TAG);
    let (text, meaning) = match state.tag_here() {
        Some(_) => (tag, TextMeaning::Selected),
        None => (format!("all, not {tag} alone"), TextMeaning::Warning),
    };
    Some(HeaderFigure {
        rank: 0,
        text,
        short: None,
        meaning,
    })
}

/// Returns the figures in their order. Where something failed, latencies are those of successes: failures that take no
/// time must not make a site look faster.
fn parts(snapshot: &Snapshot, requests: &LiveRequests) -> Vec<HeaderFigure> {
    let total = &requests.total;
    let mut parts = Vec::new();
    let mut add = |rank, text: String, meaning| {
        parts.push(HeaderFigure {
            rank,
            text,
            short: None,
            meaning,
        });
    };
    let text = format!("{} req/s (last 10 s)", rate(total.rate_now));
    add(0, text, TextMeaning::Strong);
    let share = 100.0 * total.failures as f64 / total.count.max(1) as f64;
    match (total.count, total.failures) {
        (0, _) => {}
        // Tasks and checks fail of themselves, too.
        (_, 0)
            if !snapshot.errors.is_empty()
                || snapshot.checks.iter().any(|row| row.failures > 0) =>
        {
            add(5, "no failed requests".to_owned(), TextMeaning::Plain);
        }
        (_, 0) => add(5, "no failures".to_owned(), TextMeaning::Good),
        (_, failures) => {
            let text = format!("✗ {} failed ({share:.2}%)", show_count(failures));
            add(0, text, TextMeaning::Bad);
        }
    }
    let (p50, p95, of) = match total.failures {
        0 => (total.p50, total.p95, ""),
        _ => (requests.ok[0], requests.ok[1], "ok "),
    };
    add(6, format!("{of}p50 {}", tight(p50)), TextMeaning::Plain);
    add(2, format!("{of}p95 {}", tight(p95)), TextMeaning::Plain);
    let has_started = snapshot.requests.total.count > 0;
    let broken = snapshot
        .thresholds
        .iter()
        .filter(|row| is_broken(row, has_started));
    match broken.count() {
        0 => {}
        broken => {
            let text = format!("✗ {broken} of {} thresholds", snapshot.thresholds.len());
            add(1, text, TextMeaning::Bad);
        }
    }
    if snapshot.arrivals.dropped > 0 {
        let text = format!("✗ {} dropped", show_count(snapshot.arrivals.dropped));
        add(2, text, TextMeaning::Bad);
    }
    if snapshot.progress.wanted.rate.is_some() && has_started {
        let text = format!("starts {} late", tight(snapshot.arrivals.late_p99));
        add(7, text, TextMeaning::Plain);
    }
    if let Some(last) = snapshot
        .recent
        .last()
        .filter(|last| last.oldest_ms >= LONG_MS)
    {
        let text = format!(
            "⚠ in flight {}, oldest {}",
            show_count(last.under_way),
            ms_text(last.oldest_ms)
        );
        add(2, text, TextMeaning::Warning);
    }
    if !snapshot.warnings.is_empty() {
        let text = counted(snapshot.warnings.len() as u64, "warning");
        add(4, format!("! {text}"), TextMeaning::Warning);
    }
    let text = format!("{} reqs", show_count(total.count));
    add(8, text, TextMeaning::Plain);
    add(9, show_size(requests.bytes as f64), TextMeaning::Plain);
    for part in &mut parts {
        // `✗ 48 (0.12%)`, `✗ 1/2 thresholds`, `715 req/s`.
        let short = part.text.replacen(" failed (", " (", 1);
        let short = short.replacen(" (last 10 s)", "", 1);
        part.short = Some(short.replacen(" of ", "/", 1));
    }
    parts
}
