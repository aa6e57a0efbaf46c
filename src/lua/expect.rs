//! What a plan expects of a response, checked on the bytes as they came. The first miss is the verdict.

use crate::html;
use crate::http::{Exchange, Response};
use memchr::memmem;

/// The `expect` of a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expect {
    /// Statuses that count as success; empty: any below 400.
    pub status: Vec<u16>,
    /// What the page's title must begin with.
    pub title: Option<String>,
    /// What the body must contain.
    pub text: Vec<Vec<u8>>,
}

impl Expect {
    /// Why the exchange counts as failed, in words that are the same for every failure of one cause.
    pub fn verdict(&self, exchange: &Exchange) -> Option<String> {
        match &exchange.outcome {
            Err(failure) => Some(failure.to_string()),
            Ok(response) => self.judge(response),
        }
    }

    fn judge(&self, response: &Response) -> Option<String> {
        let status = response.status;
        if self.status.is_empty() && status >= 400 {
            return Some(match canonical_reason(status) {
                Some(reason) => format!("status {status} {reason}"),
                None => format!("status {status}"),
            });
        }
        if !self.status.is_empty() && !self.status.contains(&status) {
            let wanted: Vec<String> = self.status.iter().map(u16::to_string).collect();
            return Some(format!(
                "expected status {}, got {status}",
                wanted.join(" or ")
            ));
        }
        if let Some(wanted) = &self.title {
            match html::title(response.body_bytes()) {
                Some(title) if title.starts_with(wanted.as_str()) => {}
                Some(title) => {
                    return Some(format!(
                        "expected title '{wanted}', got '{}'",
                        shortened(&title)
                    ));
                }
                None => return Some(format!("expected title '{wanted}', the page has none")),
            }
        }
        self.text
            .iter()
            .find(|wanted| memmem::find(response.body_bytes(), wanted).is_none())
            .map(|wanted| {
                format!(
                    "expected text '{}' is missing",
                    shortened(&String::from_utf8_lossy(wanted))
                )
            })
    }
}

fn canonical_reason(status: u16) -> Option<&'static str> {
    http::StatusCode::from_u16(status).ok()?.canonical_reason()
}

/// At most 80 characters, so that a page cannot fill a report.
pub(super) fn shortened(text: &str) -> String {
    const MOST: usize = 80;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
