//! The JSON values of a process that a VM views, and the conversion of the tables that view them for Rust.

use crate::limits::VmLimits;
use crate::plan_files::JsonTree;
use mlua::{Function, IntoLua, LightUserData, Lua, LuaSerdeExt as _, Table, Value};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

/// The JSON values that a VM views, and the function that makes a view.
#[derive(Debug, Default)]
pub(crate) struct JsonViews {
    trees: RefCell<Vec<Arc<JsonTree>>>,
    pub(crate) make: OnceCell<Function>,
}

impl JsonViews {
    /// Returns the number of a tree, which the VM views from now on.
    pub(crate) fn number(&self, tree: &Arc<JsonTree>) -> usize {
        let mut trees = self.trees.borrow_mut();
        let number = trees.iter().position(|one| Arc::ptr_eq(one, tree));
        number.unwrap_or_else(|| {
            trees.push(tree.clone());
            trees.len() - 1
        })
    }

    /// Returns the tree with that number.
    pub(crate) fn tree(&self, number: usize) -> Arc<JsonTree> {
        self.trees.borrow()[number].clone()
    }

    /// Returns a value as functions in Rust read it: a copy where it is a view or has one in it, and else itself.
    ///
    /// # Errors
    /// There is no memory for the copy, or the task's time is over.
    pub(crate) fn seen_through(
        &self,
        lua: &Lua,
        limits: &VmLimits,
        value: Value,
    ) -> mlua::Result<Value> {
        let Value::Table(table) = &value else {
            return Ok(value);
        };
        if self.make.get().is_none() {
            return Ok(value);
        }
        let made = HashMap::new();
        let copy = ViewCopies { lua, limits, made }.of(table, 0)?;
        Ok(copy.map_or(value, Value::Table))
    }
}

/// The field of a view's metatable that has the function that copies its value.
const WHOLE: &str = "whole";

/// Returns the key under which the metatable of a view has the number of its value: a light userdata, which plans cannot
/// make.
pub(crate) fn view_marker() -> Value {
    Value::LightUserData(LightUserData(std::ptr::without_provenance_mut(usize::MAX)))
}

/// Returns the number of the value that a table views, such as `shared`; `None` of any other table.
pub(crate) fn viewed(table: &Table) -> Option<i64> {
    table.metatable()?.raw_get(view_marker()).ok()?
}

/// Returns the value under a key of a table or of its view.
pub(crate) fn entry(table: &Table, key: impl IntoLua) -> mlua::Result<Value> {
    if viewed(table).is_some() {
        table.get(key)
    } else {
        table.raw_get(key)
    }
}

/// Returns the length of a list, or of the one that it views.
pub(crate) fn length(list: &Table) -> mlua::Result<usize> {
    if viewed(list).is_some() {
        usize::try_from(list.len()?).map_err(mlua::Error::external)
    } else {
        Ok(list.raw_len())
    }
}

/// Copies of tables that have views in them.
struct ViewCopies<'a> {
    lua: &'a Lua,
    limits: &'a VmLimits,
    /// The result for each table so far: `None` for one without views.
    made: HashMap<usize, Option<Table>>,
}

impl ViewCopies<'_> {
    /// Returns a copy of a table, `None` if nothing in it is a view.
    fn of(&mut self, table: &Table, depth: usize) -> mlua::Result<Option<Table>> {
        /// Values that are nested more deeply are refused by their readers.
        const MAX_DEPTH: usize = 200;
        let lists = self.lua.array_metatable();
        let metatable = table.metatable();
        if let Some(node) = viewed(table) {
            let copy = metatable.map(|metatable| metatable.raw_get::<Function>(WHOLE));
            return copy.transpose()?.map(|copy| copy.call(node)).transpose();
        }
        let is_plain = metatable.as_ref().is_none_or(|own| *own == lists);
        if !is_plain || depth > MAX_DEPTH {
            return Ok(None);
        }
        let address = table.to_pointer() as usize;
        if let Some(made) = self.made.get(&address) {
            return Ok(made.clone());
        }
        // A table may contain itself.
        self.made.insert(address, None);
        let mut copy: Option<Table> = None;
        for pair in table.pairs::<Value, Value>() {
            self.limits.spend(self.lua, 64)?;
            let (key, value) = pair?;
            let Value::Table(inner) = &value else {
                continue;
            };
            let Some(inner) = self.of(inner, depth + 1)? else {
                continue;
            };
            if copy.is_none() {
                copy = Some(self.shallow(table)?);
            }
            if let Some(copy) = &copy {
                copy.raw_set(key, inner)?;
            }
        }
        if let (Some(copy), Some(metatable)) = (&copy, metatable) {
            copy.set_metatable(Some(metatable))?;
        }
        self.made.insert(address, copy.clone());
        Ok(copy)
    }

    fn shallow(&self, table: &Table) -> mlua::Result<Table> {
        let copy = self.lua.create_table()?;
        for pair in table.pairs::<Value, Value>() {
            self.limits.spend(self.lua, 64)?;
            let (key, value) = pair?;
            copy.raw_set(key, value)?;
        }
        Ok(copy)
    }
}
