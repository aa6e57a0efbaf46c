//! The fields that a form's controls contribute. Driven by `forms`; `owners` finds the controls of a form.
//!
//! Follows "constructing the entry list" of the HTML standard
//! (<https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#constructing-the-form-data-set>), without
//! files, whose places are returned.

use indexmap::IndexSet;
use scraper::ElementRef;
use std::collections::{HashMap, HashSet};

use super::collapse;
use super::direction::{self, Direction, Directions};
use super::document::Document;
use super::forms::{Button, ControlPosition};
use super::owners::{self, OwnedControl};
use super::select::chosen;
use super::value::ValueRule;

/// The entry list as it is collected.
#[derive(Default)]
pub(super) struct FormEntries {
    /// Name and value of each field, in the order of the page.
    pub(super) fields: Vec<(String, String)>,
    /// The submit buttons, in the order of the page.
    pub(super) buttons: Vec<Button>,
    /// The names of the inputs for files.
    pub(super) files: Vec<String>,
    /// The names of the controls that must be filled in, each once.
    pub(super) required: IndexSet<String>,
    /// The places of all controls, with the number of values that each contributes.
    places: Vec<ControlPlace>,
    directions: Directions,
    /// The name of the character set that the form is sent in.
    charset: &'static str,
    /// The bytes that the entries may still take; `None` if they were too many.
    remaining: Option<usize>,
}

/// The place of a control.
struct ControlPlace {
    position: ControlPosition,
    /// A control may contribute none, such as a box that is not ticked.
    values: usize,
    rule: Option<ValueRule>,
}

impl FormEntries {
    /// Returns the entries of a form of this document; `None` if they would take more than `most_bytes`.
    pub(super) fn of(
        doc: &Document,
        form: ElementRef<'_>,
        charset: &'static str,
        most_bytes: usize,
    ) -> Option<Self> {
        let mut entries = Self {
            charset,
            remaining: Some(most_bytes),
            ..Self::default()
        };
        let controls = owners::controls(doc, form);
        let ticked = ticked(&controls);
        for (place, control) in controls.iter().enumerate() {
            entries.control(control, |name| ticked.get(name) == Some(&place));
        }
        entries.remaining.is_some().then_some(entries)
    }

    /// Takes the memory of a control's entry before it is made. Returns whether there is enough.
    fn take(&mut self, bytes: usize) -> bool {
        /// A place and two texts, as they are kept.
        const ENTRY_BYTES: usize = 192;
        self.remaining = self
            .remaining
            .and_then(|remaining| remaining.checked_sub(bytes + ENTRY_BYTES));
        self.remaining.is_some()
    }

    /// Adds a control. `is_last` says whether it is the last ticked radio button of a name.
    fn control(&mut self, control: &OwnedControl<'_>, is_last: impl Fn(&str) -> bool) {
        let element = control.element;
        let tag = element.value().name();
        let name = element.attr("name").unwrap_or_default();
        let kind = kind(element);
        let rule = match tag {
            "input" => ValueRule::of(element, &kind),
            _ => None,
        };
        if control.disabled {
            // A script may enable it: its name is known.
            return self.place(name, 0, rule);
        }
        let before = self.fields.len();
        let value = element.attr("value");
        match (tag, &*kind) {
            ("button", "button" | "reset") | ("input", "button" | "reset") => return,
            // It does something to another element.
            ("button", "") if is_command(element) => return,
            ("button", _) | ("input", "submit" | "image") => {
                return self.button(element, name, tag == "input", kind == "image");
            }
            _ if name.is_empty() => return,
            _ => self.require(element, name, &kind),
        }
        match (tag, &*kind) {
            ("input", "file") if self.take(name.len()) => self.files.push(name.to_owned()),
            ("input", "file") => {}
            ("input", "checkbox" | "radio") => {
                let is_ticked = element.attr("checked").is_some();
                if is_ticked && (kind == "checkbox" || is_last(name)) {
                    self.field(name, value.unwrap_or("on"));
                }
            }
            ("input", "hidden") if name.eq_ignore_ascii_case("_charset_") => {
                self.field(name, self.charset);
            }
            ("input", _) => {
                let value = value.unwrap_or_default();
                match &rule {
                    Some(rule) => self.field(name, &rule.sanitize(value)),
                    None => self.field(name, value),
                }
            }
            ("textarea", _) => self.field(name, &element.text().collect::<String>()),
            _ => {
                for value in chosen(element) {
                    self.field(name, &value);
                }
            }
        }
        self.place(name, self.fields.len() - before, rule);
        self.direction(element, &kind);
    }

