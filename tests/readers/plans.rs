//! Readers that a plan calls: with texts of responses, and with its files.

use super::{Reader, assert_bounded, text};
use std::collections::BTreeMap;
use std::fs;

/// Loads a plan whose top level reads `input`, which is a file beside it.
fn run(input: &[u8], code: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("input"), input).expect("the folder takes a file");
    let source = format!("local text = data.text \"input\"\n{code}\ntask {{ function() end }}");
    let name = folder.path().join("plan.lua").display().to_string();
    // A text that is refused is not read on.
    let _loaded = lgoose_lua::load(&name, &source, BTreeMap::new(), 1);
}

/// Loads a plan that compiles `input` as a schema.
fn schema(input: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    // Parts that begin with a line of '>' are files of their own.
    let text = str::from_utf8(input).expect("it is a text");
    let mut files = text.split("\n>");
    let first = files.next().unwrap_or_default();
    fs::write(folder.path().join("input"), first).expect("the folder takes a file");
    for (number, file) in files.enumerate() {
        fs::write(folder.path().join(format!("{number}.proto")), file)
            .expect("the folder takes a file");
    }
    let name = folder.path().join("plan.lua").display().to_string();
    let source = "grpc.load \"input\"\ntask { function() end }";
    let _loaded = lgoose_lua::load(&name, source, BTreeMap::new(), 1);
}

const READERS: &[Reader] = &[
    Reader {
        name: "json.decode: a list",
        bound: "linear",
        size: 20_000,
        input: |n| text("[0", n, |i| format!(",{i}"), "]"),
        read: |input| run(input, "json.decode(text)"),
    },
    Reader {
        name: "json.decode: names of an object",
        bound: "linear",
        size: 10_000,
        input: |n| text("{", n, |i| format!("\"a{i}\":{i},"), "\"b\":0}"),
        read: |input| run(input, "json.decode(text)"),
    },
    Reader {
        name: "json.decode: one name many times",
        bound: "linear",
        size: 10_000,
        input: |n| text("{", n, |i| format!("\"a\":{i},"), "\"b\":0}"),
        read: |input| run(input, "json.decode(text)"),
    },
    Reader {
        name: "json.decode: lists within each other",
        bound: "127",
        size: 10_000,
        input: |n| "[".repeat(n).into_bytes(),
        read: |input| run(input, "json.decode(text)"),
    },
    Reader {
        name: "data.csv: rows",
        bound: "linear",
        size: 10_000,
        input: |n| text("a,b\n", n, |i| format!("{i},\"x\"\n"), ""),
        read: |input| run(input, "data.csv \"input\""),
    },
    Reader {
        name: "data.csv: columns",
        bound: "linear",
        size: 2_000,
        input: |n| {
            [
                text("", n, |i| format!("a{i},"), "b\n"),
                text("", n, |i| format!("{i},"), "0\n"),
            ]
            .concat()
        },
        read: |input| run(input, "data.csv \"input\""),
    },
    Reader {
        name: "data.csv: a quote that is not closed",
        bound: "64 MiB",
        size: 100_000,
        input: |n| text("a\n\"", n, |_| "\n\"\"".to_owned(), ""),
        read: |input| run(input, "data.csv \"input\""),
    },
    Reader {
        name: "data.lines",
        bound: "linear",
        size: 50_000,
        input: |n| text("", n, |i| format!("{i}\n"), ""),
        read: |input| run(input, "data.lines \"input\""),
    },
    Reader {
        name: "data.json: names of objects",
        bound: "linear",
        size: 5_000,
        input: |n| text("[", n, |i| format!("{{\"a{i}\":1}},"), "0]"),
        read: |input| run(input, "data.json \"input\""),
    },
    Reader {
        name: "data.json5",
        bound: "linear",
        size: 2_000,
        input: |n| text("[", n, |i| format!("{{a{i}: 'x', }}, // {i}\n"), "]"),
        read: |input| run(input, "data.json5 \"input\""),
    },
    Reader {
        name: "a regular expression",
        bound: "linear",
        size: 50_000,
        input: |n| vec![b'a'; n],
        read: |input| run(input, "regex \"(a+)+b\":match(text)"),
    },
    Reader {
        name: "base64, hex and URLs",
        bound: "linear",
        size: 50_000,
        input: |n| b"41".repeat(n),
        read: |input| {
            run(
                input,
                "base64.decode(text) hex.decode(text) url.decode(text)",
            )
        },
    },
    Reader {
        name: "url.parse",
        bound: "linear",
        size: 20_000,
        input: |n| text("http://site/", n, |_| "../%41?".to_owned(), ""),
        read: |input| run(input, "url.parse(text)"),
    },
    Reader {
        name: "grpc.load: messages",
        bound: "linear",
        size: 500,
        input: |n| {
            text(
                "syntax = \"proto3\";",
                n,
                |i| format!("message M{i} {{ M{i} a = 1; }}"),
                "",
            )
        },
        read: schema,
    },
    Reader {
        name: "grpc.load: fields of a message",
        bound: "linear",
        size: 500,
        input: |n| {
            text(
                "syntax = \"proto3\"; message M {",
                n,
                |i| format!("M a{i} = {};", 20_000 + i),
                "}",
            )
        },
        read: schema,
    },
    Reader {
        name: "grpc.load: fields with options",
        bound: "linear",
        size: 1_000,
        input: |n| {
            let field = |i| format!("M a{i} = {} [deprecated = true];", 20_000 + i);
            text("syntax = \"proto3\"; message M {", n, field, "}")
        },
        read: schema,
    },
    Reader {
        name: "grpc.load: fields with a default",
        bound: "20,000,000",
        size: 500,
        input: |n| {
            let field = |i| format!("optional E a{i} = {} [default = V0];", 20_000 + i);
            let fields = text("syntax = \"proto2\"; message M {", n, field, "}");
            [fields, text("enum E {", n, |i| format!("V{i} = {i};"), "}")].concat()
        },
        read: schema,
    },
    Reader {
        name: "grpc.load: reserved ranges",
        bound: "1,000",
        size: 1_000,
        input: |n| {
            let fields = text(
                "syntax = \"proto3\"; message M {",
                n,
                |i| format!("M a{i} = {};", 100_000 + i),
                "",
            );
            [
                fields,
                text("reserved 1", n - 1, |i| format!(",{}", 3 + 2 * i), "; }"),
            ]
            .concat()
        },
        read: schema,
    },
    Reader {
        name: "grpc.load: public imports",
        bound: "1,000,000",
        size: 8,
        input: |n| {
            let file = |i: usize| {
                let imports = |of: usize| {
                    if of < n {
                        format!("import public \"{of}.proto\";")
                    } else {
                        String::new()
                    }
                };
                format!(
                    "\n>syntax = \"proto3\";{}{}",
                    imports(i + 1),
                    imports(i + 2)
                )
            };
            text("syntax = \"proto3\"; import \"0.proto\";", n, file, "")
        },
        read: schema,
    },
    Reader {
        name: "grpc.load: messages within each other",
        bound: "100",
        size: 1_000,
        input: |n| text("syntax = \"proto3\";", n, |_| "message M {".to_owned(), ""),
        read: schema,
    },
];

#[test]
fn what_a_plan_reads_takes_time_in_proportion_to_its_size() {
    assert_bounded(READERS);
}
