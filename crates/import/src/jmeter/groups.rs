//! Thread groups: scenarios with their load.

use super::draft::JmeterImport;
use super::element::{JmeterElement, part, property};
use super::scope::JmeterScope;
use super::steps::{beginnings_of, read_steps};
use super::texts::ExpressionPlace;
use crate::calls::{LuaLiteral, OutlineHook, OutlineScenario, OutlineTask};
use crate::lua_text::comment;
use crate::names::title;
use serde_json::Value;
use std::rc::Rc;

/// Returns whether an element is a thread group, also one of a plugin.
pub(super) fn is_group(element: JmeterElement<'_>) -> bool {
    element.kind().ends_with("ThreadGroup")
}

/// Adds the steps of a thread group. `outer` are the elements beside it, and `is_only` whether no other group runs, so
/// that its load is that of the plan.
pub(super) fn add_group<'a>(
    import: &mut JmeterImport<'a>,
    group: JmeterElement<'a>,
    outer: &[JmeterElement<'a>],
    scope: &Rc<JmeterScope<'a>>,
    is_only: bool,
) {
    let mut scope = Rc::clone(scope);
    Rc::make_mut(&mut scope).on_error = group.property("ThreadGroup.on_sample_error");
    let event = match group.kind() {
        "SetupThreadGroup" => Some("test_start"),
        "PostThreadGroup" => Some("test_stop"),
        _ => None,
    };
    // Cookies are those of users, whose iterations a hook does not run.
    let mut steps = beginnings_of(import, outer, group, event.is_none());
    steps.append(&mut read_steps(import, &group.children(), &scope));
    if !steps.iter().any(|step| step.requests() > 0) {
        return;
    }
    if let Some(event) = event {
        let name = comment(group.name());
        let loops = read_loops(import, group);
        let users = group.property("ThreadGroup.num_threads").trim();
        if users != "1"
            || !matches!(loops, Some(LuaLiteral::Scalar(Value::Number(ref one))) if one.as_i64() == Some(1))
        {
            import.note_once(format!(
                "'{name}' runs once, by one user: on(\"{event}\") has no load"
            ));
        }
        import.calls.hooks.push(OutlineHook { event, steps });
        return;
    }
    let load = read_load(import, group);
    let mut scenario = OutlineScenario {
        name: scenario_name(import, group.name()),
        serial: true,
        ..OutlineScenario::default()
    };
    // A group that starts later has a load of its own.
    let is_late = load.iter().any(|(name, _)| name == "start");
    if is_only && !is_late {
        import.calls.options.extend(load)
    } else {
        scenario.options = load
    }
    scenario.tasks.push(OutlineTask {
        name: scenario.name.clone(),
        steps,
        ..OutlineTask::default()
    });
    import.calls.scenarios.push(scenario);
}

fn scenario_name<'a>(import: &JmeterImport<'a>, name: &str) -> String {
    let name = title(name, "Thread Group");
    let is_used = |name: &str| {
        let mut scenarios = import.calls.scenarios.iter();
        scenarios.any(|scenario| scenario.name == name)
    };
    let mut unique = name.clone();
    let mut number = 2;
    while is_used(&unique) {
        unique = format!("{name} ({number})");
        number += 1;
    }
    unique
}

/// Returns how often the iterations of a group run; `None` for ever.
fn read_loops<'a>(import: &mut JmeterImport<'a>, group: JmeterElement<'a>) -> Option<LuaLiteral> {
    let controller = group.part("ThreadGroup.main_controller")?;
    let loops = property(controller, "LoopController.loops").trim();
    let is_endless = property(controller, "LoopController.continue_forever") == "true"
        && matches!(loops, "" | "-1");
    if loops == "-1" || is_endless {
        return None;
    }
    read_number(import, loops).or(Some(LuaLiteral::from(1)))
}

fn read_number<'a>(import: &mut JmeterImport<'a>, text: &str) -> Option<LuaLiteral> {
    let place = ExpressionPlace::PlanOptions;
    import
        .variables
        .number(text.trim(), &mut import.calls, place)
}

