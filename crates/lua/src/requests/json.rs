//! Encoding of Lua values as JSON text.

use super::json_fields::OBJECT_BYTES;
use crate::limits::{Budget, TABLE_LOOK};
use crate::plan_files::JsonTree;
use crate::values::{escape_invalid, shorten, type_phrase};
use mlua::Value;
use mlua::serde::de::Deserializer;

/// The deepest nesting of tables. Deeper ones would overflow the thread's stack; decoding has the same limit.
const MAX_DEPTH: u32 = 127;

/// Encodes a Lua value as JSON text, fields sorted by name so that equal tables give equal texts.
///
/// # Errors
/// The reason why the value cannot be encoded.
pub(crate) fn encode(value: &Value, budget: &mut Budget) -> Result<String, String> {
    /// The size of a comma, a colon, brackets or a number.
    const COST: ValueCost = ValueCost {
        each: 16,
        object: 0,
    };
    // The serializer walks over the tables once more.
    let fitting = budget.twice(|budget| fits(value, COST, MAX_DEPTH, budget));
    fitting.map_err(|unfit| match unfit {
        Unfit::Limit(problem) => problem,
        Unfit::Value(problem) => cannot(&problem),
    })?;
    let sorted = value
        .to_serializable()
        .sort_keys(true)
        .deny_recursive_tables(true);
    serde_json::to_string(&sorted).map_err(|error| cannot(&error.to_string()))
}

/// Converts a Lua value to one of JSON.
///
/// # Errors
/// The reason why it cannot be converted.
pub(crate) fn convert(value: &Value, budget: &mut Budget) -> Result<serde_json::Value, String> {
    check(value, budget)?;
    serde_json::to_value(value).map_err(|error| error.to_string())
}

/// Converts a Lua value to one of JSON that all users of a process read.
///
/// # Errors
/// The reason why it cannot be converted.
pub(crate) fn convert_to_tree(value: &Value, budget: &mut Budget) -> Result<JsonTree, String> {
    check(value, budget)?;
    JsonTree::read(Deserializer::new(value.clone())).map_err(|error| error.to_string())
}

/// Checks that a value can become one of JSON, and that there is room for it.
fn check(value: &Value, budget: &mut Budget) -> Result<(), String> {
    /// The memory of a value and its place in a list or map, its name and text apart.
    const COST: ValueCost = ValueCost {
        each: 192,
        object: OBJECT_BYTES,
    };
    let fitting = budget.twice(|budget| fits(value, COST, MAX_DEPTH, budget));
    fitting.map_err(|(Unfit::Limit(problem) | Unfit::Value(problem))| problem)
}

fn cannot(problem: &str) -> String {
    format!("cannot encode this as JSON: {problem}")
}

/// The reason why a value cannot be JSON.
enum Unfit {
    /// The plan would hold more than it may, or its time is over.
    Limit(String),
    /// JSON has no such value.
    Value(String),
}

impl From<String> for Unfit {
    /// Takes the message of a budget.
    fn from(problem: String) -> Unfit {
        Unfit::Limit(problem)
    }
}

/// The memory of values beside their texts, in bytes.
#[derive(Clone, Copy)]
struct ValueCost {
    each: usize,
    /// An object in addition.
    object: usize,
}

/// Checks that no table is nested too deeply, that the result stays within the budget, with its cost in addition
/// to the text of every value, that every string is UTF-8: one that is not would become a list of numbers, and that every
/// table is a whole list or an object. A value in which one table or text occurs many times may be small in Lua and endless
/// as JSON.
///
/// # Errors
/// The reason why the value cannot be encoded, or the message for a plan whose time is over.
fn fits(value: &Value, cost: ValueCost, deepest: u32, budget: &mut Budget) -> Result<(), Unfit> {
    let text = value.as_string();
    if let Some(text) = text.filter(|text| text.to_str().is_err()) {
        let problem = format!("'{}' is not UTF-8", shorten(&escape_invalid(text)));
        return Err(Unfit::Value(problem));
    }
    budget.take(cost.each + text.map_or(0, |text| escaped_length(&text.as_bytes())))?;
    let Value::Table(table) = value else {
        return Ok(());
    };
    if deepest == 0 {
        return Err(Unfit::Value("tables are nested too deeply".to_owned()));
    }
    budget.spend(TABLE_LOOK)?;
    let mut keys = TableKeys::default();
    for (key, value) in table.pairs::<Value, Value>().filter_map(Result::ok) {
        keys.add(&key);
        let key = key.as_string();
        budget.take(key.map_or(0, |key| escaped_length(&key.as_bytes())))?;
        fits(&value, cost, deepest - 1, budget)?;
    }
    keys.check().map_err(Unfit::Value)?;
    budget.spend(TABLE_LOOK)?;
    if keys.named.is_some() {
        budget.take(cost.object)?;
    }
    Ok(())
}

/// The keys of a table, which is either a list or an object.
#[derive(Default)]
struct TableKeys {
    /// A key that is not an integer.
    named: Option<Value>,
    integers: i64,
    lowest: i64,
    highest: i64,
}

impl TableKeys {
    fn add(&mut self, key: &Value) {
        let Value::Integer(place) = key else {
            self.named.get_or_insert_with(|| key.clone());
            return;
        };
        self.integers += 1;
        let is_first = self.integers == 1;
        self.lowest = if is_first {
            *place
        } else {
            self.lowest.min(*place)
        };
        self.highest = if is_first {
            *place
        } else {
            self.highest.max(*place)
        };
    }

    /// Checks that nothing of the table would be left out or invented.
    ///
    /// # Errors
    /// The problem, and the remedy.
    fn check(&self) -> Result<(), String> {
        match &self.named {
            Some(name) if self.integers > 0 => {
                let name = name.as_string().map_or_else(
                    || type_phrase(name).to_owned(),
                    |name| format!("'{}'", shorten(&escape_invalid(name))),
                );
                Err(format!(
                    "a table is a list or has names, and this one has the place {} and the name {name}; \
                     give the list a name of its own",
                    self.lowest
                ))
            }
            Some(Value::String(_)) => Ok(()),
            Some(name) => Err(format!(
                "the name of a field is a string, not {}",
                type_phrase(name)
            )),
            None if self.integers > 0 && (self.lowest != 1 || self.highest != self.integers) => {
                Err(format!(
                    "a list has the places 1, 2, 3 … without holes, and this one has {} from {} to {}; write json.null \
                     where nothing is, and names as strings: [\"{}\"] = …",
                    self.integers, self.lowest, self.highest, self.highest
                ))
            }
            None => Ok(()),
        }
    }
}

/// Returns the length of a text in JSON without its quotes, in bytes.
fn escaped_length(text: &[u8]) -> usize {
    let more = |byte: &u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 1,
        0..0x20 => 5,
        _ => 0,
    };
    text.len() + text.iter().map(more).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::VmLimits;
    use std::rc::Rc;
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn a_small_object_counts_with_the_room_that_it_makes() {
        let lua = mlua::Lua::new();
        let limits = VmLimits::new(Duration::from_secs(1), 1 << 20, Some(Arc::default()));
        let limits = Rc::new(limits);
        let cost = |code: &str| {
            let value: Value = lua.load(code).eval().expect("it is Lua");
            let mut budget = Budget::new(1 << 20, &limits);
            convert(&value, &mut budget).expect("it fits");
            budget.taken()
        };
        assert!(cost("{ a = 1 }") > OBJECT_BYTES);
        assert!(cost("{ 1 }") < OBJECT_BYTES);
        assert!(cost("{ { a = 1 }, { a = 1 } }") > 2 * OBJECT_BYTES);
    }
}
