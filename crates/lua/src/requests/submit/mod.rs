//! The entries that `user:submit` sends: the fields of a form with the plan's over them, in the order of the page, as
//! the form's method and `enctype` say ("form submission" of the HTML standard).

mod button;
mod encoding;
mod fields;

use super::options::{self, names_content_type, set_content_type};
use super::request::RequestOp;
use crate::limits::Budget;
use crate::values::{describe_mismatch, encode_pairs, escape_invalid, list_values, raw_field};
use button::SubmitButton;
use encoding::{encode, texts};
use encoding_rs::{Encoding, UTF_8};
use fields::SubmittedFields;
use http::Method;
use lgoose_html::{Enctype, ReferrerPolicy};
use lgoose_http::Referrer;
use mlua::Value;

pub(crate) use button::pressed;

/// The options of a form in addition to those of any request.
pub(crate) const SUBMIT: [&str; 2] = ["button", "added"];

/// Reads a form as `response:form()` returns it, the plan's values for its fields, and the options.
///
/// # Errors
/// The message to raise at the plan's line.
pub(super) fn read(
    form: &Value,
    filled: &Value,
    options: &Value,
    budget: &mut Budget,
) -> Result<RequestOp, String> {
    let Value::Table(form) = form else {
        return Err(describe_mismatch("user:submit", "a form", form));
    };
    let options = match options {
        Value::Nil => None,
        Value::Table(options) => Some(options),
        other => {
            return Err(describe_mismatch(
                "the options of user:submit",
                "a table",
                other,
            ));
        }
    };
    let button = options
        .as_ref()
        .map(|options| raw_field(options, SUBMIT[0]));
    if let Some(options) = &options {
        check_added(&raw_field(options, SUBMIT[1]))?;
    }
    let pressed = SubmitButton::read(form, &button.unwrap_or(Value::Nil))?;
    let fields = SubmittedFields::read(form, filled, &pressed, budget)?;
    let entries = fields.in_order(form, &pressed, budget)?;
    let attribute = |field| pressed.attribute(form, field);
    let method = method(&attribute("method"))?;
    let enctype = match attribute("enctype") {
        Value::String(kind) => Enctype::parse(&escape_invalid(&kind)),
        _ => Enctype::UrlEncoded,
    };
    let charset = charset(&raw_field(form, "charset"))?;
    let action = attribute("action");
    if action.is_nil() {
        let problem =
            "the form has no action: the one on its page is not a URL, and a browser sends nothing";
        return Err(problem.to_owned());
    }
    let is_get = method == Method::GET;
    let mut op = RequestOp::bare(method, &action, &Value::Nil, budget)?;
    let mut kind = None;
    if is_get {
        let encoded = encode_pairs(&texts(entries, charset, budget)?);
        let path = op.request.url.split(['?', '#']).next().unwrap_or_default();
        op.request.url = format!("{path}?{encoded}").into();
    } else {
        let (body, content_type) = encode(entries, enctype, charset, budget)?;
        op.request.body = body.into();
        kind = Some(content_type);
    }
    if let Value::String(page) = raw_field(form, "page") {
        let policy = match raw_field(form, "referrerpolicy") {
            Value::String(name) => ReferrerPolicy::of_page(&escape_invalid(&name)),
            _ => None,
        };
        let page = escape_invalid(&page);
        op.request.extras().referrer = Referrer::of(&page, policy.unwrap_or_default());
    }
    if let Some(options) = &options {
        // Read once the body is set: they may compress it, and refuse a second body.
        options::read(&mut op, options, &SUBMIT, budget)?;
    }
    if let Some(kind) = kind.filter(|_| !names_content_type(&op)) {
        set_content_type(&mut op, &kind);
    }
    Ok(op)
}

/// Checks the option that names the fields which scripts of the page add: the prelude warns of others.
fn check_added(added: &Value) -> Result<(), String> {
    let kind = "true or a list of the names of fields";
    match added {
        Value::Nil | Value::Boolean(_) => Ok(()),
        Value::Table(names) => {
            let names = list_values(names, "option 'added'")?;
            let other = names.iter().find(|name| !name.is_string());
            other.map_or(Ok(()), |other| {
                Err(describe_mismatch(
                    "a name of option 'added'",
                    "a string",
                    other,
                ))
            })
        }
        other => Err(describe_mismatch("option 'added'", kind, other)),
    }
}

fn method(method: &Value) -> Result<Method, String> {
    match method {
        Value::Nil => Ok(Method::GET),
        Value::String(name) if name.as_bytes().eq_ignore_ascii_case(b"dialog") => {
            let problem = "the form closes its dialog and sends nothing: its method is 'dialog'";
            Err(problem.to_owned())
        }
        Value::String(name) => Method::from_bytes(&name.as_bytes())
            .map_err(|_| format!("'{}' is not a method", escape_invalid(name))),
        other => Err(describe_mismatch("'method' of a form", "a string", other)),
    }
}

fn charset(charset: &Value) -> Result<&'static Encoding, String> {
    match charset {
        Value::Nil => Ok(UTF_8),
        Value::String(name) => Encoding::for_label(&name.as_bytes())
            .map(Encoding::output_encoding)
            .ok_or_else(|| format!("'{}' is not a character set", escape_invalid(name))),
        other => Err(describe_mismatch("'charset' of a form", "a string", other)),
    }
}
