//! The message for an unknown word.

use lgoose_base::error::{Diagnostic, nearest};

/// Returns the diagnostic for a word that is not among the valid ones: names the nearest and lists them all.
pub fn unknown_word(kind: &str, word: &str, owner: &str, valid: &[&str]) -> Diagnostic {
    // 'task 'front page'' has the fields of any task.
    let any = match owner.split_once(" '") {
        Some((noun, _)) => format!("a {noun}"),
        None => owner.to_owned(),
    };
    let list = format!("{kind}s of {any}: {}", valid.join(", "));
    let help = match nearest(word, valid.iter().copied()) {
        Some(near) => format!("did you mean '{near}'? {list}"),
        None => list,
    };
    Diagnostic::new(format!("unknown {kind} '{word}' in {owner}")).help(help)
}
