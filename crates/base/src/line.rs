//! Text from a plan or a target as lines that are safe to show and fit a width.
//!
//! Widths are terminal columns, not characters: a CJK character takes two, a combining accent none.

use crate::error::printable;
use std::collections::BTreeMap;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Returns a text from a plan or a target as one harmless line: control characters and those that change the direction
/// of writing become escapes, line breaks and tabs become spaces.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '\n' | '\t' => line.push(' '),
            _ => line.push(c),
        }
    }
    line
}

/// Shortens names of a table to at most `width` columns, so that different ones look different: `…` replaces the
/// middle, or, where several would then be alike, their common part before the first difference.
pub fn cut_apart(names: &[&str], width: usize) -> Vec<String> {
    let mut shown: Vec<String> = names.iter().map(|name| cut_middle(name, width)).collect();
    // Once they differ somewhere else, names that are alike are fewer.
    for _ in 0..3 {
        let mut alike: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, text) in shown.iter().enumerate() {
            if text != names[at] {
                alike.entry(text.clone()).or_default().push(at);
            }
        }
        for group in alike.values() {
            let first = names[group[0]];
            let common = group.iter().map(|at| common_start(first, names[*at]));
            let common = common.min().unwrap_or(0);
            if common < first.len() {
                for at in group {
                    shown[*at] = cut_before(names[*at], common, width);
                }
            }
        }
    }
    shown
}

/// Returns how many bytes two texts have in common at their beginning.
fn common_start(a: &str, b: &str) -> usize {
    let mut both = a.char_indices().zip(b.chars());
    let differ = both.find(|((_, a), b)| a != b);
    differ.map_or(a.len().min(b.len()), |((at, _), _)| at)
}

/// Shortens a name to at most `width` columns, of which the part from byte `first` on is to be seen: the method stays,
/// and `…` replaces the part between.
fn cut_before(name: &str, first: usize, width: usize) -> String {
    const METHOD: usize = 8;
    let method = name[..first].find(' ').map_or(0, |space| space + 1);
    let method = if method <= METHOD { method } else { 0 };
    // From the part of the path on in which the difference is.
    let from = name[method..first]
        .rfind('/')
        .map_or(method, |slash| method + slash);
    let head = if from > method { "…" } else { "" };
    let text = format!("{}{head}{}", &name[..method], &name[from..]);
    if text.width() <= width {
        return text;
    }
    let cut = format!("{}…", within(text.chars(), width.saturating_sub(1)));
    if cut.width() <= width {
        cut
    } else {
        cut_middle(name, width)
    }
}

/// Shortens a text to at most `width` columns: `…` replaces the middle.
pub fn cut_middle(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    if width == 0 {
        return String::new();
    }
    let visible = width.saturating_sub(1);
    let head = within(text.chars(), visible.div_ceil(2));
    let tail: Vec<char> = within(text.chars().rev(), visible / 2)
        .chars()
        .rev()
        .collect();
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

/// Breaks a text into lines of at most `width` columns, at spaces where there are some.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    // More bytes are no line, whatever their width: the rest of a long word is not measured again for each line.
    let longest = width.saturating_mul(32);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for mut word in text.split(' ') {
        loop {
            let gap = usize::from(!line.is_empty());
            let taken = (word.len() <= longest).then(|| used + gap + word.width());
            if let Some(taken) = taken.filter(|taken| *taken <= width) {
                line.push_str(&" "[..gap]);
                line.push_str(word);
                used = taken;
                break;
            }
            used = 0;
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
                continue;
            }
            // At least one character, or a narrow page would never end.
            let first = word.chars().next().map_or(0, char::len_utf8);
            let (part, rest) = word.split_at(within(word.chars(), width).len().max(first));
            lines.push(part.to_owned());
            word = rest;
        }
    }
    lines.push(line);
    lines.retain(|line| !line.is_empty());
    lines
}

/// Returns a request's method and name as one line, as every output shows them.
pub fn request_name(method: &str, name: &str) -> String {
    one_line(format!("{method} {name}").trim_start())
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
    fn names_that_would_look_alike_show_where_they_differ() {
        let names = [
            "GET /api/v2/catalogue/regions/217/warehouses/availability",
            "GET /api/v2/catalogue/regions/018/warehouses/availability",
            "GET /api/v2/catalogue/regions/018/depots/of/old/availability",
            "POST login",
        ];
        assert_eq!(
            cut_apart(&names, 22),
            [
                "GET …/217/warehouses/…",
                "GET …/018/warehouses/…",
                "GET …/018/depots/of/o…",
                "POST login"
            ]
        );
        // They differ in two places.
        let twice = ["a/1/b/1", "a/1/b/2", "a/2/b/1"]
            .map(|end| format!("GET {}{end}{}", "x".repeat(40), "y".repeat(40)));
        let twice: Vec<&str> = twice.iter().map(String::as_str).collect();
        let mut shown = cut_apart(&twice, 12);
        assert!(shown.iter().all(|text| text.width() <= 12), "{shown:?}");
        shown.dedup();
        assert_eq!(shown.len(), 3, "{shown:?}");
        for width in 0..30 {
            for text in cut_apart(
                &["検索結果ページの一覧その一", "検索結果ページの一覧その二"],
                width,
            ) {
                assert!(text.width() <= width, "{text} in {width}");
            }
        }
    }

    #[test]
    fn wide_and_combining_signs_stay_in_their_columns() {
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
}
