//! The README and the book in `docs`: every command in them is valid, those that need no site of somebody else's run, and no
//! link leads nowhere. Their plans are run by `tools`.

use crate::program::{Ended, Lgoose, Running, in_repository, scratch, wait_until};
use std::path::{Path, PathBuf};

/// The number of commands that run at the same time.
const AT_ONCE: usize = 6;

/// A plan for `lgoose shop.lua --tags smoke,checkout` and `--exclude-tags slow`, in place of the reader's own.
const SHOP: &str = "plan { host = \"demo:api\" }\n\
                    task { \"pay\", tags = \"smoke\", function(user) user:get \"/\" end }\n\
                    task { \"browse\", tags = { \"checkout\", \"slow\" }, function(user) user:get \"/about\" end }\n";

/// Returns the pages as paths in the repository and their texts: the README, and those that the book lists.
pub(crate) fn pages() -> Vec<(String, String)> {
    let read =
        |path: &str| std::fs::read_to_string(in_repository(path)).expect("the page is there");
    let book = read("docs/SUMMARY.md");
    let listed = links(&book).into_iter().filter(|link| !link.contains('/'));
    let listed = listed.map(|link| format!("docs/{link}"));
    [
        "README.md".to_owned(),
        "SECURITY.md".to_owned(),
        "docs/SUMMARY.md".to_owned(),
    ]
    .into_iter()
    .chain(listed)
    .map(|path| {
        let text = read(&path);
        (path, text)
    })
    .collect()
}

/// Returns the texts of all pages, the README's first.
fn all_text() -> String {
    let texts = pages().into_iter().map(|(_, text)| text);
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns the texts of all pages but the tutorial, whose commands are run in their order by `tutorial`.
fn text_to_try() -> String {
    let pages = pages().into_iter();
    let others = pages.filter(|(path, _)| path != "docs/tutorial.md");
    others.map(|(_, text)| text).collect::<Vec<_>>().join("\n")
}

/// Returns the targets of all links of a page, pictures among them.
fn links(text: &str) -> Vec<String> {
    let links = without_code(text);
    let links = links.split("](").skip(1);
    links
        .filter_map(|rest| rest.split(')').next().map(str::to_owned))
        .collect()
}

/// Returns the text without what stands between code fences.
fn without_code(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

/// Returns the anchors of a page's headings, as forges and mdBook make them.
fn anchors(text: &str) -> Vec<String> {
    let text = without_code(text);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|heading| {
            let heading = heading.trim_start_matches('#').trim().to_lowercase();
            let kept = heading
                .chars()
                .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.collect::<String>().replace(' ', "-")
        })
        .collect()
}

/// Returns the contents of all code blocks of a language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let open = format!("```{language}\n");
    let parts = text.split(open.as_str()).skip(1);
    parts.filter_map(|part| part.split("```").next()).collect()
}

/// Returns the arguments of every `lgoose` command, in order.
fn commands(text: &str) -> Vec<Vec<String>> {
    let lines = blocks(text, "sh").into_iter().flat_map(str::lines);
    // The first one builds lgoose and runs it.
    let built = "cargo run --release --locked -- ";
    let commands =
        lines.filter_map(|line| line.strip_prefix("lgoose ").or(line.strip_prefix(built)));
    commands.map(words).collect()
}

/// Splits a line into words as a shell does: quotes keep words together, a `#` ends the line.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = None::<String>;
    let mut quote = None;
    for c in line.chars() {
        match (c, quote) {
            ('#', None) if word.is_none() => break,
            (' ', None) => words.extend(word.take()),
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, Some(open)) if c == open => quote = None,
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Creates a folder as a reader of the README has it: the repository's plans, and the files that it mentions.
fn folder() -> PathBuf {
    let folder = scratch("readme");
    // Left by an earlier run of the tests.
    let _absent = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).expect("the scratch folder takes a folder");
    for name in ["plans", "examples"] {
        let link = std::os::unix::fs::symlink(in_repository(name), folder.join(name));
        link.expect("the folder takes a link");
    }
    let text = all_text();
    for (name, content) in [
        ("reader.lua", blocks(&text, "lua")[0]),
        ("plan.lua", blocks(&text, "lua")[0]),
        ("shop.lua", SHOP),
        ("staging.env", "SITE=demo:api\n"),
        ("urls.txt", "demo:api/api/products\nGET demo:api/about\n"),
    ] {
        std::fs::write(folder.join(name), content).expect("the folder takes a file");
    }
    folder
}

