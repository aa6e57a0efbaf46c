//! `xml.parse`: an XML document from a string, with the queries that a page has.

use super::elements::add_queries;
use super::function::function;
use super::names::refuse_unknown;
use crate::limits::{HeapSize, Held};
use crate::sandbox::VmHost;
use lgoose_html::Document;
use mlua::{Lua, LuaString, MetaMethod, Table, UserData, UserDataMethods};
use std::rc::Rc;

const MEMBERS: [&str; 3] = ["css", "text", "attr"];

/// A document as a plan holds it.
#[derive(Debug)]
pub(super) struct XmlDocument {
    document: Rc<Held<Document>>,
}

/// Creates `xml`.
pub(super) fn library(lua: &Lua) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    let parse = |lua: &Lua, text: LuaString| {
        let host = VmHost::of(lua);
        let document = host.xml_document(lua, &text.as_bytes())?;
        host.held(lua, XmlDocument { document })
    };
    library.raw_set("parse", function(lua, parse)?)?;
    Ok(library)
}

impl HeapSize for XmlDocument {
    fn heap_bytes(&self) -> usize {
        // The tree counts by itself.
        0
    }
}

impl UserData for Held<XmlDocument> {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::ToString, |_, _, ()| Ok("XML document"));
        add_queries(methods, |this: &Self| &this.document);
        refuse_unknown(methods, "an XML document", &[&MEMBERS]);
    }
}
