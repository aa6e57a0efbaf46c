//! Laying out text: columns that never give way, names that do, in the middle.
//!
//! Widths are terminal columns, not characters: a CJK sign takes two, a combining accent none.

use crate::error::printable;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Free columns between two columns of a table.
const GAP: usize = 2;
/// Columns left of everything.
const MARGIN: usize = 1;
/// Names longer than this are cut; when not even this is left to them, figures come closer together.
const FAIR_NAME: usize = 24;
/// Names are never cut to less.
const LEAST_NAME: usize = 10;

/// A name column and right-aligned columns of figures.
#[derive(Debug, Default)]
pub(super) struct Table {
    title: &'static str,
    columns: &'static [&'static str],
    rows: Vec<Row>,
}

#[derive(Debug)]
enum Row {
    Rule,
    Heading(String, String),
    Cells(String, Vec<String>),
}

impl Table {
    /// `title` heads the column of names.
    pub(super) fn new(title: &'static str, columns: &'static [&'static str]) -> Self {
        Table {
            title,
            columns,
            rows: Vec::new(),
        }
    }

    pub(super) fn row(&mut self, name: impl Into<String>, cells: Vec<String>) {
        self.rows.push(Row::Cells(name.into(), cells));
    }

    /// A line across the table, `note` at its right end.
    pub(super) fn heading(&mut self, name: impl Into<String>, note: impl Into<String>) {
        self.rows.push(Row::Heading(name.into(), note.into()));
    }

    pub(super) fn rule(&mut self) {
        self.rows.push(Row::Rule);
    }

    /// The width at which nothing is cut.
    pub(super) fn natural_width(&self) -> usize {
        let figures: usize = self.widths(false).iter().map(|width| width + GAP).sum();
        MARGIN + self.longest_name() + figures
    }

    /// Appends the table, `page` columns wide; wider only if its figures need it.
    pub(super) fn render(&self, page: usize, out: &mut String) {
        let wanted = self.longest_name().min(FAIR_NAME);
        let figures = |widths: &[usize], gap: usize| -> usize {
            widths.iter().map(|width| width + gap).sum()
        };
        let room =
            |widths: &[usize], gap: usize| page.saturating_sub(MARGIN + figures(widths, gap));
        let mut widths = self.widths(false);
        let tight = room(&widths, GAP) < wanted;
        if tight {
            widths = self.widths(true);
        }
        let gap = if room(&widths, GAP) < wanted { 1 } else { GAP };
        let name_width = room(&widths, gap).max(LEAST_NAME);
        let full = MARGIN + name_width + figures(&widths, gap);
        let line = |name: &str, cells: &[String]| {
            let mut line = " ".repeat(MARGIN);
            line.push_str(&pad_right(&cut_middle(name, name_width), name_width));
            for (cell, width) in cells.iter().zip(&widths) {
                line.push_str(&" ".repeat(gap));
                line.push_str(&pad_left(cell, *width));
            }
            format!("{}\n", line.trim_end())
        };
        let titles: Vec<String> = self
            .columns
            .iter()
            .map(|title| (*title).to_owned())
            .collect();
        out.push_str(&line(self.title, &titles));
        out.push_str(&rule(full));
        for row in &self.rows {
            match row {
                Row::Rule => out.push_str(&rule(full)),
                Row::Heading(name, note) => out.push_str(&spread(name, note, full)),
                Row::Cells(name, cells) if tight => {
                    let cells: Vec<String> = cells.iter().map(|cell| tightened(cell)).collect();
                    out.push_str(&line(name, &cells));
                }
                Row::Cells(name, cells) => out.push_str(&line(name, cells)),
            }
        }
    }

    fn longest_name(&self) -> usize {
        let names = self.rows.iter().map(|row| match row {
            Row::Cells(name, _) => name.width(),
            Row::Rule | Row::Heading(..) => 0,
        });
        names.max().unwrap_or(0).max(self.title.width())
    }

    fn widths(&self, tight: bool) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|title| title.width()).collect();
        for row in &self.rows {
            if let Row::Cells(_, cells) = row {
                for (width, cell) in widths.iter_mut().zip(cells) {
                    let cell = if tight { tightened(cell) } else { cell.clone() };
                    *width = (*width).max(cell.width());
                }
            }
        }
        widths
    }
}