    /// Adds the direction of a text where the page requests it.
    fn direction(&mut self, element: ElementRef<'_>, kind: &str) {
        const WITHOUT: [&str; 11] = [
            "file",
            "checkbox",
            "radio",
            "number",
            "range",
            "color",
            "date",
            "month",
            "week",
            "time",
            "datetime-local",
        ];
        let Some(name) = element.attr("dirname") else {
            return;
        };
        let is_text = match element.value().name() {
            "input" => !WITHOUT.contains(&kind),
            tag => tag == "textarea",
        };
        if !is_text {
            return;
        }
        let value = self.fields.last().map_or("", |(_, value)| value);
        let (direction, rule) = match self.directions.of_control(element, kind == "tel") {
            Direction::Fixed(direction) => (direction, None),
            Direction::OfValue => (direction::of_text(value), Some(ValueRule::Direction)),
        };
        self.field(name, direction);
        self.place_of(name, 1, rule);
    }

    /// Notes a control that a browser would not send empty.
    fn require(&mut self, element: ElementRef<'_>, name: &str, kind: &str) {
        // For these the attribute means nothing.
        let exempt = matches!(kind, "hidden" | "range" | "color");
        if element.attr("required").is_some() && !exempt && self.take(name.len()) {
            self.required.insert(name.to_owned());
        }
    }

    fn field(&mut self, name: &str, value: &str) {
        // Its name stands in the order, too.
        if self.take(2 * name.len() + value.len()) {
            self.fields.push((name.to_owned(), value.to_owned()));
        }
    }

    fn place(&mut self, name: &str, values: usize, rule: Option<ValueRule>) {
        if !name.is_empty() {
            self.place_of(name, values, rule);
        }
    }

    fn place_of(&mut self, name: &str, values: usize, rule: Option<ValueRule>) {
        if self.take(2 * name.len()) {
            self.places.push(ControlPlace {
                position: ControlPosition::Field(name.to_owned()),
                values,
                rule,
            });
        }
    }

    fn button(&mut self, element: ElementRef<'_>, name: &str, is_input: bool, image: bool) {
        let index = self.buttons.len();
        let value = element.attr("value");
        let caption = match (is_input, image) {
            (true, true) => element.attr("alt").unwrap_or_default().to_owned(),
            // The text that Chromium writes on a button without a value, and sends.
            (true, false) => value.unwrap_or("Submit").to_owned(),
            (false, _) => collapse(element.text()),
        };
        let value = match (is_input, image) {
            (true, false) => caption.clone(),
            _ => value.unwrap_or_default().to_owned(),
        };
        if is_input && !image {
            self.direction(element, "submit");
        }
        let texts = ["formaction", "formmethod", "formenctype"];
        let texts = texts.iter().filter_map(|attr| element.attr(attr));
        let bytes =
            3 * name.len() + value.len() + caption.len() + texts.map(str::len).sum::<usize>();
        if !self.take(bytes) {
            return;
        }
        let own = |attr| element.attr(attr).map(str::to_owned);
        self.buttons.push(Button {
            name: name.to_owned(),
            value,
            caption,
            image,
            action: own("formaction"),
            method: own("formmethod"),
            enctype: own("formenctype"),
            novalidate: element.attr("formnovalidate").is_some(),
        });
        if index > 0 {
            self.places.push(ControlPlace {
                position: ControlPosition::Button(index),
                values: 1,
                rule: None,
            });
            return;
        }
        for (name, _) in self.buttons[index].entries() {
            self.place_of(&name, 1, None);
        }
    }

    /// Returns the places in the order of the page: one for each value, and the first one of a name that has none; and the
    /// rules of some of them by their index.
    pub(super) fn order(self) -> (Vec<ControlPosition>, Vec<(usize, ValueRule)>) {
        let valued: HashSet<ControlPosition> = self
            .places
            .iter()
            .filter(|place| place.values > 0)
            .map(|place| place.position.clone())
            .collect();
        let mut empty = HashSet::new();
        let mut order = Vec::new();
        let mut rules = Vec::new();
        for place in self.places {
            let position = place.position;
            let count = match place.values {
                0 => usize::from(!valued.contains(&position) && empty.insert(position.clone())),
                values => values,
            };
            for _ in 0..count {
                rules.extend(place.rule.clone().map(|rule| (order.len(), rule)));
                order.push(position.clone());
            }
        }
        (order, rules)
    }
}

/// Returns the type of a control in lower case.
fn kind(element: ElementRef<'_>) -> String {
    let kind = element.attr("type").unwrap_or_default();
    kind.to_ascii_lowercase()
}

/// Returns whether a button without a type does not submit.
fn is_command(button: ElementRef<'_>) -> bool {
    let has = |attribute| button.attr(attribute).is_some();
    has("command") || has("commandfor")
}

/// Returns the place of the last ticked radio button of each name: a browser ticks no other of its group.
fn ticked<'a>(controls: &[OwnedControl<'a>]) -> HashMap<&'a str, usize> {
    let is_radio =
        |element: ElementRef<'_>| element.value().name() == "input" && kind(element) == "radio";
    let mut ticked = HashMap::new();
    for (place, control) in controls.iter().enumerate() {
        let element = control.element;
        if element.attr("checked").is_some() && is_radio(element) {
            let name = element.attr("name").unwrap_or_default();
            ticked.insert(name, place);
        }
    }
    ticked
}

