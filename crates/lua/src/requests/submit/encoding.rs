//! The fields of a form as they are sent: values as their inputs have them, line breaks as CRLF, in the form's character set
//! (<https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#form-submission-algorithm>).

use super::fields::SubmittedEntry;
use crate::limits::Budget;
use crate::requests::multipart::{self, MultipartField, NAMED};
use crate::requests::request::plan_file;
use crate::values::{encode_pairs, escape_invalid_bytes, form_bytes, raw_field, read_scalar};
use encoding_rs::{Encoding, UTF_8};
use lgoose_html::{Enctype, ValueRule};
use memchr::memchr2;
use mlua::Value;
use std::borrow::Cow;

/// A name and its value, in the character set of the form.
type EncodedPair = (Vec<u8>, Vec<u8>);

/// Encodes a body and returns it with its content type.
pub(super) fn encode(
    entries: Vec<SubmittedEntry>,
    enctype: Enctype,
    charset: &'static Encoding,
    budget: &mut Budget,
) -> Result<(Vec<u8>, String), String> {
    let body = match enctype {
        Enctype::Multipart => return parts(entries, charset, budget),
        Enctype::UrlEncoded => encode_pairs(&texts(entries, charset, budget)?).into_bytes(),
        Enctype::Text => {
            let texts = texts(entries, charset, budget)?;
            let lines = texts
                .iter()
                .map(|(name, value)| [name, &b"="[..], value, b"\r\n"].concat());
            lines.collect::<Vec<_>>().concat()
        }
    };
    Ok((body, enctype.name().to_owned()))
}

/// Returns the fields as texts. For a file, browsers then send its name.
pub(super) fn texts(
    entries: Vec<SubmittedEntry>,
    charset: &'static Encoding,
    budget: &mut Budget,
) -> Result<Vec<EncodedPair>, String> {
    let mut texts = Vec::new();
    let mut before = Vec::new();
    for entry in entries {
        let value = match &entry.value {
            Value::Nil => Vec::new(),
            Value::UserData(_) if plan_file(&entry.value).is_some() => {
                let name = plan_file(&entry.value).map(|file| file.name);
                let name = name.unwrap_or_default().into_bytes();
                budget.take(name.len().saturating_mul(4))?;
                name
            }
            Value::Table(part) => match raw_field(part, "filename") {
                Value::String(name) => name.as_bytes().to_vec(),
                _ => {
                    return Err(format!(
                        "{} is a file, which needs a name: {{ filename = \"a.txt\", data = \"…\" }}",
                        field(&entry.name)
                    ));
                }
            },
            value => typed(value, &entry, &before)?,
        };
        budget.take(form_bytes(&entry.name, &entry.value))?;
        let sent = |text: &[u8], budget: &mut Budget| {
            if charset != UTF_8 {
                budget.take(text.len().saturating_mul(16))?;
            }
            Ok::<_, String>(in_charset(crlf(text), charset).into_owned())
        };
        texts.push((sent(&entry.name, budget)?, sent(&value, budget)?));
        before = value;
    }
    Ok(texts)
}

fn parts(
    entries: Vec<SubmittedEntry>,
    charset: &'static Encoding,
    budget: &mut Budget,
) -> Result<(Vec<u8>, String), String> {
    let mut parts = Vec::new();
    let mut before = Vec::new();
    for entry in entries {
        let name = String::from_utf8(entry.name.clone())
            .map_err(|_| "the name of a field is not UTF-8".to_owned())?;
        let mut part = match &entry.value {
            Value::Nil => MultipartField::without_file(name),
            value @ (Value::Table(_) | Value::UserData(_)) => {
                MultipartField::read(name, value, NAMED, budget)?
            }
            value => {
                // Charges for it.
                let mut part = MultipartField::read(name, value, NAMED, budget)?;
                before = typed(value, &entry, &before)?;
                part.set_text(in_charset(crlf(&before), charset).into_owned());
                part
            }
        };
        part.rename(|name| in_charset(crlf(name), charset).into_owned());
        parts.push(part);
    }
    Ok(multipart::joined(&parts))
}

fn field(name: &[u8]) -> String {
    format!("user:submit, field '{}'", escape_invalid_bytes(name))
}

/// Returns a text as its input has it after typing; `before` is the text of the field before it.
fn typed(value: &Value, entry: &SubmittedEntry, before: &[u8]) -> Result<Vec<u8>, String> {
    let text = read_scalar(value, &field(&entry.name))?;
    let Some(rule) = &entry.rule else {
        return Ok(text);
    };
    let given = match rule {
        ValueRule::Direction => before,
        _ => &text,
    };
    // Bytes that are not text are sent as they are.
    let Ok(given) = str::from_utf8(given) else {
        return Ok(text);
    };
    Ok(rule.sanitize(given).into_owned().into_bytes())
}

/// Writes each line break as CRLF.
fn crlf(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr2(b'\r', b'\n', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut lines = Vec::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = memchr2(b'\r', b'\n', rest) {
        lines.extend_from_slice(&rest[..at]);
        lines.extend_from_slice(b"\r\n");
        let is_pair = rest[at..].starts_with(b"\r\n");
        rest = &rest[at + 1 + usize::from(is_pair)..];
    }
    lines.extend_from_slice(rest);
    Cow::Owned(lines)
}

/// Encodes a text; characters that the set lacks become `&#233;`. Bytes that are not UTF-8 stay.
fn in_charset<'t>(text: Cow<'t, [u8]>, charset: &'static Encoding) -> Cow<'t, [u8]> {
    if charset == UTF_8 || text.is_ascii() && charset != encoding_rs::ISO_2022_JP {
        return text;
    }
    match str::from_utf8(&text) {
        Ok(text) => Cow::Owned(charset.encode(text).0.into_owned()),
        Err(_) => text,
    }
}

#[cfg(test)]
mod tests {
    use super::{crlf, in_charset};
    use encoding_rs::WINDOWS_1252;
    use std::borrow::Cow;

    #[test]
    fn line_breaks_of_every_kind_are_one() {
        let text = b"\ra\nb\r\nc\n\rd\r";
        assert_eq!(&*crlf(text), b"\r\na\r\nb\r\nc\r\n\r\nd\r\n");
        assert!(matches!(crlf(b"a b"), Cow::Borrowed(_)));
    }

    #[test]
    fn what_a_character_set_lacks_is_a_reference() {
        let text = "é€א".as_bytes();
        let encoded = in_charset(Cow::Borrowed(text), WINDOWS_1252);
        assert_eq!(&*encoded, b"\xe9\x80&#1488;");
        let bytes = in_charset(Cow::Borrowed(b"\xff"), WINDOWS_1252);
        assert_eq!(&*bytes, b"\xff");
    }
}
