//! Forms as a browser would submit them untouched. Driven by `response:form()` and `user:submit()`. The fields that
//! each control contributes are found by `controls`.

use encoding_rs::{Encoding, UTF_8};
use scraper::ElementRef;
use url::Url;

use super::controls::FormEntries;
use super::document::{Document, NodeKey};
use super::join::join;
use super::owners::{first_owner, is_form};
use super::value::ValueRule;

/// The method by which a form is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormMethod {
    /// GET: the fields replace the action's query.
    Get,
    /// POST: the fields are the body.
    Post,
    /// None: submitting closes the `<dialog>` around the form.
    Dialog,
}

impl FormMethod {
    fn parse(text: &str) -> FormMethod {
        match text.to_ascii_lowercase().as_str() {
            "post" => FormMethod::Post,
            "dialog" => FormMethod::Dialog,
            _ => FormMethod::Get,
        }
    }

    /// Returns the method's name in a request; `DIALOG` if there is none.
    pub fn name(self) -> &'static str {
        match self {
            FormMethod::Get => "GET",
            FormMethod::Post => "POST",
            FormMethod::Dialog => "DIALOG",
        }
    }
}

/// The encoding of a form's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enctype {
    /// `application/x-www-form-urlencoded`, unless the page says one of the others.
    UrlEncoded,
    /// `multipart/form-data`.
    Multipart,
    /// `text/plain`.
    Text,
}

impl Enctype {
    /// Reads the encoding that a page declares.
    pub fn parse(text: &str) -> Enctype {
        let enctypes = [Enctype::Multipart, Enctype::Text];
        let is_named = |enctype: &Enctype| text.eq_ignore_ascii_case(enctype.name());
        enctypes
            .into_iter()
            .find(is_named)
            .unwrap_or(Enctype::UrlEncoded)
    }

    /// Returns its media type.
    pub fn name(self) -> &'static str {
        match self {
            Enctype::UrlEncoded => "application/x-www-form-urlencoded",
            Enctype::Multipart => "multipart/form-data",
            Enctype::Text => "text/plain",
        }
    }
}

/// The place of a control in its form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ControlPosition {
    /// A field with that name, or the entry of the default button.
    Field(String),
    /// Any other submit button, by its index.
    Button(usize),
}

/// A submit button.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    /// Its name; empty if it has none, and then only an image sends something.
    pub name: String,
    /// Its value, which is also the caption of an `<input>`.
    pub value: String,
    /// Its caption: the text of a `<button>`, the `alt` of an image.
    pub caption: String,
    /// Whether it is an image, which sends the place where it was pressed.
    pub image: bool,
    /// The URL that it submits to in place of the form's, absolute.
    pub action: Option<String>,
    /// The method in place of the form's: `GET`, `POST` or `DIALOG`.
    pub method: Option<String>,
    /// The media type of the body in place of the form's.
    pub enctype: Option<String>,
    /// Whether fields that must be filled in may be empty.
    pub novalidate: bool,
}

impl Button {
    /// Returns the entries sent for it: its name and value, or the corner of an image, where Enter presses it.
    pub fn entries(&self) -> Vec<(String, String)> {
        let corner = |axis: &str| {
            let name = &self.name;
            let dot = if name.is_empty() { "" } else { "." };
            (format!("{name}{dot}{axis}"), "0".to_owned())
        };
        if self.image {
            vec![corner("x"), corner("y")]
        } else if self.name.is_empty() {
            Vec::new()
        } else {
            vec![(self.name.clone(), self.value.clone())]
        }
    }
}

/// The request that submitting a form sends.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// The action's URL: absolute, without fragment; the page's own URL if the form names none. `None` if it is not a
    /// URL: a browser sends nothing then.
    pub action: Option<Url>,
    /// The method: `post`, `dialog` or, for everything else a form can say, `get`.
    pub method: FormMethod,
    /// The encoding of the body; for `post` only.
    pub enctype: Enctype,
    /// Name and value of each field as the page presets it, in the order of the page.
    pub fields: Vec<(String, String)>,
    /// The submit buttons, in the order of the page. Enter presses the first, whose entries a browser adds to the fields
    /// (Drupal's `op`).
    pub buttons: Vec<Button>,
    /// The names of the inputs for files.
    pub files: Vec<String>,
    /// The names of the controls that must be filled in, each once.
    pub required: Vec<String>,
    /// The places of fields and buttons in the order of the page: one for each value, and one for each name that
    /// contributes none.
    pub order: Vec<ControlPosition>,
    /// The rules for the values at some of these places, by their index.
    pub rules: Vec<(usize, ValueRule)>,
    /// The name of the character set that names and values are sent in, as the Encoding standard has it.
    pub charset: &'static str,
}

