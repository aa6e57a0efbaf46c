//! The scripts of a collection: what they take from answers and expect of them, as far as it is said in one of the usual
//! ways. What is not understood is told, never guessed.

use super::statements::{Statement, statements};
use regex::Regex;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Something that a script puts into a variable.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ScriptValue {
    /// Steps into the JSON of the answer, as Lua after `:json()`.
    Json(String),
    Header(String),
    Cookie(String),
    /// Text with `{{variables}}`.
    Text(String),
    Number(String),
}

/// What scripts of a request say.
#[derive(Debug, Default)]
pub(super) struct ScriptActions {
    /// Before the request: names and texts.
    pub(super) before: Vec<(String, ScriptValue)>,
    pub(super) after: Vec<(String, ScriptValue)>,
    pub(super) status: Vec<u64>,
    /// Paths into JSON, as `expect` writes them, and values.
    pub(super) json: Vec<(String, Value)>,
    pub(super) texts: Vec<String>,
    /// Names, and values if they are said.
    pub(super) headers: Vec<(String, Option<String>)>,
    /// Milliseconds that the answer may take.
    pub(super) under_ms: Option<u64>,
    /// Lines that are not understood.
    pub(super) unknown: Vec<String>,
}

macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($text).expect("the pattern is one"));
    };
}

const PATH: &str = r#"((?:\.[A-Za-z_$][\w$]*|\[\d+\]|\["[^"\\]+"\]|\['[^'\\]+'\])*)"#;

