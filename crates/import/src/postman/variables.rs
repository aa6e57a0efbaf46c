//! The variables of a collection, `{{name}}`: those with a value become locals of the plan; secrets and variables
//! without a value come from the environment; those that scripts set are kept with the user.

use crate::calls::{LuaLiteral, PlanOutline};
use crate::lua_text::{field, quoted};
use crate::parts::Concatenation;
use crate::places::named_token;
use crate::secrets;
use serde_json::Value;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// The most locals of a plan: Lua takes 200.
const MAX_LOCALS: usize = 100;
/// The depth to which a value that is made of variables is followed.
const MAX_DEPTH: usize = 8;
/// The most bytes that values put in place of variables, in the whole plan: a few of them that are made of each other
/// would make a text without end.
const MAX_EXPANDED_BYTES: usize = 4 << 20;

pattern!(TEMPLATE, r"\{\{\s*([^{}\r\n]{1,200}?)\s*\}\}");

/// Origins of the value of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueSource {
    /// The same text throughout the run.
    Fixed,
    /// A value of the user, perhaps a number.
    User,
    /// A number that is new in each request.
    Number,
    /// A text that is new in each request, or that has parts of the user.
    Text,
}

/// The expression for a text of the collection.
pub(super) struct VariableExpression {
    pub(super) code: String,
    pub(super) source: ValueSource,
}

impl VariableExpression {
    pub(super) fn fixed(code: String) -> VariableExpression {
        let source = ValueSource::Fixed;
        VariableExpression { code, source }
    }

    fn of_user(code: String) -> VariableExpression {
        let source = ValueSource::User;
        VariableExpression { code, source }
    }
}

/// Random values of a collection, with the expressions for them in a plan.
const DYNAMIC: [(&str, &str, ValueSource); 20] = [
    ("$guid", "random.uuid()", ValueSource::Text),
    ("$randomUUID", "random.uuid()", ValueSource::Text),
    ("$timestamp", "os.time()", ValueSource::Number),
    (
        "$isoTimestamp",
        "os.date(\"!%Y-%m-%dT%H:%M:%S.000Z\")",
        ValueSource::Text,
    ),
    ("$randomInt", "random.int(0, 1000)", ValueSource::Number),
    ("$randomEmail", "random.email()", ValueSource::Text),
    ("$randomExampleEmail", "random.email()", ValueSource::Text),
    ("$randomFirstName", "random.name()", ValueSource::Text),
    ("$randomLastName", "random.name()", ValueSource::Text),
    ("$randomFullName", "random.name()", ValueSource::Text),
    ("$randomUserName", "random.string(10)", ValueSource::Text),
    ("$randomPassword", "random.string(15)", ValueSource::Text),
    ("$randomAlphaNumeric", "random.string(1)", ValueSource::Text),
    ("$randomPhoneNumber", "random.phone()", ValueSource::Text),
    ("$randomPhoneNumberExt", "random.phone()", ValueSource::Text),
    ("$randomWord", "random.words(1)", ValueSource::Text),
    ("$randomWords", "random.words(4)", ValueSource::Text),
    ("$randomLoremWords", "random.words(3)", ValueSource::Text),
    ("$randomLoremSentence", "random.words(8)", ValueSource::Text),
    ("$randomPrice", "random.int(1, 1000)", ValueSource::Number),
];

/// A variable as the collection has it.
struct DefinedVariable {
    value: String,
    is_secret: bool,
}

pub(super) struct PostmanVariables {
    defined: BTreeMap<String, DefinedVariable>,
    /// Names of columns of the data file, and where the plan has their values.
    columns: BTreeMap<String, String>,
    /// The place of the row of an iteration.
    pub(super) row: String,
    /// Set by scripts: names, and fields of `user.data`.
    set: BTreeMap<String, String>,
    /// Locals of the plan that there are.
    locals: BTreeMap<String, String>,
    /// Used before a script has set them.
    pub(super) early: BTreeSet<String>,
    pub(super) already: BTreeSet<String>,
    /// Bytes that values may still put in place of variables.
    remaining: Cell<usize>,
}

/// A piece of a text.
enum TextPiece<'a> {
    Literal(&'a str),
    Variable(&'a str),
}

fn pieces(text: &str) -> Vec<TextPiece<'_>> {
    let mut pieces = Vec::new();
    let mut from = 0;
    for found in TEMPLATE.captures_iter(text) {
        let (whole, name) = (found.get_match(), found.get(1));
        if whole.start() > from {
            pieces.push(TextPiece::Literal(&text[from..whole.start()]));
        }
        pieces.extend(name.map(|name| TextPiece::Variable(name.as_str())));
        from = whole.end();
    }
    if from < text.len() {
        pieces.push(TextPiece::Literal(&text[from..]));
    }
    pieces
}

