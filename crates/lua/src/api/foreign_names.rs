//! Names of other languages and test tools, with what a plan has in their place: for messages about names that do not exist, and
//! for `lgoose check`.

/// Globals of other languages and tools, with their equivalents here.
const GLOBALS: &[(&[&str], &str)] = &[
    (
        &[
            "sleep",
            "setTimeout",
            "pause",
            "think",
            "usleep",
            "rendezvous",
        ],
        "a task pauses by user:wait(seconds)",
    ),
    (
        &["wrk"],
        "a task sends its requests: user:request { method = \"POST\", path = \"/\", body = text }",
    ),
    (
        &["io", "open"],
        "plans run in a sandbox that does not have it; data.csv, data.lines and data.json read files",
    ),
    (&["console"], "write print(…) or user:log(…)"),
    (
        &["printf", "println", "puts", "echo", "fmt"],
        "write print(…), as in print((\"%d users\"):format(3))",
    ),
    (
        &["null", "None", "undefined", "NULL", "nullptr", "Nil"],
        "Lua writes 'nil'",
    ),
    (&["True", "TRUE", "yes"], "Lua writes 'true'"),
    (&["False", "FALSE", "no", "off"], "Lua writes 'false'"),
    (
        &["http", "requests", "fetch", "axios", "curl"],
        "a task sends requests by its user: user:get \"/\", or user:batch { … } for several at a time",
    ),
    (&["JSON"], "write json.encode(value) and json.decode(text)"),
    (&["Math"], "write math.floor(x), random.int(1, 6) and so on"),
    (
        &["__ENV", "getenv", "process", "environ"],
        "env \"NAME\" reads a variable: env(\"NAME\") or env(\"NAME\", \"default\")",
    ),
    (
        &["try", "catch", "except", "finally"],
        "write local ok, problem = pcall(function() … end)",
    ),
    (
        &["throw", "raise", "Error", "Exception", "panic"],
        "Lua raises an error by error(\"…\")",
    ),
    (
        &["range", "xrange"],
        "Lua writes for i = 1, 3 do … end; both ends are included",
    ),
    (
        &["enumerate"],
        "Lua writes for place, value in ipairs(list) do … end",
    ),
    (
        &["foreach"],
        "Lua goes through a list by for _, value in ipairs(list) do … end",
    ),
    (
        &["len", "sizeof", "strlen"],
        "Lua writes #list and #text for the length",
    ),
    (
        &["str", "String", "repr", "toString"],
        "Lua writes tostring(value)",
    ),
    (
        &[
            "int",
            "float",
            "parseInt",
            "parseFloat",
            "Number",
            "atoi",
            "double",
        ],
        "Lua writes tonumber(text), and math.floor(x) for a whole number",
    ),
    (
        &["bool", "Boolean"],
        "Lua writes value ~= nil, or not not value",
    ),
    (
        &["dict", "Array", "Map", "Set", "Object", "tuple"],
        "a list is { 1, 2 } and a table { name = value }",
    ),
    (&["new"], "Lua has no 'new': a table is { name = value }"),
    (
        &["Date", "datetime"],
        "os.time() is the time in seconds, os.date() its text, and time.now() has fractions",
    ),
    (
        &["instanceof", "typeof", "isinstance"],
        "Lua writes type(value) == \"string\"",
    ),
    (
        &["self", "this"],
        "a task's function gets its user: task { function(user) … user:get \"/\" end }, and keeps what belongs to it in user.data",
    ),
    (&["__VU", "vu"], "the number of a user is user.id"),
    (&["__ITER"], "the number of an iteration is user.iteration"),
    (
        &["group"],
        "several requests are timed as one row by user:transaction(\"name\", function() … end)",
    ),
    (
        &["feed", "SharedArray"],
        "rows of a file are local rows = data.csv \"users.csv\" at the top of the file, and rows:next() in a task",
    ),
    (
        &[
            "between",
            "constant",
            "constant_pacing",
            "constant_throughput",
        ],
        "pauses are wait = wait.between(1, 5), wait.constant(2) and so on",
    ),
    (
        &["HttpUser", "TaskSet", "FastHttpUser", "User"],
        "a task's function gets its user: task { function(user) … end }",
    ),
    (
        &["import", "from", "include"],
        "a plan loads a module by local name = require \"name\"",
    ),
    (
        &["exports", "export"],
        "a module returns its table: return { name = value }",
    ),
    (
        &["exit", "quit", "abort"],
        "a user stops by user:stop(), and a task by return",
    ),
    (
        &["await", "async"],
        "leave out 'async' and 'await': a request returns when its response is there",
    ),
    (
        &["__name__"],
        "Lua has no main function: the file runs as a whole from the top",
    ),
    (
        &[
            "exec",
            "rampUsers",
            "atOnceUsers",
            "constantUsersPerSec",
            "setUp",
        ],
        "the load is in plan { users = 10, hatch_rate = 1, run_time = \"5m\" }",
    ),
    (&["yield"], "Lua yields by coroutine.yield(value)"),
    (&["unpack"], "Lua writes table.unpack(list)"),
    (&["loadstring"], "Lua writes load(text)"),
    (
        &["usr", "vuser"],
        "a task's function gets its user: task { function(user) … end }",
    ),
    (
        &["expect", "assertThat"],
        "what a response must have is an option: user:get(\"/\", { expect = { status = 200 } })",
    ),
];

