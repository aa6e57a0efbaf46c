//! `data`: rows of CSV files, lines and JSON, read once per process and shared by all users. A row becomes a Lua value
//! when a user takes it.

use super::file;
use super::function::function;
use super::json_view;
use super::names::unknown;
use crate::limits::{HeapSize, Held};
use crate::plan_files::{CsvFormat, DataFormat, DataRow, DataRows, RowOrder};
use crate::requests::marker;
use crate::sandbox::{VmHost, yield_function};
use crate::values::{
    describe_mismatch, escape_invalid, escape_invalid_bytes, list_values, read_flag, read_string,
    shorten, to_one_line,
};
use lgoose_base::allotment::Taken;
use lgoose_plan::config::unknown_word;
use mlua::{
    Function, IntoLua as _, Lua, MetaMethod, Table, UserDataFields, UserDataMethods, Value,
};
use rand::RngExt as _;
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;

/// Rows as a plan holds them: with their order and the number that its own user has taken.
#[derive(Debug)]
pub(super) struct RowReader {
    rows: Arc<DataRows>,
    order: RowOrder,
    own: Cell<u64>,
}

impl HeapSize for RowReader {
    fn heap_bytes(&self) -> usize {
        // All users share the rows.
        0
    }
}

pub(crate) const OPTIONS: [&str; 1] = ["order"];
/// The additional options of lines and CSV.
pub(crate) const LINES_OPTIONS: [&str; 1] = ["stream"];
/// Those of CSV alone.
pub(crate) const CSV_OPTIONS: [&str; 2] = ["columns", "separator"];

const MEMBERS: [&str; 2] = ["next", "get"];

/// The code of `rows:next()`. Only Lua can yield: a user that finds no row left stops here, and one whose next row is not
/// reserved yet waits.
const NEXT: &str = r#"
local take, out_of_rows, later, yield = ...
return function(rows)
  local row, waits = take(rows)
  while waits do
    yield(later)
    row, waits = take(rows)
  end
  if row == nil then yield(out_of_rows) end
  return row
end"#;

/// Creates `data`.
pub(super) fn library(lua: &Lua) -> mlua::Result<Table> {
    let parts = (
        function(lua, take)?,
        marker("out_of_rows"),
        marker("later"),
        yield_function(lua)?,
    );
    let next: Function = lua.load(NEXT).set_name("=lgoose").call(parts)?;
    lua.register_userdata_type(|registry| register(registry, next))?;
    let library = lua.create_table()?;
    // The same file in the same order is the same reader: a task may open it in every iteration.
    let opened = lua.create_table()?;
    for (name, format) in [
        ("csv", DataFormat::Csv(CsvFormat::default())),
        ("lines", DataFormat::Lines { streamed: false }),
        ("json", DataFormat::Json),
        ("json5", DataFormat::Json5),
        ("jsonl", DataFormat::JsonLines),
        ("yaml", DataFormat::Yaml),
    ] {
        let opened = opened.clone();
        let open = function(lua, move |lua, (file, options): (Value, Value)| {
            open(lua, &opened, name, format.clone(), &file, &options)
        })?;
        library.raw_set(name, open)?;
    }
    library.raw_set("text", function(lua, file::text)?)?;
    library.raw_set("bytes", function(lua, file::bytes)?)?;
    Ok(library)
}

