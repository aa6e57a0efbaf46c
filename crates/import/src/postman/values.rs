//! Expressions of scripts that are understood: values from the response, variables and literals, and conditions on
//! them.

use crate::lua_text::{field, quoted};
use serde_json::Value;
use std::collections::HashMap;

/// The deepest parentheses and operators of an expression that are read.
const MAX_DEPTH: usize = 8;

/// The value of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ScriptValue {
    /// Steps into the JSON of the response, as Lua after `:json()`.
    Json(String),
    /// The same as text of JSON: `JSON.stringify`.
    Encoded(String),
    Header(String),
    Cookie(String),
    /// The body of the response.
    Body,
    /// The status of the response.
    Status,
    /// A variable.
    Variable(String),
    /// Text with `{{variables}}`.
    Text(String),
    Number(String),
    /// Texts put together.
    Joined(Vec<ScriptValue>),
    /// `null`, `undefined`.
    Nothing,
}

/// A condition of a script.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ScriptCondition {
    /// The response is no failure, which the plan checks before.
    Success,
    /// A value that is true in JavaScript.
    Truthy(ScriptValue),
    /// The value is there, and is not null.
    Present(ScriptValue),
    Equal(ScriptValue, Value),
    /// Its length is compared, by an operator of Lua, with a number.
    Length(ScriptValue, &'static str, u64),
    Not(Box<ScriptCondition>),
    All(Vec<ScriptCondition>),
    Any(Vec<ScriptCondition>),
}

impl ScriptValue {
    /// Returns whether the value comes from the response.
    pub(super) fn is_of_response(&self) -> bool {
        match self {
            ScriptValue::Variable(_) | ScriptValue::Text(_) => false,
            ScriptValue::Number(_) | ScriptValue::Nothing => false,
            ScriptValue::Joined(parts) => parts.iter().any(ScriptValue::is_of_response),
            _ => true,
        }
    }
}

/// Values that a script has named.
pub(super) type ScriptNames = HashMap<String, ScriptValue>;

