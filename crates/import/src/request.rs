//! One request as a call in the plan: its path, its body and its expectations.

use super::body::{body, part_value};
use super::exchange::{Body, ExchangeKind, RecordedExchange, media_of};
use super::forms::lacks_body;
use super::forms::{ButtonPress, FormSubmission};
use super::keys::{is_chance, is_key};
use super::lua_text::{self, key, list, quoted, quoted_bytes, table, table_after};
use super::parts::{CALL, Concatenation, FieldPairs, call, encoded, entry, expect, is_token};
use super::resolve::{ValueOrigin, ValuePosition, ValueResolver};
use super::script_variables::{ScriptVariables, TextPart};
use super::site::SelectedExchanges;
use super::stand_in::stand_in;
use std::collections::HashSet;

/// The longest body that stands in the plan where files can be written beside it.
const INLINE: usize = 1_000;
/// The most files: each is a local of the plan, of which Lua takes 200.
const MAX_FILES: usize = 80;

/// Headers that a plan has in another form, or that the client sends by itself.
const OWN: [&str; 9] = [
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "proxy-authorization",
    "te",
    "transfer-encoding",
];

/// The files that go with the plan.
#[derive(Debug, Default)]
pub(super) struct PlanAttachments {
    pub(super) enabled: bool,
    /// Name of the variable, name of the file, and content.
    pub(super) all: Vec<(String, String, Vec<u8>)>,
}

impl PlanAttachments {
    /// Makes the list; without files, all texts stand in the plan.
    pub(super) fn new(enabled: bool) -> Self {
        let all = Vec::new();
        PlanAttachments { enabled, all }
    }

    /// Returns the expression for a text, which is kept in a file if it is long.
    pub(super) fn store(&mut self, text: String, ending: &str) -> String {
        if !self.enabled || text.len() <= INLINE || self.all.len() >= MAX_FILES {
            return quoted(&text);
        }
        self.file("body", text.into_bytes(), ending)
    }

    /// Returns the expression for a file that the recording lacks, and the note on it.
    pub(super) fn stand_in(&mut self, name: &str, media: Option<&str>) -> (String, String) {
        let (content, ending) = stand_in(name, media);
        let shown = lua_text::comment(name);
        if !self.enabled || self.all.len() >= MAX_FILES {
            let message = format!(
                "what is in '{shown}' is not known, and a small file is sent: put it beside the plan and write data = file(\"NAME\")"
            );
            return (quoted_bytes(&content), message);
        }
        let variable = self.file("upload", content, ending);
        let mut files = self.all.iter();
        let file = files.find(|(key, ..)| *key == variable);
        let file = file.map_or("", |(_, file, _)| file.as_str());
        let message = format!(
            "what is in '{shown}' is not known, and a small file is sent: put what it was into '{file}'"
        );
        (variable, message)
    }

    /// Returns the expression for bytes, which are kept in a file.
    pub(super) fn bytes(&mut self, kind: &str, content: Vec<u8>, ending: &str) -> String {
        if !self.enabled || self.all.len() >= MAX_FILES {
            return quoted_bytes(&content);
        }
        self.file(kind, content, ending)
    }

    fn file(&mut self, kind: &str, content: Vec<u8>, ending: &str) -> String {
        let mut files = self.all.iter();
        if let Some((variable, ..)) = files.find(|(.., existing)| *existing == content) {
            return variable.clone();
        }
        let number = self.all.len() + 1;
        let variable = format!("{}_{number}", kind.to_ascii_uppercase());
        let name = format!("{kind}-{number}.{ending}");
        self.all.push((variable.clone(), name, content));
        variable
    }
}

/// Writes the call of one exchange.
pub(super) struct CallWriter<'a, 'b> {
    pub(super) selection: &'a SelectedExchanges,
    pub(super) at: usize,
    pub(super) task: usize,
    pub(super) indent: usize,
    pub(super) resolver: &'b mut ValueResolver<'a>,
    pub(super) files: &'b mut PlanAttachments,
    /// Notes on its line.
    pub(super) notes: Vec<LineNote>,
}

/// A note on a line of the plan.
pub(super) struct LineNote {
    pub(super) text: String,
    /// The value that looks made for the visit: one note lists all of its lines.
    pub(super) made: Option<String>,
}

impl From<String> for LineNote {
    /// Returns a note that is never merged.
    fn from(text: String) -> LineNote {
        LineNote { text, made: None }
    }
}

