//! What `user:submit` sends: the fields of a form with the plan's over them, in the order of the page, as the form's method
//! and `enctype` say ("form submission" of the HTML standard).

use super::multipart::{self, MultipartField, NAMED};
use super::options::{self, names_content_type, set_content_type};
use super::request::{RequestOp, plan_file};
use crate::http::Referrer;
use crate::lua::limits::Budget;
use crate::lua::values::{
    ENTRY_BYTES, byte_length, describe_mismatch, encode_pairs, escape_invalid,
    escape_invalid_bytes, form_bytes, is_list, list_values, read_scalar, shorten, unwrap_view,
};
use http::Method;
use lgoose_html::{Enctype, ReferrerPolicy};
use mlua::{LuaString, Table, Value};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// The options of a form in addition to those of any request.
pub(in crate::lua) const SUBMIT: [&str; 2] = ["button", "added"];

type ByteString = Vec<u8>;

/// Reads a form as `response:form()` returns it, what the plan fills in, and the options.
///
/// # Errors
/// The message to raise at the plan's line.
pub(super) fn read(
    form: &Value,
    filled: &Value,
    options: &Value,
    budget: &mut Budget,
) -> Result<RequestOp, String> {
    let Value::Table(form) = form else {
        return Err(describe_mismatch("user:submit", "a form", form));
    };
    let form = &unwrap_view(form);
    let options = match options {
        Value::Nil => None,
        Value::Table(options) => Some(unwrap_view(options)),
        other => {
            return Err(describe_mismatch(
                "the options of user:submit",
                "a table",
                other,
            ));
        }
    };
    let button = options.as_ref().map(|options| get(options, SUBMIT[0]));
    if let Some(options) = &options {
        check_added(&get(options, SUBMIT[1]))?;
    }
    let pressed = SubmitButton::read(form, &button.unwrap_or(Value::Nil))?;
    let fields = SubmittedFields::read(form, filled, &pressed, budget)?;
    let entries = fields.in_order(form, &pressed, budget)?;
    let attribute = |field| pressed.attribute(form, field);
    let method = match attribute("method") {
        Value::Nil => Method::GET,
        Value::String(name) => Method::from_bytes(&name.as_bytes())
            .map_err(|_| format!("'{}' is not a method", escape_invalid(&name)))?,
        other => return Err(describe_mismatch("'method' of a form", "a string", &other)),
    };
    let enctype = match attribute("enctype") {
        Value::String(kind) => Enctype::parse(&escape_invalid(&kind)),
        _ => Enctype::UrlEncoded,
    };
    let is_get = method == Method::GET;
    let mut op = RequestOp::bare(method, &attribute("action"), &Value::Nil, budget)?;
    let mut kind = None;
    if is_get {
        let encoded = encode_pairs(&texts(&entries, budget)?);
        let path = op.request.url.split(['?', '#']).next().unwrap_or_default();
        op.request.url = format!("{path}?{encoded}").into();
    } else {
        let (body, content_type) = encode(entries, enctype, budget)?;
        op.request.body = body.into();
        kind = Some(content_type);
    }
    if let Value::String(page) = get(form, "page") {
        let policy = match get(form, "referrerpolicy") {
            Value::String(name) => ReferrerPolicy::of_page(&escape_invalid(&name)),
            _ => None,
        };
        let page = escape_invalid(&page);
        op.request.extras().referrer = Referrer::of(&page, policy.unwrap_or_default());
    }
    if let Some(options) = &options {
        // Read once the body is set: they may compress it, and refuse a second body.
        options::read(&mut op, options, &SUBMIT, budget)?;
    }
    if let Some(kind) = kind.filter(|_| !names_content_type(&op)) {
        set_content_type(&mut op, &kind);
    }
    Ok(op)
}

