//! The entries of a `<select>`. Driven by `controls`.

use super::collapse;
use scraper::{ElementRef, Node};

/// Returns the values of a `<select>` that are sent.
pub(super) fn chosen(select: ElementRef<'_>) -> Vec<String> {
    let options = || {
        let all = select.descendent_elements();
        all.filter(|element| is_option(element) && !around(*element, select).any(|e| is_option(&e)))
    };
    let selected = |option: &ElementRef<'_>| option.attr("selected").is_some();
    let enabled = |option: &ElementRef<'_>| is_enabled(*option, select);
    let chosen: Vec<_> = if select.attr("multiple").is_some() {
        options().filter(selected).collect()
    } else {
        // A page may mark several; the last one wins. A drop-down list always has one chosen.
        let first = || options().find(|option| rows(select) == 1 && enabled(option));
        let last = options().filter(selected).last();
        last.or_else(first).into_iter().collect()
    };
    let value = |option: ElementRef<'_>| match option.attr("value") {
        Some(value) => value.to_owned(),
        None => text(option),
    };
    chosen.into_iter().filter(enabled).map(value).collect()
}

/// Returns the number of rows that a `<select>` of one choice shows: the number at the beginning of its `size`, if
/// there is one.
fn rows(select: ElementRef<'_>) -> u32 {
    let size = select.attr("size").unwrap_or_default();
    let size = size.trim_start_matches(|character: char| character.is_ascii_whitespace());
    let size = size.strip_prefix('+').unwrap_or(size);
    let end = size
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(size.len());
    size[..end]
        .parse()
        .ok()
        .filter(|rows| *rows > 0)
        .unwrap_or(1)
}

/// Returns the text of an option, without that of scripts in it.
fn text(option: ElementRef<'_>) -> String {
    let texts = option.descendants().filter_map(|node| {
        let parent = node.parent().and_then(ElementRef::wrap);
        match node.value() {
            Node::Text(text) if parent.is_none_or(|e| e.value().name() != "script") => {
                Some(&**text)
            }
            _ => None,
        }
    });
    collapse(texts)
}

fn is_option(element: &ElementRef<'_>) -> bool {
    element.value().name() == "option"
}

/// Returns the elements around one, up to its `<select>`.
fn around<'a>(
    element: ElementRef<'a>,
    select: ElementRef<'a>,
) -> impl Iterator<Item = ElementRef<'a>> {
    let all = element.ancestors().filter_map(ElementRef::wrap);
    all.take_while(move |outer| *outer != select)
}

fn is_enabled(option: ElementRef<'_>, select: ElementRef<'_>) -> bool {
    let mut groups = around(option, select).filter(|e| e.value().name() == "optgroup");
    option.attr("disabled").is_none() && groups.all(|group| group.attr("disabled").is_none())
}
