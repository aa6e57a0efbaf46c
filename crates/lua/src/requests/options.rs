//! The options of a request, read from a plan's table. An unknown name is refused with the nearest known one.

use super::expect_options;
use super::json;
use super::multipart;
use super::request::RequestOp;
use super::tags::read_own_tags;
use crate::limits::Budget;
use crate::values::{
    self, ENTRY_BYTES, byte_length, describe_mismatch, encode_form, escape_invalid, read_flag,
    read_scalar, read_seconds, read_string, shorten, sorted_pairs, to_one_line,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderName, HeaderValue, Method, header};
use lgoose_http::{DigestCredentials, Discard, MAX_BUFFER, Redirects, StreamedBody, is_cookie};
use lgoose_plan::config::unknown_word;
use mlua::{LuaString, Table, Value};
use std::io::Write as _;
use std::rc::Rc;
use std::time::Duration;

pub(crate) const OPTIONS: [&str; 19] = [
    "name",
    "headers",
    "cookies",
    "query",
    "form",
    "json",
    "multipart",
    "timeout",
    "redirects",
    "max_redirects",
    "expect",
    "auth",
    "compress",
    "discard",
    "allow_failure",
    "count",
    "tags",
    "stream",
    "max_buffer",
];
/// The additional option of `user:events`, which is read in Lua.
pub(crate) const EVENTS: [&str; 1] = ["reconnect"];
/// The field that holds a token among credentials.
pub(crate) const BEARER: [&str; 1] = ["bearer"];
/// The field for digest authentication among credentials.
pub(crate) const DIGEST: [&str; 1] = ["digest"];
/// The fields of a request's table that are not options.
pub(crate) const REQUEST: [&str; 3] = ["method", "path", "body"];