/// The form is larger than it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormTooLarge;

/// Returns the first form among these elements or around one of them; without a list the page's first form.
pub fn find_form(doc: &Document, among: Option<&[NodeKey]>, page: &Url) -> Option<Form> {
    find_form_within(doc, among, page, usize::MAX).unwrap_or_default()
}

/// The same.
///
/// # Errors
/// The form would take more than `most_bytes`: a page may give a long name to many values, and a long base to many
/// buttons.
pub fn find_form_within(
    doc: &Document,
    among: Option<&[NodeKey]>,
    page: &Url,
    most_bytes: usize,
) -> Result<Option<Form>, FormTooLarge> {
    let element = match among {
        Some(keys) => first_owner(doc, keys.iter().filter_map(|key| doc.element(*key))),
        None => doc.elements().find(is_form),
    };
    element
        .map(|element| form(doc, element, page, most_bytes))
        .transpose()
}

/// Returns the request that submitting this form element of a page would send.
fn form(
    doc: &Document,
    element: ElementRef<'_>,
    page: &Url,
    most_bytes: usize,
) -> Result<Form, FormTooLarge> {
    let attr = |name| element.attr(name).unwrap_or_default();
    let charset = charset(doc, element).name();
    let entries = FormEntries::of(doc, element, charset, most_bytes);
    let mut entries = entries.ok_or(FormTooLarge)?;
    let base = base_of(doc, page);
    let mut remaining = most_bytes;
    for button in &mut entries.buttons {
        let own = button.action.as_deref();
        button.action = own.map(|url| action(url, page, &base).unwrap_or(page.clone()).into());
        let bytes = button.action.as_ref().map_or(0, String::len);
        remaining = remaining.checked_sub(bytes).ok_or(FormTooLarge)?;
        let method = button.method.as_deref().map(FormMethod::parse);
        button.method = method.map(|method| method.name().to_owned());
        let enctype = button.enctype.as_deref().map(Enctype::parse);
        button.enctype = enctype.map(|enctype| enctype.name().to_owned());
    }
    let required = match element.attr("novalidate") {
        Some(_) => Vec::new(),
        None => std::mem::take(&mut entries.required).into_iter().collect(),
    };
    let fields = std::mem::take(&mut entries.fields);
    let buttons = std::mem::take(&mut entries.buttons);
    let files = std::mem::take(&mut entries.files);
    let (order, rules) = entries.order();
    Ok(Form {
        action: action(attr("action"), page, &base),
        method: FormMethod::parse(attr("method")),
        enctype: Enctype::parse(attr("enctype")),
        fields,
        buttons,
        files,
        required,
        order,
        rules,
        charset,
    })
}

/// Returns the character set that a form is sent in: the first known one that its page names for it, else the page's
/// ("picking an encoding for the form" of the HTML standard; Chromium takes commas, too).
fn charset(doc: &Document, form: ElementRef<'_>) -> &'static Encoding {
    let named = form.attr("accept-charset").map(|labels| {
        let mut labels = labels.split([' ', '\t', '\n', '\x0c', '\r', ',']);
        let first = labels.find_map(|label| Encoding::for_label(label.as_bytes()));
        first.unwrap_or(UTF_8)
    });
    named.unwrap_or_else(|| doc.encoding()).output_encoding()
}

/// Returns the URL that those of the page are relative to.
fn base_of(doc: &Document, page: &Url) -> Url {
    let base = doc
        .elements()
        .filter(|e| e.value().name() == "base")
        .find_map(|e| e.attr("href"));
    base.and_then(|href| join(page, href))
        .unwrap_or_else(|| page.clone())
}

fn action(action: &str, page: &Url, base: &Url) -> Option<Url> {
    let mut url = match action.trim_ascii() {
        "" => page.clone(),
        _ => join(base, action)?,
    };
    url.set_fragment(None);
    Some(url)
}

/// Returns selectors that distinguish the forms of a page: `#user-login`, `form[action="/search"]`.
pub fn form_selectors(doc: &Document) -> Vec<String> {
    let forms = doc.elements().filter(is_form);
    let selector = |form: ElementRef<'_>| {
        let value = form.value();
        match (value.id(), value.attr("action")) {
            (Some(id), _) => format!("#{id}"),
            (None, Some(action)) => format!("form[action=\"{action}\"]"),
            (None, None) => "form".to_owned(),
        }
    };
    forms.map(selector).collect()
}

