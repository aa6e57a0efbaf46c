//! A page of rows: a name and figures. Figures never give way; names are cut in the middle, and where not even
//! that is enough, the columns that matter least are left out.

use super::style::{Meaning, Styles};
use crate::error::printable;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Names are not cut to less as long as a column can be left out.
const FAIR_NAME: usize = 16;
const GAP: usize = 1;

/// A column of figures.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) title: String,
    /// Columns are left out from the highest rank down; rank 0 stays.
    pub(super) rank: u8,
}

/// A row.
#[derive(Debug, Clone, Default)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) cells: Vec<String>,
    /// By which it is sorted, a key for each cell.
    pub(super) keys: Vec<f64>,
    /// Something in it went wrong.
    pub(super) bad: bool,
    /// A line between rows that cannot be selected.
    pub(super) heading: bool,
}

/// The rows of a page.
#[derive(Debug, Clone, Default)]
pub(super) struct Listing {
    pub(super) title: &'static str,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Entry>,
    /// All rows together, always the last line.
    pub(super) total: Option<Entry>,
    /// What to say when there is no row.
    pub(super) empty: &'static str,
}

pub(super) fn column(title: &str, rank: u8) -> Column {
    Column {
        title: title.to_owned(),
        rank,
    }
}

impl Listing {
    /// Sorts by a column, counted from 1; 0 keeps the order. Headings keep their rows where they are.
    pub(super) fn sort(&mut self, by: usize, rising: bool) {
        let Some(at) = by.checked_sub(1) else {
            return;
        };
        if self.rows.iter().any(|row| row.heading) {
            return;
        }
        let key = |row: &Entry| row.keys.get(at).copied().unwrap_or(0.0);
        self.rows.sort_by(|a, b| match rising {
            true => key(a).total_cmp(&key(b)),
            false => key(b).total_cmp(&key(a)),
        });
    }

    /// Keeps the rows whose names contain the text, in any case.
    pub(super) fn filter(&mut self, text: &str) {
        let wanted = text.to_lowercase();
        self.rows
            .retain(|row| row.name.to_lowercase().contains(&wanted));
    }

    /// Draws it, the selected row in sight. How many rows fit.
    pub(super) fn draw(
        &self,
        area: Rect,
        buffer: &mut Buffer,
        selected: usize,
        sorted: usize,
        styles: Styles,
    ) -> usize {
        if area.height < 2 || area.width < 10 {
            return 0;
        }
        let widths = self.widths(area.width as usize);
        let figures: usize = widths.iter().flatten().map(|width| width + GAP).sum();
        let name_width = (area.width as usize).saturating_sub(figures);
        let titles: Vec<String> = self
            .columns
            .iter()
            .map(|column| column.title.clone())
            .collect();
        let whole = area.width as usize;
        let line = |name: &str, cells: &[String]| lay_out(name, name_width, cells, &widths);
        let mut write = |y: usize, text: &str, meaning: Meaning| {
            buffer.set_stringn(area.x, area.y + y as u16, text, whole, styles.of(meaning));
        };
        write(0, &line(self.title, &titles), Meaning::Title);
        let room = area.height as usize - 1 - usize::from(self.total.is_some());
        let last = self.rows.len().saturating_sub(room);
        let from = (selected + 1).saturating_sub(room).min(last);
        for (at, row) in self.rows.iter().enumerate().skip(from).take(room) {
            let (text, meaning) = match row {
                Entry { heading: true, .. } => (cut_middle(&row.name, whole), Meaning::Faint),
                _ if at == selected => (line(&row.name, &row.cells), Meaning::Selected),
                Entry { bad: true, .. } => (line(&row.name, &row.cells), Meaning::Bad),
                _ => (line(&row.name, &row.cells), Meaning::Plain),
            };
            write(at - from + 1, &text, meaning);
        }
        if let Some(total) = self.total.as_ref().filter(|_| !self.rows.is_empty()) {
            let y = self.rows.len().min(room) + 1;
            write(y, &line(&total.name, &total.cells), Meaning::Strong);
        }
        if self.rows.is_empty() && room > 0 {
            write(1, self.empty, Meaning::Faint);
        }
        self.mark_sorted(area, buffer, sorted, &widths, name_width);
        room
    }

    /// Underlines the title of the column that the rows are sorted by.
    fn mark_sorted(
        &self,
        area: Rect,
        buffer: &mut Buffer,
        sorted: usize,
        widths: &[Option<usize>],
        name_width: usize,
    ) {
        let Some(at) = sorted.checked_sub(1) else {
            return;
        };
        let Some(Some(width)) = widths.get(at) else {
            return;
        };
        let before: usize = widths[..at].iter().flatten().map(|width| width + GAP).sum();
        let x = area.x as usize + name_width + before + GAP;
        let title = Rect::new(x as u16, area.y, *width as u16, 1).intersection(area);
        buffer.set_style(title, Style::new().underlined());
    }

