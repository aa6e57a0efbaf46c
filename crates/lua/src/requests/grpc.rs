//! The request of a call of gRPC, as `user:grpc(method, message, options)` and `user:grpc_stream(method, options)` make it.

use super::options::{self, header_line};
use super::protobuf::{GivenMessage, encode};
use super::request::RequestOp;
use super::tags::read_own_tags;
use crate::limits::{Budget, HeapSize, Held};
use crate::plan_files::GrpcMethod;
use crate::values::{
    self, ENTRY_BYTES, byte_length, describe_mismatch, list_values, read_flag, read_scalar,
    read_string, shorten, sorted_pairs, to_one_line,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use http::{HeaderName, HeaderValue, Method, header};
use lgoose_base::error::nearest;
use lgoose_http::{
    CallConnection, CallProtocol, CallTerms, GrpcCode, MAX_BUFFER, MessageCoding, Redirects,
    StreamedBody, timeout_value, write_message,
};
use lgoose_plan::config::unknown_word;
use mlua::{UserData, Value};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The options of a call.
pub(crate) const GRPC: [&str; 12] = [
    "name",
    "metadata",
    "timeout",
    "expect",
    "tags",
    "compression",
    "count",
    "max_buffer",
    "web",
    "message",
    "connection",
    "protocol",
];
/// The fields of `expect` for a call.
pub(crate) const GRPC_EXPECT: [&str; 1] = ["status"];

/// The kind of these requests, which stands in place of a method.
const GRPC_KIND: &str = "GRPC";
/// The bytes before a message of gRPC: whether it is compressed, and its length.
const MESSAGE_HEAD: usize = 5;
/// The longest message, which is also the default of other clients.
const MAX_MESSAGE: usize = 4 << 20;

/// A call as a host function hands it to the Lua that yields it; taken out once.
#[derive(Debug)]
pub(crate) struct PlannedGrpc {
    pub(super) op: RefCell<Option<Box<RequestOp>>>,
    pub(crate) method: Arc<GrpcMethod>,
}

impl HeapSize for PlannedGrpc {
    fn heap_bytes(&self) -> usize {
        size_of::<RequestOp>()
    }
}

impl UserData for Held<PlannedGrpc> {}

/// The options of a call, as they are read.
#[derive(Default)]
struct CallOptions {
    name: Option<Rc<str>>,
    metadata: Vec<(HeaderName, HeaderValue)>,
    timeout: Option<Duration>,
    tags: Option<Rc<lgoose_base::tags::Tags>>,
    max_buffer: Option<usize>,
    uncounted: bool,
    message: Option<Value>,
    terms: CallTerms,
}

/// Makes the request of a call. A unary call contains its message, as does every call over gRPC-Web.
///
/// # Errors
/// The message to raise at the plan's line.
pub(crate) fn plan_grpc(
    method: &Arc<GrpcMethod>,
    is_unary: bool,
    message: GivenMessage,
    options: &Value,
    budget: &mut Budget,
) -> Result<PlannedGrpc, String> {
    let mut read = read_options(options, budget)?;
    let kind = Method::from_bytes(GRPC_KIND.as_bytes()).map_err(|error| error.to_string())?;
    let mut op = RequestOp::new(kind, format!("/{}", method.name));
    op.name = Some(read.name.unwrap_or_else(|| method.name.as_str().into()));
    op.tags = read.tags;
    op.uncounted = read.uncounted;
    let request = &mut op.request;
    request.redirects = Redirects::UpTo(0);
    request.timeout = read.timeout;
    let protocol = read.terms.protocol;
    if protocol == CallProtocol::Connect && !is_unary {
        let problem = "has streams of messages, which lgoose does not send by Connect";
        return Err(format!("'{}' {problem}", method.name));
    }
    let is_web = protocol == CallProtocol::Web;
    let message = match (is_unary, is_web, read.message.take()) {
        (true, _, None) => Some(message),
        (false, false, None) => None,
        (false, true, _) if method.client_streams => {
            let problem = format!(
                "'{}' takes a stream, which gRPC-Web does not support",
                method.name
            );
            return Err(problem);
        }
        (false, true, Some(message)) => Some(GivenMessage::table(message)),
        (false, true, None) => {
            let problem = "a stream by gRPC-Web sends its message with the call: { web = true, message = { … } }";
            return Err(problem.to_owned());
        }
        (_, _, Some(_)) => {
            let problem =
                "option 'message' is for a stream by gRPC-Web: { web = true, message = { … } }";
            return Err(problem.to_owned());
        }
    };
    let terms = &mut read.terms;
    terms.refusal = method.unread.clone();
    terms.is_unary = is_unary;
    terms.has_one_response = is_unary || !method.server_streams;
    terms.has_deadline = is_unary || read.timeout.is_some();
    let kind = match protocol {
        CallProtocol::Grpc => "application/grpc",
        CallProtocol::Web => "application/grpc-web+proto",
        CallProtocol::Connect => "application/proto",
    };
    let fixed = |name: &'static str, value: &'static str| {
        (
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        )
    };
    let headers = &mut request.headers;
    headers.push((header::CONTENT_TYPE, HeaderValue::from_static(kind)));
    match protocol {
        CallProtocol::Grpc => headers.push(fixed("te", "trailers")),
        CallProtocol::Web => {
            headers.push(fixed("x-grpc-web", "1"));
            headers.push(fixed("accept-encoding", "identity"));
        }
        CallProtocol::Connect => headers.push(fixed("connect-protocol-version", "1")),
    }
    let is_connect = protocol == CallProtocol::Connect;
    let (coding_header, timeout_header) = if is_connect {
        ("content-encoding", "connect-timeout-ms")
    } else {
        headers.push(fixed("grpc-accept-encoding", "identity, gzip"));
        ("grpc-encoding", "grpc-timeout")
    };
    if terms.coding == MessageCoding::Gzip {
        headers.push(fixed(coding_header, "gzip"));
    }
    if let Some(time) = read.timeout {
        let value = if is_connect {
            time.as_millis().max(1).to_string()
        } else {
            timeout_value(time)
        };
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.push((HeaderName::from_static(timeout_header), value));
        }
    }
    headers.append(&mut read.metadata);
    if let Some(message) = message.filter(|_| method.unread.is_none()) {
        let message = encode(&message, &method.input, budget)?;
        let mut body = Vec::with_capacity(message.len() + 8);
        budget.take(message.len())?;
        budget.spend(match terms.coding {
            MessageCoding::Gzip => message.len() as u64 * 64,
            _ => 0,
        })?;
        write_message(&mut body, &message, terms.coding);
        if is_connect {
            // The body is the message itself.
            body.drain(..MESSAGE_HEAD);
        }
        request.body = body.into();
    }
    let usual = if is_unary { MAX_MESSAGE } else { MAX_BUFFER };
    let max_buffer = read.max_buffer.unwrap_or(usual);
    let body = StreamedBody::of_call(max_buffer, read.terms);
    request.extras().stream = Some(Rc::new(body));
    Ok(PlannedGrpc {
        op: RefCell::new(Some(Box::new(op))),
        method: method.clone(),
    })
}

