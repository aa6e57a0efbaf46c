//! Owners of controls: a form has those in it, those that name it by its id, and those that the parser gave it ("form
//! owner" of the HTML standard). Driven by `forms` and `controls`.

use ego_tree::NodeId;
use ego_tree::iter::Edge;
use html5ever::ns;
use scraper::ElementRef;
use std::collections::HashMap;

use super::document::Document;

/// A control of a form.
#[derive(Clone, Copy)]
pub(super) struct OwnedControl<'a> {
    pub(super) element: ElementRef<'a>,
    /// Whether it or a fieldset around it is disabled.
    pub(super) disabled: bool,
}

/// Returns the form of the first of these elements that belongs to one: a control by its owner, any other element by the form
/// around it. Looks through the page once, however many controls name a form that it does not have.
pub(super) fn first_owner<'a>(
    doc: &'a Document,
    elements: impl Iterator<Item = ElementRef<'a>>,
) -> Option<ElementRef<'a>> {
    let mut ids = None;
    // Elements in one parent have the same form around them.
    let mut formless = None;
    for element in elements {
        if is_control(element) {
            if let Some(id) = element.attr("form") {
                let ids = ids.get_or_insert_with(|| elements_by_id(doc));
                match ids.get(id).copied().filter(is_form) {
                    Some(form) => return Some(form),
                    None => continue,
                }
            }
            if let Some(form) = doc.distant_form(element) {
                return Some(form);
            }
        }
        if is_form(&element) {
            return Some(element);
        }
        let parent = element.parent().map(|parent| parent.id());
        if parent == formless {
            continue;
        }
        let mut around = element.ancestors().filter_map(ElementRef::wrap);
        match around.find(is_form) {
            Some(form) => return Some(form),
            None => formless = parent,
        }
    }
    None
}

/// Returns the first element of each id, without those in a `<template>`.
fn elements_by_id(doc: &Document) -> HashMap<&str, ElementRef<'_>> {
    let mut ids = HashMap::new();
    for element in doc.elements() {
        if let Some(id) = element.attr("id").filter(|id| !id.is_empty()) {
            ids.entry(id).or_insert(element);
        }
    }
    ids
}

/// Returns the controls of a form in the order of the page, without those in a `<template>`. Those in a `<datalist>` are sent
/// by Chromium.
pub(super) fn controls<'a>(doc: &'a Document, form: ElementRef<'a>) -> Vec<OwnedControl<'a>> {
    let id = form.attr("id").filter(|id| !id.is_empty());
    let id = id.filter(|id| by_id(doc, id) == Some(form));
    let everywhere = id.is_some() || doc.is_distant(form);
    let start = doc.root().filter(|_| everywhere).unwrap_or(form);
    let mut walk = Walk::default();
    for edge in start.traverse() {
        match edge {
            Edge::Open(node) => {
                let Some(element) = ElementRef::wrap(node) else {
                    continue;
                };
                walk.open(element);
                if walk.inert > 0 || !is_control(element) {
                    continue;
                }
                let is_owned = match element.attr("form") {
                    Some(owner) => id == Some(owner),
                    None => match doc.distant_form(element) {
                        Some(owner) => owner == form,
                        None => walk.forms.last() == Some(&form.id()),
                    },
                };
                if is_owned {
                    walk.controls.push(OwnedControl {
                        element,
                        disabled: walk.disabled > 0 || element.attr("disabled").is_some(),
                    });
                }
            }
            Edge::Close(node) => {
                if let Some(element) = ElementRef::wrap(node) {
                    walk.close(element);
                }
            }
        }
    }
    walk.controls
}

/// A walk through a page.
#[derive(Default)]
struct Walk<'a> {
    controls: Vec<OwnedControl<'a>>,
    /// The open forms.
    forms: Vec<NodeId>,
    /// The number of open elements whose controls are never sent: `<template>`.
    inert: usize,
    /// The number of open disabled fieldsets around the walk, not counting those whose legend it is in.
    disabled: usize,
    /// The open disabled fieldsets, each with its first legend, which is exempt.
    fieldsets: Vec<Option<NodeId>>,
}

impl Walk<'_> {
    fn open(&mut self, element: ElementRef<'_>) {
        match element.value().name() {
            "form" => self.forms.push(element.id()),
            "template" => self.inert += 1,
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
            "form" => self.forms.truncate(self.forms.len() - 1),
            "template" => self.inert -= 1,
            "fieldset" if element.attr("disabled").is_some() => {
                self.fieldsets.pop();
                self.disabled -= 1;
            }
            "legend" if self.fieldsets.last() == Some(&Some(element.id())) => self.disabled += 1,
            _ => {}
        }
    }
}

fn by_id<'a>(doc: &'a Document, id: &str) -> Option<ElementRef<'a>> {
    let mut elements = doc.elements().filter(|_| !id.is_empty());
    elements.find(|element| element.attr("id") == Some(id))
}

pub(super) fn is_form(element: &ElementRef<'_>) -> bool {
    element.value().name() == "form"
}

/// Returns whether it is a control that may be sent; in drawings and formulas there are none.
fn is_control(element: ElementRef<'_>) -> bool {
    let name = element.value().name();
    matches!(name, "input" | "select" | "textarea" | "button")
        && element.value().name.ns == ns!(html)
}