/// Prefixes of texts in Python.
const TEXT_PREFIXES: [&str; 7] = ["f", "r", "b", "u", "rb", "br", "fr"];

/// Returns what a plan has in place of a global of that name.
pub(super) fn global_elsewhere(name: &str) -> Option<&'static str> {
    let entry = GLOBALS.iter().find(|(names, _)| names.contains(&name));
    entry.map(|(_, ours)| *ours)
}

/// Returns how a plan writes a text that has that prefix in Python.
pub(crate) fn prefixed_text(prefix: &str) -> Option<&'static str> {
    TEXT_PREFIXES.contains(&prefix).then_some(match prefix {
        "f" | "fr" => "Lua has no f-strings: '..' joins texts, as in \"/products/\" .. id, or (\"/products/%d\"):format(id)",
        "r" => "a text without escapes stands in [[ … ]]",
        _ => "a text of Lua is \"…\", without a letter before it",
    })
}

/// Members of libraries elsewhere, with their equivalents here.
const MEMBERS: &[(&str, &[&str], &str)] = &[
    (
        "os",
        &["getenv", "environ"],
        "env(\"NAME\") reads a variable",
    ),
    ("time", &["sleep"], "a task pauses by user:wait(seconds)"),
    ("os", &["sleep"], "a task pauses by user:wait(seconds)"),
    ("os", &["exit"], "a user stops by user:stop()"),
    (
        "os",
        &["execute"],
        "plans run in a sandbox that does not have it",
    ),
    (
        "math",
        &["randomseed"],
        "'--seed' is that of all random choices of a run",
    ),
    ("math", &["round"], "write math.floor(x + 0.5)"),
    ("math", &["pow"], "Lua writes x ^ 2"),
    ("math", &["mod"], "Lua writes a % b"),
    (
        "random",
        &["randint", "randrange", "integer", "number"],
        "write random.int(1, 5)",
    ),
    (
        "random",
        &["uniform", "random"],
        "write random.float(), which is from 0 to 1: 1 + 4 * random.float()",
    ),
    (
        "random",
        &["choices", "pick", "element"],
        "write random.choice(list)",
    ),
    (
        "random",
        &["seed"],
        "'--seed' is that of all random choices of a run",
    ),
    (
        "json",
        &["loads", "parse", "load"],
        "write json.decode(text)",
    ),
    (
        "json",
        &["dumps", "stringify", "dump"],
        "write json.encode(value)",
    ),
    ("table", &["length", "getn", "size"], "Lua writes #list"),
    (
        "table",
        &["push", "append", "add"],
        "Lua writes table.insert(list, value)",
    ),
    ("table", &["join"], "Lua writes table.concat(list, \", \")"),
    (
        "string",
        &["split"],
        "Lua goes through the parts by for part in text:gmatch(\"[^,]+\") do … end",
    ),
    ("string", &["length"], "Lua writes #text"),
    (
        "string",
        &["trim", "strip"],
        "write text:match(\"^%s*(.-)%s*$\")",
    ),
    (
        "string",
        &["contains", "includes"],
        "write text:find(\"…\", 1, true)",
    ),
    ("string", &["replace"], "write text:gsub(\"from\", \"to\")"),
    ("log", &["warning"], "write log.warn(…)"),
    (
        "data",
        &["read", "file", "open"],
        "write data.csv \"file\", data.json \"file\", data.lines \"file\" or data.text \"file\"",
    ),
];

