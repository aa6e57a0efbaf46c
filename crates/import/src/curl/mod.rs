//! `curl` command lines, as browsers copy them and as people and documents write them: scripts of a shell, of which all but
//! these commands is left out.

mod command;
mod form_part;
mod globs;
mod options;
mod script_files;
mod shell;
mod variables;

use crate::exchange::{PlanOptions, RecordedTraffic};
use command::{CommandOutcome, read as read_command};
use lgoose_base::error::Diagnostic;
use script_files::ScriptFiles;
use shell::{ShellCommand, UnclosedQuote};
use std::path::Path;
use variables::ShellVariables;

/// Commands whose absence changes no request.
const HARMLESS: [&str; 22] = [
    "echo", "printf", "cd", "sleep", "set", "exit", "cat", "jq", "mkdir", "rm", "wait", "true",
    "false", "fi", "done", "if", "for", "while", "[", "[[", "read", "source",
];

/// The most lines that are left out by name.
const MAX_LINES: usize = 50;

/// Reads one command line or several; `path` is where they lie.
///
/// # Errors
/// The reason why no command can be imported, with a remedy.
pub(super) fn read(
    name: &str,
    text: &str,
    path: Option<&Path>,
) -> Result<RecordedTraffic, Diagnostic> {
    let text = text.trim_start_matches('\u{feff}');
    if let Some(kind) = other_shell(text) {
        let diagnostic = Diagnostic::new(format!("{name} is a command line of {kind}"));
        return Err(diagnostic.help("copy the request 'as cURL (bash)' or 'as cURL (POSIX)'"));
    }
    let mut variables = ShellVariables::default();
    let commands = shell::commands(text, &mut variables).map_err(|UnclosedQuote(line)| {
        let message = format!("{name} is cut off: line {line}: a quotation mark is never closed");
        Diagnostic::new(message).help("copy the whole command line, or save the recording as HAR")
    })?;
    let files = ScriptFiles::beside(path);
    let mut recording = RecordedTraffic::default();
    let mut options = PlanOptions::default();
    let mut mistakes = Vec::new();
    let mut others = Vec::new();
    for command in &commands {
        if !command.runs("curl") {
            others.push(command);
            continue;
        }
        if command.is_alternative {
            recording.notes.push(format!(
                "left out line {} of {name}: it runs where the command before it fails",
                command.line
            ));
            continue;
        }
        let mut outcome = CommandOutcome {
            exchanges: Vec::new(),
            plan: &mut options,
            notes: Vec::new(),
        };
        let read = read_command(
            &command.words[1..],
            command.input.as_ref(),
            &files,
            &mut outcome,
        );
        let line = command.line;
        let notes = outcome.notes.into_iter();
        recording
            .notes
            .extend(notes.map(|note| format!("line {line} of {name}: {}", variables.shown(&note))));
        recording.exchanges.append(&mut outcome.exchanges);
        match read {
            Ok(()) => {
                if let Some(pipe) = &command.pipe {
                    recording.notes.push(format!(
                        "line {line} of {name}: what it pipes to '{}' is left out",
                        shown(pipe)
                    ));
                }
            }
            Err(why) => mistakes.push((line, variables.shown(&why))),
        }
    }
    if recording.exchanges.is_empty() {
        return Err(nothing(name, &mistakes, &others));
    }
    let mut left_out: Vec<String> = mistakes
        .into_iter()
        .map(|(line, why)| format!("left out line {line} of {name}: {why}"))
        .collect();
    let word = |command: &ShellCommand| command.words.first().cloned().unwrap_or_default();
    let others = others
        .into_iter()
        .filter(|command| !HARMLESS.contains(&&*word(command)));
    left_out.extend(others.map(|command| {
        let word = variables.shown(&word(command));
        format!(
            "left out line {} of {name}: '{}' is no curl",
            command.line,
            shown(&word)
        )
    }));
    if left_out.len() > MAX_LINES {
        let more = left_out.len() - MAX_LINES;
        left_out.truncate(MAX_LINES);
        left_out.push(format!("left out {more} more lines of {name}"));
    }
    recording.notes.append(&mut left_out);
    if variables.lost_bytes {
        recording.notes.push(format!(
            "{name} has bytes in \"$'…'\" that are no UTF-8: they are sent otherwise"
        ));
    }
    if recording.exchanges.iter().all(|exchange| !exchange.follows) {
        options.set("max_redirects", "0".to_owned());
        recording
            .exchanges
            .iter_mut()
            .for_each(|exchange| exchange.follows = true);
    }
    recording.options = options;
    recording.variables = variables.unset;
    Ok(recording)
}

/// Returns the shell that a text is written for, if it is not one of POSIX.
fn other_shell(text: &str) -> Option<&'static str> {
    let first = text
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let is_powershell = matches!(
        first.as_str(),
        "invoke-webrequest" | "invoke-restmethod" | "iwr" | "irm" | "$session"
    ) || text.contains("New-Object Microsoft.PowerShell")
        || text.lines().any(|line| line.ends_with(" `"));
    if is_powershell {
        return Some("PowerShell");
    }
    let continues = text.lines().any(|line| line.ends_with(" ^"));
    // Within quotes of a shell, a caret before a quotation mark is an ordinary character.
    let escapes = text.split_whitespace().any(|word| word.starts_with("^\""));
    (continues || escapes).then_some("the Windows prompt")
}

/// Returns why a text has no request.
fn nothing(name: &str, mistakes: &[(usize, String)], others: &[&ShellCommand]) -> Diagnostic {
    if let Some((line, why)) = mistakes.first() {
        let message = match line {
            1 => format!("{name}: {why}"),
            line => format!("{name}, line {line}: {why}"),
        };
        return Diagnostic::new(message).help("copy the whole command line");
    }
    let first = others.first().and_then(|command| command.words.first());
    let message = format!(
        "{name} begins with '{}', which is neither a HAR file nor a curl command line",
        shown(first.map_or("", String::as_str))
    );
    let help = "save the browser's network view as HAR, or copy a request 'as cURL (bash)'";
    Diagnostic::new(message).help(help)
}

fn shown(word: &str) -> String {
    word.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_plan_can_have_is_left_out_with_a_note() {
        let script = "curl -x $PROXY -m soon --max-redirs b --resolve a --interface eth0 --cacert $CA http://a.test/";
        let recording = read("a script", script, None).expect("it has a URL");
        for note in [
            "'--proxy $PROXY'",
            "'--max-time soon'",
            "'--max-redirs b'",
            "'--resolve a'",
            "'--interface eth0'",
            "'--cacert $CA'",
        ] {
            let expected = format!("line 1 of a script: left out {note}");
            assert!(
                recording.notes.contains(&expected),
                "{expected}: {:?}",
                recording.notes
            );
        }
        let fields = recording.options.fields;
        assert_eq!(fields, [("max_redirects".to_owned(), "0".to_owned())]);
    }
}