/// Checks the option that names the fields which scripts of the page add: the prelude warns of others.
fn check_added(added: &Value) -> Result<(), String> {
    let kind = "true or a list of the names of fields";
    match added {
        Value::Nil | Value::Boolean(_) => Ok(()),
        Value::Table(names) => {
            let names = list_values(&unwrap_view(names), "option 'added'")?;
            let other = names.iter().find(|name| !name.is_string());
            other.map_or(Ok(()), |other| {
                Err(describe_mismatch(
                    "a name of option 'added'",
                    "a string",
                    other,
                ))
            })
        }
        other => Err(describe_mismatch("option 'added'", kind, other)),
    }
}

fn get(table: &Table, field: &str) -> Value {
    table.raw_get(field).unwrap_or(Value::Nil)
}

/// The button that submits the form.
enum SubmitButton {
    /// The first, as Enter does; its value is among the form's fields.
    First,
    /// None: a script submits.
    None,
    /// The one with that place in the form's list, from 1.
    Button(i64, Table),
}

impl SubmitButton {
    fn read(form: &Table, button: &Value) -> Result<SubmitButton, String> {
        let label = match button {
            Value::Nil => return Ok(SubmitButton::First),
            Value::Boolean(false) => return Ok(SubmitButton::None),
            Value::String(label) => label,
            other => {
                let kind = "the name or the value of a button, or false for none";
                return Err(describe_mismatch("option 'button'", kind, other));
            }
        };
        let buttons = buttons(form);
        // The name first; buttons of one name, such as Drupal's 'op', are told apart by what is written on them.
        for field in ["name", "value"] {
            for (place, button) in (1..).zip(&buttons) {
                if matches!(get(button, field), Value::String(text) if text == *label) {
                    return Ok(SubmitButton::Button(place, button.clone()));
                }
            }
        }
        let shown = |button: &Table| {
            let text = |field| get(button, field).as_string().map(escape_invalid);
            let (name, value) = (text("name"), text("value"));
            let (name, value) = (name.unwrap_or_default(), value.unwrap_or_default());
            format!("{} = \"{}\"", shorten(&name), shorten(&value))
        };
        let there: Vec<String> = buttons.iter().take(20).map(shown).collect();
        let there = if there.is_empty() {
            "it has none with a name".to_owned()
        } else {
            format!("it has {}", there.join(", "))
        };
        let label = shorten(&escape_invalid(label));
        Err(format!(
            "the form has no button with the name or the value '{label}'; {there}"
        ))
    }

    /// Returns what the button that was pressed says in place of the form, else what the form says.
    fn attribute(&self, form: &Table, field: &str) -> Value {
        match self {
            SubmitButton::Button(_, button) if !get(button, field).is_nil() => get(button, field),
            _ => get(form, field),
        }
    }
}

fn buttons(form: &Table) -> Vec<Table> {
    let Value::Table(list) = get(form, "buttons") else {
        return Vec::new();
    };
    let list = unwrap_view(&list);
    list.sequence_values::<Table>()
        .map_while(Result::ok)
        .collect()
}

/// The values of all fields by their names. Nil stands for a file where the plan gives none.
struct SubmittedFields {
    values: BTreeMap<ByteString, VecDeque<Value>>,
    /// The names that the plan fills in.
    filled: HashSet<ByteString>,
}

impl SubmittedFields {
    fn read(
        form: &Table,
        filled: &Value,
        pressed: &SubmitButton,
        budget: &mut Budget,
    ) -> Result<SubmittedFields, String> {
        let mut fields = SubmittedFields {
            values: BTreeMap::new(),
            filled: HashSet::new(),
        };
        if let Value::Table(preset) = get(form, "fields") {
            fields.take_all(&preset, budget, false)?;
        }
        if let Value::Table(files) = get(form, "files") {
            for name in unwrap_view(&files).sequence_values::<LuaString>() {
                let name = name.map_err(|error| error.to_string())?.as_bytes().to_vec();
                budget.take(name.len().saturating_mul(3) + 2 * ENTRY_BYTES)?;
                fields.values.entry(name).or_default().push_back(Value::Nil);
            }
        }
        if !matches!(pressed, SubmitButton::First) {
            fields.forget_default(form, pressed);
        }
        match filled {
            Value::Nil => {}
            Value::Table(filled) => fields.take_all(filled, budget, true)?,
            other => {
                let kind = "a table { name = value }";
                return Err(describe_mismatch("the fields of user:submit", kind, other));
            }
        }
        Ok(fields)
    }

