//! The variables that a plan reads by `env()`, found in the text of its files: for `lgoose check`, for workers, which
//! get them from their manager, and for a warning before a run. Knows no more Lua than the syntax around the call.

use super::constants::is_constant;
use super::review::{pattern, warning_at, without_comment};
use crate::diagnostics::tokens;
use crate::plan_files::Program;
use lgoose_base::error::Diagnostic;
use std::collections::BTreeSet;

/// A call of `env()` with a literal.
struct EnvCall {
    name: String,
    /// The file and the line.
    file: String,
    line: u32,
    /// Whether the plan can do without a value: it has a default, checks whether there is a value, or sets the host,
    /// which the command line can set as well.
    spared: bool,
    default: VariableDefault,
}

/// The value that a plan takes for a variable which is not set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VariableDefault {
    /// The plan reads the variable without a default, at least once.
    None,
    /// One that the plan computes, or that stands on another line.
    Computed,
    /// A constant, as it stands in the plan.
    Constant(String),
}

/// Returns the names of the variables that the files of a plan read by `env()` with a literal, sorted. A name that is
/// computed is not among them.
pub fn requested_variables(program: &Program) -> Vec<String> {
    let names: BTreeSet<String> = calls(program).into_iter().map(|call| call.name).collect();
    names.into_iter().collect()
}

/// Returns whether `env()` has a value for that name, in some scenario at least.
pub fn is_set(program: &Program, name: &str) -> bool {
    let own = program.scenario_env.values();
    own.into_iter().any(|own| own.contains_key(name)) || program.variables.get(name).is_some()
}

/// Returns the default of a variable, that of its first call where each has one.
pub fn default_of(program: &Program, name: &str) -> VariableDefault {
    let calls = calls(program).into_iter().filter(|call| call.name == name);
    let defaults: Vec<VariableDefault> = calls.map(|call| call.default).collect();
    if defaults.contains(&VariableDefault::None) {
        return VariableDefault::None;
    }
    defaults.into_iter().next().unwrap_or(VariableDefault::None)
}

/// Returns a warning for each variable that is not set and that the plan seems to need, at its first call.
pub fn unset_variables(program: &Program) -> Vec<Diagnostic> {
    let mut reported = BTreeSet::new();
    let calls = calls(program).into_iter().filter(|call| !call.spared);
    let unset =
        calls.filter(|call| !is_set(program, &call.name) && reported.insert(call.name.clone()));
    let warning = |call: EnvCall| {
        let name = &call.name;
        let (message, help) = if program.variables.is_kept_from_plan(name) {
            (
                format!(
                    "the plan reads the variable '{name}' of the environment, which it may not"
                ),
                format!("'--env-allow {name}' allows it; or set it with '-e {name}=…'"),
            )
        } else {
            (
                format!("the plan reads the variable '{name}', which is not set"),
                format!(
                    "set it with '-e {name}=…' or in the environment, or give it a default: env(\"{name}\", \"…\")"
                ),
            )
        };
        warning_at(program, &(call.file, call.line), message).help(help)
    };
    unset.map(warning).collect()
}

fn calls(program: &Program) -> Vec<EnvCall> {
    let mut calls = Vec::new();
    for source in program.sources.all() {
        let lines = source.text.lines().map(without_comment).enumerate();
        // Most plans read no variable, and no pattern is compiled for them.
        for (at, line) in lines.filter(|(_, line)| line.contains("env")) {
            add_calls(line, at, &source.name, &mut calls);
        }
    }
    calls
}

/// Adds the calls in a line of a file; `at` counts from 0.
fn add_calls(line: &str, at: usize, file: &str, calls: &mut Vec<EnvCall>) {
    let call = pattern(
        r#"(?:^|[^.:\w])(env(?:\.(?:number|bool|list))?)\s*\(?\s*(?:"([^"\\\n]+)"|'([^'\\\n]+)')"#,
    );
    let condition =
        pattern(r"(?:\b(?:if|elseif|while|until|not|and|or)\s*\(?|[=~]=|\bhost\s*=)\s*$");
    let otherwise = pattern(r"^\s*(?:\)?\s*(?:or\b|and\b|then\b|==|~=))");
    for found in call.captures_iter(line) {
        let (Some(whole), Some(env)) = (found.get(0), found.get(1)) else {
            continue;
        };
        let (before, behind) = (&line[..env.start()], &line[whole.end()..]);
        let name = found.get(2).or(found.get(3));
        let Some(name) = name.filter(|_| !behind.trim_start().starts_with("..")) else {
            continue;
        };
        let has_default = whole.as_str().contains('(') && behind.trim_start().starts_with(',');
        calls.push(EnvCall {
            name: name.as_str().to_owned(),
            file: file.to_owned(),
            line: at as u32 + 1,
            spared: has_default || condition.is_match(before) || otherwise.is_match(behind),
            default: default_behind(behind, has_default),
        });
    }
}

