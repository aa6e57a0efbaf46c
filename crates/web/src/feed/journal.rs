//! The last lines of the log and other things that happened once, numbered, so that each reader gets each of them once.
//! Bounded: old lines are dropped, and a reader that comes for them gets the number of lines that it has missed.

use std::collections::VecDeque;
use std::sync::Arc;

/// The most entries that are kept.
const ENTRIES: usize = 1_000;
/// The most bytes of one line.
const LINE_BYTES: usize = 4_096;
/// The most lines in one event.
const LINES: usize = 100;

/// An entry of the journal.
#[derive(Debug, Clone)]
pub(super) enum FeedEntry {
    /// A line of the log.
    Line(Arc<str>),
    /// So many lines that were lost before they came here.
    Skipped(u64),
    /// An event of that name with its JSON.
    Event(&'static str, Arc<str>),
}

/// The last entries.
#[derive(Debug, Default)]
pub(super) struct FeedLog {
    entries: VecDeque<FeedEntry>,
    /// Number of entries that there ever were.
    count: u64,
}

/// Next event for a reader.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NextEvent {
    /// The event's name.
    pub(super) event: &'static str,
    /// The event's JSON.
    pub(super) data: String,
    /// The number of entries that the reader has then had.
    pub(super) upto: u64,
}

impl FeedLog {
    pub(super) fn add(&mut self, entry: FeedEntry) {
        let entry = match entry {
            FeedEntry::Line(line) if line.len() > LINE_BYTES => {
                let cut = (0..=LINE_BYTES).rev().find(|at| line.is_char_boundary(*at));
                FeedEntry::Line(format!("{}…", &line[..cut.unwrap_or(0)]).into())
            }
            entry => entry,
        };
        if self.entries.len() == ENTRIES {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
        self.count += 1;
    }

    /// Returns the event after so many entries; `None` if there is none.
    pub(super) fn after(&self, had: u64) -> Option<NextEvent> {
        let first = self.count - self.entries.len() as u64;
        let mut skipped = first.saturating_sub(had);
        let had = had.max(first);
        let mut upto = had;
        let mut lines = Vec::new();
        for entry in self.entries.iter().skip((had - first) as usize) {
            match entry {
                FeedEntry::Line(line) if lines.len() < LINES => lines.push(&**line),
                FeedEntry::Skipped(more) if lines.is_empty() => skipped += more,
                FeedEntry::Event(event, data) if lines.is_empty() && skipped == 0 => {
                    return Some(NextEvent {
                        event,
                        data: data.to_string(),
                        upto: upto + 1,
                    });
                }
                _ => break,
            }
            upto += 1;
        }
        let data = serde_json::json!({ "lines": lines, "missed": skipped });
        (skipped > 0 || !lines.is_empty()).then(|| NextEvent {
            event: "log",
            data: data.to_string(),
            upto,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> FeedEntry {
        FeedEntry::Line(text.into())
    }

    /// Reads the journal to its end.
    fn read(journal: &FeedLog, mut had: u64) -> Vec<(&'static str, String)> {
        let mut read = Vec::new();
        while let Some(next) = journal.after(had) {
            assert!(next.upto > had);
            had = next.upto;
            read.push((next.event, next.data));
        }
        assert_eq!(had, journal.count);
        read
    }

    #[test]
    fn entries_come_once_in_their_order() {
        let mut journal = FeedLog::default();
        for entry in [
            line("a"),
            line("b"),
            FeedEntry::Event("x", "{}".into()),
            FeedEntry::Skipped(3),
            line("c"),
        ] {
            journal.add(entry);
        }
        let all = [
            ("log", r#"{"lines":["a","b"],"missed":0}"#.to_owned()),
            ("x", "{}".to_owned()),
            ("log", r#"{"lines":["c"],"missed":3}"#.to_owned()),
        ];
        assert_eq!(read(&journal, 0), all);
        assert_eq!(read(&journal, 2), all[1..]);
        assert_eq!(read(&journal, 5), []);
    }

    #[test]
    fn what_is_too_old_is_skipped_and_a_long_line_is_cut() {
        let mut journal = FeedLog::default();
        for n in 0..1_500 {
            journal.add(line(&n.to_string()));
        }
        let first = journal.after(100).expect("lines");
        assert!(first.data.ends_with("\"missed\":400}"), "{}", first.data);
        assert_eq!(read(&journal, 0).len(), 10);
        journal.add(line(&"é".repeat(4_000)));
        let (_, long) = &read(&journal, 1_500)[0];
        assert!(long.len() < 4_200 && long.contains("é…"), "{}", long.len());
    }
}