fn read_options(options: &Value, budget: &mut Budget) -> Result<CallOptions, String> {
    let mut read = CallOptions::default();
    let options = match options {
        Value::Nil => return Ok(read),
        Value::Table(options) => options,
        other => return Err(describe_mismatch("options", "a table", other)),
    };
    for (key, value) in sorted_pairs(options, "options", budget)? {
        match key.as_str() {
            "name" => read.name = Some(values::read_name(&value, "option 'name'")?),
            "metadata" => read.metadata = metadata(&value, budget)?,
            "timeout" => read.timeout = Some(options::read_timeout(&value)?),
            "expect" => read.terms.expected = expected(&value, budget)?,
            "tags" => read.tags = Some(read_own_tags(&value, budget)?),
            "compression" => match read_string(&value, "option 'compression'")?.as_str() {
                "gzip" => read.terms.coding = MessageCoding::Gzip,
                "identity" => {}
                other => {
                    let other = shorten(other);
                    return Err(format!(
                        "option 'compression' knows \"gzip\" and \"identity\", not \"{other}\""
                    ));
                }
            },
            "count" => read.uncounted = !read_flag(&value, "option 'count'")?,
            "max_buffer" => read.max_buffer = Some(options::read_buffer(&value)?),
            "web" => {
                let is_web = read_flag(&value, "option 'web'")?;
                if is_web && read.terms.protocol == CallProtocol::Grpc {
                    read.terms.protocol = CallProtocol::Web;
                }
            }
            "message" => read.message = Some(value),
            "connection" => read.terms.connection = connection(&value)?,
            "protocol" => match read_string(&value, "option 'protocol'")?.as_str() {
                "grpc" => {}
                "connect" => read.terms.protocol = CallProtocol::Connect,
                other => {
                    let other = shorten(other);
                    return Err(format!(
                        "option 'protocol' knows \"grpc\" and \"connect\", not \"{other}\""
                    ));
                }
            },
            unknown => {
                return Err(to_one_line(unknown_word(
                    "option",
                    &shorten(unknown),
                    "a call",
                    &GRPC,
                )));
            }
        }
    }
    if read.terms.protocol != CallProtocol::Grpc && read.terms.connection != CallConnection::User {
        let problem = "option 'connection' is for calls over gRPC's own protocol, and 'web' and 'protocol' for ordinary requests";
        return Err(problem.to_owned());
    }
    Ok(read)
}

