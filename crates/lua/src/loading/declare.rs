//! The declarations of a plan: its top level runs once, every field of `plan`, `scenario` and `task` is checked, and
//! the plan becomes plain data. A mistake is a diagnostic at its own line.

use super::declared_tables::DeclaredTables;
use super::field::{DeclarationError, DeclaredField, for_each_field};
use super::load_function::{self, LoadFunction};
use super::scenario_fields::read_scenario_fields;
use super::setting::{check_size, entries, read_setting};
use crate::api::start_prelude;
use crate::diagnostics::{self, plan_line, word_line};
use crate::limits::{self, Heartbeat, VmLimits};
use crate::plan_files::{DeclarationLines, Program, SourceLine, TaskLocation};
use crate::sandbox::{self, VmHost, error_at_plan_line};
use crate::values::{escape_invalid, type_phrase};
use lgoose_base::error::{Diagnostic, Error, bounded_name};
use lgoose_base::tags::Tags;
use lgoose_base::threshold::Threshold;
use lgoose_plan::config::{self, Settings, Value as Setting, unknown_word};
use lgoose_plan::{Hook, Plan, PlanEvent, Scenario, Task};
use mlua::{Function, Lua, Table, Value};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

pub(super) const TASK_FIELDS: [&str; 6] =
    ["weight", "sequence", "on_start", "on_stop", "wait", "tags"];

/// The most tasks and scenarios of a plan: each user has all of them.
const MOST_TASKS: usize = 10_000;
const MOST_SCENARIOS: usize = 1_000;

/// The declarations of a plan as plain data.
#[derive(Debug)]
pub(super) struct Declarations {
    pub(super) plan: Plan,
    pub(super) settings: Settings,
    pub(super) lines: DeclarationLines,
    pub(super) task_names: Vec<Option<String>>,
    pub(super) task_locations: Vec<TaskLocation>,
    /// The variables of each scenario that has some.
    pub(super) scenario_env: BTreeMap<String, BTreeMap<String, String>>,
}

#[derive(Debug, Default)]
struct PlanBuilder {
    settings: Settings,
    load: Option<LoadFunction>,
    lines: DeclarationLines,
    tasks: Vec<DeclaredTask>,
    /// The place of each task by the address of its table.
    places: HashMap<usize, usize>,
    scenarios: Vec<Scenario>,
    /// The names of the scenarios.
    names: HashSet<String>,
    events: Vec<PlanEvent>,
    /// Tags of all requests in figures.
    request_tags: Tags,
    /// Thresholds that scenarios have.
    thresholds: Vec<Threshold>,
    scenario_env: BTreeMap<String, BTreeMap<String, String>>,
    hooks: Vec<Hook>,
    /// The tables as they were declared.
    declared: DeclaredTables,
}

/// A task and, once a scenario has taken it, that scenario. The table is kept alive so that its address stays unique.
#[derive(Debug)]
struct DeclaredTask {
    _table: Table,
    task: Task,
    location: TaskLocation,
    scenario: Option<String>,
}

type SharedBuilder = Rc<RefCell<PlanBuilder>>;

/// Runs the top level of a compiled plan and collects its declarations.
///
/// # Errors
/// The first mistake in it.
pub(super) fn collect_declarations(
    program: &Arc<Program>,
    heartbeat: &Arc<Heartbeat>,
) -> Result<Declarations, Error> {
    let builder = SharedBuilder::default();
    let counters = run(program, &builder, heartbeat)
        .map_err(|error| diagnostics::diagnose(&error, &program.sources))?;
    let mut builder = builder.take();
    let task_names = builder
        .tasks
        .iter()
        .map(|declared| declared.task.name.clone())
        .collect();
    let unassigned: Vec<Task> = builder
        .tasks
        .iter()
        .filter(|declared| declared.scenario.is_none())
        .map(|declared| declared.task.clone())
        .collect();
    if !unassigned.is_empty() {
        builder.scenarios.push(Scenario {
            tasks: unassigned,
            ..Scenario::new("default")
        });
    }
    if builder.scenarios.is_empty() {
        let empty = Diagnostic::new("the plan declares no task")
            .at(&program.file, None, "")
            .help("the smallest plan is: task { function(user) user:get \"/\" end }");
        return Err(empty.into());
    }
    let mut plan = Plan {
        scenarios: builder.scenarios,
        events: builder.events,
        hooks: builder.hooks,
        counters,
    };
    plan.tag_requests(&builder.request_tags);
    let mut settings = builder.settings;
    if !builder.thresholds.is_empty() {
        let all = settings.thresholds.get_or_insert_default();
        all.extend(builder.thresholds);
    }
    let tasks = builder.tasks.into_iter();
    Ok(Declarations {
        plan,
        settings,
        lines: builder.lines,
        scenario_env: builder.scenario_env,
        task_locations: tasks.map(|task| task.location).collect(),
        task_names,
    })
}

