//! Plans that want more memory than a user may hold: each task ends with an error at its line, lgoose stays small, and
//! the other user goes on.

use crate::faulty::{Site, answer};
use crate::program::{plan, scratch, watched_to_the_end};
use crate::report::saved;
use crate::server::Server;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// What a run may take beside an empty one, in bytes.
const MOST: u64 = 256 << 20;

/// The plans' tasks, by what they fill, with a part of the error that ends them; empty where none is due.
const HOSTILE: [(&str, &str, &str); 58] = [
    (
        "tables without end",
        "local t = {} while true do t[#t + 1] = { 1, 2, 3 } end",
        "not enough memory",
    ),
    (
        "a long name for many values",
        "html.parse('<form><select multiple name=' .. ('n'):rep(1000000) .. '>' .. ('<option selected>'):rep(3000)):form()",
        "not enough memory",
    ),
    (
        "a long base for many buttons",
        "html.parse('<base href=\"http://a/' .. ('b'):rep(1000000) .. '/\"><form>'\n\
         .. ('<button name=a formaction=x>'):rep(500)):form()",
        "not enough memory",
    ),
    (
        "an element in the log",
        "user:log(html.parse('<p>' .. ('a '):rep(8 << 20)):css('p')[1])",
        "",
    ),
    (
        "a title that is no text",
        "html.parse('<title>' .. ('\\255'):rep(15 << 20) .. '</title>'):title()",
        "",
    ),
    (
        "a text that doubles",
        "local s = 'x' while true do s = s .. s end",
        "not enough memory",
    ),
    (
        "formatting left open",
        "local t = {} for n = 1, 900 do t[n] = '<b x' .. n .. '>' end\n\
         html.parse('<p>' .. table.concat(t) .. ('</p><p>a'):rep(30000))",
        "not enough memory",
    ),
    (
        "attributes copied",
        "html.parse('<b ' .. ('a b c '):rep(20000) .. '>' .. ('<p>'):rep(50000))",
        "",
    ),
    (
        "pages that are kept",
        "local kept = {} while true do kept[#kept + 1] = html.parse(('<p>a'):rep(10000)) end",
        "not enough memory",
    ),
    (
        "JSON of small objects",
        "json.decode('[' .. ('{\"\":0},'):rep(1500000) .. '0]')",
        "not enough memory",
    ),
    (
        "JSON of one table many times",
        "local t = {} for n = 1, 40 do t = { t, t } end json.encode(t)",
        "not enough memory",
    ),
    (
        "JSON of a list without an end",
        "local t = { 1, 2, 3, 4 } for n = 1, 62 do t[1 << n] = 1 end json.encode(t)",
        "",
    ),
    (
        "JSON of control characters",
        "local s, t = ('\\0'):rep(5 << 20), {} for n = 1, 10 do t[n] = s end json.encode(t)",
        "not enough memory",
    ),
    (
        "an expectation of one table many times",
        "local t = {} for n = 1, 40 do t = { t, t } end user:get('/', { expect = { json = { a = t } } })",
        "not enough memory",
    ),
    (
        "expectations of many requests",
        "local texts, urls = { ('x'):rep(4 << 20) }, {} for n = 1, 1000 do urls[n] = '/' .. n end\n\
         user:fetch(urls, { expect = { text = texts } })",
        "not enough memory",
    ),
    (
        "a list of requests without an end",
        "local t = { '/', '/', '/', '/' } for n = 1, 62 do t[1 << n] = '/' end user:fetch(t) user:batch(t)",
        "",
    ),
    (
        "headers",
        "local s, t = ('x'):rep(1 << 20), {} for n = 1, 1000 do t['h' .. n] = s end\n\
         user:get('/', { headers = t })",
        "not enough memory",
    ),
    (
        "a form of control characters",
        "local s, t = ('\\0'):rep(2 << 20), {} for n = 1, 20 do t[n] = s end user:post('/', nil, { form = { a = t } })",
        "not enough memory",
    ),
    (
        "regular expressions that are kept",
        "local kept = {} for n = 1, 100000 do kept[n] = regex('\\\\w{5,20}' .. n) end",
        "not enough memory",
    ),
    (
        "long names",
        "for n = 1, 12 do user:get('/', { name = n .. ('x'):rep(8 << 20) }) end",
        "",
    ),
    ("a long error", "error(('x'):rep(12 << 20))", "xxxx"),
    (
        "cookies",
        // The oldest make room for the others.
        "for n = 1, 2000 do user.cookies:set('n' .. n, ('x'):rep(4000)) end",
        "",
    ),
    (
        "links of a long base",
        "local page = '<base href=\"http://a/' .. ('x'):rep(100000) .. '/\">' .. ('<a href=b>'):rep(1)\n\
         local t = {} for n = 1, 30000 do t[n] = '<a href=' .. n .. '>' end\n\
         user:post('/echo', page .. table.concat(t)):links()",
        "",
    ),
    (
        "a pattern of megabytes",
        "regex(('a|'):rep(5 << 20))",
        "it has 10485760 bytes, and may have 65536",
    ),
    (
        "a selector of megabytes",
        "html.parse('<p>'):css(('a>'):rep(5 << 20) .. 'a')",
        "is not a CSS selector: it has ",
    ),
    (
        "long selectors without number",
        "local page = html.parse('<p>') for n = 1, 150 do page:css(('b,'):rep(30000) .. 'a' .. n) end",
        "",
    ),
    (
        "headers of the user",
        "for n = 1, 1000 do user:set_header('h' .. n, ('x'):rep(1 << 18)) end",
        "the headers of a user may have 1048576 bytes",
    ),
    (
        "a log that is no text",
        "user:log(('\\255'):rep(60 << 20))",
        "",
    ),
    (
        "a name that is no text",
        "user:get('/', { name = ('\\255'):rep(60 << 20) })",
        "",
    ),
    (
        "an error that is no text",
        "error(('\\255'):rep(60 << 20))",
        "",
    ),
    (
        "an error that becomes no text",
        "error(setmetatable({}, { __tostring = function() return ('\\255'):rep(50 << 20) end }))",
        "",
    ),
    (
        "a date of many parts",
        "os.date(('%c'):rep(4 << 20))",
        "the format has 8388608 bytes",
    ),
    (
        "an encoded text",
        "url.encode(('\\0'):rep(60 << 20))",
        "not enough memory",
    ),
    (
        "a line of many long texts",
        "local s, t = ('x'):rep(1 << 20), {} for n = 1, 3000 do t[n] = s end print(table.unpack(t)) warn(table.unpack(t))",
        "",
    ),
    (
        "a redirect that is no text",
        "user:get('/', { expect = { redirect = ('\\255'):rep(10 << 20) } })",
        "not enough memory",
    ),
    (
        "a name and a token of control characters",
        "local s = ('\\27'):rep(55 << 20) pcall(user.bearer, user, s) pcall(user.basic_auth, user, s, '') user:bearer(s)",
        "the headers of a user may have",
    ),
    (
        "a field of a library that is none",
        "local _ = json[('\\27'):rep(55 << 20)]",
        "does not exist",
    ),
    (
        "an option that knows a few words",
        "user:get('/', { compress = ('\\27'):rep(55 << 20) })",
        "option 'compress' knows",
    ),
    (
        "a text that is replaced by itself",
        "regex('a'):replace(('a'):rep(55 << 20), 'b')",
        "not enough memory",
    ),
    (
        "a decoded text",
        "base64.decode(('A'):rep(55 << 20))",
        "not enough memory",
    ),
    (
        "tags of the user",
        "user.tags.a = 'b' for n = 1, 60000 do user.tags['k' .. user.iteration .. 'n' .. n] = 'v' end",
        "is one too many: there may be 100",
    ),
    (
        "a long tag",
        "user.tags.a = ('\\255'):rep(60 << 20)",
        "the tag 'a' takes a text of 1 to 100 bytes",
    ),
    (
        "a long name of a tag",
        "user.tags[('\\27'):rep(60 << 20)] = 'b'",
        "is not a name for a tag",
    ),
    (
        "texts that are expected",
        "local t = {} for n = 1, 40000 do t[n] = 't' .. n end user:get('/', { expect = { text = t } })",
        "'expect.text' has 40000 entries, and may have 100",
    ),
    (
        "many weights",
        "local w = {} for n = 1, 2000000 do w[n] = 1 end random.weighted(w)",
        "not enough memory",
    ),
    (
        "metrics without number that are not kept",
        "local s = ('n'):rep(5000000) for n = 1, 3000 do metric.trend(s .. n) end",
        "",
    ),
    (
        "handles of a counter with a long name",
        "local shared, kept = require 'lgoose.shared', {} local s = ('n'):rep(900000)\n\
         for n = 1, 1000 do kept[n] = shared.counter(s) end",
        "not enough memory",
    ),
    (
        "handles of a queue with a long name",
        "local shared, kept = require 'lgoose.shared', {} local s = ('n'):rep(900000)\n\
         for n = 1, 1000 do kept[n] = shared.queue(s) end",
        "not enough memory",
    ),
    (
        "handles of a map with a long name",
        "local shared, kept = require 'lgoose.shared', {} local s = ('n'):rep(900000)\n\
         for n = 1, 1000 do kept[n] = shared.map(s) end",
        "not enough memory",
    ),
    (
        "elements that keep their pages",
        "local s, kept = '<div>' .. ('<p>x</p>'):rep(1000) .. '</div>', {}\n\
         for n = 1, 10000 do kept[n] = html.parse(s):css('p')[1] end",
        "not enough memory",
    ),
    (
        "elements that keep the pages of responses",
        "local s, kept = '<div>' .. ('<p>x</p>'):rep(1000) .. '</div>', {}\n\
         for n = 1, 1000 do kept[n] = user:post('/echo', s):css('p')[1] end",
        "not enough memory",
    ),
    (
        "literal regular expressions that are kept",
        "local kept = {} for n = 1, 200000 do kept[n] = regex('literal' .. n) end",
        "not enough memory",
    ),
    (
        "calls that protect one another",
        "local function h(e) return xpcall(error, h, e) end xpcall(error, h, 'x')",
        "",
    ),
    (
        "protected calls within one another, with waits",
        "local function f() user:wait(0) local ok, e = pcall(f) error(e, 0) end f()",
        "within one another",
    ),
    (
        "transactions within one another, with waits",
        "local function f() user:wait(0) user:transaction('t', f) end f()",
        "within one another",
    ),
    (
        "coroutines that resume one another",
        "local function f() local ok, e = coroutine.resume(coroutine.create(f)) error(e, 0) end f()",
        "",
    ),
    (
        "a path of one long word",
        "user:get('/' .. ('a'):rep(20 << 20))",
        "",
    ),
    (
        "a joined text",
        "url.join('http://a/', ('ü '):rep(15 << 20))",
        "not enough memory",
    ),
];

