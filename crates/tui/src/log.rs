//! The log as its page shows it: the latest lines with the time into the run. The page stands still while somebody
//! reads it, and is renewed so seldom that a noisy plan costs the line to the terminal little.

use super::text::one_line;
use std::collections::VecDeque;
use std::time::Duration;

/// Lines that are kept.
const MAX_LINES: usize = 2_000;
/// The time for which a page stands for each of its lines that has changed: a line is some 250 bytes, with the codes
/// that place its words.
const EACH_LINE: Duration = Duration::from_millis(280);
/// Shortest time for which a page stands.
const MIN_PAGE_TIME: Duration = Duration::from_millis(450);

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogLine {
    /// Its number, from 0.
    pub(super) number: u64,
    /// The time since the run began.
    pub(super) at: Duration,
    pub(super) level: LineLevel,
    pub(super) text: String,
}

/// Severity of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineLevel {
    Plain,
    Warning,
    Error,
}

/// The lines of a run, and those of them that are on the page.
#[derive(Debug, Default)]
pub(super) struct LogView {
    lines: VecDeque<LogLine>,
    /// The number of lines in all, and at the time when the page was renewed.
    count: u64,
    shown: u64,
    renewed: Duration,
    /// The number of the last line on the page while a person reads; with `None` the page follows the newest.
    stands_at: Option<u64>,
}

impl LogView {
    pub(super) fn add(&mut self, at: Duration, text: &str) {
        let text = one_line(text.trim());
        let level = match text.split_whitespace().next() {
            Some("ERROR") => LineLevel::Error,
            Some("WARN") => LineLevel::Warning,
            _ => LineLevel::Plain,
        };
        if self.lines.len() == MAX_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(LogLine {
            number: self.count,
            at,
            level,
            text,
        });
        self.count += 1;
        if self.shown == 0 {
            self.shown = self.count;
        }
    }

    /// Renews a page of `room` rows if it is due: the more of it has changed, the longer it stands first.
    pub(super) fn tick(&mut self, now: Duration, room: usize) {
        let stands = now.saturating_sub(self.renewed);
        let new = self.count - self.shown;
        let moved = first(self.count, room) != first(self.shown, room);
        let changed = if moved { room as u64 } else { new };
        if new > 0 && stands >= MIN_PAGE_TIME.max(EACH_LINE * changed as u32) {
            self.renew(now);
        }
    }

    /// Shows the newest lines at once, and those that follow.
    pub(super) fn follow(&mut self) {
        self.shown = self.count;
        self.stands_at = None;
    }

    fn renew(&mut self, now: Duration) {
        (self.shown, self.renewed) = (self.count, now);
    }

    /// Returns whether the page stands still for a reader.
    pub(super) fn stands(&self) -> bool {
        self.stands_at.is_some()
    }

    /// Returns the number of lines so far.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the lines of a page of `room` rows that contain a text, and how many newer ones there are.
    pub(super) fn page(&self, filter: &str, room: usize) -> (Vec<&LogLine>, usize) {
        let last = self.stands_at.map_or(self.shown, |at| at + 1);
        let needle = filter.to_lowercase();
        let matches =
            |line: &&LogLine| needle.is_empty() || line.text.to_lowercase().contains(&needle);
        let (mut page, mut newer) = (Vec::new(), 0);
        for line in self.lines.iter().rev().filter(matches) {
            if line.number >= last {
                newer += 1;
            } else if page.len() < room {
                page.push(line);
            } else {
                break;
            }
        }
        // Scrolled to the beginning, a page is full if there are enough lines.
        if page.len() < room && newer > 0 && self.stands_at.is_some() {
            let all: Vec<&LogLine> = self.lines.iter().filter(matches).collect();
            newer = all.len().saturating_sub(room);
            page = all.into_iter().take(room).rev().collect();
        }
        page.reverse();
        if self.stands_at.is_none() {
            let count = match filter {
                "" => self.shown,
                _ => self.lines.iter().filter(matches).count() as u64,
            };
            let free = first(count, room).saturating_sub(count.saturating_sub(room as u64));
            page.drain(..(free as usize).min(page.len()));
        }
        (page, newer)
    }

    /// Moves the page by `by` lines that contain a text, down if that is positive; at the end it follows the newest
    /// again.
    pub(super) fn scroll(&mut self, by: isize, filter: &str, room: usize) {
        let (page, _) = self.page(filter, room);
        let Some(last) = page.last().map(|line| line.number) else {
            return;
        };
        let needle = filter.to_lowercase();
        let numbers: Vec<u64> = self
            .lines
            .iter()
            .filter(|line| needle.is_empty() || line.text.to_lowercase().contains(&needle))
            .map(|line| line.number)
            .collect();
        let place = numbers.partition_point(|number| *number < last);
        let first = room.min(numbers.len()).saturating_sub(1);
        let to = place
            .saturating_add_signed(by)
            .clamp(first, numbers.len() - 1);
        self.stands_at = (to + 1 < numbers.len()).then(|| numbers[to]);
        if self.stands_at.is_none() {
            self.follow();
        }
    }

