//! Values of the plan language, made before it is known how far they are indented.

use crate::import::lua_text::{self, key, list, quoted, table};
use serde_json::Value;

/// A value of a plan.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) enum Lua {
    /// Text of the plan: a literal, a variable.
    Expression(String),
    List(Vec<Lua>),
    /// Names, which need not be names of Lua's, and values.
    Table(Vec<(String, Lua)>),
}

impl Lua {
    pub(in super::super) fn text(text: &str) -> Lua {
        Lua::Expression(quoted(text))
    }

    /// Returns a JSON value as it is.
    pub(in super::super) fn json(value: &Value) -> Lua {
        match value {
            Value::Array(items) => Lua::List(items.iter().map(Lua::json).collect()),
            Value::Object(fields) => {
                let fields = fields.iter();
                Lua::Table(
                    fields
                        .map(|(name, value)| (name.clone(), Lua::json(value)))
                        .collect(),
                )
            }
            scalar => Lua::Expression(lua_text::scalar_literal(scalar)),
        }
    }

    /// Returns the text.
    pub(in super::super) fn render(&self, indent: usize) -> String {
        match self {
            Lua::Expression(text) => text.clone(),
            Lua::List(items) if items.is_empty() => "json.array {}".to_owned(),
            Lua::List(items) => {
                let items: Vec<String> = items.iter().map(|item| item.render(indent + 2)).collect();
                list(&items, indent)
            }
            Lua::Table(fields) => {
                let fields = fields.iter();
                let fields: Vec<(String, String)> = fields
                    .map(|(name, value)| (key(name), value.render(indent + 2)))
                    .collect();
                table(&fields, indent)
            }
        }
    }

    /// Returns how deep tables lie in tables.
    pub(in super::super) fn depth(&self) -> usize {
        match self {
            Lua::Expression(_) => 0,
            Lua::List(items) => 1 + items.iter().map(Lua::depth).max().unwrap_or(0),
            Lua::Table(fields) => {
                1 + fields
                    .iter()
                    .map(|(_, value)| value.depth())
                    .max()
                    .unwrap_or(0)
            }
        }
    }
}
