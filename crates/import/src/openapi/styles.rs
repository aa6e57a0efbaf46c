//! The texts of values by `style` and `explode`: of parameters, and of the fields of forms.
//!
//! <https://spec.openapis.org/oas/v3.1.1.html#style-values>, which follows RFC 6570.

use super::encoding::{TextEncoding, percent_encoded};
use crate::calls::LuaLiteral;
use crate::lua_text::comment;
use crate::parts::Concatenation;
use serde_json::Value;

/// The `style` of a parameter or field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StyleName {
    Simple,
    Label,
    Matrix,
    Form,
    SpaceDelimited,
    PipeDelimited,
    DeepObject,
}

/// The value of a field.
#[derive(Debug)]
pub(super) enum FieldValue {
    /// A text or a number, which the client encodes.
    Scalar(LuaLiteral),
    /// A text in its encoding.
    Text(Concatenation),
}

/// The style of one value, with whether lists and objects are a field each.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValueStyle {
    style: StyleName,
    explode: bool,
    allow_reserved: bool,
}

impl ValueStyle {
    /// Reads the style of a parameter or of an encoding; `place` is where parameters lie. Adds a note where the style is
    /// none of that place.
    pub(super) fn read(object: &Value, place: &str, notes: &mut Vec<String>) -> Self {
        use StyleName::{DeepObject, Form, Label, Matrix, PipeDelimited, Simple, SpaceDelimited};
        let allowed: &[(&str, StyleName)] = match place {
            "path" => &[("simple", Simple), ("label", Label), ("matrix", Matrix)],
            "header" => &[("simple", Simple)],
            "cookie" => &[("form", Form), ("cookie", Form)],
            _ => &[
                ("form", Form),
                ("spaceDelimited", SpaceDelimited),
                ("pipeDelimited", PipeDelimited),
                ("deepObject", DeepObject),
            ],
        };
        let declared = object["style"].as_str();
        let style = allowed
            .iter()
            .find(|(name, _)| declared.is_none_or(|declared| declared == *name));
        if let (None, Some(declared)) = (style, declared) {
            notes.push(format!(
                "'{}' has the style '{}', which is none of a {place}: it is sent as '{}'",
                comment(object["name"].as_str().unwrap_or_default()),
                comment(declared),
                allowed[0].0
            ));
        }
        let style = style.unwrap_or(&allowed[0]).1;
        ValueStyle {
            style,
            explode: object["explode"].as_bool().unwrap_or(style == Form),
            allow_reserved: object["allowReserved"] == true,
        }
    }

    /// Returns how characters of a query are written.
    pub(super) fn query_encoding(&self) -> TextEncoding {
        if self.allow_reserved {
            TextEncoding::Reserved
        } else {
            TextEncoding::Percent
        }
    }

    /// Adds a value to a path.
    pub(super) fn write_path(&self, name: &str, value: &LuaLiteral, out: &mut Concatenation) {
        let encoding = TextEncoding::Percent;
        let delimiter = match (self.style, self.explode) {
            (StyleName::Label, true) => ".",
            _ => ",",
        };
        match (self.style, value) {
            (StyleName::Matrix, LuaLiteral::List(_) | LuaLiteral::Table(_)) if self.explode => {
                for (key, item) in members(value) {
                    write_matrix(key.unwrap_or(name), out);
                    write_matrix_value(item, out);
                }
            }
            (StyleName::Matrix, LuaLiteral::List(_) | LuaLiteral::Table(_)) => {
                write_matrix(name, out);
                if members(value).next().is_some() {
                    out.literal("=");
                    write_joined(value, ",", ",", encoding, out);
                }
            }
            (StyleName::Matrix, value) => {
                write_matrix(name, out);
                write_matrix_value(value, out);
            }
            (style, value) => {
                out.literal(if style == StyleName::Label { "." } else { "" });
                let pair = if self.explode { "=" } else { "," };
                write_joined(value, delimiter, pair, encoding, out);
            }
        }
    }

