//! One table of all members of `user`: the name of each, how it is made, and the options that `lgoose check` knows. The files
//! beside it hold the functions of the members and the values that they return. A new protocol adds its rows here.

pub(super) mod cookies;
pub(super) mod grpc;
mod messages;
pub(super) mod net;
pub(super) mod session;
pub(super) mod socket;
pub(super) mod stream;
pub(super) mod tags;

use super::function::function;
use super::names::{ValueType, unknown};
use super::parts::{HostFunction, MakeFunction, Member, PreludePart, prelude_part};
use super::{forms, log, metric};
use crate::requests::{
    CALL_OPTIONS, EVENTS, EXPECT, GRPC, GRPC_EXPECT, OPTIONS, RECORD, REQUEST, SUBMIT, TIMED,
    WEBSOCKET, marker,
};
use crate::values::shorten;
use Origin::{Made, Operation, Part, Prelude, Table};
use Returned::{Response, Unchecked, Value};
use mlua::Lua;

/// A member of `user`.
pub(crate) struct UserMember {
    pub(crate) name: &'static str,
    origin: Origin,
    /// Of a method that sends or opens something.
    pub(crate) options: Option<MethodOptions>,
}

/// How a member is made.
enum Origin {
    /// The prelude sets it itself.
    Prelude,
    /// A function that yields this operation, and the part of the prelude that makes it.
    Operation(&'static str, &'static PreludePart),
    /// A part of the prelude, which sets it.
    Part(&'static PreludePart),
    /// A function of Rust, as it is.
    Made(MakeFunction),
    /// A table, which is no method.
    Table(fn(&Lua) -> mlua::Result<mlua::Table>),
}

/// Options and result of a method, for `lgoose check`.
pub(crate) struct MethodOptions {
    /// The place of their table among the arguments, from 0.
    pub(crate) place: usize,
    /// Whose options they are, in messages.
    pub(crate) owner: &'static str,
    /// Lists of their names, the last of which is that of their class in the stubs.
    pub(crate) names: &'static [&'static [&'static str]],
    /// The fields of the option `expect`.
    pub(crate) expect: &'static [&'static str],
    pub(crate) returned: Returned,
}

/// The value that a method returns.
pub(crate) enum Returned {
    /// A response, or a stream if the option `stream` is set.
    Response,
    Value(&'static ValueType),
    /// One whose members are not checked.
    Unchecked,
}

static ACTIONS: PreludePart = prelude_part!("actions").with(&[
    ("set_host", |lua| lua.create_function(session::set_host)),
    ("log", |lua| function(lua, log::log)),
    ("clock", |lua| lua.create_function(metric::clock)),
    ("end_transaction", |lua| {
        lua.create_function(metric::end_transaction)
    }),
    ("begin_tagged", |lua| function(lua, tags::start_transaction)),
    ("end_tagged", |lua| {
        lua.create_function(tags::leave_transaction)
    }),
]);
static LISTS: PreludePart = prelude_part!("lists");
static RETRY: PreludePart =
    prelude_part!("retry").with(&[("repeated", |lua| lua.create_function(metric::repeated))]);
/// A request without a body.
static SEND: PreludePart = prelude_part!("send");
static SEND_BODY: PreludePart = prelude_part!("send_body");
static WAIT: PreludePart = prelude_part!("wait");
static RECORDING: PreludePart = prelude_part!("record");
static SPAWN: PreludePart = prelude_part!("spawn");
static TIMING: PreludePart = prelude_part!("timed");

/// All members, in the order in which messages list them. Each row has the name and the origin; a method with options adds the
/// place of their table among the arguments, their owner in messages, their names, and the value that the method returns.
#[rustfmt::skip]
pub(crate) static USER_MEMBERS: &[UserMember] = &[
    member("id", Prelude),
    member("scenario", Prelude),
    member("task", Prelude),
    member("iteration", Prelude),
    member("host", Prelude),
    member("data", Prelude),
    member("get", Operation("GET", &SEND)).takes(1, "a request", &[&OPTIONS], Response),
    member("head", Operation("HEAD", &SEND)).takes(1, "a request", &[&OPTIONS], Response),
    member("delete", Operation("DELETE", &SEND)).takes(1, "a request", &[&OPTIONS], Response),
    member("options", Operation("OPTIONS", &SEND)).takes(1, "a request", &[&OPTIONS], Response),
    member("post", Operation("POST", &SEND_BODY)).takes(2, "a request", &[&OPTIONS], Response),
    member("put", Operation("PUT", &SEND_BODY)).takes(2, "a request", &[&OPTIONS], Response),
    member("patch", Operation("PATCH", &SEND_BODY)).takes(2, "a request", &[&OPTIONS], Response),
    member("request", Part(&forms::SUBMITTING)).takes(0, "a request", &[&OPTIONS, &REQUEST], Response),
    member("fetch", Part(&LISTS)),
    member("submit", Part(&forms::SUBMITTING)).takes(2, "a request", &[&OPTIONS, &SUBMIT], Response),
    member("retry", Part(&RETRY)),
    member("events", Part(&stream::EVENTS)).takes(1, "a request", &[&OPTIONS, &EVENTS], Unchecked),
    member("websocket", Part(&socket::OPENING)).takes(1, "a request", &[&OPTIONS, &WEBSOCKET], Value(&socket::SOCKET)),
    member("spawn", Part(&SPAWN)),
    member("tcp", Part(&net::OPENING)).takes(1, "a socket", &[&CALL_OPTIONS, &net::OPTIONS], Value(&net::SOCKET)),
    member("tls", Part(&net::OPENING)).takes(1, "a socket", &[&CALL_OPTIONS, &net::OPTIONS], Value(&net::SOCKET)),
    member("udp", Part(&net::OPENING)).takes(1, "a socket", &[&CALL_OPTIONS], Value(&net::SOCKET)),
    member("timed", Part(&TIMING)).takes(2, "user:timed", &[&TIMED], Unchecked),
    member("record", Operation("record", &RECORDING)).takes(0, "user:record", &[&RECORD], Unchecked),
    member("grpc", Part(&grpc::CALLING)).takes(2, "a call", &[&GRPC], Value(&grpc::CALL)).expects(&GRPC_EXPECT),
    member("grpc_stream", Part(&grpc::CALLING)).takes(1, "a call", &[&GRPC], Value(&grpc::CALL)).expects(&GRPC_EXPECT),
    member("transaction", Part(&ACTIONS)),
    member("wait", Operation("wait", &WAIT)),
    member("stop", Part(&ACTIONS)),
    member("exit_iteration", Part(&ACTIONS)),
    member("log", Part(&ACTIONS)),
    member("batch", Part(&LISTS)),
    member("set_host", Part(&ACTIONS)),
    member("set_header", Made(|lua| function(lua, session::set_header))),
    member("basic_auth", Made(|lua| function(lua, session::basic_auth))),
    member("digest_auth", Made(|lua| function(lua, session::digest_auth))),
    member("bearer", Made(|lua| function(lua, session::bearer_auth))),
    member("cookies", Table(cookies::cookies)),
    member("tags", Table(tags::user_tags)),
];

const fn member(name: &'static str, origin: Origin) -> UserMember {
    UserMember {
        name,
        origin,
        options: None,
    }
}

impl UserMember {
    /// Gives a method options, with the usual fields of `expect`.
    const fn takes(
        mut self,
        place: usize,
        owner: &'static str,
        names: &'static [&'static [&'static str]],
        returned: Returned,
    ) -> UserMember {
        self.options = Some(MethodOptions {
            place,
            owner,
            names,
            expect: &EXPECT,
            returned,
        });
        self
    }

    /// Sets the fields of its option `expect`.
    const fn expects(mut self, fields: &'static [&'static str]) -> UserMember {
        if let Some(options) = &mut self.options {
            options.expect = fields;
        }
        self
    }

