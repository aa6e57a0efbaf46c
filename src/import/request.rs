//! One request as a call in the plan: its path, what it sends, and what is expected of it.

use super::exchange::{Body, Exchange, Kind, Part, is_json, media_of};
use super::forms::{Press, Submit};
use super::lua_text::{self, is_shallow, key, list, quoted, table};
use super::random::is_random;
use super::resolve::{Meaning, Place, Resolver};
use super::site::Kept;
use super::visit::title_of;
use serde_json::Value;

/// The longest body that stands in the plan where files can be written beside it.
const INLINE: usize = 1_000;
/// The longest JSON that is written as a table.
const TABLE_BYTES: usize = 64 << 10;

/// Headers that a browser sends by itself, or that the client does.
const BROWSERS: [&str; 40] = [
    "accept-encoding",
    "accept-language",
    "accept-charset",
    "alt-used",
    "authorization",
    "baggage",
    "cache-control",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "device-memory",
    "dnt",
    "downlink",
    "dpr",
    "ect",
    "expect",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "keep-alive",
    "origin",
    "pragma",
    "priority",
    "proxy-authorization",
    "proxy-connection",
    "purpose",
    "range",
    "referer",
    "rtt",
    "save-data",
    "te",
    "traceparent",
    "tracestate",
    "transfer-encoding",
    "upgrade-insecure-requests",
    "user-agent",
    "viewport-width",
    "x-client-data",
];

/// The files that go with the plan.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) wanted: bool,
    /// Name of the variable, name of the file, and content.
    pub(super) all: Vec<(String, String, Vec<u8>)>,
}

/// Writes the call of one exchange.
pub(super) struct Call<'a, 'b> {
    pub(super) kept: &'a Kept,
    pub(super) at: usize,
    pub(super) task: usize,
    pub(super) indent: usize,
    pub(super) resolver: &'b mut Resolver<'a>,
    pub(super) files: &'b mut Files,
    /// What is to be told about its line.
    pub(super) told: Vec<String>,
}

