//! The direction of text, as `dirname` sends it: "the directionality" of the HTML standard
//! (<https://html.spec.whatwg.org/multipage/dom.html#the-directionality>). Driven by `controls` and `value`.

use icu_properties::CodePointMapData;
use icu_properties::props::BidiClass;
use scraper::{ElementRef, Node};

/// The direction of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// It is set by the page.
    Fixed(&'static str),
    /// It is that of the value.
    OfValue,
}

/// Returns the direction of a control.
pub(super) fn of_control(control: ElementRef<'_>, is_telephone: bool) -> Direction {
    match named(control) {
        Some("auto") => return Direction::OfValue,
        Some(direction) => return Direction::Fixed(direction),
        None if is_telephone => return Direction::Fixed("ltr"),
        None => {}
    }
    let around = control.ancestors().filter_map(ElementRef::wrap);
    let mut around = around.filter_map(|element| Some((element, named(element)?)));
    Direction::Fixed(match around.next() {
        Some((element, "auto")) => of_contents(element),
        Some((_, direction)) => direction,
        None => "ltr",
    })
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
    let has_own = |node: ElementRef<'_>| {
        node != element
            && (named(node).is_some()
                || matches!(node.value().name(), "bdi" | "script" | "style" | "textarea"))
    };
    let texts = element.descendants().filter_map(|node| match node.value() {
        Node::Text(text) => {
            let around = node.ancestors().filter_map(ElementRef::wrap);
            let mut within = around.take_while(|outer| *outer != element);
            (!within.any(has_own)).then_some(&**text)
        }
        _ => None,
    });
    texts.filter_map(strong).next().unwrap_or("ltr")
}

/// Returns the direction that an element declares.
fn named(element: ElementRef<'_>) -> Option<&'static str> {
    let attribute = element.attr("dir")?;
    let all = ["ltr", "rtl", "auto"];
    all.into_iter()
        .find(|direction| attribute.eq_ignore_ascii_case(direction))
}
