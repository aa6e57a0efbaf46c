//! The request that opens a WebSocket, as `user:websocket(path, options)` yields it.

use super::options;
use super::request::RequestOp;
use crate::limits::Budget;
use crate::values::{describe_mismatch, list_values, read_string};
use http::Method;
use http::header::SEC_WEBSOCKET_PROTOCOL as SUBPROTOCOL;
use lgoose_http::{MAX_BUFFER, Redirects, SocketOffer, SocketSide, StreamedBody, over_http};
use mlua::Value;
use std::rc::Rc;

/// The options of a WebSocket beside those of a request.
pub(crate) const WEBSOCKET: [&str; 3] = ["subprotocols", "deflate", "reconnect"];
/// The kind of these requests, which stands in place of a method.
pub(super) const KIND: &str = "WS";

/// Reads such a request.
///
/// # Errors
/// The message to raise at the plan's line.
pub(super) fn read(
    path: &Value,
    options: &Value,
    budget: &mut Budget,
) -> Result<RequestOp, String> {
    let kind = Method::from_bytes(KIND.as_bytes()).map_err(|error| error.to_string())?;
    if !path.is_string() {
        let problem = describe_mismatch("the path", "a string", path);
        return Err(format!(
            "{problem}; write user:websocket(\"/path\"), with a colon"
        ));
    }
    let mut op = RequestOp::bare(kind, path, &Value::Nil, budget)?;
    if let Some(url) = over_http(&op.request.url) {
        op.request.url = url.into();
    }
    op.request.redirects = Redirects::UpTo(0);
    let (mut subprotocols, mut deflate, mut max_buffer) = (Vec::new(), true, MAX_BUFFER);
    if let Value::Table(options) = options {
        let field = |name: &str| options.raw_get::<Value>(name).unwrap_or(Value::Nil);
        subprotocols = read_subprotocols(&field(WEBSOCKET[0]))?;
        max_buffer = match field("max_buffer") {
            Value::Nil => MAX_BUFFER,
            most => options::read_buffer(&most)?,
        };
        deflate = match field(WEBSOCKET[1]) {
            Value::Nil => true,
            Value::Boolean(flag) => flag,
            other => {
                return Err(describe_mismatch(
                    "option 'deflate'",
                    "true or false",
                    &other,
                ));
            }
        };
    }
    // `options::read` checks the options of a WebSocket by its stream; the real one needs what it has read.
    let unasked = SocketSide::new(SocketOffer::new(Vec::new(), false), Vec::new());
    op.request.extras().stream = Some(Rc::new(StreamedBody::of_socket(max_buffer, unasked)));
    match options {
        Value::Nil => {}
        Value::Table(options) => options::read(&mut op, options, &WEBSOCKET, budget)?,
        other => return Err(describe_mismatch("options", "a table", other)),
    }
    if !op.request.body.is_empty() {
        return Err(
            "the request of a WebSocket has no body: send messages once it is open".to_owned(),
        );
    }
    let named = op
        .request
        .headers
        .extract_if(.., |(name, _)| *name == SUBPROTOCOL);
    for (_, value) in named {
        let names = value.to_str().unwrap_or_default().split(',');
        subprotocols.extend(names.map(|name| name.trim().to_owned()));
    }
    let offer = SocketOffer::new(subprotocols, deflate);
    op.request.headers.extend(offer.headers()?);
    let socket = SocketSide::new(offer, op.expect.close_codes().to_vec());
    let body = StreamedBody::of_socket(max_buffer, socket);
    op.request.extras().stream = Some(Rc::new(body));
    if op.expect.status.is_empty() {
        op.expect.status.push(101);
    }
    Ok(op)
}

fn read_subprotocols(value: &Value) -> Result<Vec<String>, String> {
    const NAMES: &str = "a list of names: { \"v1\" }";
    match value {
        Value::Nil => Ok(Vec::new()),
        Value::Table(list) => list_values(list, "the list of subprotocols")?
            .iter()
            .map(|name| read_string(name, "a subprotocol"))
            .collect(),
        other => Err(describe_mismatch("option 'subprotocols'", NAMES, other)),
    }
}