    fn take_all(&mut self, table: &Table, budget: &mut Budget, filled: bool) -> Result<(), String> {
        for pair in unwrap_view(table).pairs::<LuaString, Value>() {
            let (name, value) =
                pair.map_err(|_| "user:submit: names of fields are strings".to_owned())?;
            let name = name.as_bytes().to_vec();
            budget.take(name.len().saturating_mul(3) + 2 * ENTRY_BYTES)?;
            if filled {
                self.filled.insert(name.clone());
            }
            let values = match value.as_table().map(unwrap_view) {
                Some(table) if get(&table, "data").is_nil() => {
                    let mut values = VecDeque::new();
                    let field = || {
                        let name = shorten(&escape_invalid_bytes(&name));
                        format!("user:submit, field '{name}'")
                    };
                    if !is_list(&table) {
                        return Err(format!(
                            "{} is a value, a list of values or a file {{ filename = \"a.txt\", data = \"…\" }}; \
                             write the name of a nested field as the page does: [\"{}[…]\"] = …",
                            field(),
                            shorten(&escape_invalid_bytes(&name))
                        ));
                    }
                    for value in list_values(&table, &field())? {
                        budget.take(ENTRY_BYTES)?;
                        values.push_back(value);
                    }
                    values
                }
                _ => [value].into(),
            };
            self.values.insert(name, values);
        }
        Ok(())
    }

    /// Removes the value of the button that Enter would press, unless it is the one that is pressed.
    fn forget_default(&mut self, form: &Table, pressed: &SubmitButton) {
        let buttons = buttons(form);
        let is_default = |(_, button): &(i64, &Table)| !get(button, "default").is_nil();
        let Some((place, button)) = (1..).zip(&buttons).find(is_default) else {
            return;
        };
        if matches!(pressed, SubmitButton::Button(other, _) if *other == place) {
            return;
        }
        let (Value::String(name), value) = (get(button, "name"), get(button, "value")) else {
            return;
        };
        if let Some(values) = self.values.get_mut(&*name.as_bytes())
            && let Some(at) = values.iter().rposition(|submitted| *submitted == value)
        {
            values.remove(at);
        }
    }

