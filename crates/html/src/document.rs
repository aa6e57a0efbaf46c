//! A page as a tree, for CSS queries. Driven by `response:css()`, `:text()`, `:attr()` and `:form()`, and by
//! `html.parse`. Parsing is some twenty-five times the price of a scan: 620 µs for a 25 kB page that `assets` reads in
//! 22 µs.

use ego_tree::NodeId;
use ego_tree::iter::Edge;
use encoding_rs::{Encoding, UTF_8};
use html5ever::ParseOpts;
use html5ever::serialize::{SerializeOpts, TraversalScope};
use html5ever::tendril::{StrTendril, TendrilSink as _};
use scraper::error::SelectorErrorKind;
use scraper::selector::Simple;
use scraper::{ElementRef, Html};
use selectors::parser::SelectorList;
use std::io::{self, Write};

use super::address::text_of;
use super::depth::{DEEPEST, shallow};
use super::referrer_policy::ReferrerPolicy;
use super::sink::{DistantForms, PageSink};
use super::weight::{ATTRIBUTE_BYTES, LONGEST_PIECE, TreeWeight};
use super::xml::{self, XmlFault};
use super::{collapse, matching};

/// A CSS selector, or a list of them, ready to be matched.
#[derive(Clone, Debug)]
pub struct Selector(SelectorList<Simple>);

