//! HTTP samplers and their requests.

use super::assertions::add_assertions;
use super::draft::JmeterImport;
use super::element::{JmeterElement, arguments, given, property};
use super::extractors::add_extractors;
use super::scope::JmeterScope;
use super::texts::{JmeterVariables, secret};
use super::timers::pauses_of;
use crate::calls::{LuaLiteral, OutlineCall, OutlineStep, PlanOutline};
use crate::lua_text::comment;
use crate::parts::{Concatenation, is_token};
use crate::secrets::{is_secret_field, is_secret_header};
use crate::xml::XmlElement;
use percent_encoding::percent_decode_str;
use regex::Captures;
use serde_json::Value;

// A field of JSON in a body, with its name and its text.
pattern!(SECRET, r#"("([\w-]{1,60})"(\s*:\s*)")([^"\\$]{1,500})(")"#);

/// Headers that the client sends by itself.
const OWN: [&str; 6] = [
    "connection",
    "content-length",
    "host",
    "accept-encoding",
    "transfer-encoding",
    "proxy-connection",
];

/// The address of a request.
struct SamplerAddress {
    /// `None` if the test plan names no host.
    site: Option<SamplerSite>,
    /// Its path with the query, as JMeter has it.
    path: String,
}

/// Scheme, host and port of a request; empty where a variable of its path has them.
struct SamplerSite {
    /// The text, with the values of variables that are known.
    text: String,
    expression: Concatenation,
    /// Whether it is known before a user starts.
    is_known: bool,
}

impl SamplerSite {
    fn new(text: String, variables: &mut JmeterVariables, calls: &mut PlanOutline) -> SamplerSite {
        let (expression, is_known) = variables.site(&text, calls);
        SamplerSite {
            text: variables.fixed_or_same(&text),
            expression,
            is_known,
        }
    }
}

/// Returns the steps of a sampler: its pauses, and its request.
pub(super) fn read_sampler<'a>(
    import: &mut JmeterImport<'a>,
    element: JmeterElement<'a>,
    scope: &JmeterScope<'a>,
) -> Vec<OutlineStep> {
    let address = read_address(import, element, scope);
    let mut url = Concatenation::default();
    if let Some(site) = address.site {
        let code = site.expression.clone().finish();
        if import.site.as_ref() != Some(&code) {
            url = site.expression;
        }
        if site.is_known {
            *import.origins.entry(code).or_default() += 1;
        }
    }
    let (variables, calls) = (&mut import.variables, &mut import.calls);
    url.append(variables.template(&address.path, calls));
    let method = given(element.property("HTTPSampler.method").trim(), "GET");
    let known = variables
        .fixed(method)
        .filter(|method| http::Method::from_bytes(method.as_bytes()).is_ok());
    if known.is_none() {
        let (name, method) = (comment(element.name()), comment(method));
        calls.note(format!(
            "'{name}': GET is sent, as its method is not known: {method}"
        ));
    }
    let mut call = OutlineCall {
        method: known.unwrap_or_else(|| "GET".to_owned()),
        path: url.finish(),
        tolerates_failure: true,
        ..OutlineCall::default()
    };
    call.option("name", variables.value(element.name(), calls));
    add_headers(import, element, scope, &mut call);
    add_credentials(import, element, scope, &mut call);
    add_body(import, element, scope, &mut call);
    let follows = element.is_set("HTTPSampler.follow_redirects")
        || element.is_set("HTTPSampler.auto_redirects");
    if !follows {
        call.option("max_redirects", 0);
    }
    let timeout = own_or_default(element, scope, "HTTPSampler.response_timeout");
    if !matches!(timeout, "" | "0")
        && let Some(seconds) = import.variables.seconds(timeout, &mut import.calls)
    {
        call.option("timeout", LuaLiteral::Expression(seconds));
    }
    if element.is_set("HTTPSampler.image_parser") {
        if !element.property("HTTPSampler.embedded_url_re").is_empty() {
            let note = "all that the page embeds on its site is fetched: 'embedded_url_re' is not carried over";
            call.note(note);
        }
        call.after.push("user:fetch(answer:assets())".to_owned());
    }
    add_assertions(import, scope, &mut call);
    add_extractors(import, scope, &mut call);
    match scope.on_error {
        "startnextloop" => call
            .after
            .push("if not answer.ok then user:exit_iteration() end".to_owned()),
        "stopthread" => call
            .after
            .push("if not answer.ok then user:stop() end".to_owned()),
        _ => {}
    }
    let place = format!("'{}'", comment(element.name()));
    call.name_in_notes(&place);
    let mut steps = pauses_of(import, scope);
    steps.push(OutlineStep::Call(Box::new(call)));
    steps
}

/// Returns a property of a sampler, or its default where it is left out.
fn own_or_default<'a>(element: JmeterElement<'a>, scope: &JmeterScope<'a>, name: &str) -> &'a str {
    given(element.property(name).trim(), scope.default_of(name))
}

