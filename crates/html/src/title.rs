//! The page's title, found without building a tree. Driven by `expect.title` on every checked request.

use super::address::text_of;
use super::collapse;
use super::entities::decode_text;
use super::scan::{ScannedElement, Scanner};

/// The longest title, in bytes; the rest is left out. Bytes that are not UTF-8 take three times as much once decoded.
const MAX_TITLE: usize = 1 << 20;

/// Returns the text of the page's first `<title>`: entities decoded, white space collapsed and trimmed. `None`
/// without one; a title inside an inline `<svg>`, a comment, a script or a `<template>` is not the page's.
pub fn title(body: &[u8]) -> Option<String> {
    let mut scanner = Scanner::new(body);
    while scanner.next()? != ScannedElement::Title {}
    let text = scanner.text();
    let text = text_of(&text[..text.len().min(MAX_TITLE)]);
    if !scanner.is_whole() {
        return None;
    }
    Some(collapse(std::iter::once(&*decode_text(&text))))
}

#[cfg(test)]
mod tests {
    use super::title;
    use crate::fixture;

    fn of(page: &str) -> Option<String> {
        title(page.as_bytes())
    }

    #[test]
    fn a_title_is_decoded_collapsed_and_trimmed() {
        assert_eq!(
            title(&fixture::drupal7(3)).as_deref(),
            Some("Welcome to Site & Co | Site")
        );
        let page = "<title>\n  Caf&eacute; &mdash;\t a &lt;b&gt;  </title>";
        assert_eq!(of(page).as_deref(), Some("Café — a <b>"));
        assert_eq!(of("<TITLE lang=en>x</Title >").as_deref(), Some("x"));
        assert_eq!(of("<title></title>").as_deref(), Some(""));
    }

    #[test]
    fn only_the_first_title_of_the_page_itself_counts() {
        assert_eq!(of("<title>a</title><title>b</title>").as_deref(), Some("a"));
        assert_eq!(
            of("<!-- <title>no</title> --><title>yes</title>").as_deref(),
            Some("yes")
        );
        let page = "<script>'<title>no</title>'</script><title>yes</title>";
        assert_eq!(of(page).as_deref(), Some("yes"));
        let page = "<body><svg viewBox='0 0 1 1'><title>icon</title></svg><title>page</title>";
        assert_eq!(of(page).as_deref(), Some("page"));
        let page = "<meta content='<title>no</title>'><title>yes</title>";
        assert_eq!(of(page).as_deref(), Some("yes"));
        assert_eq!(of("<template><title>no</title></template>"), None);
        assert_eq!(of("<svg><title>icon</title></svg>"), None);
    }

    #[test]
    fn a_page_without_a_title_or_that_is_no_page_has_none() {
        assert_eq!(of(""), None);
        assert_eq!(of("{\"title\": \"json\"}"), None);
        assert_eq!(of("<title"), None);
        assert_eq!(of("<titles>x</titles>"), None);
        assert_eq!(
            title(b"<title>\xff\xfe</title>").as_deref(),
            Some("\u{fffd}\u{fffd}")
        );
    }
}
