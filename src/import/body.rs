//! What a request carries, as options of its call.

use super::exchange::{Body, Part, is_json, media_of};
use super::lua_text::{self, is_shallow, key, list, quoted, table};
use super::request::Call;
use super::resolve::Place;
use serde_json::Value;

/// The longest JSON that is written as a table.
pub(super) const TABLE_BYTES: usize = 64 << 10;

impl Call<'_, '_> {
    /// Returns the body as an argument, or adds the option that it is.
    pub(super) fn body(&mut self, options: &mut Vec<(String, String)>) -> Option<String> {
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

    pub(super) fn part_value(&mut self, part: &Part) -> String {
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
                let (data, told) = self.files.stand_in(name, part.media.as_deref());
                self.told.push(told);
                data
            }
        };
        fields.push(("data".to_owned(), data));
        fields
    }

    /// Returns a text, which is kept in a file if it is long.
    fn long(&mut self, text: String, ending: &str) -> String {
        self.files.keep(text, ending)
    }
}