/// Runs the top level, and returns the counters that it makes.
fn run(
    program: &Arc<Program>,
    builder: &SharedBuilder,
    heartbeat: &Arc<Heartbeat>,
) -> mlua::Result<Vec<String>> {
    let lua = sandbox::new_state()?;
    let limits = VmLimits::of_loading(heartbeat.clone());
    let host = Rc::new(VmHost::new(program.clone(), 0, "", None, limits));
    lua.set_app_data(host.clone());
    host.limits.enforce(&lua)?;
    let prelude = start_prelude(&lua, program, lua.create_table()?)?;
    let globals = prelude.globals;
    globals.raw_set("plan", declaration(&lua, builder, "plan", declare_plan)?)?;
    globals.raw_set("task", declaration(&lua, builder, "task", declare_task)?)?;
    globals.raw_set(
        "scenario",
        declaration(&lua, builder, "scenario", declare_scenario)?,
    )?;
    globals.raw_set("on", event_declaration(&lua, builder)?)?;
    let load = lua
        .load(program.plan.as_slice())
        .set_mode(mlua::chunk::ChunkMode::Binary)
        .set_environment(prelude.env)
        .into_function()?;
    heartbeat.enter(0, None);
    let loaded = limits::call(&lua, &host.limits, &load, ());
    let sampled = loaded.and_then(|()| sample_load(&lua, &host.limits, builder));
    heartbeat.leave();
    host.limits.reraise().and(sampled)?;
    let unchanged = builder.borrow().declared.check_unchanged(&program.sources);
    unchanged.map_err(mlua::Error::external)?;
    Ok(host.take_counters())
}

/// Asks the load function, if there is one, and keeps what it returns. It is no part of the builder meanwhile, since it may
/// declare things, too.
fn sample_load(lua: &Lua, limits: &VmLimits, builder: &SharedBuilder) -> mlua::Result<()> {
    let Some(load) = builder.borrow_mut().load.take() else {
        return Ok(());
    };
    let run_time = builder.borrow().settings.run_time;
    let samples = load_function::sample(lua, limits, &load, run_time)?;
    let settings = &mut builder.borrow_mut().settings;
    settings.load = Some(samples);
    config::agree(settings).map_err(|mistake| load.located(lua, mistake))
}

/// Creates the function `on("test_start", fn)`.
fn event_declaration(lua: &Lua, builder: &SharedBuilder) -> mlua::Result<Function> {
    let builder = builder.clone();
    lua.create_function(move |lua, (event, handler): (Value, Value)| {
        let name = event.as_string().map(escape_invalid).unwrap_or_default();
        let event = PlanEvent::ALL
            .into_iter()
            .find(|event| event.name() == name);
        let hook = Hook::ALL.into_iter().find(|hook| hook.name() == name);
        if event.is_none() && hook.is_none() {
            let valid = [
                PlanEvent::ALL.map(PlanEvent::name),
                Hook::ALL.map(Hook::name),
            ]
            .concat();
            return Err(error_at_plan_line(
                lua,
                unknown_word("event", &name, "on", &valid),
            ));
        }
        if !handler.is_function() {
            let message = format!(
                "on(\"{name}\", …) needs a function, not {}",
                type_phrase(&handler)
            );
            let parameter = if hook.is_some() {
                name.as_str()
            } else {
                "user"
            };
            let help = format!("write on(\"{name}\", function({parameter}) … end)");
            return Err(error_at_plan_line(lua, Diagnostic::new(message).help(help)));
        }
        let builder = &mut *builder.borrow_mut();
        let is_declared = event.is_some_and(|event| builder.events.contains(&event))
            || hook.is_some_and(|hook| builder.hooks.contains(&hook));
        if is_declared {
            let message = format!("there are two functions for on(\"{name}\", …)");
            return Err(error_at_plan_line(
                lua,
                Diagnostic::new(message).help("join them into one"),
            ));
        }
        builder.events.extend(event);
        builder.hooks.extend(hook);
        if hook == Some(Hook::Report) {
            builder.lines.report = plan_line(lua);
        }
        Ok(())
    })
}

