//! The button that submits a form.

use crate::values::{describe_mismatch, escape_invalid, raw_field, shorten};
use mlua::{LuaString, Table, Value};

/// The button that submits the form.
pub(super) enum SubmitButton {
    /// The first, if there is one, as Enter does; its value is among the form's fields.
    First(Option<Table>),
    /// None: a script submits.
    None,
    /// The one with that place in the form's list, from 1.
    Button(i64, Table),
}

impl SubmitButton {
    pub(super) fn read(form: &Table, button: &Value) -> Result<SubmitButton, String> {
        let label = match button {
            Value::Nil => return Ok(SubmitButton::First(default(form).map(|(_, button)| button))),
            Value::Boolean(false) => return Ok(SubmitButton::None),
            Value::String(label) => label,
            other => {
                let kind = "the name or the caption of a button, or false for none";
                return Err(describe_mismatch("option 'button'", kind, other));
            }
        };
        if let Some((place, button)) = named(form, label) {
            return Ok(SubmitButton::Button(place, button));
        }
        let there: Vec<String> = buttons(form).iter().take(20).map(describe).collect();
        let there = if there.is_empty() {
            "it has none".to_owned()
        } else {
            format!("it has {}", there.join(", "))
        };
        let label = shorten(&escape_invalid(label));
        Err(format!(
            "the form has no button with the name or the caption '{label}'; {there}"
        ))
    }

    /// Returns an attribute of the pressed button that overrides the form's, else the form's.
    pub(super) fn attribute(&self, form: &Table, field: &str) -> Value {
        match self {
            SubmitButton::Button(_, button) | SubmitButton::First(Some(button))
                if !raw_field(button, field).is_nil() =>
            {
                raw_field(button, field)
            }
            _ => raw_field(form, field),
        }
    }
}

/// Returns the button that the option `button` means, if there is one.
pub(crate) fn pressed(form: &Table, button: &Value) -> Option<Table> {
    match button {
        Value::Nil => default(form).map(|(_, button)| button),
        Value::String(label) => named(form, label).map(|(_, button)| button),
        _ => None,
    }
}

/// Returns the button that Enter presses, with its place.
pub(super) fn default(form: &Table) -> Option<(i64, Table)> {
    let is_default = |(_, button): &(i64, Table)| !raw_field(button, "default").is_nil();
    (1..).zip(buttons(form)).find(is_default)
}

/// Finds a button. The name first; buttons of one name, such as Drupal's 'op', are distinguished by their captions.
fn named(form: &Table, label: &LuaString) -> Option<(i64, Table)> {
    let buttons = buttons(form);
    ["name", "caption", "value"].into_iter().find_map(|field| {
        let is_meant = |(_, button): &(i64, Table)| {
            matches!(raw_field(button, field), Value::String(text) if text == *label)
        };
        (1..).zip(buttons.iter().cloned()).find(is_meant)
    })
}

/// Describes a button by its name and value, and by its caption where that is something else.
fn describe(button: &Table) -> String {
    let text = |field| {
        let text = raw_field(button, field).as_string().map(escape_invalid);
        shorten(&text.unwrap_or_default())
    };
    let (name, value, caption) = (text("name"), text("value"), text("caption"));
    match (name.is_empty(), caption.is_empty() || caption == value) {
        (true, _) => format!("'{caption}'"),
        (false, true) => format!("{name} = \"{value}\""),
        (false, false) => format!("{name} = \"{value}\" ('{caption}')"),
    }
}

pub(super) fn buttons(form: &Table) -> Vec<Table> {
    let Value::Table(list) = raw_field(form, "buttons") else {
        return Vec::new();
    };
    list.sequence_values::<Table>()
        .map_while(Result::ok)
        .collect()
}

/// Returns the entries that a button sends: for an image the place where it was pressed, which for Enter is its corner;
/// nothing for another without a name.
pub(super) fn entries(button: &Table) -> Vec<(Vec<u8>, Value)> {
    let name = raw_field(button, "name");
    let name = name.as_string().map(|name| name.as_bytes().to_vec());
    let name = name.unwrap_or_default();
    if raw_field(button, "image").is_nil() {
        let entry = (!name.is_empty()).then(|| (name, raw_field(button, "value")));
        return entry.into_iter().collect();
    }
    let dot: &[u8] = if name.is_empty() { b"" } else { b"." };
    let axis = |axis: &[u8]| ([&name, dot, axis].concat(), Value::Integer(0));
    vec![axis(b"x"), axis(b"y")]
}
