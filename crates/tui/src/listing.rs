//! A page of rows: names, with figures next to them. Where room is short, names are cut in the middle; where that is
//! not enough, the columns that matter least are left out. Figures are never cut.

use super::draw::Painter;
use super::style::TextMeaning;
use super::text::one_line;
use lgoose_base::line::{cut_apart, cut_middle};
use lgoose_report::document::{Cell, Column as ReportColumn, ColumnKind, Table};
use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr as _;

/// Width below which names are not cut as long as a column can be left out.
const FAIR_NAME: usize = 16;
const GAP: usize = 1;
/// The least width of a column, so that a figure that grows by a digit does not move all that is next to it.
const MIN_COLUMN_WIDTH: usize = 5;

/// A column of figures.
#[derive(Debug, Clone)]
pub(super) struct ListingColumn {
    pub(super) title: String,
    /// Columns are left out from the highest rank down; rank 0 stays.
    pub(super) rank: u8,
}

/// A row.
#[derive(Debug, Clone, Default)]
pub(super) struct ListingRow {
    /// Its identity on the page, in any order of the rows.
    pub(super) key: String,
    pub(super) name: String,
    pub(super) cells: Vec<String>,
    /// The values to sort by, one for each cell.
    pub(super) keys: Vec<f64>,
    /// Whether something in it went wrong.
    pub(super) bad: bool,
    /// The share of failures, where such rows come first.
    pub(super) failing: f64,
    /// Whether it is a line between rows, which cannot be selected.
    pub(super) heading: bool,
}

/// The rows of a page.
#[derive(Debug, Clone, Default)]
pub(super) struct Listing {
    pub(super) title: &'static str,
    pub(super) columns: Vec<ListingColumn>,
    pub(super) rows: Vec<ListingRow>,
    /// Total of all rows, always the last line.
    pub(super) total: Option<ListingRow>,
    /// Text for a page without rows.
    pub(super) empty: String,
}

/// Order of the rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum SortOrder {
    /// Order of the plan, after the rows that fail, the worst first.
    #[default]
    Plan,
    /// Their names.
    Name,
    /// The figures of a column, from 0.
    Column(usize),
}

/// The rows of a listing that were drawn, with their places.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DrawnRows {
    /// The line of the first one.
    pub(super) y: u16,
    /// Its number in the listing.
    pub(super) first: usize,
    /// Number of rows that fit.
    pub(super) room: usize,
    /// The columns that the table takes.
    pub(super) width: u16,
}

/// Returns whether a name contains the text of a filter, in any case.
pub(super) fn is_match(name: &str, filter: &str) -> bool {
    filter.is_empty() || name.to_lowercase().contains(&filter.to_lowercase())
}

pub(crate) fn column(title: &str, rank: u8) -> ListingColumn {
    ListingColumn {
        title: title.to_owned(),
        rank,
    }
}

impl Listing {
    /// Makes the rows of a table of the report's document; `keys` identify them.
    pub(super) fn of(table: &Table<'_>, keys: impl Iterator<Item = String>) -> Listing {
        let place = |kind: ColumnKind| table.columns.iter().position(|column| column.kind == kind);
        let (group, name) = (place(ColumnKind::Group), place(ColumnKind::Text));
        let is_figure = |at: &usize| table.columns[*at].kind == ColumnKind::Number;
        let figures: Vec<usize> = (0..table.columns.len()).filter(is_figure).collect();
        let row = |cells: &[Cell], key: String| {
            let indent = group.map_or("", |_| "  ");
            let name = name.map(|at| cell_text(&cells[at])).unwrap_or_default();
            let value = |at: &usize| match &cells[*at] {
                Cell::Figure(value, ..) => *value,
                _ => 0.0,
            };
            ListingRow {
                key,
                name: format!("{indent}{name}"),
                cells: figures.iter().map(|at| cell_text(&cells[*at])).collect(),
                keys: figures.iter().map(value).collect(),
                ..ListingRow::default()
            }
        };
        let mut rows: Vec<ListingRow> = Vec::new();
        let mut before = None;
        for (each, key) in table.rows.iter().zip(keys) {
            let common = group.map(|at| &each.cells[at]);
            if common != before {
                rows.extend(common.map(|common| ListingRow {
                    name: cell_text(common),
                    heading: true,
                    ..ListingRow::default()
                }));
                before = common;
            }
            rows.push(row(&each.cells, key));
        }
        let columns = figures.iter().map(|at| {
            let ReportColumn { title, rank, .. } = &table.columns[*at];
            column(title, *rank)
        });
        Listing {
            title: table.title,
            columns: columns.collect(),
            rows,
            total: table.total.as_ref().map(|total| row(total, String::new())),
            empty: String::new(),
        }
    }

