//! Writes a plan from a recording of a browser (HAR) or from `curl` command lines: pages, assets, forms, calls of an
//! API, with the values that responses brought and later requests sent; from descriptions of the calls of an API: a
//! collection of Postman, an OpenAPI document; and from tests of other load testers: JMeter, Artillery, k6, lists of
//! targets.
//!
//! Driven by `lgoose import`. Text in, text out: sends nothing, writes no file and knows no command line; it reads the
//! files beside an OpenAPI document that the document refers to. The input was written by strangers: nothing of it gets
//! into the plan except as a quoted text.
//!
//! ```
//! use lgoose_import::{ImportOptions, import};
//!
//! let command = &b"curl http://127.0.0.1:8080/cart -d item=7"[..];
//! let imported = import("calls.txt", command, &ImportOptions::default()).expect("a command line of curl");
//! assert!(imported.plan.contains("user:post"));
//! ```

/// Declares a regular expression that is compiled when it is first used.
macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| regex::Regex::new($text).expect("the pattern is one"));
    };
}

mod artillery;
mod body;
mod bounded;
mod calls;
mod curl;
mod exchange;
mod forms;
mod har;
mod head;
mod imported;
mod index;
mod jmeter;
mod k6;
mod keys;
mod lua_text;
mod multipart;
mod names;
mod openapi;
mod origin;
mod parts;
mod places;
mod postman;
mod random;
mod request;
mod resolve;
mod row_source;
mod script_variables;
mod secrets;
mod side_by_side;
mod site;
mod stand_in;
mod target_list;
pub mod targets;
mod value_paths;
mod visit;
mod writer;
mod xml;

#[cfg(test)]
mod tests;

use exchange::RecordedTraffic;
use har::{DOCUMENT_BYTES, JsonFile};
pub(crate) use imported::Imported;
use imported::{KINDS, YamlKind, read_yaml};
use lgoose_base::error::Diagnostic;
use lgoose_base::foreign_formats::recognise;
pub use site::ImportOptions;
use site::{InputKind, SelectedExchanges};
use std::io::{BufRead, Read as _};

/// Reads a recording and writes its plan. `name` is that of the file, for messages.
///
/// # Errors
/// The fault in the file with its place and a remedy.
pub fn import(
    name: &str,
    mut reader: impl BufRead,
    choices: &ImportOptions,
) -> Result<Imported, Diagnostic> {
    let first = skip_blank(&mut reader).map_err(|error| unreadable(name, &error))?;
    let recording = match first {
        Some(b'{') => match har::read(name, reader)? {
            JsonFile::Recording(recording) => {
                choices.check(InputKind::Recording, name)?;
                recording
            }
            JsonFile::Other(file) if postman::is_postman(&file) => {
                choices.check(InputKind::Collection, name)?;
                return postman::import(name, file, choices);
            }
            JsonFile::Other(file) if openapi::is_openapi(&file) => {
                choices.check(InputKind::Document, name)?;
                return openapi::import(name, file, choices);
            }
            JsonFile::Other(file) if artillery::is_artillery(&file) => {
                choices.check(InputKind::TestPlan, name)?;
                return artillery::import(name, file, choices);
            }
            JsonFile::Other(_) => {
                let message = format!(
                    "{name} is JSON, and none of what is imported: it has no 'log', 'item', 'openapi' or 'config'"
                );
                return Err(Diagnostic::new(message).help(KINDS));
            }
        },
        Some(b'[') => return Err(unknown(name)),
        Some(b'<') => {
            let text = whole_text(name, reader)?;
            if !jmeter::is_jmeter(&text) {
                return Err(unknown(name));
            }
            choices.check(InputKind::TestPlan, name)?;
            return jmeter::import(name, &text, choices);
        }
        Some(_) => {
            let text = whole_text(name, reader)?;
            if openapi::is_yaml(&text) {
                choices.check(InputKind::Document, name)?;
                let kind = YamlKind {
                    name: "OpenAPI document",
                    noun: "document",
                };
                let file = read_yaml(name, &text, &kind, |_| true)?;
                return openapi::import(name, file, choices);
            }
            if artillery::is_yaml(&text) {
                choices.check(InputKind::TestPlan, name)?;
                let kind = YamlKind {
                    name: "test of Artillery",
                    noun: "test",
                };
                let file = read_yaml(name, &text, &kind, artillery::is_artillery)?;
                return artillery::import(name, file, choices);
            }
            if k6::is_k6(&text) {
                choices.check(InputKind::TestPlan, name)?;
                return k6::import(name, &text, choices);
            }
            if targets::is_list(name, &text) {
                choices.check(InputKind::TestPlan, name)?;
                return target_list::import(name, &text, choices);
            }
            if let Some(tool) = recognise(&text).filter(|tool| tool.is_no_recording())
                && !text.contains("curl ")
            {
                return Err(tool.mistake(name.trim_matches('\'')));
            }
            choices.check(InputKind::Recording, name)?;
            curl::read(name, &text, choices.path.as_deref())?
        }
        None => {
            let diagnostic = Diagnostic::new(format!("{name} is empty"));
            return Err(diagnostic.help(KINDS));
        }
    };
    write(name, recording, choices)
}

