//! For tests: a global that makes calls of a scripted protocol; and the members of userdata types as Rust registers them,
//! for the test that compares the stubs with them. mlua does not list what a type has registered, so a registry of our own
//! takes its place.

use super::{data, elements, grpc, metric, net, page, socket, stream, xml};
use crate::lua::limits::Held;
use crate::lua::plan_files::{Pattern, PlanFile};
use crate::lua::requests::{PlannedCall, marker};
use crate::lua::sandbox::VmHost;
use crate::protocols::{CallOp, ScriptedCall};
use mlua::{
    AnyUserData, FromLua, FromLuaMulti, Function, IntoLua, IntoLuaMulti, Lua, Result, Table,
    UserData, UserDataFields, UserDataMethods,
};
use std::time::Duration;

/// Makes the global `test_call(script, options)`, which returns whether the call succeeded, and what it gives or why it
/// failed; see [`ScriptedCall`].
pub(super) fn test_call(lua: &Lua) -> Result<Function> {
    let coroutine: Table = lua.globals().raw_get("coroutine")?;
    let make = lua.create_function(|lua, (script, options): (String, Option<Table>)| {
        let mut op = CallOp::new(ScriptedCall::new(script));
        if let Some(options) = options {
            let name: Option<String> = options.raw_get("name")?;
            op.name = name.map(Into::into);
            let timeout: Option<f64> = options.raw_get("timeout")?;
            op.timeout = timeout.map(Duration::from_secs_f64);
        }
        VmHost::of(lua).held(lua, PlannedCall::new(op))
    })?;
    lua.load("local yield, CALL, make = ... return function(...) return yield(CALL, make(...)) end")
        .call((
            coroutine.raw_get::<Function>("yield")?,
            marker("call"),
            make,
        ))
}

/// Returns every class of the stubs that is a userdata, with the names of its members.
pub(in crate::lua) fn classes(next: Function) -> Vec<(&'static str, Vec<String>)> {
    let mut rows = MemberNames::default();
    data::register(&mut rows, next.clone());
    let mut streams = MemberNames::default();
    let methods = ["events", "lines", "chunks", "close"].map(|name| (name, next.clone()));
    stream::register(&mut streams, methods);
    let mut sockets = MemberNames::default();
    let methods = socket::METHODS.map(|name| (name, next.clone()));
    socket::register(&mut sockets, methods.to_vec());
    let mut plain = MemberNames::default();
    let methods = net::METHODS.map(|name| (name, next.clone()));
    net::register(&mut plain, methods.to_vec());
    let mut calls = MemberNames::default();
    let methods = grpc::METHODS.map(|name| (name, next.clone()));
    grpc::register(&mut calls, methods.to_vec());
    vec![
        ("lgoose.NetSocket", plain.0),
        ("lgoose.Call", calls.0),
        ("lgoose.Element", of::<Held<elements::Element>>()),
        ("lgoose.File", of::<Held<PlanFile>>()),
        ("lgoose.Page", of::<Held<page::Page>>()),
        ("lgoose.XmlDocument", of::<Held<xml::XmlDocument>>()),
        ("lgoose.Regex", of::<Held<Pattern>>()),
        ("lgoose.Metric", of::<Held<metric::Metric>>()),
        ("lgoose.Rows", rows.0),
        ("lgoose.Stream", streams.0),
        ("lgoose.Socket", sockets.0),
        (
            "lgoose.Message",
            socket::MESSAGE.map(str::to_owned).to_vec(),
        ),
        ("lgoose.Job", ["join", "cancel"].map(str::to_owned).to_vec()),
        ("lgoose.Event", stream::EVENT.map(str::to_owned).to_vec()),
    ]
}

fn of<T: UserData>() -> Vec<String> {
    let mut members = MemberNames::default();
    T::add_fields(&mut members);
    T::add_methods(&mut members);
    members.0
}

