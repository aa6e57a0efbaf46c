//! Values of the plan language, made before it is known how far they are indented.

use crate::import::lua_text::{self, key, list, quoted, table};
use serde_json::Value;

/// A value of a plan.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) enum LuaLiteral {
    /// Text of the plan: a literal, a variable.
    Expression(String),
    List(Vec<LuaLiteral>),
    /// Names, which need not be names of Lua's, and values.
    Table(Vec<(String, LuaLiteral)>),
}

impl LuaLiteral {
    pub(in super::super) fn text(text: &str) -> LuaLiteral {
        LuaLiteral::Expression(quoted(text))
    }

    /// Returns a JSON value as it is.
    pub(in super::super) fn json(value: &Value) -> LuaLiteral {
        match value {
            Value::Array(items) => LuaLiteral::List(items.iter().map(LuaLiteral::json).collect()),
            Value::Object(fields) => {
                let fields = fields.iter();
                LuaLiteral::Table(
                    fields
                        .map(|(name, value)| (name.clone(), LuaLiteral::json(value)))
                        .collect(),
                )
            }
            scalar => LuaLiteral::Expression(lua_text::scalar_literal(scalar)),
        }
    }

    /// Returns the text.
    pub(in super::super) fn render(&self, indent: usize) -> String {
        match self {
            LuaLiteral::Expression(text) => text.clone(),
            LuaLiteral::List(items) if items.is_empty() => "json.array {}".to_owned(),
            LuaLiteral::List(items) => {
                let items: Vec<String> = items.iter().map(|item| item.render(indent + 2)).collect();
                list(&items, indent)
            }
            LuaLiteral::Table(fields) => {
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
            LuaLiteral::Expression(_) => 0,
            LuaLiteral::List(items) => 1 + items.iter().map(LuaLiteral::depth).max().unwrap_or(0),
            LuaLiteral::Table(fields) => {
                1 + fields
                    .iter()
                    .map(|(_, value)| value.depth())
                    .max()
                    .unwrap_or(0)
            }
        }
    }
}