    /// The width of each column, `None` for those that are left out.
    fn widths(&self, width: usize) -> Vec<Option<usize>> {
        let rows = || self.rows.iter().chain(&self.total);
        let wide = |at: usize| {
            let cells = rows().filter_map(|row| row.cells.get(at));
            let widest = cells.map(|cell| cell.width()).max().unwrap_or(0);
            widest.max(self.columns[at].title.width())
        };
        let mut widths: Vec<Option<usize>> =
            (0..self.columns.len()).map(|at| Some(wide(at))).collect();
        let names = rows().filter(|row| !row.heading);
        let longest = names.map(|row| row.name.width()).max().unwrap_or(0);
        let fair = longest.min(FAIR_NAME);
        loop {
            let figures: usize = widths.iter().flatten().map(|width| width + GAP).sum();
            let left = widths
                .iter()
                .enumerate()
                .filter(|(_, width)| width.is_some());
            let least = left.max_by_key(|(at, _)| (self.columns[*at].rank, *at));
            match least {
                Some((at, _)) if figures + fair > width && self.columns[at].rank > 0 => {
                    widths[at] = None;
                }
                _ => return widths,
            }
        }
    }
}

/// A line: the name, cut and padded, then the cells at the right ends of their columns.
fn lay_out(name: &str, name_width: usize, cells: &[String], widths: &[Option<usize>]) -> String {
    let mut line = cut_middle(name, name_width);
    line.push_str(&" ".repeat(name_width.saturating_sub(line.width())));
    for (at, width) in widths.iter().enumerate() {
        let Some(width) = width else { continue };
        let cell = cells.get(at).map_or("", String::as_str);
        line.push_str(&" ".repeat(GAP + width.saturating_sub(cell.width())));
        line.push_str(cell);
    }
    line
}

/// A text that cannot break a line nor reach the terminal as anything but text.
pub(super) fn one_line(text: &str) -> String {
    printable(text).replace(['\n', '\t'], " ")
}

/// A text of at most so many columns, its middle left out where it is longer.
pub(super) fn cut_middle(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let half = width.saturating_sub(1) / 2;
    let head = take(text.chars(), width.saturating_sub(1) - half);
    let tail: String = take(text.chars().rev(), half).chars().rev().collect();
    match width {
        0 => String::new(),
        _ => format!("{head}…{tail}"),
    }
}

/// A line as lines of at most so many columns, broken wherever one is full.
pub(super) fn broken(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = text;
    loop {
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let (line, after) = rest.split_at(take(rest.chars(), width).len().max(first));
        lines.push(line.to_owned());
        if after.is_empty() {
            return lines;
        }
        rest = after;
    }
}

fn take(characters: impl Iterator<Item = char>, width: usize) -> String {
    let mut left = width;
    let mut taken = String::new();
    for character in characters {
        let Some(rest) = left.checked_sub(character.width().unwrap_or(0)) else {
            break;
        };
        left = rest;
        taken.push(character);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_line_loses_nothing_and_every_part_fits() {
        assert_eq!(broken("", 4), [""]);
        assert_eq!(broken("abcdefgh", 4), ["abcd", "efgh"]);
        assert_eq!(broken("検索結果x", 5), ["検索", "結果x"]);
        assert_eq!(broken("検索", 1), ["検", "索"]);
    }

    fn listing(name: &str) -> Listing {
        Listing {
            title: "Name",
            columns: vec![column("count", 0), column("trend", 2), column("max", 1)],
            rows: vec![Entry {
                name: name.to_owned(),
                cells: ["12", "▁▂▃", "1.20ms"].map(str::to_owned).to_vec(),
                keys: vec![12.0, 0.0, 1.2],
                ..Entry::default()
            }],
            ..Listing::default()
        }
    }

    fn shown(listing: &Listing, width: u16) -> String {
        let area = Rect::new(0, 0, width, 2);
        let mut buffer = Buffer::empty(area);
        listing.draw(area, &mut buffer, 9, 0, Styles { colours: false });
        let line: String = (0..width).map(|x| buffer[(x, 1)].symbol()).collect();
        line.trim_end().to_owned()
    }

    #[test]
    fn columns_give_way_before_names_do_and_the_first_one_never() {
        let listing = listing("GET a name of some length");
        assert_eq!(
            shown(&listing, 45),
            "GET a name of some length     12   ▁▂▃ 1.20ms"
        );
        assert_eq!(shown(&listing, 35), "GET a na… length    12   ▁▂▃ 1.20ms");
        assert_eq!(shown(&listing, 25), "GET a nam…me length    12");
        assert_eq!(shown(&listing, 12), "GET…th    12");
    }

    #[test]
    fn wide_signs_take_two_columns() {
        assert_eq!(cut_middle("検索結果ページ", 8), "検索…ジ");
        assert_eq!(cut_middle("検索", 4), "検索");
        assert_eq!(cut_middle("abc", 0), "");
    }

    #[test]
    fn rows_are_sorted_by_their_keys_and_filtered_by_their_names() {
        let mut two = listing("b");
        two.rows.push(Entry {
            name: "A".to_owned(),
            keys: vec![30.0],
            ..Entry::default()
        });
        let names = |listing: &Listing| -> String {
            listing.rows.iter().map(|row| row.name.as_str()).collect()
        };
        two.sort(0, false);
        assert_eq!(names(&two), "bA");
        two.sort(1, false);
        assert_eq!(names(&two), "Ab");
        two.sort(1, true);
        assert_eq!(names(&two), "bA");
        two.filter("a");
        assert_eq!(names(&two), "A");
    }
}
