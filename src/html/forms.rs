//! Forms as a browser would submit them untouched. Driven by `response:form()` and `user:submit()`. The fields that
//! each control contributes are found by `controls`.

use scraper::ElementRef;
use url::Url;

use super::controls::Entries;
use super::document::{Document, NodeKey};

/// The method by which a form is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormMethod {
    /// GET: the fields replace the action's query.
    Get,
    /// POST: the fields are the body.
    Post,
}

/// The request that submitting a form sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// The action's URL: absolute, without fragment; the page's own URL if the form names none.
    pub action: Url,
    /// The method: `post` or, for everything else a form can say, `get`.
    pub method: FormMethod,
    /// Whether the body is `multipart/form-data` instead of URL-encoded; only with `post`.
    pub multipart: bool,
    /// Name and value of each field as the page presets it, in the order of the page.
    pub fields: Vec<(String, String)>,
    /// Name and value of the first submit button, which a browser adds to the fields (Drupal's `op`). `None` if there
    /// is no button or it has no name.
    pub submit: Option<(String, String)>,
}

/// Returns the first form among these elements or around one of them; without a list the page's first form.
pub fn find_form(doc: &Document, among: Option<&[NodeKey]>, page: &Url) -> Option<Form> {
    let key = match among {
        Some(keys) => keys.iter().find_map(|key| {
            let element = doc.element(*key)?;
            let around = element.ancestors().filter_map(ElementRef::wrap);
            std::iter::once(element)
                .chain(around)
                .find(is_form)
                .map(Document::key)
        })?,
        None => Document::key(elements(doc).find(is_form)?),
    };
    Some(form(doc, key, page))
}

/// Returns the request that submitting this form element of a page would send. A key that is none of this
/// document's elements gives an empty form that gets the page.
fn form(doc: &Document, key: NodeKey, page: &Url) -> Form {
    let element = doc.element(key);
    let attr = |name| element.and_then(|form| form.attr(name)).unwrap_or_default();
    let post = attr("method").eq_ignore_ascii_case("post");
    let entries = element
        .map(|form| Entries::of(doc, form))
        .unwrap_or_default();
    Form {
        action: action(doc, attr("action"), page),
        method: if post {
            FormMethod::Post
        } else {
            FormMethod::Get
        },
        multipart: post && attr("enctype").eq_ignore_ascii_case("multipart/form-data"),
        fields: entries.fields,
        submit: entries.submit.flatten(),
    }
}

fn action(doc: &Document, action: &str, page: &Url) -> Url {
    let mut url = page.clone();
    if !action.trim_ascii().is_empty() {
        let base = elements(doc)
            .filter(|e| e.value().name() == "base")
            .find_map(|e| e.attr("href"));
        let base = base.and_then(|href| page.join(href).ok());
        if let Ok(joined) = base.as_ref().unwrap_or(page).join(action) {
            url = joined;
        }
    }
    url.set_fragment(None);
    url
}

/// Returns selectors that tell the forms of a page apart: `#user-login`, `form[action="/search"]`.
pub(crate) fn form_selectors(doc: &Document) -> Vec<String> {
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
    use super::{Form, FormMethod, find_form};
    use crate::html::{Document, Selector, fixture};

    fn form(page: &str, css: &str) -> Option<Form> {
        let css = Selector::parse(css).expect("a selector of the test");
        let document = Document::parse(page.as_bytes());
        let among = document.select(&css, None);
        find_form(&document, Some(&among), &fixture::page_url())
    }

    #[test]
    fn the_drupal_7_login_form_sends_its_hidden_fields_and_its_button() {
        let page = String::from_utf8_lossy(&fixture::drupal7(1)).into_owned();
        let login = form(&page, "#user-login-form").expect("the form");
        assert_eq!(login.action.as_str(), "http://site/node?destination=node");
        assert_eq!((login.method, login.multipart), (FormMethod::Post, false));
        assert_eq!(
            fixture::encode_form(&login.fields),
            "name=&pass=&form_build_id=form-Mbk1UNpuB1Vc8YQuHbhkwBqMiAyXWO6M5A0wYy2VGcM&form_id=user_login_block"
        );
        assert_eq!(login.submit, Some(("op".to_owned(), "Log in".to_owned())));
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
        assert_eq!(comment.submit, Some(("op".to_owned(), "Save".to_owned())));
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
        assert!(sent.multipart && sent.method == FormMethod::Post && sent.submit.is_none());
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