    /// Returns the last lines, after the number of those that are left out.
    pub(super) fn last_lines(&self, most: usize) -> Vec<String> {
        let from = self.lines.len().saturating_sub(most);
        let before = self.count - (self.lines.len() - from) as u64;
        let omission = (before > 0).then(|| {
            let lines = lgoose_base::units::counted(before, "line");
            format!("… {lines} of the log before these ('--log-file FILE' keeps all)")
        });
        let lines = self.lines.iter().skip(from);
        let lines_with_time = lines.map(|line| format!("{} {}", time(line.at), line.text));
        omission.into_iter().chain(lines_with_time).collect()
    }
}

/// Returns the number of the first line on a page that follows the newest of so many. The page moves on by half a
/// page, since every line that moves is sent over the line to the terminal.
fn first(count: u64, room: usize) -> u64 {
    let half = (room as u64 / 2).max(1);
    count.saturating_sub(room as u64).div_ceil(half) * half
}

/// Returns minutes and seconds into the run, such as `2:10.3`.
pub(super) fn time(at: Duration) -> String {
    let tenths = at.as_millis() / 100;
    let (minutes, rest) = (tenths / 600, tenths % 600);
    format!("{minutes:>3}:{:02}.{}", rest / 10, rest % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(lines: u64) -> LogView {
        let mut log = LogView::default();
        for n in 0..lines {
            let level = if n % 2 == 0 { " INFO" } else { " WARN" };
            log.add(Duration::from_millis(n * 100), &format!("{level} line {n}"));
        }
        log.renew(Duration::from_secs(1));
        log
    }

    fn page(log: &LogView, filter: &str) -> Vec<String> {
        let (page, _) = log.page(filter, 3);
        let word = |line: &&LogLine| line.text.split(' ').next_back().map(str::to_owned);
        page.iter().filter_map(word).collect()
    }

    #[test]
    fn a_page_is_scrolled_by_lines_and_follows_at_its_end() {
        let mut log = log(10);
        assert_eq!(page(&log, ""), ["7", "8", "9"]);
        log.scroll(-1, "", 3);
        assert_eq!(page(&log, ""), ["6", "7", "8"]);
        log.scroll(-99, "", 3);
        assert_eq!(page(&log, ""), ["0", "1", "2"]);
        log.add(Duration::ZERO, " INFO line 10");
        log.tick(Duration::from_secs(60), 3);
        assert_eq!(
            page(&log, ""),
            ["0", "1", "2"],
            "it stands while somebody reads"
        );
        log.scroll(99, "", 3);
        assert_eq!(page(&log, ""), ["8", "9", "10"]);
        assert_eq!(page(&log, "warn"), ["5", "7", "9"]);
        log.scroll(-1, "warn", 3);
        assert_eq!(page(&log, "warn"), ["3", "5", "7"]);
        assert_eq!(page(&log, "nowhere").len(), 0);
    }

    #[test]
    fn a_full_page_goes_on_by_half_of_it() {
        let shown = |lines| {
            let log = log(lines);
            let (page, _) = log.page("", 10);
            (page[0].number, page.len())
        };
        let pages = [(10, (0, 10)), (11, (5, 6)), (15, (5, 10)), (16, (10, 6))];
        for (lines, page) in pages {
            assert_eq!(shown(lines), page, "{lines}");
        }
    }

    #[test]
    fn a_noisy_log_is_renewed_seldom_and_a_quiet_one_soon() {
        let mut log = log(10);
        log.add(Duration::from_secs(1), " INFO line 10");
        log.tick(Duration::from_millis(1_900), 3);
        assert_eq!(page(&log, ""), ["8", "9", "10"]);
        let mut renewals = 0;
        for tick in 0..40 {
            for n in 0..1_000 {
                log.add(Duration::from_secs(2), &format!(" INFO line {n}"));
            }
            let before = log.shown;
            log.tick(Duration::from_millis(2_000 + 250 * tick), 25);
            renewals += u32::from(log.shown != before);
        }
        assert!(renewals <= 2, "{renewals} whole pages in ten seconds");
    }

    #[test]
    fn the_last_lines_show_when_and_what_is_omitted() {
        let last = log(10).last_lines(2);
        assert_eq!(
            last[0],
            "… 8 lines of the log before these ('--log-file FILE' keeps all)"
        );
        assert_eq!(last[1..], ["  0:00.8 INFO line 8", "  0:00.9 WARN line 9"]);
    }
}
