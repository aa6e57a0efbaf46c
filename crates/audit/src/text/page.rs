//! Lines of a page of text: rules, labels, columns. Widths are those of a terminal.

use lgoose_base::line::{cut_middle, one_line, wrapped};
use unicode_width::UnicodeWidthStr as _;

/// The columns of labels.
const LABEL: usize = 10;

/// A page that is being written.
#[derive(Debug)]
pub(super) struct TextPage {
    pub(super) width: usize,
    text: String,
}

impl TextPage {
    pub(super) fn new(width: usize) -> TextPage {
        TextPage {
            width,
            text: String::new(),
        }
    }

    /// Puts a line, of which the middle is cut if it is too long. Logs are of others: nothing in them takes effect.
    pub(super) fn line(&mut self, text: &str) {
        let text = one_line(text.trim_end());
        if text.width() <= self.width {
            self.text.push_str(&text);
        } else {
            self.text.push_str(&cut_middle(&text, self.width));
        }
        self.text.push('\n');
    }

    /// Puts a line of one character.
    pub(super) fn rule(&mut self, of: &str) {
        self.line(&of.repeat(self.width));
    }

    /// Puts a text at the left and one at the right.
    pub(super) fn spread(&mut self, left: &str, right: &str) {
        let room = self.width.saturating_sub(left.width() + 4);
        let right = cut_middle(&one_line(right), room);
        let gap = self.width.saturating_sub(left.width() + right.width() + 2);
        self.line(&format!(" {left}{}{right}", " ".repeat(gap)));
    }

    /// Puts a text behind a label, in as many lines as it needs.
    pub(super) fn labelled(&mut self, label: &str, text: &str) {
        self.indented(&format!(" {label:<LABEL$}"), text);
    }

    /// Puts a text in as many lines as it needs, of which the first begins with `head` and the others below its end.
    pub(super) fn indented(&mut self, head: &str, text: &str) {
        let indent = head.width();
        let mut head = head.to_owned();
        for line in wrapped(&one_line(text), self.width.saturating_sub(indent)) {
            self.line(&format!("{head}{line}"));
            head = " ".repeat(indent);
        }
    }

    /// Returns what was put.
    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// Returns a text with spaces after it.
pub(super) fn pad_right(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// Returns a text with spaces before it.
pub(super) fn pad_left(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(text.width())))
}

/// Returns the wall clock of a time in nanoseconds since 1970: `06:45:10.123`.
pub(super) fn clock(at_ns: i64) -> String {
    let at = jiff::Timestamp::from_nanosecond(at_ns.into()).unwrap_or_default();
    at.strftime("%H:%M:%S%.3f").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_log_takes_effect_or_is_wider_than_the_page() {
        let mut page = TextPage::new(40);
        page.line("GET /\x1b[2J\r\n\u{202e}gnp");
        page.labelled("others", &"漢字 \x07 ".repeat(20));
        page.spread("left", &"right ".repeat(20));
        let text = page.finish();
        assert!(text.starts_with("GET /\\x1b[2J"), "{text}");
        for line in text.lines() {
            assert!(line.width() <= 40, "{line}");
            assert!(
                !line.contains(|c: char| c.is_control() || c == '\u{202e}'),
                "{line}"
            );
        }
    }

    #[test]
    fn times_are_those_of_the_wall_clock() {
        assert_eq!(clock(1_796_050_895_056_999_999), "15:01:35.056");
        assert_eq!(clock(0), "00:00:00.000");
    }
}
