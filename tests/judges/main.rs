//! What lgoose does as browsers and curl do it or as a standard has it, held against them and against who knows the standard. A table (`forms.jsonl` beside `forms.rs`) has a case a
//! line, with what the judge made of it: [`table`].

#![allow(
    dead_code,
    reason = "what helps the tests of tests/it is not all used here"
)]

mod assets;
#[path = "../it/browser.rs"]
mod browser;
mod caches;
mod cookies;
mod curl;
mod event_streams;
#[path = "../it/faulty.rs"]
mod faulty;
mod forms;
mod heads;
mod import_curl;
mod import_har;
mod import_openapi;
mod import_postman;
mod llm;
mod plans;
#[path = "../it/program.rs"]
mod program;
mod redirects;
mod referrers;
#[path = "../it/skipping.rs"]
mod skipping;
mod table;
mod texts;
mod urls;
mod websockets;

/// The client that the tests use, the default one.
const CLIENT: Option<&str> = None;
