//! The fields of a form with the plan's over them, in the order of the page.

use super::button::{SubmitButton, buttons, default, entries};
use crate::limits::Budget;
use crate::values::{
    ENTRY_BYTES, byte_length, describe_mismatch, escape_invalid, escape_invalid_bytes, is_list,
    list_values, raw_field, shorten,
};
use lgoose_html::ValueRule;
use mlua::{LuaString, Table, Value};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// A field that is sent.
pub(super) struct SubmittedEntry {
    pub(super) name: Vec<u8>,
    /// Nil stands for a file where the plan gives none.
    pub(super) value: Value,
    /// The rule of its input for the value.
    pub(super) rule: Option<ValueRule>,
}

/// The values of all fields by their names.
pub(super) struct SubmittedFields {
    values: BTreeMap<Vec<u8>, VecDeque<Value>>,
    /// The names that the plan fills in.
    filled: HashSet<Vec<u8>>,
}

impl SubmittedFields {
    pub(super) fn read(
        form: &Table,
        filled: &Value,
        pressed: &SubmitButton,
        budget: &mut Budget,
    ) -> Result<SubmittedFields, String> {
        let mut fields = SubmittedFields {
            values: BTreeMap::new(),
            filled: HashSet::new(),
        };
        if let Value::Table(preset) = raw_field(form, "fields") {
            fields.take_all(&preset, budget, false)?;
        }
        if let Value::Table(files) = raw_field(form, "files") {
            for name in files.sequence_values::<LuaString>() {
                let name = name.map_err(|error| error.to_string())?.as_bytes().to_vec();
                budget.take(name.len().saturating_mul(3) + 2 * ENTRY_BYTES)?;
                fields.values.entry(name).or_default().push_back(Value::Nil);
            }
        }
        if !matches!(pressed, SubmitButton::First(_)) {
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
        for pair in table.pairs::<LuaString, Value>() {
            let (name, value) =
                pair.map_err(|_| "user:submit: names of fields are strings".to_owned())?;
            let name = name.as_bytes().to_vec();
            budget.take(name.len().saturating_mul(3) + 2 * ENTRY_BYTES)?;
            if filled {
                self.filled.insert(name.clone());
            }
            let values = match value.as_table() {
                Some(table) if raw_field(table, "data").is_nil() => {
                    let mut values = VecDeque::new();
                    let text = || shorten(&escape_invalid_bytes(&name));
                    let field = format!("user:submit, field '{}'", text());
                    if !is_list(table) {
                        return Err(format!(
                            "{field} is a value, a list of values or a file {{ filename = \"a.txt\", data = \"…\" }}; \
                             write the name of a nested field as the page does: [\"{}[…]\"] = …",
                            text()
                        ));
                    }
                    for value in list_values(table, &field)? {
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

    /// Removes the entries of the button that Enter would press, unless it is the pressed one.
    fn forget_default(&mut self, form: &Table, pressed: &SubmitButton) {
        let Some((place, button)) = default(form) else {
            return;
        };
        if matches!(pressed, SubmitButton::Button(other, _) if *other == place) {
            return;
        }
        for (name, value) in entries(&button) {
            let value = match value {
                // Forms have texts.
                Value::Integer(_) => None,
                value => Some(value),
            };
            if let Some(values) = self.values.get_mut(&name)
                && let Some(at) = values
                    .iter()
                    .rposition(|submitted| value.as_ref().is_none_or(|value| submitted == value))
            {
                values.remove(at);
            }
        }
    }

    /// Returns all fields in the order of the page; those that the page does not have follow, sorted.
    pub(super) fn in_order(
        mut self,
        form: &Table,
        pressed: &SubmitButton,
        budget: &mut Budget,
    ) -> Result<Vec<SubmittedEntry>, String> {
        let buttons = buttons(form);
        let name_of = |place: i64| {
            let button = usize::try_from(place - 1)
                .ok()
                .and_then(|at| buttons.get(at))?;
            raw_field(button, "name")
                .as_string()
                .map(|name| name.as_bytes().to_vec())
        };
        let mut places = Vec::new();
        if let Value::Table(order) = raw_field(form, "order") {
            for place in order.sequence_values::<Value>() {
                budget.take(ENTRY_BYTES)?;
                places.push(place.map_err(|error| error.to_string())?);
            }
        }
        let types = raw_field(form, "types");
        let types = types.as_table();
        let mut remaining: HashMap<Vec<u8>, usize> = HashMap::new();
        for name in places.iter().filter_map(Value::as_string) {
            budget.take(byte_length(&Value::String(name.clone())).saturating_mul(2))?;
            *remaining.entry(name.as_bytes().to_vec()).or_default() += 1;
        }
        let mut entries = Vec::new();
        for (index, place) in places.iter().enumerate() {
            match place {
                Value::String(name) => {
                    let name = name.as_bytes().to_vec();
                    let more = remaining.get_mut(&name).map_or(0, |count| {
                        *count -= 1;
                        *count
                    });
                    let rule = types
                        .as_ref()
                        .map_or(Ok(None), |types| rule_at(types, index + 1))?;
                    // A plan may say the direction itself.
                    let is_filled = self.filled.contains(&name);
                    let rule = rule.filter(|rule| *rule != ValueRule::Direction || !is_filled);
                    self.take(&name, more, rule.as_ref(), &mut entries);
                }
                Value::Integer(place) => match (pressed, name_of(*place)) {
                    (SubmitButton::Button(at, button), Some(name)) if at == place => {
                        if !self.filled.contains(&name) {
                            press(button, &mut entries);
                        } else if !remaining.contains_key(&name) {
                            self.take(&name, 0, None, &mut entries);
                        }
                    }
                    // A plan may name a button among the fields.
                    (_, Some(name)) if !remaining.contains_key(&name) => {
                        self.take(&name, 0, None, &mut entries);
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        let names: Vec<Vec<u8>> = self.values.keys().cloned().collect();
        for name in names {
            self.take(&name, 0, None, &mut entries);
        }
        Ok(entries)
    }

    /// Moves the values of a name to the entries: one if the name has further places on the page, else all.
    fn take(
        &mut self,
        name: &Vec<u8>,
        further: usize,
        rule: Option<&ValueRule>,
        entries: &mut Vec<SubmittedEntry>,
    ) {
        let Some(values) = self.values.get_mut(name) else {
            return;
        };
        let count = match further {
            0 => values.len(),
            _ => values.len().min(1),
        };
        entries.extend(values.drain(..count).map(|value| SubmittedEntry {
            name: name.clone(),
            value,
            rule: rule.cloned(),
        }));
        if further == 0 {
            self.values.remove(name);
        }
    }
}

fn press(button: &Table, all: &mut Vec<SubmittedEntry>) {
    let entries = entries(button).into_iter();
    all.extend(entries.map(|(name, value)| SubmittedEntry {
        name,
        value,
        rule: None,
    }));
}

/// Reads the rule for values of the input at a place of the form.
fn rule_at(types: &Table, place: usize) -> Result<Option<ValueRule>, String> {
    match types.raw_get::<Value>(place) {
        Ok(Value::String(text)) => {
            let text = escape_invalid(&text);
            let rule = ValueRule::parse(&text);
            let problem = || format!("'types' of a form: '{text}' is not a type");
            rule.map(Some).ok_or_else(problem)
        }
        _ => Ok(None),
    }
}
