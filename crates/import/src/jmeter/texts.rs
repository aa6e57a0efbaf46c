//! Texts of a test plan with `${variables}` and `${__functions()}` in them, as expressions of the plan.

use crate::calls::{LuaLiteral, PlanOutline};
use crate::lua_text::{comment, field, quoted};
use crate::parts::Concatenation;
use crate::secrets::{is_secret, is_secret_field};
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

/// The most locals of a plan for variables: Lua takes 200 of all kinds.
const MAX_LOCALS: usize = 80;
/// The depth to which values that are made of variables are followed.
const MAX_DEPTH: usize = 8;
/// The most bytes that values put in place of variables in a text.
const MAX_EXPANDED_BYTES: usize = 64 << 10;
/// The deepest functions within functions.
const MAX_NESTED_FUNCTIONS: usize = 40;

/// The variables of a test plan.
#[derive(Debug, Default)]
pub(super) struct JmeterVariables {
    /// Variables that the plan defines, with their texts.
    defined: BTreeMap<String, String>,
    /// Variables that are set while the plan runs, which the user keeps.
    set: BTreeSet<String>,
    /// Names of locals.
    locals: BTreeMap<String, String>,
    /// Notes that were made already: each is made once.
    noted: BTreeSet<String>,
    /// The depth of the expression that is being made, and the bytes that went into the options of the plan.
    nested: usize,
    expanded: usize,
    /// Number of values that users set, in all expressions so far.
    user_values: usize,
}

/// The first character of the name of a secret's variable; no text of XML has it.
const SECRET: char = '\0';

/// Returns the placeholder of a secret in a text: a variable whose name has the secret's name and value.
pub(super) fn secret(name: &str, value: &str) -> String {
    let value = value.replace(['{', '}'], "");
    format!("${{{SECRET}{name}{SECRET}{value}}}")
}

/// A piece of a text.
#[derive(Debug, PartialEq, Eq)]
enum TextPiece<'a> {
    Literal(String),
    Variable(&'a str),
    Function(&'a str, Vec<String>),
}

/// Places of an expression: the plan's options stand before its locals, and so have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpressionPlace {
    Task,
    PlanOptions,
}

impl JmeterVariables {
    pub(super) fn define(&mut self, name: &str, value: &str) {
        if !name.is_empty() {
            self.defined.insert(name.to_owned(), value.to_owned());
        }
    }

    pub(super) fn is_defined(&self, name: &str) -> bool {
        self.defined.contains_key(name)
    }

    /// Notes that a variable is set while the plan runs.
    pub(super) fn sets(&mut self, name: &str) {
        if !name.is_empty() {
            self.set.insert(name.to_owned());
        }
    }

    /// Returns a text whose variables are all known beforehand.
    pub(super) fn fixed(&self, text: &str) -> Option<String> {
        let mut remaining = MAX_EXPANDED_BYTES;
        self.fixed_within(text, MAX_DEPTH, &mut remaining)
    }

    /// Returns the same; a text with other variables as it is.
    pub(super) fn fixed_or_same(&self, text: &str) -> String {
        self.fixed(text).unwrap_or_else(|| text.to_owned())
    }

    /// Returns the number of a text whose variables are all known beforehand.
    pub(super) fn fixed_number<T: FromStr>(&self, text: &str) -> Option<T> {
        self.fixed(text)?.trim().parse().ok()
    }

    fn fixed_within(&self, text: &str, deep: usize, remaining: &mut usize) -> Option<String> {
        let deep = deep.checked_sub(1)?;
        let mut whole = String::new();
        for piece in pieces(text) {
            match piece {
                TextPiece::Literal(text) => whole += &text,
                TextPiece::Variable(name) if !self.set.contains(name) => {
                    whole += &self.fixed_within(self.defined.get(name)?, deep, remaining)?;
                }
                _ => return None,
            }
            *remaining = remaining.checked_sub(whole.len())?;
        }
        Some(whole)
    }

