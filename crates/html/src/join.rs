//! Joining of an address as a page writes it to its base, unless it names a host that cannot be one: a browser's
//! conversion of a name with other letters than ASCII's takes time in the square of its length. Driven by `address` and
//! `forms`.

use url::Url;

/// The longest host with its port, in characters: no name of DNS is longer than 253, and a port has five digits.
const LONGEST_HOST: usize = 253 + 6;

/// Returns the URL of `raw` on a page at `base`; `None` if it is not a URL, or if its host is too long for one.
pub(super) fn join(base: &Url, raw: &str) -> Option<Url> {
    if host(raw).chars().nth(LONGEST_HOST).is_some() {
        return None;
    }
    base.join(raw).ok()
}

/// Returns the host that an address may name, port included: empty for most that are relative, and for schemes whose
/// hosts are taken as they are.
pub(super) fn host(raw: &str) -> &str {
    const AUTHORITY_ENDS: [char; 4] = ['/', '\\', '?', '#'];
    let is_slash = |c: char| matches!(c, '/' | '\\');
    let raw = raw.trim_start_matches(|c: char| c <= ' ');
    let first = raw.find(AUTHORITY_ENDS).unwrap_or(raw.len());
    let (has_scheme, rest) = match raw[..first].find(':') {
        Some(colon) if !is_of_web(&raw[..colon]) => return "",
        Some(colon) => (true, &raw[colon + 1..]),
        None => (false, raw),
    };
    let authority = rest.trim_start_matches(|c| is_slash(c) || is_skipped(c));
    let before = &rest[..rest.len() - authority.len()];
    if !has_scheme && before.chars().filter(|c| is_slash(*c)).count() < 2 {
        return "";
    }
    let authority = authority.split(AUTHORITY_ENDS).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}

/// Returns whether hosts of a scheme are names of DNS.
fn is_of_web(scheme: &str) -> bool {
    let letters = || scheme.chars().filter(|c| !is_skipped(*c));
    let is = |name: &str| letters().map(|c| c.to_ascii_lowercase()).eq(name.chars());
    ["http", "https", "ftp", "ws", "wss", "file"]
        .iter()
        .any(|name| is(name))
}

/// Returns whether browsers skip a character wherever it stands.
fn is_skipped(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_an_address_is_found_where_a_browser_finds_it() {
        for (raw, expected) in [
            ("//a.ex/b", "a.ex"),
            ("/\t/a.ex", "a.ex"),
            (" //a.ex", "a.ex"),
            ("/\ta.ex", ""),
            ("\\\\a.ex\\b", "a.ex"),
            ("ht\ntp:a.ex?b", "a.ex"),
            ("https:///u:p@é.ex:8080#b", "é.ex:8080"),
            ("/a:b/c", ""),
            ("a/b:c", ""),
            ("?a=http://b", ""),
            ("mailto:a@b.ex", ""),
            ("", ""),
        ] {
            assert_eq!(host(raw), expected, "{raw:?}");
        }
    }

    #[test]
    fn a_host_that_is_too_long_is_none() {
        let base = Url::parse("http://site/").expect("a URL");
        let named = |letters| format!("http://{}:65535/", "é".repeat(letters));
        assert!(join(&base, &named(LONGEST_HOST - 6)).is_some());
        assert_eq!(join(&base, &named(LONGEST_HOST - 5)), None);
        let path = format!("/{}", "é".repeat(10_000));
        assert!(join(&base, &path).is_some());
    }
}
