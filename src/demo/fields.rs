//! The fields of a submitted form or of a query. Driven by the sites; judges nothing.

use http::header::CONTENT_TYPE;

use super::server::Visit;

/// The fields of a submitted form.
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads the body as PHP does: anything but a urlencoded form has no fields.
    pub(super) fn read(visit: &Visit<'_>) -> Self {
        let content_type = visit.headers.get(CONTENT_TYPE);
        let form = b"application/x-www-form-urlencoded";
        let is_form = content_type.is_some_and(|found| found.as_bytes().starts_with(form));
        let body = if is_form { visit.body } else { b"" };
        Fields::parse(body)
    }

    /// Reads `name=value` pairs, as forms and queries have them.
    pub(super) fn parse(pairs: &[u8]) -> Self {
        Fields(url::form_urlencoded::parse(pairs).into_owned().collect())
    }

    /// The last value of that name; empty if there is none.
    pub(super) fn get(&self, name: &str) -> &str {
        let found = self.0.iter().rfind(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    /// Whether there is a field of that name, empty or not.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }
}
