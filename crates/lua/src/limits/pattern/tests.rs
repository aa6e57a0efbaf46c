//! Tests of the counting matcher against Lua's own.

use super::*;

#[test]
fn the_search_finds_the_matches_that_lua_finds() {
    let lua = Lua::new();
    let count: mlua::Function = lua
        .load("local s, p = ... return select(2, s:gsub(p, '%0'))")
        .into_function()
        .expect("this is Lua");
    let texts = [
        "",
        "a",
        "abc abc",
        "  x = 12, y = -3.5 ",
        "f(a(b)c)d",
        "THE (quick) fox",
        "aaa\0b\u{b}\n",
        "]-^%",
        "<a href=\"/x\">one</a> <a href='/y'>two</a>",
    ];
    let patterns = [
        "",
        "a",
        "a*",
        "a+",
        "a-b",
        "a?b",
        "^a",
        "^",
        "c$",
        "$",
        "%w+",
        "%W",
        "%s*",
        "(%w+) (%w+)",
        "()",
        "(.)%1",
        "%b()",
        "%f[%w]%w+",
        "[%a_][%w_]*",
        "[^%s]+",
        "[a-c]",
        "[]]",
        "[^]]",
        "[%]]",
        "[a-]",
        "[%a-z]",
        "href=([\"'])(.-)%1",
        "<(%a+).->(.-)</%1>",
        "%-?%d+%.?%d*",
        ".-.-c",
        "a?a?a?aaa",
        "%x%X",
        "%c",
        "%p+",
        "%g+",
        "%u%l",
        "%z",
        "((a)(b?))",
        "-",
        "[a",
        "%",
        "(",
        ")",
        "%1",
        "%b",
        "%f",
        "a**",
        "[^",
        "[%",
    ];
    for text in texts {
        for pattern in patterns {
            let ours = search(
                text.as_bytes(),
                pattern.as_bytes(),
                0,
                true,
                &mut |_| Ok(()),
            )
            .ok();
            let theirs = count.call::<usize>((text, pattern)).ok();
            // Lua also complains of captures left open, once it has matched them.
            if theirs.is_some() {
                assert_eq!(ours, theirs, "'{pattern}' in '{text}'");
            }
        }
    }
}

#[test]
fn only_a_pattern_that_may_take_long_is_tried_first() {
    assert!(worst_case(b"name=\"token\" value=\"%x%x\"", 100_000) <= FEW_STEPS);
    assert!(worst_case(b"^%s*(.-)%s*$", 10) <= FEW_STEPS);
    assert!(worst_case(b".-b", 200_000) > FEW_STEPS);
    assert!(worst_case(&b"a?".repeat(28), 28) > FEW_STEPS);
}
