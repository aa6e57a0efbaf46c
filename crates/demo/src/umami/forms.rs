//! The validation of submitted forms, as observed on the Umami demo of Drupal 8.9. Pure; driven by the site, which
//! acts on the outcome; knows neither sessions nor pages. Whether a form_build_id was ever given out is not
//! checked, as there.

use crate::fields::FormFields;
use crate::template::escape;

const OUTDATED: &str = "The form has become outdated. Press the back button, copy any unsaved work in the \
     form, and then reload the page.";
const UNRECOGNIZED: &str = "Unrecognized username or password. \
     <a href=\"/en/user/password\">Forgot your password?</a>";
/// The number of characters that a search may have.
const KEYS_LIMIT: usize = 255;
/// The name of the one account, which may edit.
pub(super) const ADMIN: &str = "admin";
const PASSWORD: &str = "admin";

/// The outcome of a submitted form.
#[derive(Debug, PartialEq)]
pub(super) enum FormOutcome {
    Good,
    /// The form once more, with these errors in HTML.
    Again(Vec<String>),
}

impl FormOutcome {
    fn of(errors: Vec<String>) -> FormOutcome {
        if errors.is_empty() {
            FormOutcome::Good
        } else {
            FormOutcome::Again(errors)
        }
    }
}

/// Validates a login.
pub(super) fn login(fields: &FormFields) -> FormOutcome {
    if fields.get("form_id") != "user_login_form" {
        return FormOutcome::Again(Vec::new());
    }
    let missing = missing(fields, &[("name", "Username"), ("pass", "Password")]);
    if !missing.is_empty() {
        return FormOutcome::Again(missing);
    }
    if fields.get("name").trim() == ADMIN && fields.get("pass") == PASSWORD {
        FormOutcome::Good
    } else {
        FormOutcome::Again(vec![UNRECOGNIZED.to_owned()])
    }
}

/// Validates a message to the site, which anonymous visitors may send as well.
pub(super) fn contact(fields: &FormFields) -> FormOutcome {
    if fields.get("form_id") != "contact_message_feedback_form" {
        return FormOutcome::Again(Vec::new());
    }
    let required = [
        ("name", "Your name"),
        ("mail", "Your email address"),
        ("subject[0][value]", "Subject"),
        ("message[0][value]", "Message"),
    ];
    let mut errors = missing(fields, &required);
    let mail = fields.get("mail").trim();
    let is_address = mail
        .split_once('@')
        .is_some_and(|(name, host)| !name.is_empty() && host.contains('.') && !host.contains('@'));
    if !mail.is_empty() && !is_address {
        let mail = escape(mail);
        errors.push(format!(
            "The email address <em class=\"placeholder\">{mail}</em> is not valid."
        ));
    }
    FormOutcome::of(errors)
}

/// Validates a search.
pub(super) fn search(fields: &FormFields) -> FormOutcome {
    if fields.get("form_id") != "search_form" {
        return FormOutcome::Again(Vec::new());
    }
    match fields.get("keys").trim().chars().count() {
        0 => FormOutcome::Again(vec!["Please enter some keywords.".to_owned()]),
        1..=KEYS_LIMIT => FormOutcome::Good,
        length => FormOutcome::Again(vec![format!(
            "Enter your keywords cannot be longer than {KEYS_LIMIT} characters but is currently {length} characters long."
        )]),
    }
}

/// Validates a change to a node whose type has that machine name, by an editor whose form_token is `token`.
pub(super) fn edit(fields: &FormFields, machine_name: &str, token: &str) -> FormOutcome {
    if fields.get("form_id") != format!("node_{machine_name}_edit_form") {
        return FormOutcome::Again(Vec::new());
    }
    if fields.get("form_token") != token {
        return FormOutcome::Again(vec![OUTDATED.to_owned()]);
    }
    // A request without a title keeps the old one.
    if fields.has("title[0][value]") {
        FormOutcome::of(missing(fields, &[("title[0][value]", "Title")]))
    } else {
        FormOutcome::Good
    }
}

/// An error for each of these fields that is empty.
fn missing(fields: &FormFields, required: &[(&str, &str)]) -> Vec<String> {
    let empty = required
        .iter()
        .filter(|(name, _)| fields.get(name).trim().is_empty());
    empty
        .map(|(_, label)| format!("{label} field is required."))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(verdict: FormOutcome) -> Option<usize> {
        match verdict {
            FormOutcome::Good => None,
            FormOutcome::Again(errors) => Some(errors.len()),
        }
    }

    #[test]
    fn each_form_is_judged_by_what_it_needs() {
        type Validate = fn(&FormFields) -> FormOutcome;
        let edit: Validate = |fields| super::edit(fields, "article", "t");
        let cases: [(Validate, &str, Option<usize>); 19] = [
            (
                login,
                "form_id=user_login_form&name=admin&pass=admin&op=Log%2Bin",
                None,
            ),
            (
                login,
                "form_id=user_login_form&name=admin&pass=wrong",
                Some(1),
            ),
            (
                login,
                "form_id=user_login_form&name=root&pass=admin",
                Some(1),
            ),
            (login, "form_id=user_login_form", Some(2)),
            (login, "form_id=user_login&name=admin&pass=admin", Some(0)),
            (search, "form_id=search_form&keys=carrots+soup", None),
            (search, "form_id=search_form&keys=+", Some(1)),
            (search, "keys=carrots", Some(0)),
            (edit, "form_id=node_article_edit_form&form_token=t", None),
            (
                edit,
                "form_id=node_article_edit_form&form_token=t&title[0][value]=x",
                None,
            ),
            (
                edit,
                "form_id=node_article_edit_form&form_token=t&title[0][value]=",
                Some(1),
            ),
            (edit, "form_id=node_article_edit_form&form_token=x", Some(1)),
            (edit, "form_id=node_article_edit_form", Some(1)),
            (edit, "form_id=node_recipe_edit_form&form_token=t", Some(0)),
            (contact, "form_id=contact_message_feedback_form", Some(4)),
            (contact, "", Some(0)),
            (
                contact,
                "form_id=contact_message_feedback_form&name=a&mail=a&subject[0][value]=s&message[0][value]=m",
                Some(1),
            ),
            (
                contact,
                "form_id=contact_message_feedback_form&name=a&mail=a@b.org&subject[0][value]=s&message[0][value]=m",
                None,
            ),
            (
                contact,
                "form_id=contact_message_feedback_form&name=a&mail=@b.org&message[0][value]=m",
                Some(2),
            ),
        ];
        for (judge, sent, expected) in cases {
            let verdict = judge(&FormFields::parse(sent.as_bytes()));
            assert_eq!(errors(verdict), expected, "{sent}");
        }
    }
}
