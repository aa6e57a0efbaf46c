//! Templates of HTML with slots. Driven by the pages; knows neither their content nor any site.

use std::borrow::Cow;

/// A text with `{{name}}` slots, split once so that rendering is nothing but appending.
pub(super) struct Template<const SLOTS: usize> {
    /// The text before a slot, and the slot's index among the values.
    pieces: Vec<(&'static str, usize)>,
    rest: &'static str,
}

impl<const SLOTS: usize> Template<SLOTS> {
    /// Splits `text`, whose slots are among `names`.
    ///
    /// # Panics
    /// On a slot of another name. Templates are part of the program, so any test that makes them finds it.
    pub(super) fn new(text: &'static str, names: [&str; SLOTS]) -> Self {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, after) = after.split_once("}}").expect("a slot is closed by '}}'");
            let slot = names.iter().position(|slot_name| *slot_name == name);
            pieces.push((before, slot.expect("a slot's name is declared")));
            rest = after;
        }
        Template { pieces, rest }
    }

    /// Appends the text with `values` in its slots, in the order of the names. Values are HTML already.
    pub(super) fn render(&self, page: &mut String, values: [&str; SLOTS]) {
        for (before, slot) in &self.pieces {
            page.push_str(before);
            page.push_str(values[*slot]);
        }
        page.push_str(self.rest);
    }
}

/// Escapes a text for HTML, inside and outside of attributes.
pub(super) fn escape(text: &str) -> Cow<'_, str> {
    let special = ['&', '<', '>', '"', '\''];
    if !text.contains(special) {
        return text.into();
    }
    let mut html = String::with_capacity(text.len() + text.len() / 4);
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#039;"),
            c => html.push(c),
        }
    }
    html.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_filled_by_name_as_often_as_they_occur() {
        let template = Template::new("<a href=\"{{to}}\">{{text}}</a> {{to}}.", ["text", "to"]);
        let mut page = String::new();
        template.render(&mut page, ["here", "/node/1"]);
        assert_eq!(page, "<a href=\"/node/1\">here</a> /node/1.");
    }

    #[test]
    fn what_users_write_cannot_become_markup() {
        assert_eq!(escape("plain"), "plain");
        assert_eq!(
            escape("<b a='1'>\"&"),
            "&lt;b a=&#039;1&#039;&gt;&quot;&amp;"
        );
    }
}
