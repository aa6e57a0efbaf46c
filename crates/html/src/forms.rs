//! Forms as a browser would submit them untouched. Driven by `response:form()` and `user:submit()`. The fields that
//! each control contributes are found by `controls`.

use scraper::ElementRef;
use url::Url;

use super::controls::FormEntries;
use super::document::{Document, NodeKey};
use super::join::join;

/// The method by which a form is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormMethod {
    /// GET: the fields replace the action's query.
    Get,
    /// POST: the fields are the body.
    Post,
}

impl FormMethod {
    fn parse(text: &str) -> FormMethod {
        if text.eq_ignore_ascii_case("post") {
            FormMethod::Post
        } else {
            FormMethod::Get
        }
    }

    /// Returns the method's name in a request.
    pub fn name(self) -> &'static str {
        match self {
            FormMethod::Get => "GET",
            FormMethod::Post => "POST",
        }
    }
}

/// How the body of a form is encoded.
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
    /// Reads what a page says.
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
    /// A field with that name, or the button that a form is submitted with unless another is pressed.
    Field(String),
    /// Any other submit button, by its index.
    Button(usize),
}

/// A submit button that has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    /// Its name.
    pub name: String,
    /// Its value, which is what is written on an `<input>`.
    pub value: String,
    /// Whether it is an image, which sends where it was pressed.
    pub image: bool,
    /// The URL that it submits to in place of the form's, absolute.
    pub action: Option<String>,
    /// The method in place of the form's, `GET` or `POST`.
    pub method: Option<String>,
    /// The media type of the body in place of the form's.
    pub enctype: Option<String>,
}

/// The request that submitting a form sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// The action's URL: absolute, without fragment; the page's own URL if the form names none.
    pub action: Url,
    /// The method: `post` or, for everything else a form can say, `get`.
    pub method: FormMethod,
    /// How the body is encoded; for `post` only.
    pub enctype: Enctype,
    /// Name and value of each field as the page presets it, in the order of the page.
    pub fields: Vec<(String, String)>,
    /// The submit buttons that have a name, in the order of the page.
    pub buttons: Vec<Button>,
    /// The index of the first submit button, images apart, which a browser adds to the fields (Drupal's `op`). `None`
    /// if there is none or it has no name.
    pub default: Option<usize>,
    /// The names of the inputs for files.
    pub files: Vec<String>,
    /// The names of the controls that must be filled in, each once.
    pub required: Vec<String>,
    /// The places of fields and buttons in the order of the page: one for each value, and one for each name that
    /// contributes none.
    pub order: Vec<ControlPosition>,
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
    let key = match among {
        Some(keys) => keys.iter().find_map(|key| {
            let element = doc.element(*key)?;
            let around = element.ancestors().filter_map(ElementRef::wrap);
            std::iter::once(element)
                .chain(around)
                .find(is_form)
                .map(Document::key)
        }),
        None => elements(doc).find(is_form).map(Document::key),
    };
    key.map(|key| form(doc, key, page, most_bytes)).transpose()
}

/// Returns the request that submitting this form element of a page would send. A key that is none of this
/// document's elements gives an empty form that gets the page.
fn form(doc: &Document, key: NodeKey, page: &Url, most_bytes: usize) -> Result<Form, FormTooLarge> {
    let element = doc.element(key);
    let attr = |name| element.and_then(|form| form.attr(name)).unwrap_or_default();
    let mut entries = match element {
        Some(form) => FormEntries::of(doc, form, most_bytes).ok_or(FormTooLarge)?,
        None => FormEntries::default(),
    };
    let base = base_of(doc, page);
    let mut remaining = most_bytes;
    for button in &mut entries.buttons {
        let own = button.action.as_deref().filter(|url| !url.is_empty());
        button.action = own.map(|url| action(url, page, &base).into());
        let bytes = button.action.as_ref().map_or(0, String::len);
        remaining = remaining.checked_sub(bytes).ok_or(FormTooLarge)?;
        let method = button.method.as_deref().map(FormMethod::parse);
        button.method = method.map(|method| method.name().to_owned());
        let enctype = button.enctype.as_deref().map(Enctype::parse);
        button.enctype = enctype.map(|enctype| enctype.name().to_owned());
    }
    Ok(Form {
        action: action(attr("action"), page, &base),
        method: FormMethod::parse(attr("method")),
        enctype: Enctype::parse(attr("enctype")),
        order: entries.order(),
        fields: entries.fields,
        default: entries.default.flatten(),
        buttons: entries.buttons,
        files: entries.files,
        required: entries.required.into_iter().collect(),
    })
}

/// Returns the URL that those of the page are relative to.
fn base_of(doc: &Document, page: &Url) -> Url {
    let base = elements(doc)
        .filter(|e| e.value().name() == "base")
        .find_map(|e| e.attr("href"));
    base.and_then(|href| join(page, href))
        .unwrap_or_else(|| page.clone())
}

fn action(action: &str, page: &Url, base: &Url) -> Url {
    let mut url = page.clone();
    if !action.trim_ascii().is_empty()
        && let Some(joined) = join(base, action)
    {
        url = joined;
    }
    url.set_fragment(None);
    url
}

/// Returns selectors that tell the forms of a page apart: `#user-login`, `form[action="/search"]`.
pub fn form_selectors(doc: &Document) -> Vec<String> {
    let forms = elements(doc).filter(is_form);
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

fn elements(doc: &Document) -> impl Iterator<Item = ElementRef<'_>> {
    doc.root()
        .into_iter()
        .flat_map(|root| root.descendent_elements())
}

fn is_form(element: &ElementRef<'_>) -> bool {
    element.value().name() == "form"
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

    /// Returns the name and value of the button that a form is submitted with.
    fn default(form: &Form) -> Option<(&str, &str)> {
        let button = form.default.map(|place| &form.buttons[place]);
        button.map(|button| (&*button.name, &*button.value))
    }

    #[test]
    fn the_drupal_7_login_form_sends_its_hidden_fields_and_its_button() {
        let page = String::from_utf8_lossy(&fixture::drupal7(1)).into_owned();
        let login = form(&page, "#user-login-form").expect("the form");
        assert_eq!(login.action.as_str(), "http://site/node?destination=node");
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
        assert_eq!(comment.action.as_str(), "http://site/comment/reply/7");
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
        let action = |page: &str| form(page, "form").expect("the form").action.to_string();
        assert_eq!(action("<form>"), "http://site/node/7");
        assert_eq!(action("<form action=' '>"), "http://site/node/7");
        assert_eq!(
            action("<form action='edit?x=1#f'>"),
            "http://site/node/edit?x=1"
        );
        assert_eq!(action("<base href=/b/><form action=c>"), "http://site/b/c");
        assert_eq!(action("<form action='http://'>"), "http://site/node/7");
        let sent =
            form("<form method=POST enctype=multipart/form-data>", "form").expect("the form");
        assert_eq!(
            (sent.method, sent.enctype),
            (FormMethod::Post, Enctype::Multipart)
        );
        assert!(sent.default.is_none());
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