/// Returns what a plan has in place of a member of a library of that name.
pub(super) fn member_elsewhere(library: &str, name: &str) -> Option<&'static str> {
    if library == "env" {
        return Some("env(\"NAME\"), or env \"NAME\", reads a variable");
    }
    let is_it = |(of, names, _): &&(&str, &[&str], &str)| *of == library && names.contains(&name);
    MEMBERS.iter().find(is_it).map(|(_, _, ours)| *ours)
}

/// Methods and fields of lists and texts in other languages, with their equivalents here; `X` stands for the value.
const METHODS: &[(&[&str], &str)] = &[
    (
        &["push", "append", "add", "push_back"],
        "Lua adds to a list by X[#X + 1] = value, or table.insert(X, value)",
    ),
    (
        &["length", "size", "count", "len", "__len__"],
        "Lua writes #X for the length",
    ),
    (
        &["forEach", "each", "iter"],
        "Lua goes through a list by for _, value in ipairs(X) do … end",
    ),
    (
        &["map", "filter", "reduce", "find_all"],
        "Lua makes a list by a loop: for _, value in ipairs(X) do list[#list + 1] = value end",
    ),
    (
        &["items", "entries", "keys", "values", "iteritems"],
        "Lua goes through a table by for key, value in pairs(X) do … end",
    ),
    (&["pop"], "Lua takes the last value by table.remove(X)"),
    (
        &["shift"],
        "Lua takes the first value by table.remove(X, 1)",
    ),
    (
        &["join"],
        "Lua joins the texts of a list by table.concat(X, \", \")",
    ),
    (
        &[
            "includes",
            "contains",
            "indexOf",
            "startsWith",
            "startswith",
            "endsWith",
            "endswith",
        ],
        "Lua writes X:find(\"…\", 1, true) for a part of a text",
    ),
    (&["toUpperCase"], "Lua writes X:upper()"),
    (&["toLowerCase"], "Lua writes X:lower()"),
    (&["trim", "strip"], "write X:match(\"^%s*(.-)%s*$\")"),
    (
        &["split"],
        "Lua goes through the parts of a text by for part in X:gmatch(\"[^,]+\") do … end",
    ),
    (
        &["replace", "replaceAll"],
        "Lua writes X:gsub(\"from\", \"to\")",
    ),
    (&["substring", "substr", "slice"], "Lua writes X:sub(1, 3)"),
    (&["toString"], "Lua writes tostring(X)"),
    (&["sort", "sorted"], "Lua sorts a list by table.sort(X)"),
    (&["charAt"], "Lua writes X:sub(1, 1)"),
];

/// Returns how Lua writes a method or field of a list or a text of that name; `value` is the variable.
pub(crate) fn method_elsewhere(value: &str, name: &str) -> Option<String> {
    let entry = METHODS.iter().find(|(names, _)| names.contains(&name))?;
    Some(entry.1.replace('X', value))
}

/// Functions that other tools call by their names, with what a plan declares.
const FUNCTIONS: &[(&[&str], &str)] = &[
    (
        &[
            "on_start",
            "onStart",
            "init",
            "login_user",
            "before",
            "setUp",
        ],
        "what a user does first is a task: task { on_start = true, function(user) … end }",
    ),
    (
        &["on_stop", "onStop", "after", "tearDown"],
        "what a user does last is a task: task { on_stop = true, function(user) … end }",
    ),
    (
        &["setup", "on_test_start"],
        "what happens before all users is on(\"test_start\", function(user) … end)",
    ),
    (
        &["teardown", "on_test_stop"],
        "what happens after all users is on(\"test_stop\", function(user) … end)",
    ),
    (
        &["handleSummary"],
        "what is made of the report is on(\"report\", function(report) … end)",
    ),
    (
        &[
            "request", "response", "delay", "done", "main", "run", "default",
        ],
        "lgoose calls no function by its name: a task is task { function(user) user:get \"/\" end }",
    ),
];

/// Returns what a plan declares in place of a function of that name.
pub(super) fn function_elsewhere(name: &str) -> Option<&'static str> {
    let entry = FUNCTIONS.iter().find(|(names, _)| names.contains(&name));
    entry.map(|(_, ours)| *ours)
}
