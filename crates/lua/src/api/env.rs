//! `env`: variables of a run as texts, and `env.number`, `env.bool` and `env.list`.

use super::function::function;
use crate::sandbox::VmHost;
use crate::values::shorten;
use mlua::{IntoLua as _, Lua, Table, Value};

/// Creates `env`, which is called itself.
pub(super) fn library(lua: &Lua) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    let text = |lua: &Lua, (_, name, default): (Value, String, Value)| match variable(lua, &name)? {
        Some(bytes) => lua.create_string(bytes)?.into_lua(lua),
        None => Ok(default),
    };
    library.raw_set("__call", function(lua, text)?)?;
    library.raw_set("number", function(lua, number)?)?;
    library.raw_set("bool", function(lua, flag)?)?;
    library.raw_set("list", function(lua, list)?)?;
    Ok(library)
}

/// Returns the value of a variable: that of the scenario, of `-e`, of a file of variables, or of the environment.
///
/// # Errors
/// It may hold a secret of lgoose itself.
fn variable(lua: &Lua, name: &str) -> mlua::Result<Option<Vec<u8>>> {
    let host = VmHost::of(lua);
    let own = host.program.scenario_env.get(&host.scenario);
    if let Some(value) = own.and_then(|own| own.get(name)) {
        return Ok(Some(value.clone().into()));
    }
    let variables = &host.program.variables;
    if let Some(value) = variables.get(name) {
        return Ok(Some(value));
    }
    if variables.is_withheld(name) {
        return Err(mlua::Error::runtime(format!(
            "'{name}' is lgoose's own variable and may hold a secret, so no plan reads it from the environment: \
             give the plan a variable of another name, or this one with '-e {name}=…'"
        )));
    }
    Ok(None)
}

fn text(lua: &Lua, name: &str) -> mlua::Result<Option<String>> {
    let bytes = variable(lua, name)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// `env.number(name, default)`.
fn number(lua: &Lua, (name, default): (String, Value)) -> mlua::Result<Value> {
    let Some(text) = text(lua, &name)? else {
        return Ok(default);
    };
    let plain = text.trim();
    if let Ok(whole) = plain.parse::<i64>() {
        return Ok(Value::Integer(whole));
    }
    match plain.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(Value::Number(number)),
        _ => Err(wrong(&name, &text, "a number")),
    }
}

/// `env.bool(name, default)`.
fn flag(lua: &Lua, (name, default): (String, Value)) -> mlua::Result<Value> {
    let Some(text) = text(lua, &name)? else {
        return Ok(default);
    };
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(Value::Boolean(true)),
        "false" | "no" | "off" | "0" | "" => Ok(Value::Boolean(false)),
        _ => Err(wrong(
            &name,
            &text,
            "true or false, yes or no, on or off, 1 or 0",
        )),
    }
}

/// `env.list(name, default)`: what stands between commas, without the spaces around it.
fn list(lua: &Lua, (name, default): (String, Value)) -> mlua::Result<Value> {
    let Some(text) = text(lua, &name)? else {
        return Ok(default);
    };
    let parts = text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    lua.create_sequence_from(parts)?.into_lua(lua)
}

fn wrong(name: &str, text: &str, kind: &str) -> mlua::Error {
    let text = shorten(text);
    mlua::Error::runtime(format!(
        "the variable '{name}' is '{text}', which is not {kind}"
    ))
}

#[cfg(test)]
mod tests {
    use crate::fixture::{recorder, setup, start};
    use crate::{Step, Vm, load};
    use std::collections::BTreeMap;
    use std::sync::Arc;

    /// Runs a task with these variables, and returns the message of the error that it raises.
    fn run(variables: &[(&str, &str)], body: &str) -> Option<String> {
        let variables = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let variables: BTreeMap<String, String> = variables.collect();
        let plan = format!("task {{ function(user) {body} end }}");
        let (program, ..) = load("p.lua", &plan, variables, 1).expect("the plan loads");
        let mut vm = Vm::new(&program, setup(1, &recorder(), &Arc::default())).expect("a VM");
        match start(&mut vm, 0, 1) {
            Step::Done => None,
            Step::Raised(raised) => Some(raised.message),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn variables_are_read_as_texts_numbers_flags_and_lists() {
        let variables = [
            ("N", "12"),
            ("F", " 1.5 "),
            ("T", "Yes"),
            ("O", "off"),
            ("L", "a, b,,c"),
            ("E", ""),
        ];
        for body in [
            "assert(env 'N' == '12' and env('LGT_NONE') == nil and env('LGT_NONE', 'x') == 'x')",
            "assert(math.type(env.number 'N') == 'integer' and env.number 'N' == 12)",
            "assert(env.number 'F' == 1.5 and env.number('LGT_NONE', 3) == 3)",
            "assert(env.bool 'T' == true and env.bool 'O' == false and env.bool 'E' == false)",
            "assert(env.bool('LGT_NONE', true) == true and env.bool 'LGT_NONE' == nil)",
            "local l = env.list 'L' assert(#l == 3 and l[1] == 'a' and l[2] == 'b' and l[3] == 'c')",
            "assert(#env.list 'E' == 0 and env.list('LGT_NONE', { 'x' })[1] == 'x')",
        ] {
            assert_eq!(run(&variables, body), None, "{body}");
        }
    }

    #[test]
    fn what_is_not_of_its_kind_is_named() {
        for (body, message) in [
            (
                "env.number 'X'",
                "the variable 'X' is 'many', which is not a number",
            ),
            (
                "env.bool 'X'",
                "the variable 'X' is 'many', which is not true or false",
            ),
            (
                "local _ = env.X",
                "'env.X' does not exist; env(\"NAME\"), or env \"NAME\", reads",
            ),
        ] {
            let raised = run(&[("X", "many")], body).expect(body);
            assert!(raised.contains(message), "{raised}");
        }
    }
}