fn open(
    lua: &Lua,
    opened: &Table,
    name: &str,
    format: DataFormat,
    file: &Value,
    options: &Value,
) -> mlua::Result<Value> {
    let Value::String(file) = file else {
        let problem = describe_mismatch("the file", "a string", file);
        let message = format!("{problem}; write data.{name} \"file\", with a dot");
        return Err(mlua::Error::runtime(message));
    };
    let file = escape_invalid(file);
    let (order, format) = read_options(name, format, options).map_err(mlua::Error::runtime)?;
    let key = format!("{format:?} {order:?} {file}");
    let known: Value = opened.raw_get(key.as_str())?;
    if !known.is_nil() {
        return Ok(known);
    }
    let library = &VmHost::of(lua).program.data;
    let rows = library.open(&format, &file).map_err(mlua::Error::runtime)?;
    if let (Some(json), None) = (rows.json(), order) {
        let view = json_view::view(lua, json)?;
        opened.raw_set(key, &view)?;
        return Ok(view);
    }
    if rows.len() == 0 {
        let message =
            format!("'{file}' holds no list, or an empty one: there are no rows to order");
        return Err(mlua::Error::runtime(message));
    }
    let reader = RowReader {
        rows,
        order: order.unwrap_or(RowOrder::Circular),
        own: Cell::new(0),
    };
    let reader = VmHost::of(lua).userdata(lua, reader)?;
    opened.raw_set(key, &reader)?;
    reader.into_lua(lua)
}

/// Reads the order of rows, and the format as the options change it.
fn read_options(
    name: &str,
    mut format: DataFormat,
    options: &Value,
) -> Result<(Option<RowOrder>, DataFormat), String> {
    let table = match options {
        Value::Nil => return Ok((None, format)),
        Value::Table(table) => table,
        other => {
            let what = format!("the options of data.{name}");
            let kind = "a table such as { order = \"random\" }";
            return Err(describe_mismatch(&what, kind, other));
        }
    };
    let names = match format {
        DataFormat::Csv(_) => [&OPTIONS[..], &LINES_OPTIONS, &CSV_OPTIONS].concat(),
        DataFormat::Lines { .. } => [OPTIONS, LINES_OPTIONS].concat(),
        _ => OPTIONS.to_vec(),
    };
    let mut order = None;
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair.map_err(|error| error.to_string())?;
        let key = key.to_string().unwrap_or_default();
        let what = format!("option '{key}'");
        match (key.as_str(), &mut format) {
            ("stream", DataFormat::Csv(csv)) => csv.streamed = read_flag(&value, &what)?,
            ("stream", DataFormat::Lines { streamed }) => *streamed = read_flag(&value, &what)?,
            ("columns", DataFormat::Csv(csv)) => csv.columns = Some(columns(&value)?),
            ("separator", DataFormat::Csv(csv)) => {
                csv.separator = separator(&read_text(&value, &what)?)?;
            }
            ("order", _) => {
                let value = escape_invalid_bytes(&read_text(&value, &what)?);
                let parsed = RowOrder::parse(&value);
                let unknown = || unknown_word("order", &value, "rows", &RowOrder::NAMES);
                order = Some(parsed.ok_or_else(|| to_one_line(unknown()))?);
            }
            _ => {
                let owner = format!("data.{name}");
                return Err(to_one_line(unknown_word("option", &key, &owner, &names)));
            }
        }
    }
    Ok((order, format))
}

fn read_text(value: &Value, what: &str) -> Result<Vec<u8>, String> {
    match value {
        Value::String(text) => Ok(text.as_bytes().to_vec()),
        other => Err(describe_mismatch(what, "a string", other)),
    }
}

/// Reads the names of columns, for a file whose first line is a row.
fn columns(value: &Value) -> Result<Vec<String>, String> {
    const WHAT: &str = "option 'columns'";
    let Value::Table(list) = value else {
        let kind = "a list of names, such as { \"user\", \"password\" }";
        return Err(describe_mismatch(WHAT, kind, value));
    };
    let (mut names, mut seen) = (Vec::new(), HashSet::new());
    for name in list_values(list, WHAT)? {
        let name = read_string(&name, "a name in option 'columns'")?;
        if name.is_empty() {
            return Err(format!("{WHAT}: a name is empty"));
        }
        if !seen.insert(name.clone()) {
            return Err(format!(
                "{WHAT}: two columns are named '{}'",
                shorten(&name)
            ));
        }
        names.push(name);
    }
    if names.is_empty() {
        return Err(format!("{WHAT} has no name"));
    }
    Ok(names)
}

fn separator(text: &[u8]) -> Result<u8, String> {
    match text {
        [byte] if !matches!(byte, b'"' | b'\r' | b'\n') => Ok(*byte),
        _ => Err("option 'separator' is one character, such as ';' or '\\t'".to_owned()),
    }
}

