//! Operations on sockets over which a plan speaks a protocol of its own: the methods of a socket send, receive and close.

use super::options::{named, read_timeout};
use crate::limits::{Budget, HeapSize, Held};
use crate::values::{describe_mismatch, escape_invalid, list_values, read_string};
use bytes::Bytes;
use lgoose_protocols::{OpenSocket, ReceiveRule, SocketAction};
use mlua::Value;
use std::rc::Rc;
use std::time::Duration;

/// The options of `receive`.
pub(crate) const RECEIVE_OPTIONS: [&str; 3] = ["timeout", "max", "until_"];
/// The most bytes that are sent at once, and the most in a datagram.
const MAX_MESSAGE: usize = 64 << 20;
const MOST_OF_DATAGRAM: usize = 65_507;

/// A socket as a plan holds it. Closed when the plan drops it.
#[derive(Debug)]
pub(crate) struct NetSocket(pub(crate) Rc<OpenSocket>);

impl Drop for NetSocket {
    fn drop(&mut self) {
        self.0.let_go();
    }
}

impl HeapSize for NetSocket {
    fn heap_bytes(&self) -> usize {
        let buffer = if self.0.is_closed() {
            0
        } else {
            self.0.max_buffer()
        };
        size_of::<OpenSocket>() + buffer
    }
}

/// An operation on an open socket.
#[derive(Debug)]
pub struct SocketOp {
    /// The socket.
    pub socket: Rc<OpenSocket>,
    /// The action to take.
    pub action: SocketAction,
    /// `None`: as long as a request may take.
    pub timeout: Option<Duration>,
}

/// Returns the socket of a value.
fn socket_of(value: &Value) -> Result<Rc<OpenSocket>, String> {
    let held = value.as_userdata();
    let held = held.and_then(|held| held.borrow::<Held<NetSocket>>().ok());
    let socket = held.map(|held| held.0.clone());
    socket.ok_or_else(|| "a socket is used with a colon: socket:send(…)".to_owned())
}

/// Reads `socket:send(data, options)`.
pub(super) fn send(
    socket: &Value,
    data: &Value,
    options: &Value,
    budget: &mut Budget,
) -> Result<Box<SocketOp>, String> {
    const EXPECTED: &str = "a string, or a list of strings";
    let socket = socket_of(socket)?;
    let mut bytes = Vec::new();
    let mut add = |text: &Value| {
        let Value::String(text) = text else {
            return Err(describe_mismatch("the data of socket:send", EXPECTED, text));
        };
        let text = text.as_bytes();
        if bytes.len() + text.len() > MAX_MESSAGE {
            return Err("socket:send sends at most 64 MiB at once".to_owned());
        }
        budget.take(text.len())?;
        bytes.extend_from_slice(&text);
        Ok(())
    };
    match data {
        Value::Table(list) => list_values(list, "the data of socket:send")?
            .iter()
            .try_for_each(add)?,
        other => add(other)?,
    }
    if socket.has_datagrams() && bytes.len() > MOST_OF_DATAGRAM {
        return Err(format!("a datagram has at most {MOST_OF_DATAGRAM} bytes"));
    }
    let mut timeout = None;
    for (_, value) in named(options, "socket:send", &["timeout"])? {
        timeout = Some(read_timeout(&value)?);
    }
    Ok(Box::new(SocketOp {
        socket,
        action: SocketAction::Send(Bytes::from(bytes)),
        timeout,
    }))
}

/// Reads `socket:receive(what, options)`.
pub(super) fn receive(
    socket: &Value,
    what: &Value,
    options: &Value,
) -> Result<Box<SocketOp>, String> {
    let socket = socket_of(socket)?;
    let (rule, timeout) = read_receive(&socket, what, options)?;
    Ok(Box::new(SocketOp {
        socket,
        action: SocketAction::Receive(rule),
        timeout,
    }))
}