fn connection(value: &Value) -> Result<CallConnection, String> {
    const WHAT: &str = "option 'connection'";
    Ok(match read_string(value, WHAT)?.as_str() {
        "user" => CallConnection::User,
        "own" => CallConnection::Own,
        "shared" => CallConnection::Shared,
        other => {
            let other = shorten(other);
            return Err(format!(
                "{WHAT} knows \"user\", \"own\" and \"shared\", not \"{other}\""
            ));
        }
    })
}

/// Reads metadata: each name has a text or a list of them; those that end in `-bin` hold any bytes.
fn metadata(value: &Value, budget: &mut Budget) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
    let Value::Table(table) = value else {
        let kind = "a table { [\"x-name\"] = \"value\" }";
        return Err(describe_mismatch("option 'metadata'", kind, value));
    };
    let mut lines = Vec::new();
    for (name, value) in sorted_pairs(table, "names of metadata", budget)? {
        if name.to_ascii_lowercase().starts_with("grpc-") {
            let name = shorten(&name);
            return Err(format!(
                "option 'metadata' has '{name}': gRPC keeps names that begin with 'grpc-' for itself"
            ));
        }
        let what = format!("metadata '{}'", shorten(&name));
        let values = match &value {
            Value::Table(list) => list_values(list, &what)?,
            value => vec![value.clone()],
        };
        for value in values {
            budget.take(byte_length(&value).saturating_mul(2) + ENTRY_BYTES)?;
            let mut value = read_scalar(&value, &what)?;
            if name.to_ascii_lowercase().ends_with("-bin") {
                value = BASE64.encode(value).into_bytes();
            }
            lines.push(header_line(&name, &value)?);
        }
    }
    Ok(lines)
}

/// Reads the statuses that a call is expected to have.
fn expected(value: &Value, budget: &mut Budget) -> Result<Vec<GrpcCode>, String> {
    let Value::Table(table) = value else {
        let kind = "a table such as { status = \"NOT_FOUND\" }";
        return Err(describe_mismatch("option 'expect'", kind, value));
    };
    let mut codes = Vec::new();
    for (key, value) in sorted_pairs(table, "fields of 'expect'", budget)? {
        if key != GRPC_EXPECT[0] {
            let owner = "expect of a call";
            return Err(to_one_line(unknown_word(
                "field",
                &shorten(&key),
                owner,
                &GRPC_EXPECT,
            )));
        }
        let names = match &value {
            Value::Table(list) => list_values(list, "'expect.status'")?,
            value => vec![value.clone()],
        };
        for name in names {
            codes.push(read_code(&name)?);
        }
    }
    Ok(codes)
}

fn read_code(value: &Value) -> Result<GrpcCode, String> {
    match value {
        Value::Integer(number) => {
            let code = u64::try_from(*number).ok().and_then(GrpcCode::numbered);
            code.ok_or_else(|| format!("'expect.status': gRPC has no status {number}"))
        }
        Value::String(name) => {
            let name = values::escape_invalid(name);
            GrpcCode::named(&name).ok_or_else(|| {
                let hint = match nearest(&name.to_ascii_uppercase(), GrpcCode::NAMES) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("they are: {}", GrpcCode::NAMES.join(", ")),
                };
                let name = shorten(&name);
                format!("'expect.status': gRPC has no status \"{name}\"; {hint}")
            })
        }
        other => {
            let kind = "the name of a status, such as \"NOT_FOUND\"";
            Err(describe_mismatch("'expect.status'", kind, other))
        }
    }
}
