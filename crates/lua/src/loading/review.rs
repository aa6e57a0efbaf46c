//! Warnings about code that is legal in a plan but most likely not meant, for `lgoose check`. Reads the text of the
//! plan's files and knows no more Lua than balanced brackets, so it warns only where there is hardly a doubt.

use super::constant_calls::wrong_calls;
use super::foreign_habits::foreign_habits;
use super::globals::Globals;
use super::members::unknown_names;
use super::mixed_rows::mixed_rows;
use crate::api::missing_columns;
use crate::plan_files::{Program, SourceLine};
use lgoose_base::error::Diagnostic;
use lgoose_plan::config::RequestNames;
use lgoose_plan::{Plan, Schedule, Wait};
use regex::Regex;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// The length of an iteration that users do not complete in most tests, in tasks.
const LONG_ITERATION: u64 = 10_000;

/// Reviews a plan, given how its requests are named, and returns its warnings, in the order of its tasks and lines.
pub fn review(program: &Arc<Program>, plan: &Plan, names: RequestNames) -> Vec<Diagnostic> {
    let mut found = long_iterations(program, plan);
    found.extend(idle_tasks(program, plan));
    if names == RequestNames::Task {
        found.extend(mixed_rows(program, plan));
    }
    // Skipped if there is no memory for one more VM.
    let globals = Globals::new(program).ok();
    for source in program.sources.all() {
        found.extend(globals.iter().flat_map(|globals| globals.missing(&source)));
        found.extend(foreign_habits(&source));
        found.extend(unknown_names(&source, globals.as_ref()));
        found.extend(
            globals
                .iter()
                .flat_map(|globals| wrong_calls(&source, globals)),
        );
        let missing = missing_columns(program, &source).into_iter();
        found.extend(missing.map(|(line, sentence)| {
            Diagnostic::new(sentence).at(&source.name, Some(line), &source.text)
        }));
        let warnings = unsatisfiable_expects(&source.text).into_iter();
        found.extend(warnings.map(|(line, message, help)| {
            Diagnostic::new(message)
                .at(&source.name, Some(line), &source.text)
                .help(help)
        }));
    }
    found
}

pub(super) fn warning_at(
    program: &Program,
    (file, line): &SourceLine,
    message: String,
) -> Diagnostic {
    Diagnostic::new(message).at(file, Some(*line), &program.sources.text(file))
}

fn long_iterations(program: &Program, plan: &Plan) -> Vec<Diagnostic> {
    let long = plan.scenarios.iter().filter_map(|scenario| {
        let length = Schedule::new(scenario).iteration_len();
        if length <= LONG_ITERATION {
            return None;
        }
        let heaviest = scenario.tasks.iter().max_by_key(|task| task.weight)?;
        let message = format!(
            "an iteration of scenario '{}' is {length} tasks long",
            scenario.name
        );
        let location = program.task_locations.get(heaviest.function)?;
        Some(warning_at(program, &location.declared, message).help(
            "weights are relative: divide all of the scenario's by the same number, such as 15 and 10 \
             instead of 15000 and 10000",
        ))
    });
    long.collect()
}

fn idle_tasks(program: &Program, plan: &Plan) -> Vec<Diagnostic> {
    let tasks = plan.scenarios.iter().flat_map(|scenario| {
        let tasks = scenario.tasks.iter().map(move |task| (scenario, task));
        // At its beginning or end, a user may just set something.
        tasks.filter(|(_, task)| !task.on_start && !task.on_stop)
    });
    let sources = program.sources.all();
    let lines_of = sources
        .iter()
        .map(|source| (source.name.as_str(), source.text.lines().collect()));
    let lines_of: HashMap<&str, Vec<&str>> = lines_of.collect();
    let idle = tasks.filter_map(|(scenario, task)| {
        let location = program.task_locations.get(task.function)?;
        let (file, first, last) = location.function.as_ref()?;
        let lines = lines_of.get(file.as_str()).map_or(&[][..], Vec::as_slice);
        let last = (*last).min(lines.len());
        let lines = lines.get(first.saturating_sub(1)..last).unwrap_or_default();
        let code = code_of(lines);
        is_idle(&code).then(|| {
            let waits = task.wait.as_ref().unwrap_or(&scenario.wait) != &Wait::None
                || pattern(r":\s*wait\b").is_match(&code);
            let never_waits = if waits { "" } else { " and never waits" };
            let message = format!("task '{}' makes no request{never_waits}", task.title());
            warning_at(program, &location.declared, message)
                .help("a task loads the site with its user: user:get \"/\"")
        })
    });
    idle.collect()
}

