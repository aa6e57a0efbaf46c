//! Declarations: runs a plan's top level once, checks every field of `plan`, `scenario` and `task`, and
//! gives the plan as plain data. A mistake is a diagnostic at the line where it stands.

use super::field::{Field, Mistake};
use super::host::Host;
use super::limits::{self, Limits};
use super::program::Program;
use super::vm::{mistake, start_prelude};
use super::{fault, sandbox};
use crate::config::{Settings, Value as Setting};
use crate::error::{Diagnostic, Error};
use crate::plan::{Order, Plan, Scenario, Task, Wait};
use mlua::{Function, Lua, Table, Value};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Far more than a plan's top level needs: they end what would never end.
const LOADING_TIME: Duration = Duration::from_secs(10);
const LOADING_MEMORY: u64 = 1 << 30;

const TASK_FIELDS: [&str; 5] = ["weight", "sequence", "on_start", "on_stop", "wait"];
const SCENARIO_FIELDS: [&str; 5] = ["weight", "users", "wait", "host", "order"];

/// What a plan declares.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) plan: Plan,
    pub(super) settings: Settings,
    pub(super) task_names: Vec<Option<String>>,
}

#[derive(Debug, Default)]
struct Draft {
    settings: Settings,
    tasks: Vec<DraftTask>,
    scenarios: Vec<Scenario>,
}

/// A task and, once it is taken, its scenario. The table stays alive so that its address stays its own.
#[derive(Debug)]
struct DraftTask {
    table: Table,
    task: Task,
    scenario: Option<String>,
}

type Drafted = Rc<RefCell<Draft>>;

/// Runs the top level of a compiled plan.
///
/// # Errors
/// The first mistake in it.
pub(super) fn declarations(program: &Arc<Program>) -> Result<Declared, Error> {
    let draft = Drafted::default();
    run(program, &draft)
        .map_err(|error| fault::diagnose(&error, &program.file, &program.source))?;
    let mut draft = draft.take();
    let task_names = draft
        .tasks
        .iter()
        .map(|draft| draft.task.name.clone())
        .collect();
    let left: Vec<Task> = draft
        .tasks
        .iter()
        .filter(|draft| draft.scenario.is_none())
        .map(|draft| draft.task.clone())
        .collect();
    if !left.is_empty() {
        draft.scenarios.push(Scenario {
            name: "default".to_owned(),
            weight: 1,
            users: None,
            host: None,
            order: Order::Shuffled,
            wait: Wait::None,
            tasks: left,
        });
    }
    if draft.scenarios.is_empty() {
        let empty = Diagnostic::new("the plan declares no task")
            .at(&program.file, None, "")
            .help("the smallest plan is: task { function(user) user:get \"/\" end }");
        return Err(empty.into());
    }
    Ok(Declared {
        plan: Plan {
            scenarios: draft.scenarios,
        },
        settings: draft.settings,
        task_names,
    })
}

fn run(program: &Arc<Program>, draft: &Drafted) -> mlua::Result<()> {
    let lua = sandbox::new_state()?;
    // What the plan itself says of its limits is not known before it has run.
    let limits = Limits::new(LOADING_TIME, LOADING_MEMORY, None);
    lua.set_app_data(Rc::new(Host::new(program.clone(), 0, "", limits)));
    limits::keep(&lua)?;
    let prelude = start_prelude(&lua, program, lua.create_table()?, lua.create_table()?)?;
    let globals: Table = prelude.raw_get("globals")?;
    globals.raw_set("plan", declaration(&lua, draft, declare_plan)?)?;
    globals.raw_set("task", declaration(&lua, draft, declare_task)?)?;
    globals.raw_set("scenario", declaration(&lua, draft, declare_scenario)?)?;
    lua.load(program.plan.as_slice())
        .set_mode(mlua::chunk::ChunkMode::Binary)
        .set_environment(prelude.raw_get("env")?)
        .exec()?;
    Host::of(&lua).limits.survive()
}

