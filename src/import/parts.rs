//! Parts of a call that need no more than their request: what is expected, and texts put together.

use super::exchange::{Exchange, Kind};
use super::lua_text::quoted;
use super::random::is_random;
use super::visit::title_of;

pub(super) type Fields = Vec<(String, String)>;

/// Returns what the answer is expected to be, and how far redirects are followed.
pub(super) fn expect(exchange: &Exchange) -> (Option<Fields>, Option<(String, String)>) {
    let stays = ("max_redirects".to_owned(), "0".to_owned());
    let Some(answer) = &exchange.answer else {
        return (None, (!exchange.follows).then_some(stays));
    };
    let status = if answer.status == 304 {
        200
    } else {
        answer.status
    };
    let redirects = (300..400).contains(&status);
    if redirects && exchange.follows {
        // Where it leads was not recorded.
        return (None, None);
    }
    let mut expect = vec![("status".to_owned(), status.to_string())];
    let title = title_of(answer).filter(|_| exchange.kind == Kind::Page);
    let title = title.filter(|title| !title.split_whitespace().any(is_random));
    expect.extend(title.map(|title| ("title".to_owned(), quoted(&title))));
    (Some(expect), redirects.then_some(stays))
}

/// Returns whether a text can be the name of a header.
pub(super) fn is_token(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Returns an expression as a part of a URL.
pub(super) fn encoded(expression: &str, value: &str) -> String {
    let plain = value
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte));
    match plain {
        true => expression.to_owned(),
        false => format!("url.encode({expression})"),
    }
}

/// A text of literals and expressions.
#[derive(Default)]
pub(super) struct Concatenation {
    parts: Vec<String>,
    literal: String,
}

impl Concatenation {
    pub(super) fn literal(&mut self, text: &str) {
        self.literal.push_str(text);
    }

    pub(super) fn expression(&mut self, expression: String) {
        if !self.literal.is_empty() {
            self.parts.push(quoted(&std::mem::take(&mut self.literal)));
        }
        self.parts.push(expression);
    }

    pub(super) fn finish(mut self) -> String {
        if !self.literal.is_empty() || self.parts.is_empty() {
            self.parts.push(quoted(&self.literal));
        }
        self.parts.join(" .. ")
    }
}
