//! Forms of a page as plans hold them, which are plain tables, and warnings about the fields that a plan fills in.
//! `requests/submit/` reads the fields of a submission.

use super::elements::{find, selector};
use super::function::function;
use super::log;
use super::parts::{PreludePart, prelude_part};
use crate::diagnostics::plan_line;
use crate::requests::{SUBMIT, pressed};
use crate::sandbox::VmHost;
use crate::values::{escape_invalid, shorten};
use indexmap::IndexSet;
use lgoose_base::error::nearest;
use lgoose_html::{ControlPosition, Document, Form, ReferrerPolicy};
use mlua::{IntoLua as _, Lua, LuaString, Table, Value};
use url::Url;

/// `user:request` and `user:submit`.
pub(super) static SUBMITTING: PreludePart = prelude_part!("forms").with(&[
    ("check_fields", |lua| function(lua, check_fields)),
    ("missed_form", |lua| {
        lua.create_function(|lua, ()| Ok(VmHost::of(lua).missing_form_message.borrow().clone()))
    }),
]);

/// Describes a form that was not found, for a plan that goes on without it.
fn describe_missing_form(document: &Document, css: &Value, page: &Url) -> String {
    const MAX_SHOWN: usize = 8;
    let mut there = lgoose_html::form_selectors(document);
    if there.is_empty() {
        return format!("{page} has no form");
    }
    let more = there.len().saturating_sub(MAX_SHOWN);
    there.truncate(MAX_SHOWN);
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let selector = css.as_string().map_or_else(
        || "the selected one".to_owned(),
        |css| format!("'{}'", escape_invalid(css)),
    );
    let there = there.join(", ");
    format!("no form of {page} is {selector}; there are {there}{more}")
}

/// Finds the form that the selector names, or the first one without it. `policy` is the referrer policy of the page's
/// headers.
pub(super) fn form(
    lua: &Lua,
    document: &Document,
    css: &Value,
    page: &Url,
    policy: Option<ReferrerPolicy>,
) -> mlua::Result<Option<Table>> {
    let among = match css {
        Value::Nil => None,
        css => Some(find(lua, document, &*selector(lua, css)?, None)?),
    };
    let find = |most| lgoose_html::find_form_within(document, among.as_deref(), page, most).ok();
    let found = VmHost::of(lua).budget(lua).make(find);
    let found = found.map_err(mlua::Error::runtime)?;
    let Some(form) = found else {
        *VmHost::of(lua).missing_form_message.borrow_mut() =
            describe_missing_form(document, css, page);
        return Ok(None);
    };
    let table = to_table(lua, form, page)?;
    if let Some(policy) = document.referrer_policy().or(policy) {
        table.raw_set("referrerpolicy", policy.name())?;
    }
    Ok(Some(table))
}

/// Notes why a page has no form: its request had no response.
pub(super) fn note_failed_page(lua: &Lua, why: &str) {
    *VmHost::of(lua).missing_form_message.borrow_mut() =
        format!("the request of its page failed: {why}");
}

