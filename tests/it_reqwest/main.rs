//! The tests of `tests/it` that exercise HTTP, once more over reqwest: the session is the same, so are the
//! answers, the counts and the classes of failures. What differs is asked of [`CLIENT`] where it matters:
//! the words after a class ('closed early: …') may be reqwest's own, and bytes are counted without the
//! framing of chunks.

#![allow(
    dead_code,
    reason = "what helps the tests that are not repeated here is not used"
)]

#[path = "../it/drupal.rs"]
mod drupal;
#[path = "../it/failing.rs"]
mod failing;
#[path = "../it/language.rs"]
mod language;
#[path = "../it/program.rs"]
mod program;
#[path = "../it/report.rs"]
mod report;
#[path = "../it/server.rs"]
mod server;
#[path = "../it/stopping.rs"]
mod stopping;

/// What sends the requests of every run here.
const CLIENT: Option<&str> = Some("reqwest");
