//! What a `<select>` sends. Driven by `controls`.

use super::collapse;
use scraper::{ElementRef, Node};

/// Returns the values of a `<select>` that are sent.
pub(super) fn chosen(select: ElementRef<'_>) -> Vec<String> {
    let options = || {
        select
            .descendent_elements()
            .filter(|e| e.value().name() == "option")
    };
    let selected = |option: &ElementRef<'_>| option.attr("selected").is_some();
    let is_list = select
        .attr("size")
        .and_then(|size| size.parse().ok())
        .unwrap_or(1_u32)
        > 1;
    let chosen: Vec<_> = if select.attr("multiple").is_some() {
        options().filter(selected).collect()
    } else {
        // A page may mark several; the last one wins. A drop-down list always has one chosen.
        let first = || options().find(|option| !is_list && is_enabled(option));
        options()
            .filter(selected)
            .last()
            .or_else(first)
            .into_iter()
            .collect()
    };
    let value = |option: ElementRef<'_>| match option.attr("value") {
        Some(value) => value.to_owned(),
        None => collapse(option.text()),
    };
    chosen.into_iter().filter(is_enabled).map(value).collect()
}

fn is_enabled(option: &ElementRef<'_>) -> bool {
    let group = option.parent().and_then(|parent| match parent.value() {
        Node::Element(element) if element.name() == "optgroup" => element.attr("disabled"),
        _ => None,
    });
    option.attr("disabled").is_none() && group.is_none()
}
