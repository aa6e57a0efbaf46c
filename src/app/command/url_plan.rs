//! Translates `lgoose URL`, which requests one page over and over, into a plan.

use crate::cli;
use lgoose_base::error::{Diagnostic, Error};
use lgoose_base::files;
use lgoose_http::over_http;
use std::fmt::Write as _;

/// The plan for a URL.
#[derive(Debug)]
pub(super) struct UrlPlan {
    /// Source of the plan in Lua.
    pub(super) source: String,
    /// Base URL of the site.
    pub(super) host: String,
}

/// Messages of a stream, in the plan for one, by its content type.
const MESSAGES: &str = r#"local function messages(stream)
  local kind = stream.headers["content-type"] or ""
  if kind:find("event-stream", 1, true) then return stream:events() end
  if kind:find("json", 1, true) then return stream:lines() end
  return stream:chunks()
end

"#;

impl UrlPlan {
    /// Makes a plan of one task that requests the URL. Bodies are discarded unless `keep` is set.
    ///
    /// # Errors
    /// A mistake in the method, or a file for the body that cannot be read.
    pub(super) fn new(
        url: &str,
        request: &cli::OneRequest,
        retain: bool,
    ) -> Result<UrlPlan, Error> {
        let (host, path) = split(url);
        let name = path.split(['?', '#']).next().unwrap_or_default();
        let name = quoted(name.as_bytes());
        if let Some(host) = called(host) {
            return call_plan(host, path, request);
        }
        if let Some(host) = over_http(host) {
            return socket_plan(host, &name, path, request);
        }
        if !request.subprotocol.is_empty() {
            let problem = Diagnostic::new("only a WebSocket has a subprotocol");
            let help = "leave out '--subprotocol', or write the URL with 'ws://' or 'wss://'";
            return Err(problem.help(help).into());
        }
        let body = match &request.body {
            Some(text) => Some(body(text)?),
            None => None,
        };
        let method = match (&request.method, &body) {
            (Some(method), _) => checked(method)?,
            (None, Some(_)) => "POST",
            (None, None) => "GET",
        };
        let mut options = format!(
            "method = {}, path = {}",
            quoted(method.as_bytes()),
            quoted(path.as_bytes())
        );
        if let Some(body) = body {
            options += &format!(", body = {}", quoted(&body));
        }
        let source = if request.stream {
            format!(
                "{MESSAGES}task {{ {name}, function(user)\n  for _ in messages(user:request {{ {options}, stream = true }}) do end\nend }}\n"
            )
        } else {
            format!(
                "task {{ {name}, function(user)\n  user:request {{ {options}, discard = {} }}\nend }}\n",
                !retain
            )
        };
        Ok(UrlPlan {
            source,
            host: host.to_owned(),
        })
    }
}

/// Returns the base URL of a server of gRPC, `grpc://host` or `grpcs://host` with TLS, as one of HTTP.
fn called(host: &str) -> Option<String> {
    let (scheme, rest) = host.split_once("://")?;
    match scheme {
        "grpc" => Some(format!("http://{rest}")),
        "grpcs" => Some(format!("https://{rest}")),
        _ => None,
    }
}

/// Makes a plan of one task that calls a method of gRPC, which the server describes, with the body as JSON.
fn call_plan(host: String, path: &str, request: &cli::OneRequest) -> Result<UrlPlan, Error> {
    const SHAPE: &str = "write grpc://host:port/package.Service/Method";
    if request.method.is_some() {
        let problem = Diagnostic::new("the method of a call of gRPC is in its URL");
        return Err(problem
            .help(format!("leave out '--method', and {SHAPE}"))
            .into());
    }
    let method = path.trim_start_matches('/');
    let is_method = method.split_once('/').is_some_and(|(service, name)| {
        !service.is_empty() && !name.is_empty() && !name.contains(['/', '?', '#'])
    });
    if !is_method {
        let problem = Diagnostic::new("the URL of a call of gRPC names no method");
        return Err(problem.help(SHAPE).into());
    }
    let method = quoted(method.as_bytes());
    let message = match &request.body {
        Some(text) => quoted(&body(text)?),
        None => "{}".to_owned(),
    };
    let calls = if request.stream {
        format!(
            "  local call = user:grpc_stream({method})\n  call:send(message)\n  call:close_send()\n  \
             for _ in call:messages() do end\n"
        )
    } else {
        format!("  user:grpc({method}, message)\n")
    };
    let source = format!(
        "grpc.reflect()\n\nlocal message = {message}\n\ntask {{ {method}, function(user)\n{calls}end }}\n"
    );
    Ok(UrlPlan { source, host })
}