    /// Whether it is a method, which is called with a colon.
    pub(crate) fn is_method(&self) -> bool {
        !matches!(self.origin, Prelude | Table(_))
    }

    /// Whether its second argument is the body of a request.
    pub(crate) fn sends_body(&self) -> bool {
        matches!(self.origin, Operation(_, part) if std::ptr::eq(part, &raw const SEND_BODY))
    }
}

/// Returns the member with that name.
pub(crate) fn user_member(name: &str) -> Option<&'static UserMember> {
    USER_MEMBERS.iter().find(|member| member.name == name)
}

/// Finds a member; a nil value if there is none of that name, or the prelude has set it.
pub(crate) fn user_value(lua: &Lua, name: &str) -> mlua::Result<Member> {
    Ok(match user_member(name).map(|member| &member.origin) {
        None | Some(Prelude) => Member::Value(mlua::Value::Nil),
        Some(Operation(name, part)) => {
            Member::Method(part, marker(name).unwrap_or(mlua::Value::Nil))
        }
        Some(Part(part)) => Member::Part(part),
        Some(Made(make)) => Member::Value(mlua::Value::Function(make(lua)?)),
        Some(Table(make)) => Member::Value(mlua::Value::Table(make(lua)?)),
    })
}

/// Returns the functions that the parts of the prelude fetch which set members.
pub(super) fn functions_of_parts() -> impl Iterator<Item = &'static HostFunction> {
    let functions = |member: &'static UserMember| match member.origin {
        Part(part) => part.functions,
        _ => &[],
    };
    USER_MEMBERS.iter().flat_map(functions)
}

/// Formats the message for an unknown member.
pub(super) fn unknown_user_field(name: &str) -> String {
    let name = shorten(name);
    let names: Vec<_> = USER_MEMBERS.iter().map(|member| member.name).collect();
    unknown(&format!("user.{name}"), "user", &name, &names)
}
