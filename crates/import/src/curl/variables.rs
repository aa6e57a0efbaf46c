//! Variables of a script while it is read: those that it sets, by their values; the others as marks in a text.

use crate::script_variables::{ScriptVariable, ScriptVariables, TextPart};
use std::collections::HashMap;

/// The variables of a script while it is read.
#[derive(Debug, Default)]
pub(super) struct ShellVariables {
    set: HashMap<String, String>,
    pub(super) unset: ScriptVariables,
    /// Whether bytes that are no text were left out.
    pub(super) lost_bytes: bool,
    /// The number of command substitutions around the text that is being read.
    depth: usize,
}

/// The most commands in each other.
const MAX_DEPTH: usize = 10;

impl ShellVariables {
    /// Reads a command in another; `None` if it is in too many.
    pub(super) fn deeper<R>(&mut self, read: impl FnOnce(&mut ShellVariables) -> R) -> Option<R> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        Some(read)
    }

    /// Takes a word for an assignment; returns whether it is one.
    pub(super) fn assign(&mut self, word: &str) -> bool {
        let Some((name, value)) = word.split_once('=') else {
            return false;
        };
        let mut letters = name.chars();
        let starts = letters
            .next()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        if !starts || !letters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return false;
        }
        // The output of a command has the name of the variable that it is assigned to.
        let value = match self.unset.split(value)[..] {
            [TextPart::Variable(output)] if output.name.is_empty() => {
                let command = output.command.clone();
                let name = name.to_owned();
                self.unset.mark(ScriptVariable { name, command })
            }
            _ => value.to_owned(),
        };
        self.set.insert(name.to_owned(), value);
        true
    }

    /// Returns the value of a variable, or its mark.
    pub(super) fn value(&mut self, name: &str, default: Option<&str>) -> String {
        if let Some(value) = self.set.get(name) {
            return value.clone();
        }
        match default {
            Some(default) => default.to_owned(),
            None => self.unset.mark(ScriptVariable {
                name: name.to_owned(),
                command: None,
            }),
        }
    }

    /// Returns the mark of the output of a command.
    pub(super) fn output_of(&mut self, command: &str) -> String {
        let shown: String = command.trim().chars().take(60).collect();
        self.unset.mark(ScriptVariable {
            name: String::new(),
            command: Some(shown),
        })
    }

    /// Returns bytes as a text.
    pub(super) fn text_of(&mut self, bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap_or_else(|error| {
            self.lost_bytes = true;
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        })
    }

    /// Returns a text with the variables as the script names them.
    pub(super) fn shown(&self, text: &str) -> String {
        self.unset.shown(text)
    }
}
