//! Malformed headers of responses, mended as browsers read them: lines that are not headers are left out, and the
//! response counts. Used only where a head could not be parsed. Pure; knows no socket.

use super::head::{MAX_HEAD, ResponseHead};
use http::{HeaderName, Method};

/// The most characters of a malformed line that are kept to show it.
const MAX_SHOWN: usize = 60;

/// The result of mending a head that could not be parsed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MendedHead {
    /// The same number of bytes with lines that can be parsed, and the first malformed line; `None` if lines were only
    /// folded.
    Whole(Vec<u8>, Option<Box<str>>),
    /// The end of the head has not come yet.
    Partial,
    /// Nothing: it is not HTTP, or it has a NUL, which browsers refuse as well.
    Nothing,
}

/// Mends the head that `bytes` begin with. Left-out lines become spaces at the end of the line before, so that nothing
/// moves. As Chromium reads heads:
/// - a carriage return alone ends a line, too;
/// - a line that begins with a space or tab continues the one before (RFC 9112, section 5.2);
/// - spaces before the colon are not part of the name;
/// - a line without a colon, or with a name that is not a token (RFC 9110, section 5.6.2), is left out;
/// - control characters in the status line or a value are spaces, and a cookie that has one is left out.
pub(crate) fn mended(bytes: &[u8]) -> MendedHead {
    let Some((status_end, mut start)) = line_end(bytes, 0) else {
        return MendedHead::Nothing;
    };
    if !is_status_line(&bytes[..status_end]) {
        return MendedHead::Nothing;
    }
    let blank = blank_line(bytes, status_end);
    let head = &bytes[..blank.unwrap_or(bytes.len())];
    if head.contains(&0) || head.len() > MAX_HEAD {
        return MendedHead::Nothing;
    }
    let Some(blank) = blank else {
        return MendedHead::Partial;
    };
    let mut mended = bytes.to_vec();
    let mut malformed_header = None;
    if head[..status_end].iter().any(|byte| is_control(*byte)) {
        note(&mut malformed_header, &head[..status_end]);
        blank_controls(&mut mended[..status_end]);
    }
    // The end of the line before, and whether it is a header line.
    let (mut before, mut continues) = (status_end, false);
    while start < blank {
        let (end, next) = line_end(&bytes[..blank], start).unwrap_or((blank, blank));
        let line = &bytes[start..end];
        match read_line(line) {
            HeadLine::Header => continues = true,
            HeadLine::Folded if continues => {
                mended[before..start].fill(b' ');
                blank_controls(&mut mended[start..end]);
            }
            HeadLine::Mended(name, colon) => {
                note(&mut malformed_header, line);
                mended[start + name] = b':';
                mended[start + name + 1..=start + colon].fill(b' ');
                blank_controls(&mut mended[start + colon + 1..end]);
                continues = true;
            }
            HeadLine::Folded | HeadLine::None => {
                if !line.is_empty() {
                    note(&mut malformed_header, line);
                }
                mended[before..end].fill(b' ');
                // Lines that continue it are left out, too.
                continues = false;
            }
        }
        if mended[end] == b'\r' && next == end + 1 {
            mended[end] = b'\n';
        }
        (before, start) = (end, next);
    }
    if mended == bytes {
        MendedHead::Nothing
    } else {
        MendedHead::Whole(mended, malformed_header)
    }
}

/// The kind of a line in a head.
enum HeadLine {
    /// A header line as it should be.
    Header,
    /// A line that begins with a space or tab.
    Folded,
    /// A header line with spaces before the colon, or control characters in its value: the end of its name, and the
    /// place of the colon.
    Mended(usize, usize),
    /// Not a header line.
    None,
}

fn read_line(line: &[u8]) -> HeadLine {
    if matches!(line.first(), Some(b' ' | b'\t')) {
        return HeadLine::Folded;
    }
    let Some(colon) = line.iter().position(|byte| *byte == b':') else {
        return HeadLine::None;
    };
    let (name, value) = (line[..colon].trim_ascii_end(), &line[colon + 1..]);
    if HeaderName::from_bytes(name).is_err() {
        return HeadLine::None;
    }
    let has_controls = value.iter().any(|byte| is_control(*byte));
    if has_controls && name.eq_ignore_ascii_case(b"set-cookie") {
        HeadLine::None
    } else if has_controls || name.len() < colon {
        HeadLine::Mended(name.len(), colon)
    } else {
        HeadLine::Header
    }
}

/// Returns the end of the line that begins at `start`, and the start of the next one; `None` if its end has not come.
fn line_end(bytes: &[u8], start: usize) -> Option<(usize, usize)> {
    let length = bytes[start..]
        .iter()
        .position(|byte| matches!(byte, b'\r' | b'\n'))?;
    let end = start + length;
    match (bytes[end], bytes.get(end + 1)) {
        (b'\r', None) => None,
        (b'\r', Some(b'\n')) => Some((end, end + 2)),
        _ => Some((end, end + 1)),
    }
}

/// Returns the start of the empty line that ends the head; `None` if it has not come.
fn blank_line(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = &bytes[from..];
    let mut feeds = (0..rest.len()).filter(|at| rest[*at] == b'\n');
    let is_last = |at: &usize| matches!(&rest[at + 1..], [b'\n', ..] | [b'\r', b'\n', ..]);
    feeds.find(is_last).map(|at| from + at + 1)
}