fn read_load<'a>(
    import: &mut JmeterImport<'a>,
    group: JmeterElement<'a>,
) -> Vec<(String, LuaLiteral)> {
    match group.kind() {
        "ConcurrencyThreadGroup" => return concurrency_stages(import, group),
        "UltimateThreadGroup" => return ultimate_stages(import, group),
        "ThreadGroup" => {}
        kind => {
            let (name, kind) = (comment(group.name()), comment(kind));
            import.note_once(format!(
                "'{name}': the load of a {kind} is not carried over: set 'stages' or '--stage'"
            ));
            return Vec::new();
        }
    }
    let mut load = Vec::new();
    let mut add = |name: &str, value: Option<LuaLiteral>| {
        load.extend(value.map(|value| (name.to_owned(), value)));
    };
    let users = read_number(import, group.property("ThreadGroup.num_threads"));
    let ramp = read_number(import, group.property("ThreadGroup.ramp_time"));
    add("users", users);
    // A thread group has its own start-up time, even one of zero.
    add(
        "startup_time",
        Some(ramp.clone().unwrap_or(LuaLiteral::from(0))),
    );
    add("iterations", read_loops(import, group));
    if group.is_set("ThreadGroup.scheduler") {
        let duration = read_number(import, group.property("ThreadGroup.duration"));
        // JMeter counts from the first user, lgoose from the moment when all have started.
        let fixed = |value: &Option<LuaLiteral>| match value {
            Some(LuaLiteral::Scalar(number)) => number.as_f64(),
            None => Some(0.0),
            _ => None,
        };
        let run_time = match (fixed(&duration), fixed(&ramp)) {
            (Some(duration), _) if duration <= 0.0 => None,
            (Some(duration), Some(ramp)) => Some(LuaLiteral::number((duration - ramp).max(1.0))),
            _ => duration,
        };
        add("run_time", run_time);
        let delay = read_number(import, group.property("ThreadGroup.delay"));
        let is_delay = |delay: &LuaLiteral| match delay {
            LuaLiteral::Scalar(seconds) => seconds.as_f64() != Some(0.0),
            _ => false,
        };
        add("start", delay.filter(is_delay));
    }
    load
}

/// Returns the stages of a group whose users rise to a number and stay there.
fn concurrency_stages<'a>(
    import: &mut JmeterImport<'a>,
    group: JmeterElement<'a>,
) -> Vec<(String, LuaLiteral)> {
    let fixed = |name: &str| {
        let number = import.variables.fixed_number::<f64>(group.property(name))?;
        Some(number.max(0.0) as u64)
    };
    let unit = match group.property("Unit").trim() {
        "S" => "s",
        _ => "m",
    };
    let (Some(target), hold) = (fixed("TargetLevel"), fixed("Hold").unwrap_or(0)) else {
        let name = comment(group.name());
        import.note_once(format!(
            "'{name}': its number of users is not known: set 'stages' or '--stage'"
        ));
        return Vec::new();
    };
    let ramp = fixed("RampUp").unwrap_or(0);
    let stages = [(ramp, target), (hold, target)];
    let stages = stages.into_iter().filter(|(time, _)| *time > 0);
    stages_of(stages.map(|(time, users)| format!("{time}{unit}:{users}")))
}

/// Returns the stages of a group whose rows each say how many users start when, stay for how long and stop within which time.
fn ultimate_stages<'a>(
    import: &mut JmeterImport<'a>,
    group: JmeterElement<'a>,
) -> Vec<(String, LuaLiteral)> {
    let rows = group.collection("ultimatethreadgroupdata");
    let rows: Option<Vec<Vec<f64>>> = rows
        .iter()
        .map(|row| {
            let cells = row.children.iter().map(|cell| {
                let number = import.variables.fixed_number::<f64>(cell.text.trim());
                number.filter(|number| (0.0..1e9).contains(number))
            });
            cells
                .collect::<Option<Vec<f64>>>()
                .filter(|cells| cells.len() == 5)
        })
        .collect();
    let Some(rows) = rows.filter(|rows| !rows.is_empty() && rows.len() <= 100) else {
        let name = comment(group.name());
        import.note_once(format!(
            "'{name}': its schedule is not carried over: set 'stages' or '--stage'"
        ));
        return Vec::new();
    };
    // Between the moments at which any row changes its course, the sum is a straight line.
    let mut moments: Vec<f64> = rows
        .iter()
        .flat_map(|row| {
            let up = row[1] + row[2];
            [row[1], up, up + row[3], up + row[3] + row[4]]
        })
        .collect();
    moments.sort_by(f64::total_cmp);
    moments.dedup();
    let users_at = |moment: f64| -> f64 {
        let each = rows.iter().map(|row| {
            let (from, up) = (row[1], row[1] + row[2]);
            let (down, end) = (up + row[3], up + row[3] + row[4]);
            match moment {
                at if at <= from && row[2] > 0.0
                    || at < from
                    || at >= end && row[4] > 0.0
                    || at > end =>
                {
                    0.0
                }
                at if at < up => row[0] * (at - from) / row[2],
                at if at <= down => row[0],
                at => row[0] * (end - at) / row[4],
            }
        });
        each.sum()
    };
    let mut last = 0.0;
    let mut stages = Vec::new();
    for moment in moments {
        let time = moment - last;
        if time > 0.0 {
            stages.push(format!("{time}s:{}", users_at(moment).round() as u64));
            last = moment;
        }
    }
    stages_of(stages.into_iter())
}