fn read_address<'a>(
    import: &mut JmeterImport<'a>,
    element: JmeterElement<'a>,
    scope: &JmeterScope<'a>,
) -> SamplerAddress {
    let of = |name: &str| own_or_default(element, scope, name);
    let path = of("HTTPSampler.path").replace(' ', "%20");
    let (variables, calls) = (&mut import.variables, &mut import.calls);
    let fixed = variables.fixed(&path);
    let whole = fixed.as_deref().unwrap_or(&path);
    if whole.starts_with("http://") || whole.starts_with("https://") {
        let start = whole.find("://").map_or(0, |at| at + 3);
        let end = whole[start..].find(['/', '?']);
        let (origin, path) = whole.split_at(end.map_or(whole.len(), |end| start + end));
        return SamplerAddress {
            site: Some(SamplerSite::new(origin.to_owned(), variables, calls)),
            path: rooted(path),
        };
    }
    let domain = of("HTTPSampler.domain");
    if domain.is_empty() {
        // A variable may have the whole URL.
        let site = path.starts_with("${").then(|| SamplerSite {
            text: String::new(),
            expression: Concatenation::default(),
            is_known: false,
        });
        return SamplerAddress {
            path: if site.is_some() { path } else { rooted(&path) },
            site,
        };
    }
    let protocol = given(of("HTTPSampler.protocol"), "http");
    let port = of("HTTPSampler.port");
    let usual = match variables.fixed(protocol).as_deref() {
        Some("https") => "443",
        _ => "80",
    };
    let is_usual = port.is_empty()
        || variables
            .fixed(port)
            .is_some_and(|port| port == usual || port.is_empty());
    let port = if is_usual {
        String::new()
    } else {
        format!(":{port}")
    };
    let protocol = match variables.fixed(protocol) {
        Some(fixed) => fixed.to_ascii_lowercase(),
        None => protocol.to_owned(),
    };
    // Some write the scheme into the field of the host.
    let domain_fixed = variables.fixed(domain);
    let domain = domain_fixed.as_deref().unwrap_or(domain);
    let text = if domain.contains("://") {
        format!("{}{port}", domain.trim_end_matches('/'))
    } else {
        format!("{protocol}://{}{port}", domain.trim_end_matches('/'))
    };
    SamplerAddress {
        site: Some(SamplerSite::new(text, variables, calls)),
        path: rooted(&path),
    }
}

fn add_headers<'a>(
    import: &mut JmeterImport<'a>,
    element: JmeterElement<'a>,
    scope: &JmeterScope<'a>,
    call: &mut OutlineCall,
) {
    let mut seen = Vec::new();
    for (name, text) in &scope.headers {
        let lower = name.to_ascii_lowercase();
        if OWN.contains(&lower.as_str()) {
            continue;
        }
        if !is_token(name) {
            let name = comment(name);
            call.note(format!("left out the header '{name}', which is none"));
            continue;
        }
        if seen.contains(&lower) {
            continue;
        }
        let text = text.trim();
        let is_fixed = !text.contains("${");
        let (variables, calls) = (&mut import.variables, &mut import.calls);
        let value = if is_fixed && is_secret_header(&lower) && !text.is_empty() {
            let what = format!(
                "header '{}' of '{}'",
                comment(name),
                comment(element.name())
            );
            calls.secret_header(name, text, "AUTHORIZATION", &what)
        } else {
            variables.value(&text.replace(['\r', '\n'], " "), calls)
        };
        seen.push(lower);
        call.set("headers", name, value);
    }
}

fn add_credentials<'a>(
    import: &mut JmeterImport<'a>,
    element: JmeterElement<'a>,
    scope: &JmeterScope<'a>,
    call: &mut OutlineCall,
) {
    let entries = scope.credentials.iter().rev();
    let entries = entries.flat_map(|manager| manager.collection("AuthManager.auth_list"));
    for entry in entries {
        let url = property(entry, "Authorization.url").trim();
        let url = import.variables.fixed(url).unwrap_or_default();
        let address = read_address(import, element, scope);
        let site = address.site.map(|site| site.text).unwrap_or_default();
        let whole = format!("{site}{}", address.path);
        if !url.is_empty() && !whole.starts_with(url.trim_end_matches('/')) {
            continue;
        }
        let mechanism = property(entry, "Authorization.mechanism");
        if mechanism == "KERBEROS" {
            call.note("its Kerberos authentication is not carried over");
            continue;
        }
        let user = property(entry, "Authorization.username");
        let password = property(entry, "Authorization.password");
        let what = format!("the password of '{}'", comment(user));
        let (variables, calls) = (&mut import.variables, &mut import.calls);
        let user = variables.value(user, calls).render(0);
        let password = if password.contains("${") || password.is_empty() {
            variables.value(password, calls).render(0)
        } else {
            calls.secrets.variable("PASSWORD", password, &what)
        };
        call.authenticate(&user, &password, mechanism == "DIGEST");
        return;
    }
}