    /// Sorts the rows; those below a heading stay there.
    pub(super) fn sort(&mut self, by: SortOrder, reversed: bool) {
        let key = |row: &ListingRow, at: usize| row.keys.get(at).copied().unwrap_or(0.0);
        let order = |a: &ListingRow, b: &ListingRow| match by {
            SortOrder::Plan => b.failing.total_cmp(&a.failing),
            SortOrder::Name => a.name.to_lowercase().cmp(&b.name.to_lowercase()),
            // The largest first.
            SortOrder::Column(at) => key(b, at).total_cmp(&key(a, at)),
        };
        for rows in self.rows.split_mut(|row| row.heading) {
            rows.sort_by(|a, b| if reversed { order(b, a) } else { order(a, b) });
        }
    }

    /// Keeps the rows whose names contain the text, in any case, and the headings of such rows.
    pub(super) fn filter(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let had = !self.rows.is_empty();
        self.rows
            .retain(|row| row.heading || is_match(&row.name, text));
        let mut below = false;
        let mut retained: Vec<ListingRow> = self.rows.drain(..).rev().collect();
        retained.retain(|row| {
            if row.heading {
                std::mem::take(&mut below)
            } else {
                below = true;
                true
            }
        });
        retained.reverse();
        self.rows = retained;
        if had && self.rows.is_empty() {
            self.empty = format!("no name matches '{text}'");
        }
    }

    /// Returns the row of a key, or else the first one that can be selected.
    pub(super) fn current(&self, key: Option<&str>) -> Option<usize> {
        let existing = key.and_then(|key| self.row_of(key));
        existing.or_else(|| self.rows.iter().position(|row| !row.heading))
    }

    pub(super) fn row_of(&self, key: &str) -> Option<usize> {
        let is = |row: &ListingRow| !row.heading && row.key == key;
        self.rows.iter().position(is)
    }

    /// Returns the row that is `by` selectable rows away from another.
    pub(super) fn step(&self, from: Option<usize>, by: isize) -> Option<usize> {
        let rows = self.rows.iter().enumerate();
        let selectable: Vec<usize> = rows
            .filter(|(_, row)| !row.heading)
            .map(|(at, _)| at)
            .collect();
        let place = selectable.iter().position(|at| Some(*at) == from);
        let to = place.unwrap_or(0).saturating_add_signed(by);
        selectable
            .get(to.min(selectable.len().saturating_sub(1)))
            .copied()
    }

