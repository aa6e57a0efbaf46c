//! The validation of submitted forms, as observed on Drupal 7.105. Pure; driven by the site, which acts on the
//! outcome; knows neither sessions nor pages.

use crate::fields::FormFields;
use crate::template::escape;

const OUTDATED: &str = "The form has become outdated. Press the back button, copy any unsaved work in the \
     form, and then reload the page.";
const ILLEGAL: &str = "An illegal choice has been detected. Please contact the site administrator.";
const SUBJECT_LIMIT: usize = 64;
const LAST_USER: u32 = 5_001;
const PASSWORD: &str = "12345";

/// Returns whether there is a user of that number. There are 5,000, numbered from 2.
pub(super) fn is_user(uid: u32) -> bool {
    (2..=LAST_USER).contains(&uid)
}

/// The outcome of a submitted login. Errors are HTML.
#[derive(Debug, PartialEq)]
pub(super) enum LoginOutcome {
    /// A login of the user of this number.
    Good(u32),
    /// The form once more, with these errors.
    Again(Vec<String>),
}

/// Validates a login by the form called `form_id`. Its form_build_id and op do not matter.
pub(super) fn login(fields: &FormFields, form_id: &str) -> LoginOutcome {
    if fields.get("form_id") != form_id {
        return LoginOutcome::Again(Vec::new());
    }
    let (name, pass) = (fields.get("name").trim(), fields.get("pass"));
    let missing = [(name, "Username"), (pass, "Password")];
    let missing = missing.iter().filter(|(value, _)| value.is_empty());
    let errors: Vec<String> = missing
        .map(|(_, label)| format!("{label} field is required."))
        .collect();
    if !errors.is_empty() {
        return LoginOutcome::Again(errors);
    }
    let uid = name.strip_prefix("user").and_then(|uid| uid.parse().ok());
    match uid {
        Some(uid) if is_user(uid) && name == format!("user{uid}") && pass == PASSWORD => {
            LoginOutcome::Good(uid)
        }
        _ => LoginOutcome::Again(vec![
            "Sorry, unrecognized username or password. \
             <a href=\"/user/password\">Have you forgotten your password?</a>"
                .to_owned(),
        ]),
    }
}

/// A comment as it was sent.
#[derive(Debug, PartialEq, Default)]
pub(super) struct CommentDraft {
    pub(super) subject: String,
    pub(super) body: String,
}

/// The outcome of a submitted comment. Errors are HTML.
#[derive(Debug, PartialEq)]
pub(super) enum CommentOutcome {
    /// The comment is posted.
    Post(CommentDraft),
    /// The comment is shown as it would look, above the form.
    Preview(CommentDraft),
    /// The form once more, with these errors and filled with the comment.
    Again(Vec<String>, CommentDraft),
}

/// Validates a comment by a member whose form_token is `token`. The form_build_id does not matter.
pub(super) fn reply(fields: &FormFields, token: &str) -> CommentOutcome {
    if fields.get("form_id") != "comment_node_article_form" {
        return CommentOutcome::Again(Vec::new(), CommentDraft::default());
    }
    if fields.get("form_token") != token {
        return CommentOutcome::Again(vec![OUTDATED.to_owned()], CommentDraft::default());
    }
    let mut draft = CommentDraft {
        subject: fields.get("subject").to_owned(),
        body: fields.get("comment_body[und][0][value]").to_owned(),
    };
    let errors = comment_errors(&draft, fields.get("comment_body[und][0][format]"));
    if !errors.is_empty() {
        return CommentOutcome::Again(errors, draft);
    }
    if fields.get("op") == "Preview" {
        return CommentOutcome::Preview(draft);
    }
    if draft.subject.trim().is_empty() {
        draft.subject = draft.body.trim().chars().take(29).collect();
    }
    CommentOutcome::Post(draft)
}

fn comment_errors(draft: &CommentDraft, format: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let length = draft.subject.chars().count();
    if length > SUBJECT_LIMIT {
        errors.push(format!(
            "Subject cannot be longer than {SUBJECT_LIMIT} characters but is currently {length} characters long."
        ));
    }
    if draft.body.trim().is_empty() {
        errors.push("Comment field is required.".to_owned());
    }
    // Without the field at all, the form's default holds.
    if !["", "filtered_html", "plain_text"].contains(&format) {
        errors.push(ILLEGAL.to_owned());
    }
    errors
}

/// The HTML of a text of several lines.
pub(super) fn lines(text: &str) -> String {
    escape(text.trim())
        .replace("\r\n", "\n")
        .replace('\n', "<br />\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_n_has_the_number_n_and_one_password_fits_all() {
        for (body, good) in [
            ("form_id=user_login&name=user7&pass=12345", Some(7)),
            (
                "form_id=user_login&name=user5001&pass=12345&op=Log%2Bin",
                Some(5_001),
            ),
            ("form_id=user_login&name=user5002&pass=12345", None),
            ("form_id=user_login&name=user07&pass=12345", None),
            ("form_id=user_login&name=user7&pass=1234", None),
            ("form_id=user_register&name=user7&pass=12345", None),
            ("", None),
        ] {
            let judged = match login(&FormFields::parse(body.as_bytes()), "user_login") {
                LoginOutcome::Good(uid) => Some(uid),
                LoginOutcome::Again(_) => None,
            };
            assert_eq!(judged, good, "{body}");
        }
    }

    #[test]
    fn an_empty_login_names_both_fields() {
        let errors = ["Username field is required.", "Password field is required."];
        let expected = LoginOutcome::Again(errors.map(str::to_owned).to_vec());
        assert_eq!(
            login(&FormFields::parse(b"form_id=user_login"), "user_login"),
            expected
        );
    }

    #[test]
    fn a_comment_without_a_subject_takes_one_from_its_body() {
        let sent =
            "form_id=comment_node_article_form&form_token=t&comment_body[und][0][value]=short";
        let draft = CommentDraft {
            subject: "short".to_owned(),
            body: "short".to_owned(),
        };
        assert_eq!(
            reply(&FormFields::parse(sent.as_bytes()), "t"),
            CommentOutcome::Post(draft)
        );
    }

    #[test]
    fn a_comment_may_have_several_faults_at_once() {
        let sent = "form_id=comment_node_article_form&form_token=t&comment_body[und][0][format]=x";
        let CommentOutcome::Again(errors, _) = reply(&FormFields::parse(sent.as_bytes()), "t")
        else {
            panic!("a comment with faults was accepted");
        };
        assert_eq!(errors.len(), 2, "{errors:?}");
    }
}