fn to_table(lua: &Lua, form: Form, page: &Url) -> mlua::Result<Table> {
    let fields = lua.create_table()?;
    // A browser sends the name of the button that was pressed; Enter presses the first.
    let default = form.buttons.first().into_iter();
    let default = default.flat_map(|button| button.entries());
    for (name, value) in form.fields.into_iter().chain(default) {
        match fields.raw_get::<Value>(name.as_str())? {
            Value::Nil => fields.raw_set(name, value)?,
            Value::Table(several) => several.raw_push(value)?,
            one => fields.raw_set(name, lua.create_sequence_from([one, value.into_lua(lua)?])?)?,
        }
    }
    let buttons = lua.create_table()?;
    for (place, button) in form.buttons.into_iter().enumerate() {
        let table = lua.create_table()?;
        table.raw_set("name", button.name)?;
        table.raw_set("value", button.value)?;
        table.raw_set("caption", button.caption)?;
        for (field, set) in [
            ("default", place == 0),
            ("image", button.image),
            ("novalidate", button.novalidate),
        ] {
            table.raw_set(field, set.then_some(true))?;
        }
        table.raw_set("action", button.action)?;
        table.raw_set("method", button.method)?;
        table.raw_set("enctype", button.enctype)?;
        buttons.raw_push(table)?;
    }
    let order = form.order.into_iter().map(|place| match place {
        ControlPosition::Field(name) => name.into_lua(lua),
        ControlPosition::Button(place) => (place + 1).into_lua(lua),
    });
    let table = lua.create_table()?;
    table.raw_set("action", form.action.map(String::from))?;
    table.raw_set("method", form.method.name())?;
    table.raw_set("enctype", form.enctype.name())?;
    table.raw_set("page", page.as_str())?;
    table.raw_set("fields", fields)?;
    table.raw_set("buttons", buttons)?;
    table.raw_set("files", lua.create_sequence_from(form.files)?)?;
    if !form.required.is_empty() {
        table.raw_set("required", lua.create_sequence_from(form.required)?)?;
    }
    if !form.rules.is_empty() {
        let types = lua.create_table()?;
        for (place, rule) in form.rules {
            types.raw_set(place + 1, rule.to_string())?;
        }
        table.raw_set("types", types)?;
    }
    if form.charset != "UTF-8" {
        table.raw_set("charset", form.charset)?;
    }
    table.raw_set(
        "order",
        lua.create_sequence_from(order.collect::<mlua::Result<Vec<Value>>>()?)?,
    )?;
    Ok(table)
}

/// Warns about fields that a plan fills in but the form lacks, unless the option `added` says that they are meant, and about
/// required fields that are empty, each once. `options` are those of
/// `user:submit`.
fn check_fields(lua: &Lua, (form, fields, options): (Table, Value, Value)) -> mlua::Result<()> {
    warn_of_empty(lua, &form, &fields, &options)?;
    let (Value::Table(fields), Ok(Value::Table(order))) = (fields, form.raw_get::<Value>("order"))
    else {
        // A form that the plan has made itself has the fields that the plan gives it.
        return Ok(());
    };
    let preset: Table = form.raw_get("fields")?;
    let mut field_names = None;
    let mut lacking = Vec::new();
    for pair in fields.pairs::<Value, Value>() {
        let Ok((Value::String(name), _)) = pair else {
            continue;
        };
        if !preset.raw_get::<Value>(&name)?.is_nil() || is_added(&options, &name)? {
            continue;
        }
        let field_names = match &mut field_names {
            Some(field_names) => field_names,
            none => none.insert(names(&form, &order)?),
        };
        let name = escape_invalid(&name);
        if !field_names.contains(&name) {
            lacking.push(name);
        }
    }
    if let Some(field_names) = field_names.filter(|_| !lacking.is_empty()) {
        lacking.sort_unstable();
        warn_of(lua, &form, &lacking, &field_names);
    }
    Ok(())
}

/// Returns whether a plan says that scripts of the page add a field: `added = true` of all, or with a list of names.
fn is_added(options: &Value, name: &LuaString) -> mlua::Result<bool> {
    let Some(options) = options.as_table() else {
        return Ok(false);
    };
    // Any other value is refused by submit.
    match options.raw_get("added")? {
        Value::Boolean(all) => Ok(all),
        Value::Table(names) => {
            let mut names = names.sequence_values::<Value>().flatten();
            Ok(names.any(|added| added.as_string() == Some(name)))
        }
        _ => Ok(false),
    }
}