    /// Returns a text as a value of the plan.
    pub(super) fn value(&mut self, text: &str, calls: &mut PlanOutline) -> LuaLiteral {
        let whole = self.concatenation(text, calls, ExpressionPlace::Task, MAX_DEPTH);
        if whole.is_literal() {
            let fixed: String = pieces(text)
                .into_iter()
                .filter_map(|piece| match piece {
                    TextPiece::Literal(text) => Some(text),
                    _ => None,
                })
                .collect();
            return LuaLiteral::text(&fixed);
        }
        LuaLiteral::Expression(whole.finish())
    }

    /// Returns the value of a field, header or variable; one that is a secret comes from the environment.
    pub(super) fn field(
        &mut self,
        name: &str,
        text: &str,
        what: &str,
        calls: &mut PlanOutline,
    ) -> LuaLiteral {
        let is_fixed = !text.contains("${");
        if is_fixed && is_secret_field(name, text) {
            let what = format!("'{}' of {what}", comment(name));
            return LuaLiteral::Expression(calls.secrets.variable(name, text, &what));
        }
        self.value(text, calls)
    }

    /// Returns the expression for a text that is known before a user starts, and whether it is: no user sets a part of it.
    pub(super) fn site(&mut self, text: &str, calls: &mut PlanOutline) -> (Concatenation, bool) {
        let before = self.user_values;
        let site = self.concatenation(text, calls, ExpressionPlace::PlanOptions, MAX_DEPTH);
        (site, self.user_values == before)
    }

    /// Returns the parts of the expression for a text.
    pub(super) fn template(&mut self, text: &str, calls: &mut PlanOutline) -> Concatenation {
        self.concatenation(text, calls, ExpressionPlace::Task, MAX_DEPTH)
    }

    /// Returns the expression for a text.
    pub(super) fn expression(
        &mut self,
        text: &str,
        calls: &mut PlanOutline,
        place: ExpressionPlace,
    ) -> String {
        self.concatenation(text, calls, place, MAX_DEPTH).finish()
    }

    /// Returns the expression for a number; `None` for any other text.
    pub(super) fn number(
        &mut self,
        text: &str,
        calls: &mut PlanOutline,
        place: ExpressionPlace,
    ) -> Option<LuaLiteral> {
        if let Some(fixed) = self.fixed(text) {
            let fixed = fixed.trim();
            let whole = fixed.parse::<i64>().ok().map(serde_json::Value::from);
            let number = whole.or_else(|| fixed.parse::<f64>().ok().map(serde_json::Value::from));
            return number.map(LuaLiteral::Scalar);
        }
        let expression = self.expression(text, calls, place);
        Some(LuaLiteral::Expression(format!("tonumber({expression})")))
    }

    /// Returns the expression in seconds for a number of milliseconds; `None` for any other text.
    pub(super) fn seconds(&mut self, text: &str, calls: &mut PlanOutline) -> Option<String> {
        match self.number(text, calls, ExpressionPlace::Task)? {
            LuaLiteral::Scalar(number) => {
                let seconds = number.as_f64()? / 1000.0;
                (seconds.is_finite() && seconds >= 0.0).then(|| seconds.to_string())
            }
            dynamic => Some(format!("({} or 0) / 1000", dynamic.render(0))),
        }
    }

    fn concatenation(
        &mut self,
        text: &str,
        calls: &mut PlanOutline,
        place: ExpressionPlace,
        deep: usize,
    ) -> Concatenation {
        let mut whole = Concatenation::default();
        self.expanded += text.len();
        if self.nested > MAX_NESTED_FUNCTIONS
            || place == ExpressionPlace::PlanOptions && self.expanded > MAX_EXPANDED_BYTES << 4
        {
            self.note(
                "left a text as it is, whose variables and functions lie too deep in each other"
                    .to_owned(),
                calls,
            );
            whole.literal(text);
            return whole;
        }
        self.nested += 1;
        for piece in pieces(text) {
            match piece {
                TextPiece::Literal(text) => whole.literal(&text),
                TextPiece::Variable(name) => {
                    match self.variable(name, calls, place, deep) {
                        Some(expression) => whole.expression(expression),
                        None => whole.literal(&format!("${{{name}}}")),
                    };
                }
                TextPiece::Function(name, arguments) => {
                    match self.function(name, &arguments, calls, place) {
                        Some(expression) => whole.expression(expression),
                        None => {
                            let name = comment(name);
                            self.note(format!("'${{{name}(…)}}' is sent as it is: write in Lua what the function gives"), calls);
                            whole.literal(&format!("${{{name}()}}"));
                        }
                    }
                }
            }
        }
        self.nested -= 1;
        whole
    }

