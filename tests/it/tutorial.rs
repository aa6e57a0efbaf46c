//! The tutorial, as a reader does it: its files are saved under the names that it says, and its commands run one after the
//! other in the same folder, the job for CI at the end included.

use crate::program::{Lgoose, empty_folder, in_repository};
use crate::readme::{needs_a_site, words};
use std::path::Path;

/// The time of a run in place of what the tutorial says.
const RUN_TIME: &str = "1s";

/// A code block of the page: its language, its contents, and the text before it.
struct Block<'a> {
    language: &'a str,
    content: &'a str,
    before: &'a str,
}

/// Returns the code blocks of a page in order.
fn blocks(page: &str) -> Vec<Block<'_>> {
    let parts: Vec<&str> = page.split("```").collect();
    let pairs = parts.chunks_exact(2);
    pairs
        .filter_map(|pair| {
            let (language, content) = pair[1].split_once('\n')?;
            Some(Block {
                language,
                content,
                before: pair[0],
            })
        })
        .collect()
}

/// Returns the name under which a reader saves a file: the last one in the text before it that ends so.
fn file_name<'a>(before: &'a str, ending: &str) -> &'a str {
    let quoted = before.split('`').skip(1).step_by(2);
    let named = quoted.filter(|name| name.ends_with(ending));
    named.last().expect("the text says the name of the file")
}

/// Runs a command of the tutorial for a second, or lists the plan if it goes to the reader's own site.
fn run(line: &str, folder: &Path) {
    let mut words = words(line);
    if let Some(time) = words.iter().position(|word| word == "-t") {
        words[time + 1] = RUN_TIME.to_owned();
    }
    if needs_a_site(&words) {
        words.push("--list".to_owned());
    }
    let ended = Lgoose::new(words.iter().map(String::as_str))
        .within(folder)
        .finish();
    let fails = line.contains("# exit code 1");
    // How quick a busy machine is decides whether a limit holds.
    let may_fail = words.iter().any(|word| word == "--threshold");
    let expected = ended.code == i32::from(fails) || (may_fail && ended.code == 1);
    assert!(expected, "lgoose {line}: {ended:?}");
    for sign in ["(100%)", " Errors ", "task failed"] {
        assert!(!ended.stdout.contains(sign), "lgoose {line}: {ended:?}");
    }
}

#[test]
fn the_tutorial_works_step_by_step() {
    let page = std::fs::read_to_string(in_repository("docs/tutorial.md")).expect("it is there");
    let folder = empty_folder("tutorial");
    let mut saved = Vec::new();
    let mut commands = String::new();
    for block in blocks(&page) {
        match block.language {
            "lua" | "csv" => {
                let name = file_name(block.before, &format!(".{}", block.language));
                std::fs::write(folder.join(name), block.content).expect("the folder takes a file");
                saved.push(name);
            }
            "sh" => {
                for line in block.content.lines() {
                    let line = line.strip_prefix("lgoose ").expect("only lgoose is run");
                    run(line, &folder);
                    commands.push_str(line);
                }
            }
            "yaml" => {
                // The job: the plan is in the site's repository, and the site is the built-in one.
                std::fs::create_dir(folder.join("tests")).expect("it is not there yet");
                let plan = folder.join("tests/member.lua");
                std::fs::copy(folder.join("mytest/member.lua"), plan).expect("it was saved");
                let steps = block.content.lines().map(str::trim);
                let steps = steps.filter_map(|line| line.strip_prefix("- run: lgoose "));
                let mut count = 0;
                for step in steps {
                    run(&step.replace("\"$SITE\"", "demo:drupal"), &folder);
                    count += 1;
                }
                assert_eq!(count, 3, "the steps of the job");
            }
            other => panic!("a block of '{other}', which no reader could do"),
        }
    }
    for name in saved.iter().filter(|name| name.ends_with(".lua")) {
        assert!(commands.contains(*name), "{name} is never run");
    }
    for name in ["report.html", "run.json", "summary.md"] {
        assert!(folder.join(name).exists(), "{name}");
    }
}
