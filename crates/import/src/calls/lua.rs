//! Values of the plan language, made before it is known how far they are indented.

use crate::lua_text::{self, key, list, table};
use serde_json::Value;

/// A value of a plan.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) enum LuaLiteral {
    /// A text, a number, a boolean or null, as JSON has it.
    Scalar(Value),
    /// Text of the plan: a call, a variable.
    Expression(String),
    List(Vec<LuaLiteral>),
    /// Names, which need not be names of Lua's, and values.
    Table(Vec<(String, LuaLiteral)>),
}

impl<T: Into<Value>> From<T> for LuaLiteral {
    fn from(scalar: T) -> Self {
        LuaLiteral::Scalar(scalar.into())
    }
}

/// The expression for an identifier that is new in each request.
const UUID: &str = "random.uuid()";

impl LuaLiteral {
    /// Returns an identifier that is new in each request.
    pub(in super::super) fn uuid() -> LuaLiteral {
        LuaLiteral::Expression(UUID.to_owned())
    }

    /// Returns whether this is an identifier that is new in each request.
    pub(in super::super) fn is_uuid(&self) -> bool {
        matches!(self, LuaLiteral::Expression(code) if code == UUID)
    }

    pub(in super::super) fn text(text: &str) -> LuaLiteral {
        LuaLiteral::from(text)
    }

    /// Returns a number; a whole one is written without a fraction.
    pub(in super::super) fn number(number: f64) -> LuaLiteral {
        if number.fract() == 0.0 && number.abs() < 1e15 {
            LuaLiteral::from(number as i64)
        } else {
            LuaLiteral::from(number)
        }
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
            scalar => LuaLiteral::Scalar(scalar.clone()),
        }
    }

    /// Returns the fields of a form or a query, which are sent in their order: a table where that is the order of their
    /// names, else a list of pairs.
    pub(in super::super) fn fields(fields: Vec<(String, LuaLiteral)>) -> LuaLiteral {
        if !fields.is_sorted_by(|(left, _), (right, _)| left <= right) {
            let pairs = fields.into_iter();
            let pairs =
                pairs.map(|(name, value)| LuaLiteral::List(vec![LuaLiteral::text(&name), value]));
            return LuaLiteral::List(pairs.collect());
        }
        let mut table: Vec<(String, LuaLiteral)> = Vec::new();
        for (name, value) in fields {
            match table.last_mut().filter(|(last, _)| *last == name) {
                None => table.push((name, value)),
                Some((_, LuaLiteral::List(values))) => values.push(value),
                Some((_, single)) => {
                    let first = std::mem::replace(single, LuaLiteral::List(Vec::new()));
                    *single = LuaLiteral::List(vec![first, value]);
                }
            }
        }
        LuaLiteral::Table(table)
    }

    /// Returns the text.
    pub(in super::super) fn render(&self, indent: usize) -> String {
        match self {
            LuaLiteral::Scalar(value) => lua_text::scalar_literal(value),
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

    /// Returns the JSON value that it is; `None` if expressions are a part of it.
    pub(in super::super) fn as_json(&self) -> Option<Value> {
        Some(match self {
            LuaLiteral::Scalar(value) => value.clone(),
            LuaLiteral::Expression(_) => return None,
            LuaLiteral::List(items) => {
                let items: Option<Vec<Value>> = items.iter().map(LuaLiteral::as_json).collect();
                Value::Array(items?)
            }
            LuaLiteral::Table(fields) => {
                let fields = fields.iter();
                let fields: Option<serde_json::Map<String, Value>> = fields
                    .map(|(name, value)| Some((name.clone(), value.as_json()?)))
                    .collect();
                Value::Object(fields?)
            }
        })
    }

    /// Returns how deep tables lie in tables.
    pub(in super::super) fn depth(&self) -> usize {
        match self {
            LuaLiteral::Scalar(_) | LuaLiteral::Expression(_) => 0,
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
