//! The fields that a form's controls contribute. Driven by `forms`.
//!
//! Follows "constructing the entry list" of the HTML standard
//! (<https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#constructing-the-form-data-set>),
//! without files, whose places are told. A form is what the tree holds: controls that stand outside of it only because
//! the page nests a form in a table wrongly are not found.

use ego_tree::NodeId;
use ego_tree::iter::Edge;
use indexmap::IndexSet;
use scraper::ElementRef;
use std::collections::HashSet;

use super::document::Document;
use super::forms::{Button, ControlPosition};
use super::select::chosen;

/// The entry list as it is collected in one walk.
#[derive(Default)]
pub(super) struct FormEntries {
    /// Name and value of each field, in the order of the page.
    pub(super) fields: Vec<(String, String)>,
    /// The submit buttons that have a name, in the order of the page.
    pub(super) buttons: Vec<Button>,
    /// The first submit button, once it was met: its index in `buttons`, if it has a name.
    pub(super) default: Option<Option<usize>>,
    /// The names of the inputs for files.
    pub(super) files: Vec<String>,
    /// The names of the controls that must be filled in, each once.
    pub(super) required: IndexSet<String>,
    /// The places of all controls, each with the number of values that it contributes. A control may contribute none,
    /// such as a box that is not ticked.
    places: Vec<(ControlPosition, usize)>,
    /// Whether the walk is inside the form element.
    inside: bool,
    /// The number of open elements whose controls are never sent: `<template>`, `<datalist>`.
    inert: usize,
    /// The number of open disabled fieldsets around the walk, not counting those whose legend it is in.
    disabled: usize,
    /// The open disabled fieldsets, each with its first legend, which is exempt.
    fieldsets: Vec<Option<NodeId>>,
    /// The bytes that the entries may still take; `None` if they were too many.
    remaining: Option<usize>,
}

impl FormEntries {
    /// Returns the entries of a form of this document; `None` if they would take more than `most_bytes`.
    pub(super) fn of(doc: &Document, form: ElementRef<'_>, most_bytes: usize) -> Option<Self> {
        let mut entries = Self {
            remaining: Some(most_bytes),
            ..Self::default()
        };
        entries.collect(doc, form);
        entries.remaining.is_some().then_some(entries)
    }

    /// Takes the memory of a control's entry before it is made. Returns whether there is so much.
    fn take(&mut self, bytes: usize) -> bool {
        /// A place and two texts, as they are kept.
        const EACH: usize = 128;
        self.remaining = self
            .remaining
            .and_then(|remaining| remaining.checked_sub(bytes + EACH));
        self.remaining.is_some()
    }

    /// Walks the form; the whole page if controls elsewhere may name the form by its id.
    fn collect(&mut self, doc: &Document, form: ElementRef<'_>) {
        let id = form.attr("id").filter(|id| !id.is_empty());
        let start = id.and_then(|_| doc.root()).unwrap_or(form);
        for edge in start.traverse() {
            match edge {
                Edge::Open(node) => {
                    if let Some(element) = ElementRef::wrap(node) {
                        self.inside |= element == form;
                        self.open(element);
                        let owned = match element.attr("form") {
                            Some(owner) => id == Some(owner),
                            None => self.inside,
                        };
                        if owned && self.inert == 0 {
                            self.control(element);
                        }
                    }
                }
                Edge::Close(node) => {
                    if let Some(element) = ElementRef::wrap(node) {
                        self.inside &= element != form;
                        self.close(element);
                    }
                }
            }
        }
    }

    fn open(&mut self, element: ElementRef<'_>) {
        match element.value().name() {
            "template" | "datalist" => self.inert += 1,
            "fieldset" if element.attr("disabled").is_some() => {
                let legend = element
                    .child_elements()
                    .find(|e| e.value().name() == "legend");
                self.fieldsets.push(legend.map(|legend| legend.id()));
                self.disabled += 1;
            }
            "legend" if self.fieldsets.last() == Some(&Some(element.id())) => self.disabled -= 1,
            _ => {}
        }
    }

    fn close(&mut self, element: ElementRef<'_>) {
        match element.value().name() {
            "template" | "datalist" => self.inert -= 1,
            "fieldset" if element.attr("disabled").is_some() => {
                self.fieldsets.pop();
                self.disabled -= 1;
            }
            "legend" if self.fieldsets.last() == Some(&Some(element.id())) => self.disabled += 1,
            _ => {}
        }
    }

