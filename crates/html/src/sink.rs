//! The sink of the HTML parser: the tree, and the forms of those controls whose owner the tree alone does not show.
//! Driven by `document` while it parses.
//!
//! A form that was opened where none may be (in a table, a row) has no content, and its controls stand elsewhere. The
//! parser remembers the form and gives it the controls: the "form element pointer" of the HTML standard
//! (<https://html.spec.whatwg.org/multipage/parsing.html#the-element-pointers>).

use ego_tree::NodeId;
use html5ever::tendril::StrTendril;
use html5ever::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::{Attribute, QualName};
use scraper::{Html, HtmlTreeSink, Node};
use std::borrow::Cow;
use std::cell::{Ref, RefCell};
use std::collections::HashMap;

/// The forms of those controls whose form is not the nearest one around them.
pub(super) type DistantForms = HashMap<NodeId, NodeId>;

/// The tree of a page as it grows.
pub(super) struct PageSink {
    tree: HtmlTreeSink,
    distant: RefCell<DistantForms>,
}

impl PageSink {
    pub(super) fn new() -> Self {
        Self {
            tree: HtmlTreeSink::new(Html::new_document()),
            distant: RefCell::default(),
        }
    }

    pub(super) fn tree(&self) -> Ref<'_, Html> {
        self.tree.0.borrow()
    }

    /// Takes their forms from the controls in a node that is taken out of the tree, unless the form is taken out, too:
    /// "removing steps" of the standard.
    fn part(&self, node: NodeId) {
        let mut distant = self.distant.borrow_mut();
        if distant.is_empty() {
            return;
        }
        let html = self.tree();
        let Some(node) = html.tree.get(node) else {
            return;
        };
        for inner in node.descendants() {
            let form = distant.get(&inner.id()).and_then(|id| html.tree.get(*id));
            if form.is_some_and(|form| form != node && form.ancestors().all(|outer| outer != node))
            {
                distant.remove(&inner.id());
            }
        }
    }
}

fn is_form(node: &Node) -> bool {
    node.as_element()
        .is_some_and(|element| element.name() == "form")
}

impl TreeSink for PageSink {
    type Output = (Html, DistantForms);
    type Handle = NodeId;
    type ElemName<'a> = Ref<'a, QualName>;

    fn associate_with_form(
        &self,
        control: &NodeId,
        form: &NodeId,
        (place, otherwise): (&NodeId, Option<&NodeId>),
    ) {
        let html = self.tree();
        let node = |id: &NodeId| html.tree.get(*id);
        let before = node(place).filter(|place| place.parent().is_some());
        let parent = before.or_else(|| node(otherwise.unwrap_or(place)));
        let around = parent.and_then(|parent| {
            let mut all = std::iter::once(parent).chain(parent.ancestors());
            all.find(|node| is_form(node.value()))
        });
        if around.map(|around| around.id()) != Some(*form) {
            self.distant.borrow_mut().insert(*control, *form);
        }
    }

    fn append_before_sibling(&self, sibling: &NodeId, node: NodeOrText<NodeId>) {
        if let NodeOrText::AppendNode(node) = &node {
            let is_placed = |html: &Html| html.tree.get(*node)?.parent().map(|_| ());
            if is_placed(&self.tree()).is_some() {
                self.part(*node);
            }
        }
        self.tree.append_before_sibling(sibling, node);
    }

    fn remove_from_parent(&self, node: &NodeId) {
        self.part(*node);
        self.tree.remove_from_parent(node);
    }

    fn reparent_children(&self, node: &NodeId, parent: &NodeId) {
        let children = |html: &Html| -> Vec<NodeId> {
            let node = html.tree.get(*node);
            let children = node.into_iter().flat_map(|node| node.children());
            children.map(|child| child.id()).collect()
        };
        if !self.distant.borrow().is_empty() {
            let children = children(&self.tree());
            children.into_iter().for_each(|child| self.part(child));
        }
        self.tree.reparent_children(node, parent);
    }

    fn finish(self) -> Self::Output {
        (self.tree.finish(), self.distant.into_inner())
    }

    // The rest is the tree's.

    fn parse_error(&self, message: Cow<'static, str>) {
        self.tree.parse_error(message);
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.tree.set_quirks_mode(mode);
    }

    fn get_document(&self) -> NodeId {
        self.tree.get_document()
    }

    fn same_node(&self, one: &NodeId, other: &NodeId) -> bool {
        one == other
    }

    fn elem_name<'a>(&'a self, element: &'a NodeId) -> Ref<'a, QualName> {
        self.tree.elem_name(element)
    }

    fn create_element(
        &self,
        name: QualName,
        attributes: Vec<Attribute>,
        flags: ElementFlags,
    ) -> NodeId {
        self.tree.create_element(name, attributes, flags)
    }

    fn create_comment(&self, text: StrTendril) -> NodeId {
        self.tree.create_comment(text)
    }

    fn create_pi(&self, target: StrTendril, text: StrTendril) -> NodeId {
        self.tree.create_pi(target, text)
    }

    fn append_doctype_to_document(
        &self,
        name: StrTendril,
        public_id: StrTendril,
        system_id: StrTendril,
    ) {
        self.tree
            .append_doctype_to_document(name, public_id, system_id);
    }

    fn append(&self, parent: &NodeId, child: NodeOrText<NodeId>) {
        self.tree.append(parent, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &NodeId,
        previous: &NodeId,
        child: NodeOrText<NodeId>,
    ) {
        self.tree
            .append_based_on_parent_node(element, previous, child);
    }

    fn add_attrs_if_missing(&self, element: &NodeId, attributes: Vec<Attribute>) {
        self.tree.add_attrs_if_missing(element, attributes);
    }

    fn get_template_contents(&self, template: &NodeId) -> NodeId {
        self.tree.get_template_contents(template)
    }

    fn mark_script_already_started(&self, script: &NodeId) {
        self.tree.mark_script_already_started(script);
    }
}
