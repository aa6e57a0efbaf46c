//! Why a value of `plan {}` does not fit its option: the rest of a sentence that begins with the field's
//! name, and, where the value has a grammar of its own, the place in it and the help.

use crate::error::Diagnostic;
use std::ops::Range;

/// Why a value does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    problem: String,
    help: Option<String>,
    mark: Option<(String, Range<usize>)>,
}

impl Misfit {
    /// The place in a text of the value that it is about.
    pub(super) fn mark(mut self, text: &str, place: Range<usize>) -> Misfit {
        self.mark = Some((text.to_owned(), place));
        self
    }

    pub(super) fn help(mut self, help: &str) -> Misfit {
        self.help = Some(help.to_owned());
        self
    }

    /// The mistake as the author sees it.
    pub(super) fn in_field(self, name: &str) -> Diagnostic {
        let mut diagnostic = Diagnostic::new(format!("field '{name}' of plan: {}", self.problem));
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