const PATH: &str = r#"((?:\.[A-Za-z_$][\w$]*|\[\d+\]|\["[^"\\]+"\]|\['[^'\\]+'\])*)"#;
pattern!(
    ROOT,
    &format!(
        r"^(?:pm\.response\.json\(\)|JSON\.parse\((?:responseBody|pm\.response\.text\(\))\)){PATH}$"
    )
);
pattern!(NAMED, &format!(r"^([A-Za-z_$][\w$]*){PATH}$"));
pattern!(
    RECEIVED,
    r#"^(?:pm\.response\.headers\.get|postman\.getResponseHeader)\(\s*["']([^"']+)["']\s*\)$"#
);
pattern!(
    COOKIE,
    r#"^(?:pm\.cookies\.get|postman\.getResponseCookie)\(\s*["']([^"']+)["']\s*\)(?:\.value)?$"#
);
pattern!(
    GOT,
    r#"^(?:pm\.(?:environment|collectionVariables|globals|variables|iterationData)\.get|postman\.get(?:Environment|Global)Variable)\(\s*["']([^"']+)["']\s*\)$"#
);
pattern!(
    HAS,
    r#"^pm\.(?:environment|collectionVariables|globals|variables)\.has\(\s*["']([^"']+)["']\s*\)$"#
);
pattern!(
    INDEXED,
    r#"^(?:environment|globals|data)(?:\.(\w+)|\["([^"]+)"\]|\['([^']+)'\])$"#
);
pattern!(REPLACED, r"^pm\.variables\.replaceIn\((.+)\)$");
pattern!(ENCODED, r"^JSON\.stringify\((.+)\)$");
pattern!(
    CONVERTED,
    r"^(?:String|Number|parseInt|parseFloat)\(([^()]*(?:\(\))?[^()]*)\)$"
);
pattern!(
    STEP,
    r#"\.([A-Za-z_$][\w$]*)|\[(\d+)\]|\["([^"]+)"\]|\['([^']+)'\]"#
);
pattern!(
    COMPARED,
    r"^(.+?)\s*(===|!==|==|!=|>=|<=|>|<)\s*([^=<>].*)$"
);
pattern!(OWNED, r#"^(.+)\.hasOwnProperty\(\s*["']([^"']+)["']\s*\)$"#);
pattern!(WITHIN, r#"^["']([^"']+)["']\s+in\s+(.+)$"#);
pattern!(TYPED, r"^typeof\s+\(?(.+?)\)?$");

/// Returns the value of an expression; `None` if it is not understood.
pub(super) fn value(text: &str, names: &ScriptNames) -> Option<ScriptValue> {
    value_within(text, names, MAX_DEPTH)
}

fn value_within(text: &str, names: &ScriptNames, deep: usize) -> Option<ScriptValue> {
    let deep = deep.checked_sub(1)?;
    let text = unwrapped(text);
    let text = text.strip_suffix(".toString()").unwrap_or(text);
    let text = text.replace("?.", ".");
    let text = CONVERTED.captures(&text).map_or(text.as_str(), |found| {
        found.get(1).map_or("", |inner| inner.as_str().trim())
    });
    if let Some(found) = NAMED.captures(text)
        && let Some(before) = names.get(&found[1])
    {
        return match (before, &found[2]) {
            (before, "") => Some(before.clone()),
            (ScriptValue::Json(before), path) => {
                Some(ScriptValue::Json(format!("{before}{}", steps(path))))
            }
            _ => None,
        };
    }
    if let Some(found) = ROOT.captures(text) {
        return Some(ScriptValue::Json(steps(&found[1])));
    }
    if let Some(found) = RECEIVED.captures(text) {
        return Some(ScriptValue::Header(found[1].to_owned()));
    }
    if let Some(found) = COOKIE.captures(text) {
        return Some(ScriptValue::Cookie(found[1].to_owned()));
    }
    if let Some(found) = GOT.captures(text).or_else(|| INDEXED.captures(text)) {
        let name = found.iter().skip(1).flatten().next()?;
        return Some(ScriptValue::Variable(name.as_str().to_owned()));
    }
    if let Some(found) = REPLACED.captures(text) {
        return literal(&found[1]).map(ScriptValue::Text);
    }
    if let Some(found) = ENCODED.captures(text) {
        return match value_within(&found[1], names, deep)? {
            ScriptValue::Json(steps) => Some(ScriptValue::Encoded(steps)),
            _ => None,
        };
    }
    match text {
        "Date.now()" | "new Date().getTime()" => {
            return Some(ScriptValue::Text("{{$timestamp}}000".to_owned()));
        }
        "new Date().toISOString()" => {
            return Some(ScriptValue::Text("{{$isoTimestamp}}".to_owned()));
        }
        "pm.response.text()" | "responseBody" => return Some(ScriptValue::Body),
        "pm.response.code" | "responseCode.code" => return Some(ScriptValue::Status),
        "null" | "undefined" => return Some(ScriptValue::Nothing),
        _ => {}
    }
    let parts = split(text, "+");
    if parts.len() > 1 {
        let parts: Option<Vec<ScriptValue>> = parts
            .into_iter()
            .map(|part| value_within(part, names, deep))
            .collect();
        let parts = parts?;
        // Numbers are added, and texts joined.
        let has_text = parts
            .iter()
            .any(|part| matches!(part, ScriptValue::Text(_) | ScriptValue::Header(_)));
        return has_text.then_some(ScriptValue::Joined(parts));
    }
    if let Some(template) = text
        .strip_prefix('`')
        .and_then(|text| text.strip_suffix('`'))
        && template.contains("${")
    {
        return joined(template, names, deep);
    }
    match scalar(text)? {
        Value::String(text) => Some(ScriptValue::Text(text)),
        Value::Number(number) => Some(ScriptValue::Number(number.to_string())),
        _ => None,
    }
}

/// Returns the value of a template: a text with `${expressions}`.
fn joined(template: &str, names: &ScriptNames, deep: usize) -> Option<ScriptValue> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("${") {
        let (inner, after) = after.split_once('}')?;
        parts.push(literal(&format!("`{before}`")).map(ScriptValue::Text)?);
        parts.push(value_within(inner, names, deep)?);
        rest = after;
    }
    parts.push(literal(&format!("`{rest}`")).map(ScriptValue::Text)?);
    parts.retain(|part| !matches!(part, ScriptValue::Text(text) if text.is_empty()));
    Some(ScriptValue::Joined(parts))
}

/// Returns a condition; `None` if it is not understood.
pub(super) fn condition(text: &str, names: &ScriptNames) -> Option<ScriptCondition> {
    condition_within(text, names, MAX_DEPTH)
}

fn condition_within(text: &str, names: &ScriptNames, deep: usize) -> Option<ScriptCondition> {
    let deep = deep.checked_sub(1)?;
    let text = unwrapped(text);
    for (operator, is_any) in [("||", true), ("&&", false)] {
        let parts = split(text, operator);
        if parts.len() > 1 {
            let parts: Option<Vec<ScriptCondition>> = parts
                .into_iter()
                .map(|part| condition_within(part, names, deep))
                .collect();
            return parts.map(if is_any {
                ScriptCondition::Any
            } else {
                ScriptCondition::All
            });
        }
    }
    if let Some(rest) = text.strip_prefix('!')
        && !rest.starts_with('=')
    {
        return condition_within(rest, names, deep).map(ScriptCondition::negated);
    }
    let step = |object: &str, name: &str| match value_within(object, names, deep)? {
        ScriptValue::Json(steps) => Some(ScriptCondition::Present(ScriptValue::Json(format!(
            "{steps}{}",
            field(name)
        )))),
        _ => None,
    };
    if let Some(found) = OWNED.captures(text) {
        return step(&found[1], &found[2]);
    }
    if let Some(found) = WITHIN.captures(text) {
        return step(&found[2], &found[1]);
    }
    if let Some(found) = HAS.captures(text) {
        return Some(ScriptCondition::Present(ScriptValue::Variable(
            found[1].to_owned(),
        )));
    }
    if let Some(found) = COMPARED.captures(text) {
        return compared(&found[1], &found[2], &found[3], names, deep);
    }
    if let Some(inner) = text.strip_suffix(".length") {
        return value_within(inner, names, deep)
            .map(|value| ScriptCondition::Length(value, ">", 0));
    }
    match value_within(text, names, deep)? {
        ScriptValue::Text(_) | ScriptValue::Number(_) | ScriptValue::Nothing => None,
        value => Some(ScriptCondition::Truthy(value)),
    }
}

fn compared(
    left: &str,
    operator: &str,
    right: &str,
    names: &ScriptNames,
    deep: usize,
) -> Option<ScriptCondition> {
    let is_not = operator.starts_with('!');
    let is_equality = operator.len() > 1 && (is_not || operator.starts_with("=="));
    let unless = |condition: ScriptCondition, is_not: bool| {
        if is_not {
            condition.negated()
        } else {
            condition
        }
    };
    if let Some(found) = TYPED.captures(left) {
        let value = value_within(&found[1], names, deep)?;
        let is_undefined = is_equality && literal(right)? == "undefined";
        return is_undefined.then(|| unless(ScriptCondition::Present(value), !is_not));
    }
    if let Some(inner) = left.strip_suffix(".length") {
        let number = right.trim().parse().ok()?;
        let value = value_within(inner, names, deep)?;
        let operator = match operator {
            "===" | "==" => "==",
            "!==" | "!=" => "~=",
            ">" => ">",
            ">=" => ">=",
            "<" => "<",
            _ => "<=",
        };
        return Some(ScriptCondition::Length(value, operator, number));
    }
    let value = value_within(left, names, deep)?;
    if value == ScriptValue::Status {
        let status: u64 = right.trim().parse().ok()?;
        return match (operator, status) {
            ("===" | "==", 200..300) | ("<", 300..=400) => Some(ScriptCondition::Success),
            ("!==" | "!=", 200..300) | (">=", 300..=400) => {
                Some(ScriptCondition::Success.negated())
            }
            _ if is_equality => Some(unless(ScriptCondition::Equal(value, status.into()), is_not)),
            _ => None,
        };
    }
    if !is_equality {
        return None;
    }
    match value_within(right, names, deep) {
        Some(ScriptValue::Nothing) => Some(unless(ScriptCondition::Present(value), !is_not)),
        _ => scalar(right).map(|right| unless(ScriptCondition::Equal(value, right), is_not)),
    }
}

/// Splits an expression at an operator that stands outside of brackets and quotation marks.
fn split<'a>(text: &'a str, operator: &str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let (mut from, mut open, mut quote, mut escaped) = (0, 0_usize, None, false);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(opening), c) if opening == c => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None, '(' | '[' | '{') => open += 1,
            (None, ')' | ']' | '}') => open = open.saturating_sub(1),
            (None, _) if open == 0 && at >= from && text[at..].starts_with(operator) => {
                parts.push(text[from..at].trim());
                from = at + operator.len();
            }
            _ => {}
        }
    }
    parts.push(text[from..].trim());
    parts
}

