//! The direction of text, as `dirname` sends it: "the directionality" of the HTML standard
//! (<https://html.spec.whatwg.org/multipage/dom.html#the-directionality>). Driven by `controls` and `value`.

use ego_tree::NodeId;
use icu_properties::CodePointMapData;
use icu_properties::props::BidiClass;
use scraper::ElementRef;
use std::collections::HashMap;

/// The direction of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// It is set by the page.
    Fixed(&'static str),
    /// It is that of the value.
    OfValue,
}

/// Finds the directions of controls of one page. Looks through the text of an element with `dir=auto` once, however many
/// controls stand in it.
#[derive(Default)]
pub(super) struct Directions(HashMap<NodeId, &'static str>);

impl Directions {
    /// Returns the direction of a control.
    pub(super) fn of_control(&mut self, control: ElementRef<'_>, is_telephone: bool) -> Direction {
        match named(control) {
            Some("auto") => return Direction::OfValue,
            Some(direction) => return Direction::Fixed(direction),
            None if is_telephone => return Direction::Fixed("ltr"),
            None => {}
        }
        let around = control.ancestors().filter_map(ElementRef::wrap);
        let mut around = around.filter_map(|element| Some((element, named(element)?)));
        Direction::Fixed(match around.next() {
            Some((element, "auto")) => {
                let known = self.0.entry(element.id());
                known.or_insert_with(|| of_contents(element))
            }
            Some((_, direction)) => direction,
            None => "ltr",
        })
    }
}

/// Returns `rtl` if the first letter with a direction is written from right to left, else `ltr`.
pub(super) fn of_text(text: &str) -> &'static str {
    strong(text).unwrap_or("ltr")
}

fn strong(text: &str) -> Option<&'static str> {
    let classes = CodePointMapData::<BidiClass>::new();
    text.chars()
        .find_map(|character| match classes.get(character) {
            BidiClass::LeftToRight => Some("ltr"),
            BidiClass::RightToLeft | BidiClass::ArabicLetter => Some("rtl"),
            _ => None,
        })
}

/// Returns the direction of the text in an element, without elements that have their own.
fn of_contents(element: ElementRef<'_>) -> &'static str {
    let has_own = |inner: ElementRef<'_>| {
        named(inner).is_some()
            || matches!(
                inner.value().name(),
                "bdi" | "script" | "style" | "textarea"
            )
    };
    let mut next = element.first_child();
    while let Some(node) = next {
        if let Some(direction) = node.value().as_text().and_then(|text| strong(text)) {
            return direction;
        }
        let is_open = ElementRef::wrap(node).is_none_or(|inner| !has_own(inner));
        let inside = node.first_child().filter(|_| is_open);
        // Else the next one after it, or after the innermost of the elements around it that has one.
        next = inside.or_else(|| {
            let around = std::iter::once(node).chain(node.ancestors());
            let mut within = around.take_while(|outer| outer.id() != element.id());
            within.find_map(|outer| outer.next_sibling())
        });
    }
    "ltr"
}

/// Returns the direction that an element declares.
fn named(element: ElementRef<'_>) -> Option<&'static str> {
    let attribute = element.attr("dir")?;
    let all = ["ltr", "rtl", "auto"];
    all.into_iter()
        .find(|direction| attribute.eq_ignore_ascii_case(direction))
}