/// Reads `options` into a request. `other_fields` are the names of other fields in the table, which the caller reads: the
/// table of a whole request has its method, path and body.
///
/// # Errors
/// The message to raise at the plan's line.
pub(super) fn read(
    op: &mut RequestOp,
    options: &Table,
    other_fields: &[&str],
    budget: &mut Budget,
) -> Result<(), String> {
    let mut content_type = None;
    let mut compress = false;
    let (mut streams, mut max_buffer) = (false, None);
    for pair in options.pairs::<Value, Value>() {
        let (key, value) = pair.map_err(|error| error.to_string())?;
        let Value::String(key) = &key else {
            return Err("options are named: { name = \"front page\", timeout = 5 }".to_owned());
        };
        let key = escape_invalid(key);
        match key.as_str() {
            "name" => op.name = Some(values::read_name(&value, "option 'name'")?),
            "headers" => headers(op, &value, budget)?,
            "cookies" => cookies(op, &value, budget)?,
            "query" => query(op, &value, budget)?,
            "form" => {
                let encoded = encode_form(&value, "option 'form'", budget)?;
                body(op, encoded.into())?;
                content_type = Some("application/x-www-form-urlencoded".to_owned());
            }
            "json" => {
                body(op, json::encode(&value, budget)?.into())?;
                content_type = Some("application/json".to_owned());
            }
            "multipart" => {
                let (encoded, kind) = multipart::encode(&value, budget)?;
                body(op, encoded.into())?;
                content_type = Some(kind);
            }
            "timeout" => op.request.timeout = Some(read_timeout(&value)?),
            "redirects" => op.request.redirects = Redirects::AtMost(few(&value, &key)?),
            "max_redirects" => op.request.redirects = Redirects::UpTo(few(&value, &key)?),
            "expect" => op.expect = expect_options::read(&value, budget)?,
            "auth" => match digest(&value, budget)? {
                Some(credentials) => op.request.extras().digest = Some(Rc::new(credentials)),
                None => {
                    let value = authorization(&value, budget)?;
                    op.request.headers.push((header::AUTHORIZATION, value));
                }
            },
            "compress" => match read_string(&value, "option 'compress'")?.as_str() {
                "gzip" => compress = true,
                other => {
                    let other = shorten(other);
                    return Err(format!("option 'compress' knows \"gzip\", not \"{other}\""));
                }
            },
            "discard" => op.request.discard = read_discard(&value)?,
            "allow_failure" => op.allow_failure = read_flag(&value, "option 'allow_failure'")?,
            "count" => op.uncounted = !read_flag(&value, "option 'count'")?,
            "tags" => op.tags = Some(read_own_tags(&value, budget)?),
            "stream" => streams = read_flag(&value, "option 'stream'")?,
            "max_buffer" => max_buffer = Some(read_buffer(&value)?),
            shared if other_fields.contains(&shared) => {}
            unknown => {
                return Err(to_one_line(unknown_word(
                    "option",
                    &shorten(unknown),
                    "a request",
                    &[&OPTIONS, other_fields].concat(),
                )));
            }
        }
    }
    match (streams, max_buffer) {
        (false, _) if op.request.socket().is_some() => check_messages_only(op)?,
        (true, _) if op.request.socket().is_some() => {
            return Err("a WebSocket is a stream already: leave out 'stream'".to_owned());
        }
        _ if !op.expect.close_codes().is_empty() => {
            return Err("'close_code' of 'expect' is for a WebSocket: user:websocket(path, { expect = { close_code = 4401 } })".to_owned());
        }
        (true, most) => stream(op, most.unwrap_or(MAX_BUFFER))?,
        (false, Some(_)) => {
            return Err(
                "option 'max_buffer' is for a stream: { stream = true, max_buffer = 4194304 }"
                    .to_owned(),
            );
        }
        (false, None) if op.expect.reads_messages() => {
            return Err(
                "'min_events' and 'last' of 'expect' are for a stream: { stream = true, expect = { min_events = 1 } }"
                    .to_owned(),
            );
        }
        (false, None) => {}
    }
    if op.request.discard == Discard::OfRun && op.expect.reads_body() {
        op.request.discard = Discard::Nothing;
    }
    let named = names_content_type(op);
    if let Some(kind) = content_type.filter(|_| !named) {
        set_content_type(op, &kind);
    }
    if compress && !op.request.body.is_empty() {
        budget.take(op.request.body.len())?;
        op.request.body = gzipped(&op.request.body, budget)?;
        let encoding = (header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        op.request.headers.push(encoding);
    }
    Ok(())
}

/// Checks options that stand in a plan's text, as [`read`] would read them in a task.
///
/// # Errors
/// The message that the task would raise.
pub(crate) fn check_options(
    options: &Table,
    other_fields: &[&str],
    budget: &mut Budget,
) -> Result<(), String> {
    let mut op = RequestOp::new(Method::POST, "/");
    read(&mut op, options, other_fields, budget)
}

/// Returns whether the request has a content type already.
pub(super) fn names_content_type(op: &RequestOp) -> bool {
    let mut headers = op.request.headers.iter();
    headers.any(|(name, _)| name == header::CONTENT_TYPE)
}

/// Adds a content type to the request.
pub(super) fn set_content_type(op: &mut RequestOp, kind: &str) {
    if let Ok(kind) = HeaderValue::try_from(kind) {
        op.request.headers.push((header::CONTENT_TYPE, kind));
    }
}

fn gzipped(body: &[u8], budget: &Budget) -> Result<Bytes, String> {
    const PIECE_BYTES: usize = 64 << 10;
    /// The cost of compressing a byte: ten megabytes take a second where runs are long and no two are the same.
    const WEIGHT: u64 = 64;
    let cannot = |error| format!("cannot compress the body: {error}");
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    for piece in body.chunks(PIECE_BYTES) {
        budget.spend(piece.len() as u64 * WEIGHT)?;
        encoder.write_all(piece).map_err(cannot)?;
    }
    encoder.finish().map(Bytes::from).map_err(cannot)
}

fn headers(op: &mut RequestOp, value: &Value, budget: &mut Budget) -> Result<(), String> {
    let Value::Table(table) = value else {
        return Err(describe_mismatch(
            "option 'headers'",
            "a table { [\"X-Name\"] = \"value\" }",
            value,
        ));
    };
    for (name, value) in sorted_pairs(table, "header names", budget)? {
        // The value takes memory here, and again on its way.
        budget.take(byte_length(&value).saturating_mul(2) + ENTRY_BYTES)?;
        let value = read_scalar(&value, &format!("header '{name}'"))?;
        op.request.headers.push(header_line(&name, &value)?);
    }
    Ok(())
}

fn cookies(op: &mut RequestOp, value: &Value, budget: &mut Budget) -> Result<(), String> {
    let Value::Table(table) = value else {
        let kind = "a table { name = \"value\" }";
        return Err(describe_mismatch("option 'cookies'", kind, value));
    };
    for (name, value) in sorted_pairs(table, "names of cookies", budget)? {
        budget.take(byte_length(&value).saturating_mul(2) + ENTRY_BYTES)?;
        let value = read_scalar(&value, &format!("cookie '{name}'"))?;
        let text = String::from_utf8(value).ok();
        let text = text.filter(|value| is_cookie(&name, value));
        let Some(value) = text else {
            let name = shorten(&name);
            return Err(format!(
                "'{name}' of option 'cookies' cannot be a cookie: cookies have no line breaks, no ';' and only ASCII characters"
            ));
        };
        op.request.extras().cookies.push((name, value));
    }
    Ok(())
}

/// Checks the name and value of a header.
///
/// # Errors
/// One of them cannot be sent.
pub(crate) fn header_line(name: &str, value: &[u8]) -> Result<(HeaderName, HeaderValue), String> {
    let parsed = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| format!("'{}' is not a header name", shorten(name)))?;
    let value = HeaderValue::from_bytes(value).map_err(|_| {
        let name = shorten(name);
        format!("the value of header '{name}' has a line break or another control character")
    })?;
    Ok((parsed, value))
}

