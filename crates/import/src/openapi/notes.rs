//! Notes on operations, each once, with the operations that it concerns.

use std::collections::HashMap;

/// The most notes, and the most operations that a note names.
const MAX_NOTES: usize = 40;
const NAMED: usize = 3;

/// A note, and the operations that it is about.
#[derive(Debug)]
struct GroupedNote {
    message: String,
    operations: Vec<String>,
    /// The number of operations that it concerns.
    count: usize,
}

/// The notes of all operations.
#[derive(Debug, Default)]
pub(super) struct OperationNotes {
    /// The operation that is read; empty before the first.
    current: String,
    all: Vec<GroupedNote>,
    /// The places of notes by their messages, with the operation that had it last.
    numbers: HashMap<String, (usize, String)>,
}

impl OperationNotes {
    /// Sets the operation that notes are about from now on.
    pub(super) fn begin(&mut self, operation: String) {
        self.current = operation;
    }

    /// Adds a note about the current operation.
    pub(super) fn add(&mut self, message: String) {
        let number = match self.numbers.get_mut(&message) {
            Some((_, last)) if *last == self.current => return,
            Some((number, last)) => {
                last.clone_from(&self.current);
                *number
            }
            None => {
                let number = self.all.len();
                let position = (number, self.current.clone());
                self.numbers.insert(message.clone(), position);
                self.all.push(GroupedNote {
                    message,
                    operations: Vec::new(),
                    count: 0,
                });
                number
            }
        };
        let note = &mut self.all[number];
        if self.current.is_empty() {
            return;
        }
        note.count += 1;
        if note.operations.len() < NAMED {
            note.operations.push(self.current.clone());
        }
    }

    /// Returns the notes in words.
    pub(super) fn lines(&mut self) -> Vec<String> {
        self.numbers.clear();
        let all = std::mem::take(&mut self.all);
        let more = all.len().saturating_sub(MAX_NOTES);
        let mut lines: Vec<String> = all
            .iter()
            .take(MAX_NOTES)
            .map(|note| format!("{}{}", note.message, about(&note.operations, note.count)))
            .collect();
        if let Some(first) = all.get(MAX_NOTES) {
            let about = about(&first.operations, first.count);
            lines.push(format!(
                "and {more} more of such notes, the first{about}: {}",
                first.message
            ));
        }
        lines
    }
}

/// Returns the operations of a note, in parentheses.
fn about(operations: &[String], count: usize) -> String {
    let named = operations.join(", ");
    match count - operations.len().min(count) {
        _ if operations.is_empty() => String::new(),
        0 => format!(" ({named})"),
        more => format!(" ({named} and {more} more)"),
    }
}
