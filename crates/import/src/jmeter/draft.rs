//! The plan that is being made of a test plan, with the elements that were left out.

use super::element::JmeterElement;
use super::texts::JmeterVariables;
use crate::calls::PlanOutline;
use crate::request::PlanAttachments;
use crate::site::ImportOptions;
use crate::xml::XmlElement;
use indexmap::IndexMap;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Elements that show or keep results, of which lgoose has its own.
const LISTENERS: [&str; 12] = [
    "ResultCollector",
    "Summariser",
    "BackendListener",
    "ResultSaver",
    "MailerResultCollector",
    "JSR223Listener",
    "BeanShellListener",
    "CorrectedResultCollector",
    "ResultAction",
    "DebugPostProcessor",
    "DebugSampler",
    "PropertyControl",
];

/// A plan that is being made of a test plan.
pub(super) struct JmeterImport<'a> {
    pub(super) variables: JmeterVariables,
    pub(super) calls: PlanOutline,
    pub(super) files: PlanAttachments,
    /// The folder of the test plan, if it has one.
    pub(super) folder: Option<PathBuf>,
    /// Expressions for the hosts that are known before a user starts, with the number of requests to each.
    pub(super) origins: IndexMap<String, usize>,
    /// The expression for the host of the plan.
    pub(super) site: Option<String>,
    pub(super) requests: usize,
    /// Bytes that requests have from the elements around them.
    pub(super) repeated: usize,
    pub(super) groups: usize,
    /// The depth of the controller that is being read.
    pub(super) depth: usize,
    pub(super) disabled: usize,
    pub(super) listeners: usize,
    /// Kinds of elements that are not carried over, with their names.
    pub(super) left_out: BTreeMap<String, Vec<String>>,
    pub(super) noted: BTreeSet<String>,
    /// The elements at the top of the test plan.
    pub(super) root: Vec<JmeterElement<'a>>,
}

impl<'a> JmeterImport<'a> {
    pub(super) fn new(tree: &'a XmlElement, choices: &ImportOptions) -> Self {
        let folder = choices.path.as_ref().and_then(|path| path.parent());
        JmeterImport {
            variables: JmeterVariables::default(),
            calls: PlanOutline::default(),
            files: PlanAttachments::new(choices.files),
            folder: folder.map(ToOwned::to_owned),
            origins: IndexMap::new(),
            site: None,
            requests: 0,
            repeated: 0,
            groups: 0,
            depth: 0,
            disabled: 0,
            listeners: 0,
            left_out: BTreeMap::new(),
            noted: BTreeSet::new(),
            root: JmeterElement::all(tree),
        }
    }

    /// Returns the host that most requests go to, of those that are known before a user starts.
    pub(super) fn main_origin(&self) -> Option<String> {
        // Of several, it is the first.
        let most = self.origins.iter().rev().max_by_key(|(_, count)| **count);
        most.map(|(origin, _)| origin.clone())
    }

    pub(super) fn note_once(&mut self, note: String) {
        if self.noted.insert(note.clone()) {
            self.calls.note(note);
        }
    }

    /// Returns the function that takes a value from the JSON of a response, as text; nil if it has none.
    pub(super) fn json_at(&mut self) -> String {
        self.calls.helper(
            "json_at",
            "function(response, path)\n  local ok, value = pcall(response.json, response, path)\n  \
             if not ok or value == nil or value == json.null then return nil end\n  \
             return type(value) == \"table\" and json.encode(value) or tostring(value)\nend",
        )
    }

    /// Returns the function that takes a list of values from the JSON of a response, an empty one if it has none.
    pub(super) fn json_list(&mut self) -> String {
        self.calls.helper(
            "json_list",
            "function(response, path)\n  local ok, value = pcall(response.json, response, path)\n  \
             return ok and type(value) == \"table\" and value or {}\nend",
        )
    }

    /// Notes an element that has nothing to stand for it in a plan.
    pub(super) fn leave_out(&mut self, element: JmeterElement<'a>) {
        let kind = element.kind();
        if LISTENERS.contains(&kind) || kind.ends_with("Collector") {
            self.listeners += 1;
            return;
        }
        let names = self.left_out.entry(kind.to_owned()).or_default();
        names.push(element.name().to_owned());
    }
}