impl<'a> CallWriter<'a, '_> {
    pub(super) fn exchange(&self) -> &'a RecordedExchange {
        &self.selection.exchanges[self.at]
    }

    /// Returns the call that sends the request.
    pub(super) fn send(&mut self) -> String {
        let (path, body, options) = self.described();
        call(&self.exchange().method, path, body, options, self.indent)
    }

    /// Returns the table that describes the request among others.
    pub(super) fn entry(&mut self) -> String {
        let (path, body, options) = self.described();
        entry(&self.exchange().method, path, body, options, self.indent)
    }

    /// Returns path, body and options.
    fn described(&mut self) -> (String, Option<String>, FieldPairs) {
        let exchange = self.exchange();
        let path = self.address(exchange);
        let mut options = self.options(self.content_type());
        let body = body(self, &mut options);
        let (expect, follow) = expect(exchange);
        options.extend(follow);
        options.extend(expect.map(|expect| ("expect".to_owned(), table(&expect, self.indent + 2))));
        (path, body, options)
    }

    /// Returns the call that submits a form, which is an expression.
    pub(super) fn submit(&mut self, form: &str, submit: &FormSubmission) -> String {
        let mut fields = Vec::new();
        for (name, values) in &submit.fields {
            let mut items: Vec<String> = values.iter().map(|part| part_value(self, part)).collect();
            if submit.free.contains(name) {
                // Sites refuse a text that they have already.
                for (item, part) in items.iter_mut().zip(values) {
                    if let Some(text) = part.data.as_ref().filter(|text| *item == quoted(text)) {
                        *item = format!("{} .. random.words(3)", quoted(&format!("{text} ")));
                    }
                }
            }
            let value = match items.len() {
                0 => "{}".to_owned(),
                1 => items.swap_remove(0),
                _ => list(&items, self.indent + 2),
            };
            fields.push((key(name), value));
        }
        // The form has the type.
        let mut options = self.options(None);
        match &submit.press {
            ButtonPress::Default => {}
            ButtonPress::None => options.push(("button".to_owned(), "false".to_owned())),
            ButtonPress::Named(name) => options.push(("button".to_owned(), quoted(name))),
        }
        let (expect, follow) = expect(self.exchange());
        options.extend(follow);
        options.extend(expect.map(|expect| ("expect".to_owned(), table(&expect, self.indent + 2))));
        let mut arguments = vec![form.to_owned()];
        let mut used = CALL + form.chars().count();
        if !fields.is_empty() || !options.is_empty() {
            arguments.push(table_after(&fields, self.indent, used));
            used = if arguments[1].contains('\n') {
                0
            } else {
                used + arguments[1].chars().count()
            };
        }
        if !options.is_empty() {
            arguments.push(table_after(&options, self.indent, used));
        }
        format!("user:submit({})", arguments.join(", "))
    }

    /// Returns the path, or the URL on another host, as an expression.
    fn address(&mut self, exchange: &RecordedExchange) -> String {
        let url = &exchange.url;
        let mut text = Concatenation::default();
        if !self.selection.is_site(url) {
            text.literal(&url.origin().ascii_serialization());
        }
        let mut before = "";
        for segment in url.path().split('/').skip(1) {
            text.literal("/");
            let decoded = percent_encoding::percent_decode_str(segment).decode_utf8_lossy();
            match self.expression(ValuePosition::Path(before), &decoded) {
                Some(expression) => text.expression(encoded(&expression, &decoded)),
                None => text.literal(segment),
            }
            before = segment;
        }
        if let Some(query) = url.query() {
            for (nth, pair) in query.split('&').enumerate() {
                text.literal(if nth == 0 { "?" } else { "&" });
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                let known = percent_encoding::percent_decode_str(name).decode_utf8_lossy();
                match self.spliced(&known) {
                    Some(expression) => text.expression(encoded(&expression, &known)),
                    None => text.literal(name),
                }
                if !pair.contains('=') {
                    continue;
                }
                text.literal("=");
                let spaced = value.replace('+', " ");
                let decoded = percent_encoding::percent_decode_str(&spaced).decode_utf8_lossy();
                match self.expression(ValuePosition::Field(name), &decoded) {
                    Some(expression) => text.expression(encoded(&expression, &decoded)),
                    None => text.literal(value),
                }
            }
        }
        text.finish()
    }

    /// Returns the expression for a value that is not as it was recorded.
    pub(super) fn expression(&mut self, place: ValuePosition<'_>, value: &str) -> Option<String> {
        if let Some(spliced) = self.spliced(value) {
            return Some(spliced);
        }
        match self.resolver.meaning(self.at, self.task, place, value) {
            ValueOrigin::Plain => None,
            ValueOrigin::Unknown => {
                let what = match place {
                    ValuePosition::Path(_) => "a part of its path".to_owned(),
                    ValuePosition::Field(name) => format!("'{}'", lua_text::comment(name)),
                    ValuePosition::Header(name) => format!("header '{}'", lua_text::comment(name)),
                };
                let start: String = value.chars().take(24).collect();
                let dots = if start.len() < value.len() { "…" } else { "" };
                self.notes.push(LineNote {
                    text: format!(
                        "{what} looks made for this visit ('{start}{dots}'), and no answer brought it"
                    ),
                    made: Some(what),
                });
                None
            }
            ValueOrigin::Value(number) => Some(self.resolver.expression(number)),
            ValueOrigin::Cookie(name, false) => {
                Some(format!("user.cookies:get({})", quoted(&name)))
            }
            ValueOrigin::Cookie(name, true) => {
                Some(format!("url.decode(user.cookies:get({}))", quoted(&name)))
            }
            ValueOrigin::Secret(name) => Some(name),
        }
    }

    /// Returns the type of the body, unless it is the one that lgoose sends with it.
    fn content_type(&self) -> Option<&'a str> {
        let exchange = self.exchange();
        let kind = exchange.header("content-type")?;
        let is_named = match &exchange.body {
            Some(Body::Text(_) | Body::Bytes(_)) => true,
            Some(Body::Json(_)) if exchange.is_typed => kind != "application/json",
            Some(Body::Json(_)) => media_of(kind) != "application/json",
            Some(Body::Form(_) | Body::Multipart(_)) => false,
            // A script may set a type without a body.
            None => exchange.kind == ExchangeKind::Call && !lacks_body(exchange),
        };
        Some(kind).filter(|kind| is_named && !kind.chars().any(char::is_control))
    }

    /// Returns headers and credentials.
    fn options(&mut self, content_type: Option<&str>) -> Vec<(String, String)> {
        let exchange = self.exchange();
        let mut options = Vec::new();
        let mut headers: Vec<(String, String)> = Vec::new();
        let mut sent = HashSet::new();
        for (name, value) in &exchange.headers {
            if OWN.contains(&name.as_str()) || name.starts_with(':') {
                continue;
            }
            if !is_token(name) || value.chars().any(char::is_control) {
                let text = format!(
                    "header '{}' is none, and is left out",
                    lua_text::comment(name)
                );
                self.notes.push(text.into());
                continue;
            }
            if !sent.insert(name) {
                let text = format!("header '{}' is sent once", lua_text::comment(name));
                self.notes.push(text.into());
                continue;
            }
            let value = match self.expression(ValuePosition::Header(name), value) {
                Some(expression) => expression,
                None => quoted(value),
            };
            headers.push((key(name), value));
        }
        headers.extend(content_type.map(|kind| (key("content-type"), quoted(kind))));
        headers.extend(self.authorization(exchange));
        if !headers.is_empty() {
            options.push(("headers".to_owned(), table(&headers, self.indent + 2)));
        }
        let auth = self.credentials(exchange);
        options.extend(auth.map(|auth| ("auth".to_owned(), auth)));
        options.extend(exchange.call.iter().cloned());
        options
    }

    fn credentials(&mut self, exchange: &RecordedExchange) -> Option<String> {
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
            let is_key = is_key(&user) || password.is_empty() && is_chance(&user);
            let known = self.spliced(&user);
            let user = match known {
                Some(expression) => expression,
                None if is_key => {
                    let what = format!("the key for {}", exchange.url.path());
                    self.resolver.secrets.variable("API_KEY", &user, &what)
                }
                None => quoted(&user),
            };
            let password = match self.spliced(&password) {
                Some(expression) => expression,
                None if password.is_empty() => "\"\"".to_owned(),
                None => self.resolver.secrets.variable("PASSWORD", &password, &what),
            };
            let digest = if exchange.digest {
                ", digest = true"
            } else {
                ""
            };
            return Some(format!("{{ {user}, {password}{digest} }}"));
        }
        let (scheme, value) = header?;
        if scheme.eq_ignore_ascii_case("bearer") {
            let token = self.expression(ValuePosition::Header("authorization"), value.trim());
            return Some(format!(
                "{{ bearer = {} }}",
                token.unwrap_or_else(|| quoted(value))
            ));
        }
        None
    }

    /// Returns the header of an authorization that is neither basic nor a bearer's: its scheme, with the rest as a
    /// variable.
    fn authorization(&mut self, exchange: &RecordedExchange) -> Option<(String, String)> {
        let value = exchange.header("authorization")?;
        let (scheme, secret) = value.split_once(' ').unwrap_or(("", value));
        if ["basic", "bearer"]
            .iter()
            .any(|one| scheme.eq_ignore_ascii_case(one))
        {
            return None;
        }
        let before = if scheme.is_empty() {
            String::new()
        } else {
            format!("{scheme} ")
        };
        let secret = match self.spliced(secret) {
            Some(expression) => expression,
            None => {
                let what = format!("the 'Authorization' for {}", exchange.url.path());
                self.resolver
                    .secrets
                    .variable("AUTHORIZATION", secret, &what)
            }
        };
        let value = match before.as_str() {
            "" => secret,
            before => format!("{} .. {secret}", quoted(before)),
        };
        Some(("authorization".to_owned(), value))
    }

    /// Returns the expression for a text that has variables of a script in it.
    pub(super) fn spliced(&mut self, text: &str) -> Option<String> {
        if !ScriptVariables::are_in(text) {
            return None;
        }
        let mut whole = Concatenation::default();
        for part in self.selection.variables.split(text) {
            match &part {
                TextPart::Literal(text) => whole.literal(text),
                TextPart::Variable(variable) | TextPart::Encoded(variable) => {
                    let name = match variable.name.as_str() {
                        "" => "VALUE",
                        name => name,
                    };
                    let value = self.resolver.secrets.variable(name, "", &variable.note());
                    whole.expression(match part {
                        TextPart::Encoded(..) => format!("url.encode({value})"),
                        _ => value,
                    });
                }
            }
        }
        Some(whole.finish())
    }
}
