//! Matching of CSS selectors with counted steps. One selector may look at a page's elements again and again
//! (`a ~ b`, `:has`, `:not` within `:not`), inside one call that no hook of Lua's ends.

use html5ever::Namespace;
use scraper::ElementRef;
use scraper::selector::{CssLocalName, CssString, NonTSPseudoClass, Parser, PseudoElement, Simple};
use selectors::attr::{
    AttrSelectorOperation, AttrSelectorOperator, CaseSensitivity, NamespaceConstraint,
};
use selectors::bloom::BloomFilter;
use selectors::matching::{
    self, ElementSelectorFlags, MatchingContext, MatchingForInvalidation, MatchingMode,
    NeedsSelectorFlags, QuirksMode, SelectorCaches,
};
use selectors::parser::{ParseRelative, SelectorList};
use selectors::{Element, OpaqueElement};
use std::cell::Cell;
use std::fmt;

/// The steps between two calls of `go_on`: some tens of microseconds.
pub const STEPS: usize = 4096;

/// Parses a list of selectors.
pub(super) fn parse(css: &str) -> Result<SelectorList<Simple>, scraper::error::SelectorErrorKind> {
    let mut parser = cssparser::Parser::new(css);
    SelectorList::parse(&Parser, &mut parser, ParseRelative::No).map_err(Into::into)
}

/// Returns the elements that match, `scope` itself only with `itself`; `None` as soon as `go_on` returns false, which
/// is called every [`STEPS`] steps.
pub(super) fn select<'a>(
    list: &SelectorList<Simple>,
    scope: ElementRef<'a>,
    itself: bool,
    go_on: &dyn Fn() -> bool,
) -> Option<Vec<ElementRef<'a>>> {
    let steps = SearchSteps {
        remaining: Cell::new(STEPS),
        ended: Cell::new(false),
        go_on,
    };
    let mut caches = SelectorCaches::default();
    let mut found = Vec::new();
    let inside = scope.descendants().filter_map(ElementRef::wrap);
    for element in inside.skip(usize::from(!itself)) {
        let mut context = MatchingContext::new(
            MatchingMode::Normal,
            None,
            &mut caches,
            QuirksMode::NoQuirks,
            NeedsSelectorFlags::No,
            MatchingForInvalidation::No,
        );
        context.scope_element = Some(scope.opaque());
        let counted = CountedElement {
            element,
            steps: &steps,
        };
        let mut each = list.slice().iter();
        if each.any(|one| matching::matches_selector(one, 0, None, &counted, &mut context)) {
            found.push(element);
        }
        if !steps.take(1) {
            return None;
        }
    }
    Some(found)
}

/// The steps that one search has taken.
struct SearchSteps<'s> {
    remaining: Cell<usize>,
    ended: Cell<bool>,
    go_on: &'s dyn Fn() -> bool,
}

impl SearchSteps<'_> {
    /// Counts steps; returns whether the search goes on.
    fn take(&self, steps: usize) -> bool {
        match self.remaining.get().checked_sub(steps) {
            Some(remaining) => self.remaining.set(remaining),
            None => {
                self.remaining.set(STEPS);
                if !(self.go_on)() {
                    self.ended.set(true);
                }
            }
        }
        !self.ended.get()
    }
}

/// An element whose neighbours are counted as they are looked at. Once the search has ended it has none.
#[derive(Clone)]
struct CountedElement<'a, 's> {
    element: ElementRef<'a>,
    steps: &'s SearchSteps<'s>,
}

impl fmt::Debug for CountedElement<'_, '_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.element.fmt(out)
    }
}

impl<'a, 's> CountedElement<'a, 's> {
    fn first(
        &self,
        mut nodes: impl Iterator<Item = ego_tree::NodeRef<'a, scraper::Node>>,
    ) -> Option<Self> {
        let element = nodes.find_map(|node| {
            if self.steps.take(1) {
                ElementRef::wrap(node).map(Some)
            } else {
                Some(None)
            }
        })??;
        Some(CountedElement {
            element,
            steps: self.steps,
        })
    }
}