pattern!(
    SET,
    r#"(?s)^(?:pm\.(?:environment|collectionVariables|globals|variables)\.set|postman\.set(?:Environment|Global)Variable)\(\s*["'`]([^"'`]+)["'`]\s*,\s*(.+)\)$"#
);
pattern!(
    STATUS,
    r"^pm\.(?:expect\(pm\.response\)|response)\.to\.(?:have|be)\.status(?:Code)?\((\d{3})\)$"
);
pattern!(
    CODE,
    r"^pm\.expect\((?:pm\.response\.code|responseCode\.code)\)(?:\.to|\.be|\.deep)*\.(?:equal|equals|eql|eq|oneOf)\(\[?((?:\d{3}[,\s]*)+)\]?\)$"
);
pattern!(
    LEGACY_CODE,
    r"^tests\[.+\]\s*=\s*responseCode\.code\s*===?\s*(\d{3})$"
);
pattern!(
    FINE,
    r"^(?:pm\.(?:expect\(pm\.response\)|response)\.to\.be\.(?:ok|success)|console\.\w+\(.*\)|pm\.response\.to\.not\.be\.error)$"
);
pattern!(
    TIME,
    r"^pm\.expect\(pm\.response\.responseTime\)\.to\.be\.(?:below|lessThan|at\.most|most)\((\d{1,9})\)$"
);
pattern!(
    CONTAINS,
    r#"^pm\.expect\(pm\.response\.text\(\)\)\.to\.(?:include|contain)s?\((".*"|'.*')\)$"#
);
pattern!(
    HEADER,
    r#"^pm\.(?:expect\(pm\.response\)|response)\.to\.have\.header\(["']([^"']+)["'](?:\s*,\s*["']([^"']*)["'])?\)$"#
);
pattern!(
    EQUALS,
    r"^pm\.expect\((.+?)\)\.to(?:\.be)?(?:\.deep)?\.(?:equal|equals|eql|eq)\((.+)\)$"
);
pattern!(
    BOUND,
    r"^(?:(?:var|let|const)\s+)?([A-Za-z_$][\w$]*)\s*=\s*([^=>].*)$"
);
pattern!(PICKED, r"^(?:var|let|const)\s*\{([\w$\s,:]+)\}\s*=\s*(.+)$");
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
pattern!(COOKIE, r#"^pm\.cookies\.get\(\s*["']([^"']+)["']\s*\)$"#);
pattern!(
    GOT,
    r#"^pm\.(?:environment|collectionVariables|globals|variables)\.get\(\s*["']([^"']+)["']\s*\)$"#
);
pattern!(REPLACED, r"^pm\.variables\.replaceIn\((.+)\)$");
pattern!(
    STEP,
    r#"\.([A-Za-z_$][\w$]*)|\[(\d+)\]|\["([^"]+)"\]|\['([^']+)'\]"#
);

impl ScriptActions {
    /// Reads a script that runs before or after the request.
    pub(super) fn read(&mut self, script: &str, is_after: bool) {
        let mut names: HashMap<String, String> = HashMap::new();
        for statement in statements(script) {
            let text = match statement {
                Statement::Plain(text) => text,
                Statement::Block(text) => {
                    self.unknown.push(text);
                    continue;
                }
            };
            if !self.take(&text, is_after, &mut names) {
                self.unknown.push(text);
            }
        }
    }

    /// Returns whether a statement was understood.
    fn take(&mut self, text: &str, is_after: bool, names: &mut HashMap<String, String>) -> bool {
        if FINE.is_match(text) {
            return true;
        }
        if let Some(found) = SET.captures(text) {
            let taken = value(&found[2], names);
            let taken = taken.filter(|taken| {
                is_after || matches!(taken, ScriptValue::Text(_) | ScriptValue::Number(_))
            });
            let Some(taken) = taken else { return false };
            let list = if is_after {
                &mut self.after
            } else {
                &mut self.before
            };
            list.push((found[1].to_owned(), taken));
            return true;
        }
        if let Some(found) = PICKED.captures(text) {
            let Some(ScriptValue::Json(steps)) = value(&found[2], names) else {
                return false;
            };
            for pair in found[1].split(',').filter(|pair| !pair.trim().is_empty()) {
                let (key, name) = pair.split_once(':').unwrap_or((pair, pair));
                let steps = format!("{steps}{}", crate::import::lua_text::field(key.trim()));
                names.insert(name.trim().to_owned(), steps);
            }
            return true;
        }
        if let Some(found) = BOUND.captures(text)
            && let Some(ScriptValue::Json(steps)) = value(&found[2], names)
        {
            names.insert(found[1].to_owned(), steps);
            return true;
        }
        is_after && self.expects(text, names)
    }

    fn expects(&mut self, text: &str, names: &HashMap<String, String>) -> bool {
        if let Some(found) = STATUS.captures(text).or(LEGACY_CODE.captures(text)) {
            self.status = found[1].parse().into_iter().collect();
        } else if let Some(found) = CODE.captures(text) {
            let codes = found[1].split(|c: char| !c.is_ascii_digit());
            self.status = codes.filter_map(|code| code.parse().ok()).collect();
        } else if let Some(found) = TIME.captures(text) {
            self.under_ms = found[1].parse().ok();
        } else if let Some(found) = CONTAINS.captures(text)
            && let Some(text) = literal(&found[1])
        {
            self.texts.push(text);
        } else if let Some(found) = HEADER.captures(text) {
            let value = found.get(2).map(|value| value.as_str().to_owned());
            self.headers.push((found[1].to_owned(), value));
        } else if let Some(found) = EQUALS.captures(text)
            && let Some(ScriptValue::Json(steps)) = value(&found[1], names)
            && let Some(expected) = scalar(&found[2])
            && let Some(path) = dotted(&steps)
        {
            self.json.push((path, expected));
        } else {
            return false;
        }
        true
    }
}

/// Returns what an expression is worth; `None` if it is not understood.
fn value(text: &str, names: &HashMap<String, String>) -> Option<ScriptValue> {
    let text = text.trim();
    let text = text.strip_suffix(".toString()").unwrap_or(text);
    let inner = text
        .strip_prefix("String(")
        .and_then(|text| text.strip_suffix(')'));
    let text = inner.unwrap_or(text).replace("?.", ".");
    if let Some(found) = ROOT.captures(&text) {
        return Some(ScriptValue::Json(steps(&found[1])));
    }
    if let Some(found) = RECEIVED.captures(&text) {
        return Some(ScriptValue::Header(found[1].to_owned()));
    }
    if let Some(found) = COOKIE.captures(&text) {
        return Some(ScriptValue::Cookie(found[1].to_owned()));
    }
    if let Some(found) = GOT.captures(&text) {
        return Some(ScriptValue::Text(format!("{{{{{}}}}}", &found[1])));
    }
    if let Some(found) = REPLACED.captures(&text) {
        return literal(&found[1]).map(ScriptValue::Text);
    }
    match text.as_str() {
        "Date.now()" => return Some(ScriptValue::Text("{{$timestamp}}000".to_owned())),
        "new Date().toISOString()" => {
            return Some(ScriptValue::Text("{{$isoTimestamp}}".to_owned()));
        }
        _ => {}
    }
    if let Some(found) = NAMED.captures(&text)
        && let Some(before) = names.get(&found[1])
    {
        return Some(ScriptValue::Json(format!("{before}{}", steps(&found[2]))));
    }
    match scalar(&text)? {
        Value::String(text) => Some(ScriptValue::Text(text)),
        Value::Number(number) => Some(ScriptValue::Number(number.to_string())),
        _ => None,
    }
}

/// Returns the steps of a path as Lua, which counts from 1.
fn steps(path: &str) -> String {
    let steps = STEP.captures_iter(path).map(|step| {
        let name = step.get(1).or(step.get(3)).or(step.get(4));
        match (name, step.get(2)) {
            (Some(name), _) => crate::import::lua_text::field(name.as_str()),
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
fn dotted(steps: &str) -> Option<String> {
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
fn literal(text: &str) -> Option<String> {
    match scalar(text)? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Returns a literal of JavaScript, if it is one.
fn scalar(text: &str) -> Option<Value> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(script: &str) -> ScriptActions {
        let mut findings = ScriptActions::default();
        findings.read(script, true);
        findings
    }

    #[test]
    fn the_usual_expectations_are_understood() {
        let findings = read(
            "// a comment\n\
             pm.test(\"Status code is 201\", function () {\n    pm.response.to.have.status(201);\n});\n\
             pm.test('quick', () => pm.expect(pm.response.responseTime).to.be.below(200));\n\
             pm.test(\"names\", () => {\n  const body = pm.response.json();\n  pm.expect(body.items[0].name).to.eql(\"tea\");\n\
             \x20 pm.expect(pm.response.text()).to.include('kettle');\n\
             \x20 pm.response.to.have.header(\"Content-Type\");\n});\n",
        );
        assert_eq!(findings.unknown, [""; 0]);
        assert_eq!((findings.status, findings.under_ms), (vec![201], Some(200)));
        assert_eq!(findings.json, [("items.1.name".to_owned(), json!("tea"))]);
        assert_eq!(findings.texts, ["kettle"]);
        assert_eq!(findings.headers, [("Content-Type".to_owned(), None)]);
        for script in [
            "pm.test(\"s\", function () { pm.expect(pm.response.code).to.be.oneOf([200, 202]); });",
            "pm.test('s', () => { pm.expect(pm.response.code).to.be.oneOf([200,202]) })",
        ] {
            assert_eq!(read(script).status, [200, 202], "{script}");
        }
        assert_eq!(
            read("tests[\"Status\"] = responseCode.code === 204;").status,
            [204]
        );
    }

    #[test]
    fn what_is_set_comes_from_the_response() {
        let findings = read(
            "var jsonData = JSON.parse(responseBody);\n\
             postman.setEnvironmentVariable(\"token\", jsonData.data.token);\n\
             const { id, name: title } = pm.response.json();\n\
             pm.collectionVariables.set('order_id', id);\n\
             pm.environment.set(\"first\", pm.response.json()[0][\"na-me\"]);\n\
             pm.globals.set(\"place\", pm.response.headers.get('Location'));\n\
             if (pm.response.code === 200) {\n  pm.environment.set(\"kept\", title);\n}\n",
        );
        let after: Vec<(&str, ScriptValue)> = findings
            .after
            .iter()
            .map(|(name, taken)| (name.as_str(), taken.clone()))
            .collect();
        let json = |steps: &str| ScriptValue::Json(steps.to_owned());
        assert_eq!(
            after,
            [
                ("token", json(".data.token")),
                ("order_id", json(".id")),
                ("first", json("[1][\"na-me\"]")),
                ("place", ScriptValue::Header("Location".to_owned())),
                ("kept", json(".name")),
            ]
        );
        assert_eq!(findings.unknown, [""; 0]);
    }

    #[test]
    fn what_is_not_understood_is_reported_and_not_guessed() {
        let findings = read(
            "if (json.total > 3) {\n  pm.environment.set(\"x\", 1);\n} else {\n  pm.environment.set(\"x\", 2);\n}\n\
             pm.environment.set(\"y\", compute(json));\n\
             pm.expect(pm.response.json().list).to.be.an('array');\n",
        );
        assert!(findings.after.is_empty(), "{:?}", findings.after);
        assert_eq!(
            findings.unknown,
            [
                "if (json.total > 3) {",
                "pm.environment.set(\"y\", compute(json))",
                "pm.expect(pm.response.json().list).to.be.an('array')"
            ]
        );
    }
}