    fn note(&mut self, note: String, calls: &mut PlanOutline) {
        if self.noted.insert(note.clone()) {
            calls.note(note);
        }
    }

    fn variable(
        &mut self,
        name: &str,
        calls: &mut PlanOutline,
        place: ExpressionPlace,
        deep: usize,
    ) -> Option<String> {
        if let Some((name, value)) = name
            .strip_prefix(SECRET)
            .and_then(|rest| rest.split_once(SECRET))
        {
            let what = format!("'{}' of a body", comment(name));
            return Some(calls.secrets.variable(name, value, &what));
        }
        let text = self.defined.get(name).cloned();
        if self.set.contains(name) {
            self.user_values += 1;
            let before = match &text {
                Some(text) => self.fixed(text).unwrap_or_default(),
                None => String::new(),
            };
            return Some(format!("(user.data{} or {})", field(name), quoted(&before)));
        }
        let Some(text) = text else {
            let shown = comment(name);
            self.note(
                format!("'${{{shown}}}' has no value in the test plan: set it with '-e {shown}=…' or in the plan"),
                calls,
            );
            return Some(format!("env({}, \"\")", quoted(name)));
        };
        let deep = deep.checked_sub(1)?;
        if place == ExpressionPlace::PlanOptions {
            let inner = self.concatenation(&text, calls, place, deep);
            return Some(inner.finish());
        }
        if let Some(local) = self.locals.get(name) {
            return Some(local.clone());
        }
        if !text.contains("${") && !text.is_empty() && is_secret(name) {
            let what = format!("the variable '{}' of the test plan", comment(name));
            return Some(calls.secrets.variable(name, &text, &what));
        }
        let value = match self.fixed(&text) {
            Some(fixed) => quoted(&fixed),
            None => self.concatenation(&text, calls, place, deep).finish(),
        };
        if self.locals.len() >= MAX_LOCALS {
            return Some(format!("({value})"));
        }
        let local = calls.names.unique(name);
        self.locals.insert(name.to_owned(), local.clone());
        calls.locals.push((local.clone(), value));
        Some(local)
    }

    /// Returns the expression for a function of JMeter.
    fn function(
        &mut self,
        name: &str,
        arguments: &[String],
        calls: &mut PlanOutline,
        place: ExpressionPlace,
    ) -> Option<String> {
        let argument = |at: usize| {
            arguments
                .get(at)
                .map(|text| text.trim())
                .unwrap_or_default()
        };
        let number = |variables: &Self, at: usize| {
            let fixed = variables.fixed(argument(at))?;
            fixed.trim().parse::<i64>().ok()
        };
        // A result that is kept in a variable would need a statement.
        let keeps = |at: usize| !argument(at).is_empty();
        Some(match name {
            "__P" | "__property" | "__env" => {
                let default = match (name, argument(1), argument(2)) {
                    ("__property" | "__env", _, default) => default.to_owned(),
                    (_, "", _) if arguments.len() < 2 => "1".to_owned(),
                    (_, default, _) => default.to_owned(),
                };
                let key = self.fixed(argument(0))?;
                let default = self.expression(&default, calls, place);
                format!("env({}, {default})", quoted(&key))
            }
            "__UUID" => "random.uuid()".to_owned(),
            "__Random" if !keeps(2) => {
                let (from, to) = (number(self, 0)?, number(self, 1)?);
                (from <= to).then(|| format!("random.int({from}, {to})"))?
            }
            "__RandomString" if !keeps(1) && !keeps(2) => {
                let length = number(self, 0).filter(|length| (0..=100_000).contains(length))?;
                format!("random.string({length})")
            }
            "__time" if !keeps(1) && argument(0).is_empty() => "time.ms()".to_owned(),
            "__time" if !keeps(1) && argument(0) == "/1000" => "os.time()".to_owned(),
            "__threadNum" if place == ExpressionPlace::Task => "user.id".to_owned(),
            "__iterationNum" if place == ExpressionPlace::Task => "user.iteration".to_owned(),
            "__V" | "__eval" => {
                let fixed = self.fixed(argument(0))?;
                self.variable(&fixed, calls, place, MAX_DEPTH)?
            }
            "__urlencode" => {
                let inner = self.expression(argument(0), calls, place);
                format!("url.encode({inner})")
            }
            "__base64Encode" if !keeps(1) => {
                let inner = self.expression(argument(0), calls, place);
                format!("base64.encode({inner})")
            }
            _ => return None,
        })
    }
}