    /// Returns the text of a header.
    pub(super) fn header(&self, value: &LuaLiteral) -> Concatenation {
        let mut out = Concatenation::default();
        let pair = if self.explode { "=" } else { "," };
        write_joined(value, ",", pair, TextEncoding::Plain, &mut out);
        out
    }

    /// Returns the fields that a value is in a query, a form or a cookie: none for an empty list or object.
    pub(super) fn fields(
        &self,
        name: &str,
        value: &LuaLiteral,
        encoding: TextEncoding,
    ) -> Vec<(String, FieldValue)> {
        let delimiter = match (self.style, encoding) {
            (StyleName::SpaceDelimited, TextEncoding::Plain) => " ",
            (StyleName::SpaceDelimited, _) => "%20",
            (StyleName::PipeDelimited, TextEncoding::Plain) => "|",
            (StyleName::PipeDelimited, _) => "%7C",
            _ => ",",
        };
        let mut out = Vec::new();
        match value {
            LuaLiteral::Scalar(_) | LuaLiteral::Expression(_) => {
                out.push((name.to_owned(), field(value, encoding)));
            }
            _ if self.style == StyleName::DeepObject => {
                add_brackets(name, value, encoding, &mut out)
            }
            LuaLiteral::List(items) if self.explode && items.iter().any(is_composite) => {
                add_brackets(name, value, encoding, &mut out);
            }
            _ if self.explode => {
                for (key, item) in members(value) {
                    let key = key.unwrap_or(name);
                    if is_composite(item) {
                        add_brackets(key, item, encoding, &mut out)
                    } else {
                        out.push((key.to_owned(), field(item, encoding)))
                    }
                }
            }
            _ => {
                if members(value).next().is_some() {
                    let mut text = Concatenation::default();
                    write_joined(value, delimiter, delimiter, encoding, &mut text);
                    out.push((name.to_owned(), FieldValue::Text(text)));
                }
            }
        }
        out
    }

    /// Returns whether values in values of a value become JSON, since the style has no way to write them.
    pub(super) fn flattens(&self, value: &LuaLiteral) -> bool {
        let delimited = !self.explode || self.style != StyleName::Form;
        delimited
            && self.style != StyleName::DeepObject
            && members(value).any(|(_, item)| is_composite(item))
    }
}

/// Adds the fields of a value by bracket names: `a[b]`, `a[0][b]`, as PHP, Rack and qs read them.
pub(super) fn add_brackets(
    name: &str,
    value: &LuaLiteral,
    encoding: TextEncoding,
    out: &mut Vec<(String, FieldValue)>,
) {
    match value {
        LuaLiteral::List(items) => {
            for (at, item) in items.iter().enumerate() {
                add_brackets(&format!("{name}[{at}]"), item, encoding, out);
            }
        }
        LuaLiteral::Table(fields) => {
            for (key, item) in fields {
                add_brackets(&format!("{name}[{key}]"), item, encoding, out);
            }
        }
        value => out.push((name.to_owned(), field(value, encoding))),
    }
}

/// Returns a scalar as the value of a field.
fn field(value: &LuaLiteral, encoding: TextEncoding) -> FieldValue {
    match encoding {
        TextEncoding::Plain | TextEncoding::Percent => FieldValue::Scalar(sendable(value)),
        TextEncoding::Reserved | TextEncoding::Cookie => FieldValue::Text(text(value, encoding)),
    }
}

/// Returns a value as JSON text.
pub(super) fn json_text(value: &LuaLiteral) -> LuaLiteral {
    match value.as_json() {
        Some(value) => LuaLiteral::text(&value.to_string()),
        None => LuaLiteral::Expression(format!("json.encode({})", value.render(8))),
    }
}