/// Runs two users, with these options; returns the most memory that the process has had until it ended, in bytes, and its
/// exit code.
pub(crate) fn watch(path: &str, url: &str, report: &Path, more: &[&str]) -> (u64, Option<i32>) {
    let output = format!("json={}", report.display());
    let mut child = Command::new(env!("CARGO_BIN_EXE_lgoose"))
        .args([
            path, "-H", url, "-u", "2", "-r", "1000", "-i", "2", "-q", "-o", &output,
        ])
        .args(["--lua-time", "20s"])
        .args(more)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it was built");
    watched_to_the_end(&mut child, None)
}

/// The most memory that a process has had until it ended, in bytes, with its exit code and its report.
fn peak_of(name: &str, task: &str, server: &Server) -> (u64, Option<i32>, serde_json::Value) {
    let source = format!(
        "task {{ function(user)\n  user:get '/'\n  if user.id ~= 1 then return end\n  {task}\nend }}"
    );
    let file = format!("hostile {name}").replace(' ', "_");
    let path = plan(&format!("{file}.lua"), &source);
    let report = scratch(&format!("{file}.json"));
    let (peak, code) = watch(&path, &server.url(), &report, &[]);
    (peak, code, saved(&report))
}

/// What a run with that peak takes beside an empty one, in bytes.
pub(crate) fn more_than_empty(peak: u64) -> u64 {
    static EMPTY: OnceLock<u64> = OnceLock::new();
    let empty = EMPTY.get_or_init(|| peak_of("empty", "", &Server::start()).0);
    peak.saturating_sub(*empty)
}