/// Makes a plan of one task that opens a WebSocket, sends the body and waits for one message, or reads all there are, and
/// closes it.
fn socket_plan(
    host: String,
    name: &str,
    path: &str,
    request: &cli::OneRequest,
) -> Result<UrlPlan, Error> {
    if request.method.is_some() {
        let problem = Diagnostic::new("a WebSocket has no method");
        return Err(problem.help("leave out '--method'").into());
    }
    let path = quoted(path.as_bytes());
    let offered = request
        .subprotocol
        .iter()
        .map(|name| quoted(name.as_bytes()));
    let offered: Vec<String> = offered.collect();
    let options = match offered.join(", ") {
        none if none.is_empty() => String::new(),
        names => format!(", {{ subprotocols = {{ {names} }} }}"),
    };
    let mut source = format!(
        "task {{ {name}, function(user)\n  local socket = user:websocket({path}{options})\n"
    );
    if let Some(text) = &request.body {
        let body = quoted(&body(text)?);
        source += &format!("  if socket:send({body}) then socket:receive() end\n");
    }
    if request.stream {
        source += "  for _ in socket:messages() do end\n";
    }
    source += "  socket:close()\nend }\n";
    Ok(UrlPlan { source, host })
}

/// Splits a URL into its base and its path with the query; if it has no path, that is `/`.
pub(super) fn split(url: &str) -> (&str, &str) {
    let start = url.find("://").map_or(0, |scheme| scheme + 3);
    match url[start..].find(['/', '?', '#']) {
        Some(length) if url[start + length..].starts_with('/') => url.split_at(start + length),
        Some(length) => (&url[..start + length], "/"),
        None => (url, "/"),
    }
}

/// Returns the bytes of a body; `@FILE` stands for the contents of the file, as in other tools.
fn body(text: &str) -> Result<Vec<u8>, Error> {
    let Some(path) = text.strip_prefix('@') else {
        return Ok(text.as_bytes().to_vec());
    };
    files::read(path.as_ref()).map_err(|error| {
        Diagnostic::new(format!(
            "cannot read the file of '--body' '{path}': {error}"
        ))
        .help("give the path of a file after the '@', or the text itself")
        .into()
    })
}

fn checked(method: &str) -> Result<&str, Error> {
    match http::Method::from_bytes(method.as_bytes()) {
        Ok(_) => Ok(method),
        Err(_) => Err(Diagnostic::new(format!("'{method}' is not a method"))
            .help("write one word, such as GET, POST or DELETE, after '--method'")
            .into()),
    }
}

