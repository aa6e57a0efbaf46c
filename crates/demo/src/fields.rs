//! The fields of submitted forms and of queries, and numbers in paths. Driven by the sites; validates nothing.

use http::header::CONTENT_TYPE;

use super::server::SiteRequest;

/// The fields of a submitted form.
pub(super) struct FormFields(Vec<(String, String)>);

impl FormFields {
    /// Reads the body as PHP does: anything but a urlencoded form has no fields.
    pub(super) fn read(request: &SiteRequest<'_>) -> Self {
        let content_type = request.headers.get(CONTENT_TYPE);
        let form = b"application/x-www-form-urlencoded";
        let is_form = content_type.is_some_and(|found| found.as_bytes().starts_with(form));
        let body = if is_form { request.body } else { b"" };
        FormFields::parse(body)
    }

    /// Reads `name=value` pairs, as forms and queries have them.
    pub(super) fn parse(pairs: &[u8]) -> Self {
        FormFields(url::form_urlencoded::parse(pairs).into_owned().collect())
    }

    /// The last value of that name; empty if there is none.
    pub(super) fn get(&self, name: &str) -> &str {
        let found = self.0.iter().rfind(|(key, _)| key == name);
        found.map_or("", |(_, value)| value)
    }

    /// Returns whether there is a field of that name, empty or not.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }
}

/// Reads a number in a path, of digits only: `+7` is no number of a page.
pub(super) fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}
