//! Unary calls by Connect (<https://connectrpc.com/docs/protocol/>). Translates the end of their responses to the trailers of gRPC.

use super::GrpcCode;
use base64::Engine as _;
use lgoose_base::base64::BASE64;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::Value;
use std::fmt::Write as _;

/// The prefix of headers that stand in place of trailers.
const TRAILER: &str = "trailer-";

/// The ASCII characters that `grpc-message` escapes.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%');

/// Returns the trailers of a call that has succeeded, as lines of HTTP/1.1.
pub(super) fn trailers(headers: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut lines = b"grpc-status: 0\r\n".to_vec();
    for (name, value) in headers {
        if let Some(name) = name.strip_prefix(TRAILER) {
            lines.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
    }
    lines
}

/// Translates the error in the body of a failed call to trailers of gRPC; `None` if the body is not an error of Connect.
pub(super) fn error_trailers(body: &[u8]) -> Option<Vec<u8>> {
    let error: Value = serde_json::from_slice(body).ok()?;
    let name = match error["code"].as_str()? {
        // Connect spells this one with a single 'l'.
        "canceled" => "CANCELLED".to_owned(),
        code => code.to_ascii_uppercase(),
    };
    let code = GrpcCode::named(&name)?.number();
    let message = error["message"].as_str().unwrap_or_default();
    let mut lines = format!("grpc-status: {code}\r\n");
    let escaped = utf8_percent_encode(message, ESCAPED);
    write!(lines, "grpc-message: {escaped}\r\n").ok()?;
    if let Some(details) = error["details"].as_array().filter(|list| !list.is_empty()) {
        let status = BASE64.encode(status(code, message, details));
        write!(lines, "grpc-status-details-bin: {status}\r\n").ok()?;
    }
    Some(lines.into_bytes())
}

/// Encodes a `google.rpc.Status`.
fn status(code: u8, message: &str, details: &[Value]) -> Vec<u8> {
    /// Writes a field of bytes.
    fn field(out: &mut Vec<u8>, number: u8, bytes: &[u8]) {
        out.push(number << 3 | 2);
        let mut length = bytes.len();
        while length > 0x7f {
            out.push(length as u8 | 0x80);
            length >>= 7;
        }
        out.push(length as u8);
        out.extend_from_slice(bytes);
    }
    let mut status = vec![1 << 3, code];
    field(&mut status, 2, message.as_bytes());
    for detail in details {
        let name = detail["type"].as_str().unwrap_or_default();
        let value = BASE64.decode(detail["value"].as_str().unwrap_or_default());
        let mut any = Vec::new();
        field(
            &mut any,
            1,
            format!("type.googleapis.com/{name}").as_bytes(),
        );
        field(&mut any, 2, &value.unwrap_or_default());
        field(&mut status, 3, &any);
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: Option<Vec<u8>>) -> String {
        String::from_utf8(lines.expect("an error of Connect")).expect("text")
    }

    #[test]
    fn an_error_has_the_status_of_grpc() {
        for (body, expected) in [
            (
                r#"{"code":"not_found","message":"gone"}"#,
                "grpc-status: 5\r\ngrpc-message: gone\r\n",
            ),
            (
                r#"{"code":"canceled"}"#,
                "grpc-status: 1\r\ngrpc-message: \r\n",
            ),
            (
                r#"{"code":"internal","message":"50 % caf\u00e9\nx"}"#,
                "grpc-status: 13\r\ngrpc-message: 50 %25 caf%C3%A9%0Ax\r\n",
            ),
            (
                r#"{"code":"aborted","message":"m","details":[{"type":"a.B","value":"AQ"}]}"#,
                "grpc-status: 10\r\ngrpc-message: m\r\ngrpc-status-details-bin: \
                 CAoSAW0aHAoXdHlwZS5nb29nbGVhcGlzLmNvbS9hLkISAQE=\r\n",
            ),
        ] {
            assert_eq!(text(error_trailers(body.as_bytes())), expected, "{body}");
        }
        for body in [
            "",
            "<html>",
            "{}",
            r#"{"code":"gone"}"#,
            r#"{"code":5}"#,
            "[]",
        ] {
            assert_eq!(error_trailers(body.as_bytes()), None, "{body}");
        }
    }

    #[test]
    fn headers_stand_in_place_of_trailers() {
        let header = |name: &str| (name.to_owned(), b"v".to_vec());
        let lines = trailers(&[header("content-type"), header("trailer-x-end")]);
        assert_eq!(text(Some(lines)), "grpc-status: 0\r\nx-end: v\r\n");
    }
}
