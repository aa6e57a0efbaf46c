//! One word of megabytes in each field that a plan or a site fills: a run with all its outputs ends, takes little memory, and
//! shows a part of it.

use crate::faulty::{Asked, Site, answer};
use crate::hostile::more_than_empty;
use crate::program::{empty_folder, watched_to_the_end};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The lengths of the word, in bytes.
const SIZES: [usize; 2] = [2 << 20, 20 << 20];

/// What a run may take beside an empty one, in bytes.
const MOST: u64 = 256 << 20;

/// The longest piece of the word in an output, and in a field of a log.
const MOST_SHOWN: usize = 2_100;
const MOST_LOGGED: usize = 8_200;

/// How long a run may take that is over in a second or two on an idle machine: only one that never ends takes longer.
const HANGS: Duration = Duration::from_secs(100);

/// What a user's task does with the word `w`.
const TASKS: [&str; 62] = [
    "user:get('/', { name = w })",
    "user:get('/' .. w)",
    "user:get('/?q=' .. w)",
    "user:get('http://' .. w .. '/')",
    "user:get('/', { headers = { ['x-w'] = w } })",
    "user:get('/', { headers = { [w] = 'x' } })",
    "user:get('/', { [w] = 1 })",
    "user:get('/', { timeout = w })",
    "user:get('/', { tags = { a = w } })",
    "user:get('/', { tags = { [w] = 'a' } })",
    "user:get('/', { expect = { text = w } })",
    "user:get('/', { expect = { title = w } })",
    "user:get('/', { expect = { header = { x = w } } })",
    "user:get('/', { expect = { json = { a = w } } })",
    "user:get('/', { expect = { json = { [w] = 1 } } })",
    "user:get('/', { expect = { redirect = w } })",
    "user:get('/', { expect = { [w] = 1 } })",
    "user:get('/'):ensure(w)",
    "user:get('/'):fail(w)",
    "user:get('/')[w]()",
    "user:get('/'):css(w)",
    "user:get('/'):find(w)",
    "user:post('/', w, { name = w })",
    "user:request(w, '/')",
    "user:request { method = w, path = '/' }",
    "user:fetch({ '/' .. w, '/a' })",
    "user:batch({ { path = '/', [w] = 1 } })",
    "user:transaction(w, function() error(w) end)",
    "user:transaction('t', { tags = { a = w } }, function() end)",
    "user:transaction('t', { [w] = 1 }, function() end)",
    "user:set_host('http://' .. w)",
    "user:set_header(w, 'x')",
    "user:bearer(w)",
    "user.cookies:set(w, 'x')",
    "user.cookies:set('x', w)",
    "user.tags.a = w",
    "user.tags[w] = 'a'",
    "local _ = user[w]",
    "user:wait(w)",
    "check(false, w)",
    "check(w, w)",
    "metric.trend(w):add(1)",
    "metric.counter(w):add(w)",
    "metric[w]('x')",
    "error(w)",
    "error({ w })",
    "error(setmetatable({}, { __tostring = function() return w end }))",
    "assert(nil, w)",
    "local _ = nil .. w",
    "_G[w]()",
    "undeclared = w",
    "regex(w)",
    "regex('(' .. w)",
    "json.decode(w)",
    "url.join(w, w)",
    "file(w)",
    "data.csv(w)",
    "require(w)",
    "os.date(w)",
    "local s = require 'lgoose.shared' s.map('m'):put(w, { [w] = w }) s.counter(w):incr()",
    "local s = require 'lgoose.shared' s.map('n'):get_or(w, function() error(w) end)",
    "local s = require 'lgoose.shared' s.queue('q'):put(print)",
];

/// What a user's task does with the site's page of that path.
const PAGES: [(&str, &str); 9] = [
    ("/links", "for _, l in ipairs(r:links()) do user:get(l) end"),
    ("/assets", "user:fetch(r:assets())"),
    ("/title", "r:ensure { title = 'other' }"),
    ("/form", "user:submit(r:form('form'), { a = 1 })"),
    ("/messages", "user:submit(r:form('#none'), { a = 1 })"),
    ("/json", "r:ensure(r:json().error)"),
    ("/problem", "r:ensure()"),
    ("/redirect", "r:ensure()"),
    ("/header", "r:ensure(r.headers['x-w'])"),
];

/// What a plan declares with the word `w`.
const DECLARATIONS: [&str; 27] = [
    "plan { thresholds = { [w] = 'p95 < 1s' } }",
    "plan { thresholds = { ['GET ' .. w] = 'p95 < 1s' } }",
    "plan { thresholds = { ['check ' .. w] = 'rate > 1%' } }",
    "plan { thresholds = { w } }",
    "plan { thresholds = { w .. ': p95 < 1s' } }",
    "plan { thresholds = { 'p95 < 1' .. w } }",
    "plan { host = 'http://' .. w }",
    "plan { host = w }",
    "plan { [w] = 1 }",
    "plan { users = w }",
    "plan { time = w }",
    "plan { user_agent = w }",
    "plan { headers = { a = w } }",
    "plan { headers = { [w] = 'a' } }",
    "plan { tags = { a = w } }",
    "task { w, function(user) user:get '/' end }",
    "task { 'named', [w] = 1, function(user) user:get '/' end }",
    "task { 'named', weight = w, function(user) user:get '/' end }",
    "task { 'named', tags = { w }, function(user) user:get '/' end }",
    "scenario(w, { task { function(user) user:get '/' end } })",
    "scenario { w, task { function(user) user:get '/' end } }",
    "scenario { 's', env = { A = w }, task { function(user) user:get('/' .. #env 'A') end } }",
    "scenario { 's', env = { [w] = 'A' }, task { function(user) user:get '/' end } }",
    "on(w, function() end)",
    "error(w)",
    "local _ = nowhere[w]",
    "on('report', function() return { [w] = 'a' } end)",
];

