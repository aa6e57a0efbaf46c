//! The page of all runs and its files, which are part of the program.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};

/// A file of the page.
#[derive(Debug)]
pub(super) struct PageFile {
    pub(super) path: &'static str,
    kind: &'static str,
    content: &'static str,
}

/// All of them.
pub(super) const FILES: [PageFile; 3] = [
    PageFile {
        path: "/",
        kind: "text/html; charset=utf-8",
        content: include_str!("runs.html"),
    },
    PageFile {
        path: "/runs.css",
        kind: "text/css; charset=utf-8",
        content: include_str!("runs.css"),
    },
    PageFile {
        path: "/runs.js",
        kind: "text/javascript; charset=utf-8",
        content: include_str!("runs.js"),
    },
];

impl PageFile {
    pub(super) fn answer(&self) -> Response {
        ([(CONTENT_TYPE, self.kind)], self.content).into_response()
    }
}
