//! The scripts of a collection: what they take from answers and expect of them, as far as it is said in one of the usual
//! ways. What is not understood is told, never guessed.

use super::statements::{Statement, statements};
use super::values::{
    ScriptCondition, ScriptNames, ScriptValue, condition, dotted, literal, scalar, value,
};
use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

/// A variable that a script sets.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ScriptAssignment {
    pub(super) name: String,
    pub(super) value: ScriptValue,
    /// What must hold for it.
    pub(super) when: Option<ScriptCondition>,
}

/// What scripts of a request say.
#[derive(Debug, Default)]
pub(super) struct ScriptActions {
    /// Before the request.
    pub(super) before: Vec<ScriptAssignment>,
    pub(super) after: Vec<ScriptAssignment>,
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

pattern!(
    SET,
    r#"(?s)^(?:pm\.(?:environment|collectionVariables|globals|variables)\.set|postman\.set(?:Environment|Global)Variable)\(\s*["'`]([^"'`]+)["'`]\s*,\s*(.+)\)$"#
);
pattern!(
    UNSET,
    r#"^(?:pm\.(?:environment|collectionVariables|globals|variables)\.unset|postman\.clear(?:Environment|Global)Variable)\(\s*["'`]([^"'`]+)["'`]\s*\)$"#
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
    r"^(?:pm\.(?:expect\(pm\.response\)|response)\.to\.be\.(?:ok|success)|console\.\w+\(.*\)|pm\.response\.to\.not\.be\.error|(?:var|let)\s[\w$,\s]+)$"
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
impl ScriptActions {
    /// Reads a script that runs before or after the request.
    pub(super) fn read(&mut self, script: &str, is_after: bool) {
        self.read_block(
            statements(script),
            is_after,
            None,
            &mut ScriptNames::default(),
        );
    }

    /// Reads statements that run `when` that holds.
    fn read_block(
        &mut self,
        block: Vec<Statement>,
        is_after: bool,
        when: Option<&ScriptCondition>,
        names: &mut ScriptNames,
    ) {
        for statement in block {
            match statement {
                Statement::Plain(text) => {
                    if !self.take(&text, is_after, when, names) {
                        self.unknown.push(text);
                    }
                }
                Statement::Other(text) => self.unknown.push(text),
                Statement::If {
                    condition: text,
                    then,
                    otherwise,
                } => {
                    let Some(holds) = condition(&text, names) else {
                        self.unknown.push(format!("if ({text}) {{"));
                        continue;
                    };
                    for (branch, holds) in [(then, holds.clone()), (otherwise, holds.negated())] {
                        match holds.known() {
                            // The plan does not get there.
                            Some(false) => {}
                            Some(true) => self.read_block(branch, is_after, when, names),
                            None => {
                                let both = match when {
                                    Some(when) => ScriptCondition::All(vec![when.clone(), holds]),
                                    None => holds,
                                };
                                let mut within = names.clone();
                                self.read_block(branch, is_after, Some(&both), &mut within);
                                // What a branch gives another value is not known after it.
                                names.retain(|name, value| within.get(name) == Some(value));
                            }
                        }
                    }
                }
            }
        }
    }

    /// Returns whether a statement was understood.
    fn take(
        &mut self,
        text: &str,
        is_after: bool,
        when: Option<&ScriptCondition>,
        names: &mut ScriptNames,
    ) -> bool {
        if FINE.is_match(text) {
            return true;
        }
        let set = SET
            .captures(text)
            .map(|found| (found[1].to_owned(), value(&found[2], names)));
        let unset = || {
            let found = UNSET.captures(text)?;
            Some((found[1].to_owned(), Some(ScriptValue::Nothing)))
        };
        if let Some((name, value)) = set.or_else(unset) {
            let value = value.filter(|value| is_after || !value.is_of_response());
            let Some(value) = value else { return false };
            let list = if is_after {
                &mut self.after
            } else {
                &mut self.before
            };
            list.push(ScriptAssignment {
                name,
                value,
                when: when.cloned(),
            });
            return true;
        }
        if let Some(found) = PICKED.captures(text) {
            let Some(ScriptValue::Json(steps)) = value(&found[2], names) else {
                return false;
            };
            for pair in found[1].split(',').filter(|pair| !pair.trim().is_empty()) {
                let (key, name) = pair.split_once(':').unwrap_or((pair, pair));
                let steps = format!("{steps}{}", crate::import::lua_text::field(key.trim()));
                names.insert(name.trim().to_owned(), ScriptValue::Json(steps));
            }
            return true;
        }
        if let Some(found) = BOUND.captures(text) {
            let bound = value(&found[2], names);
            names.remove(&found[1]);
            let is_known = bound.is_some();
            names.extend(bound.map(|value| (found[1].to_owned(), value)));
            return is_known;
        }
        is_after && when.is_none() && self.expects(text, names)
    }

    fn expects(&mut self, text: &str, names: &ScriptNames) -> bool {
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
            .map(|assignment| (assignment.name.as_str(), assignment.value.clone()))
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

    /// Returns what a script sets as Lua.
    fn lua(script: &str) -> Vec<String> {
        let render = |value: &ScriptValue| match value {
            ScriptValue::Json(steps) => Some(format!("json{steps}")),
            ScriptValue::Header(name) => Some(format!("header({name})")),
            ScriptValue::Variable(name) => Some(format!("var.{name}")),
            ScriptValue::Text(text) => Some(format!("'{text}'")),
            other => Some(format!("{other:?}")),
        };
        let actions = read(script);
        assert_eq!(actions.unknown, [""; 0], "{script}");
        let set = actions.after.into_iter().map(|assignment| {
            let value = match &assignment.value {
                ScriptValue::Joined(parts) => {
                    let parts: Vec<String> = parts.iter().filter_map(render).collect();
                    parts.join(" .. ")
                }
                value => render(value).expect("all are written"),
            };
            let when = assignment.when.and_then(|when| when.lua(&mut { render }));
            match when {
                None => format!("{} = {value}", assignment.name),
                Some(when) => format!("if {when} then {} = {value}", assignment.name),
            }
        });
        set.collect()
    }

    #[test]
    fn conditions_stay_and_those_on_success_are_the_plans_own() {
        const SET: &str = "pm.environment.set('t', j.token);";
        for (condition, expected) in [
            ("j.token", "is_truthy(json.token)"),
            ("!!j.token", "is_truthy(json.token)"),
            ("!j.error", "not (is_truthy(json.error))"),
            ("j && j.token", "is_truthy(json) and is_truthy(json.token)"),
            ("j?.data?.token", "is_truthy(json.data.token)"),
            (
                "j.token !== undefined",
                "(json.token ~= nil and json.token ~= json.null)",
            ),
            ("null != j.token || j.a == null", ""),
            (
                "j.a == null",
                "not ((json.a ~= nil and json.a ~= json.null))",
            ),
            (
                "typeof j.token !== 'undefined'",
                "(json.token ~= nil and json.token ~= json.null)",
            ),
            (
                "j.hasOwnProperty('token')",
                "(json.token ~= nil and json.token ~= json.null)",
            ),
            (
                "'token' in j",
                "(json.token ~= nil and json.token ~= json.null)",
            ),
            (
                "j.status === \"ok\" && j.n != 3",
                "json.status == \"ok\" and not (json.n == 3)",
            ),
            ("j.success == true", "json.success == true"),
            ("j.items.length > 0", "#json.items > 0"),
            ("j.items.length", "#json.items > 0"),
            (
                "pm.response.code === 200 && j.token",
                "is_truthy(json.token)",
            ),
            (
                "(j.a || j.b) && responseCode.code < 400",
                "(is_truthy(json.a) or is_truthy(json.b))",
            ),
            ("!pm.environment.get('t')", "not (is_truthy(var.t))"),
            ("pm.response.headers.get('X-T')", "is_truthy(header(X-T))"),
        ] {
            let script = format!("const j = pm.response.json(); if ({condition}) {{ {SET} }}");
            if expected.is_empty() {
                assert_eq!(read(&script).after, [], "{condition}");
                assert_eq!(read(&script).unknown, [format!("if ({condition}) {{")]);
                continue;
            }
            assert_eq!(
                lua(&script),
                [format!("if {expected} then t = json.token")],
                "{condition}"
            );
        }
        for success in [
            "if (pm.response.code === 200) { SET } else { postman.setNextRequest(null); }",
            "if (pm.response.code !== 200) { throw new Error('no'); } SET",
            "if (responseCode.code >= 400) { fail(); } else SET",
            "try { SET } catch (e) { console.log(e); }",
            "pm.test('a', function () { SET });",
        ] {
            let script = format!(
                "const j = pm.response.json(); {}",
                success.replace("SET", SET)
            );
            assert_eq!(lua(&script), ["t = json.token"], "{success}");
        }
    }

    #[test]
    fn values_come_through_names_and_are_put_together() {
        for (script, expected) in [
            (
                "let j = pm.response.json(); let d = j.data; let t = d[0].t; pm.globals.set('t', t)",
                "t = json.data[1].t",
            ),
            (
                "var t = pm.response.headers.get('X-T'); postman.setGlobalVariable('t', t);",
                "t = header(X-T)",
            ),
            (
                "var t; t = pm.response.json().t; pm.environment.set('t', 'Bearer ' + t)",
                "t = 'Bearer ' .. json.t",
            ),
            (
                "const j = pm.response.json(); pm.environment.set('t', `${j.type} ${j.t}`)",
                "t = json.type .. ' ' .. json.t",
            ),
            (
                "pm.environment.set('t', String(pm.response.json().id))",
                "t = json.id",
            ),
            (
                "pm.environment.set('t', parseInt(pm.response.json().id))",
                "t = json.id",
            ),
            (
                "pm.environment.set('t', pm.environment.get('a'))",
                "t = var.a",
            ),
            (
                "pm.environment.set('t', JSON.stringify(pm.response.json().a))",
                "t = Encoded(\".a\")",
            ),
            ("pm.environment.unset('t')", "t = Nothing"),
            (
                "const j = pm.response.json(); if (j.a) { const t = j.a.t; pm.environment.set('t', t); }",
                "if is_truthy(json.a) then t = json.a.t",
            ),
        ] {
            assert_eq!(lua(script), [expected], "{script}");
        }
        // A name that a branch has changed is not known after it.
        let script = "let t = pm.response.json().a; if (pm.response.json().b) { t = 'x' } pm.environment.set('t', t)";
        assert_eq!(read(script).unknown, ["pm.environment.set('t', t)"]);
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
