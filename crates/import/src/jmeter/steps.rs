//! Controllers: the order, the repetitions and the conditions of requests.

use super::conditions::read_condition;
use super::draft::JmeterImport;
use super::element::{JmeterElement, property};
use super::rows::begin_rows;
use super::sampler::read_sampler;
use super::scope::{JmeterScope, ScopeRole};
use super::timers::pauses_of;
use crate::calls::{LuaLiteral, OutlineStep};
use crate::lua_text::{comment, field, quoted};
use crate::visit::MAX_REQUESTS;
use std::rc::Rc;

/// The most bytes that requests repeat of the elements around them.
const MAX_REPEATED_BYTES: usize = 32 << 20;
/// The most elements that iterations begin with.
const MAX_BEGINNINGS: usize = 200;
/// The deepest controllers within controllers: Lua reads blocks to a certain depth.
const MAX_DEPTH: usize = 40;

/// Returns the steps of elements that lie beside each other.
pub(super) fn read_steps<'a>(
    import: &mut JmeterImport<'a>,
    elements: &[JmeterElement<'a>],
    scope: &Rc<JmeterScope<'a>>,
) -> Vec<OutlineStep> {
    let scope = scope.with(elements);
    let mut steps = Vec::new();
    for element in elements {
        if element.is_enabled() {
            steps.append(&mut read_step(import, *element, &scope));
        } else {
            import.disabled += 1;
        }
    }
    steps
}

fn read_step<'a>(
    import: &mut JmeterImport<'a>,
    element: JmeterElement<'a>,
    scope: &Rc<JmeterScope<'a>>,
) -> Vec<OutlineStep> {
    if ScopeRole::of(element).is_some() {
        return Vec::new();
    }
    let kind = element.kind();
    match kind {
        "HTTPSamplerProxy" | "HTTPSampler" | "HTTPSampler2" => {
            import.requests += 1;
            if import.requests > MAX_REQUESTS {
                return Vec::new();
            }
            let inner = element.children();
            leave_out_below(import, &inner);
            let scope = scope.with(&inner);
            import.repeated += scope.size;
            if scope.is_cut || import.repeated > MAX_REPEATED_BYTES {
                import.note_once("left out requests and elements around them: together they would make a plan that is too large".to_owned());
            }
            if import.repeated > MAX_REPEATED_BYTES {
                return Vec::new();
            }
            read_sampler(import, element, &scope)
        }
        "GenericController"
        | "RecordingController"
        | "CriticalSectionController"
        | "TransactionController"
        | "LoopController"
        | "OnceOnlyController"
        | "IfController"
        | "WhileController"
        | "ForeachController"
        | "RandomController"
        | "InterleaveControl"
        | "RandomOrderController"
        | "ThroughputController" => read_controller(import, element, scope),
        "TestAction" => read_action(import, element),
        "ConfigTestElement" => Vec::new(),
        kind if is_setting(kind) => Vec::new(),
        _ => {
            import.leave_out(element);
            Vec::new()
        }
    }
}

/// Returns whether elements of a kind are carried over elsewhere: into the beginning of iterations, or the plan's options.
pub(super) fn is_setting(kind: &str) -> bool {
    matches!(
        kind,
        "CSVDataSet"
            | "CookieManager"
            | "CacheManager"
            | "Arguments"
            | "CounterConfig"
            | "RandomVariableConfig"
            | "ConstantThroughputTimer"
    )
}

/// Notes the elements below a sampler that are not carried over.
fn leave_out_below<'a>(import: &mut JmeterImport<'a>, elements: &[JmeterElement<'a>]) {
    for element in elements {
        if !element.is_enabled() {
            import.disabled += 1;
        } else if ScopeRole::of(*element).is_none() {
            import.leave_out(*element);
        }
    }
}

fn read_controller<'a>(
    import: &mut JmeterImport<'a>,
    element: JmeterElement<'a>,
    scope: &Rc<JmeterScope<'a>>,
) -> Vec<OutlineStep> {
    import.depth += 1;
    let steps = if import.depth > MAX_DEPTH {
        import.leave_out(element);
        Vec::new()
    } else {
        read_controlled(import, element, scope)
    };
    import.depth -= 1;
    steps
}

