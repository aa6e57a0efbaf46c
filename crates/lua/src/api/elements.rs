//! Elements that a CSS selector finds in a page, their texts and attributes; for responses and for `html.parse`.

use super::function::method;
use super::names::refuse_unknown;
use crate::diagnostics::{ArgumentCount, nil_argument};
use crate::limits::{HeapSize, Held};
use crate::sandbox::VmHost;
use crate::values::{DisplayText, describe_mismatch, escape_invalid};
use lgoose_html::{Document, NodeKey, Selector};
use mlua::{Lua, MetaMethod, Table, UserData, UserDataFields, UserDataMethods, Value};
use std::rc::Rc;
use std::sync::Arc;

const MEMBERS: [&str; 5] = ["attrs", "text", "attr", "css", "html"];

/// An element of a page as a plan holds it.
#[derive(Debug)]
pub(super) struct Element {
    document: Rc<Held<Document>>,
    key: NodeKey,
}

/// Returns the selector that a plan gives, from the process's cache.
pub(super) fn selector(lua: &Lua, css: &Value) -> mlua::Result<Arc<Selector>> {
    match css {
        Value::String(css) => VmHost::of(lua)
            .program
            .patterns
            .selector(&escape_invalid(css))
            .map_err(mlua::Error::runtime),
        other => {
            let problem = describe_mismatch("a CSS selector", "a string", other);
            let remark = match other {
                Value::Nil => nil_argument(lua, 0, ArgumentCount::Written),
                _ => String::new(),
            };
            Err(mlua::Error::runtime(problem + &remark))
        }
    }
}

/// Returns the elements that the selector finds, within the task's time.
pub(super) fn find(
    lua: &Lua,
    document: &Document,
    selector: &Selector,
    within: Option<NodeKey>,
) -> mlua::Result<Vec<NodeKey>> {
    /// The cost of one step, in bytes.
    const WEIGHT: u64 = 64;
    let host = VmHost::of(lua);
    let go_on = || {
        host.limits
            .spend(lua, lgoose_html::STEPS as u64 * WEIGHT)
            .is_ok()
    };
    let found = document.select_while(selector, within, &go_on);
    host.limits.reraise()?;
    Ok(found.unwrap_or_default())
}

/// Returns the text of the first element that the selector finds.
pub(super) fn text(lua: &Lua, document: &Document, css: &Value) -> mlua::Result<Option<String>> {
    let found = find(lua, document, &*selector(lua, css)?, None)?;
    Ok(found.first().map(|key| document.text(*key)))
}

/// Adds the methods by which a plan queries a tree of its own: `css`, `text` and `attr`.
pub(super) fn add_queries<T: 'static, M: UserDataMethods<T>>(
    methods: &mut M,
    document: fn(&T) -> &Rc<Held<Document>>,
) {
    method(methods, "css", move |lua, this, css: Value| {
        select(lua, document(this), &*selector(lua, &css)?, None)
    });
    method(methods, "text", move |lua, this, css: Value| {
        text(lua, document(this), &css)
    });
    method(
        methods,
        "attr",
        move |lua, this, (css, name): (Value, String)| attr(lua, document(this), &css, &name),
    );
}

/// Returns an attribute of the first element that the selector finds.
pub(super) fn attr(
    lua: &Lua,
    document: &Document,
    css: &Value,
    name: &str,
) -> mlua::Result<Option<String>> {
    let found = find(lua, document, &*selector(lua, css)?, None)?;
    let value = found.first().and_then(|key| document.attr(*key, name));
    Ok(value.map(str::to_owned))
}

/// Returns the list of elements that the selector finds, within one element if given.
pub(super) fn select(
    lua: &Lua,
    document: &Rc<Held<Document>>,
    selector: &Selector,
    within: Option<NodeKey>,
) -> mlua::Result<Table> {
    let keys = find(lua, document, selector, within)?;
    let host = VmHost::of(lua);
    let element = |key| {
        let document = document.clone();
        host.held(lua, Element { document, key })
    };
    let elements: Vec<_> = keys.into_iter().map(element).collect::<Result<_, _>>()?;
    lua.create_sequence_from(elements)
}

impl Element {
    /// Returns the beginning of its HTML on one line, as logs show it.
    pub(super) fn shown(&self) -> String {
        const MAX_SHOWN: usize = 200;
        const LOOKED_AT: usize = 16 * MAX_SHOWN;
        let (html, _) = self.document.html_while(self.key, LOOKED_AT, &mut || true);
        let line = html.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(MAX_SHOWN) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }
}

impl Element {
    /// Returns its HTML, within the task's time and the user's memory.
    fn html(&self, lua: &Lua) -> mlua::Result<String> {
        /// The cost of writing one piece, in bytes: a text is looked through for each of its characters to escape.
        const WEIGHT: u64 = 8 << 10;
        let host = VmHost::of(lua);
        let mut go_on = || host.limits.spend(lua, WEIGHT).is_ok();
        let html = host.budget(lua).make(|most| {
            let (html, is_whole) = self.document.html_while(self.key, most, &mut go_on);
            is_whole.then_some(html)
        });
        host.limits.reraise()?;
        html.map_err(mlua::Error::runtime)
    }
}

impl HeapSize for Element {
    fn heap_bytes(&self) -> usize {
        // The page counts by itself.
        0
    }
}

impl UserData for Held<Element> {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("attrs", |lua, this| {
            lua.create_table_from(this.document.attrs(this.key))
        });
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::ToString, |_, this, ()| Ok(this.shown()));
        method(methods, "text", |_, this, ()| {
            Ok(this.document.text(this.key))
        });
        method(methods, "html", |lua, this, ()| this.html(lua));
        method(
            methods,
            "attr",
            |_, this, DisplayText(name): DisplayText| {
                Ok(this.document.attr(this.key, &name).map(str::to_owned))
            },
        );
        method(methods, "css", |lua, this, css: Value| {
            select(lua, &this.document, &*selector(lua, &css)?, Some(this.key))
        });
        refuse_unknown(methods, "an element", &[&MEMBERS]);
    }
}