/// Returns an expression without the parentheses around all of it.
fn unwrapped(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(inner) = text
        .strip_prefix('(')
        .and_then(|inner| inner.strip_suffix(')'))
    {
        let mut open = 0_i32;
        let is_whole = inner.bytes().all(|byte| {
            open += match byte {
                b'(' => 1,
                b')' => -1,
                _ => 0,
            };
            open >= 0
        });
        if !is_whole {
            break;
        }
        text = inner.trim();
    }
    text
}

/// Returns the steps of a path as Lua, which counts from 1.
fn steps(path: &str) -> String {
    let steps = STEP.captures_iter(path).map(|step| {
        let name = step.get(1).or(step.get(3)).or(step.get(4));
        match (name, step.get(2)) {
            (Some(name), _) => field(name.as_str()),
            (None, Some(index)) => {
                let index: u64 = index.as_str().parse().unwrap_or(0);
                format!("[{}]", index.saturating_add(1))
            }
            (None, None) => String::new(),
        }
    });
    steps.collect()
}

/// Returns steps as `expect` writes them: `items.1.id`.
pub(super) fn dotted(steps: &str) -> Option<String> {
    let parts: Vec<String> = STEP
        .captures_iter(steps)
        .filter_map(|step| {
            step.iter()
                .skip(1)
                .flatten()
                .next()
                .map(|part| part.as_str().to_owned())
        })
        .collect();
    let is_plain = !parts.is_empty() && parts.iter().all(|part| !part.contains('.'));
    is_plain.then(|| parts.join("."))
}

