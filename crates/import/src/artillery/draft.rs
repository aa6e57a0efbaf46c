//! The plan that is being made of a test, and the texts with `{{ variables }}` in it as expressions.

use crate::calls::{LuaLiteral, PlanOutline};
use crate::lua_text::{comment, field, quoted};
use crate::parts::Concatenation;
use crate::request::PlanAttachments;
use crate::secrets::{is_secret, is_secret_field};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The most locals of a plan for variables: Lua takes 200 of all kinds.
const MAX_LOCALS: usize = 80;

pattern!(TEMPLATE, r"\{\{\{?\s*([^{}\r\n]{1,300}?)\s*\}?\}\}");
pattern!(CALL, r"^\$(\w+)\s*\(([^()]*)\)$");
pattern!(PATH, r"^([A-Za-z_]\w*)((?:\.\w+|\[\d+\])*)$");

/// A plan that is being made of a test.
#[derive(Default)]
pub(super) struct ArtilleryImport {
    pub(super) calls: PlanOutline,
    pub(super) files: PlanAttachments,
    pub(super) folder: Option<PathBuf>,
    /// Headers of all requests whose values are variables.
    pub(super) headers: Vec<(String, Value)>,
    pub(super) requests: usize,
    /// The depth of the loop that is being read.
    pub(super) depth: usize,
    /// Values of the test's variables that are one text.
    pub(super) fixed: BTreeMap<String, Value>,
    /// Variables that each user has for itself.
    pub(super) own: BTreeSet<String>,
    /// The variables that are set before the test.
    pub(super) shared: BTreeSet<String>,
    locals: BTreeMap<String, String>,
    /// Number of values that only locals and users have, in all expressions so far.
    pub(super) late_values: usize,
    noted: BTreeSet<String>,
}

impl ArtilleryImport {
    pub(super) fn note_once(&mut self, note: String) {
        if self.noted.insert(note.clone()) {
            self.calls.note(note);
        }
    }

    /// Returns the function that takes a value from the JSON of a response; nil if it has none.
    pub(super) fn json_at(&mut self) -> String {
        self.calls.helper(
            "json_at",
            "function(response, path)\n  local ok, value = pcall(response.json, response, path)\n  \
             if ok and value ~= json.null then return value end\nend",
        )
    }

    /// Returns the expression for a text.
    pub(super) fn expression(&mut self, text: &str) -> String {
        match self.text(text) {
            LuaLiteral::Expression(code) => code,
            literal => literal.render(4),
        }
    }

    /// Returns a text as a value of the plan: one that is a variable alone has the variable's type.
    pub(super) fn text(&mut self, text: &str) -> LuaLiteral {
        if !text.contains("{{") {
            return LuaLiteral::text(text);
        }
        let mut whole = Concatenation::default();
        let mut from = 0;
        let pieces: Vec<(usize, usize, String)> = TEMPLATE
            .captures_iter(text)
            .map(|found| {
                let (place, inner) = (found.get_match(), found[1].to_owned());
                (place.start(), place.end(), inner)
            })
            .collect();
        let is_alone = matches!(pieces.as_slice(), [(0, end, _)] if *end == text.len());
        for (start, end, inner) in pieces {
            whole.literal(&text[from..start]);
            match self.variable(&inner) {
                Some(expression) if is_alone => return LuaLiteral::Expression(expression),
                Some(expression) => whole.expression(format!("tostring({expression})")),
                None => whole.literal(&text[start..end]),
            }
            from = end;
        }
        whole.literal(&text[from..]);
        if whole.is_literal() {
            return LuaLiteral::text(text);
        }
        LuaLiteral::Expression(whole.finish())
    }

    /// Returns a value of YAML with the variables in its texts; secrets come from the environment. `what` names the
    /// owner of the value for notes.
    pub(super) fn value(&mut self, name: &str, value: &Value, what: &str) -> LuaLiteral {
        match value {
            Value::String(text) if !text.contains("{{") && is_secret_field(name, text) => {
                let what = format!("'{}' of {what}", comment(name));
                LuaLiteral::Expression(self.calls.secrets.variable(name, text, &what))
            }
            Value::String(text) => self.text(text),
            Value::Array(items) => LuaLiteral::List(
                items
                    .iter()
                    .map(|item| self.value(name, item, what))
                    .collect(),
            ),
            Value::Object(fields) => LuaLiteral::Table(
                fields
                    .iter()
                    .map(|(name, value)| (name.clone(), self.value(name, value, what)))
                    .collect(),
            ),
            scalar => LuaLiteral::Scalar(scalar.clone()),
        }
    }

