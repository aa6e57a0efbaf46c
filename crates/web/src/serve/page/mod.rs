//! The page with all runs and its files, which are part of the program.

use crate::files::{CSS, HTML, PageFile, SCRIPT, file};

/// All files of the page.
pub(super) const FILES: [PageFile; 3] = [
    file("/", HTML, include_str!("runs.html")),
    file("/runs.css", CSS, include_str!("runs.css")),
    file("/runs.js", SCRIPT, include_str!("runs.js")),
];