/// Registers the fields and methods of rows. `registry` is mlua's, or the list of a test.
pub(super) fn register<R>(registry: &mut R, next: Function)
where
    R: UserDataFields<Held<RowReader>> + UserDataMethods<Held<RowReader>>,
{
    registry.add_field("next", next);
    registry.add_method("get", |lua, this, place: i64| nth(lua, this, place));
    registry.add_meta_method(MetaMethod::Len, |_, this, ()| Ok(this.rows.len()));
    registry.add_meta_function(MetaMethod::Pairs, |lua, rows: Value| {
        let ipairs: Function = lua.globals().raw_get("ipairs")?;
        ipairs.call::<mlua::MultiValue>(rows)
    });
    registry.add_meta_method(MetaMethod::Index, |lua, this, key: Value| match key {
        Value::Integer(place) => nth(lua, this, place),
        key => {
            let name = key.to_string()?;
            let message = unknown(&format!("rows.{name}"), "rows", &name, &MEMBERS);
            Err(mlua::Error::runtime(message))
        }
    });
}

/// Returns the row with that number, from 1, or nil.
fn nth(lua: &Lua, this: &RowReader, place: i64) -> mlua::Result<Value> {
    let place = place.checked_sub(1);
    match place.and_then(|place| usize::try_from(place).ok()) {
        Some(place) => row(lua, &this.rows, place),
        None => Ok(Value::Nil),
    }
}

/// Returns the row with that index, from 0, as a table or text of the plan's own, or nil.
fn row(lua: &Lua, rows: &DataRows, place: usize) -> mlua::Result<Value> {
    match rows.row(place).map_err(mlua::Error::runtime)? {
        Some(row) => value(lua, row),
        None => Ok(Value::Nil),
    }
}

/// Takes the next row; nil after a warning if all have been taken. Also returns whether to wait for it.
fn take(lua: &Lua, rows: mlua::UserDataRef<Held<RowReader>>) -> mlua::Result<(Value, bool)> {
    let host = VmHost::of(lua);
    // Loading a plan to look at its declarations takes nothing away from the users.
    if host.user == 0 {
        return Ok((nth(lua, &rows, 1)?, false));
    }
    let mut own = rows.own.get();
    let draw = |below| host.random.borrow_mut().random_range(0..below);
    let place = match rows.rows.take_next(rows.order, &mut own, draw) {
        Taken::Number(place) => Some(place),
        Taken::Later => return Ok((Value::Nil, true)),
        Taken::Nothing => None,
    };
    rows.own.set(own);
    match place {
        Some(place) => Ok((row(lua, &rows.rows, place as usize)?, false)),
        None => {
            if rows.rows.claim_warning() {
                warn(&host, &rows.rows);
            }
            host.stopped.set(true);
            Ok((Value::Nil, false))
        }
    }
}

/// Warns once, in the log and in the report, why users stop.
fn warn(host: &VmHost, rows: &DataRows) {
    let (file, count) = (&rows.file, rows.len());
    let message = format!(
        "'{file}' has no row left: its {count} rows are unique, and users that find none stop"
    );
    let (user, scenario) = (host.user, host.scenario.as_str());
    tracing::warn!(target: "plan", user, scenario, "{message}");
    // There is no recorder while the file's top level runs.
    if let Some(recorder) = host.recorder.get() {
        recorder.borrow_mut().warn(message);
    }
}

fn value(lua: &Lua, row: DataRow<'_>) -> mlua::Result<Value> {
    match row {
        DataRow::Cells(cells) => {
            let table = lua.create_table_with_capacity(0, cells.len())?;
            for (name, cell) in cells {
                table.raw_set(name, lua.create_string(cell)?)?;
            }
            table.into_lua(lua)
        }
        DataRow::Line(line) => lua.create_string(line)?.into_lua(lua),
        DataRow::Json(value) => json_view::to_lua(lua, value),
    }
}