/// Creates a function of the plan's top level that takes one table and returns it.
fn declaration(
    lua: &Lua,
    builder: &SharedBuilder,
    keyword: &'static str,
    declare: fn(&mut PlanBuilder, &Table, &SourceLine) -> Result<(), DeclarationError>,
) -> mlua::Result<Function> {
    let builder = builder.clone();
    lua.create_function(move |lua, argument: Value| {
        let place = plan_line(lua).unwrap_or_default();
        let argument = VmHost::of(lua).without_views(lua, argument)?;
        let Value::Table(table) = argument else {
            let message = format!("expected a table here, not {}", type_phrase(&argument));
            let form = match (keyword, &argument) {
                ("task", Value::String(name)) => {
                    format!(
                        "task {{ \"{}\", function(user) … end }}",
                        escape_invalid(name)
                    )
                }
                ("scenario", Value::String(name)) => format!(
                    "scenario {{ \"{}\", task {{ function(user) … end }} }}",
                    escape_invalid(name)
                ),
                ("task", _) => "task { function(user) … end }".to_owned(),
                ("scenario", _) => {
                    "scenario { \"name\", task { function(user) … end } }".to_owned()
                }
                _ => "plan { host = \"…\", users = 10 }".to_owned(),
            };
            let help = format!("all of a declaration stands in braces: {form}");
            return Err(error_at_plan_line(lua, Diagnostic::new(message).help(help)));
        };
        let declared = declare(&mut builder.borrow_mut(), &table, &place);
        match declared {
            Ok(()) => {
                let mut builder = builder.borrow_mut();
                builder.declared.note(keyword, &table, place);
                Ok(table)
            }
            Err(DeclarationError { diagnostic, word }) => {
                Err(locate(lua, diagnostic, &place, word.as_deref()))
            }
        }
    })
}

/// Locates a mistake at the line of the offending word: a long declaration spans many lines, of which Lua knows only
/// the first.
fn locate(
    lua: &Lua,
    diagnostic: Diagnostic,
    (file, line): &SourceLine,
    word: Option<&str>,
) -> mlua::Error {
    let source = VmHost::of(lua).program.sources.text(file);
    let words = [diagnostic.marked(), word].into_iter().flatten();
    let found = words
        .filter_map(|word| word_line(&source, *line, word))
        .next();
    mlua::Error::external(diagnostic.at(file, Some(found.unwrap_or(*line)), &source))
}

fn declare_plan(
    builder: &mut PlanBuilder,
    table: &Table,
    at: &SourceLine,
) -> Result<(), DeclarationError> {
    for (key, value) in entries(table) {
        let Value::String(key) = &key else {
            return Err(
                Diagnostic::new("the fields of plan are named: plan { users = 12 }").into(),
            );
        };
        let name = escape_invalid(key);
        check_size(&name, "plan", &value)?;
        if let Some((file, line)) = builder.lines.settings.insert(name.clone(), at.clone()) {
            let message =
                format!("field '{name}' of plan is set twice: here and in line {line} of '{file}'");
            return Err(DeclarationError {
                diagnostic: Diagnostic::new(message)
                    .help("one of the two would have no effect: leave it out"),
                word: Some(name),
            });
        }
        if let ("load", Value::Function(function)) = (name.as_str(), &value) {
            builder.load = Some(LoadFunction {
                function: function.clone(),
                place: at.clone(),
            });
            continue;
        }
        let mut setting = read_setting(&value);
        if let ("tags", Value::Table(_)) = (name.as_str(), &value) {
            let (words, tags) = DeclaredField::new(name.clone(), "plan", &value).tags()?;
            builder.request_tags = tags;
            // Named tags say nothing about which tasks run.
            if words.is_empty() {
                continue;
            }
            setting = Setting::List(words);
        }
        let set = builder.settings.set(&name, &setting);
        set.map_err(|diagnostic| DeclarationError {
            diagnostic,
            word: Some(name.clone()),
        })?;
    }
    match builder.load {
        // Whether it has users or a rate is known once it is asked.
        Some(_) => Ok(()),
        None => Ok(config::agree(&builder.settings)?),
    }
}

fn declare_task(
    builder: &mut PlanBuilder,
    table: &Table,
    at: &SourceLine,
) -> Result<(), DeclarationError> {
    let name = match table.raw_get::<Value>(1).unwrap_or(Value::Nil) {
        Value::String(name) => Some(bounded_name(&escape_invalid(&name)).into_owned()),
        _ => None,
    };
    let owner = match &name {
        Some(name) => format!("task '{name}'"),
        None => "task".to_owned(),
    };
    let mut task = Task::new(name, builder.tasks.len(), at.1);
    let place = if task.name.is_some() { 2 } else { 1 };
    let has_function = matches!(table.raw_get::<Value>(place), Ok(Value::Function(_)));
    if !has_function || table.raw_len() != place {
        check_named_function(table, &owner)?;
        let message = format!("{owner} has no function as its last entry");
        let help =
            "write task { \"name\", weight = 3, function(user) … end }; the name may be left out";
        return Err(Diagnostic::new(message).help(help).into());
    }
    for_each_field(table, &owner, |field| {
        match field.name.as_str() {
            "weight" => task.weight = field.weight()?,
            "sequence" => task.sequence = Some(field.whole()?),
            "on_start" => task.on_start = field.flag()?,
            "on_stop" => task.on_stop = field.flag()?,
            "wait" => task.wait = Some(field.wait()?),
            "tags" => (task.tags, task.request_tags) = field.tags()?,
            _ => return Err(field.unknown(&TASK_FIELDS)),
        }
        Ok(())
    })?;
    let place_of_task = builder.tasks.len();
    builder.places.insert(address(table), place_of_task);
    if builder.tasks.len() == MOST_TASKS {
        let message = format!("a plan may have {MOST_TASKS} tasks, and this is one more");
        return Err(Diagnostic::new(message).into());
    }
    builder.tasks.push(DeclaredTask {
        _table: table.clone(),
        task,
        location: TaskLocation {
            declared: at.clone(),
            function: function_span(table, place),
        },
        scenario: None,
    });
    Ok(())
}