/// Returns whether a value has an empty list or object in it, of which nothing is left in fields.
pub(super) fn loses_empty(value: &LuaLiteral) -> bool {
    let is_lost = |item: &LuaLiteral| match item {
        LuaLiteral::List(items) => items.is_empty(),
        LuaLiteral::Table(fields) => fields.is_empty(),
        _ => false,
    };
    is_lost(value) || members(value).any(|(_, item)| loses_empty(item))
}

/// Returns whether a value has values in it.
pub(super) fn is_composite(value: &LuaLiteral) -> bool {
    matches!(value, LuaLiteral::List(_) | LuaLiteral::Table(_))
}

/// Returns the members of a list or an object, those of an object with their names, without nulls.
fn members(value: &LuaLiteral) -> impl Iterator<Item = (Option<&str>, &LuaLiteral)> {
    let (items, fields): (&[LuaLiteral], &[(String, LuaLiteral)]) = match value {
        LuaLiteral::List(items) => (items, &[]),
        LuaLiteral::Table(fields) => (&[], fields),
        _ => (&[], &[]),
    };
    let items = items.iter().map(|item| (None, item));
    let fields = fields.iter();
    let fields = fields.map(|(name, value)| (Some(name.as_str()), value));
    let is_null = |value: &LuaLiteral| *value == LuaLiteral::Scalar(Value::Null);
    items
        .chain(fields)
        .filter(move |(_, value)| !is_null(value))
}

fn write_matrix(name: &str, out: &mut Concatenation) {
    out.literal(&format!(";{}", percent_encoded(name)));
}

fn write_matrix_value(value: &LuaLiteral, out: &mut Concatenation) {
    if *value != LuaLiteral::text("") && *value != LuaLiteral::Scalar(Value::Null) {
        out.literal("=");
        write_text(value, TextEncoding::Percent, out);
    }
}

/// Writes a scalar, or all members with a delimiter between them; `pair` stands between a name and its value.
fn write_joined(
    value: &LuaLiteral,
    delimiter: &str,
    pair: &str,
    encoding: TextEncoding,
    out: &mut Concatenation,
) {
    if !is_composite(value) {
        return write_text(value, encoding, out);
    }
    for (nth, (key, item)) in members(value).enumerate() {
        out.literal(if nth == 0 { "" } else { delimiter });
        if let Some(key) = key {
            out.literal(&encoding.encoded(key));
            out.literal(pair);
        }
        write_text(item, encoding, out);
    }
}

fn text(value: &LuaLiteral, encoding: TextEncoding) -> Concatenation {
    let mut out = Concatenation::default();
    write_text(value, encoding, &mut out);
    out
}

fn write_text(value: &LuaLiteral, encoding: TextEncoding, out: &mut Concatenation) {
    match value {
        LuaLiteral::Scalar(value) => out.literal(&encoding.encoded(&scalar_text(value))),
        LuaLiteral::Expression(code) => out.expression(match encoding {
            TextEncoding::Plain | TextEncoding::Cookie => code.clone(),
            _ if value.is_uuid() => code.clone(),
            _ => format!("url.encode({code})"),
        }),
        nested => write_text(&json_text(nested), encoding, out),
    }
}

