//! The stylesheets that a `<style>` imports; Drupal 7 loads all of its own that way. Driven by `assets`.

use memchr::{memchr, memmem};

/// Returns the addresses of a stylesheet's `@import` rules, as written. They can stand only before all other rules,
/// so reading ends at the first of those.
pub(super) fn imports(style: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = style;
    std::iter::from_fn(move || {
        loop {
            rest = skip_space(rest);
            if let Some(after) = strip_word(rest, b"@import") {
                let (address, after) = address(skip_space(after))?;
                rest = past(after, b';');
                return Some(address);
            }
            strip_word(rest, b"@charset").or(strip_word(rest, b"@layer"))?;
            rest = past(rest, b';');
        }
    })
}

/// Reads `url("a")`, `url(a)` or `"a"`: the address and the rest after it.
fn address(value: &[u8]) -> Option<(&[u8], &[u8])> {
    if let Some(inner) = strip_word(value, b"url(") {
        let inner = inner.trim_ascii_start();
        return match inner.first()? {
            b'"' | b'\'' => quoted(inner),
            _ => {
                let end = memchr(b')', inner)?;
                Some((inner[..end].trim_ascii_end(), &inner[end..]))
            }
        };
    }
    quoted(value)
}

fn quoted(value: &[u8]) -> Option<(&[u8], &[u8])> {
    let (quote @ (b'"' | b'\''), inner) = value.split_first()? else {
        return None;
    };
    let end = memchr(*quote, inner)?;
    Some((&inner[..end], &inner[end + 1..]))
}

/// Skips white space, comments and the `<!--` and `-->` that once hid styles from old browsers.
fn skip_space(mut css: &[u8]) -> &[u8] {
    loop {
        css = css.trim_ascii_start();
        css = if let Some(comment) = css.strip_prefix(b"/*") {
            memmem::find(comment, b"*/").map_or(b"", |end| &comment[end + 2..])
        } else if let Some(after) = css.strip_prefix(b"<!--").or(css.strip_prefix(b"-->")) {
            after
        } else {
            return css;
        };
    }
}

fn strip_word<'a>(css: &'a [u8], word: &[u8]) -> Option<&'a [u8]> {
    let (start, rest) = css.split_at_checked(word.len())?;
    start.eq_ignore_ascii_case(word).then_some(rest)
}

fn past(css: &[u8], byte: u8) -> &[u8] {
    memchr(byte, css).map_or(b"", |at| &css[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::imports;

    fn of(style: &str) -> Vec<String> {
        imports(style.as_bytes())
            .map(|a| String::from_utf8_lossy(a).into_owned())
            .collect()
    }

    #[test]
    fn every_way_to_write_an_import_is_read() {
        let style = "\n<!--\n@charset 'utf-8'; @import url(\"/a.css?x;y\");\n\
            /* @import 'no' */ @IMPORT url( /b.css ) print;\
                     @layer x; @import 'c.css' screen;@import\"d.css\"-->";
        assert_eq!(of(style), ["/a.css?x;y", "/b.css", "c.css", "d.css"]);
    }

    #[test]
    fn imports_after_another_rule_or_cut_short_do_not_count() {
        assert_eq!(of("@import 'a'; p { color: red } @import 'b';"), ["a"]);
        assert_eq!(of("@import 'a'; @import url("), ["a"]);
        assert_eq!(of("@import 'a"), [""; 0]);
        assert_eq!(of("/* @import 'a';"), [""; 0]);
        assert_eq!(of("@imp"), [""; 0]);
    }
}
