//! Text of plans and targets made safe to show: nothing in it controls a terminal, and it has a bounded length.

use sha2::{Digest as _, Sha256};
use std::borrow::Cow;

/// The most bytes of a sentence for people, such as an error or a warning, that quotes a plan or a target.
const MOST_BYTES_OF_MESSAGE: usize = 2_000;

/// The most bytes of the name of a row; of longer ones, the middle is replaced. Thousands of longer ones would fill the
/// memory.
const MOST_BYTES_OF_NAME: usize = 500;

/// Cuts a sentence that would fill a report.
pub fn cut(mut message: String) -> String {
    if message.len() > MOST_BYTES_OF_MESSAGE {
        message.truncate(message.floor_char_boundary(MOST_BYTES_OF_MESSAGE));
        message.push('…');
        message.shrink_to_fit();
    }
    message
}

/// Returns at most so many bytes as text. A character that the cut goes through is left out.
pub fn beginning(bytes: &[u8], most: usize) -> Cow<'_, str> {
    let mut text = String::from_utf8_lossy(&bytes[..bytes.len().min(most)]);
    if bytes.len() > most {
        let whole = text.trim_end_matches('\u{fffd}').len();
        text.to_mut().truncate(whole);
    }
    text
}

/// Returns the name under which this name is counted.
pub fn bounded_name(name: &str) -> Cow<'_, str> {
    if name.len() <= MOST_BYTES_OF_NAME {
        return name.into();
    }
    with_digest(name).into()
}

/// Returns a name that is too long with a digest of the whole in its middle, so that no two are counted together that are
/// the same but there.
#[cold]
fn with_digest(name: &str) -> String {
    let digest = Sha256::digest(name);
    let digest: String = digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let kept = (MOST_BYTES_OF_NAME - digest.len()) / 2 - '…'.len_utf8();
    let start = name.floor_char_boundary(kept);
    let end = name.ceil_char_boundary(name.len() - kept);
    format!("{}…{digest}…{}", &name[..start], &name[end..])
}

/// Returns text from a plan or a target made safe for a terminal: control characters other than a tab or a line
/// break show as `\x1b`, those that change the direction of writing or that nobody sees as `\u{202e}`. Safe text stays as
/// it is.
pub fn printable(text: &str) -> Cow<'_, str> {
    let hostile =
        |c: char| is_directing(c) || is_unseen(c) || c.is_control() && c != '\t' && c != '\n';
    if !text.contains(hostile) {
        return text.into();
    }
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if !hostile(c) {
            safe.push(c);
        } else if c as u32 > 0xff {
            safe += &format!("\\u{{{:x}}}", c as u32);
        } else {
            safe += &format!("\\x{:02x}", c as u32);
        }
    }
    safe.into()
}

/// Returns text made safe for a terminal, on one line.
pub fn one_line(text: &str) -> String {
    printable(text).replace(['\n', '\t'], " ")
}

/// Whether a character makes others appear in another order than they are in (Unicode Standard Annex 9), or on another
/// line (U+2028 and U+2029).
pub fn is_directing(c: char) -> bool {
    matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// Whether a character stands for text without being seen: the byte order mark, and the tag characters, of which any
/// hidden text can be made (Unicode Standard, chapter 23).
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_escapes_are_shown_not_sent() {
        assert_eq!(printable("a\x1b[2Jb"), "a\\x1b[2Jb");
        assert_eq!(printable("a\u{9b}2J\u{7f}\r"), "a\\x9b2J\\x7f\\x0d");
        for c in [
            '\u{61c}',
            '\u{200e}',
            '\u{200f}',
            '\u{202a}',
            '\u{202e}',
            '\u{2066}',
            '\u{2069}',
            '\u{feff}',
            '\u{e0041}',
        ] {
            let shown = format!("a\\u{{{:x}}}b", c as u32);
            assert_eq!(printable(&format!("a{c}b")), shown);
        }
        let safe = "tab\tand line\n, umlaut ü, 鵞, \u{1f986}";
        assert_eq!(printable(safe), safe);
    }
}
