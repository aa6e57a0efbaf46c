//! The references: of the plan language, `docs/language.md`, made from the stubs of editors in `lua/meta`, and of all commands
//! and options, `docs/options.md`, made from the program's own help. `BLESS=1` writes them anew.

use crate::program::{Lgoose, in_repository};
use std::fs;

/// A part of the page of the language.
struct Part {
    /// The file of its stubs.
    file: &'static str,
    heading: &'static str,
    /// A plan that shows the most important of it.
    example: &'static str,
}

/// The parts of the page in their order.
const PARTS: [Part; 9] = [
    Part {
        file: "plan.lua",
        heading: "The top level of a plan",
        example: r#"plan {
  host = "demo:drupal", users = 10, run_time = "5m", headers = { ["X-Test"] = "load" },
  thresholds = { "p95 < 300ms", ["GET article"] = { "failures < 1%", abort = true, after = "30s" } },
}

on("test_start", function(user) return { started = time.iso() } end)

scenario { "reader", weight = 4, wait = { 1, 3 },
  task { "enter", on_start = true, function(user) user:get "/" end },
  task { "article", weight = 3, tags = "smoke", function(user) user:get("/node/" .. random.int(1, 9999)) end },
}

scenario { "editor", users = 1, order = "serial",
  task { "front page", function(user) user:get "/" end },
}
"#,
    },
    Part {
        file: "user.lua",
        heading: "The user",
        example: r##"plan { host = "demo:api", iterations = 1 }

task { "shop", function(user)
  local login = user:get("/login", { name = "login page" })
  user:submit(login:form "#login", { username = "user7", password = "12345" }, { name = "login", expect = { redirect = "/account" } }):ensure()
  user:transaction("look around", function()
    user:get("/api/products", { name = "products" })
    user:wait(0.1, 0.2)
    user:batch { { path = "/about", name = "about" }, { path = "/api/products/7", name = "product" } }
  end)
  user:log("user " .. user.id .. ", iteration " .. user.iteration .. ", session " .. user.cookies:get("session"):sub(1, 4))
end }
"##,
    },
    Part {
        file: "options.lua",
        heading: "Options of a request",
        example: r#"plan { host = "demo:api", iterations = 1 }

task { "requests", function(user)
  user:get("/api/products", { name = "products", query = { page = 2 }, timeout = 5, tags = { kind = "read" } })
  user:post("/login", nil, { name = "form", form = { username = "user7", password = "12345" }, max_redirects = 0 })
  user:post("/api/login", nil, { name = "json", json = { username = "user7", password = "12345" }, expect = { status = 200, under = 2 } })
  user:post("/upload", nil, { name = "upload", multipart = { note = { filename = "a.txt", type = "text/plain", data = "hello" } } })
  user:get("/api/products/100000", { name = "missing", expect = { status = 404 }, headers = { accept = "application/json" } })
end }
"#,
    },
    Part {
        file: "response.lua",
        heading: "The response",
        example: r#"plan { host = "demo:drupal", iterations = 1 }

task { "article", function(user)
  local page = user:get("/node/1", { name = "article" }):ensure()
  check(page.status == 200 and page.time < 5, "it came in time")
  user:log { title = page:title(), heading = page:text "h1", links = #page:links(), server = page.headers.server }
  if not page:contains "</html>" then page:fail "the page is cut off" end
end }
"#,
    },
    Part {
        file: "stream.lua",
        heading: "Streams",
        example: r#"plan { host = "demo:api", iterations = 1 }

task { "orders", function(user)
  local stream = user:get("/api/orders/events?n=3", { stream = true, name = "orders", expect = { min_events = 3 } })
  for event in stream:events() do user:log(event:json "product") end
end }
"#,
    },
    Part {
        file: "socket.lua",
        heading: "WebSockets",
        example: r#"plan { host = "demo:api", iterations = 1 }

task { "chat", function(user)
  local socket = user:websocket("/api/chat", { name = "chat" })
  socket:send { type = "join", room = 1 }
  local message = socket:receive { timeout = 5 }
  check(message, "a message came")
  socket:close()
end }
"#,
    },
    Part {
        file: "net.lua",
        heading: "Sockets",
        example: r#"plan { host = "demo:redis", iterations = 1 }

task { "ping", function(user)
  local socket = user:tcp()
  local reply = user:timed("ping", function()
    socket:send "PING\r\n"
    return socket:receive "line"
  end)
  check(reply == "+PONG", "the store replies")
end }
"#,
    },
    Part {
        file: "grpc.lua",
        heading: "gRPC",
        example: r#"grpc.reflect()

plan { host = "demo:api", iterations = 1 }

task { "order", function(user)
  local call = user:grpc("shop.v1.Orders/Create", { customer = 7, items = { { product = "tea", quantity = 2 } } }, { timeout = "5s" })
  check(call.ok and call.message.id, "the order has an id")
end }
"#,
    },
    Part {
        file: "libraries.lua",
        heading: "Libraries",
        example: r#"plan { host = "demo:api", iterations = 1 }

local size = metric.trend "product size"
local word = regex [[(\w+) kettle]]

task { "libraries", function(user)
  local response = user:get("/api/products/" .. random.int(1, 100), { name = "product", query = { at = time.iso() } })
  size:add(response.size)
  user:log { id = response:json "id", colour = word:match "red kettle", digest = hash.sha256("text"), token = base64.encode("text", "url") }
end }
"#,
    },
];