    /// Returns the expression for the text between the braces of a template; `None` if it is not known.
    pub(super) fn variable(&mut self, text: &str) -> Option<String> {
        if let Some(inside) = text.strip_prefix('$') {
            return self.built_in(text, inside);
        }
        let Some(found) = PATH.captures(text) else {
            let shown = comment(text);
            self.note_once(format!(
                "'{{{{ {shown} }}}}' is sent as it is: write in Lua what it stands for"
            ));
            return None;
        };
        let (name, path) = (found[1].to_owned(), found[2].to_owned());
        let base = if self.own.contains(&name) {
            self.late_values += 1;
            let own = format!("user.data{}", field(&name));
            let shared = format!(" or shared and shared{}", field(&name));
            let shared = if self.shared.contains(&name) {
                &shared
            } else {
                ""
            };
            if path.is_empty() {
                return Some(format!("({own}{shared} or \"\")"));
            } else {
                format!("{own}{shared}")
            }
        } else if let Some(value) = self.fixed.get(&name).cloned() {
            self.late_values += 1;
            let local = self.local(&name, &value);
            if path.is_empty() {
                return Some(local);
            } else {
                local
            }
        } else {
            self.note_once(format!(
                "'{{{{ {name} }}}}' has no value in the test: set it with '-e {name}=…' or in the plan"
            ));
            return Some(format!("env({}, \"\")", quoted(&name)));
        };
        let path = path.trim_start_matches('.');
        Some(format!("json.get({base} or {{}}, {})", quoted(path)))
    }

    fn local(&mut self, name: &str, value: &Value) -> String {
        if let Some(local) = self.locals.get(name) {
            return local.clone();
        }
        if let Value::String(text) = value
            && is_secret(name)
            && !text.is_empty()
            && !text.contains("{{")
        {
            let what = format!("the variable '{}' of the test", comment(name));
            return self.calls.secrets.variable(name, text, &what);
        }
        // A value that is made of itself stays a text.
        let literal = match value {
            Value::String(text) if text.contains(&format!("{{{{ {name}")) => LuaLiteral::text(text),
            value => {
                self.locals.insert(name.to_owned(), quoted(""));
                self.value(name, value, "the test")
            }
        };
        let literal = literal.render(0);
        if self.locals.len() >= MAX_LOCALS {
            return literal;
        }
        let local = self.calls.names.unique(name);
        self.locals.insert(name.to_owned(), local.clone());
        self.calls.locals.push((local.clone(), literal));
        local
    }

    fn built_in(&mut self, text: &str, inside: &str) -> Option<String> {
        for prefix in ["processEnvironment.", "env."] {
            if let Some(name) = inside.strip_prefix(prefix) {
                return Some(format!("env({}, \"\")", quoted(name)));
            }
        }
        let call = CALL.captures(text);
        let (name, arguments) = match &call {
            Some(found) => (found[1].to_owned(), found[2].to_owned()),
            None => (inside.to_owned(), String::new()),
        };
        let numbers: Vec<i64> = arguments
            .split(',')
            .filter_map(|number| number.trim().parse().ok())
            .collect();
        let known = match (name.as_str(), numbers.as_slice()) {
            ("uuid" | "guid", _) => Some("random.uuid()".to_owned()),
            ("randomNumber", [from, to]) if from <= to => Some(format!("random.int({from}, {to})")),
            ("randomString", [length]) if (0..=100_000).contains(length) => {
                Some(format!("random.string({length})"))
            }
            ("loopCount", _) if self.depth > 0 => Some("count".to_owned()),
            ("loopElement", _) if self.depth > 0 => Some("element".to_owned()),
            (name, _) if name.starts_with("loopElement.") && self.depth > 0 => {
                let path = name.trim_start_matches("loopElement.");
                Some(format!("json.get(element, {})", quoted(path)))
            }
            _ => None,
        };
        if known.is_none() {
            let shown = comment(text);
            self.note_once(format!(
                "'{{{{ {shown} }}}}' is sent as it is: write in Lua what it stands for"
            ));
        }
        known
    }
}