/// Adds the options of the whole plan: limits of rates, caches and cookies.
pub(super) fn plan_options<'a>(import: &mut JmeterImport<'a>, elements: &[JmeterElement<'a>]) {
    let enabled = elements.iter().filter(|element| element.is_enabled());
    let mut has_cookies = false;
    for element in enabled {
        match element.kind() {
            "CookieManager" => has_cookies = true,
            "CacheManager" => {
                if !import.calls.options.iter().any(|(name, _)| name == "cache") {
                    import.calls.option("cache", true);
                }
                if element.is_set("clearEachIteration") {
                    import.note_once("the cache is kept from iteration to iteration".to_owned());
                }
            }
            "ConstantThroughputTimer" => limit_throughput(import, *element),
            _ => {}
        }
    }
    if !has_cookies {
        import.calls.option("no_cookies", true);
        import.note_once("no cookies are kept, as the test plan has no HTTP Cookie Manager: remove 'no_cookies' if the site needs them".to_owned());
    }
}

fn limit_throughput<'a>(import: &mut JmeterImport<'a>, timer: JmeterElement<'a>) {
    let name = comment(timer.name());
    let a_minute = import
        .variables
        .fixed_number::<f64>(timer.property("throughput"));
    let mode = timer.property("calcMode").trim();
    match a_minute.filter(|number| *number > 0.0 && number.is_finite()) {
        Some(number) if !matches!(mode, "" | "0") => {
            if import.calls.options.iter().any(|(name, _)| name == "throttle_requests") {
                import.note_once(format!("left out '{name}': one limit of requests is carried over"));
                return;
            }
            let rate = LuaLiteral::number((number / 60.0 * 1000.0).round() / 1000.0);
            import.calls.option("throttle_requests", rate);
            import.note_once(format!("'{name}' limits the requests of all users together ('throttle_requests')"));
        }
        Some(number) => import.note_once(format!(
            "left out '{name}': {number} samples a minute and thread; 'throttle_requests' limits those of all users, 'wait.throughput' paces each user"
        )),
        None => import.note_once(format!("left out '{name}', whose throughput is not known: set 'throttle_requests'")),
    }
}

/// Returns the user defined variables of an element.
pub(super) fn define_all<'a>(import: &mut JmeterImport<'a>, list: &'a [crate::xml::XmlElement]) {
    for argument in list {
        let name = property(argument, "Argument.name").trim();
        let value = property(argument, "Argument.value");
        if !import.variables.is_defined(name) {
            import.variables.define(name, value);
        }
    }
}

/// Returns the variables that a test plan element has itself.
pub(super) fn plan_variables<'a>(plan: JmeterElement<'a>) -> &'a [crate::xml::XmlElement] {
    let list = plan.part("TestPlan.user_defined_variables");
    let list = list.and_then(|list| part(list, "Arguments.arguments"));
    list.map_or(&[], |list| list.children.as_slice())
}

fn stages_of(stages: impl Iterator<Item = String>) -> Vec<(String, LuaLiteral)> {
    let stages: Vec<LuaLiteral> = stages.map(|stage| LuaLiteral::text(&stage)).collect();
    if stages.is_empty() {
        Vec::new()
    } else {
        vec![("stages".to_owned(), LuaLiteral::List(stages))]
    }
}