impl<'a> Call<'a, '_> {
    fn exchange(&self) -> &'a Exchange {
        &self.kept.exchanges[self.at]
    }

    /// Returns the call that sends the request.
    pub(super) fn send(&mut self) -> String {
        let exchange = self.exchange();
        let path = self.address(exchange);
        let mut options = self.options();
        let body = self.body(&mut options);
        let (expect, follow) = expect(exchange);
        options.extend(follow);
        options.extend(expect.map(|expect| ("expect".to_owned(), table(&expect, self.indent + 2))));
        let with_body = matches!(exchange.method.as_str(), "POST" | "PUT" | "PATCH");
        let plain = matches!(
            exchange.method.as_str(),
            "GET" | "HEAD" | "DELETE" | "OPTIONS"
        );
        let sends = body.is_some()
            || options
                .iter()
                .any(|(name, _)| matches!(name.as_str(), "form" | "json" | "multipart"));
        if with_body || (plain && !sends) {
            let mut arguments = vec![path];
            if with_body && (body.is_some() || !options.is_empty()) {
                arguments.push(body.unwrap_or_else(|| "nil".to_owned()));
            }
            if !options.is_empty() {
                arguments.push(table(&options, self.indent));
            }
            return format!(
                "user:{}({})",
                exchange.method.to_ascii_lowercase(),
                arguments.join(", ")
            );
        }
        let mut request = vec![
            ("method".to_owned(), quoted(&exchange.method)),
            ("path".to_owned(), path),
        ];
        request.extend(body.map(|body| ("body".to_owned(), body)));
        request.extend(options);
        format!("user:request {}", table(&request, self.indent))
    }

    /// Returns the call that submits a form, which is an expression.
    pub(super) fn submit(&mut self, form: &str, submit: &Submit) -> String {
        let mut fields = Vec::new();
        for (name, values) in &submit.fields {
            let mut items: Vec<String> = values.iter().map(|part| self.part_value(part)).collect();
            let value = match items.len() {
                0 => "{}".to_owned(),
                1 => items.swap_remove(0),
                _ => list(&items, self.indent + 2),
            };
            fields.push((key(name), value));
        }
        let mut options = self.options();
        match &submit.press {
            Press::Default => {}
            Press::None => options.push(("button".to_owned(), "false".to_owned())),
            Press::Named(name) => options.push(("button".to_owned(), quoted(name))),
        }
        let (expect, follow) = expect(self.exchange());
        options.extend(follow);
        options.extend(expect.map(|expect| ("expect".to_owned(), table(&expect, self.indent + 2))));
        let mut arguments = vec![form.to_owned()];
        if !fields.is_empty() || !options.is_empty() {
            arguments.push(table(&fields, self.indent));
        }
        if !options.is_empty() {
            arguments.push(table(&options, self.indent));
        }
        format!("user:submit({})", arguments.join(", "))
    }

    /// Returns the path, or the URL on another host, as an expression.
    fn address(&mut self, exchange: &Exchange) -> String {
        let url = &exchange.url;
        let mut text = Concatenation::default();
        if !self.kept.is_site(url) {
            text.literal(&url.origin().ascii_serialization());
        }
        let mut before = "";
        for segment in url.path().split('/').skip(1) {
            text.literal("/");
            let decoded = percent_encoding::percent_decode_str(segment).decode_utf8_lossy();
            match self.expression(Place::Path(before), &decoded) {
                Some(expression) => text.expression(encoded(&expression, &decoded)),
                None => text.literal(segment),
            }
            before = segment;
        }
        if let Some(query) = url.query() {
            for (nth, pair) in query.split('&').enumerate() {
                text.literal(if nth == 0 { "?" } else { "&" });
                let Some((name, value)) = pair.split_once('=') else {
                    text.literal(pair);
                    continue;
                };
                text.literal(name);
                text.literal("=");
                let spaced = value.replace('+', " ");
                let decoded = percent_encoding::percent_decode_str(&spaced).decode_utf8_lossy();
                match self.expression(Place::Field(name), &decoded) {
                    Some(expression) => text.expression(encoded(&expression, &decoded)),
                    None => text.literal(value),
                }
            }
        }
        text.finish()
    }

    /// Returns the expression for a value that is not as it was recorded.
    fn expression(&mut self, place: Place<'_>, value: &str) -> Option<String> {
        match self.resolver.meaning(self.at, self.task, place, value) {
            Meaning::Plain => None,
            Meaning::Unknown => {
                let what = match place {
                    Place::Path(_) => "a part of its path".to_owned(),
                    Place::Field(name) => format!("'{}'", lua_text::comment(name)),
                    Place::Header(name) => format!("header '{}'", lua_text::comment(name)),
                };
                let start: String = value.chars().take(24).collect();
                let dots = if start.len() < value.len() { "…" } else { "" };
                self.told.push(format!(
                    "{what} looks made for this visit ('{start}{dots}'), and no answer brought it"
                ));
                None
            }
            Meaning::Value(number) => Some(self.resolver.expression(number)),
            Meaning::Cookie(name, false) => Some(format!("user.cookies:get({})", quoted(&name))),
            Meaning::Cookie(name, true) => {
                Some(format!("url.decode(user.cookies:get({}))", quoted(&name)))
            }
            Meaning::Secret(name) => Some(name),
        }
    }

    /// Returns headers and credentials.
    fn options(&mut self) -> Vec<(String, String)> {
        let exchange = self.exchange();
        let mut options = Vec::new();
        let mut headers: Vec<(String, String)> = Vec::new();
        for (name, value) in &exchange.headers {
            let is_own = BROWSERS.contains(&name.as_str())
                || name.starts_with("sec-")
                || name.starts_with(':')
                || !is_token(name);
            let is_known = headers.iter().any(|(known, _)| *known == key(name));
            // What a page is asked for with, browsers choose.
            let wanted = exchange.kind == Kind::Call
                && !(name == "accept"
                    && (value.is_empty()
                        || value.starts_with("*/*")
                        || value.starts_with("text/html")));
            if is_own || is_known || !wanted || value.chars().any(char::is_control) {
                continue;
            }
            let value = match self.expression(Place::Header(name), value) {
                Some(expression) => expression,
                None => quoted(value),
            };
            headers.push((key(name), value));
        }
        if let (Some(kind), Some(Body::Text(_) | Body::Json(_))) =
            (exchange.header("content-type"), &exchange.body)
            && !(matches!(exchange.body, Some(Body::Json(_)))
                && media_of(kind) == "application/json")
            && !kind.chars().any(char::is_control)
        {
            headers.push((key("content-type"), quoted(kind)));
        }
        if !headers.is_empty() {
            options.push(("headers".to_owned(), table(&headers, self.indent + 2)));
        }
        let auth = self.credentials(exchange);
        options.extend(auth.map(|auth| ("auth".to_owned(), auth)));
        options
    }

    fn credentials(&mut self, exchange: &Exchange) -> Option<String> {
        let header = exchange
            .header("authorization")
            .map(|value| value.split_once(' ').unwrap_or(("", value)));
        let basic = exchange.auth.clone().or_else(|| {
            let (_, value) = header.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"))?;
            use base64::Engine as _;
            let bytes = base64::engine::general_purpose::STANDARD
                .decode(value.trim())
                .ok()?;
            let text = String::from_utf8(bytes).ok()?;
            let (user, password) = text.split_once(':')?;
            Some((user.to_owned(), password.to_owned()))
        });
        if let Some((user, password)) = basic {
            let what = format!(
                "the password of '{}' for {}",
                lua_text::comment(&user),
                exchange.url.path()
            );
            let password = match password.is_empty() {
                true => "\"\"".to_owned(),
                false => self.resolver.secret("PASSWORD", &password, &what),
            };
            return Some(format!("{{ {}, {password} }}", quoted(&user)));
        }
        let (scheme, value) = header?;
        if scheme.eq_ignore_ascii_case("bearer") {
            let token = self.expression(Place::Header("authorization"), value.trim());
            return Some(format!(
                "{{ bearer = {} }}",
                token.unwrap_or_else(|| quoted(value))
            ));
        }
        let text =
            "has an 'Authorization' of a kind that is not imported: set it in 'headers' or 'auth'";
        self.told.push(text.to_owned());
        None
    }

    /// Returns the body as an argument, or adds the option that it is.
    fn body(&mut self, options: &mut Vec<(String, String)>) -> Option<String> {
        let exchange = self.exchange();
        match exchange.body.as_ref()? {
            Body::Form(fields) => {
                let mut all: Vec<(String, Vec<String>)> = Vec::new();
                for (name, value) in fields {
                    let value = self.text(name, value);
                    match all.iter_mut().find(|(known, _)| *known == key(name)) {
                        Some((_, values)) => values.push(value),
                        None => all.push((key(name), vec![value])),
                    }
                }
                let fields = all
                    .into_iter()
                    .map(|(name, mut values)| match values.len() {
                        1 => (name, values.swap_remove(0)),
                        _ => (name, list(&values, self.indent + 4)),
                    });
                options.push((
                    "form".to_owned(),
                    table(&fields.collect::<Vec<_>>(), self.indent + 2),
                ));
                None
            }
            Body::Multipart(parts) => {
                let mut items = Vec::new();
                for part in parts {
                    let mut fields = vec![("name".to_owned(), quoted(&part.name))];
                    fields.extend(self.part_fields(part));
                    items.push(table(&fields, self.indent + 4));
                }
                options.push(("multipart".to_owned(), list(&items, self.indent + 2)));
                None
            }
            Body::Json(json) if is_shallow(json) && json.to_string().len() <= TABLE_BYTES => {
                let text = lua_text::json(
                    json,
                    &mut Vec::new(),
                    self.indent + 2,
                    &mut |keys, value| self.scalar(keys, value),
                );
                options.push(("json".to_owned(), text));
                None
            }
            Body::Json(json) => Some(self.long(json.to_string(), "json")),
            Body::Text(text) => {
                let kind = exchange
                    .header("content-type")
                    .map(media_of)
                    .unwrap_or_default();
                Some(self.long(text.clone(), if is_json(&kind) { "json" } else { "txt" }))
            }
        }
    }

    fn scalar(&mut self, keys: &[String], value: &Value) -> Option<String> {
        let name = keys.last().map_or("", String::as_str);
        match value {
            Value::String(text) => self.expression(Place::Field(name), text),
            Value::Number(number) => self.expression(Place::Field(name), &number.to_string()),
            _ => None,
        }
    }

    /// Returns the value of a field of a form.
    fn text(&mut self, name: &str, value: &str) -> String {
        self.expression(Place::Field(name), value)
            .unwrap_or_else(|| quoted(value))
    }

    fn part_value(&mut self, part: &Part) -> String {
        match (&part.filename, &part.data) {
            (None, Some(data)) => self.text(&part.name, data),
            _ => table(&self.part_fields(part), self.indent + 2),
        }
    }

    fn part_fields(&mut self, part: &Part) -> Vec<(String, String)> {
        let mut fields = Vec::new();
        fields.extend(
            part.filename
                .as_ref()
                .map(|name| ("filename".to_owned(), quoted(name))),
        );
        fields.extend(
            part.media
                .as_ref()
                .filter(|media| media.contains('/'))
                .map(|media| ("type".to_owned(), quoted(media))),
        );
        let data = match (&part.data, &part.filename) {
            (Some(data), None) => self.text(&part.name, data),
            (Some(data), Some(_)) => self.long(data.clone(), "txt"),
            (None, _) => {
                let name = part.filename.as_deref().unwrap_or(&part.name);
                self.told.push(format!(
                    "the recording lacks what is in '{}': put the file beside the plan and write data = file(\"NAME\")",
                    lua_text::comment(name)
                ));
                "\"\"".to_owned()
            }
        };
        fields.push(("data".to_owned(), data));
        fields
    }

    /// Returns a text, which is kept in a file if it is long.
    fn long(&mut self, text: String, ending: &str) -> String {
        if !self.files.wanted || text.len() <= INLINE {
            return quoted(&text);
        }
        let same = self
            .files
            .all
            .iter()
            .find(|(.., content)| content == text.as_bytes());
        if let Some((variable, ..)) = same {
            return variable.clone();
        }
        let number = self.files.all.len() + 1;
        let variable = format!("BODY_{number}");
        self.files.all.push((
            variable.clone(),
            format!("body-{number}.{ending}"),
            text.into_bytes(),
        ));
        variable
    }
}

