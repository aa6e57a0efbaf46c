//! The elements that apply to all samplers below an element: defaults, headers, timers, assertions, extractors.

use super::element::{JmeterElement, property};
use std::rc::Rc;

/// The elements that apply to a sampler, the outermost first.
#[derive(Debug, Clone, Default)]
pub(super) struct JmeterScope<'a> {
    pub(super) defaults: Vec<JmeterElement<'a>>,
    /// Headers; those of inner elements replace others of their name.
    pub(super) headers: Vec<(&'a str, &'a str)>,
    pub(super) credentials: Vec<JmeterElement<'a>>,
    pub(super) timers: Vec<JmeterElement<'a>>,
    pub(super) assertions: Vec<JmeterElement<'a>>,
    pub(super) extractors: Vec<JmeterElement<'a>>,
    /// The action of the thread after an error.
    pub(super) on_error: &'a str,
    /// The number of elements, and the bytes of their texts, which each sampler repeats.
    pub(super) elements: usize,
    pub(super) size: usize,
    /// Whether there were more.
    pub(super) is_cut: bool,
}

/// The most elements that apply to a sampler.
const MAX_ELEMENTS: usize = 200;

/// The roles of an element for those beside and below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScopeRole {
    Defaults,
    Headers,
    Credentials,
    Timer,
    Assertion,
    Extractor,
}

impl ScopeRole {
    /// Returns the role of an element that is carried over.
    pub(super) fn of(element: JmeterElement<'_>) -> Option<ScopeRole> {
        Some(match element.kind() {
            "ConfigTestElement" if element.is_of_gui("HttpDefaultsGui") => ScopeRole::Defaults,
            "HeaderManager" => ScopeRole::Headers,
            "AuthManager" => ScopeRole::Credentials,
            "ConstantTimer"
            | "UniformRandomTimer"
            | "GaussianRandomTimer"
            | "PoissonRandomTimer" => ScopeRole::Timer,
            "ResponseAssertion" | "JSONPathAssertion" | "DurationAssertion" => ScopeRole::Assertion,
            "RegexExtractor" | "JSONPostProcessor" | "JMESPathExtractor" | "JSONPathExtractor"
            | "HtmlExtractor" | "BoundaryExtractor" => ScopeRole::Extractor,
            _ => return None,
        })
    }
}

impl<'a> JmeterScope<'a> {
    /// Returns the scope for the elements beside these.
    pub(super) fn with(self: &Rc<Self>, elements: &[JmeterElement<'a>]) -> Rc<Self> {
        let mut inner = Rc::clone(self);
        for element in elements.iter().filter(|element| element.is_enabled()) {
            let Some(role) = ScopeRole::of(*element) else {
                continue;
            };
            let scope = Rc::make_mut(&mut inner);
            if scope.elements >= MAX_ELEMENTS {
                scope.is_cut = true;
                break;
            }
            scope.elements += 1;
            scope.size += element.size();
            match role {
                ScopeRole::Defaults => scope.defaults.push(*element),
                ScopeRole::Credentials => scope.credentials.push(*element),
                ScopeRole::Timer => scope.timers.push(*element),
                ScopeRole::Assertion => scope.assertions.push(*element),
                ScopeRole::Extractor => scope.extractors.push(*element),
                ScopeRole::Headers => {
                    for header in element.collection("HeaderManager.headers") {
                        let name = property(header, "Header.name").trim();
                        let value = property(header, "Header.value");
                        scope
                            .headers
                            .retain(|(other, _)| !other.eq_ignore_ascii_case(name));
                        if !name.is_empty() {
                            scope.headers.push((name, value));
                        }
                    }
                }
            }
        }
        inner
    }

    /// Returns a default of HTTP requests: that of the innermost element that has one.
    pub(super) fn default_of(&self, name: &str) -> &'a str {
        let mut defaults = self.defaults.iter().rev();
        let found = defaults.find_map(|element| {
            let value = element.property(name).trim();
            (!value.is_empty()).then_some(value)
        });
        found.unwrap_or_default()
    }
}