fn assert_is_contained(peak: u64) {
    let more = more_than_empty(peak);
    assert!(more < MOST, "{} MiB more than an empty run", more >> 20);
}

#[test]
fn expectations_on_many_answers_that_decode_to_much_take_the_memory_of_one() {
    let zeros = zstd::encode_all(&*vec![0; 40 << 20], 1).expect("memory takes it");
    let site = Site::start(move |_| answer(200, "content-encoding: zstd\r\n", &zeros));
    let path = plan(
        "decoded.lua",
        "task { function(user) user:get '/' if user.id ~= 1 then return end\n\
         local urls = {} for n = 1, 30 do urls[n] = '/' .. n end\n\
         user:fetch(urls, { expect = { text = '\\0\\0' } }) end }",
    );
    let report = scratch("decoded.json");
    let (peak, code) = watch(&path, &site.url(), &report, &[]);
    assert_eq!(code, Some(0));
    assert_is_contained(peak);
}

#[test]
fn a_field_that_is_expected_of_a_large_response_takes_no_memory_for_the_others() {
    let list = format!("[{}0]", "{\"\":0},".repeat(1_000_000));
    let site = Site::start(move |_| answer(200, "", list.as_bytes()));
    let path = plan(
        "large_json.lua",
        "task { function(user) user:get('/', { expect = { json = { ['1000001'] = 0, ['1.'] = 0 } } }) end }",
    );
    let report = scratch("large_json.json");
    let (peak, code) = watch(&path, &site.url(), &report, &[]);
    assert_eq!(code, Some(0));
    assert_is_contained(peak);
    assert_eq!(saved(&report)["errors"], serde_json::json!([]));
}