fn read_controlled<'a>(
    import: &mut JmeterImport<'a>,
    element: JmeterElement<'a>,
    scope: &Rc<JmeterScope<'a>>,
) -> Vec<OutlineStep> {
    let children = element.children();
    let name = comment(element.name());
    let kind = element.kind();
    match kind {
        "RandomController" => {
            let each = read_each(import, &children, scope);
            return block("random.choice {", each, "}()");
        }
        "InterleaveControl" => {
            let each = read_each(import, &children, scope);
            if each.is_empty() {
                return Vec::new();
            }
            let steps = vec![
                OutlineStep::block("local turns = {", each, "}"),
                OutlineStep::Statement("turns[(user.iteration - 1) % #turns + 1]()".to_owned()),
            ];
            return block("do", steps, "end");
        }
        "RandomOrderController" => {
            let each = read_each(import, &children, scope);
            let steps = vec![OutlineStep::Statement("step()".to_owned())];
            let all = vec![
                OutlineStep::block("local steps = {", each, "}"),
                OutlineStep::block(
                    "for _, step in ipairs(random.shuffle(steps)) do",
                    steps,
                    "end",
                ),
            ];
            return block("do", all, "end");
        }
        "CriticalSectionController" => import.calls.note(format!(
            "'{name}': users do not wait for each other, as they do in a critical section"
        )),
        _ => {}
    }
    let steps = read_steps(import, &children, scope);
    match kind {
        "TransactionController" => {
            let title = import.variables.value(element.name(), &mut import.calls);
            let open = format!("user:transaction({}, function()", title.render(4));
            block(open, steps, "end)")
        }
        "LoopController" => {
            let loops = element.property("LoopController.loops");
            let is_endless =
                element.is_set("LoopController.continue_forever") || loops.trim() == "-1";
            if is_endless {
                return block("while true do", steps, "end");
            }
            let times = times_of(import, loops);
            block(format!("for _ = 1, {times} do"), steps, "end")
        }
        "OnceOnlyController" => block("if user.iteration == 1 then", steps, "end"),
        "IfController" | "WhileController" => {
            let (word, then, sent) = match kind {
                "IfController" => ("if", "then", "always sent"),
                _ => ("while", "do", "sent once"),
            };
            let text = element.property(&format!("{kind}.condition"));
            if let Some(condition) = read_condition(import, text) {
                return block(format!("{word} {condition} {then}"), steps, "end");
            }
            import.calls.note(format!(
                "'{name}': its requests are {sent}, as its condition is not carried over: {}",
                comment(text)
            ));
            commented(&format!("{word} {text}"), steps)
        }
        "ForeachController" => {
            let of = |name: &str| {
                element
                    .property(&format!("ForeachController.{name}"))
                    .trim()
            };
            let separator = match of("useSeparator") {
                "false" => "",
                _ => "_",
            };
            let first = of("startIndex").parse::<u32>().map_or(1, |index| index + 1);
            let last = of("endIndex").parse::<u32>();
            let last = last.map_or("math.huge".to_owned(), |last| last.to_string());
            let value = field(of("returnVal"));
            let list = quoted(&format!("{}{separator}", of("inputVal")));
            let read = format!("user.data{value} = user.data[{list} .. number]");
            let leave = format!("if user.data{value} == nil then break end");
            let mut all = vec![OutlineStep::Statement(read), OutlineStep::Statement(leave)];
            all.extend(steps);
            block(format!("for number = {first}, {last} do"), all, "end")
        }
        "ThroughputController" => {
            let percent = element.property("ThroughputController.percentThroughput");
            let percent = import.variables.fixed_number::<f64>(percent);
            let is_percent = element.property("ThroughputController.style").trim() == "1";
            if let Some(percent) = percent.filter(|_| is_percent) {
                let open = format!("if random.float() < {} then", percent / 100.0);
                return block(open, steps, "end");
            }
            import.calls.note(format!("'{name}': its requests are sent in each iteration, as its number of executions is not carried over"));
            commented(&format!("throughput controller {name}"), steps)
        }
        _ => commented(&name, steps),
    }
}

/// Returns a function for each element that sends something.
fn read_each<'a>(
    import: &mut JmeterImport<'a>,
    elements: &[JmeterElement<'a>],
    scope: &Rc<JmeterScope<'a>>,
) -> Vec<OutlineStep> {
    let scope = scope.with(elements);
    let mut each = Vec::new();
    for element in elements {
        if !element.is_enabled() {
            import.disabled += 1;
            continue;
        }
        let steps = read_step(import, *element, &scope);
        if steps.iter().any(|step| step.requests() > 0) {
            each.push(OutlineStep::block("function()", steps, "end,"));
        }
    }
    each
}

/// Returns the expression for a number of repetitions.
fn times_of<'a>(import: &mut JmeterImport<'a>, text: &str) -> String {
    use super::texts::ExpressionPlace;
    let number = import
        .variables
        .number(text, &mut import.calls, ExpressionPlace::Task);
    match number {
        Some(LuaLiteral::Expression(code)) => format!("{code} or 1"),
        Some(fixed) => fixed.render(0),
        None => "1".to_owned(),
    }
}

fn read_action<'a>(import: &mut JmeterImport<'a>, element: JmeterElement<'a>) -> Vec<OutlineStep> {
    let of = |name: &str| element.property(&format!("ActionProcessor.{name}")).trim();
    let text = match (of("action"), of("target")) {
        ("1" | "", _) => {
            let time = import.variables.seconds(of("duration"), &mut import.calls);
            match time {
                Some(time) if time != "0" => format!("user:wait({time})"),
                _ => return Vec::new(),
            }
        }
        ("3" | "4" | "5", _) => "user:exit_iteration()".to_owned(),
        (_, "0") => "user:stop()".to_owned(),
        _ => {
            import.leave_out(element);
            return Vec::new();
        }
    };
    let mut scoped = element.children();
    scoped.retain(|child| ScopeRole::of(*child) == Some(ScopeRole::Timer));
    let pauses = JmeterScope {
        timers: scoped,
        ..JmeterScope::default()
    };
    let mut steps = pauses_of(import, &pauses);
    steps.push(OutlineStep::Statement(text));
    steps
}

