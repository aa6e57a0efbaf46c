//! Bars over an axis with numbers: clipped where they leave the scale, with a line at a limit.

use super::super::super::style::{Styles, TextMeaning};
use super::super::paint::Painter;
use super::scale;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr as _;

/// Columns for the numbers at the left, the axis included.
pub(super) const LABELS: usize = 7;

/// A column of a graph.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Bar {
    /// Its height; nothing is drawn where nothing is known.
    pub(super) value: Option<f64>,
    /// The bad part of the value.
    pub(super) bad: Option<f64>,
    /// A bad value that is not part of it, drawn as a point.
    pub(super) point: Option<f64>,
    /// The time that the oldest request has waited, where there is no value.
    pub(super) waiting: Option<f64>,
    /// Whether it calls for attention as a whole.
    pub(super) warned: bool,
    /// Whether the run was paused.
    pub(super) paused: bool,
}

/// Bars and how to read them.
#[derive(Debug)]
pub(super) struct Plot<'a> {
    pub(super) bars: &'a [Bar],
    pub(super) limit: Option<f64>,
    /// Formats a number at the axis.
    pub(super) show: fn(f64) -> String,
}

/// Area of the bars and the value at its top.
struct PlotArea {
    area: Rect,
    top: f64,
}

impl PlotArea {
    /// Returns the height of a value in eighths of a row, at least one unless the value is 0.
    fn eighths(&self, value: f64) -> usize {
        let whole = usize::from(self.area.height) * 8;
        let share = (value / self.top).clamp(0.0, 1.0);
        let eighths = (share * whole as f64).round() as usize;
        eighths.max(usize::from(value > 0.0))
    }

    /// Returns the line of the screen that the top of a value is in.
    fn line(&self, value: f64) -> u16 {
        let up = (self.eighths(value).saturating_sub(1) / 8) as u16;
        self.area.bottom() - 1 - up.min(self.area.height - 1)
    }
}

impl Plot<'_> {
    /// Draws the graph; the last line is left for times.
    pub(super) fn draw(&self, area: Rect, painter: &mut Painter<'_>) {
        let values = self.bars.iter().filter_map(|bar| bar.value.or(bar.waiting));
        let place = PlotArea {
            area: Rect {
                x: area.x + LABELS as u16,
                width: area.width - LABELS as u16,
                height: area.height - 1,
                ..area
            },
            top: scale::top(values, self.limit),
        };
        self.axis(&place, area.x, painter);
        for (at, bar) in self.bars.iter().enumerate() {
            let x = place.area.x + at as u16;
            if x < place.area.right() {
                draw_bar(bar, &place, x, painter);
            }
        }
        self.line_of_limit(&place, painter);
        self.clipped(&place, painter);
    }

    fn axis(&self, place: &PlotArea, x: u16, painter: &mut Painter<'_>) {
        let style = painter.styles.of(TextMeaning::Faint);
        let height = place.area.height;
        for line in 0..height {
            let middle = height >= 4 && height.is_multiple_of(2) && line == height / 2;
            let value = match line {
                0 => Some(place.top),
                _ if line == height - 1 => Some(0.0),
                _ if middle => Some(place.top * f64::from(height - line) / f64::from(height)),
                _ => None,
            };
            let text = match value {
                Some(value) => format!("{:>6}┤", (self.show)(value)),
                None => "      │".to_owned(),
            };
            painter
                .buffer
                .set_stringn(x, place.area.y + line, text, LABELS, style);
        }
    }

    /// Draws the line of the limit where nothing else stands.
    fn line_of_limit(&self, place: &PlotArea, painter: &mut Painter<'_>) {
        let Some(limit) = self.limit.filter(|limit| *limit <= place.top) else {
            return;
        };
        let y = place.line(limit);
        for x in place.area.x..place.area.right() {
            if painter.buffer[(x, y)].symbol() == " " {
                painter.buffer[(x, y)]
                    .set_char('╌')
                    .set_style(painter.styles.of(TextMeaning::Warning));
            }
        }
    }

    /// Marks values beyond the scale, the highest with its value.
    fn clipped(&self, place: &PlotArea, painter: &mut Painter<'_>) {
        let of = |bar: &Bar| {
            bar.value
                .or(bar.waiting)
                .filter(|value| *value > place.top * 1.001)
        };
        let clipped = self.bars.iter().enumerate();
        let clipped: Vec<(u16, f64)> = clipped
            .filter_map(|(at, bar)| Some((place.area.x + at as u16, of(bar)?)))
            .filter(|(x, _)| *x < place.area.right())
            .collect();
        let style = painter.styles.of(TextMeaning::Warning);
        let y = place.area.y;
        for (x, _) in &clipped {
            painter.buffer[(*x, y)].set_char('▲').set_style(style);
        }
        let highest = clipped
            .iter()
            .max_by(|one, other| one.1.total_cmp(&other.1));
        if let Some((x, value)) = highest {
            let text = (self.show)(*value);
            let width = text.width() as u16;
            let at = if x + 1 + width <= place.area.right() {
                x + 1
            } else {
                x.saturating_sub(width).max(place.area.x)
            };
            painter.buffer.set_stringn(at, y, text, width.into(), style);
        }
    }
}

fn draw_bar(bar: &Bar, place: &PlotArea, x: u16, painter: &mut Painter<'_>) {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let bottom = place.area.bottom() - 1;
    if bar.paused {
        for y in place.area.y..=bottom {
            painter.buffer[(x, y)]
                .set_char('░')
                .set_style(painter.styles.of(TextMeaning::Faint));
        }
        return;
    }
    let all = bar.value.map_or(0, |value| place.eighths(value));
    let bad = bar.bad.map_or(0, |value| place.eighths(value)).min(all);
    let meaning = if bar.warned {
        TextMeaning::Warning
    } else {
        TextMeaning::Graph
    };
    for line in 0..usize::from(place.area.height) {
        let here = |eighths: usize| eighths.saturating_sub(line * 8).min(8);
        let (all, bad) = (here(all), here(bad));
        if all == 0 {
            break;
        }
        let (sign, style) = match bad {
            0 => (BARS[all], painter.styles.of(meaning)),
            8 => ('█', painter.styles.of(TextMeaning::Bad)),
            _ if all == 8 => (BARS[bad], over(painter.styles)),
            _ => (BARS[all], painter.styles.of(TextMeaning::Bad)),
        };
        painter.buffer[(x, bottom - line as u16)]
            .set_char(sign)
            .set_style(style);
    }
    // Without colours, a sign marks bad values.
    if bad > 0 && !painter.styles.colours {
        painter.buffer[(x, bottom)].set_char('✗');
    }
    if let Some(value) = bar.waiting {
        for y in place.line(value)..=bottom {
            painter.buffer[(x, y)]
                .set_char('┊')
                .set_style(painter.styles.of(TextMeaning::Warning));
        }
    }
    if let Some(value) = bar.point {
        let cell = &mut painter.buffer[(x, place.line(value))];
        // A hole in a bar would read as a lower value.
        let style = match cell.symbol() {
            "█" => over(painter.styles),
            _ => painter.styles.of(TextMeaning::Bad),
        };
        cell.set_char('✗').set_style(style);
    }
}

/// Returns the style of a cell that is bad below and good above.
fn over(styles: Styles) -> Style {
    let style = styles.of(TextMeaning::Bad);
    let above = styles.of(TextMeaning::Graph).fg;
    above.map_or(style, |colour| style.bg(colour))
}
