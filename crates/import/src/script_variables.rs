//! Variables that a script has and does not set, as marks in its texts: they become variables of the plan.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

/// The variables of a script, by the numbers of their marks.
#[derive(Debug, Default, Clone)]
pub(super) struct ScriptVariables {
    all: Vec<ScriptVariable>,
}

/// A variable that a script has and does not set.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ScriptVariable {
    /// The name; empty for the output of a command that goes into no variable.
    pub(super) name: String,
    /// The command whose output is the value.
    pub(super) command: Option<String>,
}

impl ScriptVariable {
    /// Returns the origin of the value, for a note.
    pub(super) fn note(&self) -> String {
        match &self.command {
            Some(command) => format!("the script takes it from '{command}'"),
            None => format!("the script has '${}'", self.name),
        }
    }
}

/// Around the number of a variable. Private use: no text has them.
const BEGIN: char = '\u{f8f0}';
const END: char = '\u{f8f1}';

/// The mark before the number of a variable whose value is encoded.
const ENCODED: char = 'e';

/// A part of a text.
#[derive(Debug, PartialEq)]
pub(super) enum TextPart<'a> {
    Literal(&'a str),
    Variable(&'a ScriptVariable),
    /// A variable whose value is encoded for a URL.
    Encoded(&'a ScriptVariable),
}

impl ScriptVariables {
    /// Returns the mark of a variable.
    pub(super) fn mark(&mut self, variable: ScriptVariable) -> String {
        let number = self.all.iter().position(|known| *known == variable);
        let number = number.unwrap_or_else(|| {
            self.all.push(variable);
            self.all.len() - 1
        });
        format!("{BEGIN}{number}{END}")
    }

    /// Encodes a text with `encode`, but for the variables in it, whose values a plan encodes.
    pub(super) fn encoded(text: &str, encode: impl Fn(&str) -> String) -> String {
        let (marks, rest) = marks_in(text);
        let mut out = String::new();
        for (before, number) in marks {
            out.push_str(&encode(before));
            out.extend([BEGIN, ENCODED]);
            out.push_str(number.trim_start_matches(ENCODED));
            out.push(END);
        }
        out + &encode(rest)
    }

    /// Returns a text with the variables as a script names them.
    pub(super) fn shown(&self, text: &str) -> String {
        let parts = self.split(text).into_iter().map(|part| match part {
            TextPart::Literal(text) => text.to_owned(),
            TextPart::Variable(variable) | TextPart::Encoded(variable) => match &variable.command {
                Some(command) if variable.name.is_empty() => format!("$({command})"),
                _ => format!("${}", variable.name),
            },
        });
        parts.collect()
    }

    /// Returns a path of a URL in the same way.
    pub(super) fn shown_path(&self, path: &str) -> String {
        let mut path = path.to_owned();
        for mark in [BEGIN, END] {
            let mark = mark.to_string();
            let encoded = utf8_percent_encode(&mark, NON_ALPHANUMERIC).to_string();
            path = path.replace(&encoded, &mark);
        }
        self.shown(&path)
    }

    /// Returns whether a text has variables.
    pub(super) fn are_in(text: &str) -> bool {
        text.contains(BEGIN)
    }

    /// Splits a text at its variables.
    pub(super) fn split<'a>(&'a self, text: &'a str) -> Vec<TextPart<'a>> {
        let (marks, rest) = marks_in(text);
        let mut parts = Vec::new();
        for (before, number) in marks {
            let encoded = number.strip_prefix(ENCODED);
            let number = encoded.unwrap_or(number).parse().ok();
            let variable = number.and_then(|number: usize| self.all.get(number));
            if !before.is_empty() {
                parts.push(TextPart::Literal(before));
            }
            parts.extend(variable.map(|variable| match encoded {
                Some(_) => TextPart::Encoded(variable),
                None => TextPart::Variable(variable),
            }));
        }
        if !rest.is_empty() {
            parts.push(TextPart::Literal(rest));
        }
        parts
    }
}

/// Returns the text before each mark, with the number of the mark, and the text after the last.
fn marks_in(text: &str) -> (Vec<(&str, &str)>, &str) {
    let mut marks = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let (number, after) = after.split_once(END).unwrap_or(("", after));
        marks.push((before, number));
        rest = after;
    }
    (marks, rest)
}

/// The host of a URL whose own is in a variable, before the name of that.
const VARIABLE_HOST: &str = ".variable.invalid";

/// Returns a host for a text with variables that stands where one is expected.
pub(super) fn host_for(text: &str) -> String {
    let encoded: Vec<String> = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    // A label of a host has up to 63 characters.
    let labels: Vec<String> = encoded.chunks(30).map(|part| part.concat()).collect();
    format!("{}{VARIABLE_HOST}", labels.join("."))
}

/// Returns the text that stood where a host is expected, if it had a variable.
pub(super) fn variable_host(url: &Url) -> Option<String> {
    let host = url
        .host_str()?
        .strip_suffix(VARIABLE_HOST)?
        .replace('.', "");
    let bytes: Option<Vec<u8>> = host
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect();
    String::from_utf8(bytes?).ok()
}