/// The names of members, without metamethods.
#[derive(Default)]
struct MemberNames(Vec<String>);

impl MemberNames {
    fn add(&mut self, name: impl Into<String>) {
        self.0.push(name.into());
    }
}

impl<T> UserDataMethods<T> for MemberNames {
    fn add_method<M, A, R>(&mut self, name: impl Into<String>, _: M)
    where
        M: Fn(&Lua, &T, A) -> Result<R> + 'static,
        A: FromLuaMulti,
        R: IntoLuaMulti,
    {
        self.add(name);
    }

    fn add_method_mut<M, A, R>(&mut self, name: impl Into<String>, _: M)
    where
        M: FnMut(&Lua, &mut T, A) -> Result<R> + 'static,
        A: FromLuaMulti,
        R: IntoLuaMulti,
    {
        self.add(name);
    }

    fn add_function<F, A, R>(&mut self, name: impl Into<String>, _: F)
    where
        F: Fn(&Lua, A) -> Result<R> + 'static,
        A: FromLuaMulti,
        R: IntoLuaMulti,
    {
        self.add(name);
    }

    fn add_function_mut<F, A, R>(&mut self, name: impl Into<String>, _: F)
    where
        F: FnMut(&Lua, A) -> Result<R> + 'static,
        A: FromLuaMulti,
        R: IntoLuaMulti,
    {
        self.add(name);
    }

    fn add_meta_method<M, A, R>(&mut self, _: impl Into<String>, _: M)
    where
        M: Fn(&Lua, &T, A) -> Result<R> + 'static,
        A: FromLuaMulti,
        R: IntoLuaMulti,
    {
    }

    fn add_meta_method_mut<M, A, R>(&mut self, _: impl Into<String>, _: M)
    where
        M: FnMut(&Lua, &mut T, A) -> Result<R> + 'static,
        A: FromLuaMulti,
        R: IntoLuaMulti,
    {
    }

    fn add_meta_function<F, A, R>(&mut self, _: impl Into<String>, _: F)
    where
        F: Fn(&Lua, A) -> Result<R> + 'static,
        A: FromLuaMulti,
        R: IntoLuaMulti,
    {
    }

    fn add_meta_function_mut<F, A, R>(&mut self, _: impl Into<String>, _: F)
    where
        F: FnMut(&Lua, A) -> Result<R> + 'static,
        A: FromLuaMulti,
        R: IntoLuaMulti,
    {
    }
}

impl<T> UserDataFields<T> for MemberNames {
    fn add_field<V: IntoLua + 'static>(&mut self, name: impl Into<String>, _: V) {
        self.add(name);
    }

    fn add_field_method_get<M, R>(&mut self, name: impl Into<String>, _: M)
    where
        M: Fn(&Lua, &T) -> Result<R> + 'static,
        R: IntoLua,
    {
        self.add(name);
    }

    fn add_field_method_set<M, A>(&mut self, name: impl Into<String>, _: M)
    where
        M: FnMut(&Lua, &mut T, A) -> Result<()> + 'static,
        A: FromLua,
    {
        self.add(name);
    }

    fn add_field_function_get<F, R>(&mut self, name: impl Into<String>, _: F)
    where
        F: Fn(&Lua, AnyUserData) -> Result<R> + 'static,
        R: IntoLua,
    {
        self.add(name);
    }

    fn add_field_function_set<F, A>(&mut self, name: impl Into<String>, _: F)
    where
        F: FnMut(&Lua, AnyUserData, A) -> Result<()> + 'static,
        A: FromLua,
    {
        self.add(name);
    }

    fn add_meta_field<V: IntoLua + 'static>(&mut self, _: impl Into<String>, _: V) {}

    fn add_meta_field_with<F, R>(&mut self, _: impl Into<String>, _: F)
    where
        F: FnOnce(&Lua) -> Result<R> + 'static,
        R: IntoLua,
    {
    }
}