/// Refuses a task whose function is a named field.
fn check_named_function(table: &Table, owner: &str) -> Result<(), DeclarationError> {
    for_each_field(table, owner, |field| match field.name.as_str() {
        "on_start" | "on_stop" => field.flag().map(drop),
        name if TASK_FIELDS.contains(&name) => Ok(()),
        _ => Err(field.unknown(&TASK_FIELDS)),
    })
}

fn declare_scenario(
    builder: &mut PlanBuilder,
    table: &Table,
    at: &SourceLine,
) -> Result<(), DeclarationError> {
    let Ok(Value::String(name)) = table.raw_get::<Value>(1) else {
        let help = "its name stands first, without 'name =': write scenario { \"visitor\", task { … }, task { … } }";
        return Err(Diagnostic::new("a scenario begins with its name")
            .help(help)
            .into());
    };
    let name = bounded_name(&escape_invalid(&name)).into_owned();
    let owner = format!("scenario '{name}'");
    if !builder.names.insert(name.clone()) {
        return Err(
            Diagnostic::new(format!("there are two scenarios named '{name}'"))
                .help("give each its own name")
                .into(),
        );
    }
    builder.lines.scenarios.insert(name.clone(), at.clone());
    let mut scenario = Scenario::new(&name);
    for place in 2..=table.raw_len() {
        scenario
            .tasks
            .push(take_task(builder, table, place, &name)?);
    }
    let extras = read_scenario_fields(table, &owner, &mut scenario)?;
    builder.thresholds.extend(extras.thresholds);
    if !extras.env.is_empty() {
        builder.scenario_env.insert(name, extras.env);
    }
    if scenario.tasks.is_empty() {
        return Err(Diagnostic::new(format!("{owner} has no tasks"))
            .help("put its task { … } declarations between the braces")
            .into());
    }
    if builder.scenarios.len() == MOST_SCENARIOS {
        let message = format!("a plan may have {MOST_SCENARIOS} scenarios, and this is one more");
        return Err(Diagnostic::new(message).into());
    }
    builder.scenarios.push(scenario);
    Ok(())
}

fn take_task(
    builder: &mut PlanBuilder,
    table: &Table,
    place: usize,
    scenario: &str,
) -> Result<Task, DeclarationError> {
    let entry: Value = table.raw_get(place).unwrap_or(Value::Nil);
    let declared = entry.as_table().and_then(|entry| {
        let place = builder.places.get(&address(entry))?;
        builder.tasks.get_mut(*place)
    });
    let Some(declared) = declared else {
        let message = format!(
            "entry {place} of scenario '{scenario}' is {}, not a task",
            type_phrase(&entry)
        );
        return Err(Diagnostic::new(message)
            .help("write task { \"name\", function(user) … end }")
            .into());
    };
    if let Some(other) = declared.scenario.replace(scenario.to_owned()) {
        let task = declared.task.name.as_deref().unwrap_or("without a name");
        let message = if other == scenario {
            format!("task '{task}' is declared twice in scenario '{scenario}'")
        } else {
            format!("task '{task}' is in two scenarios, '{other}' and '{scenario}'")
        };
        return Err(Diagnostic::new(message)
            .help("declare a task of its own for each; they may share one function")
            .into());
    }
    Ok(declared.task.clone())
}

/// Returns the address of a table, which is its own as long as it is kept alive.
fn address(table: &Table) -> usize {
    table.to_pointer().addr()
}

/// Returns the location of a task's function, if it is in one of the plan's files.
fn function_span(table: &Table, place: usize) -> Option<(String, usize, usize)> {
    let about = table.raw_get::<Function>(place).ok()?.info();
    let file = about.source?.strip_prefix('@')?.to_owned();
    Some((file, about.line_defined?, about.last_line_defined?))
}
