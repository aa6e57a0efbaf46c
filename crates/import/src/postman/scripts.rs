//! The scripts of a collection: the values that they take from responses, and their expectations, where they are
//! written in one of the usual ways. Anything else is noted, never guessed.

use super::statements::{Statement, statements};
use super::values::{
    ScriptCondition, ScriptNames, ScriptValue, condition, dotted, literal, scalar, value,
};
use serde_json::Value;

/// The effects of a script on variables.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ScriptStep {
    /// Sets one.
    Set(String, ScriptValue),
    If {
        condition: ScriptCondition,
        then: Vec<ScriptStep>,
        otherwise: Vec<ScriptStep>,
    },
}

/// Returns the variables that a step may set.
pub(super) fn set_in(step: &ScriptStep) -> Vec<&str> {
    match step {
        ScriptStep::Set(name, _) => vec![name],
        ScriptStep::If {
            then, otherwise, ..
        } => then.iter().chain(otherwise).flat_map(set_in).collect(),
    }
}

/// Returns whether a step needs the function for the truth of a value in JavaScript.
pub(super) fn needs_truthy(step: &ScriptStep) -> bool {
    match step {
        ScriptStep::Set(..) => false,
        ScriptStep::If {
            condition,
            then,
            otherwise,
        } => condition.needs_truthy() || then.iter().chain(otherwise).any(needs_truthy),
    }
}

/// The effects of the scripts of a request.
#[derive(Debug, Default)]
pub(super) struct ScriptActions {
    /// Steps before the request.
    pub(super) before: Vec<ScriptStep>,
    pub(super) after: Vec<ScriptStep>,
    pub(super) status: Vec<u64>,
    /// Paths into JSON, as `expect` writes them, and values.
    pub(super) json: Vec<(String, Value)>,
    pub(super) texts: Vec<String>,
    /// Names, with values if there are any.
    pub(super) headers: Vec<(String, Option<String>)>,
    /// The most milliseconds until the response.
    pub(super) under_ms: Option<u64>,
    /// Lines that are not understood.
    pub(super) unknown: Vec<String>,
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
        let mut reader = BlockReader {
            is_after,
            is_guarded: false,
            names: ScriptNames::default(),
        };
        let steps = reader.read(statements(script), self);
        if is_after {
            self.after.extend(steps);
        } else {
            self.before.extend(steps);
        }
    }
}

/// Reads the statements of a block.
#[derive(Clone)]
struct BlockReader {
    /// Whether the script runs after the request.
    is_after: bool,
    /// Whether the block runs only under a condition.
    is_guarded: bool,
    names: ScriptNames,
}

impl BlockReader {
    /// Returns the effects of a block on variables; its other effects are added to `actions`.
    fn read(&mut self, block: Vec<Statement>, actions: &mut ScriptActions) -> Vec<ScriptStep> {
        let mut steps = Vec::new();
        for statement in block {
            match statement {
                Statement::Plain(text) => match self.take(&text, actions) {
                    Some(step) => steps.extend(step),
                    None => actions.unknown.push(text),
                },
                Statement::Other(text) => actions.unknown.push(text),
                Statement::If {
                    condition: text,
                    then,
                    otherwise,
                } => {
                    let Some(condition) = condition(&text, &self.names) else {
                        actions.unknown.push(format!("if ({text}) {{"));
                        continue;
                    };
                    // The plan gets to only one branch of a condition that is known.
                    match condition.known() {
                        Some(true) => steps.extend(self.read(then, actions)),
                        Some(false) => steps.extend(self.read(otherwise, actions)),
                        None => {
                            let then = self.read_branch(then, actions);
                            let otherwise = self.read_branch(otherwise, actions);
                            steps.extend(branches(condition, then, otherwise));
                        }
                    }
                }
            }
        }
        steps
    }

    /// Reads a block that runs or does not.
    fn read_branch(
        &mut self,
        block: Vec<Statement>,
        actions: &mut ScriptActions,
    ) -> Vec<ScriptStep> {
        let mut within = BlockReader {
            is_guarded: true,
            ..self.clone()
        };
        let steps = within.read(block, actions);
        // A name that a branch sets has no known value after it.
        self.names
            .retain(|name, value| within.names.get(name) == Some(value));
        steps
    }