fn write(
    name: &str,
    recording: RecordedTraffic,
    choices: &ImportOptions,
) -> Result<Imported, Diagnostic> {
    let mut notes = recording.notes;
    let hosts = site::hosts(&recording.exchanges);
    let referring_site = recording.site.as_ref();
    let selection = site::choose(recording.exchanges, referring_site, choices, &mut notes);
    let variables = recording.variables;
    let Some(selection) = selection else {
        return Err(nothing_to_send(name, choices, &hosts, &notes));
    };
    let selection = SelectedExchanges {
        variables,
        ..selection
    };
    let mut visit = visit::arrange(&selection);
    for task in &mut visit.tasks {
        task.name = selection.variables.shown_path(&task.name);
    }
    let mut written = writer::write(&selection, visit, choices.files, &recording.options);
    notes.append(&mut written.notes);
    Ok(Imported {
        plan: written.plan,
        files: written.files,
        notes,
    })
}

/// Returns why a recording has no request that a plan could send. `hosts` are those of its requests, `notes` the parts
/// that were left out.
fn nothing_to_send(
    name: &str,
    choices: &ImportOptions,
    hosts: &str,
    notes: &[String],
) -> Diagnostic {
    if let Some(site) = choices.site.as_ref().filter(|_| !hosts.is_empty()) {
        let site = lua_text::comment(site);
        return Diagnostic::new(format!("{name} has no request to '{site}'"))
            .help(format!("give '--site' one of its hosts: {hosts}"));
    }
    let why: String = notes
        .iter()
        .take(3)
        .map(|note| format!("; {note}"))
        .collect();
    let help = "record a visit to a site over http or https, with the network view open from its first page on";
    Diagnostic::new(format!("{name} has no request that a plan could send{why}")).help(help)
}

/// Skips a byte order mark and blanks, and returns the first byte after them: of a script that begins with a group of
/// commands, the one after its brace.
fn skip_blank(reader: &mut impl BufRead) -> std::io::Result<Option<u8>> {
    loop {
        let bytes = reader.fill_buf()?;
        let Some(first) = bytes.first().copied() else {
            return Ok(None);
        };
        if !(first.is_ascii_whitespace() || matches!(first, 0xef | 0xbb | 0xbf)) {
            let group = bytes.strip_prefix(b"{ ").map(<[u8]>::trim_ascii_start);
            let inner = group.and_then(|group| group.first().copied());
            let inner = inner.filter(u8::is_ascii_alphabetic);
            return Ok(inner.or(Some(first)));
        }
        // Line breaks stay countable: a recording hardly begins with one.
        reader.consume(1);
    }
}

/// Reads the whole text of a file that is no HAR file.
///
/// # Errors
/// A text that cannot be read or is too large.
fn whole_text(name: &str, reader: impl BufRead) -> Result<String, Diagnostic> {
    let mut bytes = Vec::new();
    let read = reader.take(DOCUMENT_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(name, &error))?;
    if bytes.len() as u64 > DOCUMENT_BYTES {
        let message = format!(
            "{name} is larger than {} MiB, and no HAR file",
            DOCUMENT_BYTES >> 20
        );
        return Err(Diagnostic::new(message).help(KINDS));
    }
    String::from_utf8(bytes).map_err(|_| unknown(name))
}

fn unreadable(name: &str, error: &std::io::Error) -> Diagnostic {
    Diagnostic::new(format!("cannot read {name}: {error}"))
        .help("name a file that was recorded, or '-' for standard input")
}

fn unknown(name: &str) -> Diagnostic {
    Diagnostic::new(format!("{name} cannot be imported")).help(KINDS)
}
