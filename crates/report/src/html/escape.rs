//! Escaping of foreign text: nothing from a plan or a target can become a tag, a script, an escape sequence or a page
//! of a megabyte.

use lgoose_base::line::one_line;
use lgoose_base::units::show_count;
use serde::Serialize;

/// The length in characters above which a text loses its middle.
const MAX_TEXT_CHARS: usize = 600;
/// The number of characters that are kept of its end.
const TAIL: usize = 150;
/// The length in characters above which a block loses its end.
const MAX_BLOCK_CHARS: usize = 4_096;

/// Escapes text for use between tags and in quoted attributes, as one line.
pub(super) fn text(foreign: &str) -> String {
    without_tags(&shown(foreign))
}

/// Escapes text for use within `<pre>`, which keeps its lines; the first 4,096 characters.
pub(super) fn block(foreign: &str) -> String {
    let end = foreign.char_indices().nth(MAX_BLOCK_CHARS);
    let shown = &foreign[..end.map_or(foreign.len(), |(end, _)| end)];
    let lines: Vec<_> = shown
        .lines()
        .map(|line| without_tags(&one_line(line)))
        .collect();
    lines.join("\n")
}

fn without_tags(shown: &str) -> String {
    let mut safe = String::with_capacity(shown.len());
    for c in shown.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

/// Returns text as it will be shown, not yet safe for HTML: one line, not too long.
pub(super) fn shown(foreign: &str) -> String {
    let Some((cut, _)) = foreign.char_indices().nth(MAX_TEXT_CHARS) else {
        return one_line(foreign);
    };
    let count = foreign.chars().count();
    let (head, _) = foreign
        .char_indices()
        .nth(MAX_TEXT_CHARS - TAIL)
        .unwrap_or((cut, ' '));
    let (tail, _) = foreign
        .char_indices()
        .nth_back(TAIL - 1)
        .unwrap_or((cut, ' '));
    format!(
        "{} … {} ({} characters)",
        one_line(&foreign[..head]),
        one_line(&foreign[tail..]),
        show_count(count as u64)
    )
}

/// Returns JSON for use within a script element, escaped so that it cannot end the element.
pub(super) fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
    if !text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return text;
    }
    let mut safe = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                safe.push_str(&format!("\\u{:04x}", c as u32));
            }
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_can_become_a_tag_or_end_an_attribute() {
        assert_eq!(
            text("<img src=x onerror='a' b=\"c\">&\u{1b}[2J\u{202e}\n"),
            "&lt;img src=x onerror=&#39;a&#39; b=&quot;c&quot;&gt;&amp;\\x1b[2J\\u{202e} "
        );
    }

    #[test]
    fn a_long_text_retains_its_ends_and_shows_its_length() {
        let long = format!("head{}tail", "ä".repeat(1 << 20));
        let short = text(&long);
        assert!(short.starts_with("head") && short.len() < 2_000);
        assert!(short.ends_with("tail (1,048,584 characters)"), "{short}");
        assert_eq!(text(&"x".repeat(MAX_TEXT_CHARS)).len(), MAX_TEXT_CHARS);
    }

    #[test]
    fn json_cannot_end_its_script_and_means_the_same() {
        let hostile = "</script><!--\u{2028}&amp;]]>";
        let safe = json(&hostile);
        assert!(!safe.contains(['<', '>', '&', '\u{2028}']), "{safe}");
        assert_eq!(
            serde_json::from_str::<String>(&safe).expect("JSON"),
            hostile
        );
    }
}
