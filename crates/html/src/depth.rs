//! Limits on nesting and on attributes, which keep pages made to hurt away from the HTML parser. Driven by `document`.
//!
//! The parser walks its open elements at nearly every tag, and a query walks up from every element: 40,000 nested
//! `<div>` (200 kB) took 3.7 s to parse, and 66,000 nested `<b>` 22 s to query. Browsers stop nesting at 512 elements.
//! It also compares each attribute of a tag with all others: 100,000 of them took 2.6 s.

use super::names::packed;
use super::scan::{Scanner, Tag};

/// The most elements that may be open at once; ten times as many as any page written by people needs.
pub(super) const DEEPEST: usize = 1024;

/// The most attributes of a tag.
pub(super) const MOST_ATTRIBUTES: usize = 2000;

/// Returns the page up to the tag that would nest deeper than [`DEEPEST`] or has more than [`MOST_ATTRIBUTES`], which for
/// nearly every page is all of it. An estimate: elements that need no end tag are not counted.
pub(super) fn shallow(page: &[u8]) -> &[u8] {
    let mut scanner = Scanner::new(page);
    let mut open = Vec::new();
    while let Some(tag) = scanner.tag() {
        if scanner.attributes() > MOST_ATTRIBUTES {
            return &page[..scanner.tag_start()];
        }
        match tag {
            Tag::Start(name) if !ends_by_itself(name) => {
                if open.len() == DEEPEST {
                    return &page[..scanner.tag_start()];
                }
                if !scanner.closes_itself() {
                    open.push(name);
                }
            }
            Tag::Start(_) => {}
            Tag::End(name) => {
                if let Some(at) = open.iter().rposition(|&open| open == name) {
                    if is_inline(name) {
                        open.remove(at); // elements opened in it stay open
                    } else {
                        open.truncate(at);
                    }
                }
            }
        }
    }
    page
}

/// Returns whether an element has no content, or is closed by the next of its kind.
fn ends_by_itself(name: u64) -> bool {
    ENDING.contains(&name)
}

fn is_inline(name: u64) -> bool {
    name == 0 || INLINE.contains(&name)
}

const ENDING: [u64; 29] = names([
    "area", "base", "body", "br", "col", "dd", "dt", "embed", "head", "hr", "html", "img", "input",
    "li", "link", "meta", "optgroup", "option", "p", "param", "source", "tbody", "td", "tfoot",
    "th", "thead", "tr", "track", "wbr",
]);

const INLINE: [u64; 16] = names([
    "a", "b", "big", "code", "em", "font", "i", "label", "nobr", "s", "small", "span", "strike",
    "strong", "tt", "u",
]);

const fn names<const N: usize>(names: [&str; N]) -> [u64; N] {
    let mut numbers = [0; N];
    let mut at = 0;
    while at < N {
        numbers[at] = packed(names[at].as_bytes());
        at += 1;
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::{DEEPEST, MOST_ATTRIBUTES, shallow};
    use crate::fixture;

    #[test]
    fn pages_that_close_what_they_open_are_whole() {
        let many = DEEPEST * 3;
        for page in [
            String::from_utf8_lossy(&fixture::drupal7(2000)).into_owned(),
            "<div><p>a<br><img></div>".repeat(many),
            "<ul>".to_owned() + &"<li>a".repeat(many),
            "<table>".to_owned() + &"<tr><td>a<td><b>b</b>".repeat(many),
            "<div><span></div>".repeat(many),
            "<svg>".to_owned() + &"<path d='M0 0'/>".repeat(many) + "</svg>",
            "<x-element>a</x-element>".repeat(many),
            "<div>".repeat(DEEPEST),
        ] {
            assert_eq!(
                shallow(page.as_bytes()).len(),
                page.len(),
                "{}",
                &page[..40]
            );
        }
    }

    #[test]
    fn a_page_is_cut_at_the_tag_with_too_many_attributes() {
        for tag in ["<p", "<img", "<x-element", "</p"] {
            let page = |count: usize| {
                let attributes: String = (0..count).map(|n| format!(" a{n}='>'")).collect();
                format!("<p>before{tag}{attributes}>after")
            };
            let most = page(MOST_ATTRIBUTES);
            assert_eq!(shallow(most.as_bytes()).len(), most.len(), "{tag}");
            let more = page(MOST_ATTRIBUTES + 1);
            assert_eq!(shallow(more.as_bytes()), b"<p>before", "{tag}");
        }
    }

    #[test]
    fn a_page_is_cut_at_the_tag_that_nests_too_deep() {
        for unit in [
            "<div>",
            "<b>",
            "<div></x>",
            "<b><div></b>",
            "<x-element>",
            "<p><i class=a>",
        ] {
            let page = unit.repeat(DEEPEST + 1);
            let retained_bytes = shallow(page.as_bytes()).len();
            assert_eq!(
                retained_bytes / unit.len(),
                if unit.contains("/b") {
                    DEEPEST - 1
                } else {
                    DEEPEST
                },
                "{unit}"
            );
        }
    }
}