/// Returns whether a command needs a site of somebody else's, or one that another command of the README serves.
pub(crate) fn needs_a_site(words: &[String]) -> bool {
    let is_away = |word: &String| {
        let is_there = [".example", "http://127.0.0.1", "unix:"];
        is_there.iter().any(|site| word.contains(site))
    };
    words.iter().any(is_away)
}

fn start(words: &[String], folder: &Path) -> Running {
    let more: &[&str] = match (words[0].as_str(), needs_a_site(words)) {
        ("new" | "check" | "report", _) => &[],
        (_, true) => &["--list"],
        _ => &["--running-metrics", "200ms"],
    };
    let words = words.iter().map(String::as_str);
    Lgoose::new(words.chain(more.iter().copied()))
        .within(folder)
        .start()
}

/// Stops a run once it has made requests, since some last for minutes.
fn end(run: Running) -> Ended {
    let has_asked = || {
        let lines = run.stdout();
        let mut counts = lines
            .lines()
            .filter_map(|line| line.split_once(" requests ·"));
        counts.any(|(count, _)| !count.ends_with(" 0"))
    };
    wait_until("it asks for something or ends", || {
        has_asked() || run.has_ended()
    });
    if !run.has_ended() {
        run.interrupt();
    }
    run.end()
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn every_command_of_the_pages_does_what_it_says() {
    let folder = folder();
    let mut commands = commands(&text_to_try());
    // Servers, and what reads runs of a minute: they have tests of their own.
    const APART: [&str; 10] = [
        "attach", "audit", "capacity", "compare", "demo", "gaggle", "gather", "import", "serve",
        "worker",
    ];
    commands.retain(|words| !APART.contains(&words[0].as_str()));
    assert!(commands.len() > 30, "{commands:?}");
    // Some read what others wrote: they come after those, one by one.
    let alone = |words: &Vec<String>| {
        let of_new = words.iter().any(|word| word.contains("mytest"));
        of_new || words[0] == "report"
    };
    let (then, first): (Vec<_>, Vec<_>) = commands.into_iter().partition(alone);
    for some in first.chunks(AT_ONCE) {
        let running: Vec<_> = some.iter().map(|words| start(words, &folder)).collect();
        for (words, run) in some.iter().zip(running) {
            judge(words, &end(run));
        }
    }
    for words in &then {
        judge(words, &end(start(words, &folder)));
    }
}

fn judge(words: &[String], ended: &Ended) {
    // How quick a busy machine is decides these.
    let may_break = words.iter().any(|word| word == "--threshold");
    let fine = ended.code == 0 || (may_break && ended.code == 1);
    assert!(fine, "lgoose {words:?}: {ended:?}");
}

#[test]
fn no_link_of_a_page_leads_nowhere() {
    let mut seen = 0;
    for (path, text) in pages() {
        let folder = in_repository(&path);
        let folder = folder.parent().expect("a page is in a folder");
        for link in links(&text) {
            if link.contains("://") {
                continue;
            }
            seen += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => in_repository(&path),
                file => folder.join(file),
            };
            assert!(target.exists(), "{path} links to {link}");
            if !anchor.is_empty() {
                let text = std::fs::read_to_string(&target).expect("a page is text");
                assert!(
                    anchors(&text).iter().any(|known| known == anchor),
                    "{path} links to {link}"
                );
            }
        }
    }
    assert!(seen > 150, "{seen} links");
}

#[test]
fn every_page_of_the_folder_is_in_the_book() {
    let listed = pages();
    for entry in std::fs::read_dir(in_repository("docs")).expect("the folder is there") {
        let name = entry
            .expect("it can be read")
            .file_name()
            .into_string()
            .expect("text");
        let is_page = name.ends_with(".md");
        assert!(
            !is_page
                || listed
                    .iter()
                    .any(|(path, _)| *path == format!("docs/{name}")),
            "docs/SUMMARY.md does not list {name}"
        );
    }
    let (_, readme) = &listed[0];
    assert!(
        readme.lines().count() <= 250,
        "the README is read in five minutes"
    );
}