const INTRODUCTION: &str = "\
# The plan language

Every function, field and option of a plan on one page: to look up, to print, and for assistants that write plans. It is generated from the
stubs that `lgoose new` gives your editor. [Write a plan](plans.md) introduces the language.

A plan is a Lua 5.4 file. Its top level declares scenarios and tasks; the function of a task is called with the user:

```lua
plan { host = \"demo:drupal\", users = 3, iterations = 1 }

scenario { \"reader\", wait = { 0.1, 0.2 },
  task { \"front page\", weight = 3, function(user)
    local page = user:get(\"/\", { expect = { status = 200, title = \"Welcome\" } })
    user:fetch(page:assets(), { name = \"static asset\" })
  end },
}
```

A name with `?`, such as `name?`, is optional. Of standard Lua, a plan has `string`, `table`, `math`, `utf8`, `coroutine` and the clock of
`os`. It has no files, no processes and no network other than those below.
";

/// What stands before a line of code: its documentation and annotations.
#[derive(Default)]
struct Annotated<'a> {
    doc: Vec<&'a str>,
    class: Option<&'a str>,
    fields: Vec<&'a str>,
    params: Vec<&'a str>,
    returns: Vec<&'a str>,
    overloads: Vec<&'a str>,
}

impl<'a> Annotated<'a> {
    /// Takes a line of annotation in; returns an alias and what it stands for.
    fn take(&mut self, line: &'a str) -> Option<&'a str> {
        let Some(tag) = line.strip_prefix('@') else {
            self.doc.push(line);
            return None;
        };
        let (word, rest) = tag.split_once(' ').unwrap_or((tag, ""));
        match word {
            "class" => self.class = Some(rest),
            "field" => self.fields.push(rest),
            "param" => self.params.push(rest),
            "return" => self.returns.push(rest),
            "overload" => self.overloads.push(rest),
            "alias" => return Some(rest),
            "meta" | "generic" | "type" | "operator" => {}
            other => panic!("an annotation that the reference does not show: @{other}"),
        }
        None
    }

    /// Writes its documentation as a paragraph, or as a list where it is one.
    fn doc(&self, page: &mut String) {
        let text = self.doc.join("\n");
        let text = text.trim();
        if !text.is_empty() {
            page.push_str(&format!("\n{text}\n"));
        }
    }
}

/// Shows a type as readers know it: `lgoose.Response` is `Response`.
fn shown(kind: &str) -> String {
    kind.replace("lgoose.", "")
}

/// Splits an annotation `name type # comment` behind the name; a type may have spaces within brackets and strings.
fn split_type(rest: &str) -> (&str, &str) {
    match rest.split_once(" # ") {
        Some((kind, comment)) => (kind.trim(), comment.trim()),
        None => (rest.trim(), ""),
    }
}

/// Writes a list item of a field or parameter.
fn item(page: &mut String, annotation: &str) {
    let end = if annotation.starts_with('[') {
        annotation.find(']').map_or(0, |at| at + 1)
    } else {
        annotation.find(' ').unwrap_or(annotation.len())
    };
    let optional = annotation[end..].starts_with('?');
    let (name, rest) = annotation.split_at(end + usize::from(optional));
    let (kind, comment) = split_type(rest);
    let comment = match comment {
        "" => String::new(),
        comment => format!(": {comment}"),
    };
    page.push_str(&format!("- `{name}` `{}`{comment}\n", shown(kind)));
}

/// Writes a function: its signature, what it does, its parameters and what it returns.
fn function(page: &mut String, signature: &str, said: &Annotated<'_>) {
    let head = signature.trim_end_matches(" end");
    let of_class = head
        .split_once(':')
        .map(|(class, rest)| (class.to_lowercase(), rest));
    let head = match of_class {
        Some((class, rest)) => format!("{class}:{rest}"),
        None => head.to_owned(),
    };
    let results: Vec<&str> = said.returns.iter().map(|line| split_type(line).0).collect();
    let results = if results.is_empty() {
        String::new()
    } else {
        format!(" → {}", shown(&results.join(", ")))
    };
    page.push_str(&format!("\n### `{head}{results}`\n"));
    said.doc(page);
    if !said.params.is_empty() {
        page.push('\n');
    }
    for param in &said.params {
        item(page, param);
    }
    let told = said.returns.iter().map(|line| split_type(line).1);
    for told in told.filter(|told| !told.is_empty()) {
        page.push_str(&format!("- returns {told}\n"));
    }
    for overload in &said.overloads {
        page.push_str(&format!("- or `{}`\n", shown(overload)));
    }
}

/// Returns the part of one stub.
fn part(text: &str, heading: &str, example: &str) -> String {
    let mut page = format!("\n## {heading}\n");
    let lead = text.lines().filter_map(|line| line.strip_prefix("-- "));
    let lead = lead.collect::<Vec<_>>().join(" ");
    let sentence = lead.split(". ").next().unwrap_or_default();
    page.push_str(&format!("\n{}.\n", sentence.trim_end_matches('.')));
    page.push_str(&format!("\n```lua\n{example}```\n"));
    let mut aliases = Vec::new();
    let mut said = Annotated::default();
    for line in text.lines() {
        if let Some(annotation) = line.strip_prefix("---") {
            if let Some(alias) = said.take(annotation) {
                aliases.push((said.doc.join(" "), alias));
                said = Annotated::default();
            }
            continue;
        }
        let said = std::mem::take(&mut said);
        if let Some(class) = said.class {
            let (name, parent) = class.split_once(':').unwrap_or((class, ""));
            let parent = match shown(parent.trim()).as_str() {
                "" => String::new(),
                parent => format!(", and all of `{parent}`"),
            };
            page.push_str(&format!(
                "\n### `{}`{parent}\n",
                shown(name.split(' ').next().unwrap_or(name))
            ));
            said.doc(&mut page);
            if !said.fields.is_empty() {
                page.push('\n');
            }
            for field in &said.fields {
                item(&mut page, field);
            }
        }
        if let Some(signature) = line.strip_prefix("function ") {
            function(&mut page, signature, &said);
        }
        if let Some((name, _)) = line.split_once(" = nil") {
            page.push_str(&format!("\n### `{name}`\n"));
            said.doc(&mut page);
        }
    }
    if !aliases.is_empty() {
        page.push_str("\n### Types\n\n");
    }
    for (doc, alias) in aliases {
        let (name, kind) = alias
            .split_once(' ')
            .expect("an alias stands for something");
        let doc = match doc.trim() {
            "" => String::new(),
            doc => format!(": {doc}"),
        };
        page.push_str(&format!("- `{}` is `{}`{doc}\n", shown(name), shown(kind)));
    }
    page
}

#[test]
fn the_reference_of_the_language_is_what_the_stubs_say() {
    let mut page = INTRODUCTION.to_owned();
    page.push('\n');
    for part in &PARTS {
        let anchor = part.heading.to_lowercase().replace(' ', "-");
        page.push_str(&format!("- [{}](#{anchor})\n", part.heading));
    }
    let mut functions = 0;
    for Part {
        file,
        heading,
        example,
    } in &PARTS
    {
        let text =
            fs::read_to_string(in_repository("lua/meta").join(file)).expect("the stub is there");
        functions += text
            .lines()
            .filter(|line| line.starts_with("function "))
            .count();
        page.push_str(&part(&text, heading, example));
    }
    let stubs = fs::read_dir(in_repository("lua/meta")).expect("the stubs are there");
    assert_eq!(stubs.count(), PARTS.len(), "every stub is on the page");
    let told = page
        .lines()
        .filter(|line| line.starts_with("### `") && line.contains('('))
        .count();
    assert_eq!(told, functions, "every function is on the page");
    is_kept("docs/language.md", &page);
}

/// Checks that a page is the one that is checked in.
fn is_kept(file: &str, page: &str) {
    let path = in_repository(file);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, page).expect("the page can be written");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == page,
        "{file} is not what it is made from: BLESS=1 cargo test --test it -- reference"
    );
}