    /// Draws the page with the selected row in sight, and returns which rows are where.
    pub(super) fn draw(
        &self,
        area: Rect,
        painter: &mut Painter<'_>,
        selected: Option<usize>,
        sorted: SortOrder,
        reversed: bool,
    ) -> DrawnRows {
        if area.height < 2 || area.width < 10 {
            return DrawnRows::default();
        }
        let mut titles: Vec<String> = self.columns.iter().map(|c| c.title.clone()).collect();
        let mut title = self.title.to_owned();
        match sorted {
            SortOrder::Column(at) if at < titles.len() => {
                titles[at].insert(0, if reversed { '▲' } else { '▼' });
            }
            SortOrder::Name => title.push(if reversed { '▼' } else { '▲' }),
            _ => {}
        }
        let (name_width, widths) = self.widths(&title, &titles, area.width as usize);
        let figures: usize = widths.iter().flatten().map(|width| width + GAP).sum();
        let whole = (name_width + figures).min(area.width as usize);
        let line = |name: &str, cells: &[String]| lay_out(name, name_width, cells, &widths);
        let mut write = |y: usize, text: &str, room: usize, meaning: TextMeaning| {
            let style = painter.styles.of(meaning);
            let y = area.y + y as u16;
            painter.buffer.set_stringn(area.x, y, text, room, style);
        };
        write(0, &line(&title, &titles), whole, TextMeaning::Title);
        let room = area.height as usize - 1 - usize::from(self.total.is_some());
        let last = self.rows.len().saturating_sub(room);
        let from = selected.map_or(0, |selected| (selected + 1).saturating_sub(room));
        let from = from.min(last);
        let visible = &self.rows[from..self.rows.len().min(from + room)];
        let names: Vec<&str> = visible.iter().map(|row| row.name.as_str()).collect();
        let names = cut_apart(&names, name_width);
        for ((at, row), name) in (from..).zip(visible).zip(&names) {
            let y = at - from + 1;
            match row {
                ListingRow { heading: true, .. } => {
                    let wide = area.width as usize;
                    write(y, &cut_middle(&row.name, wide), wide, TextMeaning::Faint);
                }
                _ => {
                    let meaning = if Some(at) == selected {
                        TextMeaning::Selected
                    } else if row.bad {
                        TextMeaning::Bad
                    } else {
                        TextMeaning::Plain
                    };
                    write(y, &line(name, &row.cells), whole, meaning);
                }
            }
        }
        if let Some(total) = self.total.as_ref().filter(|_| !self.rows.is_empty()) {
            let y = self.rows.len().min(room) + 1;
            write(
                y,
                &line(&total.name, &total.cells),
                whole,
                TextMeaning::Strong,
            );
        }
        if self.rows.is_empty() && room > 0 {
            write(1, &self.empty, area.width as usize, TextMeaning::Faint);
        }
        DrawnRows {
            y: area.y + 1,
            first: from,
            room,
            width: whole as u16,
        }
    }

    /// Returns the width of the page where there is room.
    pub(super) fn natural_width(&self) -> usize {
        let titles: Vec<String> = self.columns.iter().map(|c| c.title.clone()).collect();
        let (name, widths) = self.widths(self.title, &titles, usize::MAX / 2);
        name + widths
            .iter()
            .flatten()
            .map(|width| width + GAP)
            .sum::<usize>()
    }

    /// Returns the width of the names and of each column, `None` for those that are left out.
    fn widths(&self, title: &str, titles: &[String], width: usize) -> (usize, Vec<Option<usize>>) {
        let rows = || self.rows.iter().chain(&self.total);
        let wide = |at: usize| {
            let cells = rows().filter_map(|row| row.cells.get(at));
            let widest = cells.map(|cell| cell.width()).max().unwrap_or(0);
            // Leaves room for the mark of the order.
            widest.max(titles[at].trim_start_matches(['▲', '▼']).width() + 1)
        };
        let mut widths: Vec<Option<usize>> = (0..self.columns.len())
            .map(|at| Some(wide(at).max(MIN_COLUMN_WIDTH)))
            .collect();
        let names = rows().filter(|row| !row.heading);
        let longest = names.map(|row| row.name.width()).max().unwrap_or(0);
        let longest = longest.max(title.width());
        let fair = longest.min(FAIR_NAME);
        loop {
            let figures: usize = widths.iter().flatten().map(|width| width + GAP).sum();
            let removable = widths
                .iter()
                .enumerate()
                .filter(|(_, width)| width.is_some());
            let least = removable.max_by_key(|(at, _)| (self.columns[*at].rank, *at));
            match least {
                Some((at, _)) if figures + fair > width && self.columns[at].rank > 0 => {
                    widths[at] = None;
                }
                _ => return (longest.min(width.saturating_sub(figures)), widths),
            }
        }
    }
}

/// Returns a cell as a page shows it: figures for little room.
fn cell_text(cell: &Cell) -> String {
    match cell {
        Cell::Foreign(text) | Cell::Words(text) => one_line(text),
        Cell::Figure(..) | Cell::Mark(_) | Cell::None => cell.short_figure().unwrap_or_default(),
    }
}

/// Returns a line: the name, cut and padded, then the cells at the right ends of their columns.
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

#[cfg(test)]
mod tests {
    use super::super::style::Styles;
    use super::*;
    use ratatui::buffer::Buffer;

