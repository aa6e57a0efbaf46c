//! The page and its files, which are part of the program. Style and charts are shared with the HTML report.

use super::files::{CSS, HTML, PageFile, SCRIPT, file};
use lgoose_report::html::{SHARED_MODULE, STYLE};

/// All files of the page.
pub(super) const FILES: [PageFile; 17] = [
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
    file("/tagged.js", SCRIPT, include_str!("tagged.js")),
    file("/words.js", SCRIPT, include_str!("words.js")),
];
