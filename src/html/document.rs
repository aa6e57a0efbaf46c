//! A page as a tree, for CSS queries. Driven by `response:css()`, `:text()`, `:attr()` and `:form()`, and by
//! `html.parse`. Parsing is some twenty-five times the price of a scan: 620 µs for a 25 kB page that `assets` reads in
//! 22 µs.

use ego_tree::NodeId;
use scraper::error::SelectorErrorKind;
use scraper::{ElementRef, Html};

use super::collapse;
use super::depth::shallow;

/// A CSS selector, or a list of them, ready to be matched.
#[derive(Clone, Debug)]
pub struct Selector(scraper::Selector);

impl Selector {
    /// Reads a selector such as `#user-login input[name]`.
    ///
    /// # Errors
    /// A sentence that quotes the selector and says what is wrong with it.
    pub fn parse(css: &str) -> Result<Self, String> {
        scraper::Selector::parse(css).map(Self).map_err(|error| {
            let reason = match error {
                SelectorErrorKind::EndOfLine => "it ends too early".to_owned(),
                SelectorErrorKind::TooManyNestedBlocks => "it is nested too deeply".to_owned(),
                SelectorErrorKind::UnexpectedSelectorParseError(kind) => {
                    in_words(&format!("{kind:?}"))
                }
                _ => "it holds a character that has no meaning there".to_owned(),
            };
            format!("'{css}' is not a CSS selector: {reason}")
        })
    }
}

/// Returns the parser's name of a mistake as words: `DanglingCombinator` is "dangling combinator".
fn in_words(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

/// One element of a [`Document`]. A key of another document names some element or none; it never panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeKey(NodeId);

/// A parsed page. It stays on the thread that parsed it.
#[derive(Debug)]
pub struct Document(Html);

impl Document {
    /// Parses a page as a browser does; bytes that are not UTF-8 become U+FFFD. Never fails: a body that is no HTML is
    /// a page of text, and one that nests more than about a thousand deep ends there.
    pub fn parse(body: &[u8]) -> Self {
        Self(Html::parse_document(&String::from_utf8_lossy(shallow(
            body,
        ))))
    }

    /// Returns the elements that match, in the order of the page; with `within`, only those inside that element,
    /// which `:scope` then refers to.
    pub fn select(&self, selector: &Selector, within: Option<NodeKey>) -> Vec<NodeKey> {
        let scope = match within {
            Some(key) => self.element(key),
            None => self.root(),
        };
        let Some(scope) = scope else {
            return Vec::new();
        };
        let itself = (within.is_none() && selector.0.matches(&scope)).then_some(scope);
        let inside = scope.select(&selector.0);
        itself
            .into_iter()
            .chain(inside)
            .map(|element| NodeKey(element.id()))
            .collect()
    }

    /// Returns all text inside the element, white space collapsed and trimmed; text of scripts and styles too.
    pub fn text(&self, key: NodeKey) -> String {
        self.element(key)
            .map_or_else(String::new, |element| collapse(element.text()))
    }

    /// Returns the value of an attribute; names of HTML attributes are in lower case.
    pub fn attr(&self, key: NodeKey, name: &str) -> Option<&str> {
        self.element(key)?.attr(name)
    }

    /// Returns every attribute's name and value, in no particular order.
    pub fn attrs(&self, key: NodeKey) -> impl Iterator<Item = (&str, &str)> {
        self.element(key)
            .into_iter()
            .flat_map(|element| element.value().attrs())
    }

    /// Returns the element and its contents as HTML.
    pub fn html(&self, key: NodeKey) -> String {
        self.element(key)
            .map_or_else(String::new, |element| element.html())
    }

    pub(super) fn element(&self, key: NodeKey) -> Option<ElementRef<'_>> {
        self.0.tree.get(key.0).and_then(ElementRef::wrap)
    }

    pub(super) fn key(element: ElementRef<'_>) -> NodeKey {
        NodeKey(element.id())
    }

    /// Returns the page itself as an element: `<html>`.
    pub(super) fn root(&self) -> Option<ElementRef<'_>> {
        self.0.tree.root().children().find_map(ElementRef::wrap)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Document, Selector};
    use crate::html::fixture;

    fn css(text: &str) -> Selector {
        Selector::parse(text).expect("a selector of the test")
    }

    #[test]
    fn elements_are_found_in_page_order_and_within_others() {
        let doc = Document::parse(&fixture::drupal7(3));
        let titles = doc.select(&css(".node h2 a"), None);
        let hrefs: Vec<_> = titles
            .iter()
            .filter_map(|&key| doc.attr(key, "href"))
            .collect();
        assert_eq!(hrefs, ["/node/1", "/node/2", "/node/3"]);
        let second = doc.select(&css(".node:nth-child(5)"), None);
        let within = doc.select(&css("a"), second.first().copied());
        assert_eq!(within.len(), 3);
        assert_eq!(doc.text(within[0]), "Abigo capto damnum 2");
        assert_eq!(
            doc.select(&css(":scope > h2, h2 > a"), second.first().copied())
                .len(),
            2
        );
        assert_eq!(doc.select(&css("html"), None).len(), 1);
        assert_eq!(doc.select(&css("html"), second.first().copied()).len(), 0);
    }

    #[test]
    fn an_element_tells_its_text_attributes_and_html() {
        let doc =
            Document::parse(b"<p id=a class='x y' title='&lt;'>one\n <b>two</b>&nbsp;<br>\xff");
        let p = doc.select(&css("p.y"), None)[0];
        assert_eq!(doc.text(p), "one two\u{a0}\u{fffd}");
        let attrs: BTreeMap<_, _> = doc.attrs(p).collect();
        assert_eq!(
            attrs,
            BTreeMap::from([("class", "x y"), ("id", "a"), ("title", "<")])
        );
        assert_eq!(doc.attr(p, "href"), None);
        assert!(
            doc.html(p)
                .ends_with("one\n <b>two</b>&nbsp;<br>\u{fffd}</p>"),
            "{}",
            doc.html(p)
        );
    }

    #[test]
    fn a_key_of_another_document_is_harmless() {
        let big = Document::parse(&fixture::drupal7(9));
        let keys = big.select(&css("*"), None);
        let small = Document::parse(b"");
        for key in keys {
            let _ = (
                small.text(key),
                small.html(key),
                small.attr(key, "id"),
                small.attrs(key).count(),
            );
            assert!(small.select(&css("a"), Some(key)).is_empty());
        }
    }

    #[test]
    fn a_bad_selector_is_explained() {
        for (css, reason) in [
            ("", "empty selector"),
            ("a >", "dangling combinator"),
            ("a:hover", "unsupported pseudo class or element"),
            ("a[href=", "it ends too early"),
            (
                "#user login)",
                "it holds a character that has no meaning there",
            ),
        ] {
            let expected = format!("'{css}' is not a CSS selector: {reason}");
            assert_eq!(Selector::parse(css).err(), Some(expected));
        }
    }
}