    /// Returns the effect of a statement on variables, which may be none; `None` if it was not understood.
    fn take(&mut self, text: &str, actions: &mut ScriptActions) -> Option<Option<ScriptStep>> {
        if FINE.is_match(text) {
            return Some(None);
        }
        if let Some(found) = SET.captures(text) {
            let value = value(&found[2], &self.names);
            let value = value.filter(|value| self.is_after || !value.is_of_response())?;
            return Some(Some(ScriptStep::Set(found[1].to_owned(), value)));
        }
        if let Some(found) = UNSET.captures(text) {
            let nothing = ScriptValue::Nothing;
            return Some(Some(ScriptStep::Set(found[1].to_owned(), nothing)));
        }
        if let Some(found) = PICKED.captures(text) {
            let Some(ScriptValue::Json(steps)) = value(&found[2], &self.names) else {
                return None;
            };
            for pair in found[1].split(',').filter(|pair| !pair.trim().is_empty()) {
                let (key, name) = pair.split_once(':').unwrap_or((pair, pair));
                let steps = format!("{steps}{}", crate::lua_text::field(key.trim()));
                self.names
                    .insert(name.trim().to_owned(), ScriptValue::Json(steps));
            }
            return Some(None);
        }
        if let Some(found) = BOUND.captures(text) {
            let bound = value(&found[2], &self.names);
            self.names.remove(&found[1]);
            self.names.insert(found[1].to_owned(), bound?);
            return Some(None);
        }
        let is_understood = self.is_after && !self.is_guarded && actions.expects(text, &self.names);
        is_understood.then_some(None)
    }
}

/// Returns a condition with the steps that depend on it; none if there are none.
fn branches(
    condition: ScriptCondition,
    then: Vec<ScriptStep>,
    otherwise: Vec<ScriptStep>,
) -> Option<ScriptStep> {
    let (condition, then, otherwise) = if then.is_empty() {
        (condition.negated(), otherwise, then)
    } else {
        (condition, then, otherwise)
    };
    (!then.is_empty()).then_some(ScriptStep::If {
        condition,
        then,
        otherwise,
    })
}

impl ScriptActions {
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
            .map(|step| match step {
                ScriptStep::Set(name, value) => (name.as_str(), value.clone()),
                step => panic!("{step:?}"),
            })
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

    /// Returns a value as the tests write it.
    fn render(value: &ScriptValue) -> Option<String> {
        Some(match value {
            ScriptValue::Json(steps) => format!("json{steps}"),
            ScriptValue::Header(name) => format!("header({name})"),
            ScriptValue::Variable(name) => format!("var.{name}"),
            ScriptValue::Text(text) => format!("'{text}'"),
            ScriptValue::Joined(parts) => {
                let parts: Vec<String> = parts.iter().filter_map(render).collect();
                parts.join(" .. ")
            }
            other => format!("{other:?}"),
        })
    }

    fn shown(steps: &[ScriptStep]) -> Vec<String> {
        let steps = steps.iter().map(|step| match step {
            ScriptStep::Set(name, value) => format!("{name} = {}", render(value).expect("a text")),
            ScriptStep::If {
                condition,
                then,
                otherwise,
            } => {
                let condition = condition.lua(&mut render).expect("all are written");
                let otherwise = match otherwise.as_slice() {
                    [] => String::new(),
                    steps => format!(" else {}", shown(steps).join(" ")),
                };
                format!("if {condition} then {}{otherwise}", shown(then).join(" "))
            }
        });
        steps.collect()
    }

    /// Returns the Lua for the values that a script sets.
    fn lua(script: &str) -> Vec<String> {
        let actions = read(script);
        assert_eq!(actions.unknown, [""; 0], "{script}");
        shown(&actions.after)
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
    fn what_a_branch_sets_does_not_change_the_condition_it_is_under() {
        for (script, expected) in [
            (
                "if (!pm.environment.get('t')) { pm.environment.set('t', 1); pm.environment.set('u', 2) }",
                "if not (is_truthy(var.t)) then t = Number(\"1\") u = Number(\"2\")",
            ),
            (
                "if (pm.environment.get('t')) { pm.environment.unset('t') } else { pm.environment.set('t', 'x') }",
                "if is_truthy(var.t) then t = Nothing else t = 'x'",
            ),
            (
                "if (pm.globals.get('a')) { if (pm.globals.get('b')) pm.globals.set('a', 'x'); else pm.globals.set('c', 'y') }",
                "if is_truthy(var.a) then if is_truthy(var.b) then a = 'x' else c = 'y'",
            ),
            (
                "if (pm.globals.get('a')) { console.log('set') } else { pm.globals.set('a', 'x') }",
                "if not (is_truthy(var.a)) then a = 'x'",
            ),
        ] {
            assert_eq!(lua(script), [expected], "{script}");
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
