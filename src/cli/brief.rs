//! The help of `lgoose -h`: everything on one screen; `--help` explains each option.

use super::EXAMPLES;
use clap::{Arg, Command};

/// The columns of the screen that the help fits.
const WIDTH: usize = 80;
/// The columns of the names of groups and commands.
const INDENT: usize = 9;

/// The group of clap's own option.
const HELP: &str = "Help";

/// Renders the examples, the options in their groups, and the commands.
pub(super) fn brief(command: &Command) -> String {
    let mut out = format!("{EXAMPLES}\n");
    let mut headings: Vec<&str> = Vec::new();
    for arg in command.get_arguments() {
        if let Some(heading) = arg.get_help_heading()
            && !headings.contains(&heading)
        {
            headings.push(heading);
        }
    }
    // The hint about more help comes at the end.
    for heading in headings.into_iter().filter(|heading| *heading != HELP) {
        let of_heading = command
            .get_arguments()
            .filter(|arg| arg.get_help_heading() == Some(heading));
        paragraph(heading, of_heading.map(option), &mut out);
    }
    let commands = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| command.get_name().to_owned());
    paragraph("Commands", commands, &mut out);
    out + "\n'lgoose --help' explains each option, 'lgoose COMMAND --help' each command.\n"
}

/// Renders one option: `-u --users N`.
fn option(arg: &Arg) -> String {
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let takes = arg.get_action().takes_values();
    let value = arg.get_value_names().filter(|_| takes);
    let value = value.map(|names| format!(" {}", names.join(" ")));
    names.join(" ") + &value.unwrap_or_default()
}

/// Appends words after a name, with line breaks between them.
fn paragraph(name: &str, words: impl Iterator<Item = String>, out: &mut String) {
    const GAP: &str = "  ";
    let mut line = format!("{name:<INDENT$}");
    let mut empty = true;
    for word in words {
        if !empty && line.chars().count() + GAP.len() + word.chars().count() > WIDTH {
            out.push_str(line.trim_end());
            out.push('\n');
            line = " ".repeat(INDENT);
            empty = true;
        }
        if !empty {
            line.push_str(GAP);
        }
        line.push_str(&word);
        empty = false;
    }
    out.push_str(line.trim_end());
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::super::command;
    use super::*;

    #[test]
    fn every_option_is_on_one_screen() {
        let command = command();
        let text = brief(&command);
        for arg in command.get_arguments() {
            if let Some(long) = arg.get_long() {
                assert!(text.contains(&format!("--{long}")), "--{long} in\n{text}");
            }
        }
        for command in [
            "check",
            "import",
            "new",
            "demo",
            "report",
            "compare",
            "capacity",
            "completions",
            "man",
        ] {
            assert!(text.contains(command), "{command} in\n{text}");
        }
        assert!(
            text.lines().all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
        assert!(text.lines().count() <= 40, "{} lines", text.lines().count());
    }
}