    /// Returns all fields in the order of the page; those that the page does not have follow, sorted.
    fn in_order(
        mut self,
        form: &Table,
        pressed: &SubmitButton,
        budget: &mut Budget,
    ) -> Result<Vec<(ByteString, Value)>, String> {
        let buttons = buttons(form);
        let name_of = |place: i64| {
            let button = usize::try_from(place - 1)
                .ok()
                .and_then(|at| buttons.get(at))?;
            get(button, "name")
                .as_string()
                .map(|name| name.as_bytes().to_vec())
        };
        let mut places = Vec::new();
        if let Value::Table(order) = get(form, "order") {
            for place in unwrap_view(&order).sequence_values::<Value>() {
                budget.take(ENTRY_BYTES)?;
                places.push(place.map_err(|error| error.to_string())?);
            }
        }
        let mut remaining: HashMap<ByteString, usize> = HashMap::new();
        for name in places.iter().filter_map(Value::as_string) {
            budget.take(byte_length(&Value::String(name.clone())).saturating_mul(2))?;
            *remaining.entry(name.as_bytes().to_vec()).or_default() += 1;
        }
        let mut entries = Vec::new();
        for place in &places {
            match place {
                Value::String(name) => {
                    let name = name.as_bytes().to_vec();
                    let more = remaining.get_mut(&name).map_or(0, |count| {
                        *count -= 1;
                        *count
                    });
                    self.take(&name, more, &mut entries);
                }
                Value::Integer(place) => match (pressed, name_of(*place)) {
                    (SubmitButton::Button(at, button), Some(name)) if at == place => {
                        if !self.filled.contains(&name) {
                            press(button, &name, &mut entries);
                        } else if !remaining.contains_key(&name) {
                            self.take(&name, 0, &mut entries);
                        }
                    }
                    // A plan may name a button among the fields.
                    (_, Some(name)) if !remaining.contains_key(&name) => {
                        self.take(&name, 0, &mut entries);
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        let names: Vec<ByteString> = self.values.keys().cloned().collect();
        for name in names {
            self.take(&name, 0, &mut entries);
        }
        Ok(entries)
    }

    /// Moves the values of a name to the entries: one if the name has further places on the page, else all.
    fn take(&mut self, name: &ByteString, further: usize, entries: &mut Vec<(ByteString, Value)>) {
        let Some(values) = self.values.get_mut(name) else {
            return;
        };
        let count = match further {
            0 => values.len(),
            _ => values.len().min(1),
        };
        entries.extend(values.drain(..count).map(|value| (name.clone(), value)));
        if further == 0 {
            self.values.remove(name);
        }
    }
}

/// Adds what a button sends: for an image the place where it was pressed, which for Enter is its corner.
fn press(button: &Table, name: &ByteString, entries: &mut Vec<(ByteString, Value)>) {
    if get(button, "image").is_nil() {
        entries.push((name.clone(), get(button, "value")));
        return;
    }
    for axis in [&b".x"[..], b".y"] {
        entries.push(([name, axis].concat(), Value::Integer(0)));
    }
}

/// Encodes a body and returns it with its content type.
fn encode(
    entries: Vec<(ByteString, Value)>,
    enctype: Enctype,
    budget: &mut Budget,
) -> Result<(ByteString, String), String> {
    let body = match enctype {
        Enctype::Multipart => {
            let mut parts = Vec::new();
            for (name, value) in entries {
                let name = String::from_utf8(name)
                    .map_err(|_| "the name of a field is not UTF-8".to_owned())?;
                parts.push(match value {
                    Value::Nil => MultipartField::without_file(name),
                    value => MultipartField::read(name, &value, NAMED, budget)?,
                });
            }
            return Ok(multipart::joined(&parts));
        }
        Enctype::UrlEncoded => encode_pairs(&texts(&entries, budget)?).into_bytes(),
        Enctype::Text => {
            let texts = texts(&entries, budget)?;
            let lines = texts
                .iter()
                .map(|(name, value)| [name, &b"="[..], value, b"\r\n"].concat());
            lines.collect::<Vec<_>>().concat()
        }
    };
    Ok((body, enctype.name().to_owned()))
}

/// Returns the fields as texts. For a file, browsers then send the name; an input without a file is left out.
fn texts(
    entries: &[(ByteString, Value)],
    budget: &mut Budget,
) -> Result<Vec<(ByteString, ByteString)>, String> {
    let mut texts = Vec::new();
    for (name, value) in entries {
        let field = || format!("user:submit, field '{}'", escape_invalid_bytes(name));
        let value = match value {
            Value::Nil => continue,
            Value::UserData(_) if plan_file(value).is_some() => {
                let file_name = plan_file(value).map(|file| file.name).unwrap_or_default();
                budget.take(form_bytes(name, value) + file_name.len().saturating_mul(4))?;
                texts.push((name.clone(), file_name.into_bytes()));
                continue;
            }
            Value::Table(part) => match get(&unwrap_view(part), "filename") {
                name @ Value::String(_) => name,
                _ => {
                    return Err(format!(
                        "{} is a file, which needs a name: {{ filename = \"a.txt\", data = \"…\" }}",
                        field()
                    ));
                }
            },
            value => value.clone(),
        };
        budget.take(form_bytes(name, &value))?;
        texts.push((name.clone(), read_scalar(&value, &field())?));
    }
    Ok(texts)
}