fn query(op: &mut RequestOp, value: &Value, budget: &mut Budget) -> Result<(), String> {
    let encoded = encode_form(value, "option 'query'", budget)?;
    if encoded.is_empty() {
        return Ok(());
    }
    let url = op.request.url.split('#').next().unwrap_or_default();
    let and = if url.contains('?') { '&' } else { '?' };
    op.request.url = format!("{url}{and}{encoded}").into();
    Ok(())
}

fn body(op: &mut RequestOp, body: Bytes) -> Result<(), String> {
    if !op.request.body.is_empty() {
        return Err(
            "a request has one body: a string, or the option 'form', 'json' or 'multipart'"
                .to_owned(),
        );
    }
    op.request.body = body;
    Ok(())
}

/// Reads credentials: `{ "name", "password" }`, `"name:password"` or `{ bearer = "token" }`.
fn authorization(value: &Value, budget: &mut Budget) -> Result<HeaderValue, String> {
    let mut take = |text: &LuaString| budget.take(text.as_bytes().len().saturating_mul(4));
    let wrong = || {
        describe_mismatch(
            "option 'auth'",
            "{ \"name\", \"password\" } or { bearer = \"token\" }",
            value,
        )
    };
    match value {
        Value::String(text) => {
            take(text)?;
            basic(&text.as_bytes())
        }
        Value::Table(table) => match table.raw_get::<Value>(BEARER[0]) {
            Ok(Value::String(token)) => {
                take(&token)?;
                bearer(&token.as_bytes())
            }
            _ => match (table.raw_get::<LuaString>(1), table.raw_get::<LuaString>(2)) {
                (Ok(name), Ok(password)) => {
                    take(&name)?;
                    take(&password)?;
                    basic(&[&name.as_bytes()[..], b":", &password.as_bytes()[..]].concat())
                }
                _ => Err(wrong()),
            },
        },
        _ => Err(wrong()),
    }
}

/// Reads `{ "name", "password", digest = true }`; `None` if it is not such a table.
fn digest(value: &Value, budget: &mut Budget) -> Result<Option<DigestCredentials>, String> {
    let Value::Table(table) = value else {
        return Ok(None);
    };
    match table.raw_get::<Value>(DIGEST[0]) {
        Ok(Value::Nil | Value::Boolean(false)) | Err(_) => return Ok(None),
        Ok(Value::Boolean(true)) => {}
        Ok(other) => {
            return Err(describe_mismatch(
                "'digest' of option 'auth'",
                "true or false",
                &other,
            ));
        }
    }
    match (table.raw_get::<LuaString>(1), table.raw_get::<LuaString>(2)) {
        (Ok(user), Ok(password)) => {
            budget.take(user.as_bytes().len() + password.as_bytes().len())?;
            Ok(Some(DigestCredentials {
                user: escape_invalid(&user),
                password: escape_invalid(&password),
            }))
        }
        _ => Err(
            "option 'auth' with 'digest' is { \"name\", \"password\", digest = true }".to_owned(),
        ),
    }
}

/// Encodes basic credentials (RFC 7617).
pub(crate) fn basic(credentials: &[u8]) -> Result<HeaderValue, String> {
    HeaderValue::try_from(format!("Basic {}", BASE64.encode(credentials)))
        .map_err(|error| error.to_string())
}

/// Encodes a bearer token (RFC 6750).
pub(crate) fn bearer(token: &[u8]) -> Result<HeaderValue, String> {
    HeaderValue::from_bytes(&[b"Bearer ", token].concat())
        .map_err(|_| "a bearer token has no line breaks or other control characters".to_owned())
}

/// Makes the response of a request one that the plan reads while it comes.
fn stream(op: &mut RequestOp, max_buffer: usize) -> Result<(), String> {
    check_messages_only(op)?;
    let headers = &mut op.request.headers;
    if !headers
        .iter()
        .any(|(name, _)| name == header::ACCEPT_ENCODING)
    {
        headers.push((
            header::ACCEPT_ENCODING,
            HeaderValue::from_static("identity"),
        ));
    }
    op.request.extras().stream = Some(Rc::new(StreamedBody::new(max_buffer)));
    Ok(())
}