#[cfg(test)]
mod tests {
    use crate::forms::{Button, ControlPosition};
    use crate::{Document, ValueRule, find_form, fixture};

    /// Returns the fields of a form that holds these controls, as they would be sent.
    fn sent(controls: &str) -> String {
        let page = Document::parse(format!("<form id=f>{controls}").as_bytes());
        let form = find_form(&page, None, &fixture::page_url()).expect("the form");
        fixture::encode_form(&form.fields)
    }

    #[test]
    fn only_successful_controls_are_sent() {
        assert_eq!(
            sent("<input name=a><input value=x><input name=b value='1 2'>"),
            "a=&b=1+2"
        );
        assert_eq!(
            sent("<input type=Checkbox name=a checked><input type=checkbox name=b>"),
            "a=on"
        );
        assert_eq!(
            sent("<input type=radio name=r value=1><input type=radio name=r value=2 checked>"),
            "r=2"
        );
        assert_eq!(
            sent("<input type=file name=a><input type=reset name=b><button type=button name=c>"),
            ""
        );
        assert_eq!(
            sent("<button name=a value=1>x</button><input type=submit name=b>"),
            ""
        );
        assert_eq!(
            sent("<input name=a disabled><template><input name=b></template>"),
            ""
        );
        assert_eq!(sent("<textarea name=t>\n\na\nb</textarea>"), "t=%0Aa%0Ab");
        assert_eq!(
            sent("<input type=hidden name=_charset_>"),
            "_charset_=UTF-8"
        );
    }

    #[test]
    fn every_control_has_its_place_and_buttons_are_distinguished() {
        let page = "<form><input type=checkbox name=t value=1><button type=submit name=save value=s> S <b>T</b></button>\
            <input type=checkbox name=t value=2 checked><input type=file name=f><input type=image name=i alt=I>\
            <select name=m multiple><option selected>x<option selected>y</select><input name=d disabled>\
            <input type=submit name=save value=again formaction=/b formmethod=GET><button>nameless</button>";
        let form = find_form(
            &Document::parse(page.as_bytes()),
            None,
            &fixture::page_url(),
        );
        let form = form.expect("the form");
        let field = |name: &str| ControlPosition::Field(name.to_owned());
        let expected = [
            field("save"),
            field("t"),
            field("f"),
            ControlPosition::Button(1),
            field("m"),
            field("m"),
            field("d"),
            ControlPosition::Button(2),
            ControlPosition::Button(3),
        ];
        assert_eq!(form.order, expected);
        assert_eq!(form.rules, [(6, ValueRule::Text)]);
        assert_eq!(form.files, ["f"]);
        let facts = |button: &Button| {
            let texts = [&button.name, &button.value, &button.caption];
            (texts.map(String::clone), button.image)
        };
        let buttons: Vec<_> = form.buttons.iter().map(facts).collect();
        let named = |texts: [&str; 3], image| (texts.map(str::to_owned), image);
        assert_eq!(
            buttons,
            [
                named(["save", "s", "S T"], false),
                named(["i", "", "I"], true),
                named(["save", "again", "again"], false),
                named(["", "", "nameless"], false)
            ]
        );
        let third = &form.buttons[2];
        assert_eq!(third.action.as_deref(), Some("http://site/b"));
        assert_eq!(third.method.as_deref(), Some("GET"));
    }

    #[test]
    fn a_select_sends_what_a_browser_shows_as_chosen() {
        let select = |attrs: &str, options: &str| {
            sent(&format!("<select name=s {attrs}>{options}</select>"))
        };
        assert_eq!(
            select("", "<option disabled>a<option> b  c <option>d"),
            "s=b+c"
        );
        assert_eq!(
            select("", "<option value=1>a<option value=2 selected>b"),
            "s=2"
        );
        assert_eq!(select("", "<option selected>a<option selected>b"), "s=b");
        assert_eq!(select("", "<option selected disabled>choose<option>b"), "");
        assert_eq!(
            select("", "<optgroup disabled><option>a</optgroup><option>b"),
            "s=b"
        );
        assert_eq!(
            select("multiple", "<option selected>a<option>b<option selected>c"),
            "s=a&s=c"
        );
        assert_eq!(select("multiple", "<option>a"), "");
        assert_eq!(select("size=4", "<option>a"), "");
        assert_eq!(select("", ""), "");
    }

    #[test]
    fn a_disabled_fieldset_disables_all_but_its_first_legend() {
        let controls = "<fieldset disabled><legend><input name=a><fieldset disabled><input name=x></fieldset></legend>\
            <legend><input name=x></legend><fieldset><legend><input name=x></legend></fieldset>\
            </fieldset><input name=b>";
        assert_eq!(sent(controls), "a=&b=");
    }
}