/// Reads the default from the rest of a line: the second argument, or what stands behind `or`.
fn default_behind(behind: &str, is_argument: bool) -> VariableDefault {
    let words = tokens(behind);
    let text = |place: usize| words.get(place).map_or("", |word| word.text);
    let first = match (is_argument, text(0), text(1)) {
        (true, ..) | (false, "or", _) => 1,
        (false, ")", "or") => 2,
        _ => return VariableDefault::None,
    };
    let end = first + usize::from(text(first) == "-") + 1;
    let ends = text(end) == ")" || !is_argument && matches!(text(end), "" | "," | ";" | "}");
    match words.get(first..end) {
        Some(value) if ends && is_constant(value) => {
            let (from, to) = (value[0].at, value[value.len() - 1].end());
            VariableDefault::Constant(behind[from..to].to_owned())
        }
        _ => VariableDefault::Computed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    fn program(plan: &str, configured: &[(&str, &str)]) -> Arc<Program> {
        let configured = configured
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let configured: BTreeMap<String, String> = configured.collect();
        let plan = format!("{plan}\ntask {{ function(u) u:get '/' end }}");
        crate::load("p.lua", &plan, configured, 0)
            .expect("the plan is fine")
            .0
    }

    #[test]
    fn variables_are_found_by_their_literals() {
        let plan = "local a, b = env 'USER', env(\"B\", 'x') or env('B')\n-- env 'COMMENT'\nlocal c = env('A' .. 'B')\n\
                    local t = { env = function() end } t.env('OWN')";
        assert_eq!(requested_variables(&program(plan, &[])), ["B", "USER"]);
    }

    #[test]
    fn a_default_is_the_constant_that_the_plan_takes_instead() {
        let constant = |text: &str| VariableDefault::Constant(text.to_owned());
        for (plan, expected) in [
            ("local a = env('A', \"d\")", constant("\"d\"")),
            (
                "local a = { env.number('A', -100), env('A', 'x') }",
                constant("-100"),
            ),
            ("local a = env 'A' or 'x'", constant("'x'")),
            ("local a = f(env('A') or 'x')", constant("'x'")),
            ("local a = env('A', 'x' .. b)", VariableDefault::Computed),
            ("local a = env('A',\n'x')", VariableDefault::Computed),
            ("local a = env 'A' or 'x' .. b", VariableDefault::Computed),
            ("local a = env 'A'", VariableDefault::None),
            (
                "local a = env('A', 'x') local b = env 'A'",
                VariableDefault::None,
            ),
        ] {
            let plan = format!("local b, f = '', tostring\n{plan}");
            assert_eq!(default_of(&program(&plan, &[]), "A"), expected, "{plan}");
        }
    }

    #[test]
    fn only_a_variable_without_a_value_that_the_plan_needs_is_warned_of() {
        let warnings_of = |plan: &str| -> Vec<String> {
            let warnings = unset_variables(&program(plan, &[("LGT_SET", "1")]));
            warnings.iter().map(Diagnostic::to_string).collect()
        };
        for spared in [
            "local a = env 'LGT_SET'",
            "local a = env('LGT_NOT', 'x')",
            "local a = env 'LGT_NOT' or 'x'",
            "plan { host = env 'LGT_NOT' }",
            "local a = env('LGT_NOT') or 'x'",
            "if env 'LGT_NOT' then end",
            "if not env('LGT_NOT') then end",
            "local a = env 'LGT_NOT' == '1'",
            "-- env 'LGT_NOT'",
        ] {
            assert_eq!(warnings_of(spared), [""; 0], "{spared}");
        }
        let messages = warnings_of("local a = 1\nlocal b, c = env 'LGT_NOT', env('LGT_NOT')");
        assert_eq!(messages.len(), 1, "{messages:?}");
        for part in ["'LGT_NOT', which is not set", "p.lua:2", "-e LGT_NOT="] {
            assert!(messages[0].contains(part), "{messages:?}");
        }
    }
}