#[cfg(test)]
mod tests {
    use super::{Enctype, Form, FormMethod, find_form};
    use crate::{Document, Selector, fixture};

    fn form(page: &str, css: &str) -> Option<Form> {
        let css = Selector::parse(css).expect("a selector of the test");
        let document = Document::parse(page.as_bytes());
        let among = document.select(&css, None);
        find_form(&document, Some(&among), &fixture::page_url())
    }

    fn address(form: &Form) -> &str {
        form.action.as_ref().map_or("", |url| url.as_str())
    }

    /// Returns the name and value of the button that a form is submitted with.
    fn default(form: &Form) -> Option<(&str, &str)> {
        let button = form.buttons.first()?;
        Some((&button.name, &button.value))
    }

    #[test]
    fn the_drupal_7_login_form_sends_its_hidden_fields_and_its_button() {
        let page = String::from_utf8_lossy(&fixture::drupal7(1)).into_owned();
        let login = form(&page, "#user-login-form").expect("the form");
        assert_eq!(address(&login), "http://site/node?destination=node");
        assert_eq!(
            (login.method, login.enctype),
            (FormMethod::Post, Enctype::UrlEncoded)
        );
        assert_eq!(
            fixture::encode_form(&login.fields),
            "name=&pass=&form_build_id=form-Mbk1UNpuB1Vc8YQuHbhkwBqMiAyXWO6M5A0wYy2VGcM&form_id=user_login_block"
        );
        assert_eq!(default(&login), Some(("op", "Log in")));
        assert_eq!(form(&page, "#edit-pass"), Some(login.clone()));
        let doc = Document::parse(page.as_bytes());
        assert_eq!(find_form(&doc, None, &fixture::page_url()), Some(login));
    }

    #[test]
    fn the_drupal_7_comment_form_sends_its_token_and_its_format() {
        let comment = form(fixture::COMMENT_FORM, "[name='form_token']").expect("the form");
        assert_eq!(address(&comment), "http://site/comment/reply/7");
        let names: Vec<_> = comment.fields.iter().map(|(name, _)| &**name).collect();
        let expected = [
            "subject",
            "comment_body[und][0][value]",
            "comment_body[und][0][format]",
            "form_build_id",
            "form_token",
            "form_id",
        ];
        assert_eq!(names, expected);
        assert_eq!(comment.fields[2].1, "filtered_html");
        assert_eq!(default(&comment), Some(("op", "Save")));
    }

    #[test]
    fn controls_elsewhere_belong_to_the_form_that_they_name() {
        let page = "<input name=a form=f><form id=f><input name=b><input name=x form=g></form>\
            <form id=g><input name=c></form><input name=d form=f><input name=x>";
        let fields = |css| fixture::encode_form(&form(page, css).expect("the form").fields);
        assert_eq!(fields("#f"), "a=&b=&d=");
        assert_eq!(fields("#g"), "x=&c=");
    }

    #[test]
    fn the_action_is_absolute_and_without_an_action_it_is_the_page() {
        let action = |page: &str| address(&form(page, "form").expect("the form")).to_owned();
        assert_eq!(action("<form>"), "http://site/node/7");
        assert_eq!(action("<form action=' '>"), "http://site/node/7");
        assert_eq!(
            action("<form action='edit?x=1#f'>"),
            "http://site/node/edit?x=1"
        );
        assert_eq!(action("<base href=/b/><form action=c>"), "http://site/b/c");
        let none = form("<form action='http://'>", "form").expect("the form");
        assert_eq!(none.action, None);
        let sent =
            form("<form method=POST enctype=multipart/form-data>", "form").expect("the form");
        assert_eq!(
            (sent.method, sent.enctype),
            (FormMethod::Post, Enctype::Multipart)
        );
        assert!(sent.buttons.is_empty());
    }

    #[test]
    fn a_page_without_the_form_has_none() {
        assert_eq!(form(fixture::COMMENT_FORM, "#user-login"), None);
        assert_eq!(form("<p id=a>", "#a"), None);
        assert_eq!(
            find_form(&Document::parse(b"\xff"), None, &fixture::page_url()),
            None
        );
    }
}