fn pages(asked: &Asked, word: &str) -> Vec<u8> {
    match asked.path.as_str() {
        "/links" => format!("<a href=/{word}><a href=/b>"),
        "/assets" => format!("<img src=/{word}><img src=/b>"),
        "/title" => format!("<title>{word}</title>"),
        "/form" => format!("<form action=/{word} method=post><input name={word}></form>"),
        "/messages" => format!("<form id={word}><p class=error>{word}</p></form>"),
        "/json" => format!("{{\"error\": \"{word}\"}}"),
        _ => format!("<h1>{word}</h1>"),
    }
    .into_bytes()
}

/// A site whose pages have the word; in heads as much of it as these may have.
fn site(word: String) -> Site {
    Site::start(move |asked| {
        let part = &word[..200 << 10];
        match asked.path.as_str() {
            "/problem" => answer(500, "Content-Type: text/html\r\n", pages(asked, &word)),
            "/redirect" => answer(302, &format!("Location: /{part}\r\n"), ""),
            "/header" => answer(200, &format!("X-W: {part}\r\n"), ""),
            "/links" | "/assets" | "/title" | "/form" | "/messages" => {
                answer(200, "Content-Type: text/html\r\n", pages(asked, &word))
            }
            "/json" => answer(
                400,
                "Content-Type: application/json\r\n",
                pages(asked, &word),
            ),
            _ => answer(200, "", "ok"),
        }
    })
}

/// Runs a plan in a folder with all outputs, and returns what is wrong with it.
fn run(folder: &Path, plan: &str, url: &str) -> Option<String> {
    fs::write(folder.join("plan.lua"), plan).expect("written");
    let file = |name: &str| fs::File::create(folder.join(name)).expect("created");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lgoose"));
    command
        .args(["plan.lua", "-H", url, "-u", "1", "-i", "1", "--headless"])
        .args([
            "--stop-timeout",
            "2s",
            "--lua-time",
            "20s",
            "--timeout",
            "3s",
        ])
        .args(["--request-log", "requests.csv", "--task-log", "tasks.csv"])
        .args(["--error-log", "errors.csv", "--debug-log", "debug.jsonl"]);
    for format in ["json", "html", "csv", "md", "junit"] {
        command.args(["-o", &format!("{format}=run.{format}")]);
    }
    let mut child = command
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(file("stdout"))
        .stderr(file("stderr"))
        .spawn()
        .expect("it was built");
    let (peak, code) = watched_to_the_end(&mut child, Some(HANGS));
    let mut wrong = Vec::new();
    if !matches!(code, Some(0..=3)) {
        wrong.push(format!("exit code {code:?}"));
    }
    let more = more_than_empty(peak);
    if more > MOST {
        wrong.push(format!("{} MiB more than an empty run", more >> 20));
    }
    const LOGS: [&str; 4] = ["requests.csv", "tasks.csv", "errors.csv", "debug.jsonl"];
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a file").path();
        if path.is_file() {
            let bytes = fs::read(&path).expect("readable");
            let is_log = LOGS.iter().any(|log| path.ends_with(log));
            let shown = vec![b'w'; if is_log { MOST_LOGGED } else { MOST_SHOWN }];
            if memchr::memmem::find(&bytes, &shown).is_some() {
                wrong.push(format!("{} shows more", path.display()));
            }
            if bytes.len() > 8 << 20 {
                wrong.push(format!("{} has {} bytes", path.display(), bytes.len()));
            }
        }
    }
    let stderr = fs::read_to_string(folder.join("stderr")).unwrap_or_default();
    let stderr: String = stderr.chars().take(300).collect();
    (!wrong.is_empty()).then(|| format!("{}\n{stderr}", wrong.join("; ")))
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_word_of_megabytes_in_a_task_ends_neither_the_run_nor_the_outputs() {
    for size in SIZES {
        let site = site("w".repeat(size));
        let pages = PAGES.map(|(path, code)| format!("local r = user:get '{path}' {code}"));
        let codes = TASKS.iter().map(|code| (*code).to_owned()).chain(pages);
        let tasks = codes.enumerate().map(|(at, code)| {
            format!("task {{ 'task {at}', sequence = {at}, function(user) {code} end }}\n")
        });
        let plan = format!(
            "local w = ('w'):rep({size})\n{}",
            tasks
                .collect::<String>()
                .replace("sequence = 0,", "sequence = 99,")
        );
        let folder = empty_folder("long_texts");
        let wrong = run(&folder, &plan, &site.url());
        assert_eq!(wrong, None, "{size}");
        let report = crate::report::saved(&folder.join("run.json"));
        let rows = report["tasks"].as_array().into_iter().flatten();
        let names = rows.filter_map(|row| row["name"].as_str());
        let ran = names.filter(|name| name.starts_with("task ")).count();
        assert_eq!(ran, TASKS.len() + PAGES.len(), "{size}");
    }
}

#[test]
fn a_word_of_megabytes_in_a_declaration_is_refused_or_shown_in_part() {
    let site = Site::start(|_| answer(200, "", "ok"));
    let mut all = Vec::new();
    for size in SIZES {
        for code in DECLARATIONS {
            let more = if code.contains("task {") {
                ""
            } else {
                "\ntask { function(user) user:get '/' end }"
            };
            let plan = format!("local w = ('w'):rep({size})\n{code}{more}");
            let wrong = run(&empty_folder("long_declarations"), &plan, &site.url());
            all.extend(wrong.map(|wrong| format!("{code} with {size}: {wrong}")));
        }
    }
    assert!(all.is_empty(), "\n{}", all.join("\n"));
}
