//! Access logs: reads their lines in whatever format they have, counts those of no use, and passes the others on.

use crate::event::{LoggedRequest, hash_of};
use crate::format::values::path_and_query;
use crate::format::{AccessFormat, AccessLine, LinePattern, Unreadable};
use crate::interned::InternedTexts;
use crate::open_log::LogLines;
use lgoose_base::error::{Diagnostic, Error};
use serde::Serialize;
use std::path::PathBuf;

/// The number of lines that could not be read of which the text is kept.
const MAX_SHOWN: usize = 3;

/// The most characters of such a line.
const MAX_SHOWN_LENGTH: usize = 200;

/// What the access logs have besides the requests in them.
#[derive(Debug, Default, Clone, PartialEq, Serialize)]
pub struct AccessLogs {
    /// The files, as they were named.
    pub files: Vec<String>,
    /// The formats of the lines, with the number of lines of each.
    pub formats: Vec<(String, u64)>,
    /// Lines that are not empty.
    pub lines: u64,
    /// Lines of a request.
    pub requests: u64,
    /// Lines without a request: connections that were closed before one came, messages of the server.
    pub without_request: u64,
    /// Lines that could not be read.
    pub unreadable: u64,
    /// The first of them.
    pub first_unreadable: Vec<UnreadableLine>,
}

/// A line that could not be read.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnreadableLine {
    /// The file.
    pub file: String,
    /// Its line, from 1.
    pub line: u64,
    /// Why it could not be read.
    pub reason: String,
    /// The beginning of the line.
    pub text: String,
}

/// Reads the logs, and passes each request in them on.
///
/// # Errors
/// A file that cannot be read, or has no line that can, and errors of `put`.
pub(crate) fn read(
    files: &[PathBuf],
    given: Option<&LinePattern>,
    agents: &mut InternedTexts,
    mut put: impl FnMut(LoggedRequest, &str) -> Result<(), Error>,
) -> Result<AccessLogs, Error> {
    let mut logs = AccessLogs::default();
    let mut format = given.cloned().map(AccessFormat::Given);
    for (number, path) in files.iter().enumerate() {
        let name = path.display().to_string();
        logs.files.push(name.clone());
        let (before, unreadable) = (logs.lines, logs.unreadable);
        let mut lines = LogLines::open(path)?;
        while let Some(line) = lines.next()? {
            let text = line.text.map(String::from_utf8_lossy);
            if text.as_ref().is_some_and(|text| text.trim().is_empty()) {
                continue;
            }
            logs.lines += 1;
            let found = match &text {
                Some(text) => read_line(text, &mut format, given.is_some()),
                None => Err("it is longer than 64 KiB"),
            };
            match (found, &format) {
                (Ok(Some(found)), Some(format)) => {
                    logs.requests += 1;
                    logs.count_format(format.name());
                    let hash = hash_of(&text);
                    let agent = found.agent.clone().unwrap_or_default();
                    let place = (number as u32, line.number);
                    put(logged(found, agents.number(&agent), place, hash), &agent)?;
                }
                (Ok(_), _) => logs.without_request += 1,
                (Err(reason), _) => {
                    logs.unreadable += 1;
                    if logs.first_unreadable.len() < MAX_SHOWN {
                        let text = text.unwrap_or_default();
                        logs.first_unreadable.push(UnreadableLine {
                            file: name.clone(),
                            line: line.number,
                            reason: reason.to_owned(),
                            text: text.chars().take(MAX_SHOWN_LENGTH).collect(),
                        });
                    }
                }
            }
        }
        let of_file = (logs.lines - before, logs.unreadable - unreadable);
        if of_file.0 > 0 && of_file.0 == of_file.1 {
            return Err(nothing_readable(&name, &logs).into());
        }
    }
    Ok(logs)
}

/// Reads a line in the format of the one before it, else in another.
fn read_line(
    text: &str,
    format: &mut Option<AccessFormat>,
    is_given: bool,
) -> Result<Option<AccessLine>, Unreadable> {
    let mut reason = None;
    if let Some(format) = format {
        match format.read(text) {
            Err(error) if !is_given => reason = Some(error),
            found => return found,
        }
    }
    for other in AccessFormat::of_line(text) {
        match other.read(text) {
            Ok(found) => {
                *format = Some(other.clone());
                return Ok(found);
            }
            Err(error) => reason = reason.or(Some(error)),
        }
    }
    Err(reason.unwrap_or("it is in no format that is known"))
}

fn logged(line: AccessLine, agent: u32, place: (u32, u64), text_hash: u64) -> LoggedRequest {
    LoggedRequest {
        method: line.method,
        target: path_and_query(&line.target).to_owned(),
        status: line.status,
        at_ns: line.time.at_ns,
        resolution_ns: line.time.resolution_ns,
        moment: line.time.moment,
        bytes: line.bytes,
        server_ns: line.server_ns,
        upstream_ns: line.upstream_ns,
        agent,
        trace: line.trace.map(|id| id.get()),
        file: place.0,
        line: place.1,
        text_hash,
        is_copy: false,
    }
}

fn nothing_readable(file: &str, logs: &AccessLogs) -> Diagnostic {
    let first = logs.first_unreadable.iter().find(|line| line.file == file);
    let reason = first.map_or("", |line| &line.reason);
    let message =
        format!("no line of '{file}' is one of an access log that lgoose can read: {reason}");
    let help = "formats: common, combined, HAProxy's HTTP log, JSON; others by '--log-format', such as \
        '$remote_addr [$time_local] \"$request\" $status'";
    match first {
        Some(line) => {
            let text = "\n".repeat(line.line.saturating_sub(1).min(10_000) as usize) + &line.text;
            Diagnostic::new(message)
                .at(file, u32::try_from(line.line).ok(), &text)
                .help(help)
        }
        None => Diagnostic::new(message).help(help),
    }
}

impl AccessLogs {
    fn count_format(&mut self, name: &str) {
        match self.formats.iter_mut().find(|(known, _)| known == name) {
            Some((_, count)) => *count += 1,
            None => self.formats.push((name.to_owned(), 1)),
        }
    }
}
