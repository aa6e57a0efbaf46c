//! Words of a command line that lgoose does not know: options of other load testers, `run` before a plan, a misspelt
//! command, a variable `LGOOSE_*` that no option reads. The error for each has advice.

use super::command;
use super::elsewhere::ELSEWHERE;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use lgoose_base::error::{Diagnostic, nearest};
use lgoose_base::units;
use std::collections::BTreeSet;
use std::path::Path;

/// Prefix of every variable that options are read from.
const PREFIX: &str = "LGOOSE_";
/// The variable, without the prefix, that sets how long the watchdog waits, which no option does.
const PATIENCE: &str = "PATIENCE";

/// The word with which other programs begin to run a plan.
const RUN: &str = "run";

/// Leaves out a `run` in front of the plan, unless a file of that name is meant.
pub(super) fn without_run(mut arguments: Vec<String>) -> Vec<String> {
    let more = arguments.len() > 2;
    if more && arguments[1] == RUN && !Path::new(RUN).exists() {
        arguments.remove(1);
    }
    arguments
}

/// Adds advice to an error of the command line, where there is any.
pub(super) fn with_remedy(mut error: clap::Error, arguments: &[String]) -> clap::Error {
    let word = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.clone()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let Some(unknown) = word(ContextKind::InvalidArg) else {
                return error;
            };
            let remedy = ELSEWHERE
                .iter()
                .find(|(theirs, _)| theirs.contains(&&*unknown));
            let remedy = remedy.map(|(_, remedy)| (*remedy).to_owned());
            match remedy.or_else(|| one_letter(&unknown)) {
                Some(remedy) => tip(&mut error, remedy),
                // That it could be a value is no help for a flag that is misspelt.
                None if word_is_value(&error) => {
                    error.remove(ContextKind::Suggested);
                }
                None => {}
            }
            error
        }
        ErrorKind::ArgumentConflict => match word(ContextKind::InvalidSubcommand) {
            Some(second) => two_words(&second, arguments),
            None => error,
        },
        _ => error,
    }
}

/// Returns the advice for a letter with two dashes, if it is an option with one.
fn one_letter(unknown: &str) -> Option<String> {
    let mut letters = unknown.strip_prefix("--")?.chars();
    let (letter, None) = (letters.next()?, letters.next()) else {
        return None;
    };
    let command = command();
    let mut options = command.get_arguments();
    let option = options.find(|option| {
        let names = option.get_short_and_visible_aliases();
        names.is_some_and(|names| names.contains(&letter))
    })?;
    let long = option.get_long();
    let long = long.map_or_else(String::new, |long| format!(", or '--{long}'"));
    Some(format!("did you mean '-{letter}'{long}?"))
}

/// Whether all that the parser suggests is to pass the flag as a value.
fn word_is_value(error: &clap::Error) -> bool {
    match error.get(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(tips)) => tips
            .iter()
            .all(|tip| tip.to_string().contains("as a value")),
        _ => false,
    }
}

fn tip(error: &mut clap::Error, text: String) {
    error.remove(ContextKind::SuggestedArg);
    let tip = ContextValue::StyledStrs(vec![StyledStr::from(text)]);
    error.insert(ContextKind::Suggested, tip);
}

/// Returns the error for a second word where one plan or command is wanted.
fn two_words(second: &str, arguments: &[String]) -> clap::Error {
    let command = command();
    let commands: Vec<&str> = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(clap::Command::get_name)
        .collect();
    let first = arguments.iter().skip(1).find(|word| !word.starts_with('-'));
    let first = first.map_or("", String::as_str);
    let message = match nearest(first, commands.iter().copied()) {
        Some(near) if !Path::new(first).exists() => {
            format!("there is no command '{first}': did you mean 'lgoose {near} {second}'?")
        }
        _ if commands.contains(&second) => {
            format!("the command comes first: 'lgoose {second} …', with its own options behind it")
        }
        _ => format!(
            "'{second}' is one word too many: lgoose runs one plan, and every option has a name; 'lgoose -h' lists them"
        ),
    };
    command.clone().error(ErrorKind::ArgumentConflict, message)
}