/// Reads the rule for the received bytes, and the time to wait for them.
///
/// # Errors
/// The message to raise at the plan's line.
pub(crate) fn read_receive(
    socket: &OpenSocket,
    what: &Value,
    options: &Value,
) -> Result<(ReceiveRule, Option<Duration>), String> {
    const KINDS: &str = "socket:receive takes a number of bytes, \"line\", \"all\", \"some\" or { until_ = \"\\r\\n\\r\\n\" }";
    let most = socket.max_buffer();
    let first: &Value = match what {
        Value::Table(_) => what,
        _ => &Value::Nil,
    };
    if !first.is_nil() && !options.is_nil() {
        return Err("socket:receive { … } has all options in one table".to_owned());
    }
    let given = if first.is_nil() { options } else { first };
    let (mut timeout, mut max, mut until) = (None, None, None);
    if !given.is_nil() {
        for (key, value) in named(given, "socket:receive", &RECEIVE_OPTIONS)? {
            match key.as_str() {
                "timeout" => timeout = Some(read_timeout(&value)?),
                "max" => max = Some(read_max(&value, most)?),
                _ => match &value {
                    Value::String(end)
                        if !end.as_bytes().is_empty() && end.as_bytes().len() <= 256 =>
                    {
                        until = Some(Box::<[u8]>::from(&*end.as_bytes()));
                    }
                    other => {
                        let kind = "a string of 1 to 256 bytes";
                        return Err(describe_mismatch("option 'until_'", kind, other));
                    }
                },
            }
        }
    }
    let limit = max.unwrap_or(most);
    let text = match what {
        Value::String(word) => Some(escape_invalid(word)),
        _ => None,
    };
    if (socket.has_datagrams() || socket.is_closed() && what.is_nil())
        && (until.is_none() && max.is_none() && text.is_none() && what.as_i64().is_none())
    {
        return Ok((ReceiveRule::Datagram, timeout));
    }
    if socket.has_datagrams() {
        return Err("a datagram is received as a whole: socket:receive { timeout = 1 }".to_owned());
    }
    let rule = match (text.as_deref(), what) {
        (None, _) if until.is_some() => ReceiveRule::Until(until.unwrap_or_default(), limit),
        (Some("line"), _) if until.is_none() => ReceiveRule::Line(limit),
        (Some("all"), _) if until.is_none() && max.is_none() => ReceiveRule::All,
        (Some("some"), _) if until.is_none() && max.is_none() => ReceiveRule::Some,
        (None, Value::Integer(count)) if until.is_none() && max.is_none() => {
            let count = usize::try_from(*count).ok();
            let fits = |count: &usize| *count <= most || socket.is_closed();
            ReceiveRule::Bytes(count.filter(fits).ok_or_else(|| {
                format!("socket:receive takes 0 to {most} bytes at once ('max_buffer')")
            })?)
        }
        _ => return Err(KINDS.to_owned()),
    };
    Ok((rule, timeout))
}

fn read_max(value: &Value, most: usize) -> Result<usize, String> {
    let count = value.as_i64().and_then(|count| usize::try_from(count).ok());
    let count = count.filter(|count| *count >= 1 && *count <= most);
    count.ok_or_else(|| {
        let kind = format!("a number of bytes from 1 to {most} ('max_buffer')");
        describe_mismatch("option 'max'", &kind, value)
    })
}

/// Reads `socket:start_tls(options)`.
pub(super) fn start_tls(socket: &Value, options: &Value) -> Result<Box<SocketOp>, String> {
    let socket = socket_of(socket)?;
    if socket.has_datagrams() {
        return Err("datagrams have no TLS".to_owned());
    }
    if socket.has_tls() {
        return Err("the socket has TLS already".to_owned());
    }
    let (mut name, mut timeout) = (None, None);
    for (key, value) in named(options, "socket:start_tls", &["server_name", "timeout"])? {
        match key.as_str() {
            "timeout" => timeout = Some(read_timeout(&value)?),
            _ => name = Some(read_string(&value, "option 'server_name'")?),
        }
    }
    Ok(Box::new(SocketOp {
        socket,
        action: SocketAction::StartTls(name),
        timeout,
    }))
}

/// Reads `socket:close()`.
pub(super) fn close(socket: &Value) -> Result<Box<SocketOp>, String> {
    Ok(Box::new(SocketOp {
        socket: socket_of(socket)?,
        action: SocketAction::Close,
        timeout: None,
    }))
}