/// Splits a text at its variables and functions.
fn pieces(text: &str) -> Vec<TextPiece<'_>> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let end = closing(&rest[at + 2..]);
        let Some(end) = end else { break };
        if rest[..at].ends_with('\\') {
            literal += &rest[..at - 1];
            literal += "${";
            rest = &rest[at + 2..];
            continue;
        }
        literal += &rest[..at];
        if !literal.is_empty() {
            pieces.push(TextPiece::Literal(std::mem::take(&mut literal)));
        }
        let inner = rest[at + 2..at + 2 + end].trim();
        pieces.push(
            match inner
                .strip_suffix(')')
                .and_then(|call| call.split_once('('))
            {
                Some((name, arguments)) if name.starts_with("__") => {
                    TextPiece::Function(name, split_arguments(arguments))
                }
                _ if inner.starts_with("__") => TextPiece::Function(inner, Vec::new()),
                _ => TextPiece::Variable(inner),
            },
        );
        rest = &rest[at + 2 + end + 1..];
    }
    literal += rest;
    if !literal.is_empty() {
        pieces.push(TextPiece::Literal(literal));
    }
    pieces
}

/// Returns the position of the brace that closes an open one.
fn closing(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => open += 1,
            '}' if open == 0 => return Some(at),
            '}' => open -= 1,
            _ => {}
        }
    }
    None
}

/// Splits arguments at commas that are not escaped and stand in no other function.
fn split_arguments(text: &str) -> Vec<String> {
    let mut arguments = vec![String::new()];
    let (mut open, mut escaped) = (0_usize, false);
    for c in text.chars() {
        if let Some(last) = arguments.last_mut() {
            match c {
                '\\' if !escaped => {
                    escaped = true;
                    continue;
                }
                ',' if !escaped && open == 0 => {
                    arguments.push(String::new());
                    continue;
                }
                '(' | '{' => open += 1,
                ')' | '}' => open = open.saturating_sub(1),
                _ if escaped && c != ',' => last.push('\\'),
                _ => {}
            }
            escaped = false;
            last.push(c);
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(text: &str) -> String {
        let mut variables = JmeterVariables::default();
        variables.define("host", "shop.example");
        variables.define("url", "http://${host}/");
        variables.define("users", "${__P(users,10)}");
        variables.define("endless", "${endless}");
        variables.sets("token");
        let mut calls = PlanOutline::default();
        let text = variables.expression(text, &mut calls, ExpressionPlace::Task);
        let locals = calls.locals.iter();
        let locals = locals.map(|(name, value)| format!("{name} = {value}; "));
        locals.collect::<String>() + &text
    }

    #[test]
    fn variables_and_functions_become_expressions() {
        for (text, lua) in [
            ("plain $1 {a}", "\"plain $1 {a}\""),
            (
                "${url}a",
                "the_url = \"http://shop.example/\"; the_url .. \"a\"",
            ),
            (
                "Bearer ${token}",
                "\"Bearer \" .. (user.data.token or \"\")",
            ),
            ("${users}", "users = env(\"users\", \"10\"); users"),
            (
                "${__UUID()}-${__UUID}",
                "random.uuid() .. \"-\" .. random.uuid()",
            ),
            ("${__Random(1,100)}", "random.int(1, 100)"),
            ("${__groovy(vars.get(\"a\"))}", "\"${__groovy()}\""),
            ("${__P(a,b\\,c)}", "env(\"a\", \"b,c\")"),
            ("\\${host}", "\"${host}\""),
            ("${unknown}", "env(\"unknown\", \"\")"),
            ("${unclosed", "\"${unclosed\""),
        ] {
            let found = expression(text);
            assert!(found.ends_with(lua), "{text}: {found}");
        }
        // It ends.
        let _whatever = expression("${endless}");
    }
}