    fn listing(name: &str) -> Listing {
        Listing {
            title: "Name",
            columns: vec![column("count", 0), column("trend", 2), column("max", 1)],
            rows: vec![ListingRow {
                key: name.to_owned(),
                name: name.to_owned(),
                cells: ["12", "▁▂▃", "1.20ms"].map(str::to_owned).to_vec(),
                keys: vec![12.0, 0.0, 1.2],
                ..ListingRow::default()
            }],
            ..Listing::default()
        }
    }

    fn shown(listing: &Listing, width: u16, y: u16) -> String {
        let area = Rect::new(0, 0, width, 3);
        let mut buffer = Buffer::empty(area);
        let sorted = SortOrder::Column(0);
        let mut painter = Painter {
            buffer: &mut buffer,
            styles: Styles { colours: false },
        };
        listing.draw(area, &mut painter, None, sorted, false);
        let line: String = (0..width).map(|x| buffer[(x, y)].symbol()).collect();
        line.trim_end().to_owned()
    }

    #[test]
    fn columns_yield_before_names_do_and_the_first_one_never() {
        let listing = listing("GET a name of some length");
        let whole = "GET a name of some length     12    ▁▂▃ 1.20ms";
        assert_eq!(shown(&listing, 47, 1), whole);
        assert_eq!(shown(&listing, 147, 1), whole, "figures close to names");
        assert_eq!(
            shown(&listing, 37, 1),
            "GET a na…length      12    ▁▂▃ 1.20ms"
        );
        assert_eq!(shown(&listing, 25, 1), "GET a nam…e length     12");
        assert_eq!(shown(&listing, 12, 1), "GE…th     12");
    }

    #[test]
    fn the_order_is_marked_in_the_title() {
        let listing = listing("GET a name of some length");
        assert!(shown(&listing, 60, 0).contains("▼count"));
    }

    fn named(names: &[(&str, f64, bool)]) -> Listing {
        let row = |(name, key, heading): &(&str, f64, bool)| ListingRow {
            key: (*name).to_owned(),
            name: (*name).to_owned(),
            keys: vec![*key],
            heading: *heading,
            ..ListingRow::default()
        };
        Listing {
            rows: names.iter().map(row).collect(),
            ..Listing::default()
        }
    }

    fn names(listing: &Listing) -> String {
        listing.rows.iter().map(|row| row.name.as_str()).collect()
    }

    #[test]
    fn rows_are_sorted_by_figures_or_names_and_below_their_headings() {
        let mut two = named(&[("b", 12.0, false), ("A", 30.0, false)]);
        for (order, reversed, expected) in [
            (SortOrder::Plan, false, "bA"),
            (SortOrder::Column(0), false, "Ab"),
            (SortOrder::Column(0), true, "bA"),
            (SortOrder::Name, false, "Ab"),
            (SortOrder::Name, true, "bA"),
        ] {
            two.sort(order, reversed);
            assert_eq!(names(&two), expected, "{order:?}");
        }
        let mut headed = named(&[
            ("H", 0.0, true),
            ("b", 1.0, false),
            ("a", 2.0, false),
            ("I", 0.0, true),
            ("c", 9.0, false),
        ]);
        headed.sort(SortOrder::Column(0), false);
        assert_eq!(names(&headed), "HabIc");
        headed.filter("C");
        assert_eq!(names(&headed), "Ic");
        headed.filter("x");
        assert_eq!(
            (names(&headed), headed.empty.as_str()),
            (String::new(), "no name matches 'x'")
        );
    }

    #[test]
    fn headings_are_stepped_over() {
        let headed = named(&[
            ("H", 0.0, true),
            ("a", 1.0, false),
            ("I", 0.0, true),
            ("c", 9.0, false),
        ]);
        assert_eq!(headed.current(None), Some(1));
        assert_eq!(headed.step(Some(1), 1), Some(3));
        assert_eq!(headed.step(Some(3), 9), Some(3));
        assert_eq!(headed.step(Some(3), -9), Some(1));
        assert_eq!(headed.current(Some("c")), Some(3));
        assert_eq!(headed.current(Some("H")), Some(1));
    }
}