/// A figure without the space before its unit: `12.4ms`. A share in brackets keeps its distance.
fn tightened(cell: &str) -> String {
    if cell.contains('(') {
        cell.to_owned()
    } else {
        cell.replace(' ', "")
    }
}

/// A line across the page.
pub(super) fn rule(page: usize) -> String {
    format!("{}\n", "─".repeat(page))
}

/// A line with one text at its left and one at its right end; the left one is cut to fit.
pub(super) fn spread(left: &str, right: &str, page: usize) -> String {
    let room = page
        .saturating_sub(MARGIN + GAP + right.width())
        .max(LEAST_NAME);
    let left = pad_right(&cut_middle(left, room), room);
    format!("{}{left}{}{right}\n", " ".repeat(MARGIN), " ".repeat(GAP))
}

/// Text from a plan or a target as one harmless line: control characters and those that turn the direction
/// of writing show as escapes, line breaks and tabs as spaces.
pub(in crate::output) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '\n' | '\t' => line.push(' '),
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                line.extend(c.escape_unicode());
            }
            _ => line.push(c),
        }
    }
    line
}

/// At most `width` columns of a text: the middle gives way to `…`.
pub(super) fn cut_middle(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let keep = width.saturating_sub(1);
    let head = within(text.chars(), keep.div_ceil(2));
    let tail: Vec<char> = within(text.chars().rev(), keep / 2).chars().rev().collect();
    // An accent whose letter was cut away must not land on the dots.
    let tail = tail.iter().skip_while(|c| c.width() == Some(0));
    format!(
        "{}…{}",
        head.trim_end(),
        tail.collect::<String>().trim_start()
    )
}

fn within(chars: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= width
        })
        .collect()
}

/// A text in lines of at most `width` columns, broken at spaces where there are some.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut word = word.to_owned();
        loop {
            let line = lines.last_mut().expect("there is always a last line");
            let gap = usize::from(!line.is_empty());
            if line.width() + gap + word.width() <= width {
                line.push_str(&" "[..gap]);
                line.push_str(&word);
                break;
            }
            if !line.is_empty() {
                lines.push(String::new());
                continue;
            }
            // At least one character, or a narrow page would never end.
            let first = word.chars().next().map_or(0, char::len_utf8);
            let part = within(word.chars(), width).len().max(first);
            line.push_str(&word[..part]);
            word.drain(..part);
            lines.push(String::new());
        }
    }
    lines.retain(|line| !line.is_empty());
    lines
}

pub(super) fn pad_right(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

pub(super) fn pad_left(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(text.width())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_loses_its_middle() {
        assert_eq!(
            cut_middle("GET /a/very/long/path.html", 13),
            "GET /a…h.html"
        );
        assert_eq!(cut_middle("short", 5), "short");
    }

    #[test]
    fn wide_and_combining_signs_keep_to_their_columns() {
        for text in [
            "検索結果ページの一覧",
            "e\u{301}a\u{301}o\u{301}u\u{301}i\u{301}e\u{301}",
            "👩‍👩‍👧 family page of all",
        ] {
            for width in 3..12 {
                let cut = cut_middle(text, width);
                assert!(cut.width() <= width, "{cut} in {width}");
                assert!(!cut.contains("…\u{301}"), "{cut}");
            }
        }
    }

    #[test]
    fn text_breaks_at_spaces_and_long_words_anywhere() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrapped("検索", 1), ["検", "索"]);
        assert!(wrapped("", 5).is_empty());
    }

    #[test]
    fn what_could_move_the_cursor_or_turn_the_text_is_shown_instead() {
        assert_eq!(one_line("a\x1b[2J\nb\u{202e}c"), "a\\x1b[2J b\\u{202e}c");
    }

    #[test]
    fn figures_keep_their_columns_when_the_page_is_too_narrow() {
        let mut table = Table::new("Requests", &["# reqs", "p99"]);
        table.row(
            "GET a page with a long name",
            vec!["1,234,567".into(), "12.4 ms".into()],
        );
        let mut text = String::new();
        table.render(20, &mut text);
        assert!(text.contains("1,234,567 12.4ms"), "{text}");
    }
}
