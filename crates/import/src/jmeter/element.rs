//! The elements of a test plan with their properties and the elements below them.

use crate::xml::XmlElement;

/// An element of a test plan: a thread group, a controller, a sampler or a part of one.
#[derive(Debug, Clone, Copy)]
pub(super) struct JmeterElement<'a> {
    xml: &'a XmlElement,
    /// The `hashTree` that follows it.
    below: Option<&'a XmlElement>,
}

impl<'a> JmeterElement<'a> {
    /// Returns the elements of a `hashTree`.
    pub(super) fn all(tree: &'a XmlElement) -> Vec<JmeterElement<'a>> {
        let mut all: Vec<JmeterElement<'a>> = Vec::new();
        for child in &tree.children {
            if child.name == "hashTree" {
                if let Some(last) = all.last_mut() {
                    last.below = Some(child);
                }
            } else {
                all.push(JmeterElement {
                    xml: child,
                    below: None,
                });
            }
        }
        all
    }

    /// Returns the elements below it.
    pub(super) fn children(self) -> Vec<JmeterElement<'a>> {
        self.below.map_or_else(Vec::new, JmeterElement::all)
    }

    /// Returns the kind of element, without the package of a plugin.
    pub(super) fn kind(self) -> &'a str {
        let name = match self.xml.attribute("testclass") {
            "" => self.xml.name.as_str(),
            class if self.xml.name.contains('.') => class,
            _ => self.xml.name.as_str(),
        };
        name.rsplit('.').next().unwrap_or(name)
    }

    /// Returns the name that its author gave it, or its kind.
    pub(super) fn name(self) -> &'a str {
        given(self.xml.attribute("testname").trim(), self.kind())
    }

    pub(super) fn is_enabled(self) -> bool {
        self.xml.attribute("enabled") != "false"
    }

    pub(super) fn is_of_gui(self, class: &str) -> bool {
        self.xml.attribute("guiclass").ends_with(class)
    }

    /// Returns a property as text; empty if there is none.
    pub(super) fn property(self, name: &str) -> &'a str {
        property(self.xml, name)
    }

    /// Returns the number of bytes of its texts, without those of the elements below it.
    pub(super) fn size(self) -> usize {
        fn of(element: &XmlElement) -> usize {
            let children = element.children.iter().map(of);
            element.text.len() + children.sum::<usize>()
        }
        of(self.xml)
    }

    pub(super) fn is_set(self, name: &str) -> bool {
        self.property(name).trim() == "true"
    }

    /// Returns a property that is an element itself.
    pub(super) fn part(self, name: &str) -> Option<&'a XmlElement> {
        part(self.xml, name)
    }

    /// Returns the elements of a collection.
    pub(super) fn collection(self, name: &str) -> &'a [XmlElement] {
        part(self.xml, name).map_or(&[], |list| list.children.as_slice())
    }
}

/// Returns a text, or `otherwise` if it is empty.
pub(super) fn given<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

/// Returns a property of an element as text; empty if there is none.
pub(super) fn property<'a>(element: &'a XmlElement, name: &str) -> &'a str {
    for child in &element.children {
        if child.name == "FloatProperty" {
            let of = |part: &str| child.children.iter().find(|one| one.name == part);
            if of("name").is_some_and(|one| one.text == name) {
                return of("value").map_or("", |one| one.text.as_str());
            }
        } else if child.attribute("name") == name {
            return &child.text;
        }
    }
    ""
}

/// Returns a property of an element that is an element or a collection itself.
pub(super) fn part<'a>(element: &'a XmlElement, name: &str) -> Option<&'a XmlElement> {
    let mut children = element.children.iter();
    children.find(|child| child.attribute("name") == name)
}

/// Returns the arguments of an element that has some: names with values, variables, parameters.
pub(super) fn arguments(element: Option<&XmlElement>) -> &[XmlElement] {
    let list = element.and_then(|element| part(element, "Arguments.arguments"));
    list.map_or(&[], |list| list.children.as_slice())
}