/// A function of the plan's top level that takes one table and returns it.
fn declaration(
    lua: &Lua,
    draft: &Drafted,
    declare: fn(&mut Draft, &Table, u32) -> Result<(), Mistake>,
) -> mlua::Result<Function> {
    let draft = draft.clone();
    lua.create_function(move |lua, argument: Value| {
        let line = super::host::plan_line(lua).map_or(0, |(_, line)| line);
        let Value::Table(table) = argument else {
            let message = format!("a table is wanted here, not {}", argument.type_name());
            return Err(mistake(
                lua,
                Diagnostic::new(message).help("write task { … } with braces"),
            ));
        };
        match declare(&mut draft.borrow_mut(), &table, line) {
            Ok(()) => Ok(table),
            Err(Mistake { diagnostic, word }) => {
                Err(placed(lua, diagnostic, line, word.as_deref()))
            }
        }
    })
}

/// Places a mistake at the first line from the declaration's own on that has the offending word: a long
/// declaration stands on many lines, Lua knows only its first.
fn placed(lua: &Lua, diagnostic: Diagnostic, line: u32, word: Option<&str>) -> mlua::Error {
    const LONGEST_DECLARATION: usize = 200;
    let host = Host::of(lua);
    let source = &host.program.source;
    let has_word = |text: &str, word: &str| {
        text.match_indices(word).any(|(at, _)| {
            let in_name = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            !in_name(text[..at].chars().next_back())
                && !in_name(text[at + word.len()..].chars().next())
        })
    };
    let found = word.and_then(|word| {
        let from = line.saturating_sub(1) as usize;
        let lines = source
            .lines()
            .enumerate()
            .skip(from)
            .take(LONGEST_DECLARATION);
        lines
            .into_iter()
            .find(|(_, text)| has_word(text, word))
            .map(|(index, _)| index as u32 + 1)
    });
    mlua::Error::external(diagnostic.at(&host.program.file, Some(found.unwrap_or(line)), source))
}

fn declare_plan(draft: &mut Draft, table: &Table, _line: u32) -> Result<(), Mistake> {
    for (key, value) in entries(table) {
        let Value::String(key) = &key else {
            return Err(
                Diagnostic::new("the fields of plan are named: plan { users = 12 }").into(),
            );
        };
        let name = key.to_string_lossy();
        draft
            .settings
            .set(&name, &setting(&value))
            .map_err(|diagnostic| Mistake {
                diagnostic,
                word: Some(name),
            })?;
    }
    Ok(())
}

fn setting(value: &Value) -> Setting {
    match value {
        Value::String(text) => Setting::Text(text.to_string_lossy()),
        Value::Integer(n) => Setting::Number(*n as f64),
        Value::Number(n) => Setting::Number(*n),
        Value::Table(table) => table
            .pairs::<String, String>()
            .collect::<mlua::Result<_>>()
            .map_or(
                Setting::Other("a table of anything but strings"),
                Setting::Map,
            ),
        other => Setting::Other(other.type_name()),
    }
}

fn declare_task(draft: &mut Draft, table: &Table, line: u32) -> Result<(), Mistake> {
    let name = match table.raw_get::<Value>(1).unwrap_or(Value::Nil) {
        Value::String(name) => Some(name.to_string_lossy()),
        _ => None,
    };
    let owner = match &name {
        Some(name) => format!("task '{name}'"),
        None => "task".to_owned(),
    };
    let mut task = Task {
        name,
        weight: 1,
        sequence: None,
        on_start: false,
        on_stop: false,
        wait: None,
        function: draft.tasks.len(),
        line,
    };
    let place = if task.name.is_some() { 2 } else { 1 };
    if !matches!(table.raw_get::<Value>(place), Ok(Value::Function(_))) || table.raw_len() != place
    {
        let message = format!("{owner} has no function as its last entry");
        let help =
            "write task { \"name\", weight = 3, function(user) … end }; the name may be left out";
        return Err(Diagnostic::new(message).help(help).into());
    }
    for (key, value) in entries(table) {
        let Value::String(key) = &key else { continue };
        let field = Field::new(key.to_string_lossy(), &owner, &value);
        match field.name.as_str() {
            "weight" => task.weight = field.at_least_one()?,
            "sequence" => task.sequence = Some(field.whole()?),
            "on_start" => task.on_start = field.flag()?,
            "on_stop" => task.on_stop = field.flag()?,
            "wait" => task.wait = Some(field.wait()?),
            _ => return Err(field.unknown(&TASK_FIELDS)),
        }
    }
    draft.tasks.push(DraftTask {
        table: table.clone(),
        task,
        scenario: None,
    });
    Ok(())
}