/// The bytes of an attribute that are compared at once where upper and lower case do not matter.
const CHUNK_BYTES: usize = 16 << 10;

/// Returns the text that `[name*="text" i]` looks for; `None` for any other operation.
fn part_in_any_case<'o>(operation: &'o AttrSelectorOperation<&'o CssString>) -> Option<&'o str> {
    match operation {
        AttrSelectorOperation::WithValue {
            operator: AttrSelectorOperator::Substring,
            case_sensitivity: CaseSensitivity::AsciiCaseInsensitive,
            value,
        } => Some(value.as_ref()),
        _ => None,
    }
}

impl CountedElement<'_, '_> {
    /// Returns whether a long value contains a text. The library compares them at each place, which takes time in
    /// proportion to the product of both lengths.
    fn contains_in_any_case(&self, value: &[u8], part: &[u8]) -> bool {
        if part.is_empty() || part.len() > value.len() {
            return false;
        }
        let part = part.to_ascii_lowercase();
        let finder = memchr::memmem::Finder::new(&part);
        let chunk = CHUNK_BYTES.max(part.len());
        (0..value.len()).step_by(chunk).any(|from| {
            let to = value.len().min(from + chunk + part.len() - 1);
            self.steps.take((to - from) / 64)
                && finder.find(&value[from..to].to_ascii_lowercase()).is_some()
        })
    }
}

impl Element for CountedElement<'_, '_> {
    type Impl = Simple;

    fn opaque(&self) -> OpaqueElement {
        self.element.opaque()
    }

    fn parent_element(&self) -> Option<Self> {
        // The parent of an element is one, or the page.
        self.first(self.element.parent().into_iter())
    }

    fn prev_sibling_element(&self) -> Option<Self> {
        self.first(self.element.prev_siblings())
    }

    fn next_sibling_element(&self) -> Option<Self> {
        self.first(self.element.next_siblings())
    }

    fn first_element_child(&self) -> Option<Self> {
        self.first(self.element.children())
    }

    fn attr_matches(
        &self,
        namespace: &NamespaceConstraint<&Namespace>,
        name: &CssLocalName,
        operation: &AttrSelectorOperation<&CssString>,
    ) -> bool {
        // Values may be long, and are looked at as a whole.
        let value = self.element.attr(&name.0).unwrap_or_default();
        if !self.steps.take(value.len() / 64) {
            return false;
        }
        match part_in_any_case(operation) {
            Some(part) if value.len() > CHUNK_BYTES => {
                let exists = AttrSelectorOperation::Exists;
                self.element.attr_matches(namespace, name, &exists)
                    && self.contains_in_any_case(value.as_bytes(), part.as_bytes())
            }
            _ => self.element.attr_matches(namespace, name, operation),
        }
    }

    fn is_empty(&self) -> bool {
        self.element.is_empty()
    }

    fn is_same_type(&self, other: &Self) -> bool {
        self.element.is_same_type(&other.element)
    }

    fn has_local_name(&self, name: &CssLocalName) -> bool {
        self.element.has_local_name(name)
    }

    fn has_namespace(&self, namespace: &Namespace) -> bool {
        self.element.has_namespace(namespace)
    }

    fn has_id(&self, id: &CssLocalName, case: CaseSensitivity) -> bool {
        self.element.has_id(id, case)
    }

    fn has_class(&self, name: &CssLocalName, case: CaseSensitivity) -> bool {
        self.element.has_class(name, case)
    }

    fn is_root(&self) -> bool {
        self.element.is_root()
    }

    fn is_link(&self) -> bool {
        self.element.is_link()
    }

    fn is_html_element_in_html_document(&self) -> bool {
        self.element.is_html_element_in_html_document()
    }

    fn is_html_slot_element(&self) -> bool {
        self.element.is_html_slot_element()
    }

