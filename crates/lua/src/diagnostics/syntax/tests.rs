//! Tests of single remedies.

use crate::plan_files::Sources;

/// Compiles a text and returns the remedy for Lua's error.
fn remedy_of(text: &str) -> String {
    let error = mlua::Lua::new()
        .load(text)
        .set_name("@p.lua")
        .into_function();
    let error = error.expect_err(text);
    crate::diagnostics::diagnose(&error, &Sources::of_plan("p.lua", text)).to_string()
}

#[test]
fn habits_of_other_languages_are_explained() {
    for (text, help) in [
        ("task { “a”, f }", "write \"…\" or '…'"),
        ("const x = 1", "local name = 1"),
        ("let x = 1", "local name = 1"),
        ("task { 'a', (user) => user }", "function(user) … end"),
        ("if a != b then end", "'~='"),
        ("if a && b then end", "'and'"),
        ("if a || b then end", "'or'"),
        ("if !a then end", "'not'"),
        ("// a comment", "begins with '--'"),
        ("local x = 1 // so many", "begins with '--'"),
        ("x += 1", "x = x + 1"),
        ("if a { b() }", "ends with 'end'"),
        ("if a = 1 then end", "'==' compares"),
        ("t = { \"name\": 1 }", "name = value"),
        ("t = { name: \"a\" }", "name = value"),
        ("x = `a`", "write a text as"),
        ("if a then elif b then end", "'elseif condition then'"),
        ("x = a ? 1 : 2", "condition and a or b"),
    ] {
        assert!(
            remedy_of(text).contains(help),
            "{text}: {}",
            remedy_of(text)
        );
    }
}

#[test]
fn a_missing_comma_is_reported_with_both_sides() {
    for (text, help) in [
        (
            "f { name = 'x' expect = 1 }",
            "put a comma after 'x', or close the '{' of line 1 there",
        ),
        (
            "f { 'a'\n  function() end }",
            "put a comma after 'a' on line 1, or close the '{' of line 1",
        ),
        (
            "f { 1, {\n 2 } 3 }",
            "put a comma after '}', or close the '{' of line 1",
        ),
        (
            "f(1 2)",
            "put a comma after '1', or close the '(' of line 1",
        ),
    ] {
        assert!(
            remedy_of(text).contains(help),
            "{text}: {}",
            remedy_of(text)
        );
    }
}

#[test]
fn what_is_not_closed_is_reported_with_its_line() {
    for (text, help) in [
        (
            "task { 'a', function(u)\n  if u then\n    u:get '/'\nend }",
            "the 'if' of line 2 has no 'end'",
        ),
        (
            "task { 'a', function(u)\n  u:get '/'\n}",
            "the 'function' of line 1 has no 'end'",
        ),
        (
            "task { function(u)\n  for i = 1, 2 do\n    f()\nend }",
            "the 'for' of line 2 has no 'end'",
        ),
        (
            "function f()\n  while x do\n    y()\nend\n",
            "the 'while' of line 2 has no 'end'",
        ),
        ("f(function() g('/' end)", "the '(' of line 1 has no ')'"),
        (
            "if a then b() else if c then d() end\nf { 'x' }",
            "write 'elseif' as one word",
        ),
        ("f()\nend", "nothing for this 'end' to close"),
    ] {
        assert!(
            remedy_of(text).contains(help),
            "{text}: {}",
            remedy_of(text)
        );
    }
}

#[test]
fn what_is_reported_already_is_not_repeated() {
    for text in ["goto 1", "local t <odd> = 1"] {
        assert!(
            !remedy_of(text).contains("help"),
            "{text}: {}",
            remedy_of(text)
        );
    }
}