/// Warns about required fields that would be sent empty, which a browser refuses to do.
fn warn_of_empty(lua: &Lua, form: &Table, fields: &Value, options: &Value) -> mlua::Result<()> {
    let Value::Table(required) = form.raw_get("required")? else {
        return Ok(());
    };
    let button = options.as_table();
    let button = button.map_or(Ok(Value::Nil), |options| options.raw_get(SUBMIT[0]))?;
    if let Some(button) = pressed(form, &button)
        && !button.raw_get::<Value>("novalidate")?.is_nil()
    {
        return Ok(());
    }
    let filled = fields.as_table();
    let preset: Option<Table> = form.raw_get("fields")?;
    for name in required.sequence_values::<LuaString>() {
        let name = name?;
        let value = |of: Option<&Table>| match of {
            Some(table) => table.raw_get::<Value>(&name),
            None => Ok(Value::Nil),
        };
        let own = value(filled)?;
        let value = if own.is_nil() {
            value(preset.as_ref())?
        } else {
            own
        };
        let empty = match &value {
            Value::Nil => true,
            Value::String(text) => text.as_bytes().is_empty(),
            Value::Table(table) => table.is_empty(),
            _ => false,
        };
        if empty {
            warn_once(lua, form, &escape_invalid(&name), |path, name| {
                format!("the required field '{name}' of the form to '{path}' was sent empty")
            });
        }
    }
    Ok(())
}

/// Warns about a field in the log and in the report, once for each line of the plan, since forms of one kind have many
/// addresses. `describe` is given the form's path and the field's name.
fn warn_once(lua: &Lua, form: &Table, name: &str, describe: impl FnOnce(&str, &str) -> String) {
    let host = VmHost::of(lua);
    let line = plan_line(lua).map_or_else(String::new, |(file, line)| format!("{file}:{line}: "));
    if !host.program.claim_warning(&format!("{line}{name}")) {
        return;
    }
    let action = form.raw_get::<String>("action").unwrap_or_default();
    let path = Url::parse(&action).map_or(action, |url| url.path().to_owned());
    let message = describe(&shorten(&path), &shorten(name));
    log::warn_in_report(lua, format!("{line}{message}"));
}

/// Returns the names of a form's fields and buttons, each once.
fn names(form: &Table, order: &Table) -> mlua::Result<IndexSet<String>> {
    let buttons: Option<Table> = form.raw_get("buttons")?;
    let button = |place: i64| -> Option<LuaString> {
        let button: Table = buttons.as_ref()?.raw_get(place).ok()?;
        button.raw_get("name").ok()
    };
    let mut names = IndexSet::new();
    for place in order.sequence_values::<Value>() {
        let name = match place? {
            Value::String(name) => Some(name),
            Value::Integer(place) => button(place),
            _ => None,
        };
        names.extend(
            name.map(|name| escape_invalid(&name))
                .filter(|name| !name.is_empty()),
        );
    }
    Ok(names)
}

/// Warns about fields that the form does not have.
fn warn_of(lua: &Lua, form: &Table, lacking: &[String], names: &IndexSet<String>) {
    const MAX_SHOWN: usize = 20;
    warn_once(lua, form, &lacking.join("\n"), |path, _| {
        let listed = |names: &mut dyn Iterator<Item = &String>, count: usize| {
            let listed: Vec<String> = names.take(MAX_SHOWN).map(|name| shorten(name)).collect();
            match count.saturating_sub(MAX_SHOWN) {
                0 => listed.join(", "),
                more => format!("{} and {more} more", listed.join(", ")),
            }
        };
        let there = match names.len() {
            0 => "nothing".to_owned(),
            count => listed(&mut names.iter(), count),
        };
        let (field, sent) = match lacking {
            [name] => {
                let near = nearest(name, names.iter().map(String::as_str));
                let near = near.map_or_else(
                    || ".".to_owned(),
                    |near| format!("; did you mean '{near}'?"),
                );
                (
                    format!("field '{}'{near}", shorten(name)),
                    "It is sent anyway.",
                )
            }
            several => {
                let listed = listed(&mut several.iter(), several.len());
                (format!("fields {listed}."), "They are sent anyway.")
            }
        };
        format!(
            "the form to '{path}' has no {field} {sent} The form has: {there}. What scripts of the page add is named by the \
             option 'added'"
        )
    });
}