/// Returns the text of a scalar.
pub(super) fn scalar_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Returns a scalar as the client sends it: a number that Lua would write otherwise is a text.
fn sendable(value: &LuaLiteral) -> LuaLiteral {
    match value {
        LuaLiteral::Scalar(Value::String(_) | Value::Bool(_)) => value.clone(),
        LuaLiteral::Scalar(Value::Number(number)) if number.is_i64() => value.clone(),
        LuaLiteral::Scalar(value) => LuaLiteral::text(&scalar_text(value)),
        value => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn path(style: &Value, value: &Value) -> String {
        let mut out = Concatenation::default();
        let style = ValueStyle::read(style, "path", &mut Vec::new());
        style.write_path("color", &LuaLiteral::json(value), &mut out);
        out.finish()
    }

    fn query(style: &Value, value: &Value) -> String {
        let style = ValueStyle::read(style, "query", &mut Vec::new());
        let encoding = style.query_encoding();
        let fields = style.fields("color", &LuaLiteral::json(value), encoding);
        let fields = fields.into_iter().map(|(name, value)| match value {
            FieldValue::Scalar(value) => format!("{name}={}", value.render(0)),
            FieldValue::Text(text) => format!("{name}={}", text.finish()),
        });
        fields.collect::<Vec<_>>().join("&").replace('"', "")
    }

    #[test]
    fn paths_are_written_as_the_table_of_the_standard_has_them() {
        let (empty, text) = (json!(""), json!("blue"));
        let list = json!(["blue", "black", "brown"]);
        let object = json!({ "R": 100, "G": 200, "B": 150 });
        for (style, explode, expected) in [
            (
                "simple",
                false,
                ["", "blue", "blue,black,brown", "B,150,G,200,R,100"],
            ),
            (
                "simple",
                true,
                ["", "blue", "blue,black,brown", "B=150,G=200,R=100"],
            ),
            (
                "label",
                false,
                [".", ".blue", ".blue,black,brown", ".B,150,G,200,R,100"],
            ),
            (
                "label",
                true,
                [".", ".blue", ".blue.black.brown", ".B=150.G=200.R=100"],
            ),
            (
                "matrix",
                false,
                [
                    ";color",
                    ";color=blue",
                    ";color=blue,black,brown",
                    ";color=B,150,G,200,R,100",
                ],
            ),
            (
                "matrix",
                true,
                [
                    ";color",
                    ";color=blue",
                    ";color=blue;color=black;color=brown",
                    ";B=150;G=200;R=100",
                ],
            ),
        ] {
            let style = json!({ "style": style, "explode": explode });
            let written = [&empty, &text, &list, &object].map(|value| path(&style, value));
            assert_eq!(
                written,
                expected.map(|text| format!("\"{text}\"")),
                "{style}"
            );
        }
        assert_eq!(path(&json!({}), &json!("a/b c~é")), "\"a%2Fb%20c~%C3%A9\"");
        assert_eq!(path(&json!({}), &json!({ "a": [1] })), "\"a,%5B1%5D\"");
    }

    #[test]
    fn queries_are_written_as_the_table_of_the_standard_has_them() {
        let list = json!(["a,b", "c d", null]);
        let object = json!({ "R": 100, "G": "x y" });
        for (style, explode, of_list, of_object) in [
            ("form", true, "color=a,b&color=c d", "G=x y&R=100"),
            ("form", false, "color=a%2Cb,c%20d", "color=G,x%20y,R,100"),
            (
                "spaceDelimited",
                false,
                "color=a%2Cb%20c%20d",
                "color=G%20x%20y%20R%20100",
            ),
            (
                "pipeDelimited",
                false,
                "color=a%2Cb%7Cc%20d",
                "color=G%7Cx%20y%7CR%7C100",
            ),
            (
                "deepObject",
                true,
                "color[0]=a,b&color[1]=c d&color[2]=",
                "color[G]=x y&color[R]=100",
            ),
        ] {
            let style = json!({ "style": style, "explode": explode });
            let written = (query(&style, &list), query(&style, &object));
            assert_eq!(
                written,
                (of_list.to_owned(), of_object.to_owned()),
                "{style}"
            );
        }
        let nested = json!({ "a": { "b": [1, { "c": 2 }] } });
        assert_eq!(
            query(&json!({ "style": "deepObject" }), &nested),
            "color[a][b][0]=1&color[a][b][1][c]=2"
        );
        assert_eq!(query(&json!({}), &json!([])), "");
        let reserved = json!({ "allowReserved": true });
        assert_eq!(
            query(&reserved, &json!("/a?b=%2F&100%#+[é]")),
            "color=/a?b=%2F%26100%25%23%2B%5B%C3%A9%5D"
        );
    }
}