    fn control(&mut self, element: ElementRef<'_>) {
        let tag = element.value().name();
        if !matches!(tag, "input" | "select" | "textarea" | "button") {
            return;
        }
        let name = element.attr("name").unwrap_or_default();
        let kind = element
            .attr("type")
            .unwrap_or_default()
            .to_ascii_lowercase();
        if self.disabled > 0 || element.attr("disabled").is_some() {
            // A script may enable it: its name is known.
            self.place(name, 0);
            return;
        }
        let before = self.fields.len();
        let value = element.attr("value");
        match (tag, &*kind) {
            ("button", "button" | "reset") | ("input", "button" | "reset") => return,
            ("button", _) | ("input", "submit" | "image") => {
                self.button(element, name, tag == "input" && kind == "image");
                return;
            }
            _ if name.is_empty() => return,
            _ => self.require(element, name, &kind),
        }
        match (tag, &*kind) {
            ("input", "file") if self.take(name.len()) => self.files.push(name.to_owned()),
            ("input", "file") => {}
            ("input", "checkbox" | "radio") => {
                if element.attr("checked").is_some() {
                    self.field(name, value.unwrap_or("on"));
                }
            }
            ("input", "hidden") if name == "_charset_" => self.field(name, "UTF-8"),
            ("input", _) => self.field(name, value.unwrap_or_default()),
            ("textarea", _) => {
                let text: String = element.text().collect();
                self.field(name, &text.replace('\n', "\r\n"));
            }
            _ => {
                for value in chosen(element) {
                    self.field(name, &value);
                }
            }
        }
        self.place(name, self.fields.len() - before);
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

    fn place(&mut self, name: &str, values: usize) {
        if !name.is_empty() && self.take(2 * name.len()) {
            self.places
                .push((ControlPosition::Field(name.to_owned()), values));
        }
    }

    fn button(&mut self, element: ElementRef<'_>, name: &str, image: bool) {
        let index = self.buttons.len();
        let named = !name.is_empty();
        let texts = ["value", "formaction", "formmethod", "formenctype"];
        let texts = texts.iter().filter_map(|attr| element.attr(attr));
        let bytes = name.len() + texts.map(str::len).sum::<usize>();
        if named && self.take(bytes) {
            let own = |attr| element.attr(attr).map(str::to_owned);
            self.buttons.push(Button {
                name: name.to_owned(),
                value: own("value").unwrap_or_default(),
                image,
                action: own("formaction"),
                method: own("formmethod"),
                enctype: own("formenctype"),
            });
        }
        let is_default = !image && self.default.is_none();
        if is_default {
            self.default = Some(named.then_some(index));
        }
        match is_default {
            true => self.place(name, 1),
            false if named => self.places.push((ControlPosition::Button(index), 1)),
            false => {}
        }
    }

    /// Returns the places in the order of the page: one for each value, and the first one of a name that has none.
    pub(super) fn order(&self) -> Vec<ControlPosition> {
        let valued: HashSet<&ControlPosition> = self
            .places
            .iter()
            .filter(|(_, values)| *values > 0)
            .map(|(place, _)| place)
            .collect();
        let mut empty = HashSet::new();
        let mut order = Vec::new();
        for (place, values) in &self.places {
            let count = match values {
                0 => usize::from(!valued.contains(place) && empty.insert(place)),
                values => *values,
            };
            order.extend(std::iter::repeat_n(place.clone(), count));
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use crate::forms::{Button, ControlPosition};
    use crate::{Document, find_form, fixture};

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
            sent("<input type=file name=a><input type=reset name=b><input type=image name=c>"),
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
        assert_eq!(
            sent("<textarea name=t>\n\na\nb</textarea>"),
            "t=%0D%0Aa%0D%0Ab"
        );
        assert_eq!(
            sent("<input type=hidden name=_charset_>"),
            "_charset_=UTF-8"
        );
    }

    #[test]
    fn every_control_has_its_place_and_buttons_are_distinguished() {
        let page = "<form><input type=checkbox name=t value=1><button type=submit name=save value=s>S</button>\
            <input type=checkbox name=t value=2 checked><input type=file name=f><input type=image name=i>\
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
        ];
        assert_eq!(form.order, expected);
        assert_eq!((form.default, form.files), (Some(0), vec!["f".to_owned()]));
        let facts = |button: &Button| (button.name.clone(), button.value.clone(), button.image);
        let buttons: Vec<_> = form.buttons.iter().map(facts).collect();
        let named = |name: &str, value: &str, image| (name.to_owned(), value.to_owned(), image);
        assert_eq!(
            buttons,
            [
                named("save", "s", false),
                named("i", "", true),
                named("save", "again", false)
            ]
        );
        let last = &form.buttons[2];
        assert_eq!(last.action.as_deref(), Some("http://site/b"));
        assert_eq!(last.method.as_deref(), Some("GET"));
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