/// Returns the text of a literal of JavaScript.
pub(super) fn literal(text: &str) -> Option<String> {
    match scalar(text)? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Returns a literal of JavaScript, if it is one.
pub(super) fn scalar(text: &str) -> Option<Value> {
    let text = text.trim();
    let quote = text
        .chars()
        .next()
        .filter(|c| matches!(c, '\'' | '"' | '`'));
    let Some(quote) = quote else {
        let value: Value = serde_json::from_str(text).ok()?;
        return (!value.is_array() && !value.is_object()).then_some(value);
    };
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    if quote == '`' && inner.contains("${") {
        return None;
    }
    let mut out = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c == quote => return None,
            '\\' => match chars.next()? {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                c @ ('\\' | '\'' | '"' | '`' | '/') => out.push(c),
                _ => return None,
            },
            c => out.push(c),
        }
    }
    Some(Value::String(out))
}

/// The name of a plan's function for the truth of a value in JavaScript.
pub(super) const TRUTHY: &str = "is_truthy";
/// The function itself.
pub(super) const TRUTHY_FUNCTION: &str =
    "function(value) return value and value ~= json.null and value ~= \"\" and value ~= 0 end";

impl ScriptCondition {
    pub(super) fn negated(self) -> ScriptCondition {
        match self {
            ScriptCondition::Not(inner) => *inner,
            other => ScriptCondition::Not(Box::new(other)),
        }
    }

    /// Returns the result where it is known: a plan continues only after a response that is no failure.
    pub(super) fn known(&self) -> Option<bool> {
        let all_are = |parts: &[ScriptCondition], is: bool| {
            let mut parts = parts.iter().map(ScriptCondition::known);
            if parts.clone().any(|part| part == Some(!is)) {
                return Some(!is);
            }
            parts.all(|part| part == Some(is)).then_some(is)
        };
        match self {
            ScriptCondition::Success => Some(true),
            ScriptCondition::Not(inner) => inner.known().map(|holds| !holds),
            ScriptCondition::All(parts) => all_are(parts, true),
            ScriptCondition::Any(parts) => all_are(parts, false),
            _ => None,
        }
    }

    /// Returns the condition as Lua, with values as `render` writes them; `None` if one of them cannot be written, or if it
    /// is known whether it holds.
    pub(super) fn lua(
        &self,
        render: &mut impl FnMut(&ScriptValue) -> Option<String>,
    ) -> Option<String> {
        Some(match self {
            ScriptCondition::Success => return None,
            ScriptCondition::Truthy(value) => format!("{TRUTHY}({})", render(value)?),
            ScriptCondition::Present(value) => {
                let value = render(value)?;
                format!("({value} ~= nil and {value} ~= json.null)")
            }
            ScriptCondition::Equal(value, expected) => format!(
                "{} == {}",
                render(value)?,
                match expected {
                    Value::String(text) => quoted(text),
                    other => crate::lua_text::scalar_literal(other),
                }
            ),
            ScriptCondition::Length(value, operator, number) => {
                format!("#{} {operator} {number}", render(value)?)
            }
            ScriptCondition::Not(inner) => format!("not ({})", inner.lua(render)?),
            ScriptCondition::All(parts) | ScriptCondition::Any(parts) => {
                let between = match self {
                    ScriptCondition::All(_) => " and ",
                    _ => " or ",
                };
                let open = parts.iter().filter(|part| part.known().is_none());
                let open: Option<Vec<String>> = open
                    .map(|part| {
                        let text = part.lua(render)?;
                        let is_group =
                            matches!(part, ScriptCondition::All(_) | ScriptCondition::Any(_));
                        Some(if is_group { format!("({text})") } else { text })
                    })
                    .collect();
                open?.join(between)
            }
        })
    }

    /// Returns whether it needs [`TRUTHY_FUNCTION`].
    pub(super) fn needs_truthy(&self) -> bool {
        match self {
            ScriptCondition::Truthy(_) => true,
            ScriptCondition::Not(inner) => inner.needs_truthy(),
            ScriptCondition::All(parts) | ScriptCondition::Any(parts) => {
                parts.iter().any(ScriptCondition::needs_truthy)
            }
            _ => false,
        }
    }
}
