//! Errors of plans as people read them, with the plan's own file and line.

mod arguments;
mod location;
mod raised;
mod syntax;
mod tokens;
mod word_line;

pub(super) use arguments::{
    ArgumentCount, IS_NIL, argument_text, nil_argument, nil_first_argument,
};
pub(super) use location::{MOST_LEVELS, here, plan_line};
pub use raised::RaisedError;
pub(super) use raised::{
    PlainText, calls_of_plan, diagnose, is_of_memory, is_of_yield, nil_expected, to_raised,
};
pub(super) use tokens::{KEYWORDS, Token, TokenKind, calls_of, closing, outer, tokens};
pub(super) use word_line::word_line;

#[cfg(test)]
mod tests;