    fn parent_node_is_shadow_root(&self) -> bool {
        false
    }

    fn containing_shadow_host(&self) -> Option<Self> {
        None
    }

    fn is_pseudo_element(&self) -> bool {
        false
    }

    fn match_non_ts_pseudo_class(
        &self,
        _: &NonTSPseudoClass,
        _: &mut MatchingContext<'_, Simple>,
    ) -> bool {
        false
    }

    fn match_pseudo_element(&self, _: &PseudoElement, _: &mut MatchingContext<'_, Simple>) -> bool {
        false
    }

    fn apply_selector_flags(&self, _: ElementSelectorFlags) {}

    fn has_custom_state(&self, _: &CssLocalName) -> bool {
        false
    }

    fn imported_part(&self, _: &CssLocalName) -> Option<CssLocalName> {
        None
    }

    fn is_part(&self, _: &CssLocalName) -> bool {
        false
    }

    fn add_element_unique_hashes(&self, _: &mut BloomFilter) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scraper::Html;

    const SELECTORS: [&str; 12] = [
        "p",
        "p ~ p",
        "p + p",
        "div > p.x[title^=a]",
        ":has(b)",
        ":not(p):not(:has(p))",
        "p:nth-child(2n+1)",
        "b:nth-last-of-type(1)",
        ":scope > body",
        ":is(div p, #y)",
        ":empty",
        "html, body *",
    ];

    #[test]
    fn counted_matching_finds_what_the_library_finds() {
        let page = Html::parse_document(
            "<div><p>a<p class='x y' title=abc>b<b id=y>c</b></div><div><b></b><p>d<i><!-- --></i><b>e</b></div>",
        );
        for css in SELECTORS {
            let list = parse(css).expect(css);
            let found = select(&list, page.root_element(), false, &|| true).expect(css);
            let selector = scraper::Selector::parse(css).expect(css);
            let expected: Vec<_> = page.root_element().select(&selector).collect();
            assert_eq!(found, expected, "{css}");
            assert!(!found.is_empty(), "{css} matches something here");
        }
    }

    #[test]
    fn a_long_attribute_is_searched_in_any_case() {
        let long = format!(
            "{}Bc{}D{}",
            "a".repeat(CHUNK_BYTES - 1),
            "e".repeat(CHUNK_BYTES),
            "f".repeat(9)
        );
        let page = Html::parse_document(&format!("<p title='{long}'>"));
        for (css, found) in [
            (r#"[title*="abC" i]"#.to_owned(), 1),
            (format!(r#"[title*="b{}" i]"#, &long[CHUNK_BYTES..]), 1),
            (format!(r#"[title*="{long}" i]"#), 1),
            (r#"[title*="df" i]"#.to_owned(), 1),
            (r#"[title*="abd" i]"#.to_owned(), 0),
            (r#"[title*="" i]"#.to_owned(), 0),
            (r#"[lang*="abc" i]"#.to_owned(), 0),
            (format!(r#"[title*="{long}x" i]"#), 0),
        ] {
            let list = parse(&css).expect("it is valid");
            let matches = select(&list, page.root_element(), true, &|| true);
            assert_eq!(matches.expect("it goes on").len(), found);
            let selector = scraper::Selector::parse(&css).expect("it is valid");
            assert_eq!(page.root_element().select(&selector).count(), found);
        }
    }

    #[test]
    fn a_search_that_may_not_go_on_ends() {
        let page = Html::parse_document(&"<a></a>".repeat(20_000));
        for css in [
            "b ~ a ~ a ~ a",
            ":has(~ b)",
            ":not(a ~ :not(a ~ :not(b ~ a)))",
        ] {
            let steps = Cell::new(0);
            let go_on = || {
                steps.set(steps.get() + 1);
                steps.get() < 3
            };
            let list = parse(css).expect(css);
            assert_eq!(select(&list, page.root_element(), true, &go_on), None);
            assert_eq!(steps.get(), 3, "{css}");
        }
    }
}