fn code_of(lines: &[&str]) -> String {
    let code: Vec<&str> = lines.iter().map(|line| without_comment(line)).collect();
    code.join("\n")
}

/// Returns whether a function uses its first parameter for nothing that could send a request; false in doubt.
fn is_idle(code: &str) -> bool {
    let functions = pattern(r"\bfunction\b[^()\n]*\(\s*([A-Za-z_]\w*|\.\.\.)?");
    let mut heads = functions.captures_iter(code);
    // With several functions on its lines, it is unknown which of them is the task's.
    let (Some(head), None) = (heads.next(), heads.next()) else {
        return false;
    };
    let Some(user) = head.get(1) else {
        return true;
    };
    if user.as_str() == "..." {
        return false;
    }
    let harmless = pattern(&format!(
        r"\b{}\s*(?:\.\s*(?:id|scenario|task|iteration|host|data)\b|:\s*(?:wait|log|stop|set_host|set_header|basic_auth|bearer)\b)",
        user.as_str()
    ));
    let rest = harmless.replace_all(&code[user.end()..], "");
    // A socket that the user keeps among its data is called by its own name.
    let keeps = pattern(&format!(r"\b{}\s*\.\s*data\b", user.as_str()));
    let calls = pattern(r#"\w\s*:\s*[A-Za-z_]\w*\s*[({"']"#);
    if keeps.is_match(code) && calls.is_match(&rest) {
        return false;
    }
    !pattern(&format!(r"\b{}\b", user.as_str())).is_match(&rest)
}

/// Strips the comment of a line, unless the dashes may be part of a string.
pub(super) fn without_comment(line: &str) -> &str {
    match line.split_once("--") {
        Some((code, _)) if !code.contains(['"', '\'', '[']) => code,
        _ => line,
    }
}

/// Finds every `expect` that cannot hold. Returns line, message and help of each.
fn unsatisfiable_expects(text: &str) -> Vec<(u32, String, &'static str)> {
    let expects = pattern(r"\bexpect\s*=\s*\{");
    let found = expects.find_iter(text).filter_map(|head| {
        let line_start = text[..head.start()].rfind('\n').map_or(0, |at| at + 1);
        if without_comment(&text[line_start..head.end()]).len() < head.end() - line_start {
            return None;
        }
        let options = enclosing_braces(text, head.start());
        let follows = !options.contains("redirects") && !plans_redirects(text);
        let expect = up_to_closing_brace(&text[head.end()..])?;
        let (message, help) = contradiction(expect, follows)?;
        let line = text[..head.start()].matches('\n').count() as u32 + 1;
        Some((line, message, help))
    });
    found.collect()
}

/// Returns the text up to the brace that closes an open one; `None` where braces are not balanced.
fn up_to_closing_brace(text: &str) -> Option<&str> {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(&text[..at]);
        }
    }
    None
}

/// Returns the text between the braces around a place, such as the options of a request; all before it where there are
/// none.
fn enclosing_braces(text: &str, at: usize) -> &str {
    let mut depth = 0;
    for (open, c) in text[..at].char_indices().rev() {
        match c {
            '}' => depth += 1,
            '{' if depth == 0 => {
                let inside = &text[open + 1..];
                return up_to_closing_brace(inside).unwrap_or(inside);
            }
            '{' => depth -= 1,
            _ => {}
        }
    }
    text
}

/// Returns whether the plan says for all its requests how redirects are followed.
fn plans_redirects(text: &str) -> bool {
    let plans = pattern(r"\bplan\s*\{");
    let mut plans = plans.find_iter(text);
    plans.any(|plan| {
        let fields = up_to_closing_brace(&text[plan.end()..]);
        fields.is_some_and(|fields| fields.contains("redirects"))
    })
}

