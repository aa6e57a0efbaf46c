//! Text that fits: one line of it, or broken into lines of a width. Knows no terminal.

pub(super) use lgoose_base::error::one_line;
use unicode_width::UnicodeWidthChar as _;

/// Breaks a line into lines of at most `width` columns: after a space in the second half of a line, or else where the
/// line is full. After a label at the beginning, all lines are indented to the text that follows it.
pub(super) fn broken(text: &str, width: usize) -> Vec<String> {
    let indent = " ".repeat(label_width(text).filter(|it| it * 3 <= width).unwrap_or(0));
    let mut lines = Vec::new();
    let mut rest = text;
    loop {
        let margin = if lines.is_empty() { "" } else { &indent };
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let full = take(rest.chars(), width - margin.len()).len().max(first);
        let space = rest[..full].rfind(' ').filter(|space| space * 2 > full);
        let end = match space {
            Some(space) if full < rest.len() => space + 1,
            _ => full,
        };
        let (line, after) = rest.split_at(end);
        lines.push(format!("{margin}{line}"));
        if after.is_empty() {
            return lines;
        }
        rest = after;
    }
}

/// Returns the columns of a label at the beginning of a line with the spaces after it, at least two; `None` without a
/// label.
fn label_width(text: &str) -> Option<usize> {
    let end = text.trim_start().find("  ")? + text.len() - text.trim_start().len();
    let gap = text[end..].len() - text[end..].trim_start().len();
    text[..end].is_ascii().then_some(end + gap)
}

fn take(characters: impl Iterator<Item = char>, width: usize) -> String {
    let mut remaining = width;
    let mut taken = String::new();
    for character in characters {
        let Some(rest) = remaining.checked_sub(character.width().unwrap_or(0)) else {
            break;
        };
        remaining = rest;
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
        assert_eq!(broken("one two three", 9), ["one two ", "three"]);
        assert_eq!(broken("a bcdefghijk", 9), ["a bcdefgh", "ijk"]);
        assert_eq!(
            broken(" p50   12.5ms · p95 13ms", 21),
            [" p50   12.5ms · p95 ", "       13ms"]
        );
        assert_eq!(
            broken("a label  far too long", 9),
            ["a label  ", "far too ", "long"]
        );
    }
}
