//! The reason why a value of `plan {}` does not fit its option: the rest of a sentence that begins with the name of the
//! field and, if the value has its own grammar, its wrong part and the help.

use lgoose_base::error::Diagnostic;
use std::ops::Range;

/// The reason why a value does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misfit {
    problem: String,
    help: Option<String>,
    mark: Option<(String, Range<usize>)>,
}

impl Misfit {
    /// Marks the wrong part of the value's text.
    pub(super) fn mark(mut self, text: &str, place: Range<usize>) -> Misfit {
        self.mark = Some((text.to_owned(), place));
        self
    }

    pub(super) fn help(mut self, help: &str) -> Misfit {
        self.help = Some(help.to_owned());
        self
    }

    /// Returns the mistake as a diagnostic for the author.
    pub(super) fn in_field(self, name: &str, owner: &str) -> Diagnostic {
        let mut diagnostic =
            Diagnostic::new(format!("field '{name}' of {owner}: {}", self.problem));
        if let Some(help) = self.help {
            diagnostic = diagnostic.help(help);
        }
        if let Some((text, place)) = self.mark {
            diagnostic = diagnostic.mark(text, place);
        }
        diagnostic
    }
}

impl From<String> for Misfit {
    fn from(problem: String) -> Misfit {
        Misfit {
            problem,
            help: None,
            mark: None,
        }
    }
}
