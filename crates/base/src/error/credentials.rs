//! User names and passwords in URLs, which are never shown.

use std::borrow::Cow;
use std::ops::Range;

/// Returns a URL with `***` in place of each user name and password in it; any other text as it is.
pub fn masked_url(url: &str) -> Cow<'_, str> {
    masked(url, &AUTHORITY_ENDS)
}

/// Returns a line of a plan with `***` in place of each user name and password of the URLs in it, and of the addresses without
/// a scheme.
pub(super) fn masked_line(line: &str) -> Cow<'_, str> {
    let shown = masked(line, &[&AUTHORITY_ENDS[..], &['"', '\'']].concat());
    match bare_credentials(&shown) {
        Some(range) => format!("{}***{}", &shown[..range.start], &shown[range.end..]).into(),
        None => shown,
    }
}

/// Returns the place of a name and a password before an '@' in a text in quotes, as in `"name:password@host"`.
fn bare_credentials(line: &str) -> Option<Range<usize>> {
    let mut from = 0;
    for part in line.split_inclusive(['"', '\'', ' ']) {
        let at = part.rfind('@');
        let named = at.is_some_and(|at| part[..at].contains(':') && !part[..at].ends_with("***"));
        if let Some(at) = at.filter(|_| named) {
            return Some(from..from + at);
        }
        from += part.len();
    }
    None
}

/// Returns an address or a URL that was refused with `***` in place of all that stands before its last '@': it may lack its
/// scheme, and a password with a '/' or another character that should have been escaped is a usual reason for the refusal.
pub fn masked_address(text: &str) -> Cow<'_, str> {
    let Some((before, rest)) = text.rsplit_once('@') else {
        return text.into();
    };
    match before.split_once("://") {
        Some((scheme, _)) => format!("{scheme}://***@{rest}").into(),
        None => format!("***@{rest}").into(),
    }
}

/// Splits a URL into the part before its credentials, these, and the part behind their '@'; `None` if it has none.
pub fn split_credentials(url: &str) -> Option<(&str, &str, &str)> {
    let authority = authority(url, 0, &AUTHORITY_ENDS)?;
    let at = authority.start + url[authority.clone()].rfind('@')?;
    Some((
        &url[..authority.start],
        &url[authority.start..at],
        &url[at + 1..],
    ))
}

/// The characters that end the authority of a URL.
const AUTHORITY_ENDS: [char; 4] = ['/', '?', '#', '\\'];

/// Returns the next authority of a URL in a text: the part between two slashes and one of `ends`. As browsers read
/// them, '\\' is a slash, and there may be more than two.
fn authority(text: &str, from: usize, ends: &[char]) -> Option<Range<usize>> {
    let is_slash = |byte: &u8| matches!(byte, b'/' | b'\\');
    let bytes = &text.as_bytes()[from..];
    let slashes = bytes
        .windows(2)
        .position(|pair| pair.iter().all(is_slash))?;
    let count = bytes[slashes..].iter().take_while(|byte| is_slash(byte));
    let start = from + slashes + count.count();
    let length = text[start..].find(ends).unwrap_or(text.len() - start);
    Some(start..start + length)
}

fn masked<'a>(text: &'a str, ends: &[char]) -> Cow<'a, str> {
    let mut shown = String::new();
    let mut copied = 0;
    let mut from = 0;
    while let Some(authority) = authority(text, from, ends) {
        if let Some(at) = text[authority.clone()].rfind('@') {
            shown += &text[copied..authority.start];
            shown += "***";
            copied = authority.start + at;
        }
        from = authority.end;
    }
    match copied {
        0 => text.into(),
        _ => (shown + &text[copied..]).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_a_url_are_masked() {
        for (url, masked) in [
            (
                "https://ada:secret@host/path?a@b",
                "https://***@host/path?a@b",
            ),
            ("https://token@host", "https://***@host"),
            ("//ada:s@cret@host#x", "//***@host#x"),
            ("http:\\\\ada:secret@host\\x", "http:\\\\***@host\\x"),
            ("http:/\\ada:secret@host", "http:/\\***@host"),
            ("https:///ada:secret@host/", "https:///***@host/"),
            (
                "http://http:\\\\ada:secret@host",
                "http://http:\\\\***@host",
            ),
            (
                "http://a/?to=http://ada:secret@b/&or=//bob:secret@c",
                "http://a/?to=http://***@b/&or=//***@c",
            ),
            (
                "https://host/mail@example.org",
                "https://host/mail@example.org",
            ),
            ("/path/a@b", "/path/a@b"),
            ("me@host", "me@host"),
            ("http://", "http://"),
            ("//@", "//***@"),
        ] {
            assert_eq!(masked_url(url), masked);
        }
        let parts = Some(("http://", "ada:secret", "host/a//b@c"));
        assert_eq!(split_credentials("http://ada:secret@host/a//b@c"), parts);
        assert_eq!(split_credentials("http://host/a//b@c"), None);
    }

    #[test]
    fn credentials_in_a_line_of_a_plan_are_masked() {
        for (line, masked) in [
            (
                "plan { proxy = \"http://me:secret@h:1\", host = 'ftp://me:secret@h' } -- a@b",
                "plan { proxy = \"http://***@h:1\", host = 'ftp://***@h' } -- a@b",
            ),
            (
                "local mail = \"http://h\" .. '/a@b'",
                "local mail = \"http://h\" .. '/a@b'",
            ),
            ("user:get \"/@me\"", "user:get \"/@me\""),
        ] {
            assert_eq!(masked_line(line), masked);
        }
    }

    #[test]
    fn nothing_that_may_be_a_password_is_shown_of_a_refused_address() {
        for (url, shown) in [
            ("http://me:secret@host:99999", "http://***@host:99999"),
            ("me:secret@host:99999", "***@host:99999"),
            ("http://me:sec/ret@host", "http://***@host"),
            ("http://me:s@cret#@host", "http://***@host"),
            ("http:/me:secret@host", "***@host"),
            ("secret@", "***@"),
            ("ftp://host", "ftp://host"),
        ] {
            assert_eq!(masked_address(url), shown);
        }
    }
}