impl Selector {
    /// Reads a selector such as `#user-login input[name]`.
    ///
    /// # Errors
    /// A sentence that quotes the selector and names the problem.
    pub fn parse(css: &str) -> Result<Self, String> {
        matching::parse(css).map(Self).map_err(|error| {
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
pub struct Document {
    page: Html,
    distant: DistantForms,
    weight: usize,
    encoding: &'static Encoding,
}

/// The memory that the elements of a page make of one piece of it, at most, before their weight is looked at.
const PIECE_BYTES: usize = 16 << 20;

impl Document {
    /// Parses a page as a browser does; bytes that are not UTF-8 become U+FFFD. A body that is not HTML is a page of
    /// text, and one that nests more than about a thousand deep ends there. `None` if the tree would take more than
    /// about `most_bytes`: elements left open are opened again in each paragraph, so that 250 KB may make 5 GB.
    pub fn parse_within(body: &[u8], most_bytes: usize) -> Option<Self> {
        Self::parse_while(body, most_bytes, &mut |_| true)
    }

    /// The same; also `None` as soon as `go_on` returns false, which is called after each piece with its length in
    /// bytes.
    pub fn parse_while(
        body: &[u8],
        most_bytes: usize,
        go_on: &mut dyn FnMut(usize) -> bool,
    ) -> Option<Self> {
        let mut parser = html5ever::parse_document(PageSink::new(), ParseOpts::default());
        let mut scale = TreeWeight::default();
        let mut fed = 0;
        let mut bytes = shallow(body);
        let mut is_deep = false;
        while !bytes.is_empty() && !is_deep {
            // Bytes that are not text take three times as much as text.
            let (part, more) = bytes.split_at(part_end(bytes));
            let text = text_of(part);
            let mut rest = &*text;
            while !rest.is_empty() && !is_deep {
                let end = piece_end(rest, fed);
                parser.process(StrTendril::from_slice(&rest[..end]));
                (rest, fed) = (&rest[end..], fed + end);
                let tree = parser.tokenizer.sink.sink.tree();
                if scale.weigh(&tree) > most_bytes || !go_on(end) {
                    return None;
                }
                // A nesting that `shallow` has not foreseen: the page ends here, too.
                is_deep = depth_of_last(&tree) > 2 * DEEPEST;
            }
            bytes = more;
        }
        let (page, distant) = parser.finish();
        let weight = scale.weigh(&page) + distant.capacity() * 3 * size_of::<NodeId>();
        (weight <= most_bytes).then_some(Self {
            page,
            distant,
            weight,
            encoding: UTF_8,
        })
    }

    /// Parses an XML document of at most about `most_bytes`. `go_on` is called now and then, with the length of the
    /// text that was read since, and returns whether to go on.
    ///
    /// # Errors
    /// The problem with it, that it is too large, or that `go_on` returned false.
    pub fn parse_xml_while(
        text: &str,
        most_bytes: usize,
        go_on: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Self, XmlFault> {
        let (page, weight) = xml::tree_of(text, most_bytes, go_on)?;
        Ok(Self {
            page,
            distant: DistantForms::default(),
            weight,
            encoding: UTF_8,
        })
    }

    /// Returns the memory that the tree takes, in bytes, as far as it can be estimated from outside.
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// Parses a page of any size.
    pub fn parse(body: &[u8]) -> Self {
        Self::parse_within(body, usize::MAX).expect("there is no limit")
    }

    /// Returns the elements that match, in the order of the page; with `within`, only those inside that element, which
    /// `:scope` then refers to. `None` as soon as `go_on` returns false, which is called every
    /// [`STEPS`](matching::STEPS) steps.
    pub fn select_while(
        &self,
        selector: &Selector,
        within: Option<NodeKey>,
        go_on: &dyn Fn() -> bool,
    ) -> Option<Vec<NodeKey>> {
        let scope = match within {
            Some(key) => self.element(key),
            None => self.root(),
        };
        let Some(scope) = scope else {
            return Some(Vec::new());
        };
        let found = matching::select(&selector.0, scope, within.is_none(), go_on)?;
        Some(found.into_iter().map(Self::key).collect())
    }

    /// Returns the elements that match, however long it takes to find them.
    pub fn select(&self, selector: &Selector, within: Option<NodeKey>) -> Vec<NodeKey> {
        let found = self.select_while(selector, within, &|| true);
        found.expect("it may go on")
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

    /// Returns the element and its contents as HTML, or its first `most` bytes or a little less, and whether that is
    /// all. `go_on` is called for each piece that is written: the library looks from each character that it escapes to
    /// the end of the text for the next.
    pub fn html_while(
        &self,
        key: NodeKey,
        most: usize,
        go_on: &mut dyn FnMut() -> bool,
    ) -> (String, bool) {
        let mut html = LimitedHtml {
            bytes: Vec::new(),
            most,
            go_on,
        };
        let is_whole = self.element(key).is_none_or(|element| {
            let opts = SerializeOpts {
                traversal_scope: TraversalScope::IncludeNode,
                scripting_enabled: false,
                create_missing_parent: false,
            };
            html5ever::serialize(&mut html, &element, opts).is_ok()
        });
        let mut bytes = html.bytes;
        if let Err(cut) = str::from_utf8(&bytes) {
            bytes.truncate(cut.valid_up_to());
        }
        (String::from_utf8(bytes).unwrap_or_default(), is_whole)
    }

    /// Returns the element and its contents as HTML.
    pub fn html(&self, key: NodeKey) -> String {
        self.html_while(key, usize::MAX, &mut || true).0
    }

    pub(super) fn element(&self, key: NodeKey) -> Option<ElementRef<'_>> {
        self.page.tree.get(key.0).and_then(ElementRef::wrap)
    }

    pub(super) fn key(element: ElementRef<'_>) -> NodeKey {
        NodeKey(element.id())
    }

    /// Returns the form of a control that stands outside of it without naming it.
    pub(super) fn distant_form(&self, control: ElementRef<'_>) -> Option<ElementRef<'_>> {
        let form = self.distant.get(&control.id())?;
        self.page.tree.get(*form).and_then(ElementRef::wrap)
    }

    /// Returns whether a form has such controls.
    pub(super) fn is_distant(&self, form: ElementRef<'_>) -> bool {
        self.distant.values().any(|id| *id == form.id())
    }

    /// Returns the character set of the page, which is that of its forms.
    pub(super) fn encoding(&self) -> &'static Encoding {
        self.encoding
    }

    /// Sets the character set that the page came in, UTF-8 by default: its forms are sent in it.
    #[must_use]
    pub fn in_encoding(self, encoding: &'static Encoding) -> Document {
        Document { encoding, ..self }
    }

    /// Returns the elements of the page in their order, without those in a `<template>`.
    pub(super) fn elements(&self) -> impl Iterator<Item = ElementRef<'_>> {
        let mut templates = 0;
        let edges = self.root().into_iter().flat_map(|root| root.traverse());
        edges.filter_map(move |edge| {
            let (Edge::Open(node) | Edge::Close(node)) = edge;
            let element = ElementRef::wrap(node)?;
            let is_template = element.value().name() == "template";
            match edge {
                Edge::Open(_) => {
                    let is_shown = templates == 0;
                    templates += usize::from(is_template);
                    is_shown.then_some(element)
                }
                Edge::Close(_) => {
                    templates -= usize::from(is_template);
                    None
                }
            }
        })
    }

    /// Returns the page itself as an element: `<html>`.
    pub(super) fn root(&self) -> Option<ElementRef<'_>> {
        self.page.tree.root().children().find_map(ElementRef::wrap)
    }

    /// Returns the page's referrer policy: its last `<meta name=referrer>` that is understood.
    pub fn referrer_policy(&self) -> Option<ReferrerPolicy> {
        let metas = self
            .elements()
            .filter(|element| element.value().name() == "meta");
        let policies = metas.filter(|meta| {
            let name = meta.attr("name");
            name.is_some_and(|name| name.eq_ignore_ascii_case("referrer"))
        });
        policies
            .filter_map(|meta| ReferrerPolicy::of_page(meta.attr("content")?))
            .last()
    }
}

/// HTML as it is written, until there is enough of it.
struct LimitedHtml<'a> {
    bytes: Vec<u8>,
    most: usize,
    go_on: &'a mut dyn FnMut() -> bool,
}

impl Write for LimitedHtml<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let room = self.most.saturating_sub(self.bytes.len());
        if room < piece.len() || !(self.go_on)() {
            self.bytes
                .extend_from_slice(&piece[..room.min(piece.len())]);
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns in how many elements the node stands that was made last, which is where the parser is.
fn depth_of_last(page: &Html) -> usize {
    let last = page.tree.nodes().next_back();
    last.map_or(0, |node| node.ancestors().count())
}

/// Returns the length of the next bytes to read as text, which end with a character.
fn part_end(bytes: &[u8]) -> usize {
    const LONGEST_CHARACTER: usize = 4;
    if bytes.len() <= LONGEST_PIECE {
        return bytes.len();
    }
    let ends = LONGEST_PIECE - LONGEST_CHARACTER..=LONGEST_PIECE;
    let starts_one = |end: &usize| (bytes[*end] as i8) >= -0x40;
    ends.rev().find(starts_one).unwrap_or(LONGEST_PIECE)
}

/// Returns the length of the next piece to parse: each tag in it may open everything again that was left open in the
/// `fed` bytes before it, with all attributes.
fn piece_end(rest: &str, fed: usize) -> usize {
    const LEAST: usize = 256 << 10;
    let rest = &rest[..rest.floor_char_boundary(LONGEST_PIECE)];
    let most_tags = PIECE_BYTES / (LEAST + fed * ATTRIBUTE_BYTES / 2) + 1;
    memchr::memchr_iter(b'<', rest.as_bytes())
        .nth(most_tags)
        .unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Document, Selector};
    use crate::fixture;

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
    fn an_element_has_its_text_attributes_and_html() {
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

    /// Elements that need no end tag elsewhere, or hold raw text elsewhere, nest in drawings and formulas.
    #[test]
    fn a_page_of_foreign_elements_ends_where_it_nests_too_deep() {
        for (before, unit) in [
            ("<svg>", "<td>"),
            ("<svg>", "<option>"),
            ("<math>", "<input>"),
            ("<body><form><svg><style>", "<g>"),
            ("<math><title>", "<mi>"),
        ] {
            let page = before.to_owned() + &unit.repeat(60_000);
            let document = Document::parse(page.as_bytes());
            let all = document.select(&css("*"), None).len();
            assert!((1_000..3_000).contains(&all), "{before}{unit}: {all}");
            let none = document.select(&css("body:has(.error)"), None);
            assert!(none.is_empty());
        }
    }

    /// Weighing each node more than once would take minutes here.
    #[test]
    fn a_page_of_many_elements_is_parsed_piece_by_piece() {
        let page = "<table>".to_owned() + &"<tr><td><a href=x>1</a><td>2".repeat(12_000);
        let document = Document::parse(page.as_bytes());
        assert_eq!(document.select(&css("td > a[href]"), None).len(), 12_000);
        assert!(document.weight() > page.len());
        assert!(Document::parse_within(page.as_bytes(), page.len()).is_none());
    }
}