/// The commands in the order of the page.
const COMMANDS: [&str; 17] = [
    "check",
    "new",
    "import",
    "demo",
    "report",
    "compare",
    "audit",
    "capacity",
    "doctor",
    "serve",
    "worker",
    "gather",
    "gaggle",
    "attach",
    "completions",
    "man",
    "help",
];

#[test]
fn the_reference_of_options_is_the_programs_own_help() {
    let help = |arguments: &[&str]| {
        let ended = Lgoose::new(arguments).finish();
        assert_eq!(ended.code, 0, "{arguments:?}: {}", ended.stderr);
        let text: Vec<&str> = ended.stdout.lines().map(str::trim_end).collect();
        format!("\n```text\n{}\n```\n", text.join("\n").trim())
    };
    let whole = help(&["--help"]);
    let mut page = format!(
        "# Commands and options\n\nWhat `lgoose --help` and the help of each command say; `lgoose -h` lists the options of a \
         run on one screen.\n\n## lgoose\n{whole}"
    );
    let listed = whole.split("Commands:").nth(1).unwrap_or_default();
    let listed = listed.split("\n\n").next().unwrap_or_default();
    let mut listed: Vec<&str> = listed
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let mut told = COMMANDS.to_vec();
    listed.sort_unstable();
    told.sort_unstable();
    assert_eq!(listed, told, "every command is on the page");
    for command in COMMANDS.iter().filter(|command| **command != "help") {
        page.push_str(&format!(
            "\n## lgoose {command}\n{}",
            help(&[*command, "--help"])
        ));
    }
    is_kept("docs/options.md", &page);
}
