//! `html.parse`: a page from a string, with the methods that a response has.

use super::elements::add_queries;
use super::forms;
use super::function::{function, method};
use super::names::refuse_unknown;
use crate::limits::{HeapSize, Held};
use crate::sandbox::VmHost;
use lgoose_base::error::masked_address;
use lgoose_html::Document;
use mlua::{Lua, LuaString, MetaMethod, Table, UserData, UserDataMethods, Value};
use std::rc::Rc;
use url::Url;

const MEMBERS: [&str; 5] = ["css", "text", "attr", "title", "form"];

/// The URL of a page that is given without one. It is never sent: URLs found on the page are returned without it.
const NOWHERE: &str = "http://page.invalid/";

/// A page as a plan holds it.
#[derive(Debug)]
pub(super) struct Page {
    document: Rc<Held<Document>>,
    title: Option<String>,
    url: Url,
}

/// Creates `html`.
pub(super) fn library(lua: &Lua) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    let parse = |lua: &Lua, (text, url): (LuaString, Option<String>)| {
        let url = url.as_deref().unwrap_or(NOWHERE);
        let bytes = text.as_bytes();
        let host = VmHost::of(lua);
        let page = Page {
            document: host.document(lua, &bytes, None)?,
            title: lgoose_html::title(&bytes),
            url: Url::parse(url).map_err(|error| {
                let url = masked_address(url);
                let message = format!("html.parse(text, url): '{url}' is not a URL: {error}");
                mlua::Error::runtime(message)
            })?,
        };
        host.held(lua, page)
    };
    library.raw_set("parse", function(lua, parse)?)?;
    Ok(library)
}

impl HeapSize for Page {
    fn heap_bytes(&self) -> usize {
        self.url.as_str().len() + self.title.as_ref().map_or(0, String::len)
    }
}

impl UserData for Held<Page> {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::ToString, |_, this, ()| {
            let title = this.title.as_deref().unwrap_or("without a title");
            Ok(format!("page '{title}'"))
        });
        method(methods, "title", |_, this, ()| Ok(this.title.clone()));
        add_queries(methods, |this: &Self| &this.document);
        method(methods, "form", |lua, this, css: Value| {
            form(lua, this, &css)
        });
        refuse_unknown(methods, "a page", &[&MEMBERS]);
    }
}

/// Finds a form as in a response; its actions begin with '/' if the page's own URL is not known.
fn form(lua: &Lua, this: &Page, css: &Value) -> mlua::Result<Option<Table>> {
    let form = forms::form(lua, &this.document, css, &this.url, None)?;
    let Some(form) = form else { return Ok(None) };
    if this.url.as_str() == NOWHERE {
        form.raw_set("page", Value::Nil)?;
    }
    let buttons: Table = form.raw_get("buttons")?;
    for table in buttons.sequence_values().chain([Ok(form.clone())]) {
        let table: Table = table?;
        let action: Option<String> = table.raw_get("action")?;
        if let Some(path) = action.as_deref().and_then(|url| url.strip_prefix(NOWHERE)) {
            table.raw_set("action", format!("/{path}"))?;
        }
    }
    Ok(Some(form))
}