type Fields = Vec<(String, String)>;

/// Returns what the answer is expected to be, and how far redirects are followed.
fn expect(exchange: &Exchange) -> (Option<Fields>, Option<(String, String)>) {
    let stays = ("max_redirects".to_owned(), "0".to_owned());
    let Some(answer) = &exchange.answer else {
        return (None, (!exchange.follows).then_some(stays));
    };
    let status = if answer.status == 304 {
        200
    } else {
        answer.status
    };
    let redirects = (300..400).contains(&status);
    if redirects && exchange.follows {
        // Where it leads was not recorded.
        return (None, None);
    }
    let mut expect = vec![("status".to_owned(), status.to_string())];
    let title = title_of(answer).filter(|_| exchange.kind == Kind::Page);
    let title = title.filter(|title| !title.split_whitespace().any(is_random));
    expect.extend(title.map(|title| ("title".to_owned(), quoted(&title))));
    (Some(expect), redirects.then_some(stays))
}

/// Returns whether a text can be the name of a header.
fn is_token(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Returns an expression as a part of a URL.
fn encoded(expression: &str, value: &str) -> String {
    let plain = value
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte));
    match plain {
        true => expression.to_owned(),
        false => format!("url.encode({expression})"),
    }
}

/// A text of literals and expressions.
#[derive(Default)]
struct Concatenation {
    parts: Vec<String>,
    literal: String,
}

impl Concatenation {
    fn literal(&mut self, text: &str) {
        self.literal.push_str(text);
    }

    fn expression(&mut self, expression: String) {
        if !self.literal.is_empty() {
            self.parts.push(quoted(&std::mem::take(&mut self.literal)));
        }
        self.parts.push(expression);
    }

    fn finish(mut self) -> String {
        if !self.literal.is_empty() || self.parts.is_empty() {
            self.parts.push(quoted(&self.literal));
        }
        self.parts.join(" .. ")
    }
}