fn declare_scenario(draft: &mut Draft, table: &Table, _line: u32) -> Result<(), Mistake> {
    let Ok(Value::String(name)) = table.raw_get::<Value>(1) else {
        let help = "write scenario { \"visitor\", task { … }, task { … } }";
        return Err(Diagnostic::new("a scenario begins with its name")
            .help(help)
            .into());
    };
    let name = name.to_string_lossy();
    let owner = format!("scenario '{name}'");
    if draft.scenarios.iter().any(|scenario| scenario.name == name) {
        return Err(
            Diagnostic::new(format!("there are two scenarios named '{name}'"))
                .help("give each its own name")
                .into(),
        );
    }
    let mut scenario = Scenario {
        name: name.clone(),
        weight: 1,
        users: None,
        host: None,
        order: Order::Shuffled,
        wait: Wait::None,
        tasks: Vec::new(),
    };
    for place in 2..=table.raw_len() {
        scenario.tasks.push(take_task(draft, table, place, &name)?);
    }
    for (key, value) in entries(table) {
        let Value::String(key) = &key else { continue };
        let field = Field::new(key.to_string_lossy(), &owner, &value);
        match field.name.as_str() {
            "weight" => scenario.weight = field.at_least_one()?,
            "users" => scenario.users = Some(field.at_least_one()?),
            "wait" => scenario.wait = field.wait()?,
            "host" => scenario.host = Some(field.text()?),
            "order" => scenario.order = field.order()?,
            _ => return Err(field.unknown(&SCENARIO_FIELDS)),
        }
    }
    if scenario.tasks.is_empty() {
        return Err(Diagnostic::new(format!("{owner} has no tasks"))
            .help("put its task { … } declarations between the braces")
            .into());
    }
    draft.scenarios.push(scenario);
    Ok(())
}

fn take_task(
    draft: &mut Draft,
    table: &Table,
    place: usize,
    scenario: &str,
) -> Result<Task, Mistake> {
    let entry: Value = table.raw_get(place).unwrap_or(Value::Nil);
    let known = entry
        .as_table()
        .and_then(|entry| draft.tasks.iter_mut().find(|draft| draft.table == *entry));
    let Some(known) = known else {
        let message = format!(
            "entry {place} of scenario '{scenario}' is {}, not a task",
            entry.type_name()
        );
        return Err(Diagnostic::new(message)
            .help("write task { \"name\", function(user) … end }")
            .into());
    };
    if let Some(other) = known.scenario.replace(scenario.to_owned()) {
        let task = known.task.name.as_deref().unwrap_or("without a name");
        let message = match other == scenario {
            true => format!("task '{task}' stands twice in scenario '{scenario}'"),
            false => format!("task '{task}' is in two scenarios, '{other}' and '{scenario}'"),
        };
        return Err(Diagnostic::new(message)
            .help("declare a task of its own for each; they may share one function")
            .into());
    }
    Ok(known.task.clone())
}

fn entries(table: &Table) -> Vec<(Value, Value)> {
    let mut entries: Vec<(Value, Value)> = table.pairs().filter_map(Result::ok).collect();
    // Lua's order of fields changes from run to run; messages must not.
    entries.sort_by_key(|(key, _)| key.to_string().unwrap_or_default());
    entries
}
