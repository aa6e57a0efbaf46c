//! Files of pages, which are part of the program.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};

pub(super) const HTML: &str = "text/html; charset=utf-8";
pub(super) const CSS: &str = "text/css; charset=utf-8";
pub(super) const SCRIPT: &str = "text/javascript; charset=utf-8";

/// A file of a page.
#[derive(Debug)]
pub(super) struct PageFile {
    pub(super) path: &'static str,
    kind: &'static str,
    content: &'static str,
}

/// Returns the file of that path, media type and content.
pub(super) const fn file(
    path: &'static str,
    kind: &'static str,
    content: &'static str,
) -> PageFile {
    PageFile {
        path,
        kind,
        content,
    }
}

impl PageFile {
    pub(super) fn respond(&self) -> Response {
        ([(CONTENT_TYPE, self.kind)], self.content).into_response()
    }
}