fn add_body<'a>(
    import: &mut JmeterImport<'a>,
    element: JmeterElement<'a>,
    scope: &JmeterScope<'a>,
    call: &mut OutlineCall,
) {
    let own = arguments(element.part("HTTPsampler.Arguments"));
    let defaults = scope.defaults.iter();
    let fields: Vec<&XmlElement> = defaults
        .flat_map(|defaults| arguments(defaults.part("HTTPsampler.Arguments")))
        .chain(own)
        .collect();
    let files: Vec<&XmlElement> = element
        .part("HTTPsampler.Files")
        .and_then(|files| crate::jmeter::element::part(files, "HTTPFileArgs.files"))
        .map_or(Vec::new(), |files| files.children.iter().collect());
    let is_raw = element.is_set("HTTPSampler.postBodyRaw")
        || !own.is_empty()
            && own
                .iter()
                .all(|field| property(field, "Argument.name").is_empty());
    let what = format!("'{}'", comment(element.name()));
    let has_body = matches!(call.method.as_str(), "POST" | "PUT" | "PATCH");
    if !files.is_empty() {
        return add_uploads(import, &fields, &files, &what, call);
    }
    if is_raw {
        let text: String = own
            .iter()
            .map(|field| property(field, "Argument.value"))
            .collect();
        if text.is_empty() {
            return;
        }
        let text = SECRET.replace_all(&text, |found: &Captures<'_>| {
            let (name, value) = (&found[2], &found[4]);
            if is_secret_field(name, value) {
                format!("{}{}{}", &found[1], secret(name, value), &found[5])
            } else {
                found[0].to_owned()
            }
        });
        let value = import.variables.value(&text, &mut import.calls);
        call.body = Some(match &value {
            LuaLiteral::Scalar(Value::String(text)) => import.files.store(text.clone(), "txt"),
            expression => expression.render(4),
        });
        return;
    }
    let fields: Vec<(String, LuaLiteral)> = fields
        .into_iter()
        .map(|field| read_argument(import, field, &what))
        .collect();
    if fields.is_empty() {
        return;
    }
    let option = match (has_body, element.is_set("HTTPSampler.DO_MULTIPART_POST")) {
        (true, true) => "multipart",
        (true, false) => "form",
        (false, _) => "query",
    };
    let fields = match option {
        "multipart" => parts(fields),
        _ => LuaLiteral::fields(fields),
    };
    call.option(option, fields);
}

fn read_argument<'a>(
    import: &mut JmeterImport<'a>,
    field: &XmlElement,
    what: &str,
) -> (String, LuaLiteral) {
    let name = property(field, "Argument.name");
    let name = import.variables.fixed_or_same(name);
    let value = property(field, "Argument.value");
    // A value that must not be encoded is encoded already, as recorders write it.
    let is_encoded = property(field, "HTTPArgument.always_encode") == "false";
    let decoded = if is_encoded && !value.contains("${") {
        percent_decode_str(&value.replace('+', " "))
            .decode_utf8_lossy()
            .into_owned()
    } else {
        value.to_owned()
    };
    let value = import
        .variables
        .field(&name, &decoded, what, &mut import.calls);
    (name, value)
}

fn add_uploads<'a>(
    import: &mut JmeterImport<'a>,
    fields: &[&XmlElement],
    files: &[&XmlElement],
    what: &str,
    call: &mut OutlineCall,
) {
    let mut all: Vec<(String, LuaLiteral)> = fields
        .iter()
        .map(|field| read_argument(import, field, what))
        .collect();
    for file in files {
        let path = property(file, "File.path");
        let path = import.variables.fixed_or_same(path);
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
        let media = property(file, "File.mimetype").trim();
        let media = Some(media).filter(|media| !media.is_empty());
        let (data, note) = import.files.stand_in(name, media);
        call.note(note);
        let parameter = property(file, "File.paramname").trim();
        if parameter.is_empty() && all.is_empty() && files.len() == 1 {
            call.body = Some(data);
            return;
        }
        let mut part = vec![
            ("filename".to_owned(), LuaLiteral::text(name)),
            ("data".to_owned(), LuaLiteral::Expression(data)),
        ];
        part.extend(media.map(|media| ("type".to_owned(), LuaLiteral::text(media))));
        all.push((parameter.to_owned(), LuaLiteral::Table(part)));
    }
    call.option("multipart", parts(all));
}

/// Returns parts of a body by name; several of one name are a list.
fn parts(fields: Vec<(String, LuaLiteral)>) -> LuaLiteral {
    let mut call = OutlineCall::default();
    for (name, value) in fields {
        call.add("multipart", &name, value);
    }
    let (_, parts) = call.options.swap_remove(0);
    parts
}

fn rooted(path: &str) -> String {
    if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    }
}