/// Returns a warning for each variable of the environment that nothing reads and whose name is nearly that of one that
/// an option is read from, and one for a watchdog's patience that is no duration.
pub(crate) fn misspelt_variables() -> Vec<Diagnostic> {
    let variables = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut diagnostics = misspelt(variables);
    let patience = format!("{PREFIX}{PATIENCE}");
    if let Ok(patience_value) = std::env::var(&patience)
        && let Err(wrong) = units::duration(&patience_value)
    {
        diagnostics.push(Diagnostic::new(format!("{patience} is not used: {wrong}")));
    }
    diagnostics
}

fn misspelt(variables: impl Iterator<Item = String>) -> Vec<Diagnostic> {
    let variables: BTreeSet<String> = variables.filter(|name| name.starts_with(PREFIX)).collect();
    if variables.is_empty() {
        return Vec::new();
    }
    let option_variables = all_variables();
    let warning = |name: &String| {
        let bare = name.strip_prefix(PREFIX)?;
        let near = nearest(bare, option_variables.iter().map(String::as_str))?;
        Some(
            Diagnostic::new(format!("nothing reads the environment's {name}"))
                .help(format!("did you mean {PREFIX}{near}?")),
        )
    };
    let unread = variables
        .iter()
        .filter(|name| !option_variables.contains(&name[PREFIX.len()..]));
    unread.filter_map(warning).collect()
}

/// Returns the names of all variables that options of any command are read from, without their prefix.
fn all_variables() -> BTreeSet<String> {
    let command = command();
    let all = std::iter::once(&command).chain(command.get_subcommands());
    let names = all
        .flat_map(clap::Command::get_arguments)
        .filter_map(|arg| arg.get_env()?.to_str()?.strip_prefix(PREFIX));
    let others = std::iter::once(PATIENCE);
    names.chain(others).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_of_others_is_an_option_here_and_each_remedy_names_one_that_is() {
        let command = command();
        let ours: BTreeSet<String> = command
            .get_arguments()
            .flat_map(|arg| {
                let long = arg.get_long_and_visible_aliases().unwrap_or_default();
                let long = long.into_iter().map(|name| format!("--{name}"));
                let short = arg.get_short_and_visible_aliases().unwrap_or_default();
                long.chain(short.into_iter().map(|letter| format!("-{letter}")))
                    .collect::<Vec<_>>()
            })
            .collect();
        for (theirs, remedy) in ELSEWHERE {
            for option in theirs {
                assert!(!ours.contains(*option), "{option} is an option");
            }
            let flags = remedy
                .split(|c: char| !c.is_alphanumeric() && c != '-')
                .filter(|word| word.starts_with('-') && word.len() > 1);
            for flag in flags {
                assert!(ours.contains(flag), "{theirs:?}: {flag} is no option");
            }
        }
    }

    #[test]
    fn only_a_variable_that_is_nearly_one_of_ours_is_reported() {
        let warnings = |name: &str| -> Vec<String> {
            let found = misspelt([name.to_owned()].into_iter());
            found.iter().map(ToString::to_string).collect()
        };
        let usres = warnings("LGOOSE_USRES");
        assert!(usres[0].contains("LGOOSE_USRES"), "{usres:?}");
        assert!(usres[0].contains("did you mean LGOOSE_USERS?"), "{usres:?}");
        for fine in [
            "LGOOSE_USERS",
            "LGOOSE_PASSWORD_OF_MY_SITE",
            "LGOOSE_NATS",
            "LGOOSE_WEB_TOKEN",
            "USRES",
        ] {
            assert_eq!(warnings(fine), Vec::<String>::new(), "{fine}");
        }
    }

    #[test]
    fn the_word_run_is_omitted_in_front_of_a_plan_only() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (arguments, expected) in [
            ("lgoose run p.lua -u 5", "lgoose p.lua -u 5"),
            ("lgoose run", "lgoose run"),
            ("lgoose p.lua run", "lgoose p.lua run"),
            ("lgoose report run", "lgoose report run"),
        ] {
            assert_eq!(without_run(words(arguments)), words(expected));
        }
    }
}