/// Returns the problem with an expectation, given whether the request follows redirects.
fn contradiction(expect: &str, follows: bool) -> Option<(String, &'static str)> {
    if expect.trim().is_empty() {
        return Some((
            "this 'expect' is empty".to_owned(),
            "write an expectation, such as { status = 200 }, or leave it out",
        ));
    }
    let single = pattern(r"\bstatus\s*=\s*(\d+)\s*(?:[,;]|$)");
    let status: u32 = single.captures(expect)?[1].parse().ok()?;
    match status {
        100..=199 | 600.. | 0..=99 => Some((
            format!("no final response has the status {status}"),
            "statuses go from 200 to 599; a request without a response has failed anyway",
        )),
        301 | 302 | 303 | 307 | 308 if follows => Some((
            format!(
                "a status {status} is not seen: redirects are followed to the page they lead to"
            ),
            "add the option redirects = 0 to see it, or expect the final status",
        )),
        _ => None,
    }
}

/// Returns a pattern that is compiled once; most tasks call their user by the same name.
pub(super) fn pattern(text: &str) -> Rc<Regex> {
    thread_local! {
        static COMPILED: RefCell<HashMap<String, Rc<Regex>>> = RefCell::default();
    }
    COMPILED.with_borrow_mut(|compiled| {
        if let Some(cached) = compiled.get(text) {
            return cached.clone();
        }
        let made = Rc::new(Regex::new(text).expect("the pattern is right"));
        compiled.insert(text.to_owned(), made.clone());
        made
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn warnings(plan: &str) -> Vec<String> {
        let (program, plan, _) =
            crate::load("p.lua", plan, BTreeMap::new(), 0).expect("the plan is fine");
        let found = review(&program, &plan, RequestNames::default());
        found
            .iter()
            .map(|diagnostic| diagnostic.message().to_owned())
            .collect()
    }

    #[test]
    fn a_task_that_makes_no_request_is_reported() {
        for idle in [
            "task { function() end }",
            "task { function(user) user:wait(1) end }",
            "task { function(user)\n  user.data.x = 1 -- no user:get\nend }",
            "local function nothing(me) me:log(me.id) end\n\n\ntask { nothing }",
        ] {
            assert_eq!(warnings(idle).len(), 1, "{idle}");
        }
        for busy in [
            "task { function(user) user:get '/' end }",
            "task { function(u) u:submit({}) end }",
            "local function f(user) return user end\ntask { function(user) f(user) end }",
            "task { function(...) print(...) end }",
            "task { function(user) user:transaction('x', function() user:get '/' end) end }",
        ] {
            assert_eq!(warnings(busy), Vec::<String>::new(), "{busy}");
        }
    }

    #[test]
    fn an_expect_that_cannot_hold_is_reported_once_with_its_line() {
        let line = |text| unsatisfiable_expects(text).first().map(|found| found.0);
        assert_eq!(line("\nuser:get('/', { expect = {} })"), Some(2));
        assert_eq!(line("{ expect = { status = 700 } }"), Some(1));
        assert_eq!(line("{ expect = { title = 'x', status = 302 } }"), Some(1));
        for fine in [
            "{ expect = { status = 200 } }",
            "{ expect = { status = 304 } }",
            "{ expect = { status = {200, 302} } }",
            "{ expect = { status = 302 }, redirects = 0 }",
            "{ redirects = 0, expect = { status = 302 } }",
            "{\n  redirects = 0,\n  json = { a = { 1 } },\n\n  expect = { status = 302 },\n}",
            "plan { max_redirects = 0 }\nuser:get('/', { expect = { status = 303 } })",
            "-- { expect = {} }",
        ] {
            assert_eq!(line(fine), None, "{fine}");
        }
    }

    #[test]
    fn an_iteration_of_more_than_ten_thousand_tasks_is_reported() {
        let plan = |weight| format!("task {{ weight = {weight}, function(u) u:get '/' end }}");
        assert_eq!(warnings(&plan(10_000)), Vec::<String>::new());
        let messages = warnings(&plan(10_001));
        assert_eq!(
            messages,
            ["an iteration of scenario 'default' is 10001 tasks long"]
        );
    }
}
