//! Assertions on responses.

use super::draft::JmeterImport;
use super::element::JmeterElement;
use super::scope::JmeterScope;
use crate::calls::{LuaLiteral, OutlineCall};
use crate::lua_text::{comment, quoted};
use crate::value_paths::{json_path, pattern, plain};
use serde_json::Value;

/// The comparisons of a response assertion, as bits of its type.
const MATCH: u32 = 1;
const CONTAINS: u32 = 2;
const NOT: u32 = 4;
const EQUALS: u32 = 8;
const SUBSTRING: u32 = 16;
const OR: u32 = 32;

/// Adds the assertions to a request.
pub(super) fn add_assertions<'a>(
    import: &mut JmeterImport<'a>,
    scope: &JmeterScope<'a>,
    call: &mut OutlineCall,
) {
    for assertion in &scope.assertions {
        let carried = match assertion.kind() {
            "ResponseAssertion" => response_assertion(import, *assertion, call),
            "JSONPathAssertion" => json_assertion(import, *assertion, call),
            _ => duration_assertion(import, *assertion, call),
        };
        if carried.is_none() {
            let name = comment(assertion.name());
            call.note(format!("left out the assertion '{name}': write it in Lua after the request, with 'answer:fail(\"why\")'"));
        }
    }
}

fn response_assertion<'a>(
    import: &mut JmeterImport<'a>,
    assertion: JmeterElement<'a>,
    call: &mut OutlineCall,
) -> Option<()> {
    let tests = assertion.collection("Asserion.test_strings");
    let tests: Vec<&str> = tests.iter().map(|test| test.text.as_str()).collect();
    let kind: u32 = assertion
        .property("Assertion.test_type")
        .trim()
        .parse()
        .unwrap_or(CONTAINS);
    let (is_not, is_or) = (kind & NOT != 0, kind & OR != 0 && tests.len() > 1);
    if tests.is_empty() || !matches!(assertion.property("Assertion.scope"), "" | "parent" | "all") {
        return None;
    }
    let field = assertion.property("Assertion.test_field");
    match field {
        "Assertion.response_code" => {
            let statuses = tests.iter().map(|test| {
                let status = import.variables.fixed_number::<u16>(test)?;
                Some(Value::from(status))
            });
            let statuses: Vec<Value> = statuses.collect::<Option<_>>()?;
            if is_not || statuses.len() > 1 && !is_or {
                return None;
            }
            let status = match statuses.as_slice() {
                [one] => LuaLiteral::Scalar(one.clone()),
                all => LuaLiteral::List(all.iter().cloned().map(LuaLiteral::Scalar).collect()),
            };
            call.set("expect", "status", status);
        }
        "Assertion.response_data" | "Assertion.response_data_as_document" | "" => {
            text_assertion(import, &tests, kind, is_not, is_or, call)?;
        }
        _ => return None,
    }
    Some(())
}

fn text_assertion<'a>(
    import: &mut JmeterImport<'a>,
    tests: &[&str],
    kind: u32,
    is_not: bool,
    is_or: bool,
    call: &mut OutlineCall,
) -> Option<()> {
    // A pattern without special characters is a text that the body contains.
    let texts: Option<Vec<String>> = tests
        .iter()
        .map(
            |test| match kind & (MATCH | CONTAINS | EQUALS | SUBSTRING) {
                SUBSTRING => Some((*test).to_owned()),
                CONTAINS if !test.contains("${") => plain(test),
                _ => None,
            },
        )
        .collect();
    if let Some(texts) = texts.filter(|_| !is_or) {
        for text in texts {
            let value = import.variables.value(&text, &mut import.calls);
            let option = if is_not { "no_text" } else { "text" };
            call.add("expect", option, value);
        }
        return Some(());
    }
    let conditions = tests.iter().map(|test| {
        let fixed = import.variables.fixed(test)?;
        Some(match kind & (MATCH | CONTAINS | EQUALS | SUBSTRING) {
            SUBSTRING => format!("answer:contains({})", quoted(&fixed)),
            EQUALS => format!("answer.body == {}", quoted(&fixed)),
            MATCH => {
                let whole = format!("^(?:{fixed})$");
                pattern(&whole)?;
                format!("regex({}):test(answer)", quoted(&whole))
            }
            _ => {
                pattern(&fixed)?;
                format!("regex({}):test(answer)", quoted(&fixed))
            }
        })
    });
    let conditions: Vec<String> = conditions.collect::<Option<_>>()?;
    let joined = conditions.join(if is_or { " or " } else { " and " });
    let broken = if is_not {
        conditions.join(if is_or { " and " } else { " or " })
    } else {
        format!("not ({joined})")
    };
    call.after.push(format!(
        "if answer.ok and ({broken}) then answer:fail(\"the body is not as expected\") end"
    ));
    Some(())
}

fn json_assertion<'a>(
    import: &mut JmeterImport<'a>,
    assertion: JmeterElement<'a>,
    call: &mut OutlineCall,
) -> Option<()> {
    let path = json_path(assertion.property("JSON_PATH"))?;
    if path.is_list || assertion.is_set("EXPECT_NULL") || path.text.is_empty() {
        return None;
    }
    let at = import.json_at();
    let value = format!("{at}(answer, {})", quoted(&path.text));
    let condition = if assertion.is_set("JSONVALIDATION") {
        let text = assertion.property("EXPECTED_VALUE");
        if assertion.property("ISREGEX") != "false" && plain(text).is_none() {
            let fixed = import.variables.fixed(text)?;
            let whole = format!("^(?:{fixed})$");
            pattern(&whole)?;
            format!("regex({}):test({value} or \"\")", quoted(&whole))
        } else {
            let text = match assertion.property("ISREGEX") {
                "false" => text.to_owned(),
                _ => plain(text)?,
            };
            let expected = import.variables.value(&text, &mut import.calls).render(4);
            format!("{value} == {expected}")
        }
    } else {
        format!("{value} ~= nil")
    };
    let broken = if assertion.is_set("INVERT") {
        condition
    } else {
        format!("not ({condition})")
    };
    let path = quoted(&format!("'{}' is not as expected", path.text));
    call.after.push(format!(
        "if answer.ok and {broken} then answer:fail({path}) end"
    ));
    Some(())
}

fn duration_assertion<'a>(
    import: &mut JmeterImport<'a>,
    assertion: JmeterElement<'a>,
    call: &mut OutlineCall,
) -> Option<()> {
    let text = assertion.property("DurationAssertion.duration");
    let seconds = import.variables.seconds(text, &mut import.calls)?;
    if seconds != "0" {
        call.set("expect", "under", LuaLiteral::Expression(seconds));
    }
    Some(())
}
