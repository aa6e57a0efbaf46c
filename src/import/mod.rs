//! Writes a plan from what a browser has recorded (HAR) or a `curl` command line says: pages, assets, forms, calls of an
//! API, with the values that answers brought and later requests sent.
//!
//! Driven by `lgoose import`. Text in, text out: sends nothing, writes no file and knows no command line. What is read was
//! written by strangers, so that nothing of it gets into the plan but as a quoted text.

mod body;
mod bounded;
mod curl;
mod exchange;
mod forms;
mod har;
mod head;
mod lua_text;
mod multipart;
mod origin;
mod parts;
mod places;
mod random;
mod request;
mod resolve;
mod secrets;
mod site;
mod visit;
mod writer;

#[cfg(test)]
mod tests;

use crate::error::Diagnostic;
use exchange::Recording;
pub(crate) use site::Choices;
use std::io::{BufRead, Read as _};

/// The most bytes of a command line that are read.
const COMMAND_BYTES: u64 = 16 << 20;

/// A plan, and what goes with it.
#[derive(Debug)]
pub(crate) struct Imported {
    /// The text of the plan.
    pub(crate) plan: String,
    /// Names, without folders, and contents of the files that it reads.
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// What is left to do for the author, a line each.
    pub(crate) notes: Vec<String>,
}

/// Reads a recording and writes its plan. `name` is that of the file, for messages.
///
/// # Errors
/// What is wrong with the file, where, and what to do.
pub(crate) fn import(
    name: &str,
    mut reader: impl BufRead,
    choices: &Choices,
) -> Result<Imported, Diagnostic> {
    let unreadable = |error: std::io::Error| {
        Diagnostic::new(format!("cannot read {name}: {error}"))
            .help("name a file that was recorded, or '-' for standard input")
    };
    let begin = skip_blank(&mut reader).map_err(unreadable)?;
    let recording = match begin {
        Some(b'{') => har::read(name, reader)?,
        Some(b'[' | b'<') => return Err(unknown(name)),
        Some(_) => {
            let mut bytes = Vec::new();
            let read = reader.take(COMMAND_BYTES).read_to_end(&mut bytes);
            read.map_err(unreadable)?;
            let text = String::from_utf8(bytes).map_err(|_| unknown(name))?;
            curl::read(name, &text)?
        }
        None => {
            let told = Diagnostic::new(format!("{name} is empty"));
            return Err(
                told.help("record a visit first: 'Save all as HAR' in the browser's network view")
            );
        }
    };
    write(name, recording, choices)
}

fn write(name: &str, recording: Recording, choices: &Choices) -> Result<Imported, Diagnostic> {
    let mut notes = recording.notes;
    let kept = site::choose(recording.exchanges, choices, &mut notes);
    let Some(kept) = kept else {
        let told = format!("{name} has no request that a plan could send");
        let help = "record a visit to a site over http or https, with the network view open from its first page on";
        return Err(Diagnostic::new(told).help(help));
    };
    let visit = visit::arrange(&kept);
    let mut written = writer::write(&kept, &visit, choices.files, recording.options);
    notes.append(&mut written.notes);
    Ok(Imported {
        plan: written.plan,
        files: written.files,
        notes,
    })
}

/// Skips a byte order mark and blanks, and returns the first byte after them.
fn skip_blank(reader: &mut impl BufRead) -> std::io::Result<Option<u8>> {
    loop {
        let bytes = reader.fill_buf()?;
        let Some(first) = bytes.first().copied() else {
            return Ok(None);
        };
        if !(first.is_ascii_whitespace() || matches!(first, 0xef | 0xbb | 0xbf)) {
            return Ok(Some(first));
        }
        // Line breaks stay countable: a recording hardly begins with one.
        reader.consume(1);
    }
}

fn unknown(name: &str) -> Diagnostic {
    Diagnostic::new(format!(
        "{name} is neither a HAR file nor a curl command line"
    ))
    .help("save the browser's network view as HAR, or copy a request 'as cURL (bash)'")
}