/// Quotes bytes as a Lua string.
pub(super) fn quoted(bytes: &[u8]) -> String {
    let mut text = "\"".to_owned();
    for byte in bytes {
        match byte {
            b'"' | b'\\' | 0..b' ' | 0x7f.. => {
                // Writing into a string cannot fail.
                let _infallible = write!(text, "\\{byte:03}");
            }
            byte => text.push(char::from(*byte)),
        }
    }
    text + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(url: &str, method: Option<&str>, body: Option<&str>) -> UrlPlan {
        let request = cli::OneRequest {
            method: method.map(str::to_owned),
            body: body.map(str::to_owned),
            ..cli::OneRequest::default()
        };
        UrlPlan::new(url, &request, false).expect("a good request")
    }

    #[test]
    fn a_url_is_split_at_its_path() {
        for (url, host, path) in [
            ("http://a:1/b/c?d=/e", "http://a:1", "/b/c?d=/e"),
            ("https://a", "https://a", "/"),
            ("https://[::1]:8/", "https://[::1]:8", "/"),
            ("demo:drupal/node/1", "demo:drupal", "/node/1"),
            ("demo:drupal", "demo:drupal", "/"),
        ] {
            assert_eq!(split(url), (host, path), "{url}");
        }
    }

    #[test]
    fn the_plan_requests_the_page_and_is_named_after_its_path() {
        let plan = plan("http://a/b?c=1", None, None);
        assert_eq!(plan.host, "http://a");
        assert_eq!(
            plan.source,
            "task { \"/b\", function(user)\n  \
             user:request { method = \"GET\", path = \"/b?c=1\", discard = true }\nend }\n"
        );
    }

    #[test]
    fn the_plan_of_a_socket_sends_the_body_and_reads_what_there_is() {
        let mut request = cli::OneRequest {
            body: Some("hi".to_owned()),
            stream: true,
            ..cli::OneRequest::default()
        };
        let plan = UrlPlan::new("wss://a:1/b?c=1", &request, false).expect("a good request");
        assert_eq!(plan.host, "https://a:1");
        assert_eq!(
            plan.source,
            "task { \"/b\", function(user)\n  local socket = user:websocket(\"/b?c=1\")\n  \
             if socket:send(\"hi\") then socket:receive() end\n  \
             for _ in socket:messages() do end\n  socket:close()\nend }\n"
        );
        request.method = Some("PUT".to_owned());
        let error = UrlPlan::new("ws://a", &request, false).expect_err("a mistake");
        assert!(error.to_string().contains("a WebSocket has no method"));
    }

    #[test]
    fn the_plan_of_a_call_sends_the_body_as_its_message() {
        let mut request = cli::OneRequest {
            body: Some("{}".to_owned()),
            ..cli::OneRequest::default()
        };
        let plan = UrlPlan::new("grpcs://a:1/b.C/D", &request, false).expect("a good call");
        assert_eq!(plan.host, "https://a:1");
        assert_eq!(
            plan.source,
            "grpc.reflect()\n\nlocal message = \"{}\"\n\n\
             task { \"b.C/D\", function(user)\n  user:grpc(\"b.C/D\", message)\nend }\n"
        );
        for url in [
            "grpc://a",
            "grpc://a/b.C",
            "grpc://a/b.C/",
            "grpc://a/b.C/D/e",
        ] {
            let error = UrlPlan::new(url, &request, false).expect_err(url);
            assert!(error.to_string().contains("names no method"), "{url}");
        }
        request.method = Some("PUT".to_owned());
        let error = UrlPlan::new("grpc://a/b.C/D", &request, false).expect_err("a mistake");
        assert!(error.to_string().contains("is in its URL"));
    }

    #[test]
    fn a_body_makes_it_a_post_and_no_text_can_leave_its_string() {
        let source = plan("http://a/\"]=]\\", None, Some("x\" .. os.exit() --\n\0é")).source;
        assert!(source.contains("method = \"POST\""), "{source}");
        assert!(
            source.contains("body = \"x\\034 .. os.exit() --\\010\\000\\195\\169\""),
            "{source}"
        );
        assert!(source.contains("\"/\\034]=]\\092\""), "{source}");
        assert!(
            plan("http://a", Some("PUT"), Some(""))
                .source
                .contains("\"PUT\"")
        );
    }

    #[test]
    fn what_is_no_method_or_no_file_is_reported() {
        let request = |method: Option<&str>, body: Option<&str>| {
            let request = cli::OneRequest {
                method: method.map(str::to_owned),
                body: body.map(str::to_owned),
                ..cli::OneRequest::default()
            };
            let error = UrlPlan::new("http://a", &request, false).expect_err("a mistake");
            error.to_string()
        };
        assert!(request(Some("GET IT"), None).contains("'GET IT' is not a method"));
        assert!(request(None, Some("@/no/such")).contains("'--body' '/no/such'"));
    }
}