/// Returns the first steps of each iteration of a thread group: rows of data, counters, cookies. `outer` are the
/// elements of the test plan, which apply to all groups.
pub(super) fn beginnings_of<'a>(
    import: &mut JmeterImport<'a>,
    outer: &[JmeterElement<'a>],
    group: JmeterElement<'a>,
    with_cookies: bool,
) -> Vec<OutlineStep> {
    let mut all: Vec<JmeterElement<'a>> = outer.to_vec();
    below(group, &mut all);
    let mut steps = Vec::new();
    let begins = all
        .into_iter()
        .filter(|element| element.is_enabled() && begins(*element));
    for element in begins.take(MAX_BEGINNINGS) {
        let statements = match element.kind() {
            "CSVDataSet" => begin_rows(import, element),
            "CookieManager" if with_cookies => begin_cookies(import, element),
            "CounterConfig" => begin_counter(import, element),
            "RandomVariableConfig" => begin_random(import, element),
            _ => continue,
        };
        steps.extend(statements.into_iter().map(OutlineStep::Statement));
    }
    steps
}

fn begin_cookies<'a>(import: &mut JmeterImport<'a>, element: JmeterElement<'a>) -> Vec<String> {
    let mut statements = Vec::new();
    if element.is_set("CookieManager.clearEachIteration") {
        statements.push("user.cookies:clear() -- each iteration is a new visitor".to_owned());
    }
    for cookie in element.collection("CookieManager.cookies") {
        let name = cookie.attribute("name");
        let value = property(cookie, "Cookie.value");
        let what = "the cookie manager";
        let value = import
            .variables
            .field(name, value, what, &mut import.calls)
            .render(4);
        let domain = property(cookie, "Cookie.domain").trim();
        let domain = match import.variables.fixed(domain) {
            Some(domain) if !domain.is_empty() => {
                format!(", {{ domain = {} }}", quoted(&domain))
            }
            _ => String::new(),
        };
        statements.push(format!(
            "user.cookies:set({}, {value}{domain})",
            quoted(name)
        ));
    }
    statements
}

fn begin_counter<'a>(import: &mut JmeterImport<'a>, element: JmeterElement<'a>) -> Vec<String> {
    let of = |name: &str| element.property(&format!("CounterConfig.{name}")).trim();
    let name = of("name");
    if name.is_empty() {
        return Vec::new();
    }
    let number = |text: &str, usual: i64| {
        let fixed = import.variables.fixed_number(text);
        fixed.unwrap_or(usual)
    };
    let (start, step) = (number(of("start"), 0), number(of("incr"), 1));
    let end = number(of("end"), i64::MAX);
    if of("per_user") != "true" || !of("format").is_empty() {
        let note = format!(
            "'{}' counts for each user by itself, from {start} on, and without a format",
            comment(element.name())
        );
        import.note_once(note);
    }
    let target = format!("user.data{}", field(name));
    let mut statements = vec![format!(
        "{target} = ({target} or {}) + {step}",
        start.saturating_sub(step)
    )];
    if end != i64::MAX {
        statements.push(format!("if {target} > {end} then {target} = {start} end"));
    }
    statements
}

fn begin_random<'a>(import: &mut JmeterImport<'a>, element: JmeterElement<'a>) -> Vec<String> {
    let of = |name: &str| {
        import
            .variables
            .fixed(element.property(name))
            .unwrap_or_default()
    };
    let (name, least, most) = (of("variableName"), of("minimumValue"), of("maximumValue"));
    match (least.trim().parse::<i64>(), most.trim().parse::<i64>()) {
        (Ok(least), Ok(most)) if least <= most && of("outputFormat").is_empty() => {
            vec![format!(
                "user.data{} = random.int({least}, {most})",
                field(&name)
            )]
        }
        _ => {
            import.leave_out(element);
            Vec::new()
        }
    }
}

/// Returns whether an element acts at the beginning of iterations.
pub(super) fn begins(element: JmeterElement<'_>) -> bool {
    matches!(
        element.kind(),
        "CSVDataSet" | "CookieManager" | "CounterConfig" | "RandomVariableConfig"
    )
}

/// Collects all elements below one.
fn below<'a>(element: JmeterElement<'a>, all: &mut Vec<JmeterElement<'a>>) {
    for child in element.children() {
        if child.is_enabled() {
            all.push(child);
            below(child, all);
        }
    }
}

fn block(
    open: impl Into<String>,
    steps: Vec<OutlineStep>,
    close: impl Into<String>,
) -> Vec<OutlineStep> {
    if steps.is_empty() {
        Vec::new()
    } else {
        vec![OutlineStep::block(open, steps, close)]
    }
}

/// Returns steps with a comment above them.
fn commented(text: &str, steps: Vec<OutlineStep>) -> Vec<OutlineStep> {
    if steps.is_empty() {
        return steps;
    }
    let mut all = vec![OutlineStep::Comment(comment(text))];
    all.extend(steps);
    all
}