fn is_status_line(line: &[u8]) -> bool {
    let mut head = line.to_vec();
    blank_controls(&mut head);
    head.extend_from_slice(b"\r\n\r\n");
    matches!(ResponseHead::parse(&head, &Method::GET), Ok(Some(_)))
}

fn note(malformed_header: &mut Option<Box<str>>, line: &[u8]) {
    malformed_header.get_or_insert_with(|| {
        let text = String::from_utf8_lossy(line);
        let shown = text.chars().take(MAX_SHOWN).collect::<String>();
        shown.escape_debug().to_string().into()
    });
}

fn blank_controls(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().filter(|byte| is_control(**byte)) {
        *byte = b' ';
    }
}

fn is_control(byte: u8) -> bool {
    byte.is_ascii_control() && byte != b'\t'
}

#[cfg(test)]
mod tests {
    use super::super::head::headers;
    use super::*;

    const STATUS: &str = "HTTP/1.1 200 OK\r\n";

    /// Mends a head with these lines, which has to be of the same length, and returns its headers and the malformed
    /// line.
    fn read(lines: &str) -> (Vec<(String, String)>, Option<Box<str>>) {
        let text = format!("{STATUS}{lines}\r\nbody \r\n");
        let MendedHead::Whole(mended, malformed_header) = mended(text.as_bytes()) else {
            panic!("nothing is mended in {lines:?}");
        };
        assert_eq!(mended.len(), text.len());
        assert!(mended.ends_with(b"\r\nbody \r\n"));
        let head = ResponseHead::parse(&mended, &Method::GET).expect("it can be parsed");
        let head = head.expect("it is whole");
        assert_eq!(head.length, text.len() - "body \r\n".len());
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let all = headers(&mended[..head.length]).into_iter();
        (
            all.map(|(name, value)| (name, text(value))).collect(),
            malformed_header,
        )
    }

    #[test]
    fn what_is_no_header_line_is_left_out_with_what_continues_it() {
        let odd = [
            "PHP Warning in line 3",
            "X A: 1",
            ": 1",
            " : 1",
            "Gr\u{f6}\u{df}e: 1",
            "X(A): 1",
            "Set-Cookie: a=\u{1}b",
            "no colon\r\n continued: 1",
            "two\rlines",
        ];
        for lines in odd {
            for before in ["", "a: 1\r\n"] {
                let (all, malformed_header) = read(&format!("{before}{lines}\r\nb: 2\r\n"));
                let mut expected = vec![("b".to_owned(), "2".to_owned())];
                if !before.is_empty() && !lines.starts_with(' ') {
                    expected.insert(0, ("a".to_owned(), "1".to_owned()));
                }
                if before.is_empty() || !lines.starts_with(' ') {
                    assert_eq!(all, expected, "{lines:?}");
                    assert!(malformed_header.is_some(), "{lines:?}");
                }
            }
        }
        let (_, malformed_header) = read("a\u{7}b\r\nc\r\n");
        assert_eq!(malformed_header.as_deref(), Some("a\\u{7}b"));
    }

    #[test]
    fn header_lines_are_read_as_they_are_meant() {
        for (lines, name, value) in [
            ("X-A : 1\r\n", "x-a", "1"),
            ("X-A \t : 1\r\n", "x-a", "1"),
            ("X-A: a\u{1}b\r\n", "x-a", "a b"),
            ("X-A: a\r\n  b\r\n", "x-a", "a    b"),
            ("X-A: a\rX-B: b\r\n", "x-b", "b"),
            ("X-A: a\r\r\n", "x-a", "a"),
        ] {
            let (all, _) = read(lines);
            let found = all.iter().find(|(own, _)| own == name);
            assert_eq!(found.map(|(_, value)| &**value), Some(value), "{lines:?}");
        }
        assert_eq!(read("X-A: a\r\n b\r\n").1, None, "a folded line is not odd");
    }

    #[test]
    fn control_characters_in_the_status_line_are_spaces() {
        let text = "HTTP/1.1 200 a\u{1}b\r\nX-A: 1\r\n\r\n";
        let MendedHead::Whole(mended, malformed_header) = mended(text.as_bytes()) else {
            panic!("it is mended");
        };
        assert_eq!(mended, text.replace('\u{1}', " ").as_bytes());
        assert_eq!(malformed_header.as_deref(), Some("HTTP/1.1 200 a\\u{1}b"));
    }

    #[test]
    fn a_nul_and_what_is_not_http_are_not_mended_and_what_has_not_come_is_waited_for() {
        for text in ["", "HTTP/1.1", "what\r\nX A: 1\r\n\r\n", "220 mail\r\n"] {
            assert_eq!(mended(text.as_bytes()), MendedHead::Nothing, "{text:?}");
        }
        let nul = format!("{STATUS}X A: 1\r\nX-B: \0\r\n\r\n");
        assert_eq!(mended(nul.as_bytes()), MendedHead::Nothing);
        let whole = format!("{STATUS}X A: 1\r\n\r\n");
        for length in STATUS.len()..whole.len() {
            let part = &whole.as_bytes()[..length];
            assert_eq!(mended(part), MendedHead::Partial, "{length}");
        }
        let endless = format!("{STATUS}{}", "odd\r\n".repeat(MAX_HEAD / 5));
        assert_eq!(mended(endless.as_bytes()), MendedHead::Nothing);
        let MendedHead::Whole(once, _) = mended(whole.as_bytes()) else {
            panic!("it is whole");
        };
        assert_eq!(mended(&once), MendedHead::Nothing, "once is enough");
    }
}