/// Checks that no option needs the body of a response that is taken piece by piece.
fn check_messages_only(op: &RequestOp) -> Result<(), String> {
    if op.expect.reads_body() {
        let problem = "the response of { stream = true } is not kept: its 'expect' may have 'status', 'header', 'min_events' and 'last'; check the rest as it comes";
        return Err(problem.to_owned());
    }
    if op.request.discard != Discard::OfRun {
        return Err(
            "option 'discard' is for responses that are kept: that of { stream = true } is not"
                .to_owned(),
        );
    }
    Ok(())
}

/// Reads how many bytes of a stream may wait for the plan.
pub(crate) fn read_buffer(value: &Value) -> Result<usize, String> {
    const MAX_WAITING: i64 = 64 << 20;
    match value {
        Value::Integer(bytes @ 1..=MAX_WAITING) => Ok(*bytes as usize),
        other => {
            let kind = format!("a number of bytes from 1 to {MAX_WAITING}");
            Err(describe_mismatch("option 'max_buffer'", &kind, other))
        }
    }
}

/// Reads which bodies are not kept.
fn read_discard(value: &Value) -> Result<Discard, String> {
    match value {
        Value::Boolean(false) => Ok(Discard::Nothing),
        Value::Boolean(true) => Ok(Discard::All),
        Value::String(kind) if kind == "successful" => Ok(Discard::Successful),
        other => {
            let kind = "true, false or \"successful\"";
            Err(describe_mismatch("option 'discard'", kind, other))
        }
    }
}

/// Reads a number of redirects.
fn few(value: &Value, option: &str) -> Result<u8, String> {
    match value {
        Value::Integer(n) if (0..=100).contains(n) => Ok(*n as u8),
        other => {
            let kind = "a whole number from 0 to 100";
            Err(describe_mismatch(
                &format!("option '{option}'"),
                kind,
                other,
            ))
        }
    }
}

/// Reads a table of options, of which all must be known.
pub(crate) fn named(
    options: &Value,
    owner: &str,
    known: &[&str],
) -> Result<Vec<(String, Value)>, String> {
    let table = match options {
        Value::Nil => return Ok(Vec::new()),
        Value::Table(table) => table,
        other => {
            return Err(describe_mismatch(
                &format!("the options of {owner}"),
                "a table",
                other,
            ));
        }
    };
    let mut read = Vec::new();
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair.map_err(|error| error.to_string())?;
        let Value::String(key) = &key else {
            return Err("options are named: { timeout = 5 }".to_owned());
        };
        let key = escape_invalid(key);
        if !known.contains(&key.as_str()) {
            let message = unknown_word("option", &shorten(&key), owner, known);
            return Err(to_one_line(message));
        }
        read.push((key, value));
    }
    Ok(read)
}

/// Reads for how long something may take.
pub(super) fn read_timeout(value: &Value) -> Result<Duration, String> {
    match read_seconds(value, "option 'timeout'")? {
        Duration::ZERO => Err("option 'timeout' is in seconds and above 0".to_owned()),
        timeout => Ok(timeout),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::VmLimits;
    use rand::{Rng as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use std::rc::Rc;
    use std::sync::Arc;
    use std::time::Duration;
    use zlib_rs::{InflateConfig, ReturnCode};

    #[test]
    fn a_body_is_compressed_within_the_time_of_its_task() {
        let compress = |time, length| {
            let limits = VmLimits::new(time, 64 << 20, Some(Arc::default()));
            gzipped(&vec![b'x'; length], &Budget::new(0, &Rc::new(limits)))
        };
        let minute = Duration::from_secs(60);
        assert!(compress(minute, 1 << 20).is_ok_and(|gzip| gzip.len() < 1 << 12));
        assert!(compress(Duration::ZERO, 1 << 10).is_ok());
        let message = compress(Duration::ZERO, 1 << 20).expect_err("its time is over");
        assert!(message.contains("--lua-time"), "{message}");
    }

    #[test]
    fn another_library_reads_a_body_that_is_compressed() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1952);
        let borders = (0..=18).flat_map(|power| [(1 << power) - 1, 1 << power, (1 << power) + 1]);
        let pieces = (1..=5).flat_map(|number| [-1, 0, 1].map(|by| number * (48 << 10) + by));
        for length in borders.chain(pieces.map(|length| length as usize)) {
            let mut body = vec![b'x'; length];
            random.fill_bytes(&mut body[length / 2..]);
            let limits = VmLimits::new(Duration::from_secs(60), 64 << 20, Some(Arc::default()));
            let gzip = gzipped(&body, &Budget::new(0, &Rc::new(limits))).expect("time enough");
            let (mut room, config) = (vec![0; length + 1], InflateConfig { window_bits: 31 });
            let (read, code) = zlib_rs::decompress_slice(&mut room, &gzip, config);
            assert!(
                read == &body[..] && code == ReturnCode::Ok,
                "{length}: {code:?}"
            );
        }
    }
}
