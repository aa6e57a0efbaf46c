//! Elements of a page that a CSS selector found.

use crate::html::{Document, NodeKey, Selector};
use mlua::{Lua, Table, UserData, UserDataFields, UserDataMethods};
use std::rc::Rc;

#[derive(Debug)]
struct Element {
    document: Rc<Document>,
    key: NodeKey,
}

/// The list of elements that the selector finds, within one of them if given.
pub(super) fn select(
    lua: &Lua,
    document: &Rc<Document>,
    selector: &Selector,
    within: Option<NodeKey>,
) -> mlua::Result<Table> {
    let keys = document.select(selector, within);
    lua.create_sequence_from(keys.into_iter().map(|key| Element {
        document: document.clone(),
        key,
    }))
}

impl UserData for Element {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("attrs", |lua, this| {
            lua.create_table_from(this.document.attrs(this.key))
        });
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("text", |_, this, ()| Ok(this.document.text(this.key)));
        methods.add_method("html", |_, this, ()| Ok(this.document.html(this.key)));
        methods.add_method("attr", |_, this, name: String| {
            Ok(this.document.attr(this.key, &name).map(str::to_owned))
        });
        methods.add_method("css", |lua, this, css: String| {
            let selector = Selector::parse(&css).map_err(mlua::Error::runtime)?;
            select(lua, &this.document, &selector, Some(this.key))
        });
    }
}