/// Returns whether a text has variables.
pub(super) fn has_variables(text: &str) -> bool {
    TEMPLATE.is_match(text)
}

/// Returns the name of the variable that a text consists of, but for a scheme.
pub(super) fn only_variable(text: &str) -> Option<&str> {
    let found = TEMPLATE.captures(text)?;
    let before = &text[..found.get_match().start()];
    let is_whole =
        found.get_match().end() == text.len() && (before.is_empty() || before.ends_with("://"));
    found.get(1).filter(|_| is_whole).map(|name| name.as_str())
}

impl PostmanVariables {
    /// Creates the variables from lists of them, of which later ones come first; `set` are the names that scripts set,
    /// `columns` those of the rows of a data file.
    pub(super) fn new(lists: &[&Value], set: BTreeSet<String>, columns: &[String]) -> Self {
        let mut defined = BTreeMap::new();
        for variable in lists.iter().filter_map(|list| list.as_array()).flatten() {
            let key = variable["key"].as_str().or(variable["id"].as_str());
            let is_on = variable["disabled"] != true && variable["enabled"] != false;
            let Some(key) = key.filter(|_| is_on) else {
                continue;
            };
            let value = match &variable["value"] {
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                other => other.to_string(),
            };
            let is_secret = variable["type"] == "secret"
                || secrets::is_secret(key)
                || secrets::looks_secret(key, &value)
                || named_token(key);
            defined.insert(key.to_owned(), DefinedVariable { value, is_secret });
        }
        let mut fields = crate::names::UsedNames::default();
        let row = fields.unique("row");
        let columns = columns.iter().map(|name| {
            let place = format!("user.data.{row}{}", field(name));
            (name.clone(), place)
        });
        let set = set.into_iter().map(|name| {
            let unique = fields.unique(&name);
            (name, unique)
        });
        PostmanVariables {
            defined,
            columns: columns.collect(),
            row: format!("user.data.{row}"),
            set: set.collect(),
            locals: BTreeMap::new(),
            early: BTreeSet::new(),
            already: BTreeSet::new(),
            remaining: Cell::new(MAX_EXPANDED_BYTES),
        }
    }

    /// Returns whether a value may be put in place of its variable. Once one may not, none may.
    fn spend(&self, value: &str) -> bool {
        let remaining = self.remaining.get().checked_sub(value.len());
        self.remaining.set(remaining.unwrap_or(0));
        remaining.is_some()
    }

    /// Returns whether variables stand where their values would be, since these are too long.
    pub(super) fn are_too_long(&self) -> bool {
        self.remaining.get() == 0
    }

    /// Returns the statements that set the variables of scripts to their first values.
    pub(super) fn first(&mut self) -> Vec<String> {
        let mut statements = Vec::new();
        for (name, field) in &self.set {
            let value = self.defined.get(name).filter(|defined| !defined.is_secret);
            let value =
                value.filter(|defined| !defined.value.is_empty() && !has_variables(&defined.value));
            if let Some(defined) = value {
                statements.push(format!("user.data.{field} = {}", quoted(&defined.value)));
                self.already.insert(name.clone());
            }
        }
        statements
    }

    /// Returns whether a variable has a value, or gets one from a script.
    pub(super) fn has(&self, name: &str) -> bool {
        self.set.contains_key(name)
            || self.columns.contains_key(name)
            || self
                .defined
                .get(name)
                .is_some_and(|defined| !defined.value.is_empty())
    }

    /// Makes a variable stand for an expression of the plan.
    pub(super) fn stand_for(&mut self, name: &str, expression: String) {
        self.locals.insert(name.to_owned(), expression);
    }

    /// Returns where a variable is kept that a script sets.
    pub(super) fn place(&self, name: &str) -> Option<String> {
        self.set
            .get(name)
            .map(|name| format!("user.data{}", field(name)))
    }

    /// Replaces variables with the values of the collection; the remaining ones are not known, or not fixed.
    pub(super) fn expanded(&self, text: &str) -> String {
        self.expanded_within(text, MAX_DEPTH)
    }