#[test]
fn bodies_that_are_fetched_take_no_more_than_a_user_may_hold() {
    let large = vec![b'x'; 60 << 20];
    let site = Site::start(move |asked| match &*asked.path {
        "/" => answer(200, "", "small"),
        "/missing" => answer(404, "", "nothing"),
        _ => answer(200, "", &large),
    });
    let path = plan(
        "fetched.lua",
        "task { function(user) user:get '/' if user.id ~= 1 then return end\n\
         local urls = { '/missing' } for n = 1, 20 do urls[n + 1] = '/' .. n end\n\
         local all = user:fetch(urls, { name = 'large', expect = { text = 'x' } })\n\
         end }",
    );
    let report = scratch("fetched.json");
    let (peak, _) = watch(&path, &site.url(), &report, &[]);
    let report = saved(&report);
    let rows = report["requests"].as_array().expect("rows");
    let large = rows
        .iter()
        .find(|row| row["name"] == "large")
        .expect("it was requested");
    let runs = report["tasks"][0]["runs"].as_u64().expect("they ended");
    assert_eq!(
        (&large["count"], &large["failures"]),
        (&(runs / 2 * 21).into(), &(runs / 2).into())
    );
    let errors = report["errors"].as_array().expect("a list");
    assert_eq!(errors.len(), 2, "{errors:?}");
    let told = |part: &str| errors.iter().any(|error| error.to_string().contains(part));
    assert!(told("not enough memory") && told("404"), "{errors:?}");
    for error in errors {
        let line = error["line"].as_str().unwrap_or_default();
        assert!(line.ends_with("fetched.lua:3"), "{error}");
    }
    assert_is_contained(peak);
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_plan_that_wants_too_much_memory_costs_its_user_a_task_and_nobody_else_anything() {
    let server = Server::start();
    let mut wrong = Vec::new();
    for (name, task, told) in HOSTILE {
        let (peak, code, report) = peak_of(name, task, &server);
        let errors = report["errors"].to_string();
        let own = report["tasks"][0]["runs"].as_u64();
        if more_than_empty(peak) > MOST
            || !matches!(code, Some(0 | 1))
            || !errors.contains(told)
            || !told.is_empty() && !report["errors"][0]["line"].is_string()
            || own != Some(4)
        {
            let errors: String = errors.chars().take(300).collect();
            wrong.push(format!(
                "{name}: {} MiB more, exit code {code:?}, {own:?} runs, {errors}",
                more_than_empty(peak) >> 20
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
