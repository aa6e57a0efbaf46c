//! The page and its files, which are part of the program. Style and charts are those of the HTML report.

use crate::output::html::{SHARED_MODULE, STYLE};
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
pub(super) const FILES: [PageFile; 16] = [
    file("/", HTML, include_str!("index.html")),
    file("/report.css", CSS, STYLE),
    file("/page.css", CSS, include_str!("page.css")),
    file("/shared.js", SCRIPT, SHARED_MODULE),
    file("/page.js", SCRIPT, include_str!("page.js")),
    file("/commands.js", SCRIPT, include_str!("commands.js")),
    file("/exemplars.js", SCRIPT, include_str!("exemplars.js")),
    file("/keys.js", SCRIPT, include_str!("keys.js")),
    file("/lines.js", SCRIPT, include_str!("lines.js")),
    file("/log.js", SCRIPT, include_str!("log.js")),
    file("/overview.js", SCRIPT, include_str!("overview.js")),
    file("/reports.js", SCRIPT, include_str!("reports.js")),
    file("/state.js", SCRIPT, include_str!("state.js")),
    file("/table.js", SCRIPT, include_str!("table.js")),
    file("/tables.js", SCRIPT, include_str!("tables.js")),
    file("/words.js", SCRIPT, include_str!("words.js")),
];

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

const fn file(path: &'static str, kind: &'static str, content: &'static str) -> PageFile {
    PageFile {
        path,
        kind,
        content,
    }
}

impl PageFile {
    pub(super) fn answer(&self) -> Response {
        ([(CONTENT_TYPE, self.kind)], self.content).into_response()
    }
}