    fn expanded_within(&self, text: &str, deep: usize) -> String {
        let mut out = String::new();
        for piece in pieces(text) {
            match piece {
                TextPiece::Literal(text) => out.push_str(text),
                TextPiece::Variable(name) => match self.defined.get(name) {
                    Some(defined)
                        if deep > 0
                            && !self.set.contains_key(name)
                            && !self.columns.contains_key(name)
                            && !defined.value.is_empty()
                            && !defined.is_secret
                            && self.spend(&defined.value) =>
                    {
                        out.push_str(&self.expanded_within(&defined.value, deep - 1));
                    }
                    _ => out.push_str(&format!("{{{{{name}}}}}")),
                },
            }
        }
        out
    }

    /// Returns a text as an expression.
    pub(super) fn text(&mut self, text: &str, calls: &mut PlanOutline) -> String {
        self.expression(text, calls).code
    }

    /// Returns a text as an expression, with the source of its value.
    pub(super) fn expression(&mut self, text: &str, calls: &mut PlanOutline) -> VariableExpression {
        self.expression_within(text, calls, MAX_DEPTH)
    }

    fn expression_within(
        &mut self,
        text: &str,
        calls: &mut PlanOutline,
        deep: usize,
    ) -> VariableExpression {
        let pieces = pieces(text);
        if let [TextPiece::Variable(name)] = pieces[..] {
            return self.variable(name, calls, deep);
        }
        let mut whole = Concatenation::default();
        let mut source = ValueSource::Fixed;
        for piece in pieces {
            match piece {
                TextPiece::Literal(text) => whole.literal(text),
                TextPiece::Variable(name) => {
                    let part = self.variable(name, calls, deep);
                    whole.expression(part.code);
                    if part.source != ValueSource::Fixed {
                        source = ValueSource::Text;
                    }
                }
            }
        }
        let code = whole.finish();
        VariableExpression { code, source }
    }

    /// Returns a variable that stands in JSON without quotation marks: a number as a rule.
    pub(super) fn bare(&mut self, name: &str, calls: &mut PlanOutline) -> LuaLiteral {
        let value = self
            .defined
            .get(name)
            .map(|defined| defined.value.trim().to_owned());
        let is_fixed = !self.set.contains_key(name) && !self.columns.contains_key(name);
        let value = value.filter(|_| is_fixed);
        let value = value.filter(|value| self.spend(value));
        if let Some(value) = value.and_then(|value| serde_json::from_str::<Value>(&value).ok()) {
            return LuaLiteral::json(&value);
        }
        let VariableExpression { code, source } = self.variable(name, calls, MAX_DEPTH);
        LuaLiteral::Expression(if source == ValueSource::Fixed {
            format!("(tonumber({code}) or {code})")
        } else {
            code
        })
    }

    fn variable(&mut self, name: &str, calls: &mut PlanOutline, deep: usize) -> VariableExpression {
        if let Some(place) = self.columns.get(name) {
            return VariableExpression::of_user(place.clone());
        }
        if let Some(place) = self.place(name) {
            if !self.already.contains(name) {
                self.early.insert(name.to_owned());
            }
            return VariableExpression::of_user(place);
        }
        if let Some((_, code, source)) = DYNAMIC.iter().find(|(key, ..)| *key == name) {
            let (code, source) = ((*code).to_owned(), *source);
            return VariableExpression { code, source };
        }
        if name.starts_with('$') {
            calls.note(format!(
                "'{{{{{name}}}}}' is made of random words: write what it is to be"
            ));
            let (code, source) = ("random.words(1)".to_owned(), ValueSource::Text);
            return VariableExpression { code, source };
        }
        if let Some(local) = self.locals.get(name) {
            return VariableExpression::fixed(local.clone());
        }
        VariableExpression::fixed(match self.defined.get(name) {
            Some(defined) if defined.is_secret => {
                let what = format!("variable '{name}' of the collection");
                let value = defined.value.clone();
                calls.secrets.variable(name, &value, &what)
            }
            Some(defined) if !defined.value.is_empty() && deep > 0 => {
                if !self.spend(&defined.value) {
                    let text = quoted(&format!("{{{{{name}}}}}"));
                    return VariableExpression::fixed(text);
                }
                let value = defined.value.clone();
                let value = self.expression_within(&value, calls, deep - 1);
                // A local at the top is made once, where there is no user.
                if calls.locals.len() >= MAX_LOCALS || value.source != ValueSource::Fixed {
                    return value;
                }
                let local = calls.names.unique(name);
                calls.locals.push((local.clone(), value.code));
                self.locals.insert(name.to_owned(), local.clone());
                local
            }
            _ => {
                let what =
                    format!("variable '{{{{{name}}}}}', which the collection has no value for");
                calls.secrets.variable(name, "", &what)
            }
        })
    }
}
